"""For which contents of its buffers one run of a kernel test stands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from axioms.dynamic.code.depends import BufferRead, Dependence, Ran
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import FinalValues
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.result import Spot
from ptxmm.words import whole as told

#: What is in every byte of buffers that may hold anything, run by run.
FILLS = (0, 0xFF)


#: By kinds of what is open, the words for what hangs on it (`ptxmm.words.whole.OPEN`).
OPEN_KINDS = {"allocation": "address", "order": "outcome", "product": "rounding"}


class ContentsOfRuns:
    """What a run that ended, and stands for all executions with its contents, says of other contents. `states` are final values
    with contents that have no bit in common."""

    def __init__(
        self, test: KernelTest, recorded: Sequence[Ran], states: Sequence[FinalValues], places: Places
    ) -> None:
        self.test, self.recorded, self.states, self.places = test, recorded, states, places
        self.buffers = [p for p in test.parameters if isinstance(p, Buffer)]

    @cached_property
    def dependence(self) -> Dependence:
        """What is computed from what."""
        return Dependence(self.recorded)

    def said(self) -> str:
        """Whose contents decide what threads do, in words."""
        found: dict[str, dict[str, None]] = {}
        for read in self.dependence.deciding:
            if read.buffer:
                found.setdefault(read.buffer, {})[self._place(read)] = None
        free = [p.name for p in self.buffers if p.name not in found]
        return told.contents(free, {name: list(lines) for name, lines in found.items()})

    def open_product(self) -> str:
        """Why the run stands for nothing but itself, where what threads do hangs on a product of which the manual leaves open
        what it is, or on the order of strong writes; else empty."""
        if not any(ran.recording.products for ran in self.recorded):
            return ""
        read = next((read for read in self.dependence.deciding if not read.buffer), None)
        return "" if read is None else told.left_open(OPEN_KINDS[read.kind], self._place(read))

    def open_decision(self) -> str:
        """Why the run does not stand for all contents of the buffers that may hold anything, or for all that products may be;
        empty where it does."""
        is_open = {p.name for p in self.buffers if p.open}
        read = next((read for read in self.dependence.deciding if read.buffer in is_open), None)
        return self.open_product() if read is None else told.other_contents(read.buffer, self._place(read))

    def begins(self, state: FinalValues) -> list[str]:
        """What the buffers hold at first that may hold anything, in the run that ends in a state, in words."""
        names = [p.name for p in self.buffers if p.open]
        return [told.holding(names, FILLS[self.states.index(state)])] if names else []

    def open_in(self, check: Check) -> list[str]:
        """The buffers that may hold anything on whose contents the values hang that a check speaks of."""
        is_open = {p.name for p in self.buffers if p.open}
        found: set[str] = set()
        for element in check.expression.elements() if check.expression is not None else ():
            if element.index is not None:
                found |= {read.buffer for read in self.dependence.held(element.name)} & is_open
                if not found and element.name in is_open and len({state[element.label] for state in self.states}) > 1:
                    found.add(element.name)  # not written, or not all of it
        return sorted(found)

    def open_sources(self, check: Check, kind: str) -> list[str]:
        """What gives something open on which the values hang that a check speaks of, of one `Read.kind`: where it is."""
        return [*map(str, self.open_spots(check, kind))]

    def open_spots(self, check: Check, kind: str) -> list[Spot]:
        """The same, to look at."""
        elements = check.expression.elements() if check.expression is not None else ()
        names = dict.fromkeys(e.name for e in elements if e.index is not None)
        found = (read for name in names for read in self.dependence.held(name))
        return list(dict.fromkeys(self._spot(read) for read in found if read.kind == kind))

    def hanging(self) -> bool:
        """Whether what some strong writes leave in memory hangs on their order."""
        ops = (op for ran in self.recorded for op in ran.recording.products.values())
        return any(BufferRead("", 0, op).kind == "order" for op in ops)

    def _place(self, read: BufferRead) -> str:
        return str(self._spot(read))

    def _spot(self, read: BufferRead) -> Spot:
        return self.places.of(read.launch, read.op, self.recorded[read.launch].program)
