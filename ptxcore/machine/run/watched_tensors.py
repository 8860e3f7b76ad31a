"""Tensor Memory in a run that somebody watches: each allocation, access, wait and fence is told as it happens.

Whether an access is ordered behind others is for who watches to say, of all schedules; the order of this one is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ptxcore.isa.form import Use
from ptxcore.machine.run.surroundings import Thread
from ptxcore.machine.run.tensor_memory import Cells, TensorMemory
from ptxcore.values.tensor_cells import COLUMNS


class Watcher(Protocol):
    """Who is told of Tensor Memory. What it raises ends the run."""

    def begins(self, thread: Any, kind: str, place: Any) -> Any:
        """A thread begins an asynchronous access by a kind of instruction, as `Access` has it; gives what stands for it."""
        ...

    def touches(self, agent: Any, memory: TensorMemory, lanes: Any, columns: Any, *, writes: bool) -> None:
        """It reads or writes cells, at some time before it is complete."""
        ...

    def reads_shared(self, agent: Any, offset: int, size: int) -> None:
        """It reads shared memory of its CTA, at an offset."""
        ...

    def allocates(self, thread: Any, memory: TensorMemory, address: int, columns: int) -> None:
        """A thread of the warp that allocates columns is about to be told where they are."""
        ...

    def frees(self, thread: Any, memory: TensorMemory, address: int, columns: int) -> None:
        """A thread of the warp that gives columns back does its part of it."""
        ...

    def relinquishes(self, thread: Any, memory: TensorMemory) -> None:
        """A thread gives up that its CTA may allocate."""
        ...

    def waits(self, thread: Any, kind: str) -> None:
        """A thread's loads (`ld`) or stores (`st`) are complete."""
        ...

    def fences(self, thread: Any, which: str) -> None:
        """A thread executes `tcgen05.fence`."""
        ...

    def pairs(self, thread: Any) -> None:
        """A thread is about to access the Tensor Memories of two CTAs."""
        ...


class WatchedTensorMemory(TensorMemory):
    """Columns are allocated from the other end: where they are is left open, and who takes it for granted is told."""

    def places(self, columns: int) -> range:
        return range(COLUMNS - columns, -1, -columns)


class WatchedCells(Cells):
    """Tensor Memory as a thread that is watched accesses it."""

    def __init__(self, thread: Thread, memory: TensorMemory, how: Use, watcher: Watcher, *more: Any) -> None:
        super().__init__(thread, memory, how, *more)
        self.watcher = watcher
        self.agent: Any = None

    def both(self) -> Any:
        """What is told of one CTA says nothing of two."""
        self.watcher.pairs(self.thread)
        return super().both()

    def allocate(self, columns: int, told: Any) -> int:
        address = super().allocate(columns, told)
        self.watcher.allocates(self.thread, self.memory, address, columns)
        return address

    def free(self, address: int, columns: int) -> None:
        self.watcher.frees(self.thread, self.memory, address, columns)
        super().free(address, columns)

    def relinquish(self) -> None:
        self.watcher.relinquishes(self.thread, self.memory)
        super().relinquish()

    def begin(self, kind: str, place: Any = None, *more: Any) -> None:
        self.agent = self.watcher.begins(self.thread, kind, place)
        super().begin(kind, place, *more)

    def touch(self, lanes: Any, columns: Any, *, writes: bool) -> None:
        self.memory.inside(lanes, columns)
        self.watcher.touches(self.agent, self.memory, lanes, columns, writes=writes)

    def shared(self, addresses: Any) -> Any:
        found = super().shared(addresses)
        for offset, size in _together(addresses):
            self.watcher.reads_shared(self.agent, offset, size)
        return found

    def sums(self, left_open: Callable[[], bool]) -> None:
        if left_open():
            self.thread.launch.watcher.unsettled(self.thread.launch.compiled.ops[self.op])

    @property
    def op(self) -> int:
        """The number of the instruction that accesses Tensor Memory."""
        access = self.memory.accesses[self.number]
        assert access is not None
        op: int = access.op
        return op

    def wait(self, kind: str) -> None:
        super().wait(kind)
        self.watcher.waits(self.thread, kind)

    def fence(self, which: str) -> None:
        super().fence(which)
        self.watcher.fences(self.thread, which)


def _together(addresses: Any) -> Iterator[tuple[int, int]]:
    """Bytes as offsets and sizes, of those that lie beside each other only one."""
    import numpy as np

    places = np.unique(addresses)
    cuts = np.flatnonzero(np.diff(places) != 1) + 1
    for part in np.split(places, cuts):
        yield int(part[0]), len(part)


__all__ = ["WatchedCells", "WatchedTensorMemory", "Watcher"]
