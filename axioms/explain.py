"""Why not: which axioms stand between a program and an outcome that it cannot have."""

from __future__ import annotations

import time

from axioms.cat.model import Model
from axioms.program import Program
from axioms.result import Decision, OutOfTime
from axioms.values import TooManyValues

#: An explanation is for people: of tests that people read, and while they wait.
_MAX_EVENTS = 80
_SECONDS = 0.5


def explain(program: Program, model: Model, decision: Decision, deadline: float | None) -> None:
    """Notes in `decision` the axioms without which a state of the missing kind appears.

    Usually there are axioms each of which is needed: dropping that one alone lets the outcome in. Otherwise several forbid it
    independently: the smallest set found that has to be dropped together. None, when the program cannot reach such a state
    under any model, or reaches both kinds, and for programs too large for a quick answer.
    """
    if 0 not in (decision.positive, decision.negative) or program.size > _MAX_EVENTS:
        return
    limit = time.monotonic() + _SECONDS
    try:
        _explain(program, model, decision, limit if deadline is None else min(limit, deadline))
    except (OutOfTime, TooManyValues):
        return


def _explain(program: Program, model: Model, decision: Decision, deadline: float) -> None:
    from axioms.encode import Encoding
    from axioms.solve import Session

    names = list(dict.fromkeys(a.name for a in model.axioms))

    def reachable(dropped: set[str]) -> bool:
        weaker = without(model, dropped)
        session = Session(program, weaker, Encoding(program, weaker, deadline=deadline), None, deadline)
        try:
            wanted = session.condition if decision.positive == 0 else -session.condition
            encoding = session.encoding
            return session.solver.solve([encoding.finishes, session.filter, -encoding.troubled, wanted])
        finally:
            session.solver.close()

    needed = [n for n in names if reachable({n})]
    if needed:
        decision.forbidding = tuple(needed)
        return
    dropped = set(names)
    if not reachable(dropped):
        return
    for n in names:  # several together: the smallest set found by putting one after another back
        if reachable(dropped - {n}):
            dropped.discard(n)
    decision.forbidding = tuple(n for n in names if n in dropped)
    decision.forbidding_each = True


def without(model: Model, dropped: set[str]) -> Model:
    """The model less some of its axioms."""
    weaker = Model(model.name)
    weaker.title, weaker.nodes, weaker.names, weaker.bases = model.title, model.nodes, model.names, model.bases
    weaker.axioms = [a for a in model.axioms if a.name not in dropped]
    return weaker
