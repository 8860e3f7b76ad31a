"""Kernels run: of a file, from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptxmm.kernels.launching import Run, entry_named, launch

if TYPE_CHECKING:
    from os import PathLike

    from ptxcore.machine.run.launch import Device
    from ptxmm.kernels.modules import PtxText

__all__ = ["Run", "entry_named", "launch", "load", "module_of", "run"]


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


def module_of(path: str | PathLike[str], options: Sequence[str] | None = None) -> PtxText:
    """The module of a file: PTX as it is, CUDA C++ as nvcc compiles it with `options`, as for `ptxmm check`. Raises
    InputError for what cannot be compiled, and OSError where PTX cannot be read."""
    from ptxmm.kernels.modules import PtxText, is_source, of_file
    from ptxmm.linting import read

    if is_source(str(path)):
        return of_file(str(path), options or ())
    return PtxText(read(path), str(path))
