"""Strict orders as rows of bitsets."""

from __future__ import annotations

from axioms.cat.evaluate import bits
from axioms.cat.nodes import Rows


def is_strict_order(rows: Rows, among: int) -> bool:
    """Whether no event of a bitset precedes itself, and who precedes one that precedes another precedes that one."""
    for i in bits(among):
        row = rows[i] & among
        through = 0
        for j in bits(row):
            through |= rows[j] & among
        if through & ~row or row >> i & 1:
            return False
    return True


def immediate(rows: Rows) -> Rows:
    """A strict order without the pairs that others imply."""
    result = []
    for row in rows:
        through = 0
        for j in bits(row):
            through |= rows[j]
        result.append(row & ~through)
    return result


def those_after(row: int, rows: Rows) -> list[int]:
    """Those in a set that come after others in it."""
    through = 0
    for i in bits(row):
        through |= rows[i]
    return bits(row & through)
