"""What `ptxmm lint` found, as text, JSON or SARIF."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from ptxcore.diagnostics import Diagnostic, Edit, Span, printable
from ptxcore.findings import ERRORS, WARNINGS
from ptxcore.sources import beside
from ptxmm import __version__
from ptxmm.findings import Finding
from ptxmm.report.json import json_text
from ptxmm.result import Spot


def origins(path: str, text: str, found: Sequence[Diagnostic]) -> dict[int, tuple[str, int]]:
    """File and line of the source, for the lines of the module in `path` that findings are at, as far as it says."""
    if not found or ".loc" not in text:
        return {}
    from ptxcore.machine.lower.inlining import source_of
    from ptxcore.syntax.reader import read_module

    said = source_of(read_module(text)[0], {d.span.line for d in found})
    return {line: (beside(file, path), of) for line, (file, of) in said.items()}


class LintReport(Protocol):
    """Takes files in order, as they are checked; writes to standard output."""

    def add(self, path: str, text: str, found: Sequence[Diagnostic]) -> None: ...

    def mended(self, count: int) -> None:
        """So many findings were mended in the file to come."""

    def broken(self, path: str, message: str) -> None:
        """A file of which nothing is known, and why: on standard error, too."""

    def end(self) -> None: ...


def chosen(form: str) -> LintReport:
    """The report of `--format`."""
    kinds: dict[str, type[LintReport]] = {"text": LintText, "github": LintGithub, "json": Json, "sarif": Sarif}
    return kinds[form]()


class LintText:
    """Each finding with its line and a caret; how many there were, at the end."""

    def __init__(self) -> None:
        self._files = self._mended = self._open = 0
        self._counts = {"error": 0, "warning": 0}

    def add(self, path: str, text: str, found: Sequence[Diagnostic]) -> None:
        self._files += 1
        lines = [line.rstrip("\r") for line in text.split("\n")] if found else []
        places = origins(path, text, found)
        for diagnostic in found:
            self._counts[diagnostic.severity] += 1
            self._open += diagnostic.fix is not None
            sys.stdout.write(diagnostic.render(path, lines) + "\n")
            if diagnostic.span.line in places:
                file, number = places[diagnostic.span.line]
                sys.stdout.write(f"    compiled from: {printable(file)}:{number}\n")
            if diagnostic.fix is not None:
                sys.stdout.write(f"    fix: {printable(diagnostic.fix.title)}\n")

    def mended(self, count: int) -> None:
        self._mended += count

    def broken(self, path: str, message: str) -> None:
        sys.stderr.write(message + "\n")

    def end(self) -> None:
        errors, warnings = self._counts["error"], self._counts["warning"]
        if errors or warnings or self._files > 1 or self._mended:
            told = f"{_counted(self._files, 'file')}: {_counted(errors, 'error')}, {_counted(warnings, 'warning')}"
            told += f"; {self._mended} fixed" if self._mended else ""
            told += f"; {self._open} with a fix: --diff shows, --fix applies" if self._open else ""
            sys.stdout.write(told + "\n")


class LintGithub(LintText):
    """The same, with an annotation at the place of each finding, and what mends it: `write this` and a line, for an annotation
    has no suggestion that a click applies."""

    def add(self, path: str, text: str, found: Sequence[Diagnostic]) -> None:
        from ptxmm.harmless import command
        from ptxmm.report.github import annotation

        super().add(path, text, found)
        places = origins(path, text, found)
        for diagnostic in found:
            command(annotation(diagnostic.severity, _finding(path, diagnostic, places.get(diagnostic.span.line))))

    def broken(self, path: str, message: str) -> None:
        from ptxmm.harmless import command
        from ptxmm.report.github import annotation

        super().broken(path, message)
        command(annotation("error", Finding(path, "lint", message, ((Spot(path), ""),))))


def _finding(path: str, diagnostic: Diagnostic, source: tuple[str, int] | None) -> Finding:
    """A finding of lint as one of reports: at the source, where that is there to be opened."""
    line, column, _ = diagnostic.span
    details = [f"hint: {diagnostic.hint}"] if diagnostic.hint else []
    details += [f"fix: {diagnostic.fix.title}"] if diagnostic.fix is not None else []
    here = Spot(path, line, column)
    if source is None or not os.path.exists(source[0]):
        return Finding(path, diagnostic.code, diagnostic.message, ((here, ""),), details=tuple(details))
    details.append(f"of {here}")
    return Finding(path, diagnostic.code, diagnostic.message, ((Spot(*source), ""),), details=tuple(details))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


class Json:
    """One document, at the end."""

    def __init__(self) -> None:
        self._files: list[dict[str, Any]] = []
        self._mended = 0

    def add(self, path: str, text: str, found: Sequence[Diagnostic]) -> None:
        mended = {"fixed": self._mended} if self._mended else {}
        places = origins(path, text, found)
        self._files.append({"path": path, "diagnostics": [_entry(d, places.get(d.span.line)) for d in found], **mended})
        self._mended = 0

    def mended(self, count: int) -> None:
        self._mended = count

    def broken(self, path: str, message: str) -> None:
        self._files.append({"path": path, "diagnostics": [], "error": message})
        sys.stderr.write(message + "\n")

    def end(self) -> None:
        sys.stdout.write(json_text({"ptxmm": __version__, "files": self._files}))


def _entry(diagnostic: Diagnostic, source: tuple[str, int] | None) -> dict[str, Any]:
    fix = diagnostic.fix
    edits = [] if fix is None else [_change(edit) for edit in fix.edits]
    return {
        **_place(diagnostic.span),
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "source": None if source is None else {"file": source[0], "line": source[1]},
        "fix": None if fix is None else {"title": fix.title, "edits": edits},
    }


def _change(edit: Edit) -> dict[str, Any]:
    """An edit; one of several lines says in which it ends."""
    further = {"end_line": edit.span.line + edit.lines} if edit.lines else {}
    return {**_place(edit.span), **further, "text": edit.text}


def _place(span: Span) -> dict[str, int]:
    return {"line": span.line, "column": span.column, "end_column": span.end}


class Sarif:
    """One run, as SARIF 2.1.0, with what mends a finding as `fixes`."""

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []
        self._notices: list[dict[str, Any]] = []
        self._rules = list({**ERRORS, **WARNINGS}.items())

    def add(self, path: str, text: str, found: Sequence[Diagnostic]) -> None:
        places = origins(path, text, found)
        self._results += [self._result(path, d) | _related(places.get(d.span.line)) for d in found]

    def mended(self, count: int) -> None:
        pass

    def broken(self, path: str, message: str) -> None:
        from ptxmm.report.sarif import uri

        where = {"physicalLocation": {"artifactLocation": {"uri": uri(path)}}}
        self._notices.append({"level": "error", "message": {"text": message}, "locations": [where]})
        sys.stderr.write(message + "\n")

    def end(self) -> None:
        from ptxmm.report.sarif import document

        rules = [{"id": code, "shortDescription": {"text": text}} for code, text in self._rules]
        sys.stdout.write(json_text(document(rules, self._results, self._notices)))

    def _result(self, path: str, diagnostic: Diagnostic) -> dict[str, Any]:
        from ptxmm.report.sarif import uri

        artifact = {"uri": uri(path)}
        physical: dict[str, Any] = {"artifactLocation": artifact}
        if diagnostic.span.line:
            physical["region"] = _region(diagnostic.span)
        text = diagnostic.message + (f"\nhint: {diagnostic.hint}" if diagnostic.hint else "")
        written: dict[str, Any] = {
            "ruleId": diagnostic.code,
            "ruleIndex": [code for code, _ in self._rules].index(diagnostic.code),
            "level": diagnostic.severity,
            "message": {"text": text},
            "locations": [{"physicalLocation": physical}],
        }
        if diagnostic.fix is not None:
            changes = [
                {"deletedRegion": _region(edit.span, edit.lines), "insertedContent": {"text": edit.text}}
                for edit in diagnostic.fix.edits
            ]
            written["fixes"] = [
                {
                    "description": {"text": diagnostic.fix.title},
                    "artifactChanges": [{"artifactLocation": artifact, "replacements": changes}],
                }
            ]
        return written


def _related(source: tuple[str, int] | None) -> dict[str, Any]:
    """Where the line was compiled from, if that is there to be opened."""
    if source is None or not os.path.exists(source[0]):
        return {}
    from ptxmm.report.sarif import uri

    physical = {"artifactLocation": {"uri": uri(source[0])}, "region": {"startLine": max(1, source[1])}}
    return {"relatedLocations": [{"physicalLocation": physical, "message": {"text": "compiled from this"}}]}


def _region(span: Span, further: int = 0) -> dict[str, int]:
    """A stretch of a line, or one that goes on for `further` lines."""
    end = {"endLine": span.line + further} if further else {}
    return {"startLine": span.line, "startColumn": max(1, span.column), **end, "endColumn": max(1, span.end)}
