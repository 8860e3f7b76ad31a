"""Gates mean what they say, and folding changes nothing."""

from __future__ import annotations

import itertools

from campaigns import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from pysat.solvers import Minisat22

from axioms.sat.formula import BOTH, DOWN, FALSE, TRUE, UP, Formula

FREE = 4

#: An expression over the free variables: a literal, or ("conj" | "conj_all" | "disj", operands).
Tree = int | tuple[str, tuple["Tree", ...]]

leaves: st.SearchStrategy[Tree] = st.sampled_from([TRUE, FALSE, *[s * v for v in range(2, FREE + 2) for s in (1, -1)]])
trees: st.SearchStrategy[Tree] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.just("conj"), st.tuples(inner, inner)),
        st.tuples(st.sampled_from(["conj_all", "disj"]), st.lists(inner, max_size=4).map(tuple)),
    ),
    max_leaves=12,
)


def built(tree: Tree, formula: Formula, way: int) -> int:
    if isinstance(tree, int):
        return tree
    op, operands = tree
    literals = [built(o, formula, way) for o in operands]
    if op == "conj":
        return formula.conj(literals[0], literals[1], way)
    return getattr(formula, op)(literals, way)  # type: ignore[no-any-return]


def meaning(tree: Tree, values: dict[int, bool]) -> bool:
    if isinstance(tree, int):
        return values[abs(tree)] == (tree > 0)
    op, operands = tree
    return (any if op == "disj" else all)(meaning(o, values) for o in operands)


def new_formula() -> Formula:
    formula = Formula()
    for _ in range(FREE):
        formula.new()
    return formula


@settings(max_examples=drawn(200), deadline=None)
@given(st.lists(st.tuples(trees, st.sampled_from([UP, DOWN, BOTH])), min_size=1, max_size=3))
def test_gates_are_their_operands_in_the_directions_asked_for(asked: list[tuple[Tree, int]]) -> None:
    """Also when one gate is asked for twice, with more directions the second time."""
    formula = new_formula()
    literals = [built(tree, formula, way) for tree, way in asked]
    assert [] not in formula.clauses
    with Minisat22(bootstrap_with=formula.clauses) as solver:
        for free in itertools.product((False, True), repeat=FREE):
            values = {TRUE: True, **dict(enumerate(free, 2))}
            consistent, known = solver.propagate([v if on else -v for v, on in values.items()])
            assert consistent
            for (tree, way), literal in zip(asked, literals, strict=True):
                holds = meaning(tree, values)
                if way & UP and holds:
                    assert literal == TRUE or literal in known
                if way & DOWN and not holds:
                    assert literal == FALSE or -literal in known


@settings(max_examples=drawn(100), deadline=None)
@given(trees)
def test_what_is_built_twice_is_one_gate(tree: Tree) -> None:
    formula = new_formula()
    first = built(tree, formula, BOTH)
    size, clauses = formula.size, len(formula.clauses)
    assert built(tree, formula, BOTH) == first
    assert (formula.size, len(formula.clauses)) == (size, clauses)


@settings(max_examples=drawn(100), deadline=None)
@given(trees, st.sampled_from([(UP, DOWN), (DOWN, UP), (UP, BOTH), (DOWN, BOTH)]))
def test_a_gate_gets_the_directions_that_are_asked_for_later(tree: Tree, ways: tuple[int, int]) -> None:
    formula = new_formula()
    literals = {built(tree, formula, way) for way in ways}
    assert len(literals) == 1
    with Minisat22(bootstrap_with=formula.clauses) as solver:
        for free in itertools.product((False, True), repeat=FREE):
            values = {TRUE: True, **dict(enumerate(free, 2))}
            _, known = solver.propagate([v if on else -v for v, on in values.items()])
            literal = literals.copy().pop()
            assert (literal if meaning(tree, values) else -literal) in {TRUE, *known}


def test_known_implications_shorten_conjunctions() -> None:
    formula = new_formula()
    formula.add([-2, 3])
    formula.implied[2] = frozenset((3,))
    assert formula.conj(2, 3) == formula.conj(3, 2) == 2
    assert formula.conj_all([3, 2, 4]) == formula.conj(2, 4)


def test_clauses_are_simplified_against_the_constants() -> None:
    formula = new_formula()
    formula.add([2, TRUE])
    formula.add([FALSE, 3])
    assert formula.clauses == [[TRUE], [3]]
    formula.add([FALSE])
    assert formula.clauses == [[TRUE], [3], []]


def test_at_most_one() -> None:
    formula = new_formula()
    formula.at_most_one([2, 3, 4])
    with Minisat22(bootstrap_with=formula.clauses) as solver:
        for free in itertools.product((False, True), repeat=3):
            assumed = [v if on else -v for v, on in enumerate(free, 2)]
            assert solver.solve(assumptions=assumed) == (sum(free) <= 1)


def test_what_follows_from_a_conjunction_are_its_parts() -> None:
    formula = Formula()
    a, b, c = formula.new(), formula.new(), formula.new()
    both = formula.conj(a, b, BOTH)
    whole = formula.conj_all([both, c], BOTH)
    assert formula.follows(a, whole) and formula.follows(both, whole)
    assert not formula.follows(c, both) and not formula.follows(whole, both)


def test_nothing_follows_from_a_gate_that_does_not_justify_its_operands() -> None:
    formula = Formula()
    a, b = formula.new(), formula.new()
    assert not formula.follows(a, formula.conj(a, b, UP))


def test_a_conjunction_with_the_opposite_of_some_of_its_parts_never_holds() -> None:
    formula = Formula()
    a, b, c = formula.new(), formula.new(), formula.new()
    assert formula.conj_all([-formula.conj(a, b, BOTH), a, b, c]) == FALSE


def test_long_conjunctions_are_seen_through() -> None:
    formula = Formula()
    literals = [formula.new() for _ in range(20)]
    whole, some = formula.conj_all(literals, BOTH), formula.conj_all(literals[3:12], BOTH)
    nested = formula.conj_all([formula.conj(literals[0], literals[1], BOTH), some], BOTH)
    assert formula.follows(nested, whole) and not formula.follows(whole, nested)
    assert formula.conj(whole, some) == formula.conj(nested, whole) == whole
    assert formula.conj(whole, -some) == FALSE


def test_what_others_imply_is_not_said_when_they_are_forbidden() -> None:
    formula = Formula()
    a, b = formula.new(), formula.new()
    formula.implied[a] = frozenset((b,))
    formula.forbid(a, b, TRUE)
    assert formula.clauses[-1] == [-a] and formula.refuted == {a}
