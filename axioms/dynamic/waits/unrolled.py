"""Waiting loops that compilers unroll or peel, and in which libraries poll twice: several polls that are one.

    if (load() >= n) goto on;   do { sleep(); } while (load() < n);   on:

What a thread finds at one poll leads it on, or to another poll, of the same bytes, that reads alike. Its *stands* are those
where it comes so, by any values that it may find: the poll and the live registers there. They are one poll where what is found
in vain leads from each stand to another one, and each other value leads on from all of them to the same
(docs/whole-launches/waits.md, Unrolled polls).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.waits.waiting import Copying, Ended, Poll, Still, plain
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.records import NamedTuple

Lead = Callable[[int], object]
#: Stands of one poll at most. `cuda::latch::wait` has 20 for each value that it may find.
_MOST_STANDS = 1024


class _Step(NamedTuple):
    """What a value leads to from a stand: the number of the next one, None where the thread goes on; and where it does so."""

    stand: int | None
    way: object


class _Stand:
    """Where a thread polls: the instruction, and the thread there."""

    def __init__(self, op: int, poll: Poll) -> None:
        self.op, self.poll = op, poll
        self.steps: dict[int, _Step] = {}


class _Once(Still):
    """Watches a copy of a thread that finds a value, up to its next strong read of the same bytes that reads alike, if it comes
    by no fence on the way: `next` is that stand, and `at` what is equal for copies that stand there equally."""

    def __init__(self, op: int, value: int, live: Live) -> None:
        super().__init__(op, value, live)
        self.address = -1
        self.begins: Poll | None = None
        self.next: _Stand | None = None
        self.at: object = None

    def reads(self, thread: WatchedThread, address: int, size: int) -> int:
        if thread.op == self.op and self.address < 0:
            self.address = address
            return super().reads(thread, address, size)
        if self.begins is not None and self._is_alike(thread, address) and not self.fences:
            self.next, self.at = _Stand(thread.op, self.begins), _stands_at(thread, thread.op, self.live)
        raise Ended

    def _is_alike(self, thread: WatchedThread, address: int) -> bool:
        one, other = thread.launch.compiled.ops[self.op].use, thread.instruction.use
        alike = one.type == other.type and scope_of(one) == scope_of(other) not in (None, "", CONSTANT)
        scalar = one.form.mnemonic == other.form.mnemonic == "ld" and not (one.words["vec"] or other.words["vec"])
        return alike and scalar and address == self.address


class _Passing(Copying):
    """The copy, which says where a block begins that polls."""

    __slots__ = ()

    def polls(self, block: int) -> None:
        watcher: Any = self.watcher
        watcher.begins = Poll(self, block)


def _stands_at(thread: WatchedThread, op: int, live: Live) -> object:
    """What is equal for threads that go on equally from an instruction."""
    return live.before(thread.launch.compiled.ops[op], thread.R), plain(thread.carry), len(thread.frames)


class UnrolledPoll:
    """Where a thread goes on with what it finds at a strong read: None, back to poll again, there or at another poll that is
    one with it. What a value leads on to is equal to nothing where the polls are not one."""

    def __init__(self, thread: WatchedThread, poll: Poll, live: Live) -> None:
        self._live = live
        self._stands = [_Stand(thread.op, poll)]
        self._numbers: dict[object, int] = {}
        #: Where the thread stands; and from where it has gone on, with which values.
        self._now, self._gone = 0, list[tuple[int, int]]()
        self._ways: dict[int, object] = {}
        #: Whether what leads on may lead to a poll that is one with the others, too.
        self._twice = False
        self._apart = False

    def comes(self, thread: WatchedThread) -> bool:
        """A thread comes to a poll; whether it is one of these."""
        found = self._numbers.get(_stands_at(thread, thread.op, self._live), -1)
        self._now = max(0, found)
        return found >= 0

    def __call__(self, value: int) -> object:
        if value not in self._ways and not self._apart:
            self._look_at(value)
        return object() if self._apart else self._ways[value]

    def again(self, value: int) -> int | None:
        """The block in which the thread polls again with what it has found; None where it goes on."""
        way = self(value)
        if not self._apart and (way is None or self._twice):
            to = self._step(self._now, value).stand
            if to is not None:
                return self._stands[to].poll.block
        self._gone.append((self._now, value))
        return None

    def _look_at(self, value: int) -> None:
        values = [*self._ways, value]
        for twice in (False, True):
            if twice >= self._twice and (ways := self._found(values, twice=twice)) is not None:
                stays = all(ways[one] == way for one, way in self._ways.items())
                ends = not twice or all(self._step(at, one).stand is None for at, one in self._gone)
                self._ways, self._twice, self._apart = ways, twice, not (stays and ends)
                return
        self._apart = True

    def _found(self, values: Iterable[int], *, twice: bool) -> dict[int, object] | None:
        """Where each value leads on, None where it does not; None where the polls are not one."""
        ways = {value: self._end(0, value) for value in values}
        reached = [0]
        for at in reached:
            for value, way in ways.items():
                to = self._step(at, value).stand
                if to is None and way is None:
                    return None
                if to is not None and (way is None or twice) and to not in reached:
                    reached.append(to)
                    if len(reached) > _MOST_STANDS:
                        return None
        for value, way in ways.items():
            if way is None:
                continue
            ends = [self._end(at, value) if twice else self._step(at, value).way for at in reached]
            if any(end is None or end != ends[0] for end in ends):
                return None
            ways[value] = ends[0]
        return ways

    def _end(self, at: int, value: int) -> object:
        """Where a value leads on from a stand, if it is found again and again; None where it never does."""
        been = {at}
        while True:
            to, way = self._step(at, value)
            if to is None:
                return way
            if to in been or len(been) > _MOST_STANDS:
                return None
            been.add(at := to)

    def _step(self, at: int, value: int) -> _Step:
        stand = self._stands[at]
        if value not in stand.steps:
            stand.steps[value] = self._goes(at, stand, value)
        return stand.steps[value]

    def _goes(self, at: int, stand: _Stand, value: int) -> _Step:
        once = _Once(stand.op, value, self._live)
        way = stand.poll.leads(self._live, stand.op, value, _Passing, once)
        order = stand.poll.thread.launch.compiled.ops[stand.op].use.sem
        if once.next is not None:
            if not self._numbers:  # of what is no wait nobody asks this
                first = self._stands[0]
                self._numbers[_stands_at(first.poll.thread, first.op, self._live)] = 0
            number = self._numbers.setdefault(once.at, len(self._stands))
            if number == len(self._stands):
                self._stands.append(once.next)
            return _Step(number, (way, order))
        if once.fences:  # which order nothing in a round in vain
            way = stand.poll.leads(self._live, stand.op, value)
        if way is None:
            return _Step(at, None)
        return _Step(None, (*way, order) if isinstance(way, tuple) else (way, order))


__all__ = ["Lead", "UnrolledPoll"]
