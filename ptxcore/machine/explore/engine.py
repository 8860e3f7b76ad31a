"""Executes a prepared thread along all its paths at once, and joins them where they meet.

One engine serves both uses. With fresh symbols for what loads return, every path is alive under its condition. With
known answers everything folds, one path is alive, and the same code is a concrete interpreter.

The unrolled graph is acyclic. Its nodes are a block and an iteration count for each loop around it, and they are
visited in topological order, so that a node has met all its predecessors before it runs, and effects come in program
order on every path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from heapq import heappop, heappush

from ptxcore.clock import tick
from ptxcore.diagnostics import InputError
from ptxcore.isa.effect_kinds import INPUT, MBARRIER
from ptxcore.machine.explore.actions import AnswerOf
from ptxcore.machine.explore.state import State
from ptxcore.machine.explore.stepping import Stepping
from ptxcore.machine.explore.uncounted import Counting, Ongoing
from ptxcore.machine.ir.dependencies import NO_DEPENDENCIES, choose
from ptxcore.machine.ir.effects import CutLoop, Effect, Iteration, Stuck
from ptxcore.machine.ir.private_memory import PrivateMemory, Top
from ptxcore.machine.ir.steps import Block, ThreadCode
from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import Term, Value, all_of, any_of, conj, disj, eq, ite, negate, substitute

#: Of so many iterations of a loop it is noted where they begin.
_MOST_NOTED = 32


class Exploration(Stepping):
    """One execution in progress."""

    def __init__(self, code: ThreadCode, answer: AnswerOf, unroll: int) -> None:
        super().__init__(code, answer)
        self.unroll = unroll
        self.cut: Value = 0
        self.node: tuple[
            int, ...
        ] = ()  # where the thread is in the unrolled graph: the same for all threads of one code
        self.cuts: list[CutLoop] = []
        self.stuck: list[Stuck] = []
        self.repeating: list[Stuck] = []
        self.iterations: list[Iteration] = []
        self.counting = Counting()
        #: Addresses at which a read-modify-write that writes what it has read counts as a look, with the numbers that may
        #: stand there: whoever explores has to see to it that nobody can tell the difference.
        self.noops: Mapping[int, Collection[int] | None] = {}

    # Running.

    def run(self) -> None:
        """Executes from the first block until no path is left. Raises InputError where a register is read unwritten."""
        registers = self.code.registers
        state = State(
            1,
            [r.initial for r in registers],
            [int(r.known) for r in registers],
            [NO_DEPENDENCIES] * len(registers),
            NO_DEPENDENCIES,
            None if self.code.private is None else PrivateMemory(Top(self.code.private.top)),
        )
        blocks = self.code.blocks
        last = len(blocks) - 1
        first = (0,) * len(blocks[0].loops)
        pending: dict[tuple[int, ...], tuple[int, tuple[int, ...], list[State]]] = {}
        queue: list[tuple[int, ...]] = []
        ongoing: dict[tuple[int, ...], Ongoing] = {}
        edges: list[tuple[int, State]] = []
        key = _key(blocks[0], first)
        pending[key] = (0, first, [state])
        queue.append(key)
        end: State | None = None
        while queue:
            tick()
            key = heappop(queue)
            number, iterations, states = pending.pop(key)
            state = self._join(states, blocks[number].live, number == last)
            if number == last:
                end = state  # others may still go round in a loop that leads nowhere
                continue
            block = blocks[number]
            self.node = key
            for depth in range(len(iterations)):
                begun = key[: 2 * depth + 2]
                if begun not in ongoing:
                    ongoing[begun] = self._begun_iteration(block, depth, state, self._counted(begun, ongoing))
            self._block(block, state, edges)
            for depth, loop in enumerate(block.loops):
                if any(following not in loop.body for following, _ in edges):
                    ongoing[key[: 2 * depth + 2]].is_left = True
            for following, arriving in edges:
                to = blocks[following]
                context: tuple[int, ...] = ()
                if block.loops or to.loops:
                    others = pending if len(edges) == 1 else (key,)
                    entered = self._enter(block, to, following, iterations, key, ongoing, arriving, others)
                    if entered is None:
                        continue
                    context = entered
                there = _key(to, context)
                met = pending.get(there)
                if met is None:
                    pending[there] = (following, context, [arriving])
                    heappush(queue, there)
                else:
                    met[2].append(arriving)
            edges.clear()
        if self._undefined:
            raise InputError(self._undefined)
        self._finish(end)

    def _join(self, states: list[State], live: Iterable[int] | None, ending: bool) -> State:
        """The paths that meet, as one. Later arrivals first: what left a chain of tests last was told apart last."""
        state = states.pop()
        if states and live is None:
            live = range(len(state.values))
        while states:
            assert live is not None
            _merge(state, states.pop(), self.code, live, ending)
        return state

    def _counted(self, key: tuple[int, ...], ongoing: dict[tuple[int, ...], Ongoing]) -> int:
        """How many iterations of a loop count before the one that begins."""
        before = ongoing.get((*key[:-1], key[-1] - 1)) if key[-1] else None
        return 0 if before is None else before.counted + (not before.forced)

    def _enter(
        self,
        block: Block,
        to: Block,
        following: int,
        iterations: tuple[int, ...],
        key: tuple[int, ...],
        ongoing: dict[tuple[int, ...], Ongoing],
        arriving: State,
        others: Iterable[tuple[int, ...]],
    ) -> tuple[int, ...] | None:
        """The iteration counts with which an edge enters its block; None when the path ends here. May narrow the
        state's guard. `others`: where else paths go on."""
        here, there = block.loops, to.loops
        common = 0
        while common < len(here) and common < len(there) and here[common].header == there[common].header:
            common += 1
        context = iterations[:common] + (0,) * (len(there) - common)
        if common and common == len(there) and there[-1].header == following:  # back to the header of the loop
            level = common - 1
            begun = key[: 2 * level + 2]
            iteration = ongoing[begun]
            if to.waits[level]:
                # An iteration that did nothing but look can be left out: only those that had side effects go on.
                guard, noops = self._side_effects(iteration.start, arriving.guard)
                looked = conj(arriving.guard, negate(guard))
                if looked == 0 or self.counting.omits(begun, following, iteration, arriving, looked):
                    for effect in noops:
                        effect.writes = conj(effect.writes, negate(looked))
                    if looked != 0:
                        self.stuck.append(self._stuck(looked, to, following, iteration.start))
                    if guard == 0:
                        return None
                    arriving.guard = guard
            bound = self._bound(following)
            if self.code.private is not None and self.counting.forces(begun, iteration, arriving, others):
                iteration.forced = True
            elif iteration.counted + 1 >= bound:
                self.cut = disj(self.cut, arriving.guard)
                self.cuts.append(CutLoop(arriving.guard, _first_label(to), self._first(to, following), bound))
                self._repeats(iteration, arriving, to, following)
                if iteration.before is not None and to.live is not None:
                    self.iterations.append(
                        self._noted(to, following, begun[:-1], begun[-1] + 1, arriving, to.live, cut=True)
                    )
                return None
            context = (*context[:level], iterations[level] + 1)
        return context

    def _begun_iteration(self, block: Block, depth: int, state: State, counted: int) -> Ongoing:
        """An iteration of the loop at this depth around a block, with what its end will be compared with."""
        iteration = Ongoing(len(self.effects), state.guard, counted)
        loop = block.loops[depth]
        if state.memory is not None and block.waits[depth]:
            iteration.mark = state.memory.mark()
        if block.live is not None and loop.single_entry:
            if counted + 1 >= self._bound(loop.header):
                iteration.before = state.copy(state.guard)
            begun = self.node[: 2 * depth + 2]
            if begun[-1] < _MOST_NOTED:
                self.iterations.append(self._noted(block, loop.header, begun[:-1], begun[-1], state, block.live))
        return iteration

    def _noted(
        self, header: Block, number: int, loop: tuple[int, ...], count: int, state: State, live: Iterable[int],
        cut: bool = False,
    ) -> Iteration:  # fmt: skip
        """Where an iteration begins, for those who ask whether another ends there."""
        values = tuple([(state.values[r], state.defined[r]) for r in live])
        memory = None if state.memory is None else state.memory.copy()
        instruction = self._first(header, number)
        return Iteration(
            loop, count, state.guard, values, memory, len(self.effects), _first_label(header), instruction, cut
        )

    def _bound(self, header: int) -> int:
        return self.code.bounds.get(header, self.unroll)

    def _repeats(self, iteration: Ongoing, end: State, header: Block, number: int) -> None:
        """Notes where a bound has stopped an iteration that may be done again and again: it has written nothing but what it
        had read, and ends with what it began with, in registers that matter and in memory of the thread's own."""
        before = iteration.before
        if before is None or any(end.defined[r] != before.defined[r] for r in header.live or ()):
            return
        same = [eq(end.values[r], before.values[r]) for r in header.live or ()]
        if before.memory is not None and end.memory is not None:
            same.append(end.memory.same(before.memory))
        guard = all_of((end.guard, *same, *[negate(_changes(e, True)) for e in self.effects[iteration.start :]]))
        if guard != 0:
            self.repeating.append(self._stuck(guard, header, number, iteration.start))

    def _first(self, block: Block, number: int) -> Instruction | None:
        """The first instruction of a block or, where it has none, of the one behind it."""
        while not block.steps and block.end is None and block.follows is not None and block.follows != number:
            block = self.code.blocks[block.follows]
        step = block.steps[0] if block.steps else block.end
        return None if step is None else step.instruction

    def _stuck(self, guard: Value, header: Block, number: int, start: int) -> Stuck:
        """An iteration of a waiting loop, with the effects from `start` on, goes round under `guard`."""
        reads = []
        asked: dict[Term, Value] = {}
        for e in self.effects[start:]:
            if e.kind is INPUT and e.result is not None:
                if e.operation == "try_wait":
                    asked[e.result] = 1
            elif e.kind.observes and (e.result is not None or e.answer is not None) and conj(guard, e.guard) != 0:
                reads.append(e.index)
        repeats = substitute(guard, asked) if asked else guard
        return Stuck(guard, _first_label(header), self._first(header, number), tuple(reads), repeats, start)

    def _side_effects(self, start: int, guard: Value) -> tuple[Value, list[Effect]]:
        """The condition, under `guard`, that one of the effects from `start` on changed something for others; and those effects
        of which it counts as none that they wrote what they had read."""
        happened, noops = [], []
        for effect in self.effects[start:]:
            noop = effect.kind.updates and type(effect.address) is int and effect.address in self.noops
            changes = conj(guard, _changes(effect, noop))
            if changes is guard:
                return guard, []
            if noop:
                noops.append(effect)
            if not noop or self._may_be(changes, effect):
                happened.append(changes)
        return any_of(happened), noops

    def _may_be(self, condition: Value, effect: Effect) -> bool:
        """Whether a condition may hold, by the numbers that an effect at one of the places `noops` may have read."""
        known = self.noops[effect.address] if type(effect.address) is int else None
        if known is None or effect.result is None:
            return True
        return any(substitute(condition, {effect.result: number}) != 0 for number in known)


def _changes(effect: Effect, noops: bool) -> Value:
    """The condition under which an effect changes something for others: it synchronises, or writes; with `noops`, something
    else than it has read."""
    if effect.kind.effect_free or (effect.kind is MBARRIER and effect.operation == "wait"):
        return 0
    happens = conj(effect.guard, effect.writes)
    found = effect.result if effect.answer is None else effect.answer
    if noops and effect.kind.updates and found is not None and effect.value is not None:
        happens = conj(happens, negate(eq(effect.value, found)))
    return happens


def _first_label(block: Block) -> str:
    """One of the labels of a block."""
    return block.label.partition(" ")[0]


def _key(block: Block, iterations: tuple[int, ...]) -> tuple[int, ...]:
    """Where a block with its iteration counts stands in the order of the unrolled graph."""
    if not iterations:
        return block.position
    key: list[int] = []
    for position, iteration in zip(block.position, iterations, strict=False):
        key += (position, iteration)
    key.append(block.position[-1])
    return tuple(key)


def _merge(state: State, other: State, code: ThreadCode, live: Iterable[int], ending: bool) -> None:
    """Joins the path of `other` into `state`: where it was taken, its registers hold, of those that are `live`. At the end
    only values matter, and what led there."""
    condition = _difference(other.guard, state.guard)
    state.guard = disj(state.guard, other.guard)
    values, sources, defined = state.values, state.sources, state.defined
    for i in live:
        value = other.values[i]
        if value is not values[i]:
            values[i] = ite(condition, value, values[i], code.registers[i].width)
        if ending:
            continue
        if other.sources[i] is not sources[i]:
            sources[i] = choose(condition, other.sources[i], sources[i])
        if other.defined[i] is not defined[i]:
            defined[i] = ite(condition, other.defined[i], defined[i], 1)
    if other.control is not state.control:
        state.control = choose(condition, other.control, state.control)
    if not ending and state.memory is not None and other.memory is not None:
        state.memory.merge(condition, other.memory)


def _difference(guard: Value, other: Value) -> Value:
    """A shorter condition that tells two exclusive paths apart: `guard` without what both have in common."""
    if type(guard) is Term and type(other) is Term and guard.op == "all":
        common = other.args if other.op == "all" else (other,)
        return all_of(a for a in guard.args if a not in common)
    return guard
