"""The Tensor Memory of a CTA (PTX ISA 9.0, section 9.7.16): allocations, what cells hold, accesses under way.

An asynchronous access is complete when somebody could know it: one by `tcgen05.ld` or `tcgen05.st` with the thread's
`tcgen05.wait`, one by `tcgen05.mma`, `cp` or `shift` when the arrival of a `tcgen05.commit` behind it is done. Each cell
remembers its last write and its last read. Whoever accesses it then must come behind them, by one of the patterns of section
9.7.16.6.4, or that is told.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ptxcore.isa.form import Use
from ptxcore.machine.run.asynchronous import AsyncOperation
from ptxcore.machine.run.cta_pairs import CtaPair, peer_of
from ptxcore.machine.run.faults import KernelError, fault
from ptxcore.machine.run.memory import WRITTEN, Segment
from ptxcore.machine.run.surroundings import LaunchView, ThreadView
from ptxcore.machine.run.uninitialised import Uninitialised, bytes_of, unknown
from ptxcore.values.tensor_cells import COLUMNS, LANES, LANES_OF_A_WARP

#: Instructions whose accesses complete with `tcgen05.wait`; those of all others do with `tcgen05.commit`.
_WAITED = ("ld", "st")
#: Pairs of instructions that are executed in the order in which they were issued (section 9.7.16.6.2).
_PIPELINED = {("cp", "mma"), ("shift", "mma"), ("shift", "cp.4x256b"), ("mma", "shift")}
_ORDER = "tensor-order"


class TensorAccess:
    """What one thread does to Tensor Memory by one instruction: `kind` is `ld`, `st`, `mma`, `shift`, `cp` or `cp.4x256b`;
    `place`, of a product, its accumulators and shape; `action`, of what is still to be done, does it. `done`: when it was known
    to be complete; `released`: when the thread said so to others by a fence. Both are 0 before. `waits`: of a load or store,
    how many waits for such the thread had executed before."""

    __slots__ = ("action", "done", "kind", "op", "place", "released", "thread", "waits")

    def __init__(self, thread: Any, kind: str, place: Any = None) -> None:
        self.thread, self.op, self.kind, self.place = thread, thread.op, kind, place
        self.done = self.released = self.waits = 0
        self.action: Callable[[], None] | None = None


def pipelined(first: TensorAccess, second: TensorAccess) -> bool:
    """Whether two accesses are executed in the order in which a thread issues them."""
    if first.kind == second.kind == "mma":
        return bool(first.place == second.place)
    return (first.kind.partition(".")[0], second.kind) in _PIPELINED or (first.kind, second.kind) in _PIPELINED


class TensorClock:
    """When something happened, in one Tensor Memory or in those of two peer CTAs."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


class TensorMemory:
    """The Tensor Memory of a CTA."""

    def __init__(self) -> None:
        #: What its CTA does together with its peer, once it does.
        self.pair: CtaPair | None = None
        #: The columns of each allocation, by its first one, and what was allocated last.
        self.allocated: dict[int, int] = {}
        self.last = COLUMNS
        self.relinquished = False
        #: Who has been told of an allocation, by warp; and who waits for one, with what it was told before.
        self.granted: dict[int, tuple[int, set[int]]] = {}
        self.waiting: list[tuple[Any, Any]] = []
        #: All accesses by their numbers, from 1 on; those that are still to be done, in order.
        self.accesses: list[TensorAccess | None] = [None]
        self.queue: list[TensorAccess] = []
        #: When threads executed `tcgen05.fence::after_thread_sync` last, and what they have begun and not yet released.
        self.clock = TensorClock()
        self.after: dict[Any, int] = {}
        self.own: dict[Any, list[TensorAccess]] = {}
        #: How many waits for loads or stores each thread has executed, and at most a thread of each warp: they are executed by
        #: all threads of a warp together.
        self.waited: dict[Any, int] = {}

    @cached_property
    def cells(self) -> Any:
        import numpy as np

        return np.zeros((LANES, COLUMNS), np.uint32)

    @cached_property
    def known(self) -> Any:
        """A 1 for each bit that was written."""
        import numpy as np

        return np.zeros((LANES, COLUMNS), np.uint32)

    @cached_property
    def writer(self) -> Any:
        """The number of the access that wrote each cell last."""
        import numpy as np

        return np.zeros((LANES, COLUMNS), np.int32)

    @cached_property
    def reader(self) -> Any:
        import numpy as np

        return np.zeros((LANES, COLUMNS), np.int32)

    def join(self, odd: TensorMemory) -> None:
        """The Tensor Memory of the peer CTA has one order and one clock with this one from now on."""
        if self.pair is not None:
            return
        self.pair = odd.pair = CtaPair()
        self.clock.now = max(self.clock.now, odd.clock.now)
        self.queue += odd.queue
        self.after.update(odd.after)
        self.own.update(odd.own)
        odd.clock, odd.queue, odd.after, odd.own = self.clock, self.queue, self.after, self.own

    # Allocation (section 9.7.16.7).

    def allocate(self, thread: Any, columns: int, told: Any) -> int:
        """The address of newly allocated columns, the same for all threads of a warp. Raises Suspended where there are too few,
        and Fault."""
        granted = self.granted.get(thread.warp)
        if granted is None:
            granted = self._grant(thread, columns, told)
        address, lanes = granted
        lanes.discard(thread.lane)
        if not lanes:
            del self.granted[thread.warp]
        return address

    def _grant(self, thread: Any, columns: int, told: Any) -> tuple[int, set[int]]:
        self.check_request(columns)
        first = self.take(columns)
        if first is None:
            self.waiting.append((thread, told))
            raise thread.suspend(f"waits for {columns} columns of tensor memory")
        granted = self.granted[thread.warp] = first, set(range(LANES_OF_A_WARP))
        return granted

    def check_request(self, columns: int) -> None:
        """Raises Fault where the CTA may not ask for so many columns."""
        if self.relinquished:
            raise fault("tensor-allocation", "the CTA has relinquished its right to allocate tensor memory")
        _check_count(columns)
        if columns > self.last:
            raise fault(
                "tensor-allocation",
                f"{columns} columns are allocated behind {self.last}: the number must not increase within a CTA",
            )

    def take(self, columns: int) -> int | None:
        """The first of newly allocated columns; None where there are too few."""
        taken = [range(first, first + count) for first, count in self.allocated.items()]
        free = (f for f in self.places(columns) if all(f + columns <= t.start or t.stop <= f for t in taken))
        first = next(free, None)
        if first is not None:
            self.allocated[first], self.last = columns, columns
            self.known[:, first : first + columns] = 0
        return first

    def places(self, columns: int) -> range:
        """Where so many columns may be allocated; the first place that is free is taken."""
        return range(0, COLUMNS, columns)

    def free(self, thread: Any, address: int, columns: int) -> None:
        """Gives columns back. Raises Fault where they were not allocated like that, or are accessed still."""
        if self.allocated.get(address) != columns:
            what = ", ".join(f"{count} at {first:#x}" for first, count in self.allocated.items()) or "none"
            raise fault(
                "tensor-allocation",
                f"{columns} columns of tensor memory at {address:#x} are deallocated; allocated are {what}",
            )
        access = TensorAccess(thread, "dealloc")
        self._check(access, slice(None), slice(address, address + columns), writes=True)
        del self.allocated[address]
        waiting, self.waiting = self.waiting, []
        for other, told in waiting:
            other.wake(told)

    def relinquish(self) -> None:
        self.relinquished = True

    def end(self, launch: LaunchView, name: Any) -> None:
        """The CTA ends. Raises KernelError where columns are allocated still."""
        if self.allocated:
            count = sum(self.allocated.values())
            message = f"the kernel ends with {count} columns of tensor memory allocated: tcgen05.dealloc is missing"
            raise KernelError("tensor-leak", message, name, path=getattr(launch, "path", "<module>"))

    # Accesses.

    def begin(self, access: TensorAccess) -> int:
        """An access has begun; gives its number."""
        access.waits = self.waited.get((access.thread, access.kind), 0)
        self.accesses.append(access)
        return len(self.accesses) - 1

    def touch(self, number: int, lanes: Any, columns: Any, *, writes: bool) -> None:
        """An access reads or writes cells. Raises Fault where nothing orders it behind others."""
        self.inside(lanes, columns)
        access = self.accesses[number]
        assert access is not None
        self._check(access, lanes, columns, writes=writes)
        (self.writer if writes else self.reader)[lanes, columns] = number
        if writes:  # who comes behind the write comes behind what was read before it
            self.reader[lanes, columns] = 0

    def inside(self, lanes: Any, columns: Any) -> None:
        """Raises Fault where cells are not there, or not allocated."""
        import numpy as np

        for what, given, end in (("lane", lanes, LANES), ("column", columns, COLUMNS)):
            most = int(np.max(given, initial=0))
            if most >= end:
                raise fault("tensor-bounds", f"out of bounds: tensor memory has {end} {what}s, and no {what} {most}")
        inside = np.zeros(COLUMNS, np.bool_)
        for first, count in self.allocated.items():
            inside[first : first + count] = True
        wrong = np.unique(np.asarray(columns)[~inside[columns]])
        if wrong.size:
            raise fault("tensor-bounds", f"out of bounds: column {int(wrong[0])} of tensor memory is not allocated")

    def _check(self, access: TensorAccess, lanes: Any, columns: Any, *, writes: bool) -> None:
        import numpy as np

        for last in (self.writer, self.reader) if writes else (self.writer,):
            for number in np.unique(last[lanes, columns]).tolist():
                before = self.accesses[number]
                why = "" if before is None or before is access else self._unordered(before, access)
                if why and before is not None:
                    op = before.thread.launch.compiled.ops[before.op]
                    what = "written" if last is self.writer else "read"
                    raise fault(
                        _ORDER,
                        f"cells of tensor memory are accessed that '{op.name}' in line {op.instruction.span.line} has "
                        f"{what}, and nothing orders this behind it: {why}",
                    )

    def _unordered(self, before: TensorAccess, access: TensorAccess) -> str:
        """What is missing between two accesses; "" for nothing."""
        same = before.thread is access.thread
        if not before.done and self.waited.get(_of_warp(before.thread, before.kind), 0) > before.waits:
            before.done = self.tick()
        acquired = self.after.get(access.thread, 0)
        if pipelined(before, access):
            if same or (before.released and acquired > before.released):
                return ""
            return "" if before.done and acquired > before.done else _FENCES
        if before.done and access.kind == "dealloc":  # which is synchronous
            return ""
        if not before.done:
            if before.kind in _WAITED:
                return f"tcgen05.wait::{before.kind} is missing"
            return "it is not complete: tcgen05.commit, and a wait for its mbarrier object, are missing"
        if before.kind in _WAITED:
            if _one_warp(before.thread, access.thread) or (before.released and acquired > before.released):
                return ""
            return _FENCES
        if acquired > before.done:
            return ""
        return "tcgen05.fence::after_thread_sync is missing behind the wait for its mbarrier object"

    # Completion.

    def tick(self) -> int:
        self.clock.now += 1
        return self.clock.now

    def fence_before(self, thread: Any) -> None:
        now = self.tick()
        for access in self.own.get(thread, ()):
            access.released = now
        self.own[thread] = [a for a in self.own.get(thread, ()) if not a.done]

    def fence_after(self, thread: Any) -> None:
        self.after[thread] = self.tick()

    def waits(self, thread: Any, kind: str) -> None:
        """The thread's loads or stores are complete."""
        now, warp = self.tick(), _of_warp(thread, kind)
        count = self.waited[thread, kind] = self.waited.get((thread, kind), 0) + 1
        self.waited[warp] = max(count, self.waited.get(warp, 0))
        for access in self.own.get(thread, ()):
            if access.kind == kind and not access.done:
                access.done, access.released = now, 0

    def tracked(self, thread: Any) -> list[TensorAccess]:
        """What a thread has begun that completes by `tcgen05.commit`."""
        return [a for a in self.own.get(thread, ()) if a.kind not in _WAITED and not a.done]

    def finish(self, accesses: list[TensorAccess]) -> None:
        """Does what accesses are to do, and all that was begun before; they are complete."""
        while any(a.action is not None for a in accesses):
            self.perform(self.queue.pop(0))
        now = self.tick()
        for access in accesses:
            if not access.done:  # of several commits the first to complete says so, whoever waits for the others
                access.done = access.released = now

    def perform(self, access: TensorAccess) -> None:
        action, access.action = access.action, None
        if action is not None:
            operation = AsyncOperation(access.thread, action)
            operation.op = access.op
            operation.finish()


def _of_warp(thread: Any, kind: str) -> Any:
    return id(thread.cta), thread.warp, kind


def _one_warp(thread: Any, other: Any) -> bool:
    return thread.cta is other.cta and bool(thread.warp == other.warp)


_FENCES = (
    "tcgen05.fence::before_thread_sync and tcgen05.fence::after_thread_sync around their synchronization are missing"
)


def _check_count(columns: int) -> None:
    if not 32 <= columns <= COLUMNS or columns & (columns - 1):
        raise fault(
            "tensor-allocation", f"{columns} columns of tensor memory: it is a power of two from 32 to {COLUMNS}"
        )


class ThreadCells:
    """The Tensor Memory of a CTA as one thread accesses it by one instruction; see `ptxcore.isa.thread.TensorMemoryAccess`."""

    def __init__(self, thread: ThreadView, memory: TensorMemory, how: Use, cta: Any = None) -> None:
        found: Any = thread
        self.thread = found
        self.memory, self.how = memory, how
        self.cta: Any = found.cta if cta is None else cta
        self.warp: int = found.warp
        self.lane: int = found.lane
        self.number = 0

    def both(self) -> tuple[ThreadCells, ThreadCells]:
        """The Tensor Memory of the even CTA of the pair, and that of the odd one. Raises Fault where there is no peer."""
        peer = peer_of(self.thread)
        if peer.tensor_memory is None:
            peer.tensor_memory = type(self.memory)()
        found = self, self._of(peer)
        even, odd = found if not self.cta.rank & 1 else found[::-1]
        even.memory.join(odd.memory)
        return even, odd

    def _of(self, peer: Any) -> ThreadCells:
        return ThreadCells(self.thread, peer.tensor_memory, self.how, peer)

    def _together(
        self, told: Any, name: str, what: tuple[int, ...], action: Callable[[TensorMemory], int | None]
    ) -> int:
        """Does something in both Tensor Memories, once a warp of each CTA has come; gives what it gave in the odd one."""
        pair = self.memory.pair
        if pair is not None:
            value = pair.take(self.thread, name)
            if value is not None:
                return value
        memories = [cells.memory for cells in self.both()]
        pair = self.memory.pair
        assert pair is not None

        def in_both() -> int | None:
            return [action(memory) for memory in memories][-1]

        return pair.meet(self.thread, told, name, what, in_both)

    def allocate(self, columns: int, told: Any) -> int:
        return self.memory.allocate(self.thread, columns, told)

    def allocate_both(self, columns: int, told: Any) -> int:
        def take(memory: TensorMemory) -> int | None:
            memory.check_request(columns)
            return memory.take(columns)  # the same in both: what is allocated in one is in the other

        return self._together(told, "alloc", (columns,), take)

    def free(self, address: int, columns: int) -> None:
        if self.lane == 0:
            self.memory.free(self.thread, address, columns)

    def free_both(self, address: int, columns: int, told: Any) -> None:
        def free(memory: TensorMemory) -> int:
            memory.free(self.thread, address, columns)
            return 0

        self._together(told, "dealloc", (address, columns), free)
        if self.memory.pair is not None:
            self.memory.pair.wake("alloc")

    def relinquish(self) -> None:
        self.memory.relinquish()

    def relinquish_both(self, told: Any) -> None:
        def relinquish(memory: TensorMemory) -> int:
            memory.relinquish()
            return 0

        self._together(told, "relinquish_alloc_permit", (), relinquish)

    def begin(self, kind: str, place: Any = None, peer: ThreadCells | None = None) -> None:
        access = TensorAccess(self.thread, kind, place)
        self.thread.cta.tensor_memory.own.setdefault(self.thread, []).append(access)
        for cells in (self,) if peer is None else (self, peer):
            cells.number = cells.memory.begin(access)

    def touch(self, lanes: Any, columns: Any, *, writes: bool) -> None:
        self.memory.touch(self.number, lanes, columns, writes=writes)

    def read(self, lanes: Any, columns: Any) -> list[Any]:
        """The values of cells, in order; what was not written is unknown."""
        values, known = self.memory.cells[lanes, columns].tolist(), self.memory.known[lanes, columns].tolist()
        return [v if k == 0xFFFF_FFFF else _unknown(v, k) for v, k in zip(values, known, strict=True)]

    def unknown(self, why: str) -> Any:
        return unknown(bytes(4), bytes(4), why)

    def write(self, lanes: Any, columns: Any, values: list[Any]) -> None:
        """Writes values to cells; a value of None leaves it unknown what stands there."""
        pairs = [_bits(v) for v in values]
        self.memory.cells[lanes, columns] = [v for v, _ in pairs]
        self.memory.known[lanes, columns] = [k for _, k in pairs]

    def numbers(self, lanes: Any, columns: Any, bits: int = 0xFFFF_FFFF) -> Any:
        """An array of the values of cells. Raises Fault where one of these bits was not written."""
        if (~self.memory.known[lanes, columns] & bits).any():
            raise fault("uninitialised", "cells of tensor memory are read that nothing wrote")
        return self.memory.cells[lanes, columns]

    def put(self, lanes: Any, columns: Any, values: Any, bits: Any = 0xFFFF_FFFF) -> None:
        """Writes an array, of which these bits are known; the bits may be an array as well."""
        self.memory.cells[lanes, columns] = values
        self.memory.known[lanes, columns] = bits

    def shared(self, addresses: Any) -> Any:
        """The bytes of the CTA's shared memory at an array of addresses. Raises Fault where there are none, or nothing wrote
        them."""
        import numpy as np

        segment: Segment = self.cta.shared
        most = int(addresses.max())
        if most >= segment.size:
            raise segment.beyond(most, 1)
        assert segment.known is not None
        unwritten = np.frombuffer(segment.known, np.uint8)[addresses] != WRITTEN[0]
        if unwritten.any():
            at = int(addresses[unwritten].min())
            raise fault("uninitialised", f"a byte at offset {at} of '{segment.name}' is read before a write")
        return np.frombuffer(segment.data, np.uint8)[addresses]

    def sums(self, left_open: Callable[[], bool]) -> None:
        """A product is computed, and the manual may leave open what some of its sums are."""

    def later(self, action: Callable[[], None]) -> None:
        """The action is done at some time before the access is complete, behind those that were begun before."""
        access = self.memory.accesses[self.number]
        assert access is not None
        access.action = action
        self.memory.queue.append(access)
        random = self.thread.launch.random
        if random is not None and random.getrandbits(1):
            while self.memory.queue:
                self.memory.perform(self.memory.queue.pop(0))

    def complete(self) -> Callable[[], None]:
        """What completes all that the thread has begun and that `tcgen05.commit` tracks."""
        accesses = self.memory.tracked(self.thread)
        return lambda: self.memory.finish(accesses)

    def wait(self, kind: str) -> None:
        self.memory.waits(self.thread, kind)

    def fence(self, which: str) -> None:
        if which == "fence::before_thread_sync":
            self.memory.fence_before(self.thread)
        else:
            self.memory.fence_after(self.thread)


def _unknown(value: int, known: int) -> Uninitialised:
    where = "tensor memory was read before a write"
    return unknown(value.to_bytes(4, "little"), known.to_bytes(4, "little"), where)


def _bits(value: Any) -> tuple[int, int]:
    """A value's bits, and which of them are known."""
    if value is None:
        return 0, 0
    if isinstance(value, Uninitialised):
        data, known = bytes_of(value, 4)
        return int.from_bytes(data, "little"), int.from_bytes(known, "little")
    return int(value), 0xFFFF_FFFF
