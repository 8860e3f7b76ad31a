"""Repairs as fixes for other tools: SARIF, and annotations of GitHub's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptxmm.cli.main import main
from ptxmm.kernels.launch import Buffer, Launch
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.repair.finding import answered
from ptxmm.repair.fixes import hunks, sarif, told
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.subjects import How
from ptxmm.repair.words import text
from ptxmm.words.notes import NOT_ASKED

MP = Path(__file__).resolve().parents[3] / "litmus" / "library" / "message-passing" / "MP+rlx.litmus"


def patched(text: str, replacements: list[dict[str, Any]]) -> str:
    """A text as a tool that reads SARIF changes it: regions by line and column, the last one first."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:i])) for i in range(len(lines) + 1)]
    for change in reversed(replacements):
        region = change["deletedRegion"]
        first = starts[region["startLine"] - 1] + region["startColumn"] - 1
        last = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:first] + change.get("insertedContent", {"text": ""})["text"] + text[last:]
    return text


def test_sarif_has_each_repair_as_a_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(MP.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["repair", str(path), "--all", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["tests"][0]["repairs"]
    assert main(["repair", str(path), "--all", "--format", "sarif"]) == 0
    document = json.loads(capsys.readouterr().out)
    (run,) = document["runs"]
    (result,) = run["results"]
    assert (
        document["version"] == "2.1.0" and run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    )
    assert len(result["fixes"]) == len(told) == 4
    first = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert 1 <= first <= len(path.read_text(encoding="utf-8").splitlines())
    for fix in result["fixes"]:
        (change,) = fix["artifactChanges"]
        assert set(change) == {"artifactLocation", "replacements"} and change["artifactLocation"]["uri"].endswith(
            "mp.litmus"
        )
        path.write_text(patched(MP.read_text(encoding="utf-8"), change["replacements"]), encoding="utf-8")
        assert main(["repair", str(path)]) == 0
        assert "nothing to repair" in capsys.readouterr().out


def test_github_is_told_what_to_type_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(MP.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["repair", str(path), "--format", "github"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::error ")]
    assert lines and all("mp.litmus,line=" in line for line in lines)
    assert any("st.release.gpu.u32 [f], 1" in line for line in lines)
    assert main(["repair", str(path), "--format", "github", "--max-edits", "1"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::error ")]
    assert "no repair was found" in line


CUDA = "__global__ void k(int *x) {\n    // as a compiler reads it\n    *x = 1;\n}\n"
MODULE = """.version 9.0
.target sm_90
.address_size 64
.file 1 "where/it/was/k.cu"
.visible .entry k(.param .u64 x) {
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [x];
    .loc 1 3 5
    st.global.u32 [%rd1], 1;
    ret;
}
"""


def test_where_no_file_is_changed_the_place_is_the_line_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The PTX is in no file, and no edit of the source is proven, since there is no compiler to ask."""
    source = tmp_path / "k.cu"
    source.write_text(CUDA, encoding="utf-8")
    buffer = Buffer("x", elements=1)
    launch = Launch(MODULE, "k", str(source) + ".ptx", grid=(2, 1, 1), params=(buffer,), source=str(source))
    test = KernelTest(str(source), "k", (launch,), (buffer,), (Check("race_free"),))
    subject = KernelSubject(test, How())
    monkeypatch.setattr(subject, "in_source", lambda changes, weaker=False: None)
    answer = answered(subject, "repair", every=False, most=None)
    shown = text(answer)
    assert answer.found and NOT_ASKED in shown
    assert "\n    | @@ -" in shown and "+++" not in shown and "\n@@" not in shown  # no program takes it for a patch
    (result,) = sarif([answer])["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("k.cu") and place["region"] == {"startLine": 3}
    (line,) = told(answer)
    assert f"{source},line=3" in line


@pytest.mark.parametrize(
    ("old", "new"), [("a\nb\n", "a\nc\nb\n"), ("a\nb\nc\n", "a\nc\n"), ("a\n", "b\n"), ("", "x\n")]
)
def test_lines_that_differ_make_the_one_text_the_other(old: str, new: str) -> None:
    lines = old.splitlines(keepends=True)
    for first, count, typed in reversed(hunks(old, new)):
        lines[first - 1 : first - 1 + count] = [typed]
    assert "".join(lines) == new
