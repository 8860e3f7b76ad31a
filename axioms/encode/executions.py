"""Every execution of a program, and not one for each outcome.

An execution is written out from the truth values of some literals of the formula: who reads from whom, the orders, which
barriers meet. Those that were asked for make the execution what it is, so the next one differs in one of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from axioms.cat.model import Model
from axioms.encode.encoding import Encoding
from axioms.encode.solve import Session
from axioms.program import Program
from axioms.sat.formula import FALSE, TRUE
from axioms.witness.candidate import Candidate
from ptxcore.clock import OutOfTime


def executions(
    program: Program, model: Model, *, backend: str | None, deadline: float | None
) -> Iterator[tuple[Candidate, bool]]:
    """Each consistent execution in which every thread ends, re-checked, with whether it satisfies the condition. The program
    is taken as it is: what passes leave out of it is in no execution. `deadline` is a time of `time.monotonic`.

    Raises TooManyValues when values range too far, and OutOfTime.
    """
    session = Session(program, model, Encoding(program, model, deadline=deadline), backend, deadline)
    encoding, solver = session.encoding, session.solver
    base = [l for l in (encoding.finishes, session.filter, -encoding.misbehaves) if l != TRUE]
    seen: set[object] = set()  # a literal that follows from others may tell two models apart that are one execution
    try:
        while True:
            if deadline is not None and time.monotonic() > deadline:
                raise OutOfTime
            if not session.solve(base):
                return
            asked: dict[int, bool] = {}
            values = solver.model()

            def holds(literal: int, values: list[bool] = values, asked: dict[int, bool] = asked) -> bool:
                variable = abs(literal)
                asked[variable] = values[variable]
                return values[variable] == (literal > 0)

            candidate = encoding.candidate(session.judge, holds)
            _, _, satisfied = session.checked(candidate)
            if (key := candidate.key()) not in seen:
                seen.add(key)
                yield candidate, satisfied
            solver.add([-v if value else v for v, value in asked.items() if v != TRUE] or [FALSE])
    finally:
        solver.close()
