"""Time that runs out, or is shared, while repairs are looked for: what is not known is not said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import z3
from repaired import MP, answer, of_library

import ptxmm
from litmus.test import Test
from ptxcore.clock import OutOfTime, limited
from ptxmm.cli.main import main
from ptxmm.kernels.modules import compile_changed
from ptxmm.kernels.test import KernelTest
from ptxmm.repair import pace, words
from ptxmm.repair.cuda.proof import CudaSource
from ptxmm.repair.finding import _among_sites, answered
from ptxmm.repair.found import Answer
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.search import Search
from ptxmm.repair.sites import EditSite, Vector, Wanted
from ptxmm.repair.stages import Stage, TriedStage
from ptxmm.repair.subjects import How, Larger, LitmusSubject, judging, met, only_now
from ptxmm.repair.vectors_left import VectorsLeft

GATE = Path(__file__).resolve().parents[2] / "kernels" / "gate"


def test_patience_is_counted_in_what_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others compute as much on the same processor, a text waits twice as long for the same work."""
    sites = LitmusSubject(of_library("message-passing/MP+rel+acq"), How()).sites("weaken")
    clock, waited = [0.0], list[float | None]()

    def check(vector: Vector, patience: float | None) -> Judgement:
        clock[0] += 1
        waited.append(patience)
        return Judgement(not any(vector), wrong=any(vector))

    monkeypatch.setattr(pace, "time", SimpleNamespace(perf_counter=lambda: 2 * clock[0]))
    monkeypatch.setattr(pace, "_computed", lambda: clock[0])
    search = Search(sites, check, patience=3.0)
    nothing = (0,) * len(sites)
    assert search.judge(nothing, search.patience).holds
    assert search.judge((1, *nothing[1:]), search.patience).wrong
    assert waited == [3.0, 6.0] and search.pace.computed == 2
    monkeypatch.setattr(pace, "_computed", lambda: 1e-3 * clock[0])
    for _ in range(100):
        with search.pace.measured():
            clock[0] += 1
    assert search.pace.wait(3.0) == 24.0  # no more than that


def test_an_interruption_prints_what_was_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The single changes and the cheapest repair come first; the second one is where somebody stops it."""
    from ptxmm.repair.search import Search

    found = Search.solutions

    def stopped(self: Search) -> Iterator[object]:
        yield next(found(self))
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "solutions", stopped)
    with pytest.raises(KeyboardInterrupt):
        main(["repair", str(MP), "--all"])
    out = capsys.readouterr().out
    assert "repair 1: 2 edits, cost 13" in out
    assert re.search(r"^interrupted(?: after [\d.]+ s)?: there may be other repairs", out, re.MULTILINE)


def test_time_that_runs_out_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(MP), "--timeout", "0.000001"]) == 3
    assert "nobody knows" in capsys.readouterr().out


class Clocked(LitmusSubject):
    """Remembers what time each step had, and finds no time in the search for what follows from a solution."""

    search_share = 0.5

    def __init__(self, test: Test, seconds: float) -> None:
        self.whole = seconds  # of a clock that is far from it
        super().__init__(test, How(deadline=self.whole))
        self.asked: list[bool] = []

    def larger(self, text: str) -> Larger:
        assert self.how.deadline is not None
        self.asked.append(self.how.deadline == self.whole)
        if self.how.deadline < self.whole:
            raise OutOfTime
        return Larger("tried")


def test_a_share_of_the_time_is_kept_for_what_follows_from_a_solution() -> None:
    subject = Clocked(of_library("message-passing/MP+rlx"), 1e8)
    found = answered(subject, "repair", every=False, most=None).found
    assert [f.larger.words for f in found] == ["tried"] and subject.asked == [False, True]
    assert subject.how.deadline == subject.whole


class Hurried(Clocked):
    """Judges no changed text in the share of the search."""

    def judge(self, text: str, patience: float | None = None) -> Judgement:
        assert self.how.deadline is not None
        if text != self.text and self.how.deadline < self.whole:
            raise OutOfTime
        return super().judge(text, patience)


def test_a_search_that_found_nothing_in_its_share_has_the_rest_of_the_time() -> None:
    found = answered(Hurried(of_library("message-passing/MP+rlx"), 1e8), "repair", every=False, most=None)
    assert [f.cost for f in found.found] == [13] and found.found[0].cheapest and not found.stopped
    assert sum(stage.texts for stage in found.tried) > 4


def test_a_search_that_ends_says_what_was_tried() -> None:
    found = answer(of_library("message-passing/MP+rlx"))
    spent = found.tried
    assert [stage.stage for stage in spent] == [Stage.ABOVE, Stage.CHEAPEST]
    assert all(stage.texts > 0 for stage in spent) and sum(stage.texts for stage in spent) <= found.asked
    found.found, found.stopped, found.seconds = [], "out of time", 61.23
    found.tried = [TriedStage(Stage.LINES, 45, 36.04), TriedStage(Stage.ABOVE, 1, 12.0)]
    report = words.text(found).splitlines()
    assert "out of time after 61.2 s: there may be a repair (8 changes at 6 places considered)" in report
    assert report[-2:] == [
        "tried: 45 texts by what the lines of the fault lead to, 36 s",
        "tried: 1 text with all there is as strong as can be, then less of it, 12 s",
    ]
    assert [stage["texts"] for stage in words.document(found)["tried"]] == [45, 1]


@pytest.mark.parametrize(
    ("waits", "first", "now"),
    [(True, False, True), (True, True, False), (True, None, None), (False, True, False), (None, True, None)],
)
def test_what_is_not_known_of_a_barrier_in_time_is_not_held_against_it_and_no_pass(
    waits: bool | None, first: bool | None, now: bool | None
) -> None:
    """A text that holds, and of which nobody knows whether threads deadlock in it, is not known to be a repair."""
    found = only_now(waits, lambda: first)
    assert found == now
    assert met(Judgement(True), found, ("no_deadlock",)).holds == (None if now is None else not now)


def test_the_question_who_waits_is_left_after_some_time() -> None:
    subject = LitmusSubject(of_library("barriers/MP+bar.sync-other-barrier"), How())
    assert subject.waits(subject.text, 1e-9) is None and subject.waits(subject.text) is False


@pytest.mark.parametrize("known", [False, True])
def test_time_that_is_over_between_two_steps_is_told_with_what_is_known(known: bool) -> None:
    """What holds, and was judged before, is a repair; that nothing of it can be left out is not said."""
    subject = LitmusSubject(of_library("message-passing/MP+rlx"), How())
    base, sites = subject.judge(subject.text), subject.sites("repair")
    strongest = tuple(0 if any(o.meets for o in site.options) else len(site.options) - 1 for site in sites)
    assert judging(subject, sites, strongest).holds
    subject.how = How(deadline=0.0)
    answer = Answer(mode="repair", subject=subject, base=base, most=None)
    vector = strongest if known else None
    _among_sites(answer, sites, pace.Pace(), 0.1, every=False, told=lambda _: None, known=vector)
    assert answer.stopped == "out of time" and len(answer.found) == known
    assert not any(found.minimal or found.cheapest for found in answer.found)


class Unread(LitmusSubject):
    """Has no time to look up what may be changed, behind judging its text."""

    def sites(self, mode: str, arrivals: bool = False, apart: bool = False) -> list[EditSite]:
        raise OutOfTime


def test_time_that_is_over_while_places_are_looked_up_is_told() -> None:
    subject = Unread(of_library("message-passing/MP+rlx"), How(deadline=1e8))
    found = answered(subject, "repair", every=False, most=None)
    assert found.base.holds is False and found.stopped == "out of time" and not found.found and not found.complete
    assert subject.how == How(deadline=1e8)


def test_places_are_looked_up_in_the_time_that_is_left() -> None:
    test = ptxmm.load(f"{GATE / 'pipeline_producers'}/test.toml:buggy")
    assert isinstance(test, KernelTest)
    subject = KernelSubject(test, How(deadline=0.0))
    with pytest.raises(OutOfTime):
        subject.sites("repair", True)
    subject.how = How()
    assert subject.sites("repair") == subject.sites("repair") != subject.sites("repair", True)


def test_nothing_is_concluded_from_a_cheapest_set_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the solver does not know in time whether anything is left is not that nothing is."""
    left = VectorsLeft(LitmusSubject(of_library("message-passing/MP+rlx"), How()).sites("repair"), None)
    told = list[int]()
    solver = SimpleNamespace(check=lambda *_: z3.unknown, set=lambda _, most: told.append(most))
    monkeypatch.setattr(left, "_solver", solver)
    with pytest.raises(OutOfTime):
        left.next(0, seconds=2.5)
    assert told == [2500]


def test_a_compiler_has_the_time_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "nvcc"
    slow.write_text("#!/bin/sh\nexec sleep 1000\n", encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("NVCC", str(slow))
    with pytest.raises(OutOfTime), limited(1e-6):
        compile_changed("", str(tmp_path / "k.cu"), ())


def test_time_that_is_over_before_an_edit_of_the_source_was_looked_for_is_told(tmp_path: Path) -> None:
    """No answer of the search is lost by that."""
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k() {\n}\n", encoding="utf-8")
    source = CudaSource(
        str(path),
        f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n{'bar.sync 0;' * 9999}\nret;\n}}\n",
        (),
    )
    with limited(0):
        found = source.rewritten([Wanted("put", 5, 4, "", "bar.sync 0")], lambda _: Judgement(True))
    assert found.late and found.why == "out of time" and not found.text
