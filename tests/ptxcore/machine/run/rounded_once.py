"""Sums of products that are rounded once, as PTX ISA 9.0 leaves it to a run: of one element as fractions, and of many at once.

Many are added up in doubles whose errors are kept, as `math.fsum` does; where these do not say what the sum is rounded to, the
fractions do.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

#: Exponent and fraction bits of floating-point types.
FLOATS = {
    "f64": (11, 52), "f32": (8, 23), "tf32": (8, 10), "f16": (5, 10), "bf16": (8, 7), "e5m2": (5, 2), "e4m3": (4, 3),
    "e3m2": (3, 2), "e2m3": (2, 3), "e2m1": (2, 1), "ue4m3": (4, 3), "ue8m0": (8, 0),
}  # fmt: skip


class Element(NamedTuple):
    """A number as a fraction; or what is none."""

    value: Fraction
    special: float = 0.0
    negative: bool = False


def element(kind: str, bits: int) -> Element:
    """What bits stand for."""
    if kind not in FLOATS:
        width = {"s32": 32, "b1": 1}.get(kind) or int(kind[1:])
        return Element(Fraction(bits - (1 << width) if kind[0] == "s" and bits >= 1 << (width - 1) else bits))
    exponents, fractions = FLOATS[kind]
    if kind == "ue8m0":
        return Element(Fraction(0), np.nan) if bits == 255 else Element(Fraction(2) ** (bits - 127))
    if kind == "tf32":
        bits >>= 13
    bias = (1 << exponents - 1) - 1
    fraction, field = bits % (1 << fractions), bits >> fractions & (1 << exponents) - 1
    negative = kind != "ue4m3" and bool(bits >> (exponents + fractions) & 1)
    sign = -1 if negative else 1
    if field == (1 << exponents) - 1:
        if kind in ("f64", "f32", "tf32", "f16", "bf16", "e5m2"):
            return Element(Fraction(0), np.nan if fraction else sign * np.inf)
        if kind in ("e4m3", "ue4m3") and fraction == 7:
            return Element(Fraction(0), np.nan)
    if field == 0:
        return Element(sign * Fraction(fraction) * Fraction(2) ** (1 - bias - fractions), negative=negative)
    return Element(sign * (Fraction(fraction, 1 << fractions) + 1) * Fraction(2) ** (field - bias), negative=negative)


def rounded(value: Fraction, kind: str, mode: str) -> int:
    """The bits of the number nearest to a fraction that is not 0."""
    exponents, fractions = FLOATS[kind]
    bias = (1 << exponents - 1) - 1
    size = abs(value)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= Fraction(2) ** power > size
    last = max(power, 1 - bias) - fractions
    places = size / Fraction(2) ** last
    up = {"rn": None, "rz": False, "rm": value < 0, "rp": value > 0}[mode]
    whole = round(places) if up is None else places.__ceil__() if up else places.__floor__()
    top = 1 << exponents + fractions if value < 0 else 0
    if whole >> fractions + 1:
        whole, last = whole >> 1, last + 1
    field = last + fractions + bias if whole >> fractions else 0
    if field >= (1 << exponents) - 1:
        infinite = ((1 << exponents) - 1) << fractions
        return top | (infinite if up is None or up else infinite - 1)
    return top | field << fractions | whole % (1 << fractions)


def sign_of(x: Element) -> float:
    """What is none; of a number its sign."""
    return x.special or float((x.value > 0) - (x.value < 0))


def summed(a: list[Element], b: list[Element], c: Element, kind: str, mode: str) -> int:
    """The bits of the sum of a[i] * b[i] and c."""
    terms: list[float] = [c.special] if c.special else []
    for x, y in zip(a, b, strict=True):
        if x.special or y.special:
            terms.append(sign_of(x) * sign_of(y))
    exponents, fractions = FLOATS[kind]
    infinite = ((1 << exponents) - 1) << fractions
    if terms:
        with np.errstate(invalid="ignore"):
            total = float(np.sum(np.array(terms)))
        if np.isnan(total):
            return 0x7FF8 << 48 if kind == "f64" else (1 << exponents + fractions) - 1
        return infinite | (1 << exponents + fractions if total < 0 else 0)
    value = sum((x.value * y.value for x, y in zip(a, b, strict=True)), c.value)
    if value:
        return rounded(value, kind, mode)
    parts = [(x.negative != y.negative, x.value * y.value) for x, y in zip(a, b, strict=True)] + [(c.negative, c.value)]
    if all(not v for _, v in parts) and len({n for n, _ in parts}) == 1:
        return 1 << exponents + fractions if parts[0][0] else 0
    return 1 << exponents + fractions if mode == "rm" else 0


@cache
def _table(kind: str) -> Any:
    """The numbers of a type of at most 8 bits."""
    width = 8 if kind == "ue8m0" else 1 + sum(FLOATS[kind]) if kind in FLOATS else int(kind[1:])
    return np.array([_number(element(kind, bits)) for bits in range(1 << width)])


def _number(one: Element) -> float:
    return one.special or (-0.0 if one.negative and not one.value else float(one.value))


def numbers(kind: str, bits: Any) -> Any:
    """What arrays of bits stand for, as doubles, which hold each element of each type."""
    if kind == "f64":
        return bits.astype(np.uint64).view(np.float64)
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind in ("f32", "tf32", "bf16"):
        word = bits.astype(np.uint32)
        word = (
            word << np.uint32(16)
            if kind == "bf16"
            else word & np.uint32(0xFFFF_E000 if kind == "tf32" else 0xFFFF_FFFF)
        )
        with np.errstate(invalid="ignore"):
            return word.view(np.float32).astype(np.float64)
    if kind == "s32":
        return bits.astype(np.uint32).view(np.int32).astype(np.float64)
    return _table(kind)[bits.astype(np.int64)]


#: Of the types of sums the one of NumPy, and the bits of what is not a number.
_SUMS: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_NONE = {"f16": 0x7FFF, "f32": 0x7FFF_FFFF}


def sums(a: Any, b: Any, c: Any, kind: str, mode: str = "rn") -> Any:
    """The bits of a @ b + c, arrays of doubles (product, row, column), each sum rounded once to a type of `_SUMS`."""
    number = _SUMS[kind]
    word = f"u{np.dtype(number).itemsize}"
    with np.errstate(all="ignore"):
        total, off, plain = _added_up(a, b, c)
        low, high = ((total + side * off).astype(number).view(word) for side in (-1, 1))
    # Products of doubles are rounded themselves.
    sure = (low == high) & ((off > 0) | (total != 0)) & (kind != "f64")
    bits = low.astype(np.uint64)
    if kind != "f64":  # the sign of a sum that is 0 is that of its parts, where they have one
        exactly_0 = (off == 0) & (total == 0)
        sign = np.uint64(1 << 8 * np.dtype(number).itemsize - 1)
        bits[exactly_0] = np.where(_zeros(a, b, c) & _all_negative(a, b, c), sign, np.uint64(0))[exactly_0]
        special = ~np.isfinite(plain)
        bits[special] = plain[special].astype(number).view(word)
        bits[np.isnan(plain)] = _NONE[kind]
        sure |= exactly_0 | special
    if kind == "f64" and not sure.any():
        _doubles(a, b, c, mode, bits, sure)
    for at in np.argwhere(~sure):
        w, i, j = at.tolist()
        row, column = ([_element(x) for x in line.tolist()] for line in (a[w, i], b[w, :, j]))
        bits[w, i, j] = summed(row, column, _element(float(c[w, i, j])), kind, mode)
    return bits


def _doubles(a: Any, b: Any, c: Any, mode: str, bits: Any, sure: Any) -> None:
    """Sums of doubles as integers of any length, for those that are neither 0 nor subnormal nor infinite."""
    finite = np.isfinite(a).all((1, 2)) & np.isfinite(b).all((1, 2)) & np.isfinite(c).all((1, 2))
    a, b, c = (np.where(finite[:, None, None], x, 0.0) for x in (a, b, c))
    (am, ae), (bm, be), (cm, ce) = (_whole(x) for x in (a, b.swapaxes(1, 2), c))
    for w in np.flatnonzero(finite).tolist():
        for i in range(a.shape[1]):
            for j in range(b.shape[2]):
                terms = [
                    (x * y, e + f) for x, y, e, f in zip(am[w][i], bm[w][j], ae[w][i], be[w][j], strict=True) if x and y
                ]
                terms.append((cm[w][i][j], ce[w][i][j]))
                least = min(e for _, e in terms)
                exact = sum(m << (e - least) for m, e in terms)
                if not exact or not abs(exact.bit_length() + least) < 1000 or exact.bit_length() > 1000:
                    continue
                nearest = float(exact)  # to even, as `int` has it
                found = math.ldexp(nearest, least)
                off = exact - int(nearest)
                towards_0 = off and (off > 0) != (exact > 0)
                if (mode == "rz" and towards_0) or (mode == "rm" and off < 0):
                    found = float(np.nextafter(found, -np.inf if mode == "rm" else 0.0))
                if mode == "rp" and off > 0:
                    found = float(np.nextafter(found, np.inf))
                bits[w, i, j] = np.float64(found).view(np.uint64)
                sure[w, i, j] = True


def _whole(x: Any) -> tuple[Any, Any]:
    """Doubles as integers times powers of two: both as lists."""
    fractions, exponents = np.frexp(x)
    return np.ldexp(fractions, 53).astype(np.int64).tolist(), (exponents.astype(np.int64) - 53).tolist()


def _element(number: float) -> Element:
    if not np.isfinite(number):
        return Element(Fraction(0), number)
    return Element(Fraction(number), negative=bool(np.signbit(number)))


def _added_up(a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    """The sums in doubles, corrected by what each step lost; by how much they are off at most, where products are exact; and as
    they come, which is what sums with infinite numbers are."""
    total, lost, errors = c.copy(), np.zeros_like(c), np.zeros_like(c)
    for k in range(a.shape[2]):
        term = a[:, :, k, None] * b[:, None, k, :]
        new = total + term
        part = new - total
        error = (total - (new - part)) + (term - part)
        total, lost, errors = new, lost + error, errors + np.abs(error)
    # Each step of the errors' own sum may lose one part in 2**53 of all of them, and so may the last sum of itself.
    corrected = total + lost
    off = np.where(errors == 0, 0.0, (errors * a.shape[2] + np.abs(corrected)) * 2.0**-50)
    return corrected, off, total


def _zeros(a: Any, b: Any, c: Any) -> Any:
    """Where all that is added is 0."""
    return (c == 0) & ((a != 0).astype(np.float32) @ (b != 0).astype(np.float32) == 0)


def _all_negative(a: Any, b: Any, c: Any) -> Any:
    """Where all that is added has the sign of a negative number."""
    minus, less = np.signbit(a).astype(np.float32), np.signbit(b).astype(np.float32)
    return np.signbit(c) & (minus @ (1 - less) + (1 - minus) @ less == a.shape[2])


def whole_sums(a: Any, b: Any, c: Any, operation: str = "", *, saturates: bool = False) -> Any:
    """The bits of a @ b + c of integers that doubles hold, or of single bits with `and` or `xor`."""
    both = a @ b
    if operation == "xor":
        both = a.sum(2)[:, :, None] + b.sum(1)[:, None, :] - 2 * both
    total = (both + c).astype(np.int64)
    return (total.clip(-(1 << 31), (1 << 31) - 1) if saturates else total).astype(np.uint64) & np.uint64(0xFFFF_FFFF)
