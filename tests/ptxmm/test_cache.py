"""`ptxmm check --cache`: the same reports, from what is known."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from test_campaigns import LIBRARY, campaign, folder_of_tests

from ptxmm.campaigns.cache import Cache
from ptxmm.campaigns.database import Database
from ptxmm.campaigns.deciding import Texts
from ptxmm.checker import Checker, Outcome, Settings
from ptxmm.cli.main import main

GATE = Path(__file__).resolve().parents[1] / "kernels" / "gate"
TIMES = re.compile(r'\s*\b[\d.]+ m?s\b|("seconds": | time="|Time \S+ )[\d.]+')
OPTIONS = [
    ["--format", "json"],
    ["--format", "junit", "--model", "ptx-6.0"],
    ["--why"],
    ["--format", "herd"],
    ["--executions", "3", "--format", "json"],
    ["--bounded-ok", "--races"],
]


def check(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["check", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, TIMES.sub(lambda found: found[1] or "", out), err


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    """Tests of every verdict, mistakes among them."""
    folder = folder_of_tests(tmp_path / "tests", 3)
    for name in ("MP+rel+acq", "MP+volatile"):
        shutil.copy(next(LIBRARY.rglob(f"{name}.litmus")), folder)
    (folder / "bad.litmus").write_text("PTX bad\n{ x=0; }\n P0 ;\n ld.nothing.u32 %r0, [x] ;\nexists (0:r0=0)\n")
    return folder


def undecidable(self: Checker, item: object) -> Outcome:
    raise AssertionError(f"{item} is decided")


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_reports_are_the_same(
    options: list[str], tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "runs.db"
    without = check(capsys, tests, *options)
    assert check(capsys, tests, *options, "--cache", "none") == without
    assert check(capsys, tests, *options, "--cache", base) == without
    (tests / "bad.litmus").unlink()  # which is looked at every time
    without = check(capsys, tests, *options)
    monkeypatch.setattr(Texts, "_check", undecidable)
    assert check(capsys, tests, *options, "--cache", base) == without
    assert "is decided" in "".join(check(capsys, tests, *options, "--cache", base, "--unroll", "7")[1:]), (
        "and else it is"
    )


def test_what_a_campaign_has_decided_is_known_to_check(
    tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tests / "bad.litmus").unlink()
    campaign(tmp_path / "runs.db", tests)
    capsys.readouterr()
    without = check(capsys, tests)
    monkeypatch.setattr(Texts, "_check", undecidable)
    assert check(capsys, tests, "--cache", tmp_path / "runs.db") == without


def test_a_test_that_changes_is_decided(tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, test = tmp_path / "runs.db", tests / "MP+rel+acq.litmus"
    assert check(capsys, test, "--cache", base)[0] == 0
    test.write_text(test.read_text().replace("~exists", "exists"))
    assert check(capsys, test, "--cache", base)[0] == 1
    copy = tests / "copy.litmus"
    shutil.copy(test, copy)
    status, out, _ = check(capsys, copy, "--cache", base, "--format", "json")
    assert status == 1 and "copy.litmus" in out and "MP+rel+acq.litmus" not in out


def test_a_test_that_changes_while_it_is_decided_is_kept_as_it_was(tests: Path, tmp_path: Path) -> None:
    path = tests / "MP+rel+acq.litmus"
    with Cache(str(tmp_path / "runs.db"), Settings()) as cache:

        def decide(items: list[object]):  # type: ignore[no-untyped-def]
            path.write_text(path.read_text().replace("~exists", "exists"))
            yield from (cache.checker(item) for item in items)  # type: ignore[arg-type]

        assert [o.result.verdict for o in cache.outcomes([str(path)], decide)] == ["ok"]
    with Database(str(tmp_path / "runs.db"), writes=False) as database:
        rows = database._all("SELECT verdict, test FROM results")
    assert rows[0][0] == "ok" and "~exists" in rows[0][1]


def test_kernel_tests_are_decided_every_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, test = tmp_path / "runs.db", sorted(GATE.rglob("*.toml"))[0]
    without = check(capsys, test, "--format", "json")
    for _ in range(2):
        assert check(capsys, test, "--format", "json", "--cache", base) == without
    assert sqlite3.connect(base).execute("SELECT count(*) FROM results").fetchone() == (0,)


def test_what_is_no_cache_is_told(tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "runs.db"
    base.write_bytes(b"x" * 4000)
    status, out, err = check(capsys, tests, "--cache", base)
    assert (status, out) == (2, "") and err.startswith(f"{base}: error: ") and err.count("\n") == 1
    status, _, err = check(capsys, tests, "--cache", tmp_path / "new.db", "--svg", tmp_path)
    assert status == 2 and "--cache keeps no pictures" in err
