"""Floating-point operations on arrays of bits, by NumPy where that gives the same bits as `ptxcore.values`.

NumPy's sums, products, quotients and square roots of singles and doubles are those of IEEE 754. What it leaves open or
does in another way (which NaN comes out, halfway cases of what is rounded twice, zeros of two signs) is found afterwards,
and computed one by one; `ptxcore.values.fast` says why the rest is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ptxcore.values.fast import function
from ptxcore.values.ieee import FORMATS
from ptxcore.values.terms import Term

_KINDS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_BITS = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}
_BY_WIDTH = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
#: The canonical NaNs; those of doubles carry a payload on.
_NANS = {name: _BITS[name](FORMATS[name].nan) for name in _KINDS}

FloatOperation = Callable[..., Any]


def operand_widths(t: Term) -> list[int]:
    """The bits of the operands of a floating-point term."""
    name, form = t.args[:2]
    operands = t.args[3:]
    if name == "convert":
        return [FORMATS[form[0]].width]
    if name == "convert_randomly":
        return [FORMATS[form[0]].width, 32]
    if name in ("from_signed", "from_unsigned"):
        return [form[1]]
    if name in ("to_signed", "to_unsigned"):
        return [FORMATS[form[0]].width]
    return [FORMATS[form].width] * len(operands)


_made: dict[tuple[Any, ...], FloatOperation] = {}


def vector_function(t: Term) -> FloatOperation:
    """What computes a floating-point term from arrays of the bits of its operands."""
    name, form, mode = t.args[:3]
    key = (name, form, mode, t.width)
    found = _made.get(key)
    if found is None:
        one = function(t)
        kind = _BY_WIDTH[next(w for w in _BY_WIDTH if t.width <= w)]
        exact = partial(_each, one, kind)
        maker = _MAKERS.get((name, form, mode))
        found = _made[key] = exact if maker is None else maker(exact)
    return found


def _each(one: Callable[..., int], kind: Any, *operands: Any) -> Any:
    """Element by element."""
    arrays = np.broadcast_arrays(*operands)
    if not arrays[0].ndim:
        return kind(one(*map(int, arrays)))
    return np.array(list(map(one, *(a.tolist() for a in arrays))), kind)


def _mended(bits: Any, bad: Any, exact: FloatOperation, *operands: Any) -> Any:
    """Bits, with those that are bad computed again, one by one."""
    if not bits.ndim:
        return exact(*operands) if bad else bits
    if bad.any():
        where = np.nonzero(bad)[0]
        bits[where] = exact(*(o[where] if o.ndim else o for o in operands))
    return bits


def _in(form: str, *operands: Any) -> list[Any]:
    return [o.view(_KINDS[form]) for o in operands]


def _plain(form: str, compute: FloatOperation) -> Callable[[FloatOperation], FloatOperation]:
    """An operation that the host has in the format itself."""
    kind, nan = _BITS[form], _NANS[form]

    def make(exact: FloatOperation) -> FloatOperation:
        def vector(*operands: Any) -> Any:
            x = compute(*_in(form, *operands))
            bits, bad = x.view(kind), x != x
            if form == "f64":
                return _mended(bits, bad, exact, *operands)
            if not bits.ndim:
                return nan if bad else bits
            if bad.any():
                bits[bad] = nan
            return bits

        return vector

    return make


def _half(compute: FloatOperation) -> Callable[[FloatOperation], FloatOperation]:
    """An operation on halves, which is exact in double precision."""

    def make(exact: FloatOperation) -> FloatOperation:
        def vector(*operands: Any) -> Any:
            x = compute(*(o.view(np.float16).astype(np.float64) for o in operands)).astype(np.float16)
            return _canonical("f16", x)

        return vector

    return make


def _canonical(form: str, x: Any) -> Any:
    bits, bad = x.view(_BITS[form]), x != x
    if not bits.ndim:
        return _NANS[form] if bad else bits
    if bad.any():
        bits[bad] = _NANS[form]
    return bits


_LOW29, _MIDDLE = np.uint64((1 << 29) - 1), np.uint64(1 << 28)
_LEAST = {"f32": 2.0**-125, "f16": 2.0**-13}


def _fma_single(exact: FloatOperation) -> FloatOperation:
    """The product is exact in double precision; the sum, rounded there, is on the same side of the middle between two
    singles as the exact one, but where it is that middle itself."""

    def vector(a: Any, b: Any, c: Any) -> Any:
        x, y, z = (o.view(np.float32).astype(np.float64) for o in (a, b, c))
        s = x * y + z
        result = s.astype(np.float32)
        bits = result.view(np.uint32)
        bad = (s.view(np.uint64) & _LOW29) == _MIDDLE
        # Comparisons with NaN fail; numbers so small have fewer bits in single precision.
        bad |= ~(np.abs(s) >= _LEAST["f32"]) & (s != 0)
        return _mended(bits, bad, exact, a, b, c)

    return vector


def _fma_half(exact: FloatOperation) -> FloatOperation:
    def vector(a: Any, b: Any, c: Any) -> Any:
        x, y, z = (o.view(np.float16).astype(np.float64) for o in (a, b, c))
        p = x * y  # 22 bits, and the sum has 53: exact where exponents are not far apart
        s = p + z
        t = s - p
        error = (p - (s - t)) + (z - t)
        result = s.astype(np.float16)
        return _mended(result.view(np.uint16), (error != 0) | (s != s) | (s == 0), exact, a, b, c)

    return vector


_SPLIT = 134217729.0  # 2**27 + 1


def _exact_product(x: Any, y: Any) -> tuple[Any, Any]:
    """x * y as a rounded product and what it lacks (Dekker, Veltkamp); of numbers that are neither huge nor tiny."""
    p = x * y
    t = _SPLIT * x
    xh = t - (t - x)
    xl = x - xh
    t = _SPLIT * y
    yh = t - (t - y)
    yl = y - yh
    return p, ((xh * yh - p) + xh * yl + xl * yh) + xl * yl


def _exact_sum(x: Any, y: Any) -> tuple[Any, Any]:
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def _fma_double(exact: FloatOperation) -> FloatOperation:
    """The sum of the exact product and the third operand, the lower parts rounded to odd (Boldo and Melquiond); one by one
    where something is huge, tiny or no number."""

    def vector(a: Any, b: Any, c: Any) -> Any:
        x, y, z = (np.atleast_1d(o).view(np.float64) for o in (a, b, c))
        uh, ul = _exact_product(x, y)
        th, tl = _exact_sum(z, ul)
        vh, vl = _exact_sum(uh, th)
        w, e = _exact_sum(tl, vl)
        odd = w.view(np.int64)
        inexact = ((e > 0) | (e < 0)) & (odd & 1 == 0)
        away = (e > 0) == (w > 0)
        odd = np.where(inexact, odd + np.where(away, 1, -1), odd)
        result = vh + odd.view(np.float64)
        fits = _ordinary(x) & _ordinary(y) & _ordinary(z) & _ordinary(result)
        bits = result.view(np.uint64)
        shape = np.broadcast_shapes(*(o.shape for o in (a, b, c)))
        if not shape:
            return bits[0] if fits[0] else exact(a, b, c)
        return _mended(bits, ~fits, exact, a, b, c)

    return vector


def _ordinary(x: Any) -> Any:
    size = np.abs(x)
    return (size > 1e-100) & (size < 1e100)


def _extreme(form: str, smaller: bool) -> Callable[[FloatOperation], FloatOperation]:
    def make(exact: FloatOperation) -> FloatOperation:
        def vector(a: Any, b: Any) -> Any:
            x, y = _in(form, a, b)
            below, above = x < y, x > y
            bits = np.where(below if smaller else above, a, b)
            return _mended(bits, ~(below | above) & ((a != b) | (x != x)), exact, a, b) if bits.ndim else exact(a, b)

        return vector

    return make


def _compare(form: str, test: FloatOperation) -> Callable[[FloatOperation], FloatOperation]:
    return lambda exact: lambda a, b: test(*_in(form, a, b))


_MAGNITUDE, _SIGN = np.uint32(FORMATS["f32"].infinity), np.uint32(1 << 31)


def _flush(exact: FloatOperation) -> FloatOperation:
    return lambda a: np.where((a & _MAGNITUDE) != 0, a, a & _SIGN)


def _convert(source: str, target: str) -> Callable[[FloatOperation], FloatOperation]:
    return lambda exact: lambda a: _canonical(target, a.view(_KINDS[source]).astype(_KINDS[target]))


def _from_integer(form: str, signed: bool) -> Callable[[FloatOperation], FloatOperation]:
    def make(exact: FloatOperation) -> FloatOperation:
        def vector(a: Any) -> Any:
            return (a.view(np.int32) if signed else a).astype(_KINDS[form]).view(_BITS[form])

        return vector

    return make


def _to_integer(exact: FloatOperation) -> FloatOperation:
    def vector(a: Any) -> Any:
        x = a.view(np.float32)
        bits = x.astype(np.int32).view(np.uint32)
        return _mended(bits, ~((x >= -2147483648.0) & (x < 2147483648.0)), exact, a)

    return vector


def _bf16(exact: FloatOperation) -> FloatOperation:
    """A single as a bf16, nearest even: its upper half, rounded."""

    def vector(a: Any) -> Any:
        up = np.uint32(0x7FFF) + (a >> np.uint32(16) & np.uint32(1))
        bits = (a + up >> np.uint32(16)).astype(np.uint16)
        return _mended(bits, (a & ~_SIGN) > _MAGNITUDE, exact, a)

    return vector


def _from_bf16(exact: FloatOperation) -> FloatOperation:
    def vector(a: Any) -> Any:
        bits = a.astype(np.uint32) << np.uint32(16)
        return _mended(bits, (bits & ~_SIGN) > _MAGNITUDE, exact, a)

    return vector


#: In doubles' last places: how near to the middle between two singles the host's result is not trusted.
_DOUBT = 1 << 16


def _by_host(name: str) -> Callable[[FloatOperation], FloatOperation]:
    compute, limit = _HOST[name]

    def make(exact: FloatOperation) -> FloatOperation:
        def vector(a: Any) -> Any:
            x = a.view(np.float32).astype(np.float64)
            y = compute(x)
            near = (y.view(np.uint64) & _LOW29).astype(np.int64) - (1 << 28)
            size = np.abs(y)
            fine = (np.abs(near) > _DOUBT) & (size > 1e-37) & (size < 1e38) & (np.abs(x) < limit)
            return _mended(y.astype(np.float32).view(np.uint32), ~fine, exact, a)

        return vector

    return make


#: Functions of NumPy on doubles, and up to where they are trusted.
_HOST: dict[str, tuple[FloatOperation, float]] = {
    "ex2": (np.exp2, math.inf),
    "lg2": (np.log2, math.inf),
    "sin": (np.sin, 1e5),
    "cos": (np.cos, 1e5),
    "tanh": (np.tanh, math.inf),
    "rsqrt": (lambda x: 1 / np.sqrt(x), math.inf),
}
_TESTS: dict[str, FloatOperation] = {
    "eq": np.equal,
    "neu": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "ltu": lambda x, y: ~(x >= y),
    "leu": lambda x, y: ~(x > y),
    "gtu": lambda x, y: ~(x <= y),
    "geu": lambda x, y: ~(x < y),
    "nan": lambda x, y: (x != x) | (y != y),
    "num": lambda x, y: (x == x) & (y == y),
}
_PLAIN: dict[str, FloatOperation] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "sqrt": np.sqrt,
}

#: By operation, format and mode: from what computes one by one, what computes arrays.
_MAKERS: dict[tuple[str, Any, str], Callable[[FloatOperation], FloatOperation]] = {
    **{(name, form, "rn"): _plain(form, compute) for name, compute in _PLAIN.items() for form in ("f32", "f64")},
    **{(name, "f16", "rn"): _half(_PLAIN[name]) for name in ("add", "sub", "mul")},
    ("fma", "f32", "rn"): _fma_single,
    ("fma", "f64", "rn"): _fma_double,
    ("fma", "f16", "rn"): _fma_half,
    **{
        (name, form, mode): _extreme(form, name == "min")
        for name in ("min", "max") for mode in ("", "nan") for form in _KINDS
    },
    **{("compare", form, name): _compare(form, test) for form in _KINDS for name, test in _TESTS.items()},
    ("flush", "f32", ""): _flush,
    ("convert", ("f32", "f16"), "rn"): _convert("f32", "f16"),
    ("convert", ("f16", "f32"), "rn"): _convert("f16", "f32"),
    ("convert", ("f64", "f32"), "rn"): _convert("f64", "f32"),
    ("convert", ("f32", "f64"), "rn"): _convert("f32", "f64"),
    ("convert", ("f32", "bf16"), "rn"): _bf16,
    ("convert", ("bf16", "f32"), "rn"): _from_bf16,
    ("from_signed", ("f32", 32), "rn"): _from_integer("f32", True),
    ("from_unsigned", ("f32", 32), "rn"): _from_integer("f32", False),
    ("from_signed", ("f64", 32), "rn"): _from_integer("f64", True),
    ("from_unsigned", ("f64", 32), "rn"): _from_integer("f64", False),
    ("to_signed", ("f32", 32), "rz"): _to_integer,
    **{(name, "f32", "rn"): _by_host(name) for name in _HOST},
}  # fmt: skip
