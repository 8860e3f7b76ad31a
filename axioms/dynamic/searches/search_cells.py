"""Cells of searches (`searches.searches`): bytes that threads look at when others may be writing there, and all values
that these may hold.

A cell is some bytes between two writes outside of searches. Its values are those that it begins with, and what any thread may
put there on any of its ways; each has a bit for each search that may put it. They only grow, and whoever has asked is told.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator
from dataclasses import field

from ptxcore.machine.run.memory import WRITTEN, Segment
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.terms import Term, substitute, symbol

#: Of a value that a cell begins with: it is nobody's.
EVERYBODY = -1
#: Values that are told apart at one place; with more, it may hold anything.
_MOST_VALUES = 2048
#: What is kept of what was asked of a symbol, at most: whoever knows less goes more ways.
_MOST_GUARDS = 4


def any_ticket(width: int) -> Term:
    """The symbol that stands for any ticket of so many bits."""
    name = symbol(("ticket", width), width)
    assert isinstance(name, Term)
    return name


#: Of a cell the segment, by its identity, the first byte and how many they are, and the write outside of searches before it.
CellKey = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class SearchBag:
    """What an earlier launch has left in some places: different `elements`, each at one of them; in each place, if it
    `is_full`."""

    elements: frozenset[int]
    places: int
    is_full: bool


@dataclass(eq=False)
class SearchedBytes:
    """Bytes of a segment from `epoch` writes on, and what they may hold: `values` with who may put them there; `top`: anything
    else, too. `claimed`: all that is put there is put by comparing with this value, which is another one, so that of all
    operations one succeeds; -1 as long as nothing is put. `once`: that is so. `starts`: with which values it begins;
    `carried`: an earlier launch has claimed it so."""

    segment: Segment
    first: int
    size: int
    epoch: int
    starts: frozenset[int]
    values: dict[int, int] = field(default_factory=dict)
    top: bool = False
    once: bool = True
    #: Whether a strong store may write it: who finds something else than stood there first then learns of that.
    tells: bool = False
    #: Whether nothing is done to it but that numbers are added; and whether all ways together add one sum.
    summed: bool = True
    settled: bool = False
    #: Of places of tickets: each is one thread's, in each execution.
    places: Hashable = None
    claimed: int = -1
    carried: bool = False
    #: Whether who has not won it puts something there, too, by an exchange; what it holds in the end, where that is known of
    #: each execution; the bag of which it is a place; and whether it is no memory, but what is done by the one thread that
    #: finds an element of a bag.
    exchanged: bool = False
    ends: frozenset[int] | None = None
    bag: SearchBag | None = None
    is_role: bool = False
    #: By which operations it comes from a value to another one; whether it is written by others, too; and whether it matters
    #: which thread has made which of them.
    moves: set[tuple[int, int]] = field(default_factory=set)
    strays: bool = False
    follows_moves: bool = False
    #: The searches that may write, as bits; and whoever asked who they are, for any value, for one, for one beside some.
    by: int = 0
    counted: set[int] = field(default_factory=set)
    any: set[int] = field(default_factory=set)
    one: dict[int, set[int]] = field(default_factory=dict)
    other: dict[frozenset[int], set[int]] = field(default_factory=dict)

    def put(self, value: int | None, by: int) -> Iterator[set[int]]:
        """Searches may put a value there, None for one of which nothing is known. Gives those who must look again."""
        if by & ~self.by:
            self.by |= by
            yield self.counted
        if self.top:
            return
        if value is None or len(self.values) >= _MOST_VALUES:
            self.top = True
            yield from self.asking()
            return
        before = self.values.get(value, 0)
        after = self.values[value] = before | by
        if before == after or (before and before & (before - 1)):
            return  # of several already
        yield self.any
        yield self.one.get(value, set())
        for without, asked in self.other.items():
            if value not in without:
                yield asked

    def asking(self) -> Iterator[set[int]]:
        """All who have asked."""
        yield self.counted
        yield self.any
        yield from self.one.values()
        yield from self.other.values()

    def may_tell(self) -> Iterator[set[int]]:
        """A strong store may write it. Gives those who must look again."""
        if not self.tells:
            self.tells = True
            yield from self.asking()

    def is_claimed(
        self, compared: int | None, put: int | None, *, adds: bool = False, exchanges: bool = False
    ) -> Iterator[set[int]]:
        """Something is put there, where `compared` is found (None: whatever is); `adds`: a number is added; `exchanges`: it is
        put there whatever is found. Gives those who must look again."""
        if exchanges and not self.exchanged:
            self.exchanged = True
            yield from self.asking()
        self.summed = self.summed and adds
        if self.once and self.claimed == -1 and compared is not None and compared != put:
            self.claimed = compared
        if self.once and (compared is None or compared != self.claimed or compared == put):
            self.once = False
            yield from self.asking()

    @property
    def key(self) -> CellKey:
        return id(self.segment), self.first, self.size, self.epoch

    @property
    def counts(self) -> bool:
        """Whether each time that it does not hold what it is claimed by tells of one operation that has succeeded."""
        return self.once and self.claimed != -1 and (self.carried or self.starts == {self.claimed})

    @property
    def differs(self) -> bool:
        """Whether it may hold one thing or another in the end."""
        return not self.settled and (self.top or len(self.values) > 1)

    @property
    def left(self) -> frozenset[int] | None:
        """What it may hold in the end; None for anything."""
        return None if self.top else frozenset(self.values) if self.ends is None else self.ends


class SymbolRange(NamedTuple):
    """What a symbol may be: a value of a cell but those `without`; `among`: one of these; without a cell, anything. `looks`: it
    was found by a strong read (1) in the scope of all threads, or by one that acquires (2). `ticket`: it is the result of an
    addition of so much to the cell. `latest`: the thread has looked at the cell for the last time then; `unlike`: a symbol that
    it is not equal to; `guards`: what has been asked of it, over `any_ticket`, and what came out."""

    cell: SearchedBytes | None = None
    without: frozenset[int] = frozenset()
    among: frozenset[int] | None = None
    looks: int = 0
    ticket: int = 0
    latest: bool = False
    unlike: Term | None = None
    guards: frozenset[tuple[Term, int]] = frozenset()

    def guarded(self, term: Term, one: Term, truth: int) -> SymbolRange:
        """The same where a truth value over the symbol `one` has come out so."""
        asked = substitute(term, {one: any_ticket(one.width)})
        if not isinstance(asked, Term) or len(self.guards) >= _MOST_GUARDS:
            return self
        return self._replace(guards=self.guards | {(asked, truth)})

    @property
    def is_told(self) -> bool:
        """Whether a cell that tells something was found to be written."""
        cell = self.cell
        return cell is not None and cell.tells and self.looks > 0 and not any(map(self.holds, cell.starts))

    def holds(self, value: int) -> bool:
        """Whether a value is one of it."""
        return value not in self.without if self.among is None else value in self.among


class EarlierBytes(NamedTuple):
    """Bytes that differ when a launch begins: how many, their values (None: anything), and the value by comparing with which
    they were claimed, -1 where they were not, with the searches that may have, as bits; the bag of which they are a place."""

    size: int
    values: frozenset[int] | None
    claimed: int
    by: int = 0
    bag: SearchBag | None = None


#: Of each byte of a segment the numbers of the writes, what stood there before, and whether a search has written.
_Writes = dict[int, list[tuple[int, int | None, bool]]]


class PastBytes:
    """What bytes held in a run, at any time."""

    def __init__(self) -> None:
        self._writes: dict[int, _Writes] = {}
        self._segments: dict[int, Segment] = {}
        self._told: dict[tuple[int, int, int], tuple[list[int], dict[int, tuple[int, int | None]]]] = {}

    def write(self, segment: Segment, first: int, size: int, number: int, *, searching: bool) -> None:
        """Bytes are about to be written."""
        if first + size > segment.size:
            return
        of = self._writes.setdefault(id(segment), {})
        self._told.clear()
        self._segments[id(segment)] = segment
        for at in range(first, first + size):
            of.setdefault(at, []).append((number, _byte(segment, at), searching))

    def at(self, segment: Segment, first: int, size: int, number: int) -> tuple[int, int | None]:
        """The number of the last write to some bytes outside of searches before a number, 0 where there is none; and what stood
        there behind it, None where that is not known, or not all of it was written at once. (Numbers begin with 1.)"""
        key = id(segment), first, size
        told = self._told.get(key)
        of = self._writes.get(id(segment), {})
        if told is None:
            numbers = {n for at in range(first, first + size) for n, _, searching in of.get(at, ()) if not searching}
            told = self._told[key] = sorted(numbers), {}
        place = bisect_left(told[0], number)
        if place not in told[1]:
            told[1][place] = self._at(of, segment, first, size, number)
        return told[1][place]

    @staticmethod
    def _at(of: _Writes, segment: Segment, first: int, size: int, number: int) -> tuple[int, int | None]:
        epochs, found, known = set[int](), 0, True
        for i in range(size):
            writes = of.get(first + i, [])
            last = max((j for j, (n, _, searching) in enumerate(writes) if n < number and not searching), default=-1)
            epochs.add(writes[last][0] if last >= 0 else 0)
            byte = writes[last + 1][1] if last + 1 < len(writes) else _byte(segment, first + i)
            known = known and byte is not None
            found |= (byte or 0) << 8 * i
        return max(epochs), found if known and len(epochs) == 1 else None

    def is_written(self, segment: Segment, first: int, size: int) -> tuple[bool, bool]:
        """Whether all of some bytes were written outside of searches, and whether any were."""
        of = self._writes.get(id(segment), {})
        each = [any(not searching for _, _, searching in of.get(at, ())) for at in range(first, first + size)]
        return all(each), any(each)


def _byte(segment: Segment, at: int) -> int | None:
    if segment.known is not None and segment.known[at] != WRITTEN[0]:
        return None
    return segment.data[at]


__all__ = ["EVERYBODY", "CellKey", "EarlierBytes", "PastBytes", "SearchedBytes", "SymbolRange", "any_ticket"]
