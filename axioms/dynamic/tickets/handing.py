"""Watches a launch in which threads hand over to each other by flags at the places of their tickets (`tickets.turns`).

It is a run up to the order of tickets (`tickets.tickets`). What threads do by the tickets of the instructions of `Taking`
becomes steps of their turns, of which nothing is held against anything until the launch has ended, and nobody takes an order
from a flag. A thread that waits is not scheduled until it finds what it waits for. Where threads of one holder meet
(`tickets.holders`), that is a step of the turn to which the first of them has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.core.shadow import CONSTANT, Access
from axioms.dynamic.tickets.handed_sums import GivenBytes, OpenSums, is_kept, open_addend
from axioms.dynamic.tickets.handovers import Handovers, check_turns
from axioms.dynamic.tickets.holders import Holder, Holders, Taking
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
    """`taking`: the instructions that take the tickets of turns, and who has these together; more is learned."""

    def __init__(
        self, size: int, taking: Taking, looks: frozenset[int] = frozenset(), earlier: Sequence[ListBytes] = ()
    ) -> None:
        super().__init__(size, looks, earlier)
        self.taking, self.turns = taking, list[Turn]()
        self.holders = Holders(size, taking)
        #: How often something is put into a flag.
        self.handovers = 0
        #: What flags held first, by segment and byte.
        self.first: dict[tuple[int, int], int] = {}
        self._turns: dict[tuple[Holder, int], Turn] = {}
        #: Threads of holders that have begun a turn, and those that have met somebody else since, or waited: they begin none
        #: any more.
        self._began: set[int] = set()
        self._met: set[int] = set()
        self._met_by: dict[int, Sequence[int]] = {}
        self._polling: dict[int, TurnStep] = {}
        self._vain: dict[int, _InVain] = {}
        self._by_symbol: dict[Term, Turn] = {}
        self._meetings_of_turns = 0
        self._given: dict[tuple[int, int], GivenBytes] = {}
        self._open_sums = OpenSums(self._is_read)

    # Values that vary.

    def decides(self, thread: WatchedThread, value: Varying, op: Op) -> int:
        if thread.watcher is not self:
            return int(thread.watcher.decides(thread, value, op))  # type: ignore[attr-defined]
        turn = self._turn_of(thread, value.term)
        if turn is None:
            return super().decides(thread, value, op)
        self._add(thread, turn, TurnStep("tests", op, value.term, truth=value.number & 1))
        return value.number

    def _turn_of(self, thread: WatchedThread, term: Value) -> Turn | None:
        """The turn of a thread in which it does something by a term; None where it is by none of those."""
        of = {self._by_symbol.get(one) for one in symbols_of(term)}
        if of in (set(), {None}):
            return None
        turn = of.pop()
        if of or turn is None or not self.holders.comes_to(thread.number, turn.holder, turn.index, turn.taker):
            raise self.leaves(thread, "order")
        return turn

    def _is_read(self, one: Term) -> bool:
        """Whether a symbol is for what a turn has read, which is no function of its ticket."""
        turn = self._by_symbol.get(one)
        return turn is not None and one not in turn.known

    def _add(self, thread: WatchedThread, turn: Turn, made: TurnStep) -> None:
        turn.add(self.holders.place(thread.number), made)

    def _takes(self, thread: WatchedThread, how: Use, counter: Counter, addend: int, address: int) -> Varying:
        value = super()._takes(thread, how, counter, addend, address)
        if id(thread.instruction.instruction) not in self.taking.instructions:
            return value
        number = thread.number
        self._may_take(thread)
        ticket = self.slots.tickets[next(iter(symbols_of(value.term)))]
        holder, index = self.holders.of(number), self.holders.begins(number)
        turn = Turn(ticket, holder, index, self.holders.place(number), self._party(thread))
        self.turns.append(turn)
        self._turns[holder, index] = self._by_symbol[ticket.symbol] = turn
        self._began.update(self.holders.members(number))
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
        if place is None or strong == CONSTANT:
            raise self.leaves(thread, "order")
        if strong:
            self._may_take(thread)
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
            self._add(thread, turn, made)
            made.found = anything(8 * size)
            self._by_symbol[made.found] = turn
            return Varying(made.found, VARIES, 1, number, self)
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
        self._add(thread, turn, waiting)
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
                self.taking.instructions.update(id(party.op.instruction) for party in ticket.counter.taken)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        turn = self._turn_at(thread)
        self._open_sums.shorten(value)
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
            made.stored = value if type(value) is int else None
            self.carried.store(segment, first, size, Varying.fresh(8 * size, here, self))
            self.lasting = self.lasting or address >= FIRST_GLOBAL
        self._add(thread, turn, made)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        if self._at is not None:
            raise self.leaves(thread, "order")
        if self.turns and isinstance(value := open_addend(thread, how), Varying):
            return self._gives(thread, how, address, size, value)
        return super().updates(thread, how, address, size, write)

    def _gives(self, thread: WatchedThread, how: Use, address: int, size: int, value: Varying) -> int:
        """Something that is open is added to bytes that nothing else is done to: what they hold is open, for all that read
        it."""
        thread.of(how.space, address)
        if self._uses(thread) or address < FIRST_GLOBAL or address % size:
            raise self.leaves(thread, "order")
        segment, first = thread.segment(address)
        given = self._given.get((id(segment), first))
        number, found = segment.read(first, size), self.carried.found(segment, first, size)
        if found is not None if given is None else found is not given.value or given.size != size:
            raise self.leaves(thread, "order")
        inside, places = range(first, first + size), self.places.get(id(segment), {})
        counted = any((id(segment), byte) in self._counting or byte in places for byte in inside)
        claimed = any(
            key[0] == id(segment) and key[1] < first + size and first < key[1] + key[2]
            for key in (*self._claimed, *self._swapped_at)
        )
        if type(number) is not int or counted or claimed:
            raise self.leaves(thread, "order")
        self._note(thread, "A", segment, first, size, address)
        self.shade(thread, "A", segment, first, size, f"{how.op}.{how.type}")
        number = number + value.number & mask(8 * size)
        now = Varying.fresh(8 * size, number, self)
        given = self._given.setdefault((id(segment), first), GivenBytes(segment, first, size, now))
        given.value = now
        given.add(self._open_sums.factors(value))
        segment.write(first, size, number)
        self.carried.store(segment, first, size, now)
        self.lasting = True
        return number

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        super()._fence(thread, how)
        number = thread.number
        turn = self._turns.get((self.holders.of(number), self.holders.at(number)))
        if turn is not None:
            self._add(thread, turn, TurnStep("fences", thread.instruction, value=0))

    # Threads that meet, or wait otherwise.

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        everybody = [thread.number for thread in cta.threads]
        come = self.arrived.get((everybody[0] // self.size, identity), []) if level == "cta" else []
        numbers = [arrival[0] for arrival, _ in come]
        waits = bool(come) and all(waits for _, waits in come)
        super().released(cta, level, identity, whole)
        self._meet(numbers, orders=True) if waits else self._meets_others(everybody)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        super().met(how, threads, masked)
        for thread in threads if self.turns and how.form.mnemonic == "shfl" else ():
            source = thread.instruction.sources[0]
            self._open_sums.shorten(
                thread.R[source.value] if source is not None and source.kind == "register" else None
            )
        numbers = [thread.number for thread in threads]
        self._meet(numbers, orders=how.form.mnemonic == "bar") if masked else self._meets_others(numbers)

    def _meet(self, numbers: Sequence[int], *, orders: bool) -> None:
        """Threads meet, all of which wait: those of one holder do in a turn. `orders`: it orders memory."""
        holder = self.holders.of(numbers[0])
        if any(self.holders.of(number) != holder for number in numbers):
            self._meets_others(numbers)
            return
        turn = self._turns.get((holder, self.holders.meet(numbers)))
        if turn is not None:
            self._meetings_of_turns += 1
            places = frozenset(self.holders.place(number) for number in numbers)
            for place in places:
                made = TurnStep("meets", turn.party.op, truth=orders, places=places, meeting=self._meetings_of_turns)
                turn.add(place, made)

    def _meets_others(self, numbers: Sequence[int]) -> None:
        if not (self._began.isdisjoint(numbers) and self._met.isdisjoint(numbers)):
            self._met_by.update(dict.fromkeys(numbers, numbers))
            self._takes_no_more(numbers)

    def _may_take(self, thread: WatchedThread) -> None:
        """A thread takes a ticket, or does something for which others wait. Raises Stopped where it may not any more."""
        if thread.number in self._met:
            self.holders.widens(self._met_by.get(thread.number, ()))
            raise self.leaves(thread, "order")

    def _takes_no_more(self, numbers: Iterable[int]) -> None:
        """Holders that have threads do nothing more in turns that others wait for."""
        for number in numbers:
            if number not in self._met:
                self._met.update(self.holders.members(number))

    def _learns(self, thread: WatchedThread, access: Access, segment: Segment, fresh: frozenset[int]) -> None:
        if self._began:
            self._takes_no_more([thread.number])
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
            turn.close()
            self.handovers += sum(made.does == "posts" for made in turn.steps)
        found = check_turns(self.turns, self.slots, self.first)
        if not isinstance(found, Handovers):
            raise Stopped(Open("order", found))
        self.slots.spread += found.written()
        for given in self._given.values():
            stands = self.carried.found(given.segment, given.first, given.size) is given.value
            if stands and is_kept(given, found):
                self.carried.store(given.segment, given.first, given.size, None)


__all__ = ["Handing"]
