"""Floating-point operations on known bits at the speed of the host's doubles, where they give the same bits.

A sum, product, quotient or square root of two single-precision numbers, computed in double precision and rounded again,
is correctly rounded, since 53 >= 2 * 24 + 2 (Figueroa); for f16 and bf16 all the more. A double-precision operation with
`rn` is the host's own, which IEEE 754 defines. Sums and products of halves are exact in double precision. A function
such as the sine is taken from the host where its double lies so far from the middle between two singles that an error a
thousand times as large as any library's does not matter. Everything else is `ptxcore.values.ieee`. Each of these is
tested against the exact arithmetic there.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from ptxcore.values import floats
from ptxcore.values.ieee import F16, F32, F64
from ptxcore.values.terms import Term

#: Names that compiled code gives to functions.
FUNCTIONS: dict[Callable[..., int], str] = {}

_two_words = struct.Struct("<II")
_two_singles = struct.Struct("<ff")
_single = struct.Struct("<f")
_word = struct.Struct("<I")
_three_words = struct.Struct("<III")
_three_singles = struct.Struct("<fff")
_long = struct.Struct("<Q")
_double = struct.Struct("<d")
_two_longs = struct.Struct("<QQ")
_two_doubles = struct.Struct("<dd")

_NAN32 = F32.nan
_TOP32 = 1 << 31
_INF32 = F32.infinity


def _rounded32(x: float) -> int:
    """The single-precision number nearest to a double, by its bits."""
    try:
        bits: int = _word.unpack(_single.pack(x))[0]
    except OverflowError:  # beyond the largest number
        return _INF32 if x > 0 else _INF32 | _TOP32
    return bits if x == x else _NAN32


def add_f32(a: int, b: int) -> int:
    """a + b, nearest even"""
    x, y = _two_singles.unpack(_two_words.pack(a, b))
    return _rounded32(x + y)


def sub_f32(a: int, b: int) -> int:
    """a - b, nearest even"""
    x, y = _two_singles.unpack(_two_words.pack(a, b))
    return _rounded32(x - y)


def mul_f32(a: int, b: int) -> int:
    """a * b, nearest even"""
    x, y = _two_singles.unpack(_two_words.pack(a, b))
    return _rounded32(x * y)


def div_f32(a: int, b: int) -> int:
    """a / b, nearest even"""
    x, y = _two_singles.unpack(_two_words.pack(a, b))
    if y == 0 or not math.isfinite(x) or not math.isfinite(y):
        return floats._OPERATIONS["div"](F32, "rn", a, b)
    return _rounded32(x / y)


def sqrt_f32(a: int) -> int:
    """The square root, nearest even"""
    (x,) = _single.unpack(_word.pack(a))
    return _rounded32(math.sqrt(x)) if x >= 0 else floats._OPERATIONS["sqrt"](F32, "rn", a)


def fma_f32(a: int, b: int, c: int) -> int:
    """a * b + c, nearest even: the product is exact in double precision; the sum is rounded to odd there, so that
    rounding it again is right (Boldo and Melquiond)."""
    x, y, z = _three_singles.unpack(_three_words.pack(a, b, c))
    p = x * y
    s = p + z
    if not math.isfinite(s):
        return floats._OPERATIONS["fma"](F32, "rn", a, b, c)
    # The error of the sum, exactly (Knuth).
    t = s - p
    e = (p - (s - t)) + (z - t)
    if e != 0 and not _long.unpack(_double.pack(s))[0] & 1:
        s = math.nextafter(s, math.inf if e > 0 else -math.inf)
    if s == 0:
        return floats._OPERATIONS["fma"](F32, "rn", a, b, c)
    return _rounded32(s)


def flush_f32(a: int) -> int:
    """A subnormal number as zero of its sign"""
    return a if a & _INF32 else a & _TOP32


def _extreme_f32(name: str, mode: str) -> Callable[[int, int], int]:
    exact = partial(floats._OPERATIONS[name], F32, mode)
    smaller = name == "min"

    def fast(a: int, b: int) -> int:
        x, y = _two_singles.unpack(_two_words.pack(a, b))
        if x < y:
            return a if smaller else b
        if x > y:
            return b if smaller else a
        return exact(a, b)

    return fast


# Halves: `struct` rounds a double to one as IEEE 754 does.

_half = struct.Struct("<e")
_short = struct.Struct("<H")
_two_halves = struct.Struct("<ee")
_two_shorts = struct.Struct("<HH")
_NAN16 = F16.nan
_TOP16 = 1 << 15
_INF16 = F16.infinity


def _rounded16(x: float) -> int:
    """The half nearest to a double, by its bits."""
    try:
        bits: int = _short.unpack(_half.pack(x))[0]
    except OverflowError:
        return _INF16 if x > 0 else _INF16 | _TOP16
    return bits if x == x else _NAN16


def add_f16(a: int, b: int) -> int:
    """a + b, nearest even"""
    x, y = _two_halves.unpack(_two_shorts.pack(a, b))
    return _rounded16(x + y)


def sub_f16(a: int, b: int) -> int:
    """a - b, nearest even"""
    x, y = _two_halves.unpack(_two_shorts.pack(a, b))
    return _rounded16(x - y)


def mul_f16(a: int, b: int) -> int:
    """a * b, nearest even"""
    x, y = _two_halves.unpack(_two_shorts.pack(a, b))
    return _rounded16(x * y)


def fma_f16(a: int, b: int, c: int) -> int:
    """a * b + c, nearest even, as `fma_f32`"""
    x, y = _two_halves.unpack(_two_shorts.pack(a, b))
    p, z = x * y, _half.unpack(_short.pack(c))[0]
    s = p + z
    if s == 0 or not math.isfinite(s):
        return floats._OPERATIONS["fma"](F16, "rn", a, b, c)
    t = s - p
    e = (p - (s - t)) + (z - t)
    if e != 0 and not _long.unpack(_double.pack(s))[0] & 1:
        s = math.nextafter(s, math.inf if e > 0 else -math.inf)
    return _rounded16(s)


# Between formats.


def f32_to_f16(a: int) -> int:
    """A single as a half, nearest even"""
    return _rounded16(_single.unpack(_word.pack(a))[0])


def f16_to_f32(a: int) -> int:
    """A half as a single"""
    return _rounded32(_half.unpack(_short.pack(a))[0])


def f64_to_f32(a: int) -> int:
    """A double as a single, nearest even"""
    return _rounded32(_double.unpack(_long.pack(a))[0])


def f32_to_f64(a: int) -> int:
    """A single as a double"""
    x = _single.unpack(_word.pack(a))[0]
    bits: int = _long.unpack(_double.pack(x))[0]
    return bits if x == x else F64.nan


def s32_to_f32(a: int) -> int:
    """A signed integer of 32 bits as a single, nearest even"""
    return _rounded32(float((a ^ _TOP32) - _TOP32))


def u32_to_f32(a: int) -> int:
    """An unsigned integer of 32 bits as a single, nearest even"""
    return _rounded32(float(a))


def s32_to_f64(a: int) -> int:
    """A signed integer of 32 bits as a double"""
    bits: int = _long.unpack(_double.pack(float((a ^ _TOP32) - _TOP32)))[0]
    return bits


def f32_to_s32(a: int) -> int:
    """A single as a signed integer of 32 bits, rounded towards zero"""
    x = _single.unpack(_word.pack(a))[0]
    return int(x) & 0xFFFFFFFF if -2147483648.0 <= x < 2147483648.0 else floats._to_integer("f32", a, 32, True, "rz")


# Elementary functions.

#: In doubles' last places: how near to the middle between two singles the host's result is not trusted.
_DOUBT = 1 << 16
_HALFWAY = 1 << 28  # a single has 29 bits less than a double

#: Beyond this, hosts reduce angles in ways of their own.
_LARGEST_ANGLE = 1e5


def _by_host(name: str, compute: Callable[[float], float]) -> Callable[[int], int]:
    exact = partial(floats._OPERATIONS[name], F32, "rn")
    limit = _LARGEST_ANGLE if name in ("sin", "cos") else math.inf

    def fast(a: int) -> int:
        x = _single.unpack(_word.pack(a))[0]
        try:
            y = compute(x)
        except (ValueError, OverflowError):
            return exact(a)
        bits: int = _long.unpack(_double.pack(y))[0]
        doubtful = -_DOUBT <= (bits & 2 * _HALFWAY - 1) - _HALFWAY <= _DOUBT
        if doubtful or not 1e-37 < abs(y) < 1e38 or not abs(x) < limit:
            return exact(a)
        return _rounded32(y)

    return fast


def _f64(operation: Callable[[float, float], float], name: str) -> Callable[[int, int], int]:
    exact = partial(floats._OPERATIONS[name], F64, "rn")

    def fast(a: int, b: int) -> int:
        x, y = _two_doubles.unpack(_two_longs.pack(a, b))
        result = operation(x, y)
        if result != result:
            return exact(a, b)
        bits: int = _long.unpack(_double.pack(result))[0]
        return bits

    return fast


def div_f64(a: int, b: int) -> int:
    """a / b, nearest even"""
    x, y = _two_doubles.unpack(_two_longs.pack(a, b))
    if y == 0 or x != x or y != y:
        return floats._OPERATIONS["div"](F64, "rn", a, b)
    return _divided(a, b)


def sqrt_f64(a: int) -> int:
    """The square root, nearest even"""
    x = _double.unpack(_long.pack(a))[0]
    if not x >= 0:
        return floats._OPERATIONS["sqrt"](F64, "rn", a)
    bits: int = _long.unpack(_double.pack(math.sqrt(x)))[0]
    return bits


_divided = _f64(lambda x, y: x / y, "div")
add_f64 = _f64(lambda x, y: x + y, "add")
sub_f64 = _f64(lambda x, y: x - y, "sub")
mul_f64 = _f64(lambda x, y: x * y, "mul")


def _compared(form: str, test: Callable[[float, float], bool]) -> Callable[[int, int], int]:
    bits, numbers = (_two_words, _two_singles) if form == "f32" else (_two_longs, _two_doubles)

    def fast(a: int, b: int) -> int:
        x, y = numbers.unpack(bits.pack(a, b))
        return 1 if test(x, y) else 0

    return fast


_TESTS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda x, y: x == y,
    "neu": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "ex2": math.exp2,
    "lg2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "rsqrt": lambda x: 1 / math.sqrt(x) if x > 0 else math.nan,
}

#: By operation, format and mode. Python's comparisons are the ordered ones, but `!=`, which is `neu`.
_FAST: dict[tuple[str, Any, str], Callable[..., int]] = {
    ("add", "f32", "rn"): add_f32,
    ("sub", "f32", "rn"): sub_f32,
    ("mul", "f32", "rn"): mul_f32,
    ("div", "f32", "rn"): div_f32,
    ("sqrt", "f32", "rn"): sqrt_f32,
    ("fma", "f32", "rn"): fma_f32,
    ("flush", "f32", ""): flush_f32,
    **{(name, "f32", mode): _extreme_f32(name, mode) for name in ("min", "max") for mode in ("", "nan")},
    **{(name, "f32", "rn"): _by_host(name, compute) for name, compute in _FUNCTIONS.items()},
    ("add", "f64", "rn"): add_f64,
    ("sub", "f64", "rn"): sub_f64,
    ("mul", "f64", "rn"): mul_f64,
    ("div", "f64", "rn"): div_f64,
    ("sqrt", "f64", "rn"): sqrt_f64,
    ("add", "f16", "rn"): add_f16,
    ("sub", "f16", "rn"): sub_f16,
    ("mul", "f16", "rn"): mul_f16,
    ("fma", "f16", "rn"): fma_f16,
    **{("compare", form, name): _compared(form, test) for form in ("f32", "f64") for name, test in _TESTS.items()},
    ("convert", ("f32", "f16"), "rn"): f32_to_f16,
    ("convert", ("f16", "f32"), "rn"): f16_to_f32,
    ("convert", ("f64", "f32"), "rn"): f64_to_f32,
    ("convert", ("f32", "f64"), "rn"): f32_to_f64,
    ("from_signed", ("f32", 32), "rn"): s32_to_f32,
    ("from_unsigned", ("f32", 32), "rn"): u32_to_f32,
    ("from_signed", ("f64", 32), "rn"): s32_to_f64,
    ("to_signed", ("f32", 32), "rz"): f32_to_s32,
}

_exact: dict[tuple[Any, ...], Callable[..., int]] = {}


def function(term: Term) -> Callable[..., int]:
    """What computes a floating-point term from the bits of its operands."""
    name, form, mode = term.args[:3]
    fast = _FAST.get((name, form, mode))
    if fast is not None:
        return fast
    key = (name, form, mode, term.width)
    found = _exact.get(key)
    if found is None:

        def exact(*operands: int) -> int:
            value = floats.rebuild(term, [name, form, mode, *operands])
            assert type(value) is int
            return value

        found = _exact[key] = exact
    return found
