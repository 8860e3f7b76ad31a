"""A baseline accepts finding by finding: a test passes only if everything that is wrong with it, and all that is not known of
it, is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from campaigns import some

from ptxmm.cli.main import main
from ptxmm.cli.options import FORMATS
from ptxmm.findings import Finding, findings
from ptxmm.result import Checked, Loop, Result, Spot

FLAG = """PTX flag
{ x = 0; f = 0; }
P0@cta 0 { st.weak.u32 [x], 1; st.RELEASE.gpu.u32 [f], 1; }
P1@cta 1 { ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x]; }
~exists (1:%r0 = 1 /\\ 1:%r1 = 0)
"""
CONDITION = "~exists (1:r0 == 1 /\\ 1:r1 == 0) does not hold"
LOOP = Loop("bounded", Spot("a.litmus", 3), None, "L", 4, ("P0",))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A test whose race is known; its condition held when that was written down, and no longer does."""
    monkeypatch.chdir(tmp_path)
    flag = tmp_path / "flag.litmus"
    flag.write_text(FLAG.replace("RELEASE", "release"), encoding="utf-8")
    assert main(["check", "--races", "flag.litmus", "--write-baseline", "known.json"]) == 1
    assert main(["check", "--races", "flag.litmus", "--baseline", "known.json"]) == 0
    flag.write_text(FLAG.replace("RELEASE", "relaxed"), encoding="utf-8")
    capsys.readouterr()
    return tmp_path


@pytest.mark.part(3)
@pytest.mark.parametrize("form", FORMATS)
def test_a_known_race_hides_no_condition(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "--races", "--baseline", "known.json", "--format", form, "--jobs", "1"]
    assert main([*arguments, "flag.litmus"]) == 1
    printed = capsys.readouterr()
    if form == "json":
        known = {f["kind"]: f["known"] for f in json.loads(printed.out)["tests"][0]["findings"]}
        assert known == {"condition": False, "data-race": True}
    elif form == "junit":
        (failure,) = ElementTree.fromstring(printed.out).iter("failure")
        assert failure.get("type") == "condition" and CONDITION in (failure.get("message") or "")
        assert "race between" not in (failure.text or "")
    elif form == "sarif":
        states = {r["ruleId"]: r["baselineState"] for r in json.loads(printed.out)["runs"][0]["results"]}
        assert states == {"condition": "new", "data-race": "unchanged"}
    elif form == "github":
        assert f"condition::{CONDITION}" in printed.out and "::notice file=flag.litmus" in printed.out
    elif form == "herd":
        assert f"flag.litmus: condition: {CONDITION}" in printed.err
        assert "flag.litmus: known data-race: data race" in printed.err
    else:
        assert "expected ok\n" in printed.out and "    known: data race between" in printed.out
        main([*arguments, "flag.litmus", "flag.litmus"])
        assert f"expected ok\n    {CONDITION}" in capsys.readouterr().out


def test_all_that_is_wrong_may_be_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--races", "flag.litmus", "--write-baseline", "known.json"]) == 1
    assert "known.json: 2 known findings" in capsys.readouterr().err
    assert main(["check", "--races", "flag.litmus", "--baseline", "known.json"]) == 0
    assert main(["check", "flag.litmus", "--baseline", "known.json"]) == 0


def result(*checks: tuple[str, bool | None, bool], **more: Any) -> Result:
    found = [
        Checked(kind=kind, text=kind, holds=holds, bounded=bounded, message=kind) for kind, holds, bounded in checks
    ]
    plain: dict[str, Any] = {"path": "a.toml", "name": "a", "model": "m", "verdict": "no", "of_kernel": True}
    return Result(**plain, checks=found, loops=[LOOP], complete=False, **more)


def kinds(result: Result) -> list[str]:
    return [finding.kind for finding in findings(result)]


def test_what_is_not_known_of_a_test_is_no_known_finding() -> None:
    some = result(("forall", False, False), ("terminates", None, False), ("no_trap", True, True))
    found = findings(some)
    assert [(f.kind, f.may_be_known, f.status) for f in found] == [
        ("forall", True, 1), ("undecided", False, 3), ("bounded", False, 3),
    ]  # fmt: skip
    assert kinds(result(("forall", False, False), ("no_trap", True, True), bounded_ok=True)) == ["forall"]
    assert kinds(result(("forall", False, False), ("no_trap", True, True), expectation="ok|bounded")) == ["forall"]


def test_another_verdict_than_one_that_was_expected_is_a_finding_of_its_own() -> None:
    assert kinds(result(("forall", False, False), expectation="undefined")) == ["expectation", "forall"]
    assert kinds(result(("forall", False, False), expectation="no")) == []
    ok = Result(path="a", name="a", model="m", verdict="ok", expectation="no")
    undefined = Result(path="a", name="a", model="m", verdict="undefined", expectation="no", error="misuse")
    places = [{f.place for f in findings(r) if f.kind == "expectation"} for r in (ok, undefined)]
    assert places == [{"ok, not no"}, {"undefined, not no"}]


@pytest.mark.parametrize("verdict", ["ok", "bounded", "no", "undecided", "undefined", "error"])
@pytest.mark.parametrize("expectation", ["ok", "no", "undefined", "hangs", "ok|bounded", "no|undefined"])
def test_whatever_does_not_pass_has_a_finding(verdict: str, expectation: str) -> None:
    """Also of an answer that contradicts itself: the gate does not rest on how answers are made."""
    bare = Result(path="a", name="a", model="m", verdict=verdict, expectation=expectation)
    found = findings(bare)
    assert bool(found) == (not bare.passed)
    assert all(f.status != 0 for f in found)


def test_a_finding_that_is_known_asks_for_no_status() -> None:
    assert Finding("a", "forall", "m", ((Spot("a"), ""),), known=True).status == 0


@pytest.mark.parametrize("form", some(4, ["text", "github", "herd", "junit"]))
def test_a_list_of_outcomes_that_was_cut_says_so(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = range(12)
    zeros, stores = "".join(f"x{i}=0;" for i in names), "".join(f"st.relaxed.gpu.u32 [x{i}], 1;" for i in names)
    loads = "".join(f"ld.relaxed.gpu.u32 %r{i}, [x{i}];" for i in names)
    every = " /\\ ".join(f"1:r{i}=1" for i in names)
    path = tmp_path / "many.litmus"
    path.write_text(
        f"PTX many\n{{ {zeros} }}\nP0@cta 0 {{ {stores} }}\nP1@cta 1 {{ {loads} }}\n~exists ({every})\n",
        encoding="utf-8",
    )
    main(["check", str(path), str(path), "--jobs", "1", "--format", form])
    printed = capsys.readouterr()
    if form in ("text", "github"):
        assert printed.out.count("at least 1 of at least ") >= 2
    else:
        assert (printed.out + printed.err).count("there may be more outcomes than are listed") >= 2
