"""The normal form of a cycle under rotation, and the classic name of its shape, as diy has them."""

from __future__ import annotations

from collections.abc import Sequence

from litmus.cycles.cycle import RefusedCycle
from litmus.cycles.edges import Edge, before

#: Shapes of threads (first and last access) from what comes first in a normal form.
_POINTS = {points: rank for rank, points in enumerate(("W", "WW", "RR", "RW", "WR", "R"))}
#: What the field calls a cycle whose threads have these shapes.
CLASSIC = {
    "WW+RR": "MP",
    "WR+WR": "SB",
    "WR+WR+WR": "3.SB",
    "WR+WR+WR+WR": "4.SB",
    "RW+RW": "LB",
    "RW+RW+RW": "3.LB",
    "RW+RW+RW+RW": "4.LB",
    "WW+WR": "R",
    "WW+RW": "S",
    "WW+WW": "2+2W",
    "WW+WW+WW": "3.2W",
    "WW+WW+WW+WW": "4.2W",
    "W+RW+RR": "WRC",
    "W+RR+WR": "RWC",
    "W+RW+RW": "WWC",
    "W+RW+WR": "WRW+WR",
    "W+RR+WW": "WRR+2W",
    "W+RW+WW": "WRW+2W",
    "WW+RR+WR": "W+RWC",
    "WW+RW+RR": "ISA2",
    "W+RR+W+RR": "IRIW",
    "W+RR+W+RW": "IRRWIW",
    "W+RW+W+RR": "IRRWIW",
    "W+RW+W+RW": "IRWIW",
    "WW+RW+WR": "Z6.0",
    "WW+WW+RW": "Z6.1",
    "WW+RW+RW": "Z6.2",
    "WW+WW+RR": "Z6.3",
    "WW+WR+WR": "Z6.4",
    "WW+WW+WR": "Z6.5",
}
#: And where all accesses are at one location.
COHERENCE = {
    "WW": "CoWW",
    "RW": "CoRW1",
    "W+RW": "CoRW2",
    "W+WR": "CoWR",
    "W+RR": "CoRR",
    "WR": "CoWR0",
}


def threads_of(edges: Sequence[Edge]) -> list[list[Edge]]:
    """The edges of each thread, the last of each leading to the next, from the first thread that begins on.

    Raises `RefusedCycle` for a cycle within one thread.
    """
    count = len(edges)
    start = next((i for i in range(count) if edges[i - 1].external), None)
    if start is None:
        raise RefusedCycle(
            count - 1, "this cycle never leaves its thread", "communication between threads ends in e, as in Rfe"
        )
    found: list[list[Edge]] = [[]]
    for step in range(count):
        edge = edges[(start + step) % count]
        found[-1].append(edge)
        if edge.external:
            found.append([])
    return found[:-1]


def normal(edges: Sequence[Edge]) -> list[Edge]:
    """The rotation of a resolved cycle that stands for all. It begins where a thread does."""
    threads = threads_of(edges)
    points = [_POINTS[_shape(thread)] for thread in threads]
    count = len(threads)
    least = min([points[i:] + points[:i] for i in range(count)])
    best: list[Edge] | None = None
    for i in range(count):
        if points[i:] + points[:i] == least:
            rotation = [edge for thread in threads[i:] + threads[:i] for edge in thread]
            if best is None or _compare(best, rotation) >= 0:
                best = rotation
    assert best is not None
    return best


def _shape(thread: Sequence[Edge]) -> str:
    return thread[0].source if len(thread) == 1 else thread[0].source + thread[-1].source


def _compare(a: Sequence[Edge], b: Sequence[Edge]) -> int:
    """Which of two rotations with threads of the same shapes comes first: that with fewer edges in its first thread, else by
    the first edges that differ."""
    inner = [next(i for i, edge in enumerate(edges) if edge.external) for edges in (a, b)]
    if inner[0] != inner[1]:
        return inner[0] - inner[1]
    return next((c for x, y in zip(a, b, strict=True) if (c := before(x, y))), 0)


def family(edges: Sequence[Edge]) -> str:
    """The classic name of a cycle in normal form, or the shapes of its threads (`W+RW+WW+WR`)."""
    key = "+".join(map(_shape, threads_of(edges)))
    name = COHERENCE.get(key) if all(edge.same for edge in edges) else None
    return name or CLASSIC.get(key, key)


def least_rotation(edges: Sequence[Edge]) -> list[Edge]:
    """The rotation that `Cycle=` shows, the same for all of a cycle."""
    count = len(edges)
    keys = [edge.key for edge in edges]
    best = 0
    for start in range(1, count):
        if keys[start:] + keys[:start] < keys[best:] + keys[:best]:
            best = start
    return [*edges[best:], *edges[:best]]
