"""A run in which strong reads of vectors are torn: they find some elements of the last write, and older ones else.

The elements of a vector are accesses of their own, in no order (PTX ISA 9.0, section 8.2.4). So a read that nothing orders
behind a write, and before which nobody has observed that (section 8.9.6), may find one element of it and miss another one, of
which it finds what stood there before. The run is an execution, by the argument of `wrong.exact`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from axioms.dynamic.core.findings import Party
from axioms.dynamic.core.shadow import Access
from axioms.dynamic.several.noted import OpenBytes
from axioms.dynamic.wrong.exact import Exact
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.records import NamedTuple

_PLAIN = frozenset(("ld", "st"))


class TornElement(NamedTuple):
    """An element of a vector: its bytes in its segment, the value that is found, and whether that is of the write."""

    first: int
    size: int
    value: int
    is_new: bool


class Torn(NamedTuple):
    """A read that finds some elements of a write and misses others: who reads, who writes, and what is found."""

    reader: Party
    writer: Party
    segment: str
    elements: tuple[TornElement, ...]


class Tearing(Exact):
    """Watches one launch in which reads are torn that lead on otherwise than they would with all elements of one write."""

    def __init__(self, size: int, launch: int, number: int | None = None, *, every: bool = False) -> None:
        """`number`: which of the reads that could be torn is; none is without, unless `every` one is."""
        super().__init__(size, launch)
        #: The first one that is.
        self.torn: Torn | None = None
        self._number, self._every = number, every
        #: How many reads could be torn so far.
        self.tearable = 0

    def _is_open_vector(self, thread: WatchedThread, access: Access) -> bool:
        """Each is followed as a whole: who finds any element of a write synchronizes with it."""
        return thread.instruction.use.form.mnemonic not in _PLAIN

    def _polls_in_order(
        self, thread: WatchedThread, segment: Segment, first: int, size: int, spot: OpenBytes
    ) -> int | None:
        last = len(spot.order) - 1
        if self._may_be_torn(thread, spot, last):
            lead = self._lead(thread)
            mixed = self._mixed(thread, spot, last, lead)
            self.tearable += mixed is not None
            if mixed is not None and (self._every or self.tearable - 1 == self._number):
                return self._tears(thread, segment, size, spot, mixed, lead)
        return super()._polls_in_order(thread, segment, first, size, spot)

    def _may_be_torn(self, thread: WatchedThread, spot: OpenBytes, last: int) -> bool:
        """Whether nothing orders a read of a vector behind the last write."""
        if (self.torn is not None and not self._every) or last < 0 or not thread.instruction.use.words["vec"]:
            return False
        event = spot.order[last]
        return event.kind == "store" and spot.floor(thread.number, self.clocks) < last

    def _mixed(
        self, thread: WatchedThread, spot: OpenBytes, last: int, lead: Callable[[int], object]
    ) -> tuple[bool, ...] | None:
        """Which elements of the last write to find, so that the thread goes on as it does with no whole one."""
        new, old = spot.after(last), spot.after(last - 1)
        width = thread.instruction.use.width
        whole = lead(new), lead(old)
        if whole[0] is None:
            return None
        for found in product((True, False), repeat=8 * spot.name.size // width):
            value = _mix(new, old, found, width)
            if value not in (new, old) and (way := lead(value)) is not None and way not in whole:
                return found
        return None

    def _tears(
        self, thread: WatchedThread, segment: Segment, size: int, spot: OpenBytes, found: tuple[bool, ...],
        lead: Callable[[int], object],
    ) -> int:  # fmt: skip
        last, width = len(spot.order) - 1, thread.instruction.use.width
        event, value = spot.order[last], _mix(spot.after(last), spot.after(last - 1), found, width)
        elements = tuple(
            TornElement(spot.first + n * width // 8, width // 8, value >> n * width & ((1 << width) - 1), is_new)
            for n, is_new in enumerate(found)
        )
        writer = Party(event.name[1], thread.launch.compiled.ops[event.at])
        self.torn = self.torn or Torn(Party(thread.number, thread.instruction), writer, segment.name, elements)
        self._finds(thread, spot, size, lead, last, None)
        self.stale = True
        return value


def _mix(new: int, old: int, found: tuple[bool, ...], width: int) -> int:
    """Of two vectors the elements that are found of the new one, and the others of the old one."""
    mask = sum(((1 << width) - 1) << n * width for n, is_new in enumerate(found) if is_new)
    return (new & mask) | (old & ~mask)


__all__ = ["Tearing", "Torn", "TornElement"]
