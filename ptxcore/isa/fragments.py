"""Matrix shapes and the registers in which a thread holds its part of a matrix (PTX ISA 9.0, sections 9.7.14 to
9.7.15). A warp's 32 threads share a matrix evenly, in registers of 32 bits (64 for .f64)."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

#: Bits of an element of each type.
BITS = {
    "f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
    "e3m2": 8, "e2m3": 8, "e2m1": 8, "s4": 4, "u4": 4, "b1": 1,
}  # fmt: skip


class Layout(NamedTuple):
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
    "m8n8": Layout(_lanes(2), ((0, 1),)),
    "m16n16": Layout(_lanes(4), ((0, 1), (0, 2), (8, 0))),
    "m8n16": Layout(_lanes(4), ((0, 1), (0, 2))),
    "m16n8": Layout(_lanes(2), ((0, 1), (8, 0))),
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
