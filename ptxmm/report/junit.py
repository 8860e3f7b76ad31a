"""Results as JUnit XML, which every CI system shows: a test case for each test.

`failure` is a verdict that is not as expected, `error` a test that could not be read or was not decided. What an answer
rests on (loop bounds) stands in `system-out`.
"""

from __future__ import annotations

import sys
from xml.etree import ElementTree

from ptxmm.checker import Outcome
from ptxmm.findings import bound_of, file_of

_ERRORS = ("error", "undecided", "incomplete")


class JunitReport:
    def __init__(self, model: str) -> None:
        self._model = model
        self._cases: list[ElementTree.Element] = []

    def begin(self, paths: list[str]) -> None:
        pass

    def add(self, outcome: Outcome) -> None:
        self._cases.append(self._case(outcome))

    def end(self, seconds: float) -> None:
        counts = {
            "tests": str(len(self._cases)),
            "failures": str(sum(case.find("failure") is not None for case in self._cases)),
            "errors": str(sum(case.find("error") is not None for case in self._cases)),
            "time": f"{seconds:.3f}",
        }
        suites = ElementTree.Element("testsuites", {"name": "ptxmm", **counts})
        suite = ElementTree.SubElement(suites, "testsuite", {"name": legal(f"ptxmm check, {self._model}"), **counts})
        suite.set("skipped", "0")
        suite.extend(self._cases)
        ElementTree.indent(suites, " ")
        text = ElementTree.tostring(suites, encoding="us-ascii").decode("ascii")
        sys.stdout.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')

    def _case(self, outcome: Outcome) -> ElementTree.Element:
        result = outcome.result
        name = result.path.removeprefix(file_of(result)).lstrip(":") or result.name
        case = ElementTree.Element(
            "testcase",
            {"classname": legal(file_of(result)), "name": legal(name), "time": f"{result.seconds:.3f}"},
        )
        wrong = [f for f in outcome.findings if not f.known]
        if wrong:
            kind = "error" if wrong[0].kind in _ERRORS else "failure"
            message = "; ".join(f.message for f in wrong)
            child = ElementTree.SubElement(case, kind, {"message": legal(message), "type": wrong[0].kind})
            child.text = legal("\n\n".join(_text(f.message, f.spots, f.details) for f in wrong))
        said = [f"verdict: {result.verdict}, expected: {result.expectation}"]
        said += [f"known: {f.message}" for f in outcome.findings if f.known]
        said += [text for text in (bound_of(result), *result.notes) if text]
        ElementTree.SubElement(case, "system-out").text = legal("\n".join(said))
        return case


def _text(message: str, spots: tuple[tuple[object, str], ...], details: tuple[str, ...]) -> str:
    return "\n".join([message, *(f"  {spot}{': ' + what if what else ''}" for spot, what in spots), *details])


def legal(text: str) -> str:
    """`text` with what XML 1.0 has no characters for replaced."""
    return "".join(
        c if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff") else "\ufffd"
        for c in text
    )
