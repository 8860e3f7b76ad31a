"""Tensor Memory in a run that somebody watches: each allocation, access, wait and fence is told as it happens.

Whether an access is ordered behind others is for who watches to say, of all schedules; the order of this one is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

from ptxcore.isa.form import Use
from ptxcore.machine.run.surroundings import ThreadView
from ptxcore.machine.run.tensor_memory import TensorMemory, ThreadCells
from ptxcore.values.tensor_cells import COLUMNS


class TensorWatcher(Protocol):
    """Who is told of Tensor Memory. What it raises ends the run."""

    def begins(self, thread: Any, kind: str, place: Any, *, pair: bool = False) -> Any:
        """A thread begins an asynchronous access by a kind of instruction, as `Access` has it; gives what stands for it.
        `pair`: to the Tensor Memory of its CTA and to that of the peer."""
        ...

    def touches(self, agent: Any, memory: TensorMemory, lanes: Any, columns: Any, *, writes: bool) -> None:
        """It reads or writes cells, at some time before it is complete."""
        ...

    def reads_shared(self, agent: Any, cta: Any, offset: int, size: int) -> None:
        """It reads the shared memory of a CTA, its own one or the peer, at an offset."""
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

    def meet(self, thread: Any, name: str, memory: TensorMemory, what: tuple[int, ...], warps: tuple[int, int]) -> None:
        """A warp of each CTA of a pair has come to an instruction about allocation, the last one with this thread: columns
        are allocated or given back, or the right to allocate is, in one of the Tensor Memories; `what` as the instruction has
        it, but for an allocation where its columns are, and how many."""
        ...

    def takes(self, thread: Any, memory: TensorMemory) -> None:
        """A thread of a warp of a pair is about to be told where the columns are."""
        ...


class WatchedTensorMemory(TensorMemory):
    """Columns are allocated from the other end: where they are is left open, and who takes it for granted is told."""

    def places(self, columns: int) -> range:
        return range(COLUMNS - columns, -1, -columns)


class WatchedCells(ThreadCells):
    """Tensor Memory as a thread that is watched accesses it."""

    def __init__(self, thread: ThreadView, memory: TensorMemory, how: Use, watcher: TensorWatcher, *more: Any) -> None:
        super().__init__(thread, memory, how, *more)
        self.watcher = watcher
        self.agent: Any = None

    def _of(self, peer: Any) -> ThreadCells:
        return WatchedCells(self.thread, peer.tensor_memory, self.how, self.watcher, peer)

    def _together(
        self, told: Any, name: str, what: tuple[int, ...], action: Callable[[TensorMemory], int | None]
    ) -> int:
        def watched(memory: TensorMemory) -> int | None:
            assert memory.pair is not None
            met = partial(self.watcher.meet, self.thread, name, memory, warps=memory.pair.warps(name))
            if name != "alloc":
                met(what)
                return action(memory)
            address = action(memory)
            if address is not None:
                met((address, *what))
            return address

        return super()._together(told, name, what, watched)

    def allocate_both(self, columns: int, told: Any) -> int:
        address = super().allocate_both(columns, told)
        self.watcher.takes(self.thread, self.memory)
        return address

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
        peers = [cells for cells in more if cells is not None]
        self.agent = self.watcher.begins(self.thread, kind, place, pair=bool(peers))
        for cells in peers:
            cells.agent = self.agent
        super().begin(kind, place, *more)

    def touch(self, lanes: Any, columns: Any, *, writes: bool) -> None:
        self.memory.inside(lanes, columns)
        self.watcher.touches(self.agent, self.memory, lanes, columns, writes=writes)

    def shared(self, addresses: Any) -> Any:
        found = super().shared(addresses)
        for offset, size in _together(addresses):
            self.watcher.reads_shared(self.agent, self.cta, offset, size)
        return found

    def sums(self, left_open: Callable[[], bool]) -> None:
        if left_open():
            self.thread.launch.watcher.unspecified(self.thread.launch.compiled.ops[self.op])

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


__all__ = ["TensorWatcher", "WatchedCells", "WatchedTensorMemory"]
