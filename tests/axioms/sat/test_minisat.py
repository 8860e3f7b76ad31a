"""MiniSat by the extension alone answers as that of `pysat.solvers` does."""

from __future__ import annotations

import sys
from random import Random
from types import ModuleType

import pytest

from axioms.sat import minisat
from axioms.sat.minisat import MiniSat, new_minisat

solvers = pytest.importorskip("pysat.solvers")


def clauses(random: Random) -> list[list[int]]:
    return [
        [random.choice((-1, 1)) * random.randint(1, 12) for _ in range(random.randint(1, 3))]
        for _ in range(random.randint(4, 50))
    ]


def test_it_answers_as_the_library_does() -> None:
    random, seen = Random(1), set()
    for _ in range(300):
        wanted, more, assumed = clauses(random), clauses(random)[:2], [random.choice((-3, 3)), random.choice((-5, 5))]
        mine, theirs = new_minisat(iter(wanted)), solvers.Minisat22(bootstrap_with=wanted)
        assert isinstance(mine, MiniSat)
        for solver in (mine, theirs):
            for clause in more:
                solver.add_clause(clause)
        answer = mine.solve(assumptions=assumed)
        assert answer == theirs.solve(assumptions=assumed)
        assert mine.solve_limited(assumptions=assumed, expect_interrupt=True) == answer
        if answer:
            model = set(mine.get_model())
            assert all(not model.isdisjoint(c) for c in [*wanted, *more, *([a] for a in assumed)])
        else:
            assert mine.get_model() == []
        seen.add(answer)
        mine.delete()
        mine.delete()
        theirs.delete()
    assert seen == {True, False}


@pytest.mark.parametrize("module", [None, ModuleType("pysolvers")])
def test_without_the_extension_as_it_is_known_the_library_is_used(
    module: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pysolvers", module)
    solver = minisat.new_minisat([[1], [-1]])
    assert isinstance(solver, solvers.Minisat22) and not solver.solve()
