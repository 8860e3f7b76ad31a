"""Which machine executes a launch. Imports NumPy, and what works with it, only where that gains time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Unpack

from ptxcore.machine.lower.ops import Code
from ptxcore.machine.run.grid import GridLaunch
from ptxcore.machine.run.launch import Device, Options
from ptxcore.machine.run.special import Triple

if TYPE_CHECKING:
    from ptxcore.machine.vector.watching import Watcher

#: Measured, in thread-instructions that the machine of single threads executes meanwhile: importing NumPy, importing what
#: works with it, making one instruction's array code, and executing it once.
_NUMPY, _ARRAYS, _MADE, _EXECUTED = 250_000, 40_000, 400, 50
#: Instructions that the threads of a warp come to together with parts of matrices, each of which costs a single thread as much
#: as so many others (measured: a tile of 128 x 128 x 64 by `mma` takes 218 ms so, 13 ms by arrays).
_MATRICES, _TOGETHER = frozenset(("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix")), 20
#: How often the instructions of a kernel that has loops are executed, at a guess.
_ROUNDS = 4


def launch(
    device: Device,
    entry: str,
    grid: Triple,
    block: Triple,
    arguments: Sequence[int | bytes],
    *,
    cluster: Triple | None = None,
    single: Callable[[], Any] | None = None,
    **options: Unpack[Options],
) -> GridLaunch:
    """Runs a kernel to its end, as `Device.launch` does and with the same result: by arrays where that is faster and fits, else
    thread by thread. Schedules that a seed draws are always those of single threads. A `watcher` is told what happens, and
    wants arrays however small the launch is; `single` gives who is told of single threads (`ptxcore.machine.run.watched`), as
    which they run where there is no other watcher.
    Raises UsageError, and KernelError for what goes wrong in the kernel."""
    watcher: Watcher | None = options.pop("watcher", None)
    if options.get("seed") is None and (watcher is not None or (single is None and gains(device, entry, grid, block))):
        made = device.prepare(entry, grid, block, arguments, cluster=cluster, **options)
        from ptxcore.machine.vector.launch import run

        if run(device, made, watcher):
            return made
    options["watcher"] = None if single is None else single()
    return device.launch(entry, grid, block, arguments, cluster=cluster, **options)


def gains(device: Device, entry: str, grid: Triple, block: Triple) -> bool:
    """Whether arrays are faster for a launch."""
    code = device.program.functions.get(entry)
    if code is None:
        return False  # which is said where it is launched
    threads = prod(grid) * prod(block)
    rounds = _ROUNDS if _has_loops(code) else 1
    size = len(code.ops)
    cost = size * rounds * _EXECUTED
    if entry not in device.kept:
        cost += size * _MADE
    if "numpy" not in sys.modules:
        cost += _NUMPY
    if "ptxcore.machine.vector.launch" not in sys.modules:
        cost += _ARRAYS
    together = sum(op.use.form.mnemonic in _MATRICES for op in code.ops)
    return threads * (size + (_TOGETHER - 1) * together) * rounds > cost


def _has_loops(code: Code) -> bool:
    """Whether control may go back."""
    return any(code.labels.get(label, i + 1) <= i for i, op in enumerate(code.ops) for label in op.labels)
