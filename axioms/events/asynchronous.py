"""Asynchronous operations (PTX ISA 9.0, sections 8.9.1.1 and 9.7.9.25): their events, and what tells of their completion.

An asynchronous instruction is an event `I` in program order. What it does is in no program order:

    R, W         of a copy, in its proxy; of a reduction, R and W of each element besides; W of `st.async`
    F            the fence between proxies that the completion of a bulk copy implies
    MA           what an mbarrier object learns; or CW, the wait for a group, in program order; or KE, the end of the kernel

`issue` relates I to its memory events and arrivals. `comp` relates R to W, both to F, and all of these to MA, CW or KE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from axioms.events.copied import CopiedPart, copy_spans, parts, range_span, reductions
from axioms.events.event import MAKERS as ORDINARY
from axioms.events.event import PROXY_TAGS, Collector, Event, MadeEvents, Maker, joined, split, tags_of
from axioms.events.event_kinds import COPIES_WAIT, FENCE_EVENT, ISSUE_EVENT, READ, WRITE, EventKind
from axioms.events.memory import GuardedLocation
from ptxcore.isa.effect_kinds import CLEAR, COMMIT, COPY, DISCARD, ISSUE, MBARRIER, RED, STORE, WAIT_GROUP
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

# Events.


def _issue(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return [collector.new(thread, ISSUE_EVENT, tags_of("I"), effect.guard, effect)]


def _wait_group(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return [collector.new(thread, COPIES_WAIT, tags_of("CW"), effect.guard, effect)]


def _nothing(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return []


def _clear(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """Zeros; by a `discard`, what nobody knows."""
    tags = tags_of("W", "M", "WEAK", PROXY_TAGS[effect.proxy])
    events = []
    for places in collector.places[thread, effect.index]:
        for at in places:
            assert type(effect.size) is int
            event = collector.access(thread, effect, WRITE, tags, at.guard, at, effect.size)
            collector.write(event, 0)
            if effect.kind is DISCARD:
                collector.spoil(event)
            events.append(event)
    return events


def _copy(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """Reads and writes, and behind those of a bulk copy the fence that its completion implies; before that one another,
    which the completion of its reading implies, where the thread waits for such."""
    made = _Making(collector, thread, effect)
    if effect.combine is not None:
        made.reduction()
    else:
        made.copied()
    if effect.proxy == "async" and made.events:
        fences = 1 + any(e.kind is WAIT_GROUP and e.reads for e in collector.threads[thread].execution.effects)
        fence = tags_of("F", "ASYNC")
        made.events += [collector.new(thread, FENCE_EVENT, fence, effect.guard, effect) for _ in range(fences)]
    return made.events


class _Making:
    """The events of one copy, while they are made."""

    def __init__(self, collector: Collector, thread: int, effect: Effect) -> None:
        self.collector, self.thread, self.effect = collector, thread, effect
        self.events: list[Event] = []
        self.places = collector.places[thread, effect.index]
        self.tags = ("M", "WEAK", PROXY_TAGS[effect.proxy])

    def _symbol(self, offset: int, size: int, what: str = "copied") -> Term:
        return terms.symbol((what, self.thread, self.effect.index, offset), 8 * size)

    def _access(self, kind: EventKind, tags: tuple[str, ...], at: GuardedLocation, size: int) -> Event:
        event = self.collector.access(self.thread, self.effect, kind, tags_of(str(kind), *tags), at.guard, at, size)
        self.events.append(event)
        return event

    def copied(self) -> None:
        places = iter(self.places)
        for part in parts(self.effect):
            targets = next(places)
            read: Event | None = None
            if part.size:
                next(places)
                for at in next(places):
                    read = self._access(READ, self.tags, at, part.size)
                    self.collector.read(read, self._symbol(part.offset, part.size))
            for at in targets:
                self._write(self._access(WRITE, self.tags, at, part.whole), read, part.filling)

    def _write(self, event: Event, read: Event | None, filling: int) -> None:
        """What stands in each cell of the source, then what comes from nowhere."""
        sizes = self.collector.sizes(event)
        copied = [] if read is None else list(read.values)
        values: list[Value] = [*copied, *split(filling, sizes[len(copied) :])]
        event.values, event.value = tuple(values), joined(values, sizes)

    def reduction(self) -> None:
        places = iter(self.places)
        for part in reductions(self.effect):
            self._reduced(part, places)

    def _reduced(self, part: CopiedPart, places: Iterator[list[GuardedLocation]]) -> None:
        effect = self.effect
        assert effect.combine is not None
        element = effect.width // 8
        whole: Value = 0
        for at in next(places):
            read = self._access(READ, self.tags, at, part.size)
            self.collector.read(read, self._symbol(part.offset, part.size))
            whole = read.value
        tags = ("M", "RMW", "RED", "RLX", "GPU", PROXY_TAGS[effect.proxy])
        for i in range(0, part.size, element):
            new = terms.extract(whole, 8 * i + effect.width - 1, 8 * i)
            targets, _ = next(places), next(places)
            for at in targets:
                old = self._access(READ, tags, at, element)
                write = self._access(WRITE, tags, at, element)
                self.collector.read(old, self._symbol(part.offset + i, element, "reduced"))
                self.collector.write(write, effect.combine(old.value, new))
                write.partner, old.partner = old, write


def _in_background(maker: Maker) -> Maker:
    """As another maker, but what an asynchronous operation does is in no program order."""

    def made(collector: Collector, thread: int, effect: Effect) -> list[Event]:
        events = maker(collector, thread, effect)
        if effect.agent >= 0:
            if effect.kind is not COPY and "st-async-proxy" in collector.options:
                _through_async_proxy(collector, thread, effect, events)
            for event in events:
                event.tags, event.in_po = event.tags | {"ASY"}, False
        return events

    return made


def _through_async_proxy(collector: Collector, thread: int, effect: Effect, events: list[Event]) -> None:
    """An option: `st.async` and `red.async` as bulk copies, with the fence that their completion implies."""
    for event in events:
        event.tags = event.tags - {"GEN"} | {"ASYNC", "NONGEN"}
    events.append(collector.new(thread, FENCE_EVENT, tags_of("F", "ASYNC"), effect.guard, effect))


#: Who makes the events of effects of asynchronous operations, and of what else writes many bytes at once.
MAKERS: Mapping[str, Maker] = {
    STORE: _in_background(ORDINARY["store"]),
    RED: _in_background(ORDINARY["red"]),
    ISSUE: _issue,
    COPY: _in_background(_copy),
    COMMIT: _nothing,
    WAIT_GROUP: _wait_group,
    CLEAR: _clear,
    DISCARD: _clear,
}
SPANS = {COPY: copy_spans, CLEAR: range_span, DISCARD: range_span}


# Relations.


class GuardedPair(NamedTuple):
    """Two events by their numbers, and the condition, given that both are executed, under which they are related."""

    before: int
    after: int
    condition: Value = 1


class Operations:
    """The asynchronous operations of one thread: `made` has the events of each effect."""

    def __init__(self, effects: Sequence[Effect], made: Mapping[int, Sequence[Event]]) -> None:
        self.effects, self.made = effects, made
        self.agents: dict[int, list[Effect]] = {}
        for effect in effects:
            if effect.agent >= 0:
                self.agents.setdefault(effect.agent, []).append(effect)

    def issue(self) -> Iterator[GuardedPair]:
        """From an asynchronous instruction to its memory events and arrivals."""
        for number, agents in self.agents.items():
            for i in self.made[number]:
                for effect in agents:
                    for e in self.made[effect.index]:
                        if e.kind is not FENCE_EVENT:
                            yield GuardedPair(i.index, e.index)

    def flow(self) -> Iterator[GuardedPair]:
        """The flow of data inside copies."""
        for effect in self.effects:
            if effect.kind is COPY:
                events = self.made[effect.index]
                for r in events:
                    for w in events:
                        if r.kind is READ and w.kind is WRITE and r.partner in (None, w):
                            yield GuardedPair(r.index, w.index)

    def comp(self, end: Event | None) -> Iterator[GuardedPair]:
        """What tells of completion, step by step. `end` is the end of the thread's kernel, if there is one."""
        for agents in self.agents.values():
            operation: list[Event] = []
            for effect in agents:
                events = self.made[effect.index]
                if effect.kind is MBARRIER:
                    yield from _all_pairs(operation, events)
                    operation = []  # of a copy to several CTAs, each one's object learns of its own part
                else:
                    yield from _inside(events)
                    operation += _writing(events)
                    if end is not None:
                        yield from _all_pairs(_writing(events), [end])
        yield from self._groups()
        yield from self._arrivals()

    def _groups(self) -> Iterator[GuardedPair]:
        for done in completions(self):
            for effect in self.agents.get(done.issue, ()):
                if effect.kind is not MBARRIER:
                    events = self.made[effect.index]
                    for e in _reading(events) if done.reads else _writing(events):
                        for wait in self.made[done.wait]:
                            yield GuardedPair(e.index, wait.index, done.condition)

    def _arrivals(self) -> Iterator[GuardedPair]:
        """What `cp.async.mbarrier.arrive` tells of: all earlier copies of the thread by `cp.async`."""
        for effect in self.effects:
            if effect.kind is ISSUE and effect.mechanism == "copies":
                for copy in self.effects[: effect.index]:
                    if copy.kind is COPY and self.effects[copy.agent].mechanism == "group":
                        for agent in self.agents.get(effect.index, ()):
                            yield from _all_pairs(_writing(self.made[copy.index]), self.made[agent.index])

    def learns(self, wait: Effect, number: int) -> str:
        """What a wait for groups may learn of an operation: all of it, its reading (`reads`), or nothing.

        What an mbarrier object tells of is in bulk groups too, with its reading (section 9.7.9.25.4.1).
        """
        mechanism = self.effects[number].mechanism
        if mechanism == wait.mechanism:
            return "reads" if wait.reads else "all"
        copies = any(e.kind is COPY for e in self.agents.get(number, ()))
        return "reads" if wait.mechanism == "bulk_group" and mechanism == "mbarrier" and copies else ""


def _all_pairs(before: Sequence[Event], after: Sequence[Event]) -> Iterator[GuardedPair]:
    for a in before:
        for b in after:
            yield GuardedPair(a.index, b.index)


def _inside(events: Sequence[Event]) -> Iterator[GuardedPair]:
    """R to W, and both to the fence that follows; where the reading has a fence of its own, R to that too."""
    reads, writes = [e for e in events if e.kind is READ], [e for e in events if e.kind is WRITE]
    fences = [e for e in events if e.kind is FENCE_EVENT]
    yield from _all_pairs(reads, writes)
    yield from _all_pairs([*reads, *writes], fences[-1:])
    yield from _all_pairs(reads, fences[:-1])


def _writing(events: Sequence[Event]) -> list[Event]:
    """What the completion of a whole operation comes after."""
    fences = [e for e in events if e.kind is FENCE_EVENT]
    return [e for e in events if e.kind is not FENCE_EVENT or e is fences[-1]]


def _reading(events: Sequence[Event]) -> list[Event]:
    """What the completion of its reading comes after."""
    fences = [e for e in events if e.kind is FENCE_EVENT]
    return [e for e in events if (e.kind is READ and e.partner is None) or e in fences[:-1]]


class Completion(NamedTuple):
    """The wait for groups that learns of an operation: both by the index of their effects, given that both are executed."""

    issue: int
    wait: int
    condition: Value
    reads: bool  # of its reading only


def completions(operations: Operations) -> Iterator[Completion]:
    """Which waits for groups learn of which operations of one thread.

    An operation is in the group that the first commit after it closes. A wait that leaves n groups pending has waited for it
    when at least n + 1 commits lie between.
    """
    effects = operations.effects
    for wait in effects:
        if wait.kind is not WAIT_GROUP:
            continue
        pending = wait.pending
        assert type(pending) is int  # the instruction has a literal there
        commits: list[Value] = []
        for effect in reversed(effects[: wait.index]):
            if effect.kind is COMMIT and effect.mechanism == wait.mechanism:
                commits.append(_given(wait.guard, effect.guard))
            elif effect.kind is ISSUE and (learnt := operations.learns(wait, effect.index)):
                condition = at_least(pending + 1, commits)
                if condition != 0:
                    yield Completion(effect.index, wait.index, condition, learnt == "reads")


def _given(known: Value, guard: Value) -> Value:
    """A condition, where another is known to hold."""
    return 1 if terms.implies(known, guard) else guard


def at_least(number: int, conditions: Iterable[Value]) -> Value:
    """The truth value of "at least that many of the conditions hold"."""
    reached: list[Value] = [1, *[0] * number]
    for condition in conditions:
        for k in range(number, 0, -1):
            reached[k] = terms.disj(reached[k], terms.conj(reached[k - 1], condition))
    return reached[number]


def operations_of(collector: MadeEvents) -> Iterator[tuple[int, Operations]]:
    """The threads that have asynchronous operations."""
    for t, thread in enumerate(collector.threads):
        if any(e.kind is ISSUE for e in thread.execution.effects):
            yield t, Operations(thread.execution.effects, collector.by_effect[t])


def issue(collector: Collector) -> list[int] | None:
    """The relation as rows of bitsets; None where there are no asynchronous operations."""
    pairs = [pair for _, operations in operations_of(collector) for pair in operations.issue()]
    if not pairs:
        return None
    rows = [0] * len(collector.events)
    for i, j, _ in pairs:
        rows[i] |= 1 << j
    return rows
