"""Half precision comparison (PTX ISA 9.0, section 9.7.7)."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any

from ptxcore.isa.comparison import COMBINATIONS, COMPARISONS, FLOAT_COMPARISONS, combined, compared, orders, set_, true
from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.values.packed import join, split
from ptxcore.values.terms import Value, ite


def setp(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """t = (a CmpOp b) ? 1 : 0; p = BoolOp(t, c)"""
    return combined(how, compared(how, how.type, a, b), c)


def _halves(how: Use, stype: str, a: Value, b: Value, c: Value | None) -> tuple[Value, Value]:
    """t[i] = (a[i] CmpOp b[i]) ? 1 : 0; BoolOp(t[i], c)"""
    kind = stype.removesuffix("x2")
    (a0, a1), (b0, b1) = split(a, 16, 2), split(b, 16, 2)
    return combined(how, compared(how, kind, a0, b0), c), combined(how, compared(how, kind, a1, b1), c)


def set_packed(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """d[i] = BoolOp(a[i] CmpOp b[i], c) ? 1.0 or 0xffff : 0, for both halves"""
    dtype, stype = how.types
    kind = dtype.removesuffix("x2") if dtype == stype else "u16"
    return join([ite(t, true(kind), 0, 16) for t in _halves(how, stype, a, b, c)], 16)


def setp_packed(how: Use, a: Value, b: Value, c: Value | None = None) -> tuple[Value, Value]:
    """p = BoolOp(a[0] CmpOp b[0], c); q = BoolOp(a[1] CmpOp b[1], c)"""
    return _halves(how, how.type, a, b, c)


def setp_first(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """p = BoolOp(a[0] CmpOp b[0], c); there is nowhere to put the other one"""
    return _halves(how, how.type, a, b, c)[0]


_SOURCES = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 f32 f64"

_HALF: dict[str, Any] = {"version": "4.2", "target": "sm_53"}
_MASK: dict[str, Any] = {"version": "6.5", "target": "sm_53"}  # all bits set, as integers are compared
_BFLOAT: dict[str, Any] = {"version": "7.8", "target": "sm_90"}

_set = partial(Form, section="9.7.7.1")
_setp = partial(Form, section="9.7.7.2", cmp=FLOAT_COMPARISONS)


def _both(make: Any, run: Any, types: str, operands: str, **where: Any) -> tuple[Form, Form]:
    """A comparison, and one that is combined with a predicate; beside bfloat16 that is no constant."""
    name = "setp" if make is _setp else "set"
    c = "{!}c:pred reg" if "bf16" in types else "{!}c"
    return (
        make(f"{name}.cmp{types} {operands}", run, **where),
        make(f"{name}.cmp.bool{types} {operands}, {c}", run, bool=COMBINATIONS, **where),
    )


_of = partial(_both, partial(_set, cmp=FLOAT_COMPARISONS))
_any = partial(_both, partial(_set, cmp=COMPARISONS))
_predicate = partial(_both, _setp)

FORMS = tuple(
    chain(
        _any(set_, "{.ftz}.f16.stype", "d, a:stype, b:stype", stype=_SOURCES, **_HALF,
             rules=(*orders("stype", "f16 f32 f64"), "ftz -> stype=f16 stype=f32")),
        _any(set_, ".bf16.stype", "d:u16, a:stype, b:stype", stype=f"{_SOURCES} bf16", **_BFLOAT,
             rules=(*orders("stype", "f16 f32 f64 bf16"), "manual:stype=bf16 -> never")),
        _of(set_, "{.ftz}.dtype.f16", "d, a:f16, b:f16", dtype="u16 s16 u32 s32", **_MASK),
        _of(set_, ".dtype.bf16", "d, a:bf16, b:bf16", dtype="u16 s16 u32 s32", **_BFLOAT),
        _of(set_packed, "{.ftz}.f16x2.f16x2", "d, a, b", **_HALF),
        _of(set_packed, "{.ftz}.dtype.f16x2", "d, a:f16x2, b:f16x2", dtype="u32 s32", **_MASK),
        _of(set_packed, ".bf16x2.bf16x2", "d:untyped braced, a, b", **_BFLOAT),
        _of(set_packed, ".dtype.bf16x2", "d, a:bf16x2, b:bf16x2", dtype="u32 s32", **_BFLOAT),
        _predicate(setp, "{.ftz}.f16", "p:pred sink, a, b", **_HALF),
        _predicate(setp_packed, "{.ftz}.f16x2", "p|q:pred sink, a, b", **_HALF),
        _predicate(setp_first, "{.ftz}.f16x2", "p:pred sink, a, b", **_HALF, only="ptxas"),
        _predicate(setp, ".bf16", "p:pred sink, a, b", **_BFLOAT),
        _predicate(setp_packed, ".bf16x2", "p|q:pred sink, a, b", **_BFLOAT),
        _predicate(setp_first, ".bf16x2", "p:pred sink, a, b", **_BFLOAT, only="ptxas"),
    )
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.7.1",
        "`set.bf16.bf16` is an instruction.",
        "`.bf16` sources are compared into integers only.",
    ),
    Difference(
        "9.7.7.1",
        "The result of `set` as `.bf16` may go to a 16-bit integer register of any kind, as `.bf16x2` to any register of "
        "32 bits. The checker takes these in both modes.",
        "Values of these types are in `.b16` and `.b32` registers.",
        checked=False,
    ),
    Difference(
        "9.7.7.1",
        "A predicate may be the second source of `set` and `setp` on `.bf16x2`. The checker refuses it.",
        "The sources are `.b32` registers.",
        checked=False,
    ),
    Difference(
        "9.7.7.2",
        "`setp` of `.f16x2` and `.bf16x2` may have one destination.",
        "It has two, one for each half.",
    ),
)
