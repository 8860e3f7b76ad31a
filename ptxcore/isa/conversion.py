"""Conversion (PTX ISA 9.0, sections 9.7.9.20 to 9.7.9.22)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ptxcore.isa.difference import Difference
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
_BITS = {name: int(name[1:]) for name in _INTEGERS.split()}


def _holds_all(d: str, a: str) -> bool:
    """Whether the integer type `d` has every value of `a`."""
    return _BITS[d] >= _BITS[a] if d[0] == a[0] else d[0] == "s" and _BITS[d] > _BITS[a]


def _saturations() -> tuple[str, ...]:
    """`.sat` stands only where a value can be out of range."""
    why = " # '.sat' has nothing to do where the destination type has every value of the source type"
    return tuple(
        f"sat+dtype={d} -> " + " ".join(f"atype={a}" for a in _BITS if not _holds_all(d, a)) + why for d in _BITS
    )


def _in_space(how: Use) -> dict[str, str]:
    """A variable whose address is converted lies in the space that it is converted from."""
    return {"a": f"address {how.space.partition('::')[0]}"}


_SPACES = "const global local shared shared::cta shared::cluster param param::entry"

_cvta = partial(
    Form, run=cvta, section="9.7.9.20", version="2.0", target="sm_20", space=_SPACES, type="u32 u64",
    needs={"const": "3.1", "param": "7.7 sm_70", "param::entry": "8.3 sm_70", "shared::cta": "7.8",
           "shared::cluster": "7.8 sm_90"},
    manual={"shared::cta": "7.8 sm_30"},
)  # fmt: skip

_ROUND = "rn rz rm rp"
_TO_INTEGER = "rni rzi rmi rpi"  # to an integer, or to an integral value
_DOUBLES = {"f64": "sm_13"}  # before, ptxas makes singles of doubles
_FTZ = {"ftz": "1.4"}

_cvt = partial(Form, section="9.7.9.21", repeats="sat satfinite relu")


def _wider(how: Use) -> dict[str, str]:
    """Operands may be wider than their types, except where ptxas puts `.ftz` with 64 bits together from two steps."""
    return {} if how.has("ftz+u64 ftz+s64 ftz+f64") else {"d": "loose", "a": "loose"}


_plain = partial(_cvt, manual=_DOUBLES, needs=_FTZ)
_bfloat = partial(_cvt, version="7.8", target="sm_90")

#: Between the types of registers. Operands may be wider than the types say.
_PLAIN = (
    _cvt("cvt{.sat}.dtype.atype d:loose, a:loose special", cvt, dtype=_INTEGERS, atype=_INTEGERS,
         rules=_saturations()),
    _plain("cvt.irnd{.ftz}{.sat}.dtype.atype d, a", layout=_wider, irnd=_TO_INTEGER, dtype=_INTEGERS,
           atype="f16 f32 f64", rules=("ftz -> f32",), needs={**_FTZ, "ftz+u64 ftz+s64": "1.5"}),
    _plain("cvt.frnd{.ftz}{.sat}.dtype.atype d:loose, a:loose", frnd=_ROUND, dtype="f16 f32 f64", atype=_INTEGERS,
           rules=("ftz -> f32",), needs={**_FTZ, "ftz+u8 ftz+s8": "1.5"}),
    # Narrower, wider, and of the same size.
    _plain("cvt.frnd{.ftz}{.sat}.f16.atype d:loose, a:loose", frnd=_ROUND, atype="f32 f64", rules=("ftz -> f32",)),
    _plain("cvt.frnd{.ftz}{.sat}.f32.f64 d, a:f64", layout=_wider, frnd=_ROUND),
    _plain("cvt{.ftz}{.sat}.f32.f16 d:loose, a:f16 loose"),
    _plain("cvt{.ftz}{.sat}.f64.atype d, a", layout=_wider, atype="f16 f32", rules=("ftz -> f32",),
           needs={"ftz": "1.5"}),
    _plain("cvt{.irnd}{.sat}.f16.f16 d:loose, a:f16 loose", irnd=_TO_INTEGER),
    _plain("cvt{.irnd}{.ftz}{.sat}.f32.f32 d:loose, a:f32 loose", irnd=_TO_INTEGER),
    _plain("cvt{.irnd}{.sat}.f64.f64 d:loose, a:f64 loose", irnd=_TO_INTEGER),
    # With bfloat16, both operands have the sizes that the types say.
    _bfloat("cvt.irnd.dtype.bf16 d, a:bf16", irnd=_TO_INTEGER, dtype=_INTEGERS),
    _bfloat("cvt.frnd.bf16.atype d, a", frnd=_ROUND, atype=f"{_INTEGERS} f64"),
    _bfloat("cvt{.frnd}.bf16.f16 d, a:f16", frnd=_ROUND),
    _bfloat("cvt{.frnd}.dtype.bf16 d, a:bf16", frnd=_ROUND, dtype="f16 f64"),
    _bfloat("cvt{.irnd}.bf16.bf16 d, a", irnd=_TO_INTEGER),
    _cvt("cvt.frnd{.ftz}.bf16.f32 d, a:f32", frnd=_ROUND, version="7.0", target="sm_80"),
    _cvt("cvt{.frnd}{.ftz}.f32.bf16 d, a:bf16", frnd=_ROUND, version="7.1", target="sm_80",
         needs={"ftz": "7.8 sm_90"}),
)  # fmt: skip

_EITHER = ("!relu+!satfinite -> never",)  # with neither, the forms above have it
_SATFINITE = {"satfinite": "8.1"}

_single = partial(_cvt, frnd2="rn rz", version="7.0", target="sm_80", needs=_SATFINITE)
_random = partial(_cvt, version="8.7", target="sm_100a sm_103a")
_eight = partial(_cvt, version="7.8", target="sm_90 / 8.1 sm_89", f8x2type="e4m3x2 e5m2x2")
_few = partial(_cvt, version="8.6", target="sm_100a sm_101a sm_120a / 8.8 sm_100f sm_101f sm_120f")

#: The random bits: a register of 32 bits without a type, which is what formats that no register has take.
_RBITS = "rbits:tf32"

#: To and from formats that only instructions know, one value or several in a register.
_FORMATS = (
    _single("cvt.frnd2{.relu}{.satfinite}.f16.f32 d:loose, a:f32 loose", rules=_EITHER, version="1.0", target="",
            needs={"relu": "7.0 sm_80", "satfinite": "8.1 sm_70"}),
    _single("cvt.frnd2{.relu}{.satfinite}.f16x2.f32 d:loose, a:f32 loose, b:f32 loose"),
    _random(f"cvt.rs{{.relu}}{{.satfinite}}.f16x2.f32 d:loose, a:f32 loose, b:f32 loose, {_RBITS}"),
    _single("cvt.frnd2{.relu}{.satfinite}.bf16.f32 d, a:f32", rules=_EITHER),
    _single("cvt.frnd2{.relu}{.satfinite}.bf16x2.f32 d, a:f32, b:f32"),
    _random(f"cvt.rs{{.relu}}{{.satfinite}}.bf16x2.f32 d, a:f32, b:f32, {_RBITS}"),
    _cvt("cvt.rna{.satfinite}.tf32.f32 d, a:f32 hexadecimal", version="7.0", target="sm_80", needs=_SATFINITE),
    _single("cvt.frnd2{.satfinite}{.relu}.tf32.f32 d, a:f32", version="7.8", target="sm_90",
            needs={"satfinite": "8.6 sm_100"}),
    _eight("cvt.rn.satfinite{.relu}.f8x2type.f32 d, a:f32, b:f32"),
    _eight("cvt.rn.satfinite{.relu}.f8x2type.f16x2 d, a:f16x2"),
    _eight("cvt.rn{.relu}.f16x2.f8x2type d, a:f8x2type"),
    _random(f"cvt.rs{{.relu}}.satfinite.f8x4type.f32 d, a:f32 x4, {_RBITS}", f8x4type="e4m3x4 e5m2x4"),
    _few("cvt.rn.satfinite{.relu}.f4x2type.f32 d, a:f32, b:f32", f4x2type="e2m1x2"),
    _few("cvt.rn.satfinite{.relu}.f4x2type.f16x2 d, a:f16x2", f4x2type="e2m1x2", only="ptxas"),
    _few("cvt.rn{.relu}.f16x2.f4x2type d, a:f4x2type", f4x2type="e2m1x2"),
    _random(f"cvt.rs{{.relu}}.satfinite.f4x4type.f32 d, a:f32 x4, {_RBITS}", f4x4type="e2m1x4"),
    _few("cvt.rn.satfinite{.relu}.f6x2type.f32 d, a:f32, b:f32", f6x2type="e2m3x2 e3m2x2"),
    _few("cvt.rn{.relu}.f16x2.f6x2type d, a:f6x2type", f6x2type="e2m3x2 e3m2x2"),
    _random(f"cvt.rs{{.relu}}.satfinite.f6x4type.f32 d, a:f32 x4, {_RBITS}", f6x4type="e2m3x4 e3m2x4"),
    _few("cvt.frnd3{.satfinite}.ue8m0x2.f32 d, a:f32, b:f32", frnd3="rz rp"),
    _few("cvt.frnd3{.satfinite}.ue8m0x2.bf16x2 d, a:bf16x2 untyped braced", frnd3="rz rp"),
    _few("cvt.rn.bf16x2.ue8m0x2 d:untyped braced, a:ue8m0x2"),
)  # fmt: skip

_pack = partial(Form, section="9.7.9.22", version="6.5", target="sm_72", repeats="sat", first="pack")

#: Two integers into one register, below what stands in a third.
_PACK = (
    _pack("cvt.pack.sat.type.abtype d:abtype loose, a:abtype loose, b:abtype loose", type="u16 s16", abtype="s32"),
    _pack("cvt.pack.sat.type.abtype.ctype d:abtype loose, a:abtype loose, b:abtype loose, c:loose",
          type="u2 s2 u4 s4 u8 s8", abtype="s32", ctype="b32",
          needs={"u2 s2 u4 s4": "6.5 sm_75"}),
)  # fmt: skip

FORMS = (
    _cvta("cvta.space.type d, a:address", layout=_in_space),
    _cvta("cvta.to.space.type d, a", first="to"),
    *_PLAIN,
    *_FORMATS,
    *_PACK,
)

DIFFERENCES = (
    Difference(
        "9.7.9.20",
        "`.shared::cta` is taken for every target from PTX ISA 7.8 on.",
        "The sub-qualifier needs sm_30.",
    ),
    Difference(
        "9.7.9.21",
        "Doubles are converted for targets before sm_13, too.",
        "Conversions to and from `.f64` need sm_13.",
    ),
    Difference(
        "9.7.9.21",
        "With `.ftz`, conversions between `.f32` and a type of 64 bits take registers of just these sizes.",
        "Registers may be wider than the types say; the checker follows ptxas in both modes.",
        checked=False,
    ),
    Difference(
        "9.7.9.21",
        "A rounding modifier may stand where a `.bf16` value becomes a wider one, and does nothing.",
        "It is illegal where no precision is lost, but an example has it; the checker takes it in both modes.",
        checked=False,
    ),
    Difference(
        "9.7.9.21",
        "`cvt.rn.satfinite{.relu}.e2m1x2.f16x2` is an instruction.",
        "Only the other 8-bit formats are made from `.f16x2`.",
    ),
)
