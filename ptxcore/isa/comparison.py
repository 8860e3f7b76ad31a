"""Comparison and selection (PTX ISA 9.0, section 9.7.6)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.types import WIDTHS
from ptxcore.values.terms import Value, bit_xor, conj, disj, eq, ite, mask, ne, negate, sle, slt, ule, ult

#: The comparison operators on values of a type: (a, b, width, signed) -> truth value.
COMPARE: dict[str, Callable[[Value, Value, int, bool], Value]] = {
    "eq": lambda a, b, w, s: eq(a, b),
    "ne": lambda a, b, w, s: ne(a, b),
    "lt": lambda a, b, w, s: (slt if s else ult)(a, b, w),
    "le": lambda a, b, w, s: (sle if s else ule)(a, b, w),
    "gt": lambda a, b, w, s: (slt if s else ult)(b, a, w),
    "ge": lambda a, b, w, s: (sle if s else ule)(b, a, w),
    "lo": lambda a, b, w, s: ult(a, b, w),
    "ls": lambda a, b, w, s: ule(a, b, w),
    "hi": lambda a, b, w, s: ult(b, a, w),
    "hs": lambda a, b, w, s: ule(b, a, w),
}

COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "and": conj,
    "or": disj,
    "xor": lambda a, b: bit_xor(a, b, 1),
}


def setp(how: Use, a: Value, b: Value) -> tuple[Value, Value]:
    """t = a CmpOp b; p = t; q = !t"""
    t = COMPARE[how.words["cmp"]](a, b, how.width, how.signed)
    return t, negate(t)


def setp_combine(how: Use, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """t = a CmpOp b; p = BoolOp(t, c); q = BoolOp(!t, c)"""
    t = COMPARE[how.words["cmp"]](a, b, how.width, how.signed)
    combine = COMBINE[how.words["bool"]]
    return combine(t, c), combine(negate(t), c)


def _whole(kind: str) -> bool:
    """Whether a type has integers or bits"""
    return kind[0] in "bus" and kind[1:].isdigit()


def compared(how: Use, kind: str, a: Value, b: Value) -> Value:
    """t = (a CmpOp b) ? 1 : 0, for values of any type; with .ftz subnormal ones are zeros"""
    operator = how.words["cmp"]
    if _whole(kind):
        return COMPARE[operator](a, b, WIDTHS[kind], kind[0] == "s")
    from ptxcore.values.floats import fcompare, flush  # not where integers alone are compared

    if how.words["ftz"]:
        a, b = flush(kind, a), flush(kind, b)
    return fcompare(kind, operator, a, b)


def combined(how: Use, t: Value, c: Value | None) -> Value:
    """BoolOp(t, c); t where there is no c"""
    return t if c is None else COMBINE[how.words["bool"]](t, c)


def true(kind: str) -> int:
    """What `set` gives for True: 1.0, or all bits of an integer set"""
    if _whole(kind):
        return mask(WIDTHS[kind])
    from ptxcore.values.floats import one

    return one(kind)


def set_(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """t = (a CmpOp b) ? 1 : 0; d = BoolOp(t, c) ? 1.0 or all bits set : 0"""
    dtype, stype = how.types
    return ite(combined(how, compared(how, stype, a, b), c), true(dtype), 0, WIDTHS[dtype])


def setp_float(how: Use, a: Value, b: Value, c: Value | None = None) -> tuple[Value, Value]:
    """t = (a CmpOp b) ? 1 : 0; p = BoolOp(t, c); q = BoolOp(!t, c)"""
    t = compared(how, how.type, a, b)
    return combined(how, t, c), combined(how, negate(t), c)


def selp(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = (c == 1) ? a : b"""
    return ite(c, a, b, how.width)


def slct(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = (c >= 0) ? a : b. With .ftz a subnormal c is zero; -0.0 equals 0.0; NaN selects b"""
    dtype, ctype = how.types
    if ctype == "s32":
        return ite(sle(0, c, 32), a, b, WIDTHS[dtype])
    from ptxcore.values.floats import fcompare, flush

    c = flush(ctype, c) if how.words["ftz"] else c
    return ite(fcompare(ctype, "ge", c, 0), a, b, WIDTHS[dtype])


#: The comparison operators on integers, on numbers, and on numbers with NaN among them (section 9.3.1).
INTEGER_COMPARISONS = "eq ne lt le gt ge lo ls hi hs"
FLOAT_COMPARISONS = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
COMPARISONS = f"{INTEGER_COMPARISONS} equ neu ltu leu gtu geu num nan"

COMBINATIONS = "and or xor"

_INTEGERS = "b16 b32 b64 u16 u32 u64 s16 s32 s64"
_FLOATS = "f32 f64"
_ALL = f"{_INTEGERS} {_FLOATS}"


def orders(slot: str, floats: str = _FLOATS) -> tuple[str, ...]:
    """The rules on which operators go with which types of the slot: bits have no order, `lo ls hi hs` are the order of
    unsigned integers, and only numbers with a NaN can be unordered."""
    return (
        f"lt le gt ge -> !{slot}=b16+!{slot}=b32+!{slot}=b64",
        f"lo ls hi hs -> {slot}=u16 {slot}=u32 {slot}=u64",
        "equ neu ltu leu gtu geu num nan -> " + " ".join(f"{slot}={name}" for name in floats.split()),
    )


_FTZ = {"ftz": "1.4"}
_DOUBLES = {"f64": "sm_13"}  # before, ptxas makes singles of doubles

_set = partial(
    Form, section="9.7.6.1", cmp=COMPARISONS, dtype="u32 s32 f32", stype=_ALL,
    rules=(*orders("stype"), "ftz -> stype=f32"), needs=_FTZ, manual=_DOUBLES,
)  # fmt: skip
_setp = partial(Form, section="9.7.6.2", cmp=INTEGER_COMPARISONS, type=_INTEGERS, rules=orders("type")[:2])
_setp_float = partial(
    Form, section="9.7.6.2", cmp=FLOAT_COMPARISONS, type=_FLOATS, rules=("ftz -> f32",), needs=_FTZ, manual=_DOUBLES
)
_slct = partial(Form, section="9.7.6.4", dtype=_ALL, manual=_DOUBLES)

FORMS = (
    _set("set.cmp{.ftz}.dtype.stype d, a:stype, b:stype", set_),
    _set("set.cmp.bool{.ftz}.dtype.stype d, a:stype, b:stype, {!}c", set_, bool=COMBINATIONS),
    _setp("setp.cmp.type p|q?:pred sink, a, b", setp),
    _setp("setp.cmp.bool.type p|q?:pred sink, a, b, {!}c", setp_combine, bool=COMBINATIONS),
    _setp_float("setp.cmp{.ftz}.type p|q?:pred sink, a, b", setp_float),
    _setp_float("setp.cmp.bool{.ftz}.type p|q?:pred sink, a, b, {!}c", setp_float, bool=COMBINATIONS),
    Form("selp.type d, a, b, {!}c", selp, section="9.7.6.3", type=_ALL, manual=_DOUBLES),
    _slct("slct.dtype.ctype d, a, b, c", slct, ctype="s32"),
    _slct("slct{.ftz}.dtype.ctype d, a, b, c", slct, ctype="f32", needs=_FTZ),
)

DIFFERENCES = (
    Difference(
        "9.7.6",
        "Doubles are compared and selected on targets before sm_13, too.",
        "`.f64` needs sm_13.",
    ),
)
