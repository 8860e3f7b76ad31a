"""A run in which one CTA is slow: its threads read what others write as late as can be.

Who writes what it should not write before it was read (a slot of a ring without credits) is ahead then. The run is an
execution like any other: in which order threads go on, nothing says.
"""

from __future__ import annotations

from axioms.dynamic.several.noted import OpenBytes
from axioms.dynamic.wrong.exact import Exact
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread


class SlowCta(Exact):
    """Watches one launch in which the threads of a CTA wait before strong reads, until nobody else gets on."""

    def __init__(self, size: int, launch: int, cta: int) -> None:
        super().__init__(size, launch)
        self._cta = cta
        #: Whether any of them had something to wait with.
        self.reads_late = False

    def _polls_in_order(
        self, thread: WatchedThread, segment: Segment, first: int, size: int, spot: OpenBytes
    ) -> int | None:
        number = thread.number
        waited = self._passed.get(number) == self.count.get(number, 0)  # and what it polled was in vain
        if number // self.size == self._cta and not waited:
            self.reads_late = True
            self._comes_late(number)
        return super()._polls_in_order(thread, segment, first, size, spot)


__all__ = ["SlowCta"]
