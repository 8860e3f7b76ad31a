"""Whether searches end (`searches.searches`): whatever threads find, each comes to where its search is over.

Nodes from which a thread may come back to them are a *round*. Where no step of a round writes, all searches together write only
finitely often, so memory stays as it is in the end, and who is scheduled fairly finds it so. A thread that went round without
end would then find in each cell the same value again and again. So it ends where no such values lead round. (Who learns nothing
more of a symbol has nothing in `SearchStep.finds` for it: what does was looked at in this round, or in one of the last.) Nor
does a cell stay as it began that the winner of another one writes for certain, where the thread knows that somebody has won it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from axioms.dynamic.core.findings import step
from axioms.dynamic.searches.search_cells import SearchedBytes, SymbolRange
from axioms.dynamic.searches.search_nodes import OpenSearch, SearchNode, SearchStep
from ptxcore.parts import strongly_connected

#: Cells by whose values a round is divided, at most, one behind the other.
_MOST_CELLS = 12

#: What is so of cells in a round.
_Held = dict[SearchedBytes, SymbolRange]
#: Cells that whoever has won some claimed cell writes for certain, with these.
_Promised = Mapping[SearchedBytes, frozenset[SearchedBytes]]


def check_ends(nodes: Iterable[SearchNode], promised: _Promised) -> None:
    """Raises OpenSearch where some search may go round these nodes without end. `promised`: cells that are written for certain
    where certain ones are claimed."""
    nodes = list(nodes)
    _check_writes(nodes)
    _check(nodes, {}, promised)


def _check_writes(nodes: list[SearchNode]) -> None:
    """Raises OpenSearch where a round writes."""
    for part in strongly_connected(nodes, lambda node: [e.to for e in node.edges if e.to is not None]):
        step()
        within = set(part)
        if any(edge.wrote for node in part for edge in node.edges if edge.to in within):
            raise OpenSearch(part[0].start.op)


def _check(nodes: Iterable[SearchNode], held: _Held, promised: _Promised) -> None:
    """Raises OpenSearch where a thread may go round some of the nodes, by steps that agree with what is held."""
    inside = set(nodes)

    def steps(node: SearchNode) -> list[SearchStep]:
        edges = [e for e in node.edges if e.to is not None and e.to in inside]
        return [e for e in edges if not e.retries and _agrees(e, held)]

    for part in strongly_connected(inside, lambda node: [e.to for e in steps(node) if e.to is not None]):
        step()
        within = set(part)
        rounds = [e for node in part for e in steps(node) if e.to in within]
        if not rounds:
            continue
        _check_round(part, rounds, held, promised)


def _check_round(part: list[SearchNode], edges: list[SearchStep], held: _Held, promised: _Promised) -> None:
    """The same of nodes that lead to each other: memory holds one value in each cell then, or another one."""
    cell = next((cell for edge in edges for cell, _ in edge.finds if cell not in held), None)
    if cell is None or len(held) >= _MOST_CELLS:
        raise OpenSearch(part[0].start.op)
    told = {value for edge in edges for of, range_ in edge.finds if of is cell for value in _named(range_)}
    by = promised.get(cell, frozenset())
    comes = all(not by.isdisjoint(node.passed) for node in part)  # others have claimed it: it does not stay as it began
    for value in told:
        if not (comes and value in cell.starts):
            _check(part, {**held, cell: SymbolRange(cell, among=frozenset((value,)))}, promised)
    _check(part, {**held, cell: SymbolRange(cell, frozenset(told))}, promised)


def _named(range_: SymbolRange) -> frozenset[int]:
    return range_.without if range_.among is None else range_.among


def _agrees(edge: SearchStep, held: _Held) -> bool:
    return not any(cell in held and _apart(range_, held[cell]) for cell, range_ in edge.finds)


def _apart(one: SymbolRange, other: SymbolRange) -> bool:
    """Whether two ranges have no value in common."""
    if one.among is None:
        one, other = other, one
    return one.among is not None and not any(other.holds(value) for value in one.among)


__all__ = ["check_ends"]
