"""Solvers: the same answers from each, in time or not at all."""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from campaigns import drawn, lengths
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxmm
from axioms.errors import EngineDefect
from axioms.sat import backends
from axioms.sat.backends import Backend, SatBackend, Z3Backend
from axioms.sat.formula import Formula
from ptxcore.clock import OutOfTime

LIBRARY = Path(__file__).resolve().parents[3] / "litmus" / "library"
BACKENDS: list[Callable[..., Backend]] = [SatBackend, Z3Backend]
VARIABLES = 6

literals = st.integers(2, VARIABLES + 1).flatmap(lambda v: st.sampled_from([v, -v]))
clauses = st.lists(st.lists(literals, min_size=1, max_size=3), max_size=14)


def formula_of(lists: list[list[int]]) -> Formula:
    formula = Formula()
    for _ in range(VARIABLES):
        formula.new()
    for clause in lists:
        formula.add(clause)
    return formula


@settings(max_examples=drawn(80), deadline=None)
@given(clauses, st.lists(st.lists(literals, max_size=3), max_size=4), st.lists(literals, min_size=1, max_size=2))
def test_both_solvers_give_the_same_answers(
    lists: list[list[int]], assumptions: list[list[int]], more: list[int]
) -> None:
    solvers = [make(formula_of(lists)) for make in BACKENDS]
    for round_ in range(2):
        for assumed in ([], *assumptions):
            answers = [s.solve(assumed) for s in solvers]
            assert answers[0] == answers[1]
            for solver in solvers if answers[0] else ():
                model = solver.model()
                assert model[1], "TRUE is true"
                known = [*lists, *([more] if round_ else []), *[[l] for l in assumed]]
                assert all(any(model[abs(l)] == (l > 0) for l in clause) for clause in known)
        for solver in solvers:
            solver.add(more)
    for solver in solvers:
        solver.close()


def pigeons(n: int) -> Formula:
    """n + 1 pigeons do not fit into n holes, and no resolution proof of it is short."""
    formula = Formula()
    sits = [[formula.new() for _ in range(n)] for _ in range(n + 1)]
    for row in sits:
        formula.add(row)
    for hole in range(n):
        formula.at_most_one([row[hole] for row in sits])
    return formula


@pytest.mark.parametrize("make", BACKENDS)
@pytest.mark.parametrize("left", [-1.0, 0.3])
def test_a_deadline_is_kept(make: Callable[..., Backend], left: float) -> None:
    solver = make(pigeons(30), time.monotonic() + left)
    with pytest.raises(OutOfTime):  # without a deadline the answer takes longer than the world is old
        solver.solve()


@pytest.mark.parametrize("make", BACKENDS)
def test_a_deadline_that_is_far_off_changes_nothing(make: Callable[..., Backend]) -> None:
    solver = make(pigeons(4), time.monotonic() + 3600)
    assert not solver.solve()
    solver = make(formula_of([[2, 3], [-2]]), time.monotonic() + 3600)
    assert solver.solve() and solver.model()[3] and solver.solve([3]) and not solver.solve([-3])


@pytest.mark.parametrize(("deadline", "error"), [(None, EngineDefect), (60.0, OutOfTime)])
def test_unknown_is_never_an_answer(
    deadline: float | None, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    import z3

    monkeypatch.setattr(z3.Solver, "check", lambda *arguments: z3.unknown)
    solver = Z3Backend(formula_of([]), None if deadline is None else time.monotonic() + deadline)
    with pytest.raises(error):
        solver.solve()


def test_large_problems_and_small_ones_are_solved_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    for deadline in (None, time.monotonic() + 3600):
        monkeypatch.setattr(backends, "_LARGE", 0)
        for _ in range(20):
            lists = [[chance.choice((1, -1)) * chance.randrange(2, 8) for _ in range(3)] for _ in range(20)]
            large = SatBackend(formula_of(lists), deadline)
            small = Z3Backend(formula_of(lists))
            assert large.solve() == small.solve()
            large.close()


@pytest.fixture
def looked_for_anew() -> Iterator[None]:
    """Whether python-sat is there is found out once, but in the test and behind it."""
    backends.sat_available.cache_clear()
    yield
    backends.sat_available.cache_clear()


@pytest.mark.usefixtures("looked_for_anew")
@pytest.mark.parametrize("every", lengths(36, 9))
def test_without_python_sat_z3_decides(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted(LIBRARY.rglob("*.litmus"))[every // 4 :: every]
    tests = [ptxmm.load(f) for f in files]
    wanted = [ptxmm.check(t) for t in tests]
    genuine = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pysat" else genuine(name, *rest)
    )
    for name in [n for n in sys.modules if n == "pysat" or n.startswith("pysat.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pysat", None)
    backends.sat_available.cache_clear()
    assert not backends.sat_available()
    for test, before in zip(tests, wanted, strict=True):
        result = ptxmm.check(test, explain=True)
        assert (result.verdict, result.states) == (before.verdict, before.states)


@pytest.mark.usefixtures("looked_for_anew")
def test_a_solver_that_is_asked_for_and_not_there_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysat", None)
    for name in [n for n in sys.modules if n.startswith("pysat.")]:
        monkeypatch.delitem(sys.modules, name)
    test = ptxmm.parse("PTX t\n{ x=0; }\nP0 { st.weak.u32 [x], 1; }\nexists (x = 1)")
    with pytest.raises(ValueError, match="needs python-sat, which is not installed"):
        ptxmm.check(test, backend="sat")
