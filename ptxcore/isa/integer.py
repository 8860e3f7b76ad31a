"""Integer arithmetic (PTX ISA 9.0, section 9.7.1)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
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


_SIGNED = "s16 s32 s64"
_ALL = "u16 u32 u64 s16 s32 s64"
_NARROW = "u16 u32 s16 s32"
_PACKED = "u16x2 s16x2"
_WORDS = "u32 u64 s32 s64"
_DOT = "u32 s32"

_fermi = partial(Form, version="2.0", target="sm_20")
_packed = partial(Form, version="8.0", target="sm_90")
_dot = partial(Form, version="5.0", target="sm_61", atype=_DOT, btype=_DOT)

FORMS = (
    Form("add.type d, a, b", add, section="9.7.1.1", type=_ALL),
    Form("add.sat.s32 d, a, b", add_sat, section="9.7.1.1", repeats="sat"),
    _packed("add.type d, a, b", section="9.7.1.1", type=_PACKED),
    Form("sub.type d, a, b", sub, section="9.7.1.2", type=_ALL),
    Form("sub.sat.s32 d, a, b", sub_sat, section="9.7.1.2", repeats="sat"),
    Form("mul.part.type d, a, b", mul, section="9.7.1.3", part="lo hi", type=_ALL, first="part"),
    Form("mul.part.type d:wide, a, b", mul, section="9.7.1.3", part="wide", type=_NARROW, first="part"),
    Form("mad.part.type d, a, b, c", mad, section="9.7.1.4", part="lo hi", type=_ALL, first="part"),
    Form("mad.part.type d:wide, a, b, c:wide", mad, section="9.7.1.4", part="wide", type=_NARROW, first="part"),
    Form("mad.part.sat.s32 d, a, b, c", mad_sat, section="9.7.1.4", part="hi", first="part", repeats="sat"),
    Form("mul24.part.type d, a, b", section="9.7.1.5", part="lo hi", type=_DOT, first="part"),
    Form("mad24.part.type d, a, b, c", section="9.7.1.6", part="lo hi", type=_DOT, first="part"),
    Form("mad24.part.sat.s32 d, a, b, c", section="9.7.1.6", part="hi", first="part", repeats="sat"),
    Form("sad.type d, a, b, c", section="9.7.1.7", type=_ALL),
    Form("div.type d, a, b", div, section="9.7.1.8", type=_ALL),
    Form("rem.type d, a, b", rem, section="9.7.1.9", type=_ALL),
    Form("abs.type d, a", absolute, section="9.7.1.10", type=_SIGNED),
    Form("neg.type d, a", neg, section="9.7.1.11", type=_SIGNED),
    Form("min.type d, a, b", minimum, section="9.7.1.12", type=_ALL),
    _packed("min.type d, a, b", section="9.7.1.12", type=_PACKED),
    _packed("min.relu.type d, a, b", section="9.7.1.12", repeats="relu", type="s16x2 s32"),
    Form("max.type d, a, b", maximum, section="9.7.1.13", type=_ALL),
    _packed("max.type d, a, b", section="9.7.1.13", type=_PACKED),
    _packed("max.relu.type d, a, b", section="9.7.1.13", repeats="relu", type="s16x2 s32"),
    _fermi("popc.type d:u32, a", section="9.7.1.14", type="b32 b64"),
    _fermi("clz.type d:u32, a", section="9.7.1.15", type="b32 b64"),
    _fermi("bfind{.shiftamt}.type d:u32, a", section="9.7.1.16", type=_WORDS, repeats="shiftamt"),
    Form("fns.b32 d, mask, base, offset", section="9.7.1.17", version="6.0", target="sm_30"),
    _fermi("brev.type d, a", section="9.7.1.18", type="b32 b64"),
    _fermi("bfe.type d, a, b:u32 0..255, c:u32 0..255", section="9.7.1.19", type=_WORDS),
    _fermi("bfi.type f:out, a, b, c:u32 0..255, d:in u32 0..255", section="9.7.1.20", type="b32 b64"),
    Form(
        "szext.mode.type d, a, b:u32", section="9.7.1.21", version="7.6", target="sm_70", mode="clamp wrap", type=_DOT
    ),
    Form("bmsk.mode.b32 d:u32, a:u32, b:u32", section="9.7.1.22", version="7.6", target="sm_70", mode="clamp wrap"),
    _dot("dp4a.atype.btype d:u32, a, b, c:u32", section="9.7.1.23"),
    _dot("dp2a.mode.atype.btype d:u32, a, b, c:u32", section="9.7.1.24", mode="lo hi", first="mode"),
)

DIFFERENCES = (
    Difference(
        "9.7.1",
        "The name of a function may stand for a value of any type that the instruction states, whatever its size: "
        "`add.u16 h, f, 1`.",
        "The address of a function is had by `mov`.",
    ),
    Difference(
        "9.7.1",
        "`add`, `sub`, `min`, `max`, `abs` and others overlook a type `.pred` beside their own: `add.pred.u32`. The "
        "checker finds a type too many.",
        "There is one type.",
        checked=False,
    ),
    Difference(
        "9.7.1.8",
        "64-bit `div` and `rem` are expanded while they are read, and the expansion takes neither addresses (`v+4`) nor "
        "names of functions. The checker takes them as for other instructions.",
        "All instructions of a type take the same operands.",
        checked=False,
    ),
)
