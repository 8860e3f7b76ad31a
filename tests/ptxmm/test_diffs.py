"""Diffs that `git apply` and `patch -p1` take from the folder where the user stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from ptxmm.cli.main import main
from ptxmm.diffs import filed, unified
from ptxmm.repair.fixes import FileChange, _replacement, hunks

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    *sorted(ROOT.glob("examples/*.cu"))[:4],
    *sorted(ROOT.glob("examples/*.ptx"))[:3],
    *sorted(ROOT.glob("litmus/library/message-passing/*.litmus"))[:3],
]
TOOLS = {"patch": ["patch", "-p1", "-s", "--no-backup-if-mismatch"], "git": ["git", "apply"]}


@pytest.fixture(params=TOOLS)
def applied(request: pytest.FixtureRequest) -> Callable[[str, Path], None]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")

    def apply(diff: str, folder: Path) -> None:
        data = diff.encode("utf-8", "surrogateescape")
        alone = dict(os.environ, GIT_CEILING_DIRECTORIES=str(folder.parent))
        done = subprocess.run(TOOLS[request.param], input=data, cwd=folder, env=alone, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout, done.stderr)

    return apply


def mistakes(text: str) -> Iterable[str]:
    """The text with other first, last and middle lines, one more, one less."""
    lines = text.splitlines(keepends=True)
    middle = len(lines) // 2
    yield "".join(["// first\n", *lines[1:]])
    yield "".join([*lines[:-1], "// last\n"])
    yield "".join([*lines, "// behind the last"])
    yield "".join(["// before\n", *lines[:middle], "// put in\n", "\n", *lines[middle + 1 :]])
    yield "".join([*lines[:1], *lines[3:]])


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def test_there_are_ten_texts() -> None:
    assert len(TEXTS) == 10


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.name)
def test_a_diff_is_applied_by_real_programs(
    path: Path, applied: Callable[[str, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = path.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in (path.name, str(tmp_path / "below" / path.name), f"./below/../{path.name}"):
        for new in mistakes(text):
            write(Path(name), text)
            applied(unified(name, text, new), tmp_path)
            assert Path(name).read_text(encoding="utf-8") == new


@pytest.mark.parametrize("name", ["with blanks.cu", 'quoted".cu', "größe.cu"])
def test_names_that_git_quotes(
    name: str, applied: Callable[[str, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path(name), "a\nb\n")
    applied(unified(name, "a\nb\n", "a\nc\n"), tmp_path)
    assert Path(name).read_text(encoding="utf-8") == "a\nc\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r\n\n"], ids=["lines", "crlf", "both"])
@pytest.mark.parametrize("last", ["", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_file_has_other_ends_of_lines_than_what_was_read(
    ends: str,
    last: str,
    mark: str,
    applied: Callable[[str, Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["// one\f form feed", "// \udce9t\udce9", "three", "four"]
    raw = mark + "".join(line + ends[: len(ends) if i % 2 else 2] for i, line in enumerate(lines)).rstrip("\r\n") + last
    write(Path("x.cu"), raw)
    old = raw.removeprefix("\ufeff").replace("\r\n", "\n")
    new = old.replace("three", "third\nand more")
    before, after = filed("x.cu", old, new)
    assert before == raw
    applied(unified("x.cu", before, after), tmp_path)
    found = Path("x.cu").read_bytes().decode("utf-8", "surrogateescape")
    assert found == after and found.replace("\r\n", "\n") == mark + new
    assert raw.startswith(found[: found.index("third")])


def test_a_file_outside_of_this_folder_is_named_from_the_root(
    applied: Callable[[str, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(tmp_path / "x.cu", "a\n")
    diff = unified("../x.cu", "a\n", "b\n")
    assert diff.startswith("from the root of the file system (patch -p1 -d /):\n")
    name = re.findall(r"(?m)^--- a/(.*)$", diff)
    assert [f"/{n}" for n in name] == [str(tmp_path / "x.cu")]
    applied(diff.replace(str(tmp_path).lstrip("/") + "/", ""), tmp_path)
    assert (tmp_path / "x.cu").read_text(encoding="utf-8") == "b\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_the_report_of_a_repair_is_a_patch(
    ends: str,
    applied: Callable[[str, Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As a whole: what stands around the diff is no part of it. `--apply` writes the very same."""
    monkeypatch.chdir(tmp_path)
    test = ROOT / "litmus" / "library" / "message-passing" / "MP+rlx.litmus"
    write(Path("mp.litmus"), test.read_text(encoding="utf-8").rstrip("\n").replace("\n", ends))
    shutil.copy("mp.litmus", "other.litmus")
    assert main(["repair", "mp.litmus"]) == 0
    applied(capsys.readouterr().out, tmp_path)
    assert main(["repair", "other.litmus", "--apply"]) == 0
    assert Path("mp.litmus").read_bytes() == Path("other.litmus").read_bytes()
    capsys.readouterr()
    assert main(["repair", "mp.litmus"]) == 0 and "nothing to repair" in capsys.readouterr().out


def test_below_the_top_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path / "below" / "x.cu", "a\n")
    monkeypatch.chdir(tmp_path / "below")
    diff = unified("x.cu", "a\n", "b\n")
    subprocess.run(["git", "apply"], input=diff.encode(), check=True)
    assert Path("x.cu").read_text(encoding="utf-8") == "b\n"


@pytest.mark.parametrize("last", ["", "\n"])
def test_regions_are_of_lines_that_are_there(last: str) -> None:
    old = f"a\nb{last}"
    for new in mistakes(old):
        change = FileChange("x", old.splitlines(keepends=True), hunks(old, new))
        rows = old.split("\n")
        for hunk in change.hunks:
            region = _replacement(change.old, hunk)["deletedRegion"]
            assert 1 <= change.line(hunk) <= 2
            for which in ("start", "end"):
                assert 1 <= region[f"{which}Line"] <= len(rows)
                assert 1 <= region[f"{which}Column"] <= len(rows[region[f"{which}Line"] - 1]) + 1
