"""What a search does with tickets (`searches.searches`): additions by winners, and stores at the places of tickets."""

from __future__ import annotations

from typing import Any

from axioms.dynamic.code.linear import congruent
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.searches.search_cells import SearchedBytes, SymbolRange, any_ticket
from axioms.dynamic.searches.search_nodes import (
    BagStore,
    OwnedSum,
    SearchAppend,
    SearchNode,
    SearchStore,
    SwapFound,
    TicketPlace,
)
from axioms.dynamic.searches.search_symbols import SearchSymbols, WaysOfSearches
from axioms.dynamic.searches.search_threads import FoundThere
from axioms.dynamic.tickets.errand_threads import UnknownErrand, is_in
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.uninitialised import VARIES, Varying
from ptxcore.values.terms import Term, evaluate, mask, substitute, symbols_of


class SearchTickets(SearchSymbols):
    """What one block of a search does with tickets."""

    def __init__(self, of: WaysOfSearches, node: SearchNode, number: int) -> None:
        super().__init__(of, node, number)
        self.appends: set[SearchAppend] = set()
        self.sums: set[OwnedSum] = set()
        self.elements: set[BagStore] = set()
        self.puts: set[tuple[SearchedBytes, int | None]] = set()
        self.stores: set[SearchStore] = set()
        self.handed, self.kept = node.handed, node.kept
        self._wrote = False
        #: The address of the instruction that a thread executes, where it hangs on a ticket.
        self._at: Varying | None = None

    def _adds(self, cell: SearchedBytes, addend: int) -> None:
        """A number is added to a cell by who has won others."""
        used = {owner for of, owner in self.kept.used if of is cell}
        owners = self.won - used
        owners = frozenset(one for one in owners if not one.is_role) or owners
        owner = next(iter(owners)) if len(owners) == 1 else None
        before = frozenset(place for place in self.kept.fresh if place.cell is cell)
        alone = not any(of.cell is cell and of.ticket for of in self.ranges.values())
        self.sums.add(OwnedSum(cell, addend, owner, bool(used), before, alone))
        self.kept = self.kept.adds(cell, owner)

    # Additions by compare-and-swap.

    def _added_by_swap(self, cell: SearchedBytes, compared: Any, put: Any) -> list[FoundThere]:
        """The ways of a compare-and-swap that compares with what was found in the cell, and puts a number more there: it adds
        the number, or finds something else; none where it is no such one. Raises SwapFound where that is news."""
        if self.of.sums is None or not isinstance(compared, Varying) or not isinstance(put, Varying):
            return []
        one, width = compared.term, 8 * cell.size
        of = self.ranges.get(one)
        if of is None or of.cell is not cell or one.width != width or put.term.width != width:
            return []
        form = congruent(put.term, lambda of: (0, mask(width)) if of is one else None)
        adds = form is not None and form.factors == {one: 1} and 0 < form.start & mask(width) < 1 << (width - 1)
        if not cell.top and (adds or (symbols_of(put.term) == {one} and not cell.follows_moves)):
            raise SwapFound(cell, adds=adds)
        if form is None or not adds:
            return []
        if of.among is not None:
            return []
        addend = form.start & mask(width)
        self._puts_anything(cell, adds=True)
        found = Varying.fresh(width, 0, self)
        others = {**self._looked_at(cell), found.term: SymbolRange(cell, latest=True, unlike=one)}
        took = {**self.ranges, one: SymbolRange(cell, ticket=addend, guards=of.guards)}
        return [
            FoundThere(compared, took, self.won, (), True, self.passed, adds=addend),
            FoundThere(found, others, self.won, (), False, self.passed, retries=of.latest),
        ]

    def _looked_at(self, cell: SearchedBytes) -> dict[Term, SymbolRange]:
        """What symbols are when a thread looks at a cell once more."""
        return {
            one: of._replace(latest=False) if of.cell is cell and of.latest else of for one, of in self.ranges.items()
        }

    def _puts_anything(self, cell: SearchedBytes, *, adds: bool) -> None:
        """An atomic operation puts something there of which nothing is known; `adds`: by adding a number."""
        self.stores.add(SearchStore(cell, frozenset(), hands_over=False))
        cell.strays = True
        self.of.again(cell.is_claimed(None, None, adds=adds))
        self.puts.add((cell, None))

    def _appends(self, thread: Any, op: Op) -> bool:
        """Whether an instruction is a weak store at an address that hangs on one ticket."""
        value = thread.R[op.sources[0].value] if op.use.form.mnemonic == "st" and op.sources[0] is not None else None
        if not isinstance(value, Varying) or scope_of(op.use) != "":
            return False
        ranges = [self.ranges.get(one, SymbolRange()) for one in symbols_of(value.term)]
        return (
            len(ranges) == 1
            and bool(ranges[0].ticket)
            and ranges[0].cell is not None
            and len(ranges[0].cell.starts) == 1
        )

    def _append(self, thread: Any, address: int, size: int, value: Any) -> None:
        assert self._at is not None
        if not is_in("" if address >= FIRST_GLOBAL else "shared", thread, address):
            raise UnknownErrand
        (one,) = symbols_of(self._at.term)
        of, use = self.ranges[one], thread.instruction.use
        segment, first = thread.segment(address)
        if of.cell is None or address < FIRST_GLOBAL or not segment.writable:
            raise UnknownErrand
        name = any_ticket(one.width)
        term = substitute(self._at.term, {one: name})
        if not isinstance(term, Term):
            raise UnknownErrand
        whole = use.width // 8 * int((use.words["vec"] or "v1")[1:])
        beyond = address - self._at.number
        self.handed, self._wrote = self.handed.accesses(), True
        base = address - first
        self.appends.add(SearchAppend(of.cell, of.ticket, term, name, beyond, size, whole, base, thread.op, of.guards))
        if any(cell is of.cell for cell, _ in self.kept.used):
            place = TicketPlace(of.cell, of.ticket, term, beyond, size, base)
            stored = value & mask(8 * size) if type(value) is int else None
            again = place in self.kept.fresh or (place, stored) in self.kept.stored
            self.elements.add(BagStore(place, stored, self.won, again))
            self.kept = self.kept.stores(place, stored)

    def locates(self, thread: Any, value: Varying) -> int:
        """An address by a ticket: that of the first one. The ticket may be of a node before, whose block `self` is."""
        here: SearchTickets = thread.watcher
        (one,) = symbols_of(value.term)
        start = here.ranges[one].cell
        assert start is not None
        number = evaluate(value.term, {one: min(start.starts)})
        here._at = Varying(value.term, VARIES, 1, number, here)
        return number

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        raise UnknownErrand


__all__ = ["SearchTickets"]
