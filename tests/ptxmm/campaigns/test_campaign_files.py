"""The file of a campaign where others have it, where it cannot be written, and where the clock is wrong."""

from __future__ import annotations

import datetime
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_campaigns import campaign, decided, folder_of_tests, row, table

from ptxmm.campaigns import database, deciding
from ptxmm.campaigns.database import Database, DatabaseError, ResultRow
from ptxmm.campaigns.holders import holders
from ptxmm.cli.main import main


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for anybody."""
    for name in ("_PATIENCE", "_WRITERS_PATIENCE", "_HANDOVER"):
        monkeypatch.setattr(database, name, 0.1)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_tests(tmp_path_factory.mktemp("tests") / "few", 6)


LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who holds a lock")


@contextmanager
def another_program(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that does something, says so, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{code}\nprint(flush=True); input()", *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


LOCKS = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN EXCLUSIVE')"
FLOCK = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)"
READS = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); r = c.execute('SELECT * FROM tests'); next(r)"


@LINUX
@pytest.mark.parametrize(("code", "reads"), [(LOCKS, False), (READS, True)])
def test_who_holds_the_file_is_told(
    code: str,
    reads: bool,
    few: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = tmp_path / "runs.db"
    assert campaign(base, few) == 0 and decided(capsys) == 6
    before = table(base)
    with another_program(code, base) as process:
        who = f"({holders(str(base))[0]})"
        assert f"process {process.pid} ({sys.executable} -c " in who
        for arguments in ([few, "--races"], ["--report"]):
            if arguments == ["--report"] and reads:
                assert campaign(base, *arguments) == 0
                continue
            assert campaign(base, *arguments) == 2
            err = capsys.readouterr().err
            assert f"{base}: error: another program holds the file {who}: wait for its end" in err
            assert "Traceback" not in err and "locked" not in err
    assert campaign(base, few) == 0 and decided(capsys) == 0 and table(base) == before


@LINUX
def test_the_other_campaign_is_named(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "runs.db"
    with another_program(FLOCK, base, "\x1b[31m") as process:
        assert campaign(base, few) == 2
    err = capsys.readouterr().err
    assert f"another campaign, or check --cache, writes to it (process {process.pid} (" in err and "\x1b" not in err


def test_a_cache_that_cannot_be_written_is_read(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, tests = tmp_path / "runs.db", sorted(few.iterdir())
    assert campaign(base, *tests[1:]) == 0
    before = table(base)
    capsys.readouterr()
    with another_program(FLOCK, base):
        for options in ([], ["--races"]):
            status = main(["check", str(few), *options])
            usual = capsys.readouterr().out.splitlines()[:-1]
            assert main(["check", str(few), *options, "--cache", str(base)]) == status
            out, err = capsys.readouterr()
            assert [line.split()[:2] for line in out.splitlines()[:-1]] == [line.split()[:2] for line in usual]
            assert err.startswith(f"{base}: another campaign") and "what it knows is used, and nothing is kept" in err
    assert table(base) == before
    with another_program(FLOCK, tmp_path / "new.db"):  # in which nothing is yet
        assert main(["check", str(few), "--cache", str(tmp_path / "new.db")]) == 2
        assert capsys.readouterr().err.startswith(f"{tmp_path / 'new.db'}: error: another campaign")


def test_a_file_that_is_moved_is_told(few: Path, tmp_path: Path) -> None:
    base = tmp_path / "runs.db"
    with Database(str(base), writes=True) as found:
        found.add([row()])
        base.rename(tmp_path / "moved.db")
        with pytest.raises(DatabaseError, match="moved or deleted meanwhile"):
            found.add([row(test_hash="other")])
    assert len(table(tmp_path / "moved.db")) == 1 and not base.exists()


@pytest.mark.part(3)
@pytest.mark.parametrize("name", [":memory:", "file:x.db?mode=memory", "-", " ", "a'b\"c.db"])
def test_a_name_is_that_of_a_file(
    name: str, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for new in (6, 0):
        assert campaign(name, few) == 0 and decided(capsys) == new
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_is_no_regular_file_is_left_alone(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        for arguments in ([few], ["--report"]):
            assert campaign(path, *arguments) == 2
            assert capsys.readouterr().err == f"{path}: error: this is no regular file, as a database is\n"
    assert campaign("", few) == 2 and "cannot be opened" in capsys.readouterr().err


def test_names_of_files_may_have_any_bytes(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests, base = tmp_path / os.fsdecode(b"t\xff"), tmp_path / "runs.db"
    try:
        shutil.copytree(few, tests)
    except OSError:
        pytest.skip("names of files are text here")
    (tests / "bad.litmus").write_text("PTX bad\n")
    for new in (7, 1):  # an error is looked at again
        assert campaign(base, tests, tests / "none", "--html", tmp_path / "page.html") == 2 and decided(capsys) == new
    with Database(str(base), writes=False) as found:
        assert all(row.intact and "t\\udcff/" in row.path for row in found.results())
    for _ in range(2):
        assert main(["check", str(tests), "--cache", str(base)]) == 2
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err and "defect" not in out + err


@pytest.mark.parametrize("locks", ["", "nothing that is known\n", "1: FLOCK ADVISORY WRITE x fe:00:1 0 EOF\n"])
def test_where_nobody_tells_nobody_is_named(locks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locks").write_text(locks)
    monkeypatch.setattr("ptxmm.campaigns.holders._LOCKS", str(tmp_path / "locks"))
    assert holders(str(tmp_path / "locks")) == []
    monkeypatch.setattr("ptxmm.campaigns.holders._LOCKS", str(tmp_path / "none"))
    assert holders(str(tmp_path / "locks")) == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("SQLITE_READONLY_DBMOVED", "was moved or deleted"),
        ("SQLITE_READONLY_DIRECTORY", "its folder, where SQLite keeps a journal, cannot be written"),
        ("SQLITE_CANTOPEN", "may this user write to its folder?"),
        ("SQLITE_IOERR_DELETE", "the journal beside it cannot be removed"),
        ("SQLITE_IOERR_WRITE", "the disk, or a limit on sizes of files"),
        ("SQLITE_FULL", "the disk is full"),
        ("SQLITE_ELSE", "as SQLite has it"),
    ],
)
def test_what_stands_in_the_way_is_told_with_what_to_do(name: str, told: str, tmp_path: Path) -> None:
    base = str(tmp_path / "runs.db")
    with (
        Database(base, writes=True) as found,
        pytest.raises(DatabaseError, match="error: ") as caught,
        found._explained(),
    ):
        error = sqlite3.OperationalError("as SQLite has it")
        error.sqlite_errorname = name
        raise error
    assert str(caught.value).startswith(f"{base}: error: ") and told in str(caught.value)


def test_results_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, each once, and those that are asked for only, wherever a part ends."""
    base = str(tmp_path / "runs.db")
    with Database(base, writes=True) as found:
        asked, other = deciding.Decider([deciding.Settings(), deciding.Settings(races=True)]).questions
        found.begin("x", [asked])
        rows = [row(test_hash=f"{i:02}", question=q.identity) for i in range(7) for q in (asked, other)]
        found.add(rows, [(i, "x", f"{i:02}", "") for i in range(6)])
        for at_once in (1, 2, 3, 6, 7, 100):
            monkeypatch.setattr(database, "_AT_ONCE", at_once)
            assert [r.test_hash for r in found.results()] == [f"{i:02}" for i in range(6)]


def test_a_clock_that_goes_backward_changes_nothing(
    few: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Clock(datetime.datetime):
        year_now = 2040

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
            Clock.year_now -= 1
            return cls(Clock.year_now, 1, 1, tzinfo=tz)

    base, usual = tmp_path / "runs.db", tmp_path / "usual.db"
    assert campaign(usual, few) == 0
    monkeypatch.setattr(deciding.datetime, "datetime", Clock)
    assert campaign(base, few, "--jobs", "1") == 0
    with Database(str(base), writes=False) as found:
        years = {row.decided[:4] for row in found.results()}
    assert max(years) < "2040" and len(years) > 1
    monkeypatch.undo()
    capsys.readouterr()
    assert campaign(base, few) == 0 and decided(capsys) == 0 and table(base) == table(usual)


def test_a_row_is_sealed_but_for_when_it_was_decided() -> None:
    found: ResultRow = row()
    assert found._replace(decided="1970").intact and not found._replace(whole=0).intact
