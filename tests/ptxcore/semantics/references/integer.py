"""Integer arithmetic (section 9.7.1) on Python's integers, bit by bit as the manual's loops go."""

from __future__ import annotations

from typing import Any

from ptxcore.isa.form import Use
from ptxcore.isa.types import WIDTHS


def bits(how: Use, place: int = 0) -> int:
    return WIDTHS[how.types[place]]


def number(value: int, kind: str, width: int = 0) -> int:
    """The number that bits stand for in a type such as s32."""
    return from_bits(value, width or WIDTHS[kind], kind[0] == "s")


def from_bits(value: int, width: int, signed: bool) -> int:
    value %= 1 << width
    return value - (1 << width) if signed and value >= 1 << (width - 1) else value


def clamped(value: int, width: int, signed: bool) -> int:
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return max(low, min(high, value))


def elementwise(compute: Any) -> Any:
    """A reference from one on numbers: `compute(how, a, b ...)`; on each half for packed types."""

    def reference(how: Use, *sources: int) -> int:
        kind = how.types[0]
        base, _, count = kind.partition("x")
        width = WIDTHS[base]
        result = 0
        for i in range(int(count or 1)):
            part = [from_bits(s >> i * width, width, base[0] == "s") for s in sources]
            result |= compute(how, *part) % (1 << width) << i * width
        return result

    return reference


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


add = elementwise(lambda how, a, b: clamped(a + b, 32, True) if how.words["sat"] or "sat" in how.present else a + b)
REFERENCES: dict[tuple[str, str], Any] = {("9.7.1.1", "add.type d, a, b"): add}
