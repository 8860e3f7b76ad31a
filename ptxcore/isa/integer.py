"""Integer arithmetic (PTX ISA 9.0, section 9.7.1)."""

from __future__ import annotations

from ptxcore.isa.form import INTEGERS_16_64, SIGNED_16_64, Form, Slot, Use
from ptxcore.values.terms import (
    Value,
    extract,
    ite,
    mask,
    sdiv,
    sext,
    slt,
    srem,
    udiv,
    ult,
    urem,
    zext,
)
from ptxcore.values.terms import add as plus
from ptxcore.values.terms import mul as times
from ptxcore.values.terms import neg as minus
from ptxcore.values.terms import sub as less


def extend(how: Use, a: Value, width: int) -> Value:
    """`a` of the instruction's type, widened as its signedness says."""
    return sext(a, how.width, width) if how.signed else zext(a, width)


def clamp(a: Value, from_width: int, low: int, high: int, width: int) -> Value:
    """The signed `a` of `from_width` bits, brought into low .. high, as `width` bits."""
    lowest, highest = low & mask(from_width), high & mask(from_width)
    inside = ite(slt(highest, a, from_width), highest, a, from_width)
    return fit(ite(slt(a, lowest, from_width), lowest, inside, from_width), width)


def fit(a: Value, width: int) -> Value:
    """The low `width` bits of a value that is at least as wide."""
    return extract(a, width - 1, 0)


def add(how: Use, a: Value, b: Value) -> Value:
    """d = a + b; with .sat clamped to MININT .. MAXINT"""
    return plus(a, b, how.width)


def sub(how: Use, a: Value, b: Value) -> Value:
    """d = a - b"""
    return less(a, b, how.width)


def _saturated(how: Use, wide: Value) -> Value:
    return clamp(wide, 2 * how.width, -(1 << (how.width - 1)), (1 << (how.width - 1)) - 1, how.width)


def add_sat(how: Use, a: Value, b: Value) -> Value:
    w = how.width
    return _saturated(how, plus(extend(how, a, 2 * w), extend(how, b, 2 * w), 2 * w))


def sub_sat(how: Use, a: Value, b: Value) -> Value:
    w = how.width
    return _saturated(how, less(extend(how, a, 2 * w), extend(how, b, 2 * w), 2 * w))


def mul(how: Use, a: Value, b: Value) -> Value:
    """t = a * b; d = t, t<2n-1..n> or t<n-1..0> for .wide, .hi, .lo"""
    n, part = how.width, how.words["part"]
    if part == "lo":
        return times(a, b, n)
    t = times(extend(how, a, 2 * n), extend(how, b, 2 * n), 2 * n)
    return t if part == "wide" else extract(t, 2 * n - 1, n)


def mad(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = (a * b as mul) + c"""
    return plus(mul(how, a, b), c, 2 * how.width if how.words["part"] == "wide" else how.width)


def mad_sat(how: Use, a: Value, b: Value, c: Value) -> Value:
    w = how.width
    return _saturated(how, plus(extend(how, mul(how, a, b), 2 * w), extend(how, c, 2 * w), 2 * w))


def div(how: Use, a: Value, b: Value) -> Value:
    """d = a / b, rounded towards zero"""
    return (sdiv if how.signed else udiv)(a, b, how.width)


def rem(how: Use, a: Value, b: Value) -> Value:
    """d = a % b, with the sign of a"""
    return (srem if how.signed else urem)(a, b, how.width)


def absolute(how: Use, a: Value) -> Value:
    """d = |a|"""
    return ite(slt(a, 0, how.width), minus(a, how.width), a, how.width)


def neg(how: Use, a: Value) -> Value:
    """d = -a"""
    return minus(a, how.width)


def less_than(how: Use, a: Value, b: Value) -> Value:
    return (slt if how.signed else ult)(a, b, how.width)


def minimum(how: Use, a: Value, b: Value) -> Value:
    """d = (a < b) ? a : b"""
    return ite(less_than(how, a, b), a, b, how.width)


def maximum(how: Use, a: Value, b: Value) -> Value:
    """d = (a > b) ? a : b"""
    return ite(less_than(how, b, a), a, b, how.width)


_SAT = (Slot("sat", ("sat",), required=True),)
_S32 = (("s32",),)
_ALL = (INTEGERS_16_64,)
_SIGNED = (SIGNED_16_64,)
_PART = (Slot("part", ("lo", "hi"), required=True),)
_WIDE = (Slot("part", ("wide",), required=True),)
_WIDENABLE = (("u16", "u32", "s16", "s32"),)

FORMS = (
    Form("add", "d, a, b", add, types=_ALL, section="9.7.1.1"),
    Form("add", "d, a, b", add_sat, slots=_SAT, types=_S32, section="9.7.1.1"),
    Form("sub", "d, a, b", sub, types=_ALL, section="9.7.1.2"),
    Form("sub", "d, a, b", sub_sat, slots=_SAT, types=_S32, section="9.7.1.2"),
    Form("mul", "d, a, b", mul, slots=_PART, types=_ALL, section="9.7.1.3"),
    Form("mul", "d:W, a, b", mul, slots=_WIDE, types=_WIDENABLE, section="9.7.1.3"),
    Form("mad", "d, a, b, c", mad, slots=_PART, types=_ALL, section="9.7.1.4"),
    Form("mad", "d:W, a, b, c:W", mad, slots=_WIDE, types=_WIDENABLE, section="9.7.1.4"),
    Form(
        "mad", "d, a, b, c", mad_sat, slots=(Slot("part", ("hi",), required=True), *_SAT), types=_S32, section="9.7.1.4"
    ),
    Form("div", "d, a, b", div, types=_ALL, section="9.7.1.8"),
    Form("rem", "d, a, b", rem, types=_ALL, section="9.7.1.9"),
    Form("abs", "d, a", absolute, types=_SIGNED, section="9.7.1.10"),
    Form("neg", "d, a", neg, types=_SIGNED, section="9.7.1.11"),
    Form("min", "d, a, b", minimum, types=_ALL, section="9.7.1.12"),
    Form("max", "d, a, b", maximum, types=_ALL, section="9.7.1.13"),
)
