"""Where a final value comes from that is against a check, of a launch that one run decides or shows to be wrong: who wrote it.
Of one that multiplies matrices by warpgroups also what products it may be computed of, and who wrote the bytes that these read,
with the swizzles of both.

    a final value    was written last by a store, or by a copy out of shared memory
    what was stored  is computed of loads and products, by the code of the function alone (`provenance` of
                     `axioms.dynamic.code.depends`)
    loads, products  of the thread that stored, or its warpgroup, read bytes of shared memory, each of which somebody wrote last

The launch is run once more for that. Where one run stands for all executions its order is no matter; else it tells only of a
value that is the same in it. Of the code it is told what a value may come from; who wrote which bytes is that of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from math import prod
from typing import Any

from axioms.dynamic.code.depends import provenance
from axioms.dynamic.core.findings import Stopped, in_time
from ptxcore.clock import OutOfTime
from ptxcore.isa.form import Use
from ptxcore.isa.warpgroup_product import THREADS, pattern, spans
from ptxcore.machine.ir.windows import GLOBAL_BITS, SHARED, WINDOW_BITS
from ptxcore.machine.lower.ops import ExecutableModule, Op
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.watched import Told, WatchedBox, WatchedProduct, WatchedThread, Write
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.tensor_map import EncodedTensorMap, decoded
from ptxmm.kernels.broken import broken_parts
from ptxmm.kernels.expressions import TYPES, KernelExpression
from ptxmm.kernels.launch import Buffer, Launch
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import FinalValues, Runs, Watchers
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.result import Result, Spot
from ptxmm.words import provenance as told

_WINDOWS, _OFFSET = 1 << GLOBAL_BITS, (1 << WINDOW_BITS) - 1
_GLOBAL = (1 << GLOBAL_BITS) - 1
_MULTIPLIES, _TENSORS = "wgmma", "tcgen05"
#: Products of one value that are told.
_MOST = 4


class SoughtElement(NamedTuple):
    """An element of a buffer, and its bytes there."""

    label: str
    buffer: str
    first: int
    size: int


class ByteWriter(NamedTuple):
    """Who wrote bytes: an instruction of a thread, by its number among those of the launch; a tensor copy's map."""

    op: int
    thread: int
    copies: bool = False
    map: EncodedTensorMap | None = None


class MatrixRead(NamedTuple):
    """A product (by its number) reads a matrix with some line of a pattern; `writer`: who wrote some of its bytes."""

    op: int
    matrix: str
    line: int
    writer: ByteWriter


@dataclass
class Lineage:
    """Watches a launch (`ptxcore.machine.run.watched.RunWatcher`), and lets everything be."""

    size: int
    wanted: SoughtElement
    #: By number the buffers that segments are; the instructions.
    names: dict[int, str] = field(default_factory=dict)
    ops: Sequence[Op] = ()
    indices: list[tuple[int, int, int]] = field(default_factory=list)
    #: Who wrote the element last, and of a copy who wrote what it copied there.
    last: ByteWriter | None = None
    copied_from: dict[ByteWriter, None] = field(default_factory=dict)
    reads_of: dict[int, dict[MatrixRead, None]] = field(default_factory=dict)
    loads: dict[tuple[int, int], dict[ByteWriter, None]] = field(default_factory=dict)
    _writers: list[ByteWriter | None] = field(default_factory=lambda: [None])
    _numbers: dict[ByteWriter, int] = field(default_factory=dict)
    _owners: dict[int, Any] = field(default_factory=dict)
    _threads: int = 0

    # Shared memory.

    def _bytes(self, segment: Any) -> Any:
        """Of each byte the number of who wrote it last."""
        import numpy as np

        found = self._owners.get(id(segment))
        if found is None:
            found = self._owners[id(segment)] = np.zeros(segment.size, np.int32)
        return found

    def _wrote(self, segment: Any, places: Iterable[tuple[int, int]]) -> dict[ByteWriter, None]:
        """Who wrote some bytes last, by who wrote first."""
        import numpy as np

        owners = self._bytes(segment)
        numbers = {number for first, size in places for number in np.unique(owners[first : first + size]).tolist()}
        writers = (self._writers[number] for number in sorted(numbers))
        return {writer: None for writer in writers if writer is not None}

    def _writes(self, thread: WatchedThread, address: int, size: int, writer: ByteWriter) -> bool:
        """Somebody writes; whether it is the element."""
        self.ops = thread.launch.compiled.ops
        if address & ~_OFFSET == SHARED:
            if writer not in self._numbers:
                self._numbers[writer] = len(self._writers)
                self._writers.append(writer)
            segment, first = thread.segment(address)
            self._bytes(segment)[first : first + size] = self._numbers[writer]
        if address < _WINDOWS or self.names.get(address >> GLOBAL_BITS) != self.wanted.buffer:
            return False
        first = address & _GLOBAL
        if first >= self.wanted.first + self.wanted.size or self.wanted.first >= first + size:
            return False
        self.last, self.copied_from = writer, {}
        return True

    # What threads do.

    def enters(self, cta: Any) -> int:
        if self._threads % self.size == 0:
            self.indices.append(cta.index)
        self._threads += 1
        return self._threads - 1

    def ends(self, cta: Any) -> None:
        self._owners.pop(id(cta.shared), None)

    def reads(self, thread: WatchedThread, address: int, size: int) -> None:
        if address & ~_OFFSET == SHARED:
            segment, first = thread.segment(address)
            self.loads.setdefault((thread.number, thread.op), {}).update(self._wrote(segment, [(first, size)]))

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._writes(thread, address, size, ByteWriter(thread.op, thread.number))

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> None:
        self.reads(thread, address, size)
        if write(thread.load(how, address))[1]:  # a compare-and-swap that fails writes nothing
            self.writes(thread, address, size, None)

    def begins(self, thread: WatchedThread, how: Use, copy: Told | None) -> EncodedTensorMap | None:
        return decoded(thread.map) if isinstance(copy, WatchedBox) else None

    def copied(self, copy: Told | WatchedProduct, kind: str, address: int, size: int) -> None:
        if kind == "R" or isinstance(copy, WatchedProduct):
            return
        thread = copy.thread
        if self._writes(thread, address, size, ByteWriter(copy.op, thread.number, True, copy.agent)):
            for to, source, length in _pieces(copy):
                first = max(0, self.wanted.first - (to & _GLOBAL))
                end = min(length, self.wanted.first + self.wanted.size - (to & _GLOBAL))
                if first < end and source & ~_OFFSET == SHARED:
                    segment, at = thread.segment(source)
                    self.copied_from |= self._wrote(segment, [(at + first, end - first)])

    def multiplies(self, threads: Sequence[WatchedThread], how: Use, product: WatchedProduct) -> None:
        given, found = product.given, self.reads_of.setdefault(threads[0].number, {})
        for name, bits, transposed in zip("ab", given[3:5], given.transposed, strict=True):
            if bits is not None:
                places = spans(product.plan, name, bits, transposed=transposed)
                for writer in self._wrote(threads[0].cta.shared, places):
                    found[MatrixRead(product.op, name.upper(), pattern(bits), writer)] = None

    # What else it is told.

    def performs(self, agent: Any, action: Callable[[], None]) -> None:
        action()

    def _lets_be(self, *_: object, **__: object) -> None: ...

    operates = of_products = commits = waited = polls = arrives = released = met = unspecified = looks_up = other = (
        tensors
    ) = _lets_be


def _pieces(copy: Told) -> Iterator[tuple[int, int, int]]:
    """Where pieces of a copy go, where they come from, and their sizes."""
    if not isinstance(copy, WatchedBox):
        yield copy.to, copy.source, copy.size
    elif copy.stores:
        yield from ((p.source, p.shared, p.size) for p in copy.pieces if p.source is not None)


def tell_provenance(runs: Runs, result: Result, places: Places, state: FinalValues) -> None:
    """Tells of the first element of each check that does not hold where its value comes from; nothing where the launch is no
    such, or where that takes too long."""
    test = runs.test
    if len(test.launches) > 1 or _uses(runs, _TENSORS):
        return
    for checked, check in zip(result.checks, test.checks, strict=True):
        if checked.holds is False and check.kind in ("forall", "never") and not checked.spots:
            wanted = sought(test, check, state)
            if wanted is None:
                continue
            try:
                seen = _watched(runs, wanted, state[wanted.label])
            except OutOfTime:  # the answer is known, and stays so
                return
            if seen is not None:
                checked.spots = list(_told(seen, places, runs.program_of(0)))


def _uses(runs: Runs, mnemonic: str) -> bool:
    (device,) = runs.devices.values()
    return any(op.use.form.mnemonic == mnemonic for code in device.program.functions.values() for op in code.ops)


def sought(test: KernelTest, check: Check, state: FinalValues) -> SoughtElement | None:
    """The first element of what does not hold: of several conditions that all must, of the first one that does not."""
    node = next(broken_parts(test, check, state), None)
    if node is None:
        return None
    buffers = {p.name: p for p in test.parameters if isinstance(p, Buffer)}
    for element in KernelExpression("", node).elements():
        if element.index is not None and element.name in buffers:
            size = TYPES[buffers[element.name].type].width // 8
            return SoughtElement(element.label, element.name, size * element.index, size)
    return None


def _watched(runs: Runs, wanted: SoughtElement, value: object) -> Lineage | None:
    """A run in which an element comes to this value; None where it does not, or where nothing writes it."""
    seen = Lineage(prod(runs.test.launches[0].block), wanted)

    def watch(launch: Launch, program: ExecutableModule) -> Watchers:
        return Watchers(None, lambda: seen)

    try:
        state = runs.run(None, watch=watch, progress=in_time, placed=seen.names.update)
    except (KernelError, Stopped):
        return None
    return seen if seen.last is not None and state[wanted.label] == value else None


def _told(seen: Lineage, places: Places, program: ExecutableModule) -> Iterator[tuple[Spot, str]]:
    """Who wrote the element, and the products that it may be computed of: those whose bytes were written otherwise than they
    are read, if there are any."""
    assert seen.last is not None
    at = partial(_place, seen, places, program)
    yield at(seen.last), told.written(seen.wanted.label, _thread(seen, places, seen.last))
    reads = list(dict.fromkeys(_reads(seen, program)))
    differing = [r for r in reads if _differ(r)]
    lines: dict[tuple[Spot, str], None] = {}
    for read in differing or reads:
        by = str(at(read.writer))
        lines[
            at(ByteWriter(read.op, 0)), told.read(read.matrix, read.line, by, _map_of(read) if differing else None)
        ] = None
    yield from list(lines)[:_MOST]
    if len(lines) > _MOST:
        yield at(seen.last), told.more(len(lines) - _MOST)


def _map_of(read: MatrixRead) -> tuple[str, int] | None:
    map_ = read.writer.map
    return None if map_ is None else (map_.swizzle, map_.inner)


def _differ(read: MatrixRead) -> bool:
    """Whether a product reads bytes otherwise than a tensor copy wrote them: with another swizzle, or in other rows of one."""
    map_ = read.writer.map
    if map_ is None or map_.interleave != "none":
        return False
    return told.swizzle(read.line) != map_.swizzle or (map_.swizzle != "none" and map_.inner != read.line)


def _reads(seen: Lineage, program: ExecutableModule) -> Iterator[MatrixRead]:
    """The matrices of products that the element may be computed of."""
    numbers = {id(op): number for number, op in enumerate(seen.ops)}
    assert seen.last is not None
    waiting = [*seen.copied_from] if seen.last.copies else [seen.last]
    known: set[ByteWriter] = set()
    while waiting:
        writer = waiting.pop()
        if writer in known or writer.copies:
            continue
        known.add(writer)
        op = seen.ops[writer.op]
        code = next(c for c in program.functions.values() if any(o is op for o in c.ops))
        cta, place = divmod(writer.thread, seen.size)
        first = cta * seen.size + place // THREADS * THREADS
        for source in sorted(provenance(code, op), key=lambda source: numbers[id(source)]):
            number = numbers[id(source)]
            if source.use.form.mnemonic == _MULTIPLIES:
                yield from (read for read in seen.reads_of.get(first, ()) if read.op == number)
            waiting += seen.loads.get((writer.thread, number), ())


def _place(seen: Lineage, places: Places, program: ExecutableModule, writer: ByteWriter) -> Spot:
    return places.of(0, seen.ops[writer.op], program)


def _thread(seen: Lineage, places: Places, writer: ByteWriter) -> str:
    bx, by, _ = places.test.launches[0].block
    cta, thread = divmod(writer.thread, seen.size)
    return places.thread(0, seen.indices[cta], (thread % bx, thread // bx % by, thread // (bx * by)))


__all__ = ["tell_provenance"]
