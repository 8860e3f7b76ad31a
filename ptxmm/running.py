"""Kernels run: arguments from Python, buffers in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from os import PathLike

    from ptxcore.diagnostics import Diagnostic
    from ptxcore.machine.run.launch import Device
    from ptxcore.machine.vector.watching import Watcher
    from ptxmm.kernels.modules import Module


@dataclass(frozen=True, slots=True)
class Run:
    """A launch that came to its end: `executed` thread-instructions, what the kernel `printed`, and the `seed` of its
    schedule (None: round-robin). `warnings` are what the author of the module should know."""

    executed: int
    printed: str
    seed: int | None
    warnings: tuple[Diagnostic, ...] = ()


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
    references: Mapping[str, Any] | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> Run:
    """Runs the kernel `entry` of the PTX module in the file `path`, or of the one that nvcc makes of CUDA C++ there, on the
    written semantics of its instructions, to the end of all its threads.

    `args` in the order of the parameters: a NumPy array becomes a buffer in global memory and is updated in place (one that
    is given twice, or in parts, is the same memory; one that is read-only cannot be written); a NumPy or Python number is
    passed by value, in the parameter's format; None is a null pointer; bytes, and arrays and structures of just its size, fill
    a parameter that is an array; a dictionary describes a structure, whose pointers are arrays; a `Texture` or a `Surface` is
    passed as its handle, and `references` binds those that the module declares by name. `grid`, `block` and `cluster`
    have one to three dimensions; `dynamic_shared` counts bytes. Threads take turns, round-robin, or in a random
    order that `seed` replays. `limit` bounds the instructions executed; `progress(finished, all, executed)` is told of CTAs
    and instructions, now and then.

    Raises InputError for a module that is wrong, or cannot be compiled, `ptxcore.machine.run.launch.UsageError` for a launch
    that cannot be made, `ptxcore.machine.run.faults.KernelError` for an error in the kernel, with thread, instruction and line,
    and OSError where the file cannot be read.
    """
    device = load(path)
    return launch(
        device, entry, grid, block, args,
        cluster=cluster, dynamic_shared=dynamic_shared, seed=seed, limit=limit, references=references,
        progress=progress,
    )  # fmt: skip


def load(path: str | PathLike[str]) -> Device:
    """A module ready to launch, with its memory; several launches on it see what those before left in its variables. Raises
    InputError and OSError as `run` does."""
    from ptxmm.kernels.source import loaded

    return loaded(module_of(path))


def module_of(path: str | PathLike[str], options: Sequence[str] | None = None) -> Module:
    """The module of a file: PTX as it is, CUDA C++ as nvcc compiles it with `options`, as for `ptxmm check`. Raises
    InputError for what cannot be compiled, and OSError where PTX cannot be read."""
    from ptxmm.kernels.modules import NVCC_OPTIONS, Module, is_source, of_file
    from ptxmm.linting import read

    if is_source(str(path)):
        return of_file(str(path), NVCC_OPTIONS if options is None else options)
    return Module(read(path), str(path))


def entry_named(device: Device, name: str | None) -> str:
    """The kernel that a name means, which may leave out what C++ makes of it; the name itself where there is none. None means
    the only kernel. Raises `ptxcore.machine.run.launch.UsageError` for a name of several, and for None unless there is one."""
    from ptxcore.machine.run.launch import UsageError
    from ptxmm.kernels.plain_names import meant

    known = [name for name, code in device.program.functions.items() if code.entry]
    if name is None:
        if len(known) != 1:
            raise UsageError(
                f"which of the {len(known)} kernels is meant? --entry says it: {', '.join(known)}"
                if known
                else "the module has no kernel"
            )
        return known[0]
    found = meant(name, known)
    if len(found) > 1:
        raise UsageError(f"'{name}' may be {len(found)} kernels; say which: {', '.join(found)}")
    return found[0] if found else name


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
    references: Mapping[str, Any] | None = None,
    progress: Callable[[int, int, int], None] | None = None,
    watcher: Watcher | None = None,
    single: Callable[[], Any] | None = None,
    placed: Callable[[Sequence[tuple[Any, int]]], None] | None = None,
) -> Run:
    """As `run`, of a module that is loaded already; `watcher` is told what threads do together, and what `single` gives, what
    they do one by one where they have to; see `ptxcore.machine.vector.choice.launch`. `placed` is told before that at which
    address each array is."""
    from ptxcore.machine.run.launch import UsageError
    from ptxcore.machine.vector.choice import launch as launched
    from ptxmm.arguments import Arguments

    entry = entry_named(device, entry)
    parameters = device.kernel(entry)
    if len(args) != len(parameters):
        raise UsageError(f"'{entry}' takes {len(parameters)} arguments, not {len(args)}")
    given = Arguments(device, parameters, args, references)
    try:
        if placed is not None:
            placed(given.places)
        how: dict[str, Any] = {
            "cluster": None if cluster is None else _three(cluster), "dynamic_shared": dynamic_shared, "seed": seed,
            "limit": limit, "progress": progress, "watcher": watcher, "single": single,
        }  # fmt: skip
        done = launched(device, entry, _three(grid), _three(block), given.values, **how)
        given.update()
    finally:
        given.free()
    return Run(done.executed, "".join(done.output), seed, device.warnings)


class Part(NamedTuple):
    """One of several launches that run at the same time."""

    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Sequence[Any]
    dynamic_shared: int = 0


def launch_together(
    device: Device,
    parts: Sequence[Part],
    *,
    seed: int | None = None,
    limit: int | None = None,
    progress: Callable[[int, int, int], None] | None = None,
    single: Callable[[], Any] | None = None,
    placed: Callable[[Sequence[tuple[Any, int]]], None] | None = None,
) -> Run:
    """As `launch`, of several launches that run at the same time, thread by thread; an array that several of them take is the
    same memory. `single` is made once for all of them."""
    from ptxcore.machine.run.concurrent import Concurrent
    from ptxcore.machine.run.launch import UsageError
    from ptxmm.arguments import Arguments

    parameters = [device.kernel(part.entry) for part in parts]
    for part, own in zip(parts, parameters, strict=True):
        if len(part.args) != len(own):
            raise UsageError(f"'{part.entry}' takes {len(own)} arguments, not {len(part.args)}")
    given = Arguments(device, [p for own in parameters for p in own], [a for part in parts for a in part.args])
    try:
        if placed is not None:
            placed(given.places)
        watcher, values, launches = single() if single is not None else None, iter(given.values), []
        for part, own in zip(parts, parameters, strict=True):
            launches.append(
                device.prepare(
                    part.entry, _three(part.grid), _three(part.block), [next(values) for _ in own],
                    dynamic_shared=part.dynamic_shared, seed=seed, limit=limit, progress=progress, watcher=watcher,
                )
            )  # fmt: skip
        done = Concurrent(launches)
        done.run()
        given.update()
    finally:
        given.free()
    return Run(done.executed, "".join(done.output), seed, device.warnings)


def _three(sizes: tuple[int, ...] | int) -> tuple[int, int, int]:
    from operator import index

    from ptxcore.machine.run.launch import UsageError

    try:
        given = tuple(map(index, sizes)) if isinstance(sizes, Iterable) else (index(sizes),)
    except TypeError:
        raise UsageError(f"a size is one to three whole numbers, not {sizes!r}") from None
    if not 1 <= len(given) <= 3:
        raise UsageError(f"one to three dimensions, not {len(given)}")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z
