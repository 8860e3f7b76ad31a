"""A cycle of edges as events: their directions, locations, values and threads, or why no test can be made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations, product

from litmus.cycles.annotations import PLAIN, Annotation, Unfit, merged, read_annotations, settled
from litmus.cycles.edges import Edge
from ptxcore.diagnostics import Diagnostic, InputError
from ptxcore.records import dataclass

#: With so many writes to a location no final state tells in which order they came.
MOST_WRITES = 2


class RefusedCycle(ValueError):
    """A cycle that no test can be made of. `at` is the number of the edge that breaks it; `hint` says what would be right."""

    def __init__(self, at: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.at = at
        self.hint = hint

    def error(self, edges: Sequence[Edge], text: str) -> InputError:
        """The error that shows the edge in the text that the cycle was read from."""
        return InputError([Diagnostic(edges[self.at].span, str(self), self.hint)], "<cycle>", text)


@dataclass(frozen=True, slots=True)
class CycleEvent:
    """An access: the source of an edge. `value` is what a write writes, or a read returns where the cycle is; `looked_at` is
    whether the condition speaks of that."""

    direction: str
    location: int
    thread: int
    value: int = 0
    looked_at: bool = False
    annotation: Annotation = PLAIN


@dataclass(frozen=True, slots=True)
class CycleOutcome:
    """How an execution with the cycle ends: what the reads that are looked at return, by their numbers, and the last values of
    the locations that are written twice."""

    reads: tuple[tuple[int, int], ...]
    finals: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class CycleLayout:
    """The events of a cycle, `events[i]` the source of `edges[i]`; the events of each of the `threads`; how many `locations`
    there are; and the `outcomes`: how executions with the cycle end. One, unless all events are at one location."""

    edges: tuple[Edge, ...]
    events: tuple[CycleEvent, ...]
    threads: tuple[tuple[int, ...], ...]
    locations: int
    outcomes: tuple[CycleOutcome, ...]


def resolved(edges: Sequence[Edge]) -> list[Edge]:
    """The same edges with all directions known, and with the same said of each event by the edge before and the one behind.

    Raises `RefusedCycle` where two edges do not fit each other.
    """
    count = len(edges)
    found = [_direction(edges, i) for i in (*range(1, count), 0)]  # what the last edge leads back to is looked at last
    directions = [found[-1], *found[:-1]]
    said = []
    for i, edge in enumerate(edges):
        previous = edges[i - 1]
        both = previous.kind == "Rmw" or edge.kind == "Rmw"
        try:
            one = merged(previous.last, edge.first)
            if edge.kind == "Rmw":
                one = _of_both(one, merged(edge.last, edges[(i + 1) % count].first))
            elif previous.kind == "Rmw":
                one = _of_both(merged(edges[i - 2].last, previous.first), one)
            said.append(settled(one, "RW" if both else directions[i]))
        except Unfit as unfit:
            raise RefusedCycle(i, str(unfit), unfit.hint) from None
    return [
        replace(
            edge,
            source=directions[i],
            target=directions[(i + 1) % count],
            first=said[i],
            last=said[(i + 1) % count],
        )
        for i, edge in enumerate(edges)
    ]


def events_like(text: str) -> Annotation:
    """The annotation that a word such as `rlx.gpu` writes. Raises `ValueError` for what is none."""
    said = read_annotations(text.split(".")) if text else [PLAIN]
    if len(said) != 1 or "*" in text:
        raise ValueError(f"'{text}' is not what one event is, as weak or rlx.gpu are")
    return said[0]


def filled(edges: Sequence[Edge], annotation: Annotation) -> list[Edge]:
    """A resolved cycle in which the events are so of which no edge tells anything."""
    if annotation == PLAIN:
        return list(edges)
    count = len(edges)
    said = [edge.first for edge in edges]
    for i, edge in enumerate(edges):
        both = edge.kind == "Rmw" or edges[i - 1].kind == "Rmw"
        if said[i] == PLAIN:
            try:
                said[i] = settled(annotation, "RW" if both else edge.source)
            except Unfit as unfit:
                if both:
                    continue  # an atomic operation that cannot be so stays what it is
                raise RefusedCycle(i, str(unfit), unfit.hint) from None
    return [replace(edge, first=said[i], last=said[(i + 1) % count]) for i, edge in enumerate(edges)]


def _of_both(read: Annotation, write: Annotation) -> Annotation:
    """What is said of an atomic operation, from what is said of its read and of its write."""
    orders = {read.semantics, write.semantics}
    if orders == {"acquire", "release"} and read.scope == write.scope:
        read, write = replace(read, semantics="acq_rel"), PLAIN
    elif "acq_rel" in orders and read.scope == write.scope:
        read, write = replace(read, semantics="acq_rel"), replace(write, semantics="acq_rel")
    return merged(read, write)


def _direction(edges: Sequence[Edge], i: int) -> str:
    """What event `i` is, by the edge before it and its own."""
    a, b = edges[i - 1].target, edges[i].source
    if a == b == "*":
        raise RefusedCycle(i, "whether there is a read or a write before this edge is open", "say it, as in PodWR")
    if "*" not in (a, b) and a != b:
        words = {"R": "a read", "W": "a write"}
        raise RefusedCycle(i, f"this edge starts at {words[b]}, and {edges[i - 1].bare} before it ends at {words[a]}")
    return a if b == "*" else b


def laid_out(edges: Sequence[Edge]) -> CycleLayout:
    """The events of a cycle that `resolved` gave, threads counted from its first edge on.

    Raises `RefusedCycle` for a cycle of which no test with such a condition exists.
    """
    location, count = _locations(edges)
    accesses = [_accesses(edges, run) for run in _runs(edges)]
    for _, writes in accesses:
        if len(writes) > MOST_WRITES:
            message = "a third write to a location: no final state tells in which order they came"
            raise RefusedCycle(writes[MOST_WRITES] - 1, message, "a cycle has at most two writes to a location")
    values = {write: nth for _, writes in accesses for nth, write in enumerate(writes, 1)}
    sources = {read: write for reads, _ in accesses for read, write in reads.items()}
    written = {location[write] for write in values}
    looked = [
        edge.source == "R" and location[i] in written and (_shown(edge) or _shown(edges[i - 1]))
        for i, edge in enumerate(edges)
    ]
    if count == 1:
        outcomes = _at_one_location(edges, values, looked)
    else:
        ends = tuple((i, _value(values, sources[i])) for i in sorted(sources) if looked[i])
        lasts = {location[writes[-1]]: values[writes[-1]] for _, writes in accesses if len(writes) == MOST_WRITES}
        outcomes = (CycleOutcome(ends, tuple(sorted(lasts.items()))),)
    threads = _threads(edges)
    thread = {i: t for t, events in enumerate(threads) for i in events}
    events = tuple(
        CycleEvent(edge.source, location[i], thread[i], _value(values, sources.get(i, i)), looked[i], edge.first)
        for i, edge in enumerate(edges)
    )
    return CycleLayout(tuple(edges), events, threads, count, outcomes)


def _value(values: dict[int, int], write: int | None) -> int:
    return 0 if write is None else values[write]


def _shown(edge: Edge) -> bool:
    """Whether what a read at an end of this edge returns is part of the cycle."""
    return edge.communicates or edge.kind == "Rmw"


def _threads(edges: Sequence[Edge]) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    events: list[int] = []
    for i, edge in enumerate(edges):
        events.append(i)
        if edge.external:
            found.append(tuple(events))
            events = []
    return tuple(found)


def _locations(edges: Sequence[Edge]) -> tuple[list[int], int]:
    """The location of each event, numbered in the order in which the cycle comes to them, and how many there are."""
    count = len(edges)
    changes = sum(not edge.same for edge in edges)
    if changes == 1:
        at = next(i for i, edge in enumerate(edges) if not edge.same)
        raise RefusedCycle(
            at, "the only edge to a different location leads back to the same", "two edges with d, or none"
        )
    if not changes:
        return [0] * count, 1
    location = [0] * count
    place = -1
    start = _first_location(edges)
    for step in range(count):
        i = (start + step) % count
        place += not edges[i - 1].same
        location[i] = place
    return location, changes


def _first_location(edges: Sequence[Edge]) -> int:
    """The event from which on locations are named: the first of a location that reaches into the first thread, if one does."""
    count = len(edges)
    at = 0
    while not edges[at].external:
        at -= 1
    while edges[at].same:
        at -= 1
    for step in range(count):
        i = (at + step) % count
        if edges[i].same and not edges[i - 1].same:
            return i
    return (at + 1) % count


def _runs(edges: Sequence[Edge]) -> list[list[int]]:
    """The events of each location in the order in which the cycle says that coherence has them.

    Where all are at one location coherence has to go against an edge: it is the first of program order.
    """
    count = len(edges)
    starts = [i for i in range(count) if not edges[i - 1].same]
    if not starts:
        starts = [i for i in range(count) if not edges[i - 1].communicates][:1]
    if not starts:
        raise RefusedCycle(0, "no execution has a cycle of communication alone", "an edge such as PosRR is needed")
    runs = []
    for start in starts:
        run = [start]
        while edges[run[-1]].same and len(run) < count:
            run.append((run[-1] + 1) % count)
        runs.append(run)
    return runs


def _at_one_location(edges: Sequence[Edge], values: dict[int, int], looked: Sequence[bool]) -> tuple[CycleOutcome, ...]:
    """How all executions with a cycle of one location end: whichever of its edges coherence goes against."""
    writes = tuple(values)
    reads = [i for i, edge in enumerate(edges) if edge.source == "R" and looked[i]]
    found: dict[CycleOutcome, None] = {}
    for order in permutations(writes):
        rank: dict[int | None, int] = {None: 0}
        rank.update((write, nth) for nth, write in enumerate(order, 1))
        for chosen in product(*([i - 1] if edges[i - 1].kind == "Rf" else [None, *order] for i in reads)):
            source = {i: (w % len(edges) if w is not None else None) for i, w in zip(reads, chosen, strict=True)}
            if all(_goes(edges, i, source, rank) for i in range(len(edges))):
                ends = tuple((i, _value(values, source[i])) for i in reads)
                last = ((0, values[order[-1]]),) if len(order) == MOST_WRITES else ()
                found[CycleOutcome(ends, last)] = None
    if not found:
        raise RefusedCycle(0, "no execution has this cycle: each read would have to read from a write that comes later")
    return tuple(found)


def _goes(edges: Sequence[Edge], i: int, source: dict[int, int | None], rank: Mapping[int | None, int]) -> bool:
    """Whether an edge is there where reads read from these sources and writes have this order."""
    target = (i + 1) % len(edges)
    if edges[i].kind == "Rf":
        return source[target] == i
    if edges[i].kind == "Fr":
        return rank[source[i]] < rank[target]
    return edges[i].kind != "Co" or rank[i] < rank[target]


def _accesses(edges: Sequence[Edge], run: Sequence[int]) -> tuple[dict[int, int | None], list[int]]:
    """From which write each read of a location reads, and the writes in their order."""
    sources: dict[int, int | None] = {}
    writes: list[int] = []
    for i in run:
        if edges[i].source == "W":
            writes.append(i)
        else:
            sources[i] = writes[-1] if writes else None
    return sources, writes
