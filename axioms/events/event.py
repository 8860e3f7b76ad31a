"""Events, and how the effects of threads become events.

`MAKERS` says by the kind of an effect who makes its events. A maker gets the `Collector`, the thread and the effect, and
returns the events that it had the collector make.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol

from axioms.errors import UnsupportedProgram
from axioms.events.definitions import Definitions
from axioms.events.event_kinds import READ, WRITE, EventKind
from axioms.events.memory import MAX_ALIGNMENT, AddressSpace, CellLayout, GuardedLocation, TooManyPlaces
from axioms.events.value_sets import Flow, NumberSet
from ptxcore.clock import tick
from ptxcore.isa.effect_kinds import ATOM, INPUT, LOAD, RED, STOP, STORE, kinds_with
from ptxcore.machine.ir.effects import Effect, Requirement, ThreadExecution
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.places import Placement as Placement
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction
from ptxcore.values import terms
from ptxcore.values.spread import spread
from ptxcore.values.terms import Term, Value


class ProgramThread(NamedTuple):
    """`code` re-executes the thread on numbers; `execution` is all its executions at once.

    Threads with equal `source` run the same program on the same memory; None where that is not known.
    """

    name: str
    place: Placement
    code: ThreadCode
    execution: ThreadExecution
    source: Hashable = None


class Event:
    """One event. `kind` is one of `axioms.events.event_kinds`; `tags` are the base sets it belongs to, but `_`.

    `guard` is the condition under which it is executed. A memory event accesses `width` bits at `offset` of an `object`,
    through a virtual `mapping` (-1: through each, as initial writes do): these are whole `cells`, and `values` says of each
    what a write writes or the symbol that a read returns; `value` is all of them together. `partner` is the other half of an
    atomic. `in_po`: whether it stands in the program order of its thread. `unstable`: a write after which every reader finds
    something of its own, see `what_is_read`. `label`: what people call an event that no instruction stands for.
    """

    __slots__ = (
        "cells",
        "effect",
        "guard",
        "in_po",
        "index",
        "kind",
        "label",
        "mapping",
        "object",
        "offset",
        "partner",
        "tags",
        "thread",
        "unstable",
        "value",
        "values",
        "width",
    )

    def __init__(
        self, index: int, thread: int, kind: EventKind, tags: frozenset[str], guard: Value, effect: Effect | None = None
    ) -> None:
        self.index, self.thread, self.kind, self.tags, self.guard, self.effect = (
            index,
            thread,
            kind,
            tags,
            guard,
            effect,
        )
        self.object = self.offset = self.mapping = -1
        self.width = 0
        self.cells: Sequence[int] = ()
        self.values: tuple[Value, ...] = ()
        self.value: Value = 0
        self.partner: Event | None = None
        self.in_po = thread >= 0
        self.unstable = False
        self.label = ""

    @property
    def cell(self) -> int:
        """The first cell; -1 where there is none."""
        return self.cells[0] if self.cells else -1

    def value_at(self, cell: int) -> Value:
        """What is written to or read from one of its cells."""
        return self.values[cell - self.cells[0]]

    def __repr__(self) -> str:
        return f"{self.kind}{self.index}@{self.thread}"


def what_is_read(write: Event, cell: int, reader: int) -> Value:
    """What a reader finds in a cell that a write wrote: an event by its number, or -1 at the end of all threads."""
    if write.unstable:
        return terms.symbol(("unstable", write.index, cell, reader), terms.width_of(write.value_at(cell), 1))
    return write.value_at(cell)


class UndefinedBehaviour(NamedTuple):
    """What makes the behaviour undefined: a condition, whose doing, and the rule that is broken. `result` is what the access
    returns, of which nothing is known then; `address` where it goes, if that is known."""

    thread: int
    condition: Value
    kind: str
    rule: str
    instruction: Instruction
    result: Term | None = None
    address: int | None = None


class BarrierMisuse(NamedTuple):
    """Events that misuse a barrier or an mbarrier object where a literal of the formula holds, and the rule that they break."""

    literal: int
    rule: str
    events: tuple[Event, ...] = ()


WILD, MISALIGNED = "out-of-bounds", "misaligned"
_MESSAGES = {
    WILD: "an access to memory that belongs to no location",
    MISALIGNED: "an access at an address that is no multiple of its size",
}


class ByteRange(NamedTuple):
    """What an effect accesses: how many bytes at which address, under a condition of its own. Spans of one effect in one
    `group` are cut alike. `alignment`: the most that is asked of the address."""

    address: Value
    size: int
    group: int = 0
    guard: Value = 1
    alignment: int = MAX_ALIGNMENT


def _access_spans(effect: Effect) -> tuple[ByteRange, ...]:
    return (ByteRange(effect.address, effect.width // 8),)


#: What the effects of each kind access, in bytes; kinds that access no memory are not listed.
SPANS: Mapping[str, Callable[[Effect], tuple[ByteRange, ...]]] = dict.fromkeys(kinds_with("accesses"), _access_spans)


#: Of so many addresses at most, each is tried.
_FEW = 16


class MadeEvents(Protocol):
    """Who has the threads of a program, and the events of each effect."""

    @property
    def threads(self) -> Sequence[ProgramThread]: ...

    @property
    def by_effect(self) -> Sequence[Mapping[int, list[Event]]]: ...


class Collector:
    """Gathers the events of a program: first where each access may go, then, when cells are known, the events.

    `places` has for each access (thread and effect's index) where each of its spans may go; `by_effect` the events of
    each effect, thread by thread.
    """

    def __init__(
        self,
        threads: Sequence[ProgramThread],
        space: AddressSpace,
        options: frozenset[str] = frozenset(),
        flow: Callable[[], Flow] | None = None,
    ) -> None:
        """`flow` says which numbers reads may return; it is asked where an address may be many."""
        self.threads, self.space, self.options = tuple(threads), space, options
        self._flow = flow
        self.events: list[Event] = []
        self.by_effect: list[dict[int, list[Event]]] = []
        self.undefined_behaviours: list[UndefinedBehaviour] = []
        self.places: dict[tuple[int, int], list[list[GuardedLocation]]] = {}
        self.layout: CellLayout

    # Where accesses go.

    def locate(self, thread: int, effect: Effect, spans: Sequence[ByteRange]) -> list[list[GuardedLocation]]:
        """Where an effect may go, for each of its spans. What goes elsewhere is noted as undefined behaviour."""
        found = [self._places(thread, effect, span) for span in spans]
        self.places[thread, effect.index] = found
        return found

    def _places(self, thread: int, effect: Effect, span: ByteRange) -> list[GuardedLocation]:
        address, size, _, own, alignment = span
        guard = effect.guard if own == 1 else terms.conj(effect.guard, own)
        alignment = min(size & -size, alignment)
        if type(address) is int:
            if address % alignment:
                self._undefined(thread, effect, guard, MISALIGNED, address)
                return []
            at = self.space.at(thread, address, size)
            if at is None:
                self._undefined(thread, effect, guard, WILD, address)
                return []
            view, offset = at
            return [GuardedLocation(guard, view.object, offset, view.mapping)]
        assert type(address) is Term
        numbers = self._numbers(address)
        if numbers:
            return self._listed(thread, effect, span, guard, numbers)
        try:
            possible = self.space.possible(thread, address, size, alignment)
        except TooManyPlaces:
            raise UnsupportedProgram(
                f"line {effect.instruction.span.line}: an address that may be any of thousands of places is not supported"
            ) from None
        places, inside = [], []
        for a, view, offset in possible.places:
            tick()
            here = terms.eq(address, a)
            if here != 0:
                inside.append(here)
                both = terms.conj(guard, here)
                if both != 0:
                    places.append(GuardedLocation(both, view.object, offset, view.mapping))
        if not possible.nowhere_else:
            self._elsewhere(thread, effect, guard, address, 1 if possible.aligned else alignment, inside)
        return places

    def _numbers(self, address: Term) -> NumberSet:
        """The numbers that an address may be, where it is worth while to find out."""
        low, high, step = spread(address)
        return None if self._flow is None or high - low <= _FEW * step else self._flow().numbers(address)

    def _listed(
        self, thread: int, effect: Effect, span: ByteRange, guard: Value, numbers: Iterable[int]
    ) -> list[GuardedLocation]:
        """Where an access goes whose address is one of a few numbers."""
        alignment = min(span.size & -span.size, span.alignment)
        places = []
        bad: dict[str, list[Value]] = {MISALIGNED: [], WILD: []}
        for a in sorted(numbers):
            tick()
            here = terms.eq(span.address, a)
            at = None if a % alignment else self.space.at(thread, a, span.size)
            if at is None:
                bad[MISALIGNED if a % alignment else WILD].append(here)
            elif (both := terms.conj(guard, here)) != 0:
                places.append(GuardedLocation(both, at[0].object, at[1], at[0].mapping))
        for kind, conditions in bad.items():
            self._undefined(thread, effect, terms.conj(guard, terms.any_of(conditions)), kind)
        return places

    def _elsewhere(
        self, thread: int, effect: Effect, guard: Value, address: Term, alignment: int, inside: list[Value]
    ) -> None:
        outside = terms.conj(guard, terms.negate(terms.any_of(inside)))
        if alignment > 1:
            low = terms.extract(address, alignment.bit_length() - 2, 0)
            self._undefined(thread, effect, terms.conj(guard, terms.ne(low, 0)), MISALIGNED)
            outside = terms.conj(outside, terms.eq(low, 0))
        self._undefined(thread, effect, outside, WILD)

    def _undefined(self, thread: int, effect: Effect, condition: Value, kind: str, address: int | None = None) -> None:
        if condition != 0:
            self.undefined_behaviours.append(
                UndefinedBehaviour(thread, condition, kind, _MESSAGES[kind], effect.instruction, effect.result, address)
            )

    def require(self, thread: int, requirement: Requirement) -> None:
        """Notes what must hold as undefined behaviour where it does not."""
        broken = terms.conj(requirement.guard, terms.negate(requirement.condition))
        if broken != 0:
            self.undefined_behaviours.append(
                UndefinedBehaviour(thread, broken, requirement.kind, requirement.message, requirement.instruction)
            )

    def define(self, threads: Sequence[ProgramThread], definitions: Definitions) -> None:
        """The threads after definitions were put in, and what is known of them."""
        self.threads = tuple(threads)
        if definitions:
            self.undefined_behaviours = [
                t._replace(condition=definitions(t.condition)) for t in self.undefined_behaviours
            ]
            for key, spans in self.places.items():
                tick()
                self.places[key] = [[p._replace(guard=definitions(p.guard)) for p in places] for places in spans]

    # Events.

    def new(
        self, thread: int, kind: EventKind, tags: frozenset[str], guard: Value, effect: Effect | None = None
    ) -> Event:
        tick()
        event = Event(len(self.events), thread, kind, tags, guard, effect)
        self.events.append(event)
        return event

    def access(
        self,
        thread: int,
        effect: Effect,
        kind: EventKind,
        tags: frozenset[str],
        guard: Value,
        at: GuardedLocation,
        size: int,
    ) -> Event:
        """A memory event on `size` bytes at a place. It has its cells; what it reads or writes there is still to be said."""
        event = self.new(thread, kind, tags, guard, effect)
        event.object, event.offset, event.mapping, event.width = at.object, at.offset, at.mapping, 8 * size
        event.cells = self.layout.covering(at.object, at.offset, size)
        return event

    def sizes(self, event: Event) -> list[int]:
        """The bytes of each cell of an event."""
        return [self.layout.cells[c].size for c in event.cells]

    def write(self, event: Event, value: Value) -> None:
        """The event writes a value, or reads the value of a concrete run."""
        event.value = value
        if len(event.cells) == 1:
            event.values = (value,)
        else:
            event.values = tuple(split(value, self.sizes(event)))

    def spoil(self, event: Event) -> None:
        """The event writes what nobody knows."""
        event.unstable = True
        sizes = self.sizes(event)
        event.values = tuple(
            terms.symbol(("unstable", event.index, c, -1), 8 * size) for c, size in zip(event.cells, sizes, strict=True)
        )
        event.value = joined(event.values, sizes)

    def read(self, event: Event, symbol: Term) -> None:
        """The event returns a symbol, or the symbols of its pieces if it has several cells."""
        if len(event.cells) == 1:
            event.value, event.values = symbol, (symbol,)
        else:
            event.values = tuple(pieces(symbol, self.sizes(event)))
            event.value = joined(event.values, self.sizes(event))


def split(value: Value, sizes: Sequence[int]) -> list[Value]:
    """A value cut into pieces of so many bytes, lowest first."""
    found, low = [], 0
    for size in sizes:
        found.append(terms.extract(value, low + 8 * size - 1, low))
        low += 8 * size
    return found


def pieces(symbol: Term, sizes: Sequence[int]) -> list[Term]:
    """Symbols for the pieces of what a symbol stands for."""
    found, offset = [], 0
    for size in sizes:
        found.append(terms.symbol(("piece", symbol.args[0], offset), 8 * size))
        offset += size
    return found


def joined(values: Sequence[Value], sizes: Sequence[int]) -> Value:
    """Pieces put together again."""
    value, width = values[0], 8 * sizes[0]
    for piece, size in zip(values[1:], sizes[1:], strict=True):
        value = terms.concat(piece, value, 8 * size, width)
        width += 8 * size
    return value


# Events of memory accesses, fences and barriers.

#: The tag of initial writes that may write anything.
OPEN = "OPEN"
INITIAL_TAGS = frozenset({"W", "M", "IW", "WEAK", "GEN", "SUR", "TEX", "CON"})
OTHER_PROXIES = frozenset(("SUR", "TEX", "CON", "ASYNC", "TMAP"))
PROXY_TAGS = {
    "generic": "GEN",
    "surface": "SUR",
    "texture": "TEX",
    "constant": "CON",
    "async": "ASYNC",
    "tensormap": "TMAP",
}
READ_TAGS = {"weak": "WEAK", "relaxed": "RLX", "acquire": "ACQ", "release": "RLX", "acq_rel": "ACQ"}
WRITE_TAGS = {"weak": "WEAK", "relaxed": "RLX", "acquire": "RLX", "release": "REL", "acq_rel": "REL"}

_tag_sets: dict[tuple[str, ...], frozenset[str]] = {}


def tags_of(*words: str) -> frozenset[str]:
    """A set of tags without the empty ones; accesses through another proxy than the generic one are in `NONGEN`."""
    found = _tag_sets.get(words)  # as many entries as there are spellings of instructions: a few hundred at most
    if found is None:
        found = frozenset(w for w in words if w)
        if "M" in found and found & OTHER_PROXIES:
            found |= {"NONGEN"}
        _tag_sets[words] = found
    return found


def scope_tag(effect: Effect) -> str:
    return effect.scope.upper() if effect.scope else ""


def initial_write(collector: Collector, cell: int) -> None:
    """The write that gives a cell its initial value."""
    c = collector.layout.cells[cell]
    thing = collector.space.objects[c.object]
    more = {"UNSET"} if thing.unset else {OPEN} if thing.open else set()
    event = collector.new(-1, WRITE, INITIAL_TAGS | more, 1)
    event.object, event.offset, event.width = c.object, c.offset, c.width
    event.cells, event.values, event.value = (cell,), (c.initial,), c.initial


def _returned(collector: Collector, event: Event, effect: Effect) -> None:
    """What a read returns: a symbol, or the number that a concrete run was given."""
    if effect.result is not None:
        collector.read(event, effect.result)
    else:
        assert effect.answer is not None
        collector.write(event, effect.answer)


def _load(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    tags = tags_of("R", "M", READ_TAGS[effect.semantics], scope_tag(effect), PROXY_TAGS[effect.proxy])
    events = []
    for at in collector.places[thread, effect.index][0]:
        event = collector.access(thread, effect, READ, tags, at.guard, at, effect.width // 8)
        _returned(collector, event, effect)
        events.append(event)
    return events


def _store(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    assert effect.value is not None
    tags = tags_of("W", "M", WRITE_TAGS[effect.semantics], scope_tag(effect), PROXY_TAGS[effect.proxy])
    events = []
    for at in collector.places[thread, effect.index][0]:
        event = collector.access(thread, effect, WRITE, tags, at.guard, at, effect.width // 8)
        collector.write(event, effect.value)
        events.append(event)
    return events


def _atomic(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    assert effect.value is not None
    sink = "RED" if effect.kind is RED or not effect.returns else ""
    thrown_away = "" if effect.kind is RED or effect.returns else "SINK"
    rest = ("M", "RMW", sink, thrown_away, scope_tag(effect), PROXY_TAGS[effect.proxy])
    read_tags = tags_of("R", READ_TAGS[effect.semantics], *rest)
    write_tags = tags_of("W", WRITE_TAGS[effect.semantics], *rest)
    events, size = [], effect.width // 8
    for at in collector.places[thread, effect.index][0]:
        read = collector.access(thread, effect, READ, read_tags, at.guard, at, size)
        _returned(collector, read, effect)
        events.append(read)
        writes = terms.conj(at.guard, effect.writes)
        if writes != 0:
            write = collector.access(thread, effect, WRITE, write_tags, writes, at, size)
            collector.write(write, effect.value)
            write.partner, read.partner = read, write
            events.append(write)
    return events


def _nothing(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """What a clock says is no event."""
    return []


Maker = Callable[[Collector, int, Effect], list[Event]]

#: Who makes the events of an effect, by its kind.
MAKERS: Mapping[str, Maker] = {
    LOAD: _load,
    STORE: _store,
    ATOM: _atomic,
    RED: _atomic,
    INPUT: _nothing,
    STOP: _nothing,
}
