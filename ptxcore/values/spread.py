"""Which numbers a term may be: arithmetic progressions that hold them all, found by its form."""

from __future__ import annotations

from math import gcd

from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


class Spread(NamedTuple):
    """Numbers `low`, `low + step`, ... `high`, of which a value is one modulo two to the power of its width."""

    low: int
    high: int
    step: int


def spread(value: Value) -> Spread:
    """A progression that holds every number that a value can be."""
    if type(value) is int:
        return Spread(value, value, 0)
    known: dict[Term, Spread] = {}
    for t in terms.subterms([value]):
        known[t] = _spread(
            t, [known[a] if type(a) is Term else Spread(a, a, 0) for a in t.args if type(a) in (int, Term)]
        )
    return known[value]  # type: ignore[index]


def _spread(t: Term, operands: list[Spread]) -> Spread:
    whole = 1 << t.width
    if t.width == 1:
        return Spread(0, 1, 1)
    if t.op == "add":
        a, b = operands
        return _fitting(a.low + b.low, a.high + b.high, gcd(a.step, b.step), whole)
    if t.op in ("mul", "shl") and type(t.args[1]) is int:
        a = operands[0]
        factor = terms.signed(t.args[1], t.width) if t.op == "mul" else 1 << min(t.args[1], t.width)
        low, high = sorted((a.low * factor, a.high * factor))
        return _fitting(low, high, a.step * abs(factor), whole)
    if t.op == "ite":
        _, a, b = operands
        return _fitting(min(a.low, b.low), max(a.high, b.high), gcd(a.step, b.step, a.low - b.low), whole)
    if t.op == "sext":
        half = 1 << (t.args[0].width - 1)
        inner = operands[0]
        if inner.low >= 0 and inner.high < half:
            return inner
        power = _power(inner.step, half)
        return Spread(inner.low % power - half, half - 1 - (half - 1 - inner.low) % power, power)
    a = operands[0] if operands else Spread(0, whole - 1, 1)
    if a.low >= 0:
        if t.op == "zext":
            return a
        if t.op == "extract" and t.args[2] == 0 and a.high < whole:
            return a
        if t.op == "and" and type(t.args[1]) is int:
            m = t.args[1]
            return Spread(0, m, m & -m) if a.high >= m else Spread(0, a.high, 1)
        if t.op == "or" and type(t.args[1]) is int:
            power = _power(a.step, whole)
            if power > t.args[1] and a.low % power == 0:
                return Spread(a.low + t.args[1], a.high + t.args[1], a.step)
        if t.op == "lshr" and type(t.args[1]) is int:
            return Spread(a.low >> t.args[1], a.high >> t.args[1], 1)
        if t.op == "urem" and type(t.args[1]) is int and t.args[1]:
            return Spread(0, min(a.high, t.args[1] - 1), 1)
    return Spread(0, whole - 1, 1)


def _power(step: int, whole: int) -> int:
    """The largest power of two that divides a step; a step of none divides everything."""
    return min(step & -step, whole) if step else whole


def _fitting(low: int, high: int, step: int, whole: int) -> Spread:
    """A progression as it is modulo `whole`: where it goes round, only its residue to a power of two remains."""
    if high - low < whole:
        return Spread(low, high, step) if low >= -whole and high < whole else _shifted(low, high, step, whole)
    power = _power(step, whole)
    return Spread(low % power, whole - power + low % power, power)


def _shifted(low: int, high: int, step: int, whole: int) -> Spread:
    by = low // whole * whole
    low, high = low - by, high - by
    return Spread(low, high, step) if high < whole else Spread(low - whole, high - whole, step)
