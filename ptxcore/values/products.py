"""Sums of products, as matrices are multiplied (PTX ISA 9.0, section 9.7.14): integers exactly; floating point exactly, and
then rounded once.

The manual leaves open in which order floating-point products are added, how sums in between are rounded, and what happens to
subnormal inputs. `summed` is what a run gives. `settled` says where every order gives that; elsewhere a value is any.

On arrays sums are computed in doubles, and it is shown of each that it is rounded as the exact one: either all that is added
are multiples of one number, and so few of it that doubles hold every sum; or what doubles err at most does not change the
rounding; or no addition loses anything. Where none is so, the sum is computed in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from ptxcore.values.ieee import FORMATS, decode, encode
from ptxcore.values.kept_arrays import KeptOfArrays
from ptxcore.values.terms import Term, Value, extend_operations, make

#: Scales of blocks: as .e4m3, without a sign.
_UNSIGNED = {"ue4m3": "e4m3"}
#: The significant bits with which at least sums are computed (section 9.7.14.5.14), by the wider accumulator.
_PRECISION = {"f16": 11, "f32": 24, "f64": 53}


def is_float(kind: str) -> bool:
    """Whether elements of a type are floating-point numbers."""
    return kind in FORMATS or kind in _UNSIGNED


def number(kind: str, bits: int) -> float:
    """What the bits of an element stand for; no type has a number that no double is. Those of .tf32 are the upper 19, and
    scales have no sign."""
    form = FORMATS[_UNSIGNED.get(kind, kind)]
    if kind in _UNSIGNED:
        bits &= 0x7F
    found = decode(form, bits)
    if found.kind == "finite":
        return math.copysign(math.ldexp(found.mantissa, found.exponent), -1.0 if found.sign else 1.0)
    return math.nan if found.kind == "nan" else math.copysign(math.inf, -1.0 if found.sign else 1.0)


# One sum.


def _parts(x: float) -> tuple[int, int]:
    """A finite number as mantissa and exponent."""
    fraction, exponent = math.frexp(x)
    return int(math.ldexp(fraction, 53)), exponent - 53


def _terms(a: Sequence[float], b: Sequence[float], c: float) -> list[tuple[int, int]]:
    found = []
    for x, y in zip(a, b, strict=True):
        (m, i), (n, j) = _parts(x), _parts(y)
        found.append((m * n, i + j))
    return [*found, _parts(c)]


def _special(a: Sequence[float], b: Sequence[float], c: float) -> float | None:
    """The sum where something is not finite."""
    terms = [*(x * y if not (math.isfinite(x) and math.isfinite(y)) else 0.0 for x, y in zip(a, b, strict=True)), c]
    return None if all(map(math.isfinite, terms)) else sum(t for t in terms if not math.isfinite(t))


def rounded(a: Sequence[float], b: Sequence[float], c: float, kind: str, mode: str = "rn") -> int:
    """The bits of the exact sum of a[i] * b[i] and c, rounded once."""
    form = FORMATS[kind]
    special = _special(a, b, c)
    if special is not None:
        return form.nan if math.isnan(special) else form.infinity | (form.sign_bit if special < 0 else 0)
    terms = _terms(a, b, c)
    least = min(e for _, e in terms)
    total = sum(m << (e - least) for m, e in terms)
    if total:
        return encode(form, int(total < 0), abs(total), least, mode)
    signs = {math.copysign(1.0, x) * math.copysign(1.0, y) < 0 for x, y in zip(a, b, strict=True)}
    signs.add(math.copysign(1.0, c) < 0)
    zeros = not any(m for m, _ in terms)
    negative = signs == {True} if zeros and len(signs) == 1 else mode == "rm"
    return form.sign_bit if negative else 0


def settled(a: Sequence[float], b: Sequence[float], c: float, kinds: tuple[str, str, str, str]) -> bool:
    """Whether every order of additions gives the exact sum, with the least precision that the manual asks for; `kinds` are the
    types of A, B, C and D. All that is added are so few multiples of one power of two that each sum in between is a number of
    that precision."""
    if _special(a, b, c) is not None:
        return False
    terms = [(m, e) for m, e in _terms(a, b, c) if m]
    if not terms:
        return True
    accumulator = max(kinds[2:], key=lambda kind: FORMATS[kind].width)
    least = min(e + (m & -m).bit_length() - 1 for m, e in terms)
    total = sum(abs(m) << (e - least) if e >= least else abs(m) >> (least - e) for m, e in terms)
    form = FORMATS[min(kinds[2:], key=lambda kind: FORMATS[kind].width)]
    if total > 1 << _PRECISION[accumulator] or least < FORMATS[accumulator].lowest:
        return False
    return total.bit_length() + least <= form.bias


def _is_subnormal(kind: str, x: float) -> bool:
    """Whether an input is subnormal, of which the manual leaves open what it counts as; doubles are as in `fma`."""
    return kind != "f64" and 0 < abs(x) < math.ldexp(1.0, 1 - FORMATS[kind].bias)


# On symbols.


def dot(
    kinds: tuple[str, str, str, str],
    mode: str,
    a: Sequence[Value],
    b: Sequence[Value],
    c: Value,
    scales: tuple[Sequence[Value], Sequence[Value]] = ((), ()),
    scale: str = "",
    left_open: Value | None = None,
) -> Value:
    """The sum of a[i] * b[i] and c, which are bits of elements, `kinds` their types and that of the result; each chunk of them
    is multiplied by its scales, of the type `scale`. Where not every order gives one value, it is `left_open`, if that is
    given."""
    spec = kinds, mode, len(a), len(scales[0]), scale, left_open is not None
    return _dot(spec, [left_open or 0, *a, *b, c, *scales[0], *scales[1]])


def _dot(spec: Any, values: Sequence[Value]) -> Value:
    kinds, mode, count, chunks, scale, open_ = spec
    if any(type(v) is Term for v in values[1:]):
        return make("dot", FORMATS[kinds[3]].width, spec, *values)
    left_open, *bits = values
    a = [number(kinds[0], v) for v in bits[:count] if type(v) is int]
    b = [number(kinds[1], v) for v in bits[count : 2 * count] if type(v) is int]
    c = number(kinds[2], bits[2 * count])
    subnormal = any(_is_subnormal(k, x) for k, some in zip(kinds, (a, b, [c]), strict=False) for x in some)
    if chunks:
        first, second = bits[2 * count + 1 :][:chunks], bits[2 * count + 1 :][chunks:]
        a = [x * number(scale, first[i * chunks // count]) for i, x in enumerate(a)]
        b = [x * number(scale, second[i * chunks // count]) for i, x in enumerate(b)]
    if open_ and (subnormal or not settled(a, b, c, kinds)):
        return left_open
    return rounded(a, b, c, kinds[3], mode)


def _apply(term: Term, args: tuple[Any, ...]) -> int:
    value = _dot(args[0], args[1:])
    assert type(value) is int
    return value & ((1 << term.width) - 1)


extend_operations("dot", _apply, lambda term, args: _dot(args[0], args[1:]))


# On arrays.


@cache
def _table(kind: str) -> Any:
    """The numbers of a type of at most 8 bits, by their bits."""
    import numpy as np

    form = FORMATS[_UNSIGNED.get(kind, kind)]
    return np.array([number(kind, bits & ((1 << form.width) - 1)) for bits in range(256)])


def numbers(kind: str, raw: Any) -> Any:
    """The elements of a type as doubles."""
    import numpy as np

    if kind == "f16":
        return raw.view(np.float16).astype(np.float64)
    if kind == "bf16":
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if kind == "tf32":
        return (raw & np.uint32(0xFFFF_E000)).view(np.float32).astype(np.float64)
    if kind in ("f32", "f64"):
        return raw.view(f"f{raw.itemsize}").astype(np.float64)
    if kind in ("s8", "s32"):
        return raw.view(f"i{raw.itemsize}").astype(np.float64)
    if kind == "s4":
        return ((raw ^ 8).astype(np.int8) - np.int8(8)).astype(np.float64)
    if kind in ("u8", "u4", "b1"):
        return raw.astype(np.float64)
    return _table(kind)[raw]


def _most(x: Any) -> float:
    """The size of the largest number; NaN where one of them is none."""
    return max(float(x.max(initial=0.0)), -float(x.min(initial=0.0)))


def _grain(x: Any, most: float) -> float:
    """A power of two of which all numbers are multiples, the largest of which has a size of `most`; 0.0 where they are too
    far apart for that to matter, or infinite."""
    import numpy as np

    if not most:
        return math.inf
    if not math.isfinite(most):
        return 0.0
    exponent = 62 - math.frexp(most)[1]
    if abs(exponent) > 1000:
        return 0.0
    scaled = x * math.ldexp(1.0, exponent)
    whole = scaled.astype(np.int64)
    if (whole != scaled).any():
        return 0.0
    low = int(np.bitwise_or.reduce(whole, axis=None))
    return math.ldexp(low & -low, -exponent)


#: The same of the factors that products had last.
_MEASURED = KeptOfArrays()


def _measured(x: Any) -> tuple[float, float]:
    """The size of the largest number, and a power of two of which all are multiples: `_most` and `_grain`."""

    def made() -> tuple[float, float]:
        most = _most(x)
        return most, _grain(x, most)

    return _MEASURED.of([x], made)  # type: ignore[no-any-return]


def _bound(a: Any, b: Any, c: Any) -> tuple[float, float]:
    """A power of two of which all products and C are multiples, 0.0 where that is none; and what no sum of their sizes is
    above, NaN or infinite where something is."""
    (of_a, grain_a), (of_b, grain_b), of_c = _measured(a), _measured(b), _most(c)
    total = of_a * of_b * a.shape[-1] + of_c
    if not math.isfinite(total):
        return 0.0, total
    grain = grain_a and grain_a * grain_b
    return min(grain, _grain(c, of_c)) if grain else 0.0, total


def summed(a: Any, b: Any, c: Any, kind: str, mode: str = "rn") -> Any:
    """The bits of the exact sums A B + C, rounded once; arrays of doubles, of many matrices each."""
    import numpy as np

    form = FORMATS[kind]
    held = np.dtype(f"u{form.width // 8}")
    found = a @ b + c
    doubt: Any = None
    if kind == "f64" or mode != "rn":
        doubt = np.ones(found.shape, np.bool_)
        result = np.zeros(found.shape, held)
    else:
        narrow = np.dtype(f"f{form.width // 8}")
        result = found.astype(narrow).view(held)
        # Doubles hold each sum of multiples of one number, also those in between, if there are so few of it.
        grain, total = _bound(a, b, c)
        if not total <= 2.0**52 * grain:
            most = np.abs(a) @ np.abs(b) + np.abs(c)
            error = most * ((a.shape[-1] + 2) * 2.0**-53)
            doubt = (found - error).astype(narrow) != (found + error).astype(narrow)
            if doubt.any():
                result[np.isnan(found)] = form.nan
                finite = np.isfinite(most)
                doubt &= finite
                if finite.all() and most.max() <= 2.0**52 * grain:
                    doubt[:] = False
        if not found.all():
            unsigned = (found == 0) & np.signbit(c)
            doubt = unsigned if doubt is None else doubt | unsigned
    if doubt is None or not doubt.any():
        return result
    if kind != "f64" and mode == "rn":
        _take_exact(a, b, c, result, doubt)
    for place in zip(*np.nonzero(doubt), strict=True):
        *where, row, column = place
        at = tuple(where)
        result[place] = rounded(a[at][row].tolist(), b[at][:, column].tolist(), float(c[place]), kind, mode)
    return result


def _take_exact(a: Any, b: Any, c: Any, result: Any, doubt: Any) -> None:
    """Sums in doubt of which no step loses anything, as of most half way between two numbers, are rounded from what they
    are in doubles, and in doubt no longer; but for those that are 0, whose sign is that of their terms. Products are exact."""
    import numpy as np

    *where, row, column = at = np.nonzero(doubt)
    rows, columns = a[*where, row], b.swapaxes(-1, -2)[*where, column]
    total = c[at]
    exact = np.ones(total.shape, np.bool_)
    for k in range(a.shape[-1]):
        term = rows[:, k] * columns[:, k]
        longer = total + term
        added = longer - total
        exact &= (total - (longer - added)) + (term - added) == 0
        total = longer
    exact &= total != 0
    narrow = np.dtype(f"f{result.itemsize}")
    with np.errstate(all="ignore"):
        result[at] = np.where(exact, total.astype(narrow).view(result.dtype), result[at])
    doubt[at] = ~exact


def any_subnormal(kind: str, x: Any) -> bool:
    """Whether one of the numbers is a subnormal input, see `_is_subnormal`."""
    import numpy as np

    size = np.abs(x)
    return kind != "f64" and bool(((size > 0) & (size < math.ldexp(1.0, 1 - FORMATS[kind].bias))).any())


def all_settled(a: Any, b: Any, c: Any, kinds: tuple[str, str]) -> bool:
    """Whether of all sums A B + C it is certain that every order of additions gives them, as `settled`; `kinds` are the types
    of C and D."""
    import numpy as np

    with np.errstate(all="ignore"):
        most = (np.abs(a) @ np.abs(b) + np.abs(c)).max()
    accumulator = max(kinds, key=lambda kind: FORMATS[kind].width)
    grain, _ = _bound(a, b, c)
    if not np.isfinite(most) or grain < math.ldexp(1.0, FORMATS[accumulator].lowest):
        return False
    form = FORMATS[min(kinds, key=lambda kind: FORMATS[kind].width)]
    return bool(most <= grain * 2.0 ** _PRECISION[accumulator]) and bool(most < math.ldexp(1.0, form.bias))


def saturated(bits: Any, kind: str) -> Any:
    """Numbers with the largest one of their sign for an infinite one, and 0 for NaN."""
    form = FORMATS[kind]
    size = bits & (form.sign_bit - 1)
    found = bits.copy()
    found[size == form.infinity] -= 1
    found[size > form.infinity] = 0
    return found
