"""The events of barriers and of mbarrier objects. These are no memory events: what they order, and who waits for whom, is the
matter of `barriers` and `mbarriers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axioms.events.event import READ_TAGS, WRITE_TAGS, ByteRange, Collector, Event, Maker, scope_tag, tags_of
from axioms.events.event_kinds import BARRIER_EVENT, MBARRIER_EVENT
from ptxcore.isa.effect_kinds import BARRIER, INPUT, MBARRIER
from ptxcore.machine.ir.effects import Effect, Requirement
from ptxcore.values import terms

#: Bytes of an mbarrier object.
OBJECT_SIZE = 8
#: The operations that a phase of an mbarrier object counts.
COUNTED = ("arrive", "arrive_drop", "complete_tx")


def _barrier(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """Arrival and wait; of a cluster's barrier, one of them."""
    if effect.level == "cluster":
        if effect.barrier == "arrive":
            tags = tags_of("MB", "MA", WRITE_TAGS[effect.semantics], scope_tag(effect))
            return [collector.new(thread, MBARRIER_EVENT, tags, effect.guard, effect)]
        tags = tags_of("MB", "MW", READ_TAGS[effect.semantics], scope_tag(effect))
        guard = terms.conj(effect.guard, effect.complete)
        return [] if effect.complete == 0 else [collector.new(thread, MBARRIER_EVENT, tags, guard, effect)]
    events = [collector.new(thread, BARRIER_EVENT, tags_of("BA"), effect.guard, effect)]
    if effect.barrier != "arrive" and effect.complete != 0:
        guard = terms.conj(effect.guard, effect.complete)
        events.append(collector.new(thread, BARRIER_EVENT, tags_of("BW"), guard, effect))
    return events


def _mbarrier_spans(effect: Effect) -> tuple[ByteRange, ...]:
    """The object that an operation is about."""
    return (ByteRange(effect.address, OBJECT_SIZE),)


def early_no(wait: Effect, effects: Sequence[Effect]) -> Effect | None:
    """Of a `try_wait` what decides, where the phase is over, whether it says no all the same: an `input`. Its guard is the
    truth value of "the phase is over". None for other waits."""
    behind = wait.index + 1
    if wait.operation != "wait" or behind >= len(effects):
        return None
    found = effects[behind]
    same = found.kind is INPUT and found.operation == "try_wait" and found.instruction is wait.instruction
    return found if same else None


def _mbarrier(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """One event for each object that it may be about; of a wait two, for it may return true or false."""
    words = ["MB", "ASY" if effect.agent >= 0 else "", scope_tag(effect)]
    if effect.operation in ("init", "inval"):
        words += ["MBINIT", "INVAL" if effect.operation == "inval" else ""]
    elif effect.operation in COUNTED:
        words += ["MA", WRITE_TAGS[effect.semantics]]
    events = []
    for place in collector.places[thread, effect.index][0]:
        cases = [(place.guard, tags_of(*words))]
        if effect.operation == "wait":
            over = terms.conj(place.guard, effect.complete)
            tries = early_no(effect, collector.threads[thread].execution.effects) is not None
            cases = [
                (terms.conj(place.guard, terms.negate(effect.complete)), tags_of(*words, "REFUSED" if tries else "")),
                (over, tags_of(*words, "MW", READ_TAGS[effect.semantics])),
            ]
        for guard, tags in cases:
            if guard != 0:
                event = collector.new(thread, MBARRIER_EVENT, tags, guard, effect)
                event.object, event.offset, event.mapping = place.object, place.offset, place.mapping
                event.width = 8 * OBJECT_SIZE
                event.in_po = effect.agent < 0
                event.value = effect.answer if effect.result is None else effect.result  # type: ignore[assignment]
                events.append(event)
    return events


def returns(effect: Effect) -> bool:
    """Whether an operation on an mbarrier object gives its thread what it found there."""
    if effect.agent >= 0 or effect.operation not in ("arrive", "arrive_drop", "wait"):
        return False
    return effect.returns


def is_of_state(requirement: Requirement, effects: Sequence[Effect]) -> bool:
    """Whether it is a matter of an mbarrier object's state alone, which `mbarriers` decides."""
    if requirement.effect < 0:
        return False
    effect = effects[requirement.effect]
    return (
        effect.kind is MBARRIER
        and effect.result is not None
        and terms.symbols_of(requirement.condition) == {effect.result}
    )


MAKERS: Mapping[str, Maker] = {BARRIER: _barrier, MBARRIER: _mbarrier}
SPANS = {MBARRIER: _mbarrier_spans}
