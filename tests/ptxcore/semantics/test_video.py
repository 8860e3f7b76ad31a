"""Video instructions worked by hand, and their selectors on the way from text to meaning."""

from __future__ import annotations

import pytest
from driver import apply

from ptxcore.isa.table import TYPED
from ptxcore.machine.explore.concrete import run
from ptxcore.machine.lower.code import prepare
from ptxcore.syntax.reader import read_statements

ALL = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("instruction", "sources", "chosen", "expected"),
    [
        ("vadd.u32.u32.u32", (ALL, 1), {}, 0),
        ("vadd.u32.u32.u32.sat", (ALL, 1), {}, ALL),
        ("vadd.s32.u32.s32.sat", (ALL, ALL), {}, 0x7FFFFFFF),
        ("vadd.s32.s32.s32", (0x80, 0x7F00), {"asel": "b0", "bsel": "b1"}, -1 & ALL),
        ("vadd.u32.u32.u32", (0x80, 0x7F00), {"asel": "b0", "bsel": "b1"}, 0xFF),
        ("vadd.u32.u32.u32", (0x00030000, 0xABCD0000), {"asel": "h1", "bsel": "h1"}, 0xABD0),
        ("vsub.u32.u32.u32.sat", (3, 5), {}, 0),
        ("vsub.s32.u32.u32", (3, 5), {}, -2 & ALL),
        ("vabsdiff.u32.s32.s32", (-0x80000000, 0x7FFFFFFF), {}, ALL),
        ("vabsdiff.s32.s32.s32.sat", (-0x80000000, 0x7FFFFFFF), {}, 0x7FFFFFFF),
        ("vmin.s32.s32.u32", (-1, 0), {}, ALL),
        ("vmax.s32.s32.u32", (-1, 0), {}, 0),
        # merged into c: truncated, or clamped to what is written
        ("vadd.u32.u32.u32", (0xFF, 2, 0x11223344), {"dsel": "b1"}, 0x11220144),
        ("vadd.u32.u32.u32.sat", (0xFF, 2, 0x11223344), {"dsel": "b1"}, 0x1122FF44),
        ("vadd.s32.u32.u32.sat", (0xFF, 2, 0x11223344), {"dsel": "b3"}, 0x7F223344),
        ("vsub.s32.u32.u32", (0, 1, 0x11223344), {"dsel": "h1"}, 0xFFFF3344),
        # and a second operation
        ("vadd.u32.u32.u32.add", (1, 2, 10), {}, 13),
        ("vsub.s32.u32.u32.min", (1, 2, 10), {}, ALL),
        ("vsub.u32.u32.u32.min", (1, 2, 10), {}, ALL),
        ("vadd.u32.u32.u32.min", (ALL, 1, 5), {}, 5),  # the sum has its 33rd bit
        ("vadd.s32.s32.s32.max", (5, 1, -1), {}, 6),
        ("vadd.u32.u32.u32.sat.max", (ALL, 2, 10), {}, ALL),
        ("vshl.u32.u32.u32.clamp", (1, 40), {}, 0),
        ("vshl.u32.u32.u32.wrap", (1, 40), {}, 256),
        ("vshl.u32.u32.u32.sat.clamp", (3, 31), {}, ALL),
        ("vshl.u32.u32.u32.sat.clamp", (8, 31), {}, 0),  # of the result 34 bits are kept
        ("vshr.s32.s32.u32.clamp", (-0x80000000, 40), {}, ALL),
        ("vshr.u32.u32.u32.clamp", (0x80000000, 31), {}, 1),
        ("vshr.u32.u32.u32.clamp", (0x80000000, 32), {}, 0),
        ("vset.u32.s32.gt", (0, -1), {}, 1),
        ("vset.s32.u32.ge", (ALL, ALL), {}, 0),
        ("vset.u32.u32.eq.add", (5, 5, 41), {}, 42),
        ("vset.u32.u32.lt", (0x0102, 0x0102, ALL), {"asel": "b1", "bsel": "b0", "dsel": "h0"}, 0xFFFF0001),
        ("vmad.s32.s32.s32", (3, -4, 5), {}, -7 & ALL),
        ("vmad.s32.s32.s32", (3, 4, 5), {"aneg": "-"}, -7 & ALL),
        ("vmad.s32.s32.s32", (3, 4, 5), {"aneg": "-", "bneg": "-"}, 17),
        ("vmad.s32.s32.s32", (3, 4, 5), {"cneg": "-"}, 7),
        ("vmad.u32.u32.u32.po", (3, 4, 5), {}, 18),
        ("vmad.u32.u32.u32.sat", (ALL, ALL, 5), {}, ALL),
        ("vmad.s32.s32.u32.sat", (-0x80000000, ALL, 5), {}, 0x80000000),
        ("vmad.u32.u32.u32.shr15", (0xFFFF0000, 0x80000000, 0), {"asel": "h1", "bsel": "h1"}, 0xFFFF),
        ("vmad.s32.s32.s32.shr7", (-1, 1, 0), {}, ALL),
        # halves and bytes: what is not named comes from c
        ("vadd2.u32.u32.u32", (0x00010002, 0x00030004, 0), {}, 0x00040006),
        ("vadd2.u32.u32.u32", (0x00010002, 0x00030004, 0xAAAABBBB), {"dsel": "h1"}, 0x0004BBBB),
        ("vadd2.u32.u32.u32", (0x00010002, 0x00030004, 0), {"asel": "h01", "bsel": "h22"}, 0x00060005),
        ("vsub2.s32.s32.s32.sat", (0x80000001, 0x00010002, 0), {}, 0x8000FFFF),
        ("vavrg2.s32.s32.s32", (0xFFFF0001, 0xFFFE0002, 0), {}, 0xFFFE0002),
        ("vabsdiff2.u32.u32.u32.add", (0x00010005, 0x00040003, 100), {}, 105),
        ("vmin2.s32.u32.u32.add", (0x00010005, 0x00040003, 100), {"dsel": "h0"}, 103),
        ("vset2.u32.u32.lt", (0x00010005, 0x00040003, 0), {}, 0x00010000),
        ("vset2.u32.u32.ne.add", (0x00010005, 0x00040003, 7), {}, 9),
        ("vadd4.u32.u32.u32.sat", (0xFF010203, 0x01010101, 0), {}, 0xFF020304),
        ("vadd4.u32.u32.u32", (0xFF010203, 0x01010101, 0), {}, 0x00020304),
        ("vsub4.s32.u32.u32.sat", (0x00FF0000, 0xFF000000, 0), {}, 0x807F0000),
        ("vmax4.u32.u32.u32", (0x01020304, 0x04030201, 0x11223344), {"dsel": "b20"}, 0x11033304),
        ("vmin4.s32.u32.u32.add", (0x01020304, 0x04030201, 1), {"asel": "b0000", "bsel": "b2222"}, 1 + 4 * 2),
        ("vset4.u32.u32.ge.add", (0x01020304, 0x04030201, 0), {}, 2),
        ("vset4.u32.u32.eq", (0x01020304, 0x01020300, 0xFFFFFFFF), {"dsel": "b10"}, 0xFFFF0100),
    ],
)  # fmt: skip
def test_video_instructions(instruction: str, sources: tuple[int, ...], chosen: dict[str, str], expected: int) -> None:
    assert apply(instruction, *sources, **chosen) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vadd.u32.u32.u32 %d, %a.b1, %b.h0;", 0x33 + 0xCCDD),
        ("vadd.u32.u32.u32 %d.b3, %a.b1, 1, %b;", 0x34BBCCDD),
        ("vmad.s32.s32.s32 %d, -%a.b0, %b.b0, %c;", 5 - 0x44 * -0x23 & ALL),
        ("vmad.s32.s32.s32 %d, %c, %c, -%c;", 20),
        ("vadd2.u32.u32.u32 %d.h1, %a.h01, %b, %c;", 0xDDFF0005),
        ("vadd4.u32.u32.u32 %d, %a.b7654, %b.b0000, %c;", 0xEEFF1021),
    ],
)
def test_selectors_come_from_the_text(text: str, expected: int) -> None:
    registers = {"a": 0x11223344, "b": 0xAABBCCDD, "c": 5}
    done = run(prepare(read_statements(text), TYPED, {}, registers), lambda effect: 0)
    assert done.registers["d"].value == expected
