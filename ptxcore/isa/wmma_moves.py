"""Fragments of `wmma` (PTX ISA 9.0, section 9.7.14.4): where elements are, and how they are loaded and stored.

Which thread holds which element is unspecified. Here a matrix A, C or D is cut row by row, and B column by column, into as many
pieces as there are threads; where registers hold more than the matrix has, it is cut again from its beginning. The layout in
memory makes no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ptxcore.isa.form import Use, Whole
from ptxcore.isa.fragments import BITS, shape
from ptxcore.records import NamedTuple
from ptxcore.values.packed import join
from ptxcore.values.terms import Value, add, all_of, conj, eq, extract, lshr, mul, ule, zext

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

_WARP = 32


class Cut(NamedTuple):
    """A matrix cut into pieces of `each` elements."""

    rows: int
    columns: int
    each: int
    by_column: bool

    def place(self, lane: int, element: int) -> tuple[int, int]:
        """Row and column of an element of a thread."""
        number = (lane * self.each + element) % (self.rows * self.columns)
        if self.by_column:
            column, row = divmod(number, self.rows)
            return row, column
        return divmod(number, self.columns)


def of_wmma(how: Use, matrix: str, kind: str, bits: int, registers: int) -> Cut:
    """The fragment of a matrix in so many registers."""
    m, n, k = shape(how.words["shape"])
    rows, columns = {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))
    return Cut(rows, columns, registers * max(32, bits) // bits, matrix == "b")


class WmmaPlan(NamedTuple):
    """The accesses of each thread: for each of `together` elements, by lane, how many strides and how many elements behind the
    first one; `bits` of an element, `width` of a register; the least stride, and bytes to which rows are aligned."""

    places: tuple[tuple[tuple[int, int], ...], ...]
    bits: int
    together: int
    width: int
    stride: int
    alignment: int


@lru_cache(maxsize=256)
def _plan(how: Use) -> WmmaPlan:
    words = how.words
    part = words["part"] or next(part for part in "abcd" if how.has(part))
    (registers,) = [e.length for e in how.wanted if e.parameter.name in ("d", "r")]
    bits, by_row = BITS[how.type], how.has("row")
    cut = of_wmma(how, part, how.type, bits, registers)
    together = max(1, 8 // bits)
    places = []
    for element in range(0, cut.each, together):
        at = [cut.place(lane, element) for lane in range(_WARP)]
        places.append(tuple(place if by_row else place[::-1] for place in at))
    width = 64 if bits == 64 else 32
    return WmmaPlan(tuple(places), bits, together, width, cut.columns if by_row else cut.rows, registers * width // 8)


def _stride(how: Use, given: Value | None) -> Value:
    return _plan(how).stride if given is None else given


def rows(how: Use, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, tuple[Value, ...]]:
    """The addresses of each thread's elements; whether its operands are those of the others"""
    plan = _plan(how)
    first, *given = lanes[0]
    stride = _stride(how, given[0] if given else None)
    found = {}
    for lane, (address, *own) in lanes.items():
        told: list[Value] = []
        for places in plan.places:
            major, minor = places[lane]
            elements = add(mul(zext(stride, 64), major, 64), minor, 64)
            told.append(add(first, lshr(mul(elements, plan.bits, 64), 3, 64), 64))
        same = conj(eq(address, first), eq(own[0], stride) if own and own[0] is not None else 1)
        found[lane] = (*told, same)
    return found


def _told(how: Use) -> tuple[int, ...]:
    return (*[64] * len(_plan(how).places), 1)


def rows_of_warps(how: Use, columns: Sequence[Any]) -> list[Any]:
    """`rows` of many warps."""
    import numpy as np

    plan = _plan(how)
    address, *rest = columns
    first = address[:, :1]
    stride = rest[0][:, :1].astype(np.uint64) if rest else np.full(first.shape, plan.stride, np.uint64)
    found = []
    for places in plan.places:
        major, minor = np.array(places, np.uint64).T
        found.append(first + ((stride * major + minor) * np.uint64(plan.bits) >> np.uint64(3)))
    same = address == first
    return [*found, same & (rest[0] == rest[0][:, :1]) if rest else same]


def _check(how: Use, thread: Thread, same: Value, address: Value, stride: Value | None) -> None:
    plan = _plan(how)
    thread.require(same, "bad-matrix", "the threads of the warp give different addresses or strides of one matrix")
    size = plan.alignment
    aligned = [eq(extract(address, size.bit_length() - 2, 0), 0)]
    if stride is not None:
        each = size * 8 // plan.bits  # elements
        if each > 1:
            aligned.append(eq(extract(stride, each.bit_length() - 2, 0), 0))
        message = f"the stride of a matrix is less than {plan.stride}, the length of its rows or columns"
        thread.require(ule(plan.stride, stride, 32), "bad-matrix", message)
    message = f"rows or columns of a matrix do not lie at multiples of {size} bytes, the size of a fragment"
    thread.require(all_of(aligned), "misaligned", message)


def load(how: Use, thread: Thread, told: Sequence[Value], p: Value, stride: Value | None) -> tuple[Value, ...]:
    """d = the thread's elements of the matrix"""
    plan = _plan(how)
    *addresses, same = told
    _check(how, thread, same, p, stride)
    part = how.part(plan.bits * plan.together)
    read = [thread.load(part, address) for address in addresses]
    per = plan.width // part.width
    return tuple(join(read[i : i + per], part.width) for i in range(0, len(read), per))


def store(
    how: Use, thread: Thread, told: Sequence[Value], p: Value, registers: tuple[Value, ...], stride: Value | None
) -> tuple[()]:
    """the thread's elements go to the matrix"""
    plan = _plan(how)
    *addresses, same = told
    _check(how, thread, same, p, stride)
    per = plan.width // plan.bits
    for i, address in enumerate(addresses):
        low = i % per * plan.bits
        value = extract(registers[i // per], low + plan.bits - 1, low)
        thread.store(how.part(plan.bits, i // per), address, value)
    return ()


def _least(how: Use) -> int:
    return max(8, _plan(how).bits) // 8


LOAD = Whole(("p", "stride"), _told, load, _least, rows_of_warps)
STORE = LOAD._replace(after=store)
