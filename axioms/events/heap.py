"""Memory that `malloc` gives and `free` takes back.

What a call of `malloc` gives is an object of its own. That of a call which an execution does not make is there all the
same: nobody has a pointer to it. A `free` is an event in its thread; `freed` leads from it to the accesses to what it takes
back. These must come before it: the flag of that name of the model.
"""

from __future__ import annotations

from collections.abc import Mapping

from axioms.events.event import Collector, Event, Maker, UndefinedBehaviour, tags_of
from axioms.events.event_kinds import FREED
from ptxcore.isa.effect_kinds import FREE, MALLOC
from ptxcore.machine.ir.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Value


def _malloc(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """Who looks for memory accesses none."""
    return []


def _free(collector: Collector, thread: int, effect: Effect) -> list[Event]:
    """One event for each object that it may take back."""
    events: list[Event] = []
    known: list[Value] = []
    for view in collector.space.visible(thread)[0]:
        thing = collector.space.objects[view.object]
        here = terms.eq(effect.address, view.address) if thing.heap else 0
        guard = terms.conj(effect.guard, here)
        if here != 0:
            known.append(here)
        if guard != 0:
            event = collector.new(thread, FREED, tags_of(), guard, effect)
            event.object, event.offset, event.width, event.mapping = view.object, 0, 8 * thing.size, view.mapping
            events.append(event)
    elsewhere = terms.conj(effect.guard, terms.negate(terms.any_of(known)))
    if elsewhere != 0:
        message = "a free of what malloc did not give"
        collector.undefined_behaviours.append(
            UndefinedBehaviour(thread, elsewhere, "bad-free", message, effect.instruction)
        )
    return events


def freed(events: list[Event]) -> list[int] | None:
    """The relation of that name, as rows of bitsets: from a `free` to accesses to what it takes back, and to others like it."""
    rows = [0] * len(events)
    for free in events:
        if free.kind is FREED:
            for e in events:
                mine = e.object == free.object and e.thread >= 0 and e is not free and (e.cells or e.kind is FREED)
                if mine and terms.conj(free.guard, e.guard) != 0:
                    rows[free.index] |= 1 << e.index
    return rows if any(rows) else None


#: Who makes the events of what threads do about the heap.
MAKERS: Mapping[str, Maker] = {MALLOC: _malloc, FREE: _free}
