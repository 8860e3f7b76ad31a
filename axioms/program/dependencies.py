"""What events depend on inside of threads: `addr`, `data`, `ctrl`; and when asynchronous operations complete: `comp`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from axioms.events.event import Event
from axioms.events.event_kinds import MBARRIER_EVENT, WRITE
from axioms.program.program import Program
from ptxcore.isa.effect_kinds import COLLECTIVE, ISSUE
from ptxcore.machine.ir.dependencies import Dependencies
from ptxcore.machine.ir.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Value

if TYPE_CHECKING:
    from axioms.analysis.constant_reads import ConstantReads
    from axioms.events.collectives import Flows


def dependency_pairs(program: Program, *, carrying: bool = False) -> dict[str, list[tuple[int, int, Value]]]:
    """`addr`, `data`, `ctrl` and `comp` as (from, to, condition given that both are executed). `carrying`: of `addr` and `data`
    those that carry a value."""
    pairs: dict[str, list[tuple[int, int, Value]]] = {"addr": [], "data": [], "ctrl": [], "comp": []}
    if ISSUE in program.kinds:
        from axioms.events.asynchronous import operations_of

        for t, operations in operations_of(program):
            pairs["data"] += operations.flow()
            pairs["comp"] += operations.comp(None if program.grids is None else program.grids.end_of(t))
    flows = _flows(program)
    for t, thread in enumerate(program.threads):
        made = program.by_effect[t]
        sources = _Sources(program, flows, t)
        for effect in thread.execution.effects:
            address, data = effect.address_dependencies, effect.data_dependencies
            if carrying:
                address, data = effect.values_from
            for e in made[effect.index]:
                sources.depend(pairs["ctrl"], effect.control_dependencies, e)
                if e.cells or e.kind is MBARRIER_EVENT:
                    sources.depend(pairs["addr"], address, e)
                if e.kind.changes or "BA" in e.tags:
                    sources.depend(pairs["data"], data, e)
                if e.kind is WRITE and e.partner is not None:
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
                    if e.kind.changes:
                        sources.depend(pairs, dependencies, e)


def _decided_before(program: Program, flows: Flows | None, pairs: list[tuple[int, int, Value]]) -> None:
    """What a kernel writes hangs on what decided that it began early."""
    assert program.grids is not None
    for thread, dependencies, condition, k in program.grids.decided():
        sources = _Sources(program, flows, thread)
        given = {source: terms.conj(holds, condition) for source, holds in dependencies.items()}
        for t in program.grids.kernels[k].threads:
            for e in (e for made in program.by_effect[t].values() for e in made if e.kind.changes):
                sources.depend(pairs, given, e)


def carries_all(program: Program) -> bool:
    """Whether a value goes along every dependency of addresses and data, as it does unless a result is the same whatever its
    operands are."""
    return all(e.all_carry for thread in program.threads for e in thread.execution.effects)


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
    if COLLECTIVE not in program.kinds:
        return None
    from axioms.events.collectives import Flows

    return Flows(program.threads)


class _Sources:
    """The events that the effects of a thread depend on."""

    def __init__(self, program: Program, flows: Flows | None, thread: int) -> None:
        self.by_effect, self.flows, self.thread = program.by_effect, flows, thread
        self.constant_reads = program.constant_reads

    def depend(self, pairs: list[tuple[int, int, Value]], sources: Dependencies, target: Event) -> None:
        if not sources:
            return
        if self.flows is None and self.constant_reads is None:
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
        if self.constant_reads is None or not self.constant_reads.behind:
            return found
        return self._through(found, self.constant_reads)

    def _through(
        self, found: Iterable[tuple[int, int, Value]], constant_reads: ConstantReads
    ) -> Iterator[tuple[int, int, Value]]:
        for t, source, condition in found:
            if (t, source) in constant_reads.behind:
                for (u, index), more in self._resolved((t, source), constant_reads).items():
                    yield u, index, terms.conj(condition, more)
            else:
                yield t, source, condition

    def _resolved(self, key: tuple[int, int], constant_reads: ConstantReads) -> Mapping[tuple[int, int], Value]:
        """What a read that is left out comes from, computed once."""
        known = constant_reads.resolved.get(key)
        if known is None:
            known = constant_reads.resolved[key] = {}
            for (t, index), condition in constant_reads.behind[key].items():
                for u, i, more in self._behind(t, {index: condition}):
                    known[u, i] = terms.disj(known.get((u, i), 0), more)
        return known


def _depend(pairs: list[tuple[int, int, Value]], made: Sequence[Event], target: Event, condition: Value) -> None:
    for e in made:
        if e.kind.observes or "BW" in e.tags:
            pairs.append((e.index, target.index, condition))
