"""Groups of CTAs that have nothing to do with each other: the orders of one are of no matter to the others.

Let each word of the memory that all threads share be written by CTAs of one group alone, or be read only, in all runs of a
launch in which the orders of one group are explored, while the others come as in the first run. Then no read finds what another
group writes, and nothing of one group is ordered by what another one does: the runs of a group are all that it has by itself
(docs/whole-launches, Several runs). An execution is one of these of each group: take the first operation, in causality
order, that is in none; it reads what another group has written, which that does in no run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx

from axioms.dynamic.several.open_operations import OneOfSeveral
from axioms.dynamic.several.plan import Script, StrongBytes
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.run.watched import WatchedThread, Write

#: Bytes of a word, of which one CTA is taken to access all.
_WORD = 4


class TouchedWords:
    """Which CTAs of a launch access each word of the memory that all threads share, in one run or several."""

    def __init__(self) -> None:
        #: By word: a bit for each CTA, above one that says whether somebody writes there.
        self._words: dict[int, int] = {}

    def note(self, cta: int, address: int, size: int, *, writes: bool) -> None:
        """A CTA accesses some bytes."""
        if address < FIRST_GLOBAL:
            return
        bits = 2 << cta | writes
        for word in range(address // _WORD, (address + size - 1) // _WORD + 1):
            self._words[word] = self._words.get(word, 0) | bits

    def groups(self, ctas: int) -> Sequence[frozenset[int]]:
        """Those of so many CTAs that access words together of which some CTA writes one."""
        together = networkx.Graph()
        together.add_nodes_from(range(ctas))
        for bits in {bits >> 1 for bits in self._words.values() if bits & 1}:
            networkx.add_path(together, [cta for cta in range(ctas) if bits >> cta & 1])
        return sorted(map(frozenset, networkx.connected_components(together)), key=min)


class OneOfGroups(OneOfSeveral):
    """Watches one launch in one of several runs, and notes what its CTAs touch."""

    def __init__(self, size: int, launch: int, known: StrongBytes, script: Script, touched: TouchedWords) -> None:
        super().__init__(size, launch, known, script)
        self._touched = touched

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        self._touched.note(thread.number // self.size, address, size, writes=False)
        return super().reads(thread, address, size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._touched.note(thread.number // self.size, address, size, writes=True)
        super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        self._touched.note(thread.number // self.size, address, size, writes=True)
        return super().updates(thread, how, address, size, write)


__all__ = ["OneOfGroups", "TouchedWords"]
