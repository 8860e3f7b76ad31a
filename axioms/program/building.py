"""From what is given to a program, step by step:

    definitions put in -> where each access may go -> cells -> what reads of several cells return, put in everywhere -> events
    -> relations

What only some programs are about is imported where there is such: see `axioms.events.kinds`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from axioms.errors import MOST_EVENTS, TooLarge, UnsupportedProgram
from axioms.events import event as making
from axioms.events.definitions import Definitions
from axioms.events.event import Collector, Event, ProgramThread
from axioms.events.kinds import maker_of, spans_of
from axioms.events.memory import AddressSpace, CellLayout, ObjectBytes
from axioms.events.preconditions import obligations
from axioms.events.static import known_relations
from axioms.events.value_sets import LaterFlow
from axioms.program.program import Program, final_of
from axioms.program.source import AskedValues, ProgramSource, bytes_of, finals_in
from ptxcore.clock import paced, tick
from ptxcore.isa.effect_kinds import COLLECTIVE, FREE, GRID, HOST, ISSUE, MBARRIER, EffectKind, kinds_with
from ptxcore.machine.ir.effects import Effect, Requirement
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.events.launches import Grids

#: Accesses, each with its thread.
Accesses = Sequence[tuple[int, Effect]]


def build(source: ProgramSource) -> Program:
    """The program of a source. Raises UnsupportedProgram for what is not decided."""
    kinds = frozenset([e.kind for t in source.threads for e in t.execution.effects])
    assert {*map(type, kinds)} <= {EffectKind}  # kinds are told apart by identity
    body, undetermined, left_open = _defined(source, kinds)
    uncut = body.threads
    space = AddressSpace(source.objects, source.views)
    accesses = [(t, e) for t, thread in enumerate(uncut) for e in thread.execution.effects if e.kind.memory]
    flow = LaterFlow(space, accesses, _spans)
    collector = Collector(uncut, space, source.options, flow)
    located = _located(collector, accesses, kinds)
    finals = finals_in(body.asked)
    layout = collector.layout = source.layout or _layout(source, located, finals)
    pieces = Definitions(_pieces(collector, accesses, finals, kinds))
    body = body.with_definitions(pieces)
    collector.define(body.threads, pieces)
    _make_events(collector)
    grids = _grids(collector, source, kinds)
    relations = known_relations(collector) | _more_relations(collector, grids, kinds)
    collector.undefined_behaviours += obligations(collector, kinds, relations)
    return Program(
        source=source,
        threads=body.threads,
        observed=tuple(body.asked.observed),
        condition=body.asked.condition,
        filter=body.asked.filter,
        kinds=kinds,
        objects=tuple(source.objects),
        space=space,
        layout=layout,
        cells=layout.cells,
        flow=flow,
        places=collector.places,
        events=collector.events,
        size=len(collector.events),
        by_effect=collector.by_effect,
        undefined_behaviours=collector.undefined_behaviours,
        relations=relations,
        grids=grids,
        finals=_final_cells(layout, finals),
        undetermined=undetermined,
        open=(*left_open, *[c.initial for c in layout.cells if type(c.initial) is Term]),
        uncut=uncut,
        pieces=pieces,
        options=source.options,
        kernels=source.kernels,
    )


# Definitions.


class _Body(NamedTuple):
    """What definitions are put into."""

    threads: tuple[ProgramThread, ...]
    asked: AskedValues

    def with_definitions(self, definitions: Definitions) -> _Body:
        """The same with definitions put in wherever values stand."""
        if not definitions:
            return self
        threads = tuple([t._replace(execution=definitions.execution(t.execution)) for t in self.threads])
        observed = tuple([o._replace(value=definitions(o.value)) for o in self.asked.observed])
        return _Body(threads, AskedValues(observed, definitions(self.asked.condition), definitions(self.asked.filter)))


def _defined(source: ProgramSource, kinds: frozenset[EffectKind]) -> tuple[_Body, tuple[Term, ...], tuple[Term, ...]]:
    """Threads and question with all that is known of values put in; values that nothing says anything of, and those of them
    that have no number."""
    body = _Body(tuple(source.threads), source.ask(source.threads))
    undetermined: tuple[Term, ...] = ()
    left_open: tuple[Term, ...] = ()
    if COLLECTIVE in kinds:
        from axioms.events.collectives import check
        from axioms.events.undetermined import chosen, values_in

        check(body.threads, source.definitions)
        undetermined = values_in(source.definitions)
    body = body.with_definitions(Definitions(source.definitions))
    if undetermined:
        numbers = chosen(undetermined, source.options)
        left_open = () if numbers else undetermined
        body = body.with_definitions(Definitions(numbers))
    if source.constant_reads is not None:
        body = body.with_definitions(Definitions(source.constant_reads.values))
        if source.constant_reads.sliced:
            from axioms.analysis.slicing import without

            body = body._replace(threads=tuple(without(body.threads, source.constant_reads.sliced)))
    if any(e.barrier == "red" for t in body.threads for e in t.execution.effects):
        from axioms.events.meeting_results import reduced_together

        body = body.with_definitions(Definitions(reduced_together(body.threads)))
    return body, undetermined, left_open


# Memory.


def _spans(effect: Effect) -> list[tuple[Value, int]]:
    return [(s.address, s.size) for s in spans_of(effect)]


def _located(collector: Collector, accesses: Accesses, kinds: frozenset[EffectKind]) -> list[list[ObjectBytes]]:
    """The bytes that accesses may go to: those that are cut alike together. Raises TooLarge where they are too many: each is an
    event."""
    found: list[list[ObjectBytes]] = []
    lines: Counter[tuple[int, int]] = Counter()
    events = 0
    for t, effect in paced(accesses):
        spans = spans_of(effect)
        located = collector.locate(t, effect, spans)
        lines[t, effect.instruction.span.line] += sum(map(len, located))
        events += sum(map(len, located))
        if events > MOST_EVENTS:
            raise TooLarge(t + 1, events, lines)
        if len(spans) == 1:
            found.append([(p.object, p.offset, spans[0].size) for p in located[0]])
            continue
        groups: dict[int, list[ObjectBytes]] = {}
        for span, places in zip(spans, located, strict=True):
            groups.setdefault(span.group, []).extend([(p.object, p.offset, span.size) for p in places])
        found += groups.values()
    mbarriers = MBARRIER in kinds
    for t, thread in enumerate(collector.threads):
        if mbarriers:
            for effect in thread.execution.effects:
                if effect.kind is MBARRIER:  # no memory event: no cells are cut for its sake
                    collector.locate(t, effect, spans_of(effect))
        for requirement in thread.execution.requirements:
            if not (mbarriers and _is_of_state(requirement, thread.execution.effects)):
                collector.require(t, requirement)
    return found


def _is_of_state(requirement: Requirement, effects: Sequence[Effect]) -> bool:
    from axioms.events.barrier_events import is_of_state

    return is_of_state(requirement, effects)


def _layout(source: ProgramSource, accesses: list[list[ObjectBytes]], finals: list[Term]) -> CellLayout:
    whole = {b: None for places in accesses for b in places}
    alike = [places for places in accesses if len(places) > 1]
    return CellLayout(tuple(source.objects), whole, alike, map(bytes_of, finals))


def _pieces(
    collector: Collector, accesses: Accesses, finals: list[Term], kinds: frozenset[EffectKind]
) -> dict[Term, Value]:
    """What stands for more than one cell, or for none: results of reads, and final values."""
    found: dict[Term, Value] = {}
    layout = collector.layout
    wrong = {behaviour.result for behaviour in collector.undefined_behaviours}
    for t, effect in accesses:
        if effect.result is None:
            continue
        places = collector.places[t, effect.index][0]
        if not places and effect.result not in wrong:
            found[effect.result] = 0  # it is never executed: its address would be none that it can be
        elif places:
            covered = layout.covering(places[0].object, places[0].offset, effect.width // 8)
            if len(covered) > 1:
                sizes = [layout.cells[c].size for c in covered]
                found[effect.result] = making.joined(making.pieces(effect.result, sizes), sizes)
    for thread in collector.threads if MBARRIER in kinds else ():
        for effect in thread.execution.effects:
            if effect.kind is MBARRIER and effect.result is not None and effect.guard == 0:
                found[effect.result] = 0  # nor is this
    for symbol in finals:
        parts = layout.parts(*bytes_of(symbol))
        values = [terms.extract(final_of(layout, c), 8 * (low + size) - 1, 8 * low) for c, low, size in parts]
        value = making.joined(values, [size for _, _, size in parts])
        if value is not symbol:
            found[symbol] = value
    return found


def _final_cells(layout: CellLayout, finals: list[Term]) -> list[tuple[int, Term]]:
    cells = dict.fromkeys(c for s in finals for c, _, _ in layout.parts(*bytes_of(s)))
    return [(c, final_of(layout, c)) for c in cells]


# Events and relations.


def _make_events(collector: Collector) -> None:
    for cell in range(len(collector.layout.cells)):
        making.initial_write(collector, cell)
    for t, thread in enumerate(collector.threads):
        made: dict[int, list[Event]] = {}
        collector.by_effect.append(made)
        for effect in thread.execution.effects:
            maker = maker_of(effect)
            if maker is None:
                instruction = effect.instruction
                raise UnsupportedProgram(f"line {instruction.span.line}: '{instruction.name}' is not supported yet")
            tick()
            made[effect.index] = maker(collector, t, effect)


def _grids(collector: Collector, source: ProgramSource, kinds: frozenset[EffectKind]) -> Grids | None:
    if not source.kernels and kinds.isdisjoint((GRID, HOST)):
        return None
    from axioms.events.launches import Grids

    return Grids(collector, source.kernels)


def _more_relations(collector: Collector, grids: Grids | None, kinds: frozenset[EffectKind]) -> dict[str, list[int]]:
    """The relations of kernels, asynchronous operations, fences and the heap, where there are any."""
    found: dict[str, list[int] | None] = {}
    if ISSUE in kinds:
        from axioms.events.asynchronous import issue

        found["issue"] = issue(collector)
    if not kinds.isdisjoint(kinds_with("fences")):
        from axioms.events.fences import covers

        found["covers"] = covers(collector)
    if FREE in kinds:
        from axioms.events.heap import freed

        found["freed"] = freed(collector.events)
    if grids is not None:
        found["api"] = grids.api()
    return {name: rows for name, rows in found.items() if rows is not None}
