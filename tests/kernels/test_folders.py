"""What stands in a folder is checked or told: no file that may be a test is left out in silence."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaigns import some
from files import PTX, TOML
from spoilt import SPOILT

from ptxmm.cli.main import main

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="files are of other kinds there")
GOOD = TOML.replace(' && x[1] == 0"', '"')
OTHERS = {
    "pyproject.toml": "[project]\nname = 'ptx'\nbroken =",
    "ruff.toml": "line-length = 100\n[lint]\nselect = ['E']\n",
    "Cargo.toml": "[package]\nname = 'ptx-tools'\n[features]\ncu = []\n[dependencies]\nptx = {version = '1'}\n",
    "digits.toml": "[tool.ptxthing]\nn = " + "9" * 5000 + "\n",
    "broken.toml": "[a\n",
    "comments.toml": "# nothing is set here\n",
    "site.toml": "params = {a = 1}\nentry = 'index'\n[check]\nlinks = true\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good test and many files that are none; the current one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "k.ptx").write_text(PTX, encoding="utf-8")
    (folder / "good.toml").write_text(GOOD, encoding="utf-8")
    for name, text in OTHERS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_files_of_other_tools_are_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "tests"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("ok  good") and not printed.err


@pytest.mark.part(4)
@pytest.mark.parametrize(
    ("door", "ending", "how", "make"),
    some(4, [(door, *spoilt) for door in ("folder", "list", "linked folder") for spoilt in SPOILT]),
    ids=lambda value: "" if callable(value) else value,
)
def test_what_may_be_a_test_is_told(
    folder: Path, ending: str, how: str, make: Callable[[Path], None], door: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make(folder / f"bad.{ending}")
    path = "tests"
    if door == "list":
        Path("list").write_text("tests\n", encoding="utf-8")
        path = "@list"
    elif door == "linked folder":
        os.mkdir("linked")
        os.symlink("../tests", "linked/inner")
        path = "linked"
    assert main(["check", path, "--jobs", "1"]) == 2
    printed = capsys.readouterr()
    assert f"bad.{ending}" in printed.err and "error: " in printed.err and "defect" not in printed.err
    assert "1 ok, 1 error" in printed.out and f"bad.{ending}" in printed.out


@pytest.mark.parametrize("text", [b"\xef\xbb\xbf" + GOOD.encode(), GOOD.replace("\n", "\r\n").encode()])
def test_files_of_other_systems_are_read(folder: Path, text: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.toml").write_bytes(text)
    assert main(["check", "tests", "--jobs", "1"]) == 0
    assert "2 ok" in capsys.readouterr().out


def test_endings_in_capitals_are_endings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "OTHER.TOML").write_text(GOOD, encoding="utf-8")
    (folder / "BAD.Litmus").write_text("PTX", encoding="utf-8")
    assert main(["check", "tests", "--jobs", "1"]) == 2
    assert "2 ok, 1 error" in capsys.readouterr().out
    assert main(["check", "tests/OTHER.TOML"]) == 0


def test_a_file_that_may_not_be_read_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever runs the tests may read everything, so the refusal is made up."""
    (folder / "bad.toml").write_text(GOOD, encoding="utf-8")
    genuine = builtins.open

    def refusing(path: Any, *others: Any, **more: Any) -> Any:
        if str(path).endswith("bad.toml"):
            raise PermissionError(13, "Permission denied", str(path))
        return genuine(path, *others, **more)

    monkeypatch.setattr(builtins, "open", refusing)
    assert main(["check", "tests", "--jobs", "1"]) == 2
    assert "tests/bad.toml: error: cannot read: Permission denied" in capsys.readouterr().err
