"""Accesses at addresses that are computed from tickets: whether each lies in a place of its own, whatever tickets threads have.

An address is `s * T + d`, of a ticket T and for all its values the same whole numbers s and d; or `s * (T + U) + d`, where the
tickets U of a counter fit into the interval of T. A *class* has the accesses to one segment by tickets of one counter and with
one s. It has slots, if for one A all accesses by a ticket of the addition of n lie within s * T + A and s * (T + n) + A: then
accesses by different tickets have no byte in common, in any order of the additions, and those by the same have always the
same ones in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import gcd

from axioms.dynamic.code.linear import Linear, linear
from axioms.dynamic.core.clocks import Clocks
from axioms.dynamic.core.findings import Party, step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.tickets.bags import Bag, Member, bags
from axioms.dynamic.tickets.claims import ClaimOperation
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted, OpenBranch, Ticket, Way
from ptxcore.machine.run.memory import Segment
from ptxcore.values.terms import Term, Value, evaluate, mask, symbols_of


class _Class:
    """The accesses of one class: of each, how many bytes it is beside a multiple of its tickets, and these. `low` and `high`:
    the first byte that any tickets may bring one of them to, and the one behind the last."""

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.members: list[Member] = []
        self.low = self.high = 0

    def add(self, noted: Noted, beside: int, tickets: tuple[Ticket, ...]) -> None:
        ends = []
        _, least, most = zip(*map(noted.number_of, tickets), strict=True)
        for number in (sum(least), sum(most)):
            ends += [beside + self.factor * number, beside + self.factor * number + noted.size]
        self.low = min(ends) if not self.members else min(self.low, *ends)
        self.high = max(ends) if not self.members else max(self.high, *ends)
        self.members.append((noted, beside, tickets))

    @property
    def writes(self) -> bool:
        return any(noted.kind == "W" for noted, _, _ in self.members)

    def problems(self) -> Iterator[Party]:
        """Who may access memory that is not there, or not as a whole, or that other tickets have, too."""
        inner: dict[Ticket, Counter | None] = {}
        for noted, _, tickets in self.members:
            placed = noted.placed
            assert placed is not None
            unit = self.factor * gcd(*(ticket.counter.unit for ticket in tickets))
            outside = self.low < 0 or self.high > noted.segment.size
            if outside or unit % placed.whole or (placed.number - placed.beyond) % placed.whole:
                yield placed.party
            within = tickets[1].counter if len(tickets) > 1 else None
            if inner.setdefault(tickets[0], within) is not within:
                yield placed.party
        if self.writes:
            yield from self._outside_slots()

    def _outside_slots(self) -> Iterator[Party]:
        """Who accesses more than the place of its ticket."""
        factor = self.factor
        if factor > 0:
            begin = min(beside for _, beside, _ in self.members)
            ends = begin
        else:  # the interval of a ticket lies below
            ends = max(beside + noted.size for noted, beside, _ in self.members)
            begin = ends
        for noted, beside, tickets in self.members:
            length = factor * tickets[-1].addend
            if beside < begin + min(0, length) or beside + noted.size > ends + max(0, length):
                yield _party(noted)


_Reach = tuple[frozenset[Counter], int]


class Slots:
    """What is known of the tickets of one launch, and its accesses."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.tickets: dict[Term, Ticket] = {}
        self.noted: list[Noted] = []
        #: Where threads have gone by truth values that vary; and claims by the symbols of their results.
        self.forks: list[OpenBranch] = []
        self.claims: dict[Term, ClaimOperation] = {}
        #: Bytes that are written by tickets so far, by segment and class.
        self._reached: dict[int, dict[_Reach, tuple[int, int]]] = {}
        #: The same when all is known, with the segments.
        self.spread: list[tuple[Segment, int, int]] = []
        #: What stands at places of tickets in some order, then.
        self.bags: list[Bag] = []

    def range_of(self, symbol: Term) -> tuple[int, int] | None:
        """What a ticket may be, as far as additions are known."""
        ticket = self.tickets.get(symbol)
        if ticket is None:
            return None
        return ticket.counter.start, ticket.counter.last(ticket)

    def _range_in(self, way: Way, symbol: Term) -> tuple[int, int] | None:
        """What a ticket may be in one way of an errand."""
        return way.limits.get(symbol) or self.range_of(symbol)

    def taker_of(self, counter: Counter) -> Party:
        """Who takes a ticket of a counter: in the run, or else in some execution."""
        return counter.taken[0] if counter.taken else self.forks[0].party

    def is_decided(self, term: Value, number: int) -> bool:
        """Whether a value is this number whatever the tickets are."""
        found = linear(term, self.range_of)
        return found is not None and found.is_constant and found.start == number

    def reach(self, noted: Noted, form: Linear) -> None:
        """A write by tickets may come to these bytes."""
        placed = noted.placed
        if noted.kind != "W" or placed is None:
            return
        low, high = form.bounds(self.range_of)
        low, high = low + placed.beyond - placed.base, high + placed.beyond - placed.base + noted.size
        counters = frozenset(self.tickets[symbol].counter for symbol in form.factors)
        reached = self._reached.setdefault(id(noted.segment), {})
        key = counters, max(form.factors.values())
        before = reached.get(key, (low, high))
        reached[key] = min(before[0], low), max(before[1], high)

    def reached(self, segment: Segment, first: int, size: int) -> bool:
        """Whether tickets may have led writes to some bytes."""
        return any(low < first + size and first < high for low, high in self._reached.get(id(segment), {}).values())

    # At the end.

    def problem(self) -> Party | None:
        """Whether the run stands for all executions up to its tickets: None, or who does something of which that is open. All
        accesses have their numbers, and counters their units."""
        return next(self._problems(), None)

    def count(self) -> None:
        """The launch has ended: accesses get their numbers, and counters their units."""
        for number, noted in enumerate(self.noted):
            noted.number = number
            if noted.counter is not None:
                noted.counter.unit = gcd(noted.counter.unit, noted.addend)

    def _problems(self) -> Iterator[Party]:
        """Who does something that is open."""
        by_segment: dict[int, list[Noted]] = {}
        for noted in self.noted:
            by_segment.setdefault(id(noted.segment), []).append(noted)
        for counter in dict.fromkeys(ticket.counter for ticket in self.tickets.values()):
            accesses = by_segment.get(id(counter.segment), [])
            if counter.start + counter.total > mask(8 * counter.size) or not _is_only_added_to(counter, accesses):
                yield self.taker_of(counter)
        for accesses in by_segment.values():
            if any(noted.placed is not None for noted in accesses):
                yield from self._in_segment(accesses)

    def _in_segment(self, accesses: list[Noted]) -> Iterator[Party]:
        classes: dict[tuple[Counter, int], _Class] = {}
        for noted in accesses:
            if noted.placed is not None:
                found = self._member(noted)
                if found is None:
                    yield noted.placed.party
                    return
                factor, beside, tickets = found
                key = tickets[0].counter, factor
                classes.setdefault(key, _Class(factor)).add(noted, beside, tickets)
        for one in classes.values():
            yield from one.problems()
            if one.writes:
                self.spread.append((accesses[0].segment, one.low, one.high))
        plain = [noted for noted in accesses if noted.placed is None]
        kinds = list(classes.values())
        for i, one in enumerate(kinds):
            for other in kinds[:i]:
                if one.low < other.high and other.low < one.high:
                    yield from self._apart(one, [noted for noted, _, _ in other.members])
            yield from self._apart(one, [p for p in plain if one.low < p.first + p.size and p.first < one.high])
        written = [(p.first, p.first + p.size) for p in plain if p.kind != "R"]
        for one in kinds:
            if one.writes:
                reached = [(other.low, other.high) for other in kinds if other is not one and other.writes]
                self.bags += bags(one.factor, one.members, [*written, *reached])

    def first_address(self, term: Value) -> int:
        """An address with the least numbers that tickets may be."""
        return evaluate(term, {one: self.tickets[one].counter.start for one in symbols_of(term)})

    def places(self, noted: Noted) -> Iterator[int]:
        """Where an access by one ticket may be, in its segment, with each number that this may begin with."""
        found = self._member(noted)
        assert found is not None
        factor, beside, (ticket, *_) = found
        _, least, most = noted.number_of(ticket)
        unit = ticket.counter.unit or 1
        least += (ticket.counter.start - least) % unit
        for number in range(least, most + 1, unit):
            yield beside + factor * number

    def factor_of(self, noted: Noted) -> int:
        """How far apart accesses by one ticket are for tickets that follow each other."""
        found = self._member(noted)
        assert found is not None
        return found[0]

    def _member(self, noted: Noted) -> tuple[int, int, tuple[Ticket, ...]] | None:
        """Of an access by tickets the factor of these, how many bytes it is beside their multiple, and the tickets, the outer
        one first; None where the address is no such sum."""
        placed = noted.placed
        assert placed is not None
        form = linear(placed.term, self.range_of if noted.way is None else partial(self._range_in, noted.way))
        if form is None or len(set(form.factors.values())) != 1:
            return None
        tickets = self._nested([self.tickets[symbol] for symbol in form.factors])
        factor = next(iter(form.factors.values()))
        if tickets is None or noted.first + placed.base != placed.number:
            return None
        beside = form.start + placed.beyond - placed.base
        here = beside + factor * sum(noted.number_of(ticket)[0] for ticket in tickets)
        return (factor, beside, tickets) if here == noted.first else None

    @staticmethod
    def _nested(tickets: list[Ticket]) -> tuple[Ticket, ...] | None:
        """Tickets such that all of the counter of the inner one fit into the outer one."""
        if len(tickets) == 1:
            return tuple(tickets)
        if len(tickets) == 2:
            for outer, inner in (tickets, tickets[::-1]):
                if inner.counter.start + inner.counter.total <= outer.addend and inner.counter is not outer.counter:
                    return outer, inner
        return None

    def _apart(self, one: _Class, others: Iterable[Noted]) -> Iterator[Party]:
        """Accesses that need not be in the places of a class's tickets: they come before or behind all that they may meet, and
        find nothing that it has written but what is taken for open."""
        for other in others:
            step()
            for noted, _, _ in one.members:
                kinds = noted.kind, other.kind
                if not {"W", "A"}.isdisjoint(kinds) and (
                    CONSTANT in (noted.strong, other.strong) or not self.ordered(noted, other)
                ):
                    yield _party(noted)
                behind = noted.kind == "W" and noted.number < other.number
                if behind and other.kind in ("R", "A") and not other.is_open:
                    yield _party(noted)

    def ordered(self, a: Noted, b: Noted) -> bool:
        """Whether of two accesses the earlier one in the run is ordered before the other one."""
        first, last = (a, b) if a.number < b.number else (b, a)
        if first.thread == last.thread:
            return True
        cta, place = divmod(first.thread, self.clocks.size)
        times = last.known.get(cta)
        return times is not None and times[place] >= first.time


def _party(noted: Noted) -> Party:
    assert noted.placed is not None
    return noted.placed.party


def _is_only_added_to(counter: Counter, accesses: Iterable[Noted]) -> bool:
    """Whether nothing is done to the bytes of a counter but additions and weak accesses, which are ordered with these."""
    end = counter.first + counter.size
    for noted in accesses:
        if noted.first < end and counter.first < noted.first + noted.size:
            strange = noted.counter is None if noted.kind == "A" else noted.strong not in ("", CONSTANT)
            if strange:
                return False
    return True
