"""Waiting for what another process does, for as long as a busy machine takes to do it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptxmm import workers
from ptxmm.workers import Workers

#: Seconds in which any process ends, on any machine: whoever takes longer hangs.
PATIENCE = 900
_DAY = 86400.0


def wait_until(done: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def when_read(pipe: Path, process: subprocess.Popen[str]) -> int:
    """The writing end of a named pipe, as soon as the process or a child of it waits for what is written: who does so waits
    until it is closed."""
    found: list[int] = []

    def opened() -> bool:
        assert process.poll() is None, f"it ended with {process.returncode}, and read nothing from {pipe}"
        try:
            found.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # nobody reads it
            return False
        return True

    wait_until(opened)
    wait_until_idle(process)
    return found[0]


def wait_until_idle(process: subprocess.Popen[str]) -> None:
    """Until the process and its children all wait for something, and none is about to do anything."""
    if sys.platform != "linux":
        time.sleep(2)
        return
    looks: list[bool] = []

    def idle() -> bool:
        looks.append(all(state == "S" for pid in (process.pid, *_children(process.pid)) for state in _states(pid)))
        return all(looks[-5:]) and len(looks) >= 5

    wait_until(idle)


def _children(pid: int) -> list[int]:
    parents = {int(path.name): _parent(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    return [child for child, parent in parents.items() if parent == pid]


def _parent(path: Path) -> int | None:
    try:
        return int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:  # it has ended
        return None


def _states(pid: int) -> list[str]:
    """What each thread of a process does: R for one that computes, S for one that waits."""
    try:
        return [stat.read_text().rsplit(")", 1)[1].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return []


class Clock:
    """In place of the module `time`: so many `seconds` ahead of it, and `step` more at each look."""

    def __init__(self) -> None:
        self.seconds = self.step = 0.0

    def monotonic(self) -> float:
        self.seconds += self.step
        return time.monotonic() + self.seconds

    perf_counter = monotonic


def time_out_after(monkeypatch: pytest.MonkeyPatch, answers: int) -> None:
    """What workers are at when so many answers have come is over its time limit; nothing else is, however slow they are."""
    clock, count = Clock(), 0
    take, stop = Workers._take, Workers._stop_late_ones

    def taken(self: Workers[Any, Any], worker: Any, message: tuple[int, bool, Any]) -> None:
        nonlocal count
        take(self, worker, message)
        if message[0] >= 0:  # it says that it is ready otherwise
            count += 1
            clock.step = _DAY if count == answers else 0

    def stopped(self: Workers[Any, Any]) -> None:
        stop(self)
        clock.step = 0

    monkeypatch.setattr(workers, "time", clock)
    monkeypatch.setattr(Workers, "_take", taken)
    monkeypatch.setattr(Workers, "_stop_late_ones", stopped)
