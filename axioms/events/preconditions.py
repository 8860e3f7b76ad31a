"""What instructions ask of the places that they access, beyond what their meanings say: where it is not so, behaviour is
undefined."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from axioms.cat.evaluate import bits, closure
from axioms.cat.nodes import Rows
from axioms.events.event import Collector, UndefinedBehaviour
from axioms.events.event_kinds import KERNEL_EVENT, READ, WRITE
from axioms.events.memory import GuardedLocation, Object
from ptxcore.isa.effect_kinds import COPY, ISSUE, MBARRIER, RED, STORE, EffectKind
from ptxcore.machine.ir.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Value

#: The kind of all of them.
_MISPLACED = "misplaced"
#: What asynchronous accesses are called.
_NAMES = {STORE: "st.async", RED: "red.async"}


def obligations(
    collector: Collector, kinds: Container[str], relations: Mapping[str, Rows]
) -> Iterator[UndefinedBehaviour]:
    """What is wrong with a program's accesses, each with its condition. `kinds` are those of its effects, `relations` are those
    known before any solving."""
    if ISSUE in kinds:
        yield from _operations(collector)
    if MBARRIER in kinds:
        yield from _barrier_objects(collector)
    yield from _constants(collector)
    yield from _read_only(collector, relations)


def _operations(collector: Collector) -> Iterator[UndefinedBehaviour]:
    for t, thread in enumerate(collector.threads):
        agents: dict[int, list[Effect]] = {}
        for effect in thread.execution.effects:
            if effect.agent >= 0:
                agents.setdefault(effect.agent, []).append(effect)
        for effects in agents.values():
            yield from _Operands(collector, t, effects).undefined_behaviours()


class _Operands:
    """The places of one asynchronous operation: where it accesses memory, and its mbarrier object."""

    def __init__(self, collector: Collector, thread: int, effects: list[Effect]) -> None:
        self.collector, self.thread, self.effects = collector, thread, effects
        self.place = collector.threads[thread].place
        self.clusters = {t.place.cta: t.place.cluster for t in collector.threads if not t.place.host}

    def undefined_behaviours(self) -> Iterator[UndefinedBehaviour]:
        first = self.effects[0]
        barriers = [e for e in self.effects if e.kind is MBARRIER]
        if first.kind.background and not barriers:
            yield from self._release(_NAMES[first.kind])
        elif first.kind.background:
            yield from self._in_cluster(first.kind, barriers)
        elif first.kind is COPY:
            for copy in self.effects:
                if copy.kind is COPY:
                    yield from self._copied(copy)

    def _release(self, name: str) -> Iterator[UndefinedBehaviour]:
        """Sections 9.7.9.12 and 9.7.13.7: with `.release`, in global memory."""
        for effect in self.effects:
            for at in self._at(effect):
                if self._object(at).space != "global":
                    yield self._wrong(effect, at.guard, f"{name}.release to memory that is not global")

    def _in_cluster(self, kind: EffectKind, barriers: list[Effect]) -> Iterator[UndefinedBehaviour]:
        """Without it, destination and object are in the shared memory of one CTA of the thread's cluster, which has several;
        of a reduction, not that of the thread."""
        name = _NAMES[kind]
        ctas = sum(cluster == self.place.cluster for cluster in self.clusters.values())
        if ctas < 2:
            yield self._wrong(self.effects[0], self.effects[0].guard, f"{name} in a cluster of one CTA")
            return
        for effect in self.effects:
            for at in self._at(effect):
                owner = self._owner(at)
                if owner is None:
                    yield self._wrong(effect, at.guard, f"{name} outside of the shared memory of its cluster")
                elif kind is RED and owner == self.place.cta:
                    yield self._wrong(effect, at.guard, "red.async to the shared memory of its own CTA")
                for other in barriers if effect.kind is not MBARRIER else ():
                    for there in self._at(other):
                        both = terms.conj(at.guard, there.guard)
                        if None is not owner != self._owner(there):
                            message = f"{name} whose mbarrier object is in another CTA than its destination"
                            yield self._wrong(effect, both, message)

    def _copied(self, copy: Effect) -> Iterator[UndefinedBehaviour]:
        """Sections 9.7.9.25.3.1, 9.7.9.25.4.1 and 9.7.9.25.4.2: both ends lie in the spaces that the instruction names, and a
        copy from shared memory to that of the cluster goes to another CTA. Of reductions nothing of that kind is said."""
        from axioms.events.copied import ends

        spans = self.collector.places.get((self.thread, copy.index), [])
        named = [space.partition("::") for space in copy.spaces]
        if not spans or len(named) != 2:
            return
        for end, places in zip(ends(copy), spans, strict=True):
            space, _, part = named[end == "source"]
            for at in places if end else ():
                if not self._lies_in(at, space, part or "cta"):
                    yield self._wrong(copy, at.guard, f"an asynchronous copy whose {end} lies in another state space")
        for at in spans[0] if copy.combine is None and named[0][2] == "cluster" and named[1][0] == "shared" else ():
            if self._owner(at) == self.place.cta:
                message = "a bulk copy from shared memory to that of the same CTA: it must go to that of another one"
                yield self._wrong(copy, at.guard, message)

    def _lies_in(self, at: GuardedLocation, space: str, part: str) -> bool:
        if space == "global":
            return self._object(at).space == "global"
        owner = self._owner(at)
        return owner is not None and (part == "cluster" or owner == self.place.cta)

    def _at(self, effect: Effect) -> list[GuardedLocation]:
        """Where an effect writes."""
        spans = self.collector.places.get((self.thread, effect.index))
        return spans[0] if spans else []

    def _object(self, at: GuardedLocation) -> Object:
        return self.collector.space.objects[at.object]

    def _owner(self, at: GuardedLocation) -> int | None:
        """The CTA of the thread's cluster in whose shared memory a place is."""
        thing = self._object(at)
        inside = thing.space == "shared" and thing.cta is not None
        return thing.cta if inside and self.clusters.get(thing.cta or 0) == self.place.cluster else None

    def _wrong(self, effect: Effect, guard: Value, message: str) -> UndefinedBehaviour:
        return UndefinedBehaviour(self.thread, guard, _MISPLACED, message, effect.instruction)


#: What threads of other CTAs may do to an mbarrier object (section 9.7.13.15.8).
_REMOTE = ("arrive", "arrive_drop", "expect_tx", "complete_tx")


def _barrier_objects(collector: Collector) -> Iterator[UndefinedBehaviour]:
    """mbarrier objects are in shared memory. Those of other CTAs only count arrivals and transactions; they return nothing."""
    from axioms.events.barrier_events import returns

    for t, thread in enumerate(collector.threads):
        for effect in thread.execution.effects:
            if effect.kind is not MBARRIER:
                continue
            for at in collector.places[t, effect.index][0]:
                thing = collector.space.objects[at.object]
                name = effect.instruction.name
                if thing.space != "shared":
                    message = f"{name} on an object that is not in shared memory"
                    yield UndefinedBehaviour(t, at.guard, _MISPLACED, message, effect.instruction)
                elif thing.cta not in (None, thread.place.cta) and (effect.operation not in _REMOTE or returns(effect)):
                    message = f"{name} on an mbarrier object of another CTA"
                    yield UndefinedBehaviour(t, at.guard, _MISPLACED, message, effect.instruction)


def _constants(collector: Collector) -> Iterator[UndefinedBehaviour]:
    """No thread writes constant memory (section 5.1.3)."""
    if not any(thing.space == "const" for thing in collector.space.objects):
        return
    for w in collector.events:
        if w.kind is WRITE and w.effect is not None and collector.space.objects[w.object].space == "const":
            yield UndefinedBehaviour(w.thread, w.guard, _MISPLACED, "a write to constant memory", w.effect.instruction)


def _read_only(collector: Collector, relations: Mapping[str, Rows]) -> Iterator[UndefinedBehaviour]:
    """What `ldu` reads is written by nobody, unless behind it in its thread or in a kernel before or after (section
    9.7.9.10)."""
    reads = [e for e in collector.events if e.kind is READ and e.effect is not None and e.effect.fixed]
    if not reads:
        return
    after = _reached(collector, relations)
    loc, po = relations["loc"], relations["po"]
    for r in reads:
        for i in bits(loc[r.index] & ~po[r.index] & ~after[r.index]):
            w = collector.events[i]
            both = terms.conj(r.guard, w.guard)
            if w.kind is WRITE and w.thread >= 0 and both != 0 and not after[i] >> r.index & 1:
                assert r.effect is not None
                message = "ldu reads what the same grid writes"
                yield UndefinedBehaviour(r.thread, both, _MISPLACED, message, r.effect.instruction)


def _reached(collector: Collector, relations: Mapping[str, Rows]) -> Rows:
    """What comes after each event by way of the start or the end of a kernel."""
    api = relations.get("api")
    if api is None:
        return [0] * len(collector.events)
    edges = closure([a | b for a, b in zip(api, relations["po"], strict=True)])
    rows = []
    for row in edges:
        reached = 0
        for k in bits(row):
            if collector.events[k].kind is KERNEL_EVENT:
                reached |= edges[k]
        rows.append(reached)
    return rows
