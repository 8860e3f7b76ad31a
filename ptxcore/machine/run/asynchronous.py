"""What a thread has begun and does not wait for: asynchronous copies, reductions and stores.

When it happens is left open until somebody waits for it. Round-robin schedules do it as late as they can, so that a missing
wait shows; random ones at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from ptxcore.machine.run.faults import Fault, fault
from ptxcore.machine.run.memory import WRITTEN
from ptxcore.machine.run.surroundings import ThreadView
from ptxcore.values.tensor_boxes import BoxPiece


class AsyncOperation:
    """One asynchronous operation of a thread, by the number of the instruction that began it. It is done once. Round-robin
    schedules may leave it for `late` more rounds while threads get on."""

    __slots__ = ("action", "done", "late", "op", "thread")

    def __init__(self, thread: ThreadView, action: Callable[[], None] | None) -> None:
        self.thread, self.op, self.action = thread, thread.op, action
        self.done = False
        self.late = 0

    def finish(self) -> None:
        """Does it, unless it is done. Raises Fault, which blames the instruction that began it."""
        if self.done:
            return
        self.done = True
        try:
            self.perform()
        except Fault as error:
            if error.blamed is None:  # what it completes may have been begun by others
                error.blamed = self.thread.name, self.thread.launch.compiled.ops[self.op]
            raise

    def perform(self) -> None:
        assert self.action is not None
        self.action()


def due(
    pending: Sequence[AsyncOperation], random: Random | None, progressed: bool
) -> tuple[list[AsyncOperation], list[AsyncOperation]]:
    """Of operations that have begun those to do now, in their order, and those left for later, while threads get on."""
    left: list[AsyncOperation] = []
    if progressed and random is not None:
        left = [operation for operation in pending if random.getrandbits(1)]
    elif progressed:
        left = [operation for operation in pending if operation.late]
        for operation in left:
            operation.late -= 1
    kept = set(map(id, left))
    now = [operation for operation in pending if id(operation) not in kept]
    if random is not None:
        random.shuffle(now)
    return now, left


class Copy(AsyncOperation):
    """A copy of `size` bytes, then `fill` zeros; see `ptxcore.isa.thread.Thread.copy`."""

    __slots__ = ("after", "combine", "data", "element", "fill", "selected", "size", "source", "to")

    def __init__(
        self,
        thread: ThreadView,
        to: int,
        source: int,
        size: int,
        fill: int,
        selected: int,
        combine: Callable[[int, int], int] | None,
        element: int,
        after: Callable[[], None] | None,
    ) -> None:
        super().__init__(thread, None)
        self.to, self.source, self.size, self.fill = to, source, size, fill
        self.selected, self.combine, self.element, self.after = selected, combine, element, after
        self.data: bytes | None = None

    def read(self) -> None:
        """Reads what is copied, once."""
        if self.data is not None:
            return
        if not self.size:
            self.data = bytes(self.fill)
            return
        segment, offset = self.thread.segment(self.source)
        if offset + self.size > segment.size:
            raise segment.beyond(offset, self.size)
        if segment.known is not None and not any(segment.known[offset : offset + self.size]):
            raise fault(
                "uninitialised", f"{self.size} bytes at offset {offset} of '{segment.name}' are copied before a write"
            )
        self.data = bytes(segment.data[offset : offset + self.size]) + bytes(self.fill)

    def perform(self) -> None:
        self.read()
        self.store()
        if self.after is not None:
            self.after()

    def store(self) -> None:
        """Writes what was read."""
        assert self.data is not None
        if self.combine is not None:
            self._combine(self.data)
        else:
            self._write(self.data)

    def _write(self, data: bytes) -> None:
        if not data:
            return
        segment, offset = self.thread.segment(self.to)
        segment.writes(offset, len(data))
        if self.selected == 0xFFFF:
            segment.data[offset : offset + len(data)] = data
            if segment.known is not None:
                segment.known[offset : offset + len(data)] = WRITTEN * len(data)
            return
        for i, byte in enumerate(data):
            if self.selected >> i % 16 & 1:
                segment.write(offset + i, 1, byte)

    def _combine(self, data: bytes) -> None:
        assert self.combine is not None
        size = self.element
        for at in range(0, len(data), size):
            old = self.thread.read(self.to + at, size)
            new = self.combine(old, int.from_bytes(data[at : at + size], "little"))
            self.thread.write(self.to + at, size, new)


class Boxed(Copy):
    """A copy of several pieces; see `ptxcore.isa.thread.Thread.copy_box`."""

    __slots__ = ("filling", "parts", "pieces", "stores")

    def __init__(
        self,
        thread: ThreadView,
        pieces: Sequence[BoxPiece],
        stores: bool,
        filling: tuple[int, int],
        combine: Callable[[int, int], int] | None,
        element: int,
        after: Callable[[], None] | None,
    ) -> None:
        super().__init__(thread, 0, 0, 0, 0, 0xFFFF, combine, element, after)
        self.pieces, self.stores, self.filling = pieces, stores, filling
        self.parts: list[Copy] | None = None

    def _copy(self, piece: BoxPiece) -> Copy:
        """One piece as a copy of its own."""
        shared, source, size, turn = piece
        thread, combine, element = self.thread, self.combine, self.element
        if source is None:
            filled = Copy(thread, shared, 0, 0, size, 0xFFFF, None, element, None)
            if self.filling[0]:
                number, width = self.filling
                pattern = number.to_bytes(width, "little") * (size // width + 2)
                filled.data = pattern[turn : turn + size]
            return filled
        to, read = (source, shared) if self.stores else (shared, source)
        return Copy(thread, to, read, size, 0, 0xFFFF, combine, element, None)

    def read(self) -> None:
        """Reads what is copied, once."""
        if self.parts is None:
            self.parts = [self._copy(p) for p in self.pieces if not (self.stores and p.source is None)]
            self.data = b""
            for part in self.parts:
                part.read()

    def store(self) -> None:
        assert self.parts is not None
        for part in self.parts:
            part.perform()


class CopyGroups:
    """The copies of a thread that no barrier object learns of: those in no group yet, and the groups, oldest first."""

    __slots__ = ("closed", "open")

    def __init__(self) -> None:
        self.open: list[Copy] = []
        self.closed: list[list[Copy]] = []

    def commit(self) -> None:
        self.closed.append(self.open)
        self.open = []

    def wait(self, pending: int, *, reads: bool = False) -> None:
        """Completes all groups but the last `pending` (with `reads`: what they read)."""
        waited = self.closed[: len(self.closed) - pending] if pending else self.closed
        for group in waited:
            for copy in group:
                if not copy.done:
                    copy.read() if reads else copy.finish()
        if not reads:
            self.closed = self.closed[len(waited) :]

    def outstanding(self) -> list[Any]:
        """All that are not complete."""
        return [copy for group in (*self.closed, self.open) for copy in group if not copy.done]
