"""For which data a run stands: whose contents reach an address, a branch, a count, or else what decides what threads do.

A run has the same accesses, meetings and waits for all contents of a buffer where none of that is computed from them. What is
computed from what is told by the code alone, instruction by instruction, the same for all threads and at all times:

    a result       from what the instruction's operands are, and of an access from what is found there
    a place        holds what any instruction that writes there in the run has stored
    a load         from a buffer gives its contents, and what its places hold
    a product      of matrices that the manual leaves open gives what nothing determines
    strong writes  that may come in any order give so what they leave there, where that is not the same in each

and the run says where each instruction has accessed memory (`code.recording`). Suppose that with other contents a
thread does something else, and take the first such thing, in the order of the run. Up to there all threads have executed the
same instructions, at the same places; so what differs in its operands was computed as said here, from contents that differ.
So it is
enough that no such operand is among those that decide (`Dependence.deciding`). Where instructions move data that nobody has
noted, any place may hold what any other holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from axioms.dynamic.code.recording import GRANULE as _GRANULE
from axioms.dynamic.code.recording import Recorder
from ptxcore.machine.ir.windows import LOCAL, WINDOW_BITS
from ptxcore.machine.lower.liveness import writes
from ptxcore.machine.lower.ops import Code, ExecutableModule, Op, Source
from ptxcore.records import NamedTuple

#: Instructions that move data between registers and Tensor Memory, by their first words.
_TENSOR_MOVES = frozenset(("ld", "ld red", "st"))

#: Instructions that access memory where they say, at an address; of their sources some are stored.
_ACCESSES = frozenset(("ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix", "wmma"))
#: Sources of accesses that are no data; and of what only computes: of positions that have no meaning threads are told.
_NO_DATA = frozenset(("policy", "cache-policy", "stride"))
_JUDGED = frozenset(("e", "f"))
#: Instructions that compute of their kind, and have effects on nothing but registers; and values that are no such.
_COMPUTE = frozenset(("mma", "wmma", "movmatrix", "getctarank", "isspacep", "mapa", "createpolicy", "stacksave"))
_NOT_COMPUTED = frozenset(("cp", "mbarrier", "multimem", "suld", "sured", "sust", "tensormap", "tex", "tld4"))
_ATOMIC = frozenset(("atom", "red"))
#: The spaces of which watchers are told all accesses.
_TOLD = frozenset(("global", "shared", "shared::cluster"))
#: Instructions that copy within memory, of which the run says where; and those that multiply what registers and memory hold.
_COPIES, _MULTIPLIES = frozenset(("cp", "tensormap")), "wgmma"
#: The registers that are multiplied.
_MULTIPLIED = frozenset(("a",))
#: Instructions of Tensor Memory, their operands that are data, and those that are addresses there.
_TENSORS, _TENSOR_DATA = "tcgen05", frozenset(("r",))
_TENSOR_ADDRESSES = frozenset(("taddr", "d", "a", "scale_a", "scale_b", "sp_meta"))
#: Instructions whose operands all decide what threads do, and that move no data.
_DECIDE = frozenset(
    (
        "fence",
        "membar",
        "trap",
        "brkpt",
        "griddepcontrol",
        "alloca",
        "stackrestore",
        "mbarrier",
        "activemask",
        "clusterlaunchcontrol",
    )  # a response depends on who is cancelled alone
)
#: Of what threads of a warp or a CTA bring together: the sources that are data.
_BROUGHT: Mapping[str, str] = {"shfl": "a", "vote": "a", "match": "a", "redux": "a", "bar": "c", "barrier": "c"}


class BufferRead(NamedTuple):
    """An instruction of a launch (by number) that reads contents of a buffer; or (`buffer` is empty) gives something open."""

    buffer: str
    launch: int
    op: Op

    @property
    def kind(self) -> str:
        """`contents`; or an `allocation` of Tensor Memory, of which the manual leaves open where it is, what strong writes
        leave in memory as their `order` has it, or a `product` of matrices, of which the manual leaves open what it is."""
        form = self.op.use.form
        if self.buffer:
            return "contents"
        if form.mnemonic == _TENSORS and "alloc" in form.first.split():
            return "allocation"
        return "order" if form.mnemonic in ("st", *_ATOMIC, *_COPIES) else "product"


class Ran(NamedTuple):
    """A launch that was recorded. `buffers` has the names of segments by their numbers; `searched` the instructions by which
    threads look back (`lookback.lookbacks`), by their identity: what they find decides something. Those of `emulated` are polls
    of loops that go on equally whatever they find (`sections.emulated`): what such polls leave open decides nothing there."""

    recording: Recorder
    program: ExecutableModule
    buffers: Mapping[int, str]
    searched: frozenset[int] = frozenset()
    emulated: frozenset[int] = frozenset()


#: A place: of a buffer, by its name; of others, by launch and number; everywhere.
Place = str | tuple[int, int]
_EVERYWHERE = ""


class _Step(NamedTuple):
    """An instruction, as data flows through it: registers by function and slot. `stored` are those whose data goes to `places`;
    `loads`: what is found there is part of the results; where it `emulates`, but for what emulations leave open."""

    flows: tuple[int, ...]
    stored: tuple[int, ...]
    results: tuple[int, ...]
    places: tuple[Place, ...]
    loads: bool
    updates: bool
    own: int
    emulates: bool = False


class Dependence:
    """What is computed from whose contents, in some launches one after another. `deciding`: what reaches something that decides
    what threads do."""

    def __init__(self, launches: Sequence[Ran]) -> None:
        self.launches = launches
        self.reads: list[BufferRead] = []
        self._numbers: dict[tuple[int, str, int], int] = {}  # of registers: launch, function, slot
        self._steps: list[_Step] = []
        self._sinks: dict[int, None] = {}
        self._addresses: dict[int, None] = {}  # of Tensor Memory: who uses them asks where it is, and nothing else
        self._moves: list[tuple[int, int]] = []  # from a register to another
        self._emulated = 0  # what emulations leave open, as bits of reads
        self._seeds: dict[Place, int] = {}
        self._blurred = any(_is_blurring(op) for ran in launches for _, op in _ops(ran))
        for number, ran in enumerate(launches):
            self._prepare(number, ran)
        self._held: dict[Place, int] = dict(self._seeds)
        self._of = [0] * len(self._numbers)
        while self._pass():
            pass
        found = self._reads_in(self._sinks)
        found += [read for read in self._reads_in(self._addresses) if read.kind != "allocation" and read not in found]
        self.deciding = found

    def buffers(self) -> frozenset[str]:
        """The buffers whose contents decide something."""
        return frozenset(read.buffer for read in self.deciding if read.buffer)

    def held(self, buffer: str) -> list[BufferRead]:
        """The reads and products from which what is stored in a buffer may be computed."""
        bits = self._held.get(_EVERYWHERE if self._blurred else buffer, 0)
        return [read for i, read in enumerate(self.reads) if bits >> i & 1]

    def _reads_in(self, slots: Iterable[int]) -> list[BufferRead]:
        bits = 0
        for slot in slots:
            bits |= self._of[slot]
        return [read for i, read in enumerate(self.reads) if bits >> i & 1]

    # Before.

    def _prepare(self, number: int, ran: Ran) -> None:
        program = ran.program
        self._frames = _passes_in_frames(program)
        self._touched = ran.recording.touched()
        for _, op in _ops(ran):
            self._touched.setdefault(id(op.instruction), set())
        for code, op in _ops(ran):
            self._prepare_op(number, ran, program, code, op)
        for place, op in ran.recording.maps.items():
            self._prepare_map(number, ran, place, op)

    def _prepare_map(self, launch: int, ran: Ran, place: int, op: Op) -> None:
        """What is in a tensor map decides what is copied."""
        slot, name, own = self._register(launch, "", place), ran.buffers.get(-place), 0
        if name is not None:
            own = 1 << len(self.reads)
            self.reads.append(BufferRead(name, launch, op))
        where: Place = _EVERYWHERE if self._blurred else name or (-1, place)
        self._steps.append(_Step((), (), (slot,), (where,), True, False, own))
        self._sinks[slot] = None

    def _register(self, launch: int, function: str, slot: int) -> int:
        return self._numbers.setdefault((launch, function, slot), len(self._numbers))

    def _prepare_op(self, launch: int, ran: Ran, program: ExecutableModule, code: Code, op: Op) -> None:
        def registers(slots: Iterable[int]) -> tuple[int, ...]:
            return tuple(self._register(launch, code.name, slot) for slot in slots)

        carry = -1
        data, decides = _sources(op)
        flows = [s for source in data for s in _slots(source)]
        sinks = [s for source in decides for s in _slots(source)]
        if op.use.form.carry and "in" in op.use.form.carry.split():
            flows.append(carry)
        if op.guard is not None:
            (flows if computes(op) and op.use.form.kind != "warp" else sinks).append(op.guard[0])
        if op.call is not None:
            self._prepare_call(launch, program, code, op, sinks)
        self._sinks.update(dict.fromkeys(registers(sinks)))
        self._addresses.update(dict.fromkeys(registers(s for a in _tensor_addresses(op) for s in _slots(a))))
        places, own = self._places(launch, ran, code, op)
        mnemonic = op.use.form.mnemonic
        updates = mnemonic in (*_ATOMIC, *_COPIES) or (mnemonic == _TENSORS and op.use.form.first not in _TENSOR_MOVES)
        updates = updates or id(op.instruction) in ran.recording.products
        stores = bool(places) and (updates or not op.targets)
        results = registers(writes(op, carry) if op.call is None else ())
        if id(op.instruction) in ran.searched:
            self._sinks.update(dict.fromkeys(results))
        loads = bool(places) and (bool(results) or updates)
        if id(op.instruction) in ran.recording.products:
            own, loads = 1 << len(self.reads), True
            self.reads.append(BufferRead("", launch, op))
        emulates = id(op.instruction) in ran.emulated
        if emulates:
            self._sinks.update(dict.fromkeys(registers(s for source in op.sources[1:-1] for s in _slots(source))))
            self._emulated |= own if id(op.instruction) in ran.recording.products else 0
        step = _Step(
            registers(flows), registers(flows) if stores else (), results, places, loads, updates, own, emulates
        )
        if step.results or step.stored or step.updates:
            self._steps.append(step)

    def _places(self, launch: int, ran: Ran, code: Code, op: Op) -> tuple[tuple[Place, ...], int]:
        """The places that an instruction accesses, and its reads of buffers' contents as bits."""
        touched = self._touched[id(op.instruction)]
        given = op.use.space == "const" or (op.use.space == "param" and code.entry)
        if not touched and _accesses(op) and not given and op.use.space not in _TOLD:
            touched = {
                LOCAL >> _GRANULE
            }  # it is not executed, or of memory of the thread's own, of which nobody is told
        blurs = _is_blurring(op)
        names = {ran.buffers[-place] for place in touched if -place in ran.buffers}
        own = 0
        for name in sorted({*ran.buffers.values()} if blurs else names):
            own |= 1 << len(self.reads)
            self.reads.append(BufferRead(name, launch, op))
        if blurs:
            self._seeds[_EVERYWHERE] = self._seeds.get(_EVERYWHERE, 0) | own
        if blurs or (touched and self._blurred):
            return (_EVERYWHERE,), own
        found: dict[Place, None] = {}
        for place in touched:
            if place < 0:
                found[ran.buffers.get(-place) or (-1, place)] = None
            else:
                local = place >> WINDOW_BITS - _GRANULE == LOCAL >> WINDOW_BITS and self._frames
                found[launch, LOCAL >> _GRANULE if local else place] = None
        return tuple(found), own

    def _prepare_call(self, launch: int, program: ExecutableModule, code: Code, op: Op, sinks: list[int]) -> None:
        """Arguments go where the callee has its parameters, results come back; of functions that are not here all decide."""
        call = op.call
        assert call is not None
        sinks += _slots(call.pointer)
        called = [program.functions[call.name]] if call.name else list(program.functions.values())
        for callee in called:
            if not callee.defined:
                sinks += [s for argument in call.arguments for s in _slots(argument.source)]
                continue
            for argument, parameter in zip(call.arguments, callee.parameters, strict=False):
                if parameter.slot is not None:
                    to = self._register(launch, callee.name, parameter.slot)
                    self._moves += [(self._register(launch, code.name, s), to) for s in _slots(argument.source)]
                else:
                    self._to_frame(launch, [self._register(launch, code.name, s) for s in _slots(argument.source)])
            for result, given in zip(call.results, callee.results, strict=False):
                for to in _slots(result.source):
                    here = self._register(launch, code.name, to)
                    if given.slot is not None:
                        self._moves.append((self._register(launch, callee.name, given.slot), here))
                    else:
                        frames = ((launch, LOCAL >> _GRANULE),)
                        self._steps.append(_Step((), (), (here,), frames, True, False, 0))

    def _to_frame(self, launch: int, sources: list[int]) -> None:
        self._steps.append(_Step((), tuple(sources), (), ((launch, LOCAL >> _GRANULE),), False, False, 0))

    # What flows where.

    def _pass(self) -> bool:
        """One step of every instruction. Whether anything came on."""
        of, held, changed = self._of, self._held, False
        for step in self._steps:
            bits = 0
            for slot in step.flows:
                bits |= of[slot]
            if step.loads:
                bits |= step.own
                for place in step.places:
                    bits |= held.get(place, 0)
            given = bits & ~self._emulated if step.emulates else bits
            for slot in step.results:
                if given & ~of[slot]:
                    of[slot] |= given
                    changed = True
            if step.stored or step.updates:
                stored = bits if step.updates else 0
                for slot in step.stored:
                    stored |= of[slot]
                for place in step.places:
                    if stored & ~held.get(place, 0):
                        held[place] = held.get(place, 0) | stored
                        changed = True
        for source, to in self._moves:
            if of[source] & ~of[to]:
                of[to] |= of[source]
                changed = True
        return changed


def _ops(ran: Ran) -> Iterator[tuple[Code, Op]]:
    for code in ran.program.functions.values():
        for op in code.ops:
            yield code, op


def _passes_in_frames(program: ExecutableModule) -> bool:
    """Whether some call passes something on the stack: then all stacks are one place."""
    codes = program.functions.values()
    calls = [op.call for code in codes for op in code.ops if op.call is not None]
    passed = [p for call in calls for p in (*call.arguments, *call.results)]
    formal = [p for code in codes if not code.entry for p in (*code.parameters, *code.results)]
    return any(p.source is None for p in passed) or (bool(calls) and any(p.slot is None for p in formal))


def provenance(code: Code, op: Op) -> list[Op]:
    """The instructions that are more than a computation (loads, products of warpgroups, shuffles, ...) from whose results, by
    the code of a function alone, what an instruction stores may be computed; what a product adds to is part of its result."""
    by_slot: dict[int, list[Op]] = {}
    for other in code.ops:
        for slot in writes(other, -1):
            by_slot.setdefault(slot, []).append(other)
    found: list[Op] = []
    seen: set[int] = set()
    waiting = [slot for source in _sources(op)[0] for slot in _slots(source)]
    while waiting:
        for other in by_slot.get(waiting.pop(), ()):
            if id(other) not in seen:
                seen.add(id(other))
                found += [] if computes(other) else [other]
                waiting += [slot for source in _sources(other)[0] for slot in _slots(source)]
                waiting += writes(other, -1) if other.use.form.mnemonic == _MULTIPLIES else ()
    return found


def computes(op: Op) -> bool:
    """Whether an instruction does nothing but compute results from its operands."""
    form = op.use.form
    if _accesses(op):
        return False
    if form.mnemonic in _COMPUTE:
        return all(p.role != "memory" for p in form.pattern.parameters)
    return form.kind == "value" and form.mnemonic not in _NOT_COMPUTED


def _accesses(op: Op) -> bool:
    roles = {p.role for p in op.use.form.pattern.parameters}
    return op.use.form.mnemonic in _ACCESSES and "memory" in roles and "async" not in op.instruction.modifiers


def _is_blurring(op: Op) -> bool:
    """Whether an instruction may move data from and to places that nobody notes."""
    form = op.use.form
    if computes(op) or _accesses(op) or form.kind in ("branch", "jump", "call", "return", "exit", "nothing", "warp"):
        return False
    return form.mnemonic not in (*_DECIDE, *_BROUGHT, *_COPIES, _MULTIPLIES, _TENSORS)


def _sources(op: Op) -> tuple[list[Source | None], list[Source | None]]:
    """The operands of an instruction that are data, and those that decide what it does."""
    sources, form = list(op.sources), op.use.form
    if computes(op):
        if form.kind != "warp":
            return sources, []
        names = [p.name for p in form.pattern.parameters if p.role != "destination"]
        judged = [s for name, s in zip(names, sources, strict=False) if name in _JUDGED]
        return [s for name, s in zip(names, sources, strict=False) if name not in _JUDGED], judged
    if form.kind == "nothing":
        return [], []
    if form.mnemonic == _MULTIPLIES:
        named = _named(op)
        return [s for name, s in named if name in _MULTIPLIED], [s for name, s in named if name not in _MULTIPLIED]
    if form.mnemonic == _TENSORS:
        cells = _named(op)
        deciding = [s for name, s in cells if name not in (*_TENSOR_DATA, *_TENSOR_ADDRESSES)]
        return [s for name, s in cells if name in _TENSOR_DATA], deciding
    parameters = [p for p in form.pattern.parameters if p.role in ("memory", "source")]
    if len(parameters) < len(sources) or not (_accesses(op) or form.mnemonic in _BROUGHT):
        return ([], sources) if not _is_blurring(op) else (sources, sources)
    brought = _BROUGHT.get(form.mnemonic)
    data: list[Source | None] = []
    decides: list[Source | None] = []
    for parameter, source in zip(parameters, sources, strict=False):
        if brought is not None:
            is_data = parameter.name == brought
        else:
            is_data = parameter.role == "source" and parameter.name not in _NO_DATA
        (data if is_data else decides).append(source)
    return data, decides


def _named(op: Op) -> list[tuple[str, Source | None]]:
    """The operands of an instruction with their names."""
    wanted = [e.parameter.name for e in op.use.wanted if e.parameter.role != "destination"]
    return list(zip(wanted, op.sources, strict=False))


def _tensor_addresses(op: Op) -> list[Source | None]:
    """The operands of an instruction that are addresses in Tensor Memory."""
    if op.use.form.mnemonic != _TENSORS:
        return []
    return [source for name, source in _named(op) if name in _TENSOR_ADDRESSES]


def _slots(source: Source | None) -> list[int]:
    """The registers of an operand."""
    found: list[int] = []
    waiting = [source]
    while waiting:
        one = waiting.pop()
        if one is not None:
            waiting += one.parts
            if one.kind == "register":
                found.append(one.value)
    return found


__all__ = ["BufferRead", "Dependence", "Ran", "computes", "provenance"]
