"""`ptxmm compare`: what counts as a difference, tables over tests and logs, searches, and what is taken from tests."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from agreement import compared
from campaigns import lengths, some

import ptxmm
import ptxmm.cli.compare
from axioms.models.options import LENIENT, OF_PROGRAMS, OPTIONS
from litmus.formats.printer import write
from litmus.relaxations import relaxations
from litmus.test import LitmusThread, Test
from ptxmm.cli.main import main
from ptxmm.comparing.answers import AnsweredTest, FinalState
from ptxmm.comparing.columns import Case
from ptxmm.comparing.comparison import columns_for, compare, find_difference
from ptxmm.comparing.differences import difference
from ptxmm.comparing.finding import DifferenceSearch, library
from ptxmm.comparing.universe import universe

LIBRARY = Path(ptxmm.__file__).parents[1] / "litmus" / "library"
RED = LIBRARY / "manual" / "MP+rel+red-fence.acquire.litmus"
SAME = LIBRARY / "message-passing" / "MP.litmus"
LOOP = """PTX loop
{ x = 0; y = 0; }
P0@cta 0,gpu 0 { again: atom.relaxed.gpu.exch.b32 %r0, [y], 1; ld.relaxed.gpu.u32 %r1, [x];
  setp.eq.u32 %p0, %r1, 0; @%p0 bra again; }
P1@cta 1,gpu 0 { st.relaxed.gpu.u32 [x], 1; }
forall (0:r0 = 1)
"""


def answer(
    states: Sequence[FinalState],
    *,
    exact: bool = True,
    runs: bool = False,
    verdict: str = "ok",
    races: tuple[str, ...] = (),
) -> AnsweredTest:
    return AnsweredTest("m", "t", verdict, "exists", tuple(states), exact, runs, races, message="" if exact else "why")


A, B = {"0:r0": 0}, {"0:r0": 1}


@pytest.mark.parametrize(
    ("one", "other", "status", "lost", "won"),
    [
        (answer([A, B]), answer([A, B]), "same", 0, 0),
        (answer([A, B]), answer([A]), "differ", 1, 0),
        (answer([A]), answer([B]), "differ", 1, 1),
        (answer([A, B]), answer([A], exact=False), "open", 0, 0),  # the other state may be among those not looked at
        (answer([A]), answer([A, B], exact=False), "differ", 0, 1),
        (answer([A], exact=False), answer([A], exact=False), "open", 0, 0),
        (answer([A, B]), answer([A], exact=False, runs=True), "same", 0, 0),  # not seen
        (answer([A]), answer([A, B], exact=False, runs=True), "differ", 0, 1),  # forbidden, and seen
        (answer([A], exact=False, runs=True), answer([A, B], exact=False, runs=True), "differ", 0, 1),
        (answer([], verdict="undefined"), answer([A], verdict="undefined"), "same", 0, 0),
        (answer([], verdict="undefined"), answer([A]), "differ", 0, 0),
        (answer([], verdict="undefined"), answer([], verdict="undecided", exact=False), "open", 0, 0),
        (answer([], verdict="error"), answer([A]), "unanswered", 0, 0),
        (answer([], verdict="absent"), answer([A]), "unanswered", 0, 0),
        (answer([A | {"x": 1}]), answer([A]), "same", 0, 0),  # by what both speak of
        (answer([{"x": 1}]), answer([A]), "open", 0, 0),
        (answer([]), answer([A]), "differ", 0, 1),  # no execution ends
        (answer([A], races=("data",)), answer([A]), "differ", 0, 0),
    ],
)
def test_what_is_a_difference(one: AnsweredTest, other: AnsweredTest, status: str, lost: int, won: int) -> None:
    found = difference(one, other)
    assert (found.status, len(found.lost), len(found.won)) == (status, lost, won)
    back = difference(other, one)
    assert (back.status, len(back.lost), len(back.won)) == (status, won, lost)


def test_tests_that_differ_are_yielded_lazily_and_with_the_states() -> None:
    found = compare(["ptx-7.5", "ptx-9.0"], [str(SAME), ptxmm.load(RED), "no-such-file.litmus"])
    assert next(found).status == "same"
    second = next(found)
    assert second.status == "differ" and second.differences[0].won == ({"1:r1": 0, "flag": 2},)
    third = next(found)
    assert third.status == "unanswered" and "no-such-file" in third.answers[0].message


def test_workers_say_the_same() -> None:
    paths = [str(p) for p in sorted((LIBRARY / "scopes").glob("*.litmus"))]
    alone, together = (list(compare(["ptx-6.0", "ptx-9.0"], paths, jobs=jobs)) for jobs in (1, 2))
    assert [c.answers for c in alone] == [c.answers for c in together] and len(alone) == len(paths) > 5


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["compare", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--model", "ptx-7.5", "--model", "ptx-9.0", str(SAME)], 0),
        (["--model", "ptx-7.5", "--model", "ptx-9.0", str(SAME), str(RED)], 1),
        (["--model", "ptx-7.5", "--model", "ptx-9.0", str(RED), "missing.litmus"], 2),
        (["--model", "ptx-9.0", "--model", "ptx-9.0/-fence-sc", "LOOP"], 3),
        (["--model", "ptx-9.0", "--model", "ptx-9.0/-fence-sc", "LOOP", str(SAME)], 3),
        (["--model", "ptx-9.0", str(SAME)], 2),
        (["--model", "ptx-9.0", "--model", "ptx-9.0", "--dep", "data"], 2),
        (["--model", "ptx-9.0", "--model", "nothing.cat", str(SAME)], 2),
    ],
)
def test_exit_status(arguments: list[str], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = tmp_path / "loop.litmus"
    loop.write_text(LOOP)
    assert run(capsys, *(a if a != "LOOP" else str(loop) for a in arguments))[0] == status


def test_a_reading_belongs_to_the_model_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    control = str(next(LIBRARY.rglob("LB+ctrl+ctrl.litmus")))
    for words in (["--dep", "data"], ["--dep", "data", "--war-ok"]):
        status, out, _ = run(capsys, "--model", "ptx-9.0", "--model", "ptx-9.0", *words, control)
        assert status == 1 and f"ptx-9.0 {' '.join(words)} allows, ptx-9.0 forbids: 0:r0=1; 1:r1=1;" in out
        assert "(ptx-9.0: no-thin-air)" in out
    with pytest.raises(SystemExit):
        run(capsys, "--dep", "data", control)


def test_a_reduction_that_acquires_told_in_all_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--model",
        "ptx-7.5",
        "--model",
        "ptx-9.0",
        str(RED),
        "--svg",
        str(tmp_path / "s"),
        "-o",
        str(tmp_path / "t"),
    ]
    status, out, _ = run(capsys, *words, "--minimal", "--format", "json")
    document = json.loads(out)
    (test,) = document["tests"]
    (found,) = test["differences"]
    assert (status, found["status"], found["lost"], found["won"]) == (1, "differ", [], [{"1:r1": 0, "flag": 2}])
    assert found["reasons"][0]["axioms"] == ["causality"] and found["reduced"]
    pictures = sorted(p.name for p in (tmp_path / "s").iterdir())
    assert [re.sub(r".*-(allowed|forbidden)", r"\1", p) for p in pictures] == [
        "allowed-by-ptx-9.0.svg",
        "forbidden-by-ptx-7.5.svg",
    ]
    assert all((tmp_path / "s" / p).read_text().startswith("<svg") for p in pictures)
    (written,) = (tmp_path / "t").iterdir()
    again = ptxmm.load(written)
    assert ptxmm.check(again, "ptx-9.0").verdict == "ok" and ptxmm.check(again, "ptx-7.5").verdict == "no"


def test_a_test_without_a_meaning_is_told_where_pictures_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remote = str(next(LIBRARY.rglob("mbarrier+remote.litmus")))
    words = ["--model", "ptx-9.0", "--model", "ptx-9.0/-mbarrier-order", remote, "--svg", str(tmp_path / "s")]
    status, out, _ = run(capsys, *words)
    assert status == 1 and "ptx-9.0/-mbarrier-order gives it no meaning: no valid mbarrier object" in out


def test_a_log_of_ours_agrees_with_the_model_and_an_altered_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(LIBRARY / "load-buffering")
    main(["check", folder, "--format", "herd"])
    text = capsys.readouterr().out
    (log := tmp_path / "a.log").write_text(text)
    assert run(capsys, "--model", "ptx-9.0", "--model", str(log), folder)[0] == 0
    (less := tmp_path / "b.log").write_text(
        re.sub(r"States (\d+)\n.*\n", lambda m: f"States {int(m[1]) - 1}\n", text, count=1)
    )
    status, out, _ = run(capsys, "--model", str(log), "--model", str(less))
    assert status == 1 and "1 differ" in out


# Searches.


def length(thread: LitmusThread) -> int:
    return len(thread.statements)


def shipped(*folders: str) -> list[Case]:
    """The tests of some folders of the library, by size."""
    return [c for c in library() if Path(c.path).parent.name in folders]


@pytest.mark.part(6)
@pytest.mark.parametrize("option", some(3, [o for o in OPTIONS if o not in LENIENT]))
def test_each_reading_is_told_apart_by_a_test_that_ships(option: str) -> None:
    columns = columns_for(["ptx-9.0", f"ptx-9.0 --{option.replace('=', ' ')}"])
    search = DifferenceSearch(columns, shipped("model"))
    found = next(iter(search))
    test = found.row.case.load()
    plain, other = (ptxmm.check(test, options=o) for o in ((), (option,)))
    assert (plain.states, plain.verdict == "undefined") != (other.states, other.verdict == "undefined")
    assert sum(search.searched.values()) >= 1 and found.row.case.size == max(search.searched)


def test_what_is_found_is_the_smallest_and_minimal_ones_are() -> None:
    tests = [t for c in shipped("model", "message-passing") if isinstance(t := c.load(), Test)]
    found = find_difference("ptx-9.0", "ptx-9.0 --sc-not-acqrel", tests, minimal=True)
    assert found is not None
    assert (ptxmm.check(found).verdict, ptxmm.check(found, "ptx-9.0 --sc-not-acqrel").verdict) == ("no", "ok")
    count = 0
    for relaxation in relaxations(found):
        one, other = (ptxmm.check(relaxation.test, m) for m in ("ptx-9.0", "ptx-9.0 --sc-not-acqrel"))
        assert one.states == other.states, relaxation.what
        count += 1
    assert count >= 8


def test_a_model_is_not_told_from_itself() -> None:
    looked: list[tuple[int, int]] = []
    tests = [t for c in library()[:60] if isinstance(t := c.load(), Test)]
    found = find_difference("ptx-9.0", "ptx-9.0/-fence-sc", tests, searched=lambda n, o: looked.append((n, o)))
    assert found is None and looked == [(60, 0)]


def test_what_is_not_settled_is_told_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "loop.litmus").write_text(LOOP)
    words = ["--find", "--model", "ptx-9.0", "--model", "ptx-9.0/-fence-sc", str(path)]
    status, out, _ = run(capsys, *words)
    assert status == 3
    assert "none up to size 6" in out and "1 not settled: loop: ptx-9.0: loops were cut" in out
    document = json.loads(run(capsys, *words, "--format", "json")[1])
    assert document["searched"]["pairs"][0]["open"][0][0] == "loop" and document["searched"]["to_the_end"]


def test_pairs_are_done_with_one_after_another() -> None:
    columns = columns_for(["ptx-6.0", "ptx-7.5", "ptx-9.0"])
    search = DifferenceSearch(columns, shipped("message-passing", "proxies"))
    found = list(search)
    assert {f.pair for f in found} == {("ptx-6.0", "ptx-7.5"), ("ptx-6.0", "ptx-9.0"), ("ptx-7.5", "ptx-9.0")}
    for f in found:
        assert f.difference.differs and [a.of for a in (f.difference.one, f.difference.other)] == list(f.pair)


def test_the_least_of_a_test_has_its_difference_as_its_condition() -> None:
    from ptxmm.comparing.shrinking import shrunk

    test = ptxmm.load(LIBRARY / "message-passing" / "MP+rel+sink-fence.acquire.litmus")
    assert isinstance(test, Test)
    columns = columns_for(["ptx-9.0", "ptx-9.0 --sink-is-atom"])
    larger = replace(test, name="more", threads=(*test.threads, replace(test.threads[0], name="P2")))
    least = shrunk(larger, columns)
    assert least.name == "more.min" and len(least.threads) == 2
    assert sorted(map(length, shrunk(test, columns).threads)) == sorted(map(length, least.threads))
    assert write(least).endswith("f == 2)\n")


# Where a search looks.


def test_the_tests_that_are_looked_at_come_by_size_each_once() -> None:
    looked = universe(4)
    cases = list(looked.cases())
    sizes = [c.size for c in cases]
    assert sizes == sorted(sizes) and sum(looked.counted.values()) == len(cases)
    assert all(looked.counted[str(family)] for family in looked.families)
    assert looked.counted["tests that ship"] > 0.9 * len(library())
    texts = [write(replace(t, name="t", comments=(), meta=())) for c in cases[::7] if isinstance(t := c.test, Test)]
    assert len(texts) == len(set(texts)) > 200


@pytest.mark.long
@pytest.mark.compares(0.9)
@pytest.mark.parametrize(
    "other",
    some(
        3,
        [
            "ptx-9.0 --bar-is-fence",
            "ptx-9.0/-atomicity",
            "ptx-9.0 --sc-not-acqrel",
            *(f"ptx-9.0 --{option}" for option in OF_PROGRAMS),
        ],
    ),
)
def test_models_that_are_alike_for_a_program_say_the_same_of_it(other: str) -> None:
    columns = columns_for(["ptx-9.0", other])
    cases = [*list(universe(4).cases())[::80], *shipped("asynchronous", "clusters")]
    found = [c for c in cases if columns.alike(c)]
    assert len(found) >= 10
    for case in found:
        one, other = columns(case).answers
        compared(case.name)
        assert (one.states, one.verdict) == (other.states, other.verdict), case.name


@pytest.mark.parametrize("every", lengths(4, 2))
def test_models_are_not_alike_where_they_differ(every: int) -> None:
    for other in ("ptx-9.0 --sc-not-acqrel", "ptx-9.0/-causality", "ptx-7.5", "ptx-9.0 --no-tearing"):
        columns = columns_for(["ptx-9.0", other])
        differing = [c for c in shipped("model")[2::every] if difference(*columns(c).answers).differs]
        assert differing and not any(columns.alike(c) for c in differing)


def test_edges_that_are_none_are_refused_at_their_place(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "--find", "--edges", "Rfe,Pxd", "--model", "ptx-9.0", "--model", "ptx-7.5")
    assert status == 2 and "'Pxd' is no edge" in err


def test_a_family_of_edges_is_searched_alone(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--find", "--edges", "Rfe,Fre,Coe,Pod**,Fence.sc.gpu,PodRR.acq.gpu", "--size", "4", "--format", "json"]
    status, out, _ = run(capsys, *words, "--model", "ptx-9.0", "--model", "ptx-9.0 --sc-not-acqrel")
    document = json.loads(out)
    assert status == 1 and document["searched"]["pairs"][0]["found"] == 1
    (found,) = document["tests"]
    assert found["size"] == 4 and found["path"] == found["name"]
    test = ptxmm.parse(found["differences"][0]["test"])
    assert [ptxmm.check(test, options=o).verdict for o in ((), ("sc-not-acqrel",))] == ["no", "ok"]


def test_tests_of_one_name_are_written_to_files_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RED.read_text(encoding="utf-8")
    (one := tmp_path / "one.litmus").write_text(text, encoding="utf-8")
    (other := tmp_path / "other.litmus").write_text(text.replace("42", "43"), encoding="utf-8")
    assert (
        run(capsys, "--model", "ptx-7.5", "--model", "ptx-9.0", str(one), str(other), "-o", str(tmp_path / "t"))[0] == 1
    )
    written = sorted((tmp_path / "t").iterdir())
    assert [p.name for p in written] == [f"{RED.stem}.litmus", f"{RED.stem}~2.litmus"]
    assert ["43" in p.read_text(encoding="utf-8") for p in written] == [False, True]


def test_a_test_that_cannot_be_read_is_shown_at_its_place_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path := tmp_path / "c.litmus").write_text("C MP\n{}\n", encoding="utf-8")
    status, out, _ = run(capsys, "--model", "ptx-6.0", "--model", "ptx-7.5", "--model", "ptx-9.0", str(path))
    assert status == 2 and out.count("c.litmus:1:1: error:") == 1 and "\n        C MP\n        ^\n" in out


def test_who_interrupts_is_told_how_far_it_came(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ["compare", "--model", "ptx-9.0", "--model", "ptx-7.5", "--jobs", "1"]
    rows = iter(["first", "second"])

    def interrupted(row: object) -> object:
        if next(rows) == "second":
            raise KeyboardInterrupt
        return compared_rows(row)

    compared_rows = ptxmm.cli.compare.compared
    monkeypatch.setattr("ptxmm.cli.compare.compared", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main([*models, str(SAME), str(RED)])
    assert capsys.readouterr().err == "interrupted: 1 of 2 tests compared\n"

    def stopped(search: DifferenceSearch, row: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(DifferenceSearch, "_of", stopped)
    with pytest.raises(KeyboardInterrupt):
        main([*models, "--find", "--edges", "Pod**,Rfe,Fre,Coe", "--size", "4"])
    assert re.fullmatch(r"interrupted: \d+ tests looked at, of size \d at most\n", capsys.readouterr().err)
