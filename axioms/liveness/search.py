"""Executions that do not end: who is blocked at a barrier, at an mbarrier object (deadlock) or in a spin loop, and who
goes round without end (livelock).

The question is put to another program: in it every thread may also *block*, wherever it may wait,

    at a barrier      it arrives, and what stands behind the barrier does not happen
    before it begins, or where it waits for kernels to end
    in a waiting loop that was reduced to its last iteration: that iteration goes round instead of leaving
    where a bound cut a loop, in an iteration that wrote nothing but what it had read and ended as it began, in the
                      registers that matter and in memory of the thread's own (`ThreadExecution.repeating`)
    where an iteration of a loop begins that a bound may cut, if it began another iteration in the same state

and an execution in which every thread ends or blocks is one without an end if each had to:

    at a barrier      somebody whom the barrier waits for has neither arrived in that round nor ended
    for kernels       one that has to end first does not, or nobody launches: see `axioms.liveness.launching`
    in a loop         what it did last, from that iteration on, can be done again and again: see `axioms.liveness.lasso`
    anywhere          it need not be scheduled: see `axioms.liveness.scheduling`

So it is decided by the same formula, and every execution is re-checked by the same evaluation, what repeats without end
once more with what is repeated three times over (`axioms.liveness.repeat`). Before the formula, small programs are
searched as interleavings (`axioms.liveness.interleave`): most livelocks are there, and are found in a millisecond.

Three answers: an execution; `None`, proven: no bound stops a thread in any execution, or no interleaving is infinite in a
program whose executions are interleavings; `Bounded` otherwise.

With `trap` and `assertion` as further ways to end, the same program tells whether any thread executes a trap, or fails an
assertion: then nobody needs a reason to block, for what the others would have done behind does not undo it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from axioms.cat.model import Model
from axioms.encode.cut_off import is_cut_off, unbounded
from axioms.encode.encoding import Encoding
from axioms.errors import EngineDefect, UnsettledLoop
from axioms.liveness.blocking import Blocking, BlockingPoint
from axioms.liveness.progress import FAIR, Progress
from axioms.liveness.reasons import Reasons
from axioms.program import Program
from axioms.sat.formula import BOTH, FALSE, TRUE
from axioms.sat.values import TooManyValues
from axioms.witness.asked import refuse
from axioms.witness.candidate import Candidate
from axioms.witness.fitted import fitted
from axioms.witness.judge import ModelChecker
from axioms.witness.missing_arrivals import absent, awaited, missing_from_phase
from axioms.witness.stalls import ABORTS, Bounded, Stall, Wait, abort_of, repeated
from axioms.witness.tearing import with_tearing
from ptxcore.clock import OutOfTime
from ptxcore.machine.ir.effects import CutLoop
from ptxcore.machine.ir.steps import may_abort, may_wait
from ptxcore.records import NamedTuple

if TYPE_CHECKING:
    from axioms.liveness.lasso import Lasso

__all__ = ["ABORTS", "Bounded", "Stall", "Wait", "find", "may_fail_assertions"]


def may_fail_assertions(program: Program) -> bool:
    """Whether there is any assertion that a thread may come to and fail."""
    return any(abort_of(e) == "assertion" for thread in program.threads for e in thread.execution.effects)


def find(
    program: Program,
    model: Model,
    *,
    kinds: Sequence[str],
    progress: Progress = FAIR,
    resident: int | None = None,
    backend: str | None = None,
    deadline: float | None = None,
) -> Stall | Bounded | None:
    """An execution in which some thread does not terminate in one of these ways (`barrier`, `mbarrier`, `loop`,
    `livelock`, `kernel`, `launch`), or one in which some thread ends the launch in one of these (of `ABORTS` alone).
    None where it is proven that there is none; `Bounded` where none was found, and a bound of loops cut off executions
    that may be one.

    `progress`: who is scheduled fairly; `resident`: how many CTAs run at once, None for all.

    Raises UnsettledLoop where none was found, and it is not known whether a clock ends some loop; UnsupportedProgram and
    OutOfTime as the engine does.
    """
    refuse(program, model)
    asked = LivenessQuestion(program, model, tuple(kinds), progress, resident, backend, deadline)
    if not asked.aborts and (found := _interleaved(asked)) is not False:
        return found
    stall = _given_up(asked, rounds=False)
    if stall is None and program.is_bounded and _matters(program, kinds):
        if not asked.aborts and program.size <= _MOST_EVENTS:
            stall = _given_up(asked, rounds=True)
        if stall is None and is_cut_off(program, model, backend, deadline):
            return Bounded(_loops(program))
    return stall


class LivenessQuestion(NamedTuple):
    """A question of `find`."""

    program: Program
    model: Model
    kinds: tuple[str, ...]
    progress: Progress
    resident: int | None
    backend: str | None
    deadline: float | None

    @property
    def aborts(self) -> bool:
        return self.kinds[0] in ABORTS

    @property
    def stops(self) -> bool:
        """Whether threads may stop anywhere."""
        return not self.aborts and (not self.progress.is_fair or self.resident is not None)


#: Programs of more events are not asked for livelocks in memory that is weaker than interleavings.
_MOST_EVENTS = 1500


def _interleaved(asked: LivenessQuestion) -> Stall | Literal[False] | None:
    """An execution that is an interleaving; None where that proves that there is none; False where it does not say."""
    if {"loop", "livelock"}.isdisjoint(asked.kinds) or not (asked.program.is_bounded or asked.stops):
        return False
    from axioms.liveness.interleave import interleaved

    found = interleaved(asked.program, asked.model, asked.progress, asked.resident, asked.deadline)
    if isinstance(found, Stall) and not any(wait.kind in asked.kinds for wait in found.waits):
        return False
    return found


def _matters(program: Program, kinds: Sequence[str]) -> bool:
    """Whether anything behind a bound can be of these kinds: who may go round without end is there; of others, some
    instruction."""
    if not {"loop", "livelock"}.isdisjoint(kinds):
        return True
    matters = may_abort if kinds[0] in ABORTS else may_wait
    steps = (s for t in program.threads for b in t.code.blocks for s in (*b.steps, *([b.end] if b.end else [])))
    return any(map(matters, steps))


def _loops(program: Program) -> tuple[tuple[CutLoop, tuple[int, ...]], ...]:
    """The loops that bounds may have cut, each with its threads."""
    found: dict[tuple[str, int], tuple[CutLoop, list[int]]] = {}
    for t, thread in enumerate(program.threads):
        for cut in thread.execution.cuts:
            line = cut.instruction.span.line if cut.instruction else 0
            threads = found.setdefault((cut.label, line), (cut, []))[1]
            if t not in threads:
                threads.append(t)
    return tuple((cut, tuple(threads)) for cut, threads in found.values())


def _given_up(asked: LivenessQuestion, *, rounds: bool) -> Stall | None:
    """An execution in which threads block; with `rounds`, also in iterations of loops that a bound may stop."""
    blocking = Blocking(
        with_tearing(asked.program, asked.model),
        aborts=asked.aborts,
        rounds=rounds,
        stops=asked.stops,
        streams=asked.model.uses("api"),
    )
    found = _found(asked, blocking, rounds)
    if found is None and blocking.unsettled and not {"loop", "mbarrier"}.isdisjoint(asked.kinds):
        where = blocking.unsettled[0].instruction
        line = "" if where is None else f"line {where.span.line}: "
        raise UnsettledLoop(f"{line}whether some number of a clock ends the loop that looks at it is not decided")
    return found


def _found(asked: LivenessQuestion, blocking: Blocking, rounds: bool) -> Stall | None:
    if not any(stop.kind in asked.kinds and stop.guard != 0 for stop in blocking.stops):
        return None
    if rounds and not any(stop.kind == "livelock" and stop.guard != 0 for stop in blocking.stops):
        return None  # nobody goes round who did not without
    model = fitted(asked.model, blocking.program, frozenset())
    try:
        return _Search(asked, blocking, model, finite=True).answer(asked.backend)
    except TooManyValues:
        if asked.backend == "sat":
            raise unbounded() from None
        return _Search(asked, blocking, model, finite=False).answer(asked.backend)


class _Search:
    """The formula of the executions in which somebody blocks in one of these ways, and has to."""

    def __init__(self, asked: LivenessQuestion, blocking: Blocking, model: Model, *, finite: bool) -> None:
        self.asked, self.giving, self.model, self.deadline = asked, blocking, model, asked.deadline
        self.encoding = Encoding(
            blocking.program, model, finite=finite, alike=blocking.alike(), asked=blocking.asked(),
            deadline=asked.deadline,
        )  # fmt: skip
        Reasons(blocking, self.encoding).require(reasons=not asked.aborts)
        self.lasso: Lasso | None = None
        if not asked.aborts and any(stop.rounds for stop in blocking.stops):
            from axioms.liveness.lasso import Lasso

            self.lasso = Lasso(blocking, self.encoding)
            self.lasso.require()
        self.stopped: list[int] = []
        if asked.stops:
            from axioms.liveness.scheduling import Scheduling

            self.stopped = Scheduling(blocking, self.encoding, asked.progress, asked.resident).stopped
        stops = [s for s in blocking.stops if s.kind in asked.kinds or not asked.aborts]
        self.stops = [(s, self.encoding.truth(s.guard)) for s in stops]
        self.found = self.encoding.formula.disj([l for s, l in self.stops if s.kind in asked.kinds], BOTH)
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

    def answer(self, backend: str | None) -> Stall | None:
        if self.found == FALSE:
            return None
        return self._by_literals(backend) if self.encoding.finite else self._by_numbers()

    def _wanted(self) -> Iterator[tuple[list[int], str]]:
        """What an execution must be like: one whose behaviour is defined, if there is any; else one in which a rule is
        broken."""
        encoding = self.encoding
        for literal, rule in ((-encoding.misbehaves, ""), *encoding.undefined_behaviours):
            if literal != FALSE:
                yield [l for l in (encoding.finishes, self.found, literal) if l != TRUE], rule

    def _by_literals(self, backend: str | None) -> Stall | None:
        """Values are literals too."""
        from axioms.encode.solve import solver_for

        solver = solver_for(self.encoding, backend, self.deadline)
        try:
            broken = next((rule for wanted, rule in self._wanted() if solver.solve(wanted)), None)
            if broken is None:
                return None
            values = solver.model()
        finally:
            solver.close()

        def true(literal: int) -> bool:
            return literal == TRUE or (literal != FALSE and (values[literal] if literal > 0 else not values[-literal]))

        candidate = self.encoding.candidate(ModelChecker(self.giving.program, self.model), true)
        defects = [] if broken else candidate.defects()
        if defects:
            raise EngineDefect(f"an execution that does not terminate breaks {', '.join(defects)}")
        return self._stall(candidate, true, broken)

    def _by_numbers(self) -> Stall | None:
        """Values are bit-vectors, since no finite set bounds them."""
        from axioms.encode.symbolic import Symbolic

        symbolic = Symbolic(self.encoding, self.deadline)
        for wanted, broken in self._wanted():
            if symbolic.check(*wanted):
                return self._stall(symbolic.candidate(), symbolic.truths(), broken)
        return None

    def _stall(self, candidate: Candidate, true: Callable[[int], bool], broken: str) -> Stall:
        stops = [s for s, literal in self.stops if true(literal)]
        threads = candidate.program.threads
        at = {s.thread: threads[s.thread].execution.effects[s.effect] for s in stops if s.kind == "barrier"}
        away = absent(candidate, at)
        waits = [self._wait(s, candidate, true)._replace(absent=away.get(s.thread, ())) for s in stops]
        undefined = self.encoding.undefined(broken, true) if broken else None
        unscheduled = tuple(t for t, literal in enumerate(self.stopped) if true(literal))
        return Stall(tuple(waits), candidate.execution({}), undefined, unscheduled)

    def _wait(self, stop: BlockingPoint, candidate: Candidate, true: Callable[[int], bool]) -> Wait:
        wait = Wait(stop.kind, stop.thread, stop.instruction, stop.says)
        launching = self.giving.launching
        if stop.kind in ("kernel", "launch") and launching is not None:
            before = launching.waited_for(stop.thread, stop.effect)
            unended = [k for k in before if not true(self.encoding.truth(launching.ended[k]))]
            return wait._replace(unended=tuple(launching.streams.kernels[k].name for k in unended))
        if stop.kind == "mbarrier":
            return wait._replace(missing=missing_from_phase(candidate, stop.thread, stop.reads))
        if stop.kind == "loop":
            return wait._replace(awaits=awaited(candidate, stop.thread, stop.reads, stop.guard))
        if stop.kind == "livelock" and self.lasso is not None:
            again = repeated(candidate, stop.thread, self.lasso.done(stop, true))
            kind = "livelock" if any(r.written is not None for r in again) else "loop"
            return wait._replace(
                kind=kind, again=again, instruction=again[0].instruction if again else stop.instruction
            )
        return wait
