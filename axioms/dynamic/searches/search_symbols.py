"""What the symbols of a search may be (`searches.searches`): what a look at memory found, each with a set of values."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any, Protocol

from axioms.dynamic.code.live import Live
from axioms.dynamic.searches.search_cells import CellKey, SearchBag, SearchedBytes, SymbolRange
from axioms.dynamic.searches.search_nodes import OpenSearch, SearchNode, SearchStart
from axioms.dynamic.tickets.errand_threads import UnknownErrand
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.values.terms import Term, evaluate, mask, symbols_of

#: Values that one symbol is told apart by, at most.
_MOST_EACH = 512


class WaysOfSearches(Protocol):
    """All ways of the searches of a launch. `counts`: no search claims more than one cell on any way, as far as is known;
    `sums`: as of `Searches`."""

    live: Live
    counts: bool
    sums: Container[CellKey] | None

    def node(self, made: SearchNode) -> SearchNode: ...
    def again(self, asking: Iterable[set[int]]) -> None: ...
    def cell(self, start: SearchStart, segment: Segment, first: int, size: int) -> SearchedBytes: ...
    def claims_several(self) -> None: ...
    def role(self, bag: SearchBag, value: int) -> SearchedBytes: ...


class SearchSymbols:
    """Symbols at a node, and what whoever is there may find. `ranges`: what they may be; `won`: the cells that the thread has
    won; `passed`: those that others had claimed."""

    def __init__(self, of: WaysOfSearches, node: SearchNode, number: int) -> None:
        self.of, self.node, self.number = of, node, number
        self.ranges: dict[Term, SymbolRange] = {}
        self.won: frozenset[SearchedBytes] = frozenset()
        self.passed: frozenset[SearchedBytes] = frozenset()

    # What others have claimed.

    def passes(self, finds: Iterable[tuple[SearchedBytes, SymbolRange]]) -> frozenset[SearchedBytes] | None:
        """The cells that others have claimed by now, if some are found so; None where there are more of them than others that
        may claim them, each one."""
        more = {
            cell
            for cell, of in finds
            if cell.counts and cell not in self.won and not of.holds(cell.claimed) and cell not in self.passed
        }
        if not more or not self.of.counts:
            return self.passed
        passed = self.passed | more
        by = 0
        for cell in passed:
            if cell.counts:
                by |= cell.by
        own = self.node.by
        others = by & ~own if not own & (own - 1) else by
        if others.bit_count() >= sum(cell.counts for cell in passed):
            return passed
        for cell in passed:
            cell.counted.add(self.number)
        return None

    # What symbols may be.

    def possible_of(self, cell: SearchedBytes) -> Iterator[int]:
        """What the searches of the node may find in a cell: of one that is claimed none finds what only it has put there, if it
        has not."""
        by = self.node.by
        alone = cell.once and not cell.exchanged and not by & (by - 1) and cell not in self.won
        for value, of in cell.values.items():
            if not alone or of & ~by:
                yield value

    def is_open(self, term: Term) -> bool:
        """Whether a value has a symbol of which nothing is known."""
        cells = (self.ranges.get(one, SymbolRange()) for one in symbols_of(term))
        return any(of.among is None and (of.cell is None or of.cell.top) for of in cells)

    def values_of(self, one: Term) -> set[int]:
        """All that a symbol may be. Raises OpenSearch where there is too much."""
        of = self.ranges.get(one, SymbolRange())
        if of.among is not None:
            return set(of.among)
        cell = of.cell
        if cell is None or cell.top:
            raise OpenSearch
        cell.any.add(self.number)
        found = set(self.possible_of(cell)) - of.without
        if len(found) > _MOST_EACH:
            raise OpenSearch
        return found

    def may_be(self, one: Term, value: int) -> bool:
        of = self.ranges.get(one, SymbolRange())
        if of.among is not None:
            return value in of.among
        cell = of.cell
        if cell is None:
            raise OpenSearch
        if value in of.without:
            return False
        if cell.top:
            return True
        by = self.node.by
        alone = cell.once and not cell.exchanged and not by & (by - 1) and cell not in self.won
        if cell.values.get(value, 0) & (~by if alone else -1):
            return True
        cell.one.setdefault(value, set()).add(self.number)
        return False

    def without(self, one: Term, values: frozenset[int]) -> SymbolRange | None:
        """What a symbol is that is none of some values; None where it is nothing else."""
        of = self.ranges.get(one, SymbolRange())
        if of.among is not None:
            among = of.among - values
            return of._replace(among=among) if among else None
        without = of.without | values
        cell = of.cell
        if cell is None:
            raise OpenSearch
        if not cell.top and all(v in without for v in self.possible_of(cell)):
            cell.other.setdefault(without, set()).add(self.number)
            return None
        return of._replace(without=without)

    def stored(self, value: Any, size: int) -> set[int | None]:
        """What a thread may store; None for anything."""
        if type(value) is int:
            return {value & mask(8 * size)}
        if not isinstance(value, Varying):
            raise UnknownErrand
        symbols = symbols_of(value.term)
        if len(symbols) != 1:
            return {None}
        (one,) = symbols
        try:
            return {evaluate(value.term, {one: v}) & mask(8 * size) for v in self.values_of(one)}
        except OpenSearch:
            return {None}


__all__ = ["SearchSymbols", "WaysOfSearches"]
