"""What is undefined, and which accesses race, in executions that do not end: found in their beginnings.

The question is put to the program in which threads may block wherever they may wait, where they trap, and where a bound
stops them (`axioms.liveness.blocking`), for no reason. Each of its executions is the beginning of one: whoever blocked can go
on, reading what was written last. Undefined is what has happened, whatever comes after: what orders two accesses, and what
comes before an operation, lies before the later of them. Only of what nobody did until an end (`BY_THE_END`), that end must
have come.

Asked where some thread may not come to its end, and something may be wrong; so it costs nothing where all certainly end.
Whether one truly does not terminate takes longer to find out than this does (`axioms.liveness.search`).
"""

from __future__ import annotations

from collections.abc import Iterable

from axioms.cat.model import Model
from axioms.encode.encoding import Encoding
from axioms.liveness.blocking import Blocking
from axioms.liveness.certain import CertainEnds
from axioms.liveness.reasons import Reasons
from axioms.program import Event, Program
from axioms.sat.values import TooManyValues
from axioms.sync.sure_use import may_be_misused
from axioms.witness.fitted import fitted
from axioms.witness.races import BY_THE_END, add_races, flags_of_beginnings
from axioms.witness.result import Decision
from axioms.witness.tearing import with_tearing
from ptxcore.isa.effect_kinds import MBARRIER, kinds_with
from ptxcore.values import terms
from ptxcore.values.terms import Value

#: What waits for other threads.
_MEETING = kinds_with("meets")


def may_not_end(program: Program, model: Model) -> bool:
    """Whether some thread may not come to its end, as far as that is quickly seen."""
    ending: Iterable[int] = range(len(program.threads))
    waits = not program.kinds.isdisjoint(_MEETING)
    if waits or any(t.execution.finishes != 1 for t in program.threads):
        certain = CertainEnds(program)
        if not certain.all_end:
            return True
        ending = certain.exited
    if not program.kernels or not model.uses("api"):
        return False
    from axioms.liveness.launching import Launching

    return any(ended != 1 for ended in Launching(program, ending).ended)


def look(
    program: Program, model: Model, decision: Decision, *, races: bool, backend: str | None, deadline: float | None
) -> None:
    """Adds to a decision what is undefined, and with `races` all races, of executions that may not end. Raises OutOfTime."""
    whole = with_tearing(program, model)
    flags = flags_of_beginnings(model, races)
    # Where nothing can be wrong in the program as it is, nothing is where its threads may block: they do no more there.
    if (
        MBARRIER not in program.kinds
        and not whole.undefined_behaviours
        and not may_be_misused(program)
        and not fitted(model, whole, flags).flags
    ):
        return
    blocking = Blocking(whole, aborts=True, streams=model.uses("api"), certain=CertainEnds(whole))
    fit = fitted(model, blocking.program, flags)
    found = Decision()
    try:
        _search(blocking, fit, found, True, races, backend, deadline)
    except TooManyValues:
        if backend == "sat":
            from axioms.encode.cut_off import unbounded

            raise unbounded() from None
        _search(blocking, fit, found, False, races, backend, deadline)
    decision.undefined = found.undefined
    add_races(decision.races, found.races)


def _search(
    blocking: Blocking,
    model: Model,
    found: Decision,
    finite: bool,
    races: bool,
    backend: str | None,
    deadline: float | None,
) -> None:
    encoding = Encoding(
        blocking.program, model, finite=finite, alike=blocking.alike(), asked=blocking.asked(), deadline=deadline
    )
    Reasons(blocking, encoding).require(reasons=False)
    ended = EndedPairs(blocking.program, blocking.ends)
    encoding.flags.only(blocking.program, ended, encoding.truth, encoding.formula)
    if finite:
        from axioms.encode.solve import Session

        session = Session(blocking.program, model, encoding, backend, deadline)
        try:
            session.find_wrong(found, races)
        finally:
            session.solver.close()
    else:
        from axioms.encode.symbolic import Symbolic

        Symbolic(encoding, deadline).find_wrong(found, races)


class EndedPairs:
    """Under which condition a pair of events may raise a flag: that the end has come by which nobody did it."""

    def __init__(self, program: Program, ends: list[Value]) -> None:
        """`ends`: of each thread, the truth value of "it comes to its end"."""
        self.program, self.ends = program, ends
        self.kernel_of = {t: k.threads for k in program.kernels for t in k.threads}

    def __call__(self, flag: str, first: Event, second: Event) -> Value:
        if flag not in BY_THE_END:
            return 1
        threads = self.program.threads
        home = self.program.objects[first.object].cta if flag == "exited" else None
        mine = sorted(self.kernel_of.get(first.thread, range(len(threads))))
        if home is not None:
            mine = [t for t, thread in enumerate(threads) if thread.place.cta == home and not thread.place.host]
        return terms.all_of(self.ends[t] for t in mine)
