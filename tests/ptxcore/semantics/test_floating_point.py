"""Floating-point instructions worked by hand: the manual's tables of corner cases, and where modifiers change something."""

from __future__ import annotations

from typing import Any

import pytest
from driver import apply

ONE, TWO, HALF = 0x3F800000, 0x40000000, 0x3F000000
INF, NAN, MINUS = 0x7F800000, 0x7FFFFFFF, 1 << 31
TINY = 1  # the smallest subnormal single
LEAST = 0x00800000  # the smallest normal one
INF64, NAN64_HIGH = 0x7FF << 52, 0x7FFFFFFF << 32

#: The manual's tables: instruction, argument -> result.
TABLES = {
    "rcp.approx.f32": {MINUS | INF: MINUS, MINUS: MINUS | INF, 0: INF, INF: 0, NAN: NAN},
    "rcp.rn.f32": {MINUS | INF: MINUS, MINUS: MINUS | INF, 0: INF, INF: 0, NAN: NAN, TWO: HALF},
    "sqrt.approx.f32": {MINUS | INF: NAN, MINUS | ONE: NAN, MINUS: MINUS, 0: 0, INF: INF, NAN: NAN},
    "rsqrt.approx.f32": {MINUS | INF: NAN, MINUS | ONE: NAN, MINUS: MINUS | INF, 0: INF, INF: 0, NAN: NAN},
    "sin.approx.f32": {MINUS | INF: NAN, MINUS: MINUS, 0: 0, INF: NAN, NAN: NAN},
    "cos.approx.f32": {MINUS | INF: NAN, MINUS: ONE, 0: ONE, INF: NAN, NAN: NAN},
    "lg2.approx.f32": {MINUS | INF: NAN, MINUS | ONE: NAN, MINUS: MINUS | INF, 0: MINUS | INF, INF: INF, NAN: NAN},
    "ex2.approx.f32": {MINUS | INF: 0, MINUS: ONE, 0: ONE, INF: INF, NAN: NAN},
    "tanh.approx.f32": {MINUS | INF: MINUS | ONE, MINUS: MINUS, 0: 0, INF: ONE, NAN: NAN, TINY: TINY},
    "tanh.approx.f16": {0xFC00: 0xBC00, 0x8000: 0x8000, 0: 0, 0x7C00: 0x3C00, 0x7E00: 0x7FFF},
    "ex2.approx.f16": {0xFC00: 0, 0x8000: 0x3C00, 0: 0x3C00, 0x7C00: 0x7C00, 0x7E00: 0x7FFF},
    "ex2.approx.ftz.bf16": {0xFF80: 0, 0x8001: 0x3F80, 0x8000: 0x3F80, 0: 0x3F80, 1: 0x3F80, 0x7F80: 0x7F80, 0x7FC0: 0x7FFF},
    "rcp.approx.ftz.f64": {
        1 << 63 | INF64: 1 << 63, 1 << 63 | 1 << 40: 1 << 63 | INF64, 1 << 63: 1 << 63 | INF64, 0: INF64, 1 << 40: INF64,
        INF64: 0, INF64 | 1 << 51: NAN64_HIGH, 0x4000000000000001: 0x3FE << 52,
    },
    "rsqrt.approx.ftz.f64": {
        1 << 63 | INF64: NAN64_HIGH, 1 << 63 | 1 << 40: 1 << 63 | INF64, 1 << 63: 1 << 63 | INF64, 0: INF64, 1 << 40: INF64,
        INF64: 0, INF64 | 1 << 51: NAN64_HIGH, 0x4010000000000000: 0x3FE << 52,
    },
}  # fmt: skip


@pytest.mark.parametrize("instruction", TABLES)
def test_corner_cases(instruction: str) -> None:
    for argument, expected in TABLES[instruction].items():
        assert apply(instruction, argument) == expected, hex(argument)


@pytest.mark.parametrize(
    ("instruction", "sources", "expected"),
    [
        # The last place that each rounding gives to 1 + 2**-24 and its negative.
        ("add.f32", (ONE, 0x33800000), ONE),
        ("add.rp.f32", (ONE, 0x33800000), ONE + 1),
        ("add.rz.f32", (ONE, 0x33800001), ONE),
        ("add.rm.f32", (MINUS | ONE, MINUS | 0x33800000), MINUS | ONE + 1),
        ("sub.rm.f32", (ONE, ONE), MINUS),  # what cancels is -0 when rounding down
        ("sub.rn.f32", (ONE, ONE), 0),
        ("mul.f32", (TINY, HALF), 0),
        ("mul.rp.f32", (TINY, HALF), TINY),
        ("mul.ftz.f32", (LEAST, HALF), 0),
        ("mul.ftz.f32", (MINUS | LEAST, HALF), MINUS),
        ("add.ftz.f32", (TINY, ONE), ONE),
        ("add.sat.f32", (ONE, ONE), ONE),
        ("add.sat.f32", (MINUS | ONE, 0), 0),
        ("add.sat.f32", (INF, MINUS | INF), 0),  # NaN
        ("mul.sat.f32", (MINUS, ONE), 0),  # -0.0
        ("fma.rn.f32", (0x3F800001, 0x3F800001, MINUS | 0x3F800002), 0x28800000),  # 2**-46 is not lost
        ("mad.rn.f32", (TWO, TWO, ONE), 0x40A00000),
        ("add.f32x2", (ONE << 32 | TWO, TWO << 32 | TWO), 0x40400000 << 32 | 0x40800000),
        ("div.full.f32", (ONE, TWO), HALF),
        ("div.approx.f32", (0x7F000000, 0x7E800001), 0),  # |b| above 2**126
        ("div.approx.f32", (INF, 0x7E800001), NAN),
        ("div.approx.f32", (MINUS | 0x7F000000, 0x7E800000), MINUS | TWO),
        ("div.rn.f32", (0x7F000000, 0x7E800001), 0x3FFFFFFE),
        ("abs.f64", (1 << 63 | INF64 | 5,), 1 << 63 | INF64 | 5),  # NaN passes
        ("neg.ftz.f32", (TINY,), MINUS),
        ("copysign.f32", (MINUS, ONE), MINUS | ONE),
        ("testp.normal.f32", (0,), 1),
        ("testp.subnormal.f32", (0,), 0),
        ("testp.subnormal.f64", (1,), 1),
        ("testp.number.f32", (INF,), 1),
        # Payloads of doubles, made quiet.
        ("add.f64", (0x3FF << 52, INF64 | 7), INF64 | 1 << 51 | 7),
        ("sub.f64", (0x3FF << 52, INF64 | 7), INF64 | 1 << 51 | 7),
        ("rsqrt.approx.f64", (INF64 | 7,), INF64 | 1 << 51 | 7),
    ],
)  # fmt: skip
def test_arithmetic(instruction: str, sources: tuple[int, ...], expected: int) -> None:
    assert apply(instruction, *sources) == expected


@pytest.mark.parametrize(
    ("instruction", "sources", "expected"),
    [
        ("min.f32", (0, MINUS), MINUS),
        ("max.f32", (MINUS, 0), 0),
        ("min.f32", (NAN, TWO), TWO),
        ("min.NaN.f32", (NAN, TWO), NAN),
        ("max.f32", (0x7FC00001, 0xFFC00001), NAN),
        ("min.xorsign.abs.f32", (MINUS | TWO, ONE), MINUS | ONE),
        ("max.xorsign.abs.f32", (MINUS | TWO, MINUS | ONE), TWO),
        ("max.NaN.xorsign.abs.f32", (MINUS | TWO, NAN), NAN),
        ("min.f32", (TWO, ONE, MINUS | ONE), MINUS | ONE),
        ("min.abs.f32", (MINUS | TWO, TWO, MINUS | ONE), ONE),
        ("max.NaN.f32", (TWO, ONE, NAN), NAN),
        ("min.ftz.f32", (TINY, MINUS | TINY), MINUS),
        ("min.f16x2", (0x3C007E00, 0x40003C00), 0x3C003C00),
        ("max.xorsign.abs.bf16", (0xC000, 0x3F80), 0xC000),
    ],
)
def test_minimum_and_maximum(instruction: str, sources: tuple[int, ...], expected: int) -> None:
    assert apply(instruction, *sources) == expected


@pytest.mark.parametrize(
    ("instruction", "sources", "expected"),
    [
        ("add.f16", (0x7BFF, 0x7BFF), 0x7C00),
        ("add.sat.f16x2", (0x3C00BC00, 0x3C000000), 0x3C000000),
        ("fma.rn.relu.f16", (0xBC00, 0x3C00, 0), 0),
        ("fma.rn.relu.f16", (0x7C00, 0, 0), 0x7FFF),
        ("fma.rn.relu.bf16x2", (0x3F80BF80, 0x40004000, 0), 0x40000000),
        ("fma.rn.oob.f16x2", (0x7FF73C00, 0x3C003C00, 0x3C003C00), 0x00004000),
        ("fma.rn.oob.f16", (0x7E00, 0x3C00, 0), 0x7FFF),  # another NaN
        ("fma.rn.ftz.f16", (0x0400, 0x3800, 0), 0),
        ("neg.bf16x2", (0x3F80BF80,), 0xBF803F80),
        ("add.rz.sat.f32.bf16", (0x3F80, HALF), ONE),
        ("sub.f32.f16", (0x3C00, HALF), HALF),
        ("fma.rn.f32.f16", (0x4000, 0x4200, MINUS | ONE), 0x40A00000),
    ],
)
def test_half_and_mixed_precision(instruction: str, sources: tuple[int, ...], expected: int) -> None:
    assert apply(instruction, *sources) == expected


@pytest.mark.parametrize(
    ("instruction", "sources", "expected"),
    [
        ("set.lt.f32.s32", (-1, 0), ONE),
        ("set.lt.u32.u32", (-1, 0), 0),
        ("set.eq.u32.f32", (0, MINUS), 0xFFFFFFFF),
        ("set.ltu.and.u32.f32", (NAN, ONE, 1), 0xFFFFFFFF),
        ("set.lt.and.u32.f32", (NAN, ONE, 1), 0),
        ("set.eq.ftz.u32.f32", (TINY, 0), 0xFFFFFFFF),
        ("set.num.xor.s32.bf16", (0x3F80, 0x7FC0, 1), 0xFFFFFFFF),
        ("set.lt.f16x2.f16x2", (0x3C004000, 0x40004000), 0x3C000000),
        ("set.le.u32.f16x2", (0x3C004000, 0x40004000), 0xFFFFFFFF),
        ("set.gt.u16.f16", (0x4000, 0x3C00), 0xFFFF),
        ("set.equ.bf16x2.bf16x2", (0x7FC03F80, 0x00003F80), 0x3F803F80),
        ("setp.lt.f32", (ONE, TWO), (1, 0)),
        ("setp.lt.f32", (NAN, TWO), (0, 1)),
        ("setp.geu.or.f64", (0, 0x3FF << 52, 1), (1, 1)),
        ("setp.lt.f16x2", (0x3C004000, 0x40003C00), (0, 1)),
        ("slct.u32.s32", (5, 6, -1), 6),
        ("slct.u32.f32", (5, 6, MINUS), 5),
        ("slct.u32.f32", (5, 6, NAN), 6),
        ("slct.u32.f32", (5, 6, MINUS | TINY), 6),
        ("slct.ftz.u32.f32", (5, 6, MINUS | TINY), 5),
    ],
)
def test_comparison(instruction: str, sources: tuple[int, ...], expected: Any) -> None:
    assert apply(instruction, *sources) == expected
