"""Campaigns: every answer is kept, none is decided twice, and none is taken for what it is not, whatever ends a command."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest
from campaigns import lengths
from waiting import PATIENCE, wait_until

import ptxmm
from litmus.cycles import enumerate as cycles
from litmus.formats.printer import write
from ptxmm.campaigns.database import SCHEMA, Database, ResultRow
from ptxmm.campaigns.deciding import AskedTest, Decider, Entry
from ptxmm.campaigns.identity import question, words
from ptxmm.campaigns.values import NoText, read, written
from ptxmm.checker import Checker, Settings
from ptxmm.cli.campaign import in_words
from ptxmm.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = ROOT / "litmus" / "library"
NOT_THE_SAME_TWICE = ("seconds", "decided")


def folder_of_tests(folder: Path, count: int) -> Path:
    folder.mkdir()
    edges = "Pod**,Pod**.rlx.gpu,Pod**.weak,Rfe,Fre,Coe,Fence.*.*d**"
    for i, test in enumerate(islice(cycles(edges, size=4, threads=2, places="all"), 0, count * 7, 7)):
        (folder / f"{i:03}.litmus").write_text(write(test))
    assert len(list(folder.iterdir())) == count
    return folder


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_tests(tmp_path_factory.mktemp("tests") / "few", 6)


def campaign(*arguments: object) -> int:
    return main(["campaign", *map(str, arguments)])


def table(path: Path) -> list[tuple[object, ...]]:
    """The results as they are, but for what differs from run to run."""
    with sqlite3.connect(path) as database:
        names = [c[1] for c in database.execute("PRAGMA table_info(results)")]
        kept = ", ".join(name for name in names if name not in NOT_THE_SAME_TWICE)
        assert len(names) == len(kept.split(", ")) + 2
        return sorted(database.execute(f"SELECT {kept} FROM results"))


def decided(capsys: pytest.CaptureFixture[str]) -> int:
    """How many answers the last command decided."""
    line = next(line for line in capsys.readouterr().err.splitlines() if "known already" in line)
    return int(line.split()[0])


# What is in the table.


def test_the_table_has_what_check_answers(tmp_path: Path, few: Path) -> None:
    base = tmp_path / "runs.db"
    assert campaign(base, few, "--model", "ptx-6.0", "--model", "ptx-9.0") == 0
    with Database(str(base), writes=False) as database:
        rows = {(row.path, row.model): row for row in database.results()}
    assert len(rows) == 12
    for (path, model), row in rows.items():
        result = ptxmm.check(ptxmm.load(path), model)
        assert (row.verdict, row.observation, json.loads(row.states)) == (
            result.verdict,
            result.observation,
            result.states,
        )
        assert row.test == Path(path).read_text() and row.name == result.name
        assert (row.positive, row.negative) == (result.positive, result.negative) and row.intact and row.whole


def test_a_row_is_the_same_whoever_decides_it(few: Path) -> None:
    path = sorted(few.iterdir())[0]
    entry = Entry(str(path), path.read_bytes())
    rows = [Decider([Settings()])(AskedTest(entry, 0)) for _ in range(2)]
    same = [row._replace(seconds=0, decided="") for row in rows]
    assert same[0] == same[1] and rows[0].seconds > 0


def test_outcomes_can_be_written_and_read(tmp_path: Path) -> None:
    """Whatever a check gives: also what is wrong with a test, why, and where."""
    bad, undefined = tmp_path / "bad.litmus", LIBRARY / "scopes"
    bad.write_text("PTX bad\n{ x=0; }\n P0 ;\n ld.nothing.u32 %r0, [x] ;\nexists (0:r0=0)\n")
    paths = [str(bad), str(tmp_path / "none.litmus"), *map(str, sorted(undefined.glob("*.litmus"))[:6])]
    paths += map(str, sorted((LIBRARY / "asynchronous").glob("*.litmus"))[:4])
    verdicts = set()
    for settings in (Settings(races=True), Settings(model="ptx-6.0", tell=True, digest=True)):
        for path in paths:
            outcome = Checker(settings)(path)
            text = written(outcome)
            assert read(text) == outcome and written(read(text)) == text
            verdicts.add(outcome.result.verdict)
    assert {"ok", "no", "error", "undefined"} <= verdicts


@pytest.mark.parametrize("text", ["", "[]", "7", '["Outcome",{}]', '["Spot",{"path":"x"}]', '["print",{}]', '{"a":1}'])
def test_what_is_no_outcome_is_not_read(text: str) -> None:
    with pytest.raises(NoText):
        read(text)


# What is decided again, and what is not.


def test_what_is_known_is_not_decided_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests, base = folder_of_tests(tmp_path / "tests", 4), tmp_path / "runs.db"
    assert campaign(base, tests) == 0 and decided(capsys) == 4
    before = table(base)
    assert campaign(base, tests) == 0 and decided(capsys) == 0
    assert table(base) == before
    changed = tests / "001.litmus"
    changed.write_text(changed.read_text().replace("exists", "~exists"))
    campaign(base, tests)
    assert decided(capsys) == 1
    assert campaign(base, tests, "--races") == 0 and decided(capsys) == 4
    assert campaign(base, tests, "--model", "ptx-7.5") == 0 and decided(capsys) == 4


def test_a_test_that_is_there_twice_is_decided_once(
    tmp_path: Path, few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert campaign(tmp_path / "runs.db", few, few) == 0
    assert decided(capsys) == 6
    assert campaign(tmp_path / "runs.db", "--report") == 0
    assert "12 tests under 1 model, 12 answers" in capsys.readouterr().out


def test_a_model_that_changes_is_another_one(tmp_path: Path, few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, part, base = tmp_path / "m.cat", tmp_path / "part.cat", tmp_path / "runs.db"
    model.write_text('m\ninclude "part.cat"\nacyclic po-loc | rf | co | fr as coherence\n')
    part.write_text("let unused = po\n")
    assert campaign(base, few, "--model", model) == 0 and decided(capsys) == 6
    assert campaign(base, few, "--model", model) == 0 and decided(capsys) == 0
    part.write_text("acyclic po | rf | co | fr as sc\n")
    assert campaign(base, few, "--model", model) == 0 and decided(capsys) == 6
    model.write_text(model.read_text() + "(* another *)\n")
    assert campaign(base, few, "--model", model) == 0 and decided(capsys) == 6


def another(value: object) -> object:
    """A value that a setting may have instead."""
    if value is None or isinstance(value, str):
        return f"{value}'"
    if isinstance(value, int):
        return True if value is False else value + 1
    assert isinstance(value, (tuple, frozenset))
    return type(value)(["x", *value])


def test_an_identity_has_everything_that_an_answer_hangs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ptxmm.api.model_named("ptx-9.0")
    usual = Settings(executions=1, drawings=("txt",))  # without which nothing becomes of `documents` and of `width`
    found = {question(usual, model).identity}
    others = [name for name in Settings._fields if name not in ("timeout", "bounded_ok")]
    for name in others:
        found.add(question(usual._replace(**{name: another(getattr(usual, name))}), model).identity)
    found.add(question(usual, ptxmm.api.model_named("ptx-7.5")).identity)
    monkeypatch.setattr("ptxmm.campaigns.identity.version", lambda: "another")
    found.add(question(usual, model).identity)
    assert len(found) == len(others) + 3
    assert words(Settings(timeout=3.0)) == "" and words(Settings(timeout=3.0, why=True)) != ""
    assert words(Settings(documents=True)) == "" != words(Settings(documents=True, executions=1))


def row(**fields: object) -> ResultRow:
    entry = Entry("mp.litmus", (LIBRARY / "message-passing" / "MP+rel+acq.litmus").read_bytes())
    return Decider([Settings()])(AskedTest(entry, 0))._replace(**fields).sealed()  # type: ignore[arg-type]


def test_what_was_out_of_time_is_no_answer_to_whoever_gives_more() -> None:
    late = row(verdict="undecided", whole=0, timeout=5.0)
    assert late.answers(5.0) and late.answers(1.0)
    assert not late.answers(6.0) and not late.answers(None)
    assert row(timeout=5.0).answers(None), "a whole answer is one for everybody"


def test_what_went_wrong_is_no_answer() -> None:
    assert not row(verdict="error").answers(None)
    assert not row(verdict="undecided", error="out of memory").answers(None)


def test_a_timeout_is_a_timeout_of_a_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = str(LIBRARY / "asynchronous" / "bulk+distributed-shared-memory.litmus")
    base = tmp_path / "runs.db"
    assert campaign(base, test, "--timeout", "0.001") == 3 and decided(capsys) == 1
    assert campaign(base, test, "--timeout", "0.0005") == 3 and decided(capsys) == 0
    assert campaign(base, test) == 0 and decided(capsys) == 1
    assert campaign(base, test, "--timeout", "0.001") == 0 and decided(capsys) == 0


def test_what_a_disk_has_changed_is_decided_again(
    tmp_path: Path, few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "runs.db"
    assert campaign(base, few) == 0
    before = table(base)
    with sqlite3.connect(base) as database:
        database.execute(
            "UPDATE results SET observation = 'always' WHERE test_hash = (SELECT max(test_hash) FROM results)"
        )
    assert table(base) != before
    capsys.readouterr()
    assert campaign(base, "--report") == 3
    assert "5 of 6 answers are there" in capsys.readouterr().out
    assert campaign(base, few) == 0 and decided(capsys) == 1
    assert table(base) == before


def test_what_is_wrong_with_a_test_is_told_and_looked_at_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests, base = folder_of_tests(tmp_path / "tests", 2), tmp_path / "runs.db"
    (tests / "bad.litmus").write_text("PTX bad\n{ x=0; }\n P0 ;\n ld.nothing.u32 %r0, [x] ;\nexists (0:r0=0)\n")
    for again in (3, 1):
        assert campaign(base, tests, tmp_path / "none.litmus") == 2
        out, err = capsys.readouterr()
        assert "bad.litmus:4:" in out and "none.litmus  no such file or folder" in out and "Traceback" not in out + err
        assert err.startswith(f"{again} decided")


# However a command ends.


def start(base: Path, tests: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ptxmm", "campaign", str(base), str(tests), "--jobs", "2", *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def count(base: Path) -> int:
    """How many results there are; reading takes back what a kill has left half written."""
    try:
        with Database(str(base), writes=False) as database:
            return len(list(database.results()))
    except ptxmm.campaigns.database.DatabaseError:  # it was killed before there was a database
        return 0


def whole(base: Path) -> int:
    """How many results there are in a database that is found whole, each as it was written."""
    with sqlite3.connect(base) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with Database(str(base), writes=False) as database:
        rows = list(database.results())
    assert all(row.intact for row in rows)
    return len(rows)


def wait_for(process: subprocess.Popen[str], base: Path, had: int) -> None:
    """Until there are more than so many results; with -1, until there is a file."""
    wait_until(lambda: process.poll() is not None or (base.exists() and (had < 0 or count(base) > had)))


@pytest.mark.long
@pytest.mark.parametrize(("many", "most"), lengths((30, 4), (90, 12)))
def test_kills_lose_nothing_and_change_nothing(many: int, most: int, tmp_path: Path) -> None:
    tests = folder_of_tests(tmp_path / "tests", many)
    undisturbed, killed = tmp_path / "one.db", tmp_path / "two.db"
    draw, had, kills = random.Random(1), 0, 0
    while kills < most and had < many:
        process = start(killed, tests)
        wait_for(process, killed, had if kills % 2 else -1)
        time.sleep(draw.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        kills += 1
        assert count(killed) >= had
        had = count(killed)
    assert kills >= 2 and start(killed, tests).wait(PATIENCE) == 0 and start(undisturbed, tests).wait(PATIENCE) == 0
    assert len(table(undisturbed)) == many
    assert table(killed) == table(undisturbed)
    for name in ("tests", "asked", "command", "questions"):
        both = [sorted(sqlite3.connect(b).execute(f"SELECT * FROM {name}")) for b in (undisturbed, killed)]
        assert both[0] == both[1], name


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_keeps_what_is_there(tmp_path: Path, number: signal.Signals) -> None:
    tests, base = folder_of_tests(tmp_path / "tests", 60), tmp_path / "runs.db"
    # one that takes longer than the others
    (tests / "000.litmus").write_text((LIBRARY / "asynchronous" / "bulk+distributed-shared-memory.litmus").read_text())
    process = start(base, tests)
    wait_for(process, base, 0)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 128 + number) and "Traceback" not in err
    assert count(base) == 60 or "decided, 0 known already; the same command goes on" in err
    assert 0 < whole(base) <= 60 and (process.returncode != 0 or count(base) == 60)
    again = start(base, tests)
    assert again.communicate(timeout=PATIENCE) and again.returncode == 0 and count(base) == 60


def test_there_is_one_writer(tmp_path: Path, few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "runs.db"
    assert campaign(base, few) == 0
    with Database(str(base), writes=True):
        capsys.readouterr()
        assert campaign(base, few) == 2
        assert "another campaign" in capsys.readouterr().err
        assert campaign(base, "--report") == 0, "reading is no writing"
    assert campaign(base, few) == 0


def test_a_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    base = str(tmp_path / "runs.db")
    first = Database(base, writes=True)
    child = os.fork()
    if child == 0:
        time.sleep(PATIENCE)
        os._exit(0)
    first.close()
    try:
        Database(base, writes=True).close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


SPOILT = [
    ("garbage", "damaged, or no database"),
    ("truncated", "damaged, or no database"),
    ("another", "not the database of a campaign"),
    ("schema", "its format has number"),
    ("folder", "no regular file"),
]


@pytest.mark.parametrize(("how", "message"), SPOILT)
def test_what_is_no_database_is_told_in_a_line(
    how: str, message: str, tmp_path: Path, few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "runs.db"
    if how == "garbage":
        base.write_bytes(random.Random(3).randbytes(5000))
    elif how == "folder":
        base.mkdir()
    elif how == "another":
        sqlite3.connect(base).executescript("CREATE TABLE a(b); INSERT INTO a VALUES(1);")
    else:
        campaign(base, few)
        if how == "truncated":
            os.truncate(base, os.path.getsize(base) // 2)
        else:
            sqlite3.connect(base).execute(f"PRAGMA user_version = {SCHEMA + 1}")
    before = base.read_bytes() if base.is_file() else b""
    capsys.readouterr()
    assert campaign(base, few) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"{base}: error: ") and message in err and err.count("\n") == 1
    assert (base.read_bytes() if base.is_file() else b"") == before, "what is not ours is left alone"
    if how != "truncated":  # of which a report may find what it asks for
        assert campaign(base, "--report") == 2


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, few: Path) -> None:
    base = tmp_path / "runs.db"
    code = "import sys; from ptxmm.cli.main import entry; sys.argv = ['ptxmm', *sys.argv[1:]]; entry()"
    most = 110_000  # bytes: enough for the tables, and not for what comes in

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    process = subprocess.run(
        [sys.executable, "-c", code, "campaign", str(base), str(LIBRARY / "message-passing")],
        preexec_fn=limit, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=PATIENCE,
    )  # fmt: skip
    assert process.returncode == 2 and f"{base}: error: " in process.stderr and "Traceback" not in process.stderr
    assert campaign(base, few) == 0


# Reports.


def test_a_report_counts_and_compares(tmp_path: Path, few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "runs.db"
    assert campaign(base, few, "--model", "ptx-6.0", "--model", "ptx-9.0") == 0
    capsys.readouterr()
    assert campaign(base, "--report") == 0
    out = capsys.readouterr().out
    assert "6 tests under 2 models, 12 answers" in out and "slowest" in out
    verdicts = [ptxmm.check(ptxmm.load(p)).verdict for p in sorted(few.iterdir())]
    assert any(line.split() == ["ok", *[str(verdicts.count("ok"))] * 2] for line in out.splitlines())


def test_a_report_of_what_did_not_end_says_so(tmp_path: Path, few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "runs.db"
    decider = Decider([Settings()])
    path = sorted(few.iterdir())[0]
    with Database(str(base), writes=True) as database:
        database.begin("x", decider.questions)
        entry = Entry(str(path), path.read_bytes())
        database.add([decider(AskedTest(entry, 0))], [(0, str(path), entry.identity, ""), (1, "other", "none", "")])
    assert campaign(base, "--report") == 3
    assert "did not come to its end, 1 answer is there" in capsys.readouterr().out


def test_a_page_stands_alone_and_takes_no_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests, page = tmp_path / "<b>tests&", tmp_path / "page.html"
    folder_of_tests(tests, 2)
    first = tests / "000.litmus"
    first.write_text(first.read_text().replace("PTX ", "PTX <script>alert(1)</script>", 1))
    assert campaign(tmp_path / "runs.db", tests, "--html", page) == 0
    text = page.read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text and "<b>tests" not in text
    assert "prefers-color-scheme" in text and "http" not in text and "src=" not in text and "@import" not in text
    assert text.count("<script>") == 1 and text.count("<h1>") == 1
    assert campaign(tmp_path / "runs.db", "--report", "--html", tmp_path / "no" / "such.html") == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no tests"),
        (["--report", "x"], "--report takes no tests"),
        (["x", "--edges", "Rfe"], "more than one source of tests"),
        (["--edges", "Nothing"], "'Nothing' is no edge"),
        (["--edges", "Rfe", "--size", "3"], "no cycle of these edges"),
        (["x", "--model", "ptx-99"], "unknown model 'ptx-99'"),
    ],
)
def test_what_makes_no_campaign_is_told(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert campaign(tmp_path / "runs.db", *arguments) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "runs.db").exists()


def test_tests_from_cycles_are_decided_as_those_in_files_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges, bounds = "Pod**,Rfe,Fre,Coe,Fence.sc.gpud**", ["--size", "4", "--threads", "2"]
    assert campaign(tmp_path / "runs.db", "--edges", edges, *bounds, "--limit", "20") == 0
    assert decided(capsys) == 20
    with Database(str(tmp_path / "runs.db"), writes=False) as database:
        found = {(row.name, row.verdict, row.test) for row in database.results()}
    tests = list(islice(cycles(edges, size=4, threads=2), 20))
    assert found == {(t.name, ptxmm.check(t).verdict, write(t)) for t in tests}
    assert campaign(tmp_path / "runs.db", "--edges", edges, *bounds, "--limit", "25") == 0
    assert decided(capsys) == len(list(islice(cycles(edges, size=4, threads=2), 25))) - 20


def test_there_must_be_something_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign(tmp_path / "runs.db", "--report") == 2
    assert "no such file" in capsys.readouterr().err and not (tmp_path / "runs.db").exists()


@pytest.mark.parametrize(("seconds", "told"), [(3, "3 s"), (150, "2 min"), (9000, "2 h"), (400000, "5 d")])
def test_times_are_told_roughly(seconds: float, told: str) -> None:
    assert in_words(seconds) == told
