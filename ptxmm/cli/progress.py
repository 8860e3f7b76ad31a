"""A progress bar on the terminal, where there is one and more than one test."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_INTERVAL = 0.1  # seconds between two drawings


class Bar:
    """Draws itself when told that something advanced: no thread of its own, since processes are forked beside it."""

    def __init__(self, count: int | None, what: str = "checking") -> None:
        self._progress = Progress(
            TextColumn(what),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # lines for the same terminal go above the bar
            redirect_stderr=True,
        )
        self._task = self._progress.add_task("tests", total=count, note="")
        self._drawn = 0.0

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def advance(self) -> None:
        """One more is done."""
        self._progress.advance(self._task)
        self._draw()

    def at(self, done: int, note: str) -> None:
        """So many are done; `note` stands behind the bar."""
        self._progress.update(self._task, completed=done, note=note)
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn >= _INTERVAL:
            self._drawn = now
            self._progress.refresh()
