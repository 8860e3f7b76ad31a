"""Barriers of the short dialect: one instance each, by its name.

Without a count everybody who names the instance takes part. With a count each waiting thread passes as soon as that many have
arrived, and those are the ones it has synchronised with: which they are depends on the order in which they come.
"""

from __future__ import annotations

import itertools

from axioms.arrivals import Arrival, Gathered
from axioms.formula import BOTH, FALSE
from ptxcore.values.terms import Term


class NamedBarriers:
    """The barriers of one instance in one CTA."""

    def __init__(self, whole: Gathered, members: list[Arrival]) -> None:
        self.whole, self.formula = whole, whole.formula
        formula = self.formula
        position: dict[tuple[int, int], int] = {}
        for x, y in itertools.combinations(range(len(members)), 2):
            position[x, y] = formula.new()
            position[y, x] = -position[x, y]
        for x, y, z in itertools.permutations(range(len(members)), 3):
            if x < y and x < z:
                formula.add([-position[x, y], -position[y, z], position[x, z]])
        for y, b in enumerate(members):
            mates: list[tuple[int, int]] = []  # (other, literal of "executed and of the same barrier")
            for x, a in enumerate(members):
                if x != y:
                    same = self.whole.same(a, b)
                    mates.append((x, formula.conj(same, a.executed, BOTH)))
            if b.wait is None:
                continue
            if b.effect.count is None:
                self._wait_for_all(b, members)
                for x, there in mates:
                    self.whole.edge(members[x], b, there)
                continue
            self._wait_for_some(b, y, mates, members, position)

    def _wait_for_all(self, b: Arrival, members: list[Arrival]) -> None:
        """Without a count, every instruction of the same barrier must be reached (in some turn, if it is in a loop)."""
        instructions: dict[tuple[int, int], list[Arrival]] = {}
        for a in members:
            if type(a.effect.identity) is not Term:
                instructions.setdefault((a.arrive.thread, id(a.effect.instruction)), []).append(a)
        for copies in instructions.values():
            same = self.whole.same(copies[0], b)
            self.formula.add([-b.executed, -same, self.whole.cut, *[a.executed for a in copies]])

    def _wait_for_some(
        self,
        b: Arrival,
        y: int,
        mates: list[tuple[int, int]],
        members: list[Arrival],
        position: dict[tuple[int, int], int],
    ) -> None:
        """`b` passes when `count` have arrived: those before it, and if they are too few those next after it."""
        formula = self.formula
        seen = {x: formula.new() for x, _ in mates}
        for x, there in mates:
            formula.add([-seen[x], there])
            formula.add([-there, -position[x, y], seen[x]])
            for z, also in mates:
                if z != x:
                    formula.add([-seen[x], -also, -position[z, x], seen[z]])
            self.whole.edge(members[x], b, seen[x])
        at_least = formula.count(seen.values(), len(mates))
        for count, holds in self.whole.counts(b.effect.count):
            if count > 1:  # itself, and count - 1 others
                enough = at_least[count - 1] if count <= len(at_least) else FALSE
                formula.add([-b.executed, -holds, self.whole.cut, enough])
