"""The command line: exit status, messages, and what happens when things go wrong."""

from __future__ import annotations

import gc
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE, time_out_after, wait_until, wait_until_idle, when_read

import ptxmm
from ptxmm.checker import Checker, Outcome, Settings
from ptxmm.cli.check import ExitStatus
from ptxmm.cli.main import main
from ptxmm.findings import findings
from ptxmm.result import Result

ROOT = Path(__file__).resolve().parents[3]

GOOD = """PTX MP
{ x=0; f=0; }
 P0                  | P1                  ;
 st.weak x, 1        | ld.acquire.gpu r0, f  ;
 st.release.gpu f, 1 | ld.weak r1, x         ;
~exists (1:r0 == 1 /\\ 1:r1 == 0)
"""
NO = GOOD.replace("~exists", "exists").replace("PTX MP", "PTX NO")
EXPECTED_NO = NO.replace("{ x", "Expect=no\n{ x").replace("PTX NO", "PTX EN")
WRONGLY_NO = GOOD.replace("{ x", "Expect=no\n{ x").replace("PTX MP", "PTX WN")
BAD = GOOD.replace("ld.weak r1", "ld.wek r1")
LOOP = """PTX LOOP
{ x=0; y=0; }
P0@cta 0 {
    .reg .pred p;
    mov.u32 %r0, 0;
  again:
    add.u32 %r0, %r0, 1;
    st.relaxed.gpu.u32 [y], %r0;
    ld.relaxed.gpu.u32 %r1, [x];
    setp.eq.u32 p, %r1, 0;
    @p bra again;
}
P1@cta 1 {
    st.relaxed.gpu.u32 [x], 1;
}
forall (y != 7)
"""
TEXTS = {"good": GOOD, "no": NO, "en": EXPECTED_NO, "wn": WRONGLY_NO, "bad": BAD, "loop": LOOP}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.litmus").write_text(text)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def status(*arguments: str) -> int:
    try:
        return main(list(arguments))
    except SystemExit as stop:
        assert isinstance(stop.code, int)
        return stop.code


TABLE = [
    (0, "good.litmus"),
    (1, "no.litmus"),
    (0, "en.litmus"),
    (1, "wn.litmus"),
    (2, "bad.litmus"),
    (3, "loop.litmus"),
    (0, "loop.litmus --bounded-ok"),
    (0, "good.litmus --bounded-ok"),
    (1, "good.litmus no.litmus"),
    (2, "good.litmus no.litmus bad.litmus"),
    (1, "no.litmus loop.litmus"),
    (1, "no.litmus loop.litmus --bounded-ok"),
    (2, "bad.litmus loop.litmus"),
    (2, "good.litmus --require-complete"),
    (2, "missing.litmus"),
    (2, "good.litmus missing.litmus"),
    (2, "empty"),
    (2, "@missing"),
    (2, "good.litmus --model ptx-99"),
    (2, "good.litmus --model missing.cat"),
    (2, "good.litmus --model ."),
    (2, "good.litmus --unroll 0"),
    (2, "good.litmus --unroll x"),
    (2, "good.litmus --jobs 0"),
    (2, "good.litmus --timeout -1"),
    (2, "good.litmus --timeout nan"),
    (2, "good.litmus --format xml"),
    (2, "good.litmus --engine magic"),
    (1, "good.litmus --races"),
    (0, "good.litmus --why"),
    (2, "good.litmus --svg good.litmus"),
    (2, ""),
    (0, "good.litmus --jobs 2 --timeout 3600"),
    (1, "good.litmus no.litmus --jobs 1"),
    (0, "good.litmus --engine enumerate"),
    (0, "good.litmus --backend z3"),
    (0, "good.litmus --model ptx-6.0"),
]


@pytest.mark.part(4)
@pytest.mark.parametrize(("code", "arguments"), TABLE, ids=[a or "nothing" for _, a in TABLE])
def test_exit_status(folder: Path, code: int, arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("check", *arguments.split()) == code
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert code != 2 or "error: " in printed.err


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([], 0),
        ([{"verdict": "undecided"}], 3),
        ([{"verdict": "undecided"}, {"verdict": "no"}], 1),
        ([{"verdict": "undecided"}, {"verdict": "error"}, {"verdict": "no"}], 2),
        ([{"verdict": "undefined"}], 1),
        ([{"verdict": "undefined", "expectation": "undefined"}], 0),
        ([{"verdict": "ok", "expectation": "undefined"}], 1),
        ([{"verdict": "ok", "complete": False}], 0),
        ([{"verdict": "bounded"}], 3),
        ([{"verdict": "bounded", "expectation": "no"}], 3),
        ([{"verdict": "bounded", "expectation": "no", "bounded_ok": True}], 3),
        ([{"verdict": "bounded", "bounded_ok": True}], 0),
        ([{"verdict": "bounded", "expectation": "ok|bounded"}], 0),
        ([{"verdict": "bounded", "expectation": "bounded"}], 0),
        ([{"verdict": "ok", "expectation": "bounded"}], 1),
        ([{"verdict": "bounded"}, {"verdict": "no"}], 1),
        ([{"verdict": "bounded", "bounded_ok": True}, {"verdict": "undecided", "bounded_ok": True}], 3),
        ([{"verdict": "undecided", "expectation": "no"}], 3),
        ([{"verdict": "undecided", "expectation": "ok|bounded"}], 3),
    ],
)
def test_which_status_wins(results: list[dict[str, Any]], code: int) -> None:
    total = ExitStatus()
    for each in results:
        total.add(findings(Result(path="p", name="n", model="m", **each)))
    assert total.code == code


def test_a_bad_file_is_told_with_its_place_and_the_rest_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("check", "bad.litmus", "good.litmus", "--format", "json") == 2
    printed = capsys.readouterr()
    assert re.match(r"bad\.litmus:5:\d+: error: ", printed.err)
    assert "^" in printed.err
    bad, good = json.loads(printed.out)["tests"]
    assert (bad["verdict"], bad["name"], good["verdict"]) == ("error", "bad", "ok")
    assert bad["error"].startswith("bad.litmus:5:")


def test_json_of_real_tests_is_complete(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status("check", "good.litmus", "no.litmus", "loop.litmus", "--format", "json", "--jobs", "2")
    good, no, loop = json.loads(capsys.readouterr().out)["tests"]
    assert good["states"] == [{"1:r0": 0, "1:r1": 0}, {"1:r0": 0, "1:r1": 1}, {"1:r0": 1, "1:r1": 1}]
    assert (good["kind"], good["observation"], good["positive"], good["negative"]) == ("not exists", "never", 0, 3)
    assert (no["kind"], no["verdict"], no["complete"]) == ("exists", "no", True)
    assert (loop["kind"], loop["complete"]) == ("forall", False)


def test_the_page_of_one_test_names_the_axiom(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status("check", "good.litmus")
    assert "forbidden by causality" in capsys.readouterr().out


def test_hash_knows_what_counts_and_forgets_what_does_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "named.litmus").write_text(GOOD.replace("PTX MP", 'PTX other\n"a comment"'))
    (folder / "placed.litmus").write_text(GOOD.replace("P0  ", "P0@cta 0").replace("P1  ", "P1@cta 0"))
    status("check", "good.litmus", "named.litmus", "placed.litmus", "--format", "herd")
    first, second, third = re.findall(r"Hash=(\w{32})", capsys.readouterr().out)
    assert first == second != third


def test_svg_and_dot_are_written_for_each_witness(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("check", "good.litmus", "no.litmus", "--svg", "a/b", "--dot", "c") == 1
    assert sorted(p.name for p in (folder / "a" / "b").iterdir()) == [
        f"{n}-{i}.svg" for n in ("MP", "NO") for i in range(3)
    ]
    assert len(list((folder / "c").iterdir())) == 6
    assert (folder / "a" / "b" / "MP-0.svg").read_text().startswith("<svg")


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("models") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == ptxmm.models() == ["ptx-6.0", "ptx-7.5", "ptx-9.0"]
    assert all(f"the PTX ISA {name[4:]} manual" in line for name, line in zip(ptxmm.models(), lines[::2], strict=True))
    for name, path in zip(ptxmm.models(), lines[1::2], strict=True):
        assert status("models", "--show", name) == 0
        assert capsys.readouterr().out == Path(path.strip()).read_text(encoding="utf-8")
    assert status("models", "--show", "ptx-9.1") == 2
    assert "unknown model 'ptx-9.1'\n    hint: did you mean 'ptx-9.0'?" in capsys.readouterr().err


FAILS = """
from ptxmm.cli import main
def fail(arguments):
    raise ZeroDivisionError("told by nobody")
main.main = fail
main.entry()
"""


def test_a_defect_outside_of_any_test_is_told_as_one_too() -> None:
    """In a process of its own: what `entry` does to signals is for as long as the process lives."""
    process = subprocess.run(
        [sys.executable, "-c", FAILS, "check", "a file.litmus"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=PATIENCE,
    )  # fmt: skip
    said = process.stderr
    assert process.returncode == 2 and said.startswith("ptxmm: error: ptxmm has a defect: ZeroDivisionError at ")
    assert "ptxmm check 'a file.litmus'" in said and "Traceback" not in said


def test_a_package_that_is_not_installed_is_no_defect(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Checker, path: str) -> Outcome:
        raise ModuleNotFoundError("No module named 'lark.lexer'", name="lark.lexer")

    monkeypatch.setattr(Checker, "_check", broken)
    assert status("check", "good.litmus") == 2
    text = capsys.readouterr().err
    assert "ptxmm needs the Python package 'lark'" in text and "defect" not in text


def test_a_defect_of_ours_is_told_as_one(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Checker, path: str) -> Outcome:
        raise ZeroDivisionError("by hand")

    monkeypatch.setattr(Checker, "_check", broken)
    assert status("check", "good.litmus") == 2
    text = capsys.readouterr().err
    for part in ("good.litmus: error: ptxmm has a defect: ZeroDivisionError at ", "test_cli.py:", "by hand", "0.1.0"):
        assert part in text
    assert "issue tracker" in text and "ptx-9.0" in text and "Traceback" not in text
    monkeypatch.setenv("PTXMM_TRACEBACK", "1")
    status("check", "good.litmus")
    assert "Traceback" in capsys.readouterr().err


def test_running_out_of_memory_is_no_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Checker, path: str) -> Outcome:
        raise MemoryError

    monkeypatch.setattr(Checker, "_check", broken)
    assert Checker(Settings())("good.litmus").result.verdict == "undecided"


def test_a_test_over_its_time_is_undecided(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Checker._check

    def slow(self: Checker, path: str) -> Outcome:
        if path == "no.litmus":
            time.sleep(PATIENCE)
        return before(self, path)

    monkeypatch.setattr(Checker, "_check", slow)
    time_out_after(monkeypatch, 1)
    assert status("check", "good.litmus", "no.litmus", "en.litmus", "--timeout", "3600", "--jobs", "1") == 3
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows[:3]] == ["ok", "undecided", "no"]
    assert "out of time after 3600 s" in rows[1]


# Whole processes.


def spawn(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "ptxmm", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **options
    )


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    (folder / "list").write_text("good.litmus\n" * 300)
    process = spawn("check", "@list", "--format", "herd", "--jobs", "1")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=PATIENCE) == 141
    process.stderr.close()


def test_names_that_the_terminal_cannot_show_do_not_stop_it(folder: Path) -> None:
    (folder / "b\xfcndel.litmus").write_text(GOOD)
    process = spawn("check", "b\xfcndel.litmus", "no.litmus", preexec_fn=lambda: os.environ.update(LC_ALL="C"))
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and err == ""


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_a_run_prints_what_was_finished_and_leaves_no_process(folder: Path, number: int, jobs: str) -> None:
    os.mkfifo(folder / "endless.litmus")  # nobody ever writes to it
    process = spawn(
        "check", "good.litmus", *["endless.litmus"] * 4, "--format", "json", "--jobs", jobs, start_new_session=True
    )
    writer = when_read(folder / "endless.litmus", process)  # the first test is done by then
    assert process.poll() is None
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    os.close(writer)
    assert [test["name"] for test in json.loads(out)["tests"]] == ["MP"]
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # nobody of its session is left


ENDS = """
import atexit, os, signal, sys, weakref
from ptxmm.cli import main
interrupt = lambda *_: os.kill(os.getpid(), int(sys.argv[2]))
class Any: pass
class Last:
    def __del__(self, kill=os.kill, own=os.getpid(), number=int(sys.argv[2])):
        kill(own, number)
def in_code_from_text(arguments):
    exec("interrupt()", globals())
    sys.stdin.read()
def where_no_exception_gets_out(arguments):
    thing = Any()
    known = weakref.ref(thing, interrupt)
    del thing
    sys.stdin.read()
def at_the_end(arguments):
    atexit.register(interrupt)
    main.kept = Last()
    return 0
main.main = globals()[sys.argv[1]]
main.entry()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "when", ["in_code_from_text", "where_no_exception_gets_out", "at_the_end"], ids=lambda name: name.replace("_", " ")
)
def test_whenever_a_signal_comes_the_status_is_the_same(folder: Path, when: str, number: signal.Signals) -> None:
    (folder / "ends.py").write_text(ENDS)
    process = subprocess.Popen(
        [sys.executable, "-m", "ends", when, str(int(number))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
    )  # fmt: skip
    try:
        code = process.wait(timeout=PATIENCE)  # before there is an end of its standard input
        told = "ptxmm: interrupted\n" if number == signal.SIGINT and when != "at_the_end" else ""
        assert (code, *process.communicate()) == (0 if when == "at_the_end" else 128 + number, "", told)
    finally:
        process.kill()


DEAF = """
import ctypes
from ptxmm.checker import Checker
from ptxmm.cli.main import entry
before = Checker._check
def check(self, path):
    if path == "no.litmus":  # like a solver: a C function that no signal makes return
        library, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(128)
        library.pthread_mutex_lock(mutex)
        open("deaf", "w").close()
        library.pthread_mutex_lock(mutex)
    return before(self, path)
Checker._check = check
entry()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of glibc")
def test_an_interrupt_is_heard_while_a_solver_computes(folder: Path) -> None:
    arguments = ["check", "good.litmus", "no.litmus", "--jobs", "1", "--format", "json"]
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    wait_until((folder / "deaf").exists)
    wait_until_idle(process)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and err == ""
    assert [test["name"] for test in json.loads(out)["tests"]] == ["MP"]


@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of glibc")
def test_a_check_is_terminated_even_where_a_solver_lets_no_other_thread_run(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF.replace("CDLL", "PyDLL"), "check", "no.litmus"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    wait_until((folder / "deaf").exists)
    wait_until_idle(process)
    process.terminate()
    try:
        assert process.communicate(timeout=PATIENCE) == ("", "") and process.returncode == 128 + signal.SIGTERM
    finally:
        process.kill()


@pytest.mark.parametrize("command", ["classify", "generate"])
def test_every_command_says_that_it_was_interrupted(command: str) -> None:
    stopped = f"""
import ptxmm.cli.{command} as module
from ptxmm.cli.main import entry
def interrupted(options): raise KeyboardInterrupt
module.{command} = interrupted
entry()
"""
    arguments = {"classify": ["-"], "generate": ["Rfe", "Fre"]}[command]
    done = subprocess.run(
        [sys.executable, "-c", stopped, command, *arguments],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ptxmm: interrupted\n")


ABORTS = """
import os
from ptxmm.checker import Checker
from ptxmm.cli.main import entry
before = Checker._check
def check(self, path):
    if path == "no.litmus":  # like a solver without memory
        os.abort()
    return before(self, path)
Checker._check = check
entry()
"""


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "tests", [["no.litmus"], ["good.litmus", "no.litmus", "good.litmus"]], ids=["alone", "among others"]
)
@pytest.mark.parametrize("options", [[], ["--jobs", "1"], ["--timeout", "1e7"]], ids=" ".join)
def test_a_solver_without_memory_ends_its_test_and_not_the_report(
    folder: Path, tests: list[str], options: list[str]
) -> None:
    process = subprocess.run(
        [sys.executable, "-c", ABORTS, "check", *tests, *options, "--format", "json"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    verdicts = [test["verdict"] for test in json.loads(process.stdout)["tests"]]
    assert process.returncode == 2 and verdicts == ["error" if test == "no.litmus" else "ok" for test in tests]
    assert "no.litmus: error: its worker process was killed (SIGABRT); was memory short?" in process.stderr


def test_a_terminal_gets_progress_and_colours_and_whole_lines(folder: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "ptxmm", "check", "good.litmus", "no.litmus"],
        stdout=theirs, stderr=theirs, env=environment,
    )  # fmt: skip
    os.close(theirs)
    data = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    os.close(ours)
    assert process.wait(timeout=PATIENCE) == 1
    text = data.decode()
    assert "checking" in text and "\x1b[" in text
    bare = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert re.search(r"no +no\.litmus +forbidden: 0 of 3 +[0-9.]+ m?s +expected ok", bare)
    assert "2 tests under ptx-9.0: 1 ok, 1 no; 1 not as expected" in bare


def test_warming_up_decides_a_test_that_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    before = Checker._decide
    monkeypatch.setattr(Checker, "_decide", lambda self, test: seen.append(before(self, test)))
    Checker(Settings()).warm()
    assert [outcome.result.verdict for outcome in seen] == ["ok"]


@pytest.mark.part(3)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "arguments", [["check", "GOOD"], ["check", "GOOD", "--format", "json"], ["check", "BAD"], ["models"]]
)
@pytest.mark.parametrize("streams", ["> /dev/full", "> /dev/full 2> /dev/full"])
def test_what_cannot_be_written_is_no_success(arguments: list[str], streams: str, tmp_path: Path) -> None:
    (tmp_path / "GOOD").write_text(GOOD)
    (tmp_path / "BAD").write_text(BAD)
    command = " ".join([sys.executable, "-m", "ptxmm", *arguments, streams])
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.part(3)
@pytest.mark.skipif(os.name != "posix", reason="a shell closes streams")
@pytest.mark.parametrize(("file", "status"), [("GOOD", 0), ("NO", 1), ("BAD", 2)])
@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_streams_may_be_closed_from_the_start(file: str, status: int, streams: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text({"GOOD": GOOD, "NO": NO, "BAD": BAD}[file])
    done = subprocess.run(
        f"{sys.executable} -m ptxmm check {file} {streams}",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr


def test_a_run_leaves_the_garbage_collector_as_it_was(folder: Path) -> None:
    """What is frozen while workers share it is counted again and again by whoever asks whether anything is."""
    frozen = gc.get_freeze_count()
    assert main(["check", "good.litmus", "en.litmus"]) == 0
    assert gc.get_freeze_count() == frozen
