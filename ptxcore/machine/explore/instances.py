"""Functions put in the place of their calls: their registers side by side, their frames on one stack, and how an
instruction of one reads and writes these."""

from __future__ import annotations

from collections.abc import Collection

from ptxcore.clock import tick
from ptxcore.diagnostics import fail
from ptxcore.isa import data_movement
from ptxcore.machine.explore.observable import never_written
from ptxcore.machine.explore.unspelled import GivenValue, Taken, same, step_of
from ptxcore.machine.ir.operands import Fetch, constant, fetch
from ptxcore.machine.ir.steps import InstructionStep
from ptxcore.machine.ir.steps import ResultTarget as StepTarget
from ptxcore.machine.ir.windows import GLOBAL_BITS, LOCAL
from ptxcore.machine.lower.graph import BlockGraph, InlinedFunction
from ptxcore.machine.lower.layout import DYNAMIC
from ptxcore.machine.lower.mem2reg import direct, promotable
from ptxcore.machine.lower.ops import Code, ExecutableModule, FormalParameter, Op, Passed, Source

#: As many blocks a kernel may become when its calls are put in place.
_MOST_BLOCKS = 20_000
#: The register that has the address of the shared memory of the thread's CTA.
SHARED_BASE = "shared memory"


class Instances(BlockGraph):
    """The blocks and the registers of a kernel while its functions are put in place."""

    def __init__(self, program: ExecutableModule, entry: str, off: Collection[str]) -> None:
        super().__init__()
        self.program, self.entry, self.off = program, entry, off
        self.widths: list[int] = []
        self.names: list[str] = []
        self.special: dict[str, int] = {}
        self.stack = 0
        self.never_written = never_written(program)

    # Blocks and registers.

    def block(self) -> int:
        if len(self.blocks) >= _MOST_BLOCKS:
            span = self.program.functions[self.entry].ops[0].instruction.span
            raise fail(
                span, f"'{self.entry}' is too large to explore: more than {_MOST_BLOCKS} blocks with its calls in place"
            )
        return super().block()

    def register(self, name: str, width: int) -> int:
        self.names.append(name)
        self.widths.append(width)
        return len(self.names) - 1

    def special_register(self, name: str, width: int) -> int:
        found = self.special.get(name)
        if found is None:
            found = self.special[name] = self.register(f"%{name}", width)
        return found

    def instance(self, code: Code, frame: int, back: int, around: tuple[str, ...]) -> InlinedFunction:
        first = len(self.names)
        self.names += [name.lstrip("%") for name in code.registers]
        self.widths += code.widths
        self.stack = max(self.stack, frame + code.frame - LOCAL)
        made = InlinedFunction(code, first, frame, back, (*around, code.name))
        if any(op.use.form.carry for op in code.ops):
            made.carry = self.register("the carry flag", 1)
        places, made.is_promoted = frozenset[tuple[int, int]](), False
        if "mem2reg" not in self.off:
            places, made.is_promoted = promotable(code, self.program)
        made.promoted = {place: self.register("the stack", 8 * place[1]) for place in sorted(places)}
        return made

    # What goes from caller to callee, and back: from a register or a place on the stack, to one.

    def given(self, at: InlinedFunction, passed: Passed) -> GivenValue:
        if passed.source is not None:
            return self.source(at, passed.source)
        return self.on_stack(at, passed.offset, passed.size)

    def returned(self, inner: InlinedFunction, formal: FormalParameter) -> GivenValue:
        if formal.slot is None:
            return self.on_stack(inner, formal.offset, formal.size)
        register = inner.registers + formal.slot
        return fetch(register, 8 * formal.size, 8 * formal.size, False), (register,)

    def on_stack(self, at: InlinedFunction, offset: int, size: int) -> GivenValue:
        register = at.promoted.get((offset, size))
        if register is None:
            return at.frame + offset
        return fetch(register, 8 * size, 8 * size, False), (register,)

    def taking(self, inner: InlinedFunction, formal: FormalParameter) -> Taken:
        if formal.slot is None:
            return self.to_stack(inner, formal.offset, formal.size)
        return StepTarget(inner.registers + formal.slot, 8 * formal.size, 8 * formal.size, False)

    def wanted(self, at: InlinedFunction, passed: Passed, size: int) -> Taken:
        if passed.source is None:
            return self.to_stack(at, passed.offset, passed.size)
        return StepTarget(at.registers + passed.source.value, 8 * size, passed.source.has, False)

    def to_stack(self, at: InlinedFunction, offset: int, size: int) -> Taken:
        register = at.promoted.get((offset, size))
        return at.frame + offset if register is None else StepTarget(register, 8 * size, 8 * size, False)

    # Instructions.

    def steps(self, at: InlinedFunction, op: Op) -> list[InstructionStep]:
        tick()
        place = direct(op)
        register = at.promoted.get(place) if place is not None else None
        return super().steps(at, op) if register is None else [self.promoted(at, op, register)]

    def promoted(self, at: InlinedFunction, op: Op, register: int) -> InstructionStep:
        """A load or store of a place on the stack that is a register."""
        width, guard = op.use.width, self.guard(at, op)
        if op.use.form.run is data_movement.st:
            stored = op.sources[1]
            assert stored is not None
            source, reads = self.source(at, stored)
            target = StepTarget(register, width, width, False)
            return step_of(op, "value", same, guard=guard, sources=(source,), reads=reads, targets=(target,))
        value = fetch(register, width, width, False)
        return step_of(
            op,
            "value",
            same,
            guard=guard,
            sources=(value,),
            reads=(register,),
            targets=tuple(self.targets(at, op.targets)),
        )

    def access(self, op: Op) -> tuple[str, int]:
        """What is never written is constant, whatever it is declared as."""
        first = op.sources[0] if op.sources else None
        if op.use.form.run is data_movement.ld and first is not None and first.kind == "constant":
            buffer = first.value >> GLOBAL_BITS << GLOBAL_BITS
            if buffer in self.never_written:
                return "const", op.use.width
        return super().access(op)

    def fetch(self, at: InlinedFunction, op: Op, source: Source | None, block: int) -> tuple[Fetch, tuple[int, ...]]:
        assert source is not None
        return self.source(at, source, op, self.blocks[block].steps)

    def placed(self, at: InlinedFunction, source: Source) -> tuple[Fetch, tuple[int, ...]]:
        if source.kind == "frame":
            return constant(at.frame + source.value + source.offset), ()
        if source.kind == "special":
            return self.from_register(self.special_register(source.name, source.has), source)
        assert source.kind == "shared"
        whole = Source("special", offset=self.shared(source))
        return self.from_register(self.special_register(SHARED_BASE, 64), whole)

    def shared(self, source: Source) -> int:
        layout = self.program.layout
        if source.value == DYNAMIC:
            return layout.dynamic(self.entry) + source.offset
        return layout.shared_variables[source.value].offset + source.offset
