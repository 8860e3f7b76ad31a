"""How work grows with its input. No limit in seconds: machines differ, and others compute on them.

Work is counted where it can be, in function calls. Where it hides inside of single calls (a pattern that goes back and forth, a
list that is searched) processor time of some input and of four times as much is compared, the least of several tries: twice
as busy a machine takes twice as long for both.
"""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Four times the input takes four times as long where that grows in proportion, and sixteen times where with the square.
TIMES, MOST = 4, 8.0
_TRIES = 12


def calls(action: Callable[[], object]) -> int:
    """How many functions are called, those of Python and those written in C."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def assert_in_proportion(action: Callable[[int], Callable[[], object]], size: int) -> None:
    """That what `action` makes of a size takes time in proportion to it. `size` must be large enough to be measured."""
    small, large = action(size), action(TIMES * size)
    least = most = float("inf")
    for _ in range(_TRIES):
        least, most = min(least, _spent(small)), min(most, _spent(large))
        if most < MOST * least:
            return
    raise AssertionError(f"{TIMES} times the input takes {most / least:.1f} times as long: {least:.4f} s, {most:.4f} s")


def _spent(action: Callable[[], object]) -> float:
    """Seconds of processor time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        action()
        return time.process_time() - start
    finally:
        if collecting:
            gc.enable()


class Hangs(BaseException):
    """Something did not end."""


#: Seconds of processor time after which something hangs that should take a moment: no limit, but the end of a run without one.
_HANGS = 120


@contextmanager
def watched() -> Iterator[None]:
    """Raises Hangs within what does not end, where the system has timers of processor time."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, _rang)
    signal.setitimer(signal.ITIMER_PROF, _HANGS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _rang(number: int, frame: object) -> None:
    raise Hangs
