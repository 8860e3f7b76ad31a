"""Counting and turning the bits of values: known numbers by Python's own means, terms by halving."""

from __future__ import annotations

from ptxcore.values.terms import Value, add, bit_and, bit_or, eq, extract, ite, lshr, shl, zext

#: 0101..., 0011..., 00001111... of 64 bits: of each pair of fields the lower one.
_LOWER = {size: sum(((1 << size) - 1) << place for place in range(0, 64, 2 * size)) for size in (1, 2, 4, 8, 16, 32)}


def ones(a: Value, width: int) -> Value:
    """How many bits of `a` are 1, as 32 bits; `width` is 32 or 64."""
    if type(a) is int:
        return a.bit_count()
    size = 1
    while size < width:  # each field of 2 * size bits becomes the sum of its halves
        lower = _LOWER[size] & ((1 << width) - 1)
        a = add(bit_and(a, lower, width), bit_and(lshr(a, size, width), lower, width), width)
        size *= 2
    return extract(a, 31, 0)


def leading_zeros(a: Value, width: int) -> Value:
    """How many bits are 0 above the highest 1, as 32 bits; `width` is a power of two."""
    if type(a) is int:
        return width - a.bit_length()
    count: Value = 0
    while width > 1:
        width //= 2
        high, low = extract(a, 2 * width - 1, width), extract(a, width - 1, 0)
        none = eq(high, 0)
        count = add(count, ite(none, width, 0, 32), 32)
        a = ite(none, low, high, width)
    return add(count, ite(eq(a, 0), 1, 0, 32), 32)


def reverse(a: Value, width: int) -> Value:
    """The bits of `a` in the other order; `width` is a power of two."""
    if type(a) is int:
        return int(f"{a:0{width}b}"[::-1], 2)
    size = 1
    while size < width:  # swap the fields of each pair
        lower = _LOWER[size] & ((1 << width) - 1)
        a = bit_or(bit_and(lshr(a, size, width), lower, width), shl(bit_and(a, lower, width), size, width), width)
        size *= 2
    return a


def select_one(a: Value, count: Value) -> Value:
    """The place, of 32 bits, of that 1 in `a` (of 32 bits) that has `count` - 1 others below it; all ones where there is
    none."""
    found: Value = 0xFFFFFFFF
    seen: Value = 0
    for place in range(32):
        bit = extract(a, place, place)
        seen = add(seen, zext(bit, 32), 32)
        found = ite(bit_and(bit, eq(seen, count), 1), place, found, 32)
    return found


def low_ones(count: Value, width: int) -> Value:
    """`count` ones below zeros; all ones where `count`, of `width` bits too, is `width` or more."""
    return add(shl(1, count, width), (1 << width) - 1, width)
