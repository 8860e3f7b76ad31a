"""Floating-point terms: evaluating what was built on symbols gives what numbers give at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxcore.values import floats
from ptxcore.values.floats import fcompare, fconvert, fmax, fmin
from ptxcore.values.ieee import FORMATS
from ptxcore.values.terms import Value, evaluate, substitute, symbol

MODES = ("rn", "rz", "rm", "rp")
TWO: tuple[Callable[[str, Value, Value, str], Value], ...] = (floats.fadd, floats.fsub, floats.fmul, floats.fdiv)


@pytest.mark.parametrize("form", ["f16", "bf16", "f32", "f64"])
@given(st.data())
def test_symbols_and_numbers_agree(form: str, data: st.DataObject) -> None:
    width = FORMATS[form].width
    numbers = [data.draw(st.integers(0, (1 << width) - 1)) for _ in range(3)]
    a, b, c = (symbol(name, width) for name in "abc")
    given_ = dict(zip((a, b, c), numbers, strict=True))
    x, y, z = numbers
    mode = data.draw(st.sampled_from(MODES))
    pairs = [(f(form, a, b, mode), f(form, x, y, mode)) for f in TWO]
    pairs += [
        (floats.ffma(form, a, b, c, mode), floats.ffma(form, x, y, z, mode)),
        (floats.fsqrt(form, a, mode), floats.fsqrt(form, x, mode)),
        (fmin(form, a, b), fmin(form, x, y)),
        (fmax(form, a, b, nan=True), fmax(form, x, y, nan=True)),
        (floats.fintegral(form, a, mode), floats.fintegral(form, x, mode)),
        (floats.flush(form, a), floats.flush(form, x)),
        (fconvert(form, "f32", a, mode), fconvert(form, "f32", x, mode)),
        (floats.from_integer(form, a, width, True, mode), floats.from_integer(form, x, width, True, mode)),
        (floats.to_integer(form, a, 32, True, mode), floats.to_integer(form, x, 32, True, mode)),
    ]
    pairs += [(fcompare(form, c_, a, b), fcompare(form, c_, x, y)) for c_ in ("eq", "neu", "lt", "geu", "num", "nan")]
    for symbolic, known in pairs:
        assert evaluate(symbolic, given_) == known
        assert substitute(symbolic, given_) == known


@pytest.mark.parametrize(
    ("comparison", "ordered", "with_nan"),
    [
        ("eq", 0, 0),
        ("ne", 1, 0),
        ("lt", 1, 0),
        ("ge", 0, 0),
        ("equ", 0, 1),
        ("ltu", 1, 1),
        ("num", 1, 0),
        ("nan", 0, 1),
    ],
)
def test_comparisons_and_nan(comparison: str, ordered: int, with_nan: int) -> None:
    one, two, nan = 0x3F800000, 0x40000000, 0x7FC00000
    assert fcompare("f32", comparison, one, two) == ordered
    assert fcompare("f32", comparison, one, nan) == with_nan


def test_the_smaller_of_two_zeros_is_negative() -> None:
    assert fmin("f32", 0, 1 << 31) == 1 << 31
    assert fmax("f32", 1 << 31, 0) == 0
    assert fmin("f32", 0x7FC00000, 5) == 5
    assert fmin("f32", 0x7FC00000, 5, nan=True) == 0x7FFFFFFF


@pytest.mark.parametrize(
    ("value", "width", "signed", "expected"),
    [(0x7F800000, 32, True, 0x7FFFFFFF), (0xFF800000, 32, False, 0), (0x7FC00000, 32, True, 0),
     (0x7FC00000, 64, True, 1 << 63), (0xBF800000, 16, True, 0xFFFF), (0x4F800000, 32, False, 0xFFFFFFFF)],
)  # fmt: skip
def test_integers_are_clamped(value: int, width: int, signed: bool, expected: int) -> None:
    assert floats.to_integer("f32", value, width, signed) == expected
