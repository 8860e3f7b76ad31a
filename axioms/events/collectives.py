"""What the threads of a warp compute together (`shfl`, `vote`, `match`, `redux`, `elect`, `activemask`).

These instructions order nothing and touch no memory: they are no events. What they return is defined over what the threads
bring (`Program`'s `definitions`), so that a solver never sees them. Brute force has the threads run one by one, with all
that they may be told, and keeps the combinations of runs in which everybody was told what the others brought.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from axioms.errors import UnsupportedProgram
from axioms.events.event import Collector, Event, Maker, ProgramThread
from axioms.events.undetermined import number, way_of
from ptxcore.clock import tick
from ptxcore.isa.effect_kinds import COLLECTIVE, MBARRIER
from ptxcore.machine.explore.concrete import Trace
from ptxcore.machine.ir.collective import flows, name_of, resolve
from ptxcore.machine.ir.dependencies import Dependencies
from ptxcore.machine.ir.effects import Effect
from ptxcore.values.terms import Term, Value, any_of, conj, extract, implies, negate

#: Where an effect is in a run: the instruction by its qualifiers and member mask (section 9.7.9.6), or by its place where it
#: has no mask, and how often that was executed before.
MeetingSite = tuple[Any, ...]
#: As many ways of bringing operands together are tried.
_MOST_WAYS = 4096


def check(threads: Sequence[ProgramThread], definitions: Mapping[Term, Value]) -> None:
    """Raises UnsupportedProgram where nothing says what such an instruction returns."""
    for thread in threads:
        for effect in thread.execution.effects:
            if effect.kind is COLLECTIVE and effect.answer is None and effect.guard != 0:
                assert effect.result is not None
                if effect.result not in definitions:
                    instruction = effect.instruction
                    name = name_of(instruction)
                    raise UnsupportedProgram(f"line {instruction.span.line}: '{name}' is not supported yet")


def _nothing(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    return []


MAKERS: Mapping[str, Maker] = {COLLECTIVE: _nothing}


class CollectiveMeetings:
    """The collective instructions of a program, as brute force meets them."""

    def __init__(
        self, threads: Sequence[ProgramThread], options: Iterable[str], check_time: Callable[[], None]
    ) -> None:
        self.check_time, self.way = check_time, way_of(options)
        warps: dict[tuple[int, int], list[int]] = {}
        for t, thread in enumerate(threads):
            warps.setdefault(_warp(thread), []).append(t)
        self.warps = [
            warp
            for warp in warps.values()
            if any(e.kind is COLLECTIVE for t in warp for e in threads[t].execution.effects)
        ]
        self.lanes = {t: lane_of(threads[t]) for warp in self.warps for t in warp}
        self._known: dict[tuple[int, MeetingSite], set[int]] = {}

    def options(self, thread: int, site: MeetingSite) -> list[Value]:
        """What a thread may be told, as far as that is known by now."""
        return [*sorted(self._known.get((thread, site), ()))] or [0]

    def learn(self, traces: Sequence[Sequence[Trace]]) -> bool:
        """Notes what threads may be told, given all their runs so far. True if that is news."""
        news = False
        for warp in self.warps:
            brought: dict[MeetingSite, dict[int, set[tuple[Any, ...] | None]]] = {}
            for t in warp:
                for trace in traces[t]:
                    for site, effect in _meetings(trace.effects):
                        brought.setdefault(site, {}).setdefault(t, set()).add(effect.operands)
            for site, of in brought.items():
                effect = next(e for t in warp for trace in traces[t] for s, e in _meetings(trace.effects) if s == site)
                for chosen in self._choices(warp, of):
                    self.check_time()
                    for t, answer in self._told(effect, chosen).items():
                        known = self._known.setdefault((t, site), set())
                        if answer not in known:
                            known.add(answer)
                            news = True
        return news

    def _choices(
        self, warp: Sequence[int], of: Mapping[int, set[tuple[Any, ...] | None]]
    ) -> Iterator[dict[int, tuple[Any, ...]]]:
        """Every way in which threads may come with operands, or not come."""
        each = [[None, *of.get(t, ())] for t in warp]
        count = 1
        for options in each:
            count *= len(options)
        if count > _MOST_WAYS:
            raise UnsupportedProgram("what the threads of a warp may bring together is too much for brute force")
        for chosen in itertools.product(*each):
            there = {t: operands for t, operands in zip(warp, chosen, strict=True) if operands is not None}
            if there:
                yield there

    def _told(self, effect: Effect, brought: Mapping[int, tuple[Any, ...]]) -> dict[int, int]:
        """What each thread is told, given what those bring that come."""
        assert effect.how is not None
        name = name_of(effect.instruction)
        there = {self.lanes[t]: operands for t, operands in brought.items()}
        results = resolve(effect.how, there, lambda lane: number(self.way, lane, name))
        return {t: _number(results[self.lanes[t]]) for t in brought}

    def agree(self, combination: Sequence[Trace]) -> bool:
        """Whether in these runs everybody was told what the others brought."""
        for warp in self.warps:
            groups: dict[MeetingSite, dict[int, Effect]] = {}
            for t in warp:
                for site, effect in _meetings(combination[t].effects):
                    groups.setdefault(site, {})[t] = effect
            for group in groups.values():
                first = next(iter(group.values()))
                brought = {t: e.operands for t, e in group.items()}
                told = self._told(first, brought)
                if any(told[t] != e.answer for t, e in group.items()):
                    return False
                self._tell(warp, group)
        return True

    def _tell(self, warp: Sequence[int], group: Mapping[int, Effect]) -> None:
        """Tells each effect whose operands its result comes from in this combination of runs, and for whom it waits."""
        there = {self.lanes[t]: e for t, e in group.items()}
        how = next(iter(group.values())).how
        assert how is not None
        found = flows(how, {lane: e.operands for lane, e in there.items()})
        for lane, e in there.items():
            e.met = tuple((other, there[other].index, 1) for other in sorted(found[lane]))
            if how.form.waits:
                assert type(e.mask) is int
                e.mates = tuple(
                    (other, there[other].index if other in there else -1, 1)
                    for other in (self.lanes[t] for t in warp)
                    if other != lane and e.mask >> other & 1
                )


class Flows:
    """What data comes from where, by way of what the threads of warps compute together."""

    def __init__(self, threads: Sequence[ProgramThread]) -> None:
        self.threads = threads
        self.lanes: dict[tuple[int, int, int], int] = {}
        self.effects: dict[tuple[int, int], Effect] = {}
        self.warps: dict[int, tuple[int, int]] = {}
        computing = {_warp(thread) for thread in threads if any(e.kind is COLLECTIVE for e in thread.execution.effects)}
        for t, thread in enumerate(threads):
            if _warp(thread) in computing:
                self.warps[t] = _warp(thread)
                self.lanes[*self.warps[t], lane_of(thread)] = t
                self.effects |= {(t, e.index): e for e in thread.execution.effects}

    def __bool__(self) -> bool:
        return bool(self.lanes)

    def meetings(self) -> Iterator[tuple[int, Effect, int, int]]:
        """Where a thread is told what another one brought: the thread and its effect, the other and the index of its effect,
        the first one of those that it may be."""
        for (t, _), effect in self.effects.items():
            first: dict[int, int] = {}
            for lane, index, _ in effect.met:
                first[lane] = min(index, first.get(lane, index))
            for lane, index in first.items():
                u = self.lanes[*self.warps[t], lane]
                if u != t:
                    yield t, effect, u, index

    def decided(self) -> Iterator[tuple[int, Effect, int, Dependencies]]:
        """Where a thread goes on because another one has come, or ended: the thread and the effect at which it waited; the
        other, and what decided that it came or ended."""
        for (t, _), effect in self.effects.items():
            for u, some, named in self.awaited(t, effect):
                tick()
                waits, control = conj(effect.guard, named), self.threads[u].execution.control
                for came, there in some:
                    if came.control_dependencies:
                        yield t, effect, u, _under(came.control_dependencies, conj(waits, there))
                if control:
                    absent = negate(any_of(there for _, there in some))
                    yield t, effect, u, _under(control, conj(waits, absent))

    def awaited(self, thread: int, effect: Effect) -> Iterator[tuple[int, list[tuple[Effect, Value]], Value]]:
        """For whom an effect waits: the thread, what it does when it comes, each with the truth value of "it comes so", and the
        condition under which it is named."""
        lanes: dict[int, list[tuple[Effect, Value]]] = {}
        for lane, index, when in effect.mates:
            some, came = lanes.setdefault(lane, []), self.effects.get((self.lanes[*self.warps[thread], lane], index))
            if came is not None:
                some.append((came, conj(came.guard, when)))
        for lane, some in lanes.items():
            yield self.lanes[*self.warps[thread], lane], some, extract(effect.mask, lane, lane)

    def behind(self, thread: int, dependencies: Dependencies) -> Iterator[tuple[int, int, Value]]:
        """The dependencies as those on effects that are no collective ones: thread, index and condition of each."""
        waiting: list[tuple[int, int, Value]] = [
            (thread, index, condition) for index, condition in dependencies.items()
        ]
        seen: set[tuple[int, int]] = set()
        while waiting:
            t, index, condition = waiting.pop()
            effect = self.effects.get((t, index))
            if effect is None or effect.kind is not COLLECTIVE:
                yield t, index, condition
            elif (t, index) not in seen:
                seen.add((t, index))
                for lane, other, when in effect.met:
                    u = self.lanes[*self.warps[t], lane]
                    brought, there = self.effects[u, other].data_dependencies, conj(condition, when)
                    waiting += [(u, i, conj(there, c)) for i, c in brought.items()]


def _under(dependencies: Dependencies, guard: Value) -> Dependencies:
    """Those dependencies under a condition more."""
    found = {index: conj(condition, guard) for index, condition in dependencies.items()}
    return {index: condition for index, condition in found.items() if condition != 0}


def operations_before(threads: Sequence[ProgramThread], events: Sequence[Event]) -> list[int]:
    """Which operations on mbarrier objects are over before which others begin, as rows: what a thread did before it brought
    something, before what is done by who was told. No order of memory comes of it, but nobody is told by who is not there."""
    rows = [0] * len(events)
    operations = [[e for e in events if e.thread == t and _on_object(e)] for t in range(len(threads))]
    for t, told, u, brought in Flows(threads).meetings():
        later = sum(
            1 << e.index
            for e in operations[t]
            if e.effect is not None and e.effect.index > told.index and implies(e.guard, told.guard)
        )
        for e in operations[u]:
            if e.effect is not None and e.effect.index < brought:
                rows[e.index] |= later
    return rows


def _on_object(event: Event) -> bool:
    return event.in_po and event.effect is not None and event.effect.kind is MBARRIER


def _warp(thread: ProgramThread) -> tuple[int, int]:
    return thread.place.gpu, thread.place.warp


def lane_of(thread: ProgramThread) -> int:
    """The number of a thread in its warp."""
    return thread.code.special["laneid"]


class Sites:
    """Tells the executions of each instruction apart, in the order of a run."""

    def __init__(self) -> None:
        self._counts: dict[MeetingSite, int] = {}

    def of(self, effect: Effect) -> MeetingSite:
        instruction = effect.instruction
        assert effect.how is not None
        at: MeetingSite = (name_of(instruction), effect.mask)
        if not effect.how.form.waits:
            at = instruction.span.line, instruction.span.column
        count = self._counts[at] = self._counts.get(at, -1) + 1
        return *at, count


def _meetings(effects: Sequence[Effect]) -> Iterator[tuple[MeetingSite, Effect]]:
    sites = Sites()
    for effect in effects:
        if effect.kind is COLLECTIVE:
            yield sites.of(effect), effect


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
