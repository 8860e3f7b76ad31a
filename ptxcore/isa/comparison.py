"""Comparison and selection (PTX ISA 9.0, section 9.7.6)."""

from __future__ import annotations

from collections.abc import Callable

from ptxcore.isa.form import BITS_16_64, INTEGERS_16_64, Form, Slot, Use
from ptxcore.values.terms import Value, bit_xor, conj, disj, eq, ite, ne, negate, sle, slt, ule, ult

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


def selp(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = (c == 1) ? a : b"""
    return ite(c, a, b, how.width)


#: Which operators go with which types: `eq` and `ne` with all, order with numbers, lo .. hs with unsigned ones only.
_BY_TYPE = (
    (("eq", "ne"), (*BITS_16_64, *INTEGERS_16_64)),
    (("lt", "le", "gt", "ge"), INTEGERS_16_64),
    (("lo", "ls", "hi", "hs"), ("u16", "u32", "u64")),
)
_BOOL = Slot("bool", ("and", "or", "xor"), required=True)

FORMS = (
    *(
        Form("setp", "p|q, a, b", setp, slots=(Slot("cmp", words, True),), types=(types,), section="9.7.6.2")
        for words, types in _BY_TYPE
    ),
    *(
        Form(
            "setp",
            "p|q, a, b, {!}c",
            setp_combine,
            slots=(Slot("cmp", words, True), _BOOL),
            types=(types,),
            section="9.7.6.2",
        )
        for words, types in _BY_TYPE
    ),
    Form("selp", "d, a, b, c:pred", selp, types=((*BITS_16_64, *INTEGERS_16_64),), section="9.7.6.3"),
)
