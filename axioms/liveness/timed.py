"""Waiting loops that look at a clock: whether one goes round without end.

    do { seen = load(flag); now = clock(); } while (seen == 0 && now - then < 1000);

Each iteration finds something else there, so a thread that nothing else lets go leaves such a loop, if some number would lead
it on. Where none would (it only sleeps longer, say), the loop goes round without end whatever clocks say.
"""

from __future__ import annotations

from functools import lru_cache

from axioms.errors import UnsupportedProgram
from ptxcore.isa.effect_kinds import INPUT
from ptxcore.machine.ir.effects import UNWRITTEN, Stuck, ThreadExecution
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: Numbers of clocks that are tried. What needs more of them is not decided.
_MOST_NUMBERS = 16
#: Resources of Z3 for each: those of some hundred milliseconds.
_MOST_WORK = 2_000_000


def repeats(stuck: Stuck, execution: ThreadExecution) -> Value | None:
    """The condition under which a waiting loop of a thread goes round without end, as long as its reads find the same. None
    where that is not found out within so many numbers of clocks and so much of Z3's work."""
    if type(stuck.repeats) is not Term:
        return stuck.repeats
    inside = terms.symbols_of(stuck.repeats)
    clocks = [
        e.result
        for e in execution.effects[stuck.start :]
        if e.kind is INPUT and e.operation not in ("try_wait", UNWRITTEN) and e.result in inside
    ]
    return _whatever(stuck.repeats, tuple(c for c in clocks if c is not None)) if clocks else stuck.repeats


@lru_cache(maxsize=1024)
def _whatever(condition: Term, clocks: tuple[Term, ...]) -> Value | None:
    """When a condition holds whatever clocks say: with each of some numbers, of which always one is against it if any number
    is. None where so few are not enough, or where it takes too long to find them."""
    found: Value = 1
    for _ in range(_MOST_NUMBERS):
        try:
            numbers = _against(terms.conj(found, terms.negate(condition)), clocks)
        except UnsupportedProgram:
            return None
        if numbers is None:
            return found
        found = terms.conj(found, terms.substitute(condition, numbers))
        if found == 0:
            return 0
    return None


def _against(condition: Value, clocks: tuple[Term, ...]) -> dict[Term, Value] | None:
    """What clocks say where a condition holds; None where it never does.

    Raises `UnsupportedProgram` where that cannot be asked of Z3, or takes more than `_MOST_WORK`."""
    import z3

    from axioms.sat.backends import new_z3_solver
    from axioms.sat.smt import SmtText

    if type(condition) is int:
        return dict.fromkeys(clocks, 0) if condition else None
    text = SmtText()
    name = text.define(condition, 1)
    solver = new_z3_solver()
    solver.set("rlimit", _MOST_WORK)
    solver.from_string("\n".join([*text.lines, f"(assert {name})"]))
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer == z3.unknown:
        raise UnsupportedProgram("Z3 needs more than its share")
    model = solver.model()

    def number(clock: Term) -> int:
        said = text.names.get(clock)
        if said is None:
            return 0
        if clock.width == 1:
            return int(z3.is_true(model.eval(z3.Bool(said), model_completion=True)))
        return int(model.eval(z3.BitVec(said, clock.width), model_completion=True).as_long())

    return {clock: number(clock) for clock in clocks}


__all__ = ["repeats"]
