"""`generate` and `enumerate`: tests from one cycle, and from all that some edges make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from litmus.cycles.build import builder, refuse_hidden_order
from litmus.cycles.cycle import CycleLayout, RefusedCycle, events_like, filled, laid_out, resolved
from litmus.cycles.edges import alphabet, read_cycle
from litmus.cycles.names import name
from litmus.cycles.normal import normal
from litmus.cycles.places import (
    MOST_PLACED,
    UNIFORM,
    CyclePlacement,
    is_label,
    nearest,
    placements,
    read_label,
    rotations,
)
from litmus.cycles.search import MOST_EDGES, SearchBounds, crossed, refuse_mode, search
from litmus.cycles.synchronisation import together
from litmus.test import Test

Range = int | tuple[int, int]


def generate(cycle: str, *, places: str = "", events: str = "") -> Iterator[Test]:
    """The tests of one cycle: one, or with `places="all"` one for each way in which its threads can stand.

    `cycle` has edges with blanks between them. `places` is `gpu` (each thread in a CTA of its own on one GPU), `cta`,
    `cluster`, `sys`, `all`, or where the threads stand as names tell it (`01-2`); without it they stand as `gpu` says, but for
    those that edges want in one CTA or cluster. `events` is what events are that no edge tells of, as in `weak`; without it
    they are relaxed at scope sys. The cycle is brought into its normal form first, so that threads are
    numbered as in diy. The condition is satisfied by exactly the executions with the cycle. Raises `InputError`, which shows
    the edge that breaks the cycle, and `ValueError` for places that there are not.
    """
    edges = read_cycle(cycle)
    try:
        edges = normal(filled(resolved(edges), events_like(events)))
        layout = laid_out(edges)
        refuse_hidden_order(layout)
        every = _tests(layout, name(edges), _placements(layout, places), lenient=places == "all")
        first = next(every, None)
    except RefusedCycle as refused:
        raise refused.error(edges, cycle) from None
    return chain([] if first is None else [first], every)


def enumerate(
    edges: str = "Pod**,Rfe,Fre,Coe",
    *,
    size: Range = (4, 6),
    threads: Range = 4,
    places: str = "",
    mode: str = "sc",
    inner: int = 4,
    events: str = "",
    cumulative: bool = True,
    one_location: bool = False,
    relaxed: str = "",
) -> Iterator[Test]:
    """The tests of all cycles of some edges, lazily, each once, in an order that does not change: by size, then as diy finds
    them.

    `edges` is a list with wildcards. `size` is a number of edges, or the least and greatest; `threads` the greatest number of
    threads, or the least and greatest. `places` is as for `generate`: with `01-2` there are the cycles of three threads, with
    `all` each placement is there once up to the symmetry of the cycle and the names of CTAs, clusters and GPUs. `mode`, one of
    `sc`, `critical`, `free`, `uni`, `ppo`, `total`, says what edges may follow each other, as in diy; `inner` is the greatest
    number of accesses in a thread; `events` is what events are that no edge tells of, as for `generate`; `cumulative` is
    whether a fence may stand next to an `Rf`; `one_location` whether all accesses may be at one location. With `relaxed`,
    another list, each cycle has exactly one of its edges, once or more, beside those of `edges`: diy's `-relax` and `-safe`.
    Raises `InputError` for what is no edge, and `ValueError` for bounds, modes and places that there are not.
    """
    refuse_mode(mode)
    sizes = (size, size) if isinstance(size, int) else size
    counts = (1, threads) if isinstance(threads, int) else threads
    if not 1 <= sizes[0] <= sizes[1] or not 1 <= counts[0] <= counts[1] or inner < 1:
        raise ValueError("sizes and threads are numbers from 1 on, the lesser first")
    if sizes[1] > MOST_EDGES:
        raise ValueError(f"all cycles are told of at most {MOST_EDGES} edges, not of {sizes[1]}")
    _refuse_places(places)
    if places == "all" and counts[1] > MOST_PLACED:
        raise ValueError(f"all ways to place threads are told of at most {MOST_PLACED} threads, not of {counts[1]}")
    bounds = SearchBounds(sizes, counts, inner, mode, cumulative, one_location, events_like(events))
    return _enumerated(search(alphabet(edges), bounds, alphabet(relaxed) if relaxed else ()), places)


def _refuse_places(places: str) -> None:
    if places not in ("", "all") and not is_label(places):
        raise ValueError(
            f"'{places}' does not place threads, each once: one of {', '.join(UNIFORM)}, all, or as in 01-2"
        )


def cross(lists: Sequence[str], *, places: str = "", events: str = "") -> Iterator[Test]:
    """The tests of the cycles that have one edge of each list, in the order of the lists, each once, as diycross7 makes them.

    A list is as for `enumerate`, where a sequence in brackets counts as one edge; `places` and `events` are as there. What is
    no cycle is left out. Raises `InputError` for what is no edge, and `ValueError` for no list and for no such places.
    """
    if not lists:
        raise ValueError("a cycle has edges: at least one list is needed")
    _refuse_places(places)
    return _enumerated(crossed([alphabet(text) for text in lists], events_like(events)), places)


def _enumerated(layouts: Iterable[CycleLayout], places: str) -> Iterator[Test]:
    used: dict[str, int] = {}
    for layout in layouts:
        try:
            refuse_hidden_order(layout)
        except RefusedCycle:
            continue
        called = name(layout.edges)
        if any(len(events) > 2 for events in layout.threads):  # else the name tells all edges
            number = used.get(called, 0)
            used[called] = number + 1
            called = f"{called}{number:03}" if number else called
        if _fits(places, len(layout.threads)):
            yield from _tests(layout, called, _placements(layout, places), lenient=True)


def _fits(places: str, count: int) -> bool:
    """Whether `places` are places for so many threads: `01-2` is for three."""
    return places in ("", "all", *UNIFORM) or sum(map(str.isalnum, places)) == count


def tests_of(layout: CycleLayout, placement: CyclePlacement | None = None) -> Iterator[Test]:
    """The test of a cycle with its threads at these places, or where `generate` puts them; none where they cannot stand so."""
    where = _placements(layout, "") if placement is None else (placement,)
    return _tests(layout, name(layout.edges), where, lenient=True)


def _tests(layout: CycleLayout, called: str, where: Sequence[CyclePlacement], lenient: bool) -> Iterator[Test]:
    """The tests of a cycle at these places; where one cannot be made there, it is left out if `lenient`."""
    build = builder(layout, called)
    for placement in where:
        try:
            test = build(placement)
        except RefusedCycle:
            if not lenient:
                raise
            continue
        yield test


def _placements(layout: CycleLayout, places: str) -> Sequence[CyclePlacement]:
    count = len(layout.threads)
    if not places:
        return (nearest(together(layout), count),)
    if places != "all":
        return (read_label(places, count),)
    threads = [tuple(str(layout.edges[i]) for i in events) for events in layout.threads]
    return placements(count, rotations(threads))
