"""`ptxmm lint`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from ptxmm import __version__

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxcore.diagnostics import Diagnostic

_SOUND, _ERRORS, _UNREADABLE, _UNDECIDED = range(4)
#: Which of them counts, of many files: as for `ptxmm check`.
_WORST = (_UNREADABLE, _ERRORS, _UNDECIDED, _SOUND)


def lint(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0 without errors, 1 with one, 2 where a file cannot be read, 3 where one was not
    checked to its end."""
    report = _Json() if options.format == "json" else _Text()
    seen = {_SOUND}
    try:
        for path in _progress(options.paths, options.format):
            seen.add(_file(path, options.mode, options.timeout, report))
    finally:  # what was finished before an interruption is still said
        report.end()
    return next(status for status in _WORST if status in seen)


def _file(path: str, mode: str, timeout: float | None, report: _Text | _Json) -> int:
    """Checks a file and reports it; gives its status."""
    from ptxcore.clock import OutOfTime
    from ptxmm.linting import lint_text, read
    from ptxmm.result import out_of_time

    try:
        text = read(path)
    except OSError as error:
        report.broken(path, f"{path}: error: cannot read: {error.strerror or error}")
        return _UNREADABLE
    try:
        found = lint_text(text, mode=mode, timeout=timeout)
    except OutOfTime:
        report.broken(path, f"{path}: error: undecided: {out_of_time(timeout)}")
        return _UNDECIDED
    except MemoryError:
        report.broken(path, f"{path}: error: undecided: out of memory")
        return _UNDECIDED
    except Exception as error:
        from ptxmm.defects import defect
        from ptxmm.report.refusals import written

        report.broken(path, written(defect(error, "the module", f"lint --as {mode}"), path))
        return _UNREADABLE
    report.add(path, text, found)
    return _ERRORS if any(d.severity == "error" for d in found) else _SOUND


def _progress(paths: list[str], form: str) -> Any:
    """The paths, with a bar on the terminal where there are many."""
    if len(paths) < 2 or not sys.stderr.isatty():
        yield from paths
        return
    from ptxmm.cli.progress import Bar

    with Bar(len(paths)) as bar:
        for path in paths:
            yield path
            bar.advance()


class _Text:
    """Each finding with its line and a caret; how many there were, at the end."""

    def __init__(self) -> None:
        self._files = 0
        self._counts = {"error": 0, "warning": 0}

    def add(self, path: str, text: str, found: list[Diagnostic]) -> None:
        self._files += 1
        lines = [line.rstrip("\r") for line in text.split("\n")] if found else []
        for diagnostic in found:
            self._counts[diagnostic.severity] += 1
            sys.stdout.write(diagnostic.render(path, lines) + "\n")

    def broken(self, path: str, message: str) -> None:
        sys.stderr.write(message + "\n")

    def end(self) -> None:
        errors, warnings = self._counts["error"], self._counts["warning"]
        if errors or warnings or self._files > 1:
            sys.stdout.write(
                f"{_counted(self._files, 'file')}: {_counted(errors, 'error')}, {_counted(warnings, 'warning')}\n"
            )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


class _Json:
    """One document, at the end."""

    def __init__(self) -> None:
        self._files: list[dict[str, Any]] = []

    def add(self, path: str, text: str, found: list[Diagnostic]) -> None:
        self._files.append({"path": path, "diagnostics": [_entry(d) for d in found]})

    def broken(self, path: str, message: str) -> None:
        self._files.append({"path": path, "diagnostics": [], "error": message})
        sys.stderr.write(message + "\n")

    def end(self) -> None:
        sys.stdout.write(json.dumps({"ptxmm": __version__, "files": self._files}, indent=1) + "\n")


def _entry(diagnostic: Diagnostic) -> dict[str, Any]:
    line, column, end = diagnostic.span
    return {
        "line": line,
        "column": column,
        "end_column": end,
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    }
