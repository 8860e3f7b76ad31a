"""The CUDA driver API, as far as it is needed here, and nothing else (`libcuda.so.1`, by ctypes).

No package is needed for it: the calls are a dozen, their signatures have not changed since CUDA 4, and what is not there is
found out by one look. An error in a kernel leaves a process without a usable GPU, so that `ptxmm.gpu.worker` uses it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_ulonglong, c_void_p
from typing import Any, NamedTuple

#: What a GPU's driver is loaded from; another library may be named, for tests.
LIBRARY = "PTXMM_LIBCUDA"
_NAMES = ("libcuda.so.1", "libcuda.so")

#: The newest PTX version that drivers take, by the CUDA version that they report (the manual's release notes).
_PTX_OF_CUDA = (
    (13000, "9.0"), (12090, "8.8"), (12080, "8.7"), (12070, "8.6"), (12050, "8.5"), (12040, "8.4"), (12030, "8.3"),
    (12020, "8.2"), (12010, "8.1"), (12000, "8.0"), (11080, "7.8"), (11070, "7.7"), (11060, "7.6"), (11050, "7.5"),
    (11040, "7.4"), (11030, "7.3"), (11020, "7.2"), (11010, "7.1"), (11000, "7.0"), (10020, "6.5"),
)  # fmt: skip

_PROCESSORS, _MAJOR, _MINOR = 16, 75, 76  # attributes: the number of multiprocessors, the compute capability
_LOG, _LOG_SIZE = 5, 6  # options of the compiler: its error log
_LOG_BYTES = 16384


class CudaError(Exception):
    """A call of the driver that failed, by its name."""


class LoadError(CudaError):
    """A module that the driver refuses; the GPU stays usable."""


class Device(NamedTuple):
    """A GPU: `arch` as PTX names it, `ptx` the newest version of modules that its driver takes."""

    name: str
    arch: str
    ptx: str
    driver: int


class Driver:
    """The driver with a GPU's context made current. Raises CudaError where there is none."""

    def __init__(self, ordinal: int = 0) -> None:
        self.library = _library()
        self.call("cuInit", c_uint(0))
        count = c_int()
        self.call("cuDeviceGetCount", byref(count))
        if count.value <= ordinal:
            raise CudaError(f"there are {count.value} GPUs, none with the number {ordinal}")
        self.handle = c_int()
        self.call("cuDeviceGet", byref(self.handle), c_int(ordinal))

    def activate(self) -> None:
        """Makes the GPU's context that of this thread."""
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), self.handle)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver. Raises CudaError where it fails, or is not there."""
        function = getattr(self.library, name, None)
        if function is None:
            raise CudaError(f"{name}: this driver does not have it")
        status = function(*arguments)
        if status:
            raise CudaError(f"{name}: {self._error(status)}")

    def _error(self, status: int) -> str:
        text = c_char_p()
        found = self.library.cuGetErrorName(c_int(status), byref(text)) == 0 and text.value
        return found.decode() if found else f"error {status}"

    def device(self) -> Device:
        """What the GPU is."""
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, c_int(256), self.handle)
        version = c_int()
        self.call("cuDriverGetVersion", byref(version))
        ptx = next((ptx for cuda, ptx in _PTX_OF_CUDA if version.value >= cuda), "6.4")
        arch = f"sm_{self._attribute(_MAJOR)}{self._attribute(_MINOR)}"
        return Device(name.value.decode(errors="replace"), arch, ptx, version.value)

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

    def resident(self, function: c_void_p, block: int, shared: int) -> int:
        """How many CTAs of a kernel run at once."""
        count = c_int()
        self.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(count), function, c_int(block), c_size_t(shared))
        return count.value * self._attribute(_PROCESSORS)

    def launch(self, function: c_void_p, grid: int, block: int, arguments: Sequence[Any], shared: int = 0) -> None:
        """Runs a kernel to its end. Raises CudaError."""
        pointers = (c_void_p * len(arguments))(*(ctypes.cast(ctypes.pointer(x), c_void_p) for x in arguments))
        sizes = [c_uint(n) for n in (grid, 1, 1, block, 1, 1)]
        self.call("cuLaunchKernel", function, *sizes, c_uint(shared), c_void_p(), pointers, c_void_p())
        self.call("cuCtxSynchronize")

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

    def copy(self, to: c_ulonglong, source: c_ulonglong, size: int) -> None:
        """Copies one buffer to another."""
        self.call("cuMemcpyDtoD_v2", to, source, c_size_t(size))


def _library() -> ctypes.CDLL:
    for name in [os.environ[LIBRARY]] if LIBRARY in os.environ else _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = str(error)
    raise CudaError(f"no CUDA driver can be loaded: {reason}")
