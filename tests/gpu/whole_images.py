"""The textures and surfaces of whole kernels, on a GPU: arrays with what our machine has behind their handles, and the handles,
or names of the module, that a kernel knows them by.

Arrays, descriptors and handles are those of `ptxmm.gpu.driver`; what litmus tests do not have (several dimensions, layers,
levels of detail, borders) is added here. References by name are of a part of the driver's interface that is deprecated, and
there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

from gpu.cuda_numbers import (
    CUBEMAP,
    FORMATS,
    GATHER,
    IN_ARRAY,
    INTEGERS,
    LAYERED_ARRAY,
    MODES,
    NORMALIZED,
    OF_ARRAY,
    OF_LEVELS,
    ON_HOST,
    OVERRIDE,
    SURFACE,
)  # fmt: skip
from gpu.modules import Unfit

from ptxcore.isa.image import CUBES, LAYERED, SAMPLED, Image
from ptxmm.gpu.driver import ArrayDescriptor, Driver, ResourceDescriptor, TextureDescriptor


class Copy(ctypes.Structure):
    """CUDA_MEMCPY3D: the two ends of a copy, and how much."""

    _fields_ = (
        ("from_x", c_size_t), ("from_y", c_size_t), ("from_z", c_size_t), ("from_level", c_size_t),
        ("from_type", c_int), ("from_host", c_void_p), ("from_device", c_ulonglong), ("from_array", c_void_p),
        ("from_reserved", c_void_p), ("from_pitch", c_size_t), ("from_height", c_size_t),
        ("to_x", c_size_t), ("to_y", c_size_t), ("to_z", c_size_t), ("to_level", c_size_t),
        ("to_type", c_int), ("to_host", c_void_p), ("to_device", c_ulonglong), ("to_array", c_void_p),
        ("to_reserved", c_void_p), ("to_pitch", c_size_t), ("to_height", c_size_t),
        ("width", c_size_t), ("height", c_size_t), ("depth", c_size_t),
    )  # fmt: skip


def must_be_makeable(image: Image) -> None:
    """Raises Unfit for an image that CUDA does not make, or of which the manual leaves open what is read."""
    if image.geometry in SAMPLED:
        raise Unfit("CUDA makes no images with several samples")
    if image.linear:
        raise Unfit("images in linear memory are not made here")
    if image.kind == "texref":
        if image.mipmapped and not image.normalized:
            raise Unfit("CUDA looks levels of detail up by normalized coordinates alone")
        if not image.normalized and {"wrap", "mirror"} & set(image.sampler.address):
            raise Unfit("CUDA wraps normalized coordinates alone")
        if "linear" in (image.sampler.filter, image.sampler.level_filter):
            raise Unfit("how texels are rounded that are filtered is the hardware's")


def array_of(image: Image) -> ArrayDescriptor:
    """What array an image is in."""
    flags = LAYERED_ARRAY * (image.geometry in LAYERED) | CUBEMAP * (image.geometry in CUBES)
    flags |= SURFACE if image.kind == "surfref" else GATHER * (image.geometry == "2d")
    depth = image.slices if flags & (LAYERED_ARRAY | CUBEMAP) else image.depth
    return ArrayDescriptor(
        image.width, image.height, depth, FORMATS[image.format.kind, image.format.bits], image.format.channels, flags
    )


def lookup_of(image: Image) -> TextureDescriptor:
    """How a texture is read."""
    how = TextureDescriptor()
    how.address = (c_int * 3)(*(MODES[mode] for mode in image.sampler.address))
    how.filter = how.level_filter = 0
    how.flags = INTEGERS * (not image.returns_floats) | NORMALIZED * image.normalized
    how.bias, how.least = image.sampler.bias, image.sampler.lowest
    how.most = min(image.sampler.highest, float(image.levels))
    how.border = (c_float * 4)(*map(_as_float, image.sampler.border))
    return how


def _as_float(bits: int) -> float:
    return c_float.from_buffer_copy(bits.to_bytes(4, "little")).value


class Bound:
    """The images of a launch: their `handles` by those on our machine. Raises CudaError."""

    def __init__(
        self, driver: Driver, module: c_void_p, images: Sequence[tuple[int, Image]], given: Mapping[int, bytes],
        passed: set[int],
    ) -> None:  # fmt: skip
        """`given` has the bytes of each level of detail, by where it is on our machine; `passed` are handles that are
        arguments: images that are not are bound to names of the module."""
        self._driver, self._module = driver, module
        self._arrays: list[tuple[str, c_ulonglong]] = []
        self._objects: list[tuple[str, c_ulonglong]] = []
        self._levels: list[tuple[Image, int, c_ulonglong]] = []
        self.handles: dict[int, int] = {}
        try:
            for handle, image in images:
                array = self._array(image, given)
                if handle in passed:
                    self.handles[handle] = self._object(image, array)
                else:
                    self._refer(image, array)
        except BaseException:
            self.free()
            raise

    def _array(self, image: Image, given: Mapping[int, bytes]) -> c_ulonglong:
        made = c_ulonglong()
        if image.mipmapped:
            self._driver.call("cuMipmappedArrayCreate", byref(made), byref(array_of(image)), c_uint(image.levels))
        else:
            self._driver.call("cuArray3DCreate_v2", byref(made), byref(array_of(image)))
        self._arrays.append(("cuMipmappedArrayDestroy" if image.mipmapped else "cuArrayDestroy", made))
        for number, base in enumerate(image.bases):
            level = c_ulonglong(made.value)
            if image.mipmapped:
                self._driver.call("cuMipmappedArrayGetLevel", byref(level), made, c_uint(number))
            self._levels.append((image, number, level))
            self._copy(image, number, level, given[base])
        return made

    def _copy(self, image: Image, number: int, level: c_ulonglong, data: bytes | None) -> bytes:
        """Puts texels into a level of detail, or (None) takes them from there."""
        texels = ctypes.create_string_buffer(image.bytes(number) if data is None else data, image.bytes(number))
        width, height, depth = image.size(number)
        row = width * image.format.texel_bytes
        copy = Copy(width=row, height=height, depth=depth * image.slices)
        host = "from" if data is not None else "to"
        array = "to" if data is not None else "from"
        setattr(copy, f"{host}_type", ON_HOST)
        setattr(copy, f"{host}_host", ctypes.cast(texels, c_void_p))
        setattr(copy, f"{host}_pitch", row)
        setattr(copy, f"{host}_height", height)
        setattr(copy, f"{array}_type", IN_ARRAY)
        setattr(copy, f"{array}_array", level.value)
        self._driver.call("cuMemcpy3D_v2", byref(copy))
        return texels.raw

    def _object(self, image: Image, array: c_ulonglong) -> int:
        """The handle of a texture or a surface."""
        if image.kind == "surfref":
            made = self._driver.surface(array)
        else:
            of = ResourceDescriptor(OF_LEVELS if image.mipmapped else OF_ARRAY, array)
            made = self._driver.texture_of(of, lookup_of(image))
        self._objects.append(("texture" if image.kind == "texref" else "surface", made))
        return made.value

    def _refer(self, image: Image, array: c_ulonglong) -> None:
        """Binds a name of the module."""
        reference, name = c_void_p(), c_char_p(image.name.encode())
        if image.kind == "surfref":
            self._driver.call("cuModuleGetSurfRef", byref(reference), self._module, name)
            self._driver.call("cuSurfRefSetArray", reference, array, c_uint(0))
            return
        self._driver.call("cuModuleGetTexRef", byref(reference), self._module, name)
        setter = "cuTexRefSetMipmappedArray" if image.mipmapped else "cuTexRefSetArray"
        self._driver.call(setter, reference, array, c_uint(OVERRIDE))
        how = lookup_of(image)
        for dimension, mode in enumerate(how.address):
            self._driver.call("cuTexRefSetAddressMode", reference, c_int(dimension), c_int(mode))
        self._driver.call("cuTexRefSetFilterMode", reference, c_int(how.filter))
        if image.mipmapped:
            self._driver.call("cuTexRefSetMipmapFilterMode", reference, c_int(how.level_filter))
            self._driver.call("cuTexRefSetMipmapLevelClamp", reference, c_float(how.least), c_float(how.most))
        self._driver.call("cuTexRefSetBorderColor", reference, how.border)
        self._driver.call("cuTexRefSetFlags", reference, c_uint(how.flags))

    def taken(self) -> dict[int, bytes]:
        """What the levels of surfaces hold, by where they are on our machine."""
        return {
            image.bases[number]: self._copy(image, number, level, None)
            for image, number, level in self._levels
            if image.kind == "surfref"
        }

    def free(self) -> None:
        """Gives all of it back."""
        for kind, made in self._objects:
            self._driver.free_image(kind, made)
        for destroy, array in self._arrays:
            getattr(self._driver.library, destroy)(array)
        self._objects.clear()
        self._arrays.clear()


def levels_of(images: Sequence[tuple[int, Any]], places: Sequence[int]) -> dict[int, int]:
    """Of each level of detail of each image, the number of the buffer that it is on our machine."""
    number = {place: n for n, place in enumerate(places)}
    return {base: number[base] for _, image in images for base in image.bases if base in number}
