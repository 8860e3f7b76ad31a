"""Terms on arrays: each operation at each width, and each floating-point function, against the terms on numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxcore.machine.vector.arrays import NAMES, ArrayPrinter, array_type, high_signed, high_unsigned
from ptxcore.machine.vector.floating import _MAKERS, operand_widths, vector_function
from ptxcore.values.fast import function
from ptxcore.values.floats import FORMATS
from ptxcore.values.terms import Term, Value, evaluate, make, mask, signed, symbol

WIDTHS = (2, 5, 8, 9, 16, 24, 31, 32, 33, 48, 63, 64)
ARITHMETIC = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "udiv", "urem", "sdiv", "srem")


def numbers(width: int, rng: np.random.Generator, count: int = 60) -> list[int]:
    """Edges, and random numbers of random lengths."""
    top = 1 << (width - 1)
    edges = [0, 1, 2, width - 1, width, width + 1, top - 1, top, top + 1, mask(width) - 1, mask(width)]
    drawn = [int(rng.integers(0, 1 << 63)) * 2 + int(rng.integers(2)) >> int(rng.integers(0, 64)) for _ in range(count)]
    return [x & mask(width) for x in edges + drawn]


def together(value: Value, width: int, given: dict[Term, Any]) -> Any:
    """The value by the printed text, its symbols being arrays or scalars."""
    printer = ArrayPrinter({s: f"s{i}" for i, s in enumerate(given)})
    lines, (text,) = printer.print([(value, width)])
    names = {**NAMES, **printer.names, **{f"s{i}": a for i, a in enumerate(given.values())}}
    exec("\n".join([*lines, f"result = {text}"]), names)
    return names["result"]


def compare(value: Term, symbols: list[Term], rows: list[tuple[int, ...]]) -> int:
    """The printed value against the term, on all rows at once and, for some, on scalars."""
    wanted = [evaluate(value, dict(zip(symbols, row, strict=True))) for row in rows]
    kinds = [array_type(s.width) for s in symbols]
    columns = [np.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    with np.errstate(all="ignore"):
        got = together(value, value.width, dict(zip(symbols, columns, strict=True)))
        assert got.dtype == array_type(value.width), value
        assert [int(x) for x in got] == wanted, value
        for row, result in list(zip(rows, wanted, strict=True))[::29]:
            scalars = [kind(x) for kind, x in zip(kinds, row, strict=True)]
            assert int(together(value, value.width, dict(zip(symbols, scalars, strict=True)))) == result, value
    return len(rows)


@pytest.mark.part(3)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_operation_at_every_width(width: int) -> None:
    rng = np.random.default_rng(width)
    a, b, c = symbol("a", width), symbol("b", width), symbol("c", 1)
    left, right = numbers(width, rng), numbers(width, rng)
    pairs = [(x, y) for x in left[:14] for y in right[:14]] + list(zip(left, reversed(right), strict=True))
    compared = 0
    for op in ARITHMETIC:
        if op in ("sdiv", "srem") and width not in (8, 16, 32, 64):
            continue
        compared += compare(make(op, width, a, b), [a, b], pairs)
        compared += compare(make(op, width, a, right[3]), [a], [(x,) for x in left])
    for op in ("eq", "ult", "ule", "slt", "sle"):
        compared += compare(make(op, 1, a, b), [a, b], pairs)
        compared += compare(make(op, 1, a, right[7]), [a], [(x,) for x in left])
    for other in WIDTHS:
        if other > width:
            for op in ("zext", "sext"):
                compared += compare(make(op, other, a), [a], [(x,) for x in left])
            d = symbol("d", other - width)
            high = [x & mask(other - width) for x in right]
            compared += compare(make("concat", other, d, a), [d, a], list(zip(high, left, strict=True)))
        if other < width:
            for low in (0, 1, width - other):
                compared += compare(make("extract", other, a, low + other - 1, low), [a], [(x,) for x in left])
    for place in (0, width - 1):
        compared += compare(make("extract", 1, a, place, place), [a], [(x,) for x in left])
    compared += compare(make("ite", width, c, a, b), [c, a, b], [(i & 1, x, y) for i, (x, y) in enumerate(pairs)])
    compared += compare(make("ite", width, c, 1, 0), [c], [(0,), (1,)])
    assert compared > 5000


def test_truth_values() -> None:
    a, b, c = (symbol(name, 1) for name in "abc")
    rows = [(i & 1, i >> 1 & 1, i >> 2) for i in range(8)]
    for value in (make("all", 1, a, b, c), make("any", 1, a, b, c), make("not", 1, a), make("eq", 1, a, b)):
        compare(value, [a, b, c], rows)
    for width in (8, 32, 64):
        for op in ("zext", "sext"):
            compare(make(op, width, a), [a], [(0,), (1,)])


def test_upper_halves_of_products_of_64_bits() -> None:
    rng = np.random.default_rng(3)
    left, right = numbers(64, rng, 400), numbers(64, rng, 400)
    x, y = np.array(left, np.uint64), np.array(right[::-1], np.uint64)
    assert high_unsigned(x, y).tolist() == [a * b >> 64 for a, b in zip(left, right[::-1], strict=True)]
    wanted = [signed(a, 64) * signed(b, 64) >> 64 & mask(64) for a, b in zip(left, right[::-1], strict=True)]
    assert high_signed(x, y).tolist() == wanted
    a, b = symbol("a", 64), symbol("b", 64)
    for op in ("zext", "sext"):
        whole = make("mul", 128, make(op, 128, a), make(op, 128, b))
        compare(make("extract", 64, whole, 127, 64), [a, b], list(zip(left, right, strict=True)))


# Floating point.


def bits_of(form: str, rng: np.random.Generator, count: int) -> list[int]:
    """Zeros, ones, limits, subnormals, infinities, NaNs with payloads, and random bits."""
    f = FORMATS[form]
    top, infinity = f.sign_bit, f.infinity
    one = f.bias << f.fraction
    edges = [0, 1, 2, (1 << f.fraction) - 1, 1 << f.fraction, one, one + 1, one - 1, infinity - 1, infinity]
    edges += [infinity + 1, infinity | 1 << (f.fraction - 1), f.nan, f.nan - 5, 3 << (f.fraction - 1)]
    edges += [one + (f.fraction << f.fraction), one + (f.fraction << f.fraction) + 1]
    edges += [x | top for x in edges]
    near = [one + int(rng.integers(-(8 << f.fraction), 8 << f.fraction)) for _ in range(count // 2)]
    short = [(x >> f.fraction - 3) << f.fraction - 3 for x in near]
    drawn = [int(rng.integers(0, 1 << 62)) * 4 + int(rng.integers(4)) & mask(f.width) for _ in range(count)]
    return edges + near + short + drawn


RESULTS = {"compare": 1, "to_signed": 32}


@pytest.mark.part(3)
@pytest.mark.parametrize("key", _MAKERS, ids=str)
def test_every_floating_point_function(key: tuple[str, Any, str]) -> None:
    name, form, mode = key
    rng = np.random.default_rng(len(str(key)))
    count = {"fma": 3}.get(name, 2 if name in ("add", "sub", "mul", "div", "min", "max", "compare") else 1)
    target = form[1] if name == "convert" else form[0] if name.startswith("from") else form
    width = RESULTS.get(name) or FORMATS[target].width
    operands = [symbol(i, 64) for i in range(count)]
    t = make("fp", width, name, form, mode, *operands)
    widths = operand_widths(t)
    source = form[0] if isinstance(form, tuple) else form
    columns: list[list[int]] = []
    for _ in range(count):
        if name.startswith("from"):
            drawn = numbers(32, rng, 800)
        else:
            drawn = bits_of(source, rng, 400)
        columns.append([drawn[i] for i in rng.permutation(len(drawn))])
    if count > 1:  # all edges with each other
        edges = bits_of(source, rng, 0)
        pairs = [(x, y) for x in edges for y in edges]
        columns = [c + [p[min(i, 1)] for p in pairs] for i, c in enumerate(columns)]
        columns[1] += columns[0]  # sums that cancel, and equal operands
        sign = FORMATS[source].sign_bit
        columns[0] += [x ^ (sign if i & 1 else 0) for i, x in enumerate(columns[0])]
        if count == 3:
            columns[2] += columns[2]
    if source in ("f16", "bf16") and count == 1:
        columns = [list(range(1 << 16))]
    if name in ("sin", "cos", "ex2", "lg2", "tanh", "rsqrt"):
        columns = [c[:260] for c in columns]
    kinds = [array_type(w) for w in widths]
    arrays = [np.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
    one, many = function(t), vector_function(t)
    with np.errstate(all="ignore"):
        got = many(*(a.copy() for a in arrays))
        rows = list(zip(*columns, strict=True))
        wrong = [(row, one(*row), int(g)) for row, g in zip(rows, got, strict=True) if one(*row) != int(g)]
        assert wrong[:3] == []
        for row in rows[::97]:
            assert int(many(*(kind(x) for kind, x in zip(kinds, row, strict=True)))) == one(*row)
        first = kinds[0](rows[0][0])  # one number for all with arrays
        if count > 1:
            mixed = many(first, *(a[:50].copy() for a in arrays[1:]))
            assert [int(x) for x in mixed] == [one(int(first), *row[1:]) for row in rows[:50]]
    assert len(rows) > 250
