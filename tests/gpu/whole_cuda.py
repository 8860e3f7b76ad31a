"""Whole kernels on a GPU, one job each (`ptxmm.gpu.worker`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import addressof, byref, c_int, c_ubyte, c_uint, c_ulonglong, c_void_p
from typing import Any, NamedTuple

from gpu.whole import Argument, Image, Map, Pointer, Whole
from gpu.whole_images import Bound, levels_of

from ptxcore.values.tensor_map import FILLS, INTERLEAVES, MODES, EncodedTensorMap, decoded
from ptxmm.gpu.driver import CudaError, Driver
from ptxmm.gpu.worker import Worker

__all__ = ["CudaError", "Job", "WholeGpu", "job_of"]

#: What the driver's enumerations have (cuda.h), in their order.
_TYPES = (
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz", "b4x16", "b4x16_p64",
    "b6x16_p32",
)  # fmt: skip
_SWIZZLES = {
    ("none", "16B"): 0, ("32B", "16B"): 1, ("64B", "16B"): 2, ("128B", "16B"): 3, ("128B", "32B"): 4,
    ("128B", "32B_flip_8B"): 5, ("128B", "64B"): 6,
}  # fmt: skip
#: A map is 128 bytes, at a multiple of 64.
_MAP, _ALIGNED = 128, 64


class Job(NamedTuple):
    """A module, the launch of its kernel `entry`, what its parameters get, and what its buffers hold before."""

    image: bytes
    grid: int
    block: int
    data: tuple[bytes, ...]
    entry: str = "k"
    given: tuple[Argument, ...] = ()
    images: tuple[tuple[int, Any], ...] = ()
    places: tuple[int, ...] = ()


def job_of(whole: Whole, text: str) -> Job:
    """What becomes of a whole kernel, by a module for the GPU."""
    return Job(text.encode(), whole.grid, whole.block, whole.data, whole.entry, whole.given, whole.images, whole.places)


def serve(driver: Driver, job: Job) -> list[bytes]:
    """What a kernel leaves in its buffers. Raises CudaError where it cannot be loaded, or fails."""
    with driver.module(job.image) as module, driver.memory(*map(len, job.data)) as buffers:
        for buffer, data in zip(buffers, job.data, strict=True):
            driver.write(buffer, data)
        given = job.given or tuple(map(Pointer, range(len(buffers))))
        levels = levels_of(job.images, job.places)
        passed = {argument.handle for argument in given if isinstance(argument, Image)}
        bound = Bound(driver, module, job.images, {base: job.data[n] for base, n in levels.items()}, passed)
        try:
            arguments = [_argument(driver, argument, buffers, bound.handles) for argument in given]
            driver.launch(driver.function(module, job.entry), job.grid, job.block, arguments)
            left = [driver.read(buffer, len(data)) for buffer, data in zip(buffers, job.data, strict=True)]
            for base, texels in bound.taken().items():
                left[levels[base]] = texels
        finally:
            bound.free()
        return left


def _argument(driver: Driver, argument: Argument, buffers: Sequence[c_ulonglong], handles: Mapping[int, int]) -> Any:
    """What a parameter gets, as the driver takes it."""
    if isinstance(argument, Image):
        return c_ulonglong(handles[argument.handle])
    if isinstance(argument, Pointer):
        return c_ulonglong(buffers[argument.buffer].value + argument.offset)
    if isinstance(argument, Map):
        map_ = decoded(argument.data)
        return encoded(driver, map_, buffers[argument.buffer].value + argument.offset)
    return (c_ubyte * len(argument.data))(*argument.data)


def encoded(driver: Driver, map_: EncodedTensorMap, address: int) -> Any:
    """A tensor map as the driver encodes it, of a tensor at an address. Raises CudaError for one that CUDA does not have."""
    swizzle = _SWIZZLES.get((map_.swizzle, map_.atomicity))
    if swizzle is None:
        raise CudaError(f"CUDA has no swizzle {map_.swizzle} of {map_.atomicity}")
    raw = (c_ubyte * (_MAP + _ALIGNED))()
    start = -addressof(raw) % _ALIGNED
    found = (c_ubyte * _MAP).from_buffer(raw, start)
    wide = lambda numbers: (c_ulonglong * max(1, len(numbers)))(*numbers)  # noqa: E731
    narrow = lambda numbers: (c_uint * max(1, len(numbers)))(*numbers)  # noqa: E731
    head = [byref(found), c_int(_TYPES.index(map_.type)), c_uint(map_.rank), c_void_p(address)]
    head += [wide(map_.dims), wide(map_.strides)]
    steps, interleave = narrow(map_.element_strides), c_int(INTERLEAVES.index(map_.interleave))
    tail = [c_int(swizzle), c_int(0), c_int(FILLS.index(map_.fill))]
    if map_.mode == "tiled":
        driver.call("cuTensorMapEncodeTiled", *head, narrow(map_.box), steps, interleave, *tail)
        return found
    channels, pixels = map(c_uint, map_.box)
    if map_.mode == "im2col":
        corners = [(c_int * max(1, len(c)))(*c) for c in (map_.lower, map_.upper)]
        driver.call("cuTensorMapEncodeIm2col", *head, *corners, channels, pixels, steps, interleave, *tail)
        return found
    corners = [c_int(map_.lower[0]), c_int(map_.upper[0])]
    mode = c_int(MODES.index(map_.mode) - MODES.index("im2col_w"))
    driver.call("cuTensorMapEncodeIm2colWide", *head, *corners, channels, pixels, steps, interleave, mode, *tail)
    return found


class WholeGpu(Worker):
    """A GPU, reached through a worker. Raises CudaError where there is none. `patience`: seconds that a kernel may take."""

    def __init__(self, ordinal: int = 0, patience: float = 60.0) -> None:
        super().__init__(serve, ordinal, patience)

    def run(self, job: Job) -> list[bytes]:
        """What a kernel leaves in its buffers. Raises CudaError."""
        found: list[bytes] = self.ask(job)
        return found
