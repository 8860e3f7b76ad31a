"""Waiting for what another process does, for as long as a busy machine takes to do it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(done: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def when_read(pipe: Path) -> int:
    """The writing end of a named pipe, as soon as somebody reads it: who does so waits until it is closed."""
    found: list[int] = []

    def opened() -> bool:
        try:
            found.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # nobody reads it
            return False
        return True

    wait_until(opened)
    time.sleep(0.5)  # a signal that comes between the opening and the reading does not end the reading
    return found[0]
