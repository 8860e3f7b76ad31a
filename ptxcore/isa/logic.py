"""Logic and shifts (PTX ISA 9.0, section 9.7.8)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.integer import extend, fit
from ptxcore.values.terms import (
    Value,
    ashr,
    bit_and,
    bit_not,
    bit_or,
    bit_xor,
    concat,
    eq,
    extract,
    ite,
    lshr,
    ne,
    ult,
    zext,
)
from ptxcore.values.terms import shl as shifted_left


def and_(how: Use, a: Value, b: Value) -> Value:
    """d = a & b"""
    return bit_and(a, b, how.width)


def or_(how: Use, a: Value, b: Value) -> Value:
    """d = a | b"""
    return bit_or(a, b, how.width)


def xor(how: Use, a: Value, b: Value) -> Value:
    """d = a ^ b"""
    return bit_xor(a, b, how.width)


def not_(how: Use, a: Value) -> Value:
    """d = ~a"""
    return bit_not(a, how.width)


def shl(how: Use, a: Value, b: Value) -> Value:
    """d = a << b; amounts greater than the width give 0"""
    w = max(how.width, 32)  # the amount has 32 bits, whatever the type
    return fit(shifted_left(zext(a, w), zext(b, w), w), how.width)


def shr(how: Use, a: Value, b: Value) -> Value:
    """d = a >> b, filled with the sign for signed types; greater amounts shift everything out"""
    w = max(how.width, 32)
    return fit((ashr if how.signed else lshr)(extend(how, a, w), zext(b, w), w), how.width)


def cnot(how: Use, a: Value) -> Value:
    """d = (a == 0) ? 1 : 0"""
    return ite(eq(a, 0), 1, 0, how.width)


def lop3(how: Use, a: Value, b: Value, c: Value, lut: int) -> Value:
    """d[i] = bit 4*a[i] + 2*b[i] + c[i] of immLut, of which eight bits count"""
    d: Value = 0
    for row in range(8):
        if lut >> row & 1:
            chosen = a if row & 4 else bit_not(a, 32)
            chosen = bit_and(chosen, b if row & 2 else bit_not(b, 32), 32)
            d = bit_or(d, bit_and(chosen, c if row & 1 else bit_not(c, 32), 32), 32)
    return d


def lop3_bool(how: Use, a: Value, b: Value, c: Value, lut: int, q: Value) -> tuple[Value, Value]:
    """d as lop3; p = (d != 0) BoolOp q"""
    d = lop3(how, a, b, c, lut)
    combine = bit_or if how.words["bool"] == "or" else bit_and
    return d, combine(ne(d, 0), q, 1)


def shf(how: Use, a: Value, b: Value, c: Value) -> Value:
    """n = min(c, 32) for .clamp, c & 0x1f for .wrap; d = the high half of [b, a] << n, or the low half of [b, a] >> n"""
    n = ite(ult(c, 32, 32), c, 32, 32) if how.words["mode"] == "clamp" else bit_and(c, 31, 32)
    both = concat(b, a, 32, 32)
    if how.words["dir"] == "l":
        return extract(shifted_left(both, zext(n, 64), 64), 63, 32)
    return extract(lshr(both, zext(n, 64), 64), 31, 0)


_BITS = "b16 b32 b64"
_LOGIC = f"pred {_BITS}"
_ANY = f"{_BITS} u16 u32 u64 s16 s32 s64"

_lop3 = partial(Form, section="9.7.8.6", version="4.3", target="sm_50")
_lop3_or = partial(Form, section="9.7.8.6", version="8.2", target="sm_70", bool="or and")
_shf = partial(Form, section="9.7.8.7", version="3.1", target="sm_32", dir="l r", mode="clamp wrap", first="dir")

FORMS = (
    Form("and.type d, a, b", and_, section="9.7.8.1", type=_LOGIC),
    Form("and.pred d, {!}a, {!}b", and_, section="9.7.8.1", only="ptxas"),
    Form("or.type d, a, b", or_, section="9.7.8.2", type=_LOGIC),
    Form("or.pred d, {!}a, {!}b", or_, section="9.7.8.2", only="ptxas"),
    Form("xor.type d, a, b", xor, section="9.7.8.3", type=_LOGIC),
    Form("xor.pred d, {!}a, {!}b", xor, section="9.7.8.3", only="ptxas"),
    Form("not.type d, a", not_, section="9.7.8.4", type=_LOGIC),
    Form("not.pred d, {!}a", not_, section="9.7.8.4", only="ptxas"),
    Form("cnot.type d, a", cnot, section="9.7.8.5", type=_BITS),
    _lop3("lop3.b32 d, a, b, c, lut:imm u32 0..255", lop3, only="manual"),
    _lop3("lop3.b32 d:sink, a, b, c, lut:imm u32", lop3, only="ptxas"),
    _lop3_or("lop3.bool.b32 d|p:sink kept, a, b, c, lut:imm u32 0..255, {!}q:in pred", lop3_bool, only="manual"),
    _lop3_or("lop3.bool.b32 d|p:sink kept, a, b, c, lut:imm u32, {!}q:in pred", lop3_bool, only="ptxas"),
    _shf("shf.dir.mode.b32 d, a, b, c:u32", shf),
    Form("shl.type d, a, b:u32", shl, section="9.7.8.8", type=_BITS),
    Form("shr.type d, a, b:u32", shr, section="9.7.8.9", type=_ANY),
)

DIFFERENCES = (
    Difference(
        "9.7.8.1",
        "`and`, `or`, `xor` and `not` of `.pred` take negated predicates: `and.pred p, !q, r`.",
        "The operands are predicates; a `!` before one is not mentioned.",
    ),
    Difference(
        "9.7.8.1",
        "`and`, `or`, `xor` and `not` of `.pred` take `.f16x2` registers and names of functions for "
        "predicates. The checker does not.",
        "The operands are predicates.",
        checked=False,
    ),
    Difference(
        "9.7.8.6",
        "`immLut` of `lop3` may be any integer, and `_` may stand for `d` in every form.",
        "`immLut` lies in 0 to 255, and `_` may stand for `d` only with `.or` or `.and`.",
    ),
)
