"""Worlds that are partly known: base relations and sets with literals, each literal chosen freely by a valuation.

What the engine computes over such a world has to be, under every valuation, what the evaluation of a concrete execution says.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st
from pysat.solvers import Minisat22

from axioms.cat.nodes import Rows
from axioms.sat.formula import BOTH, FALSE, TRUE, Formula
from axioms.sat.relations import Executed, Relation, SetBounds

RELATIONS = ("rf", "rmw", "addr", "data")
SETS = ("R", "W", "F")

Valuation = dict[int, bool]


@dataclass
class World:
    """`free` are the variables that a valuation fixes; every other literal is a gate over them."""

    size: int
    formula: Formula
    executed: Executed
    relations: dict[str, Relation]
    members: dict[str, int]
    free: list[int] = field(default_factory=list)

    def valuations(self) -> Iterator[Valuation]:
        """The valuations of the free variables that the clauses so far allow."""
        clauses = [list(c) for c in self.formula.clauses]
        with Minisat22(bootstrap_with=clauses) as solver:
            for values in itertools.product((False, True), repeat=len(self.free)):
                if solver.solve(assumptions=[v if on else -v for v, on in zip(self.free, values, strict=True)]):
                    yield dict(zip(self.free, values, strict=True))

    def executes(self, valuation: Valuation) -> int:
        return sum(1 << i for i, l in enumerate(self.executed.literals) if true(l, valuation, self.formula))

    def base(self, valuation: Valuation) -> dict[str, int | Rows]:
        """The world under a valuation, as an evaluation takes it."""
        events = self.executes(valuation)
        found: dict[str, int | Rows] = {"_": events}
        found |= {name: self.members[name] & events for name in SETS}
        found["id"] = [events & 1 << i for i in range(self.size)]
        found |= {name: concrete(r, valuation, self.formula) for name, r in self.relations.items()}
        return found


def true(literal: int, valuation: Valuation, formula: Formula) -> bool:
    """Whether a literal holds: a constant, a free variable, or a conjunction of such."""
    if literal in (TRUE, FALSE):
        return literal == TRUE
    if abs(literal) in valuation:
        return valuation[abs(literal)] == (literal > 0)
    assert literal > 0
    return all(true(l, valuation, formula) for l in formula.parts[literal])


def concrete(relation: Relation, valuation: Valuation, formula: Formula) -> Rows:
    rows = list(relation.must)
    for i, row in relation.may.items():
        for j, literal in row.items():
            if true(literal, valuation, formula):
                rows[i] |= 1 << j
    return rows


def members(s: SetBounds, valuation: Valuation, formula: Formula) -> int:
    return s.must | sum(1 << i for i, l in s.may.items() if true(l, valuation, formula))


@st.composite
def worlds(draw: st.DrawFn, most_events: int = 4, most_free: int = 6) -> World:
    """Three kinds of pairs, as real programs have them: certain, sure when both ends are executed, and open."""
    size = draw(st.integers(2, most_events))
    formula = Formula()
    free: list[int] = []

    def literal() -> int:
        if len(free) < most_free:
            free.append(formula.new())
            return free[-1]
        return draw(st.sampled_from(free))

    guards = []
    for _ in range(size):
        kind = draw(st.integers(0, 4))
        if kind == 4 and guards:  # executed only where another one is
            both = formula.conj(draw(st.sampled_from(guards)), literal(), BOTH)
            guards.append(TRUE if both == FALSE else both)
            continue
        guards.append(TRUE if kind < 2 or (kind > 2 and not free) else literal() if kind == 2 else free[-1])
        if kind == 3 and free and draw(st.booleans()):
            guards[-1] = -guards[-1]
    executed = Executed(guards, formula)
    found = {}
    for name in RELATIONS:
        pairs = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=6, unique=True))
        rows, may = [0] * size, dict[int, dict[int, int]]()
        for i, j in pairs:
            both = executed.pair(i, j)
            kind = draw(st.integers(0, 2))
            if both == FALSE:
                continue
            if kind == 0:
                l = both
            elif kind == 1:
                l = formula.conj(both, literal(), BOTH)
            else:
                l = formula.new()
                free.append(l)
                _implies(formula, l, both, guards[i], guards[j])
            if l == TRUE:
                rows[i] |= 1 << j
            elif l != FALSE:
                may.setdefault(i, {})[j] = l
        found[name] = Relation(rows, may)
        if len(free) > most_free + 2:
            break
    for name in RELATIONS:
        found.setdefault(name, executed.static([1 << (i + 1) & (1 << size) - 1 for i in range(size)]))
    sets = {name: draw(st.integers(0, (1 << size) - 1)) for name in SETS}
    return World(size, formula, executed, found, sets, free)


def _implies(formula: Formula, literal: int, *others: int) -> None:
    """As the bounds of a program say it: clauses, and a fact that shortens conjunctions."""
    implied: set[int] = set()
    for l in others:
        if l != TRUE:
            formula.add([-literal, l])
            implied.add(l)
            implied |= formula.parts.get(l, frozenset())
    if implied:
        formula.implied[literal] = frozenset(implied)
