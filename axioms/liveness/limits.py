"""Proof that every execution terminates, where threads share several places: each place by itself.

Let all accesses to the places that threads share be morally strong, and let the model have coherence for those. Then
the accesses to one place are in one order, in which program order, `rf`, `co` and `fr` lead forward and each access has
finitely many before it. So an execution, seen by one place, is an interleaving of its threads in which accesses to
other places return anything that may stand there. In an execution without an end some edges of the threads' graphs are
taken without end (the same, whichever place one looks at), and

    from each place, they lie in a strongly connected part of the interleavings that this place allows, together with
    threads that have ended or have stopped where they are; and each thread that is scheduled fairly takes one

The edges for which that can be so are found as a greatest fixed point: what one place rules out, the others need not look at.
Where nothing is left, every execution terminates. Something may be left although there is none: different places may have
different interleavings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from axioms.liveness.graph import END, IDLE, MemoryRange, ProgressGraph, Unsuited
from axioms.liveness.progress import Progress, Schedule
from ptxcore.parts import strongly_connected
from ptxcore.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

#: So many numbers at a place at most; beyond, whether there is a livelock is left open.
_MOST_VALUES = 8
#: So many states seen from one at most; beyond, likewise.
_MOST_STATES = 5_000

#: An edge of a thread's graph: the thread, the node, what the access finds.
StateEdge = tuple[int, int, int]
#: Where each thread is, and what the place holds.
PlacesState = tuple[tuple[int, ...], int]


class Profile(NamedTuple):
    """Who does not terminate, and where the others are."""

    moving: frozenset[int]
    nodes: tuple[int, ...]  # of each thread; -3 for one that goes on


_MOVES = -3


class Limits:
    """The views of all places that threads share and write."""

    def __init__(
        self,
        graphs: Sequence[ProgressGraph],
        schedule: Schedule,
        shared: Callable[[], Sequence[MemoryRange]],
        initial: Mapping[MemoryRange, int],
        tick: Callable[[], None],
    ) -> None:
        """Raises Unsuited where there is too much to look at."""
        self.graphs, self.schedule, self.tick = graphs, schedule, tick
        self.values = _values(graphs, initial)
        self.views = [_View(self, place, initial[place]) for place in shared()]

    def none_goes_on(self, progress: Progress) -> bool:
        """Whether that is proven."""
        found = [view.profiles(progress) for view in self.views]
        return not any(self._may_be(profile, found) for profile in found[0])

    def _may_be(self, profile: Profile, found: Sequence[Mapping[Profile, frozenset[StateEdge]]]) -> bool:
        """Whether threads may fail to terminate like that, as far as this is seen."""
        if any(profile not in some for some in found):
            return False
        allowed = frozenset.intersection(*[some[profile] for some in found])
        while True:
            before = allowed
            for view in self.views:
                allowed &= view.recurring(profile, allowed)
            if {t for t, _, _ in allowed} != profile.moving:
                return False
            if allowed == before:
                return True


def _values(graphs: Sequence[ProgressGraph], initial: Mapping[MemoryRange, int]) -> dict[MemoryRange, tuple[int, ...]]:
    """What each place may hold: what stood there at first, and whatever threads write that find such numbers."""
    known: dict[MemoryRange, dict[int, None]] = {place: {number: None} for place, number in initial.items()}
    size = -1
    while size != (size := sum(map(len, known.values())) + sum(len(g.accesses) for g in graphs)):
        for graph in graphs:
            for node in itertools.count():
                if node >= len(graph.accesses):
                    break
                access = graph.access(node)
                if access.place not in known:
                    raise Unsuited
                numbers = known[access.place]
                for found in list(numbers) if access.reads else [0]:
                    written = graph.edge(node, found).written
                    if written is not None:
                        numbers[written] = None
                if len(numbers) > _MOST_VALUES:
                    raise Unsuited
    return {place: tuple(numbers) for place, numbers in known.items()}


class _View:
    """The interleavings that one place allows."""

    def __init__(self, limits: Limits, place: MemoryRange, initial: int) -> None:
        self.limits, self.place = limits, place
        first: PlacesState = tuple(g.start for g in limits.graphs), initial
        self.steps: dict[PlacesState, list[tuple[StateEdge, PlacesState]]] = {first: []}
        waiting = [first]
        while waiting:
            limits.tick()
            state = waiting.pop()
            steps = self.steps[state] = list(self._next(state))
            for _, to in steps:
                if to not in self.steps:
                    self.steps[to] = []
                    waiting.append(to)
            if len(self.steps) > _MOST_STATES:
                raise Unsuited

    def _next(self, state: PlacesState) -> Iterator[tuple[StateEdge, PlacesState]]:
        nodes, held = state
        limits = self.limits
        for t in limits.schedule.may_move([n != 0 for n in nodes], [n == END for n in nodes]):
            node = nodes[t]
            if node == IDLE:
                yield (t, node, 0), state
                continue
            graph = limits.graphs[t]
            access = graph.access(node)
            here = access.place == self.place
            numbers: Sequence[int] = (held,) if here else limits.values[access.place] if access.reads else (0,)
            for found in numbers:
                to, written = graph.edge(node, found)
                after = written if here and written is not None else held
                yield (t, node, found if access.reads else 0), ((*nodes[:t], to, *nodes[t + 1 :]), after)

    @cached_property
    def _parts(self) -> list[tuple[Profile, PlacesState, frozenset[StateEdge]]]:
        """The strongly connected parts, each with the edges in it, for each choice of who goes on in it."""
        return list(self._of(None, None))

    def _of(
        self, profile: Profile | None, allowed: frozenset[StateEdge] | None
    ) -> Iterator[tuple[Profile, PlacesState, frozenset[StateEdge]]]:
        def following(state: PlacesState) -> list[PlacesState]:
            return [to for edge, to in self.steps[state] if allowed is None or edge in allowed]

        states = [s for s in self.steps if profile is None or _is_at(s[0], profile)]
        for part in strongly_connected(states, following):
            inside = set(part)
            edges = frozenset(
                edge
                for s in part
                for edge, to in self.steps[s]
                if to in inside and (allowed is None or edge in allowed)
            )
            moving = frozenset(t for t, _, _ in edges)
            if moving:
                nodes = part[0][0]
                found = Profile(moving, tuple(_MOVES if t in moving else n for t, n in enumerate(nodes)))
                yield found, part[0], edges

    def profiles(self, progress: Progress) -> dict[Profile, frozenset[StateEdge]]:
        """Who may not terminate, as far as this place knows, with the edges that may be taken without end then."""
        found: dict[Profile, frozenset[StateEdge]] = {}
        for most, state, edges in self._parts:
            status = [n != 0 for n in state[0]], [n == END for n in state[0]]
            must = self.limits.schedule.must_move(progress, *status)
            for profile in self._choices(most, edges, must):
                if not self.limits.schedule.allows(progress, *status, profile.moving):
                    continue
                chosen = frozenset(e for e in edges if e[0] in profile.moving)
                found[profile] = found.get(profile, frozenset()) | chosen
        return found

    def _choices(self, most: Profile, edges: frozenset[StateEdge], must: frozenset[int]) -> Iterator[Profile]:
        """Those who must go on do, and perhaps others; who need not may have stopped anywhere on the way."""
        free = sorted(most.moving - must)
        if not must <= most.moving:
            return
        for kept in itertools.chain.from_iterable(itertools.combinations(free, n) for n in range(len(free) + 1)):
            moving = must | frozenset(kept)
            if not moving:
                continue
            resting = [t for t in free if t not in kept]
            places = [sorted({node for u, node, _ in edges if u == t}) for t in resting]
            for nodes in itertools.product(*places):
                at = dict(zip(resting, nodes, strict=True))
                yield Profile(
                    moving,
                    tuple(_MOVES if t in moving else at.get(t, n) for t, n in enumerate(most.nodes)),
                )

    def recurring(self, profile: Profile, allowed: frozenset[StateEdge]) -> frozenset[StateEdge]:
        """The edges that may be taken without end, of some."""
        found: frozenset[StateEdge] = frozenset()
        for other, _, edges in self._of(profile, allowed):
            if other == profile:
                found |= edges
        return found


def _is_at(nodes: Sequence[int], profile: Profile) -> bool:
    return all(want in (_MOVES, node) for node, want in zip(nodes, profile.nodes, strict=True))
