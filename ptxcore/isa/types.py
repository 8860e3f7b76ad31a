"""The types that instructions and registers have (PTX ISA 9.0, sections 5.2 and 9.4): widths, and what fits what."""

from __future__ import annotations

#: Types of registers and variables (section 5.2.1), with their bits.
FUNDAMENTAL = {
    "pred": 1,
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    "b128": 128,
    "f16": 16,
    "f16x2": 32,
    "f32": 32,
    "f64": 64,
}

#: Formats that only instructions name (sections 5.2.3 to 5.2.5): the bits of the register that holds one.
FORMATS = {
    "bf16": 16,
    "bf16x2": 32,
    "tf32": 32,
    "f32x2": 64,
    "u16x2": 32,
    "s16x2": 32,
    "b16x2": 32,
    "u8x4": 32,
    "s8x4": 32,
    "e4m3": 8,
    "e5m2": 8,
    "e2m3": 8,
    "e3m2": 8,
    "e2m1": 8,
    "ue8m0": 8,
    "ue4m3": 8,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "e2m3x2": 16,
    "e3m2x2": 16,
    "e2m1x2": 8,
    "ue8m0x2": 16,
    "e4m3x4": 32,
    "e5m2x4": 32,
    "e2m3x4": 32,
    "e3m2x4": 32,
    "e2m1x4": 16,
    "s4": 4,
    "u4": 4,
    "s2": 2,
    "u2": 2,
    "b1": 1,
    "b1024": 1024,
}

#: Bits of each type that an instruction may name.
WIDTHS = {**FUNDAMENTAL, **FORMATS}

#: Opaque types of variables (section 5.3).
OPAQUE = ("texref", "samplerref", "surfref")


def _same_size(bits: int) -> frozenset[str]:
    return frozenset(t for t, width in FUNDAMENTAL.items() if width == bits and t != "pred")


def _integers(bits: int) -> frozenset[str]:
    return frozenset(f"{kind}{bits}" for kind in "bus")


def _exact(name: str) -> frozenset[str]:
    """The register types that an operand of a type takes (section 9.4; measured: a `.f16x2` register is also a
    32-bit integer)."""
    bits = WIDTHS[name]
    if name in FUNDAMENTAL and name[0] in "us":
        return _integers(bits) | ({"f16x2"} if bits == 32 else set())
    if name in ("u16x2", "s16x2"):
        return frozenset(("b32", "f16x2"))
    if name == "pred":
        return frozenset((name,))
    if name in FUNDAMENTAL and name[0] == "b":
        return _same_size(bits)
    if name in FUNDAMENTAL:
        return frozenset((name, f"b{bits}"))
    return frozenset((f"b{bits}",))


def _loose(name: str) -> frozenset[str]:
    """The register types at least as wide (sections 9.4.1 and 9.4.2): sources are cut, destinations extended."""
    bits = WIDTHS[name]
    if name not in FUNDAMENTAL or name == "pred":
        return EXACT[name]
    wider = [b for b in (8, 16, 32, 64) if b >= bits]
    if name[0] in "us":
        fits = {t for b in wider for t in _integers(b)} | ({"f16x2"} if bits <= 32 else set())
    elif name[0] == "b":
        fits = {t for b in wider for t in _same_size(b)}
    else:
        fits = {name, *(f"b{b}" for b in wider)}
    return frozenset(fits | {"b128"})


#: By type of an operand: the register types that fit exactly, and those that fit where wider ones do too.
EXACT = {name: _exact(name) for name in WIDTHS}
LOOSE = {name: _loose(name) for name in WIDTHS}
