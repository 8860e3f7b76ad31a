"""Operands made ready: which one belongs to which parameter of a form, of what width, and how its value is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ptxcore.check import operands as check
from ptxcore.diagnostics import fail
from ptxcore.isa.form import Expected, Use
from ptxcore.isa.types import WIDTHS
from ptxcore.records import NamedTuple
from ptxcore.syntax.spans import operand_span
from ptxcore.syntax.tree import Bracket, Float, Instruction, Name, Operand
from ptxcore.values.ieee import F32, F64, convert
from ptxcore.values.terms import Value, add, extract, mask, negate, zext


class Variable(NamedTuple):
    """A location that threads can name: where it lies (a concrete 64-bit number), the bits of one element, its state
    space, the proxy that its address goes through, and the number of elements."""

    address: int
    width: int = 32
    space: str = "global"
    proxy: str = "generic"
    elements: int = 1


#: Reads a source operand from the values of all registers; of a vector, its elements.
Fetch = Callable[[Sequence[Value] | Mapping[int, Value]], Any]


class RegisterRead(NamedTuple):
    """How an operand is read, and from which registers; of a vector, by its elements."""

    fetch: Fetch
    registers: tuple[tuple[int, ...], ...]
    vector: bool = False


_NOWHERE = ((),)


def arrange(instruction: Instruction, use: Use) -> tuple[Operand | None, ...]:
    """The operands, one for each of the use's parameters; None where an optional one was left out."""
    given, places = instruction.operands, check.arrange(use, len(instruction.operands))
    if places is None:
        mismatch = check.wrong_number(use, len(given))
        wanted = len(use.expected) - use.expected.count(None)
        span = operand_span(instruction, wanted) if len(given) > wanted else instruction.span
        raise fail(span, mismatch.message, mismatch.hint)
    if len(given) == len(places):  # each has its own
        return given
    return tuple(
        [
            None if place is None else given[place]
            for e, place in zip(use.expected, places, strict=True)
            if e is not None
        ]
    )


def bracket_parts(e: Expected, operand: Bracket) -> list[tuple[Expected, Operand | None]]:
    """The parts of a bracket, with what an operand has there; None for one that is left out. Raises ValueError where there are
    too many or too few."""
    given = list(operand.elements)
    spare = len(given) - sum(not part.parameter.optional for part in e.parts)
    found: list[tuple[Expected, Operand | None]] = []
    for part in e.parts:
        if part.parameter.optional and spare <= 0:
            found.append((part, None))
            continue
        spare -= part.parameter.optional
        found.append((part, given.pop(0) if given else None))
    if spare or given:
        raise ValueError("a bracket of other parts")
    return found


def choices(use: Use, operands: Sequence[Operand | None]) -> tuple[Use, tuple[Operand | None, ...]]:
    """The use with what its operands choose (`Form`: selectors and negation), and the operands as plain registers."""
    if not _choose(use):
        return use, tuple(operands)
    chosen: dict[str, str] = {}
    plain: list[Operand | None] = []
    for parameter, operand in zip(use.parameters, operands, strict=True):
        if isinstance(operand, Name):
            name, prefix = operand.name, operand.prefix
            if parameter.selector:
                name, dot, selector = name.rpartition(".")
                if re.fullmatch(parameter.selector, selector) and dot:
                    chosen[f"{parameter.name}sel"] = selector
                else:
                    name = operand.name
            if prefix == "-" and parameter.flags & {"negative", "negated"}:
                chosen[f"{parameter.name}neg"] = prefix
                prefix = ""
            if (name, prefix) != (operand.name, operand.prefix):
                operand = Name(name, prefix)
        plain.append(operand)
    return (use.with_operands(chosen) if chosen else use), tuple(plain)


@lru_cache(maxsize=8192)
def _choose(use: Use) -> bool:
    """Whether operands of a use may choose anything."""
    return any(p.selector or p.flags & {"negative", "negated"} for p in use.parameters)


def type_of(e: Expected, use: Use) -> tuple[int, bool, bool]:
    """Width of an operand, whether a register must have exactly it, and whether it is signed."""
    return WIDTHS.get(e.type, use.width), "loose" not in e.parameter.flags, e.type[:1] == "s"


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


def known(value: Value) -> RegisterRead:
    """An operand that is known, as it is read."""
    return RegisterRead(constant(value), _NOWHERE)


def register(index: int, has: int, width: int, negated: bool) -> RegisterRead:
    """A register as it is read, see `fetch`."""
    return RegisterRead(fetch(index, has, width, negated), ((index,),))


def address(index: int, offset: int) -> RegisterRead:
    """An address in a register."""
    if offset:
        return RegisterRead(lambda values: add(zext(values[index], 64), offset & mask(64), 64), ((index,),))
    return RegisterRead(lambda values: zext(values[index], 64), ((index,),))


def together(parts: Sequence[RegisterRead | None]) -> RegisterRead:
    """A vector; None for an element that is left out."""
    fetches = [None if part is None else part.fetch for part in parts]
    registers = tuple([() if part is None else tuple(r for own in part.registers for r in own) for part in parts])
    return RegisterRead(lambda values: tuple([None if f is None else f(values) for f in fetches]), registers, True)


def float_bits(operand: Float, width: int) -> int:
    """The bits of a constant as an operand of `width` bits has them."""
    if operand.width == width:
        return operand.bits
    return convert(F64, F32, operand.bits) if width == 32 else convert(F32, F64, operand.bits)
