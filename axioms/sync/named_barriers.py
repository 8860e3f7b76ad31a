"""Barriers of the short dialect: one instance each, by its name.

Without a count everybody who names the instance takes part. With a count each waiting thread passes as soon as that many have
arrived, and those are the ones it has synchronised with: which they are depends on the order in which they come.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from axioms.sat.formula import BOTH, FALSE, TRUE
from axioms.sync.arrivals import BarrierArrival, Gathered
from ptxcore.values.terms import Term


class NamedBarriers:
    """The barriers of one instance in one CTA."""

    def __init__(self, whole: Gathered, members: list[BarrierArrival]) -> None:
        self.whole, self.formula = whole, whole.formula
        #: Of each who waits for all: of each instruction the literals of "it is reached, or of another barrier". Of each
        #: who waits for some: of each other arrival the literal of "it is there".
        self._all: list[tuple[BarrierArrival, list[list[int]]]] = []
        self._some: list[tuple[BarrierArrival, list[int]]] = []
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

    def _wait_for_all(self, b: BarrierArrival, members: list[BarrierArrival]) -> None:
        """Without a count, every instruction of the same barrier must be reached (in some iteration, if it is in a loop)."""
        instructions: dict[tuple[int, int], list[BarrierArrival]] = {}
        for a in members:
            if type(a.effect.identity) is not Term:
                instructions.setdefault((a.arrive.thread, id(a.effect.instruction)), []).append(a)
        reached = []
        for copies in instructions.values():
            here = [-self.whole.same(copies[0], b), *[a.executed for a in copies]]
            self.formula.add([-b.passes, self.whole.cut, *here])
            reached.append(here)
        self._all.append((b, reached))

    def _wait_for_some(
        self,
        b: BarrierArrival,
        y: int,
        mates: list[tuple[int, int]],
        members: list[BarrierArrival],
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
        self._some.append((b, [there for _, there in mates]))
        for count, holds in self.whole.counts(b.effect.count):
            if count > 1:  # itself, and count - 1 others
                enough = at_least[count - 1] if count <= len(at_least) else FALSE
                formula.add([-b.passes, -holds, self.whole.cut, enough])

    def complete(self) -> Iterator[tuple[BarrierArrival, int]]:
        """For each who waits the literal of "it may go on"."""
        formula = self.formula
        for b, reached in self._all:
            yield b, formula.conj_all([formula.disj(here, BOTH) for here in reached], BOTH)
        for b, there in self._some:
            came = formula.count(there, len(there))
            enough = [
                formula.conj(holds, TRUE if count < 1 else came[count - 1] if count <= len(came) else FALSE, BOTH)
                for count, holds in self.whole.counts(b.effect.count)
            ]
            yield b, formula.disj(enough, BOTH)
