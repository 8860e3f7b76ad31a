"""Floating-point arithmetic (sections 9.7.3 to 9.7.5) on fractions, and on mpmath's numbers for what is irrational."""

from __future__ import annotations

import math
from typing import Any

from references import rational
from references.rational import CANONICAL, flushed, modified, range_of, rounded, value

from ptxcore.isa import floating_point, half_precision, mixed_precision
from ptxcore.isa.form import Form, Use

_OPERATIONS = {
    "add": rational.add, "sub": rational.sub, "mul": rational.mul, "fma": rational.fma, "mad": rational.fma,
    "div": rational.div, "sqrt": rational.sqrt, "rsqrt": rational.rsqrt, "sin": rational.sin, "cos": rational.cos,
    "lg2": rational.lg2, "ex2": rational.ex2, "tanh": rational.tanh, "rcp": lambda mode, x: rational.div(mode, 1.0, x),
}  # fmt: skip

_OUT_OF_BOUNDS = 0x7FF7


class _Nan:
    """Any NaN of doubles: what an invalid operation gives."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and other & (1 << 63) - 1 > 0x7FF << 52

    def __hash__(self) -> int:
        return 0


def elements(width: int, number: int, compute: Any, sources: tuple[int, ...]) -> Any:
    """`compute` on each element of packed operands."""
    if number == 1:
        return compute(*sources)
    parts = [[s >> i * width & (1 << width) - 1 for s in sources] for i in range(number)]
    return sum(compute(*part) << i * width for i, part in enumerate(parts))


def elementwise(compute: Any) -> Any:
    """A reference from `compute(how, kind, a, b ...)` on one element."""

    def reference(how: Use, *sources: int | None) -> Any:
        kind, _, number = how.types[0].partition("x")
        present = tuple(s for s in sources if s is not None)
        return elements(range_of(kind).width, int(number or 1), lambda *xs: compute(how, kind, *xs), present)

    return reference


def quieted(bits: int) -> int:
    return bits | 1 << 51


def is_nan(kind: str, bits: int) -> bool:
    x = value(kind, bits)
    return x != x


def arithmetic(how: Use, kind: str, *sources: int) -> Any:
    if how.words["oob"] and _OUT_OF_BOUNDS in sources:
        return 0
    mnemonic, mode = how.form.mnemonic, how.words["rnd"] or "rn"
    words = dict.fromkeys(("ftz", "sat", "relu", "satfinite"), "") | how.words
    if how.form.until == "1.4" and kind == "f32" and mnemonic != "mad":
        words["ftz"] = "ftz"  # what was meant before there was a modifier
    if kind == "f64":  # nothing is flushed
        words["ftz"] = ""
        nan = next((s for s in sources if is_nan(kind, s)), None)
        if nan is not None:
            return quieted(nan)
    if words["ftz"]:
        sources = tuple(flushed(kind, s) for s in sources)
    xs = [value(kind, s) for s in sources]
    if (
        mnemonic == "div"
        and kind == "f32"
        and ("approx" in how.words or how.form.until)
        and 2**126 < abs(xs[1]) < math.inf
    ):
        result: Any = xs[0] * math.copysign(0.0, xs[1])
        result = result if result else rational.exact(result)
    else:
        result = _OPERATIONS[mnemonic](mode, *xs)
    if kind == "f64" and isinstance(result, float) and result != result:
        return _Nan()
    return modified(words, kind, rounded(kind, result, mode))


def on_high_half(how: Use, a: int) -> int:
    """The 20 upper bits of the fraction are all that there is; numbers below the normal ones are zeros."""
    kind = "f64_high"
    result = _OPERATIONS[how.form.mnemonic]("rn", value(kind, flushed(kind, a >> 32)))
    return flushed(kind, rounded(kind, result)) << 32


def testp(how: Use, a: int) -> int:
    x, smallest = value(how.types[0], a), 2.0 ** range_of(how.types[0]).lowest
    return int(
        {
            "finite": math.isfinite(x),
            "infinite": math.isinf(x),
            "number": x == x,
            "notanumber": x != x,
            "normal": x == 0 or smallest <= abs(x) < math.inf,
            "subnormal": 0 < abs(x) < smallest,
        }[how.words["op"]]
    )


def copysign(how: Use, a: int, b: int) -> int:
    width = range_of(how.types[0]).width
    return b % 2 ** (width - 1) + a // 2 ** (width - 1) * 2 ** (width - 1)


def absolute(how: Use, kind: str, a: int) -> int:
    if kind == "f64" and is_nan(kind, a):
        return a
    return (flushed(kind, a) if how.words["ftz"] else a) % 2 ** (range_of(kind).width - 1)


def negative(how: Use, kind: str, a: int) -> int:
    return (flushed(kind, a) if how.words["ftz"] else a) ^ 2 ** (range_of(kind).width - 1)


def extremum(how: Use, kind: str, *sources: int) -> int:
    words, sign = how.words, 2 ** (range_of(kind).width - 1)
    if words["ftz"]:
        sources = tuple(flushed(kind, s) for s in sources)
    signs = (sources[0] ^ sources[1]) & sign
    if words["abs"]:
        sources = tuple(s % sign for s in sources)
    numbers = [s for s in sources if not is_nan(kind, s)]
    if not numbers or (words["NaN"] and len(numbers) < len(sources)):
        return CANONICAL[kind] if kind != "f64" else quieted(sources[1])
    choose = min if how.form.mnemonic == "min" else max
    d = choose(numbers, key=lambda s: (value(kind, s), not s & sign))
    return d % sign | signs if words["xorsign"] else d


def mixed(how: Use, *sources: int) -> int:
    mode, half = how.words["rnd"] or "rn", how.types[1]
    xs = [*(value(half, s) for s in sources[:-1]), value("f32", sources[-1])]
    return modified(how.words, "f32", rounded("f32", _OPERATIONS[how.form.mnemonic](mode, *xs), mode))


_BY_NAME = {
    "testp": testp, "copysign": copysign, "abs": elementwise(absolute), "neg": elementwise(negative),
    "min": elementwise(extremum), "max": elementwise(extremum),
}  # fmt: skip


def _reference(form: Form) -> Any:
    if form.section in ("9.7.3.14", "9.7.3.17"):
        return on_high_half
    if form.section.startswith("9.7.5."):
        return mixed
    return _BY_NAME.get(form.mnemonic) or elementwise(arithmetic)


REFERENCES = {
    (form.section, form.syntax): _reference(form)
    for section in (floating_point, half_precision, mixed_precision)
    for form in section.FORMS
    if form.run is not None
}


def _out_of_bounds(how: Use, chance: Any) -> tuple[int, ...]:
    import driver

    sources = [driver.draw(how.types[0], chance) for _ in range(3)]
    if chance.random() < 0.3:
        half = chance.choice((0, 16)) if how.types[0].endswith("x2") else 0
        i = chance.randrange(3)
        sources[i] = sources[i] & ~(0xFFFF << half) | _OUT_OF_BOUNDS << half
    return tuple(sources)


INPUTS = {
    (form.section, form.syntax): _out_of_bounds for form in half_precision.FORMS if form.run is half_precision.fma_oob
}
