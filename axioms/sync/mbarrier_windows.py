"""Where operations on an mbarrier object and waits for it can stand in their order, narrowed until nothing more follows.

An operation stands behind those that certainly precede it, a wait where some state is possible in which it returns what its
event says, and what certainly comes behind such a wait stands behind that place. Where only k operations can stand at the
first k positions, and so many are executed in any case, they do.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence

from axioms.cat.evaluate import bits
from axioms.sync.mbarrier_states import ObjectState, Transition, reachable
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


class Windows:
    """`first` and `last` are the positions of each operation, counted from 1; `able` says behind how many operations each wait
    can stand; `possible` are the states after 0, 1, 2, ... operations, `found_by[i][p]` those that operation i can find
    at position p."""

    def __init__(
        self, operations: Sequence[Transition], waits: Sequence[Transition], certain: set[int], precedes: Sequence[int]
    ) -> None:
        """`certain` are the events that are executed in any case; `precedes` says which come before which, by their numbers."""
        self.operations, self.waits, self.precedes = operations, waits, precedes
        self.certain = [s.event.index in certain for s in operations]
        self.surely = [s.event.index in certain for s in waits]
        n = len(operations)
        self.before = [
            sum(1 << i for i, a in enumerate(operations) if i != j and self._precedes(a, b))
            for j, b in enumerate(operations)
        ]
        self.first = [1 + sum(self.certain[i] for i in bits(row)) for row in self.before]
        self.last = [n - sum(row >> i & 1 for row in self.before) for i in range(n)]
        self.low, self.high = [0] * len(waits), [n] * len(waits)
        self.able: list[list[int]] = [[] for _ in waits]
        self.possible: list[set[ObjectState | None]] = []
        self.found_by: list[dict[int, set[ObjectState | None]]] = []
        self._answers = _Answers(operations)
        self._narrow()

    def _precedes(self, a: Transition, b: Transition) -> bool:
        return bool(self.precedes[a.event.index] >> b.event.index & 1)

    def _narrow(self) -> None:
        while True:
            self._by_order()
            reach = reachable(self.operations, self.certain, self.before, list(zip(self.first, self.last, strict=True)))
            self.possible, self.found_by = reach.after, reach.found_by
            old = [*self.low, *self.high, *self.first, *self.last]
            self._by_state()
            self._by_order()
            self._by_number()
            if [*self.low, *self.high, *self.first, *self.last] == old:
                return

    def _by_state(self) -> None:
        for w, wait in enumerate(self.waits):
            fits = self._answers.fitting(wait, self.found_by)
            self.able[w] = [p for p in range(self.low[w], self.high[w] + 1) if any(fits(s) for s in self.possible[p])]
            if self.able[w]:
                self.low[w], self.high[w] = self.able[w][0], self.able[w][-1]

    def _by_order(self) -> None:
        """What is certain to be executed pushes what comes behind it on, and what comes before it back."""
        first, last, low, high = self.first, self.last, self.low, self.high
        for (i, a), (w, wait) in itertools.product(enumerate(self.operations), enumerate(self.waits)):
            if self._precedes(a, wait):
                if self.certain[i]:
                    low[w] = max(low[w], first[i])
                if self.surely[w]:
                    last[i] = min(last[i], high[w])
            elif self._precedes(wait, a):
                if self.certain[i]:
                    high[w] = min(high[w], last[i] - 1)
                if self.surely[w]:
                    first[i] = max(first[i], low[w] + 1)
        for j, row in enumerate(self.before):
            for i in bits(row):
                if self.certain[i]:
                    first[j] = max(first[j], first[i] + 1)
                if self.certain[j]:
                    last[i] = min(last[i], last[j] - 1)

    def _by_number(self) -> None:
        for k in range(1, sum(self.certain) + 1):
            able = [i for i, first in enumerate(self.first) if first <= k]
            if len(able) == k:
                for i in able:
                    self.last[i] = min(self.last[i], k)


#: Stand for what a wait finds, and for its token, so that the waits of all threads look alike.
_STATE, _TOKEN = terms.symbol("state", 64), terms.symbol("token", 64)


class _Answers:
    """Which states let waits return what their events say. A token is the state that an operation on the object found."""

    def __init__(self, operations: Sequence[Transition]) -> None:
        self.operations = operations
        self._source = {s.result: i for i, s in enumerate(operations) if s.result is not None}
        self._known: dict[tuple[Value, Term, int], Value] = {}

    def fitting(
        self, wait: Transition, found_by: Sequence[Mapping[int, set[ObjectState | None]]]
    ) -> Callable[[ObjectState | None], bool]:
        """Whether a wait that finds a state may be the one that returns true, or false, as its event says."""
        conditions = self._conditions(wait, found_by)
        unwanted = "MW" not in wait.event.tags

        @functools.cache
        def fits(state: ObjectState | None) -> bool:
            if state is None or wait.wrong(state):
                return True
            return any(self._put(c, _STATE, state.content) != unwanted for c in conditions)

        return fits

    def _conditions(self, wait: Transition, found_by: Sequence[Mapping[int, set[ObjectState | None]]]) -> set[Value]:
        """The truth value of "it returns true", as terms of the state: one for each token that it may have."""
        assert wait.event.effect is not None
        complete = wait.event.effect.complete
        tokens = [s for s in terms.symbols_of(complete) if s in self._source]
        common: dict[Term, Value] = {} if wait.result is None else {wait.result: _STATE}
        if len(tokens) != 1:
            return {terms.substitute(complete, common)}
        token = tokens[0]
        source = self._source[token]
        found = set[ObjectState | None]().union(*found_by[source].values())
        if any(s is None or self.operations[source].wrong(s) for s in found):
            return {terms.substitute(complete, common)}  # behaviour is undefined, the token any
        common[token] = _TOKEN
        others = sorted(terms.symbols_of(complete) - common.keys(), key=lambda s: s.serial)
        common |= {s: terms.symbol(("of a wait", k), s.width) for k, s in enumerate(others)}
        complete = terms.substitute(complete, common)
        return {self._put(complete, _TOKEN, s.content) for s in found if s is not None}

    def _put(self, value: Value, symbol: Term, number: int) -> Value:
        key = value, symbol, number
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = terms.substitute(value, {symbol: number})
        return found
