"""Asynchronous operations (PTX ISA 9.0, sections 8.9.1.1 and 9.7.9.25): their events, and what tells of their completion.

An asynchronous instruction is an event `I` in program order. What it does is in no program order:

    R, W         of a copy, in its proxy; of a reduction, R and W of each element besides; W of `st.async`
    F            the fence between proxies that the completion of a bulk copy implies
    MA           what an mbarrier object learns; or CW, the wait for a group, in program order; or KE, the end of the kernel

`issue` relates I to its memory events and arrivals. `comp` relates R to W, both to F, and all of these to MA, CW or KE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from axioms.errors import UnsupportedProgram
from axioms.events.event import MAKERS as ORDINARY
from axioms.events.event import PROXY_TAGS, Collector, Event, Made, Maker, Span, joined, tags_of
from axioms.events.memory import Place
from ptxcore.machine.ir.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: Copies of so many bytes may have a length that is only known when they run.
_OPEN_LENGTHS = 16
#: The bytes in which a mask selects.
_CHUNK = 16
#: What `st.bulk` asks of its address; `discard` asks more, and says so itself.
_CLEARED = 8


class Part(NamedTuple):
    """A stretch of a copy under a condition: so many bytes at an offset, then zeros."""

    guard: Value
    offset: int
    size: int
    zeros: int

    @property
    def whole(self) -> int:
        return self.size + self.zeros


def _parts(effect: Effect) -> list[Part]:
    """The stretches of a copy. A length that is not known is any of the few that it may be."""
    size, fill = effect.size, effect.fill
    if type(size) is int and type(fill) is int:
        return _selected(effect, 1, size, fill)
    assert size is not None
    found: list[Part] = []
    for n in range(_OPEN_LENGTHS + 1):
        here = terms.eq(size, n)
        zeros = terms.substitute(fill, {size: n}) if type(size) is Term else fill
        if here != 0:
            if type(zeros) is not int:
                raise _unsupported(effect, "a copy whose length is not known")
            found += _selected(effect, here, n, zeros)
    if type(size) is Term and terms.any_of([p.guard for p in found]) != 1 and effect.proxy == "async":
        raise _unsupported(effect, "a bulk copy whose size is not known")
    return found


def _selected(effect: Effect, guard: Value, size: int, fill: int) -> list[Part]:
    mask = effect.selected
    if mask == 0xFFFF:
        return [Part(guard, 0, size, fill)] if size + fill else []
    if type(mask) is not int:
        raise _unsupported(effect, "a copy whose byte mask is not known")
    chosen = [i for i in range(size) if mask >> i % _CHUNK & 1]
    found: list[Part] = []
    for i in chosen:
        if found and found[-1].offset + found[-1].size == i:
            found[-1] = found[-1]._replace(size=found[-1].size + 1)
        else:
            found.append(Part(guard, i, 1, 0))
    return found


def _unsupported(effect: Effect, what: str) -> UnsupportedProgram:
    return UnsupportedProgram(f"line {effect.instruction.span.line}: {what} is not supported")


def _after(address: Value, offset: int) -> Value:
    return terms.add(address, offset, 64) if offset else address


class Move(NamedTuple):
    """Bytes that a copy writes: those at `source`, or zeros where there is none."""

    to: Value
    source: Value | None
    size: int


def moves(effect: Effect) -> Iterator[Move]:
    """What a copy, or a `clear`, of a concrete run writes where. Of a reduction, each element and what it is combined with."""
    if effect.kind != "copy":
        assert type(effect.size) is int
        yield Move(effect.address, None, effect.size)
        return
    step = effect.width // 8
    for part in _parts(effect):
        to, source = _after(effect.address, part.offset), _after(effect.source, part.offset)
        if effect.combine is not None:
            for i in range(0, part.size, step):
                yield Move(_after(to, i), _after(source, i), step)
        elif part.size:
            yield Move(to, source, part.size)
        if part.zeros:
            yield Move(_after(to, part.size), None, part.zeros)


def _copy_spans(effect: Effect) -> tuple[Span, ...]:
    """For each part of a copy where it writes, and twice what it copies, which is cut alike at both ends. Of a reduction
    where it reads, and each element."""
    if effect.combine is not None:
        return _reduction_spans(effect)
    spans: list[Span] = []
    for group, part in enumerate(_parts(effect), 1):
        to, source = _after(effect.address, part.offset), _after(effect.source, part.offset)
        spans.append(Span(to, part.whole, guard=part.guard))
        if part.size:
            spans += [Span(to, part.size, group, part.guard), Span(source, part.size, group, part.guard)]
    return tuple(spans)


def _reduction_spans(effect: Effect) -> tuple[Span, ...]:
    size, element = effect.size, effect.width // 8
    if type(size) is not int:
        raise _unsupported(effect, "a reduction whose size is not known")
    spans = [Span(effect.source, size)] if size else []
    for number, i in enumerate(range(0, size, element), 1):
        to, source = _after(effect.address, i), _after(effect.source, i)
        spans += [Span(to, element, number), Span(source, element, number)]
    return tuple(spans)


def _range_span(effect: Effect) -> tuple[Span, ...]:
    """The bytes that a `clear` or a `discard` writes."""
    if type(effect.size) is not int:
        raise _unsupported(effect, "a size that is not known")
    return (Span(effect.address, effect.size, alignment=_CLEARED),) if effect.size else ()


# Events.


def _issue(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return [collector.new(thread, "I", tags_of("I"), effect.guard, effect)]


def _wait_group(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return [collector.new(thread, "C", tags_of("CW"), effect.guard, effect)]


def _nothing(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return []


def _clear(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """Zeros; by a `discard`, what nobody knows."""
    tags = tags_of("W", "M", "WEAK", PROXY_TAGS[effect.proxy])
    events = []
    for places in collector.places[thread, effect.index]:
        for at in places:
            assert type(effect.size) is int
            event = collector.access(thread, effect, "W", tags, at.guard, at, effect.size)
            collector.write(event, 0)
            if effect.kind == "discard":
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
        made.parts()
    if effect.proxy == "async" and made.events:
        fences = 1 + any(e.kind == "wait_group" and e.reads for e in collector.threads[thread].execution.effects)
        fence = tags_of("F", "ASYNC")
        made.events += [collector.new(thread, "F", fence, effect.guard, effect) for _ in range(fences)]
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

    def _access(self, kind: str, tags: tuple[str, ...], at: Place, size: int) -> Event:
        event = self.collector.access(self.thread, self.effect, kind, tags_of(kind, *tags), at.guard, at, size)
        self.events.append(event)
        return event

    def parts(self) -> None:
        places = iter(self.places)
        for part in _parts(self.effect):
            targets = next(places)
            read: Event | None = None
            if part.size:
                next(places)
                for at in next(places):
                    read = self._access("R", self.tags, at, part.size)
                    self.collector.read(read, self._symbol(part.offset, part.size))
            for at in targets:
                self._write(self._access("W", self.tags, at, part.whole), read)

    def _write(self, event: Event, read: Event | None) -> None:
        """What stands in each cell of the source, then zeros."""
        sizes = self.collector.sizes(event)
        copied = [] if read is None else list(read.values)
        values: list[Value] = [*copied, *[0] * (len(sizes) - len(copied))]
        event.values, event.value = tuple(values), joined(values, sizes)

    def reduction(self) -> None:
        effect, size = self.effect, self.effect.size
        assert type(size) is int and effect.combine is not None
        element = effect.width // 8
        sources, targets = self.places[0] if self.places else [], self.places[1::2]
        whole: Value = 0
        for at in sources:
            read = self._access("R", self.tags, at, size)
            self.collector.read(read, self._symbol(0, size))
            whole = read.value
        tags = ("M", "RMW", "RED", "RLX", "GPU", PROXY_TAGS[effect.proxy])
        for number, places in enumerate(targets):
            low = 8 * element * number
            new = terms.extract(whole, low + effect.width - 1, low)
            for at in places:
                old = self._access("R", tags, at, element)
                write = self._access("W", tags, at, element)
                self.collector.read(old, self._symbol(number * element, element, "reduced"))
                self.collector.write(write, effect.combine(old.value, new))
                write.partner, old.partner = old, write


def _in_background(maker: Maker) -> Maker:
    """As another maker, but what an asynchronous operation does is in no program order."""

    def made(collector: Collector, thread: int, effect: Effect) -> list[Event]:
        events = maker(collector, thread, effect)
        if effect.agent >= 0:
            if effect.kind != "copy" and "st-async-proxy" in collector.options:
                _through_async_proxy(collector, thread, effect, events)
            for event in events:
                event.tags, event.in_po = event.tags | {"ASY"}, False
        return events

    return made


def _through_async_proxy(collector: Collector, thread: int, effect: Effect, events: list[Event]) -> None:
    """An option: `st.async` and `red.async` as bulk copies, with the fence that their completion implies."""
    for event in events:
        event.tags = event.tags - {"GEN"} | {"ASYNC", "NONGEN"}
    events.append(collector.new(thread, "F", tags_of("F", "ASYNC"), effect.guard, effect))


#: Who makes the events of effects of asynchronous operations, and of what else writes many bytes at once.
MAKERS: Mapping[str, Maker] = {
    "store": _in_background(ORDINARY["store"]),
    "red": _in_background(ORDINARY["red"]),
    "issue": _issue,
    "copy": _in_background(_copy),
    "commit": _nothing,
    "wait_group": _wait_group,
    "clear": _clear,
    "discard": _clear,
}
SPANS = {"copy": _copy_spans, "clear": _range_span, "discard": _range_span}


# Relations.


class Pair(NamedTuple):
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

    def issue(self) -> Iterator[Pair]:
        """From an asynchronous instruction to its memory events and arrivals."""
        for number, agents in self.agents.items():
            for i in self.made[number]:
                for effect in agents:
                    for e in self.made[effect.index]:
                        if e.kind != "F":
                            yield Pair(i.index, e.index)

    def flow(self) -> Iterator[Pair]:
        """The flow of data inside copies."""
        for effect in self.effects:
            if effect.kind == "copy":
                events = self.made[effect.index]
                for r in events:
                    for w in events:
                        if r.kind == "R" and w.kind == "W" and r.partner in (None, w):
                            yield Pair(r.index, w.index)

    def comp(self, end: Event | None) -> Iterator[Pair]:
        """What tells of completion, step by step. `end` is the end of the thread's kernel, if there is one."""
        for agents in self.agents.values():
            operation: list[Event] = []
            for effect in agents:
                events = self.made[effect.index]
                if effect.kind == "mbarrier":
                    yield from _all_pairs(operation, events)
                    operation = []  # of a copy to several CTAs, each one's object learns of its own part
                else:
                    yield from _inside(events)
                    operation += _writing(events)
                    if end is not None:
                        yield from _all_pairs(_writing(events), [end])
        yield from self._groups()
        yield from self._arrivals()

    def _groups(self) -> Iterator[Pair]:
        for done in completions(self):
            for effect in self.agents.get(done.issue, ()):
                if effect.kind != "mbarrier":
                    events = self.made[effect.index]
                    for e in _reading(events) if done.reads else _writing(events):
                        for wait in self.made[done.wait]:
                            yield Pair(e.index, wait.index, done.condition)

    def _arrivals(self) -> Iterator[Pair]:
        """What `cp.async.mbarrier.arrive` tells of: all earlier copies of the thread by `cp.async`."""
        for effect in self.effects:
            if effect.kind == "issue" and effect.mechanism == "copies":
                for copy in self.effects[: effect.index]:
                    if copy.kind == "copy" and self.effects[copy.agent].mechanism == "group":
                        for agent in self.agents.get(effect.index, ()):
                            yield from _all_pairs(_writing(self.made[copy.index]), self.made[agent.index])

    def learns(self, wait: Effect, number: int) -> str:
        """What a wait for groups may learn of an operation: all of it, its reading (`reads`), or nothing.

        What an mbarrier object tells of is in bulk groups too, with its reading (section 9.7.9.25.4.1).
        """
        mechanism = self.effects[number].mechanism
        if mechanism == wait.mechanism:
            return "reads" if wait.reads else "all"
        copies = any(e.kind == "copy" for e in self.agents.get(number, ()))
        return "reads" if wait.mechanism == "bulk_group" and mechanism == "mbarrier" and copies else ""


def _all_pairs(before: Sequence[Event], after: Sequence[Event]) -> Iterator[Pair]:
    for a in before:
        for b in after:
            yield Pair(a.index, b.index)


def _inside(events: Sequence[Event]) -> Iterator[Pair]:
    """R to W, and both to the fence that follows; where the reading has a fence of its own, R to that too."""
    reads, writes = [e for e in events if e.kind == "R"], [e for e in events if e.kind == "W"]
    fences = [e for e in events if e.kind == "F"]
    yield from _all_pairs(reads, writes)
    yield from _all_pairs([*reads, *writes], fences[-1:])
    yield from _all_pairs(reads, fences[:-1])


def _writing(events: Sequence[Event]) -> list[Event]:
    """What the completion of a whole operation comes after."""
    fences = [e for e in events if e.kind == "F"]
    return [e for e in events if e.kind != "F" or e is fences[-1]]


def _reading(events: Sequence[Event]) -> list[Event]:
    """What the completion of its reading comes after."""
    fences = [e for e in events if e.kind == "F"]
    return [e for e in events if (e.kind == "R" and e.partner is None) or e in fences[:-1]]


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
        if wait.kind != "wait_group":
            continue
        pending = wait.pending
        assert type(pending) is int  # the instruction has a literal there
        commits: list[Value] = []
        for effect in reversed(effects[: wait.index]):
            if effect.kind == "commit" and effect.mechanism == wait.mechanism:
                commits.append(_given(wait.guard, effect.guard))
            elif effect.kind == "issue" and (learnt := operations.learns(wait, effect.index)):
                condition = at_least(pending + 1, commits)
                if condition != 0:
                    yield Completion(effect.index, wait.index, condition, learnt == "reads")


def _given(known: Value, guard: Value) -> Value:
    """A condition, where another is known to hold."""
    return 1 if terms.conj(known, terms.negate(guard)) == 0 else guard


def at_least(number: int, conditions: Iterable[Value]) -> Value:
    """The truth value of "at least that many of the conditions hold"."""
    reached: list[Value] = [1, *[0] * number]
    for condition in conditions:
        for k in range(number, 0, -1):
            reached[k] = terms.disj(reached[k], terms.conj(reached[k - 1], condition))
    return reached[number]


def operations_of(collector: Made) -> Iterator[tuple[int, Operations]]:
    """The threads that have asynchronous operations."""
    for t, thread in enumerate(collector.threads):
        if any(e.kind == "issue" for e in thread.execution.effects):
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
