"""What the operands of an instruction are: names looked up, and the kinds that `ptxcore.check.operands` judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxcore.check.context import Context, kind_of_need
from ptxcore.check.mismatch import OperandKind
from ptxcore.check.symbols import ADDRESS_GATES, DeclaredVariable, Symbol
from ptxcore.check.symbols import Callable as Function
from ptxcore.isa.special_registers import COMPONENTS, SPECIAL_REGISTERS
from ptxcore.isa.types import FUNDAMENTAL
from ptxcore.syntax.spans import find_span
from ptxcore.syntax.tree import (
    Address,
    Arguments,
    Bracket,
    Float,
    Immediate,
    Instruction,
    Name,
    Operand,
    Pair,
    QuotedText,
    Sink,
    Vector,
    Wrapped,
)

#: Findings of one statement that are shown where they are, since each is searched for; further ones stand at its opcode.
MOST_PLACES = 20
#: Components of vectors (section 6.4.2), by their place.
_ELEMENTS = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


class Kinds:
    """Kinds of operands in the scopes that are open. `known` has those of operand objects that were met before, by
    identity (the reader makes one object for each spelling); it is emptied whenever a name may mean something else."""

    __slots__ = ("_by_name", "_problems", "_told", "_told_of", "context", "known")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.known: dict[int, OperandKind] = {}
        self._by_name: dict[str, OperandKind] = {}
        #: How often a name was wrong, and what was told of the instruction at hand.
        self._problems = 0
        self._told_of: Instruction | None = None
        self._told: set[str] = set()

    def forget(self) -> None:
        """Names may mean something else from here on."""
        self.known.clear()
        self._by_name.clear()

    def of(self, instruction: Instruction) -> tuple[OperandKind, ...]:
        """The kinds of all operands; what has none is reported, and is of the kind "any"."""
        known = self.known
        return tuple([known.get(id(o)) or self.classify(o, instruction) for o in instruction.operands])

    def classify(self, operand: Operand, instruction: Instruction) -> OperandKind:
        """The kind of one operand, remembered where nothing is wrong with it."""
        before = self._problems
        kind = _BY_TYPE[type(operand)](self, operand, instruction)
        if self._problems == before:
            self.known[id(operand)] = kind
        return kind

    def _inner(self, operands: tuple[Operand, ...], instruction: Instruction) -> list[OperandKind]:
        known = self.known
        return [known.get(id(o)) or self.classify(o, instruction) for o in operands]

    # Names.

    def name(self, operand: Name, instruction: Instruction) -> OperandKind:
        kind = self._plain(operand, instruction)
        return (operand.prefix, kind) if operand.prefix else kind

    def _plain(self, operand: Name, instruction: Instruction) -> OperandKind:
        name = operand.name
        kind = self._by_name.get(name)
        if kind is None:
            before = self._problems
            kind = self._looked_up(operand, instruction)
            if self._problems == before:
                self._by_name[name] = kind
        return kind

    def _looked_up(self, operand: Name, instruction: Instruction) -> OperandKind:
        name = operand.name
        symbol = self.context.scopes.find(name)
        if symbol is not None:
            return self._function(symbol, operand, instruction) if isinstance(symbol, Function) else symbol.kind
        base, dot, part = name.rpartition(".")
        if dot and base:
            owner = self.context.scopes.find(base)
            if owner is not None:
                return self._part(owner, base, part, operand, instruction)
        return self._special(operand, base if dot else name, part if dot else "", instruction)

    def _function(self, symbol: Function, operand: Name, instruction: Instruction) -> OperandKind:
        """The address of a function or kernel (section 9.7.9.3)."""
        assert symbol.head is not None
        lacking = self.context.lacks(ADDRESS_GATES[symbol.head.kind])
        if lacking is not None:
            what = "kernel" if symbol.head.kind == "entry" else "function"
            message = f"the address of a {what} {lacking}"
            return self._problem(operand, instruction, message, code=kind_of_need(lacking))
        return symbol.kind

    def _part(self, owner: Symbol, base: str, part: str, operand: Name, instruction: Instruction) -> OperandKind:
        """A component of a vector (`v.x`) or a selector of a video instruction (`r.b0`)."""
        if owner.kind == "any":
            return "any"
        if not isinstance(owner, DeclaredVariable) or owner.space != "reg":
            return self._problem(operand, instruction, f"'{base}' is no register: it has no '.{part}'")
        if owner.vector:
            place = _ELEMENTS.get(part)
            if place is None or (self.context.manual and place >= int(owner.vector[1:])):
                components = " ".join(f".{c}" for c in COMPONENTS[: int(owner.vector[1:])])
                return self._problem(
                    operand, instruction, f"'{base}' has no component '.{part}'", f"it has {components}"
                )
            return owner.type
        if part[0] not in "bh":
            hint = f"'{base}' is a .{owner.type} register, no vector"
            return self._problem(operand, instruction, f"'{base}' has no component '.{part}'", hint)
        return ("sel", owner.type, part)

    def _special(self, operand: Name, base: str, part: str, instruction: Instruction) -> OperandKind:
        register = SPECIAL_REGISTERS.get(base)
        if register is None:
            return self._undeclared(operand, instruction)
        lacking = self.context.lacks(register.gate)
        if lacking is not None:
            return self._problem(operand, instruction, f"'{base}' {lacking}", code=kind_of_need(lacking))
        if part and (not register.vector or part not in COMPONENTS):
            hint = "its components are .x .y .z .w" if register.vector else f"'{base}' is a single .{register.type}"
            return self._problem(operand, instruction, f"'{base}' has no component '.{part}'", hint)
        type_ = f"v4.{register.type}" if register.vector and not part else register.type
        return ("sreg", type_, register.narrow)

    def _undeclared(self, operand: Name, instruction: Instruction) -> OperandKind:
        if self.context.headless:
            return "any"
        hint = self.context.suggest(operand.name, SPECIAL_REGISTERS if operand.name[0] == "%" else ())
        return self._problem(operand, instruction, f"'{operand.name}' is not declared", hint, "undeclared")

    def _problem(
        self, operand: Operand, instruction: Instruction, message: str, hint: str | None = None, code: str = "operands"
    ) -> OperandKind:
        self._problems += 1
        if instruction is not self._told_of:
            self._told_of, self._told = instruction, set()
        if message not in self._told:
            exactly = len(self._told) < MOST_PLACES
            self._told.add(message)
            self.context.report(code, find_span(instruction, operand) if exactly else instruction.span, message, hint)
        return "any"

    # Everything else.

    def address(self, operand: Address, instruction: Instruction) -> OperandKind:
        kind = self._address(operand, instruction)
        return (operand.qualifier, kind) if operand.qualifier and kind != "any" else kind

    def _address(self, operand: Address, instruction: Instruction) -> OperandKind:
        base = "int" if isinstance(operand.base, Immediate) else self._base(operand.base, instruction)
        if operand.indexed:
            index = "int" if operand.index is None else self._base(operand.index, instruction)
            return "any" if base == "any" else ("[]", base, index)
        if operand.bracketed:
            return (
                ("[", ("reg+", base)) if operand.offset and type(base) is str and base in FUNDAMENTAL else ("[", base)
            )
        return ("var+", *base[1:]) if type(base) is tuple and base[0] == "var" else ("+", base)

    def _base(self, name: Name, instruction: Instruction) -> OperandKind:
        kind = self.known.get(id(name)) or self.classify(name, instruction)
        if type(kind) is tuple and kind[0] == "sreg" and not self.context.manual:
            return kind[1]  # ptxas takes a special register for a register here
        return kind

    def bracket(self, operand: Bracket, instruction: Instruction) -> OperandKind:
        parts = self._inner(operand.elements, instruction)
        return ("[", *(("reg+", p[1]) if type(p) is tuple and p[0] == "+" else p for p in parts))

    def vector(self, operand: Vector, instruction: Instruction) -> OperandKind:
        return ("{", *self._inner(operand.elements, instruction))

    def arguments(self, operand: Arguments, instruction: Instruction) -> OperandKind:
        return ("(", *self._inner(operand.elements, instruction))

    def pair(self, operand: Pair, instruction: Instruction) -> OperandKind:
        return ("|", *self._inner((operand.first, operand.second), instruction))


def _constant(kind: OperandKind) -> Callable[[Kinds, Any, Instruction], OperandKind]:
    return lambda kinds, operand, instruction: kind


def _float(kinds: Kinds, operand: Float, instruction: Instruction) -> OperandKind:
    return "decimal" if operand.decimal else f"0{'f' if operand.width == 32 else 'd'}"


_BY_TYPE: dict[type[Any], Callable[[Kinds, Any, Instruction], OperandKind]] = {
    Name: Kinds.name,
    Immediate: _constant("int"),
    Float: _float,
    Sink: _constant("_"),
    QuotedText: _constant("text"),
    Wrapped: _constant("wrapped"),
    Address: Kinds.address,
    Bracket: Kinds.bracket,
    Vector: Kinds.vector,
    Arguments: Kinds.arguments,
    Pair: Kinds.pair,
}
