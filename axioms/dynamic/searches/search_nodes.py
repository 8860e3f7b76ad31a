"""Nodes of searches (`searches.searches`): places on the ways of threads, and the steps between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from axioms.dynamic.core.clocks import Table
from axioms.dynamic.core.findings import Party
from axioms.dynamic.searches.search_cells import SearchedBytes, SymbolRange
from axioms.dynamic.searches.search_handed import NOTHING_HANDED, HandedCells
from ptxcore.machine.lower.ops import Op
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.terms import Term


def bits(mask: int) -> Iterable[int]:
    """The numbers of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class OpenSearch(Exception):
    """Nothing is known of what a thread may do."""

    def __init__(self, op: Op | None = None) -> None:
        super().__init__(op)
        self.op = op


class SwapFound(Exception):
    """A compare-and-swap compares with whatever was found in a cell, and puts a function of that there; `adds`: a number
    more."""

    def __init__(self, cell: SearchedBytes, *, adds: bool) -> None:
        super().__init__(cell)
        self.cell, self.adds = cell, adds


@dataclass(eq=False)
class SearchStart:
    """A thread where a search begins: about to execute `op`. `at`: the number of its first access; `known` and `time`: what was
    ordered before it, and the thread's own time. `ends`: where the run leaves it; `copy`: goes the ways."""

    thread: Any
    registers: list[Any]
    op: Op
    at: int
    known: Table
    time: int
    party: Party
    ends: Hashable = None
    copy: Any = None


class CellMove(NamedTuple):
    """A compare-and-swap that has put something else into a cell than it found there."""

    cell: SearchedBytes
    found: int
    put: int


class ReachedBytes(NamedTuple):
    """An access on a way: kind and scope as of `core.shadow.Access`, by who has won some cells; by an instruction of
    a number. `behind` and `put`: as of `searches.search_handed.HandedCells`; `late`: it is strong, and comes behind a
    fence that may be all that releases what is told next; `moves`: as of `KeptTickets`."""

    kind: str
    strong: str
    cell: SearchedBytes
    won: frozenset[SearchedBytes]
    op: int
    behind: frozenset[SearchedBytes] = frozenset()
    put: frozenset[SearchedBytes] = frozenset()
    late: bool = False
    moves: frozenset[CellMove] = frozenset()


class SearchStore(NamedTuple):
    """A write to a cell by who has won some; `hands_over`: it is the first one, strong, and releases all that came before."""

    cell: SearchedBytes
    won: frozenset[SearchedBytes]
    hands_over: bool


class SearchAppend(NamedTuple):
    """A weak store by a ticket, the result of an addition of `addend` to a cell: at `beyond` an address of which the term
    tells, over the symbol that stands for any such ticket; of `size` bytes, of the `whole` that the instruction
    of a number stores; `base`: where its segment begins; `guards`: what is so of the ticket, as of `SymbolRange`."""

    cell: SearchedBytes
    addend: int
    term: Term
    symbol: Term
    beyond: int
    size: int
    whole: int
    base: int
    op: int
    guards: frozenset[tuple[Term, int]] = frozenset()


class TicketPlace(NamedTuple):
    """The places of the tickets that additions to a cell give, as of `SearchAppend`."""

    cell: SearchedBytes
    addend: int
    term: Term
    beyond: int
    size: int
    base: int


class KeptTickets(NamedTuple):
    """What a thread has done on its way with tickets: for which cells that it has won it has added to others, what it has
    stored at places of its tickets, and at those of its last ticket of a cell (`fresh`). `moves`: of cells of which it may
    matter which thread has made them."""

    used: frozenset[tuple[SearchedBytes, SearchedBytes]] = frozenset()
    stored: frozenset[tuple[TicketPlace, int | None]] = frozenset()
    fresh: frozenset[TicketPlace] = frozenset()
    moves: frozenset[CellMove] = frozenset()

    def adds(self, cell: SearchedBytes, owner: SearchedBytes | None) -> KeptTickets:
        used = self.used if owner is None else self.used | {(cell, owner)}
        return self._replace(used=used, fresh=frozenset(place for place in self.fresh if place.cell is not cell))

    def stores(self, place: TicketPlace, value: int | None) -> KeptTickets:
        return self._replace(stored=self.stored | {(place, value)}, fresh=self.fresh | {place})


#: What a thread has where a search begins.
NOTHING_KEPT = KeptTickets()


class DoneInStep(NamedTuple):
    """What a thread does to a cell: tries to claim it, or reads it, a place of a bag; `stores`: it writes it."""

    cell: SearchedBytes
    stores: bool = False


class OwnedSum(NamedTuple):
    """An addition to a cell by who has won another one, `owner`, and has not added for that before; None where that is
    nobody, or which one is not known. `again`: the thread has added there before, and stored by that ticket at the
    places `before`; `alone`: it has no other ticket of the cell any more."""

    cell: SearchedBytes
    addend: int
    owner: SearchedBytes | None
    again: bool
    before: frozenset[TicketPlace]
    alone: bool


class BagStore(NamedTuple):
    """What is stored at the place of a ticket, None where that is not known, by who has won some cells; `again`: the thread has
    stored that before, or something by this ticket."""

    place: TicketPlace
    value: int | None
    won: frozenset[SearchedBytes]
    again: bool


class SearchStep(NamedTuple):
    """A step from a node to another one, None where the search ends (`end`: what it goes on with): what is so of some cells
    then, whether the thread has written something, and the cells that it has `passed` by then, on its whole way: others had
    claimed them. `put`: the cells that it has written by then; `added`: what it has added to cells in this step; `done`: what
    it does in it; `took`: such a place, and what it has found there. `won` and
    `kept`: what it has where the search ends. `retries`: a compare-and-swap fails in it that would have succeeded, had nobody
    written since the thread looked at its cell before."""

    to: SearchNode | None
    finds: tuple[tuple[SearchedBytes, SymbolRange], ...]
    wrote: bool
    passed: frozenset[SearchedBytes] = frozenset()
    end: Hashable = None
    put: frozenset[SearchedBytes] = frozenset()
    added: tuple[tuple[SearchedBytes, int], ...] = ()
    done: frozenset[DoneInStep] = frozenset()
    took: tuple[SearchedBytes, int] | None = None
    won: frozenset[SearchedBytes] = frozenset()
    kept: KeptTickets = NOTHING_KEPT
    retries: bool = False


@dataclass(eq=False)
class SearchNode:
    """A place where threads may be: `by` says whose searches come there, as bits. `start`: one of these."""

    start: SearchStart
    block: int
    registers: list[Any]
    carry: Any
    ranges: dict[Term, SymbolRange]
    won: frozenset[SearchedBytes]
    share: Hashable
    passed: frozenset[SearchedBytes]
    handed: HandedCells = NOTHING_HANDED
    kept: KeptTickets = NOTHING_KEPT
    by: int = 0
    gone: bool = False
    edges: tuple[SearchStep, ...] = ()
    reaches: frozenset[ReachedBytes] = frozenset()
    puts: frozenset[tuple[SearchedBytes, int | None]] = frozenset()
    stores: frozenset[SearchStore] = frozenset()
    appends: frozenset[SearchAppend] = frozenset()
    sums: frozenset[OwnedSum] = frozenset()
    elements: frozenset[BagStore] = frozenset()


__all__ = [
    "NOTHING_KEPT",
    "BagStore",
    "CellMove",
    "DoneInStep",
    "KeptTickets",
    "OpenSearch",
    "OwnedSum",
    "ReachedBytes",
    "SearchAppend",
    "SearchNode",
    "SearchStart",
    "SearchStep",
    "SearchStore",
    "SwapFound",
    "TicketPlace",
    "bits",
]
