"""Bit-vector values: a Python integer while the value is known, a `Term` once it is not.

A value of width w is an integer in 0 .. 2**w - 1, or a term of that width. A truth value is a value of width 1: 0, 1 or
a term. The functions here take both kinds and fold: when every operand is known they are Python arithmetic and nothing
else, so that concrete execution never pays for the symbolic one.

Terms are immutable and shared: building the same term twice gives the same object, so `is` compares them. The table
that shares them holds them weakly; a term that nobody uses any more is gone.

It is one file because constructors fold by each other: comparisons by truth values, and these by comparisons.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakValueDictionary

from ptxcore.clock import tick


class Term:
    """A value that is not known yet: an operation over values.

    `op` is a key of `OPERATIONS`, or `symbol` (then `args` is the symbol's name alone). `args` are values, and for
    `extract` its bounds. `width` counts bits. `serial` numbers terms in the order of creation. `negation` is what `negate`
    made of the term, once it has.
    """

    __slots__ = ("__weakref__", "args", "negation", "op", "serial", "width")

    def __init__(self, op: str, width: int, args: tuple[Any, ...], serial: int) -> None:
        self.op, self.width, self.args, self.serial = op, width, args, serial
        self.negation: Value | None = None

    def __repr__(self) -> str:
        return render(self)


Value = int | Term

TRUE: Value = 1
FALSE: Value = 0

_shared: WeakValueDictionary[tuple[Any, ...], Term] = WeakValueDictionary()
_serials = itertools.count()


def make(op: str, width: int, *args: Any) -> Term:
    """The term of an operation over these operands, as it stands: folding is the matter of the functions below."""
    key = (op, width, *[(1, a.serial) if type(a) is Term else a for a in args])
    term = _shared.get(key)
    if term is None:
        term = _shared[key] = Term(op, width, args, next(_serials))
    return term


def symbol(name: Hashable, width: int) -> Term:
    """A value that something outside decides: what a load returns, for instance. Equal names are the same symbol."""
    key = ("symbol", width, name)
    term = _shared.get(key)
    if term is None:
        term = _shared[key] = Term("symbol", width, (name,), next(_serials))
    return term


def mask(width: int) -> int:
    return (1 << width) - 1


def signed(value: int, width: int) -> int:
    """The number that a known value stands for in two's complement."""
    return value - (1 << width) if value >> (width - 1) else value


# The operations on known numbers. `w` is the width of the result, `n` that of the operands where it differs.

_ARITHMETIC: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, w: (a + b) & mask(w),
    "sub": lambda a, b, w: (a - b) & mask(w),
    "mul": lambda a, b, w: (a * b) & mask(w),
    "and": lambda a, b, w: a & b,
    "or": lambda a, b, w: a | b,
    "xor": lambda a, b, w: a ^ b,
    "shl": lambda a, b, w: (a << b) & mask(w) if b < w else 0,
    "lshr": lambda a, b, w: a >> b if b < w else 0,
    "ashr": lambda a, b, w: (signed(a, w) >> min(b, w - 1)) & mask(w),
    # Division by zero gives what the solvers' theory of bit-vectors gives; PTX leaves it open.
    "udiv": lambda a, b, w: a // b if b else mask(w),
    "urem": lambda a, b, w: a % b if b else a,
    "sdiv": lambda a, b, w: _truncated(signed(a, w), signed(b, w))[0] & mask(w),
    "srem": lambda a, b, w: _truncated(signed(a, w), signed(b, w))[1] & mask(w),
}

_COMPARISON: dict[str, Callable[[int, int, int], int]] = {
    "eq": lambda a, b, n: int(a == b),
    "ult": lambda a, b, n: int(a < b),
    "ule": lambda a, b, n: int(a <= b),
    "slt": lambda a, b, n: int(signed(a, n) < signed(b, n)),
    "sle": lambda a, b, n: int(signed(a, n) <= signed(b, n)),
}

#: Every operation a term may have, but `symbol`.
OPERATIONS = frozenset({*_ARITHMETIC, *_COMPARISON, "ite", "extract", "concat", "zext", "sext", "not", "all", "any"})


#: Operations of other files over bit-vectors: how to apply one to known operands, how to build it over others.
_extended: dict[str, tuple[Callable[[Term, tuple[Any, ...]], int], Callable[[Term, list[Any]], Value]]] = {}


def extend_operations(
    op: str, apply: Callable[[Term, tuple[Any, ...]], int], rebuild: Callable[[Term, list[Any]], Value]
) -> None:
    """Makes terms with another operation known to `evaluate` and `substitute`."""
    _extended[op] = apply, rebuild


def _truncated(a: int, b: int) -> tuple[int, int]:
    if b == 0:
        return (1 if a < 0 else -1), a
    q = abs(a) // abs(b)
    q = -q if (a < 0) != (b < 0) else q
    return q, a - b * q


def width_of(value: Value, default: int = 1) -> int:
    return value.width if type(value) is Term else default


def _arithmetic(op: str, a: Value, b: Value, width: int) -> Value:
    if type(a) is int and type(b) is int:
        return _ARITHMETIC[op](a, b, width)
    if width == 1 and op in ("and", "or", "xor"):
        return {"and": conj, "or": disj, "xor": _differ}[op](a, b)
    if type(a) is int and op in ("add", "mul", "and", "or", "xor"):
        a, b = b, a  # a known operand of a commutative operation stands second
    if type(b) is int:
        if b == 0 and op in ("add", "sub", "or", "xor", "shl", "lshr", "ashr"):
            return a
        if b == 0 and op in ("mul", "and"):
            return 0
        if (b == 1 and op in ("mul", "udiv", "sdiv")) or (op == "and" and b == mask(width)):
            return a
        if op == "sub":
            op, b = "add", (-b) & mask(width)
        if op == "add" and type(a) is Term and a.op == "add" and type(a.args[1]) is int:
            return _arithmetic("add", a.args[0], (a.args[1] + b) & mask(width), width)
        if op == "and" and type(a) is Term and _is_choice(a):
            return ite(a.args[0], a.args[1] & b, a.args[2] & b, width)
    elif a is b:
        if op in ("sub", "xor"):
            return 0
        if op in ("and", "or"):
            return a
    return make(op, width, a, b)


def add(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("add", a, b, width)


def sub(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("sub", a, b, width)


def mul(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("mul", a, b, width)


def bit_and(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("and", a, b, width)


def bit_or(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("or", a, b, width)


def bit_xor(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("xor", a, b, width)


def bit_not(a: Value, width: int) -> Value:
    return negate(a) if width == 1 else _arithmetic("xor", a, mask(width), width)


def shl(a: Value, b: Value, width: int) -> Value:
    """`a` shifted left; a shift by `width` or more gives 0. Both operands have the result's width."""
    return _arithmetic("shl", a, b, width)


def lshr(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("lshr", a, b, width)


def ashr(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("ashr", a, b, width)


def udiv(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("udiv", a, b, width)


def sdiv(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("sdiv", a, b, width)


def urem(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("urem", a, b, width)


def srem(a: Value, b: Value, width: int) -> Value:
    return _arithmetic("srem", a, b, width)


def neg(a: Value, width: int) -> Value:
    return sub(0, a, width)


# Widths.


def extract(a: Value, high: int, low: int) -> Value:
    """Bits `high` .. `low` of `a`, both included."""
    while type(a) is Term:  # the bytes of a long copy are a chain: each turn is a part of it
        part: Any = a.args[0] if a.args else None
        if low == 0 and high == a.width - 1:
            return a
        if a.op in ("zext", "sext") and type(part) is Term and high < part.width:
            a = part
        elif a.op == "zext" and type(part) is Term:
            return zext(extract(part, part.width - 1, low), high - low + 1) if low < part.width else 0
        elif a.op == "sext" and low == 0 and type(part) is Term:
            return sext(part, part.width, high + 1)
        elif a.op == "extract":
            high, low = a.args[2] + high, a.args[2] + low
            a = part
        elif a.op == "concat" and (middle := _low_width(a)) <= low:
            high, low = high - middle, low - middle
            a = part
        elif a.op == "concat" and high < middle:
            a = a.args[1]
        elif a.op == "concat":
            upper, lower = extract(part, high - middle, 0), extract(a.args[1], middle - 1, low)
            return concat(upper, lower, high - middle + 1, middle - low)
        elif _is_choice(a):
            return ite(part, extract(a.args[1], high, low), extract(a.args[2], high, low), high - low + 1)
        else:
            return make("extract", high - low + 1, a, high, low)
    assert type(a) is int
    return (a >> low) & mask(high - low + 1)


def _is_choice(a: Term) -> bool:
    """Whether a term is one of two numbers."""
    return a.op == "ite" and type(a.args[1]) is int and type(a.args[2]) is int


def zext(a: Value, width: int) -> Value:
    """`a`, widened with zeros to `width` bits. The width of a known number need not be said."""
    if type(a) is not Term or a.width == width:
        return a
    if _is_choice(a):
        return ite(a.args[0], a.args[1], a.args[2], width)
    return make("zext", width, a)


def sext(a: Value, from_width: int, width: int) -> Value:
    """`a` of `from_width` bits, widened with copies of its sign to `width` bits."""
    if type(a) is not Term:
        return signed(a, from_width) & mask(width)  # type: ignore[arg-type]
    return a if a.width == width else make("sext", width, a)


def concat(high: Value, low: Value, high_width: int, low_width: int) -> Value:
    if type(high) is int and type(low) is int:
        return high << low_width | low
    if type(high) is int and high == 0:
        return zext(low, high_width + low_width)
    if (
        type(high) is type(low) is Term
        and high.op == low.op == "extract"
        and high.args[0] is low.args[0]
        and high.args[2] == low.args[1] + 1
    ):  # neighbours
        return extract(high.args[0], high.args[1], low.args[2])
    return make("concat", high_width + low_width, high, low)


def _low_width(t: Term) -> int:
    """The bits of the second operand of a `concat`."""
    high, low = t.args
    return low.width if type(low) is Term else t.width - high.width


# Comparisons.


def eq(a: Value, b: Value) -> Value:
    if type(a) is int:
        if type(b) is int:
            return int(a == b)
        a, b = b, a
    if a is b:
        return 1
    assert type(a) is Term
    if type(b) is int:
        if a.width == 1:
            return a if b else negate(a)
        if a.op == "ite" and type(a.args[1]) is int and type(a.args[2]) is int:
            return ite(a.args[0], eq(a.args[1], b), eq(a.args[2], b), 1)
        if a.op == "zext":
            return eq(a.args[0], b) if b <= mask(a.args[0].width) else 0
        if a.op == "add" and type(a.args[1]) is int:
            return eq(a.args[0], (b - a.args[1]) & mask(a.width))
        if a.op in _EQUATIONS:
            return _EQUATIONS[a.op](a, b)
    else:
        assert type(b) is Term
        (base, offset), (other, further) = _offset(a), _offset(b)
        if base is other:
            return int(offset == further)
        if b.serial < a.serial:
            a, b = b, a
    return make("eq", 1, a, b)


def _offset(a: Term) -> tuple[Value, int]:
    """What a number is added to, and the number."""
    if a.op == "add" and type(a.args[1]) is int:
        return a.args[0], a.args[1]
    return a, 0


def _eq_sext(a: Term, b: int) -> Value:
    inner: Term = a.args[0]
    low = b & mask(inner.width)
    return eq(inner, low) if signed(low, inner.width) & mask(a.width) == b else 0


def _eq_concat(a: Term, b: int) -> Value:
    low = _low_width(a)
    return conj(eq(a.args[0], b >> low), eq(a.args[1], b & mask(low)))


def _eq_scaled(a: Term, b: int) -> Value:
    """A product with a power of two, or a shift to the left: the low bits are 0, the others are those of the operand."""
    factor = a.args[1]
    if type(factor) is int and a.op == "shl":
        factor = 1 << factor if factor < a.width else 0
    if type(factor) is not int or factor <= 1 or factor & (factor - 1):
        return make("eq", 1, a, b)
    by = factor.bit_length() - 1
    return 0 if b % factor else eq(extract(a.args[0], a.width - by - 1, 0), b >> by)


_EQUATIONS: dict[str, Callable[[Term, int], Value]] = {
    "sext": _eq_sext,
    "concat": _eq_concat,
    "mul": _eq_scaled,
    "shl": _eq_scaled,
}


def ne(a: Value, b: Value) -> Value:
    return negate(eq(a, b))


def _compare(op: str, a: Value, b: Value, width: int) -> Value:
    if type(a) is int and type(b) is int:
        return _COMPARISON[op](a, b, width)
    if a is b:
        return int(op in ("ule", "sle"))
    return make(op, 1, a, b)


def ult(a: Value, b: Value, width: int) -> Value:
    return _compare("ult", a, b, width)


def ule(a: Value, b: Value, width: int) -> Value:
    return _compare("ule", a, b, width)


def slt(a: Value, b: Value, width: int) -> Value:
    return _compare("slt", a, b, width)


def sle(a: Value, b: Value, width: int) -> Value:
    return _compare("sle", a, b, width)


def ite(condition: Value, a: Value, b: Value, width: int) -> Value:
    """`a` where the truth value `condition` is 1, else `b`; all three of `width` bits, the condition of one."""
    if type(condition) is int:
        return a if condition else b
    if a is b or (type(a) is int and type(b) is int and a == b):
        return a
    if width == 1:
        return disj(conj(condition, a), conj(negate(condition), b))
    if type(a) is Term and a.op == "ite" and a.args[0] is condition:
        a = a.args[1]
    if type(b) is Term and b.op == "ite" and b.args[0] is condition:
        b = b.args[2]
    return make("ite", width, condition, a, b)


# Truth values. `all` and `any` are flat and sorted; `not` stands on neither.


def negate(a: Value) -> Value:
    if type(a) is int:
        return 1 - a
    assert type(a) is Term
    if a.op == "not":
        return a.args[0]  # type: ignore[no-any-return]
    if a.op not in ("all", "any"):
        return make("not", 1, a)
    # From below, and each part once: what paths share, terms share, and unshared it would grow with every fork.
    stack = [a]
    while a.negation is None:
        t = stack[-1]
        open_ = [x for x in t.args if x.op in ("all", "any") and x.negation is None] if t.negation is None else []
        if open_:
            stack += open_
            continue
        stack.pop()
        if t.negation is None:
            t.negation = new = (any_of if t.op == "all" else all_of)(negate(x) for x in t.args)
            if type(new) is Term and new.op in ("all", "any") and new.negation is None:
                new.negation = t
    return a.negation


def _differ(a: Value, b: Value) -> Value:
    return disj(conj(a, negate(b)), conj(negate(a), b))


def conj(a: Value, b: Value) -> Value:
    """Both. Sees contradictions between literals, and between different numbers that one term is compared with."""
    if type(a) is int:
        return b if a else 0
    if type(b) is int:
        return a if b else 0
    return a if a is b else all_of((a, b))


def implies(a: Value, b: Value) -> bool:
    """Whether one truth value certainly holds where another does: b wherever a does."""
    return a is b or conj(a, negate(b)) == 0


def disj(a: Value, b: Value) -> Value:
    if type(a) is int:
        return 1 if a else b
    if type(b) is int:
        return 1 if b else a
    return a if a is b else any_of((a, b))


def _flat(op: str, values: Iterable[Value]) -> dict[Term, None] | None:
    """The operands below nested `op`s, or None when a known one decides the whole."""
    parts: dict[Term, None] = {}
    for v in values:
        if type(v) is int:
            if v == (op == "any"):
                return None
        elif v.op == op:  # type: ignore[union-attr]
            parts.update(dict.fromkeys(v.args))  # type: ignore[union-attr]
        else:
            parts[v] = None  # type: ignore[index]
    return parts


def all_of(values: Iterable[Value]) -> Value:
    """All of them. Sees contradictions, and choices that the others decide."""
    parts = _flat("all", values)
    if parts is None or not _settle("all", parts):
        return 0
    numbers: dict[Value, int] = {}
    for p in parts:
        if p.op == "eq" and type(p.args[1]) is int and numbers.setdefault(p.args[0], p.args[1]) != p.args[1]:
            return 0
    kept: list[Term] = []
    for p in parts:
        inner = p.args[0] if p.op == "not" else None
        if inner is not None:
            if inner in parts:
                return 0
            known = numbers.get(inner.args[0]) if inner.op == "eq" else None
            if known is not None and type(inner.args[1]) is int and known != inner.args[1]:
                continue  # x = 1 says already that x is not 2
        truth = _compared(inner or p, numbers) if numbers else None
        if truth is not None:
            if truth == (inner is not None):
                return 0
            continue  # x = 1 says already that x is below 3
        kept.append(p)
    return _join("all", kept, 1)


def _compared(p: Term, numbers: Mapping[Value, int]) -> int | None:
    """Which is less, where it is known by now what is compared."""
    if p.op == "eq" or p.op not in _COMPARISON:
        return None
    a, b = (numbers.get(x) if type(x) is Term else x for x in p.args[:2])
    return None if a is None or b is None else apply(p, (a, b, *p.args[2:]))


#: More alternatives than this are not compared pair by pair: paths that meet are few, and a question may list thousands.
_MOST_JOINED = 100


def any_of(values: Iterable[Value]) -> Value:
    """At least one of them. Paths that part and meet again give the condition from before they parted."""
    parts = _flat("any", values)
    if parts is None or not _settle("any", parts):
        return 1
    for p in parts:
        if p.op == "not" and p.args[0] in parts:
            return 1
    kept = list(parts)
    # (g & c) | (g & ~c) = g. Repeat until nothing joins.
    sets = {p: frozenset(p.args) if p.op == "all" else frozenset((p,)) for p in kept}
    joined = len(kept) <= _MOST_JOINED and any(p.op == "all" for p in kept)
    while joined and len(kept) > 1:
        joined = False
        for x, y in itertools.combinations(kept, 2):
            merged = _resolve(sets[x], sets[y])
            if merged is None:
                continue
            both = _join("all", sorted(merged, key=lambda t: t.serial), 1)
            kept = [p for p in kept if p is not x and p is not y]
            if type(both) is int:
                return 1
            assert type(both) is Term
            if both not in sets or both not in kept:
                kept.append(both)
                sets[both] = merged
            joined = True
            break
    return _join("any", kept, 0)


def _settle(op: str, parts: dict[Term, None]) -> bool:
    """Lets the parts of a conjunction decide the disjunctions among them: a & (a | b) = a, a & (~a | b) = a & b,
    a & ((~a & c) | b) = a & b.

    And the dual for a disjunction. Changes `parts`; False when they decide the whole (a contradiction, a tautology).
    """
    dual = "any" if op == "all" else "all"
    combine = any_of if op == "all" else all_of
    changed = True
    while changed:
        changed = False
        for p in [p for p in parts if p.op == dual]:
            if any(x in parts for x in p.args):
                del parts[p]
                continue
            left = [x for x in p.args if not _is_excluded(x, op, parts)]
            if len(left) == len(p.args):
                continue
            del parts[p]
            changed = True
            new = combine(left)
            if type(new) is not Term:
                if new == (op == "any"):
                    return False
            elif new.op == op:
                parts.update(dict.fromkeys(new.args))
            else:
                parts[new] = None
    return True


def _is_excluded(x: Term, op: str, parts: Mapping[Term, None]) -> bool:
    """Whether a part of a conjunction says that a choice cannot be, or that something in it cannot; and the dual."""
    if negate(x) in parts:
        return True
    return x.op == op and any(negate(y) in parts for y in x.args)


def _resolve(a: frozenset[Term], b: frozenset[Term]) -> frozenset[Term] | None:
    """One conjunction that equals the disjunction of two, if a step of absorption or resolution gives it."""
    if a <= b:
        return a
    if b <= a:
        return b
    only_a, only_b = a - b, b - a
    if len(only_a) == 1 and len(only_b) == 1:
        (x,), (y,) = only_a, only_b
        if negate(x) is y:
            return a & b
    return None


def _join(op: str, parts: list[Term], empty: int) -> Value:
    if not parts:
        return empty
    if len(parts) == 1:
        return parts[0]
    return make(op, 1, *sorted(parts, key=lambda t: t.serial))


# Walking terms. None of these recurses: terms may be as deep as a loop is long.


def symbols_of(value: Value) -> set[Term]:
    """The symbols that a value depends on."""
    found: set[Term] = set()
    seen: set[Term] = set()
    stack = [value]
    while stack:
        t = stack.pop()
        if type(t) is Term and t not in seen:
            seen.add(t)
            if t.op == "symbol":
                found.add(t)
            else:
                stack.extend(a for a in t.args if type(a) is Term)
    return found


def subterms(values: Iterable[Value]) -> list[Term]:
    """Every term below `values`, each once, operands before the terms that use them."""
    order: list[Term] = []
    done: set[Term] = set()
    stack: list[tuple[Value, bool]] = [(v, False) for v in values]
    while stack:
        t, ready = stack.pop()
        if type(t) is not Term or t in done:
            continue
        if ready or t.op == "symbol":
            done.add(t)
            order.append(t)
        else:
            stack.append((t, True))
            stack.extend((a, False) for a in t.args if type(a) is Term)
    return order


def apply(term: Term, args: tuple[Any, ...]) -> int:
    """What `term`'s operation gives on known operands `args`, in the order of `term.args`."""
    op = term.op
    if op in _ARITHMETIC:
        return _ARITHMETIC[op](args[0], args[1], term.width)
    if op in _COMPARISON:
        n = max(width_of(term.args[0], 0), width_of(term.args[1], 0))
        return _COMPARISON[op](args[0], args[1], n)
    if op == "ite":
        return args[1] if args[0] else args[2]  # type: ignore[no-any-return]
    if op == "all":
        return int(all(args))
    if op == "any":
        return int(any(args))
    if op == "not":
        return 1 - args[0]  # type: ignore[no-any-return]
    if op == "extract":
        return (args[0] >> args[2]) & mask(term.width)  # type: ignore[no-any-return]
    if op == "zext":
        return args[0]  # type: ignore[no-any-return]
    if op == "sext":
        return signed(args[0], term.args[0].width) & mask(term.width)
    if op == "concat":
        return args[0] << _low_width(term) | args[1]  # type: ignore[no-any-return]
    return _extended[op][0](term, args)


def evaluate(value: Value, symbols: Mapping[Term, int]) -> int:
    """The number that a value is when its symbols have the given numbers. KeyError names a symbol without one."""
    if type(value) is int:
        return value
    if value.op == "symbol":  # type: ignore[union-attr]
        return symbols[value]  # type: ignore[index]
    known: dict[Any, int] = {}
    for t in subterms([value]):
        known[t] = (
            symbols[t] if t.op == "symbol" else apply(t, tuple(known[a] if type(a) is Term else a for a in t.args))
        )
    return known[value]


def evaluate_each(value: Term, symbol: Term, numbers: Iterable[int]) -> Iterator[int]:
    """The numbers that a value is whose only symbol is each of some numbers."""
    inner = [t for t in subterms([value]) if t is not symbol]
    for number in numbers:
        known: dict[Any, int] = {symbol: number}
        for t in inner:
            known[t] = apply(t, tuple(known[a] if type(a) is Term else a for a in t.args))
        yield known[value]


def substitute(value: Value, symbols: Mapping[Term, Value]) -> Value:
    """The value with some of its symbols replaced, folded anew."""
    if type(value) is int:
        return value
    new: dict[Any, Value] = {}
    tick()
    for t in subterms([value]):
        new[t] = (
            symbols.get(t, t) if t.op == "symbol" else rebuild(t, [new[a] if type(a) is Term else a for a in t.args])
        )
    return new[value]


def given(value: Value, condition: Value) -> Value:
    """The value where a condition holds, as far as its parts say what stands in the value."""
    if type(value) is int or type(condition) is int:
        return value
    assert type(condition) is Term
    facts: dict[Any, Value] = {}
    for part in condition.args if condition.op == "all" else (condition,):
        negated = part.op == "not"
        facts[part.args[0] if negated else part] = int(not negated)
        if part.op == "eq" and type(part.args[1]) is int:
            facts[part.args[0]] = part.args[1]
    new: dict[Any, Value] = {}
    for t in subterms([value]):
        known = facts.get(t)
        if known is not None or t.op == "symbol":
            new[t] = t if known is None else known
        else:
            new[t] = rebuild(t, [new[a] if type(a) is Term else a for a in t.args])
    return new[value]


def rebuild(term: Term, args: list[Any]) -> Value:
    """`term`'s operation over other operands, folded."""
    op = term.op
    if op in _ARITHMETIC:
        return _arithmetic(op, args[0], args[1], term.width)
    if op == "eq":
        return eq(args[0], args[1])
    if op in _COMPARISON:
        n = max(width_of(a, 0) for a in term.args)
        return _compare(op, args[0], args[1], n)
    if op == "all":
        return all_of(args)
    if op == "any":
        return any_of(args)
    if op == "not":
        return negate(args[0])
    if op == "ite":
        return ite(args[0], args[1], args[2], term.width)
    if op == "extract":
        return extract(args[0], args[1], args[2])
    if op == "zext":
        return zext(args[0], term.width)
    if op == "sext":
        return sext(args[0], term.args[0].width, term.width)
    if op == "concat":
        low = _low_width(term)
        return concat(args[0], args[1], term.width - low, low)
    return _extended[op][1](term, args)


def render(value: Value) -> str:
    """A value as text, for messages: `(eq r1 0)`."""
    if type(value) is int:
        return str(value)
    text: dict[Any, str] = {}
    for t in subterms([value]):
        if t.op == "symbol":
            text[t] = str(t.args[0])
        else:
            text[t] = f"({t.op} {' '.join(text[a] if type(a) is Term else str(a) for a in t.args)})"
    return text[value]
