"""Executions to draw: one by hand, and random ones."""

from __future__ import annotations

from hypothesis import strategies as st

from axioms.events.event_kinds import BARRIER_EVENT, FENCE_EVENT, READ, WRITE
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.places import Placement

Pairs = tuple[tuple[int, int], ...]


def message_passing() -> Execution:
    """Message passing with fences, in two CTAs; everything visible."""
    events = (
        ExecutedEvent(0, -1, WRITE, "", "x", 0),
        ExecutedEvent(1, -1, WRITE, "", "f", 0),
        ExecutedEvent(2, 0, WRITE, "st.weak.u32 [x], 1", "x", 1, line=5),
        ExecutedEvent(3, 0, FENCE_EVENT, "fence.acq_rel.gpu", line=6),
        ExecutedEvent(4, 0, WRITE, "st.relaxed.gpu.u32 [f], 1", "f", 1, line=7),
        ExecutedEvent(5, 1, READ, "ld.relaxed.gpu.u32 %r0, [f]", "f", 1, line=5),
        ExecutedEvent(6, 1, FENCE_EVENT, "fence.acq_rel.gpu", line=6),
        ExecutedEvent(7, 1, READ, "ld.weak.u32 %r1, [x]", "x", 1, line=7),
    )
    relations: dict[str, Pairs] = {
        "po": ((2, 3), (3, 4), (5, 6), (6, 7)),
        "rf": ((4, 5), (2, 7)),
        "co": ((0, 2), (1, 4)),
        "fr": (),
        "sync": ((3, 6),),
        "cause": ((2, 6), (2, 7), (3, 6), (3, 7)),
    }
    places = (("P0", Placement(0, 0, 0, 0)), ("P1", Placement(1, 1, 1, 0)))
    return Execution(events, relations, places, {"1:r0": 1, "1:r1": 1}, "MP & <fences>")


def three_in_two_ctas() -> Execution:
    """ISA2 with a barrier between the first two threads, which are in one CTA; the relations lead across."""
    events = (
        ExecutedEvent(0, -1, WRITE, "", "x", 0),
        ExecutedEvent(1, -1, WRITE, "", "f", 0),
        ExecutedEvent(2, 0, WRITE, "st.weak.u32 [x], 1", "x", 1, line=5),
        ExecutedEvent(3, 0, BARRIER_EVENT, "bar.sync 0", line=6),
        ExecutedEvent(4, 1, BARRIER_EVENT, "bar.sync 0", line=5),
        ExecutedEvent(5, 1, WRITE, "st.release.gpu.u32 [f], 1", "f", 1, line=6),
        ExecutedEvent(6, 2, READ, "ld.acquire.gpu.u32 %r0, [f]", "f", 0, line=5),
        ExecutedEvent(7, 2, READ, "ld.weak.u32 %r1, [x]", "x", 0, line=6),
    )
    relations: dict[str, Pairs] = {
        "po": ((2, 3), (4, 5), (6, 7)),
        "rf": ((1, 6), (0, 7)),
        "co": ((0, 2), (1, 5)),
        "fr": ((6, 5), (7, 2)),
        "syncbar": ((3, 4), (4, 3)),
    }
    places = (("P0", Placement(0, 0, 0, 0)), ("P1", Placement(0, 0, 0, 0)), ("P2", Placement(1, 1, 1, 0)))
    return Execution(events, relations, places, {"2:r0": 0, "2:r1": 0}, "ISA2")


#: Kinds of events that stand alone.
_ONE = (READ, WRITE, FENCE_EVENT, BARRIER_EVENT)


@st.composite
def executions(draw: st.DrawFn) -> Execution:
    """Any events in any threads in any places, with any relations: a layout must take them all."""
    threads = draw(st.integers(1, 4))
    places = []
    for t in range(threads):
        gpu = draw(st.integers(0, 1))
        cluster = 2 * gpu + draw(st.integers(0, 1))
        cta = 2 * cluster + draw(st.integers(0, 1))
        places.append((f"P{t}", Placement(draw(st.sampled_from([t, 100 + cta])), cta, cluster, gpu)))
    events = [ExecutedEvent(i, -1, WRITE, "", name, 0) for i, name in enumerate("xyz"[: draw(st.integers(0, 3))])]
    po, rmw = [], []
    for t in range(threads):
        before = None
        for _ in range(draw(st.integers(0, 4))):
            kind = draw(st.sampled_from([*_ONE, None]))
            text = draw(st.text(st.characters(codec="utf-8"), max_size=60))
            halves = (kind,) if kind else (READ, WRITE)  # an atomic has both
            for half in halves:
                index = len(events)
                events.append(ExecutedEvent(index, t, half, text, "x", draw(st.integers(0, 2**64)), line=index))
                if before is not None:
                    (rmw if half is WRITE and kind is None else po).append((before, index))
                before = index
    relations: dict[str, Pairs] = {"po": tuple(po), "rmw": tuple(rmw)}
    if events:
        some = st.integers(0, len(events) - 1)
        for name in draw(st.sets(st.sampled_from(["rf", "co", "fr", "sync", "cause", "syncbar", "a-new-one"]))):
            relations[name] = tuple(draw(st.lists(st.tuples(some, some), max_size=6)))
    state = draw(st.dictionaries(st.text(max_size=8), st.integers(), max_size=5))
    return Execution(tuple(events), relations, tuple(places), state, draw(st.text(max_size=30)))
