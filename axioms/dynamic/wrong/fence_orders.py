"""Fence-SC orders of a run that are not the order in which it came by its fences.

Fence-SC order is any order of the `fence.sc` that causality order is not against (sections 8.9.3 and 8.10.2). A run comes by
one fence after the other, but most kernels do not care which of two comes first, and where nothing else orders two accesses,
another order of the fences may leave them a race. So a run is watched without what `fence.sc` orders among each other. Where
it comes to two accesses a and b that nothing else orders, an order of the fences is made up in which those that a comes
before come behind those that come before b: then none of these leads from a to b.

The run with that order of fences is an execution where causality order is not against what operations have found and written
(8.10.1 and 8.10.6; the other axioms do not speak of it). All that it has found and written leads from what was done to what
was done later. So what is to be held against it is each pair of accesses y and x to the same bytes, of which one writes, y
done before x: x must not come before y in causality order. Without the order of fences it does not, since that leads to what
was done later. With it, it does only by a fence that x comes before and one that comes before y and that is not before the
first in the order of fences: since each two fences stand in that order, one of them is enough. So a sweep over the accesses
of each word suffices.

An asynchronous operation stands among them with what comes before its issue before it, and what knows of its completion behind
it; each operation on an mbarrier object with the accesses to the object's bytes, each a strong one that reads and writes.

A fence whose scope is the CTA has an order with those of its CTA alone. Where each of these that is another thread's is ordered
with it by what is no order of fences, so is all that it orders, and it does not stand among the others: an order of these that
causality order is not against stays so with it.

Whatever is not known exactly is taken for more ordered than it is: accesses to one word of four bytes are to the same bytes,
whoever accesses a word strongly has observed every strong write of it that came before, and all other fences stand in the
order, of any scope. So fewer races are found, and none that is none. Fences that come later stand behind all others, in the
order of the run, and lead to what is done later again: that the run goes on makes no difference.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from axioms.dynamic.asynchronous.agents import Agent
from axioms.dynamic.core.clocks import Clocks, Table
from axioms.dynamic.core.findings import step
from axioms.dynamic.core.shadow import Access
from ptxcore.records import NamedTuple

#: Bytes of a word, as a power of two.
_WORD = 2
#: Pairs of accesses of two instructions, and of all, for which an order is looked for in a run: each takes a sweep.
_MOST_OF_TWO, _MOST = 3, 24


class _Fence(NamedTuple):
    """A `fence.sc`: its thread, the thread's own time before it, and what it comes behind."""

    thread: int
    time: int
    table: Table


class _Logged(NamedTuple):
    """An access: what its thread knew, and what it does. Of an asynchronous operation: `thread` and `time` are what stands for
    it, `behind` is the operation's issue."""

    thread: int
    time: int
    table: Table
    reads: bool
    writes: bool
    strong: bool
    behind: tuple[int, int] | None = None

    @property
    def comes_behind(self) -> tuple[int, int]:
        """The thread, and up to which of its own times what it does comes before this."""
        return self.behind or (self.thread, self.time - 1)


class FenceOrders:
    """Of one launch, of which the clocks do not have what `fence.sc` orders among each other."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self._fences: list[_Fence] = []
        #: Of the threads of each CTA, the number of the last fence; and by thread, the fences of that scope that order nothing
        #: more than other things do.
        self._of_cta: dict[int, dict[int, int]] = {}
        self._left_out: dict[int, set[int]] = {}
        self._words: dict[tuple[int, int], list[_Logged]] = {}
        self._last: list[list[_Logged]] = []
        self._asked: dict[tuple[int, int], int] = {}
        self._sweeps = 0

    def fence(self, thread: int, time: int, *, narrow: bool) -> None:
        """A thread has come by a `fence.sc`, and has acquired by it what it can; `time`: its own before that. `narrow`: its
        scope is the CTA."""
        number, fence = len(self._fences), _Fence(thread, time, self._clocks.known[thread])
        self._fences.append(fence)
        of_cta = self._of_cta.setdefault(thread // self._clocks.size, {})
        for other, last in of_cta.items():
            if other == thread or self._comes_before(fence, other, self._fences[last].time):
                continue
            narrow = False
            left_out = self._left_out.get(other, set())
            left_out -= {n for n in left_out if not self._comes_before(fence, other, self._fences[n].time)}
        of_cta[thread] = number
        if narrow:
            self._left_out.setdefault(thread, set()).add(number)

    def access(self, segment: int, access: Access) -> None:
        """An access to a segment of memory, by its identity, which lasts as long as the run."""
        known = self._clocks.known[access.thread]
        logged = _Logged(access.thread, access.time, known, access.kind != "W", access.kind != "R", bool(access.strong))
        self._log(segment, access.first, access.size, logged)

    def of_agent(self, segment: int, agent: Agent, kind: str, first: int, size: int) -> None:
        """An asynchronous operation accesses memory, or an mbarrier object: it comes behind what comes before its issue, by a
        fence of proxies or not, and before what knows of it."""
        issuer, table, time = agent.arrival
        number = agent.reads if kind == "R" else agent.writes
        logged = _Logged(number, agent.time, table, kind != "W", kind != "R", kind == "A", (issuer, time))
        self._log(segment, first, size, logged)

    def _log(self, segment: int, first: int, size: int, logged: _Logged) -> None:
        words = range(first >> _WORD, (first + size - 1 >> _WORD) + 1)
        self._last = [self._words.setdefault((segment, word), []) for word in words]
        for listed in self._last:
            listed.append(logged)

    def leave_out_last(self, thread: int) -> None:
        """The last access, if it is of a thread, is of no execution that is looked at."""
        for listed in self._last:
            if listed[-1].thread == thread:
                listed.pop()
        self._last = []

    def ordered(self, segment: int, before: Access, access: Access) -> bool:
        """Whether the order in which the run came by the fences orders an access, which is the last one, behind one before it,
        which nothing else orders before it."""
        behind, leading = self._between(segment, before, access)
        return bool(behind and leading) and min(behind) <= max(leading)

    def another(self, segment: int, before: Access, access: Access) -> bool:
        """Whether another order of the fences is known with which the run is an execution, and which leaves these unordered."""
        pair = before.op, access.op
        self._asked[pair] = self._asked.get(pair, 0) + 1
        behind, leading = self._between(segment, before, access)
        if behind & leading or self._sweeps >= _MOST or self._asked[pair] > _MOST_OF_TWO:
            return False
        return any(map(self._consistent, _orders(self._standing(), behind, leading)))

    def _standing(self) -> list[int]:
        """The fences that stand in the order, by their numbers."""
        left_out = set().union(*self._left_out.values())
        return [number for number in range(len(self._fences)) if number not in left_out]

    def _between(self, segment: int, before: Access, access: Access) -> tuple[set[int], set[int]]:
        """The fences that an access comes before, and those that come before another one, by their numbers."""
        leading = {n for n in self._standing() if self._knows(access, self._fences[n])}
        return self._behind(segment, before) if leading else set(), leading

    def _behind(self, segment: int, before: Access) -> set[int]:
        """The fences that an access comes before, in causality order: also by who observes it, where it is a strong write."""
        ends = [(before.thread, before.time)]
        if before.strong and before.kind != "R":
            word = self._words.get((segment, before.first >> _WORD), [])
            since = next((n for n, e in enumerate(word) if (e.thread, e.time) == ends[0]), 0)
            ends += [(e.thread, e.time) for e in word[since:] if e.strong and e.reads]
        return {n for n in self._standing() if any(self._comes_before(self._fences[n], *end) for end in ends)}

    def _comes_before(self, fence: _Fence, thread: int, time: int) -> bool:
        """Whether what a thread did at a time comes before a fence in base causality order."""
        return self._clocks.knows((fence.thread, fence.table, fence.time), thread, time)

    def _knows(self, access: Access, fence: _Fence) -> bool:
        """Whether a fence comes before what a thread does now."""
        if access.thread == fence.thread:
            return fence.time < access.time
        return self._clocks.ordered(access.thread, fence.thread, fence.time)

    def _consistent(self, order: Sequence[int]) -> bool:
        """Whether the run is an execution with the fences in such an order."""
        self._sweeps += 1
        swept = _Swept(self._clocks.size, self._fences, order)
        return all(self._is_forward(word, swept) for word in self._words.values())

    def _is_forward(self, word: Sequence[_Logged], swept: _Swept) -> bool:
        """Whether none of the accesses to a word comes, by the order of fences, before one that it must not come before."""
        step()
        if len(word) < 2 or not any(e.writes for e in word):
            return True
        earliest = swept.last  # of who observes what comes later
        firsts: list[int] = []
        for e in reversed(word):
            mine = swept.first_behind(e.thread, e.time)
            firsts.append(min(mine, earliest) if e.strong and e.writes else mine)
            if e.strong and e.reads:
                earliest = min(earliest, mine)
        of_writes = of_all = -1
        for e, first in zip(word, reversed(firsts), strict=True):
            if first <= (of_all if e.writes else of_writes):
                return False
            latest = swept.last_before(e)
            of_all = max(of_all, latest)
            if e.writes:
                of_writes = max(of_writes, latest)
        return True


class _Swept:
    """Of an order of fences: the first one behind something, and the last one before it, by their positions."""

    def __init__(self, size: int, fences: Sequence[_Fence], order: Sequence[int]) -> None:
        """`size`: the threads of a CTA; `order`: the numbers of the fences."""
        self._size = size
        self.last = len(order)
        #: Of a thread, up to which of its times something comes before a fence, and its position; both rise.
        self._until: dict[int, tuple[list[int], list[int]]] = {}
        #: Of a thread with fences, their times and their positions; both rise.
        self._own: dict[int, tuple[list[int], list[int]]] = {}
        self._latest: dict[int, tuple[Table, int]] = {}
        known: dict[int, list[int]] = {}
        for position, number in enumerate(order):
            thread, time, table = fences[number]
            self._reach(thread, time, position)
            times, positions = self._own.setdefault(thread, ([], []))
            times.append(time)
            positions.append(position)
            for cta, listed in table.items():
                if known.get(cta) is not listed:
                    known[cta] = listed
                    for place, until in enumerate(listed):
                        self._reach(cta * size + place, until, position)

    def _reach(self, thread: int, until: int, position: int) -> None:
        times, positions = self._until.setdefault(thread, ([0], [-1]))
        if until > times[-1]:
            times.append(until)
            positions.append(position)

    def first_behind(self, thread: int, time: int) -> int:
        """The first fence that comes behind what a thread did at a time; the number of all where none does."""
        times, positions = self._until.get(thread, ([], []))
        at = bisect_left(times, time)
        return positions[at] if at < len(times) else self.last

    def last_before(self, access: _Logged) -> int:
        """The last fence that comes before an access; -1 where none does."""
        mine = self._before(*access.comes_behind)
        found = self._latest.get(id(access.table))
        if found is None:
            table, size = access.table, self._size
            of = (
                self._before(thread, table[thread // size][thread % size])
                for thread in self._own
                if thread // size in table
            )
            found = self._latest[id(access.table)] = table, max(of, default=-1)
        return max(mine, found[1])

    def _before(self, thread: int, until: int) -> int:
        """The last fence of a thread up to a time of it."""
        times, positions = self._own.get(thread, ([], []))
        at = bisect_left(times, until + 1)
        return positions[at - 1] if at else -1


def _orders(numbers: list[int], behind: set[int], leading: set[int]) -> Iterator[list[int]]:
    """Orders of some fences in which all that are `behind` something come behind all that are `leading` to something else,
    which differ as little as may be from that of the run: the first ones come later, or the others earlier."""
    first, last = min(behind), max(leading)
    early, late = [n for n in numbers if n < first], [n for n in numbers if n > last]
    between = [n for n in numbers if first <= n <= last]
    later = [n for n in between if n in behind]
    yield [*early, *(n for n in between if n not in behind), *later, *late]
    sooner = [n for n in between if n in leading]
    yield [*early, *sooner, *(n for n in between if n not in leading), *late]


__all__ = ["FenceOrders"]
