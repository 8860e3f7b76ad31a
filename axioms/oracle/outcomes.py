"""The same question without a solver: every candidate execution is built and evaluated. The oracle of the tests.

    for all contents of memory that may hold anything at first:                                      (contents)
    run each thread on numbers, reads answered with every value that the location may ever hold      (concrete_runs)
    for each choice of one run a thread:
        for each assignment of barrier instances, each order of operations on mbarrier objects, each reads-from, each order of
        fences, each coherence:
            evaluate the model on that one execution                                                 (concrete_executions)

Nothing of the encoding is used here: threads run concretely, relations are bitsets, and the model is evaluated, not solved.
Exponential in everything; good for up to four threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from axioms.cat.model import Model
from axioms.oracle import contents
from axioms.oracle.barriers import BarrierChoice, NamedBarrier, barrier_choices
from axioms.oracle.budget import MOST_RUNS, BeyondBruteForce, Budget
from axioms.oracle.executions import EnumeratedExecutions
from axioms.oracle.provenance import number_of
from axioms.oracle.runs import ThreadRuns
from axioms.oracle.schedules import BarrierSchedules, ThreadPrefix, may_circle
from axioms.program import Program
from axioms.witness.candidate import Candidate
from axioms.witness.concrete import assembled
from axioms.witness.races import SeenRaces, undefined
from axioms.witness.result import Decision, Undefined
from axioms.witness.staged import StagedEvaluation
from ptxcore.clock import OutOfTime
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.machine.explore.concrete import Trace
from ptxcore.values import terms


def decide(
    program: Program,
    model: Model,
    *,
    deadline: float | None,
    max_states: int,
    races: bool = False,
    steps: int | None = None,
) -> Decision:
    """All outcomes, and with `races` all of those. After `deadline` (a time of `time.monotonic`), and after so many `steps`
    (runs of a thread, choices of runs, of barrier instances, of orders and of writes to read from, executions), the decision
    says what was found until then, and why it `stopped`."""
    seen = SeenRaces(model)
    decision = _decided(program, model, Budget(deadline, steps), seen, max_states)
    decision.races = seen.races()
    decision.undefined = decision.undefined or undefined(decision.races)
    if not races:
        del decision.races[1:]
    return decision


def executions(
    program: Program, model: Model, *, deadline: float | None, steps: int | None = None
) -> Iterator[tuple[Candidate, bool]]:
    """Each consistent execution in which every thread ends, with whether it satisfies the condition. Raises OutOfTime after
    `deadline`, and after so many `steps`: see `decide`."""
    budget = Budget(deadline, steps)
    for one in contents.each(program):
        search = _Search(one, model, budget, SeenRaces(model))
        for combination in search.combinations():
            concrete = assembled(one, combination)
            if any(t.status in ("cut", "waits") for t in combination) or concrete.undefined_behaviours:
                continue
            for candidate in search.consistent(concrete, None, Decision()):
                if terms.evaluate(concrete.filter, candidate.symbols):
                    yield candidate, bool(terms.evaluate(concrete.condition, candidate.symbols))


#: States that were found, each with an execution that ends so, and whether it satisfies the condition.
_Found = dict[tuple[tuple[str, int], ...], tuple[Candidate, bool]]


def _decided(program: Program, model: Model, budget: Budget, races: SeenRaces, max_states: int) -> Decision:
    decision = Decision()
    found: _Found = {}
    try:
        for one in contents.each(program):
            _Search(one, model, budget, races).search(decision, found)
    except OutOfTime as error:
        decision.stopped, decision.listed_all = error, False
    for state, (candidate, holds) in sorted(found.items()):
        decision.positive += holds
        decision.negative += not holds
        if len(decision.states) < max_states:
            decision.states.append(dict(state))
            decision.satisfied.append(holds)
            decision.witnesses.append(candidate.later(dict(state)))
        else:
            decision.listed_all = False
    return decision


class _Search:
    """What there is to find with some contents of memory; `races` are those of all of them."""

    def __init__(self, program: Program, model: Model, budget: Budget, races: SeenRaces) -> None:
        self.program, self.model, self.spend, self.races = program, model, budget.spend, races
        self.stages = StagedEvaluation.stages_of(model)
        self.named_barriers = [
            NamedBarrier(t, e.instruction, e.instance, e.identity)
            for t, thread in enumerate(program.threads)
            for e in thread.execution.effects
            if e.kind is BARRIER and e.instance is not None and not isinstance(e.identity, terms.Term)
        ]
        self.runs = ThreadRuns(program, model, self.spend)

    def search(self, decision: Decision, found: _Found) -> None:
        """Adds what is found to a decision, and to the states that were found."""
        for combination in self.combinations(lambda: decision.complete):
            statuses = {t.status for t in combination}
            concrete = assembled(self.program, combination)
            if "cut" in statuses:  # says nothing but that it is there: what else it does, its whole executions do
                # Who waits then may wait for what one did not come to.
                cut = frozenset(t for t, trace in enumerate(combination) if trace.status in ("cut", "waits"))
                decision.complete = next(self.consistent(concrete, set(), Decision(), cut), None) is None
                continue
            if concrete.undefined_behaviours:
                if next(self.consistent(concrete, set(), decision), None) is not None:
                    decision.undefined = Undefined(concrete.undefined_behaviours[0].rule)
                continue
            seen = set(found)
            for candidate in self.consistent(concrete, seen, decision):
                decision.ends = True
                state = tuple(sorted(candidate.state().items()))
                if terms.evaluate(concrete.filter, candidate.symbols):
                    holds = bool(terms.evaluate(concrete.condition, candidate.symbols))
                    found.setdefault(state, (candidate, holds))
                    if len(found) > MOST_RUNS:
                        raise BeyondBruteForce("there are too many outcomes for brute force")

    def combinations(self, wanted: Callable[[], bool] = lambda: False) -> Iterator[tuple[Trace, ...]]:
        """One run of each thread, such that all were told what the others brought; those that a bound cut off while they are
        `wanted`."""
        for combination in itertools.product(*self.runs.of_threads()):
            self.spend()
            statuses = {t.status for t in combination}
            if ("waits" in statuses and "cut" not in statuses) or ("cut" in statuses and not wanted()):
                continue
            if self.runs.meetings.agree(combination):
                yield combination

    def _arranged(self, program: Program, cut: frozenset[int]) -> Iterator[BarrierChoice]:
        """The choices of barrier instances with which everybody gets to its end. Where threads of a warp wait for each other
        elsewhere too, each is executed."""
        choices = barrier_choices(program, self.named_barriers, self.spend, cut)
        if cut or not may_circle(program.threads):
            yield from choices
            return
        parts = [ThreadPrefix(thread.execution.effects, waits=False, ends=True) for thread in program.threads]
        schedules = BarrierSchedules(program.threads, parts, False, self.spend)
        ways = {frozenset(schedule.choice(program).pairs) for schedule in schedules}
        broken = {frozenset(schedule.choice(program).pairs) for schedule in schedules.broken}
        for choice in choices:
            pairs = frozenset(choice.pairs)
            if pairs in ways if choice.misuse is None else any(pairs >= some for some in broken):
                yield choice

    # Candidates of one choice of runs.

    def consistent(
        self,
        program: Program,
        seen: set[tuple[tuple[str, int], ...]] | None,
        decision: Decision,
        cut: frozenset[int] = frozenset(),
    ) -> Iterator[Candidate]:
        """The consistent candidates of a program of numbers, one for each outcome that is not in `seen`, or all where that is
        None. `cut` are the threads that a loop bound stopped."""
        wanted = [o.value for o in program.observed]
        finals = any(type(v) is not int for v in [*wanted, program.condition, program.filter])
        # One execution for each state is enough, but for races and barriers, whose misuse must be found wherever it is.
        asked = self.model.residual is not None and self.model.residual.raises
        hasty = not finals and not self.model.flags and not asked and not any(e.kind.meets for e in program.events)
        if seen is None:
            hasty = False
        elif hasty and tuple(sorted((o.label, _shown(o.value, o.width, o.signed)) for o in program.observed)) in seen:
            return
        executions = EnumeratedExecutions(program, self.model, self.stages, self.runs.contents.wrong, self.spend)
        choices = self._arranged(program, cut)
        for barrier, orders in executions.arrangements(choices):
            if barrier.misuse is not None and not cut and decision.undefined is not None:
                continue
            for candidate in executions.of(barrier, orders, finals):
                self.spend()
                if barrier.misuse is not None and not cut:
                    decision.undefined = Undefined(barrier.misuse)
                    break
                if not cut and not program.undefined_behaviours and barrier.misuse is None:
                    self.races.add(candidate)
                if seen is None:
                    yield candidate
                    continue
                state = tuple(sorted(candidate.state().items()))
                if state not in seen:
                    seen.add(state)
                    yield candidate
                    if hasty:
                        return


def _shown(value: object, width: int, signed: bool) -> int:
    number = number_of(value)
    return terms.signed(number, width) if signed else number


__all__ = ["BeyondBruteForce", "decide"]
