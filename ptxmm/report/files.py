"""What a report is, and those that are one document: on standard output, or in a file that is written whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from ptxmm.checker import Outcome, not_run
from ptxmm.writing import write_whole


class Report(Protocol):
    """Takes outcomes in order, as they come; writes to standard output."""

    def begin(self, paths: list[str]) -> None: ...

    def add(self, outcome: Outcome) -> None: ...

    def end(self, seconds: float, left: Sequence[Outcome]) -> None:
        """`left`: what was not run, because somebody interrupted."""


class Document(Report, Protocol):
    """A report that is one document, written when all is known."""

    def text(self, seconds: float) -> str: ...


class FileReport:
    """A document in a file. While the run goes on the file says that it did not come to its end, so that nobody takes what an
    earlier run left there, or nothing, for the answer of one that was killed."""

    def __init__(self, make: Callable[[], Document], path: str) -> None:
        self._make, self._path = make, path
        self._report = make()

    def begin(self, paths: list[str]) -> None:
        """Raises OSError where the file cannot be written."""
        pending = self._make()
        unfinished = not_run("ptxmm", "the run did not come to its end")
        pending.add(unfinished)
        write_whole(self._path, pending.text(0.0))

    def add(self, outcome: Outcome) -> None:
        self._report.add(outcome)

    def end(self, seconds: float, left: Sequence[Outcome]) -> None:
        """Raises OSError where the file cannot be written."""
        for outcome in left:
            self._report.add(outcome)
        write_whole(self._path, self._report.text(seconds))


def print_document(report: Document, seconds: float, left: Sequence[Outcome]) -> None:
    """Ends a document on standard output; tests that were not run are undecided there."""
    for outcome in left:
        report.add(outcome)
    sys.stdout.write(report.text(seconds))
