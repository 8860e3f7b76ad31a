"""Operands made ready: which one belongs to which parameter of a form, of what width, and how its value is read."""

from __future__ import annotations

from collections.abc import Callable

from ptxcore.diagnostics import Span, fail
from ptxcore.isa.form import WIDTHS, Parameter, Use
from ptxcore.syntax.tree import Instruction, Operand
from ptxcore.values.terms import Value, extract, negate, zext

#: Reads a source operand from the values of all registers.
Fetch = Callable[[list[Value]], Value]


def arrange(instruction: Instruction, use: Use) -> tuple[Operand | None, ...]:
    """The operands, one for each parameter of the form; None where an optional one was left out."""
    given, wanted = instruction.operands, use.parameters
    if len(given) == len(wanted):
        return given
    spare = len(given) - sum(not p.optional for p in wanted)
    if spare < 0 or len(given) > len(wanted):
        fewest = len(given) - spare
        number = str(len(wanted)) if fewest == len(wanted) else f"{fewest} to {len(wanted)}"
        operands = "operand" if number == "1" else "operands"
        span = instruction.span
        if len(given) > len(wanted):
            extra = given[len(wanted)].span
            span = Span(extra.line, extra.column, extra.end) if extra.line else span
        raise fail(span, f"'{instruction.opcode}' takes {number} {operands} here, not {len(given)}",
                   f"the form is: {use.form.syntax()}")  # fmt: skip
    rest = iter(given)
    arranged: list[Operand | None] = []
    for parameter in wanted:
        if parameter.optional:
            spare -= 1
        arranged.append(None if parameter.optional and spare < 0 else next(rest))
    return tuple(arranged)


def type_of(parameter: Parameter, use: Use) -> tuple[int, bool, bool]:
    """Width of an operand, whether a register must have exactly it, and whether it is signed."""
    kind = parameter.kind
    if kind in ("", "address", "value"):
        return use.width, True, use.signed
    if kind == "loose":
        return use.width, False, use.signed
    if kind == "W":
        return 2 * use.width, True, use.signed
    if kind in ("A", "looseA"):
        second = use.types[1]
        return WIDTHS[second], kind == "A", second[0] == "s"
    return WIDTHS.get(kind, 32), True, False


def constant(value: Value) -> Fetch:
    """An operand that is known."""
    return lambda values: value


def fetch(index: int, has: int, width: int, negated: bool) -> Fetch:
    """Register `index`, which has `has` bits, read as `width` bits."""
    if negated:
        return lambda values: negate(values[index])
    if has > width:
        high = width - 1
        return lambda values: extract(values[index], high, 0)
    if has < width:
        return lambda values: zext(values[index], width)
    return lambda values: values[index]
