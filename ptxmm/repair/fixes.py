"""Repairs and weakenings as fixes that other tools apply: SARIF 2.1.0, and annotations of GitHub's.

An annotation cannot hold a suggestion that is applied by a click, for the format has none: it says what to type at its lines.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from ptxcore.records import NamedTuple
from ptxmm import __version__
from ptxmm.diffs import filed, lines_of
from ptxmm.findings import Finding
from ptxmm.repair.building import REPAIR
from ptxmm.repair.found import Answer, Found
from ptxmm.repair.words import title
from ptxmm.report.github import annotation
from ptxmm.report.sarif import uri
from ptxmm.result import Spot

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    "repair": "a check of a test fails, and edits make every check hold",
    "weaken": "an order, a scope, a fence or a barrier is stronger than any check of a test needs",
}


class Hunk(NamedTuple):
    """The lines from `first` on, `lines` of them, become `new`."""

    first: int
    lines: int
    new: str


class FileChange(NamedTuple):
    """What becomes of a file, whose lines are `old`."""

    path: str
    old: list[str]
    hunks: tuple[Hunk, ...]

    def line(self, hunk: Hunk) -> int:
        """The line at which a hunk is told, which is there: the last one for what is put in behind it."""
        return min(hunk.first, max(1, len(self.old)))


def hunks(old: str, new: str) -> tuple[Hunk, ...]:
    """The lines that differ between two texts."""
    before, after = lines_of(old), lines_of(new)
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(Hunk(a + 1, b - a, "".join(after[c:d])) for kind, a, b, c, d in codes if kind != "equal")


def changes(answer: Answer, found: Found) -> list[FileChange]:
    """What a fix changes: the file of the test, where there is one, and the source, where an edit of it is proven."""
    changed = []
    source = found.source
    if source is not None and source.text:
        changed.append(_changed(source.path, source.old, source.text))
    if answer.subject.applies:
        changed.append(_changed(answer.subject.path, answer.subject.text, found.text))
    return changed


def _changed(path: str, old: str, new: str) -> FileChange:
    before, after = filed(path, old, new)
    return FileChange(path, lines_of(before), hunks(before, after))


def sarif(answers: Sequence[Answer]) -> dict[str, Any]:
    """A document with a result for each test that is not as it should be; each of its `fixes` is a way to mend it."""
    run = {
        "tool": {
            "driver": {
                "name": "ptxmm",
                "version": __version__,
                "rules": [{"id": kind, "shortDescription": {"text": text}} for kind, text in _RULES.items()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": all(_decided(answer) for answer in answers)}],
        "results": [_result(answer) for answer in answers if _tells(answer)],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _decided(answer: Answer) -> bool:
    return not answer.stopped and answer.base.holds is not None


def _tells(answer: Answer) -> bool:
    """Whether there is something to mend, with a fix or without one."""
    return bool(answer.found) or (answer.mode == REPAIR and answer.base.holds is False)


def _result(answer: Answer) -> dict[str, Any]:
    fixes = [_fix(answer, number, found) for number, found in enumerate(answer.found, 1) if changes(answer, found)]
    written = {
        "ruleId": answer.mode,
        "ruleIndex": list(_RULES).index(answer.mode),
        "level": "error" if answer.mode == REPAIR else "note",
        "message": {"text": f"{answer.subject.name}: {_said(answer)}"},
        "locations": [_location(*_place(answer))],
    }
    return written | ({"fixes": fixes} if fixes else {})


def _said(answer: Answer) -> str:
    if answer.found:
        return title(answer, 1, answer.found[0])
    failed = ", ".join(answer.base.failed) or answer.base.reason
    return f"{failed} fails, and no repair was found"


def _place(answer: Answer) -> tuple[str, int]:
    """File and line to look at, which are there: where the first fix begins, else the source of the first change, else the
    file of the test."""
    for found in answer.found[:1]:
        for change in changes(answer, found):
            if change.hunks:
                return change.path, change.line(change.hunks[0])
        spots = (answer.subject.spot(change.line) for change in found.changes)
        if (spot := next((spot for spot in spots if spot), None)) is not None:
            return spot
    return answer.subject.file, 1


def _location(path: str, line: int) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": uri(path)}, "region": {"startLine": line}}}


def _fix(answer: Answer, number: int, found: Found) -> dict[str, Any]:
    told = [title(answer, number, found), *(f"{c.who} line {c.line}: {c.words}" for c in found.changes)]
    changed = [
        {"artifactLocation": {"uri": uri(c.path)}, "replacements": [_replacement(c.old, hunk) for hunk in c.hunks]}
        for c in changes(answer, found)
    ]
    return {"description": {"text": "\n".join(told)}, "artifactChanges": changed}


def _replacement(old: list[str], hunk: Hunk) -> dict[str, Any]:
    """A region that is there: one that goes on to the end of the file ends in its last line."""
    first, begin = _point(old, hunk.first)
    last, end = _point(old, hunk.first + hunk.lines)
    region = {"startLine": first, "startColumn": begin, "endLine": last, "endColumn": end}
    return {"deletedRegion": region} | ({"insertedContent": {"text": hunk.new}} if hunk.new else {})


def _point(old: list[str], line: int) -> tuple[int, int]:
    """Line and column of the beginning of a line; for the one behind a last line that has no end, where that ends."""
    if line > len(old) > 0 and not old[-1].endswith("\n"):
        return len(old), len(old[-1]) + 1
    return line, 1


def told(answer: Answer) -> Iterator[str]:
    """A workflow command for each place of the first fix, with what to type there; for a test without one, what fails."""
    level = "error" if answer.mode == REPAIR else "notice"
    if not _tells(answer):
        return
    path, line = _place(answer)
    places = [
        (change, hunk) for found in answer.found[:1] for change in changes(answer, found) for hunk in change.hunks
    ]
    if not places:
        yield annotation(level, _finding(answer, path, line, _said(answer), ()))
    for change, hunk in places:
        behind = change.line(hunk) < hunk.first
        put = f"put in {'behind' if behind else 'before'} this line"
        verb = put if not hunk.lines else "write" if hunk.new else "take away"
        typed = hunk.new.splitlines() if hunk.new else [f"lines {hunk.first} to {hunk.first + hunk.lines - 1}"]
        yield annotation(
            level, _finding(answer, change.path, change.line(hunk), f"{_said(answer)}; {verb}:", tuple(typed))
        )


def _finding(answer: Answer, path: str, line: int, message: str, details: tuple[str, ...]) -> Finding:
    return Finding(answer.subject.name, answer.mode, message, ((Spot(path, line), ""),), details=details)
