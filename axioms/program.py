"""A program as the engine sees it: guarded events, and the relations that are known before any solving.

Events are listed in one order: initial writes first, then thread by thread in program order. Relations known in advance are
rows of bitsets over that order. They say what holds *if both events are executed*; whether they are is the solver's business.

    where each access may go -> cells -> what reads of several cells return, put in everywhere -> events -> relations
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from axioms import asynchronous, fences, kernels, obligations
from axioms import events as making
from axioms.definitions import Definitions
from axioms.events import Collector, Event, Thread, Trouble, UnsupportedProgram
from axioms.kernels import Grids, Kernel
from axioms.known import known_relations
from axioms.memory import AddressSpace, Bytes, Cell, Layout, Object, Place, View
from ptxcore.machine.effects import Dependencies, Effect
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: How the effects of each kind become events, and what they access.
_MAKERS = {**making.MAKERS, **fences.MAKERS, **asynchronous.MAKERS, **kernels.MAKERS}
_SPANS = {**making.SPANS, **asynchronous.SPANS}


class Observable(NamedTuple):
    """Something that states list. `value` is a term over read results and final values, of `width` bits."""

    label: str
    value: Value
    width: int
    signed: bool = False


class Program:
    """See the module. `condition` and `filter` are truth values over the symbols of reads and of `final_symbol`.

    Loop bodies ran at most `unroll` times. `definitions` are symbols that stand for other values, as what a shuffle returns
    does. Without `kernels` all threads are one launch. `assemble` makes the same program of threads that were executed
    otherwise, on numbers for instance; it hands the layout on that it is given, so that both have the same cells.
    """

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
    ) -> None:
        self.unroll, self.assemble, self.kernels = unroll, assemble, tuple(kernels)
        self.objects, self.space = tuple(objects), AddressSpace(objects, views)
        self.threads = tuple(threads)
        self.observed, self.condition, self.filter = tuple(observed), condition, filter
        self._define(Definitions(definitions or {}))
        self._collector = Collector(self.threads, self.space)
        accesses = self._locate()
        self.layout = self._collector.layout = layout or self._layout(accesses)
        pieces = Definitions(self._pieces())
        self._define(pieces)
        self._collector.define(self.threads, pieces)
        self._collect()
        self.grids = Grids(self._collector, self.kernels)
        self.relations: dict[str, list[int]] = known_relations(self._collector)
        self._relate()

    @property
    def collector(self) -> Collector:
        return self._collector

    @property
    def cells(self) -> Sequence[Cell]:
        return self.layout.cells

    @property
    def events(self) -> list[Event]:
        return self._collector.events

    @property
    def by_effect(self) -> list[dict[int, list[Event]]]:
        """The events of each effect, thread by thread."""
        return self._collector.by_effect

    @property
    def troubles(self) -> list[Trouble]:
        """What makes the behaviour undefined."""
        return self._collector.troubles

    @property
    def size(self) -> int:
        return len(self.events)

    @property
    def is_bounded(self) -> bool:
        """Whether a loop bound may have cut executions off."""
        return any(t.execution.cut != 0 for t in self.threads)

    def cells_at(self, thread: int, address: int, size: int) -> Sequence[int]:
        """The cells that so many bytes are which a thread finds at an address; none where there are no such bytes."""
        at = None if address % size else self.space.at(thread, address, size)
        return () if at is None else self.layout.covering(at[0].object, at[1], size)

    # From effects to events.

    def _accesses(self) -> Iterator[tuple[int, Effect]]:
        for t, thread in enumerate(self.threads):
            for effect in thread.execution.effects:
                if effect.kind in _SPANS:
                    yield t, effect

    def _locate(self) -> list[list[tuple[Place, int, int]]]:
        """Where each access may go: places, the bytes accessed there, and which of them are cut alike."""
        found = []
        for t, effect in self._accesses():
            spans = _SPANS[effect.kind](effect)
            places = self._collector.locate(t, effect, spans)
            found.append([(p, s.size, s.group) for s, some in zip(spans, places, strict=True) for p in some])
        for t, thread in enumerate(self.threads):
            for requirement in thread.execution.requirements:
                self._collector.require(t, requirement)
        return found

    def _layout(self, accesses: list[list[tuple[Place, int, int]]]) -> Layout:
        alike: list[list[Bytes]] = []
        whole: dict[Bytes, None] = {}
        for places in accesses:
            groups: dict[int, list[Bytes]] = {}
            for place, size, group in places:
                groups.setdefault(group, []).append((place.object, place.offset, size))
            for members in groups.values():
                whole.update(dict.fromkeys(members))
                if len(members) > 1:
                    alike.append(members)
        for symbol in self._finals():
            _, number, offset = symbol.args[0]
            whole[number, offset, symbol.width // 8] = None
        return Layout(self.objects, whole, alike)

    def _finals(self) -> list[Term]:
        """The final values that are asked for."""
        asked: set[Term] = set()
        for value in (self.condition, self.filter, *[o.value for o in self.observed]):
            asked |= terms.symbols_of(value)
        return [s for s in asked if isinstance(s.args[0], tuple) and s.args[0][0] == _FINAL]

    def _pieces(self) -> dict[Term, Value]:
        """What stands for more than one cell: results of reads, and final values."""
        cells, covering = self.layout.cells, self.layout.covering
        found: dict[Term, Value] = {}
        for t, effect in self._accesses():
            places = self._collector.places[t, effect.index]
            if effect.result is not None and places and places[0]:
                at = places[0][0]
                covered = covering(at.object, at.offset, effect.width // 8)
                if len(covered) > 1:
                    sizes = [cells[c].size for c in covered]
                    found[effect.result] = making.joined(making.pieces(effect.result, sizes), sizes)
        for symbol in self._finals():
            _, number, offset = symbol.args[0]
            covered = covering(number, offset, symbol.width // 8)
            if len(covered) > 1:
                parts = [self.final(c) for c in covered]
                found[symbol] = making.joined(parts, [cells[c].size for c in covered])
        return found

    def _define(self, definitions: Definitions) -> None:
        """Puts definitions in wherever values stand."""
        if not definitions:
            return
        self.threads = tuple(t._replace(execution=definitions.execution(t.execution)) for t in self.threads)
        self.observed = tuple(o._replace(value=definitions(o.value)) for o in self.observed)
        self.condition, self.filter = definitions(self.condition), definitions(self.filter)

    def _collect(self) -> None:
        collector = self._collector
        for cell in range(len(self.layout.cells)):
            making.initial_write(collector, cell)
        for t, thread in enumerate(self.threads):
            made: dict[int, list[Event]] = {}
            collector.by_effect.append(made)
            for effect in thread.execution.effects:
                maker = _MAKERS.get(effect.kind)
                if maker is None:
                    instruction = effect.instruction
                    name = ".".join((instruction.opcode, *instruction.modifiers))
                    raise UnsupportedProgram(f"line {instruction.span.line}: '{name}' is not supported yet")
                made[effect.index] = maker(collector, t, effect)

    def _relate(self) -> None:
        """The relations of kernels, asynchronous operations and fences, where there are any."""
        collector = self._collector
        found = {"issue": asynchronous.issue(collector), "covers": fences.covers(collector), "api": self.grids.api()}
        self.relations |= {name: rows for name, rows in found.items() if rows is not None}
        collector.troubles += obligations.obligations(collector, self.relations)

    def final(self, cell: int) -> Term:
        """The symbol for a cell's value when all threads have ended."""
        c = self.layout.cells[cell]
        return final_symbol(c.object, c.offset, c.width)


_FINAL = "final"


def final_symbol(number: int, offset: int, width: int) -> Term:
    """The symbol for what `width` bits of an object hold when all threads have ended."""
    return terms.symbol((_FINAL, number, offset), width)


def dependency_pairs(program: Program) -> dict[str, list[tuple[int, int, Value]]]:
    """`addr`, `data`, `ctrl` and `comp` as (from, to, condition given that both are executed)."""
    pairs: dict[str, list[tuple[int, int, Value]]] = {"addr": [], "data": [], "ctrl": [], "comp": []}
    for t, operations in asynchronous.operations_of(program.collector):
        pairs["data"] += operations.flow()
        pairs["comp"] += operations.comp(program.grids.end_of(t))
    for t, thread in enumerate(program.threads):
        made = program.by_effect[t]
        for effect in thread.execution.effects:
            for e in made[effect.index]:
                _depend(pairs["ctrl"], made, effect.control_dependencies, e)
                if e.cells:
                    _depend(pairs["addr"], made, effect.address_dependencies, e)
                if e.kind == "W" or "BA" in e.tags:
                    _depend(pairs["data"], made, effect.data_dependencies, e)
                if e.kind == "W" and e.partner is not None:
                    _own_dependency(pairs, effect, e)
    return pairs


def _own_dependency(pairs: dict[str, list[tuple[int, int, Value]]], effect: Effect, write: Event) -> None:
    """Inside an atomic: the new value is computed from the old, and a compare-and-swap writes only if the old one is right."""
    assert write.partner is not None
    pair = write.partner.index, write.index, 1
    modifiers = effect.instruction.modifiers
    if "cas" in modifiers:
        pairs["ctrl"].append(pair)
    elif "exch" not in modifiers:
        pairs["data"].append(pair)


def _depend(
    pairs: list[tuple[int, int, Value]], made: Mapping[int, list[Event]], sources: Dependencies, target: Event
) -> None:
    for source, condition in sources.items():
        for e in made.get(source, ()):
            if e.kind == "R" or "BW" in e.tags:
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
    "final_symbol",
    "members_by_tag",
]
