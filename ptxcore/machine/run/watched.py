"""A run that somebody watches: each access to memory, each meeting of threads, and everything else that a thread does with
others is told as it happens. Threads are numbered from 0, CTA by CTA.

Watched threads run code of their own (`Compiler(program, watched=True)`), in which each access says which instruction it is; a
run that nobody watches is none the slower.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from ptxcore.isa.effect_kinds import UPDATES, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, LOCAL, SHARED, WINDOW_BITS
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run import short
from ptxcore.machine.run.asynchronous import Boxed, Copy
from ptxcore.machine.run.clusters import ChosenClusters
from ptxcore.machine.run.codegen import Compiled
from ptxcore.machine.run.special import PlaceInCta
from ptxcore.machine.run.surroundings import CtaView, LaunchView
from ptxcore.machine.run.tensor_memory import ThreadCells
from ptxcore.machine.run.thread import RunningThread
from ptxcore.machine.run.warpgroups import Product
from ptxcore.machine.run.watched_tensors import TensorWatcher as OfTensors
from ptxcore.machine.run.watched_tensors import WatchedCells, WatchedTensorMemory

_OFFSET = (1 << WINDOW_BITS) - 1
_POINTER = (1 << 64) - 1
#: Selects all bytes of a copy.
_ALL = 0xFFFF


#: Of an atomic operation: for an old value the new one, and whether it is written.
Write = Callable[[Any], tuple[Any, Any]]


class RunWatcher(Protocol):
    """Who is told. What it raises ends the run; a `BaseException` that is no `Exception` passes through unchanged."""

    def enters(self, cta: CtaView) -> int:
        """A thread of a CTA begins; gives its number."""
        ...

    def ends(self, cta: CtaView) -> None:
        """All threads of a CTA have ended; its shared memory is gone."""
        ...

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        """A thread is about to read `size` bytes; `thread.op` is the number of the instruction. Gives the value that it finds,
        if that is not the one that is there. May raise `ptxcore.machine.run.thread.Asleep` for the thread to wait where a
        block begins with the instruction."""
        ...

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        """A thread is about to write a value to `size` bytes; None where it is more than one."""
        ...

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        """A thread is about to execute an atomic operation on `size` bytes; `write` gives the new value for the old one, and
        whether it is written. Gives the value that it finds, if it is not to write and finds another one than is there; may
        raise what `reads` may."""
        ...

    def operates(self, thread: WatchedThread, kind: str, how: Use, address: int, write: Write) -> Any:
        """A thread is about to execute an operation on an mbarrier object (`ptxcore.isa.thread.Thread.modify`). Gives what it
        finds, if that is to be something else than is there."""
        ...

    def begins(self, thread: WatchedThread, how: Use, copy: Told | None) -> Any:
        """A thread issues an asynchronous operation: a copy, or something else; gives what stands for it."""
        ...

    def performs(self, agent: Any, action: Callable[[], None]) -> None:
        """Does what an asynchronous operation does in the name of its thread."""
        ...

    def copied(self, copy: Told | WatchedProduct, kind: str, address: int, size: int) -> None:
        """A copy is about to read (`R`), write (`W`) or combine (`A`) `size` bytes; or a product to read them."""
        ...

    def multiplies(self, threads: Sequence[WatchedThread], how: Use, product: WatchedProduct) -> Any:
        """The threads of a warpgroup issue a product (`wgmma.mma_async`); gives what stands for it."""
        ...

    def of_products(self, thread: WatchedThread, action: str, complete: Sequence[WatchedProduct]) -> None:
        """A thread has done something about products of its warpgroup (`ptxcore.isa.thread.Thread.products_of_warpgroup`): it
        has waited for those that are `complete`."""
        ...

    def tensors(self, thread: WatchedThread, how: Use) -> OfTensors:
        """A thread is about to execute an instruction of Tensor Memory; gives who is told of what it does."""
        ...

    def commits(self, thread: WatchedThread, how: Use) -> None:
        """A thread has closed a group of its asynchronous copies."""
        ...

    def waited(self, thread: WatchedThread, how: Use, pending: int) -> None:
        """A thread has waited for all of its groups but the last `pending`."""
        ...

    def polls(self, thread: WatchedThread, block: int) -> None:
        """A thread begins a block in which it polls what others may write."""
        ...

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        """A thread has come to a barrier of its CTA or its cluster, which takes `count` threads (None: all)."""
        ...

    def released(self, cta: CtaView, level: str, identity: int, whole: bool) -> None:
        """A barrier is complete: whoever arrived since the last time takes part; with `whole` False some of them come to the
        next instance."""
        ...

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        """Threads of a warp execute an instruction together; `masked`: a member mask names them."""
        ...

    def unspecified(self, op: Op) -> None:
        """The manual leaves open what an instruction of a warp has just given its threads."""
        ...

    def looks_up(self, thread: WatchedThread, address: int) -> None:
        """A thread is about to issue a copy by the tensor map at an address of `.global` memory."""
        ...

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        """A thread does something else that others see, or that no order of threads determines; `address`: the memory that it
        is about, if it is about some."""
        ...


class Told(Copy):
    """What a copy does is told; `agent` is what the watcher calls it."""

    __slots__ = ()

    agent: Any
    thread: WatchedThread

    def read(self) -> None:
        if self.data is None:
            for address, size in self.taken():
                self.thread.watcher.copied(self, "R", address, size)
        super().read()

    def perform(self) -> None:
        self.read()
        thread, watcher = self.thread, self.thread.watcher
        for kind, address, size in self.given():
            watcher.copied(self, kind, address, size)
        thread.watcher = _QUIET
        try:
            self.store()
        finally:
            thread.watcher = watcher
        if self.after is not None:
            watcher.performs(self.agent, self.after)

    def taken(self) -> Iterator[tuple[int, int]]:
        """The bytes that it reads, as addresses and sizes."""
        if self.size:
            yield self.source, self.size

    def given(self) -> Iterator[tuple[str, int, int]]:
        """The accesses by which it writes."""
        size = self.size + self.fill
        if self.combine is not None:
            yield from (("A", self.to + at, self.element) for at in range(0, size, self.element))
        elif self.selected == _ALL and size:
            yield "W", self.to, size
        else:
            yield from (("W", self.to + i, 1) for i in range(size) if self.selected >> i % 16 & 1)

    @property
    def reduction(self) -> Use | None:
        """What it does to an element, with its type, which a tensor map may tell; None where it combines none."""
        return None if self.combine is None else self.combine.args[0]  # type: ignore[attr-defined]

    def addend(self, address: int) -> int:
        """What it combines with the element at an address, of one piece that it has read."""
        assert self.data is not None
        at = address - self.to
        return int.from_bytes(self.data[at : at + self.element], "little")


class WatchedCopy(Told):
    """An asynchronous copy of a thread that is watched."""

    __slots__ = ("agent",)

    def __init__(self, thread: WatchedThread, *fields: Any) -> None:
        super().__init__(thread, *fields)
        self.agent = thread.watcher.begins(thread, thread.instruction.use, self)


class WatchedBox(Told, Boxed):
    """A copy of several pieces of a thread that is watched. Pieces that lie beside each other are one access."""

    __slots__ = ("agent",)

    def __init__(self, thread: WatchedThread, *fields: Any) -> None:
        Boxed.__init__(self, thread, *fields)
        self.agent = thread.watcher.begins(thread, thread.instruction.use, self)

    def taken(self) -> Iterator[tuple[int, int]]:
        moved = [p for p in self.pieces if p.source is not None]
        return _merged((p.shared if self.stores else p.source, p.size) for p in moved)

    def given(self) -> Iterator[tuple[str, int, int]]:
        if not self.stores:
            yield from (("W", *place) for place in _merged((p.shared, p.size) for p in self.pieces))
            return
        written = _merged((p.source, p.size) for p in self.pieces if p.source is not None)
        if self.combine is None:
            yield from (("W", *place) for place in written)
            return
        for first, size in written:
            yield from (("A", at, self.element) for at in range(first, first + size, self.element))

    def addend(self, address: int) -> int:
        part = next(p for p in self.parts or () if p.to <= address < p.to + p.size)
        assert part.data is not None
        at = address - part.to
        return int.from_bytes(part.data[at : at + self.element], "little")


def _merged(places: Iterable[tuple[Any, int]]) -> Iterator[tuple[int, int]]:
    """Addresses and sizes in order, of what lies together only one."""
    first = end = None
    for address, size in sorted(places):
        if first is not None and address == end:
            end += size
            continue
        if first is not None and end is not None:
            yield first, end - first
        first, end = address, address + size
    if first is not None and end is not None:
        yield first, end - first


class WatchedProduct(Product):
    """A product of a warpgroup that is watched: what it reads of shared memory is told, in the name of `agent`."""

    thread: WatchedThread

    def __init__(self, thread: WatchedThread, how: Use, members: list[tuple[Any, tuple[Any, ...]]]) -> None:
        super().__init__(thread, how, members)
        self.agent = thread.watcher.multiplies([member for member, _ in members], how, self)

    def perform(self) -> None:
        super().perform()
        thread = self.thread
        for offset, size in self.places():
            thread.watcher.copied(self, "R", thread.shared + offset, size)


def number_at(compiled: Compiled, line: int) -> int:
    """The number, in `ops`, of the instruction of a line of compiled text."""
    op = compiled.where[line]
    assert op is not None
    for number in range(len(compiled.ops) - 1, -1, -1):
        if compiled.ops[number] is op:
            return number
    compiled.ops.append(op)
    return len(compiled.ops) - 1


class WatchedThread(RunningThread):
    """A thread of a run that is watched. `map`: the tensor map by which it copied last."""

    __slots__ = ("map", "number", "watcher")

    makes = WatchedCopy
    moves = WatchedBox
    multiplies = WatchedProduct

    def __init__(self, launch: LaunchView, cta: CtaView, place: PlaceInCta, code: Code) -> None:
        watcher = launch.watcher
        assert watcher is not None
        self.watcher: RunWatcher = watcher
        self.number = self.watcher.enters(cta)
        self.map = b""
        super().__init__(launch, cta, place, code)

    @property
    def instruction(self) -> Op:
        """The instruction that it executes."""
        return self.launch.compiled.ops[self.op]

    def read(self, address: int, size: int) -> int:
        told = self.watcher.reads(self, address, size)
        return super().read(address, size) if told is None else told

    def write(self, address: int, size: int, value: int) -> None:
        self.watcher.writes(self, address, size, value)
        if type(value) is int:
            for shift in range(0, 8 * size, 64):
                self.hands_on(address, value >> shift & _POINTER)
        super().write(address, size, value)

    def hands_on(self, address: int, value: int) -> None:
        """The thread writes 8 bytes: others may read there where its stack is, and find their own at that address."""
        if 0 <= value - LOCAL < self.top and address & ~_OFFSET != LOCAL:
            self.watcher.other(self, "stack")

    def polls(self, block: int) -> None:
        super().polls(block)
        self.watcher.polls(self, block)

    def modify(self, kind: str, how: Use, address: int, write: Write) -> Any:
        if kind in UPDATES:
            size = how.width // 8 * int((how.words["vec"] or "v1")[1:])
            told = self.watcher.updates(self, how, address, size, write)
            if told is not None:
                return told
        else:
            told = self.watcher.operates(self, kind, how, self.of("shared::cluster", address), write)
            if told is not None:
                return told
        quiet, self.watcher = self.watcher, _QUIET
        try:
            return super().modify(kind, how, address, write)
        finally:
            self.watcher = quiet

    def collective(self, op: int, arguments: tuple[Any, ...]) -> Any:
        self.op = op
        return super().collective(op, arguments)

    def effect(self, kind: EffectKind, how: Use, **fields: Any) -> Any:
        self.watcher.other(self, kind, how, fields.get("address", 0))
        return super().effect(kind, how, **fields)

    def defer(self, how: Use, action: Callable[[], None]) -> None:
        watcher, agent = self.watcher, self.watcher.begins(self, how, None)
        super().defer(how, lambda: watcher.performs(agent, action))

    def commit(self, how: Use) -> None:
        super().commit(how)
        self.watcher.commits(self, how)

    def wait(self, how: Use, pending: int) -> None:
        super().wait(how, pending)
        self.watcher.waited(self, how, pending)

    def tensor_map(self, how: Use, address: int) -> bytes:
        if address >= FIRST_GLOBAL:
            self.watcher.looks_up(self, address)
        elif address & ~_OFFSET == SHARED:
            self.watcher.other(self, "tensormap", how)
        self.map = super().tensor_map(how, address)
        return self.map

    def products_of_warpgroup(self, how: Use, action: str, pending: int = 0) -> list[Any]:
        complete = super().products_of_warpgroup(how, action, pending)
        self.watcher.of_products(self, action, complete)
        return complete

    def tensor_memory(self, how: Use) -> ThreadCells:
        memory = self.cta.tensor_memory
        if memory is None:
            memory = self.cta.tensor_memory = WatchedTensorMemory()
        return WatchedCells(self, memory, how, self.watcher.tensors(self, how))

    def leads(self, how: Use) -> bool:
        return self.lane == 0

    def clear(self, how: Use, address: int, size: int) -> None:
        self.watcher.writes(self, address, size, None)
        super().clear(how, address, size)

    def cancel_cluster(self, how: Use) -> tuple[int, int, int] | None:
        clusters = getattr(self.launch, "waiting", None)
        if not isinstance(clusters, ChosenClusters) or self.cta.index in clusters.refused:
            self.watcher.other(self, "cancel", how)
        found = super().cancel_cluster(how)
        if found is None and isinstance(clusters, ChosenClusters):
            clusters.refused.add(self.cta.index)
        return found

    def replicas(self, how: Use, address: int) -> list[int]:
        self.watcher.other(self, "proxy", how)
        return super().replicas(how, address)

    def texel(self, how: Use, address: int, width: int, when: int = 1) -> int:
        self.watcher.other(self, "proxy", how)
        return super().texel(how, address, width, when)

    def put_texel(self, how: Use, address: int, width: int, value: Any, when: int = 1) -> None:
        self.watcher.other(self, "proxy", how)
        super().put_texel(how, address, width, value, when)

    def reduce_texel(self, how: Use, address: int, combine: Callable[[Any], Any], when: int = 1) -> None:
        self.watcher.other(self, "proxy", how)
        super().reduce_texel(how, address, combine, when)

    def ask(self, name: str) -> int:
        self.op = number_at(self.launch.compiled, sys._getframe(1).f_lineno)
        self.watcher.other(self, "clock")
        return super().ask(name)

    def call(self, number: int, following: int) -> int:
        call = self.launch.compiled.ops[number].call
        assert call is not None
        name = call.name or self.launch.function_at(self.value(call.pointer))
        if not self.launch.program.functions[name].defined:
            self.op = number
            self.watcher.other(self, name)
        return super().call(number, following)

    # The same for as many bytes as the name says.

    read_1, read_2, read_4, read_8 = (short.watched_load(RunningThread, f"read_{n}", n) for n in (1, 2, 4, 8))
    write_1, write_2, write_4, write_8 = (short.watched_store(RunningThread, f"write_{n}", n) for n in (1, 2, 4, 8))
    read_global_1, read_global_2, read_global_4, read_global_8 = (
        short.watched_load(RunningThread, f"read_global_{n}", n) for n in (1, 2, 4, 8)
    )
    write_global_1, write_global_2, write_global_4, write_global_8 = (
        short.watched_store(RunningThread, f"write_global_{n}", n) for n in (1, 2, 4, 8)
    )
    read_shared_1, read_shared_2, read_shared_4, read_shared_8 = (
        short.watched_load(RunningThread, f"read_shared_{n}", n) for n in (1, 2, 4, 8)
    )
    write_shared_1, write_shared_2, write_shared_4, write_shared_8 = (
        short.watched_store(RunningThread, f"write_shared_{n}", n) for n in (1, 2, 4, 8)
    )


class _Quiet:
    """Nobody is told: the parts of an operation that was told as a whole."""

    def reads(self, thread: WatchedThread, address: int, size: int) -> None:
        pass

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        pass


_QUIET: Any = _Quiet()
