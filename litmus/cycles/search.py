"""Every cycle of some size from a set of edges, each once up to rotation, in the order in which diy finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from litmus.cycles.annotations import PLAIN, Annotation, Unfit, merged
from litmus.cycles.cycle import CycleLayout, RefusedCycle, filled, laid_out, resolved
from litmus.cycles.edges import Edge
from litmus.cycles.normal import normal
from ptxcore.records import dataclass

#: Cycles of so many edges are enumerated at most.
MOST_EDGES = 100
#: Which edges may follow each other. `sc`: what SC forbids, without two edges in a thread where one would do; `critical`:
#: edges within threads and between them take turns; `free`: no communication twice in a row, else anything; `uni`: for one
#: location; `ppo`: as `free`, and no edge twice in a row; `total`: anything.
MODES = ("sc", "critical", "free", "uni", "ppo", "total")
#: Modes of diy7 that are none here, and what is right in their place.
_ELSEWHERE = {
    "thin": "cycles of dependencies are those of --edges 'Rfe,DpAddrd*,DpDatadW,DpCtrldW'",
    "transitive": "mode sc takes no two edges in a thread where one of the list would do",
    "mixed": "accesses of cycles have one size",
}


def refuse_mode(mode: str) -> None:
    """Raises ValueError for what is no mode; for a mode of diy7 that is none here, with what is right in its place."""
    if mode in MODES:
        return
    choices = f"the modes are {', '.join(MODES)}"
    if mode in _ELSEWHERE:
        raise ValueError(f"diy7's mode '{mode}' is none here: {_ELSEWHERE[mode]}; {choices}")
    raise ValueError(f"'{mode}' is no mode: {choices}")


@dataclass(frozen=True)
class SearchBounds:
    """What cycles are looked for: `sizes`, the least and greatest number of edges, and `threads` likewise; `inner`, the most
    accesses in a thread; `mode`, one of `MODES`; `cumulative`: whether a fence may stand next to an `Rf`; `one_location`:
    whether all accesses may be at one location; `events`: what is said of events of which no edge tells."""

    sizes: tuple[int, int] = (1, 6)
    threads: tuple[int, int] = (1, 4)
    inner: int = 4
    mode: str = "sc"
    cumulative: bool = True
    one_location: bool = False
    events: Annotation = PLAIN


def search(
    alphabet: Sequence[Sequence[Edge]], bounds: SearchBounds, relaxed: Sequence[Sequence[Edge]] = ()
) -> Iterator[CycleLayout]:
    """The cycles in normal form, those with fewer edges first. `alphabet` has sequences of edges; each counts as one. With
    `relaxed`, each cycle has exactly one of these sequences, once or more, beside those of `alphabet`."""
    seen: set[int] | None = None if _plain([*alphabet, *relaxed]) else set()
    for size in range(max(1, bounds.sizes[0]), bounds.sizes[1] + 1):
        for found in _sequences(alphabet, size, bounds, relaxed):
            cycle = [edge for item in found for edge in item]
            try:
                layout = laid_out(normal(filled(resolved(cycle), bounds.events)))
            except RefusedCycle:
                continue
            if not wanted(layout, bounds):
                continue
            if seen is not None:
                mark = _mark(layout)
                if mark in seen:
                    continue
                seen.add(mark)
            yield layout


def crossed(lists: Sequence[Sequence[Sequence[Edge]]], events: Annotation) -> Iterator[CycleLayout]:
    """The cycles that have one sequence of each list, in this order, each once up to rotation; what does not fit is left
    out."""
    seen: set[int] = set()
    for chosen in product(*lists):
        try:
            layout = laid_out(normal(filled(resolved([edge for item in chosen for edge in item]), events)))
        except RefusedCycle:
            continue
        mark = _mark(layout)
        if mark not in seen:
            seen.add(mark)
            yield layout


def _mark(layout: CycleLayout) -> int:
    """The same for all rotations of a cycle."""
    return hash(min(tuple(e.key for e in layout.edges[i:] + layout.edges[:i]) for i in range(len(layout.edges))))


def _plain(alphabet: Sequence[Sequence[Edge]]) -> bool:
    """Whether different sequences always are different cycles."""
    return all(len(item) == 1 and item[0].said() == "" for item in alphabet)


def _sequences(
    alphabet: Sequence[Sequence[Edge]], size: int, bounds: SearchBounds, relaxed: Sequence[Sequence[Edge]]
) -> Iterator[list[Sequence[Edge]]]:
    if not relaxed:
        yield from _necklaces(alphabet, size, bounds, alphabet)
    safe = [item for item in alphabet if item not in relaxed]
    for one in relaxed:
        mixed = sorted([*safe, one], key=lambda item: [edge.key for edge in item])
        yield from (found for found in _necklaces(mixed, size, bounds, safe) if one in found)


def _necklaces(
    alphabet: Sequence[Sequence[Edge]], size: int, bounds: SearchBounds, safe: Sequence[Sequence[Edge]]
) -> Iterator[list[Sequence[Edge]]]:
    """The sequences of a size of which neighbours fit, also the last and the first, each the first of its rotations.

    Sequences are made from their last item on, in the order of the alphabet, as prenecklaces: a prefix that is no beginning
    of a least rotation is not gone on with.
    """
    fits = fitting(alphabet, bounds, safe)
    outer = [sum(edge.external for edge in item) for item in alphabet]
    runs = [_leading(item) for item in alphabet]
    chosen = [0] * (size + 1)
    most_threads, most_inner = bounds.threads[1], bounds.inner - 1

    def extend(at: int, period: int, threads: int, run: int) -> Iterator[list[Sequence[Edge]]]:
        if at > size:
            if size % period == 0 and fits[chosen[1]][chosen[size]]:
                yield [alphabet[chosen[i]] for i in range(size, 0, -1)]
            return
        least = chosen[at - period]
        for item in range(least, len(alphabet)):
            if at > 1 and not fits[item][chosen[at - 1]]:
                continue
            total = threads + outer[item]
            length, closed = runs[item]
            inside = length if closed else run + length
            if total > most_threads or inside > most_inner:
                continue
            chosen[at] = item
            yield from extend(at + 1, period if item == least else at, total, inside)

    return extend(1, 1, 0, 0)


def _leading(item: Sequence[Edge]) -> tuple[int, bool]:
    """How many edges stand before the first that leaves the thread, and whether there is one."""
    for count, edge in enumerate(item):
        if edge.external:
            return count, True
    return len(item), False


def fitting(
    alphabet: Sequence[Sequence[Edge]], bounds: SearchBounds, safe: Sequence[Sequence[Edge]]
) -> list[list[bool]]:
    """Whether each item may stand before each other, where one edge of `safe` does not do for both."""
    order = [edge for item in safe for edge in item if len(item) == 1 and edge.kind == "Po"]
    fences = [edge for item in safe for edge in item if len(item) == 1 and edge.kind == "Fence"]
    choice = _CHOICES[bounds.mode](_directions(order), _directions(fences))
    return [[_joins(a[-1], b[0], bounds, choice) for b in alphabet] for a in alphabet]


def _directions(edges: Sequence[Edge]) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in edges}


def _joins(a: Edge, b: Edge, bounds: SearchBounds, choice: Callable[[Edge, Edge], bool]) -> bool:
    if a.target != b.source:
        return False
    try:
        merged(a.last, b.first)
    except Unfit:
        if "Rmw" not in (a.kind, b.kind):
            return False
    if (a.kind, b.kind) in _COMPOSED:
        return a.external != b.external
    if (a.kind, b.kind) in (("Rf", "Fence"), ("Fence", "Rf")) and not bounds.cumulative:
        return False
    return choice(a, b)


#: Communication that, one after the other, is communication again.
_COMPOSED = (("Co", "Co"), ("Fr", "Co"), ("Rf", "Fr"))
Directions = set[tuple[str, str]]
EdgeChoice = Callable[[Edge, Edge], bool]


def _sc(order: Directions, fences: Directions) -> EdgeChoice:
    def choice(a: Edge, b: Edge) -> bool:
        over = (a.source, b.target)
        kinds = (a.kind, b.kind)
        inner = not a.external and not b.external
        if "Rmw" in kinds:
            return True
        if not inner:
            return True
        if kinds in (("Rf", "Dp"), ("Dp", "Rf")):
            return True
        if kinds in (("Dp", "Co"), ("Dp", "Fr"), ("Po", "Po")):
            return over not in order
        if kinds == ("Po", "Dp"):
            return (a.source, a.target) not in order and over not in order
        if kinds == ("Dp", "Po"):
            return (b.source, b.target) not in order and over not in order
        if kinds == ("Rf", "Po"):
            return (b.source, b.target) in order and over not in order
        if kinds == ("Po", "Rf"):
            return (a.source, a.target) in order and over not in order
        if (kinds == ("Fence", "Dp") and a.same) or (kinds == ("Dp", "Fence") and b.same and a.target == "R"):
            return b.target == "R" and over not in fences if kinds[0] == "Fence" else over not in fences
        return False

    return choice


def _critical(order: Directions, fences: Directions) -> EdgeChoice:
    def choice(a: Edge, b: Edge) -> bool:
        if (a.kind in ("Co", "Fr") and b.kind == "Rf") or "Rmw" in (a.kind, b.kind):
            return True
        return a.external != b.external

    return choice


def _free(order: Directions, fences: Directions) -> EdgeChoice:
    return lambda a, b: True


def _uni(order: Directions, fences: Directions) -> EdgeChoice:
    return lambda a, b: (a.kind, b.kind) != ("Po", "Po")


def _ppo(order: Directions, fences: Directions) -> EdgeChoice:
    return lambda a, b: a.key != b.key


_CHOICES = {"sc": _sc, "critical": _critical, "free": _free, "total": _free, "uni": _uni, "ppo": _ppo}


def wanted(layout: CycleLayout, bounds: SearchBounds) -> bool:
    """Whether a cycle is one of those that are looked for, by all of it."""
    edges = layout.edges
    if not bounds.threads[0] <= len(layout.threads) <= bounds.threads[1]:
        return False
    if any(len(events) > bounds.inner for events in layout.threads):
        return False
    one = all(edge.same for edge in edges)
    if one and not (bounds.one_location or bounds.mode == "uni"):
        return False
    if bounds.mode in ("sc", "ppo") and not one and sum(edge.external for edge in edges) == 1:
        return False
    return bounds.mode not in ("sc", "critical") or not any(_backwards(layout, events) for events in layout.threads)


def _backwards(layout: CycleLayout, events: Sequence[int]) -> bool:
    """Whether the last access of a thread comes before the first in coherence order."""
    first, last = layout.events[events[0]], layout.events[events[-1]]
    return first.location == last.location and (last.value, last.direction == "R") < (
        first.value,
        first.direction == "R",
    )
