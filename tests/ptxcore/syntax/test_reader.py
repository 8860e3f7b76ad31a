"""Reading and printing PTX statements, and what is said about bad ones."""

from __future__ import annotations

import contextlib

import pytest
from campaigns import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxcore.diagnostics import InputError, Span
from ptxcore.syntax.lexer import float_bits
from ptxcore.syntax.printer import print_statement
from ptxcore.syntax.reader import read_statements
from ptxcore.syntax.spans import guard_span, operand_span
from ptxcore.syntax.tree import (
    Address,
    AnyStatement,
    Bracket,
    Declaration,
    Declarator,
    Float,
    Immediate,
    Instruction,
    Label,
    Name,
    Pair,
    Sink,
    Vector,
)

WORDS = st.from_regex(r"[a-z][a-z0-9_$]{0,4}|\$[a-z0-9_$]{1,4}", fullmatch=True)
NAMES = WORDS.map(Name)
REGISTERS = WORDS.map(lambda w: Name("%" + w))
SELECTED = st.builds(lambda w, c: Name(f"%{w}.{c}"), WORDS, st.sampled_from(("x", "w", "r", "b0", "b3210", "h10")))
PLACES = st.one_of(NAMES, REGISTERS, st.just(Sink()))
NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1).map(Immediate)
OFFSETS = st.integers(-(1 << 31), 1 << 31)
FLOATS = st.one_of(
    st.builds(Float, st.integers(0, (1 << 32) - 1), st.just(32)),
    st.builds(Float, st.integers(0, (1 << 64) - 1), st.just(64)),
    st.floats().map(lambda f: Float(float_bits(f), 64, True)),
)
FAR = st.builds(Address, NAMES, OFFSETS, st.just(False))
VECTORS = st.builds(Vector, st.lists(st.one_of(PLACES, NUMBERS, FLOATS), min_size=1, max_size=4).map(tuple))
BRACKETS = st.builds(Bracket, st.lists(st.one_of(NAMES, REGISTERS, FAR, VECTORS), min_size=2, max_size=4).map(tuple))
OPERANDS = st.one_of(
    NAMES,
    REGISTERS,
    SELECTED,
    NUMBERS,
    FLOATS,
    st.just(Sink()),
    st.builds(Name, WORDS, st.sampled_from("!-")),
    st.builds(Address, st.one_of(NAMES, REGISTERS), OFFSETS),
    st.builds(Address, NUMBERS),
    FAR,
    st.builds(Address, NAMES, OFFSETS, st.just(True), st.one_of(st.none(), REGISTERS), st.just(True)),
    st.builds(Pair, st.one_of(NAMES, REGISTERS, VECTORS), PLACES),
    st.builds(Pair, st.just(Sink()), REGISTERS),
    VECTORS,
    BRACKETS,
)
GUARDS = st.one_of(st.none(), st.builds(Name, st.one_of(WORDS, WORDS.map("%".__add__)), st.sampled_from(("", "!"))))
MODIFIERS = st.lists(st.one_of(WORDS.filter(lambda w: "$" not in w), st.just("shared::cta")), max_size=4).map(tuple)
OPCODES = st.from_regex(r"[a-z][a-z0-9]{0,4}", fullmatch=True)
INSTRUCTIONS = st.builds(Instruction, OPCODES, MODIFIERS, st.lists(OPERANDS, max_size=4).map(tuple), GUARDS)
DECLARATIONS = st.builds(
    Declaration,
    st.just("reg"),
    st.sampled_from(("u32", "pred", "b64")),
    st.lists(st.builds(Declarator, WORDS, st.one_of(st.none(), st.integers(1, 99))), min_size=1, max_size=3).map(tuple),
)
STATEMENTS: st.SearchStrategy[AnyStatement] = st.one_of(INSTRUCTIONS, DECLARATIONS, WORDS.map(Label))


@settings(max_examples=drawn(300), deadline=None)
@given(st.lists(STATEMENTS, max_size=5))
def test_reading_what_was_printed_gives_equal_statements(statements: list[AnyStatement]) -> None:
    printed = [print_statement(s) for s in statements]
    text = "\n".join(p if isinstance(s, Label) else p + ";" for p, s in zip(printed, statements, strict=True))
    assert read_statements(text) == statements


@settings(max_examples=drawn(300), deadline=None)
@given(st.one_of(st.text(max_size=60), st.text("@!%r0[]{}+-|_:;., \n/*.0x9aU", max_size=60)), st.booleans())
def test_any_text_gives_statements_or_an_error_inside_it(text: str, bare: bool) -> None:
    try:
        read_statements(text, 5, 3, bare_addresses=bare)
    except InputError as error:
        error.text = text
        assert error.render()
        for d in error.diagnostics:
            assert 5 <= d.span.line <= 5 + text.count("\n")
            assert 1 <= d.span.column < d.span.end


@pytest.mark.parametrize(
    ("word", "value"),
    [("0", 0), ("017", 15), ("0x1F", 31), ("0b101U", 5), ("-7", -7), ("- 7", -7),
     ("42U", 42), ("0xFFFFFFFFFFFFFFFF", 2**64 - 1)],
)  # fmt: skip
def test_integer_literals(word: str, value: int) -> None:
    (instruction,) = read_statements(f"mov.b64 %r0, {word};")
    assert isinstance(instruction, Instruction)
    assert instruction.operands[1] == Immediate(value)


def test_spans_point_into_the_whole_file() -> None:
    text = "ld.u32 %r0, [x]; // comment\n  /* long\n */ @!p  st.weak.u32 [x+4] , %r0;\nL:"
    load, store, label = read_statements(text, 7, 11)
    assert load.span == Span(7, 11, 17)
    assert isinstance(load, Instruction) and isinstance(store, Instruction)
    assert [operand_span(load, i) for i in (0, 1)] == [Span(7, 18, 21), Span(7, 23, 26)]
    assert store.guard == Name("p", "!") and guard_span(store) == Span(9, 6, 8)
    assert store.span == Span(9, 10, 21)
    assert [operand_span(store, i) for i in (0, 1)] == [Span(9, 22, 27), Span(9, 30, 33)]
    assert label.span == Span(10, 1, 2)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("add.u32 %r0 %r1;", 13, "',' or ';' is missing before '%r1'"),
        ("add.u32 %r0, ;", 14, "an operand is missing here"),
        ("add.u32 %r0, , 1;", 14, "an operand is missing here"),
        ("mov.f32 %f0, 0f3F80000;", 14, "'0f3F80000' has 7 hexadecimal digits, and '0f' takes 8"),
        ("mov.f32 %f0, 1.0f;", 14, "'1.0f' is not a number"),
        ("mov.u32 %r0, 1u;", 14, "'1u' is not an integer literal"),
        ("mov.u32 %r0, 1/0;", 15, "division by zero in a constant expression"),
        ("mov.u32 %r0, 7%4;", 15, "',' or ';' is missing before '%4'"),
        ("ld.u32 %r0, [%rd1-4];", 18, "an offset is added, never subtracted"),
        ("ld.u32 %r0, [%rd1;", 18, "',' or ']' is missing before ';'"),
        ("setp.eq.u32 _|_, %r0, %r1;", 15, "only one of two destinations can be '_'"),
        ("add. u32 %r0, %r1;", 4, "a modifier stands directly behind its '.'"),
        ("mov.u32 %r0, 089;", 14, "'089' is not an integer literal: a leading 0 makes it octal"),
        ("mov.u64 %r0, 99999999999999999999999;", 14, "the literal does not fit into 64 bits"),
        ("mov.u32 %r0, 1", 1, "this statement has no ';' at its end"),
        (".shared .u32 x;", 1, "directive '.shared' is not supported in a thread"),
        (".reg %r0;", 1, "a register declaration needs a type"),
        ("{ ret; }", 1, "blocks inside a thread are not supported yet"),
        ("ld.u32 %r0, [_];", 14, "'_' is not an address"),
        ("7up;", 1, "'7up' does not begin a PTX statement"),
        (";", 1, "an instruction is missing before ';'"),
    ],
)  # fmt: skip
def test_bad_text_is_told_with_its_place(text: str, column: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_statements(text)
    first = caught.value.diagnostics[0]
    assert (first.span.column, first.message) == (column, message)


def test_each_bad_statement_is_told_once() -> None:
    with pytest.raises(InputError) as caught:
        read_statements("mov.u32 %r0, 08;\nret;\nmov.u32 %r0, 09;\nmov.u32 %r0 %r1;")
    assert [d.span.line for d in caught.value.diagnostics] == [1, 3, 4]


def test_the_short_dialect_has_no_brackets() -> None:
    with pytest.raises(InputError, match="brackets"):
        read_statements("ld.weak r0, [x];", bare_addresses=True)


def test_long_text_is_read_in_linear_time() -> None:
    assert len(read_statements("add.u32 %r0, %r0, 1;\n" * 5000)) == 5000
    for hostile in ("add" + " .u" * 20000, "/*" * 20000, "@" * 20000, "add " + "[" * 20000 + ";", "a|" * 9000 + ";"):
        with contextlib.suppress(InputError):
            read_statements(hostile + "\n;")
