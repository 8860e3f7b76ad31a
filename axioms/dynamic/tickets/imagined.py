"""Errands of a launch (`tickets.errands`): what threads may do where the order of atomic operations has it, held against
all that others do.

Whoever goes which way, an execution has of each errand the accesses of one of its ways. So all of them are held against each
other, and against the rest of the run, but for those of which one execution has at most one: docs/whole-launches, Errands.
"""

from __future__ import annotations

import math
from collections import Counter as Count
from collections.abc import Callable, Iterable, Iterator
from math import gcd

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.findings import Party, step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.tickets.claims import ClaimedBytes, ClaimOperation
from axioms.dynamic.tickets.errands import Errands, KnownSymbols, UnknownErrand
from axioms.dynamic.tickets.publications import Granted, Unpublished, check_publications
from axioms.dynamic.tickets.slots import Slots
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted, OpenBranch, Ticket, Way
from ptxcore.machine.run.memory import Segment
from ptxcore.places import WIDE
from ptxcore.values.terms import Term, substitute, symbol, symbols_of

#: How often ways are gone with more tickets than before.
_MOST_TIMES = 4
#: Bytes that are looked after together.
_GRAIN = 2

#: A fork, all its ways, and the accesses that the run has of it.
_Gone = tuple[OpenBranch, list[Way], list[Noted]]


def settle_errands(
    slots: Slots, live: Live | None, varies: Callable[[Segment, int, int], bool], granted: Granted
) -> Party | None:
    """Puts what errands may do in the place of what the run has of them. None, or who does something of which nothing is
    known. `varies`: whether bytes may hold something else in the end; `granted`: what threads have of publications."""
    of = _Imagined(slots, live, varies, granted)
    try:
        of.settle()
    except (_Open, Unpublished) as found:
        return found.party
    return None


class _Open(Exception):
    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.party = party


class _Imagined:
    """The errands of one launch."""

    def __init__(
        self, slots: Slots, live: Live | None, varies: Callable[[Segment, int, int], bool], granted: Granted
    ) -> None:
        self.slots, self.live, self.varies, self.granted = slots, live, varies, granted
        #: Accesses that a winner does before it releases, by their identity, with the bytes that it has won.
        self.released: dict[int, ClaimedBytes] = {}
        self.counters: dict[tuple[int, int], list[Counter]] = {}
        for noted in slots.noted:
            if noted.counter is not None:
                of = self.counters.setdefault((id(noted.counter.segment), noted.counter.first), [])
                if noted.counter not in of:
                    of.append(noted.counter)
        self.fresh: dict[Term, Ticket] = {}
        self.gone: list[_Gone] = []
        self.shared_out: set[OpenBranch] = set()

    def settle(self) -> None:
        """Raises _Open."""
        slots = self.slots
        places = list(dict.fromkeys(claim.place for claim in slots.claims.values()))
        self._go_all()
        if not places and not self.gone:
            return
        for place in places:
            if not place.is_sound and not all(claim.may_win for claim in place.claims):
                raise _Open(place.claims[0].party)  # who is thought to lose may win
        slots.tickets.update(self.fresh)
        ours = {id(noted) for _, _, taken in self.gone for noted in taken}
        rest = [noted for noted in slots.noted if id(noted) not in ours]
        done = [noted for _, ways, _ in self.gone for way in ways for noted in way.done]
        self._check_rest(rest)
        certain = self._one_each()
        self.released = check_publications(self.gone, rest, slots.claims.values(), self.granted)
        self._check_claimed(places, rest, done)
        self._check(rest, done, certain)
        self._spread(places, done, certain)
        slots.noted = sorted([*rest, *done], key=lambda noted: noted.number)

    # The ways.

    def _go_all(self) -> None:
        """Goes all ways, until no more is added in any of them than was thought."""
        counters = [counter for of in self.counters.values() for counter in of]
        run = {counter: (counter.total, counter.unit) for counter in counters}
        more: dict[Counter, int] = {}
        for _ in range(_MOST_TIMES):
            for counter, (total, _) in run.items():
                counter.total = total + more.get(counter, 0)
            self.fresh = {}
            self.gone = list(self._go())
            for of in self.counters.values():
                for counter in of:
                    run.setdefault(counter, (0, 0))
            self.shared_out = self._shared_out()
            now = self._more()
            units = {counter: unit for counter, (_, unit) in run.items()}
            for _, ways, _ in self.gone:
                for way in ways:
                    for counter, added in way.added:
                        units[counter] = gcd(units[counter], added)
            same = now == more and all(counter.unit == unit for counter, unit in units.items())
            more = now
            for counter, unit in units.items():
                counter.unit, counter.total = unit, run[counter][0] + more.get(counter, 0)
            if same:
                return
        raise _Open(self.gone[0][0].party)

    def _go(self) -> Iterator[_Gone]:
        slots = self.slots
        known = KnownSymbols(slots.tickets, slots.claims, self.counters, self.fresh, self.varies)
        errands: Errands | None = None
        noted_by: dict[int, list[Noted]] = {}
        for noted in slots.noted:
            noted_by.setdefault(noted.thread, []).append(noted)
        within: Count[int] = Count()  # of forks of a thread that come in an errand of it
        for fork in slots.forks:
            number = fork.thread.number
            if within[number]:
                within[number] -= 1
                continue
            if slots.is_decided(fork.value.term, fork.value.number):
                continue
            if self.live is None:
                raise _Open(fork.party)
            errands = errands or Errands(self.live, known)
            step()
            try:
                ways = errands.ways(fork)
            except UnknownErrand:
                raise _Open(fork.party) from None
            way, taken = _as_run(fork, ways, noted_by.get(number, []))
            within[number] = way.forks - 1
            for one in ways:
                for noted in one.done:
                    noted.number = fork.at - 0.5
            yield fork, ways, taken

    def _more(self) -> dict[Counter, int]:
        """What ways may add to counters besides what the run does."""
        found: Count[Counter] = Count()
        for fork, ways, taken in self.gone:
            if any(way.won for way in ways) or fork in self.shared_out:
                continue  # each is won once (`_one_each`); so many go each way
            most: Count[Counter] = Count()
            for way in ways:
                most |= _sums(way.added)
            most.subtract(_sums((n.counter, n.addend) for n in taken if n.counter is not None))
            found.update(most)
        return {counter: total for counter, total in found.items() if total}

    def _shared_out(self) -> set[OpenBranch]:
        """Forks of which each execution has so many that go each way: tickets are shared out that are as far apart as each is
        large, and one number leads each thread the same way, to do the same."""
        groups: dict[tuple[Counter, int], list[tuple[OpenBranch, list[Way], Ticket]]] = {}
        for fork, ways, _ in self.gone:
            tickets = [self.slots.tickets.get(symbol) for symbol in symbols_of(fork.value.term)]
            if len(tickets) == 1 and tickets[0] is not None:
                groups.setdefault((tickets[0].counter, id(fork.op)), []).append((fork, ways, tickets[0]))
        return {fork for of in groups.values() if self._is_shared_out(of) for fork, _, _ in of}

    def _is_shared_out(self, of: list[tuple[OpenBranch, list[Way], Ticket]]) -> bool:
        counter = of[0][2].counter
        tickets = {ticket for ticket in self.slots.tickets.values() if ticket.counter is counter}
        each = tickets == {ticket for _, _, ticket in of} and len(of) == len(tickets)
        alike = {ticket.addend for ticket in tickets} == {counter.unit}
        if (
            not (each and alike)
            or len(tickets) * counter.unit != counter.total
            or any(ticket.counter is counter for ticket in self.fresh.values())
        ):
            return False
        one = symbol(("ticket", 8 * counter.size), 8 * counter.size)
        same = {substitute(fork.value.term, {ticket.symbol: one}) for fork, _, ticket in of}
        does = {(way.first, tuple(way.added), _wrote(way)) for _, ways, _ in of for way in ways}
        return len(same) == 1 and len(does) <= 2 and len({first for first, _, _ in does}) == len(does)

    # What each execution has of claims.

    def _one_each(self) -> dict[int, float]:
        """Holds the errands of claims against each other: whoever wins one adds the same. Gives the accesses, by their
        identity, of which each execution has the same, with the last of those of which that is true together. Raises _Open."""
        by_claim: dict[ClaimOperation, list[tuple[OpenBranch, list[Way]]]] = {}
        for fork, ways, _ in self.gone:
            led = {claim for way in ways for claim in way.won}
            if len(led) > 1 or any(way.won.keys() != led for way in ways):
                raise _Open(fork.party)
            for claim in led:
                by_claim.setdefault(claim, []).append((fork, ways))
        keys: dict[tuple[int, int], list[ClaimOperation]] = {}
        for claim in self.slots.claims.values():
            if claim.may_win:
                keys.setdefault(claim.key, []).append(claim)
        out = [n for fork, ways, _ in self.gone if fork in self.shared_out for w in ways for n in w.done]
        last = max((n.number for n in out), default=0)
        certain = {id(n): last for n in out if n.kind == "A"}
        for claims in keys.values():
            found = [by_claim.get(claim, []) for claim in claims]
            if not any(found):
                continue
            party = next(fork.party for of in found for fork, _ in of)
            if not claims[0].place.is_sound or sum(claim.won for claim in claims) != 1:
                raise _Open(party)
            won = [
                [[w for w in ways if w.won[claim]] for _, ways in of] for claim, of in zip(claims, found, strict=True)
            ]
            lost = [
                w for claim, of in zip(claims, found, strict=True) for _, ways in of for w in ways if not w.won[claim]
            ]
            if any(way.added for way in lost):
                raise _Open(party)
            added = {_only([tuple(w.added) for w in ways], party) for of in won for ways in of} if _once(won) else None
            if added is None:
                if any(way.added for of in won for ways in of for way in ways):
                    raise _Open(party)
                continue
            if len(added) > 1:
                raise _Open(party)
            wrote = {_wrote(way) for of in won for ways in of for way in ways}
            if len(wrote) == 1:
                ours = [
                    n
                    for of in won
                    for ways in of
                    for way in ways
                    for n in way.done
                    if n.kind != "R" and n.placed is None and n.about is None
                ]
                certain.update(dict.fromkeys(map(id, ours), max((n.number for n in ours), default=0)))
        return certain

    # What others do.

    def _check_rest(self, rest: list[Noted]) -> None:
        """What the run has not held against others is of errands. Raises _Open."""
        if any(noted.in_errand for noted in rest):
            raise _Open(self.slots.forks[0].party)

    def _check_claimed(self, places: Iterable[ClaimedBytes], rest: list[Noted], done: list[Noted]) -> None:
        """Bytes that are claimed are claimed by all, or read and written before, or read behind. Raises _Open."""
        for place in places:
            mine = [n.number for n in rest if n.claim is not None and n.claim.place is place]
            for noted in (*rest, *done):
                if noted.segment is not place.segment or not _meet(noted, place):
                    continue
                step()
                if not self._may_access(place, noted, mine[0], mine[-1]):
                    raise _Open(place.claims[0].party)
                if noted.number == place.ends and not all(
                    self.slots.ordered(one, noted) for one in done if one.about is place
                ):
                    raise _Open(place.claims[0].party)

    @staticmethod
    def _may_access(place: ClaimedBytes, noted: Noted, first: float, last: float) -> bool:
        """Whether an access of claimed bytes is one of those that are looked after; the claims are the accesses from `first` to
        `last`. One of other claims of these bytes is held against what stands between."""
        about = noted.claim.place if noted.claim is not None else noted.about
        if about is place or (noted.in_vain and noted.is_of(place)):
            return True
        if about is not None and (about.ends <= first or place.ends <= noted.number):
            return True
        plain = noted.kind != "A" and noted.strong in ("", CONSTANT) and noted.way is None
        before = noted.number < first
        alike = (place.has_one_outcome and place.published is None) or noted.walks
        behind = noted.number > last and noted.kind == "R" and alike
        return plain and (before or behind or noted.number >= place.ends)

    def _check(self, rest: list[Noted], done: list[Noted], certain: dict[int, float]) -> None:
        """Whatever way threads go, accesses that conflict are ordered, and what is read does not hang on it. Raises _Open."""
        by_place: dict[tuple[int, int], dict[Counter | None, list[Noted]]] = {}
        for noted in (*rest, *done):
            if noted.placed is None:
                for place in _grains(noted):
                    by_place.setdefault(place, {}).setdefault(_adds_to(noted), []).append(noted)
        for counter in {n.counter for n in done if n.counter is not None}:
            there = [n for of in by_place[id(counter.segment), counter.first >> _GRAIN].values() for n in of]
            begins = min(n.number for n in there if n.counter is counter)
            for noted in there:
                before = noted.number < begins and noted.way is None and not counter.alone
                if noted.counter is not counter and noted.kind != "R" and _meet(noted, counter) and not before:
                    raise _Open(self.gone[0][0].party)
        for one in done:
            if one.placed is not None or one.about is not None:
                continue
            mine = _adds_to(one)
            beside = [
                of for place in _grains(one) for key, of in by_place[place].items() if mine is None or key is not mine
            ]
            for other in {id(n): n for of in beside for n in of}.values():
                step()
                if other is not one and _meet(other, one) and not self._goes_with(one, other, certain):
                    raise _Open(self._party(one))
        self._check_same_tickets([noted for noted in (*rest, *done) if noted.placed is not None])

    def _goes_with(self, one: Noted, other: Noted, certain: dict[int, float]) -> bool:
        """Whether an access of an errand does not matter to another access, nor this to it."""
        if one.way is other.way or one.kind == other.kind == "R" or _excluded(one, other):
            return True
        if one.thread == other.thread and one.way is not None and other.way is not None and one.number == other.number:
            return True  # of another way
        within = self.slots.clocks.within
        alike = one.kind == other.kind == "A" and one.counter is not None and one.counter is other.counter
        if alike and within(one.strong, one.thread, other.thread) and within(other.strong, one.thread, other.thread):
            return True
        behind, before = self._is_behind(other, one), self._is_behind(one, other)
        if CONSTANT in (one.strong, other.strong) or not (behind or before or self.slots.ordered(one, other)):
            return False
        if one.kind == "R":  # it was read from the memory of the end
            return (other.way is None and other.number < one.number) or (before and id(other) in certain)
        if other.kind == "W":
            return True
        if behind and id(one) in certain:
            return True
        return other.way is None and (other.number < one.number or other.number > certain.get(id(one), math.inf))

    def _is_behind(self, other: Noted, one: Noted) -> bool:
        """Whether an access comes behind what whoever wins some bytes has published, one that it does before."""
        place = self.released.get(id(one))
        return place is not None and place.agent in other.known

    def _check_same_tickets(self, placed: list[Noted]) -> None:
        """Two threads that access memory by one ticket come one after the other. Raises _Open."""
        by_ticket: dict[object, list[Noted]] = {}
        for noted in placed:
            assert noted.placed is not None
            for one in _tickets(noted, self.slots):
                by_ticket.setdefault(one, []).append(noted)
        for of in by_ticket.values():
            if any(noted.way is not None for noted in of) and len({noted.thread for noted in of}) > 1:
                raise _Open(self._party(next(noted for noted in of if noted.way is not None)))

    def _spread(self, places: Iterable[ClaimedBytes], done: list[Noted], certain: dict[int, float]) -> None:
        """What may be something else in the end."""
        for noted in done:
            if noted.kind != "R" and noted.placed is None and noted.about is None and id(noted) not in certain:
                self.slots.spread.append((noted.segment, noted.first, noted.first + noted.size))
        for place in places:
            if not place.has_one_outcome:
                self.slots.spread.append((place.segment, place.first, place.first + place.size))

    def _party(self, noted: Noted) -> Party:
        return next(fork.party for fork, ways, _ in self.gone if any(way is noted.way for way in ways))


def _as_run(fork: OpenBranch, ways: list[Way], noted: list[Noted]) -> tuple[Way, list[Noted]]:
    """The way that the run goes, and its accesses there. Raises _Open."""
    since = [n for n in noted if n.number >= fork.at and not n.in_vain]
    for way in ways:
        taken = since[: len(way.done)]
        if way.as_run and [(n.kind, id(n.op)) for n in taken] == [(n.kind, id(n.op)) for n in way.done]:
            return way, taken
    raise _Open(fork.party)


def _adds_to(noted: Noted) -> Counter | None:
    """The counter to which an access adds in a scope that has all: such may come in any order."""
    return noted.counter if noted.kind == "A" and noted.strong in WIDE else None


def _sums(added: Iterable[tuple[Counter, int]]) -> Count[Counter]:
    found: Count[Counter] = Count()
    for counter, addend in added:
        found[counter] += addend
    return found


def _once(won: list[list[list[Way]]]) -> bool:
    """Whether each claim of a key leads one branch."""
    return all(len(of) == 1 for of in won)


def _only(found: list[tuple[tuple[Counter, int], ...]], party: Party) -> tuple[tuple[Counter, int], ...]:
    if len(set(found)) != 1:
        raise _Open(party)
    return found[0]


def _wrote(way: Way) -> tuple[object, ...]:
    """What a way leaves at places that hang on no ticket; equal to nothing else where that is not known."""
    found = [n for n in way.done if n.kind != "R" and n.placed is None and n.about is None]
    if any(n.kind == "W" and n.value is None for n in found):
        return (id(way),)
    return tuple((id(n.segment), n.first, n.size, n.kind, n.addend if n.kind == "A" else n.value) for n in found)


def _excluded(one: Noted, other: Noted) -> bool:
    """Whether no execution has both accesses: each is of who has won one claim."""
    if one.way is None or other.way is None or one.thread == other.thread:
        return False
    mine, others = ({claim.key for claim, won in way.won.items() if won} for way in (one.way, other.way))
    return not mine.isdisjoint(others)


def _meet(one: Noted, other: Noted | ClaimedBytes | Counter) -> bool:
    return one.segment is other.segment and one.first < other.first + other.size and other.first < one.first + one.size


def _grains(noted: Noted) -> Iterator[tuple[int, int]]:
    for grain in range(noted.first >> _GRAIN, (noted.first + noted.size - 1 >> _GRAIN) + 1):
        yield id(noted.segment), grain


def _tickets(noted: Noted, slots: Slots) -> Iterator[object]:
    assert noted.placed is not None
    return (symbol for symbol in symbols_of(noted.placed.term) if symbol in slots.tickets)


__all__ = ["settle_errands"]
