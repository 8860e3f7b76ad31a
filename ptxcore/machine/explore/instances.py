"""Functions put in the place of their calls: their registers side by side, their frames on one stack, and how an
instruction of one reads and writes these."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ptxcore.clock import tick
from ptxcore.diagnostics import fail
from ptxcore.isa import data_movement
from ptxcore.machine.explore.observable import never_written
from ptxcore.machine.explore.unspelled import Given, Taken, same, step_of
from ptxcore.machine.ir.operands import Fetch, Read, constant, fetch, together
from ptxcore.machine.ir.steps import CHANGING, Step, asking, assembled
from ptxcore.machine.ir.steps import Target as StepTarget
from ptxcore.machine.ir.windows import GLOBAL_BITS, LOCAL
from ptxcore.machine.lower.layout import DYNAMIC
from ptxcore.machine.lower.mem2reg import direct, promotable
from ptxcore.machine.lower.ops import DROPPED, Code, Op, Parameter, Passed, Program, Source, Target
from ptxcore.values.terms import add, mask

#: As many blocks a kernel may become when its calls are put in place.
_MOST_BLOCKS = 20_000
#: The register that has the address of the shared memory of the thread's CTA.
SHARED_BASE = "shared memory"


@dataclass(slots=True)
class Building:
    """A block that is being made."""

    steps: list[Step] = field(default_factory=list)
    end: Step | None = None
    target: int | None = None
    follows: int | None = None
    label: str = ""


@dataclass(slots=True)
class Instance:
    """A function put in the place of a call: its first register, its frame, where it goes on when it returns, and the
    functions around it."""

    code: Code
    registers: int
    frame: int
    back: int
    around: tuple[str, ...]
    carry: int = -1
    #: The registers of places in the frame that are as good as registers, by offset and bytes; whether all of them are.
    promoted: dict[tuple[int, int], int] = field(default_factory=dict)
    is_promoted: bool = False


class Instances:
    """The blocks and the registers of a kernel while its functions are put in place."""

    def __init__(self, program: Program, entry: str, off: Collection[str]) -> None:
        self.program, self.entry, self.off = program, entry, off
        self.blocks: list[Building] = []
        self.widths: list[int] = []
        self.names: list[str] = []
        self.special: dict[str, int] = {}
        self.stack = 0
        self.never_written = never_written(program)

    # Blocks and registers.

    def block(self, label: str = "") -> int:
        if len(self.blocks) >= _MOST_BLOCKS:
            span = self.program.functions[self.entry].ops[0].instruction.span
            raise fail(
                span, f"'{self.entry}' is too large to explore: more than {_MOST_BLOCKS} blocks with its calls in place"
            )
        self.blocks.append(Building(label=label))
        return len(self.blocks) - 1

    def register(self, name: str, width: int) -> int:
        self.names.append(name)
        self.widths.append(width)
        return len(self.names) - 1

    def special_register(self, name: str, width: int) -> int:
        found = self.special.get(name)
        if found is None:
            found = self.special[name] = self.register(f"%{name}", width)
        return found

    def instance(self, code: Code, frame: int, back: int, around: tuple[str, ...]) -> Instance:
        first = len(self.names)
        self.names += [name.lstrip("%") for name in code.registers]
        self.widths += [1] * len(code.registers)
        self.stack = max(self.stack, frame + code.frame - LOCAL)
        made = Instance(code, first, frame, back, (*around, code.name))
        if any(op.use.form.carry for op in code.ops):
            made.carry = self.register("the carry flag", 1)
        for parameter in (*code.parameters, *code.results):
            if parameter.slot is not None:
                self.widths[first + parameter.slot] = 8 * parameter.size
        places, made.is_promoted = frozenset[tuple[int, int]](), False
        if "mem2reg" not in self.off:
            places, made.is_promoted = promotable(code, self.program)
        made.promoted = {place: self.register("the stack", 8 * place[1]) for place in sorted(places)}
        return made

    # What goes from caller to callee, and back: from a register or a place on the stack, to one.

    def given(self, at: Instance, passed: Passed) -> Given:
        if passed.source is not None:
            return self.source(at, passed.source)
        return self.on_stack(at, passed.offset, passed.size)

    def returned(self, inner: Instance, formal: Parameter) -> Given:
        if formal.slot is None:
            return self.on_stack(inner, formal.offset, formal.size)
        register = inner.registers + formal.slot
        return fetch(register, 8 * formal.size, 8 * formal.size, False), (register,)

    def on_stack(self, at: Instance, offset: int, size: int) -> Given:
        register = at.promoted.get((offset, size))
        if register is None:
            return at.frame + offset
        return fetch(register, 8 * size, 8 * size, False), (register,)

    def taking(self, inner: Instance, formal: Parameter) -> Taken:
        if formal.slot is None:
            return self.to_stack(inner, formal.offset, formal.size)
        return StepTarget(inner.registers + formal.slot, 8 * formal.size, 8 * formal.size, False)

    def wanted(self, at: Instance, passed: Passed, size: int) -> Taken:
        if passed.source is None:
            return self.to_stack(at, passed.offset, passed.size)
        target = StepTarget(at.registers + passed.source.value, 8 * size, passed.source.has, False)
        self.widths[target.register] = passed.source.has
        return target

    def to_stack(self, at: Instance, offset: int, size: int) -> Taken:
        register = at.promoted.get((offset, size))
        return at.frame + offset if register is None else StepTarget(register, 8 * size, 8 * size, False)

    # Instructions.

    def guard(self, at: Instance, op: Op) -> tuple[int, bool] | None:
        if op.guard is None:
            return None
        slot, negated = op.guard
        self.widths[at.registers + slot] = 1
        return at.registers + slot, negated

    def steps(self, at: Instance, op: Op) -> list[Step]:
        """An instruction, behind the clocks that it reads."""
        tick()
        place = direct(op)
        register = at.promoted.get(place) if place is not None else None
        if register is not None:
            return [self.promoted(at, op, register)]
        made: list[Step] = []
        reads = [None if source is None else self.read(at, source, op, made) for source in op.sources]
        carry = at.carry if op.use.form.carry else None
        step = assembled(
            op.instruction, op.use, self.guard(at, op), reads, self.targets(at, op), carry, self.space(op), op.use.width
        )
        return [*made, step]

    def promoted(self, at: Instance, op: Op, register: int) -> Step:
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
            op, "value", same, guard=guard, sources=(value,), reads=(register,), targets=self.targets(at, op)
        )

    def read(self, at: Instance, source: Source, op: Op, before: list[Step]) -> Read:
        """How an operand is read. Steps that it needs go to `before`."""
        if source.kind == "vector":
            parts = source.parts
            return together([None if part.name == DROPPED else self.read(at, part, op, before) for part in parts])
        value, registers = self.source(at, source, op, before)
        return Read(value, (registers,))

    def space(self, op: Op) -> str:
        """The state space of an access. What is never written is constant, whatever it is declared as."""
        first = op.sources[0] if op.sources else None
        if op.use.form.run is data_movement.ld and first is not None and first.kind == "constant":
            buffer = first.value >> GLOBAL_BITS << GLOBAL_BITS
            if buffer in self.never_written:
                return "const"
        return op.use.space

    def targets(self, at: Instance, op: Op) -> tuple[StepTarget | None, ...]:
        found: list[StepTarget | None] = []
        for target in _flat(op.targets):
            if target is None:
                found.append(None)
            else:
                register = at.registers + target.slot
                self.widths[register] = target.has
                found.append(StepTarget(register, target.width, target.has, target.signed))
        return tuple(found)

    def fetch(self, at: Instance, op: Op, source: Source | None, block: int) -> tuple[Fetch, tuple[int, ...]]:
        assert source is not None
        return self.source(at, source, op, self.blocks[block].steps)

    def source(
        self, at: Instance, source: Source, op: Op | None = None, before: list[Step] | None = None
    ) -> tuple[Fetch, tuple[int, ...]]:
        """How a source that is no vector is read, and from which registers. Steps that it needs go to `before`."""
        kind = source.kind
        if kind == "constant":
            return constant((source.value + source.offset) & mask(source.width)), ()
        if kind == "frame":
            return constant(at.frame + source.value + source.offset), ()
        if kind == "shared":
            register = self.special_register(SHARED_BASE, 64)
            return _offset(fetch(register, 64, 64, False), self.shared(source), 64), (register,)
        if kind == "special" and source.name in CHANGING:
            assert op is not None and before is not None
            register = self.register(f"%{source.name}", source.has)
            before.append(asking(op.instruction, source.name, register, source.has))
        elif kind == "special":
            register = self.special_register(source.name, source.has)
        else:
            register = at.registers + source.value
            self.widths[register] = max(self.widths[register], source.has)
        value = fetch(register, source.has, source.width, source.negated)
        return _offset(value, source.offset, source.width), (register,)

    def shared(self, source: Source) -> int:
        layout = self.program.layout
        if source.value == DYNAMIC:
            return layout.dynamic(self.entry) + source.offset
        return layout.shared_variables[source.value].offset + source.offset


def _flat(targets: Any) -> list[Target | None]:
    if isinstance(targets, list):
        return [t for inner in targets for t in _flat(inner)]
    return [targets]


def _offset(value: Fetch, offset: int, width: int) -> Fetch:
    if not offset:
        return value
    return lambda values: add(value(values), offset & mask(width), width)
