"""The textures and surfaces of a launch on a GPU: arrays, handles, and what stands in arrays before and behind a run."""

from __future__ import annotations

import struct
from ctypes import c_size_t, c_ulonglong

from ptxmm.gpu.driver import Driver
from ptxmm.gpu.images import TEXTURE_ALIGNED
from ptxmm.gpu.layout import GpuLaunch


class BoundImages:
    """Of each instance the textures and surfaces. A location that is an array has its place in linear memory all the same, from
    which the array gets its first value, and where its last one is put. Raises CudaError."""

    def __init__(self, launch: GpuLaunch, driver: Driver, memory: c_ulonglong) -> None:
        self._driver, self._memory, self.launch = driver, memory, launch
        self._arrays: list[tuple[c_ulonglong, int, int]] = []  # the handle, where its location lies, how many bytes
        self._objects: list[tuple[str, c_ulonglong]] = []
        self.table = b""
        try:
            self._make()
        except BaseException:
            self.free()
            raise

    def _make(self) -> None:
        driver, images = self._driver, self.launch.module.images
        driver.check_texture_alignment(TEXTURE_ALIGNED)
        handles = []
        for n in range(self.launch.shape.instances):
            arrays: dict[str, c_ulonglong] = {}
            for image in images:
                offset, stride = self.launch.offsets[image.root]
                at = offset + n * stride
                if image.in_array and image.root not in arrays:
                    arrays[image.root] = driver.array(image.bits, image.channels, image.size)
                    self._arrays.append((arrays[image.root], at, image.size))
                place = arrays[image.root] if image.in_array else c_ulonglong(self._memory.value + at)
                if image.kind == "surface":
                    made = driver.surface(place)
                else:
                    size = 0 if image.in_array else image.size
                    made = driver.texture(place, image.bits, image.channels, size)
                self._objects.append((image.kind, made))
                handles.append(made.value)
        self.table = struct.pack(f"<{len(handles)}Q", *handles)

    def fill(self) -> None:
        """Puts what memory holds into the arrays."""
        for array, at, size in self._arrays:
            place = c_ulonglong(self._memory.value + at)
            self._driver.call("cuMemcpyDtoA_v2", array, c_size_t(0), place, c_size_t(size))

    def take(self) -> None:
        """Puts what the arrays hold into memory."""
        for array, at, size in self._arrays:
            place = c_ulonglong(self._memory.value + at)
            self._driver.call("cuMemcpyAtoD_v2", place, array, c_size_t(0), c_size_t(size))

    def free(self) -> None:
        """Gives all of it back. Nothing may run that uses it."""
        for kind, made in self._objects:
            self._driver.free_image(kind, made)
        for array, _, _ in self._arrays:
            self._driver.free_array(array)
        self._objects.clear()
        self._arrays.clear()
