"""A project's defaults for `ptxmm check`: options by their names, each mistake told at its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxmm.cli.main import main

TEST = "PTX t\n{ x = 0; }\n P0@cta 0 | P1@cta 1 ;\n st.weak.u32 [x], 1 | ld.weak.u32 %r0, [x] ;\nexists (1:r0 = 1)\n"


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project; the current folder is one below it."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    Path("t.litmus").write_text(TEST, encoding="utf-8")
    return tmp_path


def project(folder: Path, table: str) -> None:
    (folder / "pyproject.toml").write_text(f"[project]\nname = 'x'\n\n[tool.ptxmm]\n{table}\n", encoding="utf-8")


def test_the_project_says_how_tests_are_checked(below: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t.litmus"]) == 0
    project(below, 'check = ["race_free"]\nformat = "json"\njunit = "report.xml"\ntimeout = 60\nraces = false')
    capsys.readouterr()
    assert main(["check", "t.litmus"]) == 1  # it has a race
    (test,) = json.loads(capsys.readouterr().out)["tests"]
    assert test["races"] and (below / "report.xml").exists()
    assert main(["check", "t.litmus", "--format", "text"]) == 1 and "race_free fails  t " in capsys.readouterr().out
    assert main(["check", "t.litmus", "--no-defaults"]) == 0 and "race_free" not in capsys.readouterr().out


def test_the_nearest_project_counts_and_others_are_left_alone(below: Path) -> None:
    project(below, "races = true")
    assert main(["check", "t.litmus"]) == 1
    Path("pyproject.toml").write_text("[project]\nname = 'y'\n", encoding="utf-8")
    assert main(["check", "t.litmus"]) == 0
    Path("pyproject.toml").write_text("[project]\ndependencies = ['ptxmm']\n", encoding="utf-8")
    assert main(["check", "t.litmus"]) == 0


WRONG = [
    ("tiemout = 60", "5:1", "has no default 'tiemout'", "did you mean 'timeout'?"),
    ("bounded_ok = true", "5:1", "has no default 'bounded_ok'", "did you mean 'bounded-ok'?"),
    ('shard = "1/2"', "5:1", "has no default 'shard'", "of one run"),
    ("timeout = -1", "5:11", "must be a positive time", None),
    ('format = "xml"', "5:10", "one of text,", None),
    ('races = "yes"', "5:9", "true or false is wanted", None),
    ("check = [true]", "5:9", "a string or a number is wanted", None),
    ("changed = true", "5:1", "has no default 'changed'", "of one run"),
    ('launch = "k"', "5:1", "has no default 'launch'", "command line"),
    ('model = ["ptx-6.0", "ptx-9.0"]', "5:9", "one value is wanted here, not a", None),
    ("timeout = []", "5:11", "one value is wanted here, not a", None),
    ("bounded-ok = [true, false]", "5:14", "true or false is wanted", None),
    ('check = ["race_free", "nonsense"]', "5:9", "one of race_free,", None),
    ('baseline = ""', "5:12", "a name of a file or a folder is needed", None),
    ('junit = ""', "5:9", "a name of a file or a folder is needed", None),
    ("model = {a = 1}", "5:9", "a string or a number is wanted", None),
]


@pytest.mark.part(3)
@pytest.mark.parametrize(("table", "place", "message", "hint"), WRONG, ids=[table for table, *_ in WRONG])
def test_mistakes_are_told_at_their_lines(
    below: Path, table: str, place: str, message: str, hint: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    project(below, table)
    assert main(["check", "t.litmus"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"../pyproject.toml:{place}: error: ") and message in said and (hint or "") in said
    assert main(["check", "t.litmus", "--no-defaults"]) == 0


def test_what_is_no_toml_is_told(below: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (below / "pyproject.toml").write_text("[tool.ptxmm\n", encoding="utf-8")
    assert main(["check", "t.litmus"]) == 2 and "no TOML" in capsys.readouterr().err
    (below / "pyproject.toml").write_text("[tool]\nptxmm = 1\n", encoding="utf-8")
    assert main(["check", "t.litmus"]) == 2 and "a table is wanted" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["m.cat", "m.cat/-sc", "m.cat -I inc", "m.cat/-sc -I inc -I none/../inc"])
def test_a_model_of_a_project_is_seen_from_there_with_all_that_its_name_says(
    below: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what it includes; a model of the same name in the folder below is another one."""
    (below / "inc").mkdir()
    (below / "none").mkdir()
    (below / "inc" / "part.cat").write_text("acyclic po | rf | co | fr as sc\n", encoding="utf-8")
    included = 'include "part.cat"' if "-I" in name else "acyclic po | rf | co | fr as sc"
    (below / "m.cat").write_text(f"m\n{included}\nacyclic po-loc | rf | co | fr as coherence\n", encoding="utf-8")
    Path("m.cat").write_text("m\nempty rf as other\n", encoding="utf-8")
    project(below, f'model = "{name}"')
    assert main(["check", "t.litmus"]) == 0, capsys.readouterr()
    said = capsys.readouterr().out
    assert f"under ../m.cat{'/-sc' * ('sc' in name)}" in said and ("-I ../inc" in said) == ("-I" in name)
