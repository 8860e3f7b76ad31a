"""The program in which threads may block: stop at a barrier, in a loop, or where nobody schedules them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from axioms.encode.symmetry import AlikeThreads
from axioms.events.definitions import Definitions
from axioms.liveness.timed import repeats
from axioms.program import Program, ProgramThread, with_threads
from axioms.sync.shared_waits import SharedWaits, mates_in_warps
from axioms.witness.stalls import abort_of
from ptxcore.isa.effect_kinds import BARRIER, COLLECTIVE, INPUT, MBARRIER, kinds_with
from ptxcore.machine.ir.effects import Effect, Iteration, Stuck, ThreadExecution
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.liveness.certain import CertainEnds
    from axioms.liveness.launching import Launching


#: Effects that an execution in which a thread goes round without end may repeat: see `axioms.liveness.lasso`.
REPEATABLE = kinds_with("accesses", "fences")


class RepeatedEffects(NamedTuple):
    """Effects of a thread, by index, that it may do again and again, and the truth value of "it ends them where it began"."""

    effects: range | tuple[int, ...]
    same: Value


class BlockingPoint(NamedTuple):
    """A place where a thread may block: `guard` is the truth value of "it does so here". `rounds`, of a loop: what it
    may do again and again from there, each with the truth value of "it could"."""

    kind: str
    thread: int
    guard: Value
    instruction: Instruction | None
    effect: int = -1  # barrier: the effect; loop: none
    reads: tuple[int, ...] = ()
    says: str = ""
    rounds: tuple[RepeatedEffects, ...] = ()


def _waits(effect: Effect) -> bool:
    """Whether an effect waits for others."""
    return (effect.kind is BARRIER and effect.barrier != "arrive") or bool(effect.mates)


def is_arrival(effect: Effect) -> bool:
    """Whether it is an arrival at a barrier that only waits for the threads of its warp (sections 9.7.13.1 and 9.7.13.3)."""
    return effect.kind is BARRIER and effect.barrier == "arrive" and effect.instance is None


class Blocking:
    """The program in which threads may block; with `aborts`, wherever they may wait and for no reason, and where they end
    the launch; with `rounds`, also where an iteration of a loop that a bound may stop begins; with `stops`, anywhere. With
    `streams` kernels wait for one another, and the host for them. With `certain`, what is undefined counts too, and nobody
    blocks who certainly goes on."""

    def __init__(
        self,
        program: Program,
        *,
        aborts: bool,
        rounds: bool = False,
        stops: bool = False,
        streams: bool = True,
        certain: CertainEnds | None = None,
    ) -> None:
        self.stops: list[BlockingPoint] = []
        self.ends: list[Value] = []  # of each thread: that it truly ends
        self._own: list[list[Term]] = [[] for _ in program.threads]  # what each thread chooses for itself
        #: Of each thread that may stop anywhere: for each effect, and for its end, the symbol of "it comes so far".
        self.alive: list[list[Term]] = []
        self._aborts, self._rounds, self._stops, self._certain = aborts, rounds, stops, certain
        self._shared = certain or (None if aborts or stops else SharedWaits(program.threads))
        self._chosen: set[Value] = set()
        self.warp_mates = mates_in_warps(program.threads)
        #: Where threads wait for others of their warp: whose wait, at what, and the truth value of "it is over".
        self.together: list[tuple[int, Effect, Value]] = []
        #: Loops of which it was not found out whether a clock ends them; they are no blocking points.
        self.unsettled: list[Stuck] = []
        self.launching: Launching | None = None
        if program.kernels and streams:
            from axioms.liveness.launching import Launching

            self.launching = Launching(program, () if self._shared is None else self._shared.exited)
        #: Whether nothing tells threads apart but what they execute: not who is scheduled, nor which kernel begins.
        self._alike = not stops and self.launching is None
        self._whole = program.uncut
        threads = [self._thread(t, thread) for t, thread in enumerate(self._whole)]
        made = with_threads(program, threads)
        self.program = replace(made, condition=1, filter=1, observed=(), well_used=certain is None)
        self._cut(self.program.pieces)

    def _cut(self, pieces: Definitions) -> None:
        """Says what threads do in the words of the new program, in which reads of several cells are pieces."""
        self.stops = [
            s._replace(guard=pieces(s.guard), rounds=tuple([r._replace(same=pieces(r.same)) for r in s.rounds]))
            for s in self.stops
        ]
        self.ends = [pieces(e) for e in self.ends]
        self.together = [(t, pieces.effect(e), pieces(passes)) for t, e, passes in self.together]

    def _thread(self, number: int, thread: ProgramThread) -> ProgramThread:
        execution = thread.execution
        effects: list[Effect] = []
        choices: list[Effect] = []
        self._own[number] += [e.result for e in execution.effects if e.kind is INPUT and e.result is not None]

        def chosen(symbol: Value, instruction: Instruction) -> None:
            if type(symbol) is Term and symbol not in self._chosen:
                self._chosen.add(symbol)
                choices.append(_choice(len(execution.effects) + len(choices), instruction, symbol))

        through = self._begins(number)  # it has blocked nowhere so far
        behind = [through]  # the same behind each effect
        if self.launching is not None and execution.effects:
            for symbol in (*self.launching.begins, *self.launching.ended):
                chosen(symbol, execution.effects[0].instruction)
        iterations = _iterations(execution) if self._rounds else []
        begins = sorted([t for t in iterations if not t[0].cut], key=lambda t: t[0].start)
        count = len(execution.effects) + 1 if self._stops and execution.effects else 0
        comes = [terms.symbol(("comes", number, i), 1) for i in range(count)]
        self.alive.append(comes)
        for effect in execution.effects:
            while begins and begins[0][0].start <= effect.index:
                through = terms.conj(
                    through, self._goes_on(number, *begins.pop(0), through, chosen, effect.instruction)
                )
            guard = terms.conj(effect.guard, through)
            if comes:
                at = effect.index if effect.agent < 0 else effect.agent
                guard = terms.conj(guard, comes[at])
                chosen(comes[effect.index], effect.instruction)
            over = self._over(number, effect, guard)
            through = terms.conj(through, terms.disj(terms.negate(effect.guard), over))
            guard = terms.conj(guard, over)
            changed = replace(effect, guard=guard)
            if _waits(effect) or (is_arrival(effect) and self.warp_mates[number]):
                passes = self._passing(number, effect)
                changed.complete = passes
                if effect.kind is COLLECTIVE:
                    self.together.append((number, changed, passes))
                stop = terms.conj(guard, terms.negate(passes))
                self.stops.append(BlockingPoint("barrier", number, stop, effect.instruction, effect.index))
                through = terms.conj(through, terms.disj(terms.negate(effect.guard), passes))
                chosen(passes, effect.instruction)
            elif self._aborts and (kind := abort_of(effect)):
                says = effect.operation if kind == "assertion" else ""
                self.stops.append(BlockingPoint(kind, number, guard, effect.instruction, effect.index, says=says))
            effects.append(changed)
            behind.append(through)
        if comes:
            chosen(comes[-1], execution.effects[-1].instruction)
            through = terms.conj(through, comes[-1])
        self._in_loops(number, execution, through)
        repeating = terms.negate(terms.any_of(repeats(s, execution) or 0 for s in execution.repeating))
        for iteration, others in iterations:
            if iteration.cut:
                self._go_round(number, iteration, others, terms.all_of((iteration.guard, repeating, through)))
        ends = terms.conj(execution.finishes, through)
        self.ends.append(ends)
        mine = [s.guard for s in self.stops if s.thread == number]
        if comes:
            mine.append(terms.negate(comes[-1]))
        cut = terms.conj(execution.cut, through)
        if not self._aborts:
            gone = [s.guard for s in self.stops if s.thread == number and s.rounds]
            cut = terms.conj(cut, terms.negate(terms.any_of(gone)))
        new = replace(
            execution,
            effects=[*effects, *choices],
            finishes=terms.any_of([ends, *mine, *([cut] if self._aborts else [])]),
            cut=0 if self._aborts else cut,
            requirements=[]
            if self._certain is None
            else [r._replace(guard=terms.conj(r.guard, behind[r.place])) for r in execution.requirements],
            stuck=[],
            repeating=[],
            iterations=[],
            cuts=[],
        )
        return thread._replace(execution=new, source=thread.source if self._alike else None)

    # Kernels.

    def _begins(self, number: int) -> Value:
        """The truth value of "a thread begins"; where it need not, its kernel may never do."""
        begins = 1 if self.launching is None else self.launching.of(number)
        if begins != 1:
            self.stops.append(BlockingPoint("launch", number, terms.negate(begins), None))
        return begins

    def _over(self, number: int, effect: Effect, guard: Value) -> Value:
        """The truth value of "what an effect waits for, which are the ends of kernels, has come"."""
        over = None if self.launching is None else self.launching.passes(number, effect)
        if over is None:
            return 1
        if over != 1:
            stop = terms.conj(guard, terms.negate(over))
            self.stops.append(BlockingPoint("kernel", number, stop, effect.instruction, effect.index))
        return over

    # Loops.

    def _in_loops(self, number: int, execution: ThreadExecution, through: Value) -> None:
        """The loops whose last iteration only looks."""
        for stuck in [*execution.stuck, *([] if self._aborts else execution.repeating)]:
            if self._certain is not None and self._certain.leaves(number, stuck):
                continue
            condition = stuck.guard if self._aborts else repeats(stuck, execution)
            if condition is None:
                self.unsettled.append(stuck)
                continue
            guard = terms.conj(condition, through)
            kind = "mbarrier" if any(execution.effects[i].kind is MBARRIER for i in stuck.reads) else "loop"
            where = _where(stuck, execution.effects)
            self.stops.append(
                BlockingPoint(kind, number, guard, where, reads=stuck.reads, rounds=(RepeatedEffects(stuck.reads, 1),))
            )

    def _goes_on(
        self, number: int, iteration: Iteration, others: list[Iteration], through: Value, chosen: Callable[[Value, Instruction],
        None], instruction: Instruction,
    ) -> Value:  # fmt: skip
        """An iteration before which a thread may block: the truth value of "it does not"."""
        choice = terms.symbol(("round", number, *iteration.loop, iteration.number), 1)
        self._own[number].append(choice)
        chosen(choice, instruction)
        guard = terms.conj(iteration.guard, choice)
        self._go_round(number, iteration, others, terms.conj(guard, through))
        return terms.negate(guard)

    def _go_round(self, number: int, iteration: Iteration, others: list[Iteration], guard: Value) -> None:
        """Blocks where an iteration begins, to do again and again what was done since another one began."""
        if self.alive[number]:
            guard = terms.conj(guard, self.alive[number][-1])
        effects = self._whole[number].execution.effects
        last = max((e.index for e in effects[: iteration.start] if _stops_rounds(e, iteration)), default=-1)
        rounds = [RepeatedEffects(range(o.start, iteration.start), iteration.same(o)) for o in others if o.start > last]
        rounds = [r for r in rounds if r.same != 0]
        guard = terms.conj(guard, terms.any_of([r.same for r in rounds]))
        if guard != 0:
            self.stops.append(BlockingPoint("livelock", number, guard, iteration.instruction, rounds=tuple(rounds)))

    def _passing(self, thread: int, effect: Effect) -> Value:
        """The truth value of "a wait at a barrier is over": for those who must have a reason to block, one for all who
        wait for the same."""
        if self._shared is not None:
            instance = self._shared.names.get((thread, effect.index))
            if instance in self._shared.over or (thread, effect.index) in self._shared.passed:
                return 1
            if instance is not None:
                name = (*instance, min(thread, *self.warp_mates[thread])) if is_arrival(effect) else instance
                return terms.symbol(("passes", *name), 1)
        passes = terms.symbol(("passes", thread, effect.index), 1)
        self._own[thread].append(passes)
        return passes

    def asked(self) -> Iterator[Value]:
        """What is asked of executions: who ends, and who blocks where. How threads finish need not tell: who leaves a loop as
        a clock says, and blocks in it otherwise, finishes whatever it says."""
        yield from self.ends
        for stop in self.stops:
            yield from (stop.guard, *[r.same for r in stop.rounds])

    def alike(self) -> AlikeThreads | None:
        """What exchanging two threads exchanges; None where more tells them apart than what they execute."""
        if not self._alike:
            return None
        said: list[list[Value]] = [[] for _ in self.ends]
        for stop in self.stops:
            said[stop.thread] += [stop.guard, *[r.same for r in stop.rounds]]
        return AlikeThreads(self._own, self.ends, said)


def _stops_rounds(effect: Effect, iteration: Iteration) -> bool:
    """Whether an effect is certainly executed by who comes to an iteration, and cannot be done again and again."""
    return effect.kind not in REPEATABLE and terms.implies(iteration.guard, effect.guard)


def _iterations(execution: ThreadExecution) -> list[tuple[Iteration, list[Iteration]]]:
    """The iterations of loops that a bound may stop, by where they begin, each with those before it; but for first ones."""
    cut = {t.loop for t in execution.iterations if t.cut}
    found = []
    for iteration in execution.iterations:
        if iteration.loop in cut:
            before = [t for t in execution.iterations if t.loop == iteration.loop and t.number < iteration.number]
            if before:
                found.append((iteration, before))
    return found


def _choice(index: int, instruction: Instruction, symbol: Term) -> Effect:
    return Effect(index=index, kind=INPUT, guard=1, instruction=instruction, result=symbol, width=1)


def _where(stuck: Stuck, effects: Sequence[Effect]) -> Instruction | None:
    """The instruction that waits: the first that looks."""
    return next((effects[i].instruction for i in stuck.reads if effects[i].kind is not INPUT), stuck.instruction)
