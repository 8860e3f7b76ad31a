"""Which edges a reader should see: relations thinned out, mutual pairs joined, parallel edges bundled."""

from __future__ import annotations

from axioms.witness.execution import Execution
from ptxcore.records import dataclass

from .style import style_of

#: Relations that hold between everything and so would only hide the rest; a picture leaves them out.
UNDRAWN = frozenset({"id", "loc", "vloc", "int", "ext", "sr", "scta", "po-loc", "rmw", "alias"})
#: Transitive relations that take in program order: only what neither it nor their own other pairs imply is drawn.
CAUSES = frozenset({"cause", "causality"})
#: Relations that make causes; what follows from one of these and program order needs no line of its own.
_MAKERS = ("sync", "sc", "syncbar", "sync_barrier", "barrier")


@dataclass(slots=True)
class Bundle:
    """One line of the picture: from an event to another, with the relations that it stands for (best known first).

    `mutual` relations hold both ways (barriers): one line with two heads.
    """

    source: int
    target: int
    relations: tuple[str, ...]
    mutual: bool = False


def bundles(execution: Execution) -> list[Bundle]:
    """The lines to draw, in a fixed order: program order first."""
    known = {event.index for event in execution.events}
    thread = {event.index: event.thread for event in execution.events}
    halves = set(execution.relations.get("rmw", ()))
    lines: dict[tuple[int, int, bool], set[str]] = {}
    wanted = execution.judged.model.shown if execution.judged else ()
    for name, raw in execution.relations.items():
        if name in UNDRAWN and name not in wanted:
            continue
        pairs = {(a, b) for a, b in raw if a != b and a in known and b in known and (a, b) not in halves}
        if name in CAUSES:
            pairs = {(a, b) for a, b in pairs if thread[a] != thread[b] and thread[a] >= 0 and thread[b] >= 0}
            pairs = _immediate(execution, _tightest(execution, pairs))
        for a, b in pairs:
            if (b, a) not in pairs:
                lines.setdefault((a, b, False), set()).add(name)
            elif a < b:
                lines.setdefault((a, b, True), set()).add(name)
    found = [
        Bundle(a, b, tuple(sorted(names, key=lambda n: (style_of(n).rank, n))), mutual)
        for (a, b, mutual), names in lines.items()
    ]
    return sorted(found, key=lambda e: (style_of(e.relations[0]).rank, e.relations, e.source, e.target))


def _tightest(execution: Execution, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The pairs that no other pair, led up to and followed by program order, implies."""
    import networkx  # late: it takes longer to import than a small test to decide

    order = networkx.DiGraph(execution.relations.get("po", ()))
    after = {event: networkx.descendants(order, event) for event in order}
    strong = pairs.union(*(execution.relations.get(name, ()) for name in _MAKERS))
    by_source: dict[int, set[int]] = {}
    for a, b in strong:
        by_source.setdefault(a, set()).add(b)
    kept = set()
    for a, b in pairs:
        for c in (a, *after.get(a, ())):
            if any((c, d) != (a, b) and (d == b or b in after.get(d, ())) for d in by_source.get(c, ())):
                break
        else:
            kept.add((a, b))
    return kept


def _immediate(execution: Execution, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The pairs that no path over other pairs and program order gives; all of them where those have a cycle."""
    if len(pairs) < 3:
        return pairs
    import networkx

    graph = networkx.DiGraph(sorted(pairs.union(execution.relations.get("po", ()))))
    if not networkx.is_directed_acyclic_graph(graph):
        return pairs
    return pairs.intersection(networkx.transitive_reduction(graph).edges())
