"""`ptxmm lint` on the command line and in Python: output, exit status, and what happens when things go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE, when_read

import ptxmm
from ptxcore.clock import Clock, OutOfTime, measured
from ptxmm import linting
from ptxmm.cli.main import main
from ptxmm.kernels.modules import PtxText

ROOT = Path(__file__).resolve().parents[3]

GOOD = """\
.version 9.0
.target sm_90
.address_size 64

.visible .entry k()
{
	ret;
}
"""
BAD = GOOD.replace("ret;", ".reg .b32 r;\n\tadd.u32 r, q, 1;\n\tmov.b32 r;\n\tret;")
WARNED = GOOD.replace("ret;", "membar.gl;\n\tret;")
MANUAL = GOOD.replace("sm_90", "compute_90")  # which ptxas takes, and the manual does not know
TEXTS = {
    "good": GOOD,
    "bad": BAD,
    "warned": WARNED,
    "manual": MANUAL,
    "crlf": BAD.replace("\n", "\r\n"),
    "empty": "",
    "blank": " \n\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.ptx").write_bytes(text.encode())
    (tmp_path / "latin.ptx").write_bytes(GOOD.encode() + b"// caf\xe9\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def status(*arguments: str) -> int:
    try:
        return main(["lint", *arguments])
    except SystemExit as stop:
        assert isinstance(stop.code, int)
        return stop.code


STATUS = [
    (0, "good.ptx"),
    (1, "bad.ptx"),
    (0, "warned.ptx"),
    (1, "crlf.ptx"),
    (1, "empty.ptx"),
    (1, "blank.ptx"),
    (1, "latin.ptx"),
    (0, "manual.ptx"),
    (0, "manual.ptx --as ptxas"),
    (1, "manual.ptx --as manual"),
    (0, "good.ptx warned.ptx good.ptx"),
    (1, "good.ptx bad.ptx warned.ptx"),
    (2, "missing.ptx"),
    (2, "."),
    (2, "good.ptx missing.ptx"),
    (2, "missing.ptx bad.ptx"),
    (2, "bad.ptx missing.ptx"),
    (2, ""),
    (2, "good.ptx --as nvcc"),
    (2, "good.ptx --format herd"),
    (2, "good.ptx --model ptx-9.0"),
]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(("code", "arguments"), STATUS, ids=[a or "nothing" for _, a in STATUS])
def test_exit_status(folder: Path, code: int, arguments: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--format", form, *arguments.split()) == code
    printed = capsys.readouterr()
    assert (code == 2) == ("error: " in printed.err)
    assert "Traceback" not in printed.err


def test_text_shows_place_line_caret_and_hint_and_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status("good.ptx", "bad.ptx", "warned.ptx")
    first, source, caret, second, *rest = capsys.readouterr().out.split("\n")
    assert first == "bad.ptx:8:13: error: 'q' is not declared"
    assert source == "    \tadd.u32 r, q, 1;"
    assert caret == "    \t           ^"  # a tab stays one, so that the caret stands under its character
    assert second.startswith("bad.ptx:9:2: error: ")
    warning = next(line for line in rest if "warning" in line)
    assert warning.startswith("warned.ptx:7:2: warning: ") and warning.endswith(" [membar]")
    assert rest[-2:] == ["3 files: 2 errors, 1 warning; 1 with a fix: --diff shows, --fix applies", ""]


def test_a_file_that_takes_too_long_is_undecided_and_the_others_are_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "long.ptx").write_text(GOOD.replace("ret;", "add.u32 r, r, 1;\n" * 20_000), encoding="utf-8")
    short = ("--timeout", "0.001")
    assert status(*short, "long.ptx") == 3
    assert capsys.readouterr().err == "long.ptx: error: undecided: out of time after 0.001 s\n"
    assert documents(capsys, *short, "long.ptx")["files"] == [
        {"path": "long.ptx", "diagnostics": [], "error": "long.ptx: error: undecided: out of time after 0.001 s"}
    ]
    assert status("--timeout", "1e300", "long.ptx", "missing.ptx", "bad.ptx") == 2
    assert status("--timeout", "0", "good.ptx") == 2


@pytest.mark.parametrize(("others", "code"), [(["good"], 3), (["bad"], 1), (["bad", "missing"], 2)])
def test_what_is_undecided_counts_less_than_what_is_wrong(
    folder: Path, others: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = linting.lint_text

    def short(text: str, **options: Any) -> Any:
        if text == WARNED:
            raise OutOfTime
        return whole(text, **options)

    monkeypatch.setattr(linting, "lint_text", short)
    assert status("warned.ptx", *(f"{name}.ptx" for name in others)) == code


def test_no_phase_of_checking_goes_on_for_long_without_a_look_at_the_clock() -> None:
    """Each kind of line, many times: the steps grow with them."""
    for form in (GOOD.replace("ret;", "{}"), GOOD + ".section .debug_str {\n{}}\n"):
        ticks = []
        for count in (100, 200):
            with measured(Clock(None)) as clock:
                ptxmm.linting.lint_text(
                    form.replace("{}", ".b8 1,2\n" * count if "section" in form else "l: bra l;\n" * count)
                )
            ticks.append(clock.ticks)
        assert ticks[1] - ticks[0] >= 100, form


def test_one_sound_module_is_worth_no_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status("good.ptx")
    assert capsys.readouterr() == ("", "")
    status("good.ptx", "good.ptx")
    assert capsys.readouterr() == ("2 files: 0 errors, 0 warnings\n", "")


def documents(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status("--format", "json", *arguments)
    return json.loads(capsys.readouterr().out)


def test_json_is_one_document_of_all_files_in_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = documents(capsys, "warned.ptx", "missing.ptx", "good.ptx", "bad.ptx")
    assert list(document) == ["ptxmm", "files"]
    assert document["ptxmm"] == ptxmm.__version__
    warned, missing, good, bad = document["files"]
    assert [f["path"] for f in document["files"]] == ["warned.ptx", "missing.ptx", "good.ptx", "bad.ptx"]
    assert good == {"path": "good.ptx", "diagnostics": []}
    assert missing["diagnostics"] == [] and missing["error"].startswith("missing.ptx: error: cannot read: ")
    (warning,) = warned["diagnostics"]
    assert (warning["line"], warning["column"], warning["end_column"]) == (7, 2, 11)
    assert (warning["severity"], warning["code"]) == ("warning", "membar")
    undeclared, short = bad["diagnostics"]
    assert undeclared == {
        "line": 8,
        "column": 13,
        "end_column": 14,
        "severity": "error",
        "code": "undeclared",
        "message": "'q' is not declared",
        "hint": undeclared["hint"],
        "source": None,
        "fix": None,
    }
    assert (short["line"], short["severity"], short["code"]) == (9, "error", "operands")
    assert set(short) == set(undeclared)


def test_json_of_a_sound_module_is_a_document_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert documents(capsys, "good.ptx")["files"] == [{"path": "good.ptx", "diagnostics": []}]


def test_line_ends_of_windows_change_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unix, windows = documents(capsys, "bad.ptx", "crlf.ptx")["files"]
    assert unix["diagnostics"] == windows["diagnostics"] != []
    status("crlf.ptx")
    assert "\r" not in capsys.readouterr().out


def test_bytes_that_are_no_text_are_told_once_with_their_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = documents(capsys, "latin.ptx")["files"][0]["diagnostics"]
    assert (found["line"], found["column"], found["code"]) == (9, 7, "encoding")
    assert found["message"] == "the byte 0xe9 is not ASCII"
    status("latin.ptx")
    assert capsys.readouterr().out.split("\n")[1] == "    // caf\ufffd"


@pytest.mark.parametrize("name", ["empty.ptx", "blank.ptx"])
def test_an_empty_file_lacks_its_header(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = documents(capsys, name)["files"][0]["diagnostics"]
    assert {d["code"] for d in found} == {"header"}
    assert all(1 <= d["column"] < d["end_column"] for d in found)


def test_a_file_that_is_too_long_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linting, "LONGEST_FILE", 20)
    assert status("good.ptx") == 2
    assert "not a PTX module" in capsys.readouterr().err


def broken(text: str, **options: Any) -> list[Any]:
    if "membar" in text:
        raise ZeroDivisionError("by hand")
    return []


def test_a_defect_of_ours_is_told_as_one_and_the_rest_is_checked(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linting, "lint_text", broken)
    assert status("warned.ptx", "good.ptx", "--as", "manual") == 2
    out, err = capsys.readouterr()
    assert out == ""
    for part in ("warned.ptx: error: ptxmm has a defect: ZeroDivisionError at ", "by hand", "lint --as manual"):
        assert part in err
    assert "Traceback" not in err
    first, second = documents(capsys, "warned.ptx", "good.ptx")["files"]
    assert "ptxmm has a defect" in first["error"] and second == {"path": "good.ptx", "diagnostics": []}
    monkeypatch.setenv("PTXMM_TRACEBACK", "1")
    status("warned.ptx")
    assert "Traceback" in capsys.readouterr().err


def test_too_little_memory_is_no_defect(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hungry(text: str, **options: Any) -> list[Any]:
        raise MemoryError

    monkeypatch.setattr(linting, "lint_text", hungry)
    assert status("good.ptx") == 3
    assert capsys.readouterr().err == "good.ptx: error: undecided: out of memory\n"


# Fixes.

SPIN = GOOD.replace(
    "ret;",
    """.reg .b32 r;
\t.reg .pred p;
W: atom.global.cas.b32 r, [flag], 0, 1;
\tsetp.ne.u32 p, r, 0;
\t@p bra W;
\tld.global.u32 r, [data];
\tst.global.u32 [data], r;
\tatom.global.exch.b32 r, [flag], 0;
\tret;""",
).replace(".visible", ".global .u32 flag;\n.global .u32 data;\n\n.visible")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_fixes_are_shown_applied_and_told(folder: Path, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    before = SPIN.replace("\n", ending).encode()
    (folder / "spin.ptx").write_bytes(before)
    assert status("spin.ptx", "good.ptx", "--diff") == 0
    shown = [line for line in capsys.readouterr().out.replace("\r", "").split("\n") if line[:1] in "+-"]
    assert (folder / "spin.ptx").read_bytes() == before
    assert [line for line in shown if line] == [
        "--- a/spin.ptx", "+++ b/spin.ptx", "-W: atom.global.cas.b32 r, [flag], 0, 1;",
        "+W: atom.acquire.gpu.global.cas.b32 r, [flag], 0, 1;", "-\tatom.global.exch.b32 r, [flag], 0;",
        "+\tatom.release.gpu.global.exch.b32 r, [flag], 0;",
    ]  # fmt: skip
    assert status("spin.ptx", "good.ptx", "--fix") == 0
    assert capsys.readouterr().out == "2 files: 0 errors, 0 warnings; 2 fixed\n"
    after = (folder / "spin.ptx").read_bytes()
    assert after == before.replace(b".global.cas", b".acquire.gpu.global.cas").replace(
        b".global.exch", b".release.gpu.global.exch"
    )
    assert status("spin.ptx", "--diff") == 0 and capsys.readouterr().out == ""


def test_a_module_with_errors_and_a_file_that_cannot_be_written_are_not_mended(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = SPIN.replace("setp.ne", "setp.no")
    (folder / "wrong.ptx").write_text(wrong)
    assert status("wrong.ptx", "--fix") == 1 and (folder / "wrong.ptx").read_text() == wrong
    assert status("wrong.ptx", "--diff") == 1
    (folder / "spin.ptx").write_text(SPIN)
    capsys.readouterr()

    def full(path: str, text: str) -> None:
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(linting, "write", full)
    assert status("spin.ptx", "--fix") == 2
    assert capsys.readouterr().err == "spin.ptx: error: cannot write: No space left on device\n"
    assert status("spin.ptx", "--fix", "--diff") == 2


def test_sarif_and_json_have_the_fixes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "spin.ptx").write_text(SPIN)
    found = [d for d in documents(capsys, "spin.ptx")["files"][0]["diagnostics"] if d["fix"]]
    assert [d["code"] for d in found] == ["relaxed-spin", "relaxed-release"]
    assert status("--format", "sarif", "spin.ptx", "missing.ptx", "bad.ptx") == 2
    run = json.loads(capsys.readouterr().out)["runs"][0]
    assert not run["invocations"][0]["executionSuccessful"]
    assert [r["ruleId"] for r in run["results"]][:2] == ["relaxed-spin", "relaxed-release"]
    assert {r["level"] for r in run["results"]} == {"warning", "error"}
    for result, entry in zip(run["results"], found, strict=False):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        (change,) = result["fixes"][0]["artifactChanges"]
        text = SPIN.split("\n")
        for replacement in reversed(change["replacements"]):
            region = replacement["deletedRegion"]
            at = region["startLine"] - 1
            text[at] = (
                text[at][: region["startColumn"] - 1]
                + replacement["insertedContent"]["text"]
                + text[at][region["endColumn"] - 1 :]
            )
        assert [d.code for d in linting.lint_text("\n".join(text))] == [
            code for code in ("relaxed-spin", "relaxed-release") if code != entry["code"]
        ]


# In Python.


def test_lint_gives_findings_in_the_order_of_their_places(folder: Path) -> None:
    found = ptxmm.lint("bad.ptx")
    assert [(d.span.line, d.severity) for d in found] == [(8, "error"), (9, "error")]
    assert ptxmm.lint(folder / "good.ptx") == []
    assert found == linting.lint_text(BAD)


def test_lint_takes_a_mode_and_leaves_warnings_out(folder: Path) -> None:
    assert ptxmm.lint("manual.ptx") == []
    assert [d.code for d in ptxmm.lint("manual.ptx", mode="manual")] == ["header"]
    assert [d.severity for d in ptxmm.lint("warned.ptx")] == ["warning"]
    assert ptxmm.lint("warned.ptx", warnings=False) == []


def test_lint_refuses_what_is_no_mode_and_no_file(folder: Path) -> None:
    with pytest.raises(ValueError, match="ptxas manual"):
        ptxmm.lint("good.ptx", mode="nvcc")
    with pytest.raises(FileNotFoundError):
        ptxmm.lint("missing.ptx")


# Whole processes.


def spawn(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ptxmm", "lint", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    process = spawn(*["bad.ptx"] * 1000)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=PATIENCE) == 141
    process.stderr.close()


@pytest.mark.part(2)
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_a_run_prints_what_was_finished(folder: Path, number: int, form: str) -> None:
    os.mkfifo(folder / "endless.ptx")  # nobody ever writes to it
    process = spawn("bad.ptx", "endless.ptx", "--format", form)
    writer = when_read(folder / "endless.ptx", process)  # the first file is done by then
    assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    os.close(writer)
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    if form == "json":
        assert [f["path"] for f in json.loads(out)["files"]] == ["bad.ptx"]
    else:
        assert out.endswith("1 file: 2 errors, 0 warnings\n")


def test_a_name_that_the_terminal_cannot_show_does_not_stop_it(folder: Path) -> None:
    (folder / "b\xfcndel.ptx").write_text(BAD)
    process = subprocess.Popen(
        [sys.executable, "-m", "ptxmm", "lint", "b\xfcndel.ptx", "latin.ptx"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C",
        "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, b"")
    assert b"2 files: 3 errors" in out


COMPILED = GOOD.replace(".visible", '.file 1 "src/k.cu"\n.visible').replace("ret;", ".loc 1 7 3\n\tmembar.gl;\n\tret;")


def test_where_a_line_was_compiled_from_is_told_in_each_format(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.ptx").write_text(COMPILED, encoding="utf-8")
    assert status("k.ptx") == 0
    assert "k.ptx:9:2: warning" in (out := capsys.readouterr().out) and "    compiled from: src/k.cu:7\n" in out
    assert status("k.ptx", "warned.ptx", "--format", "json") == 0
    one, other = json.loads(capsys.readouterr().out)["files"]
    assert one["diagnostics"][0]["source"] == {"file": "src/k.cu", "line": 7}
    assert other["diagnostics"][0]["source"] is None
    assert status("k.ptx", "--format", "sarif") == 0
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert "relatedLocations" not in result  # which is not there to look at
    Path("src").mkdir()
    Path("src/k.cu").write_text("\n" * 7, encoding="utf-8")
    assert status("k.ptx", "--format", "sarif") == 0
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    (place,) = result["relatedLocations"]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": "src/k.cu"}, "region": {"startLine": 7}}


def test_a_source_is_told_at_its_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever compiler makes the module: here one that always makes the same."""
    Path("k.cu").write_text("\n" * 6 + "  __threadfence();\n", encoding="utf-8")
    monkeypatch.setattr(
        "ptxmm.kernels.modules.of_file", lambda path, options: PtxText(COMPILED.replace("src/", ""), "k.cu.ptx", "k.cu")
    )
    assert status("k.cu") == 0
    first, line, caret, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("k.cu:7:3: warning: ") and "(k.cu.ptx:9: membar.gl;)" in first and "[membar]" in first
    assert line.strip() == "__threadfence();" and caret.strip() == "^" * len(line.strip())
    monkeypatch.setenv("NVCC", "no-such-compiler")  # nothing is proposed that cannot be compiled
    assert status("k.cu", "--diff") == 0 and capsys.readouterr().out == ""
    assert status("k.cu", "--fix") == 0 and "[membar]" in capsys.readouterr().out


def test_a_source_that_cannot_be_had_is_no_sound_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("nowhere.cu", "good.ptx") == 2
    assert "nowhere.cu: error: cannot read" in capsys.readouterr().err


def test_a_source_beside_its_module_is_told_as_it_is_found_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The module says a name as its compiler saw it; in SARIF a place that nobody can open is none."""
    monkeypatch.chdir(tmp_path)
    Path("below").mkdir()
    module = (Path(__file__).resolve().parents[3] / "examples" / "lock.ptx").read_text(encoding="utf-8")
    Path("below/lock.ptx").write_text(module, encoding="utf-8")
    for there in (False, True):
        if there:
            Path("below/lock.cu").write_text("\n" * 30, encoding="utf-8")
        assert main(["lint", "below/lock.ptx"]) == 0
        assert f"compiled from: {'below/' * there}lock.cu:12\n" in capsys.readouterr().out
        assert main(["lint", "below/lock.ptx", "--format", "sarif"]) == 0
        results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
        places = [place for result in results for place in result.get("relatedLocations", ())]
        assert {p["physicalLocation"]["artifactLocation"]["uri"] for p in places} == (
            {"below/lock.cu"} if there else set()
        )
