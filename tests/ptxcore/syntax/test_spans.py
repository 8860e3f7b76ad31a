"""The places of an instruction's parts are found again in its text."""

from __future__ import annotations

import pytest

from ptxcore.diagnostics import Span
from ptxcore.syntax.reader import read_statements
from ptxcore.syntax.spans import find_span, guard_span, modifier_span, operand_span
from ptxcore.syntax.tree import Immediate, Instruction, Name, Operand


def read(text: str, line: int = 1, column: int = 1) -> Instruction:
    (instruction,) = read_statements(text + ";", line, column)
    assert isinstance(instruction, Instruction)
    return instruction


def cut(text: str, span: Span) -> str:
    """What stands at a span of a text that begins in line 1, column 1."""
    return text.split("\n")[span.line - 1][span.column - 1 : span.end - 1]


LOAD = "@!%p1 ld.global .v2\n.f32 { %f1 , _ } , [ %rd1 + 4 ]"
TEXTURE = "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}|%p, [tex, smp, {%r1, %r2}], {7, 8}"
CALL = "call.uni (ret), fn, (a, [b+4], 5), proto"


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (LOAD, (0,), "{ %f1 , _ }"),
        (LOAD, (0, 0), "%f1"),
        (LOAD, (0, 1), "_"),
        (LOAD, (1,), "[ %rd1 + 4 ]"),
        (LOAD, (1, 0), "%rd1"),
        (TEXTURE, (0,), "{%f1, %f2, %f3, %f4}|%p"),
        (TEXTURE, (0, 0, 2), "%f3"),
        (TEXTURE, (0, 1), "%p"),
        (TEXTURE, (1, 2), "{%r1, %r2}"),
        (TEXTURE, (1, 2, 1), "%r2"),
        (TEXTURE, (2, 1), "8"),
        (CALL, (0, 0), "ret"),
        (CALL, (2, 1), "[b+4]"),
        (CALL, (2, 1, 0), "b"),
        (CALL, (3,), "proto"),
        ("ld.u32 r, x [ i + 1 ]", (1, 0), "x"),
        ("ld.u32 r, x [ i + 1 ]", (1, 1), "i"),
        ("add.u32 r,a,(1+2)*3", (2,), "(1+2)*3"),
        ("vadd.u32.u32.u32 r, a .b1, -b.h0, c", (1,), "a .b1"),
        ("vadd.u32.u32.u32 r, a .b1, -b.h0, c", (2,), "-b.h0"),
    ],
)
def test_operands(text: str, path: tuple[int, ...], expected: str) -> None:
    assert cut(text, operand_span(read(text), *path)) == expected


def test_guard_and_modifiers_also_with_blanks_between_them() -> None:
    load = read(LOAD)
    assert cut(LOAD, guard_span(load)) == "!%p1"
    assert cut(LOAD, load.span) == "ld.global .v2"
    assert load.modifiers == ("global", "v2", "f32")
    assert [cut(LOAD, modifier_span(load, i)) for i in range(3)] == [".global", ".v2", ".f32"]


def test_places_count_from_where_the_text_began() -> None:
    load = read("ld.u32 %r1, [x]", 7, 11)
    assert operand_span(load, 1) == Span(7, 23, 26)
    assert modifier_span(load, 0) == Span(7, 13, 17)


@pytest.mark.parametrize(
    ("operand", "expected"),
    [(Name("%f3"), "%f3"), (Name("%r2"), "%r2"), (Immediate(8), "8"), (Name("%p"), "%p"), (Name("smp"), "smp")],
)
def test_an_operand_is_found_wherever_it_stands(operand: Operand, expected: str) -> None:
    assert cut(TEXTURE, find_span(read(TEXTURE), operand)) == expected


def test_what_is_not_there_has_the_place_of_the_instruction() -> None:
    add = read("add.u32 r, a, b")
    made = Instruction("add", ("u32",), (Name("r"),))
    assert operand_span(add, 3) == operand_span(add, 0, 1) == modifier_span(add, 1) == guard_span(add) == add.span
    assert find_span(add, Name("c")) == add.span
    assert operand_span(made, 0) == made.span
