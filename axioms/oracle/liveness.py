"""Who does not terminate, or ends the launch, without a solver: by brute force, as `axioms.oracle.outcomes` finds outcomes.

    all ways of each thread: to its end; to a barrier, where it waits; to an iteration of a waiting loop that goes round;
                             to a trap; to a wait for kernels; not even to its beginning
    for each choice of one way a thread, such that kernels begin when they may:
        for each schedule of their barriers in which those who wait still do when nobody can go on:
            for each consistent execution:
                who goes round in a loop must see the same from then on: nothing comes after what the iteration reads

Where somebody ends the launch, others may be anywhere: nothing that they would have done undoes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from axioms.cat.evaluate import bits
from axioms.cat.model import Model
from axioms.events.event_kinds import MBARRIER_EVENT
from axioms.events.launches import Streams
from axioms.oracle import contents
from axioms.oracle.budget import BeyondBruteForce, Budget, kept
from axioms.oracle.executions import EnumeratedExecutions
from axioms.oracle.runs import ThreadRuns
from axioms.oracle.schedules import BarrierSchedule, BarrierSchedules, ThreadPrefix
from axioms.program import Event, Program
from axioms.witness.asked import refuse
from axioms.witness.candidate import Candidate
from axioms.witness.concrete import assembled
from axioms.witness.fitted import fitted
from axioms.witness.missing_arrivals import absent
from axioms.witness.staged import StagedEvaluation
from axioms.witness.stalls import ABORTS, Stall, Wait
from axioms.witness.tearing import with_tearing
from ptxcore.isa.effect_kinds import BARRIER, COLLECTIVE, FENCE, INPUT, LOAD, MBARRIER, PROXY_FENCE, STOP
from ptxcore.machine.explore.concrete import Trace
from ptxcore.machine.ir.effects import UNWRITTEN, Effect
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction

#: What changes nothing for anybody else: a thread that stops there may as well have stopped before it.
_UNSEEN = frozenset((LOAD, FENCE, PROXY_FENCE, INPUT, COLLECTIVE))


class ThreadEnd(NamedTuple):
    """How far a thread comes: `kind` is `end`, a kind of `Wait`, or `on` for a thread that is somewhere. `observes` are the
    effects by which an iteration that goes round sees the world."""

    kind: str
    trace: Trace
    instruction: Instruction | None = None
    observes: tuple[int, ...] = ()
    says: str = ""
    #: The kernels for which it waits before what comes next.
    awaits: tuple[int, ...] = ()

    @property
    def part(self) -> ThreadPrefix:
        return ThreadPrefix(self.trace.effects, self.kind == "barrier", self.kind == "end")


def find(
    program: Program,
    model: Model,
    *,
    kinds: Sequence[str],
    deadline: float | None = None,
    steps: int | None = None,
) -> Stall | None:
    """What `axioms.liveness.search.find` finds. Raises TooLarge, and OutOfTime after `deadline` or so many `steps`: see
    `axioms.oracle.outcomes.decide`."""
    refuse(program, model)
    budget = Budget(deadline, steps)
    found = (BlockedSearch(one, model, kinds, budget).result() for one in contents.each(with_tearing(program, model)))
    return next((stall for stall in found if stall is not None), None)


class BlockedSearch:
    def __init__(self, program: Program, model: Model, kinds: Sequence[str], budget: Budget) -> None:
        self.program, self.model, self.kinds, self.spend = program, model, kinds, budget.spend
        self.aborts = not set(ABORTS).isdisjoint(kinds)
        if any(e.instance is not None for thread in program.threads for e in thread.execution.effects):
            raise BeyondBruteForce("deadlock at the barriers that the short dialect names is beyond brute force")
        self.runs = ThreadRuns(program, model, self.spend)
        self.streams = Streams(program.kernels, program.threads) if program.kernels and model.uses("api") else None

    def result(self) -> Stall | None:
        ways = [
            [*ways_of(traces, self.aborts), *(() if self.aborts else self.before_kernels(t, traces))]
            for t, traces in enumerate(self.runs.of_threads())
        ]
        if not any(way.kind in self.kinds for some in ways for way in some):
            return None
        for chosen in itertools.product(*ways):
            self.spend()
            if not any(way.kind in self.kinds for way in chosen):
                continue
            if not self.go_together(chosen):
                continue
            orders = BarrierSchedules(self.program.threads, [w.part for w in chosen], not self.aborts, self.spend)
            schedules = kept(orders, "schedules of barriers")
            if schedules:
                execution = next(self._standing(chosen, schedules), None)
                if execution is not None:
                    at = {t: way.trace.effects[-1] for t, way in enumerate(chosen) if way.kind == "barrier"}
                    away = absent(execution, at)
                    waits = tuple(
                        Wait(
                            way.kind,
                            t,
                            way.instruction,
                            way.says,
                            away.get(t, ()),
                            unended=self._unended(t, way, chosen),
                        )
                        for t, way in enumerate(chosen)
                        if way.kind in self.kinds or (way.kind != "end" and not self.aborts)
                    )
                    return Stall(waits, execution.execution({}))
        return None

    def go_together(self, chosen: Sequence[ThreadEnd]) -> bool:
        """Whether threads may have gone these ways: kernels have begun that may, and warps agree on what they were told."""
        if self.streams is not None and not Begun(self.streams, chosen, self.aborts).is_right():
            return False
        return self.runs.meetings.agree([_told(way) for way in chosen])

    def before_kernels(self, t: int, traces: Sequence[Trace]) -> Iterator[ThreadEnd]:
        """The ways of a thread that end where it waits for kernels, and where it does not begin."""
        if self.streams is None:
            return
        k = self.streams.of_thread.get(t)
        if k is not None:
            awaits = tuple(self.streams.before(k))
            if awaits or k in self.streams.launches:
                yield ThreadEnd("launch", _up_to(traces[0], 0), awaits=awaits)
        found: dict[object, ThreadEnd] = {}
        for trace in traces:
            for i, effect in enumerate(trace.effects):
                awaited = self.streams.awaited(t, effect, trace.effects[:i])
                if awaited:
                    key = tuple(str(e.answer) for e in trace.effects[:i])
                    found.setdefault(key, ThreadEnd("kernel", _before(trace, i), effect.instruction, awaits=awaited))
        yield from found.values()

    def _unended(self, t: int, way: ThreadEnd, chosen: Sequence[ThreadEnd]) -> tuple[str, ...]:
        if self.streams is None:
            return ()
        begun = Begun(self.streams, chosen, self.aborts)
        return tuple(self.streams.kernels[k].name for k in sorted(set(way.awaits)) if not begun.has_ended(k))

    def _with_launches(self, t: int, trace: Trace) -> Trace:
        """A run with the launches that it does not come to: they are never executed, and nobody takes their kernels for ones
        that begin by themselves."""
        here = {e.instruction for e in trace.effects}
        made = [] if self.streams is None else [e for some in self.streams.launches.values() for u, e in some if u == t]
        missing = [e for e in made if e.instruction not in here]
        more = [replace(e, guard=0, index=i) for i, e in enumerate(missing, len(trace.effects))]
        return replace(trace, effects=[*trace.effects, *more]) if more else trace

    def assembled(self, chosen: Sequence[ThreadEnd]) -> Program:
        """The program in which each thread has gone one way."""
        return assembled(self.program, [self._with_launches(t, way.trace) for t, way in enumerate(chosen)])

    def _standing(self, chosen: Sequence[ThreadEnd], schedules: Iterable[BarrierSchedule]) -> Iterator[Candidate]:
        """The consistent executions in which threads come so far and no further."""
        program = self.assembled(chosen)
        if program.undefined_behaviours:
            return  # it is undefined, and what others may do then nobody knows
        model = fitted(self.model, program, frozenset())
        stages = StagedEvaluation.stages_of(model)
        executions = EnumeratedExecutions(program, model, stages, self.runs.contents.wrong, self.spend)
        for barrier, orders in executions.arrangements(schedule.choice(program) for schedule in schedules):
            if barrier.misuse is None:
                for candidate in executions.of(barrier, orders, finals=False):
                    if self.aborts or all(_stays(program, t, way, candidate, chosen) for t, way in enumerate(chosen)):
                        yield candidate


# Which kernels begin.


class Begun:
    """Which kernels have begun, where each thread has gone one way."""

    def __init__(self, streams: Streams, chosen: Sequence[ThreadEnd], aborts: bool) -> None:
        self.streams, self.chosen, self.aborts = streams, chosen, aborts

    def has_ended(self, k: int) -> bool:
        return all(self.chosen[t].kind == "end" for t in self.streams.kernels[k].threads)

    def is_right(self) -> bool:
        """Whether kernels have begun that may, and all that must, and nobody has passed a wait for one that has not ended."""
        return all(map(self._is_right, range(len(self.streams.kernels)))) and all(
            self._waits_rightly(t, way) for t, way in enumerate(self.chosen)
        )

    def _is_right(self, k: int) -> bool:
        before = self.streams.previous(k)
        ready = all(map(self.has_ended, self.streams.after(k))) and self._is_launched(k)
        next_ = before is None or self.has_ended(before)
        begun = {not self._is_absent(t) for t in self.streams.kernels[k].threads}
        if self.aborts:  # who has begun may be anywhere
            return True not in begun or (ready and (next_ or self._lets(before)))
        if begun == {True}:
            return ready and (next_ or self._lets(before))
        return begun == {False} and not (ready and next_)

    def _is_absent(self, t: int) -> bool:
        way = self.chosen[t]
        return way.kind == "launch" or (way.kind == "on" and not way.trace.effects)

    def _is_launched(self, k: int) -> bool:
        made = self.streams.launches.get(k, ())
        return all(any(e.instruction is x.instruction for x in self.chosen[t].trace.effects) for t, e in made)

    def _lets(self, k: int | None) -> bool:
        """Whether a kernel lets the next one begin early: all its CTAs say so, or have ended."""
        if k is None:
            return True
        ctas: dict[int, list[ThreadEnd]] = {}
        for t in self.streams.kernels[k].threads:
            ctas.setdefault(self.streams.threads[t].place.cta, []).append(self.chosen[t])
        lets = [
            any(e.operation == "launch_dependents" for w in some for e in w.trace.effects) for some in ctas.values()
        ]
        ended = [all(w.kind == "end" for w in some) for some in ctas.values()]
        return any(lets) and all(a or b for a, b in zip(lets, ended, strict=True))

    def _waits_rightly(self, t: int, way: ThreadEnd) -> bool:
        passed = (self.streams.awaited(t, e, way.trace.effects[:i]) for i, e in enumerate(way.trace.effects))
        if not all(self.has_ended(k) for awaited in passed for k in awaited or ()):
            return False
        return way.kind != "kernel" or self.aborts or not all(map(self.has_ended, way.awaits))


# How far threads come.


def ways_of(traces: Sequence[Trace], aborts: bool) -> list[ThreadEnd]:
    """All ways of a thread, given its runs."""
    found: dict[object, ThreadEnd] = {}

    def note(way: ThreadEnd) -> None:
        effects = way.trace.effects
        answers = tuple(str(e.answer) for e in effects)
        if way.kind == "barrier":
            answers = answers[:-1]  # who waits at an instruction is not told anything
        found.setdefault((way.kind, len(effects), answers), way)

    for trace in traces:
        last = trace.effects[-1] if trace.effects else None
        if trace.status == "finished":
            note(ThreadEnd("end", trace))
        if last is not None and last.kind is STOP and aborts:
            kind = "trap" if last.operation in ("trap", "brkpt") else "assertion"
            note(ThreadEnd(kind, trace, last.instruction, says=last.operation if kind == "assertion" else ""))
        if trace.iteration >= 0 and not aborts and _never_ends(trace, traces):
            looked = [trace.effects[i] for i in trace.observes]
            kind = "mbarrier" if any(e.kind is MBARRIER for e in looked) else "loop"
            note(ThreadEnd(kind, trace, looked[0].instruction if looked else trace.goes_round, trace.observes))
        for i, effect in enumerate(trace.effects):
            if aborts:
                if effect.kind not in _UNSEEN or _waits(effect):
                    note(ThreadEnd("on", _up_to(trace, i + 1)))
            elif _waits(effect):
                note(ThreadEnd("barrier", _up_to(trace, i + 1), effect.instruction))
        if aborts:
            note(ThreadEnd("on", _up_to(trace, 0)))
    return list(found.values())


def _waits(effect: Effect) -> bool:
    if effect.kind is COLLECTIVE:
        return effect.how is not None and effect.how.form.waits
    return effect.kind is BARRIER


def _before(trace: Trace, count: int) -> Trace:
    """The beginning of a run, which has passed so many effects."""
    return Trace(trace.effects[:count], {}, "stopped", [r for r in trace.requirements if r.place <= count])


def _up_to(trace: Trace, count: int) -> Trace:
    """The beginning of a run, which comes no further than to its last effect."""
    effects = trace.effects[:count]
    if effects and effects[-1].kind is BARRIER:
        effects[-1] = replace(effects[-1], complete=0)
    return Trace(effects, {}, "stopped", [r for r in trace.requirements if r.place < count])


def _told(way: ThreadEnd) -> Trace:
    """What a thread was told by its warp on the way."""
    effects = way.trace.effects
    if way.kind == "barrier" and effects[-1].kind is COLLECTIVE:
        return replace(way.trace, effects=effects[:-1])
    return way.trace


def _never_ends(trace: Trace, traces: Sequence[Trace]) -> bool:
    """Whether an iteration that goes round would do so whatever clocks say, and although no wait says no for no reason."""
    iteration = trace.effects[trace.iteration :]
    if any(e.operation == "try_wait" and e.kind is INPUT and not e.answer for e in iteration):
        return False
    clocks = {e.index for e in iteration if e.kind is INPUT and e.operation not in ("try_wait", UNWRITTEN)}
    return not clocks or not any(_leaves(other, trace, clocks) for other in traces)


def _leaves(other: Trace, trace: Trace, clocks: set[int]) -> bool:
    """Whether another run, to which only clocks said something else, leaves the loop where this one goes round."""
    for i, effect in enumerate(trace.effects):
        if i >= len(other.effects) or other.effects[i].instruction is not effect.instruction:
            return i > min(clocks)
        if other.effects[i].answer != effect.answer and i not in clocks:
            return False
    return other.status != "waits" or len(other.effects) != len(trace.effects)


# Seeing the same from then on.


def _stays(program: Program, thread: int, way: ThreadEnd, candidate: Candidate, chosen: Sequence[ThreadEnd]) -> bool:
    """Whether nothing comes after what an iteration sees that goes round."""
    return all(
        _sees_last(program, event, candidate, chosen)
        for index in way.observes
        for event in program.by_effect[thread][index]
        if event.kind.observes
    )


def _sees_last(program: Program, event: Event, candidate: Candidate, chosen: Sequence[ThreadEnd]) -> bool:
    if event.kind is MBARRIER_EVENT:
        sequence = next(s for s in candidate.sequences if event.index in s)
        return all(_is_effect_free(program.events[i], chosen) for i in sequence[sequence.index(event.index) + 1 :])
    for cell, write in zip(event.cells, candidate.sources(event), strict=True):
        later = candidate.co[write] & candidate.judge.writes[cell]
        if not all(_is_effect_free(program.events[w], chosen) for w in bits(later)):
            return False
    return True


def _is_effect_free(event: Event, chosen: Sequence[ThreadEnd]) -> bool:
    """Whether it is part of an iteration that goes round, so that it leaves what it found; or a wait."""
    assert event.effect is not None
    waits = event.effect.kind is MBARRIER and event.effect.operation == "wait"
    return waits or event.effect.index in chosen[event.thread].observes
