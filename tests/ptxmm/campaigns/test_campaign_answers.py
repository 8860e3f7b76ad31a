"""Campaigns keep what is no whole answer as what it is: it is told, looked at again where that helps, and never a pass."""

from __future__ import annotations

import sqlite3
from itertools import combinations, product
from pathlib import Path

import pytest
from test_campaigns import LIBRARY, campaign, decided, row

import ptxmm
from ptxmm.campaigns import RETRIES
from ptxmm.campaigns.database import Database, ResultRow
from ptxmm.campaigns.deciding import Entry, row_of
from ptxmm.campaigns.identity import question
from ptxmm.campaigns.page import page
from ptxmm.campaigns.report import ReportColumn, ReportLine, Summary
from ptxmm.campaigns.words import told
from ptxmm.checker import Checker, Settings
from ptxmm.result import Executions

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
"""
HANGS = """PTX hangs
{ x = 0; }
P0@cta 0,gpu 0 {
  again:
    ld.relaxed.gpu.u32 %r0, [x];
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bra again;
}
forall (0:r0 = 1)
"""
MP = (LIBRARY / "message-passing" / "MP+rel+acq.litmus").read_text()
#: What there is of each verdict: a text, the exit status of a campaign of it, and that with --bounded-ok.
TESTS = {
    "ok": (MP, 0, 0),
    "no": (MP.replace("~exists", "exists"), 0, 0),
    "bounded": (LOOP + "forall (0:r1 = 1)\n", 3, 0),
    "undecided": (LOOP + "exists (0:r1 = 7)\n", 3, 3),
    "undefined": ((LIBRARY / "asynchronous" / "red.async+object.litmus").read_text(), 0, 0),
    "error": ("PTX bad\n{ x=0; }\n P0 ;\n ld.nothing.u32 %r0, [x] ;\nexists (0:r0=0)\n", 2, 2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdicts")
    for name, (text, *_) in TESTS.items():
        (folder / f"{name}.litmus").write_text(text)
    return folder


@pytest.mark.part(3)
@pytest.mark.parametrize("verdict", TESTS)
def test_the_exit_status_is_that_of_what_is_known(
    verdict: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When it is decided, when it was known already, and in a report: it is the same."""
    base, test, (_, status, with_bounded) = tmp_path / "runs.db", folder / f"{verdict}.litmus", TESTS[verdict]
    for _ in range(2):
        assert campaign(base, test, "--model", "ptx-7.5") == status
    assert campaign(base, "--report") == status
    assert campaign(base, "--report", "--bounded-ok") == with_bounded
    assert campaign(base, test, "--model", "ptx-7.5", "--bounded-ok") == with_bounded
    with sqlite3.connect(base) as database:
        assert database.execute("SELECT verdict FROM results").fetchall() == [(verdict,)]
    out = capsys.readouterr().out
    if verdict in ("bounded", "undecided", "error"):
        assert f"{verdict}{'s' * (verdict == 'error')}\n  {test}" in out


@pytest.mark.long
def test_the_worst_of_all_is_told(folder: Path, tmp_path: Path) -> None:
    names, base = list(TESTS), tmp_path / "runs.db"
    assert campaign(base, folder, "--model", "ptx-7.5") == 2
    for first, second in combinations(names, 2):
        files = [folder / f"{name}.litmus" for name in (first, second)]
        status = max((TESTS[name][1] for name in (first, second)), key=(0, 3, 2).index)
        assert campaign(base, *files, "--model", "ptx-7.5") == status, (first, second)


def test_what_is_looked_at_again(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "runs.db"
    again = {}
    assert campaign(base, folder, "--model", "ptx-7.5") == 2 and decided(capsys) == len(TESTS)
    for retry in RETRIES:
        campaign(base, folder, "--model", "ptx-7.5", "--retry", retry)
        again[retry] = decided(capsys)
    assert again == {"none": 0, "error": 1, "undecided": 2}


WHOLE_OR_NOT = list(product([0, 1], [None, 2.0], [None, 1.0, 2.0, 3.0]))


@pytest.mark.parametrize(("whole", "had", "gives"), WHOLE_OR_NOT)
def test_more_time_than_there_was_is_a_reason_to_look_again(whole: int, had: float | None, gives: float | None) -> None:
    more = had is not None and (gives is None or gives > had)
    for verdict in ("ok", "no", "bounded", "undecided"):
        found = row(verdict=verdict, whole=whole, timeout=had)
        assert found.answers(gives) == (whole == 1 or not more)
        assert found.answers(gives, "none")
        assert found.answers(gives, "undecided") == (found.answers(gives) and verdict != "undecided")


def test_a_row_that_was_changed_answers_nobody() -> None:
    for retry in RETRIES:
        assert not row()._replace(observation="always").answers(None, retry)


def kept(**fields: object) -> ResultRow:
    """A test's answer as it is kept, with something else of it."""
    path = LIBRARY / "message-passing" / "MP+rel+acq.litmus"
    settings = Settings(timeout=5.0)
    outcome = Checker(settings)(str(path))
    for name, value in fields.items():
        setattr(outcome.result, name, value)
    asked = question(settings, ptxmm.api.model_named("ptx-9.0"))
    return row_of(Entry(str(path), path.read_bytes()), asked, asked.identity, outcome, settings.timeout)


@pytest.mark.parametrize(
    "cut", [{"stopped": True}, {"listed_all": False}, {"complete": False}, {"executions": Executions(listed_all=False)}]
)
def test_what_time_may_have_cut_short_is_not_whole(cut: dict[str, object]) -> None:
    assert kept().whole == 1 and kept(executions=Executions()).whole == 1
    found = kept(**cut)
    assert found.whole == 0 and found.answers(5.0) and not found.answers(6.0) and not found.answers(None)


# What a report makes of it.


def summary_of(*lines: tuple[ResultRow | None, ...]) -> Summary:
    columns = [ReportColumn(f"m{i}", f"m{i}", "", "") for i in range(len(lines[0]))]
    return Summary(
        "x.db", "x", True, columns, [ReportLine(f"{i}.litmus", f"t{i}", rows) for i, rows in enumerate(lines)]
    )


def test_a_report_claims_no_more_than_is_known() -> None:
    never = row()
    assert never.observation == "never"
    sometimes = row(verdict="no", observation="sometimes", positive=1)
    cut = [found._replace(whole=0) for found in (never, sometimes)]
    nothing = row(verdict="no", positive=0, negative=0)
    bounded, undecided = row(verdict="bounded", whole=0), row(verdict="undecided", observation=None, whole=0)
    summary = summary_of(
        (never,), (sometimes,), *((found,) for found in cut), (nothing,), (bounded,), (undecided,), (None,)
    )
    assert [line.words[0] for line in summary.lines] == [
        "never", "sometimes", "never so far", "sometimes", "no execution", "bounded", "undecided", "not yet",
    ]  # fmt: skip
    assert dict(summary.observations()) == {"never": [1], "sometimes": [2], "never so far": [2], "no execution": [1]}


def test_a_launch_that_never_ends_is_no_launch_in_which_the_condition_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hangs.litmus").write_text(HANGS)
    assert campaign(tmp_path / "runs.db", tmp_path / "hangs.litmus") == 0
    assert "\nno execution " in capsys.readouterr().out


def test_models_differ_where_both_are_known_and_only_there() -> None:
    never, sometimes = row(), row(verdict="no", observation="sometimes", positive=1)
    other = row(states='[{"0:r0": 7}]')
    cut, bounded, undefined = never._replace(whole=0), row(verdict="bounded", whole=0), row(verdict="undefined")
    cases = {
        (never, sometimes): "answer", (never, never): "", (never, other): "states", (never, cut): "",
        (cut, sometimes): "", (never, bounded): "", (never, None): "", (undefined, never): "answer",
    }  # fmt: skip
    summary = summary_of(*cases)
    assert [line.differs for line in summary.lines] == list(cases.values())
    assert [line.name for line in summary.differing()] == ["t0", "t7", "t2"]
    text, html = told(summary), page(summary)
    assert "the models differ: 2 of 8\n  0.litmus  never      sometimes\n  7.litmus" in text
    assert "the models differ in outcomes only: 1 of 8\n  2.litmus" in text
    assert "m1: 0:r0 = 7" in html and html.count("m1: ") == 1


# Templates, of which each test is one of a campaign.

TEMPLATE = """.global x;
.surfref s virtually aliases x;
.global f;

d0.b0.t0 { $0, 2; $1 st.release.gpu [f], 1; }
d0.b1.t0 { ld.acquire.gpu r0, [f] == 1; $2 $3 r1, $4; }

$5 (r1 $6 2) as r1;

$$

st [x]   | fence.proxy.surface; |                      | suld | [s] | permit | !=
sust [s] | fence.proxy.surface; |                      | ld   | [x] | assert | ==
"""


def test_each_test_of_a_template_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template, base = tmp_path / "surface.test", tmp_path / "runs.db"
    template.write_text(TEMPLATE)
    (tmp_path / "other.test").write_text("of another tool\n")
    assert campaign(base, tmp_path) == 0 and decided(capsys) == 2
    with Database(str(base), writes=False) as database:
        found = {r.path: (r.verdict, r.observation) for r in database.results()}
    results = {f"{template}:{i}": ptxmm.check(ptxmm.load(f"{template}:{i}")) for i in (1, 2)}
    assert found == {path: (r.verdict, r.observation) for path, r in results.items()}
    assert {r.observation for r in results.values()} == {"sometimes", "always"}
    assert campaign(base, f"{template}:2") == 0 and decided(capsys) == 0
    assert campaign(base, f"{template}:3") == 2 and "no test '3'" in capsys.readouterr().out


def test_a_name_that_says_how_a_text_is_read_is_a_part_of_the_question() -> None:
    names = ["a.litmus", "b.litmus", "a.test", "b.TEST"]
    assert len({Entry(name, b"x").identity for name in names}) == 2
    assert len({Entry("a.test", b"x", number).identity for number in ("", "1", "2")}) == 3
