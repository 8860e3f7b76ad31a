"""Runs that choose: each run is told what it chooses first, and tells how many ways there were each time, until all ways were
gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

Found = TypeVar("Found")


class Choices:
    """What one run chooses: what it is told first, then the first way each time."""

    def __init__(self, told: tuple[int, ...] = ()) -> None:
        self._told = told
        self.is_first = not told
        #: What was chosen, and of how many ways.
        self.made: list[tuple[int, int]] = []

    def choose(self, ways: int) -> int:
        """A number below `ways`."""
        at = len(self.made)
        chosen = self._told[at] if at < len(self._told) else 0
        self.made.append((chosen, ways))
        return chosen


def all_ways(run: Callable[[Choices], Found]) -> Iterator[Found]:
    """What a run gives in each way of choosing, one after the other."""
    told: tuple[int, ...] | None = ()
    while told is not None:
        choices = Choices(told)
        yield run(choices)
        told = _next(choices.made)


def _next(made: list[tuple[int, int]]) -> tuple[int, ...] | None:
    """What is chosen next; None behind the last way."""
    while made and made[-1][0] + 1 == made[-1][1]:
        made = made[:-1]
    if not made:
        return None
    return (*(chosen for chosen, _ in made[:-1]), made[-1][0] + 1)
