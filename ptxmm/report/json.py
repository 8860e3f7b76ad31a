"""Results as one JSON document, at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ptxmm import __version__
from ptxmm.checker import Outcome
from ptxmm.findings import Finding
from ptxmm.report.files import print_document
from ptxmm.result import Cause, Checked, Executions, Loop, RaceEntry, RaceEvent, Result, Spot


class JsonReport:
    """`part`: which of the tests these are, where they are not all."""

    def __init__(self, model: str, part: Mapping[str, str] | None = None) -> None:
        self._model, self._part = model, dict(part or {})
        self._tests: list[dict[str, Any]] = []
        self._left: list[str] = []

    def begin(self, paths: list[str]) -> None:
        pass

    def add(self, outcome: Outcome) -> None:
        self._tests.append(entry(outcome.result) | {"findings": [_finding(f) for f in outcome.findings]})

    def end(self, seconds: float, left: Sequence[Outcome] = ()) -> None:
        self._left = [outcome.result.path for outcome in left]
        print_document(self, seconds, ())

    def text(self, seconds: float) -> str:
        document: dict[str, Any] = {"ptxmm": __version__, "model": self._model, "tests": self._tests}
        if self._part:
            document["part"] = self._part
        if self._left:
            document["not_run"] = self._left
        return json_text(document)


def json_text(document: object) -> str:
    """JSON for a log: strings hold no command to those who read the log."""
    return json.dumps(document, indent=1).replace("##[", "\\u0023#[") + "\n"


def entry(result: Result) -> dict[str, Any]:
    """The part of the document that is one test. `kind`, `condition`, `observation` are null where there is none; `executions`
    are there where they were asked for."""
    more = {} if result.executions is None else {"executions": _executions(result.executions)}
    return {
        "path": result.path,
        "name": result.name,
        "kind": result.kind,
        "condition": result.condition,
        "verdict": result.verdict,
        "observation": result.observation,
        "states": result.states,
        "positive": result.positive,
        "negative": result.negative,
        "complete": result.complete,
        "seconds": round(result.seconds, 6),
        "error": result.trouble or None,
        "races": [_race(race) for race in result.races],
        "why": result.why,
        "expected": result.expectation,
        "listed_all": result.listed_all,
        "forbidding": list(result.forbidding),
        "checks": [_check(check) for check in result.checks],
        "loops": [_loop(loop) for loop in result.loops],
        "notes": list(result.notes),
        "runs": result.runs,
        "warnings": [{"file": s.path, "line": s.line, "message": message} for s, message in result.warnings],
        **more,
    }


def _executions(found: Executions) -> dict[str, Any]:
    return {
        "positive": found.positive,
        "negative": found.negative,
        "listed_all": found.listed_all,
        "bounded": found.bounded,
        "list": found.documents,
    }


def _check(check: Checked) -> dict[str, Any]:
    positive, negative = check.counts or (None, None)
    return {
        "kind": check.kind,
        "check": check.text,
        "holds": check.holds,
        "bounded": check.bounded,
        "message": check.message,
        "waits": check.waits,
        "state": check.state,
        "places": [_place(spot, what) for spot, what in check.spots],
        "causes": [_cause(cause) for cause in check.causes],
        "execution": check.linearisation,
        "positive": positive,
        "negative": negative,
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {**_place(cause.spot, cause.what), "instruction": cause.text}


def _race(race: RaceEntry) -> dict[str, Any]:
    return {
        "kind": race.kind,
        "events": [_race_event(event) for event in race.events],
        "reason": race.reason,
        "execution": list(race.execution),
        "causes": [_cause(cause) for cause in race.causes],
    }


def _race_event(event: RaceEvent) -> dict[str, Any]:
    return {
        "thread": event.thread,
        "line": event.line,
        "instruction": event.instruction,
        "file": event.file,
        "source": str(event.source) if event.source else None,
        "at": {"file": event.at.path, "line": event.at.line} if event.at else None,
    }


def _loop(loop: Loop) -> dict[str, Any]:
    source = loop.source and {"file": loop.source.path, "line": loop.source.line}
    place = {"file": loop.spot.path, "line": loop.spot.line, "label": loop.label}
    return {"kind": loop.kind, **place, "source": source, "turns": loop.iterations, "threads": list(loop.threads)}


def _finding(finding: Finding) -> dict[str, Any]:
    places = [_place(spot, what) for spot, what in finding.spots]
    return {"kind": finding.kind, "message": finding.message, "places": places, "known": finding.known}


def _place(spot: Spot, what: str) -> dict[str, Any]:
    return {"file": spot.path, "line": spot.line, "column": spot.column, "what": what}
