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


class ReachedBytes(NamedTuple):
    """An access on a way: kind and scope as of `core.shadow.Access`, by who has won some cells; by an instruction of
    a number. `behind` and `put`: as of `searches.search_handed.HandedCells`; `late`: it is strong, and comes behind a
    fence that may be all that releases what is told next."""

    kind: str
    strong: str
    cell: SearchedBytes
    won: frozenset[SearchedBytes]
    op: int
    behind: frozenset[SearchedBytes] = frozenset()
    put: frozenset[SearchedBytes] = frozenset()
    late: bool = False


class SearchStore(NamedTuple):
    """A write to a cell by who has won some; `hands_over`: it is the first one, strong, and releases all that came before."""

    cell: SearchedBytes
    won: frozenset[SearchedBytes]
    hands_over: bool


class SearchAppend(NamedTuple):
    """A weak store by a ticket, the result of an addition of `addend` to a cell: at `beyond` an address of which the term
    tells, over the symbol that stands for any such ticket; of `size` bytes, of the `whole` that the instruction
    of a number stores; `base`: where its segment begins."""

    cell: SearchedBytes
    addend: int
    term: Term
    symbol: Term
    beyond: int
    size: int
    whole: int
    base: int
    op: int


class SearchStep(NamedTuple):
    """A step from a node to another one, None where the search ends (`end`: what it goes on with): what is so of some cells
    then, whether the thread has written something, and the cells that it has `passed` by then, on its whole way: others had
    claimed them. `put`: the cells that it has written by then; `added`: what it has added to cells in this step."""

    to: SearchNode | None
    finds: tuple[tuple[SearchedBytes, SymbolRange], ...]
    wrote: bool
    passed: frozenset[SearchedBytes] = frozenset()
    end: Hashable = None
    put: frozenset[SearchedBytes] = frozenset()
    added: tuple[tuple[SearchedBytes, int], ...] = ()


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
    by: int = 0
    gone: bool = False
    edges: tuple[SearchStep, ...] = ()
    reaches: frozenset[ReachedBytes] = frozenset()
    puts: frozenset[tuple[SearchedBytes, int | None]] = frozenset()
    stores: frozenset[SearchStore] = frozenset()
    appends: frozenset[SearchAppend] = frozenset()


__all__ = [
    "OpenSearch",
    "ReachedBytes",
    "SearchAppend",
    "SearchNode",
    "SearchStart",
    "SearchStep",
    "SearchStore",
    "bits",
]
