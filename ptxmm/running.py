"""Kernels run: arguments from Python, buffers in and out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from ptxcore.machine.kernel.launch import Device
    from ptxcore.machine.kernel.lowering import Parameter


@dataclass(frozen=True, slots=True)
class Run:
    """A launch that came to its end: `executed` thread-instructions, what the kernel `printed`, and the `seed` of its
    schedule (None: round-robin)."""

    executed: int
    printed: str
    seed: int | None


def run(
    path: str | PathLike[str],
    entry: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Sequence[Any] = (),
    *,
    cluster: tuple[int, ...] | None = None,
    dynamic_shared: int = 0,
    seed: int | None = None,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Runs a kernel of a PTX module on the written semantics of its instructions, to the end of all its threads.

    `args` in the order of the parameters: a NumPy array becomes a buffer in global memory and is updated in place; a NumPy
    or Python scalar is passed by value (a Python float in the parameter's format), bytes as they are. `grid`, `block` and
    `cluster` have one to three dimensions; `dynamic_shared` counts bytes. Threads take turns, round-robin, or in a random
    order that `seed` replays. `limit` bounds the instructions executed; `progress(finished, all)` is told of CTAs.

    Raises InputError for a module that is wrong, `ptxcore.machine.kernel.launch.UsageError` for a launch that cannot be
    made, `ptxcore.machine.kernel.faults.KernelError` for an error in the kernel, with thread, instruction and source line,
    and OSError where the file cannot be read.
    """
    device = load(path)
    return launch(
        device, entry, grid, block, args,
        cluster=cluster, dynamic_shared=dynamic_shared, seed=seed, limit=limit, progress=progress,
    )  # fmt: skip


def load(path: str | PathLike[str]) -> Device:
    """A module ready to launch, with its memory; several launches on it see what those before left in its variables."""
    from ptxcore.machine.kernel.launch import load as load_text
    from ptxmm.linting import read

    return load_text(read(path), str(path))


def launch(
    device: Device,
    entry: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Sequence[Any] = (),
    *,
    cluster: tuple[int, ...] | None = None,
    dynamic_shared: int = 0,
    seed: int | None = None,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """As `run`, of a module that is loaded already."""
    from ptxcore.machine.kernel.launch import UsageError

    parameters = device.kernel(entry)
    if len(args) != len(parameters):
        raise UsageError(f"'{entry}' takes {len(parameters)} arguments, not {len(args)}")
    buffers: list[tuple[int, Any]] = []
    values = []
    for parameter, argument in zip(parameters, args, strict=True):
        if _is_array(argument):
            address = device.memory.allocate(argument.nbytes, parameter.name)
            device.memory.at(address).data[:] = argument.tobytes()
            buffers.append((address, argument))
            values.append(address.to_bytes(8, "little"))
        else:
            values.append(_scalar(parameter, argument))
    try:
        done = device.launch(
            entry, _three(grid), _three(block), values, cluster=None if cluster is None else _three(cluster),
            dynamic_shared=dynamic_shared, seed=seed, limit=limit, progress=progress,
        )  # fmt: skip
        for address, array in buffers:
            _update(array, bytes(device.memory.at(address).data))
    finally:
        for address, _ in buffers:
            device.memory.free(address)
    return Run(done.executed, "".join(done.output), seed)


def _three(sizes: tuple[int, ...] | int) -> tuple[int, int, int]:
    from ptxcore.machine.kernel.launch import UsageError

    given = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if not 1 <= len(given) <= 3:
        raise UsageError(f"one to three dimensions, not {len(given)}")
    x, y, z = (*given, 1, 1)[:3]
    return int(x), int(y), int(z)


def _is_array(argument: Any) -> bool:
    """Whether this is a NumPy array with dimensions, without importing NumPy."""
    return hasattr(argument, "tobytes") and hasattr(argument, "dtype") and getattr(argument, "ndim", 0) > 0


def _update(array: Any, data: bytes) -> None:
    import numpy

    array[...] = numpy.frombuffer(data, dtype=array.dtype).reshape(array.shape)


def _scalar(parameter: Parameter, argument: Any) -> bytes:
    """The bytes of a parameter that is passed by value."""
    import struct

    from ptxcore.machine.kernel.launch import UsageError

    if isinstance(argument, bytes | bytearray):
        data = bytes(argument)
    elif hasattr(argument, "tobytes"):  # a NumPy scalar
        data = argument.tobytes()
    elif isinstance(argument, float):
        form = {4: "<f", 8: "<d", 2: "<e"}.get(parameter.size)
        if form is None:
            raise UsageError(f"'{parameter.name}' is no floating-point parameter")
        data = struct.pack(form, argument)
    elif isinstance(argument, int):
        if parameter.type in ("f32", "f64") and parameter.elements == 1:
            return _scalar(parameter, float(argument))
        width = 8 * parameter.size
        if not -(1 << (width - 1)) <= argument < 1 << width:
            raise UsageError(f"{argument} does not fit into '{parameter.name}', which has {parameter.size} bytes")
        return (argument & ((1 << width) - 1)).to_bytes(parameter.size, "little")
    else:
        raise UsageError(f"'{parameter.name}' takes a number, bytes or a NumPy array, not {type(argument).__name__}")
    if len(data) > parameter.size:
        raise UsageError(f"'{parameter.name}' has {parameter.size} bytes, the argument {len(data)}")
    return data
