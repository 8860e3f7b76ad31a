"""A program as the engine sees it: guarded events, and the relations that are known before any solving.

Events are listed in one order: initial writes first, then thread by thread in program order. Relations known in advance are
rows of bitsets over that order. They say what holds *if both events are executed*; whether they are is the solver's business.

    where each access may go -> cells -> what reads of several cells return, put in everywhere -> events -> relations
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from axioms.analysis.carried import Carried
from axioms.errors import UnsupportedProgram
from axioms.events import event as making
from axioms.events.definitions import Definitions
from axioms.events.event import Collector, Event, Thread, Trouble
from axioms.events.kinds import ALL_ACCESSES, maker_of, spans_of
from axioms.events.memory import AddressSpace, Bytes, Cell, Layout, Object, View
from axioms.events.preconditions import obligations
from axioms.events.static import known_relations
from axioms.events.value_sets import LaterFlow, Numbers
from axioms.models.options import passes_off
from ptxcore.clock import tick
from ptxcore.machine.ir.effects import WRITES, Dependencies, Effect, Requirement
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.analysis.constant_reads import Settlement
    from axioms.events.collectives import Flows
    from axioms.events.launches import Grids, Kernel

#: Of programs with more events than this, what is settled altogether is left out of what is solved, and of what is told.
_LARGE = 1000
#: Reads of more bits may be torn even with the option `no-tearing`.
_WHOLE_BITS = 64


class Observable(NamedTuple):
    """Something that states list. `value` is a term over read results and final values, of `width` bits."""

    label: str
    value: Value
    width: int
    signed: bool = False


class Program:
    """See the module. `condition` and `filter` are truth values over the symbols of reads and of `final_symbol`.

    Loop bodies ran at most `unroll` times. `definitions` are symbols that stand for other values, as what a shuffle returns
    does. Without `kernels` all threads are one launch. `options` are of `axioms.models.options`. `assemble` makes the same
    program of threads that were executed otherwise, on numbers for instance; it hands the layout on that it is given, so that
    both have the same cells. `well_used`: executions that misuse a barrier are not looked at.

    `settlement`: what reads return for certain, see `axioms.analysis.constant_reads`; None where nobody asked.

    `kinds` are those of its effects. What only some of them are about is imported where there are such (see
    `axioms.events.kinds`); `grids` are None in a program without kernels.
    """

    well_used = False

    def __init__(
        self,
        threads: Sequence[Thread],
        objects: Sequence[Object],
        views: Sequence[View],
        observed: Sequence[Observable] = (),
        condition: Value = 1,
        filter: Value = 1,
        *,
        unroll: int = 4,
        assemble: Callable[[Sequence[Thread], Layout | None], Program] | None = None,
        definitions: Mapping[Term, Value] | None = None,
        layout: Layout | None = None,
        kernels: Sequence[Kernel] = (),
        options: frozenset[str] = frozenset(),
        settlement: Settlement | None = None,
    ) -> None:
        self.unroll, self.assemble, self.kernels, self.options = unroll, assemble, tuple(kernels), options
        self.off = passes_off(options)  # names of passes that are left out, see `axioms.passes`
        self.settlement = settlement
        self._given = threads, objects, views, observed, condition, filter, definitions
        self.objects, self.space = tuple(objects), AddressSpace(objects, views)
        self.threads = tuple(threads)
        self.observed, self.condition, self.filter = tuple(observed), condition, filter
        self.kinds = frozenset([e.kind for t in self.threads for e in t.execution.effects])
        if "collective" in self.kinds:
            from axioms.events.collectives import check

            check(self.threads, definitions or {})
        self._define(Definitions(definitions or {}))
        #: Values that nothing says anything of: see `axioms.events.undetermined`; `open` are those that have no number here.
        self.undetermined: tuple[Term, ...] = ()
        self.open: tuple[Term, ...] = ()
        if definitions and "collective" in self.kinds:
            self._choose(definitions)
        if settlement is not None:
            self._define(Definitions(settlement.values))
            if settlement.gone:
                from axioms.analysis.slicing import without

                self.threads = tuple(without(self.threads, settlement.gone))
        if any(e.barrier == "red" for t in self.threads for e in t.execution.effects):
            from axioms.events.meeting_results import reduced_together

            self._define(Definitions(reduced_together(self.threads)))
        self._accessed = list(self._accesses())
        #: Which numbers reads may return, as their effects stand before cells are known.
        self.flow = LaterFlow(self.space, self._accessed, _spans)
        self._values: dict[tuple[int, int], Value | None] | None = None
        self._carried: Carried | None = None
        collector = self.collector = Collector(self.threads, self.space, options, self.flow)
        accesses = self._locate()
        finals = self._finals()
        self.layout = collector.layout = layout or self._layout(accesses, finals)
        self.cells: Sequence[Cell] = self.layout.cells
        #: The threads as they are before what stands for several cells was cut into pieces: new programs are made of them,
        #: since of an address that is put together from pieces nobody knows any more where it may lead.
        self.uncut = self.threads
        #: Puts these pieces in: for values of `uncut` that somebody asks this program about.
        self.pieces = Definitions(self._pieces(finals))
        self._define(self.pieces)
        collector.define(self.threads, self.pieces)
        self._collect()
        self.events: list[Event] = collector.events
        self.by_effect: list[dict[int, list[Event]]] = collector.by_effect  # thread by thread
        self.troubles: list[Trouble] = collector.troubles  # what makes the behaviour undefined
        self.grids = self._grids()
        self.size = len(self.events)
        self.relations: dict[str, list[int]] = known_relations(collector)
        self._relate()
        #: The cells whose final values count, each with its symbol.
        self.finals: list[tuple[int, Term]] = [
            (c, self.final(c)) for c in dict.fromkeys(c for s in finals for c, _, _ in self.layout.parts(*_bytes_of(s)))
        ]

    @property
    def is_bounded(self) -> bool:
        """Whether a loop bound may have cut executions off."""
        return any(t.execution.cut != 0 for t in self.threads)

    def tears(self, bits: int) -> bool:
        """Whether a read of so many bits may mix bytes of several writes of its size."""
        return bits > _WHOLE_BITS or "no-tearing" not in self.options

    def cut(self, cuts: Iterable[tuple[int, int]], options: frozenset[str] | None = None) -> Program:
        """The program with its cells cut at more places, objects and offsets, and perhaps with other options."""
        other = self._again(self.layout.cut(cuts), self.options if options is None else options, self.settlement)
        assemble, wanted = self.assemble, other.options
        if assemble is not None and wanted != self.options:
            other.assemble = lambda threads, layout: assemble(threads, layout).cut((), wanted)
        return other

    def asking(self, condition: Value) -> Program:
        """The same program with another condition."""
        other, assemble = copy(self), self.assemble
        other._given = (*self._given[:4], condition, *self._given[5:])
        if assemble is not None:
            other.assemble = lambda threads, layout: assemble(threads, layout).asking(condition)
        return other._again(self.layout, self.options, self.settlement)

    def settled(self, *, slices: bool = True) -> Program:
        """The program with what its reads can only return put in: see `axioms.analysis.constant_reads`."""
        from axioms.analysis.constant_reads import Settling

        ends_matter = self.grids is not None
        asked = [*[o.value for o in self.observed], self.condition, self.filter]
        settling = Settling(self.threads, self.space, asked, ends_matter=ends_matter)
        found = settling.settlement()
        if not found.sources:
            return self
        if slices and self.size > _LARGE and not ends_matter:
            from axioms.analysis.slicing import dropped

            finals = ((number, first, first + size) for number, first, size in map(_bytes_of, self._finals()))
            left_out = dropped(settling, self.space, finals)
            found = found._replace(gone=left_out.effects, behind=left_out.behind)
        return self._again(None, self.options, found)

    def _again(self, layout: Layout | None, options: frozenset[str], settlement: Settlement | None) -> Program:
        threads, objects, views, observed, condition, filter_, definitions = self._given
        return Program(
            threads,
            objects,
            views,
            observed,
            condition,
            filter_,
            unroll=self.unroll,
            assemble=self.assemble,
            definitions=definitions,
            layout=layout,
            kernels=self.kernels,
            options=options,
            settlement=settlement,
        )

    def cells_at(self, thread: int, address: int, size: int) -> Sequence[int]:
        """The cells that so many bytes are which a thread finds at an address; none where there are no such bytes."""
        at = None if address % size else self.space.at(thread, address, size)
        return () if at is None else self.layout.covering(at[0].object, at[1], size)

    def showing(self, more: Iterable[Observable]) -> Program:
        """The same program with more that states list."""
        other = copy(self)
        other._given = (*self._given[:3], (*self._given[3], *more), *self._given[4:])
        return other._again(self.layout, self.options, self.settlement)

    # From effects to events.

    def _accesses(self) -> Iterator[tuple[int, Effect]]:
        for t, thread in enumerate(self.threads):
            for effect in thread.execution.effects:
                if effect.kind in ALL_ACCESSES:
                    yield t, effect

    def written(self, write: Event, cell: int) -> Numbers:
        """The numbers that a write may write to one of its cells; None for anything."""
        if write.effect is None:
            return frozenset((self.cells[cell].initial,))
        if write.effect.kind == "copy":
            if self._carried is None:
                self._carried = Carried(self.cells, self.events, self.written)
            return self._carried.numbers(write, cell)
        if write.effect.kind not in WRITES:
            return None
        if self._values is None:
            self._values = {(t, e.index): e.value for t, e in self._accessed}
        numbers = self.flow().numbers(self._values[write.thread, write.effect.index] or 0)
        by, size = 8 * (self.cells[cell].offset - write.offset), self.cells[cell].width
        return numbers if numbers is None else frozenset(n >> by & terms.mask(size) for n in numbers)

    def _locate(self) -> list[list[Bytes]]:
        """The bytes that accesses may go to: those that are cut alike together."""
        found: list[list[Bytes]] = []
        for t, effect in self._accessed:
            tick()
            spans = spans_of(effect)
            located = self.collector.locate(t, effect, spans)
            if len(spans) == 1:
                found.append([(p.object, p.offset, spans[0].size) for p in located[0]])
                continue
            groups: dict[int, list[Bytes]] = {}
            for span, places in zip(spans, located, strict=True):
                groups.setdefault(span.group, []).extend([(p.object, p.offset, span.size) for p in places])
            found += groups.values()
        mbarriers = "mbarrier" in self.kinds
        for t, thread in enumerate(self.threads):
            if mbarriers:
                for effect in thread.execution.effects:
                    if effect.kind == "mbarrier":  # no memory event: no cells are cut for its sake
                        self.collector.locate(t, effect, spans_of(effect))
            for requirement in thread.execution.requirements:
                if not (mbarriers and _is_of_state(requirement, thread.execution.effects)):
                    self.collector.require(t, requirement)
        return found

    def _layout(self, accesses: list[list[Bytes]], finals: list[Term]) -> Layout:
        whole = {b: None for places in accesses for b in places}
        alike = [places for places in accesses if len(places) > 1]
        return Layout(self.objects, whole, alike, map(_bytes_of, finals))

    def _finals(self) -> list[Term]:
        """The final values that are asked for."""
        asked: dict[Term, None] = {}
        for value in (*[o.value for o in self.observed], self.condition, self.filter):
            if type(value) is Term:
                asked.update(dict.fromkeys(sorted(terms.symbols_of(value), key=lambda s: s.serial)))
        return [s for s in asked if isinstance(s.args[0], tuple) and s.args[0][0] == _FINAL]

    def _pieces(self, finals: list[Term]) -> dict[Term, Value]:
        """What stands for more than one cell, or for none: results of reads, and final values."""
        found: dict[Term, Value] = {}
        cells = self.cells
        wrong = {trouble.result for trouble in self.collector.troubles}
        for t, effect in self._accessed:
            if effect.result is None:
                continue
            places = self.collector.places[t, effect.index][0]
            if not places and effect.result not in wrong:
                found[effect.result] = 0  # it is never executed: its address would be none that it can be
            elif places:
                covered = self.layout.covering(places[0].object, places[0].offset, effect.width // 8)
                if len(covered) > 1:
                    sizes = [cells[c].size for c in covered]
                    found[effect.result] = making.joined(making.pieces(effect.result, sizes), sizes)
        for thread in self.threads if "mbarrier" in self.kinds else ():
            for effect in thread.execution.effects:
                if effect.kind == "mbarrier" and effect.result is not None and effect.guard == 0:
                    found[effect.result] = 0  # nor is this
        for symbol in finals:
            parts = self.layout.parts(*_bytes_of(symbol))
            values = [terms.extract(self.final(c), 8 * (low + size) - 1, 8 * low) for c, low, size in parts]
            value = making.joined(values, [size for _, _, size in parts])
            if value is not symbol:
                found[symbol] = value
        return found

    def _define(self, definitions: Definitions) -> None:
        """Puts definitions in wherever values stand."""
        if not definitions:
            return
        self.threads = tuple(t._replace(execution=definitions.execution(t.execution)) for t in self.threads)
        self.observed = tuple(o._replace(value=definitions(o.value)) for o in self.observed)
        self.condition, self.filter = definitions(self.condition), definitions(self.filter)

    def _choose(self, definitions: Mapping[Term, Value]) -> None:
        """Gives numbers to values that nothing says anything of."""
        from axioms.events.undetermined import chosen, values_in

        self.undetermined = values_in(definitions)
        if self.undetermined:
            numbers = chosen(self.undetermined, self.options)
            self.open = () if numbers else self.undetermined
            self._define(Definitions(numbers))

    def _collect(self) -> None:
        collector = self.collector
        for cell in range(len(self.layout.cells)):
            making.initial_write(collector, cell)
        for t, thread in enumerate(self.threads):
            made: dict[int, list[Event]] = {}
            collector.by_effect.append(made)
            for effect in thread.execution.effects:
                maker = maker_of(effect)
                if maker is None:
                    instruction = effect.instruction
                    raise UnsupportedProgram(f"line {instruction.span.line}: '{instruction.name}' is not supported yet")
                tick()
                made[effect.index] = maker(collector, t, effect)

    def _grids(self) -> Grids | None:
        if not self.kernels and self.kinds.isdisjoint(("grid", "host")):
            return None
        from axioms.events.launches import Grids

        return Grids(self.collector, self.kernels)

    def _relate(self) -> None:
        """The relations of kernels, asynchronous operations, fences and the heap, where there are any."""
        collector = self.collector
        found: dict[str, list[int] | None] = {}
        if "issue" in self.kinds:
            from axioms.events.asynchronous import issue

            found["issue"] = issue(collector)
        if not self.kinds.isdisjoint(("fence", "proxy_fence")):
            from axioms.events.fences import covers

            found["covers"] = covers(collector)
        if "free" in self.kinds:
            from axioms.events.heap import freed

            found["freed"] = freed(self.events)
        if self.grids is not None:
            found["api"] = self.grids.api()
        self.relations |= {name: rows for name, rows in found.items() if rows is not None}
        collector.troubles += obligations(collector, self.kinds, self.relations)

    def final(self, cell: int) -> Term:
        """The symbol for a cell's value when all threads have ended."""
        c = self.layout.cells[cell]
        return final_symbol(c.object, c.offset, c.width)


def _spans(effect: Effect) -> list[tuple[Value, int]]:
    return [(s.address, s.size) for s in spans_of(effect)]


def _is_of_state(requirement: Requirement, effects: Sequence[Effect]) -> bool:
    from axioms.events.barrier_events import is_of_state

    return is_of_state(requirement, effects)


_FINAL = "final"


def _bytes_of(symbol: Term) -> Bytes:
    """The bytes whose final value a symbol stands for."""
    _, number, offset = symbol.args[0]
    return number, offset, symbol.width // 8


def final_symbol(number: int, offset: int, width: int) -> Term:
    """The symbol for what `width` bits of an object hold when all threads have ended."""
    return terms.symbol((_FINAL, number, offset), width)


def dependency_pairs(program: Program) -> dict[str, list[tuple[int, int, Value]]]:
    """`addr`, `data`, `ctrl` and `comp` as (from, to, condition given that both are executed)."""
    pairs: dict[str, list[tuple[int, int, Value]]] = {"addr": [], "data": [], "ctrl": [], "comp": []}
    if "issue" in program.kinds:
        from axioms.events.asynchronous import operations_of

        for t, operations in operations_of(program.collector):
            pairs["data"] += operations.flow()
            pairs["comp"] += operations.comp(None if program.grids is None else program.grids.end_of(t))
    flows = _flows(program)
    for t, thread in enumerate(program.threads):
        made = program.by_effect[t]
        sources = _Sources(program, flows, t)
        for effect in thread.execution.effects:
            for e in made[effect.index]:
                sources.depend(pairs["ctrl"], effect.control_dependencies, e)
                if e.cells or e.kind == "X":
                    sources.depend(pairs["addr"], effect.address_dependencies, e)
                if e.kind in ("W", "X") or "BA" in e.tags:
                    sources.depend(pairs["data"], effect.data_dependencies, e)
                if e.kind == "W" and e.partner is not None:
                    _own_dependency(pairs, effect, e)
    if flows is not None:
        _decided_by_others(program, flows, pairs["ctrl"])
    if program.grids is not None:
        _decided_before(program, flows, pairs["ctrl"])
    return pairs


def _decided_by_others(program: Program, flows: Flows, pairs: list[tuple[int, int, Value]]) -> None:
    """What a thread writes behind an instruction that the threads of its warp execute together hangs on what decided that the
    others came to it."""
    for t, effect, other, dependencies in flows.decided():
        sources = _Sources(program, flows, other)
        for index, made in program.by_effect[t].items():
            if index > effect.index:
                for e in made:
                    if e.kind in ("W", "X"):
                        sources.depend(pairs, dependencies, e)


def _decided_before(program: Program, flows: Flows | None, pairs: list[tuple[int, int, Value]]) -> None:
    """What a kernel writes hangs on what decided that it began early."""
    assert program.grids is not None
    for thread, dependencies, condition, k in program.grids.decided():
        sources = _Sources(program, flows, thread)
        given = {source: terms.conj(holds, condition) for source, holds in dependencies.items()}
        for t in program.grids.kernels[k].threads:
            for e in (e for made in program.by_effect[t].values() for e in made if e.kind in ("W", "X")):
                sources.depend(pairs, given, e)


def ends_by(program: Program, thread: int) -> list[tuple[int, Value]]:
    """The events that decide how a thread comes to its end, each with the condition under which it does."""
    pairs: list[tuple[int, int, Value]] = []
    last = program.events[-1]
    _Sources(program, _flows(program), thread).depend(pairs, program.threads[thread].execution.control, last)
    return [(i, condition) for i, _, condition in pairs]


def _own_dependency(pairs: dict[str, list[tuple[int, int, Value]]], effect: Effect, write: Event) -> None:
    """Inside an atomic: the new value is computed from the old, and a compare-and-swap writes only if the old one is right."""
    assert write.partner is not None
    pair = write.partner.index, write.index, 1
    if effect.operation == "cas":
        pairs["ctrl"].append(pair)
    elif effect.operation != "exch":
        pairs["data"].append(pair)


def _flows(program: Program) -> Flows | None:
    if "collective" not in program.kinds:
        return None
    from axioms.events.collectives import Flows

    return Flows(program.threads)


class _Sources:
    """The events that the effects of a thread depend on."""

    def __init__(self, program: Program, flows: Flows | None, thread: int) -> None:
        self.by_effect, self.flows, self.thread = program.by_effect, flows, thread
        self.settlement = program.settlement

    def depend(self, pairs: list[tuple[int, int, Value]], sources: Dependencies, target: Event) -> None:
        if not sources:
            return
        if self.flows is None and self.settlement is None:
            own = self.by_effect[self.thread]
            for source, condition in sources.items():
                _depend(pairs, own.get(source, ()), target, condition)
            return
        for thread, source, condition in self._behind(self.thread, sources):
            _depend(pairs, self.by_effect[thread].get(source, ()), target, condition)

    def _behind(self, thread: int, sources: Dependencies) -> Iterable[tuple[int, int, Value]]:
        """Where values come from, by way of what warps compute together and of reads that are left out."""
        if self.flows is None:
            found: Iterable[tuple[int, int, Value]] = [(thread, source, c) for source, c in sources.items()]
        else:
            found = self.flows.behind(thread, sources)
        if self.settlement is None or not self.settlement.behind:
            return found
        return self._through(found, self.settlement)

    def _through(
        self, found: Iterable[tuple[int, int, Value]], settlement: Settlement
    ) -> Iterator[tuple[int, int, Value]]:
        for t, source, condition in found:
            if (t, source) in settlement.behind:
                for (u, index), more in self._resolved((t, source), settlement).items():
                    yield u, index, terms.conj(condition, more)
            else:
                yield t, source, condition

    def _resolved(self, key: tuple[int, int], settlement: Settlement) -> Mapping[tuple[int, int], Value]:
        """What a read that is left out comes from, computed once."""
        known = settlement.resolved.get(key)
        if known is None:
            known = settlement.resolved[key] = {}
            for (t, index), condition in settlement.behind[key].items():
                for u, i, more in self._behind(t, {index: condition}):
                    known[u, i] = terms.disj(known.get((u, i), 0), more)
        return known


def _depend(pairs: list[tuple[int, int, Value]], made: Sequence[Event], target: Event, condition: Value) -> None:
    for e in made:
        if e.kind in ("R", "X") or "BW" in e.tags:
            pairs.append((e.index, target.index, condition))


def members_by_tag(program: Program) -> dict[str, int]:
    """The events of each tag, as bitsets."""
    by_tags: dict[frozenset[str], int] = {}
    for e in program.events:
        by_tags[e.tags] = by_tags.get(e.tags, 0) | 1 << e.index
    members: dict[str, int] = {}
    for tags, events in by_tags.items():
        for tag in tags:
            members[tag] = members.get(tag, 0) | events
    torn = sum(1 << e.index for e in program.events if e.kind == "R" and len(e.cells) > 1)
    if torn:
        members["TORN"] = torn
    return members


__all__ = [
    "Event",
    "Object",
    "Observable",
    "Program",
    "Thread",
    "Trouble",
    "UnsupportedProgram",
    "View",
    "dependency_pairs",
    "ends_by",
    "final_symbol",
    "members_by_tag",
]
