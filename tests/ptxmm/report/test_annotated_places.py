"""Documents for other tools, over kernels that fail: SARIF as its schema has it, and each place that an annotation names is
there, whoever opens it: the file, the line, the columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from kept import EXAMPLES, MUSEUM, variants
from sarif_shape import physical_locations, wrong

import ptxmm
from ptxmm.checker import Checker, Outcome, Settings
from ptxmm.cli.main import main
from ptxmm.findings import findings
from ptxmm.kernels.test import KernelTest
from ptxmm.report.github import GithubReport
from ptxmm.report.junit import JunitReport
from ptxmm.report.sarif import SarifReport

ROOT = Path(__file__).resolve().parents[3]
MODULES = [
    *sorted((ROOT.parent / "shared" / "kernels").glob("*/buggy.ptx")),
    *sorted((ROOT / "examples").glob("*.ptx")),
]


class Place(NamedTuple):
    """What is named: a file, and where it says more, line, column, last line and the column after the last."""

    path: str
    line: int = 0
    column: int = 0
    last: int = 0
    end: int = 0


@cache
def lines_of(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").split("\n")


def missing(place: Place) -> str:
    """What of a place is not there; empty where all is."""
    if not Path(place.path).is_file():
        return f"{place.path}: no such file"
    lines = lines_of(place.path)
    last = place.last or place.line
    if not place.line <= last <= len(lines):
        return f"{place}: the file has {len(lines)} lines"
    if place.line and not lines[place.line - 1].strip() and last == place.line:
        return f"{place}: the line is empty"
    if place.column > len(lines[place.line - 1]) + 1 or place.end > len(lines[last - 1]) + 1:
        return f"{place}: the line is shorter"
    return ""


@cache
def outcomes() -> tuple[Outcome, ...]:
    """The kernels of the museum and of the examples that fail, as if nobody had expected it."""
    check = Checker(Settings(tell=True, races=True))
    found = []
    for path, variant in variants([*EXAMPLES, *MUSEUM]):
        try:
            test = ptxmm.load(f"{path}:{variant}")
        except ptxmm.InputError as error:
            assert "cannot read" in str(error)  # the collection of kernels is not here
            continue
        assert isinstance(test, KernelTest)
        if test.expect == ("ok",):
            continue
        outcome = check.decide(test.path, lambda test=test: replace(test, expect=("ok",)))  # type: ignore[misc]
        found.append(outcome._replace(findings=tuple(findings(outcome.result))))
    return tuple(found)


def of_sarif(document: Any) -> Iterator[Place]:
    for uri, region in physical_locations(document):
        parts = urlsplit(uri)
        assert parts.scheme in ("", "file")
        keys = ("startLine", "startColumn", "endLine", "endColumn")
        yield Place(unquote(parts.path), *(region.get(key, 0) for key in keys))


def of_github(text: str) -> Iterator[Place]:
    for fields in re.findall(r"^::(?:error|warning|notice) (.*?)::", text, re.MULTILINE):
        said = dict(field.split("=", 1) for field in fields.split(","))
        path = said["file"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        yield Place(path, int(said["line"]), int(said.get("col", 0)))


def of_junit(text: str) -> Iterator[Place]:
    for case in ElementTree.fromstring(text).iter("testcase"):
        yield Place(case.attrib["file"], int(case.get("line", "0")))


FORMS: dict[str, tuple[Callable[[], Any], Callable[[str], Iterator[Place]]]] = {
    "sarif": (lambda: SarifReport("ptx-9.0"), lambda text: of_sarif(json.loads(text))),
    "github": (lambda: GithubReport("ptx-9.0", unroll=4), of_github),
    "junit": (lambda: JunitReport("ptx-9.0"), of_junit),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_place_of_a_failing_kernel_is_there(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    make, places = FORMS[form]
    report = make()
    report.begin([o.result.path for o in outcomes()])
    for outcome in outcomes():
        assert outcome.findings, outcome.result.path
        report.add(outcome)
    report.end(1.0)
    text = capsys.readouterr().out
    if form == "sarif":
        document = json.loads(text)
        assert wrong(document) == []
        assert any("codeFlows" in result for result in document["runs"][0]["results"])
    found = set(places(text))
    assert len({place.path for place in found}) >= 3 and sum(place.line > 0 for place in found) >= len(outcomes()) / 2
    assert [missing(place) for place in sorted(found) if missing(place)] == []


def test_every_place_that_lint_names_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "b a%d,.ptx"
    bad.write_text(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { add.u32 r; ret; }\nnonsense", "utf-8"
    )
    assert main(["lint", *map(str, MODULES), str(bad), str(tmp_path / "gone.ptx"), "--format", "sarif"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert wrong(document) == []
    results = document["runs"][0]["results"]
    assert sum("fixes" in result for result in results) >= 2 and any(r["level"] == "error" for r in results)
    found = set(of_sarif(results))
    assert len(found) >= 4 and [missing(place) for place in sorted(found) if missing(place)] == []
    (notice,) = document["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert [Path(place.path).name for place in of_sarif(notice)] == ["gone.ptx"]


@pytest.mark.parametrize("edits", ["1", "2"])
def test_every_place_that_repair_names_is_there(tmp_path: Path, edits: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With a repair, and where so few edits make none."""
    path = tmp_path / "mp.litmus"
    source = ROOT / "litmus" / "library" / "message-passing" / "MP+rlx.litmus"
    path.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["repair", str(path), "--max-edits", edits, "--format", "sarif"]) == (edits == "1")
    document = json.loads(capsys.readouterr().out)
    assert wrong(document) == []
    results = document["runs"][0]["results"]
    assert [("fixes" in result) for result in results] == [edits == "2"]
    assert [missing(place) for place in of_sarif(document) if missing(place)] == []
    main(["repair", str(path), "--max-edits", edits, "--format", "github"])
    places = list(of_github(capsys.readouterr().out))
    assert places and [missing(place) for place in places if missing(place)] == []


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ('"columnKind": 3', "columnKind"),
        ('"column": "x"', "run has no 'column'"),
        ('"results": [{"level": "error"}]', "result without 'message'"),
        ('"results": [{"message": {"text": ""}, "level": "bad"}]', "level"),
        ('"results": [{"message": {"text": ""}, "fixes": [{"artifactChanges": []}]}]', "artifactChanges"),
        ('"results": [{"message": {"text": ""}, "ruleId": "a", "ruleIndex": 0}]', "rule 0"),
        ('"results": [{"message": {}}]', "message without one of"),
        ('"invocations": [{"executionSuccessful": 1}]', "executionSuccessful"),
    ],
)
def test_what_the_schema_does_not_allow_is_seen(spoilt: str, why: str) -> None:
    text = f'{{"version": "2.1.0", "runs": [{{"tool": {{"driver": {{"name": "x"}}}}, "results": [], {spoilt}}}]}}'
    assert any(why in said for said in wrong(json.loads(text)))


def test_a_litmus_test_that_fails_has_a_code_flow_of_each_thread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = tmp_path / "mp.litmus"
    rows = " st.weak.u32 [x], 1 | ld.relaxed.gpu.u32 %r0, [y] ;\n st.relaxed.gpu.u32 [y], 1 | ld.weak.u32 %r1, [x] ;\n"
    head = "PTX mp\n{ x = 0; y = 0; }\n P0@cta 0 | P1@cta 1 ;\n"
    for claim, flows in {"~exists (1:r0 = 1 /\\ 1:r1 = 0)": True, "exists (1:r1 = 7)": False}.items():
        test.write_text(f"{head}{rows}{claim}\n", encoding="utf-8")
        assert main(["check", str(test), "--format", "sarif"]) == 1
        document = json.loads(capsys.readouterr().out)
        assert wrong(document) == []
        (result,) = document["runs"][0]["results"]
        assert ("codeFlows" in result) == flows
        for thread in result["codeFlows"][0]["threadFlows"] if flows else ():
            lines = [at["location"]["physicalLocation"]["region"]["startLine"] for at in thread["locations"]]
            assert thread["id"] in ("P0", "P1") and lines == [4, 5]
