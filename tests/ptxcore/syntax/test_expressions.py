"""Constant expressions follow the manual's evaluation rules (PTX ISA 9.0, sections 4.5.4-4.5.6)."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxcore.syntax.expressions import read_expression
from ptxcore.syntax.lexer import Bad, Cursor
from ptxcore.syntax.tree import Float, Immediate

U64 = (1 << 64) - 1


def value(text: str) -> Immediate | Float:
    cursor = Cursor(text)
    read = read_expression(cursor)
    assert cursor.kind == "end", f"'{text}' goes on behind the expression"
    return read


def double(number: float) -> Float:
    return Float(int.from_bytes(struct.pack(">d", number), "big"), 64, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1+2*3", 7), ("(1+2)*3", 9), ("10-4-3", 3), ("2*-3", -6), ("- -1", 1), ("--1", 1), ("+5", 5),
        ("7 % 4", 3), ("-1 % 10", U64 % 10), ("7/2", 3), ("-7/2", -3), ("7/-2", -3),
        ("-1U", U64), ("-1/2U", U64 // 2), ("~0", U64), ("~0U", U64), ("!0", 1), ("!5", 0), ("!!5", 1),
        ("1<<4", 16), ("1<<63", -(1 << 63)), ("1<<64", 0), ("-8>>1", -4), ("-8>>100", -1),
        ("0x8000000000000000>>1", 1 << 62), ("0x8000000000000000 >> 64", 0), ("1 << -1", 0),
        ("3>2", 1), ("2>=3", 0), ("3==3", 1), ("3!=3", 0), ("-1 < 1", 1), ("-1 < 1U", 0), ("1 < 2 < 3", 1),
        ("1|2^3&4", 1 | 2 ^ 3 & 4), ("6 & 3", 2), ("6 ^ 3", 5), ("1 & 3 == 3", 1), ("1&&0||1", 1), ("0||0", 0),
        ("1?2:3", 2), ("0?2:3", 3), ("1 ? 0 ? 4 : 5 : 6", 5), ("0 ? 1 : 0 ? 2 : 3", 3), ("1 ? 2 : 3 ? 4 : 5", 2),
        ("1 ? -1 : 1U", U64), ("(1 ? 2 : 3) + 1", 3), ("1 + 1 ? 4 : 5", 4),
        ("(.u64)-1", U64), ("(.s64)0xffffffffffffffff", -1), ("(.s64)(.u64)-1", -1), ("-(.s64)1+1", 0),
        ("WARP_SZ", 32), ("WARP_SZ*2+1", 65), ("-WARP_SZ", -32), ("1.0<2.0", 1), ("2.5 != 2.5", 0),
        ("0x7fffffffffffffff+1", -(1 << 63)), ("0xffffffffffffffff+1", 0), ("9223372036854775808", 1 << 63),
        ("0X1fU", 31), ("0B101", 5), ("017", 15), ("0", 0), ("00", 0),
    ],
)  # fmt: skip
def test_integer_expressions(text: str, expected: int) -> None:
    assert value(text) == Immediate(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.0", double(1.0)), ("1.", double(1.0)), (".5", double(0.5)), ("1e3", double(1000.0)),
        ("1e+3", double(1000.0)), ("1.5E-3", double(0.0015)), ("-1.5", double(-1.5)), ("1.0/4.0", double(0.25)),
        ("1.5 + 2.0 * 2.0", double(5.5)), ("1 ? 2.0 : 3.0", double(2.0)), ("1e999", double(float("inf"))),
        ("0f3F800000", Float(0x3F800000, 32)), ("(0F3f800000)", Float(0x3F800000, 32)),
        ("0d3FF0000000000000", Float(0x3FF0000000000000)), ("0d3FF0000000000000 + 1.0", double(2.0)),
        ("-0d3FF0000000000000", double(-1.0)),
    ],
)  # fmt: skip
def test_floating_point_expressions(text: str, expected: Float) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "start", "message"),
    [
        ("1/0", 1, "division by zero"),
        ("1 ? (1/0) : 2", 6, "division by zero"),
        ("7 % 0", 2, "division by zero"),
        ("1.0/0.0", 3, "division by zero"),
        ("1/3.0", 1, "between an integer and a floating-point constant"),
        ("1 ? 2.0 : 3", 8, "between an integer and a floating-point constant"),
        ("1.5 ? 2 : 3", 8, "'?' takes integer constants"),
        ("~1.5", 0, "'~' takes integer constants"),
        ("1.0 % 2.0", 4, "'%' takes integer constants"),
        ("1.0 && 1.0", 4, "'&&' takes integer constants"),
        ("-0f3F800000", 0, "a '0f' constant is exact"),
        ("1.0+0f3F800000", 3, "a '0f' constant is exact"),
        ("(.s32)1", 1, "'(.s32)' is not a cast"),
        ("(.f64)1.0", 1, "'(.f64)' is not a cast"),
        ("(1", 2, "')' is missing"),
        ("1 ? 2", 5, "':' is missing"),
        ("(1 ? 2) : 3", 6, "':' is missing"),
        ("1 +", 3, "a constant is missing"),
        ("1 + r1", 4, "a constant is missing"),
        ("0f3F80000", 0, "'0f3F80000' has 7 hexadecimal digits, and '0f' takes 8"),
        ("0d3F800000", 0, "takes 16"),
        ("0b12", 0, "'0b12' is not an integer literal"),
        ("0x", 0, "'0x' is not an integer literal"),
        ("09", 0, "'09' is not an integer literal"),
        ("1LL", 0, "'1LL' is not an integer literal"),
        ("18446744073709551616", 0, "does not fit into 64 bits"),
    ],
)
def test_bad_expressions_are_told_with_their_place(text: str, start: int, message: str) -> None:
    with pytest.raises(Bad) as caught:
        value(text)
    assert message in caught.value.message
    assert caught.value.start == start


ATOMS = st.integers(0, U64).flatmap(lambda n: st.sampled_from((str(n), hex(n), f"{n}U")))
OPERATORS = st.sampled_from(["+", "-", "*", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&&", "||"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, OPERATORS, inner),
        st.builds("({} {})".format, st.sampled_from("-+!~"), inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_every_integer_expression_has_a_64_bit_value(text: str) -> None:
    read = value(text)
    assert isinstance(read, Immediate)
    assert -(1 << 63) <= read.value <= U64


@pytest.mark.parametrize(
    "text", ["(" * 50000 + "1" + ")" * 50000, "-" * 50000 + "1", "1?" * 20000 + "1" + ":1" * 20000]
)
def test_depth_costs_no_recursion(text: str) -> None:
    assert value(text) == Immediate(1)
