"""Floating-point arithmetic on fractions: what the references of sections 9.7.3 to 9.7.7 and 9.7.9.21 are made of.

What bits stand for is NumPy's and ml_dtypes' word; every value of these formats is a Python float. An exact result is a
sign and a fraction, or a float that is infinite or NaN, and `rounded` finds its bits by its distance to multiples of the
last place.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

_TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
}

#: The canonical NaN of each type (section 9.7.3); those formats without one have their largest number for it.
CANONICAL = {
    "f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFE000, "f64": 0x7FF8 << 48, "e4m3": 0x7F, "e5m2": 0x7F,
    "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 0x7, "ue8m0": 0xFF, "f64_high": 0x7FFFFFFF,
}  # fmt: skip

INFINITE = frozenset(("f16", "bf16", "f32", "tf32", "f64", "f64_high", "e5m2"))


class Range(NamedTuple):
    """Bits of the fraction, exponent of the smallest normal number, the largest number, bits of a value."""

    fraction: int
    lowest: int
    largest: Fraction
    width: int


#: Formats that are others without their last bits: a single's, and a double's upper half.
_SHORTENED = {
    "tf32": Range(10, -126, (2 - Fraction(1, 2**10)) * 2**127, 32),
    "f64_high": Range(20, -1022, (2 - Fraction(1, 2**20)) * 2**1023, 32),
}


@cache
def range_of(kind: str) -> Range:
    if kind in _SHORTENED:
        return _SHORTENED[kind]
    info = ml_dtypes.finfo(_TYPES[kind])
    width = {"e3m2": 6, "e2m3": 6, "e2m1": 4}.get(kind, np.dtype(_TYPES[kind]).itemsize * 8)
    return Range(info.nmant, info.minexp, Fraction(float(info.max)), width)


@cache
def _values(kind: str) -> list[float]:
    """What each bit pattern of a short format stands for."""
    width = range_of(kind).width
    unsigned = np.arange(1 << width, dtype=np.uint16 if width == 16 else np.uint8)
    with np.errstate(invalid="ignore"):
        found: list[float] = unsigned.view(_TYPES[kind]).astype(np.float64).tolist()
    return found


@cache
def _patterns(kind: str) -> dict[float, int]:
    return {value: bits for bits, value in enumerate(_values(kind)) if value == value and value}


_PACKED = {"f32": ("<I", "<f"), "tf32": ("<I", "<f"), "f64": ("<Q", "<d")}


def value(kind: str, bits: int) -> float:
    if kind == "f64_high":
        return value("f64", bits << 32)
    if kind in _PACKED:
        word, real = _PACKED[kind]
        found: float = struct.unpack(real, struct.pack(word, bits))[0]
        return found
    return _values(kind)[bits % (1 << range_of(kind).width)]


def bits_of(kind: str, x: float) -> int:
    """The bits of a value that the format has."""
    if x != x:
        return CANONICAL[kind]
    if kind == "f64_high":
        return bits_of("f64", x) >> 32
    if kind in _PACKED:
        word, real = _PACKED[kind]
        found: int = struct.unpack(word, struct.pack(real, x))[0]
        return found
    if x == 0:
        return 1 << (range_of(kind).width - 1) if math.copysign(1, x) < 0 else 0
    return _patterns(kind)[x]


class Exact(NamedTuple):
    negative: bool
    size: Fraction


def exact(x: float) -> Exact:
    return Exact(math.copysign(1, x) < 0, abs(Fraction(x)))


def signed(x: Exact) -> Fraction:
    return -x.size if x.negative else x.size


def last_place(kind: str, size: Fraction) -> Fraction:
    """The distance between the numbers of a format about `size`."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    limits = range_of(kind)
    return Fraction(2) ** (max(exponent, limits.lowest) - limits.fraction)


def rounded(kind: str, result: Exact | float, mode: str = "rn") -> int:
    """The bits of an exact result."""
    if isinstance(result, float):
        if result == result and kind not in INFINITE:
            result = Exact(result < 0, 2 * range_of(kind).largest)
        else:
            return bits_of(kind, result)
    negative, size = result
    if size == 0:
        return bits_of(kind, -0.0 if negative else 0.0)
    unit = last_place(kind, size)
    count, rest = divmod(size, unit)
    up = {
        "rn": rest > unit / 2 or (rest == unit / 2 and count % 2 == 1),
        "rna": rest >= unit / 2,
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    return _put(kind, negative, (count + up) * unit, mode)


def _put(kind: str, negative: bool, size: Fraction, mode: str) -> int:
    largest = range_of(kind).largest
    if size > largest:
        stays = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        found = float(largest) if stays or kind not in INFINITE else math.inf
    else:
        found = float(size)
    return bits_of(kind, -found if negative else found)


def rounded_randomly(kind: str, x: float, number: int, count: int) -> int:
    """Rounded away from zero where `count` bits behind the last place and the random number carry."""
    if x != x or math.isinf(x) or x == 0:
        return rounded(kind, x if x else exact(x))
    negative, size = exact(x)
    unit = last_place(kind, size)
    whole, rest = divmod(size, unit)
    cut = int(rest / unit * 2**count)
    return _put(kind, negative, (whole + (cut + number >= 2**count)) * unit, "rn")


# The operations of IEEE 754, exactly.


def total(terms: list[Exact], mode: str) -> Exact:
    found = sum(map(signed, terms), Fraction(0))
    if found == 0:
        signs = {t.negative for t in terms}
        zeros = not any(t.size for t in terms)
        return Exact(signs.pop() if zeros and len(signs) == 1 else mode == "rm", Fraction(0))
    return Exact(found < 0, abs(found))


def _product(x: float, y: float) -> Exact:
    a, b = exact(x), exact(y)
    return Exact(a.negative != b.negative, a.size * b.size)


def add(mode: str, x: float, y: float) -> Exact | float:
    return total([exact(x), exact(y)], mode) if math.isfinite(x) and math.isfinite(y) else x + y


def sub(mode: str, x: float, y: float) -> Exact | float:
    return add(mode, x, -y)


def mul(mode: str, x: float, y: float) -> Exact | float:
    return _product(x, y) if math.isfinite(x) and math.isfinite(y) else x * y


def fma(mode: str, x: float, y: float, z: float) -> Exact | float:
    if math.isfinite(x) and math.isfinite(y):
        return total([_product(x, y), exact(z)], mode) if math.isfinite(z) else z
    return x * y + z


def div(mode: str, x: float, y: float) -> Exact | float:
    if x != x or y != y or (math.isinf(x) and math.isinf(y)) or (x == 0 and y == 0):
        return math.nan
    negative = math.copysign(1, x) != math.copysign(1, y)
    if math.isinf(x) or y == 0:
        return -math.inf if negative else math.inf
    return Exact(negative, Fraction(0) if math.isinf(y) else abs(Fraction(x)) / abs(Fraction(y)))


def _irrational(x: float, compute: Callable[[Any], Any]) -> Exact:
    """A function by mpmath, with so many digits that no number of these formats is nearer to it than to its neighbour."""
    import mpmath

    with mpmath.workprec(400 + (2 * abs(math.frexp(x)[1]))):
        sign, mantissa, exponent, _ = compute(mpmath.mpf(x))._mpf_
    return Exact(bool(sign), mantissa * Fraction(2) ** exponent)


def sqrt(mode: str, x: float) -> Exact | float:
    import mpmath

    if x == 0 or not math.isfinite(x):
        return exact(x) if x == 0 else x if x > 0 else math.nan
    return math.nan if x < 0 else _irrational(x, mpmath.sqrt)


def rsqrt(mode: str, x: float) -> Exact | float:
    import mpmath

    if x == 0:
        return math.copysign(math.inf, x)
    if not x > 0:
        return math.nan
    return exact(0.0) if math.isinf(x) else _irrational(x, lambda v: 1 / mpmath.sqrt(v))


def sin(mode: str, x: float) -> Exact | float:
    import mpmath

    return math.nan if not math.isfinite(x) else exact(x) if x == 0 else _irrational(x, mpmath.sin)


def cos(mode: str, x: float) -> Exact | float:
    import mpmath

    return math.nan if not math.isfinite(x) else _irrational(x, mpmath.cos)


def lg2(mode: str, x: float) -> Exact | float:
    import mpmath

    if x == 0:
        return -math.inf
    return math.nan if not x > 0 else x if math.isinf(x) else _irrational(x, lambda v: mpmath.log(v) / mpmath.log(2))


def ex2(mode: str, x: float) -> Exact | float:
    import mpmath

    if x != x or x == math.inf:
        return x
    if x < -2000:
        return Exact(False, Fraction(1, 2**2000)) if math.isfinite(x) else exact(0.0)
    return math.inf if x > 2000 else _irrational(x, lambda v: mpmath.power(2, v))


def tanh(mode: str, x: float) -> Exact | float:
    import mpmath

    if x != x or x == 0:
        return exact(x) if x == 0 else x
    return math.copysign(1.0, x) if math.isinf(x) else _irrational(math.copysign(min(abs(x), 100), x), mpmath.tanh)


# Modifiers.


def flushed(kind: str, bits: int) -> int:
    x = value(kind, bits)
    return bits_of(kind, math.copysign(0.0, x)) if 0 < abs(x) < 2.0 ** range_of(kind).lowest else bits


def modified(words: Any, kind: str, bits: int) -> int:
    """.ftz, .sat, .relu and .satfinite."""
    if words["ftz"]:
        bits = flushed(kind, bits)
    x = value(kind, bits)
    if words["satfinite"] and math.isinf(x):
        bits = bits_of(kind, math.copysign(float(range_of(kind).largest), x))
    if words["sat"]:
        return bits_of(kind, 1.0) if x > 1 else bits if x > 0 else 0
    if words["relu"]:
        return bits_of(kind, x) if x != x else bits if x > 0 else 0
    return bits


def near(kind: str, of: str, chance: random.Random) -> int:
    """Bits of `of` about a number that the narrower `kind` has: it, the middle to the next one, what is beside them."""
    while True:
        x = value(kind, chance.getrandbits(range_of(kind).width) & (~0x1FFF if kind == "tf32" else ~0))
        if math.isfinite(x):
            break
    if chance.random() < 0.1:
        x *= chance.choice((2.0**20, 2.0**-20, 2.0, 0.5))
    bits = rounded(of, exact(x))
    gap = max(range_of(of).fraction - range_of(kind).fraction, 1)
    offset = chance.choice((0, 0, 1, -1, 1 << gap - 1, (1 << gap - 1) + 1, (1 << gap - 1) - 1, chance.getrandbits(gap)))
    return max(bits + offset, 0) & (1 << range_of(of).width) - 1
