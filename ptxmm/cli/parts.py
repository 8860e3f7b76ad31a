"""A part of a run: one shard of the tests, as many as a budget allows, or those up to the first that fails."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Generator, Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")

_DIGITS = 7  # of a number of shards, at most one less


class RunStopped(BaseException):
    """A run ends before all of its tests have: why."""


def shard(text: str) -> tuple[int, int]:
    """`2/4` as numbers. Raises ValueError for what is none."""
    parts = text.split("/")
    good = len(parts) == 2 and all(part.isdecimal() and len(part) < _DIGITS for part in parts)
    number, count = map(int, parts) if good else (0, 0)
    if not 1 <= number <= count:
        raise ValueError(f"NUMBER/COUNT is needed, as in 2/4, not '{text}'")
    return number, count


def of_shard(items: Sequence[ItemT], part: tuple[int, int]) -> list[ItemT]:
    """The items of one shard: each item is in just one of them, and they differ by one at most in how many they have."""
    number, count = part
    return list(items[number - 1 :: count])


class RunBudget:
    """So many seconds for what is done; None: no limit. While it is `busy` it waits."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds, self._begun = seconds, time.monotonic()
        self.busy = False

    def look(self) -> None:
        """Raises Stopped where they are over; to be called now and then, for platforms that wake nobody."""
        if self._seconds is not None and time.monotonic() - self._begun > self._seconds:
            raise RunStopped(f"the budget of {self._seconds:g} s is used up")

    def heard(self, *signalled: object) -> None:
        """What the alarm does. Raises Stopped."""
        if not self.busy:
            raise RunStopped(f"the budget of {self._seconds:g} s is used up")


@contextlib.contextmanager
def within(seconds: float | None) -> Generator[RunBudget, None, None]:
    """Stops what is done here after so many seconds; None: never. Raises Stopped."""
    budget = RunBudget(seconds)
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield budget
        return
    before = signal.signal(signal.SIGALRM, budget.heard)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield budget
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
