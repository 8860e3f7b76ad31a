"""Reads that can return one thing only, found before any solving: what they return is put in wherever it is used, so that
values, conditions and addresses behind them become numbers.

A write cannot be read where (8.10.6)

    it comes after the read, or
    another write of the same bytes comes after it and before the read, and is executed wherever the read is

in causality order. What `barrier_order` says is in that order: accesses of the generic proxy, through one address. Where a
single write is left, every execution that has the read has it read from that write. It is enough that this write comes before
the read; who reads what comes later would get its value out of nowhere. What a buffer holds at first that may hold anything is
no number to put in: such reads stay.

Atomic operations whose results nobody uses, and that may be exchanged (as additions), are done in the order in which they are
listed. Take an execution in which they are done otherwise. All other accesses to these bytes come before all of them, or
after all of them; so the operations follow each other in coherence, and each reads what the one before wrote. Let them do so
in the order of the list: what stands behind them is what it was, since it does not matter in which order one adds. That is an
execution too: no causality leads from one of these operations to an earlier one in the list, as that needs a fence or
something else that synchronises behind one of them, and another one before one of them, and such are not there; for the same
reason nobody synchronises by way of them. So only executions are left out that differ from others in this order alone, and
outcomes and races are what they were.

That causality contains what barriers and program order say, and that coherence follows causality, is what the models that
ship have in common; under those of users no read is taken for constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from axioms.analysis.barrier_order import BarrierOrder, GuardedEffect
from axioms.cat.model import Model
from axioms.events.definitions import FIELDS, Definitions
from axioms.events.event import Event, ProgramThread
from axioms.events.kinds import spans_of
from axioms.events.memory import AddressSpace
from ptxcore.clock import tick
from ptxcore.isa.effect_kinds import FREE, LOAD, MALLOC, MBARRIER
from ptxcore.machine.ir.effects import Effect
from ptxcore.places import includes
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.spread import spread
from ptxcore.values.terms import Term, Value

#: Operations that may be exchanged with others of their kind, on integers.
_EXCHANGEABLE = frozenset(("add", "and", "or", "xor", "min", "max"))
#: Effects by which nobody synchronises with anybody, unless their semantics are of more than `relaxed`.

#: An effect of a thread.
EffectKey = tuple[int, int]
#: Bytes of an object: its number, the first, how many, and through which mapping.
PlacedBytes = tuple[int, int, int, int]


def follows_causality(model: Model) -> bool:
    """Whether that is so of a model: of those that ship. Of others nobody knows."""
    return bool(model.shipped)


class ConstantReads(NamedTuple):
    """`values` says what reads return; `sources` from which write each takes it (None: the initial one); `before` which of two
    writes to the same bytes comes before the other in coherence. `sliced` and `behind`: what is left out, see
    `axioms.analysis.slicing`; `resolved` is for whoever looks behind it."""

    values: Mapping[Term, Value]
    sources: Mapping[EffectKey, EffectKey | None]
    before: Callable[[Event, Event], bool]
    sliced: frozenset[EffectKey]
    behind: Mapping[EffectKey, Mapping[EffectKey, Value]]
    resolved: dict[EffectKey, dict[EffectKey, Value]]


class PlacedAccess(NamedTuple):
    """An access whose place is known. `guard`: the condition under which it reads, `writes`: that under which it writes."""

    thread: int
    effect: Effect
    guard: Value
    writes: Value
    value: Value | None

    @property
    def key(self) -> EffectKey:
        return self.thread, self.effect.index

    @property
    def reading(self) -> GuardedEffect:
        return GuardedEffect(self.thread, self.effect.index, self.guard)

    @property
    def writing(self) -> GuardedEffect:
        return GuardedEffect(self.thread, self.effect.index, self.writes)


class ConstantReadSearch:
    """The search, pass by pass: what one read returns may be what decides where another one goes."""

    def __init__(
        self, threads: Sequence[ProgramThread], space: AddressSpace, asked: Iterable[Value], *, ends_matter: bool
    ) -> None:
        """`asked`: values that matter besides those of effects. `ends_matter`: something comes after the end of a kernel."""
        self._ends_matter = ends_matter
        self.threads, self.space, self._asked = threads, space, list(asked)
        self.values: dict[Term, Value] = {}
        self.sources: dict[EffectKey, EffectKey | None] = {}
        self.order = BarrierOrder(threads)
        #: Of operations that are exchanged: which of them, and in what order.
        self._updates_in_chain: dict[EffectKey, tuple[int, int]] = {}
        self._chains = 0
        while self._pass():
            definitions = Definitions(self.values)
            self.threads = [t._replace(execution=definitions.execution(t.execution)) for t in self.threads]
            self.order = BarrierOrder(self.threads)

    def found(self) -> ConstantReads:
        return ConstantReads(self.values, self.sources, self._in_coherence, frozenset(), {}, {})

    # One pass.

    def _pass(self) -> bool:
        """Whether a constant read was found."""
        self._defined = Definitions(self.values)
        known = len(self.sources)
        self._look()
        places = self.places()
        for accesses in places.values():
            self._exchange(accesses)
        reads = [
            (self.order.depth(a.reading), a.key, place) for place, accesses in places.items() for a in accesses
            if a.effect.result is not None and a.key not in self.sources
        ]  # fmt: skip
        by_key = {a.key: a for accesses in places.values() for a in accesses}
        for _, key, place in sorted(reads):
            self._find(by_key[key], place, places[place])
        return len(self.sources) > known

    def places(self) -> dict[PlacedBytes, list[PlacedAccess]]:
        """The accesses to each stretch of memory that is accessed as a whole only."""
        found: dict[PlacedBytes, list[PlacedAccess]] = {}
        vague: list[tuple[int, int, int]] = []
        for t, thread in enumerate(self.threads):
            for e in thread.execution.effects:
                if e.kind.memory and e.guard != 0:
                    at = self._place(t, e)
                    if at is None:
                        vague += self._anywhere(t, e)
                    else:
                        writes = 0 if e.value is None else terms.conj(e.guard, e.writes)
                        found.setdefault(at, []).append(PlacedAccess(t, e, e.guard, writes, e.value))
                elif e.kind in (MBARRIER, MALLOC, FREE):
                    vague += self._anywhere(t, e)
        return {at: found[at] for at in _apart(found, vague)}

    def _place(self, thread: int, e: Effect) -> PlacedBytes | None:
        if type(e.address) is not int or not e.kind.accesses:
            return None
        if e.proxy != "generic" or e.agent >= 0 or (e.kind is LOAD) == (e.value is not None):
            return None
        size = e.width // 8
        at = None if e.address % size else self.space.at(thread, e.address, size)
        return None if at is None else (at[0].object, at[1], size, at[0].mapping)

    def _anywhere(self, thread: int, e: Effect) -> list[tuple[int, int, int]]:
        """The bytes that an access may touch whose place is not known: object, first and end."""
        if not e.kind.memory and e.kind is not MBARRIER:
            return [(number, 0, o.size) for number, o in enumerate(self.space.objects)]
        found = []
        for s in spans_of(e):
            low, high, _ = spread(s.address)
            for view in self.space.visible(thread)[0]:
                size = self.space.objects[view.object].size
                if low < 0 or (low < view.address + size and view.address < high + s.size):
                    first = 0 if low < 0 else max(low - view.address, 0)
                    end = size if low < 0 else min(high + s.size - view.address, size)
                    found.append((view.object, first, end))
        return found

    def _find(self, read: PlacedAccess, place: PlacedBytes, accesses: Sequence[PlacedAccess]) -> None:
        """Finds the only write that a read may take its value from, if it is the only one."""
        guard, here = self._defined(read.guard), read.reading
        at = self._updates_in_chain.get(read.key)
        if at is not None and at[1] > 0:
            (source,) = (a for a in accesses if self._updates_in_chain.get(a.key) == (at[0], at[1] - 1))
            self._take(read, source)
            return
        possible, before = [], []
        for w in accesses:
            tick()
            if w.writes == 0 or w is read:
                continue
            writes = self._defined(w.writes)
            if writes == 0 or terms.conj(guard, writes) == 0 or self._before(here, w.writing):
                continue
            possible.append(w)
            if self._before(w.writing, here) and terms.implies(guard, writes):
                before.append(w)
        possible = [w for w in possible if not any(self._before(w.writing, b.writing) for b in before if b is not w)]
        if not possible and not self.space.objects[place[0]].open:
            self._take(read, None, self.space.objects[place[0]].number(place[1], place[2]))
        elif len(possible) == 1 and before:
            self._take(read, possible[0])

    def _take(self, read: PlacedAccess, write: PlacedAccess | None, initial: Value = 0) -> None:
        assert read.effect.result is not None
        if write is None:
            self.values[read.effect.result], self.sources[read.key] = initial, None
        else:
            assert write.value is not None
            self.values[read.effect.result], self.sources[read.key] = self._defined(write.value), write.key

    def _before(self, a: GuardedEffect, b: GuardedEffect) -> bool:
        one, other = self._updates_in_chain.get((a.thread, a.effect)), self._updates_in_chain.get((b.thread, b.effect))
        if one is not None and other is not None and one[0] == other[0]:
            return one[1] < other[1]
        return self.order.before(a, b)

    def is_exchanged(self, a: PlacedAccess) -> bool:
        """Whether it is one of those whose order is fixed."""
        return a.key in self._updates_in_chain

    def are_apart(self, write: PlacedAccess, other: PlacedAccess) -> bool:
        """Whether a write and another access to its bytes are ordered, or never both executed."""
        if terms.conj(write.writes, other.guard) == 0:
            return True
        return self._before(write.writing, other.reading) or self._before(other.reading, write.writing)

    def _in_coherence(self, a: Event, b: Event) -> bool:
        if a.effect is None or b.effect is None or "GEN" not in a.tags or "GEN" not in b.tags or a.mapping != b.mapping:
            return False
        tick()
        if not (a.in_po and b.in_po):
            return False
        one, other = GuardedEffect(a.thread, a.effect.index, a.guard), GuardedEffect(b.thread, b.effect.index, b.guard)
        return one[:2] != other[:2] and self._before(one, other)

    # Operations that are exchanged.

    def _exchange(self, accesses: Sequence[PlacedAccess]) -> None:
        """Puts operations on the same bytes in an order, where nobody can tell in which they are done."""
        if self._ends_matter:
            return
        updates = [a for a in accesses if a.key not in self._updates_in_chain and self._may_be_exchanged(a)]
        alike: dict[object, list[PlacedAccess]] = {}
        for a in updates if len(updates) > 1 else ():
            behind = frozenset(x.key for x in accesses if x not in updates and self._before(a.writing, x.reading))
            alike.setdefault((_operation(a.effect), a.effect.scope, behind), []).append(a)
        for group in alike.values():
            if len(group) > 1 and self._stands_apart(group, accesses) and self._nobody_synchronises(group):
                self._chains += 1
                group.sort(key=lambda a: (self.order.depth(a.reading), a.key))
                self._updates_in_chain |= {a.key: (self._chains, i) for i, a in enumerate(group)}

    def _may_be_exchanged(self, a: PlacedAccess) -> bool:
        """Whether it is an operation that always happens, may be exchanged with others, and gives nobody anything."""
        e = a.effect
        if not e.kind.updates or e.semantics != "relaxed" or e.result is None or a.writes != 1:
            return False
        return _operation(e) is not None and e.result not in self._used and a.key not in self._used

    def _stands_apart(self, group: Sequence[PlacedAccess], accesses: Sequence[PlacedAccess]) -> bool:
        """Whether all of a group are morally strong with each other, and everything else is before or behind all of them."""
        members = {a.key for a in group}
        places = [self.threads[a.thread].place for a in group]
        scope = group[0].effect.scope
        if scope is None or not all(includes(scope, places[0], place) for place in places):
            return False
        return all(
            all(self._before(a.writing, x.reading) for a in group)
            or all(self._before(x.reading, a.reading) for a in group)
            for x in accesses if x.key not in members
        )  # fmt: skip

    def _nobody_synchronises(self, group: Sequence[PlacedAccess]) -> bool:
        """Whether no path of causality leads from one of a group to another that `order` does not know: it would leave the CTA
        of the one, or pass through it, behind that one, and come to the other, by something that synchronises."""
        leaves = comes = False
        for a in group:
            for s in self._synchronising.get(self.threads[a.thread].place.cta, ()):
                leaves = leaves or not self.order.before(s, a.reading)
                comes = comes or not self.order.before(a.writing, s)
                if leaves and comes:
                    return False
        return True

    def _look(self) -> None:
        """Finds what values are used, and what may synchronise, CTA by CTA."""
        self._used: set[object] = set()
        self._synchronising: dict[int, list[GuardedEffect]] = {}
        self._used |= _symbols(self._asked)
        for t, thread in enumerate(self.threads):
            execution = thread.execution
            self._used |= _symbols([execution.finishes, execution.cut])
            self._used |= _symbols([v for r in execution.requirements for v in (r.guard, r.condition)])
            self._used |= _symbols([*[s.guard for s in execution.stuck], *[c.guard for c in execution.cuts]])
            self._used.update((t, i) for i in execution.control)
            self._used.update((t, i) for s in execution.stuck for i in s.reads)
            known = self.order.certainly_at(t)
            for e in execution.effects:
                self._used |= _used_by(e)
                for dependencies in (e.address_dependencies, e.data_dependencies, e.control_dependencies):
                    self._used.update((t, i) for i in dependencies if i != e.index)
                plain = (e.kind.accesses or not e.kind.event) and e.agent < 0 and e.semantics in ("weak", "relaxed")
                if e.guard != 0 and not plain and e.index not in known:
                    spots = self._synchronising.setdefault(thread.place.cta, [])
                    spots.append(GuardedEffect(t, e.index, e.guard))


def _symbols(values: Iterable[Value]) -> set[Term]:
    return {t for t in terms.subterms(values) if t.op == "symbol"}


def _used_by(e: Effect) -> set[Term]:
    """What an effect takes from others; an atomic operation's new value rests on its own old one, which is not meant."""
    tick()
    plain: list[Value] = []
    for name in FIELDS:
        found = getattr(e, name)
        if isinstance(found, Mapping):
            plain += found.values()
        elif isinstance(found, tuple):
            plain += [v for v in found if type(v) is Term]
        elif type(found) is Term:
            plain.append(found)
    symbols = _symbols(plain)
    if e.result in symbols and e.kind.updates:
        rest = _symbols([v for v in plain if v is not e.value])
        if e.result not in rest:
            symbols.discard(e.result)
    return symbols


def _operation(e: Effect) -> tuple[str, str] | None:
    """What an atomic operation does, where it may be exchanged with others that do the same."""
    is_integer = e.type[:1] in ("u", "s", "b") and e.type[1:].isdigit()
    return (e.operation, e.type) if e.operation in _EXCHANGEABLE and is_integer else None


def _apart(found: Mapping[PlacedBytes, object], vague: Iterable[tuple[int, int, int]]) -> list[PlacedBytes]:
    """The stretches of memory that overlap no other one, and nothing vague."""
    spans: dict[int, list[tuple[int, int, PlacedBytes | None]]] = {}
    for at in found:
        spans.setdefault(at[0], []).append((at[1], at[1] + at[2], at))
    for number, first, end in vague:
        spans.setdefault(number, []).append((first, end, None))
    overlapping: set[PlacedBytes | None] = set()
    for some in spans.values():
        some.sort(key=lambda s: s[:2])
        reach, last = -1, some[0][2]
        for first, end, span in some:
            if first < reach:
                overlapping |= {span, last}
            if end > reach:
                reach, last = end, span
    return [at for at in found if at not in overlapping]
