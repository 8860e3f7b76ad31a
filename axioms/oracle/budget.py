"""What a search may spend before it gives up: time, which people wait for, steps, which are the same on every machine, and
memory, by how many things of a kind it keeps."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from typing import TypeVar

from ptxcore.clock import OutOfTime

#: Choices of a kind (orders of writes, instances of a barrier) that are kept at a time. There are 130,023 strict partial
#: orders of six writes, which take 150 MB.
MOST_CHOICES = 150_000
#: Runs of threads, each with what it did, that are kept: some 10 KB each.
MOST_RUNS = 40_000

T = TypeVar("T")


class BeyondBruteForce(OutOfTime):
    """The program is beyond brute force, which says nothing of it: it stays undecided, and the text says why."""


class Budget:
    """A search calls `spend` at each of its steps; `spent` counts them."""

    __slots__ = ("deadline", "spent", "steps")

    def __init__(self, deadline: float | None = None, steps: int | None = None) -> None:
        """`deadline` is a time of `time.monotonic`, `steps` the most steps; None for as many as it takes."""
        self.deadline, self.steps, self.spent = deadline, steps, 0

    def spend(self) -> None:
        """Counts a step. Raises OutOfTime when the deadline has passed, or no step is left."""
        self.spent += 1
        if self.steps is not None and self.spent > self.steps:
            raise OutOfTime
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime


def kept(things: Iterable[T], what: str, most: int = MOST_CHOICES) -> list[T]:
    """All of them, to be gone through more than once. Raises BeyondBruteForce where there are more than `most`."""
    found = list(itertools.islice(things, most + 1))
    if len(found) > most:
        raise BeyondBruteForce(f"there are too many {what} for brute force")
    return found
