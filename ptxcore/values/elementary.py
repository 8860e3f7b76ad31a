"""Elementary functions of floating-point values, correctly rounded, on Python integers (PTX ISA 9.0, section 9.7.3).

Each function is approximated in fixed point with more bits than the format has. Where the rounding of what is certain is
not decided (the value lies too near the middle between two numbers), it is computed again with twice as many bits
(Ziv). This ends: at arguments other than those treated apart, none of these functions has a value with finitely many
bits.

Fixed-point numbers here are integers; `p` says how many of their bits are behind the point.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isqrt

from ptxcore.values.ieee import FloatFormat, FloatNumber, decode, encode, from_integer, quiet

#: What a function has computed: (sign, mantissa, exponent), with its absolute value strictly between
#: (mantissa - 1) * 2**exponent and (mantissa + 1) * 2**exponent.
Approximation = tuple[int, int, int]

#: Bits that intermediate results have beyond those that are asked for; their errors stay far below.
_GUARD = 24


def _rounded(form: FloatFormat, approximate: Callable[[int], Approximation]) -> int:
    """The number nearest to what `approximate(p)` comes closer to, the larger p is."""
    p = form.fraction + 40
    while True:
        sign, mantissa, exponent = approximate(p)
        if mantissa > 1:
            low = encode(form, sign, mantissa - 1, exponent, sticky=True)
            if low == encode(form, sign, mantissa, exponent, sticky=True):
                return low
        p *= 2


def _cut(a: int, bits: int) -> int:
    """a without its last bits, rounded."""
    return (a + (1 << (bits - 1))) >> bits


def _fixed(x: FloatNumber, p: int) -> int:
    """|x| in fixed point, rounded down."""
    shift = x.exponent + p
    return x.mantissa << shift if shift >= 0 else x.mantissa >> -shift


def _top(x: FloatNumber) -> int:
    """The exponent of the power of two just above |x|."""
    return x.mantissa.bit_length() + x.exponent


# Constants. A launch asks for a few precisions only.


def _inverse_series(n: int, p: int, sign: int) -> int:
    """The sum of sign**k / ((2k + 1) * n**(2k + 1)): artanh(1/n) for sign 1, arctan(1/n) for -1."""
    power, total, k = (1 << p) // n, 0, 0
    while power:
        total += sign**k * (power // (2 * k + 1))
        power //= n * n
        k += 1
    return total


@lru_cache(maxsize=64)
def _ln2(p: int) -> int:
    return _cut(2 * _inverse_series(3, p + _GUARD, 1), _GUARD)


@lru_cache(maxsize=64)
def _half_pi(p: int) -> int:
    """Machin's formula."""
    wide = p + _GUARD
    return _cut(8 * _inverse_series(5, wide, -1) - 2 * _inverse_series(239, wide, -1), _GUARD)


# Series.


def _exp(r: int, p: int) -> int:
    """e**r for 0 <= r < 1: the series for r / 2**8, squared eight times."""
    wide = p + _GUARD
    small = r << _GUARD >> 8
    total = term = 1 << wide
    k = 1
    while term:
        term = (term * small >> wide) // k
        total += term
        k += 1
    for _ in range(8):
        total = total * total >> wide
    return _cut(total, _GUARD)


def _exp2(t: int, p: int) -> tuple[int, int]:
    """2**t as (m, n), which stands for m * 2**n: the fraction of t gives m, between 1 and 2, the rest n."""
    n = t >> p
    return _exp((t - (n << p)) * _ln2(p) >> p, p), n


def _artanh(z: int, p: int) -> int:
    """The inverse hyperbolic tangent of 0 <= z < 1/4."""
    total, power, square, k = 0, z, z * z >> p, 1
    while power:
        total += power // k
        power = power * square >> p
        k += 2
    return total


def _sine(r: int, p: int) -> int:
    """The sine of |r| < 1."""
    return -_alternating(-r, p, -r, 2) if r < 0 else _alternating(r, p, r, 2)


def _cosine(r: int, p: int) -> int:
    """The cosine of |r| < 1."""
    return _alternating(r, p, 1 << p, 1)


def _alternating(r: int, p: int, first: int, k: int) -> int:
    """first - first * r**2 / (k (k + 1)) + first * r**4 / (k (k + 1) (k + 2) (k + 3)) - ..."""
    square = r * r >> p
    total, term, sign = first, first, -1
    while term:
        term = (term * square >> p) // (k * (k + 1))
        total += sign * term
        sign, k = -sign, k + 2
    return total


# The functions. Each gives the results for NaN, infinities and zeros that its table in the manual has.


def ex2(form: FloatFormat, a: int) -> int:
    """2**a (section 9.7.3.21)"""
    x = decode(form, a)
    if x.kind == "nan":
        return quiet(form, a)
    if x.kind == "infinity":
        return 0 if x.sign else form.infinity
    if x.zero or x.exponent >= 0 or _top(x) > 15:  # an integer, or beyond all numbers
        power = min(_fixed(x, 0), 1 << 15)
        return encode(form, 0, 1, -power if x.sign else power)

    def approximate(p: int) -> Approximation:
        wide = p + _GUARD
        t = _fixed(x, wide)
        m, n = _exp2(-t if x.sign else t, wide)
        return 0, _cut(m, _GUARD), n - p

    if x.mantissa & ((1 << -x.exponent) - 1) == 0:
        whole = x.mantissa >> -x.exponent
        return encode(form, 0, 1, -whole if x.sign else whole)
    return _rounded(form, approximate)


def lg2(form: FloatFormat, a: int) -> int:
    """The logarithm of a to base 2 (section 9.7.3.20)"""
    x = decode(form, a)
    if x.kind == "nan":
        return quiet(form, a)
    if x.zero:
        return form.infinity | form.sign_bit
    if x.sign:
        return form.nan
    if x.kind == "infinity":
        return a
    n, one = _top(x) - 1, 1 << (x.mantissa.bit_length() - 1)
    if x.mantissa == one:
        return from_integer(form, n)
    if 2 * x.mantissa > 3 * one:  # a = 2**n * t with t from 3/4 to 3/2
        n, one = n + 1, 2 * one
    # ln(t) = 2 * artanh((t - 1) / (t + 1))
    above, below = x.mantissa - one, x.mantissa + one
    lost = below.bit_length() - abs(above).bit_length()

    def approximate(p: int) -> Approximation:
        wide = p + lost + _GUARD
        part = (2 * _artanh((abs(above) << wide) // below, wide) << wide) // _ln2(wide)
        total = (n << wide) + (part if above > 0 else -part)
        return int(total < 0), _cut(abs(total), _GUARD), _GUARD - wide

    return _rounded(form, approximate)


def _circular(form: FloatFormat, a: int, quarters: int) -> int:
    """The sine of |a| + quarters * pi / 2, with the sign of a where `quarters` is 0."""
    x = decode(form, a)

    def approximate(p: int) -> Approximation:
        top = _top(x)
        wide = p + max(0, -top) + _GUARD
        # As many bits more as the multiple of pi / 2 has.
        far = wide + max(0, top) + 4
        half_pi, angle = _half_pi(far), _fixed(x, far)
        q = (angle + half_pi // 2) // half_pi
        r = (angle - q * half_pi) >> (far - wide)
        q += quarters
        total = _cosine(r, wide) if q & 1 else _sine(r, wide)
        negative = (total < 0) != bool(q & 2)
        return int(negative != (bool(x.sign) and not quarters)), _cut(abs(total), _GUARD), _GUARD - wide

    return _rounded(form, approximate)


def sin(form: FloatFormat, a: int) -> int:
    """The sine of a (section 9.7.3.18)"""
    x = decode(form, a)
    if x.kind != "finite":
        return quiet(form, a)
    return a if x.zero else _circular(form, a, 0)


def cos(form: FloatFormat, a: int) -> int:
    """The cosine of a (section 9.7.3.19)"""
    x = decode(form, a)
    if x.kind != "finite":
        return quiet(form, a)
    return from_integer(form, 1) if x.zero else _circular(form, a, 1)


def tanh(form: FloatFormat, a: int) -> int:
    """The hyperbolic tangent of a (section 9.7.3.22)"""
    x = decode(form, a)
    if x.kind == "nan":
        return quiet(form, a)
    if x.zero:
        return a
    if x.kind == "infinity" or _top(x) > 6:  # from 1 by less than any number's last place
        return from_integer(form, -1 if x.sign else 1)

    def approximate(p: int) -> Approximation:
        wide = p + max(0, -_top(x)) + _GUARD
        # (1 - e) / (1 + e), e = exp(-2 |a|)
        m, n = _exp2(-((_fixed(x, 2 * wide + 1)) // _ln2(wide)), wide)
        e = m >> -n
        return x.sign, _cut(((1 << wide) - e << wide) // ((1 << wide) + e), _GUARD), _GUARD - wide

    return _rounded(form, approximate)


def rsqrt(form: FloatFormat, a: int) -> int:
    """1 / the square root of a (section 9.7.3.16)"""
    x = decode(form, a)
    if x.kind == "nan":
        return quiet(form, a)
    if x.zero:
        return form.infinity | a
    if x.sign:
        return form.nan
    if x.kind == "infinity":
        return 0
    shift = 2 * (form.fraction + 3) + x.mantissa.bit_length()
    shift += (x.exponent + shift) & 1  # an even exponent
    root = isqrt((1 << shift) // x.mantissa)
    return encode(form, 0, root, -(x.exponent + shift) // 2, sticky=root * root * x.mantissa != 1 << shift)


FUNCTIONS: dict[str, Callable[[FloatFormat, int], int]] = {
    "ex2": ex2,
    "lg2": lg2,
    "sin": sin,
    "cos": cos,
    "tanh": tanh,
    "rsqrt": rsqrt,
}
