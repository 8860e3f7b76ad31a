"""Conversion (section 9.7.9.21 and 9.7.9.22) on Python's integers and fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import driver
from references.integer import clamped, from_bits, number
from references.rational import (
    CANONICAL,
    Exact,
    bits_of,
    exact,
    flushed,
    modified,
    near,
    range_of,
    rounded,
    rounded_randomly,
    value,
)

from ptxcore.isa import conversion
from ptxcore.isa.form import Form, Use
from ptxcore.isa.types import WIDTHS


def mode_of(how: Use) -> str:
    words = how.words
    found = next((words[slot] for slot in ("frnd", "frnd2", "frnd3", "irnd", "rna", "rn") if words[slot]), "rn")
    return {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}.get(found, found)


def whole(x: float, mode: str) -> int:
    q = Fraction(x)
    return {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](q)


def plain(how: Use, a: int) -> int:
    """Between types of which a register has one value."""
    d, source = how.types
    words, mode = how.words, mode_of(how)
    if source not in CANONICAL:
        x = number(a, source)
        if d not in CANONICAL:
            width = WIDTHS[d]
            return (clamped(x, width, d[0] == "s") if words["sat"] else x) % (1 << width)
        return modified({**dict.fromkeys(("ftz", "relu", "satfinite"), ""), "sat": words["sat"]}, d,
                        rounded(d, Exact(x < 0, Fraction(abs(x))), mode))  # fmt: skip
    if words["ftz"] and source == "f32":
        a = flushed("f32", a)
    x_ = value(source, a)
    if d not in CANONICAL:
        width = WIDTHS[d]
        if x_ != x_:
            return 0 if source != "f64" and width < 64 else 1 << (width - 1)
        limits = clamped(-(1 << 99), width, d[0] == "s"), clamped(1 << 99, width, d[0] == "s")
        result = limits[x_ > 0] if math.isinf(x_) else clamped(whole(x_, mode), width, d[0] == "s")
        return result % (1 << width)
    if d == source and not words["irnd"]:
        result = a
    elif d == source:
        result = a
        if math.isfinite(x_):
            q = whole(x_, mode)
            result = bits_of(d, math.copysign(float(abs(q)), x_))
        elif x_ != x_:
            result = a | 1 << 51 if d == "f64" else CANONICAL[d]
    else:
        result = rounded(d, exact(x_) if math.isfinite(x_) else x_, mode)
    kept = {**dict.fromkeys(("relu", "satfinite"), ""), "sat": words["sat"], "ftz": words["ftz"] if d == "f32" else ""}
    return modified(kept, d, result)


def narrowed(how: Use, kind: str, source: str, a: int) -> int:
    x = value(source, a)
    return modified(how.words, kind, rounded(kind, exact(x) if math.isfinite(x) else x, mode_of(how)))


def single(how: Use, a: int) -> int:
    return narrowed(how, how.types[0], "f32", a)


def packed(parts: list[int], bits: int) -> int:
    """The first part on top."""
    result = 0
    for part in parts:
        result = result << bits | part
    return result


def pair(how: Use, a: int, b: int) -> int:
    kind = how.types[0][:-2]
    return packed([narrowed(how, kind, "f32", x) for x in (a, b)], WIDTHS[how.types[0]] // 2)


def repacked(how: Use, a: int) -> int:
    kind, source = how.types[0][:-2], how.types[1][:-2]
    bits = WIDTHS[how.types[1]] // 2
    return packed([narrowed(how, kind, source, x % (1 << bits)) for x in (a >> bits, a)], WIDTHS[how.types[0]] // 2)


def randomly(how: Use, a: int, b: int, rbits: int) -> int:
    kind = how.types[0][:-2]
    count = {"f16": 13, "bf16": 16}[kind]
    parts = []
    for x, random_ in ((a, rbits >> 16), (b, rbits)):
        parts.append(modified(how.words, kind, rounded_randomly(kind, value("f32", x), random_ % (1 << count), count)))
    return packed(parts, 16)


def randomly4(how: Use, v: tuple[int, int, int, int], rbits: int) -> int:
    kind = how.types[0][:-2]
    bytes_ = rbits.to_bytes(4, "big")
    upper, lower = (bytes_[:2], bytes_[2:]) if kind != "e2m1" else (bytes_[::2], bytes_[1::2])
    parts = []
    for x, random_ in zip(v, (upper, upper, lower, lower), strict=True):
        found = rounded_randomly(kind, value("f32", x), int.from_bytes(random_, "big"), 16)
        parts.append(modified(how.words, kind, found))
    return packed(parts, WIDTHS[how.types[0]] // 4)


def scale(how: Use, x: float) -> int:
    """The power of two below, or above for .rp; 2**-127 is the least."""
    if x != x:
        return 0xFF
    if math.isinf(x):
        return 0xFE if how.words["satfinite"] else 0xFF
    mantissa, power = math.frexp(abs(x))
    if x == 0:
        return 0
    up = how.words["frnd3"] == "rp" and mantissa != 0.5
    power = max(power - 1 + up, -127)
    return min(power + 127, 0xFE if how.words["satfinite"] else 0xFF)


def scales(how: Use, a: int, b: int) -> int:
    return scale(how, value("f32", a)) << 8 | scale(how, value("f32", b))


def packed_scales(how: Use, a: int) -> int:
    return scale(how, value("bf16", a >> 16)) << 8 | scale(how, value("bf16", a % (1 << 16)))


def pack(how: Use, a: int, b: int, c: int = 0) -> int:
    kind = how.types[0]
    size = int(kind[1:])
    parts = [clamped(from_bits(x, 32, True), size, kind[0] == "s") % (1 << size) for x in (a, b)]
    return (c << 2 * size | parts[0] << size | parts[1]) % (1 << 32)


_REFERENCES = {
    conversion.cvta: lambda how, a: a, conversion.cvt_single: single, conversion.cvt_pair: pair,
    conversion.cvt_packed: repacked, conversion.cvt_random: randomly, conversion.cvt_random4: randomly4,
    conversion.cvt_scales: scales, conversion.cvt_packed_scales: packed_scales, conversion.cvt_pack: pack,
}  # fmt: skip


def _reference(form: Form) -> Any:
    return _REFERENCES.get(form.meaning, plain)


def _singles(how: Use, chance: random.Random) -> tuple[Any, ...]:
    """Singles about the numbers of the format that they become, and random bits."""
    kind = how.types[0].partition("x")[0]

    def one() -> int:
        return near(kind, "f32", chance) if chance.random() < 0.7 else driver.draw("f32", chance)

    run = how.form.run
    if run is conversion.cvt_random4:
        return (one(), one(), one(), one()), chance.getrandbits(32)
    if run is conversion.cvt_random:
        return one(), one(), chance.getrandbits(32)
    return (one(),) if run is conversion.cvt_single else (one(), one())


def _about_integers(how: Use, chance: random.Random) -> tuple[int, ...]:
    """Floats about integers, halves between them, and the bounds of the destination."""
    d, source = how.types
    if chance.random() < 0.4:
        return (driver.draw(source, chance),)
    x = Fraction(number(driver.draw(d, chance), d)) + Fraction(
        chance.choice((0, 0, 1, -1, 2, 3)), chance.choice((1, 2, 4))
    )
    bits = rounded(source, Exact(x < 0, abs(x)))
    return (max(bits + chance.choice((0, 0, 1, -1)), 0) % (1 << range_of(source).width),)


def _to_float(how: Use, chance: random.Random) -> tuple[int, ...]:
    d, source = how.types
    narrower = source in CANONICAL and range_of(d).fraction < range_of(source).fraction
    return (near(d, source, chance) if narrower and chance.random() < 0.6 else driver.draw(source, chance),)


_INPUTS: dict[Any, Any] = {
    conversion.cvt_to_integer: _about_integers, conversion.cvt_float: _to_float, conversion.cvt_to_bfloat: _to_float,
    **dict.fromkeys(
        (conversion.cvt_single, conversion.cvt_pair, conversion.cvt_random, conversion.cvt_random4, conversion.cvt_scales),
        _singles,
    ),
}  # fmt: skip

_FORMS = [form for form in conversion.FORMS if form.run is not None]
REFERENCES = {(form.section, form.syntax): _reference(form) for form in _FORMS}
INPUTS = {(form.section, form.syntax): _INPUTS[form.run] for form in _FORMS if form.run in _INPUTS}
