"""Where operations on an mbarrier object and waits for it can stand in their order, narrowed until nothing more follows.

An operation stands behind those that certainly precede it, a wait where some state is possible in which it returns what its
event says, and what certainly comes behind such a wait stands behind that place. Where only k operations can stand at the
first k positions, and so many are executed in any case, they do.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from axioms.cat.evaluate import bits
from axioms.mbarrier_states import State, Step, reachable


class Windows:
    """`first` and `last` are the positions of each operation, counted from 1; `able` says behind how many operations each wait
    can stand; `possible` are the states after 0, 1, 2, ... operations, `found_by[i][p]` those that operation i can find
    at position p."""

    def __init__(
        self, operations: Sequence[Step], waits: Sequence[Step], certain: set[int], precedes: Sequence[int]
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
        self.possible: list[set[State | None]] = []
        self.found_by: list[dict[int, set[State | None]]] = []
        self._narrow()

    def _precedes(self, a: Step, b: Step) -> bool:
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
            self.able[w] = [
                p for p in range(self.low[w], self.high[w] + 1) if any(wait.fits(s) for s in self.possible[p])
            ]
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
