"""Solvers behind one narrow door: add clauses, solve under assumptions, read the model.

The SAT solver takes clauses as they are. Z3 takes them as text, which is many times faster than building its objects clause
by clause. Both may be asked for one assumption set after another, with clauses added in between.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from axioms.errors import EngineDefect
from axioms.sat.formula import Formula
from ptxcore.clock import LONGEST, OutOfTime, tick


class Backend(Protocol):
    def add(self, clause: Sequence[int]) -> None: ...
    def solve(self, assumptions: Sequence[int] = ()) -> bool: ...
    def model(self) -> list[bool]:
        """The value of each variable; index 0 is unused."""
        ...

    def limit(self, seconds: float) -> bool:
        """From now on answers take at most so long altogether (OutOfTime after that). False where it cannot be stopped."""
        ...

    def close(self) -> None: ...


#: So many clauses are handed over between two looks at the clock.
_BETWEEN = 512
#: Most questions are answered within so many propagations, in some milliseconds; only the others get a thread that watches the
#: clock, which takes longer to start than those.
_PROPAGATIONS = 100_000
#: From this many clauses on a modern solver's preprocessing pays for its start.
_LARGE = 20000


@functools.cache  # to look costs more than to solve a small formula
def sat_available() -> bool:
    return importlib.util.find_spec("pysat") is not None


class SatBackend:
    """A SAT solver of python-sat: MiniSat for small problems and enumeration, CaDiCaL for large ones.

    CaDiCaL cannot be interrupted there, so a deadline (a time of `time.monotonic`) keeps to solvers that can.
    """

    def __init__(self, formula: Formula, deadline: float | None = None) -> None:
        is_large = len(formula.clauses) > _LARGE
        self.solver = _solver(_ticking(formula.clauses), is_large, deadline is not None)
        self.size, self.deadline = formula.size, deadline
        self.can_stop = not is_large or deadline is not None

    def add(self, clause: Sequence[int]) -> None:
        self.size = max(self.size, *map(abs, clause))
        self.solver.add_clause(clause)

    def solve(self, assumptions: Sequence[int] = ()) -> bool:
        if self.deadline is None:
            return bool(self.solver.solve(assumptions=list(assumptions)))
        left = min(LONGEST, self.deadline - time.monotonic())
        if left <= 0:
            raise OutOfTime
        self.solver.prop_budget(_PROPAGATIONS)
        answer = self._limited(assumptions)
        if answer is None:
            self.solver.prop_budget(-1)  # as many as it takes
            answer = self._watched(assumptions, left)
        if answer is None:
            raise OutOfTime
        return answer

    def _limited(self, assumptions: Sequence[int]) -> bool | None:
        answer = self.solver.solve_limited(assumptions=list(assumptions), expect_interrupt=True)
        return None if answer is None else bool(answer)

    def _watched(self, assumptions: Sequence[int], seconds: float) -> bool | None:
        """The answer, or None where it takes longer."""
        timer = threading.Timer(seconds, self.solver.interrupt)
        timer.start()
        try:
            return self._limited(assumptions)
        finally:
            timer.cancel()
            timer.join()
            self.solver.clear_interrupt()

    def limit(self, seconds: float) -> bool:
        if self.can_stop:
            self.deadline = _earlier(self.deadline, seconds)
        return self.can_stop

    def model(self) -> list[bool]:
        values = [False] * (self.size + 1)
        for literal in self.solver.get_model():
            if 0 < literal <= self.size:
                values[literal] = True
        return values

    def close(self) -> None:
        self.solver.delete()


def _solver(clauses: Iterator[Sequence[int]], is_large: bool, must_stop: bool) -> Any:
    """The solver that is best for so many clauses."""
    if not is_large:
        from axioms.sat.minisat import new_minisat

        return new_minisat(clauses)
    from pysat.solvers import Cadical153, Glucose4

    return (Glucose4 if must_stop else Cadical153)(bootstrap_with=clauses)


def _ticking(clauses: Sequence[Sequence[int]]) -> Iterator[Sequence[int]]:
    """The clauses, with looks at the clock between them."""
    return itertools.chain.from_iterable(_portions(clauses))


def _portions(clauses: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    for at in range(0, len(clauses), _BETWEEN):
        tick()
        yield clauses[at : at + _BETWEEN]


def solver_of(formula: Formula, backend: str | None, deadline: float | None) -> Backend:
    """A formula in the solver that decides it best, or in the one that is named."""
    if backend == "z3" or (backend is None and not sat_available()):
        return Z3Backend(formula, deadline)
    return SatBackend(formula, deadline)


def _earlier(deadline: float | None, seconds: float) -> float:
    soon = time.monotonic() + seconds
    return soon if deadline is None else min(soon, deadline)


def new_z3_solver() -> Any:
    """A Z3 solver that leaves Ctrl-C to Python."""
    import z3

    solver = z3.Solver()
    solver.set(ctrl_c=False)
    return solver


def check_z3(solver: Any, assumptions: Sequence[Any], deadline: float | None) -> bool:
    """Z3's answer. It never takes "unknown" for an answer: that is OutOfTime, or a defect."""
    import z3

    if deadline is not None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime
        solver.set("timeout", max(1, int(min(left, LONGEST) * 1000)))
    answer = solver.check(*assumptions)
    if answer == z3.unknown:
        if deadline is not None:
            raise OutOfTime
        raise EngineDefect(f"Z3 gave up: {solver.reason_unknown()}")
    return bool(answer == z3.sat)


class Z3Backend:
    """Z3 on the clauses alone."""

    def __init__(self, formula: Formula, deadline: float | None = None) -> None:
        import z3

        self.z3, self.size, self.deadline = z3, formula.size, deadline
        self.solver: Any = new_z3_solver()
        self.solver.from_string(dimacs(formula))

    def _literal(self, literal: int) -> Any:
        variable = self.z3.Bool(abs(literal))  # its DIMACS reader names variables by numbers, and prints 5 as k!5
        return variable if literal > 0 else self.z3.Not(variable)

    def add(self, clause: Sequence[int]) -> None:
        self.size = max(self.size, *map(abs, clause))
        self.solver.add(self.z3.Or([self._literal(l) for l in clause]))

    def solve(self, assumptions: Sequence[int] = ()) -> bool:
        return check_z3(self.solver, [self._literal(l) for l in assumptions], self.deadline)

    def limit(self, seconds: float) -> bool:
        self.deadline = _earlier(self.deadline, seconds)
        return True

    def model(self) -> list[bool]:
        values = [False] * (self.size + 1)
        model = self.solver.model()
        for declaration in model.decls():
            name = declaration.name()
            if name.startswith("k!") and self.z3.is_true(model[declaration]):
                values[int(name[2:])] = True
        return values

    def close(self) -> None:
        del self.solver


def dimacs(formula: Formula) -> str:
    lines = [f"p cnf {formula.size} {len(formula.clauses)}"]
    lines += [" ".join(map(str, c)) + " 0" for c in formula.clauses]
    return "\n".join(lines) + "\n"
