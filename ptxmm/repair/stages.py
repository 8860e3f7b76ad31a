"""What a search for repairs did, stage by stage: how many texts it judged there, and for how long.

A search that runs out of time says what it tried until then: who reads that nothing was found in a minute knows what to make
of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

from ptxcore.records import NamedTuple


class Stage(Enum):
    """What texts are tried by; docs/repair.md says how each goes on."""

    SMALLER = auto()
    LINES = auto()
    ABOVE = auto()
    BARRIERS = auto()
    CHEAPEST = auto()
    ARRIVALS = auto()


class TriedStage(NamedTuple):
    """A stage with the texts that were judged in it and the seconds it took."""

    stage: Stage
    texts: int
    seconds: float


class TriedStages:
    """The stages of one search; `judged` counts its texts, of smaller launches, too. `seconds` is how long all took."""

    def __init__(self) -> None:
        self.judged = 0
        self.seconds = 0.0
        self._tried: dict[Stage, tuple[int, float]] = {}

    @contextmanager
    def at(self, stage: Stage) -> Iterator[None]:
        """What is judged inside belongs to a stage, and to none of those inside it."""
        texts, began = self.judged, time.perf_counter()
        inside = self._sum()
        try:
            yield
        finally:
            more, longer = (after - before for after, before in zip(self._sum(), inside, strict=True))
            count, seconds = self._tried.get(stage, (0, 0.0))
            own = self.judged - texts - int(more), time.perf_counter() - began - longer
            self._tried[stage] = count + own[0], seconds + own[1]

    def tried(self) -> list[TriedStage]:
        """Those in which something was judged, in the order in which they ended first."""
        return [TriedStage(stage, *spent) for stage, spent in self._tried.items() if spent[0]]

    def _sum(self) -> tuple[float, float]:
        return sum(texts for texts, _ in self._tried.values()), sum(seconds for _, seconds in self._tried.values())
