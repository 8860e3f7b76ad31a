"""Hand-overs within searches (`searches.searches`): who has claimed a cell prepares something, and tells so in another.

    if (CAS(&keys[s], 0, k) == 0) { vals[s] = v; full[s].store(1, release); }
    else if (keys[s] == k) { while (full[s].load(acquire) == 0); use(vals[s]); }

A cell *tells* of a claimed one where it is written by those alone who have won that, once each, by a strong store that
releases all that they did before. So who finds it written, and acquires that, comes behind the winner, whoever that is, and
whatever order the run has. docs/whole-launches/searches.md (Searches) has the argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from axioms.dynamic.searches.search_cells import SearchedBytes
from axioms.dynamic.searches.search_nodes import ReachedBytes, SearchNode
from ptxcore.parts import strongly_connected

_NONE = frozenset[SearchedBytes]()


def telling(
    nodes: Iterable[SearchNode], cells: Iterable[SearchedBytes]
) -> dict[SearchedBytes, frozenset[SearchedBytes]]:
    """The cells that tell of claimed ones, with these."""
    winners: dict[SearchedBytes, frozenset[SearchedBytes]] = {}
    for node in nodes:
        for put in node.stores:
            before = winners.get(put.cell, put.won)
            winners[put.cell] = before & put.won if put.hands_over else _NONE
    found = {}
    for cell in cells:
        claimed = frozenset(one for one in winners.get(cell, _NONE) if one.once and one.claimed != -1)
        if claimed and not cell.top and len(cell.starts) == 1 and not cell.carried:
            found[cell] = claimed
    return found


def promised(
    nodes: Iterable[SearchNode], told: dict[SearchedBytes, frozenset[SearchedBytes]]
) -> dict[SearchedBytes, frozenset[SearchedBytes]]:
    """The cells of these of which each winner of a claimed one writes them, and waits for nobody before, with the claimed
    ones."""
    by: dict[SearchedBytes, list[SearchNode]] = defaultdict(list)
    for node in nodes:
        for cell in node.won:
            by[cell].append(node)
    found = {}
    for cell, claimed in told.items():
        keeping = frozenset(one for one in claimed if _is_kept(cell, by[one]))
        if keeping:
            found[cell] = keeping
    return found


def _is_kept(cell: SearchedBytes, nodes: Iterable[SearchNode]) -> bool:
    """Whether whoever is at one of these nodes writes a cell, or has."""
    before = {node for node in nodes if cell not in node.handed.put}
    if any(edge.to is None and cell not in edge.put for node in before for edge in node.edges):
        return False
    parts = strongly_connected(before, lambda node: [e.to for e in node.edges if e.to is not None and e.to in before])
    return all(len(part) == 1 and all(edge.to is not part[0] for edge in part[0].edges) for part in parts)


def comes_behind(one: ReachedBytes, other: ReachedBytes, told: dict[SearchedBytes, frozenset[SearchedBytes]]) -> bool:
    """Whether the other access comes behind the one, in each execution that has both."""
    return not one.late and any(
        not one.won.isdisjoint(told.get(cell, _NONE)) and cell not in one.put for cell in other.behind
    )


__all__ = ["comes_behind", "promised", "telling"]
