"""When the launches of a run begin on our own machine: behind those that they need, or as soon as another one lets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from ptxcore.machine.run.concurrent import Concurrent
from ptxcore.machine.run.grid import GridLaunch
from ptxcore.records import NamedTuple

#: Rounds of turns that a launch begins later, at most: more than a kernel of a test takes.
_LATEST = 400


class LaunchNeeds(NamedTuple):
    """What a launch begins behind: the ends of `needs`; and the one that it `follows` lets it begin."""

    needs: frozenset[int]
    follows: int | None = None


class OrderOfKernels:
    """Launches that run as their streams say, each of them some rounds later than it could, drawn from `random`; launches that
    need nothing begin together, since they may wait for each other. `enqueued` says whether one has been launched."""

    def __init__(
        self,
        launches: Sequence[GridLaunch],
        behind: Sequence[LaunchNeeds],
        random: Random,
        enqueued: Callable[[int], bool] = lambda number: True,
    ) -> None:
        self.launches, self.behind, self.enqueued = launches, behind, enqueued
        together = not any(one.needs for one in behind)
        self._later = [0 if together else random.choice((0, random.randrange(_LATEST))) for _ in launches]
        for launch, one in zip(launches, behind, strict=True):
            if one.follows is not None:
                launch.dependence.before = launches[one.follows].dependence

    def run(self, between: Callable[[], None] | None = None) -> None:
        """Runs all of them to their ends; `between`: see `Concurrent`. Raises KernelError."""
        launches = self.launches
        if len(launches) == 1 and between is None:
            launches[0].run()
        else:
            Concurrent(launches, may_begin=self.may_begin, between=between or (lambda: None)).run()

    def is_over(self, number: int) -> bool:
        """Whether a launch has ended."""
        return self.launches[number].dependence.is_over

    def may_begin(self, number: int) -> bool:
        """Whether a launch begins now, or goes on to begin."""
        needs, follows = self.behind[number]
        if not self.enqueued(number) or not all(map(self.is_over, needs)):
            return False
        if follows is not None and not self.launches[follows].dependence.lets_begin:
            return False
        self._later[number] -= 1
        return self._later[number] < 0
