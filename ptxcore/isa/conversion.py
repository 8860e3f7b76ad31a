"""Conversion (PTX ISA 9.0, sections 9.7.9.20 to 9.7.9.22)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxcore.isa.form import Form, Use
from ptxcore.isa.integer import clamp, fit
from ptxcore.isa.types import WIDTHS
from ptxcore.values.terms import sext, zext

if TYPE_CHECKING:
    from ptxcore.values.terms import Value


def cvta(how: Use, a: Value) -> Value:
    """d = a: addresses here are generic already"""
    return a


def cvt(how: Use, a: Value) -> Value:
    """d = convert(a): widened as the source type says, then cut to the destination type, or clamped to it with .sat"""
    d, source = how.types
    from_width, width = WIDTHS[source], how.width
    common = max(from_width, width) + 1
    wide = sext(a, from_width, common) if source[0] == "s" else zext(a, common)
    if how.words["sat"]:
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if d[0] == "s" else (0, (1 << width) - 1)
        return clamp(wide, common, low, high, width)
    return fit(wide, width)


_INTEGERS = "u8 u16 u32 u64 s8 s16 s32 s64"
_SPACES = "const global local shared shared::cta shared::cluster param param::entry"

FORMS = (
    Form("cvta.space.type d, a:address", cvta, section="9.7.9.20", version="2.0", target="sm_20", space=_SPACES,
         type="u32 u64"),
    Form("cvta.to.space.type d, a", cvta, section="9.7.9.20", version="2.0", target="sm_20", space=_SPACES,
         type="u32 u64"),
    Form("cvt{.sat}.dtype.atype d:loose, a:loose", cvt, section="9.7.9.21", dtype=_INTEGERS, atype=_INTEGERS),
)  # fmt: skip
