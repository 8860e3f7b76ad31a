"""Floating-point operations on known bits at the speed of the host's doubles, where they give the same bits.

A sum, product, quotient or square root of two single-precision numbers, computed in double precision and rounded again,
is correctly rounded, since 53 >= 2 * 24 + 2 (Figueroa); for f16 and bf16 all the more. A double-precision operation with
`rn` is the host's own, which IEEE 754 defines. Everything else is `ptxcore.values.ieee`. Each of these is tested against
the exact arithmetic there.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from ptxcore.values import floats
from ptxcore.values.ieee import F32, F64
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


add_f64 = _f64(lambda x, y: x + y, "add")
mul_f64 = _f64(lambda x, y: x * y, "mul")


def _compared(test: Callable[[float, float], bool]) -> Callable[[int, int], int]:
    def fast(a: int, b: int) -> int:
        x, y = _two_singles.unpack(_two_words.pack(a, b))
        return 1 if test(x, y) else 0

    return fast


#: By operation, format and mode. Python's comparisons are the ordered ones, but `!=`, which is `neu`.
_FAST: dict[tuple[str, str, str], Callable[..., int]] = {
    ("add", "f32", "rn"): add_f32,
    ("mul", "f32", "rn"): mul_f32,
    ("div", "f32", "rn"): div_f32,
    ("sqrt", "f32", "rn"): sqrt_f32,
    ("fma", "f32", "rn"): fma_f32,
    ("add", "f64", "rn"): add_f64,
    ("mul", "f64", "rn"): mul_f64,
    ("compare", "f32", "eq"): _compared(lambda x, y: x == y),
    ("compare", "f32", "neu"): _compared(lambda x, y: x != y),
    ("compare", "f32", "lt"): _compared(lambda x, y: x < y),
    ("compare", "f32", "le"): _compared(lambda x, y: x <= y),
    ("compare", "f32", "gt"): _compared(lambda x, y: x > y),
    ("compare", "f32", "ge"): _compared(lambda x, y: x >= y),
}

_exact: dict[tuple[Any, ...], Callable[..., int]] = {}


def function(term: Term) -> Callable[..., int]:
    """What computes a floating-point term from the bits of its operands."""
    name, form, mode = term.args[:3]
    fast = _FAST.get((name, form, mode)) if type(form) is str else None
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
