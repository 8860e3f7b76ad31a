"""Whether the order of threads between barriers matters for what they find in shared memory.

Threads that go on together see what single ones, one after the other, would not see, where they access the same bytes
and nothing orders them: a missing barrier would not show. So each cell of shared memory remembers who wrote and read it
last and when; an access that no barrier and no instruction of the warp puts behind those of other threads is irregular.

Only writes ask who read a cell, so reads are put down when the next write comes: most are followed by a barrier of all
threads, behind which nobody needs to know of them. Until then no thread is put behind others by anything but instructions
of warps. These put readers of a warp, whatever they read, behind each other and before the same ones, so it makes no
difference to a writer whether the last of them stands for those before it already.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxcore.machine.vector.meeting import Crew
from ptxcore.machine.vector.registers import Irregular

_WHEN = 32
_WHO = (1 << _WHEN) - 1
#: Reads that wait to be put down, counted by threads: 16 bytes each.
_MOST_WAITING = 1 << 20


class Order:
    """Cells of `granule` bytes: `writers` and `readers` have the time of the last access in the upper half, and who it was in
    the lower one: a thread, or behind those a warp of which several were, or several warps, or atomic operations."""

    def __init__(self, crew: Crew, size: int, granule: int) -> None:
        self.crew, self.granule = crew, granule
        self.writers = np.zeros(size // granule, np.int64)
        self.readers = np.zeros(size // granule, np.int64)
        threads, warps = len(crew.row), int(crew.warp[-1]) + 1
        self.first_warp, self.several, self.atomic = threads, threads + warps, threads + warps + 1
        self.warp_of = np.concatenate((crew.warp, np.arange(warps), [-1, -2]))
        self.now = 1
        #: When each thread was put last behind what others did, and each warp behind what its own threads did.
        self.since = np.ones(threads, np.int64)
        self.warps = np.ones(warps, np.int64)
        self.least = 1
        #: When anything was written last; the reads that wait: where, by whom, when, and of how many threads.
        self.wrote = 0
        self.waiting: list[tuple[Any, Any, int]] = []
        self.count = 0

    def barrier(self, threads: Any) -> None:
        """Threads have met at a barrier, or waited for others in another way."""
        if threads.size < len(self.since):
            self._put_down()
        self.now += 1
        self.since[threads] = self.now
        self.least = int(self.since.min())
        if self.least == self.now:
            self._forget()

    def converge(self, threads: Any) -> None:
        """Threads have met those of their warps."""
        self.now += 1
        self.warps[self.crew.warp[threads]] = self.now

    def _unordered(self, last: Any, who: Any) -> Any:
        """Where other threads' accesses are not behind something that orders them; None where all are."""
        if int(np.maximum.reduce(last)) >> _WHEN < self.least:
            return None
        when = last >> _WHEN
        by = last & _WHO
        warp = self.crew.warp[who]
        found = (when >= self.since[who]) & (by != who)
        found &= (self.warp_of[by] != warp) | (when >= self.warps[warp])
        return found if found.any() else None

    def access(self, places: Any, whole: int, who: Any, kind: str) -> None:
        """Threads read, write, or modify (`atomic`) `whole` bytes each. Raises Irregular."""
        cells = whole // self.granule
        if not who.size:
            return
        if type(places) is int:
            places = np.full(who.size, places)
        for i in range(cells):
            at = places * cells + i if cells > 1 else places
            self._access(at, who, kind)

    def _access(self, at: Any, who: Any, kind: str) -> None:
        if self.wrote >= self.least:
            last = self.writers[at]
            found = self._unordered(last, who)
            if found is not None and (kind != "atomic" or ((last & _WHO)[found] != self.atomic).any()):
                raise Irregular("shared memory that nothing orders")
        stamp = self.now << _WHEN
        if kind == "read":
            self.waiting.append((at, who, stamp))
            self.count += who.size
            if self.count > _MOST_WAITING:
                self._put_down()
            return
        self._put_down()
        self.wrote = self.now
        if self._unordered(self.readers[at], who) is not None:
            raise Irregular("shared memory that nothing orders")
        self.writers[at] = stamp | (self.atomic if kind == "atomic" else who)

    def _put_down(self) -> None:
        for at, who, stamp in self.waiting:
            self._read(at, who, stamp)
        self._forget()

    def _forget(self) -> None:
        self.waiting.clear()
        self.count = 0

    def _read(self, at: Any, who: Any, stamp: int) -> None:
        before = self.readers[at]
        others = self._unordered(before, who)
        mine = stamp | who
        if others is not None:
            warp = self.crew.warp[who]
            alike = self.warp_of[before & _WHO] == warp
            mine = np.where(others, stamp | np.where(alike, self.first_warp + warp, self.several), mine)
        self.readers[at] = mine
        got = self.readers[at]
        twice = got != mine
        if twice.any():  # several in this batch
            warp = self.crew.warp[who]
            place, by = at[twice], got[twice] & _WHO
            self.readers[place] = stamp | (self.first_warp + warp[twice])
            apart = (self.warp_of[by] != warp[twice]) | (mine[twice] & _WHO == self.several)
            again = self.readers[place] & _WHO
            apart |= self.warp_of[again] != warp[twice]
            if apart.any():
                self.readers[place[apart]] = stamp | self.several
