"""Watchers that note where instructions access memory, and pass on all that they are told.

A place is a segment of `.global` memory (the number of the segment, negative), or some bytes elsewhere, from 0 on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, GLOBAL_BITS, LOCAL, SHARED, SHARED_BITS
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.surroundings import CtaView
from ptxcore.machine.run.tensor_memory import TensorMemory
from ptxcore.machine.run.watched import RunWatcher, Told, WatchedProduct, WatchedThread, Write
from ptxcore.machine.run.watched_tensors import TensorWatcher as OfTensors
from ptxcore.machine.vector.watching import WatchedAccesses
from ptxcore.machine.vector.watching import Watcher as OfBatches
from ptxcore.values.tensor_cells import COLUMNS

#: The place of Tensor Memory; behind it those of addresses of it, by the address in shared memory where they were stored, until
#: a weak store or a copy replaces them: what the run finds there then each execution finds, as conflicts are ordered.
TENSOR = 1 << GLOBAL_BITS
_ADDRESS = 4
#: Places outside of `.global` memory have so many bytes, in bits.
GRANULE = 4
_OFFSET = (1 << SHARED_BITS) - 1


class Recorder(Protocol):
    """What was noted. `products`: the instructions that gave something that the manual leaves open, by their identity; `maps`:
    the places of tensor maps by which an instruction has copied something."""

    products: dict[int, Op]
    maps: dict[int, Op]

    def touched(self) -> dict[int, set[int]]:
        """The places by the identity of instructions."""
        ...


class Recording:
    """Of single threads."""

    def __init__(self, watcher: RunWatcher | None) -> None:
        self._watcher = watcher
        self._ops: list[Op] = []
        self._noted: dict[int, set[int]] = {}
        #: Whether an asynchronous operation is complete: an mbarrier object learns of it, of no data.
        self._performing = False
        self.products: dict[int, Op] = {}
        self.maps: dict[int, Op] = {}
        #: Where addresses of Tensor Memory stand, by the memory that it is (`id`); whether the next store is of one.
        self._addresses: dict[int, set[int]] = {}
        self.allocating = False
        #: What makes the clusters of a launch, where somebody chooses who of them begins.
        self.makes_clusters: Callable[..., Any] | None = None

    @property
    def watcher(self) -> RunWatcher:
        """Who is told."""
        assert self._watcher is not None, "somebody watches, or nothing runs"
        return self._watcher

    def touched(self) -> dict[int, set[int]]:
        """The places by the identity of instructions."""
        found: dict[int, set[int]] = {}
        for number, places in self._noted.items():
            found.setdefault(id(self._ops[number].instruction), set()).update(places)
        return found

    def _note(self, thread: WatchedThread, address: int, size: int, op: int | None = None) -> None:
        number = thread.op if op is None else op
        places = self._noted.get(number)
        if places is None:
            self._ops = thread.launch.compiled.ops
            places = self._noted[number] = set()
        if address >= FIRST_GLOBAL:
            places.add(-(address >> GLOBAL_BITS))
        elif not (self._addresses and self._of_addresses(thread, places, address, size)):
            places.update(range(address >> GRANULE, (address + size - 1 >> GRANULE) + 1))

    def _of_addresses(self, thread: WatchedThread, places: set[int], address: int, size: int) -> bool:
        """Notes addresses of Tensor Memory among some bytes outside of `.global` memory; whether these are just one."""
        held = self._addresses.get(id(thread.segment(address)[0]), ())
        found = [at for at in held if address - _ADDRESS < at < address + size]
        places.update(TENSOR + 1 + at for at in found)
        return found == [address] and size == _ADDRESS

    def _stores(self, thread: WatchedThread, address: int, size: int) -> None:
        """Addresses of Tensor Memory that an instruction is about to put into memory, or to replace there."""
        if self.allocating:
            self._addresses.setdefault(id(thread.segment(address)[0]), set()).add(address)
            self.products[id(thread.instruction.instruction)] = thread.instruction
            self.allocating = False
        elif thread.instruction.use.sem == "weak":
            self._replaces(thread, address, size)

    def _replaces(self, thread: WatchedThread, address: int, size: int) -> None:
        """No address of Tensor Memory stands in some bytes any more."""
        held = self._addresses and address < FIRST_GLOBAL and self._addresses.get(id(thread.segment(address)[0]))
        if held:
            held.difference_update([at for at in held if address <= at <= address + size - _ADDRESS])

    def note_tensors(self, thread: WatchedThread) -> None:
        """An instruction is about cells of Tensor Memory."""
        self._ops = thread.launch.compiled.ops
        self._noted.setdefault(thread.op, set()).add(TENSOR)

    def note_shared(self, op: int, address: int, size: int) -> None:
        """An instruction, by its number, reads shared memory for Tensor Memory."""
        self._noted[op].update(range(address >> GRANULE, (address + size - 1 >> GRANULE) + 1))

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        self._note(thread, address, size)
        return self.watcher.reads(thread, address, size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._stores(thread, address, size)
        self._note(thread, address, size)
        self.watcher.writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        self._note(thread, address, size)
        return self.watcher.updates(thread, how, address, size, write)

    def operates(self, thread: WatchedThread, kind: str, how: Use, address: int, write: Write) -> Any:
        if not self._performing:
            self._note(thread, address, 8)
        return self.watcher.operates(thread, kind, how, address, write)

    def begins(self, thread: WatchedThread, how: Use, copy: Told | None) -> Any:
        return self.watcher.begins(thread, how, copy)

    def performs(self, agent: Any, action: Callable[[], None]) -> None:
        outer, self._performing = self._performing, True
        try:
            self.watcher.performs(agent, action)
        finally:
            self._performing = outer

    def multiplies(self, threads: Sequence[WatchedThread], how: Use, product: WatchedProduct) -> Any:
        return self.watcher.multiplies(threads, how, product)

    def of_products(self, thread: WatchedThread, action: str, complete: Sequence[WatchedProduct]) -> None:
        self.watcher.of_products(thread, action, complete)

    def copied(self, copy: Told | WatchedProduct, kind: str, address: int, size: int) -> None:
        if kind == "W":
            self._replaces(copy.thread, address, size)
        self._note(copy.thread, address, size, copy.op)
        self.watcher.copied(copy, kind, address, size)

    def tensors(self, thread: WatchedThread, how: Use) -> Any:
        return TensorRecording(self, self.watcher.tensors(thread, how))

    def commits(self, thread: WatchedThread, how: Use) -> None:
        self.watcher.commits(thread, how)

    def waited(self, thread: WatchedThread, how: Use, pending: int) -> None:
        self.watcher.waited(thread, how, pending)

    def enters(self, cta: CtaView) -> int:
        return self.watcher.enters(cta)

    def ends(self, cta: CtaView) -> None:
        self.watcher.ends(cta)

    def polls(self, thread: WatchedThread, block: int) -> None:
        self.watcher.polls(thread, block)

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        self.watcher.arrives(thread, level, identity, waits, count)

    def released(self, cta: CtaView, level: str, identity: int, whole: bool) -> None:
        self.watcher.released(cta, level, identity, whole)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        self.watcher.met(how, threads, masked)

    def unspecified(self, op: Op) -> None:
        """Whatever it is, what comes of it is known (`code.depends`)."""
        self.products[id(op.instruction)] = op

    def looks_up(self, thread: WatchedThread, address: int) -> None:
        self.maps[-(address >> GLOBAL_BITS)] = thread.instruction
        self.watcher.looks_up(thread, address)

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        self.watcher.other(thread, what, how, address)


class TensorRecording:
    """Of an instruction of Tensor Memory: as `ptxcore.machine.run.watched_tensors.TensorWatcher`."""

    def __init__(self, recording: Recording, watcher: OfTensors) -> None:
        self._recording, self._watcher = recording, watcher

    def begins(self, thread: WatchedThread, kind: str, place: Any, *, pair: bool = False) -> Any:
        self._recording.note_tensors(thread)
        return thread.op, self._watcher.begins(thread, kind, place, pair=pair)

    def touches(self, agent: Any, memory: TensorMemory, lanes: Any, columns: Any, *, writes: bool) -> None:
        self._watcher.touches(agent[1], memory, lanes, columns, writes=writes)

    def reads_shared(self, agent: Any, cta: Any, offset: int, size: int) -> None:
        op, told = agent
        self._recording.note_shared(op, (SHARED | cta.rank << SHARED_BITS) + offset, size)
        self._watcher.reads_shared(told, cta, offset, size)

    def allocates(self, thread: WatchedThread, memory: TensorMemory, address: int, columns: int) -> None:
        self._recording.allocating = columns < COLUMNS  # all of them begin with the first one
        self._watcher.allocates(thread, memory, address, columns)

    def frees(self, thread: WatchedThread, memory: TensorMemory, address: int, columns: int) -> None:
        self._watcher.frees(thread, memory, address, columns)

    def relinquishes(self, thread: WatchedThread, memory: TensorMemory) -> None:
        self._watcher.relinquishes(thread, memory)

    def waits(self, thread: WatchedThread, kind: str) -> None:
        self._watcher.waits(thread, kind)

    def fences(self, thread: WatchedThread, which: str) -> None:
        self._watcher.fences(thread, which)

    def meet(
        self, thread: WatchedThread, name: str, memory: TensorMemory, what: tuple[int, ...], warps: tuple[int, int]
    ) -> None:
        self._watcher.meet(thread, name, memory, what, warps)

    def takes(self, thread: WatchedThread, memory: TensorMemory) -> None:
        self._recording.allocating = COLUMNS not in memory.allocated.values()
        self._watcher.takes(thread, memory)


class Batches:
    """Of threads that go on together."""

    def __init__(self, watcher: OfBatches) -> None:
        self.watcher = watcher
        self._places: dict[int, set[int]] = {}
        self.products: dict[int, Op] = {}
        self.maps: dict[int, Op] = {}
        self._offsets: dict[int, Any] = {}  # of shared memory, which of its places, as truth values

    def touched(self) -> dict[int, set[int]]:
        """The places by the identity of instructions."""
        found = {key: set(places) for key, places in self._places.items()}
        for key, marks in self._offsets.items():
            places = ((SHARED >> GRANULE) + int(n) for n in marks.nonzero()[0])
            found.setdefault(key, set()).update(places)
        return found

    def access(self, accesses: WatchedAccesses) -> None:
        key, kind = id(accesses.op.instruction), accesses.area.kind
        if kind == "shared":
            self._in_shared(key, accesses)
        elif kind == "global":
            first = accesses.addresses  # all are in one segment
            self._places.setdefault(key, set()).add(-(int(first[0] if first.ndim else first) >> GLOBAL_BITS))
        elif kind == "local":
            self._places.setdefault(key, set()).add(LOCAL >> GRANULE)
        self.watcher.access(accesses)

    def _in_shared(self, key: int, accesses: WatchedAccesses) -> None:
        import numpy

        marks = self._offsets.get(key)
        if marks is None:
            marks = self._offsets[key] = numpy.zeros(1 << SHARED_BITS - GRANULE, dtype=bool)
        first = (numpy.asarray(accesses.addresses).astype(numpy.int64) & _OFFSET) >> GRANULE
        marks[first] = True
        for more in range(1, (accesses.size * accesses.parts + (1 << GRANULE) - 1 >> GRANULE)):
            marks[first + more] = True

    def begin(self, first: int, ctas: Sequence[tuple[int, int, int]], threads: int) -> None:
        self.watcher.begin(first, ctas, threads)

    def fence(self, op: Op, threads: Any) -> None:
        self.watcher.fence(op, threads)

    def arrive(self, op: Op, threads: Any, identity: int, count: int | None, waits: bool) -> None:
        self.watcher.arrive(op, threads, identity, count, waits)

    def complete(self, identity: int, threads: Any, waited: Any) -> None:
        self.watcher.complete(identity, threads, waited)

    def converge(self, op: Op, threads: Any, masks: Any) -> None:
        self.watcher.converge(op, threads, masks)

    def unspecified(self, op: Op) -> None:
        self.products[id(op.instruction)] = op

    def alone(self, op: Op, threads: Any, operands: tuple[Any, ...], results: Sequence[Any]) -> None:
        self.watcher.alone(op, threads, operands, results)

    def exit(self, threads: Any) -> None:
        self.watcher.exit(threads)

    def restart(self, why: str) -> None:
        self._places.clear()
        self._offsets.clear()
        self.products.clear()
        self.watcher.restart(why)
