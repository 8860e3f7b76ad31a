"""One thread of a kernel: its registers, frames and memory, and what meanings and compiled blocks ask of it.

It is one file because these ask one object for everything, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ptxcore.isa.effect_kinds import GRID, UPDATES, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import CONST, GLOBAL_BITS, LOCAL, PARAM, SHARED, SHARED_BITS, SHARED_OFFSET, WINDOW_BITS
from ptxcore.machine.lower.layout import DYNAMIC
from ptxcore.machine.lower.ops import CallTarget, Code, Op, Passed, Source
from ptxcore.machine.run import short, warpgroups
from ptxcore.machine.run.asynchronous import AsyncOperation, Boxed, Copy, CopyGroups
from ptxcore.machine.run.codegen import DONE
from ptxcore.machine.run.faults import UNDEFINED, Fault, ThreadName, fault, lacking
from ptxcore.machine.run.images import Images
from ptxcore.machine.run.memory import WRITTEN, MultimemAddresses, Segment, nowhere
from ptxcore.machine.run.runtime import call_extern
from ptxcore.machine.run.special import OF_THREAD, PlaceInCta
from ptxcore.machine.run.surroundings import CtaView, LaunchView
from ptxcore.machine.run.tensor_memory import TensorMemory, ThreadCells
from ptxcore.machine.run.uninitialised import UninitialisedRead, opaque, unknown
from ptxcore.values.tensor_boxes import BoxPiece
from ptxcore.values.tensor_map import ALIGNMENT as MAP_ALIGNMENT
from ptxcore.values.tensor_map import SIZE as MAP_SIZE

#: Bytes that the stack of one thread may take, and of them a call at least.
STACK = 512 << 10
_LEAST_FRAME = 16
_FRAME_ALIGN = 16
_OFFSET = (1 << WINDOW_BITS) - 1
_GLOBAL_OFFSET = (1 << GLOBAL_BITS) - 1
#: Where the addresses of state spaces lie, but for `.global`.
_WINDOWS = {"local": LOCAL, "const": CONST, "param": PARAM, "shared": SHARED}
#: Set in addresses that are rather before the next buffer than behind the one they belong to, which is never so large.
_BEFORE = 1 << (GLOBAL_BITS - 1)


class Suspended(Exception):
    """The instruction has to wait; it runs again when what it waits for has come."""


class Asleep(Suspended):
    """The thread sleeps for a while; the instruction runs again afterwards."""


class Polled(Exception):
    """The thread is about to look once more at what others may write: it is their turn."""


#: Rounds that commits of what is done to Tensor Memory take while threads get on, so that a missing wait shows.
_LATE = 16
#: Where a thread has slept that has not.
NOWHERE: frozenset[int] = frozenset()

#: What most threads never need is made when it is first asked for.
_RARE: dict[str, Callable[[], Any]] = {
    "bulk": CopyGroups,
    "copies": CopyGroups,
    "products": warpgroups.Products,
    "local": lambda: Segment(0, "the thread's stack", known=False),
}


class RunningThread(Images):
    """`R`, the registers, and `base`, the address of the frame, are those of the function that runs. `answer` is what the
    instruction that waited gets when it runs again."""

    __slots__ = (
        "R", "answer", "answered", "base", "bulk", "carry", "copied", "copies", "cta", "done", "dynamic", "frames",
        "globals", "index", "insists", "lane", "launch", "local", "op", "passed", "pc", "polled", "products", "seen", "shared",
        "slept", "special", "spun", "stuck", "top", "waiting", "warp",
    )  # fmt: skip

    bulk: CopyGroups
    copies: CopyGroups
    products: warpgroups.Products
    local: Segment
    #: What stands for its asynchronous copies.
    makes: type[Copy] = Copy
    moves: type[Boxed] = Boxed
    #: What stands for a product of its warpgroup.
    multiplies: type[warpgroups.Product] = warpgroups.Product

    def __init__(self, launch: LaunchView, cta: CtaView, place: PlaceInCta, code: Code) -> None:
        self.launch, self.cta = launch, cta
        self.index, self.warp, self.lane, self.special = place
        self.globals = launch.memory.segments
        self.shared = SHARED | cta.rank << SHARED_BITS
        self.dynamic = self.shared + launch.dynamic_start
        self.base, self.top = LOCAL, 0
        self.R: list[Any] = [UNDEFINED] * len(code.registers)
        self.frames: list[tuple[Any, ...]] = []
        self.pc = launch.compiled.entries[code.name]
        self.carry: Any = UNDEFINED
        self.done = self.answered = self.copied = False
        self.answer: Any = None
        self.waiting: str | Callable[[], str] = ""
        self.op = 0
        #: Where it slept without getting on, and whether it goes on at once when it would sleep again.
        self.slept = NOWHERE
        self.insists = False
        #: The block in which it looked last at what others may write, its registers then, and whether they stay the same.
        self.polled = self.spun = -1
        self.stuck = False
        self.seen: list[list[Any]] = []
        #: The number of the cluster's barrier at which it arrived last; None behind the wait for it.
        self.passed: int | None = None
        if code.frame:
            self._enter(code)

    def __getattr__(self, name: str) -> Any:
        if name not in _RARE:
            raise AttributeError(name)
        made = _RARE[name]()
        setattr(self, name, made)
        return made

    @property
    def name(self) -> ThreadName:
        return ThreadName(self.cta.index, self.index)

    # Memory.

    def segment(self, address: int) -> tuple[Segment, int]:
        """The memory that an address lies in, and the offset there. Raises Fault where there is none."""
        following = self.globals.get((address >> GLOBAL_BITS) + 1) if address & _BEFORE else None
        if following is not None:
            before = -address & _GLOBAL_OFFSET
            raise fault("out-of-bounds", f"out of bounds: {before} bytes before the start of '{following.name}'")
        if address > _GLOBAL_OFFSET:
            found = self.globals.get(address >> GLOBAL_BITS)
            if found is None:
                raise fault("out-of-bounds", nowhere(address))
            return found, address & _GLOBAL_OFFSET
        window = address & ~_OFFSET
        if window == SHARED:
            ctas = self.cta.cluster
            rank = address >> SHARED_BITS & 15
            if rank >= len(ctas):
                raise fault("out-of-bounds", f"out of bounds: the cluster has {len(ctas)} CTAs, no rank {rank}")
            return ctas[rank].shared, address & SHARED_OFFSET
        offset = address & _OFFSET
        if window == LOCAL:
            return self.local, offset
        if window == PARAM:
            return self.launch.parameters, offset
        if window == CONST:
            return self.launch.constants, offset
        raise fault("out-of-bounds", nowhere(address))

    def read(self, address: int, size: int) -> int:
        """The little-endian number of `size` bytes at an address. Raises Fault."""
        if address & (size - 1):
            raise fault("misaligned", f"misaligned: {size} bytes at {self.place(address)}")
        segment, offset = self.segment(address)
        value = segment.read(offset, size)
        if type(value) is not int:
            value.read_by(self.launch.running())  # type: ignore[attr-defined]
        return value

    def write(self, address: int, size: int, value: int) -> None:
        """Writes the low bytes of a number. Raises Fault."""
        if address & (size - 1):
            raise fault("misaligned", f"misaligned: {size} bytes at {self.place(address)}")
        segment, offset = self.segment(address)
        segment.write(offset, size, value)

    def read_global(self, address: int, size: int) -> int:
        """As `read`, of the global space. Raises Fault also for addresses of other spaces."""
        if not address > _GLOBAL_OFFSET:
            self._outside(address, "global")
        return self.read(address, size)

    def write_global(self, address: int, size: int, value: int) -> None:
        """As `write`, of the global space."""
        if not address > _GLOBAL_OFFSET:
            self._outside(address, "global")
        self.write(address, size, value)

    def read_shared(self, address: int, size: int) -> int:
        """As `read`, of the CTA's shared memory. Raises Fault also for addresses of other spaces."""
        if address & ~SHARED_OFFSET != self.shared:
            self._outside(address, "shared")
        return self.read(address, size)

    def write_shared(self, address: int, size: int, value: int) -> None:
        """As `write`, of the CTA's shared memory."""
        if address & ~SHARED_OFFSET != self.shared:
            self._outside(address, "shared")
        self.write(address, size, value)

    # The same for as many bytes as the name says, on a short way where it can be gone: what compiled code calls.

    read_1, read_2, read_4, read_8 = short.loads(read)
    write_1, write_2, write_4, write_8 = short.stores(write)
    read_global_1, read_global_2, read_global_4, read_global_8 = short.loads(read_global)
    write_global_1, write_global_2, write_global_4, write_global_8 = short.stores(write_global)
    read_shared_1, read_shared_2, read_shared_4, read_shared_8 = short.shared_loads(read_shared)
    write_shared_1, write_shared_2, write_shared_4, write_shared_8 = short.shared_stores(write_shared)

    def of(self, space: str, address: int) -> int:
        """An address of the space that the instruction names. Raises Fault where it is not one."""
        base = space.partition("::")[0]
        if space == "global":
            inside = address > _GLOBAL_OFFSET
        elif space in ("shared", "shared::cta"):
            inside = address & ~SHARED_OFFSET == self.shared
        else:
            inside = address & ~_OFFSET == _WINDOWS.get(base, address & ~_OFFSET)
        if not inside:
            self._outside(address, base)
        return address

    def _outside(self, address: int, space: str) -> None:
        """Raises the fault of an address that is not in the space which the instruction names."""
        if space == "shared" and SHARED > address >= SHARED - _OFFSET:
            raise fault("out-of-bounds", f"out of bounds: {SHARED - address} bytes before shared memory")
        if address:
            self.segment(address)
            if space == "shared" and address & ~_OFFSET == SHARED:
                raise fault("wrong-space", f"{self.place(address)} is in another CTA, which .shared::cluster reaches")
            raise fault("wrong-space", f"{self.place(address)} is not in .{space} memory")

    def place(self, address: int) -> str:
        """An address in words."""
        try:
            segment, offset = self.segment(address)
        except Fault:
            return f"address {address:#x}"
        return f"address {address:#x} (offset {offset} of '{segment.name}')"

    def divided_by_zero(self, number: int) -> Any:
        """The result of a division by zero, which is unknown (sections 9.7.1.8 and 9.7.1.9)."""
        op = self.launch.compiled.ops[number]
        return opaque(op.targets[0].has, UninitialisedRead("division-by-zero", "division by zero", op))

    # What meanings ask (`ptxcore.isa.thread.Thread`).

    def load(self, how: Use, address: int) -> Any:
        size, count = how.width // 8, int((how.words["vec"] or "v1")[1:])
        self.of(how.space, address)
        whole = int(self.read(address, size * count))  # what is unknown says so
        if count == 1:
            return whole
        return tuple(whole >> i * how.width & ((1 << how.width) - 1) for i in range(count))

    def store(self, how: Use, address: int, value: Any) -> None:
        size = how.width // 8
        parts = value if isinstance(value, tuple) else (value,)
        self.of(how.space, address)
        whole = 0
        for i, part in enumerate(parts):
            whole |= (part & ((1 << how.width) - 1)) << i * how.width
        self.write(address, size * len(parts), whole)

    def modify(self, kind: str, how: Use, address: int, write: Callable[[Any], tuple[Any, Any]]) -> Any:
        """An atomic read-modify-write; nothing comes between, since threads take turns between instructions. What stands
        where a barrier object is to be may never have been written."""
        if kind not in UPDATES:  # barrier objects are in shared memory, whichever way they are addressed
            self.of("shared::cluster", address)
        old = None if kind == "init" else self.load(how, address)
        value, writes = write(old)
        if writes:
            self.store(how, address, value)
        return old

    def effect(self, kind: EffectKind, how: Use, **fields: Any) -> Any:
        """Fences and hints: the memory here is sequentially consistent. Grids wait for those that they depend on."""
        if kind is GRID and not self.launch.dependence.control(self, fields["operation"]):
            self.waiting = "waits for the grid that its own depends on"
            raise Asleep

    def barrier(self, action: str, how: Use, **fields: Any) -> Any:
        if self.answered:
            return self._answer()
        return self.cta.arrive(self, action, how, **fields)

    def collective(self, op: int, arguments: tuple[Any, ...]) -> Any:
        """An instruction that the threads of a warp execute together."""
        if self.answered:
            return self._answer()
        return self.cta.warps[self.warp].join(self, op, arguments)

    def _answer(self) -> Any:
        answer, self.answer, self.answered = self.answer, None, False
        return answer

    def wake(self, answer: Any = None) -> None:
        """What the thread waits for has come."""
        self.answer, self.answered, self.waiting = answer, True, ""
        self.cta.ready.append(self)

    def suspend(self, why: str | Callable[[], str]) -> Suspended:
        """To be raised by the caller: the instruction waits. `why` is asked only where it must be told."""
        self.waiting = why
        return Suspended()

    def in_space(self, address: int, space: str) -> int:
        base = space.partition("::")[0]
        if base == "global":
            return int(address > _GLOBAL_OFFSET)
        inside = address & ~_OFFSET == _WINDOWS.get(base, -1)
        own = address >> SHARED_BITS & 15 == self.cta.rank
        return int(inside and (space != "shared::cta" or own))

    def map_address(self, how: Use, address: int, rank: int) -> int:
        return SHARED | (rank & 15) << SHARED_BITS | (address & SHARED_OFFSET)

    def rank_of(self, how: Use, address: int) -> int:
        return address >> SHARED_BITS & 15

    # Asynchronous operations.

    def require(self, condition: int, kind: str, message: str) -> None:
        if not condition:
            raise fault(kind, message)

    def defer(self, how: Use, action: Callable[[], None]) -> None:
        operation = AsyncOperation(self, action)
        if how.form.mnemonic == "tcgen05":
            operation.late = _LATE
        self.launch.later(operation)

    def after_copies(self, how: Use, action: Callable[[], None]) -> None:
        copies = self.copies.outstanding()

        def complete() -> None:
            for copy in copies:
                copy.finish()
            action()

        self.defer(how, complete)

    def replicas(self, how: Use, address: int) -> list[int]:
        found = self.globals.get(address >> GLOBAL_BITS)
        if not isinstance(found, MultimemAddresses):
            raise fault("bad-multimem", f"{self.place(address)} is no multimem address")
        return [base + (address & _GLOBAL_OFFSET) for base in found.bases]

    def pause(self, how: Use, ready: int) -> int:
        if ready or self.insists:
            self.insists = False
            return ready
        op = self.launch.compiled.ops[self.op]
        self.waiting = lambda: f"waits at '{op.name}'{self._lacking(op)}"
        raise Asleep

    def _lacking(self, op: Op) -> str:
        """What the phase lacks that a thread waits for at an mbarrier object."""
        source = op.sources[0]
        assert source is not None
        address = self.value(source) + (source.offset if source.kind == "register" else 0)
        segment, first = self.segment(address)
        lacks = lacking(segment.read(first, 8))
        return f" for a phase that {lacks}" if lacks else ""

    def copy(
        self,
        how: Use,
        to: int,
        source: int,
        size: int,
        *,
        fill: int = 0,
        selected: int = 0xFFFF,
        combine: Callable[[Any, Any], Any] | None = None,
        when: int = 1,
        after: Callable[[], None] | None = None,
    ) -> None:
        if not when:
            return
        self.copied = True
        for space, address in zip(how.form.ordered.split(), (to, source), strict=False):
            self.of(how.words[space] if space == "dst" else space, address)
        self._begin(how, self.makes(self, to, source, size, fill, selected, combine, how.width // 8, after))

    def _begin(self, how: Use, begun: Copy) -> None:
        if begun.after is not None:
            self.launch.later(begun)
            return
        self._groups(how).open.append(begun)
        if self.launch.random is not None and self.launch.random.getrandbits(1):
            begun.finish()

    def tensor_map(self, how: Use, address: int) -> bytes:
        segment, offset = self.segment(address)
        if address & (MAP_ALIGNMENT - 1):
            raise fault("misaligned", f"misaligned: a tensor map at {self.place(address)}")
        return segment.read(offset, MAP_SIZE).to_bytes(MAP_SIZE, "little")

    def cases(self, how: Use, values: Sequence[int], when: int) -> Iterable[tuple[int, tuple[int, ...]]]:
        return [(1, tuple(values))] if when else []

    def copy_box(
        self,
        how: Use,
        pieces: Sequence[BoxPiece],
        *,
        stores: bool,
        filling: tuple[int, int],
        width: int,
        combine: Callable[[Any, Any], Any] | None = None,
        when: int = 1,
        after: Callable[[], None] | None = None,
    ) -> None:
        self.copied = True
        space = "shared::cta" if stores else next(w for w in how.form.ordered.split() if w != "global")
        for piece in pieces:
            self.of(space, piece.shared)
        self._begin(how, self.moves(self, pieces, stores, filling, combine, width // 8, after))

    def leads(self, how: Use) -> bool:
        return True  # whoever comes first: what the others do then changes nothing

    def unable(self, how: Use, why: str) -> None:
        raise fault("not-executed", why)

    def _groups(self, how: Use) -> CopyGroups:
        return self.bulk if how.words["bulk"] else self.copies

    def clear(self, how: Use, address: int, size: int) -> None:
        segment, offset = self.segment(address)
        segment.writes(offset, size)
        segment.data[offset : offset + size] = bytes(size)
        if segment.known is not None:
            segment.known[offset : offset + size] = WRITTEN * size

    def multiply(self, how: Use, sources: tuple[Any, ...]) -> Any:
        if self.answered:
            return self._answer()
        return warpgroups.join(self, how, sources)

    def products_of_warpgroup(self, how: Use, action: str, pending: int = 0) -> list[Any]:
        return warpgroups.act(self, action, pending)

    def commit(self, how: Use) -> None:
        self._groups(how).commit()

    def wait(self, how: Use, pending: int) -> None:
        self._groups(how).wait(pending, reads=bool(how.words["read"]))

    def finish_copies(self) -> None:
        """All copies of the thread that are still under way."""
        if not self.copied:
            return
        for groups in (self.copies, self.bulk, self.products):
            for copy in groups.outstanding():
                copy.finish()

    def tensor_memory(self, how: Use) -> ThreadCells:
        memory = self.cta.tensor_memory
        if memory is None:
            memory = self.cta.tensor_memory = TensorMemory()
        return ThreadCells(self, memory, how)

    def ranks(self, how: Use) -> range:
        return range(len(self.cta.cluster))

    def cancel_cluster(self, how: Use) -> tuple[int, int, int] | None:
        return self.launch.cancel()

    def ask(self, name: str) -> int:
        """A special register that changes while the thread runs."""
        return self.launch.clock(name)

    def refuse(self, number: int) -> None:
        """An instruction that is read and checked, and has no meaning here yet."""
        raise fault("not-executed", f"'{self.launch.compiled.ops[number].name}' cannot be executed yet")

    def stop(self, how: Use, reason: str) -> None:
        raise fault(reason, f"the kernel executes '{reason}'")

    # The stack.

    def allocate(self, how: Use, size: int, alignment: int) -> int:
        self.top = -(-self.top // alignment) * alignment
        address = LOCAL + self.top
        self._grow(size)
        return address

    def stack_pointer(self, restored: int | None = None) -> int:
        if restored is not None:
            self.top = restored & _OFFSET
        return LOCAL + self.top

    def _grow(self, size: int) -> None:
        if not size:
            return
        self.top += size
        if self.top > STACK:
            raise fault("stack-overflow", f"stack overflow: more than {STACK} bytes")
        local = self.local
        if self.top > local.size:
            more = self.top - local.size
            local.data += bytes(more)
            assert local.known is not None
            local.known += bytes(more)
            local.size = self.top
        assert local.known is not None
        local.known[self.top - size : self.top] = bytes(size)

    def _enter(self, code: Code) -> None:
        self.top = -(-self.top // _FRAME_ALIGN) * _FRAME_ALIGN
        self.base = LOCAL + self.top
        self._grow(code.frame)

    # Control.

    def polls(self, block: int) -> None:
        """A block begins that looks at what others may write. Raises Polled when it is the same one as before."""
        if self.polled == block:
            self.polled = -1
            raise Polled
        self.polled = block

    def rests(self) -> bool:
        """Whether it has just looked in vain at what others may write."""
        return self.stuck and self.polled < 0

    def spins(self, block: int) -> bool:
        """Whether a long turn ends where the one before ended, and changed nothing."""
        before, self.spun = self.spun, block
        return self.unchanged() and before == block

    def unchanged(self) -> bool:
        """Whether the registers are as they were when this was asked before."""
        now = [self.R, *(frame[0] for frame in self.frames)]
        try:
            if now == self.seen:
                return True
        except Fault:
            pass
        self.seen = [registers[:] for registers in now]
        return False

    def jump(self, table: tuple[int, ...], index: int) -> int:
        if index >= len(table):
            raise fault("bad-branch", f"index {index} of a branch with {len(table)} targets")
        return table[index]

    def leave(self, entry: bool) -> int:
        """Ends the thread, or goes back to where its function was called; gives the block that follows."""
        if entry or not self.frames:
            self.done = True
            self.finish_copies()
            return DONE
        registers, base, following, results, code, top = self.frames.pop()
        inner, inner_base = self.R, self.base
        self.R, self.base, self.top = registers, base, top
        for passed, formal in zip(results, code.results, strict=False):
            if formal.slot is None:
                data, known = self._bytes(inner_base + formal.offset, formal.size)
                self._put(base, passed, data, known)
            else:
                self.put_value(base, passed, inner[formal.slot], formal.size)
        return int(following)

    def call(self, number: int, following: int) -> int:
        """Calls a function; gives the block to run."""
        call = self.launch.compiled.ops[number].call
        assert call is not None
        name = call.name or self.launch.function_at(self.value(call.pointer))
        code = self.launch.program.functions[name]
        if not code.defined:
            call_extern(self, name, call)
            return following
        if call.pointer is not None and not _fits(call, code):
            raise fault("bad-call", f"a call goes to '{name}' with other arguments or results than it has")
        if len(self.frames) >= STACK // _LEAST_FRAME:
            raise fault("stack-overflow", f"stack overflow: {len(self.frames)} calls within each other")
        outer, base, top = self.R, self.base, self.top
        inner: list[Any] = [UNDEFINED] * len(code.registers)
        self._enter(code)
        for passed, formal in zip(call.arguments, code.parameters, strict=False):
            if formal.slot is not None:
                inner[formal.slot] = self.passed_value(passed, outer, base)
            elif passed.source is None:
                data, known = self._bytes(base + passed.offset, min(passed.size, formal.size))
                self._put(self.base, Passed(None, formal.offset, formal.size), data, known)
            else:
                value = self.passed_value(passed, outer, base)
                self.write(self.base + formal.offset, formal.size, value)
        self.frames.append((outer, base, following, call.results, code, top))
        self.R = inner
        return self.launch.compiled.entries[code.name]

    def value(self, source: Source | None) -> int:
        """The value of a source that no compiled code reads."""
        assert source is not None
        if source.kind == "register":
            value: int = self.R[source.value]
            return value
        if source.kind == "frame":
            return self.base + source.value + source.offset
        if source.kind == "shared":
            if source.value == DYNAMIC:
                return self.dynamic + source.offset
            return self.shared + self.launch.program.layout.shared_variables[source.value].offset + source.offset
        if source.kind == "special":
            return (self if source.name in OF_THREAD else self.cta).special[source.name]
        return source.value + source.offset

    def passed_value(self, passed: Passed, registers: list[Any], base: int) -> Any:
        if passed.source is None:
            return _number(*self._bytes(base + passed.offset, passed.size))
        if passed.source.kind == "register":
            return registers[passed.source.value]
        return self.value(passed.source)

    def _bytes(self, address: int, size: int) -> tuple[bytes, bytes]:
        """Bytes of the stack, and which of their bits were written."""
        offset = address & _OFFSET
        assert self.local.known is not None
        return bytes(self.local.data[offset : offset + size]), bytes(self.local.known[offset : offset + size])

    def _put(self, base: int, passed: Passed, data: bytes, known: bytes) -> None:
        if passed.source is not None:
            if passed.source.kind == "register":
                self.R[passed.source.value] = _number(data, known)
            return
        offset = (base + passed.offset) & _OFFSET
        assert self.local.known is not None
        self.local.data[offset : offset + len(data)] = data
        self.local.known[offset : offset + len(known)] = known

    def put_value(self, base: int, passed: Passed, value: Any, size: int) -> None:
        if passed.source is not None:
            self.R[passed.source.value] = value
        elif value is not UNDEFINED:
            self.write(base + passed.offset, size, value)


def idle(sleepers: Sequence[RunningThread]) -> bool:
    """Whether threads that sleep are as they were when that was asked before; each is asked, for the next time."""
    return bool(sleepers) and not [thread for thread in sleepers if not thread.unchanged()]


def _fits(call: CallTarget, code: Code) -> bool:
    """Whether a call by address gives a function what it takes, and takes what it gives."""
    pairs = ((call.arguments, code.parameters), (call.results, code.results))
    return all(
        len(passed) == len(formal)
        and all(p.source is not None or p.size == f.size for p, f in zip(passed, formal, strict=True))
        for passed, formal in pairs
    )


def _number(data: bytes, known: bytes) -> Any:
    """The little-endian number of bytes, which may be known in part."""
    if known.count(WRITTEN) == len(known):
        return int.from_bytes(data, "little")
    if not any(known):
        return UNDEFINED
    return unknown(data, known, "an argument or a result was written in part")
