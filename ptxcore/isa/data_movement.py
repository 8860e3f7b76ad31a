"""Data movement and conversion (PTX ISA 9.0, section 9.7.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxcore.isa.form import BITS_16_64, INTEGERS_16_64, WIDTHS, Form, Slot, Use
from ptxcore.isa.integer import clamp, fit
from ptxcore.places import SCOPES
from ptxcore.values.terms import Value, sext, zext

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread


def ld(how: Use, thread: Thread, a: Value) -> Value:
    """d = [a]"""
    return thread.load(how, a)


def st(how: Use, thread: Thread, a: Value, b: Value) -> None:
    """[a] = b"""
    thread.store(how, a, b)


def mov(how: Use, a: Value) -> Value:
    """d = a, or the address of the variable a"""
    return a


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


MEMORY_TYPES = tuple(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64))

_SHARED = ("shared", "shared::cta", "shared::cluster")
_WEAK = Slot("sem", ("weak",), default="weak")
_SCOPE = Slot("scope", SCOPES, required=True)
_SPACE = Slot("space", ("global", *_SHARED))
_ANY_SPACE = Slot("space", ("const", "global", *_SHARED))
_L1 = Slot("L1", ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"))
_L2 = Slot("L2", ("L2::evict_normal", "L2::evict_first", "L2::evict_last"))
_PREFETCH = Slot("prefetch", ("L2::64B", "L2::128B", "L2::256B"))
_MMIO = (Slot("mmio", ("mmio",), True), Slot("sem", ("relaxed",), True), Slot("scope", ("sys",), True))
_VOLATILE = Slot("volatile", ("volatile",), required=True)
_STRONG_SYS = {"sem": "relaxed", "scope": "sys"}
_NC = (Slot("space", ("global",), True), Slot("nc", ("nc",), True))
_TEXTURE = {"proxy": "texture"}
_TYPES = (MEMORY_TYPES,)


def _loads(slots: tuple[Slot, ...], version: str, target: str, given: dict[str, str] | None = None) -> Form:
    section = "9.7.9.9" if given == _TEXTURE else "9.7.9.8"
    return Form("ld", "d:loose, [a]", ld, slots, _TYPES, "effect", section, version, target, given or {})


def _stores(slots: tuple[Slot, ...], version: str, target: str, given: dict[str, str] | None = None) -> Form:
    return Form("st", "[a], b:loose", st, slots, _TYPES, "effect", "9.7.9.11", version, target, given or {})


_CVT_TYPES = tuple(f"{kind}{bits}" for kind in "us" for bits in (8, 16, 32, 64))
_POINTER = (("u32", "u64"),)
_CVTA_SPACE = Slot("space", ("const", "global", *_SHARED), required=True)

FORMS = (
    _loads((_WEAK, _ANY_SPACE, Slot("cop", ("ca", "cg", "cs", "lu", "cv")), _PREFETCH), "1.0", "sm_10"),
    _loads((_WEAK, _ANY_SPACE, _L1, _L2, _PREFETCH), "7.4", "sm_70"),
    _loads((_VOLATILE, _SPACE, _PREFETCH), "1.1", "sm_10", _STRONG_SYS),
    _loads((Slot("sem", ("relaxed", "acquire"), True), _SCOPE, _SPACE, _L1, _L2, _PREFETCH), "6.0", "sm_70"),
    _loads((*_MMIO, Slot("space", ("global",))), "8.2", "sm_70"),
    _loads((*_NC, Slot("cop", ("ca", "cg", "cs")), _PREFETCH), "3.1", "sm_32", _TEXTURE),
    _loads((*_NC, _L1, _L2, _PREFETCH), "7.4", "sm_70", _TEXTURE),
    _stores((_WEAK, _SPACE, Slot("cop", ("wb", "cg", "cs", "wt"))), "1.0", "sm_10"),
    _stores((_WEAK, _SPACE, _L1, _L2), "7.4", "sm_70"),
    _stores((_VOLATILE, _SPACE), "1.1", "sm_10", _STRONG_SYS),
    _stores((Slot("sem", ("relaxed", "release"), True), _SCOPE, _SPACE, _L1, _L2), "6.0", "sm_70"),
    _stores((*_MMIO, Slot("space", ("global",))), "8.2", "sm_70"),
    Form("mov", "d, a:address", mov, types=(("pred", *BITS_16_64, *INTEGERS_16_64),), section="9.7.9.3"),
    Form("cvta", "d, a:address", cvta, slots=(_CVTA_SPACE,), types=_POINTER, section="9.7.9.20", version="2.0",
         target="sm_20"),
    Form("cvta", "d, a", cvta, slots=(Slot("to", ("to",), True), _CVTA_SPACE), types=_POINTER, section="9.7.9.20",
         version="2.0", target="sm_20"),
    Form("cvt", "d:loose, a:looseA", cvt, slots=(Slot("sat", ("sat",)),), types=(_CVT_TYPES, _CVT_TYPES),
         section="9.7.9.21"),
)  # fmt: skip
