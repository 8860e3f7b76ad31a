"""Extended-precision integer arithmetic: instructions that read or write the carry flag (PTX ISA 9.0, section 9.7.2).

The flag holds a carry behind an addition and a borrow behind a subtraction, as the manual has it. The code that ptxas
makes keeps the inverse of a borrow; that shows only where `addc` reads what `sub.cc` wrote, or `subc` what `add.cc` wrote.
"""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.integer import clamp, extend, mul
from ptxcore.values.terms import Value, extract, zext
from ptxcore.values.terms import add as plus
from ptxcore.values.terms import sub as less

#: A result and the flag that goes with it.
Flagged = tuple[Value, Value]


def _sum(how: Use, a: Value, b: Value, carry: Value) -> Flagged:
    """a + b + carry, and the carry out of it"""
    w = how.width
    t = plus(plus(zext(a, w + 1), zext(b, w + 1), w + 1), zext(carry, w + 1), w + 1)
    return extract(t, w - 1, 0), extract(t, w, w)


def _difference(how: Use, a: Value, b: Value, borrow: Value) -> Flagged:
    """a - (b + borrow), and the borrow out of it"""
    w = how.width
    t = less(less(zext(a, w + 1), zext(b, w + 1), w + 1), zext(borrow, w + 1), w + 1)
    return extract(t, w - 1, 0), extract(t, w, w)


def add_cc(how: Use, a: Value, b: Value) -> Flagged:
    """d = a + b; CC.CF = carry-out"""
    return _sum(how, a, b, 0)


def addc(how: Use, a: Value, b: Value, carry: Value) -> Value:
    """d = a + b + CC.CF"""
    return _sum(how, a, b, carry)[0]


def addc_cc(how: Use, a: Value, b: Value, carry: Value) -> Flagged:
    """d = a + b + CC.CF; CC.CF = carry-out"""
    return _sum(how, a, b, carry)


def sub_cc(how: Use, a: Value, b: Value) -> Flagged:
    """d = a - b; CC.CF = borrow-out"""
    return _difference(how, a, b, 0)


def subc(how: Use, a: Value, b: Value, borrow: Value) -> Value:
    """d = a - (b + CC.CF)"""
    return _difference(how, a, b, borrow)[0]


def subc_cc(how: Use, a: Value, b: Value, borrow: Value) -> Flagged:
    """d = a - (b + CC.CF); CC.CF = borrow-out"""
    return _difference(how, a, b, borrow)


def mad_cc(how: Use, a: Value, b: Value, c: Value) -> Flagged:
    """t = a * b; d = (the high or low half of t) + c; CC.CF = carry-out of the addition"""
    return _sum(how, mul(how, a, b), c, 0)


def madc(how: Use, a: Value, b: Value, c: Value, carry: Value) -> Value:
    """t = a * b; d = (the high or low half of t) + c + CC.CF"""
    return _sum(how, mul(how, a, b), c, carry)[0]


def madc_cc(how: Use, a: Value, b: Value, c: Value, carry: Value) -> Flagged:
    """As madc; CC.CF = carry-out of the addition"""
    return _sum(how, mul(how, a, b), c, carry)


def _clamped(t: Value) -> Value:
    return clamp(t, 34, -(1 << 31), (1 << 31) - 1, 32)


def addc_sat(how: Use, a: Value, b: Value, carry: Value) -> Value:
    """d = a + b + CC.CF, clamped to MININT .. MAXINT"""
    return _clamped(plus(plus(extend(how, a, 34), extend(how, b, 34), 34), zext(carry, 34), 34))


def subc_sat(how: Use, a: Value, b: Value, borrow: Value) -> Value:
    """d = a - (b + CC.CF), clamped to MININT .. MAXINT"""
    return _clamped(less(less(extend(how, a, 34), extend(how, b, 34), 34), zext(borrow, 34), 34))


def madc_sat(how: Use, a: Value, b: Value, c: Value, carry: Value) -> Value:
    """d = (the high half of a * b) + c + CC.CF, clamped to MININT .. MAXINT"""
    return addc_sat(how, mul(how, a, b), c, carry)


_CARRIES = "u32 s32 u64 s64"
#: Instructions that leave the carry flag as it is take 16 bits and `.sat` too; the manual has neither.
_SHORT = "u16 s16"
_WIDE = {"u64 s64": "4.3 sm_20"}

#: Where ptxas asks for nothing, the manual asks for the same of the forms without `.cc`.
_MANUAL = _WIDE

_write = partial(Form, repeats="cc", needs=_WIDE, type=_CARRIES, carry="out")
_both = partial(_write, carry="in out")
_read = partial(Form, version="1.2", carry="in")
_product = partial(Form, part="lo hi", version="3.0", target="sm_20", first="part", carry="in")

FORMS = (
    _write("add.cc.type d, a, b", add_cc, section="9.7.2.1", version="1.2"),
    _read("addc.type d, a, b", addc, section="9.7.2.2", type=_CARRIES, manual=_MANUAL),
    _read("addc.type d, a, b", addc, section="9.7.2.2", type=_SHORT, only="ptxas"),
    _read("addc.sat.s32 d, a, b", addc_sat, section="9.7.2.2", repeats="sat", only="ptxas"),
    _both("addc.cc.type d, a, b", addc_cc, section="9.7.2.2", version="1.2"),
    _write("sub.cc.type d, a, b", sub_cc, section="9.7.2.3", version="1.3", manual={"": "1.2"}),
    _read("subc.type d, a, b", subc, section="9.7.2.4", version="1.3", type=_CARRIES, manual={"": "1.2", **_MANUAL}),
    _read("subc.type d, a, b", subc, section="9.7.2.4", version="1.3", type=_SHORT, only="ptxas"),
    _read("subc.sat.s32 d, a, b", subc_sat, section="9.7.2.4", version="1.3", repeats="sat", only="ptxas"),
    _both("subc.cc.type d, a, b", subc_cc, section="9.7.2.4", version="1.3", manual={"": "1.2"}),
    _product(
        "mad.part.cc.type d, a, b, c", mad_cc, carry="out", section="9.7.2.5", type=_CARRIES, needs=_WIDE, repeats="cc"
    ),
    _product("madc.part.type d, a, b, c", madc, section="9.7.2.6", type=_CARRIES, manual=_MANUAL),
    _product("madc.part.type d, a, b, c", madc, section="9.7.2.6", type=_SHORT, only="ptxas"),
    _product(
        "madc.part.sat.s32 d, a, b, c",
        madc_sat,
        section="9.7.2.6",
        part="hi",
        repeats="sat",
        only="ptxas",
    ),
    _product(
        "madc.part.cc.type d, a, b, c",
        madc_cc,
        carry="in out",
        section="9.7.2.6",
        type=_CARRIES,
        needs=_WIDE,
        repeats="cc",
    ),
)

DIFFERENCES = (
    Difference(
        "9.7.2.2",
        "`addc`, `subc` and `madc` without `.cc` take 64-bit types as early as 32-bit ones.",
        "Their 64-bit types came with PTX ISA 4.3 and need sm_20.",
    ),
    Difference(
        "9.7.2.2",
        "`addc`, `subc` and `madc` without `.cc` take 16-bit types; `addc.s32`, `subc.s32` and `madc.hi.s32` take `.sat`.",
        "Types have 32 or 64 bits, and there is no saturation.",
    ),
    Difference(
        "9.7.2.3",
        "`sub.cc` and `subc` are known from PTX ISA 1.3 on.",
        "They came with PTX ISA 1.2.",
    ),
    Difference(
        "9.7.2.5",
        "`mad.cc` and `madc` need `.lo` or `.hi`. So does the checker, in both modes.",
        "The syntax puts `.hi` and `.lo` into braces, as if they could be left out.",
        checked=False,
    ),
)
