"""What loops of compare-and-swap do (`sections.emulated`), as functions of a symbol for what stands there.

A copy of the thread goes on with a symbol for what it finds; where a branch hangs on it, both ways are gone. So what a thread
does is known for all values at once, however many there may be, and functions of one kind commute on all of them
(`sections.updates_in_sections`). Where this does not come to an end, nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.findings import step
from axioms.dynamic.sections.told import Teller, ToldAt, ToldThread, Untold
from axioms.dynamic.sections.updates_in_sections import Update, without_cases
from axioms.dynamic.waits.waiting import Ended, Poll
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.uninitialised import VARIES, Varying
from ptxcore.machine.run.watched import Write
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, conj, eq, given, ite, mask, negate, substitute, symbol, symbols_of

#: Branches between two polls, polls of a thread that finds one value, and places of a thread, at most.
MOST_BRANCHES, _MOST_POLLS, MOST_PLACES = 5, 6, 32


class UntoldBranch(BaseException):
    """A way comes to a branch, and has not been told where to go."""


class _Outcome(NamedTuple):
    """What comes of a poll, where `tests` come out so: the thread polls again (`at`), or has written `put` (None: nothing), and
    goes on. `seen`: what stood there."""

    tests: tuple[tuple[Value, bool], ...]
    seen: Value
    put: Value | None
    at: ToldAt | None
    goes_on: object

    @property
    def condition(self) -> Value:
        found: Value = 1
        for term, truth in self.tests:
            found = conj(found, term if truth else negate(term))
        return found


class AsTold:
    """Owns the symbols: who watches a copy says where they lead."""

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        return int(thread.watcher.decides(thread, value, op))

    def locates(self, thread: Any, value: Varying) -> int:
        return int(thread.watcher.locates(thread, value))


class TermTeller(Teller):
    """Tells a symbol, and where branches lead."""

    tries = varies = True

    def __init__(
        self,
        searched: frozenset[int],
        place: tuple[int, int],
        choices: tuple[bool, ...],
        known: Value,
        loads: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        super().__init__(*place, loads)
        self._searched, self._choices, self._known = searched, choices, known
        self.tests: list[tuple[Value, bool]] = []
        self.seen: Value = 0
        self.put: Value | None = None

    def is_poll(self, thread: Any) -> bool:
        return id(thread.instruction.instruction) in self._searched

    @property
    def goes_on(self) -> bool:
        return self.put is None

    def reads(self, thread: Any, address: int, size: int) -> Any:
        value = super().reads(thread, address, size)
        if isinstance(value, Varying):
            self.seen = value.term
        return value

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> Any:
        value = self.reads(thread, address, size)
        operands = [thread.value(source) for source in thread.instruction.sources[1:] if source is not None]
        if how.op != "cas" or how.words["vec"] or len(operands) != 2:
            raise Untold
        compared, put = (one.term if isinstance(one, Varying) else one & mask(8 * size) for one in operands)
        if not self._is(eq(value.term, compared)):
            return value
        self.seen, self.put = compared, put
        return operands[0]

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        return int(self._is(value.term))

    def _is(self, term: Value) -> bool:
        known = self._known
        for one, truth in self.tests:
            known = conj(known, one if truth else negate(one))
        told = given(term, known)
        if isinstance(told, int):
            return bool(told)
        if len(self.tests) >= len(self._choices):
            raise UntoldBranch
        truth = self._choices[len(self.tests)]
        self.tests.append((term, truth))
        return truth

    def other(self, thread: Any, what: str, how: Use | None = None, address: int = 0) -> None:
        if what != "unknown":
            raise Ended


class TermFunction:
    """An emulation of some bytes, that begins with a poll, as a function."""

    def __init__(
        self,
        poll: Poll,
        live: Live,
        searched: frozenset[int],
        place: tuple[int, int],
        loads: Mapping[tuple[int, int], int],
    ) -> None:
        self._poll, self._live, self._searched, self._place, self._loads = poll, live, searched, place, loads
        width = 8 * place[1]
        self.found, self._held = (named_symbol(name, width) for name in ("looked", "held"))
        self._value = Varying(self.found, VARIES, 1, 0, AsTold())
        self._thread = self._copy((), 1)[0]

    def _copy(self, choices: tuple[bool, ...], known: Value) -> tuple[ToldThread, TermTeller]:
        teller = TermTeller(self._searched, self._place, choices, known, self._loads)
        return ToldThread(self._poll, self._live, teller), teller

    def _outcomes(self, at: ToldAt, known: Value) -> list[_Outcome]:
        """All that may come of a poll. Raises Untold."""
        found: list[_Outcome] = []
        waiting: list[tuple[bool, ...]] = [()]
        while waiting:
            step()
            choices = waiting.pop()
            thread, teller = self._copy(choices, known)
            try:
                told = thread.goes(at, self._value)
            except UntoldBranch:
                if len(choices) >= MOST_BRANCHES:
                    raise Untold from None
                waiting += [(*choices, False), (*choices, True)]
                continue
            found.append(_Outcome(tuple(teller.tests), teller.seen, teller.put, told.at, told.goes_on))
        return found

    def update(self) -> Update:
        """The function: what it leaves there, whatever it finds at its polls. Raises Untold where it is none, or where its
        thread goes on in several ways."""
        value = without_cases(self.found, self._alone(self._thread.begins, 1, _MOST_POLLS))
        goes_on: set[object] = set()
        seen: set[object] = set()
        waiting: list[tuple[ToldAt, Value]] = [(self._thread.begins, 1)]
        while waiting:
            at, known = waiting.pop()
            if (at.key, known) in seen:
                continue
            seen.add((at.key, known))
            if len(seen) > MOST_PLACES:
                raise Untold
            for one in self._outcomes(at, known):
                if one.at is not None:
                    then = self._renamed(one)
                    self._alone(*then, _MOST_POLLS)
                    waiting.append(then)
                    continue
                goes_on.add(one.goes_on)
                here = given(substitute(value, {self.found: one.seen}), conj(known, one.condition))
                if here is not self._left(one) and here != self._left(one):
                    raise Untold
        if len(goes_on) > 1 or any(self._hangs(one) for one in goes_on):
            raise Untold
        return Update(self.found, value)

    def _alone(self, at: ToldAt, known: Value, polls: int) -> Value:
        """What is left by a thread that finds one value whenever it polls. Raises Untold where it polls too often."""
        if not polls:
            raise Untold
        left: Value | None = None
        for one in reversed(self._outcomes(at, known)):
            then = conj(known, one.condition)
            here = self._left(one) if one.at is None else self._alone(one.at, then, polls - 1)
            left = here if left is None else ite(one.condition, here, left, self.found.width)
        if left is None:
            raise Untold
        return left

    @staticmethod
    def _left(one: _Outcome) -> Value:
        return one.seen if one.put is None else one.put

    def _renamed(self, one: _Outcome) -> tuple[ToldAt, Value]:
        """Where a thread polls again, with what it has found under another name, and what is known of that."""
        at = one.at
        assert at is not None
        if any(self._held in symbols for symbols in symbols_in(at.key)):
            raise Untold
        registers = [self._held_in(value) for value in at.registers]
        known: Value = 1
        for term, truth in one.tests:
            if symbols_of(term) == {self.found}:
                told = substitute(term, {self.found: self._held})
                known = conj(known, told if truth else negate(told))
        return self._thread.state(at.block, registers, self._held_in(at.carry)), known

    def _held_in(self, value: Any) -> Any:
        if not isinstance(value, Varying) or self.found not in symbols_of(value.term):
            return value
        term = substitute(value.term, {self.found: self._held})
        return term if isinstance(term, int) else Varying(term, VARIES, value.size, 0, value.owner)

    def _hangs(self, goes_on: object) -> bool:
        """Whether what a thread goes on with is computed from what it found."""
        return any({self.found, self._held} & symbols for symbols in symbols_in(goes_on))


def named_symbol(name: str, width: int) -> Term:
    found = symbol((name, width), width)
    assert isinstance(found, Term)
    return found


def symbols_in(key: object) -> list[set[Term]]:
    """The symbols of each term in what threads have."""
    if isinstance(key, Term):
        return [symbols_of(key)]
    if isinstance(key, tuple):
        return [symbols for part in key for symbols in symbols_in(part)]
    return []


__all__ = [
    "MOST_BRANCHES",
    "MOST_PLACES",
    "AsTold",
    "TermFunction",
    "TermTeller",
    "UntoldBranch",
    "named_symbol",
    "symbols_in",
]
