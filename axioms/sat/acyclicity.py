"""What keeps a partly known relation from being acyclic, as literals none of which may hold.

Nobody has to know which event reaches which: it is enough to take the sources of jumps (see `axioms.sat.paths`) out of the
graph one after the other, each time joining what leads to one with what it leads to. A cycle shrinks whenever one of its
sources is taken out, and shows when its last one is. Those with the fewest neighbours go first, so that little is joined.

A jump leads to the sources of jumps that stand at its target or next behind it; on from there, steps lead for certain: whoever
jumps next is executed, and so a step leads there from the target, whether those that it passes are executed or not.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from axioms.cat.evaluate import bits, closure
from axioms.sat.formula import FALSE, TRUE, UP, Formula
from axioms.sat.paths import steps_and_jumps
from axioms.sat.relations import Executed, LiteralRow, Relation


def _nothing() -> None:
    pass


def cycles(
    relation: Relation, executed: Executed, formula: Formula, tick: Callable[[], None] = _nothing
) -> list[tuple[int, int, list[int]]]:
    """The literals each of which means that there is a cycle, with an event on it; every cycle makes one of them true. `tick`
    is called now and then, and may raise what ends this."""
    open_ = {i: {j: l for j, l in row.items() if l not in formula.refuted} for i, row in relation.may.items()}
    component = _components(Relation(relation.must, open_).possible())
    inner = [row & component[i] for i, row in enumerate(relation.must)]
    may = {i: {j: l for j, l in row.items() if component[i] >> j & 1} for i, row in open_.items()}
    trimmed = Relation(inner, {i: row for i, row in may.items() if row})
    if trimmed.is_empty:
        return []
    steps, jumps = steps_and_jumps(trimmed, executed, formula)
    turning = sum(1 << i for i, row in enumerate(steps) if row >> i & 1)
    found = [(i, i, [executed.literals[i]]) for i in bits(turning)]
    graph = _Graph(formula)
    _lay_out(graph, steps, jumps, turning)
    return found + graph.eliminate(tick)


def edges(relation: Relation, executed: Executed, formula: Formula) -> Iterator[tuple[int, int, int]]:
    """The edges of a graph that has the same paths between executed events, each with its literal. Some lead over events that
    are not executed: those of `cycles` may be such events."""
    steps, jumps = steps_and_jumps(relation, executed, formula)
    for i, row in enumerate(steps):
        yield from ((i, j, TRUE) for j in _first(row & ~(1 << i), steps))
    for i, found in jumps.items():
        yield from ((i, j, literal) for j, literal in found.items())


def _lay_out(graph: _Graph, steps: list[int], jumps: dict[int, LiteralRow], turning: int) -> None:
    """The sources of jumps, with what leads from one to the next. Nobody jumps from or to what lies on a cycle of steps."""
    heads = sum(1 << h for h in jumps) & ~turning
    first: dict[int, list[int]] = {}
    for h in bits(heads):
        for h2 in _first(steps[h] & heads, steps):
            graph.join(h, h2, TRUE)
        for t, literal in jumps[h].items():
            if turning >> t & 1:
                continue
            if t not in first:
                first[t] = [t] if heads >> t & 1 else _first(steps[t] & heads, steps)
            for h2 in first[t]:
                graph.join(h, h2, literal)


def _first(events: int, steps: list[int]) -> list[int]:
    """Those of some events that no step leads to from another one of them."""
    first = left = events
    while left:
        low = left & -left
        behind = steps[low.bit_length() - 1]
        first &= ~behind
        left = (left ^ low) & first
    return bits(first)


class _Graph:
    """A graph whose edges have literals. `causes` are those of edges from a vertex to itself."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.after: dict[int, LiteralRow] = {}
        self.before: dict[int, set[int]] = {}
        self.causes: list[tuple[int, int, list[int]]] = []
        self._own: set[int] = set()  # the literals that stand for an edge here and for nothing else

    def join(self, u: int, v: int, *literals: int) -> None:
        """An edge, if all the literals hold."""
        if u == v:
            self.causes.append((u, u, [self.formula.conj_all(literals, UP)]))
            return
        row = self.after.setdefault(u, {})
        known = row.get(v, FALSE)
        open_ = [l for l in literals if l != TRUE]
        if known == TRUE or [known] == open_:
            return
        self.before.setdefault(v, set()).add(u)
        if len(open_) <= 1 and known == FALSE:
            row[v] = open_[0] if open_ else TRUE
        elif not open_:
            row[v] = TRUE
        else:
            if known not in self._own:
                row[v] = self.formula.new()
                self._own.add(row[v])
                self.formula.add([-known, row[v]])
            self.formula.add([*[-l for l in open_], row[v]])

    def eliminate(self, tick: Callable[[], None]) -> list[tuple[int, int, list[int]]]:
        """Takes out all vertices."""
        waiting = [(self._cost(v), v) for v in {*self.after, *self.before}]
        heapq.heapify(waiting)
        gone: set[int] = set()
        while waiting:
            cost, v = heapq.heappop(waiting)
            if v in gone:
                continue
            if cost < (now := self._cost(v)):
                heapq.heappush(waiting, (now, v))
                continue
            gone.add(v)
            for w in self._take_out(v, tick):
                heapq.heappush(waiting, (self._cost(w), w))
        return self.causes

    def _cost(self, v: int) -> int:
        return len(self.before.get(v, ())) * len(self.after.get(v, ()))

    def _take_out(self, v: int, tick: Callable[[], None]) -> set[int]:
        """Joins what leads to a vertex with what it leads to, and gives both."""
        onward = self.after.pop(v, {})
        sources = self.before.pop(v, set())
        for w in onward:
            self.before[w].discard(v)
        for u in sources:
            tick()
            into = self.after[u].pop(v)
            for w, literal in onward.items():
                self.join(u, w, into, literal)
        return sources | onward.keys()


def _components(rows: list[int]) -> list[int]:
    """For each event the bitset of its strongly connected component; 0 where that is the event alone without a loop."""
    reach = closure(rows)
    into = [0] * len(rows)
    for i, row in enumerate(reach):
        for j in bits(row):
            into[j] |= 1 << i
    return [(reach[i] & into[i]) if reach[i] >> i & 1 else 0 for i in range(len(rows))]
