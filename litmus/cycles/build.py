"""From the events of a cycle to a test: locations, threads, placement, condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from litmus.cycles import copies
from litmus.cycles.code import WrittenThread, columns, location_name
from litmus.cycles.cycle import CycleLayout, CycleOutcome, RefusedCycle
from litmus.cycles.edges import Edge, shown
from litmus.cycles.normal import least_rotation
from litmus.cycles.places import CyclePlacement, label, places
from litmus.cycles.synchronisation import Synchronisation, is_synchronised, synchronise
from litmus.test import (
    And,
    Compare,
    Condition,
    Constant,
    LaunchedKernel,
    LitmusThread,
    Location,
    LocationTerm,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)
from ptxcore.syntax.tree import AnyStatement

_Parts = tuple[tuple[tuple[AnyStatement, ...], ...], tuple[Location, ...], tuple[LaunchedKernel, ...], Proposition]


def builder(layout: CycleLayout, name: str) -> Callable[[CyclePlacement], Test]:
    """What makes the test of a cycle with its threads at the places that it is given, with the cycle as its comment. It raises
    `RefusedCycle` where they cannot stand so."""
    cycle, meta = written(layout.edges), information(layout)
    alike = None if is_synchronised(layout) else _parts(layout, None)

    def build(placement: CyclePlacement) -> Test:
        statements, locations, kernels, proposition = alike or _parts(layout, placement)
        threads = tuple(
            LitmusThread(f"P{t}", place, column)
            for t, (column, place) in enumerate(zip(statements, places(placement), strict=True))
        )
        return Test(
            name + label(placement),
            threads,
            locations,
            Condition("exists", proposition),
            kernels=kernels,
            meta=meta,
            comments=(cycle,),
        )

    return build


def _parts(layout: CycleLayout, placement: CyclePlacement | None) -> _Parts:
    """What a test is made of beside its places; a placement is needed where threads synchronise."""
    cells = columns(layout)
    meeting = Synchronisation() if placement is None else synchronise(layout, cells, placement)
    statements = tuple(tuple(column.statements) for column in cells)
    locations = (*_locations(layout), *copies.ends(layout), *meeting.locations)
    return statements, locations, meeting.kernels, _proposition(layout, cells)


def information(layout: CycleLayout) -> tuple[tuple[str, str], ...]:
    """The lines `Cycle=` and `Com=`: the cycle, and how each thread leads to the next."""
    com = " ".join(edge.kind for edge in layout.edges if edge.external)
    return ("Cycle", written(least_rotation(layout.edges))), ("Com", com)


def written(edges: Sequence[Edge]) -> str:
    """The edges of a cycle as text. What is said of an event stands at one edge, so that reading it gives the same cycle."""
    return " ".join(edge.bare + edge.said(*shown(edges, i)) for i, edge in enumerate(edges))


@lru_cache(maxsize=4096)
def _compare(thread: int, register: str, value: int) -> Compare:
    return Compare("==", RegisterTerm(f"P{thread}", register), Constant(value))


@lru_cache(maxsize=4096)
def _final(name: str, value: int, wide: bool = False) -> Compare:
    return Compare("==", LocationTerm(name, 0 if wide else None), Constant(value))


@lru_cache(maxsize=256)
def _location(name: str) -> Location:
    return Location(name)


def _locations(layout: CycleLayout) -> list[Location]:
    spaces, wide = copies.spaces(layout), copies.wide(layout)
    found = [
        copies.location(location_name(n), spaces[n], n in wide) if n in spaces else _location(location_name(n))
        for n in range(layout.locations)
    ]
    ways = dict.fromkeys((e.location, e.annotation.way) for e in layout.events if e.annotation.way)
    for n, way in sorted(ways):
        name = location_name(n)
        proxy = {"alias": "generic", "const": "constant"}[way]
        found.append(Location(f"{name}1", alias_of=name, proxy=proxy))
    return found


def _proposition(layout: CycleLayout, written: Sequence[WrittenThread]) -> Proposition:
    ways = [_one(layout, written, outcome) for outcome in layout.outcomes]
    return ways[0] if len(ways) == 1 else Or(tuple(ways))


def _one(layout: CycleLayout, written: Sequence[WrittenThread], outcome: CycleOutcome) -> Proposition:
    wide, copied = copies.wide(layout), copies.copied(layout)
    named = sorted((location_name(n), value, n in wide) for n, value in outcome.finals)
    reads = dict(outcome.reads)
    parts = [
        *(_final(name, value, many) for name, value, many in named),
        *(
            _copied(layout, i, reads[i]) if i in copied else _compare(t, written[t].registers[i], reads[i])
            for t, events in enumerate(layout.threads)
            for i in events
            if i in reads
        ),
    ]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _copied(layout: CycleLayout, i: int, value: int) -> Compare:
    """What a copy has read."""
    return _final(copies.other_end(layout, i), value, layout.events[i].annotation.operation == "bulk")


def refuse_hidden_order(layout: CycleLayout) -> None:
    """Raises `RefusedCycle` where nothing tells in which order accesses of one location come: two reductions, or a copy and an
    access of its own thread; and for other copies that there are not."""
    copies.refuse(layout)
    seen: set[int] = set()
    for i, event in enumerate(layout.events):
        if event.annotation.operation in ("red", "reduce"):
            if event.location in seen:
                raise RefusedCycle(
                    i - 1, "two reductions of one location: no final state tells in which order they came"
                )
            seen.add(event.location)
