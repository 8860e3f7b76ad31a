"""`ptxmm check --cache`: the same reports, from what is known."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from test_campaign_answers import TEMPLATE
from test_campaigns import LIBRARY, campaign, folder_of_tests

from ptxmm.campaigns.cache import Cache
from ptxmm.campaigns.database import Database
from ptxmm.campaigns.deciding import Texts
from ptxmm.checker import Checker, Outcome, Settings
from ptxmm.cli.main import main

GATE = Path(__file__).resolve().parents[2] / "kernels" / "gate"
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


@pytest.mark.part(8)
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


@pytest.mark.parametrize("columns", [60, 100])
def test_what_a_campaign_has_decided_is_known_to_check_in_terminals_of_any_width(
    columns: int, tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    (tests / "bad.litmus").unlink()
    campaign(tmp_path / "runs.db", tests)
    capsys.readouterr()
    without = check(capsys, tests)
    monkeypatch.setattr(Texts, "_check", undecidable)
    cached = check(capsys, tests, "--cache", tmp_path / "runs.db")
    assert cached == without, "".join(cached[1:])


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
    base, test = tmp_path / "runs.db", GATE / "volatile_flag" / "test.toml"
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


# Nothing that an answer hangs on is left out of what it is looked up by.

MODEL = 'm\ninclude "part.cat"\nacyclic po-loc | rf | co | fr as coherence\n'
LOOP = """PTX loop
{ x = 0; y = 0; }
P0@cta 0,gpu 0 {
  again:
    atom.relaxed.gpu.exch.b32 %r0, [y], 1;
    ld.relaxed.gpu.u32 %r1, [x];
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra again;
}
P1@cta 1,gpu 0 {
    st.relaxed.gpu.u32 [x], 1;
}
forall (0:r1 = 1)
"""


def known(base: Path) -> int:
    """How many answers there are in a cache."""
    with sqlite3.connect(base) as database:
        return int(database.execute("SELECT count(*) FROM results").fetchone()[0])


ASKED_OTHERWISE = [
    ["--model", "ptx-6.0"],
    ["--model", "ptx-9.0/-causality"],
    ["--model", "ptx-9.0 --dep data"],
    ["--dep", "data"],
    ["--unroll", "3"],
    ["--engine", "enumerate"],
    ["--backend", "z3"],
    ["--all-registers"],
    ["--races"],
    ["--check", "terminates"],
    ["--progress", "fair"],
    ["--resident", "2"],
    ["--executions", "2"],
    ["--why"],
    ["--format", "herd"],
]


@pytest.mark.long
def test_whatever_is_asked_otherwise_is_another_question(
    tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, test = tmp_path / "runs.db", tests / "MP+rel+acq.litmus"
    for count, options in enumerate([[], *ASKED_OTHERWISE], 1):
        without = check(capsys, test, *options)
        assert check(capsys, test, *options, "--cache", base) == without, options
        assert known(base) == count, options
    monkeypatch.setattr(Texts, "_check", undecidable)  # and all of them are known now
    for options in ([], *ASKED_OTHERWISE):
        assert "is decided" not in "".join(check(capsys, test, *options, "--cache", base)[1:]), options


def test_whoever_answers_is_a_part_of_the_question(
    tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, test = tmp_path / "runs.db", tests / "MP+rel+acq.litmus"
    for count, version in enumerate(("0.1.0+aa", "0.1.0+ab", "0.2.0+aa"), 1):
        monkeypatch.setattr("ptxmm.campaigns.identity.version", lambda version=version: version)
        check(capsys, test, "--cache", base)
        assert known(base) == count


def test_what_a_model_includes_is_a_part_of_the_question(
    tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same name and the same option mean other text, in each step by another way; and at last they mean the first again."""
    weak, strong = "let unused = po\n", "acyclic po | rf | co | fr as sc\n"
    model, one, two = tmp_path / "m.cat", tmp_path / "one", tmp_path / "two"
    base, test = tmp_path / "runs.db", tests / "MP+volatile.litmus"
    for folder, text in ((one, weak), (two, strong)):
        folder.mkdir()
        (folder / "part.cat").write_text(text)
    model.write_text(MODEL)
    deep = 'include "deep.cat"\n'
    steps = [
        (lambda: None, one, 0),
        (lambda: None, two, 1),  # another folder
        (lambda: (one / "part.cat").write_text(strong), one, 1),
        (lambda: (one / "part.cat").write_text(deep), one, 2),  # of which there is none
        (lambda: (one / "deep.cat").write_text(strong), one, 1),  # there is one now
        (lambda: (one / "deep.cat").write_text(weak), one, 0),  # what is included by what is included
        (lambda: (tmp_path / "part.cat").write_text(strong), one, 1),  # the model's own folder comes first
        (lambda: (tmp_path / "part.cat").unlink(), one, 0),
        (lambda: (one / "part.cat").write_text(weak), one, 0),
    ]
    for change, folder, status in steps:
        change()
        asked = [test, "--model", model, "-I", folder]
        without = check(capsys, *asked)
        assert check(capsys, *asked, "--cache", base) == without and without[0] == status
        assert check(capsys, test, "--model", f"{model} -I {folder}", "--cache", base)[0] == status
    assert known(base) == 5, "no question was asked twice under another name"


def test_axioms_that_a_model_of_a_file_lacks_are_a_part_of_the_question(
    tests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, base, test = tmp_path / "m.cat", tmp_path / "runs.db", tests / "MP+volatile.litmus"
    model.write_text("m\nacyclic po-loc | rf | co | fr as coherence\nacyclic po | rf | co | fr as sc\n")
    found = []
    for name in (f"{model}", f"{model}/-sc", f"{model}/-coherence", f"{model}/-sc", f"{model}"):
        without = check(capsys, test, "--model", name)
        assert check(capsys, test, "--model", name, "--cache", base) == without
        found.append(without[0])
    assert known(base) == 3 and found[0] != found[1] and found == found[::-1]


def test_a_bounded_answer_passes_where_that_is_accepted_and_only_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (test := tmp_path / "loop.litmus").write_text(LOOP)
    for number, order in enumerate(((3, 0, 3), (0, 3, 0))):
        base = tmp_path / f"{number}.db"
        for status in order:
            options = [] if status else ["--bounded-ok"]
            with_cache = check(capsys, test, *options, "--cache", base)
            assert with_cache == check(capsys, test, *options) and with_cache[0] == status
        assert known(base) == 1


def test_more_time_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, test = tmp_path / "runs.db", LIBRARY / "asynchronous" / "bulk+distributed-shared-memory.litmus"
    assert check(capsys, test, "--timeout", "0.001", "--format", "json", "--cache", base)[0] == 3
    assert check(capsys, test, "--format", "json", "--cache", base)[0] == 0
    assert check(capsys, test, "--timeout", "0.001", "--format", "json", "--cache", base)[0] == 0, (
        "and what it led to is known"
    )


def test_a_test_of_a_template_is_kept_by_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, template = tmp_path / "runs.db", tmp_path / "surface.test"
    template.write_text(TEMPLATE)
    without = check(capsys, template, "--format", "json")
    assert check(capsys, template, "--format", "json", "--cache", base) == without and known(base) == 2
    monkeypatch.setattr(Texts, "_check", undecidable)
    assert check(capsys, template, "--format", "json", "--cache", base) == without
