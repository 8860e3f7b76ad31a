"""Livelock among interleavings: threads take turns, one access after the other, on memory that holds one number at each place.

    the states that can be reached: where each thread is, and what memory holds
    a strongly connected part of them in which each thread that is scheduled fairly takes a step
    a way there, and a way round in it that has a step of each: the execution goes round there without end

That is an execution of every model that allows sequential consistency, so what is found is real. Where all accesses are to one
place, and every pair of them is morally strong, coherence makes every execution such an interleaving: then none is without end
where none is found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Literal
from weakref import WeakKeyDictionary

from axioms.analysis.constant_reads import follows_causality
from axioms.cat.model import Model
from axioms.liveness.graph import END, IDLE, MemoryRange, NextAccess, ProgressGraph, Unsuited
from axioms.liveness.limits import Limits
from axioms.liveness.progress import Progress, Schedule
from axioms.liveness.repeat import PLAIN, Periodic, PointInLoop, ThreadPart, breaks, written_out
from axioms.program import Program
from axioms.witness.execution import ExecutionsFound
from axioms.witness.result import Decision
from axioms.witness.stalls import Stall, Wait, repeated
from ptxcore.clock import OutOfTime
from ptxcore.isa.effect_kinds import LOAD
from ptxcore.parts import strongly_connected
from ptxcore.places import includes
from ptxcore.records import NamedTuple

#: So many states at most.
_MOST_STATES = 30_000

#: Where each thread is, and what each place of memory holds.
ThreadsState = tuple[tuple[int, ...], tuple[int, ...]]


#: What is looked for: a state, and the step that led there.
_Wanted = Callable[[ThreadsState, "AccessStep | None"], bool]


class AccessStep(NamedTuple):
    """One access of a thread: what it found (None for a store), what it wrote (None for nothing). A step that goes
    round without any access has none."""

    thread: int
    access: NextAccess | None
    found: int | None
    written: int | None


class InterleavedLasso(NamedTuple):
    """An execution that does not end: the steps up to where it goes round, and those that it does again and again.
    `stays` are the threads that have not ended and do nothing in it, `late` those whose kernel never begins, each with the
    kernels that it waits for."""

    before: tuple[AccessStep, ...]
    again: tuple[AccessStep, ...]
    stays: tuple[int, ...] = ()
    late: tuple[tuple[int, tuple[str, ...]], ...] = ()


def interleaved(
    program: Program, model: Model, progress: Progress, resident: int | None, deadline: float | None
) -> Stall | Literal[False] | None:
    """An interleaving without an end, as an execution that keeps the model; None where every execution is an interleaving, and
    all terminate; False where that does not say."""
    try:
        search = interleavings(program, resident, deadline)
        found = search.find(progress)
    except Unsuited:
        return False
    if found is None:
        return None if search.are_all(model) or search.none_goes_on(model, progress) else False
    return _stall(program, model, found)


def decided_by_one(program: Program, model: Model, deadline: float | None) -> Decision | None:
    """The outcomes of a program with loops of which nothing is asked but whether it ends: one, by any interleaving that
    ends; none, where every execution is an interleaving. None where that does not say, or hides what a bound cuts
    off."""
    if type(program.condition) is not int or program.filter != 1:
        return None
    try:
        search = interleavings(program, None, deadline)
    except Unsuited:
        return None
    found = search.ending()
    if found is None:
        return Decision() if search.are_all(model) else None
    if not search.goes_on:
        return None
    execution = periodic(program, found)
    candidate = None if execution is None else written_out(program, model, execution, 1)
    if candidate is None or candidate.defects():
        return None
    holds = bool(program.condition)
    return Decision(
        [{}],
        ExecutionsFound([candidate.execution({})]),
        int(holds),
        int(not holds),
        complete=False,
        ends=True,
        satisfied=[holds],
    )  # fmt: skip


def _stall(program: Program, model: Model, found: InterleavedLasso) -> Stall | Literal[False]:
    """What is found, written out and evaluated."""
    if any(step.access is None for step in (*found.before, *found.again)):
        return False
    execution = periodic(program, found)
    if execution is None or breaks(program, model, execution):
        return False
    candidate = written_out(program, model, execution, 1)
    assert candidate is not None
    waits = []
    for t, part in enumerate(execution.parts):
        if part.again:
            effects = [e.index for e in candidate.program.threads[t].execution.effects if e.kind in PLAIN]
            again = repeated(candidate, t, effects[-part.again :])
            kind = "livelock" if any(r.written is not None for r in again) else "loop"
            waits.append(Wait(kind, t, again[0].instruction, again=again))
    waits += [Wait("launch", t, None, unended=kernels) for t, kernels in found.late]
    return Stall(tuple(waits), candidate.execution({}), unscheduled=found.stays)


def periodic(program: Program, found: InterleavedLasso) -> Periodic | None:
    """An interleaving as an execution: who reads from whom, and the orders. Fences are where their threads come to them."""
    said: list[list[int | None]] = [[] for _ in program.threads]
    sources: dict[PointInLoop, tuple[PointInLoop, ...]] = {}
    writes: dict[int, list[PointInLoop]] = {}
    again = [0] * len(said)
    fences: list[PointInLoop] = []
    steps = (*found.before, *found.again)
    for number, step in enumerate(steps):
        assert step.access is not None
        t = step.thread
        begun = len(said[t])
        said[t] += [None] * step.access.fences
        fences += [(t, i) for i in range(begun, len(said[t]))]
        point = t, len(said[t])
        said[t].append(step.found)
        if number >= len(found.before):
            again[t] += 1 + step.access.fences
        cells = program.cells_at(t, _address(step.access), step.access.place.size)
        if not cells:
            return None
        if step.found is not None:
            sources[point] = tuple(writes[c][-1] if writes.get(c) else (-1, -1) for c in cells)
        if step.written is not None:
            for c in cells:
                writes.setdefault(c, []).append(point)
    parts = tuple(ThreadPart(tuple(some), a) for some, a in zip(said, again, strict=True))
    return Periodic(parts, sources, writes, fences)


def _address(access: NextAccess) -> int:
    assert type(access.effect.address) is int
    return access.effect.address


_known: WeakKeyDictionary[Program, dict[int | None, Interleavings | None]] = WeakKeyDictionary()


def interleavings(program: Program, resident: int | None, deadline: float | None) -> Interleavings:
    """The interleavings of a program, found once. Raises Unsuited and OutOfTime."""
    known = _known.setdefault(program, {})
    if resident not in known:
        try:
            known[resident] = Interleavings(program, resident, deadline)
        except Unsuited:
            known[resident] = None
    found = known[resident]
    if found is None:
        raise Unsuited
    return found


class Interleavings:
    """The states of a program under all interleavings."""

    def __init__(self, program: Program, resident: int | None = None, deadline: float | None = None) -> None:
        """Raises Unsuited, where some thread does what graphs do not know, and OutOfTime."""
        self.program, self.deadline = program, deadline
        self.graphs = [ProgressGraph(t, thread, program.space) for t, thread in enumerate(program.threads)]
        self.schedule = Schedule([t.place for t in program.threads], resident, _first_to_end(program))
        self.places: dict[MemoryRange, int] = {}
        self.initial: list[int] = []
        self._steps: dict[ThreadsState, list[tuple[AccessStep, ThreadsState]]] = {}

        self.first: ThreadsState = tuple(g.start for g in self.graphs), ()
        self.states = self._reach(self.first)

    @cached_property
    def _parts(self) -> list[tuple[set[ThreadsState], ThreadsState, set[int]]]:
        """The strongly connected parts in which somebody goes on, each with one of its states and those who do."""
        found = []
        for part in strongly_connected(self.states, lambda s: [to for _, to in self._steps[s]]):
            inside = set(part)
            moving = {step.thread for s in part for step, to in self._steps[s] if to in inside}
            if moving:
                found.append((inside, part[0], moving))
        return found

    @property
    def goes_on(self) -> bool:
        """Whether some thread may go round and write as often as it likes, past every bound."""
        return any(
            step.written is not None
            for inside, _, _ in self._parts
            for state in inside
            for step, to in self._steps[state]
            if to in inside
        )

    def find(self, progress: Progress) -> InterleavedLasso | None:
        """An execution without end, if there is any."""
        for inside, state, moving in self._parts:
            if self.schedule.allows(progress, *self._status(state[0]), moving):
                return self._round(self.first, state, inside, moving)
        return None

    def ending(self) -> InterleavedLasso | None:
        """An execution in which all threads end, if there is any."""
        if all(any(node != END for node in nodes) for nodes, _ in self.states):
            return None
        steps, _ = self._way(self.first, lambda state, _: all(node == END for node in state[0]), None)
        return InterleavedLasso(tuple(steps), ())

    def _held(self, memory: tuple[int, ...], at: int) -> int:
        return memory[at] if at < len(memory) else self.initial[at]

    def _written(self, memory: tuple[int, ...], at: int, number: int) -> tuple[int, ...]:
        """Memory after a write. Places at the end that hold what they held at first are left out, so that equal states
        are equal."""
        held = [*memory, *self.initial[len(memory) :]]
        held[at] = number
        while held and held[-1] == self.initial[len(held) - 1]:
            held.pop()
        return tuple(held)

    def _place(self, place: MemoryRange) -> int:
        at = self.places.get(place)
        if at is None:
            self._add(place)
            at = self.places[place]
        return at

    def _add(self, place: MemoryRange) -> None:
        for other in self.places:
            if (
                other.object == place.object
                and other.offset < place.offset + place.size
                and place.offset < other.offset + other.size
            ):
                raise Unsuited
        self.places[place] = len(self.initial)
        if self.program.objects[place.object].open:
            raise Unsuited
        data = self.program.objects[place.object].initial
        piece = data[place.offset : place.offset + place.size].ljust(place.size, b"\0")
        self.initial.append(int.from_bytes(piece, "little"))

    def _tick(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

    def _reach(self, first: ThreadsState) -> list[ThreadsState]:
        """All states, in the order in which they are found."""
        waiting, order = [first], [first]
        self._steps[first] = []
        while waiting:
            self._tick()
            state = waiting.pop()
            steps = self._steps[state] = list(self._next(state))
            for _, to in steps:
                if to not in self._steps:
                    self._steps[to] = []
                    order.append(to)
                    waiting.append(to)
            if len(order) > _MOST_STATES:
                raise Unsuited
        return order

    def _next(self, state: ThreadsState) -> Sequence[tuple[AccessStep, ThreadsState]]:
        nodes, memory = state
        found: list[tuple[AccessStep, ThreadsState]] = []
        for t in self.schedule.may_move(*self._status(nodes)):
            node = nodes[t]
            if node == IDLE:
                found.append((AccessStep(t, None, None, None), state))
                continue
            graph = self.graphs[t]
            access = graph.access(node)
            at = self._place(access.place)
            seen = self._held(memory, at)
            to, written = graph.edge(node, seen)
            held = memory if written is None else self._written(memory, at, written)
            step = AccessStep(t, access, seen if access.reads else None, written)
            found.append((step, ((*nodes[:t], to, *nodes[t + 1 :]), held)))
        return found

    def _status(self, nodes: Sequence[int]) -> tuple[list[bool], list[bool]]:
        """Who has made a step, and who has ended."""
        return [node != 0 for node in nodes], [node == END for node in nodes]

    def are_all(self, model: Model) -> bool:
        """Whether every execution under a model is an interleaving: where threads share one place at most that is written, all
        accesses to it from different threads are morally strong, and the model has coherence for those."""
        return len(self._shared()) <= 1 and self._is_coherent(model)

    def none_goes_on(self, model: Model, progress: Progress) -> bool:
        """Whether it is proven that every execution terminates, though not all are interleavings."""
        try:  # which looks at more accesses than interleavings have: the others must be coherent, too
            return self._limits.none_goes_on(progress) and self._is_coherent(model)
        except Unsuited:
            return False

    @cached_property
    def _limits(self) -> Limits:
        initial = {place: self.initial[at] for place, at in self.places.items()}
        return Limits(self.graphs, self.schedule, self._shared, initial, self._tick)

    def _shared(self) -> list[MemoryRange]:
        """The places that several threads access, and some write."""
        return [place for place, users in self._users().items() if len(users) > 1 and self._is_written(place)]

    def _is_coherent(self, model: Model) -> bool:
        """Whether all accesses to what threads share are morally strong, under a model with coherence for those."""
        known = follows_causality(model) and (self.schedule.waits is None or model.uses("api"))
        return known and all(map(self._is_strong, self._shared()))

    def _users(self) -> dict[MemoryRange, set[int]]:
        users: dict[MemoryRange, set[int]] = {}
        for graph in self.graphs:
            for access in graph.accesses:
                users.setdefault(access.place, set()).add(graph.number)
        return users

    def _accesses(self, place: MemoryRange) -> list[tuple[int, NextAccess]]:
        return [(g.number, a) for g in self.graphs for a in g.accesses if a.place == place]

    def _is_written(self, place: MemoryRange) -> bool:
        return any(a.effect.kind is not LOAD for _, a in self._accesses(place))

    def _is_strong(self, place: MemoryRange) -> bool:
        some = {(t, a.effect.semantics, a.effect.scope) for t, a in self._accesses(place)}
        places = [t.place for t in self.program.threads]
        return all(
            semantics != "weak" and scope is not None and (t == u or includes(scope, places[t], places[u]))
            for t, semantics, scope in some
            for u in {u for u, _, _ in some}
        )

    # The way there, and the way round.

    def _round(
        self, first: ThreadsState, into: ThreadsState, inside: set[ThreadsState], moving: set[int]
    ) -> InterleavedLasso:
        before, at = self._way(first, lambda s, _: s in inside, None)
        again: list[AccessStep] = []
        begin = at
        left = set(moving)
        while left:
            steps, at = self._way(at, partial(_is_of, frozenset(left)), inside)
            left -= {s.thread for s in steps}
            again += steps
        steps, at = self._way(at, lambda s, _: s == begin, inside)
        _, ended = self._status(begin[0])
        late = {t: self.schedule.waiting_for(t, ended) for t, gone in enumerate(ended) if not gone}
        stays = [t for t, some in late.items() if not some and t not in moving]
        names = tuple((t, self._kernels_of(some)) for t, some in late.items() if some)
        return InterleavedLasso(tuple(before), (*again, *steps), tuple(stays), names)

    def _kernels_of(self, threads: Sequence[int]) -> tuple[str, ...]:
        return tuple(k.name for k in self.program.kernels if not k.threads.isdisjoint(threads))

    def _way(
        self, begin: ThreadsState, wanted: _Wanted, inside: set[ThreadsState] | None
    ) -> tuple[list[AccessStep], ThreadsState]:
        """The shortest way to a state, or by a step, that is wanted."""
        if wanted(begin, None):
            return [], begin
        came: dict[ThreadsState, tuple[ThreadsState, AccessStep]] = {}
        waiting = [begin]
        for state in waiting:
            for step, to in self._steps[state]:
                if inside is not None and to not in inside:
                    continue
                if wanted(to, step):
                    steps = [step]
                    while state != begin:
                        state, step = came[state]
                        steps.append(step)
                    return steps[::-1], to
                if to not in came and to != begin:
                    came[to] = state, step
                    waiting.append(to)
        raise AssertionError("a part that is strongly connected has a way")


def _first_to_end(program: Program) -> list[list[int]] | None:
    """Of each thread those that must have ended before it may begin: of the kernels for which its own waits."""
    if not program.kernels:
        return None
    from axioms.events.launches import Streams

    streams = Streams(program.kernels, program.threads)
    kernels = (streams.of_thread.get(t) for t in range(len(program.threads)))
    before = [() if k is None else streams.before(k) for k in kernels]
    return [sorted(t for k in some for t in program.kernels[k].threads) for some in before]


def _is_of(threads: frozenset[int], state: ThreadsState, step: AccessStep | None) -> bool:
    return step is not None and step.thread in threads
