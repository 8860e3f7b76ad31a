"""Shadow memory: who accessed each byte last, and when, as far as it can matter for what comes.

Of ordered accesses the last one stands for those before it (Flanagan and Freund, FastTrack, PLDI 2009): the last write, the
reads since then that nothing orders among each other, and the atomic operations since then that may come in any order.
"""

from __future__ import annotations

from typing import NamedTuple

from axioms.dynamic.clocks import Clocks

#: Bytes for which a segment of memory is looked after together, unless smaller accesses come.
_GRAIN = 4
#: Stands for the scope of reads by the texture proxy (`ld.global.nc`): no order of threads orders what writes the same bytes.
CONSTANT = "constant"


class Access(NamedTuple):
    """An access that happened: `op` the number of the instruction, `kind` one of `R`, `W`, `A` (an atomic operation), `strong`
    its scope where it is strong, empty where it is weak."""

    thread: int
    time: int
    op: int
    kind: str
    strong: str
    first: int  # byte of its segment
    size: int
    #: Of an atomic operation: what it does, where any order of such operations has one result; empty where not.
    commutes: str = ""

    @property
    def alike(self) -> Kind:
        """The thread, and what decides which operations of others commute with this one: the last of those that have it in
        common stands for those before it."""
        return self.thread, self.commutes, self.strong, self.first, self.size


#: See `Access.alike`.
Kind = tuple[int, str, str, int, int]


class Cell:
    """The accesses to some bytes that can matter. `reads` by thread, `atomics` by thread and by what they are; `constant`: a
    read by the texture proxy."""

    __slots__ = ("atomics", "constant", "reads", "write")

    def __init__(self) -> None:
        self.write: Access | None = None
        self.constant: Access | None = None
        self.reads: dict[int, Access] = {}
        self.atomics: dict[Kind, Access] = {}


class Shadow:
    """Of one segment of memory. `later` is asked whether an access is ordered before what a thread does now."""

    def __init__(self, clocks: Clocks, name: str) -> None:
        self.clocks, self.name = clocks, name
        self.grain = _GRAIN
        #: Whether operations that commute were met of which nothing orders one before the other.
        self.commuted = False
        self.cells: dict[int, Cell] = {}

    def _of(self, access: Access) -> list[Cell]:
        """The cells of an access; they become smaller where it has only a part of one."""
        first, end = access.first, access.first + access.size
        while (first | end) & (self.grain - 1):
            self._split()
        grain, cells = self.grain, self.cells
        found = []
        for i in range(first // grain, end // grain):
            cell = cells.get(i)
            if cell is None:
                cell = cells[i] = Cell()
            found.append(cell)
        return found

    def _split(self) -> None:
        self.grain //= 2
        old, self.cells = self.cells, {}
        for i, cell in old.items():
            for half in (2 * i, 2 * i + 1):
                new = self.cells[half] = Cell()
                new.write, new.constant = cell.write, cell.constant
                new.reads, new.atomics = dict(cell.reads), dict(cell.atomics)

    def read(self, access: Access) -> Access | None:
        """A read; gives a conflicting access that is not ordered before it, where there is one."""
        thread, ordered, found = access.thread, self.clocks.ordered, None
        constant = access.strong == CONSTANT
        for cell in self._of(access):
            w = cell.write
            if w is not None and (constant or not ordered(thread, w.thread, w.time)):
                found = w
            if constant:
                found = next(iter(cell.atomics.values()), found)
                cell.constant = access
                continue
            for a in cell.atomics.values():
                if not ordered(thread, a.thread, a.time):
                    found = a
            reads = cell.reads
            if len(reads) == 1 and thread not in reads:
                (r,) = reads.values()
                if ordered(thread, r.thread, r.time):
                    reads.clear()
            reads[thread] = access
        return found

    def write(self, access: Access) -> Access | None:
        """A write; gives a conflicting access that is not ordered before it, where there is one."""
        thread, ordered, found = access.thread, self.clocks.ordered, None
        for cell in self._of(access):
            w = cell.write
            if w is not None and not ordered(thread, w.thread, w.time):
                found = w
            found = cell.constant or found
            for others in (cell.reads, cell.atomics):
                for o in others.values():
                    if o.thread != thread and not ordered(thread, o.thread, o.time):
                        found = o
                others.clear()
            cell.write = access
        return found

    def update(self, access: Access) -> Access | None:
        """An atomic operation; gives a conflicting access that is not ordered before it, and that matters where it comes: two
        operations that commute may come in any order, where each is in the other's scope."""
        thread, ordered, found = access.thread, self.clocks.ordered, None
        for cell in self._of(access):
            w = cell.write
            if w is not None and not ordered(thread, w.thread, w.time):
                found = w
            found = cell.constant or found
            for r in cell.reads.values():
                if not ordered(thread, r.thread, r.time):
                    found = r
            for a in cell.atomics.values():
                if not ordered(thread, a.thread, a.time):
                    if self._commute(a, access):
                        self.commuted = True
                    else:
                        found = a
            cell.atomics[access.alike] = access
        return found

    def _commute(self, a: Access, b: Access) -> bool:
        alike = a.commutes == b.commutes != "" and (a.first, a.size) == (b.first, b.size)
        return (
            alike
            and self.clocks.within(a.strong, a.thread, b.thread)
            and self.clocks.within(b.strong, a.thread, b.thread)
        )
