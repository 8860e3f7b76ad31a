"""Launches: by arrays where they are large enough to gain from it and do what arrays can, else thread by thread."""

from __future__ import annotations

from itertools import islice

import numpy as np

from ptxcore.machine.run.grid import GridLaunch
from ptxcore.machine.run.launch import Device
from ptxcore.machine.vector.codegen import Blocks
from ptxcore.machine.vector.group import CtaGroup
from ptxcore.machine.vector.memory import GroupMemory, LaunchMemory
from ptxcore.machine.vector.registers import TOO_MANY, Irregular
from ptxcore.machine.vector.watching import Watcher

#: Threads that go on together, and the bytes of shared memory that they have at most, unless one cluster has more.
_TOGETHER = 16384
_SHARED = 4 << 20


def run(device: Device, launch: GridLaunch, watcher: Watcher | None = None) -> bool:
    """Runs a launch by arrays; whether that could be done, see `executed`."""
    try:
        return not executed(launch, blocks_of(device, launch.entry), watcher)
    finally:
        if launch.workspace:
            launch.memory.free(launch.workspace)


def blocks_of(device: Device, entry: str) -> Blocks:
    """A kernel as functions over arrays; made once."""
    found = device.kept.get(entry)
    if found is None:
        found = device.kept[entry] = Blocks(device.program, device.program.functions[entry])
    return found


def executed(launch: GridLaunch, blocks: Blocks, watcher: Watcher | None = None) -> str:
    """Runs a launch by arrays; the result is as `GridLaunch.run` leaves it. Gives "", or why it could not be done; memory is as
    before then."""
    memory = LaunchMemory(launch.memory, launch.constants, launch.parameters)
    try:
        with np.errstate(all="ignore"):
            _groups(launch, blocks, memory, watcher)
    except Irregular as error:
        memory.restore()
        launch.executed = 0
        if watcher is not None:
            watcher.restart(str(error))
        return str(error)
    finally:
        memory.release()
    return ""


def _groups(launch: GridLaunch, blocks: Blocks, memory: LaunchMemory, watcher: Watcher | None) -> None:
    """Runs CTAs, as many at a time as go on together. Raises Irregular."""
    ranks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
    threads = len(launch.places)
    shared = max(1, launch.shared_bytes)
    clusters = max(1, min(_TOGETHER // (ranks * threads), _SHARED // (ranks * shared)))
    total = launch.grid[0] * launch.grid[1] * launch.grid[2]
    waiting = launch.indices()
    count = first = 0
    while ctas := list(islice(waiting, clusters * ranks)):
        row = np.repeat(np.arange(len(ctas)), threads)
        own = GroupMemory(memory, row, ranks, launch.shared_bytes, launch.unwritten, blocks.code.frame)
        if launch.filling:
            own.shared.bytes.reshape(len(ctas), -1)[:, : launch.kernel_shared] = launch.filling
        allowed = None if launch.limit is None else launch.limit - count
        group = CtaGroup(
            blocks, own, ctas, launch.shape, launch.places, launch.dynamic_start, first * threads, watcher, allowed
        )
        if watcher is not None:
            watcher.begin(first * threads, ctas, threads)
        group.run()
        count += group.executed
        first += len(ctas)
        if launch.limit is not None and count > launch.limit:
            raise Irregular(TOO_MANY)
        launch.executed = count
        launch.by_arrays = first
        launch.report(first, total)
