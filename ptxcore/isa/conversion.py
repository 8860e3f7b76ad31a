"""Conversion (PTX ISA 9.0, sections 9.7.9.20 to 9.7.9.22)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.integer import clamp, fit
from ptxcore.isa.types import WIDTHS
from ptxcore.values import floats
from ptxcore.values.floats import fconvert, fintegral, flush, rectify, saturate
from ptxcore.values.ieee import FORMATS
from ptxcore.values.packed import join, split
from ptxcore.values.terms import Value, concat, extract, ite, sext, zext


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


def _flushed(how: Use, kind: str, a: Value) -> Value:
    """With `.ftz`, a subnormal single as zero; values of other types stay"""
    return flush(kind, a) if how.words["ftz"] and kind == "f32" else a


def _mode(how: Use) -> str:
    """The rounding mode, `.rni` as `rn`; `rn` where none is written"""
    for slot in ("frnd", "frnd2", "frnd3", "rna"):
        if how.words[slot]:
            return how.words[slot]
    return how.words["irnd"][:2] or "rn"


def cvt_to_integer(how: Use, a: Value) -> Value:
    """d = a, rounded to an integer and clamped to what the type can hold. NaN gives 0; but 1 << (BitWidth(dst) - 1) from
    .f64, or to .s64 and .u64"""
    d, source = how.types
    return floats.to_integer(source, _flushed(how, source, a), WIDTHS[d], d[0] == "s", _mode(how))


def cvt_from_integer(how: Use, a: Value) -> Value:
    """d = a, rounded"""
    d, source = how.types
    converted = floats.from_integer(d, a, WIDTHS[source], source[0] == "s", _mode(how))
    return saturate(d, converted) if how.words["sat"] else converted


def cvt_to_bfloat(how: Use, a: Value) -> Value:
    """d = a, an integer or a double, rounded"""
    return cvt_float(how, a) if how.types[1] == "f64" else cvt_from_integer(how, a)


def cvt_float(how: Use, a: Value) -> Value:
    """d = a in another format, rounded; in the same one, an integral value where .rni and its like are written. A NaN
    that changes its format becomes the canonical one."""
    d, source = how.types
    a = _flushed(how, source, a)
    if d != source:
        a = _flushed(how, d, fconvert(source, d, a, _mode(how)))
    elif how.words["irnd"]:
        a = fintegral(d, a, _mode(how))
    return saturate(d, a) if how.words["sat"] else a


def _converted(how: Use, source: str, target: str, a: Value, mode: str) -> Value:
    return _clamped(how, target, fconvert(source, target, a, mode))


def _clamped(how: Use, target: str, d: Value) -> Value:
    """d with .satfinite and .relu"""
    if how.words["satfinite"]:
        d = floats.finite(target, d)
    return rectify(target, d) if how.words["relu"] else d


def cvt_single(how: Use, a: Value) -> Value:
    """d = convert(a), of a single to a narrower format, with .relu and .satfinite"""
    return _converted(how, "f32", how.types[0], a, _mode(how))


def _element(packed: str) -> tuple[str, int, int]:
    """The format of a packed type's elements, their number, and the bits that each has in the register: e4m3x2 has two
    of 8; those of 6 bits have 8, the upper two of which are 0"""
    kind, _, number = packed.partition("x")
    return kind, int(number), WIDTHS[packed] // int(number)


def _packed(how: Use, elements: list[Value]) -> Value:
    """The destination with its elements, the first one on top"""
    _, _, bits = _element(how.types[0])
    return join([zext(x, bits) for x in reversed(elements)], bits)


def cvt_pair(how: Use, a: Value, b: Value) -> Value:
    """d = {convert(a), convert(b)}, a above b"""
    kind, _, _ = _element(how.types[0])
    return _packed(how, [_converted(how, "f32", kind, x, _mode(how)) for x in (a, b)])


def cvt_packed(how: Use, a: Value) -> Value:
    """d[i] = convert(a[i]), of one packed type to another"""
    (kind, number, bits), (source, _, from_bits) = _element(how.types[0]), _element(how.types[1])
    used = FORMATS[source].width  # of the bits of an element; what is above them counts as 0
    elements = [extract(x, used - 1, 0) for x in split(a, from_bits, number)]
    return join([zext(_converted(how, source, kind, x, _mode(how)), bits) for x in elements], bits)


def cvt_random(how: Use, a: Value, b: Value, rbits: Value) -> Value:
    """d = {convert(a), convert(b)}, rounded by the upper half of rbits, and by the lower one: 13 bits of them for .f16x2,
    16 for .bf16x2, as many as are cut off from a normal number"""
    kind, _, _ = _element(how.types[0])
    count = FORMATS["f32"].fraction - FORMATS[kind].fraction
    low, high = split(rbits, 16, 2)
    return _packed(how, [_rounded_by(how, kind, a, high, count), _rounded_by(how, kind, b, low, count)])


def cvt_random4(how: Use, v: tuple[Value, ...], rbits: Value) -> Value:
    """d = {convert(a), convert(b), convert(e), convert(f)}, a and b rounded by the upper half of rbits, e and f by the
    lower one; for .e2m1x4 by the upper bytes of both halves, and by the lower ones. The 16 bits are added to the first
    ones that are cut off: the manual's figures show it, and say nothing of their order."""
    kind, _, _ = _element(how.types[0])
    a, b, e, f = v
    low, high = split(rbits, 16, 2)
    if kind == "e2m1":
        byte = split(rbits, 8, 4)
        low, high = concat(byte[2], byte[0], 8, 8), concat(byte[3], byte[1], 8, 8)
    return _packed(how, [_rounded_by(how, kind, x, r, 16) for x, r in ((a, high), (b, high), (e, low), (f, low))])


def _rounded_by(how: Use, kind: str, a: Value, random: Value, count: int) -> Value:
    random = extract(random, count - 1, 0)
    return _clamped(how, kind, floats.fconvert_randomly("f32", kind, a, random, count))


def _scale(how: Use, source: str, a: Value) -> Value:
    """|a| as a power of two. Beyond the largest one NaN, or that one with .satfinite."""
    mode, size = _mode(how), floats.fabs(source, a)
    converted = fconvert(source, "ue8m0", size, mode)
    if how.words["satfinite"]:
        return converted
    number = FORMATS[source]
    largest = (2 * number.bias) << number.fraction  # 2**127
    # Rounding down, only infinity is too large.
    beyond = floats.fcompare(source, "gt", size, largest if mode == "rp" else number.largest)
    return ite(beyond, FORMATS["ue8m0"].nan, converted, 8)


def cvt_scales(how: Use, a: Value, b: Value) -> Value:
    """d = {convert(a), convert(b)}, the powers of two above or below their absolute values"""
    return _packed(how, [_scale(how, "f32", a), _scale(how, "f32", b)])


def cvt_packed_scales(how: Use, a: Value) -> Value:
    """d[i] = convert(a[i]), the powers of two above or below their absolute values"""
    return join([_scale(how, "bf16", x) for x in split(a, 16, 2)], 8)


def cvt_pack(how: Use, a: Value, b: Value, c: Value = 0) -> Value:
    """ta, tb = a, b clamped to the type; d = {c, ta, tb}, tb lowest, as far as 32 bits reach"""
    kind = how.types[0]
    size = int(kind[1:])
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if kind[0] == "s" else (0, (1 << size) - 1)
    # One bit more, for the largest unsigned numbers to be positive.
    ta, tb = (clamp(sext(x, 32, 33), 33, low, high, size) for x in (a, b))
    both = concat(ta, tb, size, size)
    return both if size == 16 else concat(extract(c, 31 - 2 * size, 0), both, 32 - 2 * size, 2 * size)


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
    _plain("cvt.irnd{.ftz}{.sat}.dtype.atype d, a", cvt_to_integer, layout=_wider, irnd=_TO_INTEGER, dtype=_INTEGERS,
           atype="f16 f32 f64", rules=("ftz -> f32",), needs={**_FTZ, "ftz+u64 ftz+s64": "1.5"}),
    _plain("cvt.frnd{.ftz}{.sat}.dtype.atype d:loose, a:loose", cvt_from_integer, frnd=_ROUND, dtype="f16 f32 f64",
           atype=_INTEGERS, rules=("ftz -> f32",), needs={**_FTZ, "ftz+u8 ftz+s8": "1.5"}),
    # Narrower, wider, and of the same size.
    _plain("cvt.frnd{.ftz}{.sat}.f16.atype d:loose, a:loose", cvt_float, frnd=_ROUND, atype="f32 f64", rules=("ftz -> f32",)),
    _plain("cvt.frnd{.ftz}{.sat}.f32.f64 d, a:f64", cvt_float, layout=_wider, frnd=_ROUND),
    _plain("cvt{.ftz}{.sat}.f32.f16 d:loose, a:f16 loose", cvt_float),
    _plain("cvt{.ftz}{.sat}.f64.atype d, a", cvt_float, layout=_wider, atype="f16 f32", rules=("ftz -> f32",),
           needs={"ftz": "1.5"}),
    _plain("cvt{.irnd}{.sat}.f16.f16 d:loose, a:f16 loose", cvt_float, irnd=_TO_INTEGER),
    _plain("cvt{.irnd}{.ftz}{.sat}.f32.f32 d:loose, a:f32 loose", cvt_float, irnd=_TO_INTEGER),
    _plain("cvt{.irnd}{.sat}.f64.f64 d:loose, a:f64 loose", cvt_float, irnd=_TO_INTEGER),
    # With bfloat16, both operands have the sizes that the types say.
    _bfloat("cvt.irnd.dtype.bf16 d, a:bf16", cvt_to_integer, irnd=_TO_INTEGER, dtype=_INTEGERS),
    _bfloat("cvt.frnd.bf16.atype d, a", cvt_to_bfloat, frnd=_ROUND, atype=f"{_INTEGERS} f64"),
    _bfloat("cvt{.frnd}.bf16.f16 d, a:f16", cvt_float, frnd=_ROUND),
    _bfloat("cvt{.frnd}.dtype.bf16 d, a:bf16", cvt_float, frnd=_ROUND, dtype="f16 f64"),
    _bfloat("cvt{.irnd}.bf16.bf16 d, a", cvt_float, irnd=_TO_INTEGER),
    _cvt("cvt.frnd{.ftz}.bf16.f32 d, a:f32", cvt_float, frnd=_ROUND, version="7.0", target="sm_80"),
    _cvt("cvt{.frnd}{.ftz}.f32.bf16 d, a:bf16", cvt_float, frnd=_ROUND, version="7.1", target="sm_80",
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
    _single("cvt.frnd2{.relu}{.satfinite}.f16.f32 d:loose, a:f32 loose", cvt_single, rules=_EITHER, version="1.0", target="",
            needs={"relu": "7.0 sm_80", "satfinite": "8.1 sm_70"}),
    _single("cvt.frnd2{.relu}{.satfinite}.f16x2.f32 d:loose, a:f32 loose, b:f32 loose", cvt_pair),
    _random(f"cvt.rs{{.relu}}{{.satfinite}}.f16x2.f32 d:loose, a:f32 loose, b:f32 loose, {_RBITS}", cvt_random),
    _single("cvt.frnd2{.relu}{.satfinite}.bf16.f32 d, a:f32", cvt_single, rules=_EITHER),
    _single("cvt.frnd2{.relu}{.satfinite}.bf16x2.f32 d, a:f32, b:f32", cvt_pair),
    _random(f"cvt.rs{{.relu}}{{.satfinite}}.bf16x2.f32 d, a:f32, b:f32, {_RBITS}", cvt_random),
    _cvt("cvt.rna{.satfinite}.tf32.f32 d, a:f32 hexadecimal", cvt_single, version="7.0", target="sm_80", needs=_SATFINITE),
    _single("cvt.frnd2{.satfinite}{.relu}.tf32.f32 d, a:f32", cvt_single, version="7.8", target="sm_90",
            needs={"satfinite": "8.6 sm_100"}),
    _eight("cvt.rn.satfinite{.relu}.f8x2type.f32 d, a:f32, b:f32", cvt_pair),
    _eight("cvt.rn.satfinite{.relu}.f8x2type.f16x2 d, a:f16x2", cvt_packed),
    _eight("cvt.rn{.relu}.f16x2.f8x2type d, a:f8x2type", cvt_packed),
    _random(f"cvt.rs{{.relu}}.satfinite.f8x4type.f32 d, a:f32 x4, {_RBITS}", cvt_random4, f8x4type="e4m3x4 e5m2x4"),
    _few("cvt.rn.satfinite{.relu}.f4x2type.f32 d, a:f32, b:f32", cvt_pair, f4x2type="e2m1x2"),
    _few("cvt.rn.satfinite{.relu}.f4x2type.f16x2 d, a:f16x2", cvt_packed, f4x2type="e2m1x2", only="ptxas"),
    _few("cvt.rn{.relu}.f16x2.f4x2type d, a:f4x2type", cvt_packed, f4x2type="e2m1x2"),
    _random(f"cvt.rs{{.relu}}.satfinite.f4x4type.f32 d, a:f32 x4, {_RBITS}", cvt_random4, f4x4type="e2m1x4"),
    _few("cvt.rn.satfinite{.relu}.f6x2type.f32 d, a:f32, b:f32", cvt_pair, f6x2type="e2m3x2 e3m2x2"),
    _few("cvt.rn{.relu}.f16x2.f6x2type d, a:f6x2type", cvt_packed, f6x2type="e2m3x2 e3m2x2"),
    _random(f"cvt.rs{{.relu}}.satfinite.f6x4type.f32 d, a:f32 x4, {_RBITS}", cvt_random4, f6x4type="e2m3x4 e3m2x4"),
    _few("cvt.frnd3{.satfinite}.ue8m0x2.f32 d, a:f32, b:f32", cvt_scales, frnd3="rz rp"),
    _few("cvt.frnd3{.satfinite}.ue8m0x2.bf16x2 d, a:bf16x2 untyped braced", cvt_packed_scales, frnd3="rz rp"),
    _few("cvt.rn.bf16x2.ue8m0x2 d:untyped braced, a:ue8m0x2", cvt_packed),
)  # fmt: skip

_pack = partial(Form, section="9.7.9.22", version="6.5", target="sm_72", repeats="sat", first="pack")

#: Two integers into one register, below what stands in a third.
_PACK = (
    _pack("cvt.pack.sat.type.abtype d:abtype loose, a:abtype loose, b:abtype loose", cvt_pack, type="u16 s16", abtype="s32"),
    _pack("cvt.pack.sat.type.abtype.ctype d:abtype loose, a:abtype loose, b:abtype loose, c:loose", cvt_pack,
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
        "With `.ftz`, conversions between `.f32` and a type of 64 bits take registers of these sizes alone, and `.b64` for "
        "`.f32`. The checker takes registers of these sizes, in both modes.",
        "Registers may be wider than the types say.",
        checked=False,
    ),
    Difference(
        "9.7.9.21",
        "A rounding modifier may stand where a `.bf16` value becomes a wider one, and does nothing. The checker takes it "
        "in both modes.",
        "It is illegal where no precision is lost, but an example has it.",
        checked=False,
    ),
    Difference(
        "9.7.9.21",
        "`cvt.rn.satfinite{.relu}.e2m1x2.f16x2` is an instruction.",
        "Only the other 8-bit formats are made from `.f16x2`.",
    ),
)
