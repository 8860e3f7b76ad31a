"""A model over a partly known world allows exactly the valuations whose concrete executions obey it."""

from __future__ import annotations

import pytest
from campaigns import drawn
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from partly_known import RELATIONS, SETS, Valuation, World, worlds
from pysat.solvers import Minisat22

from axioms.cat.evaluate import Evaluation
from axioms.cat.model import Model, compile_model
from axioms.encode.interpret import Interpreter
from axioms.errors import UnsupportedProgram
from axioms.sat.formula import TRUE, Formula
from axioms.sat.relations import Executed, Relation

SLOW = list(HealthCheck)


def sets(depth: int) -> st.SearchStrategy[str]:
    plain = st.sampled_from([*SETS, "_", "{}"])
    if depth == 0:
        return plain
    return st.one_of(
        plain,
        st.builds("({} {} {})".format, sets(depth - 1), st.sampled_from("|&\\"), sets(depth - 1)),
        st.builds("(~{})".format, sets(depth - 1)),
        st.builds("{}({})".format, st.sampled_from(["domain", "range"]), expressions(depth - 1)),
    )


def expressions(depth: int, names: tuple[str, ...] = RELATIONS) -> st.SearchStrategy[str]:
    """A relation, written out."""
    plain = st.sampled_from([*names, *names, "id"])
    if depth == 0:
        return plain
    inner = expressions(depth - 1, names)
    return st.one_of(
        plain,
        st.builds("({} {} {})".format, inner, st.sampled_from("||&&;;;\\"), inner),
        st.builds("({}{})".format, inner, st.sampled_from(["+", "*", "?", "^-1", "+"])),
        st.builds("([{}]; {}; [{}])".format, sets(depth - 1), inner, sets(depth - 1)),
        st.builds("([{}]; {})".format, sets(depth - 1), inner),
        st.builds("({} * {})".format, sets(depth - 1), sets(depth - 1)),
        st.builds("(~{})".format, inner),
    )


def axioms(depth: int) -> st.SearchStrategy[str]:
    kinds = ["empty", "empty", "empty", "acyclic", "irreflexive", "~empty", "~acyclic", "~irreflexive"]
    return st.builds("{} {}".format, st.sampled_from(kinds), expressions(depth))


def allows_the_same(world: World, model: Model, before: list[Valuation]) -> None:
    interpreter = Interpreter(
        world.size, world.formula, world.executed, world.members, lambda name: _base(world, name), _never
    )
    try:
        for axiom in model.axioms:
            interpreter.assert_axiom(axiom)
    except UnsupportedProgram:
        assume(False)
    if [] in world.formula.clauses:
        allowed = set()
    else:
        with Minisat22(bootstrap_with=world.formula.clauses) as solver:
            allowed = {
                i for i, v in enumerate(before) if solver.solve(assumptions=[l if on else -l for l, on in v.items()])
            }
    for i, valuation in enumerate(before):
        broken = Evaluation(model, world.size, world.base(valuation)).violated()
        assert (i in allowed) == (not broken), (valuation, [a.name for a in broken])


def _base(world: World, name: str) -> Relation:
    if name == "id":
        return world.executed.static([1 << i for i in range(world.size)])
    return world.relations[name]


def _never() -> None:
    """No deadline."""


def checked(world: World, text: str) -> None:
    allows_the_same(world, compile_model("random", text), list(world.valuations()))


@settings(max_examples=drawn(400), deadline=None, suppress_health_check=SLOW)
@given(worlds(most_events=3, most_free=5), st.lists(axioms(3), min_size=1, max_size=2))
def test_axioms_forbid_exactly_what_breaks_them(world: World, lines: list[str]) -> None:
    checked(world, "\n".join(lines))


#: What axioms mostly look like, and what the interpreter has ways of its own for.
SHAPES = (
    "empty ({a} & ({b}; {c}))",
    "empty ({a} & ([W]; {b}; {c}; [R]))",
    "empty ({a} & ({b}; {c}; [R])) & ({c}; {b})",
    "empty ({a}+ & ({b}; {c}))",
    "empty (({a} | {b})+ & [W]; {c}+; [R])",
    "empty ([W]; {a}; [R]) \\ ({b} | {c}^-1)",
    "irreflexive {a}; {b}",
    "irreflexive ({a} | {b})?; {c}+",
    "irreflexive [W]; {a}; [R]; {b}+",
    "acyclic {a} | ({b}; [R]; {c}) | ([W]; {a}+)",
    "empty (~{a} & {b}+) \\ {c}*",
)


@pytest.mark.part(3)
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=drawn(40), deadline=None, suppress_health_check=SLOW)
@given(world=worlds(), parts=st.permutations(RELATIONS))
def test_common_shapes_forbid_exactly_what_breaks_them(shape: str, world: World, parts: list[str]) -> None:
    checked(world, shape.format(a=parts[0], b=parts[1], c=parts[2]))


#: Recursions that are closures, that are not, and that depend on each other.
RECURSIONS = (
    "let rec x = {a} | (x; {b})",
    "let rec x = {a} | ({b}; x)",
    "let rec x = {a} | (x; x)",
    "let rec x = {a} | (x; {b}; x)",
    "let rec x = {a} | (x & {b}) | (x^-1; {c})",
    "let rec x = {a} | ({b}; x; {c}) | (x; x)",
    "let rec y = {a} | (x; {b}) and x = {c} | (y & {b}) | (y; y)",
    "let rec y = {a} and x = {b} | y | (x; {c})",
    "let rec x = {a} | (([range(x)]; {b}) & {c})",
)


@pytest.mark.part(3)
@pytest.mark.parametrize("recursion", RECURSIONS)
@settings(max_examples=drawn(40), deadline=None, suppress_health_check=SLOW)
@given(
    world=worlds(most_events=3, most_free=5),
    parts=st.tuples(expressions(1), expressions(1), expressions(1)),
    axiom=st.sampled_from(
        ["empty x", "acyclic x", "irreflexive x; rmw", "empty (x & rf) \\ rmw", "empty [W]; x; [R]", "~empty rf \\ x"]
    ),
)
def test_recursions_are_least_solutions(recursion: str, world: World, parts: tuple[str, ...], axiom: str) -> None:
    a, b, c = parts
    checked(world, recursion.format(a=a, b=b, c=c) + f"\n{axiom}")


def test_a_recursion_below_a_difference_is_asked_of_each_execution() -> None:
    """No formula says of a recursion that it contains no more than it must."""
    for axiom in ("empty rf \\ x", "~empty x", "empty po & (rf \\ x)"):
        model = compile_model("m", f"let rec x = rf | (x & rmw) | (x; x; x)\nempty x as plain\n{axiom} as odd")
        assert [found.name for found in model.axioms] == ["plain"]
        assert model.residual is not None and model.residual.forbids and model.residual.name == "odd"


@pytest.mark.long
def test_a_model_may_nest_deeply() -> None:
    text = "empty " + "(" * 20_000 + "rf" + ";rmw^-1|rf)" * 20_000
    formula = Formula()
    executed = Executed([TRUE] * 2, formula)
    model = compile_model("deep", text)
    Interpreter(2, formula, executed, {}, lambda name: Relation([0b10, 0], {}), _never).assert_axiom(model.axioms[0])
    assert [] in formula.clauses or [-TRUE] in formula.clauses
