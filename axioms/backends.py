"""Solvers behind one narrow door: add clauses, solve under assumptions, read the model.

The SAT solver takes clauses as they are. Z3 takes them as text, which is many times faster than building its objects clause
by clause. Both may be asked for one assumption set after another, with clauses added in between.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any, Protocol

from axioms.formula import Formula


class Backend(Protocol):
    def add(self, clause: Sequence[int]) -> None: ...
    def solve(self, assumptions: Sequence[int] = ()) -> bool: ...
    def model(self) -> list[bool]:
        """The value of each variable; index 0 is unused."""
        ...

    def close(self) -> None: ...


#: From this many clauses on a modern solver's preprocessing pays for its start.
_LARGE = 20000


def sat_available() -> bool:
    return importlib.util.find_spec("pysat") is not None


class SatBackend:
    """A SAT solver of python-sat: MiniSat for small problems and enumeration, CaDiCaL for large ones."""

    def __init__(self, formula: Formula) -> None:
        from pysat.solvers import Cadical153, Minisat22

        kind = Cadical153 if len(formula.clauses) > _LARGE else Minisat22
        self.solver: Any = kind(bootstrap_with=formula.clauses)
        self.size = formula.size

    def add(self, clause: Sequence[int]) -> None:
        self.solver.add_clause(clause)

    def solve(self, assumptions: Sequence[int] = ()) -> bool:
        return bool(self.solver.solve(assumptions=list(assumptions)))

    def model(self) -> list[bool]:
        values = [False] * (self.size + 1)
        for literal in self.solver.get_model():
            if 0 < literal <= self.size:
                values[literal] = True
        return values

    def close(self) -> None:
        self.solver.delete()


class Z3Backend:
    """Z3 on the clauses alone."""

    def __init__(self, formula: Formula) -> None:
        import z3

        self.z3 = z3
        self.size = formula.size
        self.solver: Any = z3.Solver()
        self.solver.set(ctrl_c=False)  # LOCAL TRIAL
        self.solver.from_string(dimacs(formula))

    def _literal(self, literal: int) -> Any:
        variable = self.z3.Bool(abs(literal))  # its DIMACS reader names variables by numbers, and prints 5 as k!5
        return variable if literal > 0 else self.z3.Not(variable)

    def add(self, clause: Sequence[int]) -> None:
        self.solver.add(self.z3.Or([self._literal(l) for l in clause]))

    def solve(self, assumptions: Sequence[int] = ()) -> bool:
        return bool(self.solver.check(*[self._literal(l) for l in assumptions]) == self.z3.sat)

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
