"""mbarrier objects on numbers, for brute force: every order in which the operations of a concrete program can take place.

Operations of one thread keep their order; those of asynchronous operations may take place at any time. What an operation or a
wait returned must be what it found. The rules are those that `axioms.sync.mbarriers` states, executed one after the
other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from axioms.cat.nodes import Rows
from axioms.events.barrier_events import COUNTED, OBJECT_SIZE, early_no, returns
from axioms.events.event import Event
from axioms.oracle.budget import BeyondBruteForce
from axioms.program import Program
from axioms.sync.mbarrier_states import ARRIVALS, START, WRECKS, ObjectState, Transition, next_state, steps
from ptxcore.isa.effect_kinds import COLLECTIVE, MBARRIER
from ptxcore.machine.explore.concrete import Trace, run
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values import terms
from ptxcore.values.terms import Value

UNSEEN = "an arrival in a phase of an mbarrier object before any wait said that the phase before is over"

#: Says what is wrong with an operation or a wait that finds such contents; nothing: "".
MisuseOf = Callable[[Event, int], str]


@dataclass(frozen=True, slots=True)
class OperationOrder:
    """Operations and waits on one object in their order, with the state that each finds (None: the object is misused)."""

    events: tuple[Event, ...]
    states: tuple[ObjectState | None, ...]
    misuse: str = ""


def order_choices(program: Program, wrong: MisuseOf, tick: Callable[[], None]) -> Iterator[tuple[OperationOrder, ...]]:
    """Every choice of an order for each object."""
    before: Rows = []
    if COLLECTIVE in program.kinds:
        from axioms.events.collectives import operations_before

        before = operations_before(program.threads, program.events)
    by_object = [
        [o for o in _orders(members, wrong, tick) if not _goes_against(o, before)]
        for members in steps(program, lambda v: program.flow().numbers(v)).values()
    ]
    yield from itertools.product(*by_object)


def _goes_against(order: OperationOrder, before: Rows) -> bool:
    """Whether an operation stands behind one that certainly comes after it."""
    return bool(before) and any(before[b.index] >> a.index & 1 for a, b in itertools.combinations(order.events, 2))


def rows(program: Program, orders: Iterable[OperationOrder]) -> tuple[Rows, Rows, Rows]:
    """`mbo`, `mbrf` and `denied`."""
    mbo, mbrf, denied = [0] * program.size, [0] * program.size, [0] * program.size
    for order in orders:
        found = list(zip(order.events, order.states, strict=True))
        for begun, wait in _denials(program, found):
            denied[begun.index] |= 1 << wait.index
        for x, (a, before) in enumerate(found):
            operated = not _waits(a)
            for b, then in found[x + 1 :]:
                operated = operated or not _waits(b)
                if operated:
                    mbo[a.index] |= 1 << b.index
                if before is None or then is None or "MW" not in b.tags or not _counts(a):
                    continue
                if before.life == then.life and before.phase == then.phase - 1:
                    mbrf[a.index] |= 1 << b.index
    return mbo, mbrf, denied


def _denials(program: Program, found: Sequence[tuple[Event, ObjectState | None]]) -> Iterator[tuple[Event, Event]]:
    """Each wait that says no to a phase that is over, with the operation before which that was not over yet."""
    for x, (wait, then) in enumerate(found):
        assert wait.effect is not None
        if (
            then is None
            or early_no(wait.effect, program.threads[wait.thread].execution.effects) is None
            or "MW" in wait.tags
        ):
            continue
        operations = [(e, state) for e, state in found[:x] if not _waits(e)]
        earlier = [e for e, state in operations if state is None or not state.is_valid or state.epoch != then.epoch]
        if earlier:
            yield earlier[-1], wait


def _effect_operation(event: Event) -> str:
    assert event.effect is not None
    return event.effect.operation


def _waits(event: Event) -> bool:
    return _effect_operation(event) == "wait"


def _counts(event: Event) -> bool:
    return _effect_operation(event) in COUNTED


def _orders(members: Sequence[Transition], wrong: MisuseOf, tick: Callable[[], None]) -> Iterator[OperationOrder]:
    queues: dict[object, list[Transition]] = {}
    for step in members:
        e = step.event
        queues.setdefault(e.thread if e.in_po else ("agent", e.index), []).append(step)

    def schedules(
        state: ObjectState | None, misuse: str, done: list[tuple[Event, ObjectState | None]]
    ) -> Iterator[OperationOrder]:
        tick()
        ready = [key for key, queue in queues.items() if queue]
        if not ready:
            events, states = zip(*done, strict=True)
            yield OperationOrder(events, states, misuse or _unseen(done))
        for key in ready:
            step = queues[key].pop(0)
            for after, reason in _executed(step, state, wrong):
                yield from schedules(after, misuse or reason, [*done, (step.event, state)])
            queues[key].insert(0, step)

    return schedules(START, "", [])


def _executed(step: Transition, state: ObjectState | None, wrong: MisuseOf) -> Iterator[tuple[ObjectState | None, str]]:
    """What becomes of the object, if the operation can have returned what it did."""
    returned = step.event.value
    if state is None:
        after, reason = None, ""
    elif type(returned) is int and step.operation != "init":
        reason = wrong(step.event, state.content)
        after = None if reason else _moved(step, state)
    else:
        after, reason = step.after(state)
    found = WRECKS if after is None else (state.content,) if state is not None else ()
    if type(returned) is not int or returned in found:
        yield (state if step.waits else after), reason


def _moved(step: Transition, state: ObjectState) -> ObjectState:
    effect = step.event.effect
    assert effect is not None
    if effect.value is None:
        return state
    assert type(effect.value) is int
    return next_state(state, effect.operation, effect.value)


def _unseen(done: Sequence[tuple[Event, ObjectState | None]]) -> str:
    """Whether somebody arrived in a phase before any wait had said that the phase before is over."""
    seen: set[tuple[int, int]] = set()
    for event, state in done:
        if state is None or not state.is_valid:
            continue
        if "MW" in event.tags:
            seen.add((state.life, state.phase))
        if _effect_operation(event) in ARRIVALS and state.phase > 0 and state.epoch not in seen:
            return UNSEEN
    return ""


# The contents that an object may have, as answers for those who look.

#: More states than this, each with what led to it, are too many.
_MOST_STATES = 5000


class RunOperation(NamedTuple):
    """An operation of some run: whose it is, where it stands among the thread's effects, whether it is in program order, and
    the contents that it leaves given those that it finds (None where it cannot take place)."""

    thread: int
    number: int
    in_po: bool
    leaves: Callable[[int], int | None]


def contents_of(
    operations: Iterable[RunOperation], begin: Iterable[int], limit: int, tick: Callable[[], None]
) -> set[int]:
    """All contents that an object can come to have, from some that it begins with, each operation taking place at most once."""
    by_key: dict[tuple[int, int, bool], list[RunOperation]] = {}
    for o in operations:
        by_key.setdefault((o.thread, o.number, o.in_po), []).append(o)
    known: set[tuple[int, frozenset[tuple[int, int, bool]]]] = {(content, frozenset()) for content in begin}
    waiting = list(known)
    while waiting:
        tick()
        if len(known) > limit:
            raise BeyondBruteForce("an mbarrier object may be in too many states for brute force")
        content, done = waiting.pop()
        for key, some in by_key.items():
            thread, number, in_po = key
            if key in done or (in_po and any(t == thread and i > number and p for t, i, p in done)):
                continue
            for new in {o.leaves(content) for o in some}:
                if new is not None and (reached := (new, done | {key})) not in known:
                    known.add(reached)
                    waiting.append(reached)
    return {content for content, _ in known}


class ObjectContents:
    """What objects may contain, learnt from runs of threads; and what is wrong with looking at it."""

    def __init__(self, program: Program, tick: Callable[[], None]) -> None:
        self.program, self.tick = program, tick
        self.known: dict[tuple[int, int], set[int]] = {}
        self._operations: dict[tuple[int, int], dict[object, RunOperation]] = {}
        self._meanwhile: dict[tuple[int, tuple[int, int], frozenset[int]], frozenset[int]] = {}
        self._asked: dict[int, AnsweredEffect] = {}
        self._wrong: dict[tuple[int, int], str] = {}

    def place(self, thread: int, effect: Effect) -> tuple[int, int] | None:
        """The object that an operation of a run is about."""
        assert type(effect.address) is int
        at = self.program.space.at(thread, effect.address, OBJECT_SIZE)
        return None if at is None else (at[0].object, at[1])

    def meanwhile(self, thread: int, place: tuple[int, int], contents: frozenset[int]) -> frozenset[int]:
        """What others, and what a thread left in the background, may make of contents before it looks again."""
        key = thread, place, contents
        if key not in self._meanwhile:
            others = [o for o in self._operations.get(place, {}).values() if o.thread != thread or not o.in_po]
            self._meanwhile[key] = frozenset(contents_of(others, contents, _MOST_STATES, self.tick))
        return self._meanwhile[key]

    def ask(self, thread: int, effect: Effect, answers: Sequence[Value]) -> None:
        """Notes with which answers before it a run came to an effect."""
        self._asked[id(effect)] = AnsweredEffect(thread, effect, tuple(answers))

    def learn(self, traces: Sequence[Sequence[Trace]]) -> bool:
        """Takes in what the operations of runs may leave. True if there is news."""
        by_place: dict[tuple[int, int], dict[object, RunOperation]] = {}
        for t, runs in enumerate(traces):
            for trace in runs:
                broken = {r.effect for r in trace.requirements if r.condition == 0}
                for effect in trace.effects:
                    if effect.kind is MBARRIER and effect.value is not None and effect.index not in broken:
                        place = self.place(t, effect)
                        if place is not None:
                            key, leaves = _leaves(effect)
                            operation = RunOperation(t, effect.index, effect.agent < 0, leaves)
                            by_place.setdefault(place, {}).setdefault((t, effect.index, *key), operation)
        known = {place: some.keys() for place, some in self._operations.items()}
        grown = known != {place: some.keys() for place, some in by_place.items()}
        self._operations = by_place
        self._meanwhile.clear()
        for place, some in by_place.items():
            found = contents_of(some.values(), (START.content,), _MOST_STATES, self.tick)
            grown |= not found <= self.known.get(place, set())
            self.known.setdefault(place, set()).update(found)
        return grown

    def wrong(self, event: Event, content: int) -> str:
        """What is wrong with an operation that finds `content`: its thread runs up to it once more."""
        assert event.effect is not None
        key = id(event.effect), content
        if key not in self._wrong:
            self._wrong[key] = self._probe(self._asked[id(event.effect)], content)
        return self._wrong[key]

    def _probe(self, asked: AnsweredEffect, content: int) -> str:
        answers = [*asked.answers, content]
        found: list[Effect] = []

        def answer(effect: Effect) -> Value:
            found.append(effect)
            return answers[len(found) - 1] if len(found) <= len(answers) else 0

        trace = run(self.program.threads[asked.thread].code, answer, unroll=self.program.unroll)
        index = found[len(answers) - 1].index
        return next((r.message for r in trace.requirements if r.effect == index and r.condition == 0), "")


class ObjectReads:
    """What one run of a thread may find in objects, by what it found and left there before."""

    def __init__(self, contents: ObjectContents, thread: int) -> None:
        self.contents, self.thread = contents, thread
        self._past: dict[tuple[int, int], list[tuple[Effect, Value]]] = {}

    def options(self, effect: Effect) -> list[Value]:
        """What an operation may return. What nobody looks at stays open."""
        place = self.contents.place(self.thread, effect)
        if place is None:
            return [0]
        if not returns(effect):
            return [terms.symbol(("state", self.thread, effect.index), 8 * OBJECT_SIZE)]
        present = self._present(place)
        if any(answer in WRECKS and e.operation != "wait" for e, answer in self._past.get(place, ())):
            present = frozenset()  # nothing makes an object of it again, but a wrong wait leaves it what it was
        elif present is None:
            present = frozenset((START.content, *self.contents.known.get(place, ())))
        return [*sorted({*present, *WRECKS})]

    def note(self, effect: Effect, answer: Value) -> None:
        """Takes in that an operation of the run returned something."""
        place = self.contents.place(self.thread, effect)
        if place is not None and effect.agent < 0:
            self._past.setdefault(place, []).append((effect, answer))

    def _present(self, place: tuple[int, int]) -> frozenset[int] | None:
        """The contents of an object, as far as the run tells; None for any that it may ever have."""
        present: frozenset[int] | None = None
        for effect, answer in self._past.get(place, ()):
            if type(answer) is int and answer not in WRECKS:
                present = frozenset((answer,))
            elif present is not None:
                present = self.contents.meanwhile(self.thread, place, present)
            if effect.value is not None and (present is not None or type(effect.value) is int):
                leaves = _leaves(effect)[1]
                left = {leaves(content) for content in present or (START.content,)}
                present = frozenset(content for content in left if content is not None)
        return None if present is None else self.contents.meanwhile(self.thread, place, present)


class AnsweredEffect(NamedTuple):
    """An effect of a run, and what was answered before it."""

    thread: int
    effect: Effect
    answers: tuple[Value, ...]


def _leaves(effect: Effect) -> tuple[tuple[object, ...], Callable[[int], int | None]]:
    """What an operation makes of the contents, with a key that is equal where that is the same."""
    value, result, answer = effect.value, effect.result, effect.answer
    assert value is not None
    if result is None:
        return (answer, value), lambda content: value if content == answer and type(value) is int else None
    return (value,), lambda content: terms.evaluate(value, {result: content})
