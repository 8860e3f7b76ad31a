"""A litmus thread made ready to execute: its registers get their widths from their uses, its operands are checked, and then it
is lowered as a function of a module is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ptxcore.diagnostics import Diagnostic, InputError, fail
from ptxcore.isa.form import Expected, Use
from ptxcore.isa.special_registers import SPECIAL_REGISTERS
from ptxcore.isa.table import Dialect
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.ir.operands import Variable, arrange, choices
from ptxcore.machine.ir.steps import CARRY, CHANGING, ThreadCode
from ptxcore.machine.loops.control_flow import blocks
from ptxcore.machine.lower.cell_checks import Checks
from ptxcore.machine.lower.executable import alternatives, chosen, with_images
from ptxcore.machine.lower.graph import BlockGraph, InlinedFunction
from ptxcore.machine.lower.operands import NamedRegister, Operands
from ptxcore.machine.lower.ops import Code, Source
from ptxcore.syntax.tree import AnyStatement, Declaration, Immediate, Instruction, Label, Name, Operand


def prepare(
    statements: Sequence[AnyStatement],
    dialect: Dialect,
    variables: Mapping[str, Variable],
    registers: Mapping[str, int],
    *,
    observed: Collection[str] | None = None,
    special: Mapping[str, int] | None = None,
) -> ThreadCode:
    """Makes a thread ready. `registers` are initial values by name without `%` (addresses are numbers already), `special`
    the special registers that the thread's place determines, in the same way (`tid.x`, `cluster_ctarank`).

    `observed` names the registers whose final values matter (None: all of them). A loop that waits on a flag may
    leave rubbish in registers; knowing that nobody looks lets it be recognised as one that only waits. Raises
    InputError with every finding of the thread: unknown or unsupported instructions, operands that do not fit, labels
    and names that do not exist or exist twice.
    """
    return _Cell(statements, dialect, variables, registers, observed, special or {}).code()


class _Cell(Checks, Operands):
    """A thread while it is made ready."""

    def __init__(
        self,
        statements: Sequence[AnyStatement],
        dialect: Dialect,
        variables: Mapping[str, Variable],
        initial: Mapping[str, int],
        observed: Collection[str] | None,
        special: Mapping[str, int],
    ) -> None:
        super().__init__(dialect, variables, initial, special)
        self.statements = statements
        self.observed = None if observed is None else {name.lstrip("%") for name in observed}
        self.found: list[Diagnostic] = []
        self.instructions: list[tuple[Instruction, Use, tuple[Operand | None, ...]]] = []
        self.several: dict[int, tuple[Use, ...]] = {}  # the forms of instructions that may have more than one

    def complain(self, error: InputError) -> None:
        self.found += error.diagnostics

    def code(self) -> ThreadCode:
        self.collect()
        for name in self.initial:
            self.register(name).uses = True
        for instruction, use, operands in self.instructions:
            self.widths(instruction, use, operands)
        self.settle()
        self.choose_again()
        code = Code("", True)
        for instruction, use, operands in self.instructions:
            try:
                location = self.check(instruction, use, operands)
            except InputError as error:
                self.complain(error)
                continue
            op = self.operation(instruction, use, operands, self.guard(instruction))
            if location is not None:
                space = location.space if use.space == "generic" else use.space
                op.access = space, location.width if self.dialect.bare else use.width
            code.ops.append(op)
        if self.found:
            raise InputError(sorted(dict.fromkeys(self.found), key=lambda d: d.span))
        code.labels = {name: self.places[name] for op in code.ops for name in op.labels}
        return self.thread(code)

    # Labels, declarations, forms.

    def collect(self) -> None:
        for statement in self.statements:
            try:
                if isinstance(statement, Instruction):
                    uses = alternatives(statement, self.dialect)
                    use = chosen(uses, statement, self.declared_bits)
                    self.instructions.append((statement, *choices(use, arrange(statement, use))))
                    if len(uses) > 1:
                        self.several[len(self.instructions) - 1] = uses
                elif isinstance(statement, Label):
                    if statement.name in self.places:
                        raise fail(statement.span, f"label '{statement.name}' stands twice")
                    self.places[statement.name] = len(self.instructions)
                elif isinstance(statement, Declaration):
                    self.declare(statement)
                else:
                    raise fail(statement.span, f"this is not supported in a thread: '{statement.text[:40]}'")
            except InputError as error:
                self.complain(error)
                if isinstance(statement, Instruction):  # its registers still count as written
                    for operand in statement.operands[:1]:
                        if isinstance(operand, Name):
                            self.register(operand.name).written = True

    def choose_again(self) -> None:
        """Where an instruction may have several forms, the types of registers decide."""
        for number, uses in self.several.items():
            instruction = self.instructions[number][0]
            use = chosen(uses, instruction, self.settled_bits)
            if use.form is not self.instructions[number][1].form:
                self.instructions[number] = (instruction, *choices(use, arrange(instruction, use)))

    # What operands mean.

    def guard(self, instruction: Instruction) -> tuple[int, bool] | None:
        guard = instruction.guard
        return None if guard is None else (self.register(guard.name).index, guard.negated)

    def named_register(self, operand: Name) -> NamedRegister | None:
        slot = self.as_register(operand)
        return None if slot is None else NamedRegister(slot.index, slot.width)

    def named_object(self, operand: Name, width: int) -> Source:
        if operand.name in self.variables:
            return Source("constant", self.variables[operand.name].address, width)
        return self.special_register(operand.name, width)

    def special_source(self, name: str, width: int) -> Source:
        """What the thread's place says, or what must be asked."""
        if name in CHANGING:
            return Source("special", width=width, has=WIDTHS[SPECIAL_REGISTERS[f"%{name}"].type], name=name)
        return Source("constant", self.special[name], width)

    def element_bytes(self, name: str) -> int:
        return self.variables[name].width // 8

    def labels(self, operand: Operand) -> tuple[str, ...]:
        assert isinstance(operand, Name)
        return (operand.name,)

    def source(self, e: Expected, operand: Operand) -> Source:
        if e.parameter.role == "instance":  # a name, not a value: it keeps its number whatever the width
            assert isinstance(operand, Immediate)
            return Source("constant", operand.value, max(32, operand.value.bit_length() + 1))
        return super().source(e, operand)

    # Blocks.

    def thread(self, code: Code) -> ThreadCode:
        graph = _Graph(self)
        first, end = graph.block(), graph.block()
        carry = self.hidden(CARRY, 1).index if any(op.use.form.carry for op in code.ops) else -1
        graph.expand(InlinedFunction(code, 0, 0, end, (), carry), first)
        order = [first, *range(end + 1, len(graph.blocks)), end]
        shapes = graph.shapes(order, [slot.width for slot in self.slots.values()])
        names = self.observed
        observed = [s.index for s in self.slots.values() if names is None or s.name in names]
        registers = tuple([self.info(slot) for slot in self.slots.values()])
        made = ThreadCode(blocks(shapes, observed), registers, self.dialect, special=self.special)
        return with_images(made, self.variables)


class _Graph(BlockGraph):
    """The blocks of a thread. Clocks that it asks get registers of their own."""

    def __init__(self, cell: _Cell) -> None:
        super().__init__()
        self.cell = cell

    def register(self, name: str, width: int) -> int:
        return self.cell.hidden(f"{name}.{len(self.cell.slots)}", width).index
