"""Watches a launch in which threads hand over to each other by flags at the places of their tickets (`tickets.turns`).

It is a run up to the order of tickets (`tickets.tickets`). What threads do by the tickets of the instructions `taking`
becomes steps of their turns, of which nothing is held against anything until the launch has ended, and nobody takes an order
from a flag. A thread that waits is not scheduled until it finds what it waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.core.shadow import CONSTANT, Access
from axioms.dynamic.tickets.handovers import check_turns
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted
from axioms.dynamic.tickets.turns import Turn, TurnStep, leads_back, ways_of_poll, with_numbers
from axioms.dynamic.tickets.walking import Walking
from axioms.dynamic.tickets.walks import ListBytes
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.uninitialised import VARIES, Varying, anything
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.places import WIDE
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, mask, symbols_of

#: What weak accesses of turns are among their steps.
_DOES = {"R": "reads", "W": "writes"}


class _InVain(NamedTuple):
    """What a thread that sleeps has found in a flag."""

    segment: Segment
    first: int
    size: int
    number: int

    def stands(self) -> bool:
        """Whether it stands there still."""
        return int.from_bytes(self.segment.data[self.first : self.first + self.size], "little") == self.number


class Handing(Walking):
    """`taking`: the instructions that take the tickets of turns, by their identity; more are learned."""

    def __init__(
        self, size: int, taking: set[int], looks: frozenset[int] = frozenset(), earlier: Sequence[ListBytes] = ()
    ) -> None:
        super().__init__(size, looks, earlier)
        self.taking, self.turns = taking, list[Turn]()
        #: How often something is put into a flag.
        self.handovers = 0
        #: What flags held first, by segment and byte.
        self.first: dict[tuple[int, int], int] = {}
        self._turn: dict[int, Turn] = {}
        #: Threads that have begun a turn, and those that have met somebody since, or waited: they begin none any more.
        self._began: set[int] = set()
        self._met: set[int] = set()
        self._polling: dict[int, TurnStep] = {}
        self._vain: dict[int, _InVain] = {}
        self._by_symbol: dict[Term, Turn] = {}

    # Values that vary.

    def decides(self, thread: WatchedThread, value: Varying, op: Op) -> int:
        if thread.watcher is not self:
            return int(thread.watcher.decides(thread, value, op))  # type: ignore[attr-defined]
        turn = self._turn_of(thread, value.term)
        if turn is None:
            return super().decides(thread, value, op)
        turn.steps.append(TurnStep("tests", op, value.term, truth=value.number & 1))
        return value.number

    def _turn_of(self, thread: WatchedThread, term: Value) -> Turn | None:
        """The turn of a thread in which it does something by a term; None where it is by none of those."""
        of = {self._by_symbol.get(one) for one in symbols_of(term)}
        if of in (set(), {None}):
            return None
        turn = self._turn.get(thread.number)
        if of != {turn}:
            raise self.leaves(thread, "order")
        return turn

    def _takes(self, thread: WatchedThread, how: Use, counter: Counter, addend: int, address: int) -> Varying:
        value = super()._takes(thread, how, counter, addend, address)
        self._turn.pop(thread.number, None)
        if id(thread.instruction.instruction) not in self.taking:
            return value
        number = thread.number
        if number in self._met:
            raise self.leaves(thread, "order")
        ticket = self.slots.tickets[next(iter(symbols_of(value.term)))]
        turn = Turn(ticket, number, self._party(thread))
        self.turns.append(turn)
        self._turn[number] = self._by_symbol[ticket.symbol] = turn
        self._began.add(number)
        return value

    # Accesses.

    def _turn_at(self, thread: WatchedThread) -> Turn | None:
        """The turn to which an access belongs, by its address."""
        return None if self._at is None else self._turn_of(thread, self._at.term)

    def _access_of(self, thread: WatchedThread, turn: Turn, kind: str, address: int, size: int) -> TurnStep:
        """One more access of a turn; it is no step yet."""
        place = self._place_at(thread, address)
        assert self._at is not None
        strong = self._scope_of(thread)
        if place is None or strong == CONSTANT or (strong and thread.number in self._met):
            raise self.leaves(thread, "order")
        use, clocks, number = thread.instruction.use, self.clocks, thread.number
        segment, first = place
        noted = Noted(kind, strong, segment, first, size, number, clocks.own[number], clocks.known[number])
        noted.op, noted.number = thread.instruction, len(self.slots.noted) - 0.5
        whole = use.width // 8 * int((use.words["vec"] or "v1")[1:])
        if strong and (whole != size or not self._is_wide(thread, strong, segment)):
            raise self.leaves(thread, "order")
        beyond = address - self._at.number - (address - first)
        return TurnStep(_DOES[kind], thread.instruction, self._at.term, beyond, size, whole, segment, noted=noted)

    def _is_wide(self, thread: WatchedThread, scope: str, segment: Segment) -> bool:
        """Whether a scope has all threads that may access a segment."""
        return scope in WIDE or (segment is thread.cta.shared and scope in ("cta", "cluster"))

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        if (vain := self._vain.get(thread.number)) is not None and vain.stands():
            self._at = None
            raise Asleep
        turn = self._turn_at(thread)
        if turn is None:
            self._learn(thread)
            return super().reads(thread, address, size)
        made = self._access_of(thread, turn, "R", address, size)
        self.ticks()
        assert made.noted is not None
        segment, first = made.noted.segment, made.noted.first
        number = int.from_bytes(segment.data[first : first + size], "little")
        if not made.noted.strong:
            turn.steps.append(made)
            return Varying.fresh(8 * size, number, self)
        self._is_flag(thread, segment, first, size)
        return self._waits(thread, turn, made, number)

    def _waits(self, thread: WatchedThread, turn: Turn, made: TurnStep, number: int) -> Varying:
        """A thread looks at a flag: it sleeps until it finds what it waits for."""
        poll, waiting = self.polled.get(thread.number), self._polling.get(thread.number)
        if poll is None or self._at is None or thread.frames:
            raise self.leaves(thread, "order")
        if waiting is None:
            waiting = self._polling[thread.number] = made
            made.does, made.found = "waits", anything(8 * made.size)
            made.ways = ways_of_poll(poll, self.live_of(thread), made.op, self._at, made.size)
        if leads_back(with_numbers(waiting.ways, turn.known), number, made.size):
            self._at, noted = None, made.noted
            assert noted is not None
            self._vain[thread.number] = _InVain(noted.segment, noted.first, made.size, number)
            raise Asleep
        del self._polling[thread.number]
        self._vain.pop(thread.number, None)
        found, waiting.noted = waiting.found, made.noted
        assert found is not None
        turn.steps.append(waiting)
        self._by_symbol[found], turn.known[found] = turn, number
        return Varying(found, VARIES, 1, number, self)

    def polls(self, thread: WatchedThread, block: int) -> None:
        vain = self._vain.get(thread.number)
        if vain is None:
            super().polls(thread, block)
        elif vain.stands():  # it begins with the block again, or with the read itself
            raise Asleep

    def _is_flag(self, thread: WatchedThread, segment: Segment, first: int, size: int) -> None:
        """Some bytes are a flag: what they held before is noted."""
        if (id(segment), first) in self.first:
            return
        value = segment.read(first, size)
        if type(value) is not int or self.carried.found(segment, first, size) is not None:
            raise self.leaves(thread, "order")
        self.first[id(segment), first] = value

    def _learn(self, thread: WatchedThread) -> None:
        """A strong access is by a ticket: it may be a flag of a turn."""
        if self._at is None or self._scope_of(thread) in ("", CONSTANT):
            return
        for one in symbols_of(self._at.term):
            ticket = self.slots.tickets.get(one)
            if ticket is not None:
                self.taking.update(id(party.op.instruction) for party in ticket.counter.taken)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        turn = self._turn_at(thread)
        if turn is None:
            self._learn(thread)
            super().writes(thread, address, size, value)
            return
        made = self._access_of(thread, turn, "W", address, size)
        self.ticks()
        assert made.noted is not None
        segment, first = made.noted.segment, made.noted.first
        if made.noted.strong:
            self._is_flag(thread, segment, first, size)
            if isinstance(value, Varying) and symbols_of(value.term) == {turn.ticket.symbol}:
                made.value = value.term
            elif type(value) is int:
                made.value = value & mask(8 * size)
            else:
                raise self.leaves(thread, "order")
            made.does = "posts"
        else:
            if not isinstance(value, int | Varying):
                raise self.leaves(thread, "unknown")
            here = value.number if isinstance(value, Varying) else value
            self.carried.store(segment, first, size, Varying.fresh(8 * size, here, self))
            self.lasting = self.lasting or address >= FIRST_GLOBAL
        turn.steps.append(made)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        if self._at is not None:
            raise self.leaves(thread, "order")
        return super().updates(thread, how, address, size, write)

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        super()._fence(thread, how)
        turn = self._turn.get(thread.number)
        if turn is not None:
            turn.steps.append(TurnStep("fences", thread.instruction, value=0))

    # Threads that meet, or wait otherwise.

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        super().released(cta, level, identity, whole)
        self._meet([thread.number for thread in cta.threads])

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        super().met(how, threads, masked)
        self._meet([thread.number for thread in threads])

    def _meet(self, numbers: Sequence[int]) -> None:
        if not (self._began.isdisjoint(numbers) and self._met.isdisjoint(numbers)):
            self._met.update(numbers)

    def _learns(self, thread: WatchedThread, access: Access, segment: Segment, fresh: frozenset[int]) -> None:
        if self._began:
            self._met.add(thread.number)
        super()._learns(thread, access, segment, fresh)

    # At the end.

    def settle(self) -> None:
        undecided = (f for f in self.slots.forks if not self.slots.is_decided(f.value.term, f.value.number))
        if self.turns and (fork := next(undecided, None)) is not None:
            raise Stopped(Open("order", fork.party))
        super().settle()
        if not self.turns:
            return
        for turn in self.turns:
            self.handovers += sum(made.does == "posts" for made in turn.steps)
        spread = check_turns(self.turns, self.slots, self.first)
        if not isinstance(spread, list):
            raise Stopped(Open("order", spread))
        self.slots.spread += spread


__all__ = ["Handing"]
