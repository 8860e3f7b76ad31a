"""What memory may hold, for brute force: the values of each cell, and what they can have been computed from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from axioms.events.event import split
from axioms.events.memory import Cell
from axioms.oracle.budget import BeyondBruteForce

#: A location that could hold more values than this is more than brute force should be asked.
MAX_VALUES = 256
#: Ways of computing a value that are told apart.
_MAX_WAYS = 32

#: A read: its thread, and its effect's index there.
ReadKey = tuple[int, int]
#: What a value is computed from: a read, its cells, and what it returned.
ReadSource = tuple[ReadKey, Sequence[int], int]


class Provenance:
    """The values each cell may hold, each with the sets of reads that it was computed through.

    No value comes out of itself, so a read is not offered a value that can only have come through that same read. That is
    what keeps counters finite: with two increments nobody ever reads a three.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.sizes = [c.size for c in cells]
        self.cells: list[dict[int, set[frozenset[ReadKey]]]] = [{number_of(c.initial): {frozenset()}} for c in cells]

    def bits(self, cell: int) -> int:
        return 8 * self.sizes[cell]

    def options(self, cells: Sequence[int], read: ReadKey) -> list[int]:
        """The values that `read` may return from some cells, largest first."""
        pieces = [[v for v, ways in self.cells[c].items() if any(read not in w for w in ways)] for c in cells]
        count = math.prod(map(len, pieces))
        if count > MAX_VALUES:
            raise BeyondBruteForce("a read may return too many values for brute force")
        sizes = [self.sizes[c] for c in cells]
        return sorted((_joined(found, sizes) for found in itertools.product(*pieces)), reverse=True)

    def add(self, cells: Sequence[int], value: int, sources: list[ReadSource]) -> bool:
        """Notes that `value` may be written to some cells, computed from what `sources` returned. True if that is news."""
        ways: set[frozenset[ReadKey]] = {frozenset()}
        for read, source, answer in sources:
            for c, piece in zip(source, split(answer, [self.sizes[c] for c in source]), strict=True):
                ways = {w | o | {read} for w in ways for o in self.cells[c][number_of(piece)] if read not in o}
        news = False
        for c, piece in zip(cells, split(value, [self.sizes[c] for c in cells]), strict=True):
            news |= self._add(c, number_of(piece), ways)
        return news

    def _add(self, cell: int, value: int, ways: set[frozenset[ReadKey]]) -> bool:
        known = self.cells[cell].setdefault(value, set())
        news = {w for w in ways if not any(k <= w for k in known)}
        if not news:
            if not known:
                del self.cells[cell][value]
            return False
        kept = {w for w in known | news if not any(k < w for k in known | news)}
        # Too many ways to tell apart: as if it came from nowhere, which only offers it too often.
        self.cells[cell][value] = kept if len(kept) <= _MAX_WAYS else {frozenset()}
        return True


def _joined(pieces: Sequence[int], sizes: Sequence[int]) -> int:
    value = low = 0
    for piece, size in zip(pieces, sizes, strict=True):
        value |= piece << low
        low += 8 * size
    return value


def number_of(value: object) -> int:
    assert type(value) is int, "a concrete run has known numbers only"
    return value
