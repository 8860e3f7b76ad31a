"""What gates read: JUnit, SARIF, GitHub's annotations, and baselines of known findings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from axioms.witness.races import UNDEFINED
from axioms.witness.result import Site, Undefined
from ptxmm.baseline import Baseline, BaselineError, write
from ptxmm.checker import Outcome
from ptxmm.cli.main import main
from ptxmm.cli.options import FORMATS
from ptxmm.findings import KINDS, Finding, findings
from ptxmm.report.github import GithubReport, annotation
from ptxmm.report.junit import JunitReport
from ptxmm.report.sarif import SarifReport, fingerprint
from ptxmm.result import Checked, Loop, RaceEntry, RaceEvent, Refusal, Result, Spot
from ptxmm.undefined import shape

LOOP = Loop("bounded", Spot("lock.ptx", 31), Spot("lock.cu", 7), "$L__BB0_1", 3, ("c0", "c1"))
RACE = RaceEntry(
    "data",
    (
        RaceEvent("CTA 0", 9, "st.u32 [%rd1], %r1", "lock.ptx", Spot("lock.cu", 4)),
        RaceEvent("CTA 1", 12, "ld.u32 %r2, [%rd1]", "lock.ptx"),
    ),
    "nothing orders them",
    ["step 1", "step 2"],
)


def result(**changes: Any) -> Result:
    settings: dict[str, Any] = {
        "path": "a/mp.litmus", "name": "MP", "model": "ptx-9.0", "verdict": "ok", "kind": "not exists",
        "condition": "(x == 1)", "observation": "sometimes", "states": [{"x": 0}, {"x": 1}], "satisfied": [False, True],
        "positive": 1, "negative": 1, "seconds": 0.25, "spot": Spot("a/mp.litmus", 7),
    }  # fmt: skip
    found = Result(**{**settings, **changes})
    if not found.checks and found.kind:
        holds = {"ok": True, "bounded": True, "no": False}.get(found.verdict)
        text = f"{found.kind} {found.condition}"
        found.checks = [Checked(kind=found.kind, text=text, holds=holds, message=f"{text} does not hold", place=text)]
    return found


def kernel(**changes: Any) -> Result:
    check = Checked(
        kind="forall", text="forall x[0] == 2", holds=False, message="forall x[0] == 2 does not hold: x[0] = 1",
        spot=Spot("a/lock.toml", 11, 1), spots=[(Spot("lock.cu", 7), "this read is out of date")],
        state={"x[0]": 1}, linearisation=["CTA 0: <step> & \"more\""], place="forall x[0] == 2",
    )  # fmt: skip
    return result(**{"path": "a/lock.toml:weak", "of_kernel": True, "name": "lock.toml:weak", "verdict": "no",
                     "checks": [check], "spot": Spot("a/lock.toml", 11, 1)} | changes)  # fmt: skip


def outcome(of: Result) -> Outcome:
    return Outcome(of, {}, findings=tuple(findings(of)))


def printed(report: Any, outcomes: Iterable[Outcome], capsys: pytest.CaptureFixture[str]) -> str:
    some = list(outcomes)
    report.begin([o.result.path for o in some])
    for each in some:
        report.add(each)
    report.end(1.0)
    return capsys.readouterr().out


SOME = [
    result(),
    result(verdict="no"),
    kernel(),
    kernel(checks=[Checked(kind="race_free", text="race_free", holds=False, message="1 race found")], races=[RACE]),
    result(verdict="undefined", error="a mixed-size race", observation=None),
    result(verdict="undecided", error="out of time after 1 s", observation=None),
    result(verdict="error", error="a/b.litmus:3:4: error: bad \x1b[31m <thing>\n    line\n    ^", kind=None,
           refusal=Refusal("bad \x1b[31m <thing>", Spot("a/b.litmus", 3, 4), ("    line", "    ^"))),
    result(verdict="no", expectation="no"),
    result(expectation="no"),
    result(verdict="bounded", complete=False, loops=[LOOP]),
    result(verdict="bounded", complete=False, loops=[LOOP], bounded_ok=True),
]  # fmt: skip


# Findings.


def test_what_is_wrong_with_each_test() -> None:
    found = [[f.kind for f in findings(r)] for r in SOME]
    assert found == [
        [], ["condition"], ["forall"], ["data-race"], ["undefined"], ["undecided"], ["error"], [], ["expectation"], ["bounded"],
        [],
    ]  # fmt: skip
    assert all(kind in KINDS for kinds in found for kind in kinds)


def test_a_race_that_leaves_no_meaning_is_one_finding() -> None:
    sites = Site(0, "P0", 3, "st.u8 [x], 1"), Site(1, "P1", 4, "ld.u32 %r0, [x]")
    why = Undefined(UNDEFINED["mixed-size"], sites, "mixed-size")
    races = [replace(RACE, kind="mixed-size"), RACE]
    (mixed, data) = findings(result(verdict="undefined", error=why.rule, undefined=why, observation=None, races=races))
    assert (mixed.kind, data.kind) == ("mixed-size-race", "data-race")
    assert mixed.message.endswith("; the behaviour is undefined") and not data.message.endswith("undefined")
    misuse = findings(result(verdict="undefined", error="a barrier of no threads", observation=None, races=races))
    assert [f.kind for f in misuse] == ["undefined", "mixed-size-race", "data-race"]


def test_findings_say_where() -> None:
    spots = [[str(spot) for spot, _ in f.spots] for r in SOME for f in findings(r)]
    assert spots == [
        ["a/mp.litmus:7"], ["lock.cu:7"], ["lock.ptx:9", "lock.ptx:12"], ["a/mp.litmus:7"], ["a/mp.litmus:7"],
        ["a/b.litmus:3"], ["a/mp.litmus:7"], ["lock.ptx:31"],
    ]  # fmt: skip


def test_races_that_are_right_are_no_findings() -> None:
    checks = [Checked(kind="race_free", text="race_free = false", holds=True), *kernel().checks]
    assert [f.kind for f in findings(kernel(checks=checks, races=[RACE]))] == ["forall"]


def test_the_same_race_of_other_threads_is_told_once() -> None:
    other = replace(RACE, events=tuple(replace(e, thread="CTA 7") for e in reversed(RACE.events)))
    assert (
        len(findings(kernel(checks=[Checked(kind="race_free", text="race_free", holds=False)], races=[RACE, other])))
        == 1
    )


def test_places_do_not_hang_on_the_numbers_of_registers_and_lines() -> None:
    assert shape("ld.u32 %r12, [%rd3+4]") == shape("ld.u32  %r1, [%rd77+4]") != shape("ld.u32 %r1, [%rd77+8]")


# JUnit: what the common schema asks for.

_CASE_CHILDREN = {"skipped", "error", "failure", "system-out", "system-err"}


def test_junit_has_the_shape_that_ci_systems_read(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(JunitReport("ptx-9.0"), map(outcome, SOME), capsys)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites')
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites" and [child.tag for child in root] == ["testsuite"]
    suite = root[0]
    cases = list(suite)
    for counted in (root, suite):
        assert counted.get("tests") == str(len(SOME)) == str(len(cases))
        assert counted.get("failures") == str(sum(c.find("failure") is not None for c in cases)) == "5"
        assert counted.get("errors") == str(sum(c.find("error") is not None for c in cases)) == "3"
        float(counted.get("time") or "none")
    for case in cases:
        assert case.tag == "testcase" and case.get("name") and case.get("classname")
        float(case.get("time") or "none")
        assert {child.tag for child in case} <= _CASE_CHILDREN
        assert len(case.findall("failure") + case.findall("error")) <= 1
        for child in case.findall("failure") + case.findall("error"):
            assert child.get("message") and child.get("type") in KINDS


def test_junit_names_tests_by_file_and_variant(capsys: pytest.CaptureFixture[str]) -> None:
    root = ElementTree.fromstring(printed(JunitReport("m"), [outcome(kernel()), outcome(result())], capsys))
    assert [(c.get("classname"), c.get("name")) for c in root.iter("testcase")] == [
        ("a/lock.toml", "weak"),
        ("a/mp.litmus", "MP"),
    ]
    failure = next(root.iter("failure"))
    assert 'CTA 0: <step> & "more"' in (failure.text or "") and "lock.cu:7: this read is out of date" in (
        failure.text or ""
    )


def test_junit_has_no_characters_that_xml_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    bad = result(name="\x00\ud800\ufffe", path="p\x07", verdict="error", error="\x1b[31m", spot=None)
    ElementTree.fromstring(printed(JunitReport("\x01"), [outcome(bad)], capsys))


def test_junit_tells_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(JunitReport("m"), [outcome(SOME[-1])], capsys)
    assert "the loop at lock.cu:7 (PTX 31, $L__BB0_1) was unrolled at most 3 times" in text
    text = printed(JunitReport("m"), [outcome(SOME[-2])], capsys)
    assert ElementTree.fromstring(text).get("errors") == "1"


# SARIF 2.1.0: what its specification requires.


def check_sarif(document: Any) -> list[dict[str, Any]]:
    """The required structure (sections 3.13 to 3.30 of the specification); gives the results."""
    assert document["version"] == "2.1.0" and isinstance(document["runs"], list)
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "ptxmm" and re.fullmatch(r"\d+\.\d+\.\d+.*", driver["version"])
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    (invocation,) = run["invocations"]
    assert isinstance(invocation["executionSuccessful"], bool)
    for each in [*run["results"], *invocation["toolExecutionNotifications"]]:
        assert each["level"] in ("none", "note", "warning", "error") and each["message"]["text"]
        for location in [*each["locations"], *each.get("relatedLocations", ())]:
            physical = location["physicalLocation"]
            uri = physical["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+", uri) and "\\" not in uri
            region = physical.get("region", {"startLine": 1})
            assert region["startLine"] >= 1 and region.get("startColumn", 1) >= 1
    for each in run["results"]:
        assert rules[each["ruleIndex"]] == each["ruleId"]
        assert all(isinstance(value, str) for value in each.get("partialFingerprints", {}).values())
    return run["results"]  # type: ignore[no-any-return]


def test_sarif_has_the_shape_that_the_specification_asks_for(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(SarifReport("ptx-9.0"), map(outcome, SOME), capsys))
    results = check_sarif(document)
    assert [r["ruleId"] for r in results] == [
        "condition",
        "forall",
        "data-race",
        "undefined",
        "expectation",
        "bounded",
        "bounded",
    ]
    assert [r["level"] for r in results] == ["error"] * 6 + ["note"]
    race = results[2]
    assert race["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "lock.ptx"
    assert race["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 12
    assert "nothing orders them" in race["message"]["text"]
    (invocation,) = document["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert [n["descriptor"]["id"] for n in invocation["toolExecutionNotifications"]] == ["undecided", "error"]


def test_sarif_of_a_good_run_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(SarifReport("m"), [outcome(result())], capsys))
    assert check_sarif(document) == [] and document["runs"][0]["invocations"][0]["executionSuccessful"]


def test_sarif_writes_paths_as_uris(capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("a b/ü%.litmus", "/abs/x y.litmus"):
        bad = result(path=path, verdict="no", spot=Spot(path, 1))
        (found,) = check_sarif(json.loads(printed(SarifReport("m"), [outcome(bad)], capsys)))
        uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert unquote(uri) == ("file://" if path[0] == "/" else "") + path


def test_fingerprints_stay_when_lines_move() -> None:
    (one,) = findings(kernel())
    moved = Checked(kind="forall", text="t", holds=False, spots=[(Spot("lock.cu", 99), "x")], place="forall x[0] == 2")
    (other,) = findings(kernel(checks=[moved], spot=Spot("a/lock.toml", 55)))
    assert fingerprint(one) == fingerprint(other) != fingerprint(findings(kernel(path="b/lock.toml:weak"))[0])


def test_what_was_assumed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    some = [outcome(result(notes=["shared memory is taken to hold zeros"]))]
    (note,) = check_sarif(json.loads(printed(SarifReport("m"), some, capsys)))
    assert (note["ruleId"], note["level"]) == ("assumption", "note") and "zeros" in note["message"]["text"]
    assert "::notice " in printed(GithubReport("m", unroll=4), some, capsys)
    assert "zeros" in printed(JunitReport("m"), some, capsys)


# GitHub.


def test_annotations_are_escaped_as_github_reads_them() -> None:
    finding = Finding("a,b:c.toml", "forall", "50% of it\nfails", ((Spot("x,y.cu", 3, 4), "here"),), details=("a\rb",))
    assert annotation("error", finding) == (
        "::error file=x%2Cy.cu,line=3,col=4,title=a%2Cb%3Ac.toml%3A forall::"
        "50%25 of it%0Afails%0Ax,y.cu:3: here%0Aa%0Db"
    )


def test_github_prints_rows_and_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(GithubReport("m", unroll=4), map(outcome, SOME), capsys).splitlines()
    annotations = [line for line in lines if line.startswith("::")]
    assert len(annotations) == 9
    assert annotations[1].startswith("::error file=lock.cu,line=7,title=a/lock.toml%3Aweak%3A forall::")
    assert annotations[-1].startswith("::notice ") and "was unrolled at most 3 times" in annotations[-1]
    assert lines[-1].startswith("11 tests under m:")


def test_github_sees_paths_from_its_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    finding = Finding("t", "forall", "m", ((Spot(str(tmp_path / "src" / "a.cu"), 3), ""),))
    assert annotation("error", finding).startswith("::error file=src/a.cu,line=3,")


# Baselines.


def test_a_baseline_knows_what_it_was_written_with(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    found = [f for r in SOME for f in findings(r)]
    assert write(path, found) == 5  # what could not be decided says nothing of the test
    baseline = Baseline.read(path)
    for each in SOME:
        marked = baseline.marked(each.path, findings(each))
        assert [f.known for f in marked] == [f.may_be_known for f in marked]
    assert baseline.vanished() == []


def test_more_findings_of_one_place_are_new(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    (finding,) = findings(kernel())
    write(path, [finding])
    assert [f.known for f in Baseline.read(path).marked("a/lock.toml:weak", [finding, finding])] == [True, False]


def test_what_has_vanished_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    there = tmp_path / "there.litmus"
    there.write_text("", encoding="utf-8")
    gone, fixed, unchecked = (
        Finding(str(tmp_path / name), "condition", "m", ((Spot("x"), ""),), place="p")
        for name in ("gone.litmus", "fixed.litmus", "there.litmus")
    )
    write(path, [gone, fixed, unchecked])
    baseline = Baseline.read(path)
    baseline.marked(str(tmp_path / "fixed.litmus"), [])
    assert [key[0] for key in baseline.vanished()] == ["fixed.litmus", "gone.litmus"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"ptxmm-baseline": 2, "findings": []}', '{"ptxmm-baseline": 1}',
     '{"ptxmm-baseline": 1, "findings": [{}]}',
     '{"ptxmm-baseline": 1, "findings": [{"test": "a", "kind": "b", "place": "c"}]}'],
)  # fmt: skip
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BaselineError, match="no baseline"):
        Baseline.read(str(path))


LITMUS = """PTX MP
{ x = 0; y = 0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.weak.u32 [x], 1 | ld.acquire.gpu.u32 %r0, [y] ;
 st.RELEASE.gpu.u32 [y], 1 | ld.weak.u32 %r1, [x] ;
~exists (1:r0 = 1 /\\ 1:r1 = 0)
"""


def test_files_that_are_no_text_are_no_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = tmp_path / "good.litmus"
    test.write_text(LITMUS.replace("RELEASE", "release"), encoding="utf-8")
    for text in (b"[" * 200_000, b"\xff", b"0" * (65 << 20)):
        (tmp_path / "known.json").write_bytes(text)
        assert main(["check", str(test), "--baseline", str(tmp_path / "known.json")]) == 2
        said = capsys.readouterr().err
        assert (
            re.search("known.json: (no baseline: |longer than 64 MiB: not a baseline)", said) and "defect" not in said
        )
    os.mkfifo(tmp_path / "pipe")  # nobody ever writes to it
    assert main(["check", str(test), "--baseline", str(tmp_path / "pipe")]) == 2
    assert main(["check", f"@{tmp_path}/pipe"]) == 2
    assert capsys.readouterr().err.count("nothing came out of it") == 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.litmus").write_text(LITMUS.replace("RELEASE", "release"), encoding="utf-8")
    (tmp_path / "weak.litmus").write_text(LITMUS.replace("RELEASE", "relaxed"), encoding="utf-8")
    return tmp_path


def test_a_known_finding_does_not_fail_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ".", "--write-baseline", "known.json"]) == 1
    assert "known.json: 1 known finding\n" in capsys.readouterr().err
    assert main(["check", ".", "--baseline", "known.json"]) == 0
    out = capsys.readouterr().out
    assert "expected ok, but known" in out and "1 known finding" in out and "not as expected" not in out
    (folder / "weak.litmus").write_text("// a comment\n" + LITMUS.replace("RELEASE", "relaxed"), encoding="utf-8")
    assert main(["check", ".", "--baseline", "known.json"]) == 0
    (folder / "weak.litmus").write_text(LITMUS.replace("RELEASE", "release"), encoding="utf-8")
    capsys.readouterr()
    assert main(["check", ".", "--baseline", "known.json"]) == 0
    assert "known.json: ./weak.litmus: no longer found" in capsys.readouterr().err.replace(": weak", ": ./weak")


def test_a_new_finding_beside_known_ones_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", ".", "--write-baseline", "known.json"])
    (folder / "new.litmus").write_text(
        LITMUS.replace("RELEASE", "weak").replace(".gpu.u32 [y], 1", ".u32 [y], 1"), encoding="utf-8"
    )
    assert main(["check", ".", "--baseline", "known.json"]) == 1


def test_known_findings_show_as_such_in_every_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", ".", "--write-baseline", "known.json"])
    capsys.readouterr()

    def out(form: str) -> str:
        assert main(["check", ".", "--baseline", "known.json", "--format", form]) == 0
        return capsys.readouterr().out

    assert ElementTree.fromstring(out("junit")).get("failures") == "0"
    assert [r["baselineState"] for r in check_sarif(json.loads(out("sarif")))] == ["unchanged"]
    assert "::notice " in out("github")
    (finding,) = json.loads(out("json"))["tests"][1]["findings"]
    assert finding["known"] is True


def test_a_baseline_that_cannot_be_read_is_bad_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ".", "--baseline", "none.json"]) == 2
    assert "--baseline none.json: No such file" in capsys.readouterr().err
    assert main(["check", ".", "--baseline", "good.litmus"]) == 2
    assert main(["check", ".", "--write-baseline", "no/such/folder.json"]) == 2


@pytest.mark.parametrize("form", ["junit", "sarif", "github"])
def test_every_format_works_from_the_command_line(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.litmus").write_text("PTX bad\n{ x = }\n", encoding="utf-8")
    assert main(["check", ".", "--format", form, "--jobs", "2"]) == 2
    printed = capsys.readouterr()
    if form == "junit":
        root = ElementTree.fromstring(printed.out)
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    elif form == "sarif":
        assert len(check_sarif(json.loads(printed.out))) == 1
    else:
        assert "::error file=bad.litmus,line=2,col=" in printed.out


LOOP_TEST = """PTX loop
{ x = 0; y = 0; }
 P0@cta 0,gpu 0                           | P1@cta 1,gpu 0            ;
 mov.u32 %r0, 0                           | st.relaxed.gpu.u32 [x], 1 ;
 L1: atom.relaxed.gpu.add.u32 %r1, [y], 1 |                           ;
 ld.relaxed.gpu.u32 %r2, [x]              |                           ;
 setp.eq.u32 %p, %r2, 0                   |                           ;
 @%p bra L1                               |                           ;
forall (x >= 0)
"""


@pytest.mark.parametrize("form", FORMATS)
def test_bounds_are_told_in_every_format(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "loop.litmus").write_text(LOOP_TEST, encoding="utf-8")
    assert main(["check", "loop.litmus", "--format", form]) == 3
    printed = capsys.readouterr()
    if form == "json":
        (loop,) = json.loads(printed.out)["tests"][0]["loops"]
        assert (loop["kind"], loop["line"], loop["label"], loop["turns"]) == ("bounded", 5, "L1", 4)
    else:
        assert "the loop at loop.litmus:5 (L1) was unrolled at most 4 times" in printed.out + printed.err
    assert main(["check", "loop.litmus", "--format", form, "--bounded-ok"]) == 0
