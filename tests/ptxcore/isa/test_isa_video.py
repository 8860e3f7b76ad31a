"""What may be selected of the registers of video instructions, and which operands may be negated (section 9.7.18)."""

from __future__ import annotations

from typing import Any

import pytest

from ptxcore.check.mismatch import OperandMismatch
from ptxcore.check.operands import judge
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates

R = "u32"


def fits(instruction: str, *kinds: Any) -> bool:
    opcode, *modifiers = instruction.split(".")
    uses = candidates(opcode, tuple(modifiers))
    assert uses is not None and not isinstance(uses, Misfit)
    return not isinstance(judge(uses, kinds), OperandMismatch)


def part(selector: str) -> tuple[str, str, str]:
    return ("sel", R, selector)


@pytest.mark.parametrize(
    ("instruction", "place", "good", "bad"),
    [
        ("vadd.u32.u32.u32", 0, "b0 b3 h0 h1", "b4 h2 b10 h10"),
        ("vadd.u32.u32.u32", 1, "b0 b3 h0 h1", "b4 h2 b3210 h10"),
        ("vset.u32.u32.lt", 2, "b1 h1", "h3"),
        ("vadd2.u32.u32.u32", 0, "h0 h1 h10", "h01 h11 h2 b0"),
        ("vadd2.u32.u32.u32", 1, "h00 h32 h13", "h0 h34 b10"),
        ("vset2.u32.u32.lt.add", 2, "h32", "h4"),
        ("vadd4.u32.u32.u32", 0, "b0 b3 b31 b210 b3210", "b b13 b33 b4 h0"),
        ("vset4.u32.u32.eq", 1, "b0000 b7654", "b654 b8000 h32"),
        ("vadd4.u32.u32.u32", 3, "", "b0 b3210"),
    ],
)
def test_selectors(instruction: str, place: int, good: str, bad: str) -> None:
    for selector in (*good.split(), *bad.split()):
        operands: list[Any] = [R, R, R, R]
        operands[place] = part(selector)
        assert fits(instruction, *operands) is (selector in good.split()), selector


def test_a_selected_destination_goes_with_c_and_without_a_second_operation() -> None:
    assert fits("vadd.u32.u32.u32", part("b0"), R, R, R)
    assert not fits("vadd.u32.u32.u32", part("b0"), R, R)
    assert not fits("vadd.u32.u32.u32.min", part("b0"), R, R, R)
    assert not fits("add.u32", R, part("b0"), R)


def test_only_the_product_or_the_sum_of_vmad_is_negated() -> None:
    minus = ("-", R)
    for a, b, c in ((R, R, R), (minus, R, R), (R, minus, R), (minus, minus, R), (R, R, minus), (minus, minus, minus)):
        assert fits("vmad.s32.s32.s32", R, a, b, c)
    for a, b in ((minus, R), (R, minus)):
        assert not fits("vmad.s32.s32.s32", R, a, b, minus)
        assert not fits("vmad.s32.s32.s32.po", R, a, b, R)
    assert fits("vmad.s32.s32.s32.po", R, minus, minus, R)
    assert fits("vmad.s32.s32.s32", R, ("-", part("b0")), part("h1"), R)
    assert not fits("vadd.s32.s32.s32", R, minus, R)


def test_constants_stand_in_scalar_instructions_only() -> None:
    assert fits("vadd.u32.u32.u32", R, "int", "int")
    assert not fits("vadd2.u32.u32.u32", R, "int", R, R)
