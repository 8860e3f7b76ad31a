"""Results as JUnit XML, which every CI system shows: a test case for each test.

`failure` is a verdict that is not as expected, `error` a test that could not be read or was not decided. What an answer
rests on (loop bounds) stands in `system-out`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from ptxmm.checker import Outcome
from ptxmm.findings import NOT_ALL, bound_of, file_of, home
from ptxmm.report.files import print_document
from ptxmm.words.notes import warned

_ERRORS = ("error", "undecided", "bounded")


_COMMAND = re.compile(r"^([^\S\n]*)::", re.MULTILINE)


class JunitReport:
    """`part`: which of the tests these are, where they are not all."""

    def __init__(self, model: str, part: Mapping[str, str] | None = None) -> None:
        self._model, self._part = model, dict(part or {})
        self._cases: list[ElementTree.Element] = []
        self._taken: dict[tuple[str, str], int] = {}

    def begin(self, paths: list[str]) -> None:
        pass

    def add(self, outcome: Outcome) -> None:
        self._cases.append(self._case(outcome))

    def end(self, seconds: float, left: Sequence[Outcome] = ()) -> None:
        print_document(self, seconds, left)

    def text(self, seconds: float) -> str:
        counts = {
            "tests": str(len(self._cases)),
            "failures": str(sum(case.find("failure") is not None for case in self._cases)),
            "errors": str(sum(case.find("error") is not None for case in self._cases)),
            "time": f"{seconds:.3f}",
        }
        suites = ElementTree.Element("testsuites", {"name": "ptxmm", **counts})
        suite = ElementTree.SubElement(suites, "testsuite", {"name": legal(f"ptxmm check, {self._model}"), **counts})
        suite.set("skipped", "0")
        if self._part:
            properties = ElementTree.SubElement(suite, "properties")
            for name, value in self._part.items():
                ElementTree.SubElement(properties, "property", {"name": name, "value": legal(value)})
        suite.extend(self._cases)
        ElementTree.indent(suites, " ")
        text = ElementTree.tostring(suites, encoding="us-ascii").decode("ascii")
        text = _COMMAND.sub(r"\1&#58;:", text).replace("##[", "&#35;#[")  # nothing for those who read a log
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

    def _case(self, outcome: Outcome) -> ElementTree.Element:
        result = outcome.result
        name = result.path.removeprefix(file_of(result)).lstrip(":") or result.name
        attributes = self._names(legal(file_of(result)), legal(name))
        wrong = [f for f in outcome.findings if not f.known]
        spot = wrong[0].spots[0][0] if wrong else home(result)
        where = {"file": legal(spot.path)} | ({"line": str(spot.line)} if spot.line else {})
        case = ElementTree.Element("testcase", {**attributes, **where, "time": f"{result.seconds:.3f}"})
        if wrong:
            kind = "error" if all(f.kind in _ERRORS for f in wrong) else "failure"
            message = "; ".join(f.message for f in wrong)
            child = ElementTree.SubElement(case, kind, {"message": legal(message), "type": wrong[0].kind})
            child.text = legal("\n\n".join(_text(f.message, f.spots, f.details) for f in wrong))
        said = [f"verdict: {result.verdict}, expected: {result.expectation}"]
        said += [f"known: {f.message}" for f in outcome.findings if f.known]
        said += [text for text in (bound_of(result), *warned(result), *result.notes) if text]
        said += [] if result.listed_all else [NOT_ALL]
        ElementTree.SubElement(case, "system-out").text = legal("\n".join(said))
        return case

    def _names(self, file: str, name: str) -> dict[str, str]:
        """Names that no other case has: of two with one name, readers keep one, and that may be the good one."""
        count = self._taken[file, name] = self._taken.get((file, name), 0) + 1
        return {"classname": file, "name": f"{name} ({count})" if count > 1 else name}


def _text(message: str, spots: tuple[tuple[object, str], ...], details: tuple[str, ...]) -> str:
    return "\n".join([message, *(f"  {spot}{': ' + what if what else ''}" for spot, what in spots), *details])


def legal(text: str) -> str:
    """`text` with what XML 1.0 has no characters for replaced."""
    return "".join(
        c if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff") else "\ufffd"
        for c in text
    )
