"""Kernels on a GPU, through the CUDA driver API and nothing else (`libcuda.so.1`, by ctypes).

An error in a kernel leaves a process without a usable GPU, and a compiler that dies takes the process along. So a worker
process does the work, one module at a time; where it dies or hangs it is started anew, and the module's kernels are tried
in halves until the one to blame is found.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from gpu.launches import Launch, Outcome

#: What a GPU's driver is loaded from; another library may be named, for tests.
LIBRARY = "PTXMM_LIBCUDA"
_NAMES = ("libcuda.so.1", "libcuda.so")

#: The newest PTX version that drivers take, by the CUDA version that they report (the manual's release notes).
_PTX_OF_CUDA = (
    (13000, "9.0"), (12090, "8.8"), (12080, "8.7"), (12070, "8.6"), (12050, "8.5"), (12040, "8.4"), (12030, "8.3"),
    (12020, "8.2"), (12010, "8.1"), (12000, "8.0"), (11080, "7.8"), (11070, "7.7"), (11060, "7.6"), (11050, "7.5"),
    (11040, "7.4"), (11030, "7.3"), (11020, "7.2"), (11010, "7.1"), (11000, "7.0"), (10020, "6.5"),
)  # fmt: skip

_MAJOR, _MINOR = 75, 76  # attributes: the compute capability
_LOG, _LOG_SIZE = 5, 6  # options of the compiler: its error log
_LOG_BYTES = 16384

#: What is to become of a module: its text, or what ptxas made of it, and the launches.
Job = tuple[bytes, Sequence[Launch]]


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
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), self.handle)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise CudaError(f"{name}: {self._error(status)}")

    def _error(self, status: int) -> str:
        text = c_char_p()
        found = self.library.cuGetErrorName(c_int(status), byref(text)) == 0 and text.value
        return found.decode() if found else f"error {status}"

    def device(self) -> Device:
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, c_int(256), self.handle)
        major, minor, version = c_int(), c_int(), c_int()
        self.call("cuDeviceGetAttribute", byref(major), c_int(_MAJOR), self.handle)
        self.call("cuDeviceGetAttribute", byref(minor), c_int(_MINOR), self.handle)
        self.call("cuDriverGetVersion", byref(version))
        ptx = next((ptx for cuda, ptx in _PTX_OF_CUDA if version.value >= cuda), "6.4")
        return Device(name.value.decode(), f"sm_{major.value}{minor.value}", ptx, version.value)

    def run(self, image: bytes, launches: Sequence[Launch]) -> list[Outcome]:
        """Loads a module and launches kernels of it. Raises CudaError where it cannot be loaded, or one fails."""
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (c_int * 2)(_LOG, _LOG_SIZE)
        values = (c_void_p * 2)(ctypes.cast(log, c_void_p), c_void_p(_LOG_BYTES))
        module = c_void_p()
        try:
            self.call("cuModuleLoadDataEx", byref(module), c_char_p(image + b"\0"), c_uint(2), options, values)
        except CudaError as error:
            said = log.value.decode(errors="replace").strip()
            raise LoadError(f"{error}{': ' + said if said else ''}") from None
        try:
            return [self._launch(module, one) for one in launches]
        finally:
            self.library.cuModuleUnload(module)

    def _launch(self, module: c_void_p, one: Launch) -> Outcome:
        function = c_void_p()
        self.call("cuModuleGetFunction", byref(function), module, c_char_p(one.name.encode()))
        inputs, outputs = c_ulonglong(), c_ulonglong()
        self.call("cuMemAlloc_v2", byref(inputs), c_size_t(max(len(one.data), 16)))
        try:
            self.call("cuMemAlloc_v2", byref(outputs), c_size_t(max(one.result_bytes, 16)))
            self.call("cuMemcpyHtoD_v2", inputs, c_char_p(one.data), c_size_t(len(one.data)))
            self.call("cuMemsetD8_v2", outputs, ctypes.c_ubyte(0), c_size_t(max(one.result_bytes, 16)))
            arguments = (inputs, outputs, c_uint(one.count))
            pointers = (c_void_p * 3)(*(ctypes.cast(ctypes.pointer(x), c_void_p) for x in arguments))
            sizes = [c_uint(n) for n in (one.grid, 1, 1, one.block, 1, 1)]
            self.call("cuLaunchKernel", function, *sizes, c_uint(0), c_void_p(), pointers, c_void_p())
            self.call("cuCtxSynchronize")
            result = ctypes.create_string_buffer(max(one.result_bytes, 1))
            self.call("cuMemcpyDtoH_v2", result, outputs, c_size_t(one.result_bytes))
            return Outcome(result.raw[: one.result_bytes])
        finally:
            self.library.cuMemFree_v2(inputs)
            if outputs.value:
                self.library.cuMemFree_v2(outputs)


def _library() -> ctypes.CDLL:
    for name in [os.environ[LIBRARY]] if LIBRARY in os.environ else _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = str(error)
    raise CudaError(f"no CUDA driver can be loaded: {reason}")


# The worker.


def _serve(ends: tuple[Connection, Connection], ordinal: int) -> None:
    """Answers what the GPU is, then each job: with its outcomes, or a text that says why there are none."""
    theirs, connection = ends
    theirs.close()
    try:
        driver = Driver(ordinal)
        connection.send(driver.device())
        driver.activate()
    except (CudaError, AttributeError) as error:
        connection.send(str(error))
        return
    while True:
        try:
            image, launches = connection.recv()
        except EOFError:
            return
        try:
            connection.send(driver.run(image, launches))
        except LoadError as error:
            connection.send(error)
        except CudaError as error:
            connection.send(str(error))
            return  # the context may be lost


class Gpu:
    """A GPU, reached through a worker. Raises CudaError where there is none. `patience`: seconds that a module may take."""

    def __init__(self, ordinal: int = 0, patience: float = 300.0) -> None:
        self.ordinal, self.patience = ordinal, patience
        self._process: Any = None
        self._connection: Connection | None = None
        self.restarts = -1
        self.device = self._start()

    def _start(self) -> Device:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=((ours, theirs), self.ordinal), daemon=True)
        self._process.start()
        theirs.close()
        self._connection = ours
        self.restarts += 1
        found = self._answer()
        if isinstance(found, Device):
            return found
        self.close()
        raise CudaError(str(found))

    def _answer(self) -> Any:
        assert self._connection is not None
        try:
            if not self._connection.poll(self.patience):
                return f"no answer within {self.patience:.0f} s"
            return self._connection.recv()
        except (EOFError, OSError):
            self._process.join(5)
            return f"the process died ({self._process.exitcode})"

    def close(self) -> None:
        """Ends the worker."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.join(1)
            if self._process.is_alive():
                self._process.kill()
                self._process.join(5)
            self._process = None

    def _try(self, image: bytes, launches: Sequence[Launch]) -> list[Outcome] | str:
        if self._connection is None:
            self._start()
        assert self._connection is not None
        with contextlib.suppress(OSError):  # then there is no answer either
            self._connection.send((image, launches))
        found = self._answer()
        if isinstance(found, LoadError):
            return str(found)
        if isinstance(found, str):
            self.close()
        return found  # type: ignore[no-any-return]

    def run(self, build: Callable[[Sequence[int]], bytes], launches: Sequence[Launch]) -> list[Outcome]:
        """The outcomes of launches. `build(indices)` makes the module that has the kernels of these launches."""
        outcomes: list[Outcome] = [Outcome()] * len(launches)
        todo = [list(range(len(launches)))]
        while todo:
            part = todo.pop()
            try:
                found: list[Outcome] | str = self._try(build(part), [launches[i] for i in part])
            except BuildError as error:
                found = str(error)
            if not isinstance(found, str):
                for i, outcome in zip(part, found, strict=True):
                    outcomes[i] = outcome
            elif len(part) == 1:
                outcomes[part[0]] = Outcome(error=found)
            else:
                middle = len(part) // 2
                todo += [part[middle:], part[:middle]]
        return outcomes


class BuildError(Exception):
    """A module that could not be made."""
