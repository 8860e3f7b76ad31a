"""The CUDA driver API, as far as it is needed here, and nothing else (`libcuda.so.1`, by ctypes).

No package is needed for it: the calls are two dozen, the names have the versions of their signatures in them (`cuMemAlloc_v2`),
and what a driver does not have is found out by one look. `tests/ptxmm/gpu/test_driver_calls.py` holds each call, structure and
number to `cuda.h`. An error in a kernel leaves a process without a usable GPU, so that `ptxmm.gpu.worker` uses it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from ctypes import (
    POINTER,
    byref,
    c_char,
    c_char_p,
    c_float,
    c_int,
    c_size_t,
    c_ubyte,
    c_uint,
    c_ulonglong,
    c_ushort,
    c_void_p,
)
from typing import Any

from ptxcore.records import NamedTuple

#: What a GPU's driver is loaded from; another library may be named, for tests.
LIBRARY = "PTXMM_LIBCUDA"
_NAMES = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")

#: The newest PTX version that drivers take, by the CUDA version that they report (the manual's release notes).
_PTX_OF_CUDA = (
    (13000, "9.0"), (12090, "8.8"), (12080, "8.7"), (12070, "8.6"), (12050, "8.5"), (12040, "8.4"), (12030, "8.3"),
    (12020, "8.2"), (12010, "8.1"), (12000, "8.0"), (11080, "7.8"), (11070, "7.7"), (11060, "7.6"), (11050, "7.5"),
    (11040, "7.4"), (11030, "7.3"), (11020, "7.2"), (11010, "7.1"), (11000, "7.0"), (10020, "6.5"),
)  # fmt: skip
_PROCESSORS, _MAJOR, _MINOR = 16, 75, 76  # attributes: the number of multiprocessors, the compute capability
_LOG, _LOG_SIZE = 5, 6  # options of the compiler: its error log
_LOG_BYTES = 16384
_VIRTUAL_MEMORY = 102  # attribute: memory can be mapped at several addresses
_PEER_ACCESS, _PEER_ATOMICS = 2, 3  # attributes of two GPUs
_PEER_ENABLED = 704  # what enabling access between two GPUs gives where it was enabled before
_NON_BLOCKING, _NO_TIMING = 1, 2  # flags of streams and of events
_CLUSTER, _EARLY = (
    4,
    6,
)  # attributes of a launch: the CTAs of a cluster; that it may begin before the one before it ends
_PORTABLE, _MAPPED = 1, 2  # memory of the host: of all contexts, and seen by GPUs
_TEXTURE_ALIGNMENT = 14  # attribute: what a texture in linear memory begins at a multiple of
_ARRAY, _LINEAR = 0, 2  # what a texture or a surface is of
_SURFACE_OF, _CLAMP, _POINT, _WHOLE = (
    2,
    1,
    0,
    1,
)  # an array has surfaces; textures: addressing, filter, and numbers as they are
_FORMATS = {8: 1, 16: 2, 32: 3}  # channels of unsigned numbers
_PINNED, _ON_DEVICE, _READ_WRITE, _MINIMUM = 1, 1, 3, 0  # of memory that is mapped


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: which one, and its value, of which the first words are used."""

    _fields_ = (("id", c_int), ("pad", c_char * 4), ("value", c_uint * 16))


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("attributes", POINTER(LaunchAttribute)),
        ("count", c_uint),
    )


class MemoryLocation(ctypes.Structure):
    """CUmemLocation: the kind of place, and its number."""

    _fields_ = (("type", c_int), ("id", c_int))


class AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", c_int),
        ("handles", c_int),
        ("location", MemoryLocation),
        ("windows", c_void_p),
        ("compression", c_ubyte),
        ("rdma", c_ubyte),
        ("usage", c_ushort),
        ("reserved", c_ubyte * 4),
    )


class AccessDescription(ctypes.Structure):
    """CUmemAccessDesc: who may do what."""

    _fields_ = (("location", MemoryLocation), ("flags", c_int))


class ArrayDescriptor(ctypes.Structure):
    """CUDA_ARRAY3D_DESCRIPTOR."""

    _fields_ = (
        ("width", c_size_t),
        ("height", c_size_t),
        ("depth", c_size_t),
        ("format", c_int),
        ("channels", c_uint),
        ("flags", c_uint),
    )


class ResourceDescriptor(ctypes.Structure):
    """CUDA_RESOURCE_DESC of an array, whose handle is in `memory` and whose other members have no meaning, or of linear
    memory."""

    _fields_ = (
        ("type", c_int),
        ("memory", c_ulonglong),
        ("format", c_int),
        ("channels", c_uint),
        ("size", c_size_t),
        ("reserved", c_char * 104),
        ("flags", c_uint),
    )


class TextureDescriptor(ctypes.Structure):
    """CUDA_TEXTURE_DESC."""

    _fields_ = (
        ("address", c_int * 3),
        ("filter", c_int),
        ("flags", c_uint),
        ("anisotropy", c_uint),
        ("level_filter", c_int),
        ("bias", c_float),
        ("least", c_float),
        ("most", c_float),
        ("border", c_float * 4),
        ("reserved", c_int * 12),
    )


class CudaError(Exception):
    """A call of the driver that failed, by its name."""


class LoadError(CudaError):
    """A module that the driver refuses; the GPU stays usable."""


class GpuDevice(NamedTuple):
    """A GPU: `arch` as PTX names it, `ptx` the newest version of modules that its driver takes. `gpus`: how many there are
    from this one on."""

    name: str
    arch: str
    ptx: str
    driver: int
    gpus: int = 1


class Driver:
    """The driver, and a GPU. Raises CudaError where there is none."""

    def __init__(self, ordinal: int = 0) -> None:
        self.ordinal = ordinal
        self.library = _library()
        self.call("cuInit", c_uint(0))
        count = c_int()
        self.call("cuDeviceGetCount", byref(count))
        if not 0 <= ordinal < count.value:
            are = "is 1 GPU" if count.value == 1 else f"are {count.value} GPUs"
            raise CudaError(f"there {are}, and none with the number {ordinal}; the first is 0")
        #: How many GPUs there are from this one on.
        self.gpus = count.value - ordinal
        self.handle = c_int()
        self.call("cuDeviceGet", byref(self.handle), c_int(ordinal))
        self.context: c_void_p | None = None

    def activate(self) -> None:
        """Makes the GPU's context that of this thread."""
        if self.context is None:
            context = c_void_p()
            self.call("cuDevicePrimaryCtxRetain", byref(context), self.handle)
            self.context = context
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver. Raises CudaError where it fails, or is not there."""
        function = getattr(self.library, name, None)
        if function is None:
            raise CudaError(f"{name}: this driver does not have it")
        status = function(*arguments)
        if status:
            raise CudaError(f"{name}: {self._error(status)}")

    def _error(self, status: int) -> str:
        said = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text, function = c_char_p(), getattr(self.library, name, None)
            if function is not None and function(c_int(status), byref(text)) == 0 and text.value:
                said.append(text.value.decode(errors="replace"))
        return f"{said[0]} ({said[1]})" if len(said) > 1 else said[0] if said else f"error {status}"

    def device(self) -> GpuDevice:
        """What the GPU is."""
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, c_int(256), self.handle)
        version = c_int()
        self.call("cuDriverGetVersion", byref(version))
        ptx = next((ptx for cuda, ptx in _PTX_OF_CUDA if version.value >= cuda), "6.4")
        arch = f"sm_{self._attribute(_MAJOR)}{self._attribute(_MINOR)}"
        return GpuDevice(name.value.decode(errors="replace"), arch, ptx, version.value, self.gpus)

    def _attribute(self, number: int) -> int:
        value = c_int()
        self.call("cuDeviceGetAttribute", byref(value), c_int(number), self.handle)
        return value.value

    # Modules and kernels.

    @contextlib.contextmanager
    def module(self, image: bytes) -> Iterator[c_void_p]:
        """A module, from its text or from what ptxas made of it. Raises LoadError, with what the compiler says."""
        module = self.load(image)
        try:
            yield module
        finally:
            self.unload(module)

    def load(self, image: bytes) -> c_void_p:
        """Likewise; somebody has to unload it."""
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (c_int * 2)(_LOG, _LOG_SIZE)
        values = (c_void_p * 2)(ctypes.cast(log, c_void_p), c_void_p(_LOG_BYTES))
        module = c_void_p()
        try:
            self.call("cuModuleLoadDataEx", byref(module), c_char_p(image + b"\0"), c_uint(2), options, values)
        except CudaError as error:
            said = log.value.decode(errors="replace").strip()
            raise LoadError(f"{error}{': ' + said if said else ''}") from None
        return module

    def unload(self, module: c_void_p) -> None:
        """Takes a module off the GPU."""
        self.library.cuModuleUnload(module)

    def function(self, module: c_void_p, name: str) -> c_void_p:
        """A kernel of a module. Raises CudaError where there is none of that name."""
        function = c_void_p()
        self.call("cuModuleGetFunction", byref(function), module, c_char_p(name.encode()))
        return function

    def resident(self, function: c_void_p, block: int, shared: int, cluster: int = 1) -> int:
        """How many CTAs of a kernel run at once, where `cluster` of them share a cluster."""
        count = c_int()
        if cluster > 1:
            config = _config(cluster, block, shared, None, cluster)
            self.call("cuOccupancyMaxActiveClusters", byref(count), function, byref(config))
            return count.value * cluster
        self.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(count), function, c_int(block), c_size_t(shared))
        return count.value * self._attribute(_PROCESSORS)

    def launch(
        self, function: c_void_p, grid: int, block: int, arguments: Sequence[Any], shared: int = 0, cluster: int = 1,
    ) -> None:  # fmt: skip
        """Runs a kernel to its end. Raises CudaError."""
        self.begin(function, grid, block, arguments, shared, cluster)
        self.wait()

    def begin(
        self, function: c_void_p, grid: int, block: int, arguments: Sequence[Any], shared: int = 0, cluster: int = 1,
        stream: c_void_p | None = None, early: bool = False,
    ) -> None:  # fmt: skip
        """Enqueues a kernel, in a stream or in the default one; `early`: it begins as soon as the one before it lets it.
        Arguments are copied before this returns. Raises CudaError."""
        pointers = (c_void_p * len(arguments))(*(ctypes.cast(ctypes.pointer(x), c_void_p) for x in arguments))
        if cluster > 1 or early:
            config = _config(grid, block, shared, stream, cluster, early)
            self.call("cuLaunchKernelEx", byref(config), function, pointers, c_void_p())
            return
        sizes = [c_uint(n) for n in (grid, 1, 1, block, 1, 1)]
        self.call("cuLaunchKernel", function, *sizes, c_uint(shared), stream or c_void_p(), pointers, c_void_p())

    def wait(self) -> None:
        """Waits for all that the context does. Raises CudaError for what went wrong since."""
        self.call("cuCtxSynchronize")

    def wait_for(self, event: c_void_p) -> None:
        """Waits for what an event comes behind. Raises CudaError."""
        self.call("cuEventSynchronize", event)

    # Streams and events.

    def stream(self) -> c_void_p:
        """A new stream, which does not wait for the default one; it lasts as long as the process."""
        stream = c_void_p()
        self.call("cuStreamCreate", byref(stream), c_uint(_NON_BLOCKING))
        return stream

    def event(self) -> c_void_p:
        """A new event; it lasts as long as the process, and may be recorded again."""
        event = c_void_p()
        self.call("cuEventCreate", byref(event), c_uint(_NO_TIMING))
        return event

    def record(self, event: c_void_p, stream: c_void_p) -> None:
        """The event is what stands in the stream so far."""
        self.call("cuEventRecord", event, stream)

    def follow(self, stream: c_void_p, event: c_void_p) -> None:
        """What is enqueued in the stream from now on waits for the event."""
        self.call("cuStreamWaitEvent", stream, event, c_uint(0))

    # Several GPUs.

    def reach(self, other: Driver) -> None:
        """Lets kernels of this GPU, whose context is current, access memory of another one. Raises CudaError where they cannot,
        or not atomically."""
        for attribute, what in ((_PEER_ACCESS, "access memory"), (_PEER_ATOMICS, "do atomic operations in memory")):
            value = c_int()
            self.call("cuDeviceGetP2PAttribute", byref(value), c_int(attribute), self.handle, other.handle)
            if not value.value:
                raise CudaError(f"GPU {self.ordinal} cannot {what} of GPU {other.ordinal}")
        assert other.context is not None
        status = self.library.cuCtxEnablePeerAccess(other.context, c_uint(0))
        if status not in (0, _PEER_ENABLED):
            raise CudaError(f"cuCtxEnablePeerAccess: {self._error(status)}")

    # Memory.

    @contextlib.contextmanager
    def memory(self, *sizes: int) -> Iterator[list[c_ulonglong]]:
        """Buffers of so many bytes, for as long as this is entered."""
        buffers: list[c_ulonglong] = []
        try:
            buffers += (self.allocate(size) for size in sizes)
            yield buffers
        finally:
            for buffer in buffers:
                self.free(buffer)

    def allocate(self, size: int) -> c_ulonglong:
        """A buffer; somebody has to free it."""
        buffer = c_ulonglong()
        self.call("cuMemAlloc_v2", byref(buffer), c_size_t(max(size, 16)))
        return buffer

    def free(self, buffer: c_ulonglong) -> None:
        """Gives a buffer back."""
        self.library.cuMemFree_v2(buffer)

    def map(self, size: int, times: int, others: Sequence[Driver] = ()) -> Mapped:
        """Memory of so many bytes on this GPU, mapped so many times, for it and `others`; `unmap` gives it back. Raises
        CudaError."""
        if not self._attribute(_VIRTUAL_MEMORY):
            raise CudaError("this GPU, or its driver, cannot map memory at several addresses")
        location = MemoryLocation(_ON_DEVICE, self.ordinal)
        wanted = AllocationProperties(type=_PINNED, location=location)
        granularity = c_size_t()
        self.call("cuMemGetAllocationGranularity", byref(granularity), byref(wanted), c_int(_MINIMUM))
        whole = -(-max(size, 1) // granularity.value) * granularity.value
        users = [location, *(MemoryLocation(_ON_DEVICE, other.ordinal) for other in others)]
        access = (AccessDescription * len(users))(*(AccessDescription(user, _READ_WRITE) for user in users))
        found = Mapped(c_ulonglong(), whole, [])
        self.call("cuMemCreate", byref(found.handle), c_size_t(whole), byref(wanted), c_ulonglong(0))
        for _ in range(times):
            at = c_ulonglong()
            self.call("cuMemAddressReserve", byref(at), c_size_t(whole), c_size_t(0), c_ulonglong(0), c_ulonglong(0))
            self.call("cuMemMap", at, c_size_t(whole), c_size_t(0), found.handle, c_ulonglong(0))
            found.addresses.append(at)
            self.call("cuMemSetAccess", at, c_size_t(whole), access, c_size_t(len(users)))
        return found

    def unmap(self, mapped: Mapped) -> None:
        """Gives back what was mapped. Nothing may run that uses it."""
        for at in mapped.addresses:
            self.call("cuMemUnmap", at, c_size_t(mapped.size))
            self.call("cuMemAddressFree", at, c_size_t(mapped.size))
        self.call("cuMemRelease", mapped.handle)

    def write(self, buffer: c_ulonglong, data: bytes) -> None:
        """Puts bytes at the beginning of a buffer."""
        self.call("cuMemcpyHtoD_v2", buffer, c_char_p(data), c_size_t(len(data)))

    def read(self, buffer: c_ulonglong, size: int) -> bytes:
        """The first bytes of a buffer."""
        result = ctypes.create_string_buffer(max(size, 1))
        self.call("cuMemcpyDtoH_v2", result, buffer, c_size_t(size))
        return result.raw[:size]

    def clear(self, buffer: c_ulonglong, size: int) -> None:
        """Puts zeros there."""
        self.call("cuMemsetD8_v2", buffer, c_ubyte(0), c_size_t(max(size, 1)))

    def host_memory(self, size: int) -> tuple[c_void_p, c_ulonglong]:
        """Memory of the host that GPUs access, too: its address there, and on a GPU. Raises CudaError."""
        address, buffer = c_void_p(), c_ulonglong()
        self.call("cuMemHostAlloc", byref(address), c_size_t(max(size, 16)), c_uint(_PORTABLE | _MAPPED))
        self.call("cuMemHostGetDevicePointer_v2", byref(buffer), address, c_uint(0))
        return address, buffer

    def free_host(self, address: c_void_p) -> None:
        """Gives memory of the host back."""
        self.library.cuMemFreeHost(address)

    # Textures and surfaces.

    def check_texture_alignment(self, aligned: int) -> None:
        """Raises CudaError where textures in linear memory begin at multiples of more."""
        if (needed := self._attribute(_TEXTURE_ALIGNMENT)) > aligned:
            raise CudaError(f"textures of this GPU begin at multiples of {needed} bytes, more than {aligned}")

    def array(self, bits: int, channels: int, size: int) -> c_ulonglong:
        """An array of one dimension with so many bytes, which surfaces may be of. Raises CudaError."""
        array, width = c_ulonglong(), 8 * size // (bits * channels)
        wanted = ArrayDescriptor(width, 0, 0, _FORMATS[bits], channels, _SURFACE_OF)
        self.call("cuArray3DCreate_v2", byref(array), byref(wanted))
        return array

    def texture(self, place: c_ulonglong, bits: int, channels: int, size: int) -> c_ulonglong:
        """The handle of a texture, whose texels are read as they are: of `size` bytes of linear memory at an address, or where
        that is 0 of an array. Raises CudaError."""
        of = (
            ResourceDescriptor(_LINEAR, place, _FORMATS[bits], channels, size)
            if size
            else ResourceDescriptor(_ARRAY, place)
        )
        return self.texture_of(of, TextureDescriptor((c_int * 3)(_CLAMP, _CLAMP, _CLAMP), _POINT, _WHOLE))

    def texture_of(self, of: ResourceDescriptor, how: TextureDescriptor) -> c_ulonglong:
        """The handle of a texture of something, which is read in some way. Raises CudaError."""
        made = c_ulonglong()
        self.call("cuTexObjectCreate", byref(made), byref(of), byref(how), c_void_p())
        return made

    def surface(self, array: c_ulonglong) -> c_ulonglong:
        """The handle of a surface of an array. Raises CudaError."""
        made = c_ulonglong()
        self.call("cuSurfObjectCreate", byref(made), byref(ResourceDescriptor(_ARRAY, array)))
        return made

    def free_image(self, kind: str, handle: c_ulonglong) -> None:
        """Gives a texture or a surface back."""
        (self.library.cuTexObjectDestroy if kind == "texture" else self.library.cuSurfObjectDestroy)(handle)

    def free_array(self, array: c_ulonglong) -> None:
        """Gives an array back."""
        self.library.cuArrayDestroy(array)

    def copy(self, to: c_ulonglong, source: c_ulonglong, size: int) -> None:
        """Copies one buffer to another."""
        self.call("cuMemcpyDtoD_v2", to, source, c_size_t(size))


class Mapped(NamedTuple):
    """Memory that is mapped at several addresses: its handle, how many bytes there are, and the addresses."""

    handle: c_ulonglong
    size: int
    addresses: list[c_ulonglong]


def _config(
    grid: int, block: int, shared: int, stream: c_void_p | None, cluster: int, early: bool = False
) -> LaunchConfig:
    """A launch in clusters, or one that may begin early, or both."""
    wanted = [(_CLUSTER, (cluster, 1, 1))] if cluster > 1 else []
    wanted += [(_EARLY, (1, 0, 0))] if early else []
    attributes = (LaunchAttribute * len(wanted))()
    for attribute, (number, value) in zip(attributes, wanted, strict=True):
        attribute.id = number
        attribute.value[:3] = value
    # The pointer keeps the attributes alive, and the structure the pointer.
    pointer = ctypes.cast(attributes, POINTER(LaunchAttribute))
    return LaunchConfig((c_uint * 3)(grid, 1, 1), (c_uint * 3)(block, 1, 1), shared, stream, pointer, len(wanted))


def _library() -> ctypes.CDLL:
    for name in [os.environ[LIBRARY]] if LIBRARY in os.environ else _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = str(error)
    raise CudaError(f"no CUDA driver can be loaded: {reason}")
