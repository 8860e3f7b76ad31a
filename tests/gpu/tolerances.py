"""When a result of another machine counts as the same: bit for bit, unless the manual leaves something open.

- Of NaN results the manual fixes the bits for `.f64` (payloads pass), for `.NaN` and `.relu`, and for formats narrower
  than 16 bits; those of other arithmetic are NaN in any bits (sections 9.7.3, 9.7.4).
- Approximate functions are within a bound of the exact result (`BOUNDS`). Our results are the nearest numbers, so half
  a unit in their last place is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from ptxcore.isa.form import Use
from ptxcore.isa.types import WIDTHS
from ptxcore.values.ieee import FORMATS, FloatFormat, decode

#: Sections whose instructions compute with floating-point numbers; elsewhere their bits are moved only.
COMPUTING = ("9.7.3", "9.7.4", "9.7.5", "9.7.9.21", "9.7.13.5", "9.7.13.6", "9.7.13.12")


class Bound(NamedTuple):
    """What the manual says of an approximate function: an error of `size` at most where `where` holds of the exact
    operands, by `kind`: `ulp`, `relative`, `absolute`; `unstated` where it says nothing."""

    section: str
    when: str  # a condition on the modifiers, see `Form`; "" for all
    kind: str
    size: float = 0.0
    where: Callable[..., bool] = lambda *operands: True


def _between(low: float, high: float) -> Callable[..., bool]:
    """Of the last operand's absolute value."""
    return lambda *operands: low <= abs(operands[-1]) <= high


_PI = math.pi

#: The first that fits holds.
BOUNDS = (
    Bound("9.7.3.8", "approx", "ulp", 2, _between(2.0**-126, 2.0**126)),
    # Beyond 2**126 the result is fixed; below 2**-126 nothing is said.
    Bound("9.7.3.8", "approx", "unstated", where=_between(0.0, 2.0**-126)),
    Bound("9.7.3.8", "full", "ulp", 2),
    Bound("9.7.3.13", "approx", "ulp", 1),
    Bound("9.7.3.14", "", "unstated"),
    Bound("9.7.3.15", "approx", "relative", 2.0**-23),
    Bound("9.7.3.16", "approx+f32", "relative", 2.0**-22.9),
    Bound("9.7.3.16", "approx+f64", "unstated"),
    Bound("9.7.3.17", "", "unstated"),
    Bound("9.7.3.18", "", "absolute", 2.0**-20.5, _between(0.0, 2 * _PI)),
    Bound("9.7.3.18", "", "absolute", 2.0**-14.7, _between(0.0, 100 * _PI)),
    Bound("9.7.3.18", "", "unstated"),
    Bound("9.7.3.19", "", "absolute", 2.0**-20.5, _between(0.0, 2 * _PI)),
    Bound("9.7.3.19", "", "absolute", 2.0**-14.7, _between(0.0, 100 * _PI)),
    Bound("9.7.3.19", "", "unstated"),
    Bound("9.7.3.20", "", "absolute", 2.0**-22, lambda a: 0.5 < a < 2),
    Bound("9.7.3.20", "", "relative", 2.0**-22),
    Bound("9.7.3.21", "", "ulp", 2),
    Bound("9.7.3.22", "", "relative", 2.0**-11),
    Bound("9.7.4.9", "f16 f16x2", "absolute", 2.0**-10.987),
    Bound("9.7.4.9", "bf16 bf16x2", "absolute", 2.0**-8),
    Bound("9.7.4.10", "f16 f16x2", "relative", 2.0**-9.9),
    Bound("9.7.4.10", "bf16 bf16x2", "relative", 2.0**-7),
)


class Verdict(NamedTuple):
    """How a result compares: `same`, `nan` (both NaN, in bits that are open), `near` (within the bound; `error` is what
    share of it), `unstated` (no bound is given), or `differs`."""

    kind: str
    error: float = 0.0


SAME = Verdict("same")
DIFFERS = Verdict("differs")


def compare(use: Use, kind: str, wanted: int, got: int, sources: list[tuple[str, int]]) -> Verdict:
    """`kind` is the type of the result; `sources` the types and bits of the operands."""
    if wanted == got:
        return SAME
    base, _, count = kind.partition("x")
    if base not in FORMATS or not use.form.section.startswith(COMPUTING):
        return DIFFERS
    number = int(count or 1)
    width = WIDTHS[kind] // number
    if (wanted ^ got) >> WIDTHS[kind]:
        return DIFFERS  # in the bits above it, of a wider register
    verdicts = []
    for i in range(number):
        parts = [(t, x >> i * width & (1 << width) - 1 if t == kind else x) for t, x in sources]
        element = (1 << width) - 1
        verdicts.append(_element(use, base, wanted >> i * width & element, got >> i * width & element, parts))
    order = ("same", "nan", "near", "unstated", "differs")
    return max(verdicts, key=lambda v: (order.index(v.kind), v.error))


def _element(use: Use, base: str, wanted: int, got: int, sources: list[tuple[str, int]]) -> Verdict:
    if wanted == got:
        return SAME
    form = FORMATS[base]
    a, b = decode(form, wanted), decode(form, got)
    if "nan" in (a.kind, b.kind):
        return Verdict("nan") if a.kind == b.kind and _is_nan_open(use, base) else DIFFERS
    bound = _bound(use, sources)
    if bound is None or wanted ^ got == form.sign_bit:
        return DIFFERS
    if bound.kind == "unstated":
        return Verdict("unstated")
    allowed = _allowed(bound, form, wanted) + _unit(form, wanted) / 2
    x, y = _value(form, wanted), _value(form, got)
    if use.words["ftz"] and 0 in (x, y):  # the other may be just above what is flushed
        allowed = max(allowed, Fraction(2) ** (1 - form.bias))
    error = abs(x - y)
    return Verdict("near", float(error / allowed)) if error <= allowed else DIFFERS


def _is_nan_open(use: Use, base: str) -> bool:
    return base in ("f16", "bf16", "f32", "tf32") and not use.has("NaN relu")


def _bound(use: Use, sources: list[tuple[str, int]]) -> Bound | None:
    for bound in BOUNDS:
        if bound.section != use.form.section or (bound.when and not use.has(bound.when)):
            continue
        operands = [_float(kind, bits) for kind, bits in sources]
        if any(x is None or math.isnan(x) for x in operands):
            return None
        if bound.where(*operands):
            return bound
    return None


def _float(kind: str, bits: int) -> float | None:
    base = kind.partition("x")[0]
    if base not in FORMATS:
        return None
    found = decode(FORMATS[base], bits)
    if found.kind == "finite":
        size = math.ldexp(found.mantissa, found.exponent)
    else:
        size = math.inf if found.kind == "infinity" else math.nan
    return -size if found.sign else size


def _value(form: FloatFormat, bits: int) -> Fraction:
    """Infinity as the power of two that stands where it does."""
    found = decode(form, bits)
    if found.kind == "infinity":
        size = Fraction(1 << form.bias + 1)
    else:
        size = found.mantissa * (Fraction(1 << max(found.exponent, 0)) / (1 << max(-found.exponent, 0)))
    return -size if found.sign else size


def _unit(form: FloatFormat, bits: int) -> Fraction:
    """A unit in the last place."""
    field = bits >> form.padding + form.fraction & (1 << form.exponent) - 1
    field = min(max(field, 1), (1 << form.exponent) - 2)
    return Fraction(2) ** (field - form.bias - form.fraction)


def _allowed(bound: Bound, form: FloatFormat, wanted: int) -> Fraction:
    if bound.kind == "ulp":
        return Fraction(bound.size) * _unit(form, wanted)
    size = Fraction(bound.size)
    return size * abs(_value(form, wanted)) if bound.kind == "relative" else size
