"""What the reader makes of PTX statements. Plain values: equal trees mean equal programs; spans do not count."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxcore.diagnostics import Span

NOWHERE = Span(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Register:
    """A register by its name as written (`%r0`, `p`, or `r0`). `negated` for a `!p` operand."""

    name: str
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal integer; may be negative."""

    value: int
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier that is not known to be a register when it is read: a variable, a label, or a declared register."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, or a bare `base` where the short dialect has one (`bracketed` is False then)."""

    base: Register | Name | Immediate
    offset: int = 0
    bracketed: bool = True
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Sink:
    """The bit bucket `_`."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """`p|q`: two destinations."""

    first: Register | Name | Sink
    second: Register | Name | Sink
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b}`."""

    elements: tuple[Register | Name | Immediate | Sink, ...]
    span: Span = field(default=NOWHERE, compare=False)


Operand = Register | Immediate | Name | Address | Sink | Pair | Vector


@dataclass(frozen=True, slots=True)
class Label:
    """`name:`"""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Instruction:
    """`@guard opcode.modifier.modifier operand, operand`.

    `opcode` is the first word, `modifiers` the others in the order written, without their dots (`shared::cta` is one).
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Declaration:
    """`.reg .u32 %a, %b;` or `.reg .pred p;`, `.reg .b32 %r<4>;`: `count` is 4 there, None otherwise."""

    type: str
    names: tuple[tuple[str, int | None], ...]
    span: Span = field(default=NOWHERE, compare=False)


Statement = Label | Instruction | Declaration
