"""What of a large program no solver has to see: accesses of which every read is constant, and barriers with nothing between
them and those before. They are left out of the program that is solved.

Accesses to some bytes, all of them, are left out where each read returns what one certain write wrote (a constant read), each
write is ordered by barriers or program order with every other access, or excludes it, and nothing else can notice them: they
are weak, or additions in an order that is fixed; nobody asks for the final value; no loop waits for them; and the memory was
written before it is read, and belongs to nobody who may have exited. Whatever execution the rest has, they can be put into it,
in one way. For causality between two of them, other than the one that is known, would be a cycle through the rest: their
neighbours in program order, and the barriers between, are still there. They raise no flags, since all flags of accesses are
about pairs that nothing orders, but for those that the conditions name.

Dependencies lead through them, so these are kept: who depends on such a read depends on what its write and its own address
depend on (`behind`).

An instance of a barrier is left out where the same threads have met at the same barrier before, under the same conditions, and
none of them has done anything since that is still there. It is complete wherever the other one is, and orders what that
orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from axioms.analysis.barrier_order import BarrierOrder
from axioms.analysis.constant_reads import ConstantReadSearch, EffectKey, PlacedAccess, PlacedBytes
from axioms.events.encounters import InstanceName
from axioms.events.event import ProgramThread
from axioms.events.memory import AddressSpace
from ptxcore.isa.effect_kinds import COLLECTIVE, STOP
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Value

#: What a dependency on a read that is left out comes to: effects, each with a condition.
Behind = Mapping[EffectKey, Mapping[EffectKey, Value]]


class Sliced(NamedTuple):
    """The effects that are left out, and what those depend on who depend on their results."""

    effects: frozenset[EffectKey]
    behind: Behind


def sliced(search: ConstantReadSearch, space: AddressSpace, finals: Iterable[tuple[int, int, int]]) -> Sliced:
    """What can be left out. `finals`: bytes (object, first, end) whose final values count."""
    if _wait_for_others(search.threads):
        return Sliced(frozenset(), {})
    asked = list(finals)
    accesses = [
        access
        for place, some in search.places().items()
        if not any(place[0] == o and place[1] < end and first < place[1] + place[2] for o, first, end in asked)
        and _is_over(search, space, place, some)
        for access in some
    ]
    left_out = {a.key for a in accesses}
    behind = _behind(search, [a for a in accesses if a.effect.result is not None])
    return Sliced(frozenset(left_out | _idle_barriers(search.threads, search.order, left_out)), behind)


def without(threads: Sequence[ProgramThread], effects: frozenset[EffectKey]) -> list[ProgramThread]:
    """The threads without some of their effects; the others keep their numbers."""
    found = []
    for t, thread in enumerate(threads):
        execution = thread.execution
        kept = [
            Effect(index=e.index, kind=STOP, guard=0, instruction=e.instruction) if (t, e.index) in effects else e
            for e in execution.effects
        ]
        found.append(thread._replace(execution=replace(execution, effects=kept)))
    return found


def _wait_for_others(threads: Sequence[ProgramThread]) -> bool:
    """Whether what threads do hangs on what decides that others compute something with them: these dependencies are of
    accesses themselves."""
    if not any(e.kind is COLLECTIVE for thread in threads for e in thread.execution.effects):
        return False
    from axioms.events.collectives import Flows

    return any(True for _ in Flows(threads).decided())


def _is_over(
    search: ConstantReadSearch, space: AddressSpace, place: PlacedBytes, accesses: Sequence[PlacedAccess]
) -> bool:
    """Whether everything is known of the accesses to some bytes, and nobody else can notice them."""
    thing = space.objects[place[0]]
    for a in accesses:
        execution, thread = search.threads[a.thread].execution, search.threads[a.thread]
        known = a.effect.result is None or a.key in search.sources
        if not known or (a.effect.semantics != "weak" and not search.is_exchanged(a)):
            return False
        if thing.unset and a.effect.result is not None and search.sources[a.key] is None:
            return False
        if (thing.cta is not None and thing.cta != thread.place.cta) or thread.place.host:
            return False
        if any(a.effect.index in stuck.reads for stuck in execution.stuck):
            return False
    writing = [a for a in accesses if a.writes != 0]
    return all(search.are_apart(w, x) for w in writing for x in accesses if x is not w)


def _behind(search: ConstantReadSearch, reads: Sequence[PlacedAccess]) -> Behind:
    """For each read that is left out what its users depend on: those that come before first."""
    effects = [thread.execution.effects for thread in search.threads]
    found: dict[EffectKey, dict[EffectKey, Value]] = {}
    for r in sorted(reads, key=lambda r: (search.order.depth(r.reading), r.key)):
        source = search.sources[r.key]
        through = [(r.thread, r.effect)]
        into: dict[EffectKey, Value] = {}
        if source is not None:
            write = effects[source[0]][source[1]]
            through.append((source[0], write))
            for key, condition in found.get(source, {}).items():
                into[key] = condition
        for t, e in through:
            for dependencies in (e.address_dependencies, e.data_dependencies, e.control_dependencies):
                for index, condition in dependencies.items():
                    for key, more in found.get((t, index), {(t, index): 1}).items():
                        into[key] = terms.disj(into.get(key, 0), terms.conj(condition, more))
        into.pop(r.key, None)
        found[r.key] = into
    return found


def _idle_barriers(threads: Sequence[ProgramThread], order: BarrierOrder, left_out: set[EffectKey]) -> set[EffectKey]:
    """The arrivals of instances that order nothing that others do not."""
    before: dict[InstanceName, dict[int, InstanceName]] = {}
    members: dict[InstanceName, list[EffectKey]] = {}
    for t, thread in enumerate(threads):
        last: tuple[InstanceName, Value] | None = None
        stops = order.stops(t)
        for e in thread.execution.effects:
            if (t, e.index) in left_out or not e.kind.event or e.guard == 0:
                continue
            instance = stops.get(e.index)
            if instance is None or e.barrier != "sync" or e.result is not None or e.complete != 1:
                last = None
                if instance is not None:
                    members.setdefault(instance, []).append((t, e.index))
                continue
            members.setdefault(instance, []).append((t, e.index))
            if last is not None and last[0][0] == instance[0] and _is_same(last[1], e.guard):
                before.setdefault(instance, {})[t] = last[0]
            last = instance, e.guard
    idle: set[EffectKey] = set()
    for instance, earlier in before.items():
        meeting = order.meetings[instance[0]]
        keys = members[instance]
        instructions = {id(threads[t].execution.effects[i].instruction) for t, i in keys}
        all_were = set(earlier) == set(meeting.threads) and len(keys) == len(earlier)
        if all_were and len(instructions) == 1 and len(set(earlier.values())) == 1:
            idle.update(keys)
    return idle


def _is_same(a: Value, b: Value) -> bool:
    return a is b or (type(a) is int and a == b)
