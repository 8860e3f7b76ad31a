"""Fast floating-point operations give the bits that exact arithmetic gives."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxcore.values import fast, ieee
from ptxcore.values.floats import fcompare
from ptxcore.values.ieee import F32, F64, Format

EDGES = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x3F800001, 0x33800000, 0x4B800000]
WORDS = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([e | s for e in EDGES for s in (0, 1 << 31)]))
LONGS = st.integers(0, 2**64 - 1)


def same(form: Format, got: int, expected: int) -> bool:
    return got == expected or (ieee.is_nan(form, got) and ieee.is_nan(form, expected))


@settings(max_examples=1000)
@given(WORDS, WORDS, WORDS)
@example(0x3F800001, 0x3F800001, 0x33800000)
@example(0x00800001, 0x3F7FFFFF, 0x80000001)
def test_single_precision(a: int, b: int, c: int) -> None:
    assert fast.add_f32(a, b) == ieee.add(F32, a, b)
    assert fast.mul_f32(a, b) == ieee.mul(F32, a, b)
    assert fast.div_f32(a, b) == ieee.div(F32, a, b)
    assert fast.sqrt_f32(a) == ieee.sqrt(F32, a)
    assert fast.fma_f32(a, b, c) == ieee.fma(F32, a, b, c)


@given(st.integers(2**22, 2**24), st.integers(2**22, 2**24), st.integers(-60, 60), st.integers(0, 2**31))
def test_sums_that_cancel(a: int, b: int, shift: int, c: int) -> None:
    x, y = ieee.encode(F32, 0, a, -20), ieee.encode(F32, 1, b, shift)
    product = ieee.mul(F32, x, y)
    for z in (product ^ 1 << 31, (product ^ 1 << 31) + 1, c):
        assert fast.fma_f32(x, y, z) == ieee.fma(F32, x, y, z)


@settings(max_examples=500)
@given(LONGS, LONGS)
def test_double_precision(a: int, b: int) -> None:
    assert fast.add_f64(a, b) == ieee.add(F64, a, b)
    assert fast.mul_f64(a, b) == ieee.mul(F64, a, b)


@pytest.mark.parametrize("comparison", ["eq", "neu", "lt", "le", "gt", "ge"])
@given(a=WORDS, b=WORDS)
def test_comparisons(comparison: str, a: int, b: int) -> None:
    assert fast._FAST["compare", "f32", comparison](a, b) == fcompare("f32", comparison, a, b)
