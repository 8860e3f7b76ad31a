"""Whether a loop bound cuts any execution off, and what is said of values without a bound."""

from __future__ import annotations

from axioms.cat.model import Model
from axioms.errors import UnsupportedProgram
from axioms.program import Program
from axioms.witness.fitted import fitted
from axioms.witness.tearing import with_tearing


def is_cut_off(program: Program, model: Model, backend: str | None = None, deadline: float | None = None) -> bool:
    """Whether a loop bound stops a thread in some execution."""
    from axioms.encode import solve
    from axioms.sat.values import TooManyValues

    asked = with_tearing(program, model)
    fit = fitted(model, asked, frozenset())
    try:
        return solve.is_cut_off(asked, fit, backend, deadline)
    except TooManyValues:
        if backend == "sat":
            raise unbounded() from None
        from axioms.encode.symbolic import is_cut_off as by_numbers

        return by_numbers(asked, fit, deadline)


def unbounded() -> UnsupportedProgram:
    """What a SAT solver alone says of values that are too many to be told apart by literals."""
    return UnsupportedProgram("values that no finite set bounds: only Z3 decides them, not --backend sat")
