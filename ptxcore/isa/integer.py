"""Integer arithmetic (PTX ISA 9.0, section 9.7.1)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.values.bits import leading_zeros, low_ones, ones, reverse, select_one
from ptxcore.values.packed import each, split
from ptxcore.values.terms import (
    Value,
    ashr,
    bit_and,
    bit_not,
    bit_or,
    conj,
    eq,
    extract,
    ite,
    lshr,
    mask,
    ne,
    sdiv,
    sext,
    shl,
    slt,
    srem,
    udiv,
    ule,
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
    """d = a + b"""
    return plus(a, b, how.width)


def add_packed(how: Use, a: Value, b: Value) -> Value:
    """d[i] = a[i] + b[i], for both halves"""
    return each(lambda x, y: plus(x, y, 16), 16, 2, a, b)


def sub(how: Use, a: Value, b: Value) -> Value:
    """d = a - b"""
    return less(a, b, how.width)


def _saturated(how: Use, wide: Value) -> Value:
    return clamp(wide, 2 * how.width, -(1 << (how.width - 1)), (1 << (how.width - 1)) - 1, how.width)


def add_sat(how: Use, a: Value, b: Value) -> Value:
    """d = a + b, clamped to MININT .. MAXINT"""
    w = how.width
    return _saturated(how, plus(extend(how, a, 2 * w), extend(how, b, 2 * w), 2 * w))


def sub_sat(how: Use, a: Value, b: Value) -> Value:
    """d = a - b, clamped to MININT .. MAXINT"""
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
    """d = (the high half of a * b) + c, clamped to MININT .. MAXINT"""
    w = how.width
    return _saturated(how, plus(extend(how, mul(how, a, b), 2 * w), extend(how, c, 2 * w), 2 * w))


def mul24(how: Use, a: Value, b: Value) -> Value:
    """t = a * b, of the low 24 bits of each; d = t<47..16> or t<31..0> for .hi, .lo"""
    wide = sext if how.signed else (lambda x, from_width, width: zext(x, width))
    t = times(wide(fit(a, 24), 24, 48), wide(fit(b, 24), 24, 48), 48)
    return extract(t, 47, 16) if how.words["part"] == "hi" else extract(t, 31, 0)


def mad24(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = (a * b as mul24) + c"""
    return plus(mul24(how, a, b), c, 32)


def mad24_sat(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = (a * b as mul24) + c, clamped to MININT .. MAXINT"""
    return _saturated(how, plus(extend(how, mul24(how, a, b), 64), extend(how, c, 64), 64))


def sad(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = c + ((a < b) ? b - a : a - b)"""
    w = how.width
    return plus(c, ite(less_than(how, a, b), less(b, a, w), less(a, b, w), w), w)


def div(how: Use, a: Value, b: Value) -> Value:
    """d = a / b, rounded towards zero. By zero, which the manual leaves open, -1 as the code that ptxas makes."""
    return ite(eq(b, 0), mask(how.width), (sdiv if how.signed else udiv)(a, b, how.width), how.width)


def rem(how: Use, a: Value, b: Value) -> Value:
    """d = a % b, with the sign of a. By zero, which the manual leaves open, -1 as the code that ptxas makes."""
    return ite(eq(b, 0), mask(how.width), (srem if how.signed else urem)(a, b, how.width), how.width)


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


def minimum_packed(how: Use, a: Value, b: Value) -> Value:
    """d[i] = (a[i] < b[i]) ? a[i] : b[i], for both halves"""
    below = slt if how.signed else ult
    return each(lambda x, y: ite(below(x, y, 16), x, y, 16), 16, 2, a, b)


def maximum_packed(how: Use, a: Value, b: Value) -> Value:
    """d[i] = (a[i] > b[i]) ? a[i] : b[i], for both halves"""
    below = slt if how.signed else ult
    return each(lambda x, y: ite(below(y, x, 16), x, y, 16), 16, 2, a, b)


def _not_negative(a: Value, width: int) -> Value:
    return ite(slt(a, 0, width), 0, a, width)


def minimum_relu(how: Use, a: Value, b: Value) -> Value:
    """As min; a negative result gives 0"""
    if how.type == "s32":
        return _not_negative(minimum(how, a, b), 32)
    return each(lambda x: _not_negative(x, 16), 16, 2, minimum_packed(how, a, b))


def maximum_relu(how: Use, a: Value, b: Value) -> Value:
    """As max; a negative result gives 0"""
    if how.type == "s32":
        return _not_negative(maximum(how, a, b), 32)
    return each(lambda x: _not_negative(x, 16), 16, 2, maximum_packed(how, a, b))


def popc(how: Use, a: Value) -> Value:
    """d = how many bits of a are 1"""
    return ones(a, how.width)


def clz(how: Use, a: Value) -> Value:
    """d = how many bits of a above its highest 1 are 0"""
    return leading_zeros(a, how.width)


def bfind(how: Use, a: Value) -> Value:
    """if (signed && a < 0) a = ~a; d = the position of the highest 1 in a, with .shiftamt msb - position; -1 if a == 0"""
    w = how.width
    if how.signed:
        a = ite(slt(a, 0, w), bit_not(a, w), a, w)
    above = leading_zeros(a, w)
    found = above if how.words["shiftamt"] else less(w - 1, above, 32)
    return ite(eq(a, 0), mask(32), found, 32)


def fns(how: Use, bits: Value, base: Value, offset: Value) -> Value:
    """d = the position of the |offset|-th 1 in `bits`, counted from `base`: upwards if offset > 0, downwards if
    offset < 0; base itself if offset == 0 and bits[base] == 1; else -1. A base above 31, which the manual leaves open,
    gives -1."""
    down = slt(offset, 0, 32)
    count = ite(down, minus(offset, 32), offset, 32)
    # Downwards is upwards in the mirror.
    start = ite(down, less(31, base, 32), base, 32)
    seen = shl(lshr(ite(down, reverse(bits, 32), bits, 32), start, 32), start, 32)
    found = select_one(seen, ite(eq(offset, 0), 1, count, 32))
    found = ite(conj(eq(offset, 0), ne(found, base)), mask(32), found, 32)
    return ite(conj(down, ne(found, mask(32))), less(31, found, 32), found, 32)


def brev(how: Use, a: Value) -> Value:
    """d[i] = a[msb - i]"""
    return reverse(a, how.width)


def _byte(how: Use, a: Value) -> Value:
    """a & 0xff, of the instruction's width: a position or length of a bit field"""
    return zext(extract(a, 7, 0), how.width)


def bfe(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = a<pos+len-1..pos>, pos = b & 0xff, len = c & 0xff, filled with its highest bit if signed; bits above the msb
    of a are copies of it if signed, else 0"""
    w, pos, length = how.width, _byte(how, b), _byte(how, c)
    shift = ashr if how.signed else lshr
    field = shift(a, pos, w)
    above = less(w, length, w)
    return ite(ult(length, w, w), shift(shl(field, above, w), above, w), field, w)


def bfi(how: Use, a: Value, b: Value, c: Value, d: Value) -> Value:
    """f = b; f<pos+len-1..pos> = a<len-1..0>, pos = c & 0xff, len = d & 0xff, as far as f reaches"""
    w, pos, length = how.width, _byte(how, c), _byte(how, d)
    field = shl(low_ones(length, w), pos, w)
    return bit_or(bit_and(b, bit_not(field, w), w), bit_and(shl(a, pos, w), field, w), w)


def szext(how: Use, a: Value, b: Value) -> Value:
    """d = the low b bits of a, extended with their sign if signed, with 0 otherwise; 0 if there are none. b >= 32 is
    taken modulo 32 with .wrap, and gives a with .clamp"""
    b1 = bit_and(b, 31, 32)
    too_large = ule(32, b, 32) if how.words["mode"] == "clamp" else 0
    above = ite(too_large, 0, shl(mask(32), b1, 32), 32)
    low = bit_and(a, bit_not(above, 32), 32)
    if not how.signed:
        return low
    sign = fit(lshr(a, bit_and(less(b1, 1, 32), 31, 32), 32), 1)
    return ite(conj(sign, ne(b1, 0)), bit_or(low, above, 32), low, 32)


def bmsk(how: Use, a: Value, b: Value) -> Value:
    """d = b ones from bit a on, as far as d reaches. .wrap takes both modulo 32; .clamp gives 0 for a >= 32"""
    clamped = how.words["mode"] == "clamp"
    width = b if clamped else bit_and(b, 31, 32)
    position = a if clamped else bit_and(a, 31, 32)
    return shl(low_ones(width, 32), position, 32)


def _widened(a: Value, width: int, kind: str) -> Value:
    """A part of `width` bits, extended to 32 as its type says"""
    return sext(a, width, 32) if kind[0] == "s" else zext(a, 32)


def _dot(c: Value, va: tuple[Value, ...], vb: tuple[Value, ...]) -> Value:
    """d = c; d += va[i] * vb[i]"""
    d = c
    for x, y in zip(va, vb, strict=True):
        d = plus(d, times(x, y, 32), 32)
    return d


def _parts(how: Use, a: Value, width: int, slot: str) -> tuple[Value, ...]:
    return tuple([_widened(x, width, how.words[slot]) for x in split(a, width, 32 // width)])


def dp4a(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = c + the sum of a.byte[i] * b.byte[i]"""
    return _dot(c, _parts(how, a, 8, "atype"), _parts(how, b, 8, "btype"))


def dp2a(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = c + the sum of a.half[i] * b.byte[select + i]; select = 0 or 2 for .lo, .hi"""
    select = 0 if how.words["mode"] == "lo" else 2
    return _dot(c, _parts(how, a, 16, "atype"), _parts(how, b, 8, "btype")[select : select + 2])


_SIGNED = "s16 s32 s64"
_ALL = "u16 u32 u64 s16 s32 s64"
_NARROW = "u16 u32 s16 s32"
_PACKED = "u16x2 s16x2"
_WORDS = "u32 u64 s32 s64"
_DOT = "u32 s32"

_fermi = partial(Form, version="2.0", target="sm_20")
_packed = partial(Form, version="8.0", target="sm_90")
_product = partial(Form, version="5.0", target="sm_61", atype=_DOT, btype=_DOT)

FORMS = (
    Form("add.type d, a, b", add, section="9.7.1.1", type=_ALL),
    Form("add.sat.s32 d, a, b", add_sat, section="9.7.1.1", repeats="sat"),
    _packed("add.type d, a, b", add_packed, section="9.7.1.1", type=_PACKED),
    Form("sub.type d, a, b", sub, section="9.7.1.2", type=_ALL),
    Form("sub.sat.s32 d, a, b", sub_sat, section="9.7.1.2", repeats="sat"),
    Form("mul.part.type d, a, b", mul, section="9.7.1.3", part="lo hi", type=_ALL, first="part"),
    Form("mul.part.type d:wide, a, b", mul, section="9.7.1.3", part="wide", type=_NARROW, first="part"),
    Form("mad.part.type d, a, b, c", mad, section="9.7.1.4", part="lo hi", type=_ALL, first="part"),
    Form("mad.part.type d:wide, a, b, c:wide", mad, section="9.7.1.4", part="wide", type=_NARROW, first="part"),
    Form("mad.part.sat.s32 d, a, b, c", mad_sat, section="9.7.1.4", part="hi", first="part", repeats="sat"),
    Form("mul24.part.type d, a, b", mul24, section="9.7.1.5", part="lo hi", type=_DOT, first="part"),
    Form("mad24.part.type d, a, b, c", mad24, section="9.7.1.6", part="lo hi", type=_DOT, first="part"),
    Form("mad24.part.sat.s32 d, a, b, c", mad24_sat, section="9.7.1.6", part="hi", first="part", repeats="sat"),
    Form("sad.type d, a, b, c", sad, section="9.7.1.7", type=_ALL),
    Form("div.type d, a, b", div, section="9.7.1.8", type=_ALL),
    Form("rem.type d, a, b", rem, section="9.7.1.9", type=_ALL),
    Form("abs.type d, a", absolute, section="9.7.1.10", type=_SIGNED),
    Form("neg.type d, a", neg, section="9.7.1.11", type=_SIGNED),
    Form("min.type d, a, b", minimum, section="9.7.1.12", type=_ALL),
    _packed("min.type d, a, b", minimum_packed, section="9.7.1.12", type=_PACKED),
    _packed("min.relu.type d, a, b", minimum_relu, section="9.7.1.12", repeats="relu", type="s16x2 s32"),
    Form("max.type d, a, b", maximum, section="9.7.1.13", type=_ALL),
    _packed("max.type d, a, b", maximum_packed, section="9.7.1.13", type=_PACKED),
    _packed("max.relu.type d, a, b", maximum_relu, section="9.7.1.13", repeats="relu", type="s16x2 s32"),
    _fermi("popc.type d:u32, a", popc, section="9.7.1.14", type="b32 b64"),
    _fermi("clz.type d:u32, a", clz, section="9.7.1.15", type="b32 b64"),
    _fermi("bfind{.shiftamt}.type d:u32, a", bfind, section="9.7.1.16", type=_WORDS, repeats="shiftamt"),
    Form("fns.b32 d, mask, base, offset", fns, section="9.7.1.17", version="6.0", target="sm_30"),
    _fermi("brev.type d, a", brev, section="9.7.1.18", type="b32 b64"),
    _fermi("bfe.type d, a, b:u32 0..255, c:u32 0..255", bfe, section="9.7.1.19", type=_WORDS),
    _fermi("bfi.type f:out, a, b, c:u32 0..255, d:in u32 0..255", bfi, section="9.7.1.20", type="b32 b64"),
    Form(
        "szext.mode.type d, a, b:u32 own",
        szext,
        section="9.7.1.21",
        version="7.6",
        target="sm_70",
        mode="clamp wrap",
        type=_DOT,
    ),
    Form(
        "bmsk.mode.b32 d:u32, a:u32, b:u32", bmsk, section="9.7.1.22", version="7.6", target="sm_70", mode="clamp wrap"
    ),
    _product("dp4a.atype.btype d:u32, a, b, c:u32 own", dp4a, section="9.7.1.23"),
    _product("dp2a.mode.atype.btype d:u32, a, b, c:u32 own", dp2a, section="9.7.1.24", mode="lo hi", first="mode"),
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
        "Names of functions stand for values in every version. The checker wants PTX ISA 2.1, in both modes.",
        "Addresses of functions came with PTX ISA 2.1.",
        checked=False,
    ),
    Difference(
        "9.7.1.8",
        "Some forms of `div`, `rem`, `rcp` and `sqrt`, such as those of 64 bits, are expanded while they are read, and the "
        "expansion takes neither addresses (`v+4`) nor names of functions. The checker takes them as for others.",
        "All instructions of a type take the same operands.",
        checked=False,
    ),
)
