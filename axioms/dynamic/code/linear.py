"""Values that are sums of multiples of numbers of which only ranges are known: what they are in every case.

A value of some bits is congruent to such a sum; where it is widened, compared, or an address, it must be equal to one number of
the range that its bits have, or nothing is said of it. All of that is arithmetic of whole numbers and ranges, so what is said
holds for every choice of the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, apply, mask, signed, subterms

#: The least and the greatest number that a symbol may be; None where nothing is known of it.
Ranges = Callable[[Term], tuple[int, int] | None]


class Linear(NamedTuple):
    """`start` and a multiple of each of some symbols, which are no zeros."""

    start: int
    factors: Mapping[Term, int]

    @property
    def is_constant(self) -> bool:
        return not self.factors

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum with a multiple of another one."""
        factors = dict(self.factors)
        for symbol, factor in other.factors.items():
            factors[symbol] = factors.get(symbol, 0) + times * factor
        return Linear(self.start + times * other.start, {s: f for s, f in factors.items() if f})

    def bounds(self, ranges: Ranges) -> tuple[int, int]:
        """The least and the greatest number that it may be."""
        low = high = self.start
        for symbol, factor in self.factors.items():
            found = ranges(symbol)
            assert found is not None
            ends = factor * found[0], factor * found[1]
            low, high = low + min(ends), high + max(ends)
        return low, high


_ZERO = Linear(0, {})


def linear(value: Value, ranges: Ranges) -> Linear | None:
    """What a value is equal to as an unsigned number, whatever its symbols are; None where that is no such sum."""
    found = congruent(value, ranges)
    return None if found is None else exact(found, value.width if isinstance(value, Term) else 64, ranges)


def congruent(value: Value, ranges: Ranges) -> Linear | None:
    """A sum that a value is congruent to, modulo 2 to the number of its bits; None where it is none."""
    return _Forms(ranges).of(value)


def exact(form: Linear, width: int, ranges: Ranges, *, sign: bool = False) -> Linear | None:
    """The number of `width` bits that is congruent to a sum, as a sum; None where it is not one sum for all."""
    half = 1 << (width - 1) if sign else 0
    low, high = form.bounds(ranges)
    times = (low + half) >> width
    if (high + half) >> width != times:
        return None
    return form._replace(start=form.start - (times << width))


class _Forms:
    """Of the terms below a value: sums that they are congruent to."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.known: dict[Term, Linear | None] = {}

    def of(self, value: Value) -> Linear | None:
        for term in subterms([value]):
            if term not in self.known:
                self.known[term] = self._form(term)
        return self._part(value)

    def _part(self, value: Value) -> Linear | None:
        return Linear(value, {}) if isinstance(value, int) else self.known[value]

    def _form(self, term: Term) -> Linear | None:
        if term.op == "symbol":
            return Linear(0, {term: 1}) if self.ranges(term) is not None else None
        rule = _RULES.get(term.op)
        if not all(isinstance(a, int | Term) for a in term.args):
            return None
        parts = [self._part(a) for a in term.args]
        if rule is not None:
            return rule(self, term, parts)
        if all(part is not None and part.is_constant for part in parts):
            numbers = tuple(p.start & mask(_width(a, term)) for p, a in zip(parts, term.args, strict=True) if p)
            return Linear(apply(term, numbers), {})
        return None

    def exact(self, part: Linear | None, value: Value, width: int, *, sign: bool = False) -> Linear | None:
        """The number that an operand is."""
        if part is None:
            return None
        return exact(part, value.width if isinstance(value, Term) else width, self.ranges, sign=sign)


def _width(value: Value, term: Term) -> int:
    if isinstance(value, Term):
        return value.width
    return max((a.width for a in term.args if isinstance(a, Term)), default=term.width)


_Parts = list[Linear | None]


def _sum(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    a, b = parts
    if a is None or b is None:
        return None
    return a.plus(b, -1 if term.op == "sub" else 1)


def _product(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    a, b = parts
    if a is None or b is None or not (a.is_constant or b.is_constant):
        return None
    number, other = (a, b) if a.is_constant else (b, a)
    return _ZERO.plus(other, signed(number.start & mask(term.width), term.width))


def _shifted(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    a, b = parts
    if a is None or b is None or not b.is_constant or not 0 <= b.start < term.width:
        return None
    return _ZERO.plus(a, 1 << b.start)


def _low_bits(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    """The low bits of a number, as `x % 1024` is compiled; the lowest of them may be zeros anyway."""
    number, other = parts[::-1] if parts[0] is not None and parts[0].is_constant else parts
    if number is None or other is None or not other.is_constant or not other.start:
        return None
    lowest = other.start & -other.start
    kept = other.start | lowest - 1
    if kept & kept + 1 or number.start % lowest or any(factor % lowest for factor in number.factors.values()):
        return None
    return exact(number, kept.bit_length(), forms.ranges)


def _remainder(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    a, b = forms.exact(parts[0], term.args[0], term.width), parts[1]
    if a is None or b is None or not b.is_constant or not b.start:
        return None
    low, high = a.bounds(forms.ranges)
    times = low // b.start
    return a._replace(start=a.start - times * b.start) if high // b.start == times else None


def _extract(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    form, (_, high, low) = parts[0], term.args
    if form is None or (low and not form.is_constant):
        return None
    return form if not low else Linear((form.start & mask(high + 1)) >> low, {})


def _zext(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    return forms.exact(parts[0], term.args[0], term.width)


def _sext(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    return forms.exact(parts[0], term.args[0], term.width, sign=True)


def _concat(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    high, low = term.args
    width = low.width if isinstance(low, Term) else term.width - high.width
    under = forms.exact(parts[1], low, width)
    return None if parts[0] is None or under is None else under.plus(parts[0], 1 << width)


def _ite(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    condition = parts[0]
    if condition is None or not condition.is_constant:
        return None
    return parts[1] if condition.start & 1 else parts[2]


def _compared(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    """A comparison that comes out the same in the whole range."""
    (a, b), width, sign = term.args, _width(term.args[0], term), term.op[0] == "s"
    one, other = forms.exact(parts[0], a, width, sign=sign), forms.exact(parts[1], b, width, sign=sign)
    if one is None or other is None:
        return None
    low, high = one.plus(other, -1).bounds(forms.ranges)
    if term.op == "eq":
        return Linear(int(not low), {}) if low == high == 0 or low > 0 or high < 0 else None
    most = -1 if term.op in ("ult", "slt") else 0
    return Linear(int(high <= most), {}) if high <= most or low > most else None


def _truth(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    """One part may decide for all."""
    deciding = int(term.op == "any")
    if any(p is not None and p.is_constant and p.start & 1 == deciding for p in parts):
        return Linear(deciding, {})
    return Linear(1 - deciding, {}) if all(p is not None and p.is_constant for p in parts) else None


def _not(forms: _Forms, term: Term, parts: _Parts) -> Linear | None:
    return Linear(1 - (parts[0].start & 1), {}) if parts[0] is not None and parts[0].is_constant else None


_RULES: dict[str, Callable[[_Forms, Term, _Parts], Linear | None]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "shl": _shifted,
    "and": _low_bits,
    "urem": _remainder,
    "extract": _extract,
    "zext": _zext,
    "sext": _sext,
    "concat": _concat,
    "ite": _ite,
    "eq": _compared,
    "ult": _compared,
    "ule": _compared,
    "slt": _compared,
    "sle": _compared,
    "all": _truth,
    "any": _truth,
    "not": _not,
}
