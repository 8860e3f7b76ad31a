"""MiniSat of python-sat, by the extension module that python-sat is built on.

`pysat.solvers` brings parsers and compressors with it, and importing those takes a tenth of the time of a small test. Where the
extension is not as known here, `pysat.solvers` is used after all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import ModuleType
from typing import Any

#: What is asked of the extension.
_NEEDED = tuple(
    f"minisat22_{name}"
    for name in ("new", "add_cl", "solve", "solve_lim", "pbudget", "interrupt", "clearint", "model", "del")
)


def new_minisat(clauses: Iterable[Any]) -> Any:
    """A solver with these clauses: one of `pysat.solvers`, or a `MiniSat`, which is used alike."""
    try:
        import pysolvers
    except ImportError:
        pysolvers = None
    if pysolvers is None or not all(hasattr(pysolvers, name) for name in _NEEDED):
        from pysat.solvers import Minisat22

        return Minisat22(bootstrap_with=clauses)
    return MiniSat(pysolvers, clauses)


class MiniSat:
    """A solver, as those of `pysat.solvers` are."""

    def __init__(self, module: ModuleType, clauses: Iterable[Any]) -> None:
        self._module, self._solver = module, module.minisat22_new()
        self._satisfied: bool | None = None
        solver, add = self._solver, module.minisat22_add_cl
        for clause in clauses:
            add(solver, clause)

    def add_clause(self, clause: Any) -> None:
        self._module.minisat22_add_cl(self._solver, clause)

    def solve(self, assumptions: list[int]) -> bool:
        self._satisfied = bool(self._module.minisat22_solve(self._solver, assumptions, _in_main_thread()))
        return self._satisfied

    def solve_limited(self, assumptions: list[int], expect_interrupt: bool) -> bool | None:
        """None where it was interrupted, or its budget was spent."""
        self._satisfied = self._module.minisat22_solve_lim(
            self._solver, assumptions, _in_main_thread(), int(expect_interrupt)
        )
        return self._satisfied

    def prop_budget(self, budget: int) -> None:
        """Limited solving ends after so many propagations more; -1: after any number."""
        self._module.minisat22_pbudget(self._solver, budget)

    def interrupt(self) -> None:
        self._module.minisat22_interrupt(self._solver)

    def clear_interrupt(self) -> None:
        self._module.minisat22_clearint(self._solver)

    def get_model(self) -> list[int]:
        """The literals that hold, after an answer of yes."""
        return (self._module.minisat22_model(self._solver) if self._satisfied else None) or []

    def delete(self) -> None:
        if self._solver is not None:
            self._module.minisat22_del(self._solver)
            self._solver = None

    def __del__(self) -> None:
        self.delete()


def _in_main_thread() -> int:
    """The extension lets Ctrl-C stop it where Python hears of signals."""
    return int(threading.current_thread() is threading.main_thread())
