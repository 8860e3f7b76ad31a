"""Integer arithmetic and logic worked by hand: the manual's examples, and the values at which something changes."""

from __future__ import annotations

from typing import Any

import pytest
from driver import apply

ALL = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("instruction", "sources", "expected"),
    [
        ("add.u16x2", (0xFFFF0001, 0x00010001), 0x00000002),  # no carry between the halves
        ("add.sat.s32", (0x7FFFFFFF, 1), 0x7FFFFFFF),
        ("sub.sat.s32", (-0x80000000, 1), 0x80000000),
        ("min.s16x2", (0xFFFF0005, 0x00010003), 0xFFFF0003),
        ("min.u16x2", (0xFFFF0005, 0x00010003), 0x00010003),
        ("min.relu.s16x2", (0xFFFF0005, 0x00010003), 0x00000003),
        ("min.relu.s32", (-5, 3), 0),
        ("max.relu.s32", (-5, -3), 0),
        ("max.relu.s16x2", (0x8000FFFF, 0x7FFF8000), 0x7FFF0000),
        ("mul24.lo.u32", (0xFF000003, 0x01000005), 15),  # the high bytes do not count
        ("mul24.hi.u32", (0xFFFFFF, 0xFFFFFF), 0xFFFFFE00),
        ("mul24.hi.s32", (0xFFFFFF, 1), ALL),  # -1 * 1
        ("mad24.lo.s32", (3, -4, 5), -7 & ALL),
        ("mad24.hi.sat.s32", (0x7FFFFF, 0x7FFFFF, 0x7FFFFFFF), 0x7FFFFFFF),
        ("sad.u32", (3, 10, 100), 107),
        ("sad.s32", (-3, 10, 100), 113),
        ("sad.u16", (0, 65535, 1), 0),
        ("div.s32", (-7, 2), -3 & ALL),
        ("rem.s32", (-7, 2), -1 & ALL),
        ("div.s32", (-0x80000000, -1), 0x80000000),
        ("div.u32", (5, 0), ALL),
        ("rem.u32", (5, 0), ALL),
        ("div.s32", (-5, 0), ALL),
        ("popc.b64", (2**64 - 1,), 64),
        ("popc.b32", (0,), 0),
        ("clz.b32", (0,), 32),
        ("clz.b64", (1,), 63),
        ("bfind.u32", (0,), ALL),
        ("bfind.u32", (1,), 0),
        ("bfind.s32", (-1,), ALL),
        ("bfind.s32", (-2,), 0),
        ("bfind.s64", (-0x8000000000000000,), 62),
        ("bfind.shiftamt.u64", (1,), 63),
        ("bfind.shiftamt.s32", (0,), ALL),
        # the manual's four examples
        ("fns.b32", (ALL, 3, 1), 3),
        ("fns.b32", (ALL, 3, -1), 3),
        ("fns.b32", (0xFFFFFFFB, 2, 1), 3),
        ("fns.b32", (0xFFFFFFFB, 2, -1), 1),
        ("fns.b32", (0b1010, 0, 2), 3),
        ("fns.b32", (0b1010, 3, -2), 1),
        ("fns.b32", (0b1010, 3, 0), 3),
        ("fns.b32", (0b1010, 2, 0), ALL),
        ("fns.b32", (0, 5, 1), ALL),
        ("brev.b32", (0x00000001,), 0x80000000),
        ("brev.b64", (0x12345678,), 0x1E6A2C4800000000),
        ("bfe.u32", (0xABCD1234, 8, 16), 0xCD12),
        ("bfe.s32", (0xABCD1234, 8, 16), 0xFFFFCD12),
        ("bfe.s32", (0x80000000, 40, 4), ALL),
        ("bfe.u32", (0x80000000, 40, 4), 0),
        ("bfe.s32", (ALL, 0, 0), 0),
        ("bfe.s32", (ALL, 256, 257), ALL),  # 0 and 1 of their low bytes: bit 0 alone, and it is the sign
        ("bfe.u64", (2**64 - 1, 60, 200), 15),
        ("bfi.b32", (0xFF, 0, 4, 4), 0xF0),
        ("bfi.b32", (0xFF, ALL, 32, 4), ALL),
        ("bfi.b32", (0, ALL, 4, 0), ALL),
        ("bfi.b64", (0, 2**64 - 1, 60, 100), 2**60 - 1),
        ("szext.wrap.u32", (ALL, 0), 0),
        ("szext.wrap.u32", (ALL, 32), 0),
        ("szext.clamp.u32", (ALL, 32), ALL),
        ("szext.clamp.s32", (0x0000FF80, 8), 0xFFFFFF80),
        ("szext.clamp.s32", (0x80000000, 32), 0x80000000),
        ("szext.wrap.s32", (1, 33), ALL),
        ("bmsk.wrap.b32", (1, 2), 6),
        ("bmsk.clamp.b32", (0, 32), ALL),
        ("bmsk.wrap.b32", (0, 32), 0),
        ("bmsk.clamp.b32", (32, 1), 0),
        ("bmsk.wrap.b32", (33, 1), 2),
        ("bmsk.clamp.b32", (28, 10), 0xF0000000),
        ("dp4a.u32.u32", (0x01020304, 0x01010101, 100), 110),
        ("dp4a.s32.s32", (0xFFFFFFFF, 0x01010101, 0), -4 & ALL),
        ("dp4a.u32.s32", (0xFFFFFFFF, 0xFFFFFFFF, 0), -4 * 255 & ALL),
        ("dp2a.lo.u32.u32", (0x00030002, 0x0A0B0504, 1), 1 + 2 * 4 + 3 * 5),
        ("dp2a.hi.u32.u32", (0x00030002, 0x0A0B0504, 1), 1 + 2 * 11 + 3 * 10),
        ("dp2a.hi.s32.s32", (0x0000FFFF, 0x00FF0000, 0), 1),
    ],
)  # fmt: skip
def test_integer_arithmetic(instruction: str, sources: tuple[int, ...], expected: int) -> None:
    assert apply(instruction, *sources) == expected


@pytest.mark.parametrize(
    ("instruction", "sources", "expected"),
    [
        ("add.cc.u32", (ALL, 1), (0, 1)),
        ("add.cc.s32", (0x7FFFFFFF, 1), (0x80000000, 0)),  # the flag is the unsigned carry for signed types too
        ("addc.cc.u32", (ALL, 0, 1), (0, 1)),
        ("addc.cc.u64", (2**64 - 1, 2**64 - 1, 1), (2**64 - 1, 1)),
        ("addc.u32", (1, 2, 1), 4),
        ("addc.u16", (0xFFFF, 0, 1), 0),
        ("addc.sat.s32", (0x7FFFFFFF, 0, 1), 0x7FFFFFFF),
        ("addc.sat.s32", (0x7FFFFFFF, -1, 1), 0x7FFFFFFF),  # clamped once, at the end
        ("sub.cc.u32", (0, 1), (ALL, 1)),
        ("sub.cc.u32", (1, 1), (0, 0)),
        ("subc.cc.u32", (1, 1, 1), (ALL, 1)),
        ("subc.cc.u32", (0, ALL, 1), (0, 1)),  # b + CC.CF is 2**32
        ("subc.sat.s32", (-0x80000000, 0, 1), 0x80000000),
        ("mad.lo.cc.u32", (0x10000, 0x10000, 5), (5, 0)),  # only the addition carries
        ("mad.hi.cc.u32", (ALL, ALL, 2), (0, 1)),
        ("mad.hi.cc.s32", (ALL, 5, 1), (0, 1)),  # -5 >> 32, and 1
        ("madc.lo.cc.u64", (2**32, 2**32, 2**64 - 1, 1), (0, 1)),
        ("madc.hi.u32", (ALL, ALL, 0, 1), ALL),
        ("madc.hi.sat.s32", (0x7FFFFFFF, 4, 0x7FFFFFFF, 1), 0x7FFFFFFF),
    ],
)
def test_the_carry_flag(instruction: str, sources: tuple[int, ...], expected: Any) -> None:
    assert apply(instruction, *sources) == expected


def test_long_products_as_the_manual_makes_them() -> None:
    """[r3, r2, r1, r0] = [r5, r4] * [r7, r6], the example of section 9.7.2.6."""
    a, b = 0xFEDCBA9876543210, 0xF123456789ABCDEF
    r4, r5, r6, r7 = a % 2**32, a >> 32, b % 2**32, b >> 32
    r0, r1 = apply("mul.lo.u32", r4, r6), apply("mul.hi.u32", r4, r6)
    r1, carry = apply("mad.lo.cc.u32", r5, r6, r1)
    r2 = apply("madc.hi.u32", r5, r6, 0, carry)
    r1, carry = apply("mad.lo.cc.u32", r4, r7, r1)
    r2, carry = apply("madc.hi.cc.u32", r4, r7, r2, carry)
    r3 = apply("addc.u32", 0, 0, carry)
    r2, carry = apply("mad.lo.cc.u32", r5, r7, r2)
    r3 = apply("madc.hi.u32", r5, r7, r3, carry)
    assert r3 << 96 | r2 << 64 | r1 << 32 | r0 == a * b


@pytest.mark.parametrize(
    ("instruction", "sources", "expected"),
    [
        ("cnot.b32", (0,), 1),
        ("cnot.b64", (2**63,), 0),
        # the manual's tables: the operation applied to 0xF0, 0xCC and 0xAA is its own table
        ("lop3.b32", (0xF0, 0xCC, 0xAA, 0x80), 0x80),
        ("lop3.b32", (0xF0, 0xCC, 0xAA, 0x1A), 0x1A),
        ("lop3.b32", (0xFF00FF00, 0x0F0F0F0F, 0x12345678, 0xFE), 0xFF3FFF7F),
        ("lop3.b32", (0, 0, 0, 0x01), ALL),
        ("lop3.or.b32", (0xF0, 0xCC, 0xAA, 0x00, 0), (0, 0)),
        ("lop3.or.b32", (0xF0, 0xCC, 0xAA, 0x00, 1), (0, 1)),
        ("lop3.and.b32", (0xF0, 0xCC, 0xAA, 0x40, 1), (0x40, 1)),
        ("lop3.and.b32", (0xF0, 0xCC, 0xAA, 0x40, 0), (0x40, 0)),
        ("shf.l.clamp.b32", (0x80000001, 0x12345678, 4), 0x23456788),
        ("shf.l.clamp.b32", (0x80000001, 0x12345678, 99), 0x80000001),
        ("shf.l.wrap.b32", (0x80000001, 0x12345678, 32), 0x12345678),
        ("shf.r.clamp.b32", (0x80000001, 0x12345678, 4), 0x88000000),
        ("shf.r.clamp.b32", (0x80000001, 0x12345678, 32), 0x12345678),
        ("shf.r.wrap.b32", (0x80000001, 0x80000001, 33), 0xC0000000),  # a rotation
    ],
)
def test_logic(instruction: str, sources: tuple[int, ...], expected: Any) -> None:
    assert apply(instruction, *sources) == expected


def test_every_table_of_lop3_is_its_own_picture() -> None:
    assert [apply("lop3.b32", 0xF0, 0xCC, 0xAA, lut) & 0xFF for lut in range(256)] == list(range(256))
