"""What `mma`, `mma.sp` and `wmma.mma` compute, on arrays: of many warps at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ptxcore.isa.form import Use
from ptxcore.isa.product_shapes import (
    HELD_BITS,
    LOW,
    WARP,
    Layouts,
    MatrixPart,
    ProductShape,
    Scaled,
    Sparse,
    meaningful,
    product,
    selected,
)
from ptxcore.values.kept_arrays import KeptOfArrays
from ptxcore.values.products import all_settled, any_subnormal, is_float, numbers, saturated, summed


def columns_of(lanes: Mapping[int, tuple[Any, ...]], widths: Sequence[int]) -> list[Any]:
    """What the threads of one warp bring, in values of so many bits, as `Whole.arrays` is given it."""
    import numpy as np

    return [
        np.array([[lanes[lane][i] for lane in range(WARP)]], np.uint64).astype(f"u{w // 8}")
        for i, w in enumerate(widths)
    ]


def brought_by(p: ProductShape) -> list[int]:
    """The bits of the values that a thread brings."""
    widths = [part.width for part in (p.a, p.b, p.c) for _ in range(part.registers)]
    return [*widths, *([32, 32] if p.sparse else []), *([32, 16, 16] * 2 if p.scaled else [])]


def arrays(layouts: Layouts) -> Callable[[Use, Sequence[Any]], list[Any]]:
    """The same of many warps."""

    def run(how: Use, columns: Sequence[Any]) -> list[Any]:
        return _of_arrays(how, product(how, layouts), columns)

    return run


@lru_cache(maxsize=1024)
def _places(part: MatrixPart) -> Any:
    import numpy as np

    return np.array(part.places, np.int64)


@lru_cache(maxsize=1024)
def order_of(part: MatrixPart) -> Any:
    """For each element of the threads, which one of the matrix it is."""
    import numpy as np

    found = np.zeros(WARP * part.each, np.int64)
    found[list(part.places)] = np.arange(len(part.places))
    return found


def raw(part: MatrixPart, columns: Sequence[Any]) -> Any:
    """The bits of the elements of a matrix, of each warp."""
    import numpy as np

    registers = columns[part.first : part.first + part.registers]
    warps = len(registers[0])
    held = np.empty((*registers[0].shape, part.registers), registers[0].dtype)
    for i, register in enumerate(registers):
        held[:, :, i] = register
    if part.bits >= 8:
        flat = held.reshape(warps, -1).view(f"u{part.bits // 8}")
    else:
        shifts = np.arange(0, 32, part.bits, dtype=np.uint32)
        flat = (
            (held.reshape(warps, -1, 1) >> shifts & np.uint32((1 << part.bits) - 1)).astype(np.uint8).reshape(warps, -1)
        )
    found = flat.take(_places(part), axis=1)
    if part.bits == 8 and part.kind in HELD_BITS:
        found = found >> np.uint8(LOW.get(part.kind, 0)) & np.uint8((1 << HELD_BITS[part.kind]) - 1)
    return found.reshape(warps, part.rows, part.columns)


#: Matrices that products had last, as doubles, by the registers that they come from: several products have one.
_MATRICES = KeptOfArrays()


def _matrix(part: MatrixPart, columns: Sequence[Any]) -> Any:
    """A or B as doubles."""
    registers = columns[part.first : part.first + part.registers]

    def made() -> Any:
        found = numbers(part.kind, raw(part, columns))
        found.flags.writeable = False
        return found

    return _MATRICES.of(registers, made, part)


def opens(layouts: Layouts) -> Callable[[Use, Sequence[Any]], bool]:
    """Whether the order of additions, or what subnormal inputs count as, decides of some element of D of some warp."""

    def asked(how: Use, columns: Sequence[Any]) -> bool:
        p = product(how, layouts)
        if not is_float(p.a.kind) or not _opens(how, p, columns):
            return False
        # What many warps have in common says less than what each has.
        warps = range(len(columns[0]))
        return len(warps) == 1 or any(_opens(how, p, [column[i : i + 1] for column in columns]) for i in warps)

    return asked


def _opens(how: Use, p: ProductShape, columns: Sequence[Any]) -> bool:
    a, b, c, subnormal = _factors(how, p, columns)
    return subnormal or not all_settled(a, b, c, (p.c.kind, p.d.kind))


def _of_arrays(how: Use, p: ProductShape, columns: Sequence[Any]) -> list[Any]:
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
    flat = result.reshape(warps, -1).take(order_of(p.d), axis=1)
    registers = np.ascontiguousarray(flat).view(f"u{p.d.width // 8}").reshape(warps, WARP, p.d.registers)
    return [*(registers[:, :, i] for i in range(p.d.registers)), *judgement]


def _of_integers(how: Use, p: ProductShape, columns: Sequence[Any], judgement: list[Any]) -> Any:
    import numpy as np

    a, b, c = raw(p.a, columns), raw(p.b, columns), raw(p.c, columns).view(np.int32)
    if p.sparse is not None:
        a, good = spread(how, p, p.sparse, a, columns)
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
    how: Use, p: ProductShape, columns: Sequence[Any], judgement: list[Any] | None = None
) -> tuple[Any, Any, Any, bool]:
    """A, B and C as doubles, scaled; and, where nobody asks for judgement, whether something in them is subnormal."""
    if p.sparse is not None:
        a, good = spread(how, p, p.sparse, raw(p.a, columns), columns)
        if judgement is not None:
            judgement.append(good)
        left = numbers(p.a.kind, a)
    else:
        left = _matrix(p.a, columns)
    right, addend = _matrix(p.b, columns), numbers(p.c.kind, raw(p.c, columns))
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


def spread(how: Use, p: ProductShape, sparse: Sparse, stored: Any, columns: Sequence[Any]) -> tuple[Any, Any]:
    """A sparse A with its zeros; and for each thread whether the positions that it tells are such as may be."""
    import numpy as np

    warps, rows, chunks = len(stored), p.m, p.k // sparse.wide
    selector = int(columns[sparse.at + 1].flat[0])
    holders, bits = (np.array(x) for x in zip(*selected(sparse, how, selector), strict=True))
    words = columns[sparse.at].take(holders, axis=1) >> bits.astype(np.uint32)
    first, second = words & np.uint32(3), words >> np.uint32(2) & np.uint32(3)
    if sparse.wide == 2:
        good = ((first == 0) & (second == 1)) | ((first == 2) & (second == 3))
    else:
        good = first < second if sparse.ordered else first != second
    all_good = np.full((warps, WARP), meaningful(sparse, how, selector))
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


def _scaled(p: ProductShape, scaled: Scaled, a: Any, b: Any, columns: Sequence[Any]) -> tuple[Any, Any]:
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
