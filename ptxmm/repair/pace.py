"""How long to wait for what is to compute for some seconds.

A text that is only tried to rule out more has some patience. In seconds that pass, it would be less work where others compute
on the same processors, and what is found would hang on them. So it is counted in seconds that this process computes, and those
that it started, and waits are as much longer as they were found to be.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: No wait is more times as long, however little this process gets to compute.
_MOST = 8.0


class Pace:
    """How many seconds pass while this process computes one."""

    def __init__(self) -> None:
        self._passed = self._computed = 0.0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """The work inside counts."""
        passed, computed = time.perf_counter(), _computed()
        try:
            yield
        finally:
            self._passed += time.perf_counter() - passed
            self._computed += _computed() - computed

    @property
    def computed(self) -> float:
        """Seconds that the work so far computed."""
        return self._computed

    def wait(self, seconds: float) -> float:
        """How long to wait for so many seconds of work; no less than that."""
        return seconds * self._times()

    def work(self, seconds: float) -> float:
        """How many seconds of work there is time for in so many seconds; no more than these."""
        return seconds / self._times()

    def _times(self) -> float:
        return min(_MOST, max(1.0, self._passed / self._computed)) if self._computed else 1.0


def _computed() -> float:
    """Seconds that this process has computed, and those that it has started and that have ended."""
    return sum(os.times()[:4])
