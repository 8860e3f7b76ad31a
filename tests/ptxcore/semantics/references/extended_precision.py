"""Arithmetic with the carry flag (section 9.7.2), on exact integers."""

from __future__ import annotations

from typing import Any

from references.integer import clamped, number, product

from ptxcore.isa.form import Use
from ptxcore.isa.types import WIDTHS


def flagged(compute: Any, first: Any = None) -> Any:
    """A reference from exact arithmetic on unsigned numbers; the flag says that it left the register's range."""

    def reference(how: Use, *sources: int) -> Any:
        width = WIDTHS[how.types[0]]
        *operands, carry = sources if "in" in how.form.carry else (*sources, 0)
        if first is not None:
            operands = [first(how, *operands[:2]), operands[2]]
        exact = compute(*operands, carry)
        d = exact % (1 << width)
        return (d, int(exact != d)) if "out" in how.form.carry else d

    return reference


def plus(a: int, b: int, carry: int) -> int:
    return a + b + carry


def minus(a: int, b: int, borrow: int) -> int:
    return a - (b + borrow)


def saturated(compute: Any, first: Any = None) -> Any:
    def reference(how: Use, *sources: int) -> int:
        *operands, carry = sources
        if first is not None:
            operands = [first(how, *operands[:2]), operands[2]]
        return clamped(compute(*(number(x, "s32") for x in operands), carry), 32, True) % (1 << 32)

    return reference


REFERENCES = {
    ("9.7.2.1", "add.cc.type d, a, b"): flagged(plus),
    ("9.7.2.2", "addc.type d, a, b"): flagged(plus),
    ("9.7.2.2", "addc.cc.type d, a, b"): flagged(plus),
    ("9.7.2.2", "addc.sat.s32 d, a, b"): saturated(plus),
    ("9.7.2.3", "sub.cc.type d, a, b"): flagged(minus),
    ("9.7.2.4", "subc.type d, a, b"): flagged(minus),
    ("9.7.2.4", "subc.cc.type d, a, b"): flagged(minus),
    ("9.7.2.4", "subc.sat.s32 d, a, b"): saturated(minus),
    ("9.7.2.5", "mad.part.cc.type d, a, b, c"): flagged(plus, product),
    ("9.7.2.6", "madc.part.type d, a, b, c"): flagged(plus, product),
    ("9.7.2.6", "madc.part.cc.type d, a, b, c"): flagged(plus, product),
    ("9.7.2.6", "madc.part.sat.s32 d, a, b, c"): saturated(plus, product),
}
