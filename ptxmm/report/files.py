"""Files that reports are written to: whole, or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Protocol

from ptxmm.checker import Outcome
from ptxmm.findings import findings
from ptxmm.report import Report
from ptxmm.result import Result


def write_whole(path: str, text: str) -> None:
    """Writes a file of which nobody ever sees a part, not on a full disk either. Raises OSError, which names the file; what was
    there before stays then. What is no regular file (a pipe, a terminal) is written to."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            return
        _replace(os.path.realpath(path), text)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), path) from None


def _replace(path: str, text: str) -> None:
    handle, part = tempfile.mkstemp(prefix=".ptxmm-", dir=os.path.dirname(path))
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.chmod(part, _mode(path))
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _mode(path: str) -> int:
    """The permissions that a file has, or would have had if it had been opened and not replaced."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


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


def not_run(path: str, reason: str) -> Outcome:
    """A test of which nothing is known, since it was not run."""
    from ptxmm.checker import stem

    result = Result(path=path, name=stem(path), model="", verdict="undecided", error=reason)
    return Outcome(result, {}, findings=tuple(findings(result)))
