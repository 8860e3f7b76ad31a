"""Circles of operations on several bytes, each of which would come before the next: load buffering.

Where every such circle is broken, what threads read from each other has an order in time, and so the operations are
interleaved. A circle leads from bytes to bytes by threads that read the ones and then write the others. It is broken where
each of these writes depends on the read (section 8.10.4), or where each thread acquires what it read, and releases that with
what it writes (section 8.10.6).
"""

from __future__ import annotations

from collections.abc import Callable

from axioms.dynamic.plan import Bytes

_NEVER = 1 << 60


class _Read:
    __slots__ = ("acquired", "depends", "where")

    def __init__(self, where: Bytes, acquired: int | None, depends: Callable[[], bool]) -> None:
        self.where, self.acquired, self.depends = where, acquired, depends


class Cycles:
    """The reads and writes of the threads of a launch, as they come."""

    def __init__(self) -> None:
        self._reads: dict[int, list[_Read]] = {}
        self._fenced: dict[int, int] = {}
        self._now = 0
        #: By a pair of bytes: the threads that read the ones before they write the others; whether all such writes depend on
        #: the reads, and whether all are ordered behind by synchronization.
        self._edges: dict[tuple[Bytes, Bytes], list[tuple[int, _Read, int]]] = {}

    def reads(self, thread: int, where: Bytes, *, acquires: bool, depends: Callable[[], bool]) -> None:
        """A thread reads. `depends`: whether all that it does afterwards does so only for some values."""
        self._now += 1
        self._reads.setdefault(thread, []).append(_Read(where, self._now if acquires else _NEVER, depends))

    def follows(self, thread: int, where: Bytes) -> None:
        """A thread is about to write, and nothing orders that behind an earlier write: only coherence order has one first."""
        self._now += 1
        self._reads.setdefault(thread, []).append(_Read(where, None, lambda: False))

    def writes(self, thread: int, where: Bytes, releases: bool) -> None:
        """A thread writes."""
        self._now += 1
        released = self._now if releases else self._fenced.get(thread, 0)
        for read in self._reads.get(thread, ()):
            if read.where != where:
                self._edges.setdefault((read.where, where), []).append((thread, read, released))

    def fences(self, thread: int, acquires: bool, releases: bool) -> None:
        """A fence that all others are in the scope of; it may be of one side."""
        self._now += 1
        if acquires:
            for read in self._reads.get(thread, ()):
                if read.acquired is not None:
                    read.acquired = min(read.acquired, self._now)
        if releases:
            self._fenced[thread] = self._now

    def found(self) -> bool:
        """Whether a circle may not be broken."""
        following: dict[Bytes, set[Bytes]] = {}
        for one, other in self._edges:
            following.setdefault(one, set()).add(other)
        for edge in list(self._edges):
            circle = [e for e in self._edges if self._together(following, edge[0], e)]
            if edge not in circle:
                continue
            steps = [step for e in circle for step in self._edges[e]]
            if len({thread for thread, _, _ in steps}) < 2:
                continue
            depend = all(read.depends() for _, read, _ in steps)
            if not depend and not all(
                read.acquired is not None and read.acquired <= released for _, read, released in steps
            ):
                return True
        return False

    def _together(self, following: dict[Bytes, set[Bytes]], start: Bytes, edge: tuple[Bytes, Bytes]) -> bool:
        """Whether an edge is in a circle with some bytes."""
        return edge[0] in _reached(following, start) and start in _reached(following, edge[1])


def _reached(following: dict[Bytes, set[Bytes]], start: Bytes) -> set[Bytes]:
    found, waiting = {start}, [start]
    while waiting:
        for other in following.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found
