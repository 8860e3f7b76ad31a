"""Fences (PTX ISA 9.0, section 9.7.13.4): their events, and which operations each is about.

A fence is about everything unless it says otherwise; one that does is in `RESTRICT`, and `covers` relates it to the events
that it is about:

    fence.proxy.async.SPACE, .sync_restrict::SPACE      accesses to that space, as the fence's thread sees it
    fence.proxy.tensormap::generic.acquire [a], 128     accesses to these bytes
    fence.mbarrier_init                                 `mbarrier.init` of its thread
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from axioms.errors import UnsupportedProgram
from axioms.events.event import PROXY_TAGS, Collector, Event, Maker, scope_tag, tags_of
from axioms.events.event_kinds import FENCE_EVENT
from axioms.events.memory import Object
from ptxcore.isa.effect_kinds import FENCE, PROXY_FENCE
from ptxcore.machine.ir.effects import Effect
from ptxcore.places import Placement

_ORDER_TAGS = {"sc": "SC", "acq_rel": "ACQ_REL", "acquire": "ACQ", "release": "REL"}
#: The proxies that fences name: those of accesses, and aliases.
_FENCED = {**PROXY_TAGS, "alias": "ALIAS"}


def _fence(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    initialises = "MBINIT" if effect.restrict == "mbarrier_init" else ""
    tags = ("F", _ORDER_TAGS[effect.semantics], scope_tag(effect), "GEN", _restricted(effect), initialises)
    return [collector.new(thread, FENCE_EVENT, tags_of(*tags), effect.guard, effect)]


def _proxy_fence(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """Of the proxy that it names. One that works one way, from the generic proxy, has semantics and a scope."""
    to, one_way, _ = effect.proxy.partition(".")[0].partition("::")
    tags = ["F", _FENCED[to], _restricted(effect)]
    if one_way:
        tags += ["ONEWAY", _ORDER_TAGS[effect.semantics], scope_tag(effect)]
    return [collector.new(thread, FENCE_EVENT, tags_of(*tags), effect.guard, effect)]


def _restricted(effect: Effect) -> str:
    return "RESTRICT" if effect.restrict or "." in effect.proxy or effect.size is not None else ""


MAKERS: Mapping[str, Maker] = {FENCE: _fence, PROXY_FENCE: _proxy_fence}


def covers(collector: Collector) -> list[int] | None:
    """The relation as rows of bitsets; None where the program has no such fence."""
    fences = [e for e in collector.events if "RESTRICT" in e.tags]
    if not fences:
        return None
    rows = [0] * len(collector.events)
    found = _Covered(collector)
    for fence in fences:
        assert fence.effect is not None
        rows[fence.index] = found.by(fence, fence.effect)
    return rows


class _Covered:
    """The events of a program that fences may be about: accesses of threads, and operations on mbarrier objects."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.events = [e for e in collector.events if e.thread >= 0 and e.object >= 0]
        self.clusters = {t.place.cta: t.place.cluster for t in collector.threads if not t.place.host}
        self._in: dict[tuple[str, int, int], int] = {}

    def by(self, fence: Event, effect: Effect) -> int:
        if effect.restrict == "mbarrier_init":
            return _bits(e for e in self.events if "MBINIT" in e.tags and e.thread == fence.thread)
        found = self.within("", fence.thread)
        for space in (effect.proxy.partition(".")[2], effect.restrict):
            found &= self.within(space, fence.thread)
        if effect.size is not None:
            found &= self._range(fence, effect)
        return found

    def within(self, space: str, thread: int) -> int:
        """The events in a state space, as a thread sees it; in all where none is named."""
        place = self.collector.threads[thread].place
        key = space, place.cta, place.cluster
        if key not in self._in:
            objects = self.collector.space.objects
            self._in[key] = _bits(e for e in self.events if self._is_in(objects[e.object], space, place))
        return self._in[key]

    def _is_in(self, thing: Object, space: str, place: Placement) -> bool:
        if space == "shared::cluster":
            return thing.space == "shared" and thing.cta is not None and self.clusters.get(thing.cta) == place.cluster
        if space in ("shared", "shared::cta"):
            return thing.space == "shared" and thing.cta == place.cta
        return space in ("", thing.space)

    def _range(self, fence: Event, effect: Effect) -> int:
        """The events at the addresses that a fence names."""
        address, size = effect.address, effect.size
        if type(address) is not int or type(size) is not int:
            line = effect.instruction.span.line
            raise UnsupportedProgram(f"line {line}: a fence of proxies whose address is not known is not supported")
        at = self.collector.space.at(fence.thread, address, 1)
        if at is None:
            return 0
        view, offset = at
        return _bits(
            e
            for e in self.events
            if (e.object, e.mapping) == (view.object, view.mapping)
            and e.offset < offset + size
            and offset < e.offset + e.width // 8
        )


def _bits(events: Iterable[Event]) -> int:
    return sum(1 << e.index for e in events)
