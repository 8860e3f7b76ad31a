"""Results as GitHub's workflow commands: rows for the log, and an annotation at the place of each finding."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ptxmm.checker import Outcome
from ptxmm.findings import Finding, assumptions
from ptxmm.harmless import command, plain
from ptxmm.report.text import TextReport
from ptxmm.result import Spot


class GithubReport(TextReport):
    """The text report of several tests, with annotations between its rows."""

    def __init__(self, model: str, *, unroll: int) -> None:
        super().__init__(model, colour=False, unroll=unroll)

    def begin(self, paths: list[str]) -> None:
        super().begin(paths)
        self._single = False

    def end(self, seconds: float, left: Sequence[Outcome] = ()) -> None:
        super().end(seconds, left)
        for outcome in left:
            for finding in outcome.findings:
                command(annotation("error", finding))

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        result = outcome.result
        for finding in outcome.findings:
            command(annotation("notice" if finding.known else "error", finding))
        for note in assumptions(result):
            if all(f.kind != note.kind for f in outcome.findings):
                command(annotation("notice", note))


def annotation(level: str, finding: Finding) -> str:
    """`::error file=...,line=...::message`, escaped as GitHub reads it."""
    spot = finding.spots[0][0]
    where = {"file": shown_path(spot), "line": str(spot.line or 1)}
    if spot.column:
        where["col"] = str(spot.column)
    where["title"] = f"{finding.test}: {finding.kind}"
    lines = [finding.message, *(f"{other}: {does}" for other, does in finding.spots if does), *finding.details]
    fields = ",".join(f"{key}={_property(value)}" for key, value in where.items())
    return f"::{level} {fields}::{_data(chr(10).join(lines))}"


def shown_path(spot: Spot) -> str:
    """The path from the workspace's root, as GitHub wants it."""
    root = os.environ.get("GITHUB_WORKSPACE") or os.getcwd()
    relative = os.path.relpath(os.path.abspath(spot.path), root)
    return (spot.path if relative.startswith("..") else relative).replace(os.sep, "/")


def _data(text: str) -> str:
    return plain(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
