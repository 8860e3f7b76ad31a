"""Who may wait for ever: at a barrier that nobody can complete, or in a waiting loop that nobody will end.

The question is put to another program: in it every thread may also *give up*, wherever it may wait,

    at a barrier      it arrives, and what stands behind the barrier does not happen
    in a waiting loop that was reduced to its last turn: that turn goes round instead of leaving
    where a bound cut a loop, in a turn that wrote nothing but what it had read and ended as it began, in the registers that
                      matter and in memory of the thread's own (`ThreadExecution.repeating`)

and an execution in which every thread ends or gives up is one in which threads wait for ever if each had to:

    at a barrier      somebody whom the barrier waits for has neither arrived in that round nor ended
    in a loop         what the turn reads is written last: no write follows in coherence but those of such turns, which write
                      what they read; no operation on the mbarrier object follows in its order. The next turn would see the
                      same, and so would every other

So it is decided by the same formula, and every execution is re-checked by the same evaluation. All threads count as running:
each gets on as long as it can. Other executions that a loop bound cuts off are not looked at. (A turn that ends as it began is
done again in the same way as long as it reads the same. Whoever does so for ever from an earlier turn on does so in the last
one too, since those between are the same; so it is enough to look at the turn that the bound stopped.)

With `trap` and `assertion` as further ways to end, the same program tells whether any thread executes a trap, or fails an
assertion: then nobody needs a reason to give up, for what the others would have done behind does not undo it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple

from axioms.candidate import Candidate, Judge
from axioms.cat.model import Model
from axioms.encode import Encoding
from axioms.encounters import WARP
from axioms.engine import unbounded
from axioms.events import Event
from axioms.execution import Execution
from axioms.facts import fitted
from axioms.formula import BOTH, FALSE, TRUE
from axioms.lacking import Awaited, Lack, awaited, lack
from axioms.numbered_barriers import Instances
from axioms.program import Program, Thread
from axioms.result import EngineDefect, OutOfTime, RaceEvent
from axioms.rounds import Part, Rounds
from axioms.shared_waits import SharedWaits, mates_in_warps
from axioms.values import TooManyValues
from ptxcore.machine.effects import Effect, Stuck
from ptxcore.syntax.tree import Instruction
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: Ways to end at once, and the whole launch with it.
ABORTS = ("trap", "assertion")


class Wait(NamedTuple):
    """Where a thread waits, or ends the launch. `kind`: `barrier`, `mbarrier` or `loop` (that waits for such an object, or for
    something else), or one of `ABORTS`; `says`: what the assertion says that failed; `lack`: of a wait for an mbarrier object,
    what that lacks; `awaits`: of another loop, what would end it, where that is easily said."""

    kind: str
    thread: int
    instruction: Instruction | None
    says: str = ""
    lack: Lack | None = None
    awaits: Awaited | None = None


class Stall(NamedTuple):
    """Threads that wait for ever (or end the launch), and the execution in which they do. `undefined`: why its behaviour is, by
    what `culprits` do; there is no other such execution then."""

    waits: tuple[Wait, ...]
    execution: Execution
    undefined: str = ""
    culprits: tuple[RaceEvent, ...] = ()


class _Stop(NamedTuple):
    """A place where a thread may give up: `guard` is the truth value of "it does so here"."""

    kind: str
    thread: int
    guard: Value
    instruction: Instruction | None
    effect: int = -1  # barrier: the effect; loop: none
    reads: tuple[int, ...] = ()
    says: str = ""


def may_fail_assertions(program: Program) -> bool:
    """Whether there is any assertion that a thread may come to and fail."""
    return any(_aborts(e) == "assertion" for thread in program.threads for e in thread.execution.effects)


def _aborts(effect: Effect) -> str | None:
    """Which of `ABORTS` an effect is."""
    if effect.kind != "stop" or effect.guard == 0:
        return None
    return "trap" if effect.operation in ("trap", "brkpt") else "assertion"


def _waits(effect: Effect) -> bool:
    """Whether an effect waits for others. The barriers that the short dialect names are left as they are."""
    of_barrier = effect.kind == "barrier" and effect.barrier != "arrive" and effect.instance is None
    return of_barrier or bool(effect.mates)


def is_arrival(effect: Effect) -> bool:
    """Whether it is an arrival at a barrier that only waits for the threads of its warp (sections 9.7.13.1 and 9.7.13.3)."""
    return effect.kind == "barrier" and effect.barrier == "arrive" and effect.instance is None


class _Giving:
    """The program in which threads may give up; with `aborts`, wherever they may wait and for no reason, and where they end
    the launch."""

    def __init__(self, program: Program, *, aborts: bool) -> None:
        self.stops: list[_Stop] = []
        self.ends: list[Value] = []  # of each thread: that it truly ends
        self._shared = None if aborts else SharedWaits(program.threads)
        self._chosen: set[Value] = set()
        self.warp_mates = mates_in_warps(program.threads)
        #: Where threads wait for others of their warp: whose wait, at what, and the truth value of "it is over".
        self.together: list[tuple[int, Effect, Value]] = []
        threads = [self._thread(t, thread, aborts) for t, thread in enumerate(program.threads)]
        assert program.assemble is not None
        self.program = copy(program.assemble(threads, program.layout))
        self.program.well_used = True
        self.program.condition = self.program.filter = 1
        self.program.observed = ()

    def _thread(self, number: int, thread: Thread, aborts: bool) -> Thread:
        execution = thread.execution
        effects: list[Effect] = []
        choices: list[Effect] = []
        through: Value = 1  # no barrier so far was given up at
        for effect in execution.effects:
            guard = terms.conj(effect.guard, through)
            changed = replace(effect, guard=guard)
            if _waits(effect) or (is_arrival(effect) and self.warp_mates[number]):
                passes = self._passing(number, effect)
                if _waits(effect) and effect.kind == "barrier":
                    changed.complete = passes
                elif effect.kind == "collective":
                    self.together.append((number, changed, passes))
                stop = terms.conj(guard, terms.negate(passes))
                self.stops.append(_Stop("barrier", number, stop, effect.instruction, effect.index))
                through = terms.conj(through, terms.disj(terms.negate(effect.guard), passes))
                if type(passes) is Term and passes not in self._chosen:
                    self._chosen.add(passes)
                    choices.append(_choice(len(execution.effects) + len(choices), effect.instruction, passes))
            elif aborts and (kind := _aborts(effect)):
                says = effect.operation if kind == "assertion" else ""
                self.stops.append(_Stop(kind, number, guard, effect.instruction, effect.index, says=says))
            effects.append(changed)
        for stuck in [*execution.stuck, *([] if aborts else execution.repeating)]:
            guard = terms.conj(stuck.guard if aborts else stuck.forever, through)
            kind = "mbarrier" if any(execution.effects[i].kind == "mbarrier" for i in stuck.reads) else "loop"
            self.stops.append(_Stop(kind, number, guard, _where(stuck, execution.effects), reads=stuck.reads))
        ends = terms.conj(execution.finishes, through)
        self.ends.append(ends)
        mine = [s.guard for s in self.stops if s.thread == number]
        cut = terms.conj(execution.cut, through)
        if not aborts:
            cut = terms.conj(cut, terms.negate(terms.any_of(stuck.forever for stuck in execution.repeating)))
        new = replace(
            execution,
            effects=[*effects, *choices],
            finishes=terms.any_of([ends, *mine, *([cut] if aborts else [])]),
            cut=0 if aborts else cut,
            requirements=[],
            stuck=[],
            repeating=[],
            cuts=[],
        )
        return thread._replace(execution=new, source=None)

    def _passing(self, thread: int, effect: Effect) -> Value:
        """The truth value of "a wait at a barrier is over": for those who must have a reason to give up, one for all who
        wait for the same."""
        name: tuple[object, ...] = (thread, effect.index)
        if self._shared is not None:
            instance = self._shared.names.get((thread, effect.index))
            if instance in self._shared.over or (thread, effect.index) in self._shared.passed:
                return 1
            if instance is not None:
                name = (*instance, min(thread, *self.warp_mates[thread])) if is_arrival(effect) else instance
        return terms.symbol(("passes", *name), 1)


def _choice(index: int, instruction: Instruction, symbol: Term) -> Effect:
    return Effect(index=index, kind="input", guard=1, instruction=instruction, result=symbol, width=1)


def _where(stuck: Stuck, effects: Sequence[Effect]) -> Instruction | None:
    """The instruction that waits: the first that looks."""
    return next((effects[i].instruction for i in stuck.reads if effects[i].kind != "input"), stuck.instruction)


def find(
    program: Program,
    model: Model,
    *,
    kinds: Sequence[str],
    backend: str | None = None,
    deadline: float | None = None,
) -> Stall | None:
    """An execution in which some thread waits for ever in one of these ways (`barrier`, `mbarrier`, `loop`), or one in which
    some thread ends the launch in one of these (of `ABORTS` alone). None where there is none; see the module for what bounds
    leave out.

    Raises UnsupportedProgram and OutOfTime as the engine does.
    """
    giving = _Giving(program, aborts=kinds[0] in ABORTS)
    if not any(stop.kind in kinds and stop.guard != 0 for stop in giving.stops):
        return None
    model = fitted(model, giving.program, frozenset())
    try:
        return _Search(giving, model, kinds, deadline, finite=True).answer(backend)
    except TooManyValues:
        if backend == "sat":
            raise unbounded() from None
        return _Search(giving, model, kinds, deadline, finite=False).answer(backend)


class _Search:
    """The formula of the executions in which somebody gives up in one of these ways, and has to."""

    def __init__(
        self, giving: _Giving, model: Model, kinds: Sequence[str], deadline: float | None, *, finite: bool
    ) -> None:
        self.giving, self.model, self.deadline = giving, model, deadline
        self.encoding = Encoding(giving.program, model, finite=finite, deadline=deadline)
        aborts = kinds[0] in ABORTS
        _Reasons(giving, self.encoding).require(reasons=not aborts)
        stops = [s for s in giving.stops if s.kind in kinds or not aborts]
        self.stops = [(s, self.encoding.truth(s.guard)) for s in stops]
        self.found = self.encoding.formula.disj([l for s, l in self.stops if s.kind in kinds], BOTH)
        if deadline is not None and time.monotonic() > deadline:
            raise OutOfTime

    def answer(self, backend: str | None) -> Stall | None:
        if self.found == FALSE:
            return None
        return self._by_literals(backend) if self.encoding.finite else self._by_numbers()

    def _wanted(self) -> Iterator[tuple[list[int], str]]:
        """What an execution must be like: one whose behaviour is defined, if there is any; else one that is undefined for a
        reason."""
        encoding = self.encoding
        for literal, reason in ((-encoding.troubled, ""), *encoding.troubles):
            if literal != FALSE:
                yield [l for l in (encoding.finishes, self.found, literal) if l != TRUE], reason

    def _by_literals(self, backend: str | None) -> Stall | None:
        """Values are literals too."""
        from axioms.solve import solver_for

        solver = solver_for(self.encoding, backend, self.deadline)
        try:
            undefined = next((reason for wanted, reason in self._wanted() if solver.solve(wanted)), None)
            if undefined is None:
                return None
            values = solver.model()
        finally:
            solver.close()

        def true(literal: int) -> bool:
            return literal == TRUE or (literal != FALSE and (values[literal] if literal > 0 else not values[-literal]))

        candidate = self.encoding.candidate(Judge(self.giving.program, self.model), true)
        broken = [] if undefined else candidate.defects()
        if broken:
            raise EngineDefect(f"an execution in which threads wait for ever breaks {', '.join(broken)}")
        return self._stall(candidate, true, undefined)

    def _by_numbers(self) -> Stall | None:
        """Values are bit-vectors, since no finite set bounds them."""
        from axioms.symbolic import Symbolic

        symbolic = Symbolic(self.encoding, self.deadline)
        for wanted, undefined in self._wanted():
            if symbolic.check(*wanted):
                return self._stall(symbolic.candidate(), symbolic.truths(), undefined)
        return None

    def _stall(self, candidate: Candidate, true: Callable[[int], bool], undefined: str) -> Stall:
        waits = [_wait(s, candidate) for s, literal in self.stops if true(literal)]
        culprits = self.encoding.culprits(undefined, true) if undefined else ()
        return Stall(tuple(waits), candidate.execution({}), undefined, culprits)


def _wait(stop: _Stop, candidate: Candidate) -> Wait:
    wait = Wait(stop.kind, stop.thread, stop.instruction, stop.says)
    if stop.kind == "mbarrier":
        return wait._replace(lack=lack(candidate, stop.thread, stop.reads))
    if stop.kind == "loop":
        return wait._replace(awaits=awaited(candidate, stop.thread, stop.reads, stop.guard))
    return wait


class _Reasons:
    """What makes giving up waiting for ever, as clauses."""

    def __init__(self, giving: _Giving, encoding: Encoding) -> None:
        self.giving, self.encoding, self.formula = giving, encoding, encoding.formula
        self.ends = [encoding.truth(e) for e in giving.ends]
        self._known: dict[tuple[int, int, int], int] = {}
        self.stopped: dict[tuple[int, int], int] = {
            (s.thread, s.effect): encoding.truth(s.guard) for s in giving.stops if s.kind == "barrier"
        }

    def require(self, *, reasons: bool) -> None:
        """Who passes a barrier that some never arrive at has waited for these to end. With `reasons`, nobody gives up who
        could go on."""
        barriers = self.encoding.barriers
        for thread, literal in barriers.absences:
            self.formula.add([-literal, self.ends[thread]])
        for rounds in barriers.meetings:
            self._rounds_follow(rounds)
        for instances in barriers.counted:
            self._one_after_another(instances)
        self._at_collectives(reasons)
        for rounds in barriers.meetings:
            self._arrivals_at_rounds(rounds, reasons)
        for instances in barriers.counted:
            self._arrivals_at_instances(instances, reasons)
        if not reasons:
            return
        for rounds in barriers.meetings:
            self._at_rounds(rounds)
        for instances in barriers.counted:
            self._at_instances(instances)
        for stop in self.giving.stops:
            if stop.reads:
                self._in_loop(stop)

    # Barriers.

    def _stop(self, event: Event) -> int:
        assert event.effect is not None
        return self.stopped.get((event.thread, event.effect.index), FALSE)

    def _at_rounds(self, rounds: Rounds) -> None:
        for part, k, here in self._waiting(rounds):
            stop = self.formula.conj(self._stop(part.event), here, BOTH)
            if stop != FALSE:
                self.formula.add([-stop, -self._over(rounds, k)])

    def _rounds_follow(self, rounds: Rounds) -> None:
        """Who arrives without waiting arrives next when that round is over."""
        for k, arrivals in enumerate(rounds.arrivals[1:] if rounds.warps else ()):
            for _, begins in arrivals:
                self.formula.add([-begins, self._over(rounds, k)])

    def _over(self, rounds: Rounds, k: int) -> int:
        """The literal of "whoever must arrive in round k has, and the others have ended"."""
        key = id(rounds), -1, k
        known = self._known.get(key)
        if known is None:
            arrived = [self.formula.disj([-missing, self.ends[t]], BOTH) for t, missing in rounds.absent(k)]
            known = self._known[key] = self.formula.conj_all([*rounds.present(k), *arrived], BOTH)
        return known

    def _waiting(self, rounds: Rounds) -> Iterator[tuple[Part, int, int]]:
        """Each part that may wait, with each round that it may be in and the literal of "it is"."""
        for k, arrivals in enumerate(rounds.arrivals):
            yield from ((part, k, literal) for part, literal in arrivals if part.wait is not None)
        waited: dict[int, list[int]] = {}
        for part in rounds.parts:
            if part.arrive is None:
                so_far = waited.setdefault(part.thread, [TRUE])
                yield from ((part, k, literal) for k, literal in enumerate(self.formula.exactly(so_far)))
                waited[part.thread] = self.formula.one_more(so_far, part.passes)

    def _at_collectives(self, reasons: bool) -> None:
        """Who goes on has all those there for whom it waits, but for those who have ended."""
        if not self.giving.together:
            return
        from axioms.collectives import Flows

        formula, truth = self.formula, self.encoding.truth
        flows = Flows(self.giving.program.threads)
        for thread, effect, passes in self.giving.together:
            there = [
                formula.disj([truth(came.guard) if came else FALSE, self.ends[u], -truth(named)], BOTH)
                for u, came, named in flows.awaited(thread, effect)
            ]
            whole = formula.conj_all(there, BOTH)
            formula.add([-truth(terms.conj(effect.guard, passes)), whole])
            if reasons:
                formula.add([-self.stopped[thread, effect.index], -whole])

    def _arrivals_at_rounds(self, rounds: Rounds, reasons: bool) -> None:
        """Who arrives without waiting for all waits for its warp."""
        for k, arrivals in enumerate(rounds.arrivals):
            missing: dict[int, int] | None = None
            for part, here in arrivals:
                mates = self.giving.warp_mates[part.thread]
                if mates and part.event.effect is not None and is_arrival(part.event.effect):
                    missing = dict(rounds.absent(k)) if missing is None else missing
                    there = [self.formula.disj([-missing.get(t, FALSE), self.ends[t]], BOTH) for t in mates]
                    self._with_warp(part.event, here, there, reasons)

    def _arrivals_at_instances(self, instances: Instances, reasons: bool) -> None:
        for x, member in enumerate(instances.members):
            mates = self.giving.warp_mates[member.arrive.thread]
            if mates and is_arrival(member.effect):
                for k, here in enumerate(instances.number[x]):
                    there = [self.formula.disj([instances.arrived(t, x, k), self.ends[t]], BOTH) for t in mates]
                    self._with_warp(member.arrive, here, there, reasons)

    def _with_warp(self, arrival: Event, here: int, there: list[int], reasons: bool) -> None:
        """An arrival that goes on when its whole warp is there, or has ended."""
        whole, stop = self.formula.conj_all(there, BOTH), self._stop(arrival)
        self.formula.add([-here, stop, whole])
        if reasons and stop != FALSE:
            self.formula.add([-here, -stop, -whole])

    def _at_instances(self, instances: Instances) -> None:
        for x, member in enumerate(instances.members):
            if member.wait is None:
                continue
            for k, literal in enumerate(instances.number[x]):
                stop = self.formula.conj(self._stop(member.arrive), literal, BOTH)
                if stop != FALSE:
                    self.formula.add([-stop, -self._complete(instances, x, k)])

    def _one_after_another(self, instances: Instances) -> None:
        """An instance begins when the one before it is complete."""
        members = range(len(instances.members))
        for k in range(instances.bound - 1):
            for y in members:
                begins = instances.number[y][k + 1]
                if _is_one(instances):  # somebody is in the instance before
                    self.formula.add([-begins, self._complete(instances, 0, k)])
                    continue
                for x in members:
                    together = self.formula.conj_all([instances.number[x][k], begins, instances.same[x][y]], BOTH)
                    if x != y and together != FALSE:
                        self.formula.add([-together, self._complete(instances, x, k)])

    def _complete(self, instances: Instances, x: int, k: int) -> int:
        """The literal of "the instance in which member x is number k has all its arrivals"."""
        key = id(instances), -1 if _is_one(instances) else x, k
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._new_complete(instances, x, k)
        return known

    def _new_complete(self, instances: Instances, x: int, k: int) -> int:
        formula = self.formula
        effect = instances.members[x].effect
        arrived = {t: instances.arrived(t, x, k) for t in instances.threads}
        gone = {t: formula.disj([arrived[t], self.ends[t]], BOTH) for t in instances.threads}
        if effect.count is None:
            return formula.conj_all(gone.values(), BOTH)
        places = [t.place for t in self.giving.program.threads]
        warps: dict[int, list[int]] = {}
        for t in instances.threads:
            warps.setdefault(places[t].warp, []).append(t)
        whole = []
        for mates in warps.values():
            some = formula.disj([arrived[t] for t in mates], BOTH)
            whole.append(formula.conj_all([some, *[gone[t] for t in mates]], BOTH))
        cases = []
        for count, holds in instances.whole.counts(effect.count):
            wanted = count // WARP
            at_least = formula.count(whole, wanted)
            cases.append(formula.conj(holds, at_least[wanted] if wanted < len(at_least) else FALSE, BOTH))
        return formula.disj(cases, BOTH)

    # Loops.

    def _in_loop(self, stop: _Stop) -> None:
        """What the turn read stays what it is."""
        stays = self.encoding.truth(stop.guard)
        if stays == FALSE:
            return
        made = self.giving.program.by_effect[stop.thread]
        for effect in stop.reads:
            for event in made.get(effect, ()):
                executed = self.encoding.executed.literals[event.index]
                if event.kind == "R":
                    self._reads_last(event, [-stays, -executed])
                elif event.kind == "X":
                    self._sees_last(event, [-stays, -executed])

    def _reads_last(self, read: Event, unless: list[int]) -> None:
        encoding = self.encoding
        for cell in read.cells:
            writes = [w.index for w in encoding.bounds.writes[cell]]
            for w, literal in encoding.rf.get((read.index, cell), {}).items():
                for later in writes:
                    if later != w:
                        follows = encoding.co.literal(w, later)
                        if follows != FALSE:
                            executed = encoding.executed.literals[later]
                            self.formula.add([*unless, -literal, -executed, -follows, *self._also_waiting(later)])

    def _also_waiting(self, write: int) -> list[int]:
        """The literals of "this write is of a turn that goes round": one that writes what it read changes nothing."""
        event = self.giving.program.events[write]
        if event.effect is None:
            return []
        return [
            self.encoding.truth(s.guard)
            for s in self.giving.stops
            if s.thread == event.thread and event.effect.index in s.reads
        ]

    def _sees_last(self, wait: Event, unless: list[int]) -> None:
        """No operation on the mbarrier object follows."""
        for operation in self.giving.program.events:
            effect = operation.effect
            if operation.kind != "X" or effect is None or effect.kind != "mbarrier" or effect.operation == "wait":
                continue
            follows = self.encoding.mbarriers.mbo.literal(wait.index, operation.index)
            if follows != FALSE:
                self.formula.add([*unless, -self.encoding.executed.literals[operation.index], -follows])


def _is_one(instances: Instances) -> bool:
    """Whether all members are certainly at one barrier, of one number of threads."""
    first = instances.same[0]
    same = all(row is first for row in instances.same) and set(first) == {TRUE}
    return same and len({m.effect.count for m in instances.members}) == 1
