"""Values that nothing determines, in memory that tells what was written: of a CTA, or a thread's own. They may lie there as
they may in registers, as long as they decide nothing (docs/whole-launches/theorem.md, condition 4)."""

from __future__ import annotations

from axioms.dynamic.core.findings import Party
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.run.memory import WRITTEN, Segment
from ptxcore.machine.run.watched import WatchedThread


class OpenValues:
    """Who puts such values in memory, and takes them from there: a thread with each of these instructions, by their numbers.
    `allowed`: whether they may."""

    def __init__(self) -> None:
        self.allowed = False
        self.by: dict[int, Party] = {}

    def takes(self, thread: WatchedThread, address: int) -> bool:
        """Whether a thread may load or store such a value at an address, 0 being none; then it is noted."""
        if not self.allowed or not 0 < address < FIRST_GLOBAL:
            return False
        self.by.setdefault(thread.op, Party(thread.number, thread.instruction))
        return True


def are_written(segment: Segment, first: int, size: int) -> bool:
    """Whether bytes have values that something determines."""
    return segment.known is None or segment.known.count(WRITTEN, first, first + size) == size


__all__ = ["OpenValues", "are_written"]
