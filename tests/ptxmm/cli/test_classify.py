"""`ptxmm classify`: what it prints of tests, and of what is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxmm.cli.main import main


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["classify", *words])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder of six generated tests."""
    assert main(["generate", "--edges", "Pod**,Rfe,Fre,Coe", "--size", "4", "-o", str(tmp_path / "tests")]) == 0
    capsys.readouterr()
    return tmp_path / "tests"


def test_tests_stand_under_their_families(tests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tests / "mine.litmus").write_text(
        (tests / "SB.litmus").read_text(encoding="utf-8").replace("PTX SB", "PTX mine"), encoding="utf-8"
    )
    status, out, _ = told(capsys, str(tests))
    lines = out.splitlines()
    assert status == 0
    assert [line for line in lines if not line.startswith(" ")] == ["2+2W", "LB", "MP", "R", "S", "SB"]
    assert "  mine -> SB: PodWR Fre PodWR Fre" in lines[lines.index("SB") :]


def test_lines_for_diyone_make_the_same_tests(tests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = tests.parent / "map"
    status, out, _ = told(capsys, f"@{tests / '@all'}", "--diyone", "--map", str(names))
    assert status == 0
    for line in out.splitlines():
        name, cycle = line.split(": ")
        assert main(["generate", *cycle.split()]) == 0
        assert capsys.readouterr().out == (tests / f"{name}.litmus").read_text(encoding="utf-8")
        assert f"{name} {name}\n" in names.read_text(encoding="utf-8")


def test_what_has_no_cycle_is_told_with_the_reason(tests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tests / "MP.litmus"
    path.write_text(path.read_text(encoding="utf-8").replace("1:r1 == 0", "1:r1 == 1"), encoding="utf-8")
    status, out, _ = told(capsys, str(path))
    assert (status, out) == (1, "no cycle\n  MP: the condition asks for no cycle\n")
    status, out, err = told(capsys, str(path), "--diyone")
    assert (status, out, err) == (1, "", "MP: the condition asks for no cycle\n")
    status, out, _ = told(capsys, str(path), "--format", "json")
    assert json.loads(out)["tests"] == [{"name": "MP", "cycles": [], "reason": "the condition asks for no cycle"}]


def test_bad_input(tests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tests / "bad.litmus").write_text("PTX bad\n{ x=0; }\n P0 ;\n st.foo [x, 1 ;\nexists (x ==\n", encoding="utf-8")
    (tests / "kernel.toml").write_text('ptx = "a.ptx"\n', encoding="utf-8")
    for path, message in (
        ("bad.litmus", "error:"),
        ("kernel.toml", "kernel.toml:1:1: error:"),
        ("none", "no such file"),
    ):
        status, out, err = told(capsys, str(tests / path))
        assert (status, out) == (2, "") and message in err
    assert told(capsys, str(tests / "MP.litmus"), "--map", str(tests))[0] == 2
