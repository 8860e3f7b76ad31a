"""Loops of compare-and-swap whose result is used: what a thread does from its first look at some bytes to the compare-and-swap
that succeeds, as one function of what that finds.

    do { next[me] = old; } while (!CAS(&head, old, me));            it takes what stands there for its own node
    do { new = next[old]; } while (!CAS(&head, old, new));          it takes a node, and leaves the next one

A copy of the thread goes on with a symbol for what it finds, as for loops whose result nobody uses
(`sections.emulated_terms`). Weak stores on the way are to places of its own, and are the same in each round; what weak
loads find is a function of their address. `tickets.swapping` holds all of them against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import field
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import step
from axioms.dynamic.sections.emulated_terms import (
    MOST_BRANCHES,
    MOST_PLACES,
    AsTold,
    TermTeller,
    UntoldBranch,
    named_symbol,
    symbols_in,
)
from axioms.dynamic.sections.told import ToldAt, ToldCopy, ToldThread, Untold
from axioms.dynamic.tickets.errand_threads import LookingThread
from axioms.dynamic.waits.waiting import Ended, Poll
from ptxcore.isa.effect_kinds import FENCE, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.run.uninitialised import VARIES, Varying
from ptxcore.machine.run.watched import Write
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.terms import Term, Value, conj, evaluate, mask, negate, substitute, symbol, symbols_of

#: Where a weak store goes, by its address and size, and what it puts there.
_Stores = tuple[tuple[int, int, Value], ...]


class SwapFunction(NamedTuple):
    """What a thread does to some bytes by a loop: it takes what stands there, which is `taken` in terms, and leaves `put`;
    having stored some values. `loads`: the symbols of what weak loads find, with their addresses and sizes."""

    taken: Term
    put: Value
    stores: _Stores
    loads: tuple[tuple[Term, Value, int], ...]

    def reads_at(self, number: int) -> list[tuple[int, int]]:
        """The addresses and sizes of all weak loads where a number is taken."""
        return [(_at(address, self.taken, number), size) for _, address, size in self.loads]

    def leaves(self, number: int, read: Callable[[int, int], int]) -> int:
        """What stands there behind it, where a number stood there before; `read` gives what weak loads find."""
        known = {self.taken: number}
        for one, address, size in self.loads:
            known[one] = read(_at(address, self.taken, number), size)
        found = self.put if isinstance(self.put, int) else evaluate(self.put, known)
        if found is None:
            raise Untold
        return found


def _at(address: Value, taken: Term, number: int) -> int:
    found = address if isinstance(address, int) else evaluate(address, {taken: number})
    if found is None:
        raise Untold
    return found


class _SwapThread(ToldCopy, LookingThread):
    """A copy of a thread in such a loop: nothing is written."""

    __slots__ = ()

    def effect(self, kind: EffectKind, how: Use, **fields: Any) -> Any:
        watcher: Any = self.watcher
        if kind is not FENCE or how.words["restrict"] or how.words["operation"] or not watcher.goes_on:
            raise Ended
        watcher.fences[self.op] = True

    leave = LookingThread.call


class _SwapTeller(TermTeller):
    """Tells a symbol; notes what weak accesses there are."""

    ends_at_varying = True

    def __init__(self, place: tuple[int, int], choices: tuple[bool, ...], known: Value, before: _Segment) -> None:
        super().__init__(frozenset(), place, choices, known)
        self.stores = {(address, size): value for address, size, value in before.stores}
        self.fences = dict.fromkeys(before.fences, True)
        self.loads: dict[Term, tuple[Value, int]] = {one: (at, size) for one, at, size in before.loads}
        # (The block with the next poll may be executed again from its beginning: all of this is the same then.)
        #: What has been done since the poll before, when a poll was told.
        self.since: _Segment | None = None
        self._at: Value | None = None

    def is_poll(self, thread: Any) -> bool:
        return True

    def is_strong(self, thread: Any, address: int) -> bool:
        """In shared memory, too: of a round in vain nothing is executed in the run, which would find a weak look."""
        return scope_of(thread.instruction.use) != "" and super().is_strong(thread, address)

    @property
    def segment(self) -> _Segment:
        """What has been done since the last poll."""
        stores = tuple((address, size, value) for (address, size), value in sorted(self.stores.items(), key=_place))
        return _Segment(stores, tuple(self.fences), tuple((one, *rest) for one, rest in self.loads.items()))

    def reads(self, thread: Any, address: int, size: int) -> Any:
        if self._at is None and (address, size) == self.place:
            here = self.segment
            value = super().reads(thread, address, size)
            self.since = here
            self.stores, self.fences, self.loads = {}, {}, {}
            return value
        return self._loads(thread, address, size)

    def _loads(self, thread: Any, address: int, size: int) -> Varying:
        at, self._at = address if self._at is None else self._at, None
        if not self.goes_on or scope_of(thread.instruction.use) != "":
            raise Ended
        if thread.instruction.use.words["vec"]:
            raise Untold
        one = symbol(("loaded", at, size), 8 * size)
        assert isinstance(one, Term)
        self.loads[one] = at, size
        return Varying(one, VARIES, 1, 0, AsTold())

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> Any:
        if self._at is not None or (address, size) != self.place or not self.goes_on:
            raise Ended
        return super().updates(thread, how, address, size, write)

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None:
        at, self._at = self._at, None
        if not self.goes_on or scope_of(thread.instruction.use) != "":
            raise Ended
        meets = address < self.place[0] + self.place[1] and self.place[0] < address + size
        if at is not None or meets or not isinstance(value, int | Varying):
            raise Untold
        self.stores[address, size] = value.term if isinstance(value, Varying) else value & mask(8 * size)

    def locates(self, thread: Any, value: Varying) -> int:
        self._at = value.term
        return value.number

    def other(self, thread: Any, what: str, how: Use | None = None, address: int = 0) -> None:
        self._at = None
        super().other(thread, what, how, address)


def _does_alike(segments: Iterable[_Segment], last: _Segment) -> bool:
    """Whether in all rounds a thread stores to the places of its last one, loads what that does, and comes by the same fences:
    of other accesses in vain rounds, the run has none that could race, or be out of bounds."""
    own = {(address, size) for address, size, _ in last.stores}
    does = [one for one in segments if one != _Segment()]  # all but the first look
    return all(
        one.fences == last.fences and {(a, s) for a, s, _ in one.stores} <= own and set(one.loads) <= set(last.loads)
        for one in does
    )


def _place(item: tuple[tuple[int, int], Value]) -> tuple[int, int]:
    return item[0]


class _Segment(NamedTuple):
    """What a thread does between two polls."""

    stores: _Stores = ()
    fences: tuple[int, ...] = ()
    loads: tuple[tuple[Term, Value, int], ...] = ()


class _SwapOutcome(NamedTuple):
    """What comes of a poll, where `tests` come out so: the thread has written `put`, or polls again (`at`), or neither.
    `since`: what it has done since the poll before; `more`: what it does up to the next one; `by`: how it polled."""

    tests: tuple[tuple[Value, bool], ...]
    put: Value | None
    compared: Value
    since: _Segment
    more: _Segment
    at: ToldAt | None
    goes_on: Hashable
    by: tuple[str, str, str]


@dataclass(eq=False)
class _Place:
    """Where a thread is about to poll: what it knows, and what it has done since the last poll. `then`: the places to which
    it goes if nobody else writes in between."""

    at: ToldAt
    known: Value
    since: _Segment
    then: list[_Place] = field(default_factory=list)


class SwapLoop:
    """All that a thread may do from its first poll of some bytes on, up to its success."""

    def __init__(self, poll: Poll, live: Live, place: tuple[int, int], number: int) -> None:
        self._poll, self._live, self._place = poll, live, place
        width = 8 * place[1]
        self.found, self.held = (named_symbol(name, width) for name in ("looked", "held"))
        self._value = Varying(self.found, VARIES, 1, number, AsTold())
        self._number = number
        self._thread = self._copy((), 1, _Segment())[0]
        self._places: dict[Hashable, _Place] = {}
        self._given_up: list[tuple[tuple[Value, bool], ...]] = []

    def _copy(self, choices: tuple[bool, ...], known: Value, since: _Segment) -> tuple[ToldThread, _SwapTeller]:
        teller = _SwapTeller(self._place, choices, known, since)
        return ToldThread(self._poll, self._live, teller, _SwapThread), teller

    def _outcomes(self, place: _Place) -> list[_SwapOutcome]:
        """All that may come of a poll. Raises Untold."""
        found: list[_SwapOutcome] = []
        waiting: list[tuple[bool, ...]] = [()]
        while waiting:
            step()
            choices = waiting.pop()
            thread, teller = self._copy(choices, place.known, place.since)
            try:
                told = thread.goes(place.at, self._value)
            except UntoldBranch:
                if len(choices) >= MOST_BRANCHES:
                    raise Untold from None
                waiting += [(*choices, False), (*choices, True)]
                continue
            if teller.by is None or teller.since is None:
                raise Untold
            use, more = teller.by.use, teller.segment
            by = use.form.mnemonic, use.sem or "", use.scope or ""
            tests = tuple(teller.tests)
            found.append(_SwapOutcome(tests, teller.put, teller.seen, teller.since, more, told.at, told.goes_on, by))
        return found

    def function(self) -> SwapFunction:
        """What the loop does. Raises Untold where it may do several things, or polls without end while nobody writes."""
        first = self._come(self._thread.begins, 1, _Segment())
        waiting = [first]
        segments: list[_Segment] = []
        ends: list[_SwapOutcome] = []
        while waiting:
            place = waiting.pop()
            for one in self._outcomes(place):
                segments.append(one.since._replace(loads=()) if place is first else one.since)
                if one.put is not None:
                    ends.append(one)
                elif one.at is None:
                    self._given_up.append(one.tests)
                else:
                    before = len(self._places)
                    then = self._renamed(one)
                    if len(self._places) > before:
                        waiting.append(then)
                    if place is first or self._is_possible_alone(one):
                        place.then.append(then)
        alike = ends and self._alike(ends) and _does_alike(segments, ends[0].since)
        if not alike or self._goes_round(first):
            raise Untold
        last = ends[0]
        if last.put is None or any(one.compared is not self.held for one in ends):
            raise Untold
        if any(symbols_of(address) - {self.held} for _, address, _ in last.since.loads if isinstance(address, Term)):
            raise Untold
        return SwapFunction(self.held, last.put, last.since.stores, last.since.loads)

    def _alike(self, ends: list[_SwapOutcome]) -> bool:
        """Whether a thread leaves the same function of what it takes wherever it succeeds, and goes on equally."""
        return len({(one.put, one.since, self._as_held(one.goes_on), one.by) for one in ends}) == 1

    def never_gives_up(self, values: Collection[int]) -> bool:
        """Whether a thread goes on by success alone, whichever of these it finds."""
        return not any(self._may_be(tests, values) for tests in self._given_up)

    def _may_be(self, tests: tuple[tuple[Value, bool], ...], values: Collection[int]) -> bool:
        for one in (self.found, self.held):
            about = [(term, truth) for term, truth in tests if symbols_of(term) == {one}]
            if not any(all(bool(evaluate(t, {one: v})) is truth for t, truth in about) for v in values):
                return False
        return True

    def _come(self, at: ToldAt, known: Value, since: _Segment) -> _Place:
        key = at.key, known, since
        found = self._places.get(key)
        if found is None:
            if len(self._places) >= MOST_PLACES:
                raise Untold
            found = self._places[key] = _Place(at, known, since)
        return found

    def _renamed(self, one: _SwapOutcome) -> _Place:
        """Where a thread polls again, with what it has found under another name, and what is known of that."""
        at = one.at
        assert at is not None
        if any(self.held in symbols for symbols in symbols_in(at.key)):
            raise Untold
        loads = {load: self._load_held(load, address, size) for load, address, size in one.more.loads}
        names = {self.found: self.held, **{load: new for load, (new, _, _) in loads.items()}}
        registers = [self._named(value, names) for value in at.registers]
        stores = tuple((a, s, v if isinstance(v, int) else substitute(v, names)) for a, s, v in one.more.stores)
        if any(self.held in symbols_of(v) for _, _, v in one.more.stores if isinstance(v, Term)):
            raise Untold
        since = _Segment(stores, one.more.fences, tuple(loads.values()))
        known: Value = 1
        for term, truth in one.tests:
            if symbols_of(term) == {self.found}:
                told = substitute(term, {self.found: self.held})
                known = conj(known, told if truth else negate(told))
        return self._come(self._thread.state(at.block, registers, self._named(at.carry, names)), known, since)

    def _load_held(self, load: Term, address: Value, size: int) -> tuple[Term, Value, int]:
        if isinstance(address, int):
            return load, address, size
        if symbols_of(address) != {self.found}:
            raise Untold
        at = substitute(address, {self.found: self.held})
        one = symbol(("loaded", at, size), 8 * size)
        assert isinstance(one, Term)
        return one, at, size

    def _named(self, value: Any, names: Mapping[Term, Value]) -> Any:
        if not isinstance(value, Varying) or symbols_of(value.term).isdisjoint(names):
            return value
        term = substitute(value.term, names)
        return term if isinstance(term, int) else Varying(term, VARIES, value.size, self._number, value.owner)

    def _as_held(self, key: Any) -> Any:
        """What a thread goes on with behind its success, where what it found is what it compared with."""
        if isinstance(key, Term):
            return substitute(key, {self.found: self.held})
        return tuple(self._as_held(part) for part in key) if isinstance(key, tuple) else key

    def _is_possible_alone(self, one: _SwapOutcome) -> bool:
        """Whether it may come so where a thread finds what it found before."""
        for term, truth in one.tests:
            told = substitute(term, {self.found: self.held})
            if isinstance(told, int) and bool(told) is not truth:
                return False
        return True

    def _goes_round(self, first: _Place) -> bool:
        """Whether a thread may poll without end though nobody else writes."""
        left = {id(place): len(set(map(id, place.then))) for place in self._places.values()}
        before: dict[int, set[int]] = {}
        for place in self._places.values():
            for then in place.then:
                before.setdefault(id(then), set()).add(id(place))
        over = [number for number, count in left.items() if not count]
        for number in over:
            for one in before.get(number, ()):
                left[one] -= 1
                if not left[one]:
                    over.append(one)
        return len(over) < len(left)


__all__ = ["SwapFunction", "SwapLoop"]
