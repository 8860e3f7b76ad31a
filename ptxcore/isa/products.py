"""What `mma`, `mma.sp` and `wmma.mma` compute: D = A B + C, from the fragments of a warp to those of D (PTX ISA 9.0, sections
9.7.14.3, 9.7.14.5.14 and 9.7.14.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxcore.isa.data_movement import Lanes
from ptxcore.isa.form import Use
from ptxcore.isa.fragments import (
    ACCUMULATORS,
    AT_ONCE,
    BITS,
    METADATA,
    Layout,
    Metadata,
    multiplicand,
    shape,
)
from ptxcore.values.floats import finite, is_nan
from ptxcore.values.packed import join
from ptxcore.values.products import all_settled, any_subnormal, dot, is_float, numbers, saturated, summed
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

_WARP = 32
#: Where an element lies in a byte that it does not fill (section 9.7.14.5.14).
_LOW = {"e2m1": 2}
_BITS = {"e2m1": 4, "e3m2": 6, "e2m3": 6}


class Part(NamedTuple):
    """A matrix in registers: of `registers` of `width` bits a thread, elements of `kind` in containers of `bits`, `each` in a
    thread. `places`: for each element of the matrix, row by row, whose it is: `lane * each + number`."""

    kind: str
    bits: int
    width: int
    first: int  # of the values that a thread brings
    registers: int
    each: int
    rows: int
    columns: int
    places: tuple[int, ...]


class Sparse(NamedTuple):
    """Of a sparse A: `wide` elements to a chunk, `group` of which count or not together; who has the metadata of each chunk,
    row by row, and from which bit on."""

    wide: int
    group: int
    ordered: bool
    holders: tuple[tuple[int, int], ...]
    at: int  # of the values that a thread brings


class Scaled(NamedTuple):
    """Of block scaling: the type of scales, how many to a row of A (and a column of B), and of each row (and column) who has
    them."""

    kind: str
    chunks: int
    at: int


class Product(NamedTuple):
    """An instruction: M, N and K, how many products at once, its matrices."""

    m: int
    n: int
    k: int
    blocks: int
    a: Part
    b: Part
    c: Part
    d: Part
    mode: str
    saturates: bool
    operation: str
    sparse: Sparse | None
    scaled: Scaled | None


#: How fragments lie, by instruction: (how, matrix, element type, bits of its container, registers) -> layout.
Layouts = Callable[[Use, str, str, int, int], Any]


def of_mma(how: Use, matrix: str, kind: str, bits: int, registers: int) -> Layout:
    """The fragments of `mma`."""
    name = how.words["shape"]
    m, _, _ = shape(name)
    per = max(1, 32 // bits)
    if name == "m8n8k4" and how.words["atype"] == "f16":
        layout = how.words[f"{matrix}layout"] if matrix in "ab" else ""
        return AT_ONCE[("c" if matrix == "d" else matrix), layout or kind]
    if matrix in "ab":
        return multiplicand(m if matrix == "a" else 8, per, registers, down=matrix == "b")
    return ACCUMULATORS[m]


@lru_cache(maxsize=1024)
def product(how: Use, layouts: Layouts) -> Product:
    """The product that an instruction computes."""
    words, name = how.words, how.words["shape"]
    m, n, k = shape(name)
    at_once = 4 if name == "m8n8k4" and words["atype"] == "f16" and layouts is of_mma else 1
    sparse = "sp" if words["spvariant"] or how.has("sp::ordered_metadata") else ""
    tight = how.has("kind::mxf4 kind::mxf4nvf4")
    lengths = {e.parameter.name: e.length for e in how.wanted}
    parts: dict[str, Part] = {}
    first = 0
    for matrix in "abcd":
        kind = words[f"{matrix}type"] or "f16"
        bits = 4 if tight and matrix in "ab" else max(8, BITS[kind]) if is_float(kind) else BITS[kind]
        width = 64 if kind == "f64" else 32
        registers = lengths[matrix]
        rows, columns = {"a": (m * at_once, k // 2 if sparse else k), "b": (k, n * at_once)}.get(
            matrix, (m * at_once, n)
        )
        layout = layouts(how, matrix, kind, bits, registers)
        count = registers * width // bits
        places: dict[tuple[int, int], int] = {}
        for lane in range(_WARP):
            for element in range(count):
                places.setdefault(layout.place(lane, element), lane * count + element)
        ordered = tuple(places[row, column] for row in range(rows) for column in range(columns))
        parts[matrix] = Part(kind, bits, width, 0 if matrix == "d" else first, registers, count, rows, columns, ordered)
        first += registers
    first -= parts["d"].registers
    operation = "and" if how.has("and") else "xor" if how.has("xor") else ""
    found = Product(
        m, n, k, at_once, parts["a"], parts["b"], parts["c"], parts["d"], words["rnd"] or "rn", bool(words["satfinite"]),
        operation, _sparse(how, m, k, parts["a"], tight, first) if sparse else None, None,
    )  # fmt: skip
    if how.has("block_scale"):
        chunks = {"4X": 4, "2X": 2, "1X": 1}[words["scale_vec_size"][-2:] or ("2X" if tight else "1X")]
        found = found._replace(scaled=Scaled(words["stype"], chunks, first + (2 if sparse else 0)))
    return found


def _sparse(how: Use, m: int, k: int, a: Part, tight: bool, at: int) -> Sparse:
    kind = a.kind
    pairs = tight or kind in ("s4", "u4")
    wide = 8 if pairs else 2 if kind == "tf32" else 4
    chunks = k // wide
    layout: Metadata = METADATA[chunks, BITS[kind] >= 16]
    holders = tuple(
        (
            4 * (row % 8) + j // layout.chunks * layout.across + row // 8 * layout.below,
            4 * (j % layout.chunks) + (0 if layout.below else 16 * (row // 8)),
        )
        for row in range(m)
        for j in range(chunks)
    )
    return Sparse(wide, 2 if pairs else 1, how.has("sp::ordered_metadata"), holders, at)


def _each(sparse: Sparse, how: Use) -> int:
    return METADATA[len(sparse.holders) // 16, BITS[how.words["atype"]] >= 16].each


def _selected(sparse: Sparse, how: Use, selector: int) -> list[tuple[int, int]]:
    """Who has the metadata of each chunk, with the selector that is written."""
    further = _each(sparse, how) * selector
    return [(lane // 4 * 4 + (lane + further) % 4, bit) for lane, bit in sparse.holders]


def _exists(sparse: Sparse, how: Use, selector: int) -> bool:
    """Whether the manual has a meaning for a selector; ptxas takes more."""
    return _each(sparse, how) * selector < 4


# On values.


def multiply(layouts: Layouts) -> Callable[[Use, Mapping[int, tuple[Value, ...]]], dict[int, tuple[Value, ...]]]:
    """The meaning of instructions whose fragments lie so."""

    def run(how: Use, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, tuple[Value, ...]]:
        """D = A B + C. Integers are exact, and wrap around or are limited; floating-point sums are rounded once where the
        order of additions would decide"""
        p = product(how, layouts)
        known = not (isinstance(lanes, Lanes) and is_float(p.a.kind)) and all(
            type(v) is not Term for values in lanes.values() for v in values
        )
        return _at_once(how, p, layouts, lanes) if known else _by_elements(how, p, lanes)

    return run


def _at_once(
    how: Use, p: Product, layouts: Layouts, lanes: Mapping[int, tuple[Any, ...]]
) -> dict[int, tuple[Value, ...]]:
    found = arrays(layouts)(how, _columns(p, lanes))
    return {lane: tuple(int(column[0, lane]) for column in found) for lane in lanes}


def _columns(p: Product, lanes: Mapping[int, tuple[Any, ...]]) -> list[Any]:
    """What the threads of one warp bring, as arrays."""
    import numpy as np

    return [
        np.array([[lanes[lane][i] for lane in range(_WARP)]], np.uint64).astype(f"u{w // 8}")
        for i, w in enumerate(_widths(p))
    ]


def _widths(p: Product) -> list[int]:
    widths = [part.width for part in (p.a, p.b, p.c) for _ in range(part.registers)]
    return [*widths, *([32, 32] if p.sparse else []), *([32, 16, 16] * 2 if p.scaled else [])]


def _element(part: Part, lanes: Mapping[int, tuple[Value, ...]], row: int, column: int) -> Value:
    lane, number = divmod(part.places[row * part.columns + column], part.each)
    low = number * part.bits
    value = lanes[lane][part.first + low // part.width]
    low %= part.width
    tight = part.bits == 4
    low += 0 if tight else _LOW.get(part.kind, 0)
    bits = min(part.bits, _BITS.get(part.kind, part.bits))
    return extract(value, low + bits - 1, low)


def _by_elements(how: Use, p: Product, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, tuple[Value, ...]]:
    """Each element of D by itself."""
    rows = [_row(how, p, lanes, i) for i in range(p.a.rows)]
    held: dict[int, list[Value]] = {lane: [0] * p.d.each for lane in range(_WARP)}
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


def _row(how: Use, p: Product, lanes: Mapping[int, tuple[Value, ...]], i: int) -> list[Value]:
    """A row of A, with the zeros of a sparse one."""
    stored = [_element(p.a, lanes, i, x) for x in range(p.a.columns)]
    if p.sparse is None:
        return stored
    width = min(p.a.bits, _BITS.get(p.a.kind, p.a.bits))
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
    lane, bit = _selected(sparse, how, selector)[chunk]
    word = lanes[lane][sparse.at]
    return extract(word, bit + 1, bit), extract(word, bit + 3, bit + 2)


def _judged(how: Use, p: Product, lanes: Mapping[int, tuple[Value, ...]], lane: int) -> tuple[Value, ...]:
    """Of a sparse A, whether all positions that a thread tells are such as may be."""
    if p.sparse is None:
        return ()
    selector = lanes[0][p.sparse.at + 1]
    assert type(selector) is int
    if not _exists(p.sparse, how, selector):
        return (0,)
    own = [i for i, (holder, _) in enumerate(_selected(p.sparse, how, selector)) if holder == lane]
    good = []
    for chunk in own:
        first, second = _indices(how, p.sparse, lanes, chunk)
        if p.sparse.wide == 2:
            good.append(disj(conj(eq(first, 0), eq(second, 1)), conj(eq(first, 2), eq(second, 3))))
        else:
            good.append(ult(first, second, 2) if p.sparse.ordered else ne(first, second))
    return (all_of(good),)


def _scales(p: Product, lanes: Mapping[int, tuple[Value, ...]], i: int, j: int) -> tuple[list[Value], list[Value]]:
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
    p: Product, lanes: Mapping[int, tuple[Value, ...]], at: tuple[int, int, int], a: list[Value], b: list[Value]
) -> Value:
    """An element of D: `at` is its lane, row and column."""
    lane, i, j = at
    c = _element(p.c, lanes, i, j)
    if not is_float(p.a.kind):
        return _integers(p, a, b, c)
    left_open = _left_open(lanes.undetermined(lane), (i, j), p.d.bits) if isinstance(lanes, Lanes) else None
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


def _integers(p: Product, a: list[Value], b: list[Value], c: Value) -> Value:
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


def _extended(part: Part, value: Value, wide: int) -> Value:
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


# On arrays.


def arrays(layouts: Layouts) -> Callable[[Use, Sequence[Any]], list[Any]]:
    """The same of many warps."""

    def run(how: Use, columns: Sequence[Any]) -> list[Any]:
        return _of_arrays(how, product(how, layouts), columns)

    return run


@lru_cache(maxsize=1024)
def _places(part: Part) -> Any:
    import numpy as np

    return np.array(part.places, np.int64)


@lru_cache(maxsize=1024)
def _order(part: Part) -> Any:
    """For each element of the threads, which one of the matrix it is."""
    import numpy as np

    found = np.zeros(_WARP * part.each, np.int64)
    found[list(part.places)] = np.arange(len(part.places))
    return found


def _raw(part: Part, columns: Sequence[Any]) -> Any:
    """The bits of the elements of a matrix, of each warp."""
    import numpy as np

    registers = columns[part.first : part.first + part.registers]
    held = np.stack(registers, 2) if part.registers > 1 else np.ascontiguousarray(registers[0])[:, :, None]
    warps = len(held)
    if part.bits >= 8:
        flat = held.reshape(warps, -1).view(f"u{part.bits // 8}")
    else:
        shifts = np.arange(0, 32, part.bits, dtype=np.uint32)
        flat = (
            (held.reshape(warps, -1, 1) >> shifts & np.uint32((1 << part.bits) - 1)).astype(np.uint8).reshape(warps, -1)
        )
    found = flat.take(_places(part), axis=1)
    if part.bits == 8 and part.kind in _BITS:
        found = found >> np.uint8(_LOW.get(part.kind, 0)) & np.uint8((1 << _BITS[part.kind]) - 1)
    return found.reshape(warps, part.rows, part.columns)


def opens(layouts: Layouts) -> Callable[[Use, Mapping[int, tuple[Any, ...]]], bool]:
    """Whether the order of additions, or what subnormal inputs count as, decides of some element of D."""

    def asked(how: Use, lanes: Mapping[int, tuple[Any, ...]]) -> bool:
        p = product(how, layouts)
        if not is_float(p.a.kind):
            return False
        a, b, c, subnormal = _factors(how, p, _columns(p, lanes))
        return subnormal or not all_settled(a, b, c, (p.c.kind, p.d.kind))

    return asked


def _of_arrays(how: Use, p: Product, columns: Sequence[Any]) -> list[Any]:
    import numpy as np

    warps = len(columns[0])
    judgement: list[Any] = []
    with np.errstate(all="ignore"):
        if is_float(p.a.kind):
            a, b, c, _ = _factors(how, p, columns, judgement)
            result = summed(a, b, c, p.d.kind, p.mode)
            if p.saturates:
                result = saturated(result, p.d.kind)
        else:
            result = _of_integers(how, p, columns, judgement)
    flat = result.reshape(warps, -1).take(_order(p.d), axis=1)
    registers = np.ascontiguousarray(flat).view(f"u{p.d.width // 8}").reshape(warps, _WARP, p.d.registers)
    return [*(registers[:, :, i] for i in range(p.d.registers)), *judgement]


def _of_integers(how: Use, p: Product, columns: Sequence[Any], judgement: list[Any]) -> Any:
    import numpy as np

    a, b, c = _raw(p.a, columns), _raw(p.b, columns), _raw(p.c, columns).view(np.int32)
    if p.sparse is not None:
        a, good = _spread(how, p, p.sparse, a, columns)
        judgement.append(good)
    left, right = numbers(p.a.kind, a), numbers(p.b.kind, b)
    found = left @ right  # doubles hold it
    if p.operation == "xor":  # a + b - 2 a b
        found = left.sum(2)[:, :, None] + right.sum(1)[:, None, :] - 2 * found
    total = found.astype(np.int64) + c
    if p.saturates:
        total = total.clip(-(1 << 31), (1 << 31) - 1)
    return total.astype(np.uint32)


def _factors(
    how: Use, p: Product, columns: Sequence[Any], judgement: list[Any] | None = None
) -> tuple[Any, Any, Any, bool]:
    """A, B and C as doubles, scaled; and, where nobody asks for judgement, whether something in them is subnormal."""
    a, b, c = _raw(p.a, columns), _raw(p.b, columns), _raw(p.c, columns)
    if p.sparse is not None:
        a, good = _spread(how, p, p.sparse, a, columns)
        if judgement is not None:
            judgement.append(good)
    left, right, addend = numbers(p.a.kind, a), numbers(p.b.kind, b), numbers(p.c.kind, c)
    parts = ((p.a.kind, left), (p.b.kind, right), (p.c.kind, addend))
    subnormal = judgement is None and any(any_subnormal(kind, x) for kind, x in parts)
    if p.scaled is not None:
        left, right = _scaled(p, p.scaled, left, right, columns)
    if p.blocks > 1:
        warps = len(columns[0])
        left = left.reshape(warps, p.blocks, p.m, p.k)
        right = right.reshape(warps, p.k, p.blocks, p.n).transpose(0, 2, 1, 3)
        addend = addend.reshape(warps, p.blocks, p.m, p.n)
    return left, right, addend, subnormal


def _spread(how: Use, p: Product, sparse: Sparse, stored: Any, columns: Sequence[Any]) -> tuple[Any, Any]:
    """A sparse A with its zeros; and for each thread whether the positions that it tells are such as may be."""
    import numpy as np

    warps, rows, chunks = len(stored), p.m, p.k // sparse.wide
    selector = int(columns[sparse.at + 1].flat[0])
    holders, bits = (np.array(x) for x in zip(*_selected(sparse, how, selector), strict=True))
    words = columns[sparse.at].take(holders, axis=1) >> bits.astype(np.uint32)
    first, second = words & np.uint32(3), words >> np.uint32(2) & np.uint32(3)
    if sparse.wide == 2:
        good = ((first == 0) & (second == 1)) | ((first == 2) & (second == 3))
    else:
        good = first < second if sparse.ordered else first != second
    all_good = np.full((warps, _WARP), _exists(sparse, how, selector))
    for w, chunk in zip(*np.nonzero(~good), strict=True):
        all_good[w, holders[chunk]] = False
    full = np.zeros((warps, rows * chunks, sparse.wide), stored.dtype)
    held = stored.reshape(warps, rows * chunks, sparse.wide // 2)
    if sparse.wide == 2:
        np.put_along_axis(full, (first >> np.uint32(1)).astype(np.int64)[:, :, None], held, 2)
    else:
        for which, index in enumerate((second, first)):  # the first one counts where both are the same
            for within in range(sparse.group):
                at = index.astype(np.int64)[:, :, None] * sparse.group + within
                value = held[:, :, (1 - which) * sparse.group + within][:, :, None]
                np.put_along_axis(full, at, value, 2)
    return full.reshape(warps, rows, p.k), all_good


def _scaled(p: Product, scaled: Scaled, a: Any, b: Any, columns: Sequence[Any]) -> tuple[Any, Any]:
    import numpy as np

    words_a, words_b = columns[scaled.at], columns[scaled.at + 3]
    byte_a, thread_a, byte_b, thread_b = (int(columns[scaled.at + i].flat[0]) for i in (1, 2, 4, 5))
    givers_a = np.array([4 * (i % 8) + 2 * thread_a + i // 8 for i in range(p.m)])
    givers_b = np.array([4 * j + thread_b for j in range(p.n)])
    chunks = np.arange(scaled.chunks, dtype=np.uint32) * np.uint32(8)
    row = words_a.take(givers_a, axis=1)[:, :, None] >> (chunks + np.uint32(8 * byte_a)) & np.uint32(0xFF)
    column = words_b.take(givers_b, axis=1)[:, :, None] >> (chunks + np.uint32(8 * byte_b)) & np.uint32(0xFF)
    each = p.k // scaled.chunks
    return (
        a * np.repeat(numbers(scaled.kind, row), each, axis=2),
        b * np.repeat(numbers(scaled.kind, column), each, axis=2).transpose(0, 2, 1),
    )
