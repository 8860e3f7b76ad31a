"""The transitive closure of a relation that is partly known, computed for the pairs that are asked for.

Edges fall in two kinds. *Steps* hold whenever both their ends are executed, and so does what they add up to (program order,
mostly). *Jumps* have a literal of their own. A path is steps and jumps in turn, so the only thing to solve is which target of a
jump can be reached from which source of one:

    jump(h, t)                                 -> reach(h, t)
    jump(h, t1) & step?(t1, h2) & reach(h2, t) -> reach(h, t)
    path(i, j)  =  step(i, j) | step?(i, h) & reach(h, t) & step?(t, j)

Nobody asks for what is reached where a step says so anyway. Many events see the same sources before them, or the same targets
behind them, and stand or fall together: a literal is made once for all of these.
"""

from __future__ import annotations

from collections.abc import Iterator

from axioms.cat.evaluate import bits, closure, sequence
from axioms.cat.nodes import Rows
from axioms.sat.formula import FALSE, TRUE, UP, Formula
from axioms.sat.relations import Executed, LiteralRow, Relation
from ptxcore.clock import tick


class Paths:
    """The closure of `base`."""

    def __init__(self, base: Relation, executed: Executed, formula: Formula) -> None:
        self.formula, self.size, self.executed = formula, len(base.must), executed
        self.steps, jumps = steps_and_jumps(base, executed, formula)
        self.jumps = self._shortest(jumps)
        self.reach: dict[int, LiteralRow] = {}
        self._from: dict[int, LiteralRow] = {}  # by sources: what is reached from any of them
        self._over: dict[tuple[int, int], int] = {}  # by sources and targets: whether any of these is reached
        self._between: dict[
            tuple[int, int], LiteralRow
        ] = {}  # by sources and the literal of an event: the paths to others
        self._solve()
        self._targets = self._targets_before()

    def _shortest(self, jumps: dict[int, LiteralRow]) -> dict[int, LiteralRow]:
        """The jumps without those that are steps between events that are executed together, and another jump."""
        together: dict[int, int] = {}
        for i, literal in enumerate(self.executed.literals):
            together[literal] = together.get(literal, 0) | 1 << i
        into: dict[tuple[int, int], int] = {}
        for i, row in jumps.items():
            for j, literal in row.items():
                into[j, literal] = into.get((j, literal), 0) | 1 << i
        needed: dict[int, LiteralRow] = {}
        for i, row in jumps.items():
            later = self.steps[i] & together[self.executed.literals[i]] & -(2 << i)
            for j, literal in row.items():
                if not later & into[j, literal]:
                    needed.setdefault(i, {})[j] = literal
        return {i: self._first(row, together) for i, row in needed.items()}

    def _first(self, row: LiteralRow, together: dict[int, int]) -> LiteralRow:
        """The jumps of one event without those that are another jump, and a step between events that are executed together."""
        kept: LiteralRow = {}
        targets: dict[int, int] = {}  # of the jumps that are kept, by literal
        for j in sorted(row):
            literal = row[j]
            earlier = targets.get(literal, 0) & together[self.executed.literals[j]]
            if not any(self.steps[k] >> j & 1 for k in bits(earlier)):
                kept[j] = literal
                targets[literal] = targets.get(literal, 0) | 1 << j
        return kept

    # What is reached over jumps.

    def _solve(self) -> None:
        jumps, steps = self.jumps, self.steps
        if not jumps:
            return
        heads = sum(1 << h for h in jumps)
        # From the target of a jump, the sources of jumps that steps lead to.
        next_heads = {t: (steps[t] | 1 << t) & heads for row in jumps.values() for t in row}
        reachable = self._reachable(next_heads)
        for h, row in jumps.items():
            alone = not any(next_heads[t] for t in row)
            self.reach[h] = dict(row) if alone else {t: self.formula.new() for t in bits(reachable[h])}
        clauses = self.formula.clauses
        for h, row in jumps.items():
            into = self.reach[h]
            for t, literal in row.items():
                tick()
                if into[t] != literal:
                    clauses.append([-literal, into[t]])
                for t2, other in self._reached(next_heads[t]).items():
                    if t2 in into and other != into[t2]:
                        clauses.append([-literal, -other, into[t2]])

    def _reachable(self, next_heads: dict[int, int]) -> dict[int, int]:
        """The targets that can be reached from each source, but for those that steps lead to."""
        targets = {h: sum(1 << t for t in row) for h, row in self.jumps.items()}
        onward: dict[int, int] = {}
        for h, row in self.jumps.items():
            onward[h] = 0
            for t in row:
                onward[h] |= next_heads[t]
        reachable = dict(targets)
        changed = True
        while changed:
            changed = False
            for h, following in onward.items():
                new = reachable[h]
                for h2 in bits(following):
                    new |= reachable[h2]
                new &= ~self.steps[h] | targets[h]
                if new != reachable[h]:
                    reachable[h] = new
                    changed = True
        return reachable

    def _reached(self, sources: int) -> LiteralRow:
        """What is reached from any of some sources of jumps, a literal for each target."""
        found = self._from.get(sources)
        if found is None:
            collected: dict[int, list[int]] = {}
            for h in bits(sources):
                for t, literal in self.reach[h].items():
                    collected.setdefault(t, []).append(literal)
            found = self._from[sources] = {t: self.formula.disj(literals, UP) for t, literals in collected.items()}
        return found

    # Paths.

    def _targets_before(self) -> Rows:
        """For each event the targets of jumps that it is, or that steps lead to it from."""
        before = [0] * self.size
        for t in {t for row in self.reach.values() for t in row}:
            for j in bits(self.steps[t] | 1 << t):
                before[j] |= 1 << t
        return before

    def relation(self, mask: list[int] | None) -> Relation:
        """The paths between pairs in `mask`; between all, if there is none."""
        must = [0] * self.size
        may: dict[int, LiteralRow] = {}
        executed, steps = self.executed, self.steps
        heads = sum(1 << h for h in self.reach)
        for i in range(self.size):
            wanted = -1 if mask is None else mask[i]
            if not wanted:
                continue
            step = steps[i] & wanted
            if executed.certain >> i & 1:
                must[i] = step & executed.certain
                step &= ~must[i]
            row = {j: executed.pair(i, j) for j in bits(step)}
            sources = (steps[i] | 1 << i) & heads
            if sources:
                row.update(self._over_jumps(i, sources, wanted & ~steps[i]))
            for j, literal in row.items():
                if literal == TRUE:
                    must[i] |= 1 << j
                elif literal != FALSE:
                    may.setdefault(i, {})[j] = literal
        return Relation(must, may)

    def _over_jumps(self, i: int, sources: int, wanted: int) -> LiteralRow:
        """The paths of an event over jumps from these sources, to those that are wanted."""
        reached = self._reached(sources)
        targets = sum(1 << t for t in reached)
        ends = 0
        for t in reached:
            ends |= self.steps[t] | 1 << t
        known = self._between.setdefault((sources, self.executed.literals[i]), {})
        row: LiteralRow = {}
        for j in bits(ends & wanted):
            literal = known.get(j)
            if literal is None:
                over = self._any(sources, reached, self._targets[j] & targets)
                literal = known[j] = self.formula.conj(over, self.executed.pair(i, j))
            row[j] = literal
        return row

    def _any(self, sources: int, reached: LiteralRow, targets: int) -> int:
        key = sources, targets
        literal = self._over.get(key)
        if literal is None:
            literal = self._over[key] = self.formula.disj([reached[t] for t in bits(targets)], UP)
        return literal

    def paths(self, mask: list[int] | None) -> Iterator[tuple[int, int, int]]:
        """The pairs in `mask` that a path may join, each with the literal of that."""
        return self.relation(mask).pairs()


def steps_and_jumps(base: Relation, executed: Executed, formula: Formula) -> tuple[Rows, dict[int, LiteralRow]]:
    """Edges told apart: steps, closed, and the literals of jumps.

    An edge that holds wherever both its ends are executed is a step, if what it adds up to with others does so too: wherever
    two events are executed that steps lead between, all those must be that one way between them passes. A way certainly is of
    that kind where it goes on, from its beginning, to events that are executed if the one before is; from some event on, to
    such ones only that are not executed unless the one before is; and between the two takes any edge.

    Where some pairs have no such way, edges become jumps: those from where these pairs begin to what need not be executed then,
    or those to where they end from what need not have been, whichever are fewer. Each of these pairs has such an edge on every
    way between them, so that in the end all ways that are left are of that kind.
    """
    steps = list(base.must)
    jumps: dict[int, LiteralRow] = {}
    for i, row in base.may.items():
        for j, literal in row.items():
            if formula.follows(literal, executed.pair(i, j)):
                steps[i] |= 1 << j
            else:
                jumps.setdefault(i, {})[j] = literal
    closed = closure(steps)
    if closed == steps:
        return closed, _without(jumps, closed)
    ways = _Ways(executed, formula)
    while any(broken := ways.broken(steps, closed)):
        for i, lost in enumerate(broken):
            steps[i] &= ~lost
            for j in bits(lost):
                jumps.setdefault(i, {})[j] = executed.pair(i, j)
        closed = closure(steps)
    return closed, _without(jumps, closed)


def _without(jumps: dict[int, LiteralRow], steps: Rows) -> dict[int, LiteralRow]:
    """The jumps between events that no steps lead between."""
    found = {i: {j: l for j, l in row.items() if not steps[i] >> j & 1} for i, row in jumps.items()}
    return {i: row for i, row in found.items() if row}


class _Ways:
    """How steps add up."""

    def __init__(self, executed: Executed, formula: Formula) -> None:
        self.literals, self.formula = executed.literals, formula
        self.leads_on, self.only_behind = executed.implications()
        self._apart: dict[tuple[int, int], bool] = {}

    def broken(self, steps: Rows, closed: Rows) -> Rows:
        """Edges without which every way is of the right kind, or more are; none, if all are."""
        first = closure([row & self.leads_on[i] for i, row in enumerate(steps)])
        last = closure([row & self.only_behind[i] for i, row in enumerate(steps)])
        known = [a | b for a, b in zip(steps, sequence(steps, last), strict=True)]
        known = [a | b for a, b in zip(known, sequence(first, known), strict=True)]
        missing = [self._together(i, row & ~known[i]) for i, row in enumerate(closed)]
        ends = 0
        for row in missing:
            ends |= row
        begun = [row & ~self.leads_on[i] if missing[i] else 0 for i, row in enumerate(steps)]
        ended = [row & ends & ~self.only_behind[i] for i, row in enumerate(steps)]
        return min(begun, ended, key=lambda rows: sum(row.bit_count() for row in rows))

    def _together(self, i: int, events: int) -> int:
        """Those of some events that may be executed with event i."""
        tick()
        return sum(1 << j for j in bits(events) if not self._are_apart(i, j))

    def _are_apart(self, i: int, j: int) -> bool:
        """Whether two events are seen never to be executed both."""
        key = self.literals[i], self.literals[j]
        known = self._apart.get(key)
        if known is None:
            known = self._apart[key] = self.formula.follows(-key[0], key[1])
        return known
