"""Terms to NumPy: the meaning of an instruction, evaluated on symbols, becomes an expression over arrays.

A value of width w is an array of the narrowest unsigned type that holds it, a truth value one of `bool`; one number for all
threads is a NumPy scalar of that type. Types of just w bits wrap by themselves, others are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any

import numpy as np

from ptxcore.machine.vector.floating import operand_widths, vector_function
from ptxcore.values.terms import Term, Value, mask, subterms

#: Beyond this many operations a meaning is called for each thread.
MOST_OPERATIONS = 600
#: The widest value that an array holds.
WIDEST = 64

_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_EXACT = frozenset(_UNSIGNED)


class Unprintable(Exception):
    """A term has no array expression: it is too wide or too long."""


def holder(width: int) -> int:
    """The bits of the type that holds a width, 1 for truth values. Raises Unprintable."""
    if width == 1:
        return 1
    found = next((bits for bits in _UNSIGNED if width <= bits), None)
    if found is None:
        raise Unprintable
    return found


def array_type(width: int) -> Any:
    """The NumPy type of values of a width."""
    return np.bool_ if width == 1 else _UNSIGNED[holder(width)]


def type_name(width: int) -> str:
    """What generated code calls that type."""
    return "b1" if width == 1 else f"u{holder(width)}"


#: What all generated code finds.
NAMES: dict[str, Any] = {
    "np": np,
    "where": np.where,
    "minimum": np.minimum,
    "b1": np.bool_,
    **{f"u{bits}": kind for bits, kind in _UNSIGNED.items()},
    **{f"i{bits}": np.dtype(f"i{bits // 8}").type for bits in _UNSIGNED},
}


def constant(value: int, width: int, names: dict[str, Any]) -> str:
    """A number as generated code knows it."""
    name = f"k{width}_{value}"
    names[name] = array_type(width)(value)
    return name


def cast(text: str, has: int, wanted: int) -> str:
    """A value in the type of another width; a narrower one cuts it at its own size."""
    if has == wanted or holder(has) == holder(wanted):
        return text
    return f"({text} != 0)" if wanted == 1 else f"{text}.astype({type_name(wanted)})"


class ArrayPrinter:
    """Prints terms; what is used twice gets a name of its own. `names` are the symbols' texts."""

    def __init__(self, symbols: Mapping[Term, str], prefix: str = "t") -> None:
        self.symbols, self.prefix = symbols, prefix
        #: What the text uses, by the names it gives it.
        self.names: dict[str, Any] = {}

    def print(self, values: list[tuple[Value, int]]) -> tuple[list[str], list[str]]:
        """Lines that set the names of shared parts, and the expression of each value, which has that width. Raises
        Unprintable."""
        terms = subterms([v for v, _ in values])
        if len(terms) > MOST_OPERATIONS:
            raise Unprintable
        uses: dict[Any, int] = {}
        for t in terms:
            for a in t.args:
                if type(a) is Term:
                    uses[a] = uses.get(a, 0) + 1
        for v, _ in values:
            uses[v] = uses.get(v, 0) + 1
        lines: list[str] = []
        text: dict[Term, str] = {}
        for t in terms:
            if t.width > WIDEST and not (t.op in ("zext", "sext", "mul") and _high_parts(t) is not None):
                raise Unprintable
            if t.op == "symbol":
                text[t] = self.symbols[t]
                continue
            if t.width > WIDEST:
                continue  # printed by the `extract` above it
            printed = self._term(t, text)
            if uses[t] > 1:
                name = f"{self.prefix}{len(lines)}"
                lines.append(f"{name} = {printed}")
                printed = name
            text[t] = printed
        return lines, [text[v] if type(v) is Term else self._number(v, w) for v, w in values]  # type: ignore[arg-type]

    def _number(self, value: int, width: int) -> str:
        return constant(value, width, self.names)

    def _term(self, t: Term, text: Mapping[Term, str]) -> str:
        def shown(a: Value, width: int) -> str:
            return self._number(a, width) if type(a) is int else text[a]  # type: ignore[index]

        op, w = t.op, t.width
        if op in _ARITHMETIC:
            if w == 1:
                raise Unprintable
            a, b = (shown(x, w) for x in t.args)
            return self._arithmetic(op, a, b, w)
        if op in _COMPARISON:
            n = max(x.width for x in t.args if type(x) is Term)
            a, b = (shown(x, n) for x in t.args)
            if op in ("slt", "sle"):
                if n == 1:
                    raise Unprintable
                a, b = (self._signed(x, n) for x in (a, b))
            return f"({a} {_COMPARISON[op]} {b})"
        if op == "ite":
            if t.args[1:] == (1, 0):
                return cast(shown(t.args[0], 1), 1, w)
            return f"where({shown(t.args[0], 1)}, {shown(t.args[1], w)}, {shown(t.args[2], w)})"
        if op == "not":
            return f"(~{shown(t.args[0], 1)})"
        if op in ("all", "any"):
            return f"({(' & ' if op == 'all' else ' | ').join(shown(a, 1) for a in t.args)})"
        if op in ("zext", "sext", "extract"):
            return self._resized(t, text)
        if op == "concat":
            low = t.args[1].width if type(t.args[1]) is Term else w - t.args[0].width
            high = cast(shown(t.args[0], w - low), w - low, w)
            return f"({high} << {self._number(low, w)} | {cast(shown(t.args[1], low), low, w)})"
        if op == "fp":
            widths = operand_widths(t)
            return self._call(vector_function(t), [shown(a, n) for a, n in zip(t.args[3:], widths, strict=True)])
        raise Unprintable

    def _call(self, function: Callable[..., Any], arguments: list[str]) -> str:
        name = f"f{id(function)}"
        self.names[name] = function
        return f"{name}({', '.join(arguments)})"

    def _cut(self, text: str, width: int) -> str:
        return text if width in _EXACT else f"({text} & {self._number(mask(width), width)})"

    def _signed(self, text: str, width: int) -> str:
        """The same bits as a signed array."""
        bits = holder(width)
        if width not in _EXACT:
            top = self._number(1 << (width - 1), width)
            text = f"(({text} ^ {top}) - {top})"
        return f"{text}.view(i{bits})"

    def _arithmetic(self, op: str, a: str, b: str, w: int) -> str:
        if op in ("add", "sub", "mul"):
            return self._cut(f"({a} {_ARITHMETIC[op]} {b})", w)
        if op in ("and", "or", "xor", "lshr"):
            return f"({a} {_ARITHMETIC[op]} {b})"
        if op == "shl":
            return self._cut(f"({a} << {b})", w)
        if op == "ashr":
            bits = holder(w)
            count = f"minimum({b}, {self._number(w - 1, w)}).view(i{bits})"
            return self._cut(f"({self._signed(a, w)} >> {count}).view(u{bits})", w)
        if op in ("udiv", "urem"):
            return f"{self._call(_DIVISIONS[op], [a, b, self._number(mask(w), w)])}"
        if w not in _EXACT:
            raise Unprintable
        return self._call(_DIVISIONS[op], [a, b])

    def _resized(self, t: Term, text: Mapping[Term, str]) -> str:
        inner: Term = t.args[0]
        high = _high_parts(inner) if inner.width > WIDEST else None
        if high is not None:
            if t.op != "extract" or t.args[1:] != (127, 64):
                raise Unprintable
            factors, signed = high
            a, b = (text[x] if isinstance(x, Term) else self._number(x, 64) for x in factors)
            return self._call(high_signed if signed else high_unsigned, [a, b])
        a, n, w = text[inner], inner.width, t.width
        if t.op == "zext":
            return cast(a, n, w)
        if t.op == "sext":
            if n == 1:
                return f"where({a}, {self._number(mask(w), w)}, {self._number(0, w)})"
            bits = holder(w)
            wide = self._signed(a, n)
            wide = wide if holder(n) == bits else f"{wide}.astype(i{bits})"
            return self._cut(f"{wide}.view(u{bits})", w)
        low = t.args[2]
        if w == 1:
            return f"(({a} & {self._number(1 << low, n)}) != 0)"
        if low:
            a = f"({a} >> {self._number(low, n)})"
        a = cast(a, n, w)
        return a if w in _EXACT or low + w == n else f"({a} & {self._number(mask(w), w)})"


#: Operations as NumPy writes them.
_ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>", "ashr": ">>",
    "udiv": "", "urem": "", "sdiv": "", "srem": "",
}  # fmt: skip
_COMPARISON = {"eq": "==", "ult": "<", "ule": "<=", "slt": "<", "sle": "<="}


# Products of 64 bits, of which the upper half is wanted: nothing holds the whole.


def _high_parts(t: Term) -> tuple[tuple[Value, Value], bool] | None:
    """The factors of 64 bits of a product of 128, and whether they are signed; of a factor itself, something."""
    if t.width != 128:
        return None
    if t.op in ("zext", "sext"):
        return ((t.args[0], 0), t.op == "sext") if t.args[0].width == 64 else None
    if t.op != "mul":
        return None
    a, b = t.args
    kind = next(x.op for x in (a, b) if type(x) is Term)
    factors: list[Value] = []
    for x in (a, b):
        if type(x) is Term:
            if x.op != kind or x.op not in ("zext", "sext") or x.args[0].width != 64:
                return None
            factors.append(x.args[0])
        else:
            if (x if kind == "zext" else (x + (1 << 63)) & mask(128)) >> 64:
                return None
            factors.append(x & mask(64))
    return (factors[0], factors[1]), kind == "sext"


_LOW, _HALF = np.uint64(mask(32)), np.uint64(32)
_TOP = np.uint64(63)


def high_unsigned(a: Any, b: Any) -> Any:
    """The upper 64 bits of a product."""
    a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = a1 * b0 + (a0 * b0 >> _HALF)
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _HALF) + (other >> _HALF)


def high_signed(a: Any, b: Any) -> Any:
    """The upper 64 bits of a product of signed numbers."""
    return high_unsigned(a, b) - (a >> _TOP) * b - (b >> _TOP) * a


def _udiv(a: Any, b: Any, all_ones: Any) -> Any:
    zero = b == 0
    return np.where(zero, all_ones, a // np.where(zero, all_ones, b))


def _urem(a: Any, b: Any, all_ones: Any) -> Any:
    zero = b == 0
    return np.where(zero, a, a % np.where(zero, all_ones, b))


def _magnitudes(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    one = a.dtype.type(1)
    top = a.dtype.type(a.dtype.itemsize * 8 - 1)
    minus_a, minus_b = (a >> top) != 0, (b >> top) != 0
    x = np.where(minus_a, ~a + one, a)
    y = np.where(minus_b, ~b + one, b)
    return minus_a, minus_b, x, np.where(b == 0, one, y)


def _sdiv(a: Any, b: Any) -> Any:
    minus_a, minus_b, x, y = _magnitudes(a, b)
    one = a.dtype.type(1)
    q = x // y
    q = np.where(minus_a != minus_b, ~q + one, q)
    return np.where(b == 0, np.where(minus_a, one, ~(one - one)), q)


def _srem(a: Any, b: Any) -> Any:
    minus_a, _, x, y = _magnitudes(a, b)
    r = x % y
    return np.where(b == 0, a, np.where(minus_a, ~r + a.dtype.type(1), r))


_DIVISIONS: dict[str, Callable[..., Any]] = {"udiv": _udiv, "urem": _urem, "sdiv": _sdiv, "srem": _srem}


def numbers(a: Any, count: int) -> Iterable[int]:
    """The values of `count` threads as Python's numbers."""
    if not a.ndim:
        return repeat(int(a), count)
    found: list[int] = (a.view(np.uint8) if a.dtype == np.bool_ else a).tolist()
    return found


def each(function: Callable[..., Any], widths: list[int]) -> Callable[..., tuple[Any, ...]]:
    """A function of numbers that gives a tuple of numbers of these widths, for arrays: each thread by itself."""
    kinds = [array_type(w) for w in widths]

    def of_arrays(*operands: Any) -> tuple[Any, ...]:
        size = next((o.size for o in operands if o.ndim), None)
        if size is None:
            return tuple(kind(v) for kind, v in zip(kinds, function(*map(int, operands)), strict=True))
        lists = [numbers(o, size) for o in operands]
        rows = list(map(function, *lists))
        return tuple(np.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds))

    return of_arrays
