"""Kernels launched: arguments from Python, buffers in and out, of a module that is loaded already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptxcore.records import NamedTuple, dataclass

if TYPE_CHECKING:
    from ptxcore.diagnostics import Diagnostic
    from ptxcore.machine.run.launch import Device
    from ptxcore.machine.vector.watching import Watcher


@dataclass(frozen=True, slots=True)
class Run:
    """A launch that came to its end: `executed` thread-instructions, what the kernel `printed`, and the `seed` of its
    schedule (None: round-robin). `warnings` are what the author of the module should know."""

    executed: int
    printed: str
    seed: int | None
    warnings: tuple[Diagnostic, ...] = ()


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
    unwritten: int | None = None,
    names: Mapping[int, str] | None = None,
) -> Run:
    """As `ptxmm.run`, of a module that is loaded already; `watcher` is told what threads do together, and what `single`
    gives, what they do one by one where they have to; see `ptxcore.machine.vector.choice.launch`. `placed` is told before
    that at which address each array is. `unwritten` is in every byte of shared memory that nothing wrote (None: nobody
    knows what); `names`: see `LaunchArguments`."""
    from ptxcore.machine.run.launch import UsageError
    from ptxcore.machine.vector.choice import launch as launched
    from ptxmm.kernels.launch_arguments import LaunchArguments

    entry = entry_named(device, entry)
    parameters = device.kernel(entry)
    if len(args) != len(parameters):
        raise UsageError(f"'{entry}' takes {len(parameters)} arguments, not {len(args)}")
    given = LaunchArguments(device, parameters, args, references, names)
    try:
        if placed is not None:
            placed(given.places)
        how: dict[str, Any] = {
            "cluster": None if cluster is None else _three(cluster), "dynamic_shared": dynamic_shared, "seed": seed,
            "limit": limit, "progress": progress, "watcher": watcher, "single": single, "unwritten": unwritten,
        }  # fmt: skip
        done = launched(device, entry, _three(grid), _three(block), given.values, **how)
        given.update()
    finally:
        given.free()
    return Run(done.executed, "".join(done.output), seed, device.warnings)


class ConcurrentLaunch(NamedTuple):
    """One of several launches that run at the same time."""

    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Sequence[Any]
    dynamic_shared: int = 0


def launch_together(
    device: Device,
    parts: Sequence[ConcurrentLaunch],
    *,
    seed: int | None = None,
    limit: int | None = None,
    references: Mapping[str, Any] | None = None,
    progress: Callable[[int, int, int], None] | None = None,
    single: Callable[[], Any] | None = None,
    placed: Callable[[Sequence[tuple[Any, int]]], None] | None = None,
    unwritten: int | None = None,
    names: Mapping[int, str] | None = None,
) -> Run:
    """As `launch`, of several launches that run at the same time, thread by thread; an array that several of them take is the
    same memory. `single` is made once for all of them."""
    from ptxcore.machine.run.concurrent import Concurrent
    from ptxcore.machine.run.launch import UsageError
    from ptxmm.kernels.launch_arguments import LaunchArguments

    parameters = [device.kernel(part.entry) for part in parts]
    for part, own in zip(parts, parameters, strict=True):
        if len(part.args) != len(own):
            raise UsageError(f"'{part.entry}' takes {len(own)} arguments, not {len(part.args)}")
    arguments = [a for part in parts for a in part.args]
    given = LaunchArguments(device, [p for own in parameters for p in own], arguments, references, names)
    try:
        if placed is not None:
            placed(given.places)
        watcher, values, launches = single() if single is not None else None, iter(given.values), []
        for part, own in zip(parts, parameters, strict=True):
            launches.append(
                device.prepare(
                    part.entry, _three(part.grid), _three(part.block), [next(values) for _ in own],
                    dynamic_shared=part.dynamic_shared, seed=seed, limit=limit, progress=progress, watcher=watcher,
                    unwritten=unwritten,
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
