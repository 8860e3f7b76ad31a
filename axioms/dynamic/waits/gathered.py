"""What a value leads a CTA to of which one thread polls, and all others wait for it at a barrier.

`while (__syncthreads_and(state != mine)) if (threadIdx.x == 0) state = load(flag);`: of what thread 0 finds the others learn by
the barrier alone. So to poll again is something that the CTA does as a whole: its threads are copied, and go on with the value
from barrier to barrier, up to the next thing that others see. The value leads back where the one that polls comes to poll
again, and all others to the barrier at which they are now, each with the same live registers; others have seen nothing then.
In an execution that leaves such a round out all go on as they do (docs/whole-launches/waits.md), since barriers of a CTA order
nothing between others: what comes before the round comes before it by program order, and so does what comes behind it. But by a
barrier of a round in vain the thread that polls comes behind all others of its CTA, and where it finds at once what leads on it
does not: a fence of its own before the next barrier would hand that on, and so it may have none.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from axioms.dynamic.code.live import Live, Same
from axioms.dynamic.waits.strong_reads import StrongRead
from axioms.dynamic.waits.waiting import Copying, Ended, Poll, Still, plain, stopped_at
from ptxcore.isa.form import Use
from ptxcore.machine.run.cta import REDUCTIONS
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.records import NamedTuple

#: Barriers that copies pass at most, and blocks that each of them runs between two.
_MOST_MEETINGS, _MOST_BLOCKS = 4, 64
#: Rounds that a thread waits before it polls, until the others of its CTA have come to a barrier.
_PATIENCE = 40


class _Arrived(BaseException):
    """A copy of a thread has come to a barrier of its CTA."""


class _Member(Copying):
    """A copy of a thread that comes to barriers of its CTA. (`answer` says how it goes on, once it is `answered`.)"""

    __slots__ = ()

    def barrier(self, action: str, how: Use, **fields: Any) -> Any:
        if self.answered:
            return self._answer()
        cta: Any = self.cta
        if action == "arrive" or fields.get("level", "cta") != "cta":
            raise Ended
        if fields.get("count") not in (None, len(cta.threads)):
            raise Ended
        watcher: Any = self.watcher
        watcher.arrival = _Arrival(fields.get("identity", 0), fields.get("operator", ""), fields.get("operand", 0))
        raise _Arrived


class _Arrival(NamedTuple):
    identity: int
    operator: str
    operand: int


class _Stop(NamedTuple):
    """Where a copy stands: at a barrier, where it polls again, or (neither) at something that others see. `state`: equal for
    copies that go on equally."""

    arrival: _Arrival | None
    polls: bool
    state: object


def others_of(thread: WatchedThread) -> Sequence[Any] | None:
    """The other threads of a CTA, where all of them wait at one of its barriers, which takes all."""
    cta: Any = thread.cta
    every = len(cta.threads)
    for (level, _), barrier in cta.barriers.items():
        if level == "cta" and barrier.count in (None, every) and len(barrier.waiting) == every - 1:
            return barrier.waiting  # type: ignore[no-any-return]
    return None


class GatheredThread:
    """A thread that polls, with its CTA."""

    def __init__(self, poll: Poll, others: Sequence[Any], live: Live, op: int) -> None:
        """`op`: the instruction that polls."""
        self._poll, self._others, self._live, self._op = poll, list(others), live, op
        self._compiled: Any = poll.thread.launch.compiled

    def leads(self, value: int) -> object:
        """Where all go on with a value: None, back to poll again; else something that is equal where they go on equally;
        `NotImplemented` where the thread that polls comes to no barrier."""
        reader = self._member(self._poll.thread, self._poll.registers, Still(self._op, value, self._live))
        members = [reader, *(self._member(other, other.R, Still(-1, 0, self._live)) for other in self._others)]
        blocks = [self._poll.block, *(other.pc for other in self._others)]
        stops = [self._goes(member, block) for member, block in zip(members, blocks, strict=True)]
        if stops[0].arrival is None or reader.watcher.fences:  # one behind a round in vain would hand on more
            return NotImplemented
        first = stops[1:]
        for _ in range(_MOST_MEETINGS):
            arrivals = {(s.arrival.identity, s.arrival.operator) if s.arrival else None for s in stops}
            if None in arrivals or len(arrivals) > 1:
                break
            operator = stops[0].arrival.operator
            result = REDUCTIONS[operator]([s.arrival.operand for s in stops if s.arrival])
            for member in members:
                member.answer, member.answered = result, True
            stops = [self._goes(member, member.pc) for member in members]
            if stops[0].polls:
                return None if stops[1:] == first else tuple(stops)
        return tuple(stops)

    def _member(self, thread: Any, registers: list[Any], watcher: Still) -> Any:
        member = copy.copy(thread)
        member.__class__ = _Member
        member.watcher, member.R, member.frames = watcher, list(registers), list(thread.frames)
        return member

    def _goes(self, member: Any, block: int) -> _Stop:
        """Runs a copy up to a barrier, to where it polls, or to what others would see."""
        launch, compiled, live = member.launch, self._compiled, self._live
        for _ in range(_MOST_BLOCKS):
            member.pc = block
            try:
                block = compiled.blocks[block](member, member.R, launch.read_parameters)
            except (_Arrived, Ended, Exception) as error:
                arrival = member.watcher.arrival if isinstance(error, _Arrived) else None
                stopped = stopped_at(compiled, error)
                if stopped is None:
                    return _Stop(None, False, Same(error))
                state = (*live.before(stopped, member.R), plain(member.carry), *member.watcher.fences)
                return _Stop(arrival, False, state)
            if block == self._poll.block and member.watcher.op == self._op:
                same = live.same(block, member.R, self._poll.registers) and not member.watcher.fences
                return _Stop(None, same, (block, live.of(block, member.R)))
        return _Stop(None, False, (block, live.of(block, member.R)))


class GatheredPolls:
    """Polls of a launch that are those of whole CTAs. `delayed`: the threads that wait for the others of theirs."""

    def __init__(self) -> None:
        self.delayed: set[int] = set()
        self._patient: dict[int, int] = {}

    def lead(
        self, thread: WatchedThread, poll: Poll, live: Live, alone: Callable[[int], object]
    ) -> Callable[[int], object]:
        """Where the CTA of a thread goes on with what that finds; `alone`: where the thread does so by itself. Raises Asleep
        as long as others of the CTA have not come to the barrier."""
        others = others_of(thread)
        if others is None:
            self._hold_for_others(thread.number)
            return alone
        self.delayed.discard(thread.number)
        gathered, known = GatheredThread(poll, others, live, thread.op), dict[int, object]()

        def lead(value: int) -> object:
            if value not in known:
                way = gathered.leads(value)
                known[value] = alone(value) if way is NotImplemented else way
            return known[value]

        return lead

    def _hold_for_others(self, number: int) -> None:
        """Lets a thread that polls wait until the others of its CTA have come to the barrier."""
        self._patient[number] = self._patient.get(number, 0) + 1
        if self._patient[number] <= _PATIENCE:
            self.delayed.add(number)
            raise Asleep
        self._patient[number] = 0
        self.delayed.discard(number)


def comes_to_barrier(read: StrongRead, live: Live | None) -> bool:
    """Whether a thread that went on came to a barrier of its CTA, which may tell the others what it found."""
    way = read.leads(read.value)
    if live is None or not isinstance(way, tuple) or not way or not isinstance(way[0], str):
        return False
    return live.at_barrier(way[0], way[1])
