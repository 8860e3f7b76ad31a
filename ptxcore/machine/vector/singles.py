"""Instructions that each thread of a group executes by itself: barrier objects, asynchronous copies, stores and reductions.

The threads are those of `run`, as far as such instructions ask them for anything, on the memory of the group. What is
asynchronous is done when no thread can go on, as late as in schedules of single threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS, LOCAL, SHARED, SHARED_BITS, WINDOW_BITS
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.asynchronous import AsyncOperation
from ptxcore.machine.run.memory import NO_WORDS, WRITTEN, Segment
from ptxcore.machine.run.special import PlaceInCta, Triple
from ptxcore.machine.run.thread import RunningThread
from ptxcore.machine.vector.memory import Area, GroupMemory
from ptxcore.machine.vector.order import Order
from ptxcore.machine.vector.registers import Irregular
from ptxcore.records import NamedTuple


class Window(Segment):
    """A stretch of an area as a segment; `note` is told of what is written, by place and size."""

    __slots__ = ("area", "note", "start")

    def __init__(self, area: Area, start: int, size: int, note: Callable[[int, int], None] | None) -> None:
        self.area, self.start, self.note = area, start, note
        self.data = memoryview(area.data)[start : start + size]  # type: ignore[assignment]
        self.size, self.name, self.writable = size, "memory", area.writable
        self.loads = self.stores = NO_WORDS
        known = None if area.known is None else memoryview(area.known.reshape(-1))[start : start + size]
        self.known = known  # type: ignore[assignment]

    def read(self, offset: int, size: int) -> int:
        if offset + size > self.size:
            raise self.beyond(offset, size)
        if self.known is not None and bytes(self.known[offset : offset + size]) != WRITTEN * size:
            raise Irregular("memory that nobody wrote")
        return int.from_bytes(self.data[offset : offset + size], "little")

    def writes(self, offset: int, size: int) -> None:
        super().writes(offset, size)
        self.area.written(self.start + offset, self.start + offset + size)
        if self.note is not None:
            self.note(self.start + offset, size)


class Neighbour(NamedTuple):
    """A CTA as threads see it: its rank, its shared memory, and those of its cluster."""

    at: Triple
    rank: int
    shared: Window
    cluster: list[Any]


class Single(RunningThread):
    """A thread of a group that executes an instruction by itself."""

    def __init__(self, singles: Singles, number: int, cta: Neighbour, place: PlaceInCta) -> None:
        self.launch, self.cta = singles, cta  # type: ignore[assignment]
        self.number = number
        self.index, self.warp, self.lane, self.special = place
        self.globals = singles.memory.launch.memory.segments
        self.shared = SHARED | cta.rank << SHARED_BITS
        self.op, self.waiting = 0, ""
        self.copied = self.insists = self.answered = False

    def segment(self, address: int) -> tuple[Segment, int]:
        segment, offset = super().segment(address)
        self.launch.current = self.number  # type: ignore[attr-defined]
        if address >> GLOBAL_BITS:
            return self.launch.buffer(address >> GLOBAL_BITS), offset  # type: ignore[attr-defined]
        if address >> WINDOW_BITS << WINDOW_BITS == LOCAL:
            raise Irregular("memory of its own")
        return segment, offset

    def modify(self, kind: str, how: Use, address: int, write: Callable[[Any], tuple[Any, Any]]) -> Any:
        self.launch.quiet = True  # type: ignore[attr-defined]
        try:
            return super().modify(kind, how, address, write)
        finally:
            self.launch.quiet = False  # type: ignore[attr-defined]


class _Compiled(NamedTuple):
    ops: list[Op]


class Singles:
    """The threads of a group, each made when it first executes an instruction by itself; what they ask a launch for."""

    random = None

    def __init__(self, memory: GroupMemory, ctas: list[Triple], places: list[PlaceInCta], order: Order | None) -> None:
        self.memory, self.places, self.order = memory, places, order
        self.constants = Segment(0, "constant memory", writable=False)
        given = memory.launch.parameters
        self.parameters: Segment = Window(given, 0, given.size, None)
        self.pending: list[AsyncOperation] = []
        #: How many of these were there at the last barrier.
        self.aged = 0
        self.compiled = _Compiled([])
        self.current, self.quiet = 0, False
        self._threads: dict[int, Single] = {}
        self._buffers: dict[int, Window] = {}
        self._numbers: dict[int, int] = {}
        self.ctas: list[Neighbour] = []
        for row, index in enumerate(ctas):
            shared = Window(memory.shared, row * memory.stride, memory.shared_bytes, self._note)
            cluster = [] if row % memory.ranks == 0 else self.ctas[-1].cluster
            self.ctas.append(Neighbour(index, row % memory.ranks, shared, cluster))
            cluster.append(self.ctas[-1])

    def thread(self, number: int, op: Op) -> Single:
        """A thread of the group, about to execute an instruction."""
        found = self._threads.get(number)
        if found is None:
            cta, place = divmod(number, len(self.places))
            found = self._threads[number] = Single(self, number, self.ctas[cta], self.places[place])
        at = self._numbers.get(id(op))
        if at is None:
            at = self._numbers[id(op)] = len(self.compiled.ops)
            self.compiled.ops.append(op)
        found.op = at
        return found

    def ended(self, numbers: Any) -> None:
        """Threads end: their copies are complete."""
        for number in self._threads.keys() & set(numbers.tolist()):
            self._threads[number].finish_copies()

    def perform(self) -> bool:
        """Does what is asynchronous; whether there was anything. Raises Fault."""
        begun, self.pending, self.aged = self.pending, [], 0
        for operation in begun:
            operation.finish()
        return bool(begun)

    def age(self) -> None:
        """Threads meet at a barrier, behind which a round of single threads would be over: does what was begun before the
        barrier before. Raises Fault."""
        due, self.pending = self.pending[: self.aged], self.pending[self.aged :]
        for operation in due:
            operation.finish()
        self.aged = len(self.pending)

    def buffer(self, number: int) -> Window:
        """A buffer of global memory."""
        found = self._buffers.get(number)
        if found is None:
            area = self.memory.launch.area(number)
            found = self._buffers[number] = Window(area, 0, area.size, None)
        return found

    def _note(self, start: int, size: int) -> None:
        """Shared memory is written by the thread that runs."""
        if self.order is not None and not self.quiet and size:
            granule = self.order.granule
            cells = np.arange(start // granule, -(-(start + size) // granule))
            self.order.access(cells, granule, np.full(cells.size, self.current), "write")

    # What threads ask a launch for.

    def later(self, operation: AsyncOperation) -> None:
        """An asynchronous operation is to be done."""
        self.pending.append(operation)

    def running(self) -> None:
        """Nobody asks which instruction it is."""

    def cancel(self) -> None:
        """Clusters that have not begun are no matter of arrays."""
        raise Irregular("a cluster that is cancelled")
