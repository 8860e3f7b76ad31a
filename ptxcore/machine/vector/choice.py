"""Which machine executes a launch. Imports NumPy, and what works with it, only where that gains time.

How often a loop goes round nobody knows before it does. So a launch begins thread by thread, unless its code executed once is
enough for arrays to gain; when it has executed so much that it would have been done by now, had it begun by arrays and been as
long as that, it begins again by arrays. So it takes at most twice the time of the faster machine, and little more
than that of single threads where these are faster.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Unpack

from ptxcore.machine.run.faults import Longer
from ptxcore.machine.run.grid import GridLaunch
from ptxcore.machine.run.launch import Device, Options, kernel_of
from ptxcore.machine.run.special import Triple

if TYPE_CHECKING:
    from ptxcore.machine.vector.watching import Watcher

#: Measured, in thread-instructions that the machine of single threads executes meanwhile: importing NumPy, importing what
#: works with it, making one instruction's array code, and executing it once.
_NUMPY, _ARRAYS, _MADE, _EXECUTED = 250_000, 40_000, 400, 50
#: Bytes that are copied in the time of a thread-instruction.
_COPIED = 1024
#: Threads that have the same instruction to execute at the same time, at least, where arrays may gain.
_ENOUGH = 2 * _EXECUTED
#: Instructions that the threads of a warp come to together with parts of matrices, each of which costs a single thread as much
#: as so many others (measured: a tile of 128 x 128 x 64 by `mma` takes 218 ms so, 13 ms by arrays).
_MATRICES, _TOGETHER = frozenset(("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix")), 20


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
    Single threads begin with the CTAs at which arrays have stopped, if somebody watches: what is wrong there is seen at
    once then,
    and is told of a run in any order. Raises UsageError, and KernelError for what goes wrong in the kernel."""
    watcher: Watcher | None = options.pop("watcher", None)
    shape = grid, block, cluster

    def prepared() -> GridLaunch:
        return device.prepare(entry, grid, block, arguments, cluster=cluster, **options)

    stopped = 0
    if options.get("seed") is None:
        if watcher is not None:
            made = prepared()
            if _by_arrays(device, made, shape, watcher):
                return made
            stopped = made.by_arrays
        elif single is None and (left := patience(device, entry, shape)) is not None:
            return _without_watcher(device, prepared, shape, left)
    options["watcher"] = None if single is None else single()
    made = prepared()
    made.waiting.first = stopped // prod(made.cluster)
    made.run()
    return made


def _without_watcher(
    device: Device, prepared: Callable[[], GridLaunch], shape: tuple[Any, ...], left: int
) -> GridLaunch:
    """Runs a launch that may gain by arrays, when so many instructions are executed."""
    if left:
        restore = device.memory.copied()
        made = prepared()
        made.patience = left
        try:
            made.run()
        except Longer:
            restore()
        else:
            device.spent[made.entry] = device.spent.get(made.entry, 0) + made.executed
            return made
    made = prepared()
    if not _by_arrays(device, made, shape, None):
        made = prepared()
        made.run()
    return made


def _by_arrays(device: Device, made: GridLaunch, shape: tuple[Any, ...], watcher: Watcher | None) -> bool:
    """Runs a launch by arrays; whether that could be done. Where it could not, it is not tried again without a watcher."""
    from ptxcore.machine.vector.launch import run

    done = run(device, made, watcher)
    if not done:
        device.kept[made.entry].refused.add(shape)
    return done


def patience(device: Device, entry: str, shape: tuple[Triple, Triple, Triple | None]) -> int | None:
    """How many instructions a launch executes thread by thread before it is tried by arrays: 0 where these are certain to be
    faster if each thread executes the whole code once; None where it never is. What launches before it have executed so of the
    same kernel counts: so many of them are together never more than twice as slow as what would have been best. Raises
    UsageError where there is no such kernel."""
    code = kernel_of(device.program, entry)
    if entry in device.kept and shape in device.kept[entry].refused:
        return None
    threads, size = prod(shape[0]) * prod(shape[1]), len(code.ops)
    together = sum(op.use.form.mnemonic in _MATRICES for op in code.ops)
    weight = 1 + (_TOGETHER - 1) * together / max(1, size)
    if threads * weight < _ENOUGH:
        return None
    once = 0 if entry in device.kept else size * _MADE
    if "numpy" not in sys.modules:
        once += _NUMPY
    if "ptxcore.machine.vector.launch" not in sys.modules:
        once += _ARRAYS
    if threads * size * weight > once + size * _EXECUTED:
        return 0
    # In the time of an instruction of all threads: what is executed of them pays for what arrays need once.
    most = max(0, round(once / (1 - _EXECUTED / (threads * weight)) / weight) - device.spent.get(entry, 0))
    return most if sum(s.size for s in device.memory.segments.values()) <= most * _COPIED else 0
