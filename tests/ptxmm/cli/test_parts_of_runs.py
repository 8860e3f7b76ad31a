"""A part of a run says that it is one: what was not run is never taken for good."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ptxmm.cli.main import main
from ptxmm.cli.parts import RunStopped, of_shard, shard, within

GOOD = "PTX {name}\n{{ x = 0; }}\n P0@cta 0 | P1@cta 1 ;\n st.relaxed.gpu.u32 [x], 1 | ld.relaxed.gpu.u32 %r0, [x] ;\n{claim}\n"
HOLDS, FAILS = "exists (1:r0 = 1)", "~exists (1:r0 = 1)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five tests, of which the second and the fourth fail; the current folder."""
    monkeypatch.chdir(tmp_path)
    for number in range(5):
        text = GOOD.format(name=f"t{number}", claim=FAILS if number in (1, 3) else HOLDS)
        (tmp_path / f"t{number}.litmus").write_text(text, encoding="utf-8")
    return tmp_path


def names(report: str) -> list[str]:
    return [Path(test["path"]).stem for test in json.loads(report)["tests"]]


@pytest.mark.part(5)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_every_test_is_in_one_shard(folder: Path, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []
    statuses = set()
    for number in range(1, count + 1):
        statuses.add(main(["check", ".", "--jobs", "1", "--shard", f"{number}/{count}", "--format", "json"]))
        printed = capsys.readouterr()
        found = names(printed.out)
        assert printed.err.startswith(f"shard {number}/{count}: {len(found)} of 5 tests\n")
        seen += found
    assert sorted(seen) == [f"t{n}" for n in range(5)] and max(statuses) == 1
    sizes = [len(of_shard(range(100), (n, count))) for n in range(1, count + 1)]
    assert sum(sizes) == 100 and max(sizes) - min(sizes) <= 1


def test_the_reports_say_which_part_they_are_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty shard is as green as a full one, and nobody takes it for the whole."""
    for part, count in {"2/2": "2 of 5", "7/7": "0 of 5"}.items():
        files = ["--junit", "report.xml", "--sarif", "report.sarif"]
        status = main(["check", ".", "--jobs", "1", "--shard", part, "--format", "json", *files])
        assert status == (part == "2/2")
        assert json.loads(capsys.readouterr().out)["part"] == {"shard": part, "tests": count}
        (run,) = json.loads(Path("report.sarif").read_text(encoding="utf-8"))["runs"]
        assert run["properties"] == {"model": "ptx-9.0", "shard": part, "tests": count}
        written = Path("report.xml").read_text(encoding="utf-8")
        assert f'name="shard" value="{part}"' in written and f'name="tests" value="{count}"' in written
    main(["check", "t0.litmus", "--format", "json"])
    assert "part" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", "1/2/3"])
def test_what_is_no_shard_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="as in 2/4"):
        shard(text)
    with pytest.raises(SystemExit) as stop:
        main(["check", "x.litmus", f"--shard={text}"])
    assert stop.value.code == 2 and "as in 2/4" in capsys.readouterr().err


def test_the_first_failure_ends_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ".", "--jobs", "1", "--fail-fast", "--format", "json", "--junit", "report.xml"]) == 1
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    run, left = names(printed.out), [Path(name).stem for name in report["not_run"]]
    assert run[:2] == ["t0", "t1"] and sorted([*run, *left]) == [f"t{n}" for n in range(5)] and left
    assert f"{len(left)} test{'s' * (len(left) != 1)} not run: a test has failed" in printed.err
    written = Path("report.xml").read_text(encoding="utf-8")
    assert written.count("<testcase") == 5 and written.count("not run: a test has failed") >= len(left)


def test_a_last_failure_leaves_nothing_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t0.litmus", "t1.litmus", "--jobs", "1", "--fail-fast"]) == 1
    assert "not run" not in capsys.readouterr().err
    assert main(["check", "t0.litmus", "t2.litmus", "--jobs", "1", "--fail-fast"]) == 0


def test_a_budget_ends_the_run_and_is_no_success(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t0.litmus", "t2.litmus", "--jobs", "1", "--budget", "0.000001"]) == 3
    assert "not run: the budget of 1e-06 s is used up" in capsys.readouterr().err
    assert main(["check", "t0.litmus", "--budget", "0.000001"]) == 3
    assert "1 test not run" in capsys.readouterr().err
    assert main(["check", "t0.litmus", "t2.litmus", "--jobs", "1", "--budget", "600"]) == 0


def test_a_budget_interrupts_what_takes_long() -> None:
    with pytest.raises(RunStopped), within(0.05):
        time.sleep(30)  # nothing is raised where it comes to its end
    with within(None) as budget:
        budget.look()
    with pytest.raises(RunStopped), within(0.01) as budget:
        budget.busy = True
        time.sleep(0.05)  # what is half told is told to its end
        budget.busy = False
        budget.look()


@pytest.mark.parametrize("option", [["--shard", "1/2"], ["--fail-fast"], ["--budget", "9"]])
def test_a_part_writes_no_baseline(folder: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ".", *option, "--write-baseline", "known.json"]) == 2
    assert f"leave out {option[0]}" in capsys.readouterr().err and not Path("known.json").exists()
