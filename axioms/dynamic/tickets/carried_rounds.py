"""Rounds that carry something along: a sum in a register, a histogram in the shared memory of the CTA.

A round may find what rounds before it have left in registers and in the shared memory of its worker. Which these are is open,
so all that is found there is a value that is left open: a symbol with the number of the run beside it. As long as it
decides nothing, a round does the same whatever it finds. A first run tells what is carried along, a second one has symbols
there from the beginning of each round on.

A sum is known in the end nevertheless: where each round leaves what it found and a number that hangs on its ticket alone, and
each worker adds what it has, in its last round, to the same bytes, these come to the same whichever worker gets which tickets
(docs/whole-launches/tickets.md, Rounds that carry something).
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import field
from typing import Any

from axioms.dynamic.code.linear import congruent
from axioms.dynamic.core.accesses import commutative
from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.core.open_values import are_written
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.tickets.beginnings import normal_value, reads_open
from axioms.dynamic.tickets.between_rounds import OUTSIDE
from axioms.dynamic.tickets.handed_sums import open_addend
from axioms.dynamic.tickets.persistent import Persistent
from axioms.dynamic.tickets.round_kinds import RoundKinds
from axioms.dynamic.tickets.round_workers import RoundWorker
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, SHARED_OFFSET
from ptxcore.machine.run.faults import UNDEFINED
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import VARIES, Varying, anything
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import dataclass
from ptxcore.values.terms import Term, Value, mask

#: How many values a register may have by turns.
_FEW = 4

#: What is carried along, the same in all workers: a register of the thread at a place, or bytes of shared memory.
Name = tuple[str, int, int]


@dataclass
class CarriedAlong:
    """What a first run has shown: the registers (by slot) and the bytes of shared memory in which rounds find something of
    others."""

    registers: set[int] = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    #: The registers that may hang on the number of the round in its worker alone; whether the place does at which it begins.
    numbered: set[int] = field(default_factory=set)
    places: bool = False


class Scouting(Persistent):
    """Watches a first run: where rounds begin otherwise, something is carried along. What it says else is of no matter."""

    def __init__(self, size: int, width: int, kinds: RoundKinds, along: CarriedAlong) -> None:
        super().__init__(size, width, kinds)
        self.along = along
        #: By register, and place of a thread in its worker, what it has when rounds of some number begin.
        self._values: dict[int, dict[int, dict[int, object]]] = {}
        #: Registers of which that is not the same in all workers; whether rounds begin at several places of the code.
        self._loose: set[int] = set()
        self._places = False

    def _begin(self, thread: WatchedThread, stands: object, worker: RoundWorker) -> None:
        index, place = self._begun.get(thread.number, 0), thread.number % self.width
        super()._begin(thread, stands, worker)
        if isinstance(stands, tuple):
            for slot, value in stands[2]:
                value = normal_value(value, worker.tickets[index][1])
                by_number = self._values.setdefault(slot, {}).setdefault(place, {})
                if by_number.setdefault(index, value) != value:
                    self._loose.add(slot)

    def _differs(self, thread: WatchedThread, before: object, stands: object) -> None:
        found = _differing(before, stands)
        if found is None:
            self._places = True
        else:
            self.along.registers |= found

    def _found(self, thread: WatchedThread, segment: Segment, kind: str, first: int, size: int, iteration: int) -> None:
        if not self.shared.access(thread.number // self.size, segment, kind, first, first + size, iteration):
            self.along.shared.update(range(first, first + size))

    def settle(self) -> None:
        """The launch has ended."""
        self.along.shared |= self.shared.changed()
        own = self.along.registers & self._values.keys()  # others are those of other launches
        self.along.numbered |= {slot for slot in own - self._loose if self._few(slot)}
        self.along.places |= self._places

    def _few(self, slot: int) -> bool:
        """Whether a register has a few values by turns."""
        values = (list(of.values()) for of in self._values[slot].values())
        return all(sum(one not in of[:n] for n, one in enumerate(of)) <= _FEW for of in values)


def _differing(before: object, stands: object) -> set[int] | None:
    """The registers in which threads differ that go on from one place; None where they differ in more."""
    if not (isinstance(before, tuple) and isinstance(stands, tuple)):
        return None
    name, place, values, *more = before
    name2, place2, values2, *more2 = stands
    slots = [slot for slot, _ in values]
    if (name, place, more) != (name2, place2, more2) or slots != [slot for slot, _ in values2]:
        return None
    return {one[0] for one, other in zip(values, values2, strict=True) if one != other}


@dataclass
class _Given:
    """Bytes of `.global` memory to which values that are carried along are added: by worker, how often it adds what, and in
    which rounds. `is_open`: what they come to is not known."""

    segment: Segment
    first: int
    size: int
    by: dict[int, dict[Name, int]] = field(default_factory=dict)
    tickets: set[tuple[int, int]] = field(default_factory=set)
    is_open: bool = False


class CarryingRounds(Persistent):
    """Watches a second run."""

    def __init__(self, size: int, width: int, kinds: RoundKinds, along: CarriedAlong) -> None:
        super().__init__(size, width, kinds)
        self.along = along
        #: Whether some of them were stored to memory that outlives the launch.
        self.lasting = False
        #: What symbols are, and of which round; and the one that a register of a thread had when its round began.
        self._names: dict[Term, tuple[Name, int]] = {}
        #: What other symbols are: sums of these, and of which round.
        self._sums: dict[Term, tuple[dict[Term, int], int]] = {}
        self._had: dict[tuple[int, int], Term] = {}
        #: Registers that nobody has written before the first round; of each whether it is one, the same in all workers.
        self._unwritten: set[tuple[int, int]] = set()
        self._begins_written: dict[Name, bool] = {}
        #: What is carried along, and is no sum.
        self.no_sums: set[Name] = set()
        self._given: dict[tuple[int, int], _Given] = {}
        self._shapes: dict[int, tuple[int, int]] = {}
        self._first_rounds: set[int] = set()
        #: Bytes of `.global` memory that may hold something else in the end.
        self.spread: list[tuple[Segment, int, int]] = []

    # Values that vary.

    def _symbol(self, name: Name, ticket: int, width: int, number: int) -> Varying:
        one = anything(width)
        self._names[one] = name, ticket
        return Varying(one, VARIES, 1, number, self)

    def _factors(self, term: Value, ticket: int) -> dict[Term, int] | None:
        """Of a sum of what is carried along and of numbers, how often it has what; None for anything else. All of it is of one
        round, and has no fewer bits than the sum: what goes around in fewer does so as often as its worker has rounds."""
        form = congruent(term, self._range)
        if form is None or not isinstance(term, Term):
            return None
        found: dict[Term, int] = {}
        for one, factor in form.factors.items():
            parts, of = self._sums[one] if one in self._sums else ({one: 1}, self._names[one][1])
            if of != ticket or one.width < term.width:
                return None
            for part, times in parts.items():
                found[part] = found.get(part, 0) + factor * times
        return found

    def _range(self, one: Term) -> tuple[int, int] | None:
        return (0, mask(one.width)) if one in self._names or one in self._sums else None

    def _short(self, value: Varying, ticket: int) -> Varying:
        """The same sum under a symbol of its own: what is added up of many parts stays small."""
        factors = self._factors(value.term, ticket)
        if factors is None:
            return value
        one = anything(value.term.width)
        self._sums[one] = factors, ticket
        return Varying(one, VARIES, 1, value.number, self)

    def _keeps(self, thread: WatchedThread, value: object, name: Name, ticket: int) -> None:
        """A round leaves a value in the place of what it found: it may have added something, else it is no sum."""
        factors = self._factors(value.term, ticket) if isinstance(value, Varying) else None
        self._does(thread, name, self._told_apart(thread, value))
        if factors is None or [(self._names[one][0], f) for one, f in factors.items()] != [(name, 1)]:
            self.no_sums.add(name)

    def _told_apart(self, thread: WatchedThread, value: Any) -> object:
        if not isinstance(value, Varying):
            return value
        ticket = self._round.get(thread.number, OUTSIDE)
        form, factors = congruent(value.term, self._range), self._factors(value.term, ticket)
        if form is None or factors is None:
            return None
        return form.start, frozenset((self._names[one][0], factor) for one, factor in factors.items())

    # Registers.

    def _begin(self, thread: WatchedThread, stands: object, worker: RoundWorker) -> None:
        if not isinstance(stands, tuple):
            raise self.leaves(thread, "order")
        self._check_first(thread)
        name, place, values, *more = stands
        along = [slot for slot, _ in values if slot in self.along.registers]
        for slot in along:
            before = self._had.get((thread.number, slot))
            if before is not None:
                self._keeps(thread, thread.R[slot], *self._names[before])
        kept = tuple(one for one in values if one[0] not in self.along.registers)
        super()._begin(thread, (name, place, kept, *more), worker)
        widths = thread.launch.program.functions[name].widths
        for slot in along:
            self._carries(thread, slot, widths[slot], self._round[thread.number])

    def _along(self) -> Set[int]:
        return self.along.registers

    def _carries(self, thread: WatchedThread, slot: int, width: int, ticket: int) -> None:
        """A register goes from one round to the next one."""
        number, value = thread.number, thread.R[slot]
        name, before = ("register", slot, number % self.width), self._had.get((number, slot))
        here = value.number if isinstance(value, Varying) else value
        written = (number, slot) not in self._unwritten and here is not UNDEFINED
        if self._begins_written.setdefault(name, written) != written or (written and type(here) is not int):
            raise self.leaves(thread, "order")
        if not written:  # guards may hide that nobody reads it: then it may hold nothing in each round
            self._unwritten.add((number, slot))
            thread.R[slot] = UNDEFINED
            return
        if before is None and here is not value:
            raise self.leaves(thread, "order")
        thread.R[slot] = found = self._symbol(name, ticket, width, here)
        assert isinstance(found.term, Term)
        self._had[number, slot] = found.term

    def _check_first(self, thread: WatchedThread) -> None:
        """Before its first round each CTA has something in all bytes that are carried along."""
        number = thread.number // self.width
        if number in self._first_rounds or not self.along.shared:
            return
        self._first_rounds.add(number)
        segment, _ = thread.segment(thread.shared)
        if not all(are_written(segment, at, 1) for at in self.along.shared):
            raise self.leaves(thread, "unknown")

    # Memory.

    def _found(self, thread: WatchedThread, segment: Segment, kind: str, first: int, size: int, iteration: int) -> None:
        if not self._is_along(thread, first, size):
            super()._found(thread, segment, kind, first, size, iteration)

    def _is_along(self, thread: WatchedThread, first: int, size: int) -> bool:
        """Whether bytes of shared memory are carried along. They are always accessed as a whole."""
        inside = self.along.shared.intersection(range(first, first + size))
        if not inside:
            return False
        shape = first, size
        if len(inside) < size or any(self._shapes.setdefault(at, shape) != shape for at in inside):
            raise self.leaves(thread, "order")
        return True

    def _named(self, thread: WatchedThread, address: int, size: int) -> Name | None:
        """What bytes of shared memory are in a round, if they are carried along."""
        if address >= FIRST_GLOBAL or address & ~SHARED_OFFSET != thread.shared or thread.number not in self._round:
            return None
        first = address & SHARED_OFFSET
        return ("shared", first, size) if self._is_along(thread, first, size) else None

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        told, name = super().reads(thread, address, size), self._named(thread, address, size)
        if name is not None:
            segment, first = thread.segment(address)
            number = int.from_bytes(segment.data[first : first + size], "little")
            return self._symbol(name, self._round[thread.number], 8 * size, number)
        return self._short(told, self._round.get(thread.number, OUTSIDE)) if isinstance(told, Varying) else told

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        super().writes(thread, address, size, value)
        name = self._named(thread, address, size)
        if name is not None:
            self._keeps(thread, value, name, self._round[thread.number])

    def _puts(self, thread: WatchedThread, segment: Segment, first: int, size: int, value: Varying | None) -> None:
        shared = segment is thread.cta.shared
        if not shared or thread.number not in self._round or not self._is_along(thread, first, size):
            self.stored.store(segment, first, size, value)
            self.lasting = self.lasting or (value is not None and not shared)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        place = self._memory_at(thread, address)
        if place is None:
            raise self.leaves(thread, "order")
        segment, first = place
        name, open_ = self._named(thread, address, size), reads_open(thread.instruction, thread)
        if name is None and not open_:
            return super().updates(thread, how, address, size, write)
        whole = not address % size and first + size <= segment.size
        if self.uses_result(thread) or how.words["vec"] or (name is not None and open_) or not whole:
            raise self.leaves(thread, "order")
        thread.of(how.space, address)
        number = int.from_bytes(segment.data[first : first + size], "little")
        if name is None:
            return self._gives(thread, how, address, number)
        if not commutative(how):
            raise self.leaves(thread, "order")
        Determinate.updates(self, thread, how, address, size, write)
        self._does(thread, name, how.op, write(0)[0])
        if how.op != "add" or how.type[:1] not in "us":
            self.no_sums.add(name)
        segment.write(first, size, write(number)[0] & mask(8 * size))
        return number

    def _gives(self, thread: WatchedThread, how: Use, address: int, number: int) -> int:
        """Something that is carried along is added to bytes of `.global` memory."""
        size, ticket = how.width // 8, self._round.get(thread.number, OUTSIDE)
        value = open_addend(thread, how)
        if value is None or address < FIRST_GLOBAL or ticket == OUTSIDE:
            raise self.leaves(thread, "order")
        segment, first = thread.segment(address)
        self._access(thread, "A", address, size, self._commuting.of(thread, how), value.number)
        given = self._given.setdefault((id(segment), first), _Given(segment, first, size))
        worker, factors = thread.number // self.width, self._factors(value.term, ticket)
        given.tickets.add((worker, ticket))
        self._does(thread, "gives", address, self._told_apart(thread, value))
        if factors is None or given.size != size:
            given.is_open = True
        else:
            by = given.by.setdefault(worker, {})
            for one, factor in factors.items():
                name, _ = self._names[one]
                by[name] = by.get(name, 0) + factor & mask(8 * size)
        segment.write(first, size, number + value.number & mask(8 * size))
        return number

    # At the end.

    def settle(self) -> None:
        super().settle()
        if self.between.waits and (self._given or self.lasting):  # somebody may find that who has waited for it
            raise Stopped(Open("order"))
        for given in self._given.values():
            if not self._is_kept(given):
                self.spread.append((given.segment, given.first, given.first + given.size))

    def _is_kept(self, given: _Given) -> bool:
        """Whether bytes come to the same in all executions: each worker adds as much of everything, once, in its last round."""
        last = {number: worker.tickets[-1][0] for number, worker in self._workers.items() if worker.taker >= 0}
        parts = [{name: f for name, f in of.items() if f} for of in given.by.values()]
        return (
            not given.is_open
            and given.by.keys() == last.keys()
            and given.tickets == set(last.items())
            and all(of == parts[0] for of in parts)
            and self.no_sums.isdisjoint(parts[0])
        )


__all__ = ["CarriedAlong", "CarryingRounds", "Scouting"]
