"""The cycles of a test that is there already: what its condition says of communication, and program order in between.

>>> from litmus.cycles import generate
>>> from litmus.cycles.recognise import recognised
>>> [found.name for test in generate("PodWW.rel.gpu Rfe PodRR.acq.gpu Fre") for found in recognised(test)]
['MP+rel.gpu+acq.gpu']
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise, product

from litmus.cycles.accesses import CycleAccess, ElementCell, Unread, Walk, walks
from litmus.cycles.build import builder, written
from litmus.cycles.cycle import RefusedCycle, laid_out, resolved
from litmus.cycles.edges import COPYING, FENCES, PROXIES, WAITING, Edge, read_cycle
from litmus.cycles.names import name
from litmus.cycles.normal import family, normal
from litmus.cycles.places import CyclePlacement, label, rotations, same_places
from litmus.test import (
    And,
    Compare,
    Condition,
    Constant,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)
from ptxcore.diagnostics import InputError
from ptxcore.places import SCOPES
from ptxcore.records import dataclass

__all__ = ["Recognised", "Unread", "recognised"]

#: So many cycles of a test are told at most, and so many ways in which its condition can be satisfied are looked at.
MOST_CYCLES, MOST_WAYS = 16, 64
#: How many threads a cycle has at most that is looked for.
MOST_THREADS = 8


@dataclass(frozen=True)
class Recognised:
    """A cycle of a test. `name` is what the generator calls the test of it, with where the threads stand, `family` the classic
    name of its shape, `cycle` its edges in normal form; `whole` is whether it goes through all accesses of the test, `exact`
    whether the generator makes this very test of the cycle."""

    name: str
    family: str
    cycle: str
    whole: bool
    exact: bool


def recognised(test: Test) -> tuple[Recognised, ...]:
    """The cycles that the condition of a test asks for: those through all accesses, where there are such, else those with the
    fewest. Raises `Unread`, which says why, for a test in which none is found."""
    own = _own(test)
    if own is not None:
        return (own,)
    found = walks(test)
    ways = list(_ways(test.condition))
    if not ways:
        raise Unread("the condition does not say what is read")
    common: dict[tuple[CycleAccess, ...], None] | None = None
    whole = True
    for way in ways:
        links = _links(test, found, way)
        cycles = dict.fromkeys(_whole(test, found, links))
        if common is None or not common:
            common = cycles
        else:
            common = {cycle: None for cycle in common if cycle in cycles} or common
    if not common:
        whole = False
        common = dict.fromkeys(c for way in ways for c in _shortest(found, _links(test, found, way)))
    if not common:
        raise Unread("the condition asks for no cycle")
    kinds = _kinds(test, found, ways)
    told = tuple(dict.fromkeys(_told(test, found, cycle, kinds, whole) for cycle in islice(common, MOST_CYCLES)))
    return tuple(one for one in told if one.exact) or told


# What the condition says.

#: What registers and locations are, in one way to satisfy a condition.
Assignment = Mapping[RegisterTerm | LocationTerm, int]


def _ways(condition: Condition) -> Iterator[Assignment]:
    proposition = condition.proposition
    if condition.quantifier == "forall":
        if not isinstance(proposition, Not):
            return
        proposition = proposition.operand
    for count, way in enumerate(_satisfying(proposition)):
        if count == MOST_WAYS:
            return
        if way:
            yield way


def _satisfying(proposition: Proposition) -> Iterator[Assignment]:
    """Each way to satisfy a proposition by what it says to be equal; what else it says is left out."""
    if isinstance(proposition, Compare):
        left, right = proposition.left, proposition.right
        if proposition.op == "==" and not isinstance(left, Constant) and isinstance(right, Constant):
            yield {left: right.value}
        else:
            yield {}
    elif isinstance(proposition, Or):
        for one in proposition.operands:
            yield from _satisfying(one)
    elif isinstance(proposition, And):
        for parts in product(*(list(_satisfying(one))[:MOST_WAYS] for one in proposition.operands)):
            merged: dict[RegisterTerm | LocationTerm, int] = {}
            for part in parts:
                merged.update(part)
            yield merged
    else:
        yield {}


# Which communication there is then.


@dataclass(slots=True)
class _Links:
    """Communication from each access, by its kind; and the reads of which the condition tells what they return."""

    of: dict[CycleAccess, dict[CycleAccess, str]]
    looked: set[CycleAccess]


def _links(test: Test, found: Sequence[Walk], way: Assignment) -> _Links:
    accesses = [access for walk in found for access in walk.accesses]
    initial = {
        (loc.name, 0): loc.initial[0]
        for loc in test.locations
        if loc.alias_of is None and loc.initial and isinstance(loc.initial[0], int)
    }
    values = _values(test, found, way)
    written_values = _written(accesses, values, initial)
    cells: dict[ElementCell, list[CycleAccess]] = defaultdict(list)
    for access in accesses:
        cells[access.cell].append(access)
    of: dict[CycleAccess, dict[CycleAccess, str]] = {access: {} for access in accesses}
    finals = {_cell(term): value for term, value in way.items() if isinstance(term, LocationTerm)}
    for cell, there in cells.items():
        writes = [a for a in there if a.direction == "W"]
        order = _coherence(writes, written_values, finals.get(cell))
        for a in writes:
            of[a].update({b: "Co" for b in writes if (a, b) in order})
        for read in (a for a in there if a.direction == "R" and a in values):
            others = [w for w in writes if not _is_pair(found, read, w)]
            source = _source(read, others, written_values, values[read], initial.get(cell, 0))
            if source is not None:
                of[source][read] = "Rf"
                of[read].update({w: "Fr" for w in others if (source, w) in order})
            elif values[read] == initial.get(cell, 0):
                of[read].update(dict.fromkeys(others, "Fr"))
    return _Links(of, set(values))


def _cell(term: LocationTerm) -> ElementCell:
    return term.location, 0 if term.element is None else 4 * term.element


def _values(test: Test, found: Sequence[Walk], way: Assignment) -> dict[CycleAccess, int]:
    """What reads return by the condition: the last into each register."""
    values = {}
    for thread, walk in zip(test.threads, found, strict=True):
        last = {access.register: access for access in walk.accesses if access.register is not None}
        for term, value in way.items():
            if isinstance(term, RegisterTerm) and term.thread == thread.name:
                read = last.get(term.register.removeprefix("%"))
                if read is not None:
                    values[read] = value
            elif isinstance(term, LocationTerm):
                values.update({a: value for a in walk.accesses if a.result == _cell(term)})
    return values


def _written(
    accesses: Sequence[CycleAccess], values: Mapping[CycleAccess, int], initial: Mapping[ElementCell, int]
) -> dict[CycleAccess, int]:
    found = {}
    for access in accesses:
        if access.value is not None:
            found[access] = access.value
        elif access.adds is None:
            continue
        elif access.source is not None:
            if access.source in values:
                found[access] = values[access.source] + access.adds
        else:
            others = [a for a in accesses if a.cell == access.cell and a.direction == "W" and a is not access]
            before = max((a.value or 0 for a in others), default=initial.get(access.cell, 0))
            found[access] = before + access.adds
    return found


def _is_pair(found: Sequence[Walk], read: CycleAccess, write: CycleAccess) -> bool:
    """Whether they are one atomic operation."""
    there = found[read.thread].accesses
    at = there.index(read) + 1
    return write.paired and at < len(there) and there[at] is write


def _source(
    read: CycleAccess, writes: Sequence[CycleAccess], values: Mapping[CycleAccess, int], value: int, initial: int
) -> CycleAccess | None:
    """The only write that a read of this value can have read from; None for the initial value, or where there are several."""
    fit = [w for w in writes if values.get(w) == value]
    return fit[0] if len(fit) == 1 else None


def _coherence(
    writes: Sequence[CycleAccess], values: Mapping[CycleAccess, int], final: int | None
) -> set[tuple[CycleAccess, CycleAccess]]:
    """Pairs of writes of one location in their order: the last is that of the final value, else by program order."""
    last = [w for w in writes if values.get(w) == final]
    order = set()
    if final is not None and len(last) == 1:
        order |= {(w, last[0]) for w in writes if w is not last[0]}
    for at, a in enumerate(writes):
        order |= {(a, b) for b in writes[at + 1 :] if a.thread == b.thread and (b, a) not in order}
    return order


# Cycles.


def _whole(test: Test, found: Sequence[Walk], links: _Links) -> Iterator[tuple[CycleAccess, ...]]:
    """The cycles through all accesses: from the last of each thread to the first of the next."""
    count = len(found)
    if count > MOST_THREADS:
        return
    meet = _meetings(test, found)

    def leads(a: int, b: int) -> bool:
        last, first = found[a].accesses[-1], found[b].accesses[0]
        return (a != b and first in links.of[last]) or (a, b) in meet

    def go(path: list[int]) -> Iterator[list[int]]:
        if len(path) == count:
            if leads(path[-1], path[0]):
                yield path
            return
        for thread in range(count):
            if thread not in path and leads(path[-1], thread):
                yield from go([*path, thread])

    if count == 1 and found[0].accesses[0] in links.of[found[0].accesses[-1]]:
        yield tuple(found[0].accesses)
        return
    for path in go([0]):
        yield tuple(access for thread in path for access in found[thread].accesses)


#: Edges through mbarrier objects, by who arrives there; no other mark names an object that is waited for.
_MBARRIERS = defaultdict(
    lambda: "Mbar", copies="CpAsyncMbar", bulk="BulkMbar", stasync="StAsyncMbar", multicast="MulticastMbar"
)


def _meetings(test: Test, found: Sequence[Walk]) -> dict[tuple[int, int], str]:
    """The edges of synchronisation from one thread to another."""
    meet = {}
    for a, giver in enumerate(found):
        for b, taker in enumerate(found):
            common = giver.leaves & taker.enters
            if a == b:
                continue
            handed = [
                _MBARRIERS[k] for k, _, m in (m.partition(" ") for m in giver.leaves) if f"wait {m}" in taker.enters
            ]
            if handed:
                meet[a, b] = max(handed)
            elif "cluster" in common:
                meet[a, b] = "ClusterBar"
            elif any(m.startswith("barrier ") for m in common):
                meet[a, b] = "Bar"
    by_stream: dict[int, list[str]] = defaultdict(list)
    numbers = {thread.name: n for n, thread in enumerate(test.threads)}
    for kernel in test.kernels:
        if len(kernel.threads) == 1:
            by_stream[kernel.stream].append(kernel.threads[0])
    for threads in by_stream.values():
        meet.update({(numbers[a], numbers[b]): "Stream" for a, b in pairwise(threads)})
    return meet


def _shortest(found: Sequence[Walk], links: _Links) -> list[tuple[CycleAccess, ...]]:
    """The cycles with the fewest accesses: one or two in each thread, and communication between threads."""
    best: list[tuple[CycleAccess, ...]] = []
    least = 2 * MOST_THREADS
    numbers = {a: n for walk in found for n, a in enumerate(walk.accesses)}

    def go(path: tuple[CycleAccess, ...], threads: tuple[int, ...]) -> None:
        nonlocal best, least
        here = path[-1]
        for exit_ in found[here.thread].accesses[numbers[here] :]:
            longer = path if exit_ is here else (*path, exit_)
            if len(longer) > least:
                return
            for target in links.of[exit_]:
                if target is path[0] and target.thread != exit_.thread:
                    if len(longer) < least:
                        best, least = [], len(longer)
                    best.append(longer)
                elif target.thread > threads[0] and target.thread not in threads and len(longer) < least:
                    go((*longer, target), (*threads, target.thread))

    for walk in found:
        for start in walk.accesses:
            go((start,), (start.thread,))
    return best


# From accesses to edges.

_Kinds = tuple[dict[tuple[CycleAccess, CycleAccess], str], set[CycleAccess], dict[tuple[int, int], str]]


def _kinds(test: Test, found: Sequence[Walk], ways: Sequence[Assignment]) -> _Kinds:
    """The kinds of communication between accesses in any of the ways, the reads that are looked at, and synchronisation."""
    kinds: dict[tuple[CycleAccess, CycleAccess], str] = {}
    looked: set[CycleAccess] = set()
    for way in ways:
        links = _links(test, found, way)
        looked |= links.looked
        kinds.update({(a, b): kind for a, there in links.of.items() for b, kind in there.items()})
    return kinds, looked, _meetings(test, found)


def _told(test: Test, found: Sequence[Walk], cycle: Sequence[CycleAccess], kinds: _Kinds, whole: bool) -> Recognised:
    """A cycle of accesses as edges: those of which the generator makes the same test, if any are so; else without accesses
    that have no part in it."""
    if whole:
        exact = _read_as(test, found, cycle, kinds, whole)
        if exact.exact:
            return exact
        cycle = [a for i, a in enumerate(cycle) if not _is_idle(found, cycle, i)]
    return _read_as(test, found, cycle, kinds, whole and len(cycle) == sum(len(walk.accesses) for walk in found))


def _is_idle(found: Sequence[Walk], cycle: Sequence[CycleAccess], i: int) -> bool:
    """Whether an access stands between two others of its thread, and nothing else has to do with it or its location."""
    here, before, after = cycle[i], cycle[i - 1], cycle[(i + 1) % len(cycle)]
    if here.paired or not before.thread == here.thread == after.thread or after.paired:
        return False
    others = [a for walk in found for a in walk.accesses if a is not here]
    return not here.depends and not any(a.cell == here.cell or here in a.depends for a in others)


def _read_as(test: Test, found: Sequence[Walk], cycle: Sequence[CycleAccess], kinds: _Kinds, whole: bool) -> Recognised:
    first: list[Edge] | None = None
    for edges in islice(_readings(found, cycle, kinds), MOST_WAYS):
        threads_of = {id(edge): access.thread for edge, access in zip(edges, cycle, strict=True)}
        edges = normal(edges)
        threads = [threads_of[id(edge)] for edge in edges if edge.external]
        placement = _placement(test, edges, threads)
        if whole and _makes(edges, placement, test):
            return _recognised(edges, placement, whole, True)
        if first is None:
            first, where = edges, placement
    assert first is not None
    return _recognised(first, where, whole, False)


def _recognised(edges: Sequence[Edge], placement: CyclePlacement, whole: bool, exact: bool) -> Recognised:
    return Recognised(name(edges) + label(placement), family(edges), written(edges), whole, exact)


def _readings(found: Sequence[Walk], cycle: Sequence[CycleAccess], kinds: _Kinds) -> Iterator[list[Edge]]:
    """What a cycle can be meant as, the likeliest first: accesses to one location that follow each other in a thread may be
    there for their order or for the communication between them, threads that meet may communicate too."""
    count = len(cycle)
    edges = [_edge(found, cycle[i], cycle[(i + 1) % count], kinds, count) for i in range(count)]
    choices = [_choices(edges, cycle, i, kinds) for i in range(count)]
    for chosen in product(*choices):
        yield [replace(edge) for edge in chosen]


def _choices(edges: Sequence[Edge], cycle: Sequence[CycleAccess], i: int, kinds: _Kinds) -> list[Edge]:
    edge, (a, b) = edges[i], (cycle[i], cycle[(i + 1) % len(cycle)])
    communication, looked, meet = kinds
    kind = communication.get((a, b))
    if edge.external:
        if edge.communicates and (a.thread, b.thread) in meet:
            return [replace(edge, kind=meet[a.thread, b.thread]), edge]
        return [edge]
    if edge.kind != "Po" or not edge.same or kind is None:
        return [edge]
    other = replace(edge, kind=kind)
    read, beside = (b, edges[(i + 1) % len(edges)]) if kind == "Rf" else (a, edges[i - 1])
    needed = kind != "Co" and read in looked and not beside.communicates and beside.kind != "Rmw"
    return [other, edge] if needed else [edge, other]


def _makes(edges: Sequence[Edge], placement: CyclePlacement, test: Test) -> bool:
    """Whether the test that the generator makes of a cycle is this one."""
    try:
        layout = laid_out(resolved(edges))
        made = builder(layout, test.name)(placement)
    except RefusedCycle:
        return False
    same = all(a.statements == b.statements for a, b in zip(made.threads, test.threads, strict=True))
    return same and made.condition == test.condition


def _own(test: Test) -> Recognised | None:
    """The cycle that a test says to be of, where the generator makes the test of that."""
    said = dict(test.meta).get("Cycle")
    if said is None:
        return None
    try:
        edges = normal(resolved(read_cycle(said)))
    except (InputError, RefusedCycle):
        return None
    if sum(edge.external for edge in edges) != len(test.threads):
        return None
    placement = same_places([thread.place for thread in test.threads])
    return _recognised(edges, placement, True, True) if _makes(edges, placement, test) else None


def _placement(test: Test, edges: Sequence[Edge], threads: Sequence[int]) -> CyclePlacement:
    """Where the threads of a cycle stand, of the rotations that leave it as it is the one in which they are in order."""
    parts: list[tuple[str, ...]] = []
    part: list[str] = []
    for edge in edges:
        part.append(str(edge))
        if edge.external:
            parts.append(tuple(part))
            part = []
    choices = [list(threads), *([threads[i] for i in turn] for turn in rotations(parts))]
    return same_places([test.threads[t].place for t in min(choices)])


def _edge(found: Sequence[Walk], a: CycleAccess, b: CycleAccess, kinds: _Kinds, count: int) -> Edge:
    communication, _, meet = kinds
    same = a.cell == b.cell
    ends = (a.direction, b.direction, a.annotation, b.annotation)
    there = found[a.thread].accesses
    if a.thread != b.thread or count == 1 or there.index(b) < there.index(a):
        if (a, b) in communication:
            return Edge(communication[a, b], "", True, True, *ends)
        return Edge(meet[a.thread, b.thread], "", True, same, *ends)
    if _is_pair(found, a, b):
        return Edge("Rmw", "", False, True, *ends)
    between = [f for access in there[there.index(a) + 1 : there.index(b) + 1] for f in access.before]
    proxies = [f.removeprefix("proxy.") for f in between if f.startswith("proxy.")]
    fences = [f for f in between if not f.startswith(("proxy.", "wait "))]
    wait = _wait(a, between)
    if wait is not None:
        kind, detail = wait
        return Edge(kind, detail, False, same, *ends)
    if proxies and proxies[0] in PROXIES:
        return Edge("Proxy", proxies[0], False, same, *ends)
    if fences:
        best = min(fences, key=_strength)
        return Edge("Fence", "" if best == "sc.sys" else best, False, same, *ends)
    if a in b.depends:
        return Edge("Dp", b.depends[a], False, same, *ends)
    return Edge("Po", "", False, same, *ends)


def _wait(a: CycleAccess, between: Sequence[str]) -> tuple[str, str] | None:
    """The kind and detail of the edge that waits for the copy that made an access."""
    for kind in WAITING:
        if COPYING[kind] == a.annotation.operation:
            mechanism = "CpAsync" if kind == "CpAsync" else "Bulk"
            for fence in between:
                waited, _, detail = fence.removeprefix("wait ").partition(".")
                if fence.startswith("wait ") and waited == mechanism:
                    return kind, detail
    return None


def _strength(fence: str) -> tuple[int, int]:
    order, _, scope = fence.partition(".")
    return FENCES.index(order), -SCOPES.index(scope)
