"""The impossible: outcomes that no candidate execution has, whatever a model's axioms say.

A read returns what some write wrote, and a write stores what its thread computed. Where that leads to no value that the outcome
needs, either nothing writes it, or it would have to come out of itself: a read of a write that stores what a read returned,
which goes in a circle. Such values are in no candidate execution at all; axioms against values out of thin air are about them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from axioms.cat.model import Model
from axioms.events.event import Event
from axioms.events.event_kinds import READ, WRITE
from axioms.explain.forbidding import without
from axioms.program import Program
from axioms.witness.fitted import fitted
from axioms.witness.judge import ModelChecker
from axioms.witness.result import Site, Unreachable, ValueFlow, site_of
from ptxcore.values import terms

if TYPE_CHECKING:
    import networkx

#: So many outcomes are looked at, and so many values of one thing are told.
_MOST_STATES, _MOST_VALUES = 64, 4
#: What the axiom against circles of reads and data is called in the models that ship.
THIN_AIR = "no-thin-air"


def impossible(program: Program, model: Model, deadline: float) -> Unreachable:
    """What candidate executions end with, and the circle in which any other value would have to flow. The caller knows that
    none has the outcome. Raises OutOfTime, and TooManyValues."""
    from axioms.encode.encoding import Encoding
    from axioms.encode.solve import Session

    free = without(fitted(model, program, frozenset()), {a.name for a in model.axioms})
    session = Session(program, free, Encoding(program, free, deadline=deadline), None, deadline, witnesses=False)
    decision = session.decide(_MOST_STATES)
    values: dict[str, set[int]] = {}
    for state in decision.states:
        for name, value in state.items():
            values.setdefault(name, set()).add(value)
    few = {name: tuple(sorted(found)) for name, found in values.items() if len(found) <= _MOST_VALUES}
    told = few if decision.listed_all and decision.complete else {}
    circle = _circle(program, model)
    axiom = THIN_AIR if circle and model.shipped and any(a.name == THIN_AIR for a in model.axioms) else ""
    return Unreachable("impossible", tuple(told.items()), circle, axiom=axiom, shipped=model.shipped)


def _circle(program: Program, model: Model) -> tuple[ValueFlow, ...]:
    """The shortest circle of reads and of writes that store what they return, among what the outcome depends on."""
    import networkx  # late: it takes a tenth of a second to import

    events = program.events
    flow: dict[int, set[int]] = {}  # from a write to the reads that it stores
    for i, j, _ in ModelChecker(program, model).carrying["data"]:
        if events[i].kind is READ and events[j].kind is WRITE:
            flow.setdefault(j, set()).add(i)
    writes: dict[int, list[Event]] = {}
    for e in events:
        for cell in e.cells if e.kind is WRITE else ():
            writes.setdefault(cell, []).append(e)
    graph = networkx.DiGraph()  # from a read to those whose values a write that it may return stores
    for e in events:
        for w in _once(w for c in e.cells for w in writes.get(c, ())) if e.kind is READ else ():
            for r in sorted(flow.get(w.index, ())):
                if not graph.has_edge(e.index, r):
                    graph.add_edge(e.index, r, write=w.index)
    seen = graph.nbunch_iter(_seen(program, flow, writes))
    behind = {read for start in seen for read in (start, *networkx.descendants(graph, start))}
    rounds = [found for start in sorted(behind) if (found := _round(graph, start))]
    best = min(rounds, key=len, default=[])
    told = {e.index: _site(program, e) for e in events}
    return tuple(ValueFlow(told[r], told[w], told[source]) for r, w, source in best)


def _once(events: Iterable[Event]) -> list[Event]:
    return list({e.index: e for e in events}.values())


def _seen(program: Program, flow: dict[int, set[int]], writes: dict[int, list[Event]]) -> set[int]:
    """The reads whose values end in what is observed."""
    symbols = {s for o in program.observed for s in terms.symbols_of(o.value)}
    reads = {e.index for e in program.events if e.kind is READ for v in e.values if v in symbols}
    kept = [w for cell, some in writes.items() if program.final(cell) in symbols for w in some]
    return reads.union(*(flow.get(w.index, set()) for w in kept))


def _round(graph: networkx.DiGraph, start: int) -> list[tuple[int, int, int]]:
    """The shortest way from a read back to itself, as reads, writes and the reads behind them."""
    import networkx

    back = networkx.single_target_shortest_path(graph, start)
    ways = [[start, *back[source]] for source in graph[start] if source in back]
    way = min(ways, key=len, default=[])
    return [(r, graph.edges[r, source]["write"], source) for r, source in itertools.pairwise(way)]


def _site(program: Program, event: Event) -> Site:
    if event.effect is None:
        return Site(-1, "", 0, event.label)
    return site_of(program.threads, event.thread, event.effect.instruction)
