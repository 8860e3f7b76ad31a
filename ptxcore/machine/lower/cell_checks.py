"""What is wrong with the operands of a litmus thread. Modules have a checker of their own (`ptxcore.check`): their registers
are declared, and those of a litmus thread may be known by their uses alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ptxcore.check import operands as check
from ptxcore.check.constants import check_values, values_of
from ptxcore.check.values import HANDLES
from ptxcore.diagnostics import Span, fail, nearest
from ptxcore.isa.form import Expected, Use
from ptxcore.isa.operand import FormOperand
from ptxcore.isa.special_registers import COMPONENTS
from ptxcore.isa.table import Dialect
from ptxcore.machine.ir.operands import bracket_parts, type_of
from ptxcore.machine.ir.registers import Registers, RegisterSlot
from ptxcore.machine.ir.steps import CHANGING
from ptxcore.machine.lower.executable import limited, literal_problem
from ptxcore.syntax.printer import print_operand
from ptxcore.syntax.spans import find_span, guard_span, operand_span
from ptxcore.syntax.tree import Address, Bracket, Float, Immediate, Instruction, Name, Operand, Pair, Sink, Vector

if TYPE_CHECKING:
    from ptxcore.machine.ir.operands import Variable


#: Instructions whose result may be dropped although their forms say nothing of it.
_DROPPING = ("atom", "suatom")
_PREDICATE = Expected(FormOperand("p", "destination", "pred"), "pred", 0)


class Checks(Registers):
    """The registers, variables and labels of a thread, and what may stand where. `special`: the special registers that are
    known."""

    def __init__(
        self,
        dialect: Dialect,
        variables: Mapping[str, Variable],
        initial: Mapping[str, int],
        special: Mapping[str, int],
    ) -> None:
        super().__init__(dialect, variables, initial)
        self.variables, self.special = variables, special
        self.places: dict[str, int] = {}  # of labels: the number of the instruction behind
        self.current: Instruction | None = None  # whose operands are looked at

    def at(self, operand: Operand) -> Span:
        """Where an operand of the current instruction stands."""
        assert self.current is not None
        return guard_span(self.current) if operand is self.current.guard else find_span(self.current, operand)

    def check(self, instruction: Instruction, use: Use, operands: tuple[Operand | None, ...]) -> Variable | None:
        """Looks at the operands of an instruction, when the widths of registers are settled. Gives the location that its first
        address names. Raises InputError for the first mistake."""
        self.current = instruction
        location: Variable | None = None
        first = True
        if instruction.guard is not None:
            self.check_register(instruction.guard, 1, True)
        if not self.dialect.bare and limited(use):
            self.check_numbers(use)
        for e, operand in zip(use.wanted, operands, strict=True):
            role = e.parameter.role
            if operand is None or role == "function":
                continue
            if role == "label":
                self.check_label(operand)
            elif role == "destination":
                self.check_destinations(use, e, operand)
            elif role == "memory":
                named = self.check_memory(use, e, operand, first=first)
                location, first = named if first else location, False
            elif role == "bracket":
                self.check_bracket(use, e, operand)
            else:
                self.check_operand(use, e, operand)
        return location

    # Operands.

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
        mismatch = check_values(use, places, values_of(operands))
        if mismatch is not None:
            raise fail(operand_span(self.current, *mismatch.path), mismatch.message, mismatch.hint)

    def check_label(self, operand: Operand) -> None:
        if not isinstance(operand, Name):
            raise fail(self.at(operand), f"'{print_operand(operand)}' is not a label")
        if operand.name not in self.places:
            raise fail(self.at(operand), f"unknown label '{operand.name}'", nearest(operand.name, self.places))

    def check_destinations(self, use: Use, e: Expected, operand: Operand) -> None:
        """The registers that an operand has written."""
        if e.parameter.second is not None:
            first, second = (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())
            for part in self.parts(e, first) if e.length else (first,):
                self.check_destination(use, e, part, True)
            self.check_destination(use, _PREDICATE, second, True)
            return
        if isinstance(operand, Sink):
            if (
                "sink" not in e.parameter.flags
                and "dropped" not in e.parameter.flags
                and use.form.mnemonic not in _DROPPING
            ):
                raise fail(
                    self.at(operand), "'_' cannot be the destination here", "only atom and setp may drop a result"
                )
            return
        if "dropped" in e.parameter.flags:
            raise fail(self.at(operand), f"'_' is needed here, not '{print_operand(operand)}'")
        for part in self.parts(e, operand):
            self.check_destination(use, e, part, bool(e.length))

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

    def check_destination(self, use: Use, e: Expected, part: Operand, drops: bool) -> None:
        if drops and isinstance(part, Sink):
            return
        if isinstance(part, Name) and self.as_register(part) is None:
            what = "a special register" if self.is_special(part.name) else "a variable"
            raise fail(self.at(part), f"'{part.name}' is {what}, and a register is needed here")
        if not isinstance(part, Name) or part.prefix:
            raise fail(self.at(part), f"'{print_operand(part)}' cannot be written: a register is needed here")
        width, exact, _ = type_of(e, use)
        self.check_width(part, self.register(part.name), width, exact)

    def check_width(self, operand: Name, slot: RegisterSlot, width: int, exact: bool) -> None:
        if self.dialect.bare or slot.width == width or (not exact and slot.width > width and width > 1 < slot.width):
            return
        has = "is a predicate" if slot.width == 1 else f"has {slot.width} bits"
        if not slot.declared:
            has += " by another use"
        needs = "a predicate" if width == 1 else f"{width} bits" if exact else f"at least {width} bits"
        hint = None if slot.declared else f"declare it: .reg .{'pred' if width == 1 else f'b{width}'} {operand.name};"
        raise fail(self.at(operand), f"register '{operand.name}' {has}, and {needs} must stand here",
                   hint)  # fmt: skip

    def check_register(self, operand: Name, width: int, exact: bool) -> None:
        """A register that is read as so many bits."""
        if self.dialect.bare:
            return
        slot = self.register(operand.name)
        if not (slot.declared or slot.written or slot.name in self.initial):
            names = [*self.variables, *(s.name for s in self.slots.values() if s.declared or s.written)]
            if operand.name[0] != "%":
                raise fail(self.at(operand), f"unknown name '{operand.name}'", nearest(operand.name, names))
            raise fail(self.at(operand), f"nothing writes register '{operand.name}'",
                       "give it a value in the init block, as in P0:r0=1")  # fmt: skip
        self.check_width(operand, slot, width, exact)

    def check_memory(self, use: Use, e: Expected, operand: Operand, *, first: bool) -> Variable | None:
        """An address; gives the location that it names."""
        base: Operand = operand
        indexed = False
        if isinstance(operand, Address):
            base, indexed = operand.base, operand.indexed
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
            return variable
        assert isinstance(base, Name)
        if base.prefix:
            raise fail(self.at(base), "an address cannot be negated")
        if indexed:
            raise fail(self.at(operand), f"'{base.name}' is a register, and has no elements")
        self.check_register(base, slot.width, True)
        if not self.dialect.bare and slot.width < 32:
            raise fail(self.at(base), f"register '{base.name}' has {slot.width} bits, too few for an address")
        return None

    def check_bracket(self, use: Use, e: Expected, operand: Operand) -> None:
        if not isinstance(operand, Bracket):
            raise fail(
                self.at(operand), f"a bracket is needed here, not '{print_operand(operand)}'", "as in [t, {%r0}]"
            )
        try:
            parts = bracket_parts(e, operand)
        except ValueError:
            raise fail(self.at(operand), f"{len(e.parts)} parts are needed here, not {len(operand.elements)}") from None
        for part, element in parts:
            if element is not None:
                self.check_part(use, part, element)

    def check_part(self, use: Use, e: Expected, operand: Operand) -> None:
        """A location with an address through the proxy of textures or surfaces, or a register; or coordinates, of which there
        may be more than are needed."""
        if e.parameter.flags & HANDLES and isinstance(operand, Name):
            if self.as_register(operand) is not None:
                self.check_register(operand, 64, True)
            elif operand.name not in self.variables:
                raise fail(self.at(operand), f"'{operand.name}' is no texture or surface")
            return
        elements = operand.elements if isinstance(operand, Vector) else (operand,)
        if len(elements) < e.length:
            raise fail(self.at(operand), f"{e.length} coordinates are needed here, not {len(elements)}")
        for element in elements:
            self.check_source(use, e, element)

    def check_space(self, operand: Name, variable: Variable, use: Use, parameter: FormOperand, first: bool) -> None:
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

    def check_operand(self, use: Use, e: Expected, operand: Operand) -> None:
        if isinstance(operand, Name) and self.is_special(operand.name):
            name = operand.name[1:]
            for known in [f"{name}.{c}" for c in COMPONENTS[: e.length]] if e.length else [name]:
                if known not in CHANGING and known not in self.special:
                    message = f"special register '{operand.name}' is not determined by where the thread is placed"
                    raise fail(self.at(operand), message)
            return
        for part in self.parts(e, operand):
            if not (isinstance(part, Sink) and e.length and "sink" in e.parameter.flags):
                self.check_source(use, e, part)

    def check_source(self, use: Use, e: Expected, operand: Operand) -> None:
        parameter = e.parameter
        kind = parameter.kind
        width, exact, _ = type_of(e, use)
        if isinstance(operand, Immediate):
            if e.type[:1] == "f":
                raise fail(self.at(operand), f"a floating-point number is needed here, not {operand.value}",
                           "as in 0f3F800000")  # fmt: skip
            return
        if isinstance(operand, Float) and e.type[:1] in ("f", "b") and width in (32, 64):
            return
        if kind == "instance":
            raise fail(self.at(operand), "the instance of a barrier is a literal number")
        if isinstance(operand, Name):
            slot = self.as_register(operand)
            if slot is None:
                if operand.name not in self.variables:
                    raise fail(self.at(operand), f"special register '{operand.name}' cannot stand here")
                self.check_address_of(kind, operand)
                return
            if operand.prefix and not (operand.negated and parameter.negatable):
                raise fail(
                    self.at(operand),
                    f"'{operand.prefix}{operand.name}' cannot stand here: only a predicate operand may be negated",
                )
            self.check_register(operand, width, exact)
            return
        if isinstance(operand, Address) and not operand.bracketed:  # x+4: of a variable only
            base = operand.base
            if isinstance(base, Name) and self.as_register(base) is None and base.name in self.variables:
                self.check_address_of(kind, base)
                return
        raise fail(
            self.at(operand), f"'{print_operand(operand)}' cannot stand here: a register or an integer is needed"
        )

    def check_address_of(self, kind: str, operand: Name) -> None:
        if kind == "value":
            raise fail(
                self.at(operand), f"a load from '{operand.name}' needs its semantics", "as in ld.weak or ld.relaxed.gpu"
            )
        if kind != "address" and not self.dialect.bare:
            raise fail(self.at(operand), f"'{operand.name}' is a variable, and a register or an integer is needed here",
                       f"load it first, or take its address: mov.u64 %rd0, {operand.name}")  # fmt: skip

    def check_literal(self, kind: str, operand: Immediate) -> None:
        wrong = literal_problem(kind, operand.value)
        if wrong:
            raise fail(self.at(operand), *wrong)
