"""Searches: what threads do between two meetings, where it hangs on the order of atomic operations which way they go.

    for (;;) { old = atomicCAS(&keys[s], EMPTY, k); if (old == EMPTY) { vals[s] = v; break; } s = (s + 1) % size; }

A *search* is all that a thread does from such an operation to the next meeting of threads, or its end. All its ways are gone
here, on copies of the thread: wherever it looks at bytes, it may find what they begin with, or any value that any thread may
put there on any of its ways. These sets of values are the least ones that are so; they are found by going on until nothing is
added.

A place on the ways of threads is a `SearchNode`: a block, the live registers, and the cells that the thread has won. Threads
that come to equal nodes go on equally, so they share it, where nothing there asks which thread it is. docs/whole-launches
(Searches) has the argument; `searches.search_ends` says that ways end, `searches.searching` holds what is done on
them against all that others do.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from typing import Any

from axioms.dynamic.code.joins import reachable, special_registers
from axioms.dynamic.code.live import Live
from axioms.dynamic.core.findings import step
from axioms.dynamic.searches.search_blocks import SearchBlock
from axioms.dynamic.searches.search_cells import (
    EVERYBODY,
    CellKey,
    EarlierBytes,
    PastBytes,
    SearchBag,
    SearchedBytes,
    SymbolRange,
)
from axioms.dynamic.searches.search_nodes import OpenSearch, SearchNode, SearchStart, bits
from axioms.dynamic.waits.waiting import plain
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.values.terms import Term, Value, substitute, symbol, symbols_of

#: Nodes of all searches, at most.
_MOST_NODES = 400_000


class Searches:
    """All ways of the searches of a launch, gone when it has ended. `cells`: the bytes that are accessed on them."""

    def __init__(
        self,
        starts: list[SearchStart],
        live: Live,
        past: PastBytes,
        earlier: dict[int, EarlierBytes],
        sums: Container[CellKey] | None = None,
        moved: Container[CellKey] = (),
    ) -> None:
        #: Cells of which it matters which thread has made which moves.
        self.moved = moved
        #: Cells to which compare-and-swaps add numbers, whatever they hold; None: no cell is taken for such a one.
        self.sums = sums
        self.starts, self.live, self.past, self.earlier = starts, live, past, earlier
        self.cells: dict[CellKey, SearchedBytes] = {}
        self.nodes: list[SearchNode] = []
        #: Where each search begins.
        self.begins: list[SearchNode] = []
        #: Whether no search claims more than one cell on any way, as far as is known.
        self.counts = True
        self._known: dict[Hashable, SearchNode] = {}
        self._numbers: dict[SearchNode, int] = {}
        self._waiting: dict[SearchNode, bool] = {}
        self._shared: dict[int, bool] = {}
        #: What is done by the one thread that finds an element of a bag.
        self.roles: dict[tuple[SearchBag, int], SearchedBytes] = {}

    def go(self) -> None:
        """Goes all ways, until no value is added. Raises OpenSearch."""
        for number, start in enumerate(self.starts):
            thread = start.thread
            if thread.frames:
                raise OpenSearch(start.op)
            compiled = thread.launch.compiled
            share = number if self._asks_who(compiled, start.op) else (id(start.known), self._cta(start))
            block = compiled.compiler.again(compiled, start.op)
            none = frozenset[SearchedBytes]()
            first = self.node(SearchNode(start, block, start.registers, thread.carry, {}, none, share, none))
            self.begins.append(first)
            self._come(first, 1 << number)
        while self._waiting:
            node = next(iter(self._waiting))  # who waits long is told of much at once
            again = self._waiting.pop(node)
            step()
            if again or not node.gone:
                self._execute(node)
            for edge in node.edges:
                if edge.to is not None:
                    self._come(edge.to, node.by, edge.passed)
            for cell, value in node.puts:
                self.again(cell.put(value, node.by))

    @staticmethod
    def _cta(start: SearchStart) -> int:
        return id(start.thread.cta.shared) if start.thread.cta.shared.size else 0

    def _asks_who(self, compiled: Any, op: Op) -> bool:
        """Whether something behind an instruction may ask which thread executes it."""
        if id(op) not in self._shared:
            code, place = compiled.compiler.place_of(op)
            behind = [code.ops[number] for number in reachable(code, place)]
            self._shared[id(op)] = any(True for one in behind for _ in special_registers(one.sources))
        return self._shared[id(op)]

    # Nodes.

    def node(self, made: SearchNode) -> SearchNode:
        """A node, or the one that is equal to it."""
        named: list[tuple[Term, Term]] = []
        live = []
        for slot, value in self.live.of(made.block, made.registers):
            live.append((slot, self._named(value, named) if isinstance(value, Term) else value))
        ranges = tuple(self._range(made.ranges.get(one, SymbolRange()), dict(named)) for one, _ in named)
        key = made.share, made.block, tuple(live), plain(made.carry), ranges, made.won, made.handed, made.kept
        found = self._known.get(key)
        if found is None:
            if len(self.nodes) >= _MOST_NODES:
                raise OpenSearch
            made.ranges = {one: made.ranges.get(one, SymbolRange()) for one, _ in named}
            found = self._known[key] = made
            self._numbers[made] = len(self.nodes)
            self.nodes.append(made)
        return found

    @staticmethod
    def _range(of: SymbolRange, named: dict[Term, Term]) -> SymbolRange:
        return of if of.unlike is None else of._replace(unlike=named.get(of.unlike))

    @staticmethod
    def _named(term: Term, named: list[tuple[Term, Term]]) -> Value:
        """A term with the same names for symbols that stand in the same places."""
        known = dict(named)
        for one in sorted(symbols_of(term), key=lambda one: one.serial):
            if one not in known:
                name = symbol(("search", len(named), one.width), one.width)
                assert isinstance(name, Term)
                known[one] = name
                named.append((one, name))
        return substitute(term, known)

    def _come(self, node: SearchNode, by: int, passed: frozenset[SearchedBytes] = frozenset()) -> None:
        """Searches come to a node, having passed some cells."""
        if not node.passed <= passed:
            node.passed &= passed
            self._waiting[node] = True
        if by & ~node.by:
            alone = not node.by & (node.by - 1)
            node.by |= by
            self._waiting[node] = self._waiting.get(node, False) or alone

    def again(self, asking: Iterable[set[int]]) -> None:
        for numbers in asking:
            for number in numbers:
                self._waiting[self.nodes[number]] = True

    def claims_several(self) -> None:
        """Some search may claim several cells: of cells that others have claimed as many as there are of these tell nothing."""
        if self.counts:
            self.counts = False
            self._waiting.update(dict.fromkeys(self.nodes, True))

    def _execute(self, node: SearchNode) -> None:
        """One block, with all that may be found in it."""
        node.gone = True
        going = SearchBlock(self, node, self._numbers[node])
        going.run(node.block, node.registers, node.carry, node.ranges, node.won, node.passed)
        node.edges, node.reaches, node.puts = tuple(going.edges), frozenset(going.reaches), frozenset(going.puts)
        node.stores, node.appends = frozenset(going.stores), frozenset(going.appends)
        node.sums, node.elements = frozenset(going.sums), frozenset(going.elements)

    # Cells.

    def cell(self, start: SearchStart, segment: Segment, first: int, size: int) -> SearchedBytes:
        """The bytes that a search accesses. Raises OpenSearch where nothing is known of what they hold."""
        number = start.at
        epoch, value = self.past.at(segment, first, size, number)
        key = id(segment), first, size, epoch
        found = self.cells.get(key)
        if found is None:
            is_sum = key in (self.sums or ())
            values = frozenset(() if value is None else (value,))
            claimed, top = -1, value is None
            earlier = self._earlier(start, segment, first, size) if not epoch else None
            if earlier is not None:
                values, claimed, top = earlier.values or frozenset(), earlier.claimed, earlier.values is None
            found = self.cells[key] = SearchedBytes(
                segment, first, size, epoch, values, dict.fromkeys(values, EVERYBODY), top or is_sum
            )
            found.claimed, found.carried = claimed, claimed != -1
            found.follows_moves = key in self.moved
            found.once = not found.follows_moves
            found.by = 0 if earlier is None else earlier.by << len(self.starts)
            found.bag = None if earlier is None else earlier.bag
        return found

    def role(self, bag: SearchBag, value: int) -> SearchedBytes:
        """What is done by who finds an element of a bag, as a cell that it wins by that."""
        found = self.roles.get((bag, value))
        if found is None:
            segment = self.starts[0].thread.cta.shared
            found = self.roles[bag, value] = SearchedBytes(segment, -1, 0, 0, frozenset(), is_role=True)
        return found

    def cell_of_places(self, who: int, segment: Segment, first: int, size: int, places: Hashable) -> SearchedBytes:
        """Bytes that some searches, as bits, write at places of their tickets, and nobody else accesses. Raises OpenSearch."""
        starts = [self.starts[number] for number in bits(who)]
        begins, ends = min(starts, key=lambda start: start.at), max(starts, key=lambda start: start.at)
        epoch, _ = self.past.at(segment, first, size, begins.at)
        key = id(segment), first, size, epoch
        found = self.cells.get(key)
        if found is None:
            self._earlier(begins, segment, first, size)
            found = self.cells[key] = SearchedBytes(segment, first, size, epoch, frozenset(), top=True, places=places)
        found.by |= who
        if found.places != places or self.past.at(segment, first, size, ends.at)[0] != epoch:
            raise OpenSearch(begins.op)
        return found

    def holds(self, cell: SearchedBytes, bag: SearchBag) -> None:
        """A place of tickets holds an element of a bag in the end, or what stood there first."""
        epoch, value = self.past.at(cell.segment, cell.first, cell.size, self.starts[0].at)
        fresh = epoch == cell.epoch and self._earlier(self.starts[0], cell.segment, cell.first, cell.size) is None
        if bag.is_full or (fresh and value is not None and value not in bag.elements):
            first = () if bag.is_full else (value,)
            cell.top, cell.bag = False, bag
            cell.values = {one: EVERYBODY for one in (*bag.elements, *first) if one is not None}

    def _earlier(self, start: SearchStart, segment: Segment, first: int, size: int) -> EarlierBytes | None:
        """What an earlier launch may have left in some bytes; None where it left the same. Raises OpenSearch where it left
        other pieces."""
        base = next((number << GLOBAL_BITS for number, of in start.thread.globals.items() if of is segment), None)
        if base is None:
            return None
        for at in range(base + first - 7, base + first + size):
            found = self.earlier.get(at)
            if found is not None and at + found.size > base + first:
                if (at, found.size) != (base + first, size):
                    raise OpenSearch
                return found
        return None


__all__ = ["Searches"]
