"""The condition of a cycle is true in exactly the executions that contain it, by enumerating all executions of the events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product

import pytest
from campaigns import drawn
from hypothesis import given, settings

from litmus.cycles import generator
from litmus.cycles.build import refuse_hidden_order
from litmus.cycles.cycle import CycleLayout, RefusedCycle
from litmus.cycles.edges import SYNCHRONISATION, alphabet
from litmus.cycles.search import SearchBounds, search
from litmus.cycles.strategies import layouts

#: Edges of every kind, each beside program order and communication, and how many cycles of up to four edges they are in at
#: least. Two reductions of one location have no test.
EVERY_KIND = (
    ("Pod**.rel.gpu,Pod**.acq.*,Rfe.rlx.cta", 60),
    ("Pod**.weak,Pod**.vol", 60),
    ("PodW*.atom,PodR*.atom", 60),
    ("PodW*.red,PosW*.red,PodRW.red", 60),
    ("Rmw.acq_rel.gpu,Rmw.rel.cta,Pos**", 60),
    ("Fence.sc.gpud**,Fence.acq_rel.*s**", 60),
    ("DpAddrd*,DpAddrsR,DpDatadW,DpDatasW,DpCtrld*", 60),
    ("Bard**,Bars**", 60),
    ("ClusterBard**", 60),
    ("Mbard**,Mbars**", 60),
    ("Streamd**", 60),
    ("Proxy.aliasd**.alias,Proxy.aliass**", 60),
    ("Pod**.alias,PosR*.alias", 60),
    ("CpAsyncd**,CpAsyncs**,CpAsyncMbard**,Pod**._.cp", 60),
    ("Bulkd**,Bulks**,BulkMbard**,Proxy.asyncd**._.bulk", 60),
    ("PodR*.weak.const", 20),
)
#: A write for each read (None: the initial value), and the place of each write in the order of its location.
Executed = tuple[dict[int, int | None], dict[int | None, int]]


def executions(layout: CycleLayout) -> Iterator[Executed]:
    writes: dict[int, list[int]] = {n: [] for n in range(layout.locations)}
    for i, event in enumerate(layout.events):
        if event.direction == "W":
            writes[event.location].append(i)
    reads = [i for i, event in enumerate(layout.events) if event.direction == "R"]
    for orders in product(*map(permutations, writes.values())):
        rank: dict[int | None, int] = {None: 0}
        rank.update((write, nth) for order in orders for nth, write in enumerate(order, 1))
        for chosen in product(*([None, *writes[layout.events[i].location]] for i in reads)):
            yield dict(zip(reads, chosen, strict=True)), rank


def in_order(layout: CycleLayout) -> Iterator[list[int]]:
    """The events of threads that meet, one thread after the other, from a thread on that waits for none."""
    meets = [layout.edges[events[-1]].kind in SYNCHRONISATION for events in layout.threads]
    for first in range(len(meets)):
        if not meets[first - 1]:
            events = list(layout.threads[first])
            at = first
            while meets[at]:
                at = (at + 1) % len(meets)
                events += layout.threads[at]
            yield events


def coherent(layout: CycleLayout, source: Mapping[int, int | None], rank: Mapping[int | None, int]) -> bool:
    """Whether program order, and that of threads that synchronise, agrees with coherence, and atomic operations are not
    interrupted."""

    def at(i: int) -> int:
        return rank[source[i]] if layout.events[i].direction == "R" else rank[i]

    for events in in_order(layout):
        for nth, i in enumerate(events):
            for j in events[nth + 1 :]:
                if layout.events[i].location == layout.events[j].location:
                    strict = layout.events[j].direction == "W"
                    if at(i) > at(j) or (strict and at(i) == at(j)):
                        return False
    count = len(layout.edges)
    return all(at((i + 1) % count) == at(i) + 1 for i, edge in enumerate(layout.edges) if edge.kind == "Rmw")


def contains(layout: CycleLayout, source: Mapping[int, int | None], rank: Mapping[int | None, int]) -> bool:
    for i, edge in enumerate(layout.edges):
        target = (i + 1) % len(layout.edges)
        there = {
            "Rf": lambda i=i, t=target: source[t] == i,
            "Fr": lambda i=i, t=target: rank[source[i]] < rank[t],
            "Co": lambda i=i, t=target: rank[i] < rank[t],
        }.get(edge.kind, lambda: True)
        if not there():
            return False
    return True


def satisfies(layout: CycleLayout, source: Mapping[int, int | None], rank: Mapping[int | None, int]) -> bool:
    def value(write: int | None) -> int:
        if write is None:
            return 0
        if layout.events[write].annotation.operation != "red":
            return layout.events[write].value
        here = [w for w in rank if w is not None and layout.events[w].location == layout.events[write].location]
        return 1 + value(next((w for w in here if rank[w] == rank[write] - 1), None))  # it adds 1 to what was there

    last = {layout.events[w].location: w for w in sorted((w for w in rank if w is not None), key=lambda w: rank[w])}
    return any(
        all(value(source[read]) == wanted for read, wanted in outcome.reads)
        and all(value(last[place]) == wanted for place, wanted in outcome.finals)
        for outcome in layout.outcomes
    )


def exact(layout: CycleLayout) -> int:
    """How many executions have the cycle, after looking whether these are those with the condition."""
    found = 0
    for source, rank in executions(layout):
        if layout.locations > 1 and not coherent(layout, source, rank):
            continue  # at one location it is coherence that the cycle goes against
        there = contains(layout, source, rank)
        assert there == satisfies(layout, source, rank), (list(map(str, layout.edges)), source, rank)
        found += there
    return found


def has_a_test(layout: CycleLayout) -> bool:
    try:
        refuse_hidden_order(layout)
    except RefusedCycle:
        return False
    return next(generator.tests_of(layout), None) is not None


@pytest.mark.part(6)
@pytest.mark.parametrize(
    ("edges", "bounds", "least"),
    [
        ("Pod**,Rfe,Fre,Coe", SearchBounds((2, 6), (1, 6), mode="critical"), 26),
        ("Pod**,Pos**,Rfe,Rfi,Fre,Fri,Coe,Coi,Rmw", SearchBounds((2, 4), (1, 3), mode="free", one_location=True), 80),
        ("Pod**,Rfe,Fre,Coe,Rmw,Rfi,Pos**", SearchBounds((4, 6), (1, 4)), 60),
        *(
            (f"Pod**,Rfe,Fre,Coe,{edges}", SearchBounds((2, 4), (1, 3), mode="free"), least)
            for edges, least in EVERY_KIND
        ),
    ],
)
def test_a_condition_tells_the_executions_with_the_cycle(edges: str, bounds: SearchBounds, least: int) -> None:
    found = [exact(layout) for layout in search(alphabet(edges), bounds) if has_a_test(layout)]
    assert len(found) >= least
    assert bounds.mode != "critical" or all(found)


@settings(max_examples=drawn(60), deadline=None)
@given(layout=layouts("Pod**,Pos**,Rfe,Rfi,Fre,Fri,Coe,Coi,Rmw", (4, 7), 4, "free"))
def test_also_that_of_a_random_cycle(layout: CycleLayout) -> None:
    exact(layout)
