"""How wide reports for people are: the terminal, what `COLUMNS` says, or 100 columns; formats for programs have no width."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxmm.cli.main import main
from ptxmm.words.brief import LINES, WIDTH

ROOT = Path(__file__).resolve().parents[3]
LOCK, MP = "examples/lock.toml:weak", "litmus/library/message-passing/MP+rlx.litmus"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    main([*arguments])
    return capsys.readouterr().out.splitlines()


def words(lines: list[str]) -> list[str]:
    """What is said, without the times that it took."""
    return [word for line in lines for word in line.split() if not word.replace(".", "").isdecimal()]


@pytest.mark.parametrize("columns", ["", "60", "100"])
def test_a_piped_page_has_a_width(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    endless = printed(capsys, "check", LOCK)
    assert max(map(len, endless)) > WIDTH
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    else:
        monkeypatch.delenv("COLUMNS")
    lines = printed(capsys, "check", LOCK)
    width = int(columns or WIDTH)
    assert max(map(len, lines)) <= width
    if width == WIDTH:
        assert len(lines) <= LINES and words(lines) == words(endless)


@pytest.mark.parametrize("columns", ["9" * 5000, "-3", "wide"])
def test_what_is_no_width_is_passed_over(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", columns)
    assert max(map(len, printed(capsys, "check", LOCK))) <= WIDTH


@pytest.fixture
def unexpected(tmp_path: Path) -> str:
    """The lock that is wrong, and does not say so."""
    text = (ROOT / "examples/lock.toml").read_text(encoding="utf-8")
    (tmp_path / "lock.toml").write_text(
        text.replace('"lock.', f'"{ROOT}/examples/lock.').replace('expect = "no"\n', "")
    )
    return f"{tmp_path}/lock.toml:weak"


def test_what_stands_below_rows_is_wrapped_and_rows_are_not(
    unexpected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "50")
    lines = printed(capsys, "check", unexpected, MP, "--races")
    rows = [line for line in lines if not line.startswith(" ")]
    below = [line for line in lines if line.startswith(" ")]
    assert below and max(map(len, below)) <= 50 < max(map(len, rows))


def test_a_repair_is_wrapped_and_its_diff_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    test = (ROOT / MP).read_text(encoding="utf-8")
    (tmp_path / "mp.litmus").write_text(test, encoding="utf-8")
    endless = printed(capsys, "repair", "mp.litmus")
    monkeypatch.setenv("COLUMNS", "40")
    lines = printed(capsys, "repair", "mp.litmus")
    diff = [line for line in endless if line[:1] in "+-@"]
    assert [line for line in lines if line[:1] in "+-@"] == diff and max(map(len, diff)) > 40
    assert len(lines) > len(endless) and words(lines) == words(endless)


def test_formats_for_programs_have_no_width(
    unexpected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "40")
    main(["check", MP, "--format", "json"])
    assert json.loads(capsys.readouterr().out)["tests"]
    assert max(map(len, printed(capsys, "check", unexpected, MP, "--format", "github"))) > 150


def test_an_endless_line_of_a_source_is_cut(tmp_path: Path) -> None:
    from ptxmm.result import Cause, Spot
    from ptxmm.words.brief import cause_lines, height

    source = tmp_path / "k.cu"
    source.write_text("f(" + "x, " * 5000 + "y);\n", encoding="utf-8")
    lines = cause_lines([Cause(Spot(str(source), 1), "no release semantics", "st.global.u32 [a], b")], everything=False)
    assert height(lines, WIDTH) <= 4 and lines[1].endswith(" ...")


def test_where_a_test_has_no_meaning_nothing_is_said_of_what_cannot_happen() -> None:
    """Executions that were not looked at for their outcome cannot rest on an axiom."""
    from dataclasses import replace

    from ptxmm.checker import Checker, Settings
    from ptxmm.report.text import TextReport

    outcome = Checker(Settings(explain=True))(str(ROOT / "litmus/library/message-passing/MP+rel+acq.litmus"))
    for verdict, told in (("ok", True), ("undefined", False)):
        changed = outcome._replace(result=replace(outcome.result, verdict=verdict))
        assert ("is forbidden by" in TextReport("ptx-9.0", colour=False, unroll=4).page(changed)) == told
