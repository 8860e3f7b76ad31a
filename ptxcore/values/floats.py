"""Floating-point values: bits while known, terms of the operation `fp` once symbolic (PTX ISA 9.0, section 9.7.3).

The functions here take and give bit-vector values as `ptxcore.values.terms` has them. A format is one of
`ptxcore.values.ieee.FORMATS`, named by its type (`f32`); a rounding mode is the manual's word. A term has the operands
(name of the operation, format or formats, mode, values ...): solvers read it in their theory of floating-point numbers,
or refuse the operations that have no meaning there (the approximate functions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxcore.values import ieee
from ptxcore.values.ieee import FORMATS
from ptxcore.values.terms import Term, Value, bit_and, bit_or, bit_xor, eq, extend_operations, ite, make, sub

# The operations on known bits, by the names that terms have: (format, mode, bits ...) -> bits.


def _minimum(form: ieee.FloatFormat, mode: str, a: int, b: int) -> int:
    """`mode` `nan`: NaN where an operand is one; else the operand that is none. -0 is below +0."""
    return _chosen(form, mode, a, b, "<")


def _maximum(form: ieee.FloatFormat, mode: str, a: int, b: int) -> int:
    return _chosen(form, mode, a, b, ">")


def _chosen(form: ieee.FloatFormat, mode: str, a: int, b: int, wanted: str) -> int:
    a_nan, b_nan = ieee.is_nan(form, a), ieee.is_nan(form, b)
    if a_nan or b_nan:
        if mode == "nan":
            return form.nan
        if a_nan and b_nan:  # of doubles, the second payload, as hardware does
            return ieee.quiet(form, b, a)
        return b if a_nan else a
    order = ieee.compare(form, a, b)
    if order == "=":  # only zeros of two signs differ here
        return a | b if wanted == "<" else a & b
    return a if order == wanted else b


_ORDERS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _compared(form: ieee.FloatFormat, mode: str, a: int, b: int) -> int:
    """`mode` is the comparison of section 9.3.2: with `u` behind it, true also for NaN; `num` and `nan`."""
    order = ieee.compare(form, a, b)
    if mode in ("num", "nan"):
        return int((order == "?") == (mode == "nan"))
    if order == "?":
        return int(mode.endswith("u") and mode not in _ORDERS)
    return int(order in _ORDERS[mode if mode in _ORDERS else mode[:-1]])


def _integral(form: ieee.FloatFormat, mode: str, a: int) -> int:
    """Rounded to an integral value, in the same format (`cvt.rni` and its like)."""
    whole = ieee.to_integral(form, a, mode)
    if whole is None:
        return ieee.quiet(form, a) if ieee.is_nan(form, a) else a
    return (a & form.sign_bit) | (ieee.from_integer(form, abs(whole)) if whole else 0)


def _elementary(name: str) -> Callable[[ieee.FloatFormat, str, int], int]:
    """A function of `ptxcore.values.elementary`, which is read when one is first computed."""

    def compute(form: ieee.FloatFormat, mode: str, a: int) -> int:
        from ptxcore.values.elementary import FUNCTIONS

        return FUNCTIONS[name](form, a)

    return compute


_OPERATIONS: dict[str, Callable[..., int]] = {
    "add": lambda form, mode, a, b: ieee.add(form, a, b, mode),
    "sub": lambda form, mode, a, b: ieee.sub(form, a, b, mode),
    "mul": lambda form, mode, a, b: ieee.mul(form, a, b, mode),
    "fma": lambda form, mode, a, b, c: ieee.fma(form, a, b, c, mode),
    "div": lambda form, mode, a, b: ieee.div(form, a, b, mode),
    "sqrt": lambda form, mode, a: ieee.sqrt(form, a, mode),
    "min": _minimum,
    "max": _maximum,
    "compare": _compared,
    "integral": _integral,
    **{name: _elementary(name) for name in ("ex2", "lg2", "sin", "cos", "tanh", "rsqrt")},
}


def _operation(name: str, form: str, mode: str, width: int, *operands: Value) -> Value:
    if all(type(o) is int for o in operands):
        return _OPERATIONS[name](FORMATS[form], mode, *operands)
    return make("fp", width, name, form, mode, *operands)


def fadd(form: str, a: Value, b: Value, mode: str = "rn") -> Value:
    """a + b"""
    return _operation("add", form, mode, FORMATS[form].width, a, b)


def fsub(form: str, a: Value, b: Value, mode: str = "rn") -> Value:
    """a - b"""
    return _operation("sub", form, mode, FORMATS[form].width, a, b)


def fmul(form: str, a: Value, b: Value, mode: str = "rn") -> Value:
    """a * b"""
    return _operation("mul", form, mode, FORMATS[form].width, a, b)


def ffma(form: str, a: Value, b: Value, c: Value, mode: str = "rn") -> Value:
    """a * b + c, rounded once"""
    return _operation("fma", form, mode, FORMATS[form].width, a, b, c)


def fdiv(form: str, a: Value, b: Value, mode: str = "rn") -> Value:
    """a / b"""
    return _operation("div", form, mode, FORMATS[form].width, a, b)


def fsqrt(form: str, a: Value, mode: str = "rn") -> Value:
    """The square root of a"""
    return _operation("sqrt", form, mode, FORMATS[form].width, a)


def felementary(name: str, form: str, a: Value) -> Value:
    """`ex2 lg2 sin cos tanh` or `rsqrt` of a, rounded to the nearest: of a symbol, a term that solvers know nothing of"""
    return _operation(name, form, "rn", FORMATS[form].width, a)


def fneg(form: str, a: Value) -> Value:
    """-a: the sign turned, also of NaN"""
    return bit_xor(a, FORMATS[form].sign_bit, FORMATS[form].width)


def fabs(form: str, a: Value) -> Value:
    """|a|: the sign cleared, also of NaN"""
    return bit_and(a, FORMATS[form].sign_bit - 1, FORMATS[form].width)


def copysign(form: str, sign: Value, a: Value) -> Value:
    """a with the sign of the first operand"""
    width, top = FORMATS[form].width, FORMATS[form].sign_bit
    return bit_or(bit_and(sign, top, width), bit_and(a, top - 1, width), width)


def fmin(form: str, a: Value, b: Value, *, nan: bool = False) -> Value:
    """The smaller one; with `nan` the canonical NaN where an operand is NaN, else the other operand"""
    return _operation("min", form, "nan" if nan else "", FORMATS[form].width, a, b)


def fmax(form: str, a: Value, b: Value, *, nan: bool = False) -> Value:
    """The larger one; `nan` as for `fmin`"""
    return _operation("max", form, "nan" if nan else "", FORMATS[form].width, a, b)


def fcompare(form: str, comparison: str, a: Value, b: Value) -> Value:
    """The truth value of a comparison as section 9.3.2 names it: `eq ne lt le gt ge`, `equ ... geu`, `num`, `nan`"""
    return _operation("compare", form, comparison, 1, a, b)


def fintegral(form: str, a: Value, mode: str) -> Value:
    """a rounded to an integral value of the same format; `mode` is `rn`, `rz`, `rm` or `rp`"""
    return _operation("integral", form, mode, FORMATS[form].width, a)


def is_nan(form: str, a: Value) -> Value:
    """The truth value of "a is NaN" """
    return fcompare(form, "nan", a, a)


def flush(form: str, a: Value) -> Value:
    """A subnormal a as zero of its sign (`.ftz`)"""
    if type(a) is int:
        return ieee.flush(FORMATS[form], a)
    return make("fp", FORMATS[form].width, "flush", form, "", a)


def one(form: str) -> int:
    """The bits of 1.0"""
    f = FORMATS[form]
    return f.bias << f.fraction + f.padding


def saturate(form: str, a: Value) -> Value:
    """a clamped to 0.0 .. 1.0; NaN gives +0.0 (`.sat`)"""
    return fmin(form, fmax(form, a, 0), one(form))


def rectify(form: str, a: Value) -> Value:
    """+0.0 for a negative a and for -0.0, the canonical NaN for NaN (`.relu`)"""
    return fmax(form, a, 0, nan=True)


def finite(form: str, a: Value) -> Value:
    """An infinite a as the largest number of its sign (`.satfinite`)"""
    f = FORMATS[form]
    if f.specials != "ieee":
        return a
    return ite(eq(fabs(form, a), f.infinity), sub(a, 1 << f.padding, f.width), a, f.width)


def fconvert_randomly(source: str, target: str, a: Value, random: Value, count: int) -> Value:
    """a value of one format in another, rounded by `count` random bits; see `ieee.convert_randomly`"""
    if type(a) is int and type(random) is int:
        return ieee.convert_randomly(FORMATS[source], FORMATS[target], a, random, count)
    return make("fp", FORMATS[target].width, "convert_randomly", (source, target, count), "rs", a, random)


def fconvert(source: str, target: str, a: Value, mode: str = "rn") -> Value:
    """a value of one format in another, rounded; see `ieee.convert`"""
    if type(a) is int:
        return ieee.convert(FORMATS[source], FORMATS[target], a, mode)
    return make("fp", FORMATS[target].width, "convert", (source, target), mode, a)


def from_integer(form: str, a: Value, width: int, signed: bool, mode: str = "rn") -> Value:
    """The integer a of `width` bits as a floating-point value, rounded"""
    if type(a) is int:
        number = a - (1 << width) if signed and a >> (width - 1) else a
        return ieee.from_integer(FORMATS[form], number, mode)
    return make("fp", FORMATS[form].width, "from_signed" if signed else "from_unsigned", (form, width), mode, a)


def to_integer(form: str, a: Value, width: int, signed: bool, mode: str = "rz") -> Value:
    """a as an integer of `width` bits, rounded as the mode says and clamped to what it can hold (section 9.7.9.21); NaN
    gives 0, but the most significant bit alone where one of the two has 64 bits"""
    if type(a) is int:
        return _to_integer(form, a, width, signed, mode)
    return make("fp", width, "to_signed" if signed else "to_unsigned", (form, width), mode, a)


def _to_integer(form: str, a: int, width: int, signed: bool, mode: str) -> int:
    x = ieee.decode(FORMATS[form], a)
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    if x.kind == "nan":
        return 1 << (width - 1) if width == 64 or form == "f64" else 0
    if x.kind == "infinity":
        number = low if x.sign else high
    else:
        whole = ieee.to_integral(FORMATS[form], a, mode)
        assert whole is not None
        number = min(max(whole, low), high)
    return number & ((1 << width) - 1)


# What terms do with the operation: give its value on known operands, and build it anew over others.


def _apply(term: Term, args: tuple[Any, ...]) -> int:
    value = rebuild(term, list(args))
    assert type(value) is int
    return value


def rebuild(term: Term, args: list[Any]) -> Value:
    """The operation of a term over other operands, folded."""
    name, form, mode, *operands = args
    if name in _OPERATIONS:
        return _operation(name, form, mode, term.width, *operands)
    if name == "flush":
        return flush(form, operands[0])
    if name == "convert":
        return fconvert(form[0], form[1], operands[0], mode)
    if name == "convert_randomly":
        return fconvert_randomly(form[0], form[1], operands[0], operands[1], form[2])
    if name in ("from_signed", "from_unsigned"):
        return from_integer(form[0], operands[0], form[1], name == "from_signed", mode)
    return to_integer(form[0], operands[0], form[1], name == "to_signed", mode)


extend_operations("fp", _apply, rebuild)
