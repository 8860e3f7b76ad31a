"""Folding never changes what a value is: every term equals, on all numbers, the arithmetic that it stands for."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

from campaigns import drawn
from growth import calls
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxcore.values import terms
from ptxcore.values.terms import (
    Term,
    Value,
    add,
    all_of,
    any_of,
    bit_and,
    bit_xor,
    concat,
    conj,
    disj,
    eq,
    evaluate,
    extract,
    implies,
    ite,
    mask,
    ne,
    negate,
    sext,
    shl,
    slt,
    sub,
    substitute,
    symbol,
    symbols_of,
    ule,
    ult,
    zext,
)

A, B = symbol("a", 2), symbol("b", 2)
NUMBERS = list(itertools.product(range(4), repeat=2))

#: A value beside the numbers that it must have, by the numbers of A and B.
Pair = tuple[Value, tuple[int, ...]]


def table(meaning: Callable[[int, int], int]) -> tuple[int, ...]:
    return tuple(meaning(a, b) for a, b in NUMBERS)


LEAVES: list[Pair] = [(A, table(lambda a, b: a)), (B, table(lambda a, b: b))]
LEAVES += [(n, table(lambda a, b, n=n: n)) for n in range(4)]  # type: ignore[misc]


def signed(n: int) -> int:
    return n - 4 if n > 1 else n


def binary(make: Callable[[Value, Value], Value], meaning: Callable[[int, int], int]) -> Callable[[Pair, Pair], Pair]:
    return lambda x, y: (make(x[0], y[0]), tuple(map(meaning, x[1], y[1])))


def chosen(c: Pair, x: Pair, y: Pair, width: int) -> Pair:
    return ite(c[0], x[0], y[0], width), tuple(p if t else q for t, p, q in zip(c[1], x[1], y[1], strict=True))


def joined(op: Callable[..., Value], meaning: Callable[..., bool]) -> Callable[[list[Pair]], Pair]:
    return lambda xs: (op([x[0] for x in xs]), tuple(int(meaning(ns)) for ns in zip(*(x[1] for x in xs), strict=True)))


ARITHMETIC = [
    binary(lambda x, y: add(x, y, 2), lambda x, y: (x + y) % 4),
    binary(lambda x, y: sub(x, y, 2), lambda x, y: (x - y) % 4),
    binary(lambda x, y: bit_and(x, y, 2), lambda x, y: x & y),
    binary(lambda x, y: bit_xor(x, y, 2), lambda x, y: x ^ y),
    binary(lambda x, y: shl(x, y, 2), lambda x, y: (x << y) % 4),
    binary(lambda x, y: extract(concat(x, y, 2, 2), 2, 1), lambda x, y: (x << 2 | y) >> 1 & 3),
    binary(lambda x, y: extract(sext(bit_xor(x, y, 2), 2, 4), 3, 2), lambda x, y: 3 * ((x ^ y) >> 1)),
]
TESTS = [
    binary(eq, lambda x, y: int(x == y)),
    binary(ne, lambda x, y: int(x != y)),
    binary(lambda x, y: ult(x, y, 2), lambda x, y: int(x < y)),
    binary(lambda x, y: slt(x, y, 2), lambda x, y: int(signed(x) < signed(y))),
    binary(lambda x, y: eq(zext(x, 4), zext(y, 4)), lambda x, y: int(x == y)),
]
NUMBER = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.builds(lambda op, x, y: op(x, y), st.sampled_from(ARITHMETIC), inner, inner),
    max_leaves=4,
)
TRUTH = st.recursive(
    st.builds(lambda op, x, y: op(x, y), st.sampled_from(TESTS), NUMBER, NUMBER),
    lambda inner: st.one_of(
        st.builds(joined(all_of, all), st.lists(inner, min_size=1, max_size=4)),
        st.builds(joined(any_of, any), st.lists(inner, min_size=1, max_size=4)),
        st.builds(lambda x: (negate(x[0]), tuple(1 - n for n in x[1])), inner),
        st.builds(lambda c, x, y: chosen(c, x, y, 1), inner, inner, inner),
    ),
    max_leaves=8,
)
ANYTHING = st.one_of(NUMBER, TRUTH, st.builds(lambda c, x, y: chosen(c, x, y, 2), TRUTH, NUMBER, NUMBER))


@settings(max_examples=drawn(300), deadline=None)
@given(ANYTHING)
def test_a_folded_term_has_the_numbers_of_the_arithmetic_it_stands_for(pair: Pair) -> None:
    term, numbers = pair
    assert tuple(evaluate(term, {A: a, B: b}) for a, b in NUMBERS) == numbers


@settings(max_examples=drawn(100), deadline=None)
@given(ANYTHING)
def test_substituting_numbers_folds_to_the_same_number(pair: Pair) -> None:
    term, numbers = pair
    assert tuple(substitute(term, {A: a, B: b}) for a, b in NUMBERS) == numbers


@settings(max_examples=drawn(200), deadline=None)
@given(TRUTH, TRUTH)
def test_what_is_said_to_imply_something_does(one: Pair, other: Pair) -> None:
    """The converse need not be seen; of these it is, whatever they are."""
    pairs = [(one, other), (other, one)]
    assert all(b or not a for (x, xs), (y, ys) in pairs if implies(x, y) for a, b in zip(xs, ys, strict=True))
    assert implies(one[0], one[0]) and implies(0, one[0]) and implies(one[0], 1)


def test_what_paths_share_is_negated_once() -> None:
    """Each level has the one below twice: written out, the last would have 2**300 parts."""
    a, b = (symbol(("shared", name), 1) for name in "ab")
    value: Value = symbol(("shared", "start"), 1)
    for level in range(300):
        c, d = (symbol(("shared", name, level), 1) for name in "cd")
        value = conj(disj(conj(value, a), c), disj(conj(value, b), d))
    opposite = negate(value)
    assert negate(opposite) is value
    for known in (0, 1):
        symbols = dict.fromkeys(symbols_of(value), known)
        assert evaluate(opposite, symbols) == 1 - evaluate(value, symbols)


def test_a_path_that_goes_on_where_another_one_ended_cannot_be() -> None:
    a, b, c = (symbol(("paths", name), 1) for name in "abc")
    went_on = disj(conj(negate(b), c), conj(negate(a), b))
    assert conj(conj(a, b), went_on) == 0
    assert conj(a, went_on) is conj(a, conj(negate(b), c))


def test_what_is_said_to_be_a_number_is_compared_as_that_number() -> None:
    x, y = symbol("compared x", 32), symbol("compared y", 32)
    for value in (ult(x, 3, 32), ule(1, x, 32), slt(mask(32), x, 32), negate(ult(x, 1, 32))):
        assert conj(value, eq(x, 1)) is eq(x, 1)
        assert conj(eq(x, 1), negate(value)) == 0
    assert conj(ult(x, y, 32), eq(x, 1)) is not eq(x, 1)
    assert all_of((eq(x, 1), eq(y, 2), ult(y, x, 32))) == 0


def test_a_question_with_thousands_of_alternatives_is_not_compared_pair_by_pair() -> None:
    def asked(count: int) -> tuple[int, Value, dict[Term, int]]:
        x, y = symbol(("many x", count), 32), symbol(("many y", count), 32)
        found = []
        work = calls(lambda: found.append(any_of(conj(eq(x, n), eq(y, n + 1)) for n in range(count))))
        return work, found[0], {x: count - 10, y: count - 9}

    work, value, state = asked(2000)
    assert work < 3 * asked(1000)[0]
    assert evaluate(value, state) == 1
    assert evaluate(value, dict.fromkeys(state, 1990)) == 0


def test_bits_of_a_long_chain_of_bytes_are_found_without_recursion() -> None:
    """The bytes of a copy are one value."""
    count = 2 * sys.getrecursionlimit()
    upwards = downwards = terms.symbol("first", 8)
    for i in range(count):
        byte = terms.symbol(i, 8)
        upwards, downwards = terms.concat(byte, upwards, 8, 8 * i + 8), terms.concat(downwards, byte, 8 * i + 8, 8)
    first, last = terms.symbol("first", 8), terms.symbol(count - 1, 8)
    assert terms.extract(upwards, 7, 0) is terms.extract(downwards, 8 * count + 7, 8 * count) is first
    assert terms.extract(upwards, 8 * count + 7, 8 * count) is terms.extract(downwards, 7, 0) is last
