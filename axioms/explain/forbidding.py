"""Why not: which axioms stand between a program and an outcome that it cannot have."""

from __future__ import annotations

import time

from axioms.cat.model import Model
from axioms.program import Program
from axioms.sat.values import TooManyValues
from axioms.witness.result import Decision, Unreachable
from ptxcore.clock import OutOfTime

#: An explanation is for people: of tests that people read, and while they wait. Whoever asks for reasons waits longer.
_MAX_EVENTS, _SECONDS = 80, 0.5
MOST_EVENTS, MOST_SECONDS = 200, 20.0


def explain(
    program: Program, model: Model, decision: Decision, deadline: float | None, *, patient: bool = False
) -> None:
    """Notes in `decision` the axioms without which a state of the missing kind appears, or why none is named (`unreachable`).

    Usually there are axioms each of which is needed: dropping that one alone lets the outcome in. Otherwise several forbid it
    independently: the smallest set found that has to be dropped together. None, when the program cannot reach such a state
    under any model, or reaches both kinds, and for programs too large for a quick answer; `patient`: that may take longer.
    """
    if 0 not in (decision.positive, decision.negative):
        return
    most, seconds = (MOST_EVENTS, MOST_SECONDS) if patient else (_MAX_EVENTS, _SECONDS)
    if program.size > most:
        decision.unreachable = Unreachable("size", events=program.size, most=most)
        return
    start = time.monotonic()
    limit = start + seconds
    try:
        _explain(program, model, decision, limit if deadline is None else min(limit, deadline))
    except (OutOfTime, TooManyValues) as error:
        kind = "time" if isinstance(error, OutOfTime) else "values"
        decision.unreachable = Unreachable(kind, seconds=time.monotonic() - start)


def _explain(program: Program, model: Model, decision: Decision, deadline: float) -> None:
    from axioms.encode.encoding import Encoding
    from axioms.encode.solve import Session

    names = list(dict.fromkeys(a.name for a in model.axioms))

    def reachable(dropped: set[str]) -> bool:
        weaker = without(model, dropped)
        session = Session(program, weaker, Encoding(program, weaker, deadline=deadline), None, deadline)
        try:
            wanted = session.condition if decision.positive == 0 else -session.condition
            encoding = session.encoding
            return session.solver.solve([encoding.finishes, session.filter, -encoding.misbehaves, wanted])
        finally:
            session.solver.close()

    needed = [n for n in names if reachable({n})]
    if needed:
        decision.forbidding = tuple(needed)
        return
    dropped = set(names)
    if not reachable(dropped):
        decision.unreachable = Unreachable("impossible")
        return
    for n in names:  # several together: the smallest set found by putting one after another back
        if reachable(dropped - {n}):
            dropped.discard(n)
    decision.forbidding = tuple(n for n in names if n in dropped)
    decision.forbidding_each = True


def without(model: Model, dropped: set[str]) -> Model:
    """The model less some of its axioms."""
    weaker = Model(model.name)
    weaker.sources, weaker.readings = model.sources, model.readings
    weaker.title, weaker.shipped = model.title, model.shipped
    weaker.nodes, weaker.bases = model.nodes, model.bases
    weaker.make_names = lambda: model.names
    weaker.axioms = [a for a in model.axioms if a.name not in dropped]
    return weaker
