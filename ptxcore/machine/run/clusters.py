"""The clusters of a grid, as they begin, and those that are cancelled before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from ptxcore.machine.run.special import Triple


class LaunchedClusters:
    """The clusters of a grid that have not begun: each is the indices of its CTAs, by rank.

    Without `random` they begin in order, from `first` on, and a request to cancel one takes the next. With it any of them
    begins or is
    cancelled, and a request may be refused, as the scheduler may do at any time (PTX ISA 9.0, section 9.7.13.17). What was
    taken does not begin, and is not taken again."""

    def __init__(self, grid: Triple, cluster: Triple, random: Random | None = None) -> None:
        self.cluster, self.random = cluster, random
        self._counts = tuple(g // k for g, k in zip(grid, cluster, strict=True))
        self._total = self._counts[0] * self._counts[1] * self._counts[2]
        self._gone = 0
        #: The cluster that begins first where they begin in order, those before it behind the last one.
        self.first = 0
        #: Of a random order, drawn as it is needed: which cluster stands at a place, if not the one of that number.
        self._moved: dict[int, int] = {}

    def __iter__(self) -> Iterator[list[Triple]]:
        return self

    def __next__(self) -> list[Triple]:
        if self._gone == self._total:
            raise StopIteration
        number = place = self._gone
        self._gone += 1
        if self.random is None:
            number = (number + self.first) % self._total
        else:
            place = self.random.randrange(number, self._total)
            first = self._moved.pop(number, number)
            number = first if place == number else self._moved.get(place, place)
            self._moved[place] = first
        return self._indices(number)

    def cancel(self) -> Triple | None:
        """The index of the first CTA of a cluster that does not begin; None where none is cancelled."""
        refused = self.random is not None and self.random.getrandbits(2) == 0
        taken = None if refused else next(self, None)
        return None if taken is None else taken[0]

    def _indices(self, number: int) -> list[Triple]:
        nx, ny, _ = self._counts
        kx, ky, kz = self.cluster
        x, y, z = number % nx * kx, number // nx % ny * ky, number // nx // ny * kz
        return [(x + rank % kx, y + rank // kx % ky, z + rank // (kx * ky)) for rank in range(kx * ky * kz)]


class ChosenClusters(LaunchedClusters):
    """Clusters of which somebody chooses who begins: the others are to be cancelled. `choose(n)` gives a number below n: 0
    where all begin, or a request is refused."""

    def __init__(self, grid: Triple, cluster: Triple, choose: Callable[[int], int]) -> None:
        super().__init__(grid, cluster)
        self.choose = choose
        everybody = (1 << self._total) - 1
        begins = everybody - choose(everybody)  # at least one does
        self._begin = [n for n in range(self._total) if begins >> n & 1]
        #: Who is still to be cancelled, and the CTAs of which a request was refused.
        self.left = [n for n in range(self._total) if not begins >> n & 1]
        self.refused: set[Triple] = set()

    def __next__(self) -> list[Triple]:
        if not self._begin:
            raise StopIteration
        return self._indices(self._begin.pop(0))

    def cancel(self) -> Triple | None:
        chosen = self.choose(1 + len(self.left))
        return self._indices(self.left.pop(chosen - 1))[0] if chosen else None


def clusters_of(watcher: Any, grid: Triple, cluster: Triple, random: Random | None) -> LaunchedClusters:
    """The clusters of a launch: those that its watcher makes, where it chooses who begins and who is cancelled."""
    made: Callable[[Triple, Triple], LaunchedClusters] | None = getattr(watcher, "makes_clusters", None)
    return LaunchedClusters(grid, cluster, random) if made is None else made(grid, cluster)
