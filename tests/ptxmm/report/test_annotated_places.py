"""Documents for other tools that `lint` and `repair` write: SARIF as its schema has it, and each place that an annotation names
is there, whoever opens it: the file, the line, the columns. Those of tests that fail are in `test_every_failure.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from annotated import missing, of_github, of_sarif
from sarif_shape import wrong

from ptxmm.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
MODULES = [
    *sorted((ROOT.parent / "shared" / "kernels").glob("*/buggy.ptx")),
    *sorted((ROOT / "examples").glob("*.ptx")),
]


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
