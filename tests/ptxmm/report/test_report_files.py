"""Reports in files beside the log, in one run: whole or not at all, and never green because the run did not come to its end."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ptxmm.cli.main import main
from ptxmm.cli.options import FORMATS
from ptxmm.report.files import FileReport
from ptxmm.report.junit import JunitReport
from ptxmm.workers import Workers
from ptxmm.writing import write_whole

LITMUS = """PTX MP
{ x = 0; y = 0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.weak.u32 [x], 1 | ld.acquire.gpu.u32 %r0, [y] ;
 st.RELEASE.gpu.u32 [y], 1 | ld.weak.u32 %r1, [x] ;
~exists (1:r0 = 1 /\\ 1:r1 = 0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.litmus").write_text(LITMUS.replace("RELEASE", "release"), encoding="utf-8")
    (tmp_path / "weak.litmus").write_text(LITMUS.replace("RELEASE", "relaxed"), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--junit", "all.xml", "--sarif", "./all.xml"], "--sarif ./all.xml is the file of --junit"),
        (["--junit", "link.litmus"], "--junit link.litmus is a test of this run"),
        (["--sarif", "f", "--write-baseline", "f"], "--write-baseline f is the file of --sarif"),
        (["--cache", "good.litmus"], "--cache good.litmus is a test of this run"),
    ],
)
def test_nothing_is_written_over_a_report_or_a_test(
    folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "link.litmus").symlink_to("good.litmus")
    assert main(["check", "good.litmus", *words]) == 2
    assert capsys.readouterr().err == f"ptxmm check: error: {said}: what is there would be lost\n"
    assert (folder / "good.litmus").read_text(encoding="utf-8").startswith("PTX MP")
    assert sorted(path.name for path in folder.iterdir()) == ["good.litmus", "link.litmus", "weak.litmus"]
    assert main(["check", "good.litmus", "--junit", os.devnull, "--sarif", os.devnull]) == 0


def timeless(text: str) -> str:
    return re.sub(r'time="[\d.]+"|: [\d.]+,?$', "", text, flags=re.MULTILINE)


@pytest.mark.part(3)
@pytest.mark.parametrize("form", FORMATS)
def test_reports_are_written_beside_the_log(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for kind in ("junit", "sarif"):
        assert main(["check", ".", "--jobs", "1", "--format", kind]) == 1
        said[kind] = capsys.readouterr().out
    assert main(["check", ".", "--jobs", "1", "--format", form, "--junit", "a.xml", "--sarif", "a.sarif"]) == 1
    assert ("Sometimes 1 3" if form == "herd" else "weak") in capsys.readouterr().out
    assert timeless(Path("a.xml").read_text(encoding="utf-8")) == timeless(said["junit"])
    assert json.loads(Path("a.sarif").read_text(encoding="utf-8")) == json.loads(said["sarif"])


def test_a_report_that_cannot_be_written_is_no_success(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.litmus", "--junit", "no/such/folder.xml"]) == 2
    assert "cannot write no/such/folder.xml: No such file" in capsys.readouterr().err
    if os.path.exists("/dev/full"):
        assert main(["check", "good.litmus", "--junit", "/dev/full"]) == 2
        assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err


def test_a_run_that_was_killed_leaves_no_green_report(tmp_path: Path) -> None:
    path = tmp_path / "out.xml"
    path.write_text("<testsuites errors='0'/>", encoding="utf-8")
    FileReport(lambda: JunitReport("m"), str(path)).begin(["a.litmus"])  # and then nothing
    root = ElementTree.parse(path).getroot()
    assert root.get("errors") == "1" and "did not come to its end" in ElementTree.tostring(root).decode()


@pytest.mark.part(3)
@pytest.mark.parametrize("form", FORMATS)
def test_an_interrupted_run_tells_what_was_not_run(
    folder: Path, form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    genuine = Workers.__iter__

    def interrupted(self: Workers[Any, Any]) -> Iterator[Any]:
        yield next(genuine(self))  # of good.litmus
        raise KeyboardInterrupt

    monkeypatch.setattr(Workers, "__iter__", interrupted)
    with pytest.raises(KeyboardInterrupt):  # exit status 130
        main(["check", ".", "--jobs", "1", "--format", form, "--junit", "a.xml", "--sarif", "a.sarif"])
    out = capsys.readouterr().out
    if form in ("text", "github"):
        assert "1 of 2 tests under" in out
    if form == "github":
        assert re.search(r"^::error file=weak.litmus,.*::not run: interrupted$", out, re.MULTILINE)
    if form == "json":
        assert len(json.loads(out)["tests"]) == 1 and json.loads(out)["not_run"] == ["./weak.litmus"]
    root = ElementTree.parse("a.xml").getroot()
    assert (root.get("tests"), root.get("errors")) == ("2", "1")
    (invocation,) = json.loads(Path("a.sarif").read_text(encoding="utf-8"))["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False


def test_pictures_are_whole_or_not_there(folder: Path) -> None:
    """A limit on the size of files stands for a disk that is full: the picture does not fit, and nothing of it stays."""
    done = subprocess.run(
        [sys.executable, "-m", "ptxmm", "check", "weak.litmus", "--svg", "graphs"], capture_output=True, text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # which would not fit either, and be read by whoever comes next
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)), check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert re.search(r"^graphs/MP-0.svg: error: cannot write: File too large$", done.stderr, re.MULTILINE)
    assert os.listdir("graphs") == []


def test_what_was_there_stays_where_the_new_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_whole(str(path), "old")

    def full(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        write_whole(str(path), "new")
    assert path.read_text(encoding="utf-8") == "old" and os.listdir(tmp_path) == ["a"]


# Nothing that stands in a file steers whoever reads the log.

HOSTILE = {
    "stop.litmus": "PTX t\n{ x=0; }\nP0 { bogus \x1b[31m; }\n::stop-commands::abc\nexists true\n",
    "old.litmus": "PTX t\n{ x=0; }\nP0 { bogus ##[stop-commands]abc; }\nexists true\n",
    "name.litmus": LITMUS.replace("PTX MP", "PTX ::stop-commands::##[error]x\x1b[31m"),
    "::error::a.litmus": "PTX",
    "a\n::error::b.litmus": "PTX",
    "k.toml": 'ptx = "::stop-commands::x"\ngrid = 1\nblock = 1\n[check]\nforall = """\n::stop-commands::x"""\n',
}


@pytest.mark.part(9)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_line_is_a_command_that_we_do_not_mean(
    folder: Path, name: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(HOSTILE[name], encoding="utf-8")
    for paths in ([name], ["."]):
        assert main(["check", "--jobs", "1", "--format", form, "--", *paths]) != 0
        printed = capsys.readouterr()
        for line in re.split(r"\r\n|\r|\n", printed.out + "\n" + printed.err):
            meant = form == "github" and re.match(r"::(error|notice) file=", line)
            assert "##[" not in line or meant
            assert not line.lstrip().startswith("::") or meant
            assert "\x1b" not in line


def test_documents_keep_what_they_hide_from_the_log(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.litmus").write_text(HOSTILE["old.litmus"], encoding="utf-8")
    main(["check", "old.litmus", "--format", "json"])
    assert "##[stop-commands]abc" in json.loads(capsys.readouterr().out)["tests"][0]["error"]
    main(["check", "old.litmus", "--format", "junit"])
    assert "##[stop-commands]abc" in "".join(ElementTree.fromstring(capsys.readouterr().out).itertext())
