"""Floating-point formats and their arithmetic, exact, on Python integers (PTX ISA 9.0, sections 5.2.1, 5.2.3 and 9.7.3).

A floating-point value is its bits. Every operation computes the exact result as `mantissa * 2**exponent` (with `sticky`
for a remainder below) and rounds once. Nothing here uses the host's floating point; where a faster way is proven to
give the same bits, it stands beside these functions and is tested against them.

Rounding modes are the manual's: `rn` nearest even, `rna` nearest, ties away from zero, `rz` towards zero, `rm` towards
minus infinity, `rp` towards plus infinity.
"""

from __future__ import annotations

from math import isqrt

from ptxcore.records import NamedTuple


class FloatFormat(NamedTuple):
    """A binary format: a sign bit unless `unsigned`, then `exponent` and `fraction` bits, at the top of `width` bits
    (`tf32` leaves the low ones empty). `specials`: `ieee` has infinities and NaNs; `nan` only NaN, all ones;
    `none` neither."""

    name: str
    exponent: int
    fraction: int
    width: int
    specials: str = "ieee"
    unsigned: bool = False

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def padding(self) -> int:
        """Empty bits below the fraction."""
        return self.width - self.exponent - self.fraction - (not self.unsigned) if self.name == "tf32" else 0

    @property
    def lowest(self) -> int:
        """Exponent of the last place of subnormal numbers."""
        return 1 - self.bias - self.fraction

    @property
    def sign_bit(self) -> int:
        return 0 if self.unsigned else 1 << (self.exponent + self.fraction + self.padding)

    @property
    def infinity(self) -> int:
        """The bits of plus infinity."""
        return ((1 << self.exponent) - 1) << (self.fraction + self.padding)

    @property
    def nan(self) -> int:
        """The bits of the canonical NaN: all ones but the sign (section 9.7.3); for f64 the quiet NaN of IEEE 754."""
        if self.name == "f64":
            return 0x7FF8 << 48
        return ((1 << (self.exponent + self.fraction)) - 1) << self.padding

    @property
    def largest(self) -> int:
        """The bits of the largest finite number."""
        below = {"ieee": self.infinity - (1 << self.padding), "nan": self.nan - 1}
        return below.get(self.specials, (1 << (self.exponent + self.fraction)) - 1)


F16 = FloatFormat("f16", 5, 10, 16)
BF16 = FloatFormat("bf16", 8, 7, 16)
TF32 = FloatFormat("tf32", 8, 10, 32)
F32 = FloatFormat("f32", 8, 23, 32)
F64 = FloatFormat("f64", 11, 52, 64)
#: The upper half of a double, which `rcp.approx.ftz.f64` and its like compute with (section 9.7.3.14).
F64_HIGH = FloatFormat("f64_high", 11, 20, 32)
E4M3 = FloatFormat("e4m3", 4, 3, 8, "nan")
E5M2 = FloatFormat("e5m2", 5, 2, 8)
E3M2 = FloatFormat("e3m2", 3, 2, 6, "none")
E2M3 = FloatFormat("e2m3", 2, 3, 6, "none")
E2M1 = FloatFormat("e2m1", 2, 1, 4, "none")
UE8M0 = FloatFormat("ue8m0", 8, 0, 8, "nan", unsigned=True)

FORMATS = {f.name: f for f in (F16, BF16, TF32, F32, F64, F64_HIGH, E4M3, E5M2, E3M2, E2M3, E2M1, UE8M0)}


class FloatNumber(NamedTuple):
    """What bits stand for. `kind`: `finite`, `infinity` or `nan`; a finite one is (-1)**sign * mantissa * 2**exponent."""

    kind: str
    sign: int
    mantissa: int = 0
    exponent: int = 0

    @property
    def zero(self) -> bool:
        return self.kind == "finite" and self.mantissa == 0


def decode(form: FloatFormat, bits: int) -> FloatNumber:
    """The number that bits of a format stand for."""
    sign = 1 if bits & form.sign_bit else 0
    bits >>= form.padding
    fraction = bits & ((1 << form.fraction) - 1)
    field = (bits >> form.fraction) & ((1 << form.exponent) - 1)
    if form.unsigned:  # powers of two and nothing else
        return FloatNumber("nan", 0) if field == 0xFF else FloatNumber("finite", 0, 1, field - form.bias)
    top = (1 << form.exponent) - 1
    if field == top and form.specials == "ieee":
        return FloatNumber("nan" if fraction else "infinity", sign)
    if field == top and form.specials == "nan" and fraction == (1 << form.fraction) - 1:
        return FloatNumber("nan", sign)
    if field:
        return FloatNumber("finite", sign, fraction | 1 << form.fraction, field + form.lowest - 1)
    return FloatNumber("finite", sign, fraction, form.lowest)


def encode(form: FloatFormat, sign: int, mantissa: int, exponent: int, mode: str = "rn", sticky: bool = False) -> int:
    """The bits nearest, as `mode` says, to (-1)**sign * (mantissa + a bit if sticky) * 2**exponent. What is too large
    becomes infinity or the largest number, as the mode says; a format without infinities keeps its largest."""
    if form.unsigned:
        return _power(form, mantissa, exponent, mode, sticky)
    top = form.sign_bit if sign else 0
    if not mantissa and not sticky:
        return top
    last = max(mantissa.bit_length() - 1 + exponent - form.fraction, form.lowest)
    shift = last - exponent
    if shift <= 0:
        kept, rest, half = mantissa << -shift, 0, 1
    else:
        kept, rest, half = mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)
    # Twice the rest, and the sticky bit below it, against twice a half.
    remainder = 2 * rest + sticky
    if shift <= 0:
        remainder = int(sticky)
        half = 1
    if _away(mode, sign, kept & 1, remainder, 2 * half):
        kept += 1
    if kept >> (form.fraction + 1):
        kept >>= 1
        last += 1
    if kept >> form.fraction:
        field = last - form.lowest + 1
        bits = (field << form.fraction) | (kept & ((1 << form.fraction) - 1))
    else:
        bits = kept  # subnormal, or zero
    bits <<= form.padding
    if bits > form.largest:
        to_largest = mode == "rz" or (mode == "rm" and not sign) or (mode == "rp" and sign)
        bits = form.largest if to_largest or form.specials != "ieee" else form.infinity
    return top | bits


def _power(form: FloatFormat, mantissa: int, exponent: int, mode: str, sticky: bool) -> int:
    """The power of two nearest to a magnitude, for a format that has nothing else; the smallest one for 0."""
    top = mantissa.bit_length() - 1
    rest = mantissa - (1 << top) if mantissa else 0
    # The next power is as far from this one as this one is from 0.
    up = _away(mode, 0, 1, 2 * rest + sticky, 1 << top) if mantissa else False
    return min(max(top + exponent + up + form.bias, 0), form.largest) if mantissa else 0


def _away(mode: str, sign: int, odd: int, remainder: int, half: int) -> bool:
    """Whether what was cut off (`remainder`, against `half` a unit) makes the magnitude go up."""
    if mode == "rn":
        return remainder > half or (remainder == half and bool(odd))
    if mode == "rna":
        return remainder >= half
    if mode == "rz" or not remainder:
        return False
    return (mode == "rm") == bool(sign)


def is_nan(form: FloatFormat, bits: int) -> bool:
    return decode(form, bits).kind == "nan"


def flush(form: FloatFormat, bits: int) -> int:
    """A subnormal number as zero of its sign (`.ftz`)."""
    magnitude = bits & ~form.sign_bit
    return bits & form.sign_bit if 0 < magnitude < 1 << (form.fraction + form.padding) else bits


def quiet(form: FloatFormat, *operands: int) -> int:
    """The NaN that an operation gives: the canonical one; with f64 the first NaN operand's payload (section 9.7.3)."""
    if form.name == "f64":
        for bits in operands:
            if is_nan(form, bits):
                return bits | 1 << 51
    return form.nan


# Arithmetic.


def add(form: FloatFormat, a: int, b: int, mode: str = "rn") -> int:
    """a + b, rounded once."""
    x, y = decode(form, a), decode(form, b)
    if x.kind == "nan" or y.kind == "nan":
        return quiet(form, a, b)
    if x.kind == "infinity" or y.kind == "infinity":
        if x.kind == y.kind and x.sign != y.sign:
            return form.nan
        return a if x.kind == "infinity" else b
    return _sum(form, x, y, mode)


def _sum(form: FloatFormat, x: FloatNumber, y: FloatNumber, mode: str) -> int:
    """The sum of two finite numbers, rounded."""
    low = min(x.exponent, y.exponent)
    total = _signed(x) << (x.exponent - low)
    total += _signed(y) << (y.exponent - low)
    if total == 0:
        # Zeros of one sign keep it; else the sum of opposites is +0, and -0 when rounding down.
        sign = x.sign if x.sign == y.sign and x.zero and y.zero else int(mode == "rm")
        return form.sign_bit if sign else 0
    return encode(form, int(total < 0), abs(total), low, mode)


def _signed(x: FloatNumber) -> int:
    return -x.mantissa if x.sign else x.mantissa


def sub(form: FloatFormat, a: int, b: int, mode: str = "rn") -> int:
    """a - b, rounded once."""
    return quiet(form, a, b) if is_nan(form, b) else add(form, a, b ^ form.sign_bit, mode)


def mul(form: FloatFormat, a: int, b: int, mode: str = "rn") -> int:
    """a * b, rounded once."""
    x, y = decode(form, a), decode(form, b)
    sign = x.sign ^ y.sign
    if x.kind == "nan" or y.kind == "nan":
        return quiet(form, a, b)
    if x.kind == "infinity" or y.kind == "infinity":
        return form.nan if x.zero or y.zero else _infinity(form, sign)
    return encode(form, sign, x.mantissa * y.mantissa, x.exponent + y.exponent, mode)


def _infinity(form: FloatFormat, sign: int) -> int:
    return form.infinity | (form.sign_bit if sign else 0)


def fma(form: FloatFormat, a: int, b: int, c: int, mode: str = "rn") -> int:
    """a * b + c, rounded once."""
    x, y, z = decode(form, a), decode(form, b), decode(form, c)
    if "nan" in (x.kind, y.kind, z.kind):
        return quiet(form, a, b, c)
    sign = x.sign ^ y.sign
    if x.kind == "infinity" or y.kind == "infinity":
        if x.zero or y.zero or (z.kind == "infinity" and z.sign != sign):
            return form.nan
        return _infinity(form, sign)
    if z.kind == "infinity":
        return c
    return _sum(form, FloatNumber("finite", sign, x.mantissa * y.mantissa, x.exponent + y.exponent), z, mode)


def div(form: FloatFormat, a: int, b: int, mode: str = "rn") -> int:
    """a / b, rounded once."""
    x, y = decode(form, a), decode(form, b)
    sign = x.sign ^ y.sign
    if x.kind == "nan" or y.kind == "nan":
        return quiet(form, a, b)
    if x.kind == "infinity" or y.zero:
        invalid = x.kind == y.kind == "infinity" or (x.zero and y.zero)
        return form.nan if invalid else _infinity(form, sign)
    if y.kind == "infinity" or x.zero:
        return form.sign_bit if sign else 0
    shift = max(0, form.fraction + 3 + y.mantissa.bit_length() - x.mantissa.bit_length())
    quotient, rest = divmod(x.mantissa << shift, y.mantissa)
    return encode(form, sign, quotient, x.exponent - y.exponent - shift, mode, bool(rest))


def sqrt(form: FloatFormat, a: int, mode: str = "rn") -> int:
    """The square root of a, rounded once."""
    x = decode(form, a)
    if x.kind == "nan":
        return quiet(form, a)
    if x.zero:
        return a
    if x.sign:
        return form.nan
    if x.kind == "infinity":
        return a
    shift = max(0, 2 * (form.fraction + 3) - x.mantissa.bit_length())
    shift += (x.exponent - shift) & 1  # an even exponent
    scaled = x.mantissa << shift
    root = isqrt(scaled)
    return encode(form, 0, root, (x.exponent - shift) // 2, mode, root * root != scaled)


# Order.


def compare(form: FloatFormat, a: int, b: int) -> str:
    """`<`, `=`, `>`, or `?` where one of the two is NaN."""
    x, y = decode(form, a), decode(form, b)
    if x.kind == "nan" or y.kind == "nan":
        return "?"
    key_a, key_b = _order(form, a), _order(form, b)
    return "<" if key_a < key_b else ">" if key_a > key_b else "="


def _order(form: FloatFormat, bits: int) -> int:
    magnitude = bits & ~form.sign_bit
    return -magnitude if bits & form.sign_bit else magnitude


# Conversion.


def convert(source: FloatFormat, target: FloatFormat, bits: int, mode: str = "rn") -> int:
    """A value of one format in another, rounded once. Infinity stays where the target has one, else becomes the
    largest number; NaN where the target has one, else the largest number."""
    x = decode(source, bits)
    if x.kind == "nan":
        return target.nan if target.specials != "none" else target.largest
    if x.kind == "infinity":
        sign = target.sign_bit if x.sign else 0
        return sign | (target.infinity if target.specials == "ieee" else target.largest)
    return encode(target, x.sign, x.mantissa, x.exponent, mode)


def convert_randomly(source: FloatFormat, target: FloatFormat, bits: int, random: int, count: int) -> int:
    """A value of one format in another, rounded to the neighbour away from zero where the first `count` bits of what
    is cut off and as many random bits, added, carry (`.rs`). Otherwise as `convert`."""
    x = decode(source, bits)
    if x.kind != "finite" or x.zero:
        return convert(source, target, bits)
    last = max(x.mantissa.bit_length() - 1 + x.exponent - target.fraction, target.lowest)
    low = min(x.exponent, last - count)
    total = (x.mantissa << (x.exponent - low)) + (random << (last - count - low))
    return encode(target, x.sign, total >> (last - low), last)


def from_integer(form: FloatFormat, value: int, mode: str = "rn") -> int:
    """An integer as a floating-point value, rounded once."""
    return encode(form, int(value < 0), abs(value), 0, mode)


def to_integral(form: FloatFormat, bits: int, mode: str) -> int | None:
    """The integer nearest to a finite value, as the mode says; None for infinity and NaN."""
    x = decode(form, bits)
    if x.kind != "finite":
        return None
    if x.exponent >= 0:
        magnitude = x.mantissa << x.exponent
    else:
        shift = -x.exponent
        magnitude, rest = x.mantissa >> shift, x.mantissa & ((1 << shift) - 1)
        magnitude += _away(mode, x.sign, magnitude & 1, 2 * rest, 1 << shift)
    return -magnitude if x.sign else magnitude
