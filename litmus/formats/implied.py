"""Locations that a test uses and does not declare: 32 bits of global memory, 0 at first, unless accesses say otherwise.

An access by name tells the type and the state space; one through a register that holds a location's address from the beginning
tells the type. The widest access counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from litmus.formats.declarations import SPACES
from litmus.test import TYPE_WIDTHS, AddressOf, Location
from ptxcore.syntax.tree import Address, AnyStatement, Instruction, Name, Vector

#: Bits of the types that an access may have.
_WIDTHS = {
    **{type_[1:]: bits for type_, bits in TYPE_WIDTHS.items()},
    **dict.fromkeys(("f16", "bf16"), 16),
    **dict.fromkeys(("f32", "f16x2", "bf16x2"), 32),
    "f64": 64,
}


def accessed_type(statement: Instruction) -> str | None:
    """The type of a location that an instruction may access; None where its modifiers do not tell."""
    if any(isinstance(operand, Vector) for operand in statement.operands):
        return None
    widths = [word for word in statement.modifiers if word in _WIDTHS]
    if len(widths) != 1:
        return None
    return f".{widths[0]}" if f".{widths[0]}" in TYPE_WIDTHS else f".b{_WIDTHS[widths[0]]}"


def location_of(statement: Instruction, name: str, old: Location | None) -> Location | None:
    """What an instruction makes of a location that nobody declares, and of which earlier ones have made `old`; None where it
    does not tell."""
    type_ = accessed_type(statement)
    if type_ is None:
        return old
    if old is not None and TYPE_WIDTHS[old.type] >= TYPE_WIDTHS[type_]:
        type_ = old.type
    space = next((word for word in statement.modifiers if word in SPACES), "global" if old is None else old.space)
    if any(word.startswith("shared::") for word in statement.modifiers):
        space = "shared"
    return Location(name, type_, space)


def pointed_types(
    statements: Iterable[AnyStatement], registers: dict[str, int | AddressOf]
) -> Iterator[tuple[str, str]]:
    """Locations with types of accesses through registers that hold their addresses from the beginning."""
    for statement in statements:
        if not isinstance(statement, Instruction):
            continue
        for operand in statement.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Name):
                value = registers.get(operand.base.name.removeprefix("%"))
                type_ = accessed_type(statement)
                if isinstance(value, AddressOf) and type_ is not None:
                    yield value.location, type_
