"""How results are written down, for people (`text`), herd7's log tools (`herd`), programs (`json`) and gates: one report on
standard output and others into files, all of one run. Sentences are made in `ptxmm.words`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.checker import Outcome
    from ptxmm.report.files import Document, Report

#: Formats that say why a litmus test fails.
_TELLING = ("junit", "sarif", "github")
#: Options that name a file, each with its format; and one that names a folder.
FILES = ("junit", "sarif")
FOLDER = "html"
#: Columns of prose where nobody knows who reads it: that is how pages are measured.
_PIPED = 100
#: A width of more digits is none.
_DIGITS = 6


def tells(options: Namespace) -> bool:
    """Whether some report says why a litmus test fails."""
    return options.format in _TELLING or any(getattr(options, kind) for kind in (*FILES, FOLDER))


def chosen(options: Namespace) -> Report:
    """The report of `--format`, and those of `--junit FILE` and its like."""
    wanted = {kind: path for kind in FILES if (path := getattr(options, kind))}
    reports = [_printed(options)]
    if wanted:
        from ptxmm.report.files import FileReport

        reports += [FileReport(partial(_document, k, options), p) for k, p in wanted.items()]
    if options.html:
        from ptxmm.report.html import HtmlReport

        reports.append(HtmlReport(options.html, options.model, unroll=options.unroll))
    return reports[0] if len(reports) == 1 else SeveralReports(reports)


class SeveralReports:
    """Some reports of one run."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self._reports = reports

    def begin(self, paths: list[str]) -> None:
        for report in self._reports:
            report.begin(paths)

    def add(self, outcome: Outcome) -> None:
        for report in self._reports:
            report.add(outcome)

    def end(self, seconds: float, left: Sequence[Outcome]) -> None:
        """Ends all of them. Raises OSError where one cannot be written, after the others were."""
        first: OSError | None = None
        for report in self._reports:
            try:
                report.end(seconds, left)
            except OSError as error:
                first = first or error
        if first is not None:
            raise first


def _printed(options: Namespace) -> Report:
    if options.format in ("json", "junit", "sarif"):
        return _document(options.format, options)
    if options.format == "herd":
        from ptxmm.report.herd import HerdReport

        return HerdReport()
    if options.format == "github":
        from ptxmm.report.github import GithubReport

        return GithubReport(options.model, unroll=options.unroll)
    from ptxmm.report.text import TextReport

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return TextReport(options.model, colour=colour, unroll=options.unroll, everything=options.all, width=columns())


def columns() -> int:
    """How wide prose is, for people: as `COLUMNS` says, as the terminal is, else 100 columns. 0, which `COLUMNS` may be, is for
    lines that are not wrapped."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and len(said) <= _DIGITS:
        return int(said)
    return shutil.get_terminal_size((_PIPED, 0)).columns if sys.stdout.isatty() else _PIPED


def _document(kind: str, options: Namespace) -> Document:
    if kind == "json":
        from ptxmm.report.json import JsonReport

        return JsonReport(options.model, options.part)
    if kind == "junit":
        from ptxmm.report.junit import JunitReport

        return JunitReport(options.model, options.part)
    from ptxmm.report.sarif import SarifReport

    return SarifReport(options.model, baseline=options.baseline is not None, part=options.part)
