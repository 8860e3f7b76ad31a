"""Names of tests: the classic name of the shape, what stands between the accesses of each thread, and where the threads are."""

from __future__ import annotations

from collections.abc import Sequence

from litmus.cycles.annotations import COPIES, PLAIN
from litmus.cycles.edges import SYNCHRONISATION, Edge, shown
from litmus.cycles.normal import family


def name(edges: Sequence[Edge]) -> str:
    """The name of a cycle in normal form: `MP+fence.sc.gpu+acq.gpu`. Without what is said of events it is diy's."""
    parts, last = [], []
    inner: list[str] = []
    for i, edge in enumerate(edges):
        before = edges[i - 1]
        if not edge.external:
            inner.append(_between(edge, edge.said(*shown(edges, i))))
            continue
        if inner:
            parts.append("-".join(inner))
            inner = []
        if edge.kind in SYNCHRONISATION:
            parts.append(edge.kind.lower() + ("" if edge.same else "d"))
        if before.external and edge.begin != PLAIN:
            last.append(str(edge.begin))
    alone = [i for i, edge in enumerate(edges) if edge.external and edges[i - 1].external]
    if last and len(last) < len(alone):
        last = [str(edges[i].begin) for i in alone]
    return "+".join((family(edges), *_folded(parts), *(["-".join(last)] if last else [])))


def _between(edge: Edge, said: str) -> str:
    if edge.kind == "Po" and not edge.same and said and edge.first.operation not in COPIES:
        return said[1:]
    if edge.kind == "Dp":
        base = edge.detail.lower()
    elif edge.communicates:
        base = edge.bare.lower()
    else:
        base = edge.kind.lower() + (f".{edge.detail}" if edge.detail else "")
    same = "s" if edge.same and not edge.communicates and edge.kind != "Rmw" else ""
    return base + same + said


def _folded(parts: list[str]) -> list[str]:
    """What all threads have in common is said once: not at all for program order, else with an s."""
    if not parts or any(part != parts[0] for part in parts):
        return parts
    if parts[0] == "po" or parts == ["pos"]:
        return []
    return parts if len(parts) == 1 else [parts[0] + "s"]
