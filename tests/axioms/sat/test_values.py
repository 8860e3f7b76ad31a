"""Values over finite sets: a number's literal holds exactly when the term has that number."""

from __future__ import annotations

import itertools

import pytest
from campaigns import drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pysat.solvers import Minisat22

from axioms.sat import values
from axioms.sat.formula import FALSE, Formula
from axioms.sat.values import Lowering, TooManyValues, domains
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

WIDTH = 4
SYMBOLS = [terms.symbol(("finite", n), WIDTH) for n in "abc"]
DOMAINS = ([0, 1], [3], [2, 7, 15])

known = st.integers(0, terms.mask(WIDTH))
ARITHMETIC = (
    terms.add,
    terms.sub,
    terms.mul,
    terms.bit_and,
    terms.bit_or,
    terms.bit_xor,
    terms.shl,
    terms.lshr,
    terms.ashr,
)
ARITHMETIC += (terms.udiv, terms.urem, terms.sdiv, terms.srem)
COMPARISONS = (terms.ult, terms.ule, terms.slt, terms.sle)


def numbers(depth: int) -> st.SearchStrategy[Value]:
    plain: st.SearchStrategy[Value] = st.one_of(st.sampled_from(SYMBOLS), st.sampled_from(SYMBOLS), known)
    if depth == 0:
        return plain
    inner = numbers(depth - 1)
    return st.one_of(
        plain,
        st.builds(lambda op, a, b: op(a, b, WIDTH), st.sampled_from(ARITHMETIC), inner, inner),
        st.builds(lambda c, a, b: terms.ite(c, a, b, WIDTH), truths(depth - 1), inner, inner),
        st.builds(lambda a: terms.zext(terms.extract(a, 2, 1), WIDTH) if type(a) is Term else a, inner),
        st.builds(lambda a: terms.sext(terms.extract(a, 1, 0), 2, WIDTH) if type(a) is Term else a, inner),
    )


def truths(depth: int) -> st.SearchStrategy[Value]:
    inner = numbers(max(0, depth - 1))
    plain = st.one_of(
        st.builds(lambda op, a, b: op(a, b, WIDTH), st.sampled_from(COMPARISONS), inner, inner),
        st.builds(terms.eq, inner, inner),
    )
    if depth == 0:
        return plain
    below = truths(depth - 1)
    return st.one_of(
        plain,
        st.builds(terms.negate, below),
        st.builds(terms.all_of, st.lists(below, min_size=1, max_size=3)),
        st.builds(terms.any_of, st.lists(below, min_size=1, max_size=3)),
    )


def exact(formula: Formula, lowering: Lowering, asked: list[tuple[Value, dict[int, int]]]) -> None:
    """Under every choice of the symbols' numbers: the literal of each value's number is forced, every other one is not."""
    with Minisat22(bootstrap_with=formula.clauses) as solver:
        for combination in itertools.product(*DOMAINS):
            chosen = dict(zip(SYMBOLS, combination, strict=True))
            assumed = [lowering.choices[s][n] for s, n in chosen.items()]
            assert solver.solve(assumptions=assumed)
            for value, choices in asked:
                number = terms.evaluate(value, chosen)
                assert number in choices
                for n, literal in choices.items():
                    opposite = -literal if n == number else literal
                    assert not solver.solve(assumptions=[*assumed, opposite]), (value, n, number)


def symbols_in(lowering: Lowering) -> None:
    for s, domain in zip(SYMBOLS, DOMAINS, strict=True):
        lowering.choices[s] = lowering.fresh(domain)


@settings(max_examples=drawn(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(numbers(3), truths(2)), min_size=1, max_size=3))
def test_lowered_values_are_exact(asked: list[Value]) -> None:
    formula = Formula()
    lowering = Lowering(formula)
    symbols_in(lowering)
    exact(formula, lowering, [(v, lowering.value(v)) for v in asked])


@settings(max_examples=drawn(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(truths(2), min_size=1, max_size=3), numbers(2))
def test_conditions_may_be_used_before_the_symbols_are_known(asked: list[Value], other: Value) -> None:
    formula = Formula()
    lowering = Lowering(formula)
    literals = [lowering.condition(v) for v in asked]
    symbols_in(lowering)
    lowering.settle()
    exact(formula, lowering, [(v, {1: l, 0: -l}) for v, l in zip(asked, literals, strict=True)])
    exact(formula, lowering, [(other, lowering.value(other)), *[(v, lowering.value(v)) for v in asked]])


@settings(max_examples=drawn(60), deadline=None)
@given(numbers(2))
def test_the_numbers_of_a_term_are_those_it_can_have(value: Value) -> None:
    sources: dict[Term, list[Value]] = {s: list(d) for s, d in zip(SYMBOLS, DOMAINS, strict=True)}
    found = domains(sources, [value], rounds=3)
    if type(value) is Term:
        real = {terms.evaluate(value, dict(zip(SYMBOLS, c, strict=True))) for c in itertools.product(*DOMAINS)}
        assert real <= found[value]


def test_domains_follow_values_through_memory() -> None:
    """b returns what a wrote plus one, a returns b or 5: numbers flow around until no read is left to flow through."""
    a, b, _ = SYMBOLS
    found = domains({a: [5, b], b: [0, terms.add(a, 1, WIDTH)]}, [], rounds=2)
    assert found[a] >= {5, 0, 6}
    assert found[b] >= {0, 6, 1}


def test_numbers_flow_around_within_their_circle_only() -> None:
    """Four threads add one to each of three counters, the second counts what is found in the first, and so on."""
    rows = [[terms.symbol((counter, thread), 32) for thread in range(4)] for counter in range(3)]
    sources: dict[Term, list[Value]] = {}
    for row, below in zip(rows, [None, *rows], strict=False):
        for s in row:
            amounts: list[Value] = [1] if below is None else [*below]
            sources[s] = [0, *[terms.add(other, amount, 32) for other in row if other is not s for amount in amounts]]
    found = domains(sources, [], rounds=len(sources))
    assert [max(found[row[0]]) for row in rows] == [4, 16, 64]  # all that a circle of four lets through
    assert found == domains(dict(reversed(sources.items())), [], rounds=len(sources))


def test_too_many_numbers_are_refused_and_not_enumerated() -> None:
    wide = terms.symbol("wide", 32)
    with pytest.raises(TooManyValues):
        domains({wide: [*range(values.MAX_NUMBERS), terms.add(wide, 1, 32)]}, [], rounds=5)
    s, t = terms.symbol("s", 32), terms.symbol("t", 32)
    with pytest.raises(TooManyValues):
        domains({s: [*range(1000)], t: [*range(1000)]}, [terms.mul(s, t, 32)], rounds=1)


@pytest.mark.parametrize("domain", [[0, 1], [0], [1]])
def test_truth_symbols_are_what_they_were_chosen_to_be(domain: list[int]) -> None:
    formula = Formula()
    lowering = Lowering(formula)
    flag = terms.symbol(("flag", len(domain)), 1)
    lowering.choices[flag] = lowering.fresh(domain)
    literal = lowering.truth(flag)
    with Minisat22(bootstrap_with=formula.clauses) as solver:
        for number in (0, 1):
            chosen = lowering.choices[flag].get(number, FALSE)
            assert solver.solve(assumptions=[chosen]) == (number in domain)
            assert not solver.solve(assumptions=[chosen, -literal if number else literal])


def test_a_number_that_a_value_cannot_have_has_no_literal() -> None:
    formula = Formula()
    lowering = Lowering(formula)
    symbols_in(lowering)
    assert lowering.value(SYMBOLS[1]) == {3: 1}
    assert lowering.value(SYMBOLS[0]).get(9, FALSE) == FALSE
    assert lowering.truth(terms.eq(SYMBOLS[0], 9)) == FALSE
