"""What is undefined, and which accesses race, in the beginnings of executions that may not end, by brute force.

all ways of each thread: to its end; to where it waits, or traps; to where an iteration goes round, or a bound stops it
for each choice of one way a thread, such that kernels begin when they may:
    for each schedule of their barriers, and for each that ends with the misuse of one:
        for each consistent execution: is it undefined, does it race?
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from axioms.cat.model import Model
from axioms.oracle import contents
from axioms.oracle.barriers import BarrierChoice
from axioms.oracle.budget import Budget
from axioms.oracle.executions import EnumeratedExecutions
from axioms.oracle.liveness import BlockedSearch, ThreadEnd, ways_of
from axioms.oracle.schedules import BarrierSchedules
from axioms.program import Event, Program
from axioms.witness.fitted import fitted
from axioms.witness.races import BY_THE_END, SeenRaces, add_races, flags_of_beginnings, undefined
from axioms.witness.result import Decision, Undefined
from axioms.witness.staged import StagedEvaluation
from axioms.witness.stalls import ABORTS
from ptxcore.isa.effect_kinds import COLLECTIVE
from ptxcore.machine.explore.concrete import Trace

_MISUSE = "misuse of a barrier"


def look(
    program: Program, model: Model, decision: Decision, *, races: bool, deadline: float | None, steps: int | None
) -> None:
    """Adds to a decision what is undefined, and with `races` all races, of executions that may not end. Raises TooLarge, and
    OutOfTime after `deadline` or so many `steps`. The barriers that the short dialect names are not looked at."""
    if any(e.instance is not None for thread in program.threads for e in thread.execution.effects):
        return
    fit = fitted(model, program, flags_of_beginnings(model, races))
    budget, seen = Budget(deadline, steps), SeenRaces(fit)
    for one in contents.each(program):
        search = _Search(one, fit, ABORTS, budget, seen)
        search.look()
        decision.undefined = decision.undefined or search.undefined
    found = seen.races()
    decision.undefined = decision.undefined or undefined(found)
    add_races(decision.races, found if races else [r for r in found if decision.undefined][:1])


class _Search(BlockedSearch):
    """Looks at all beginnings: `undefined` is why one has no meaning, `seen` has the races."""

    def __init__(self, program: Program, model: Model, kinds: Sequence[str], budget: Budget, seen: SeenRaces) -> None:
        super().__init__(program, model, kinds, budget)
        self.seen, self.stages = seen, StagedEvaluation.stages_of(model)
        self.undefined: Undefined | None = None

    def look(self) -> None:
        ways = [
            [*_ways(traces), *self.before_kernels(t, traces)] for t, traces in enumerate(self.runs.of_threads())
        ]  # fmt: skip
        for chosen in itertools.product(*ways):
            self.spend()
            if all(way.kind == "end" for way in chosen) or not self.go_together(chosen):
                continue
            program = replace(self.assembled(chosen), observed=())  # nothing has its final value yet
            executions = EnumeratedExecutions(program, self.model, self.stages, self.runs.contents.wrong, self.spend)
            for barrier, orders in executions.arrangements(self._arranged(program, chosen)):
                for candidate in executions.of(barrier, orders, finals=False):
                    self.spend()
                    wrong = barrier.misuse or next((t.rule for t in program.undefined_behaviours), None)
                    if wrong:
                        self.undefined = self.undefined or Undefined(wrong)
                        break
                    self.seen.add(candidate, partial(self._has_ended, chosen))

    def _arranged(self, program: Program, chosen: Sequence[ThreadEnd]) -> Iterator[BarrierChoice]:
        schedules = BarrierSchedules(self.program.threads, [way.part for way in chosen], False, self.spend)
        yield from (schedule.choice(program) for schedule in schedules)
        yield from (replace(schedule.choice(program), misuse=_MISUSE) for schedule in schedules.misused)

    def _has_ended(self, chosen: Sequence[ThreadEnd], flag: str, event: Event, _: Event) -> int:
        """The truth value of "an end has come by which nobody did what the flag is raised for"."""
        if flag not in BY_THE_END:
            return 1
        threads = self.program.threads
        mine: Iterable[int] = next(
            (k.threads for k in self.program.kernels if event.thread in k.threads), range(len(threads))
        )
        home = self.program.objects[event.object].cta if flag == "exited" else None
        if home is not None:
            mine = [t for t, thread in enumerate(threads) if thread.place.cta == home and not thread.place.host]
        return int(all(chosen[t].kind == "end" for t in mine))


def _ways(traces: Sequence[Trace]) -> Iterator[ThreadEnd]:
    """How far a thread comes. Where a warp executes something together, it has come there and is told, or has not come."""
    for way in ways_of(traces, aborts=False):
        if way.kind == "barrier" and way.trace.effects[-1].kind is COLLECTIVE:
            yield ThreadEnd("on", replace(way.trace, effects=way.trace.effects[:-1]))
        elif way.kind in ("end", "barrier"):
            yield way
    yield from (way for way in ways_of(traces, aborts=True) if way.kind in ABORTS)
    yield from (ThreadEnd("on", trace) for trace in traces if trace.status in ("waits", "cut"))
