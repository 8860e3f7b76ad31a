"""Results as SARIF 2.1.0, which code-scanning services read: a result for each finding, with its place."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ptxmm import __version__
from ptxmm.checker import Outcome
from ptxmm.findings import KINDS, Finding, assumptions
from ptxmm.report.files import print_document
from ptxmm.report.json import json_text
from ptxmm.result import Spot

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NOTICES = ("error", "undecided")  # of the run rather than of the code


class SarifReport:
    """`baseline`: there are known findings; `part`: which of the tests these are, where they are not all."""

    def __init__(self, model: str, *, baseline: bool = False, part: Mapping[str, str] | None = None) -> None:
        self._model, self._baseline, self._part = model, baseline, dict(part or {})
        self._results: list[dict[str, Any]] = []
        self._rules = dict(KINDS)
        self._notices: list[dict[str, Any]] = []

    def begin(self, paths: list[str]) -> None:
        pass

    def add(self, outcome: Outcome) -> None:
        result = outcome.result
        for finding in outcome.findings:
            if finding.kind in _NOTICES:
                self._notices.append(self._notice(finding))
            else:
                self._results.append(self._result(finding))
        for note in assumptions(result):
            if all(f.kind != note.kind for f in outcome.findings):
                self._results.append(self._note(note))

    def end(self, seconds: float, left: Sequence[Outcome] = ()) -> None:
        print_document(self, seconds, left)

    def text(self, seconds: float) -> str:
        rules = [{"id": kind, "shortDescription": {"text": text}} for kind, text in self._rules.items()]
        return json_text(
            document(rules, self._results, self._notices, {"properties": {"model": self._model, **self._part}})
        )

    def _rule(self, finding: Finding) -> int:
        """The number of a kind among the rules; a model of a user's may have flags, and races, of its own."""
        self._rules.setdefault(finding.kind, "a pair of accesses that a flag of the model is about")
        return list(self._rules).index(finding.kind)

    def _result(self, finding: Finding) -> dict[str, Any]:
        written = {
            "ruleId": finding.kind,
            "ruleIndex": self._rule(finding),
            "level": "error",
            "message": {"text": "\n".join([f"{finding.test}: {finding.message}", *finding.details])},
            "locations": [_location(*finding.spots[0])],
            "partialFingerprints": {"ptxmm/v1": fingerprint(finding)},
        }
        if len(finding.spots) > 1:
            written["relatedLocations"] = [
                {"id": i, **_location(spot, what)} for i, (spot, what) in enumerate(finding.spots[1:], 1)
            ]
        if finding.steps:
            written["codeFlows"] = [_flow(finding)]
        if self._baseline:
            written["baselineState"] = "unchanged" if finding.known else "new"
        return written

    def _note(self, note: Finding) -> dict[str, Any]:
        return {
            "ruleId": note.kind,
            "ruleIndex": self._rule(note),
            "level": "note",
            "message": {"text": f"{note.test}: {note.message}"},
            "locations": [_location(*note.spots[0])],
        }

    def _notice(self, finding: Finding) -> dict[str, Any]:
        return {
            "level": "error",
            "message": {"text": "\n".join([f"{finding.test}: {finding.message}", *finding.details])},
            "descriptor": {"id": finding.kind},
            "locations": [_location(*finding.spots[0])],
        }


def document(
    rules: list[dict[str, Any]],
    results: list[dict[str, Any]],
    notices: list[dict[str, Any]],
    more: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A document with one run of ours. `notices`: what concerns the run rather than the code; `more` of the run."""
    run = {
        "tool": {"driver": {"name": "ptxmm", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        **(more or {}),
        "invocations": [{"executionSuccessful": not notices, "toolExecutionNotifications": notices}],
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def fingerprint(finding: Finding) -> str:
    """What tells a finding from all others, and stays the same when unrelated lines change."""
    key = "\0".join((_relative(finding.test), finding.kind, finding.place))
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _flow(finding: Finding) -> dict[str, Any]:
    """The execution: what each thread does, with its place among all steps."""
    threads: dict[str, list[dict[str, Any]]] = {}
    for order, (spot, who, what) in enumerate(finding.steps, 1):
        threads.setdefault(who, []).append({"location": _location(spot, what), "executionOrder": order})
    return {
        "message": {"text": "an execution that shows it"},
        "threadFlows": [{"id": who, "locations": steps} for who, steps in threads.items()],
    }


def _location(spot: Spot, what: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(spot.path)}}
    if spot.line:
        physical["region"] = {"startLine": spot.line} | ({"startColumn": spot.column} if spot.column else {})
    return {"physicalLocation": physical} | ({"message": {"text": what}} if what else {})


def _relative(path: str) -> str:
    """A path as seen from here, where it lies below."""
    relative = os.path.relpath(path) if os.path.isabs(path) else os.path.normpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")


def uri(path: str) -> str:
    relative = _relative(path)
    if os.path.isabs(relative):
        return PurePath(relative).as_uri()
    return quote(relative.encode("utf-8", "surrogateescape"))
