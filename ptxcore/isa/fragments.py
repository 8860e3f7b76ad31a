"""Matrix shapes and the registers in which a thread holds its part of a matrix (PTX ISA 9.0, sections 9.7.14 to
9.7.15). A warp's 32 threads share a matrix evenly, in registers of 32 bits (64 for .f64)."""

from __future__ import annotations

import re
from functools import cache

from ptxcore.records import NamedTuple

#: Bits of an element of each type.
BITS = {
    "f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
    "e3m2": 8, "e2m3": 8, "e2m1": 8, "s4": 4, "u4": 4, "b1": 1,
}  # fmt: skip


class FragmentLayout(NamedTuple):
    """Where the elements of a matrix are that a warp holds: (row, column) is a sum over the bits of the lane, lowest first,
    and over those of the element's number in its thread. Most have threads four to a row (`_lanes`)."""

    lanes: tuple[tuple[int, int], ...]
    elements: tuple[tuple[int, int], ...]

    def place(self, lane: int, element: int) -> tuple[int, int]:
        """Row and column of an element of a thread."""
        row = column = 0
        for bits, places in ((lane, self.lanes), (element, self.elements)):
            for bit, (down, right) in enumerate(places):
                if bits >> bit & 1:
                    row, column = row + down, column + right
        return row, column


def _lanes(columns: int) -> tuple[tuple[int, int], ...]:
    """Four threads to a row, each with so many columns that follow each other; eight rows."""
    return (0, columns), (0, 2 * columns), (1, 0), (2, 0), (4, 0)


#: The matrices of `ldmatrix`, `stmatrix` and `movmatrix` (figures 104 to 110), by shape.
MOVED = {
    "m8n8": FragmentLayout(_lanes(2), ((0, 1),)),
    "m16n16": FragmentLayout(_lanes(4), ((0, 1), (0, 2), (8, 0))),
    "m8n16": FragmentLayout(_lanes(4), ((0, 1), (0, 2))),
    "m16n8": FragmentLayout(_lanes(2), ((0, 1), (8, 0))),
}


def multiplicand(rows: int, per: int, registers_: int, *, down: bool) -> FragmentLayout:
    """The fragment of A of `mma` (sections 9.7.14.5.2 to 9.7.14.5.13) in so many registers of `per` elements: four threads to
    a row, first in the upper rows, then in the lower ones (where there are 16), then in further columns. That of B is the same
    with rows and columns exchanged (`down`), and has 8 columns."""
    within = [(0, 1 << bit) for bit in range(per.bit_length() - 1)]
    further = [(8, 0)] if rows == 16 else []
    count = registers_ // (2 if rows == 16 else 1)
    further += [(0, (4 * per) << bit) for bit in range(count.bit_length() - 1)]
    lanes, elements_ = _lanes(per), (*within, *further)
    if down:
        lanes, elements_ = _turned(lanes), tuple(_turned(elements_))
    return FragmentLayout(lanes, elements_)


def _turned(places: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return tuple((right, down) for down, right in places)


#: Accumulators (C and D) of 8 and of 16 rows.
ACCUMULATORS = {8: FragmentLayout(_lanes(2), ((0, 1),)), 16: FragmentLayout(_lanes(2), ((0, 1), (8, 0)))}

_QUADS = ((8, 0), (16, 0), (4, 0))
_SIDES = ((0, 8), (0, 16), (0, 4))
#: `mma.m8n8k4` of `.f16` (section 9.7.14.5.1), four products at once: the rows of A, C and D one below the other, the columns
#: of B one beside the other. By matrix and layout, of accumulators by type.
AT_ONCE = {
    ("a", "row"): FragmentLayout(((1, 0), (2, 0), *_QUADS), ((0, 1), (0, 2))),
    ("a", "col"): FragmentLayout(((0, 1), (0, 2), *_QUADS), ((1, 0), (2, 0))),
    ("b", "row"): FragmentLayout(((1, 0), (2, 0), *_SIDES), ((0, 1), (0, 2))),
    ("b", "col"): FragmentLayout(((0, 1), (0, 2), *_SIDES), ((1, 0), (2, 0))),
    ("c", "f16"): FragmentLayout(((1, 0), (2, 0), *_QUADS), ((0, 1), (0, 2), (0, 4))),
    ("c", "f32"): FragmentLayout(((1, 0), (0, 2), *_QUADS), ((0, 1), (2, 0), (0, 4))),
}


class Metadata(NamedTuple):
    """Where the positions of nonzero elements of a sparse A stand (section 9.7.14.6.2): for a chunk `j` of row `r`, in the
    thread `4 * (r % 8) + first + j // chunks * across + r // 8 * below` at the bit `4 * (j % chunks) + 16 * (r // 8)` (without
    the last where `below`). `first` comes of the selector, `each` times it."""

    chunks: int
    across: int
    below: int
    each: int


#: By chunks of a row and whether a chunk has two elements that count, in pairs of 16 bits or more, or not.
METADATA = {
    (4, True): Metadata(4, 0, 0, 1),
    (8, True): Metadata(4, 1, 0, 2),
    (8, False): Metadata(8, 0, 1, 2),
    (16, False): Metadata(8, 2, 1, 0),
}

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)\Z")


@cache  # as many as the declarations have
def shape(name: str) -> tuple[int, int, int]:
    """M, N and K of `m16n8k16`: A has M rows and K columns, B has K and N, C and D have M and N."""
    found = _SHAPE.match(name)
    if found is None:
        raise ValueError(f"not a matrix shape: {name!r}")
    m, n, k = map(int, found.groups())
    return m, n, k


def elements(matrix: str, name: str) -> int:
    """How many elements the matrix `a`, `b`, `c` or `d` has in a shape."""
    m, n, k = shape(name)
    return {"a": m * k, "b": k * n}.get(matrix) or m * n


def registers(count: int, element: str, *, threads: int = 32, bits: int = 0) -> int:
    """How many registers of a thread hold its part of `count` elements; `bits` where they are packed tighter."""
    return count * (bits or BITS[element]) // ((64 if element == "f64" else 32) * threads)
