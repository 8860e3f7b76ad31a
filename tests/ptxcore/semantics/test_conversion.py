"""Conversions worked by hand: the manual's rules for NaN and saturation, layouts of packed results, random bits."""

from __future__ import annotations

from typing import Any

import pytest
from driver import apply

ONE, TWO, INF, NAN, MINUS = 0x3F800000, 0x40000000, 0x7F800000, 0x7FC00000, 1 << 31
NAN64 = 0x7FF8 << 48


@pytest.mark.parametrize(
    ("instruction", "a", "expected"),
    [
        # NaN: 0, unless a type has 64 bits.
        ("cvt.rzi.s32.f32", NAN, 0),
        ("cvt.rzi.u8.f16", 0x7E00, 0),
        ("cvt.rzi.s64.f32", NAN, 1 << 63),
        ("cvt.rzi.u64.bf16", 0x7FC0, 1 << 63),
        ("cvt.rzi.s32.f64", NAN64, 1 << 31),
        ("cvt.rzi.u16.f64", NAN64, 1 << 15),
        ("cvt.rzi.s8.f64", NAN64, 1 << 7),
        # Clamped without .sat, too.
        ("cvt.rzi.u8.f32", 0x43960000, 255),  # 300
        ("cvt.rzi.s8.f32", MINUS | 0x43960000, 0x80),
        ("cvt.rzi.u32.f32", MINUS | ONE, 0),
        ("cvt.rzi.u32.f32", INF, 0xFFFFFFFF),
        ("cvt.rni.s32.f32", 0x40200000, 2),  # 2.5
        ("cvt.rni.s32.f32", 0x40600000, 4),  # 3.5
        ("cvt.rmi.s32.f32", 0xBF000000, 0xFFFFFFFF),
        ("cvt.rpi.s32.f32", 1, 1),
        ("cvt.rpi.ftz.s32.f32", 1, 0),
        ("cvt.rpi.f32.f32", 0xBF000000, MINUS),  # -0.5: a zero keeps its sign
        ("cvt.rni.f32.f32", 0x40200000, TWO),
        ("cvt.rn.f32.u32", 0xFFFFFFFF, 0x4F800000),
        ("cvt.rz.f32.u32", 0xFFFFFFFF, 0x4F7FFFFF),
        ("cvt.rn.f16.u64", 65536, 0x7C00),
        ("cvt.rz.f16.u64", 65536, 0x7BFF),
        ("cvt.rn.bf16.s32", -3, 0xC040),
        ("cvt.rn.sat.f32.s32", 7, ONE),
        ("cvt.sat.f32.f32", NAN, 0),
        ("cvt.sat.f64.f32", TWO, 0x3FF << 52),
        ("cvt.rn.f32.f64", NAN64, 0x7FFFFFFF),
        ("cvt.rn.ftz.f32.f64", 1, 0),
        ("cvt.ftz.f64.f32", MINUS | 1, 1 << 63),
        ("cvt.f32.f16", 1, 0x33800000),
        ("cvt.rn.relu.f16.f32", MINUS | ONE, 0),
        ("cvt.rn.relu.f16.f32", NAN, 0x7FFF),
        ("cvt.rn.satfinite.f16.f32", MINUS | INF, 0xFBFF),
        ("cvt.rn.satfinite.bf16.f32", 0x7F7FFFFF, 0x7F7F),
        ("cvt.rna.tf32.f32", ONE + 0x1000, ONE + 0x2000),  # halfway, away from zero
        ("cvt.rn.tf32.f32", ONE + 0x1000, ONE),
        ("cvt.rn.f16x2.e4m3x2", 0x7E7F, 0x5F007FFF),  # 448 and NaN
        ("cvt.rn.f16x2.e5m2x2", 0x7C3C, 0x7C003C00),
        ("cvt.rn.relu.f16x2.e2m1x2", 0x9F, 0x00000000),  # -0.5 and -6
        ("cvt.rn.f16x2.e2m1x2", 0x72, 0x46003C00),  # 6 and 1
        ("cvt.rn.f16x2.e2m3x2", 0xDFC8, 0x47803C00),  # the two upper bits of each byte do not count
        ("cvt.rn.satfinite.e5m2x2.f16x2", 0x7C003C00, 0x7B3C),
        ("cvt.rn.bf16x2.ue8m0x2", 0xFF00, 0x7FFF0040),
        ("cvt.rp.satfinite.ue8m0x2.bf16x2", 0x3FC07F80, 0x80FE),
    ],
)
def test_one_operand(instruction: str, a: int, expected: int) -> None:
    assert apply(instruction, a) == expected


THREE = 0x40400000


@pytest.mark.parametrize(
    ("instruction", "sources", "expected"),
    [
        ("cvt.rn.f16x2.f32", (ONE, TWO), 0x3C004000),  # a on top
        ("cvt.rn.satfinite.e4m3x2.f32", (INF, NAN), 0x7E7F),
        ("cvt.rn.satfinite.relu.e4m3x2.f32", (MINUS | INF, NAN), 0x007F),
        ("cvt.rn.satfinite.e2m1x2.f32", (MINUS | ONE, NAN), 0xA7),  # NaN becomes the largest number
        ("cvt.rn.satfinite.e3m2x2.f32", (INF, ONE), 0x1F0C),
        ("cvt.rz.ue8m0x2.f32", (THREE, INF), 0x80FF),
        ("cvt.rp.satfinite.ue8m0x2.f32", (THREE, INF), 0x81FE),
        ("cvt.rp.ue8m0x2.f32", (0x7F000001, MINUS | THREE), 0xFF81),  # beyond 2**127; the sign does not count
        ("cvt.rz.satfinite.ue8m0x2.f32", (0, NAN), 0x00FF),
        # 13 bits for each half: ONE + 0x1000 is halfway to the next one.
        ("cvt.rs.f16x2.f32", (ONE + 0x1000, ONE + 0x1000, 0x10000FFF), 0x3C013C00),
        ("cvt.rs.f16x2.f32", (ONE + 0x1000, ONE + 0x1000, 0xEFFFF000), 0x3C003C01),  # 3 bits of each do not count
        ("cvt.rs.bf16x2.f32", (ONE + 1, MINUS | ONE + 1, 0xFFFFFFFE), 0x3F81BF80),
        ("cvt.rs.satfinite.e4m3x4.f32", ((0x3F880000,) * 4, 0x80007FFF), 0x39393838),  # halfway: 1 + 1/16
        # The upper bytes of both halves for a and b, the lower ones for e and f.
        ("cvt.rs.satfinite.e2m1x4.f32", ((0x3FA00000,) * 4, 0x80000000), 0x3322),
        ("cvt.rs.satfinite.e2m1x4.f32", ((0x3FA00000,) * 4, 0x00800000), 0x2233),
        ("cvt.rs.satfinite.e2m1x4.f32", ((0x3FA00000,) * 4, 0x7F7FFFFF), 0x2222),
        ("cvt.pack.sat.s16.s32", (-70000, 5), 0x80000005),
        ("cvt.pack.sat.u8.s32.b32", (300, -1, 0x12345678), 0x5678FF00),
        ("cvt.pack.sat.s2.s32.b32", (1, -5, 0x0FFFFFFF), 0xFFFFFFF6),
        ("cvt.pack.sat.u4.s32.b32", (3, 99, 0), 0x3F),
    ],
)
def test_several_operands(instruction: str, sources: tuple[Any, ...], expected: int) -> None:
    assert apply(instruction, *sources) == expected
