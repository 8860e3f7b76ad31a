"""What `mma`, `mma.sp` and `wmma.mma` compute: D = A B + C, from the fragments of a warp to those of D (PTX ISA 9.0, sections
9.7.14.3, 9.7.14.5.14 and 9.7.14.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptxcore.isa.data_movement import ShuffleLanes
from ptxcore.isa.form import Use
from ptxcore.isa.product_arrays import arrays, brought_by, columns_of, opens
from ptxcore.isa.product_shapes import (
    HELD_BITS,
    LOW,
    WARP,
    Layouts,
    MatrixPart,
    ProductShape,
    Sparse,
    meaningful,
    of_mma,
    product,
    selected,
)
from ptxcore.values.floats import finite, is_nan
from ptxcore.values.packed import join
from ptxcore.values.products import dot, is_float
from ptxcore.values.terms import (
    Term,
    Value,
    add,
    all_of,
    bit_and,
    bit_xor,
    concat,
    conj,
    disj,
    eq,
    extract,
    ite,
    mul,
    ne,
    sext,
    slt,
    symbol,
    ult,
    zext,
)

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

__all__ = ["arrays", "judged", "multiply", "of_mma", "opens", "told"]

# On values.


def multiply(layouts: Layouts) -> Callable[[Use, Mapping[int, tuple[Value, ...]]], dict[int, tuple[Value, ...]]]:
    """The meaning of instructions whose fragments lie so."""

    def run(how: Use, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, tuple[Value, ...]]:
        """D = A B + C. Integers are exact, and wrap around or are limited; floating-point sums are rounded once where the
        order of additions would decide"""
        p = product(how, layouts)
        known = not (isinstance(lanes, ShuffleLanes) and is_float(p.a.kind)) and all(
            type(v) is not Term for values in lanes.values() for v in values
        )
        return _at_once(how, p, layouts, lanes) if known else _by_elements(how, p, lanes)

    return run


def _at_once(
    how: Use, p: ProductShape, layouts: Layouts, lanes: Mapping[int, tuple[Any, ...]]
) -> dict[int, tuple[Value, ...]]:
    found = arrays(layouts)(how, columns_of(lanes, brought_by(p)))
    return {lane: tuple(int(column[0, lane]) for column in found) for lane in lanes}


def _element(part: MatrixPart, lanes: Mapping[int, tuple[Value, ...]], row: int, column: int) -> Value:
    lane, number = divmod(part.places[row * part.columns + column], part.each)
    low = number * part.bits
    value = lanes[lane][part.first + low // part.width]
    low %= part.width
    tight = part.bits == 4
    low += 0 if tight else LOW.get(part.kind, 0)
    bits = min(part.bits, HELD_BITS.get(part.kind, part.bits))
    return extract(value, low + bits - 1, low)


def _by_elements(how: Use, p: ProductShape, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, tuple[Value, ...]]:
    """Each element of D by itself."""
    rows = [_row(how, p, lanes, i) for i in range(p.a.rows)]
    held: dict[int, list[Value]] = {lane: [0] * p.d.each for lane in range(WARP)}
    every: dict[int, Value] = {}
    for i in range(p.a.rows):
        for j in range(p.n):
            column = i // p.m * p.n + j
            b = [_element(p.b, lanes, x, column) for x in range(p.k)]
            lane = p.d.places[i * p.n + j] // p.d.each
            every[i * p.n + j] = _sum(p, lanes, (lane, i, j), rows[i], b)
    for place, value in zip(p.d.places, (every[x] for x in range(p.a.rows * p.n)), strict=True):
        held[place // p.d.each][place % p.d.each] = value
    per = p.d.width // p.d.bits
    found = {
        lane: tuple(join(values[x : x + per], p.d.bits) for x in range(0, p.d.each, per))
        for lane, values in held.items()
    }
    return {lane: (*values, *_judged(how, p, lanes, lane)) for lane, values in found.items() if lane in lanes}


def _row(how: Use, p: ProductShape, lanes: Mapping[int, tuple[Value, ...]], i: int) -> list[Value]:
    """A row of A, with the zeros of a sparse one."""
    stored = [_element(p.a, lanes, i, x) for x in range(p.a.columns)]
    if p.sparse is None:
        return stored
    width = min(p.a.bits, HELD_BITS.get(p.a.kind, p.a.bits))
    row: list[Value] = []
    chunks = p.k // p.sparse.wide
    for j in range(chunks):
        first, second = _indices(how, p.sparse, lanes, i * chunks + j)
        half = p.sparse.wide // 2
        if p.sparse.wide == 2:
            row += [ite(eq(first, 2 * x), stored[j], 0, width) for x in range(2)]
            continue
        for x in range(p.sparse.wide):
            group, within = divmod(x, p.sparse.group)
            a, b = stored[j * half + within], stored[j * half + p.sparse.group + within]
            row.append(ite(eq(first, group), a, ite(eq(second, group), b, 0, width), width))
    return row


def _indices(how: Use, sparse: Sparse, lanes: Mapping[int, tuple[Value, ...]], chunk: int) -> tuple[Value, Value]:
    """Where the nonzero elements of a chunk are."""
    selector = lanes[0][sparse.at + 1]
    assert type(selector) is int
    lane, bit = selected(sparse, how, selector)[chunk]
    word = lanes[lane][sparse.at]
    return extract(word, bit + 1, bit), extract(word, bit + 3, bit + 2)


def _judged(how: Use, p: ProductShape, lanes: Mapping[int, tuple[Value, ...]], lane: int) -> tuple[Value, ...]:
    """Of a sparse A, whether all positions that a thread tells are such as may be."""
    if p.sparse is None:
        return ()
    selector = lanes[0][p.sparse.at + 1]
    assert type(selector) is int
    if not meaningful(p.sparse, how, selector):
        return (0,)
    own = [i for i, (holder, _) in enumerate(selected(p.sparse, how, selector)) if holder == lane]
    good = []
    for chunk in own:
        first, second = _indices(how, p.sparse, lanes, chunk)
        if p.sparse.wide == 2:
            good.append(disj(conj(eq(first, 0), eq(second, 1)), conj(eq(first, 2), eq(second, 3))))
        else:
            good.append(ult(first, second, 2) if p.sparse.ordered else ne(first, second))
    return (all_of(good),)


def _scales(p: ProductShape, lanes: Mapping[int, tuple[Value, ...]], i: int, j: int) -> tuple[list[Value], list[Value]]:
    """The scales of a row of A and a column of B (section 9.7.14.3)."""
    if p.scaled is None:
        return [], []
    at = p.scaled.at
    _, byte_a, thread_a, _, byte_b, thread_b = lanes[0][at : at + 6]
    assert type(byte_a) is int and type(thread_a) is int and type(byte_b) is int and type(thread_b) is int
    row = lanes[4 * (i % 8) + 2 * thread_a + i // 8][at]
    column = lanes[4 * j + thread_b][at + 3]
    chunks = range(p.scaled.chunks)
    return (
        [extract(row, 8 * (byte_a + x) + 7, 8 * (byte_a + x)) for x in chunks],
        [extract(column, 8 * (byte_b + x) + 7, 8 * (byte_b + x)) for x in chunks],
    )


def _sum(
    p: ProductShape, lanes: Mapping[int, tuple[Value, ...]], at: tuple[int, int, int], a: list[Value], b: list[Value]
) -> Value:
    """An element of D: `at` is its lane, row and column."""
    lane, i, j = at
    c = _element(p.c, lanes, i, j)
    if not is_float(p.a.kind):
        return _integers(p, a, b, c)
    left_open = _left_open(lanes.undetermined(lane), (i, j), p.d.bits) if isinstance(lanes, ShuffleLanes) else None
    kinds = (p.a.kind, p.b.kind, p.c.kind, p.d.kind)
    scale = p.scaled.kind if p.scaled else ""
    value = dot(kinds, p.mode, a, b, c, _scales(p, lanes, i, j), scale, left_open)
    if p.saturates:
        value = ite(is_nan(p.d.kind, value), 0, finite(p.d.kind, value), p.d.bits)
    width = p.d.bits
    return value if type(value) is Term and value.width == width else extract(value, width - 1, 0)


def _left_open(value: Value, element: tuple[int, int], bits: int) -> Value:
    """What an element of D may be instead: a value of its own."""
    other = value
    if type(value) is Term:
        *names, result = value.args[0]
        value, other = (symbol((*names, (result, element, half)), 32) for half in range(2))
    return concat(other, value, 32, 32) if bits == 64 else extract(value, bits - 1, 0)


def _integers(p: ProductShape, a: list[Value], b: list[Value], c: Value) -> Value:
    wide = 64 if p.saturates else 32
    total = sext(c, 32, wide)
    for x, y in zip(a, b, strict=True):
        if p.operation:
            bit = bit_and(x, y, 1) if p.operation == "and" else bit_xor(x, y, 1)
            term = zext(bit, wide)
        else:
            term = mul(_extended(p.a, x, wide), _extended(p.b, y, wide), wide)
        total = add(total, term, wide)
    if not p.saturates:
        return total
    low, high = -(1 << 31) & (1 << 64) - 1, (1 << 31) - 1
    limited = ite(slt(total, low, 64), low, ite(slt(high, total, 64), high, total, 64), 64)
    return extract(limited, 31, 0)


def _extended(part: MatrixPart, value: Value, wide: int) -> Value:
    return sext(value, part.bits, wide) if part.kind[0] == "s" else zext(value, wide)


def told(how: Use) -> tuple[int, ...]:
    """Of a sparse product, what threads are told: D, and whether the positions that they hold are such as may be."""
    return (*[32] * next(e.length for e in how.wanted if e.parameter.name == "d"), 1)


def judged(how: Use, thread: Thread, found: Sequence[Value], *sources: Any) -> tuple[Value, ...]:
    """D, where the metadata of the thread is right"""
    *values, good = found
    thread.require(
        good, "bad-metadata", "the metadata has a pair of positions that has no meaning, or the selector has none"
    )
    return tuple(values)
