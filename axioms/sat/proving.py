"""Whether a condition can hold at all: a question to Z3, where terms do not see it by themselves."""

from __future__ import annotations

from ptxcore.values.terms import Value

#: Beyond so many milliseconds a condition counts as possible.
_PATIENCE = 2000


def impossible(condition: Value) -> bool:
    """Whether a condition holds for no values of its symbols. "I do not know" is no."""
    if type(condition) is int:
        return not condition
    import z3

    from axioms.sat.backends import new_z3_solver
    from axioms.sat.smt import SmtText

    text = SmtText()
    name = text.define(condition, 1)
    solver = new_z3_solver()
    solver.set("timeout", _PATIENCE)
    solver.from_string("\n".join([*text.lines, f"(assert {name})"]))
    return bool(solver.check() == z3.unsat)
