"""Bytes whose strong accesses are ordered by program order and barriers alone, whatever is found elsewhere.

What is found there is as certain as what weak accesses find: a circle that leads by such bytes leads by the barriers that order
them, too, so that the bytes need not be looked at (docs/whole-launches, "Several runs"). Shared memory that is `volatile` is
such: each step of a reduction by a warp comes behind the one before it by `bar.warp.sync`.
"""

from __future__ import annotations

from collections.abc import Iterable

from axioms.dynamic.core.clocks import Clocks
from axioms.dynamic.several.plan import Bytes
from ptxcore.records import dataclass


@dataclass(eq=False, slots=True)
class SettledOperation:
    """An operation of a thread at some bytes, at a time of its own. `apart`: whether each write to them so far is ordered
    before it or behind it so."""

    thread: int
    time: int
    apart: bool


class SettledBytes:
    """The strong accesses of a launch to bytes, and the barriers at which its threads met."""

    def __init__(self, size: int) -> None:
        self._clocks = Clocks(size)
        self._written: dict[Bytes, tuple[int, int]] = {}
        self._read: dict[Bytes, dict[int, int]] = {}
        self._unordered: set[Bytes] = set()
        self._writers: dict[Bytes, dict[int, int]] = {}
        self._following: dict[Bytes, list[SettledOperation]] = {}

    def meet(self, threads: Iterable[int]) -> None:
        """Threads have met at a barrier, and all of them waited there."""
        threads = list(threads)
        self._enters(max(threads, default=-1))
        arrivals = [self._clocks.release(thread) for thread in threads]
        self._clocks.acquire([arrival[0] for arrival in arrivals], self._clocks.join(arrivals))

    def reads(self, thread: int, where: Bytes) -> None:
        """A thread reads."""
        self._enters(thread)
        self._comes_behind(thread, where, self._written.get(where))
        self._read.setdefault(where, {})[thread] = self._clocks.own[thread]

    def follows(self, thread: int, where: Bytes) -> SettledOperation:
        """A thread executes an operation that may come behind writes."""
        self._enters(thread)
        ordered = self._clocks.ordered
        apart = all(ordered(thread, other, time) for other, time in self._writers.get(where, {}).items())
        found = SettledOperation(thread, self._clocks.own[thread], apart)
        self._following.setdefault(where, []).append(found)
        return found

    def writes(self, thread: int, where: Bytes) -> None:
        """A thread writes, or could."""
        self._enters(thread)
        self._writers.setdefault(where, {})[thread] = self._clocks.own[thread]
        left = [one for one in self._following.get(where, ()) if one.apart]
        for one in left:
            one.apart = self._clocks.ordered(thread, one.thread, one.time)
        self._following[where] = left
        self._comes_behind(thread, where, self._written.get(where))
        for reader in self._read.pop(where, {}).items():
            self._comes_behind(thread, where, reader)
        self._written[where] = thread, self._clocks.own[thread]

    def _enters(self, thread: int) -> None:
        """Threads up to one have times."""
        while len(self._clocks.own) <= thread:
            self._clocks.enter()

    def _comes_behind(self, thread: int, where: Bytes, other: tuple[int, int] | None) -> None:
        if other is not None and not self._clocks.ordered(thread, *other):
            self._unordered.add(where)

    def __contains__(self, where: object) -> bool:
        """Whether bytes were accessed, and each two accesses of which one writes are ordered so."""
        return where not in self._unordered and (where in self._written or where in self._read)


__all__ = ["SettledBytes", "SettledOperation"]
