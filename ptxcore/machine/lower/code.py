"""A thread made ready to execute: forms looked up, names resolved, widths settled, jumps turned into a graph of
blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ptxcore.check import operands as check
from ptxcore.check.constants import check_values, values_of
from ptxcore.check.values import HANDLES
from ptxcore.diagnostics import Diagnostic, InputError, Span, fail, nearest
from ptxcore.isa.form import Expected, Use
from ptxcore.isa.operand import Parameter
from ptxcore.isa.special_registers import COMPONENTS, SPECIAL_REGISTERS
from ptxcore.isa.table import Dialect
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.ir.operands import (
    Read,
    address,
    arrange,
    bracket_parts,
    choices,
    float_bits,
    known,
    register,
    together,
    type_of,
)
from ptxcore.machine.ir.registers import Registers, Slot
from ptxcore.machine.ir.steps import CARRY, CHANGING, Step, Target, ThreadCode, asking, assembled, folded
from ptxcore.machine.loops.control_flow import Shape, blocks
from ptxcore.machine.lower.executable import alternatives, chosen, limited, literal_trouble, with_images
from ptxcore.syntax.printer import print_operand
from ptxcore.syntax.spans import find_span, guard_span, operand_span
from ptxcore.syntax.tree import (
    Address,
    AnyStatement,
    Bracket,
    Declaration,
    Float,
    Immediate,
    Instruction,
    Label,
    Name,
    Operand,
    Pair,
    Sink,
    Vector,
)
from ptxcore.values.terms import mask


class Variable(NamedTuple):
    """A location that threads can name: where it lies (a concrete 64-bit number), the bits of one element, its state
    space, the proxy that its address goes through, and the number of elements."""

    address: int
    width: int = 32
    space: str = "global"
    proxy: str = "generic"
    elements: int = 1


#: Instructions whose result may be dropped although their forms say nothing of it.
_DROPPING = ("atom", "suatom")
_PREDICATE = Expected(Parameter("p", "destination", "pred"), "pred", 0)


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
    return _Preparation(statements, dialect, variables, registers, observed, special or {}).code()


class _Preparation(Registers):
    def __init__(
        self,
        statements: Sequence[AnyStatement],
        dialect: Dialect,
        variables: Mapping[str, Variable],
        initial: Mapping[str, int],
        observed: Collection[str] | None,
        special: Mapping[str, int],
    ) -> None:
        super().__init__(dialect, variables, initial)
        self.statements, self.variables = statements, variables
        self.observed = None if observed is None else {name.lstrip("%") for name in observed}
        self.found: list[Diagnostic] = []
        self.labels: dict[str, int] = {}
        self.instructions: list[tuple[Instruction, Use, tuple[Operand | None, ...]]] = []
        self.several: dict[int, tuple[Use, ...]] = {}  # the forms of instructions that may have more than one
        self.special = special
        self.current: Instruction | None = None  # whose operands are looked at
        self.asked: list[Step] = []  # what must be asked before it

    def at(self, operand: Operand) -> Span:
        """Where an operand of the current instruction stands."""
        assert self.current is not None
        return guard_span(self.current) if operand is self.current.guard else find_span(self.current, operand)

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
        steps: list[tuple[Step, int | None]] = []
        starts: list[int] = []
        for instruction, use, operands in self.instructions:
            starts.append(len(steps))
            self.asked = []
            try:
                step, target = self.step(instruction, use, operands)
                steps += [(asked, None) for asked in self.asked]
                steps.append((step, target))
            except InputError as error:
                self.complain(error)
        starts.append(len(steps))
        if self.found:
            raise InputError(sorted(dict.fromkeys(self.found), key=lambda d: d.span))
        labels = {starts[number]: name for name, number in self.labels.items()}
        return self.graph([(step, None if to is None else starts[to]) for step, to in steps], labels)

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
                    if statement.name in self.labels:
                        raise fail(statement.span, f"label '{statement.name}' stands twice")
                    self.labels[statement.name] = len(self.instructions)
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

    # Operands.

    def step(self, instruction: Instruction, use: Use, operands: tuple[Operand | None, ...]) -> tuple[Step, int | None]:
        self.current = instruction
        reads: list[Read | None] = []
        targets: list[Target | None] = []
        target: int | None = None
        location: Variable | None = None
        addresses = 0
        guard: tuple[int, bool] | None = None
        if instruction.guard is not None:
            guard = self.source_register(instruction.guard, 1, True).index, instruction.guard.negated
        if not self.dialect.bare and limited(use):
            self.check_numbers(use)
        for e, operand in zip(use.wanted, operands, strict=True):
            role = e.parameter.role
            if operand is None:
                reads.append(None)
            elif role == "function":
                continue  # a kernel that a host names: who takes the effect finds it in the instruction
            elif role == "label":
                target = self.label(operand)
            elif role == "destination":
                targets += self.destinations(use, e, operand)
            elif role == "memory":
                read, named = self.memory(use, e, operand, first=not addresses)
                reads.append(read)
                location = location if addresses else named
                addresses += 1
            elif role == "bracket":
                reads += self.bracket(use, e, operand)
            else:
                reads.append(self.operand(use, e, operand))
        space, width = use.space, use.width
        if location is not None:
            space = location.space if space == "generic" else space
            width = location.width if self.dialect.bare else width
        carry = self.hidden(CARRY, 1).index if use.form.carry else None
        step = assembled(instruction, use, guard, reads, targets, carry, space, width)
        return folded(step, self.width_of), target

    def check_numbers(self, use: Use) -> None:
        """Numbers stand where the form wants them, in its limits."""
        assert self.current is not None
        operands = self.current.operands
        places = check.arrange(use, len(operands))
        assert places is not None
        for e, place in zip(use.expected, places, strict=True):
            operand = None if e is None or place is None else operands[place]
            if operand is None or e is None:
                continue
            if isinstance(operand, Immediate):
                self.check_literal(e.parameter.kind, operand)
            elif "imm" in e.parameter.flags:
                raise fail(self.at(operand), f"a number is needed here, not '{print_operand(operand)}'")
        trouble = check_values(use, places, values_of(operands))
        if trouble is not None:
            raise fail(operand_span(self.current, *trouble.path), trouble.message, trouble.hint)

    def label(self, operand: Operand) -> int:
        if isinstance(operand, Name):
            if operand.name in self.labels:
                return self.labels[operand.name]
            raise fail(self.at(operand), f"unknown label '{operand.name}'", nearest(operand.name, self.labels))
        raise fail(self.at(operand), f"'{print_operand(operand)}' is not a label")

    def destinations(self, use: Use, e: Expected, operand: Operand) -> list[Target | None]:
        """The registers that an operand has written; None for a result that is dropped."""
        if e.parameter.second is not None:
            first, second = (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())
            parts = self.parts(e, first) if e.length else (first,)
            return [
                self.destination(use, d, part, True) for d, part in [*((e, p) for p in parts), (_PREDICATE, second)]
            ]
        if isinstance(operand, Sink):
            if (
                "sink" not in e.parameter.flags
                and "dropped" not in e.parameter.flags
                and use.form.mnemonic not in _DROPPING
            ):
                raise fail(
                    self.at(operand), "'_' cannot be the destination here", "only atom and setp may drop a result"
                )
            return [None]
        if "dropped" in e.parameter.flags:
            raise fail(self.at(operand), f"'_' is needed here, not '{print_operand(operand)}'")
        return [self.destination(use, e, part, bool(e.length)) for part in self.parts(e, operand)]

    def parts(self, e: Expected, operand: Operand) -> tuple[Operand, ...]:
        """The elements of an operand, which is a vector exactly where one must stand."""
        if isinstance(operand, Vector):
            if len(operand.elements) == (e.length or ("braced" in e.parameter.flags)):
                return operand.elements
            wanted = f"a vector of {e.length}" if e.length else "one value"
            raise fail(self.at(operand), f"{wanted} is needed here, not a vector of {len(operand.elements)}")
        if e.length:
            raise fail(self.at(operand), f"a vector of {e.length} is needed here, not '{print_operand(operand)}'")
        return (operand,)

    def destination(self, use: Use, e: Expected, part: Operand, drops: bool) -> Target | None:
        if drops and isinstance(part, Sink):
            return None
        if isinstance(part, Name) and self.as_register(part) is None:
            what = "a special register" if self.is_special(part.name) else "a variable"
            raise fail(self.at(part), f"'{part.name}' is {what}, and a register is needed here")
        if not isinstance(part, Name) or part.prefix:
            raise fail(self.at(part), f"'{print_operand(part)}' cannot be written: a register is needed here")
        width, exact, signed = type_of(e, use)
        slot = self.register(part.name)
        self.check_width(part, slot, width, exact)
        return Target(slot.index, width, slot.width, signed)

    def check_width(self, operand: Name, slot: Slot, width: int, exact: bool) -> None:
        if self.dialect.bare or slot.width == width or (not exact and slot.width > width and width > 1 < slot.width):
            return
        has = "is a predicate" if slot.width == 1 else f"has {slot.width} bits"
        if not slot.declared:
            has += " by another use"
        needs = "a predicate" if width == 1 else f"{width} bits" if exact else f"at least {width} bits"
        hint = None if slot.declared else f"declare it: .reg .{'pred' if width == 1 else f'b{width}'} {operand.name};"
        raise fail(self.at(operand), f"register '{operand.name}' {has}, and {needs} must stand here",
                   hint)  # fmt: skip

    def source_register(self, operand: Name, width: int, exact: bool) -> Slot:
        slot = self.register(operand.name)
        if not self.dialect.bare:
            if not (slot.declared or slot.written or slot.name in self.initial):
                names = [*self.variables, *(s.name for s in self.slots.values() if s.declared or s.written)]
                if operand.name[0] != "%":
                    raise fail(self.at(operand), f"unknown name '{operand.name}'", nearest(operand.name, names))
                raise fail(self.at(operand), f"nothing writes register '{operand.name}'",
                           "give it a value in the init block, as in P0:r0=1")  # fmt: skip
            self.check_width(operand, slot, width, exact)
        return slot

    def memory(self, use: Use, e: Expected, operand: Operand, *, first: bool) -> tuple[Read, Variable | None]:
        """An address, and the location that it names."""
        offset = 0
        base: Operand = operand
        indexed = False
        if isinstance(operand, Address):
            base, offset, indexed = operand.base, operand.offset, operand.indexed
            if operand.index is not None:
                raise fail(self.at(operand), f"'{print_operand(operand)}' has a register as its index, which is not supported",
                           "add it to the address before")  # fmt: skip
        if not self.dialect.bare and not (isinstance(operand, Address) and operand.bracketed):
            shown = print_operand(operand)
            raise fail(self.at(operand), f"an address in brackets is needed here, not '{shown}'", f"write [{shown}]")
        if isinstance(base, Immediate):
            if self.dialect.bare:
                raise fail(self.at(base), f"a location is needed here, not {base.value}")
            raise fail(self.at(base), "a literal address is not supported", "name a variable or a register")
        slot = self.as_register(base)
        if slot is None:
            assert isinstance(base, Name)
            if base.name not in self.variables:
                raise fail(self.at(base), f"'{base.name}' is no address")
            variable = self.variables[base.name]
            self.check_space(base, variable, use, e.parameter, first)
            offset *= variable.width // 8 if indexed else 1
            return known((variable.address + offset) & mask(64)), variable
        assert isinstance(base, Name)
        if base.prefix:
            raise fail(self.at(base), "an address cannot be negated")
        if indexed:
            raise fail(self.at(operand), f"'{base.name}' is a register, and has no elements")
        slot = self.source_register(base, slot.width, True)
        if not self.dialect.bare and slot.width < 32:
            raise fail(self.at(base), f"register '{base.name}' has {slot.width} bits, too few for an address")
        return address(slot.index, offset), None

    def bracket(self, use: Use, e: Expected, operand: Operand) -> list[Read | None]:
        """The parts of a bracket, each as it is read; None for one that is left out."""
        if not isinstance(operand, Bracket):
            raise fail(
                self.at(operand), f"a bracket is needed here, not '{print_operand(operand)}'", "as in [t, {%r0}]"
            )
        try:
            parts = bracket_parts(e, operand)
        except ValueError:
            raise fail(self.at(operand), f"{len(e.parts)} parts are needed here, not {len(operand.elements)}") from None
        return [None if element is None else self.part(use, part, element) for part, element in parts]

    def part(self, use: Use, e: Expected, operand: Operand) -> Read:
        """A location with an address through the proxy of textures or surfaces, or a register; or coordinates, of which there
        may be more than are needed."""
        if e.parameter.flags & HANDLES and isinstance(operand, Name):
            if self.as_register(operand) is not None:
                return address(self.source_register(operand, 64, True).index, 0)
            if operand.name not in self.variables:
                raise fail(self.at(operand), f"'{operand.name}' is no texture or surface")
            return known(self.variables[operand.name].address)
        elements = operand.elements if isinstance(operand, Vector) else (operand,)
        if len(elements) < e.length:
            raise fail(self.at(operand), f"{e.length} coordinates are needed here, not {len(elements)}")
        return together([self.source(use, e, element) for element in elements])

    def check_space(self, operand: Name, variable: Variable, use: Use, parameter: Parameter, first: bool) -> None:
        """A location lies where the instruction goes: in one of the spaces that the operand is limited to or, for the first
        address, in the one that is written."""
        has = variable.space.split("::")[0]
        spaces = parameter.words or ((use.space,) if first else ("generic",))
        if "generic" not in spaces and has not in {space.split("::")[0] for space in spaces}:
            named = ".".join((use.form.mnemonic, *((use.space,) if use.space != "generic" else ())))
            goes = " or ".join(dict.fromkeys(f".{space.split('::')[0]}" for space in spaces))
            raise fail(self.at(operand), f"'{operand.name}' is in .{has}, and '{named}' goes to {goes}")
        if has == "const" and use.form.mnemonic not in ("ld", "cold", "prefetch"):
            raise fail(self.at(operand), f"'{operand.name}' is in .const, which cannot be written")

    def operand(self, use: Use, e: Expected, operand: Operand) -> Read:
        """How an operand is read, and from which registers."""
        if isinstance(operand, Name) and self.is_special(operand.name):
            name, width = operand.name[1:], type_of(e, use)[0]
            if not e.length:
                return self.special_register(operand, name, width)
            return together([self.special_register(operand, f"{name}.{c}", width) for c in COMPONENTS[: e.length]])
        parts = self.parts(e, operand)
        reads = [
            None if isinstance(part, Sink) and "sink" in e.parameter.flags else self.source(use, e, part)
            for part in parts
        ]
        if e.length:
            return together(reads)
        assert reads[0] is not None
        return reads[0]

    def special_register(self, operand: Name, name: str, width: int) -> Read:
        """A special register: what the thread's place says, or what must be asked."""
        if name in CHANGING:
            assert self.current is not None
            bits = WIDTHS[SPECIAL_REGISTERS[f"%{name}"].type]
            slot = self.hidden(f"%{name}.{len(self.slots)}", bits)
            self.asked.append(asking(self.current, name, slot.index, bits))
            return register(slot.index, bits, width, False)
        if name not in self.special:
            raise fail(
                self.at(operand), f"special register '{operand.name}' is not determined by where the thread is placed"
            )
        return known(self.special[name] & mask(width))

    def source(self, use: Use, e: Expected, operand: Operand) -> Read:
        parameter = e.parameter
        kind = parameter.kind
        width, exact, _ = type_of(e, use)
        if isinstance(operand, Immediate):
            if e.type[:1] == "f":
                raise fail(self.at(operand), f"a floating-point number is needed here, not {operand.value}",
                           "as in 0f3F800000")  # fmt: skip
            # An instance is a name, not a value: it keeps its number whatever the width.
            return known(operand.value if kind == "instance" else operand.value & mask(width))
        if isinstance(operand, Float) and e.type[:1] in ("f", "b") and width in (32, 64):
            return known(float_bits(operand, width))
        if kind == "instance":
            raise fail(self.at(operand), "the instance of a barrier is a literal number")
        if isinstance(operand, Name):
            slot = self.as_register(operand)
            if slot is None:
                if operand.name not in self.variables:
                    raise fail(self.at(operand), f"special register '{operand.name}' cannot stand here")
                return self.address_of(kind, operand, 0, width)
            if operand.prefix and not (operand.negated and parameter.negatable):
                raise fail(
                    self.at(operand),
                    f"'{operand.prefix}{operand.name}' cannot stand here: only a predicate operand may be negated",
                )
            slot = self.source_register(operand, width, exact)
            return register(slot.index, slot.width, width, operand.negated)
        if isinstance(operand, Address) and not operand.bracketed:  # x+4: of a variable only
            base = operand.base
            if isinstance(base, Name) and self.as_register(base) is None and base.name in self.variables:
                return self.address_of(kind, base, operand.offset, width)
        raise fail(
            self.at(operand), f"'{print_operand(operand)}' cannot stand here: a register or an integer is needed"
        )

    def address_of(self, kind: str, operand: Name, offset: int, width: int) -> Read:
        if kind == "value":
            raise fail(
                self.at(operand), f"a load from '{operand.name}' needs its semantics", "as in ld.weak or ld.relaxed.gpu"
            )
        if kind != "address" and not self.dialect.bare:
            raise fail(self.at(operand), f"'{operand.name}' is a variable, and a register or an integer is needed here",
                       f"load it first, or take its address: mov.u64 %rd0, {operand.name}")  # fmt: skip
        return known((self.variables[operand.name].address + offset) & mask(width))

    def check_literal(self, kind: str, operand: Immediate) -> None:
        wrong = literal_trouble(kind, operand.value)
        if wrong:
            raise fail(self.at(operand), *wrong)

    # Blocks.

    def graph(self, steps: list[tuple[Step, int | None]], labels: Mapping[int, str]) -> ThreadCode:
        starts = {0, len(steps)}
        for i, (step, target) in enumerate(steps):
            if step.kind in ("branch", "exit"):
                starts.add(i + 1)
            if target is not None:
                starts.add(target)
        cuts = sorted(starts)
        number = {start: b for b, start in enumerate(cuts)}
        last = len(cuts) - 1
        shapes: list[Shape] = []
        for b, start in enumerate(cuts[:-1]):
            inside = [step for step, _ in steps[start : cuts[b + 1]]]
            end, target = steps[cuts[b + 1] - 1]
            label = labels.get(start, "")
            if end.kind == "exit":
                shapes.append(Shape(tuple(inside[:-1]), end, last, None if end.predicate is None else b + 1, label))
            elif end.kind == "branch":
                assert target is not None
                always = end.predicate is None and not end.sources
                shapes.append(Shape(tuple(inside[:-1]), end, number[target], None if always else b + 1, label))
            else:
                shapes.append(Shape(tuple(inside), None, None, b + 1, label))
        shapes.append(Shape((), None, None, None))
        names = self.observed
        observed = [s.index for s in self.slots.values() if names is None or s.name in names]
        registers = tuple(self.info(slot) for slot in self.slots.values())
        code = ThreadCode(blocks(shapes, observed), registers, self.dialect, special=self.special)
        return with_images(code, self.variables)
