"""Moves of cells (`searches.searches`): compare-and-swaps that no two threads have made in one execution.

Where all that is put into a cell is put by operations that find what was there, each of these takes it from one value to
another one. If these moves lead from no value back to it, then an execution comes along some way of them, and leaves each
value once at most. So it has two moves only if one of them leads on to the other. docs/whole-launches/searches.md (Searches
that move cells) has the argument.
"""

from __future__ import annotations

from collections.abc import Iterable

from axioms.dynamic.searches.search_cells import CellKey, SearchedBytes
from axioms.dynamic.searches.search_nodes import CellMove
from ptxcore.parts import strongly_connected


class MovesApart:
    """Which moves exclude each other."""

    def __init__(self) -> None:
        self._after: dict[SearchedBytes, dict[int, frozenset[int]] | None] = {}

    def excluded(self, some: Iterable[CellMove], others: Iterable[CellMove]) -> bool:
        """Whether no execution has moves by two threads, some by one and others by the other one."""
        return any(one.cell is other.cell and self._exclude(one, other) for one in some for other in others)

    def _exclude(self, one: CellMove, other: CellMove) -> bool:
        if one.cell not in self._after:
            self._after[one.cell] = values_after(one.cell)
        after = self._after[one.cell]
        return after is not None and other.found not in after[one.put] and one.found not in after[other.put]


def values_after(cell: SearchedBytes) -> dict[int, frozenset[int]] | None:
    """Of each value of a cell those to which moves lead from it, with itself; None where it is written otherwise, or moves lead
    back."""
    if cell.top or cell.strays:
        return None
    onward: dict[int, set[int]] = {value: set() for value in cell.values}
    for found, put in cell.moves:
        onward[found].add(put)
    after: dict[int, frozenset[int]] = {}
    for part in strongly_connected(onward, onward.__getitem__):  # those behind a value come before it
        if len(part) > 1:
            return None
        (value,) = part
        after[value] = frozenset((value,)).union(*(after[put] for put in onward[value]))
    return after


def moved_cells(cells: Iterable[SearchedBytes]) -> frozenset[CellKey]:
    """The cells of which moves may exclude each other that no claim does."""
    return frozenset(cell.key for cell in cells if not cell.once and values_after(cell) is not None)


__all__ = ["MovesApart", "moved_cells", "values_after"]
