"""Launches with searches (`searches.searches`): one run, in which some operations may find one thing or another.

In the run, a thread searches from one of the instructions `searched` to where it meets others, or ends. What it does there is
not held against anything until the launch has ended: then all ways of all searches are gone, and what may be done on any of
them is held against each other and against the rest of the run (docs/whole-launches/searches.md, Searches).
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from axioms.dynamic.core.clocks import Table
from axioms.dynamic.core.findings import Open, Party, Stopped, step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.searches.search_appends import places_of_tickets, settle_counters
from axioms.dynamic.searches.search_cells import CellKey, EarlierBytes, PastBytes, SearchedBytes
from axioms.dynamic.searches.search_claims import CertainClaims
from axioms.dynamic.searches.search_ends import check_ends
from axioms.dynamic.searches.search_handovers import comes_behind, promised, telling
from axioms.dynamic.searches.search_moves import MovesApart, moved_cells
from axioms.dynamic.searches.search_nodes import OpenSearch, ReachedBytes, SearchStart, SwapFound, bits
from axioms.dynamic.searches.searches import Searches
from axioms.dynamic.waits.waiting import plain
from ptxcore.clock import OutOfTime
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, GLOBAL_BITS, SHARED, WINDOW_BITS
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.places import WIDE
from ptxcore.records import NamedTuple, dataclass

_OFFSET = (1 << WINDOW_BITS) - 1
_NOBODY = frozenset[int]()
#: Bytes that are looked after together, in bits.
_GRAIN = 3


class _Outside(NamedTuple):
    """An access of the run outside of searches."""

    kind: str
    segment: Segment
    first: int
    size: int
    thread: int
    time: int
    known: Table
    number: int
    party: Party
    is_constant: bool


@dataclass
class LeftByLaunches:
    """What launches leave that are over: bytes that may be others, by their addresses."""

    places: dict[int, EarlierBytes]


class Searching(Determinate):
    """Watches one launch. `searched`: the instructions at which searches begin, by their identity; `left`: what the launches
    before it leave."""

    alone = False

    def __init__(self, size: int, searched: frozenset[int], left: LeftByLaunches) -> None:
        super().__init__(size)
        self.searched, self.left = searched, left
        self.starts: list[SearchStart] = []
        #: What may be another value in the end.
        self.spread: list[tuple[Segment, int, int]] = []
        self.nodes = 0
        #: How many accesses by tickets there may be in searches.
        self.appended = 0
        self._active: dict[int, SearchStart] = {}
        self._past = PastBytes()
        #: Bytes that searches have put something into since others have, by segment; those that are open from launches before.
        self._put: dict[int, set[int]] = {}
        self._left_bytes = {byte for at, place in left.places.items() for byte in range(at, at + place.size)}
        self._outside: list[_Outside] = []
        self._number = 1
        self._cells: list[SearchedBytes] = []
        self._memory: dict[int, Segment] = {}
        self._bases: dict[int, int] = {}

    @property
    def searches(self) -> int:
        """How many there were."""
        return len(self.starts)

    # The run.

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        if self._is_seen(address) and not self._searches(thread):
            self._notes(thread, "R", address, size)
            self._finds_what_is_open(thread, address, size)
            super().reads(thread, address, size)
        return None

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        if self._is_seen(address):
            searching = self._searches(thread)
            self._puts(thread, address, size, searching=searching)
            self._writes(thread, address, size, searching=searching)
            if not searching:
                super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        if not self._is_seen(address):
            raise self.leaves(thread, "order")
        searching = self._searches(thread)
        if not searching or how.op != "add":  # a sum may be settled
            self._updates(thread, address, size, write, searching=searching)
        self._writes(thread, address, size, searching=searching, kind="A")
        return None if searching else super().updates(thread, how, address, size, write)

    def _updates(self, thread: WatchedThread, address: int, size: int, write: Write, *, searching: bool) -> None:
        segment, first = thread.segment(address)
        old = segment.read(first, size)
        if not searching or (type(old) is int and write(old)[1]):
            self._puts(thread, address, size, searching=searching)

    def _puts(self, thread: WatchedThread, address: int, size: int, *, searching: bool) -> None:
        """Bytes are written, in a search or outside of them."""
        segment, first = thread.segment(address)
        of = self._put.setdefault(id(segment), set())
        (of.update if searching else of.difference_update)(range(first, first + size))
        if not searching:
            self._left_bytes.difference_update(range(address, address + size))

    def _finds_what_is_open(self, thread: WatchedThread, address: int, size: int) -> None:
        """Who reads what a search has put there, or an earlier launch has left open, leaves the launch open, or searches
        itself: the ways of searches need not be gone to know that."""
        segment, first = thread.segment(address)
        put = not self._put.get(id(segment), _NOBODY).isdisjoint(range(first, first + size))
        if put or not self._left_bytes.isdisjoint(range(address, address + size)):
            raise self.leaves(thread, "order")

    @staticmethod
    def _is_seen(address: int) -> bool:
        return address >= FIRST_GLOBAL or address & ~_OFFSET == SHARED

    def _remember(self, thread: WatchedThread) -> None:
        """Where memory is, which is gone after the run."""
        if len(self._memory) != len(thread.globals):
            self._memory = dict(thread.globals)
            self._bases = {id(segment): number << GLOBAL_BITS for number, segment in self._memory.items()}

    def _searches(self, thread: WatchedThread) -> bool:
        """Whether a thread searches, or begins to."""
        if thread.number in self._active:
            self.ticks()
            return True
        if id(thread.instruction.instruction) not in self.searched:
            return False
        self._remember(thread)
        kept: Any = copy.copy(thread)
        kept.globals = self._memory
        number, clocks = thread.number, self.clocks
        at, op = self._number + 1, thread.instruction
        start = SearchStart(kept, list(thread.R), op, at, clocks.known[number], clocks.own[number], self._party(thread))
        self.starts.append(start)
        self._active[number] = start
        return True

    def _notes(self, thread: WatchedThread, kind: str, address: int, size: int) -> None:
        self._remember(thread)
        segment, first = thread.segment(address)
        number, clocks = thread.number, self.clocks
        known, time = clocks.known[number], clocks.own[number]
        self._number += 1
        party, constant = self._party(thread), self._scope_of(thread) == CONSTANT
        self._outside.append(_Outside(kind, segment, first, size, number, time, known, self._number, party, constant))

    def _writes(self, thread: WatchedThread, address: int, size: int, *, searching: bool, kind: str = "W") -> None:
        segment, first = thread.segment(address)
        if searching:
            self._number += 1
        else:
            self._notes(thread, kind, address, size)
        self._past.write(segment, first, size, self._number, searching=searching)

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        if thread.watcher is not self:
            thread.watcher.other(thread, what, how, address)
            return
        super().other(thread, what, how, address)

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        """A fence in a search orders nothing here: executions may have another one there, or none."""
        if thread.number not in self._active:
            super()._fence(thread, how)

    # Where searches end.

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        self._ends(thread)
        super().arrives(thread, level, identity, waits, count)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        for thread in threads:
            self._ends(thread)
        super().met(how, threads, masked)

    def _ends(self, thread: WatchedThread) -> None:
        start = self._active.pop(thread.number, None)
        if start is not None:
            op = thread.launch.running() or thread.instruction
            start.ends = self.live_of(thread).before(op, thread.R), plain(thread.carry)

    # At the end.

    def settle(self) -> LeftByLaunches:
        """The launch has ended: what it leaves. Raises Stopped where something is open."""
        if self.unknown is not None:
            raise Stopped(self.unknown)
        for start in self._active.values():
            start.ends = "ends"
        try:
            return self._settle_in_some_way()
        except OpenSearch as found:
            party = None if found.op is None else Party(0, found.op)
            raise Stopped(Open("order", party)) from None
        except OutOfTime:
            raise Stopped(Open("time")) from None

    def _settle_in_some_way(self) -> LeftByLaunches:
        """With cells to which compare-and-swaps add numbers as sums; where that leaves something open, with all that they may
        hold, and then by who has made which moves."""
        sums: frozenset[CellKey] | None = frozenset()
        moved: frozenset[CellKey] = frozenset()
        while True:
            try:
                return self._settle(sums, moved)
            except SwapFound as found:
                key = {found.cell.key}
                sums, moved = ((sums or frozenset()) | key, moved) if found.adds else (sums, moved | key)
            except OpenSearch:
                if sums or (sums is not None and moved):
                    sums, moved = None, frozenset()
                elif moved or not (moved := moved_cells(self._cells)):
                    raise

    def _settle(self, sums: frozenset[CellKey] | None, moved: frozenset[CellKey]) -> LeftByLaunches:
        self._cells = []
        live = self.live_of(self.starts[0].thread) if self.starts else None
        cells: list[SearchedBytes] = []
        if live is not None:
            searches = Searches(self.starts, live, self._past, self.left.places, sums, moved)
            searches.go()
            self._cells = list(searches.cells.values())
            self.nodes = len(searches.nodes)
            _check_where_they_end(searches)
            told = telling(searches.nodes, searches.cells.values())
            check_ends(searches.nodes, promised(searches.nodes, told))
            claims = CertainClaims(searches)
            appended = dict(places_of_tickets(searches, settle_counters(searches, claims), claims.bags()))
            self.appended = len(appended)
            cells = list(searches.cells.values())
            _HeldAgainst(self, searches, told, appended).check(self._outside)
        self._check_earlier(cells)
        return LeftByLaunches(self._leaves(cells, counts=live is None or searches.counts))

    def _check_earlier(self, cells: list[SearchedBytes]) -> None:
        """Nobody reads outside of searches what earlier launches may have left otherwise. Raises OpenSearch."""
        if not self.left.places:
            return
        if not self._memory:
            raise OpenSearch  # nobody has touched memory: where is it?
        for noted in self._outside:
            base = self._base(noted.segment)
            if base is None or noted.kind == "W":
                continue
            for at in range(base + noted.first - 7, base + noted.first + noted.size):
                found = self.left.places.get(at)
                if found is not None and at + found.size > base + noted.first:
                    epoch, _ = self._past.at(noted.segment, noted.first, noted.size, noted.number)
                    if not epoch:
                        raise OpenSearch(noted.party.op)

    def _base(self, segment: Segment) -> int | None:
        return self._bases.get(id(segment))

    def _leaves(self, cells: Iterable[SearchedBytes], *, counts: bool) -> dict[int, EarlierBytes]:
        """What is left of this launch, and of those before it."""
        found: dict[int, EarlierBytes] = {}
        for at, place in self.left.places.items():
            segment, first = self._memory.get(at >> GLOBAL_BITS), at & (FIRST_GLOBAL - 1)
            whole, any_ = (False, False) if segment is None else self._past.is_written(segment, first, place.size)
            if any_ and not whole:
                raise OpenSearch
            if not any_:
                found[at] = place._replace(by=place.by << len(self.starts))
        for cell in cells:
            base = self._base(cell.segment)
            last, _ = self._past.at(cell.segment, cell.first, cell.size, self._number + 1)
            if base is None:
                continue
            if cell.epoch != last:
                again = [self._past.at(cell.segment, cell.first + i, 1, self._number + 1)[0] for i in range(cell.size)]
                if cell.differs and min(again) <= cell.epoch:
                    raise OpenSearch  # written anew in part
                continue
            if cell.differs:
                claimed = cell.claimed if cell.counts and counts and cell.ends is None else -1
                bag = cell.bag if cell.summed and not cell.top else None  # nobody has written it since
                found[base + cell.first] = EarlierBytes(cell.size, cell.left, claimed, cell.by, bag)
            else:
                found.pop(base + cell.first, None)
        for at, place in found.items():
            segment = self._memory.get(at >> GLOBAL_BITS)
            if segment is not None:
                first = at & (FIRST_GLOBAL - 1)
                self.spread.append((segment, first, first + place.size))
        return found


def _check_where_they_end(searches: Searches) -> None:
    """All ways of a search come to the same, and so does the run. Raises OpenSearch."""
    ends: dict[int, set[object]] = defaultdict(set)
    for node in searches.nodes:
        for edge in node.edges:
            if edge.to is None:
                for number in bits(node.by):
                    ends[number].add(edge.end)
    for number, start in enumerate(searches.starts):
        if ends[number] != {start.ends}:
            raise OpenSearch(start.op)


class _HeldAgainst:
    """What may be done in searches, held against each other and against the rest of a run."""

    def __init__(
        self,
        watcher: Searching,
        searches: Searches,
        told: dict[SearchedBytes, frozenset[SearchedBytes]],
        appended: dict[ReachedBytes, int],
    ) -> None:
        self.told = told
        self._moves = MovesApart()
        self.clocks, self.starts = watcher.clocks, searches.starts
        self.by: dict[ReachedBytes, int] = defaultdict(int)
        for node in searches.nodes:
            for reach in node.reaches:
                self.by[reach] |= node.by
        self.by.update(appended)
        self._past = watcher._past
        self._before: dict[int, int] = {}
        self._by_table: dict[int, int] = defaultdict(int)
        self._tables: dict[int, Table] = {}
        for number, start in enumerate(self.starts):
            self._by_table[id(start.known)] |= 1 << number
            self._tables[id(start.known)] = start.known
        self._of_thread: dict[int, int] = defaultdict(int)
        for number, start in enumerate(self.starts):
            self._of_thread[start.party.thread] |= 1 << number

    def check(self, outside: list[_Outside]) -> None:
        """Raises OpenSearch where something races, or finds what it must not."""
        by_grain: dict[tuple[int, int], list[ReachedBytes]] = defaultdict(list)
        for reach in self.by:
            for grain in _grains(reach.cell.segment, reach.cell.first, reach.cell.size):
                by_grain[grain].append(reach)
        for reaches in by_grain.values():
            for i, one in enumerate(reaches):
                for other in reaches[: i + 1]:
                    step()
                    self._pair(one, other)
        for noted in outside:
            for reach in {
                reach for grain in _grains(noted.segment, noted.first, noted.size) for reach in by_grain.get(grain, ())
            }:
                cell = reach.cell
                if cell.first < noted.first + noted.size and noted.first < cell.first + cell.size:
                    step()
                    self._beside(noted, reach)

    def _open(self, reach: ReachedBytes) -> OpenSearch:
        return OpenSearch(self.starts[0].thread.launch.compiled.ops[reach.op])

    # Two searches.

    def _pair(self, one: ReachedBytes, other: ReachedBytes) -> None:
        a, b = one.cell, other.cell
        if one.kind == other.kind == "R" or not (a.first < b.first + b.size and b.first < a.first + a.size):
            return
        if a is b and a.places is not None:
            return  # whoever is there is alone
        if (a.first, a.size) != (b.first, b.size):
            raise self._open(one)
        if CONSTANT in (one.strong, other.strong):
            raise self._open(one)
        if one.strong in WIDE and other.strong in WIDE:
            return
        if any(cell.once and cell in other.won for cell in one.won):
            return  # one execution has at most one of them
        if not a.follows_moves and self._moves.excluded(one.moves, other.moves):
            return  # of what moves a cell all is looked at: the argument rests on that
        if comes_behind(one, other, self.told) or comes_behind(other, one, self.told):
            return
        mine, others = self.by[one], self.by[other]
        for number, rest in self._unordered(mine, others):
            first = self.starts[number].party.thread
            for third in bits(rest):
                second = self.starts[third].party.thread
                within = self.clocks.within
                strong = one.strong and other.strong
                if not (strong and within(one.strong, first, second) and within(other.strong, first, second)):
                    raise self._open(one)

    def _unordered(self, mine: int, others: int) -> Iterator[tuple[int, int]]:
        """Of some searches each with those of others that nothing orders with it, of other threads."""
        for table, members in self._by_table.items():
            group = mine & members
            rest = others & ~self._ordered_before(table) if group else 0
            if not rest:
                continue
            for number in bits(group):
                left = rest & ~self._of_thread[self.starts[number].party.thread]
                for other_table, of in self._by_table.items():
                    if left & of and self._ordered_before(other_table) >> number & 1:
                        left &= ~of
                if left:
                    yield number, left

    def _ordered_before(self, table: int) -> int:
        """The searches that are ordered before what a table is known to, as bits."""
        found = self._before.get(table)
        if found is None:
            known, found = self._tables[table], 0
            for number, start in enumerate(self.starts):
                if self._knows(known, start.party.thread, start.time):
                    found |= 1 << number
            self._before[table] = found
        return found

    def _knows(self, known: Table, thread: int, time: int) -> bool:
        cta, place = divmod(thread, self.clocks.size)
        times = known.get(cta)
        return times is not None and times[place] >= time

    # A search and the rest.

    def _beside(self, noted: _Outside, reach: ReachedBytes) -> None:
        """An access outside of searches is ordered with those within; it finds nothing that they may put there. Raises
        OpenSearch, with the instruction where it finds that."""
        cell, by = reach.cell, self.by[reach]
        if noted.kind == reach.kind == "R":
            return
        if noted.is_constant or reach.strong == CONSTANT:
            raise self._open(reach)  # no order of threads makes up for that
        table = id(noted.known)
        if table not in self._tables:
            self._tables[table] = noted.known
        rest = by & ~self._ordered_before(table)
        for number in bits(rest):
            start = self.starts[number]
            if start.party.thread == noted.thread or self._knows(start.known, noted.thread, noted.time):
                continue
            raise OpenSearch(noted.party.op)
        if noted.kind == "R" or noted.kind == "A":
            epoch, _ = self._past.at(noted.segment, noted.first, noted.size, noted.number)
            before = all(self._precedes(noted, self.starts[number]) for number in bits(by))
            settled = cell.settled and all(self._follows(noted, self.starts[number]) for number in bits(by))
            if epoch <= cell.epoch and not (before or settled) and not self._written_between(noted, cell):
                raise OpenSearch(noted.party.op)

    def _precedes(self, noted: _Outside, start: SearchStart) -> bool:
        if noted.thread == start.party.thread:
            return noted.number < start.at
        return self._knows(start.known, noted.thread, noted.time)

    def _follows(self, noted: _Outside, start: SearchStart) -> bool:
        if noted.thread == start.party.thread:
            return noted.number > start.at
        return self._knows(noted.known, start.party.thread, start.time)

    def _written_between(self, noted: _Outside, cell: SearchedBytes) -> bool:
        """Whether all that an access finds was written anew since a cell was."""
        return all(
            self._past.at(noted.segment, at, 1, noted.number)[0] > cell.epoch
            for at in range(max(noted.first, cell.first), min(noted.first + noted.size, cell.first + cell.size))
        )


def _grains(segment: Segment, first: int, size: int) -> Iterator[tuple[int, int]]:
    for grain in range(first >> _GRAIN, (first + size - 1 >> _GRAIN) + 1):
        yield id(segment), grain


__all__ = ["LeftByLaunches", "Searching"]
