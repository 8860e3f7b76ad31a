"""What a command line asks is asked, or the run is not green; by which readings it was answered stands in every report."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ptxmm.cli.main import main

TEST = """PTX {name}
{meta}{{ x = 0; }}
 P0@cta 0 | P1@cta 1 ;
 st.relaxed.gpu.u32 [x], 1 | ld.relaxed.gpu.u32 %r0, [x] ;
exists (1:r0 = 1)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tests that hold; the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        Path(f"{name}.litmus").write_text(TEST.format(name=name, meta=""), encoding="utf-8")


@pytest.mark.parametrize(
    ("kinds", "paths", "status"),
    [
        ("one Allow\ntwo Allow\n", ["."], 0),
        ("one Forbid\ntwo Allow\n", ["."], 1),
        ("one Allow\ntow Forbid\n", ["."], 2),  # the old condition of `two` holds
        ("one Allow\ntwo Forbid\n", ["one.litmus"], 0),  # `two` was not chosen
        ("one Allow\ntow Forbid\n", [".", "--shard", "1/2"], 0),  # it may be in the other
        ("one Allow\nelse ???\n", ["."], 0),  # of which nothing is asked
        ("one Allow\n", ["."], 0),
    ],
)
def test_a_name_that_no_test_has_is_an_error_where_a_test_keeps_its_own_question(
    kinds: str, paths: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("kinds").write_text(f"# what is asked\n{kinds}", encoding="utf-8")
    assert main(["check", *paths, "--jobs", "1", "--kinds", "kinds", "--junit", "report.xml"]) == status
    wrong = [case for case in ElementTree.parse("report.xml").iter("testcase") if case.find("error") is not None]
    assert len(wrong) == (status == 2)
    if wrong:
        assert (wrong[0].get("file"), wrong[0].get("line")) == ("kinds", "3")
        said = capsys.readouterr().err
        assert said.startswith("kinds:3: error: no test here has the name tow") and "did you mean 'two'?" in said


def test_a_condition_of_nobody_is_an_error_too(capsys: pytest.CaptureFixture[str]) -> None:
    Path("conds").write_text('tow "~exists (1:r0 = 1)"\n', encoding="utf-8")
    assert main(["check", "two.litmus", "--conds", "conds", "--format", "github"]) == 2
    assert "::error file=conds,line=1," in capsys.readouterr().out


FILES = ("junit", "sarif", "html", "baseline", "write-baseline", "svg", "dot", "tikz", "cache", "kinds", "conds")


@pytest.mark.parametrize("option", FILES)
def test_an_empty_name_of_a_file_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a variable of a script that is not set: the run would do without what was asked for, and be green."""
    with pytest.raises(SystemExit) as stop:
        main(["check", "one.litmus", f"--{option}", ""])
    assert stop.value.code == 2 and "a name of a file or a folder is needed" in capsys.readouterr().err


def test_readings_stand_in_every_report(capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--junit", "report.xml", "--sarif", "report.sarif", "--html", "pages"]
    assert main(["check", ".", "--jobs", "1", "--war-ok", "--dep", "data", "--format", "json", *files]) == 0
    name = "ptx-9.0 --war-ok --dep data"
    assert json.loads(capsys.readouterr().out)["model"] == name
    for file in ("report.xml", "report.sarif", "pages/index.html"):
        assert name in Path(file).read_text(encoding="utf-8"), file
    for model in ([], ["--model", "ptx-9.0 --war-ok"]):  # a reading is named once
        assert main(["check", ".", "--jobs", "1", "--war-ok", *model]) == 0
        assert "2 tests under ptx-9.0 --war-ok: 2 ok" in capsys.readouterr().out
    assert main(["check", "one.litmus", "--passes=none"]) == 0
    assert main(["check", "one.litmus", "--passes", "-slicing"]) == 0
    assert "under ptx-9.0," in capsys.readouterr().out


def test_a_test_that_would_pass_either_way_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    told = "passes whether its claims hold or not"
    for expected, either in {
        "ok|no": True,
        "ok | bounded|no|undefined|hangs": True,
        "ok|bounded|undefined": False,
    }.items():
        Path("one.litmus").write_text(TEST.format(name="one", meta=f"Expect={expected}\n"), encoding="utf-8")
        for form in ("text", "junit", "sarif", "github", "json", "herd"):
            assert main(["check", "one.litmus", "--format", form]) == (2 if either else 0)
            captured = capsys.readouterr()
            assert (told in captured.out + captured.err) == either, (expected, form)
