"""Which cells of Tensor Memory an instruction accesses (PTX ISA 9.0, sections 9.7.16.1, 9.7.16.2.3 and 9.7.16.10.5). A cell
has 32 bits; an address has the lane in its upper half, and the column in its lower one."""

from __future__ import annotations

from functools import cache

from ptxcore.records import NamedTuple

LANES = 128
COLUMNS = 512
#: Threads of a warp, and the lanes that it may load and store.
LANES_OF_A_WARP = 32


def place(address: int) -> tuple[int, int]:
    """The lane and the column of an address."""
    return address >> 16, address & 0xFFFF


class CellShape(NamedTuple):
    """A shape of loads and stores (figures 183 to 187): how many columns one repetition has, the (lane, column) that each bit
    of the number of a thread adds, lowest first, and those that each bit of the number of a register does."""

    columns: int
    threads: tuple[tuple[int, int], ...]
    registers: tuple[tuple[int, int], ...]


_ROWS = ((1, 0), (2, 0), (4, 0))
SHAPES = {
    "32x32b": CellShape(1, (*_ROWS, (8, 0), (16, 0)), ()),
    "16x64b": CellShape(2, ((8, 0), (0, 1), *_ROWS), ()),
    "16x128b": CellShape(4, ((0, 1), (0, 2), *_ROWS), ((8, 0),)),
    "16x256b": CellShape(8, ((0, 2), (0, 4), *_ROWS), ((0, 1), (8, 0))),
    "16x32bx2": CellShape(1, (*_ROWS, (8, 0)), ()),
}


@cache  # as many as there are forms, for each lane
def cells(shape: str, count: int, lane: int) -> tuple[tuple[int, int], ...]:
    """For each of `count` registers of a thread, the lane and column behind the address, in packed columns. The upper half of
    the threads of `.16x32bx2` has lanes of a second address."""
    found, form = [], SHAPES[shape]
    per = 1 << len(form.registers)
    for register in range(count):
        row = column = 0
        for bits, places in ((lane, form.threads), (register % per, form.registers)):
            for bit, (down, right) in enumerate(places):
                if bits >> bit & 1:
                    row, column = row + down, column + right
        found.append((row, column + register // per * form.columns))
    return tuple(found)


@cache
def lanes_of_rows(m: int) -> tuple[int, ...]:
    """The lanes that the rows of A and D have, of a product in one CTA without `.ws` (layouts D and F): with M = 64, 16 for
    each warp."""
    return tuple(range(128)) if m == 128 else tuple(row // 16 * 32 + row % 16 for row in range(64))
