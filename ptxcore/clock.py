"""How long the work in progress may still take. Whoever asks sets a limit; whoever works looks at the clock now and then.

    with limited(seconds):
        ...             # each step of the work calls tick(), which raises OutOfTime when the limit has passed

The limit holds for the thread (or task) that set it, inside of the block, and never longer than one that is set around it.
Every loop whose length an input decides has a tick in it: no phase of the work goes on for long without one.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TypeVar

#: So many ticks at most share one look at the time, which costs as much as several; fewer, where they take longer than so
#: many seconds.
_BETWEEN, _PACE = 32, 0.02
#: No wait is longer, in seconds (eleven days): what sleeps and solvers take is less than what people can write.
LONGEST = 1e6

T = TypeVar("T")


class OutOfTime(Exception):
    """Given up before the question was decided: the deadline passed, or what the text says."""


class Clock:
    """A deadline, as a time of `time.monotonic`; None: there is none. `ticks` counts the steps of the work."""

    __slots__ = ("_between", "_looked", "_next", "deadline", "ticks")

    def __init__(self, deadline: float | None) -> None:
        self.deadline, self.ticks, self._next = deadline, 0, _BETWEEN
        self._between, self._looked = _BETWEEN, time.monotonic()

    def tick(self) -> None:
        self.ticks += 1
        if self.ticks >= self._next:
            before = self._looked
            self.look()
            slow = self._looked - before > _PACE
            self._between = max(1, self._between // 2) if slow else min(_BETWEEN, 2 * self._between)
            self._next = self.ticks + self._between

    def look(self) -> None:
        """Raises OutOfTime after the deadline."""
        self._looked = time.monotonic()
        if self.deadline is not None and self._looked > self.deadline:
            raise OutOfTime


_current: ContextVar[Clock | None] = ContextVar("clock", default=None)


#: A mark for each clock that ticks now, in whatever thread: most often there is none, and that is quickly seen.
_ticking: set[object] = set()


def tick() -> None:
    """One step of the work. Raises OutOfTime when the limit that is set has passed."""
    clock = _current.get() if _ticking else None
    if clock is not None:
        clock.tick()


def look() -> None:
    """A step of the work that is rare, and so looks at the time. Raises OutOfTime when the limit that is set has passed."""
    clock = _current.get() if _ticking else None
    if clock is not None:
        clock.look()


def left() -> float | None:
    """Seconds until the limit that is set has passed; None without one."""
    clock = _current.get()
    return None if clock is None or clock.deadline is None else max(0.0, clock.deadline - time.monotonic())


def paced(things: Collection[T]) -> Iterable[T]:
    """These, each a step of the work: for a loop of many short steps, which costs nothing where nobody counts."""
    clock = _current.get() if _ticking else None
    return things if clock is None else _counted(things, clock)


def _counted(things: Iterable[T], clock: Clock) -> Iterator[T]:
    for thing in things:
        clock.tick()
        yield thing


def deadline_after(seconds: float | None) -> float | None:
    """The time of `time.monotonic` in so many seconds; None without a limit."""
    return None if seconds is None else time.monotonic() + min(seconds, LONGEST)


#: When the work began of which a time limit is given next: reading and compiling count, too. Whoever asks takes it away.
_begun: ContextVar[list[float] | None] = ContextVar("begun", default=None)


@contextmanager
def begun() -> Iterator[None]:
    """The work inside begins now, as far as the first time limit is given for all of it (`deadline_of_all`)."""
    token = _begun.set([time.monotonic()])
    try:
        yield
    finally:
        _begun.reset(token)


def deadline_of_all(seconds: float | None) -> float | None:
    """The time of `time.monotonic` so many seconds after the work `begun`, for whoever asks first; for others, and where nobody
    said so, in so many seconds. None without a limit."""
    marks = _begun.get()
    start = marks.pop() if marks else None
    return deadline_after(seconds) if seconds is None or start is None else start + min(seconds, LONGEST)


@contextmanager
def measured(clock: Clock) -> Iterator[Clock]:
    """The work inside ticks on this clock, or on one around it that strikes earlier."""
    outer = _current.get()
    if outer is not None and outer.deadline is not None:
        clock.deadline = outer.deadline if clock.deadline is None else min(outer.deadline, clock.deadline)
    mark = object()  # one for each use: a clock may tick inside itself
    _ticking.add(mark)
    token = _current.set(clock)
    try:
        yield clock
    finally:
        _current.reset(token)
        _ticking.discard(mark)
        if outer is not None:
            outer.ticks += clock.ticks


def limited(seconds: float | None) -> AbstractContextManager[Clock | None]:
    """The work inside may take so long; None: as long as what is set around it, and then nobody counts."""
    return nullcontext() if seconds is None else measured(Clock(deadline_after(seconds)))
