"""Repairs and weakenings of litmus tests: proven, minimal as all combinations tell, and written where they belong."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from campaigns import lengths, some

import ptxmm
from litmus.formats.printer import write
from litmus.relaxations import relaxations
from litmus.test import Test
from ptxcore.clock import OutOfTime
from ptxmm.cli.main import main
from ptxmm.repair import finding, pace, words
from ptxmm.repair.finding import Answer, answered
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.search import Search
from ptxmm.repair.sites import Vector, edited, edits_of
from ptxmm.repair.subject_of import subject_of
from ptxmm.repair.subjects import How, Larger, LitmusSubject, judging, met, only_now

LIBRARY = Path(__file__).resolve().parents[3] / "litmus" / "library"
MP = LIBRARY / "message-passing" / "MP+rlx.litmus"
#: Tests whose texts can all be tried, at one text each.
SMALL = (
    "message-passing/MP+rlx",
    "message-passing/MP+rel+rlx",
    "load-buffering/LB+rlx",
    "iriw/IRIW+acq",
    "barriers/MP+bar.sync-other-barrier",
    "proxies/CoRR+alias",
    "coherence/CoRW2+weak",
)
#: Tests that hold, of which orders and scopes are taken away.
CORRECT = (
    "message-passing/MP+rel+acq",
    "message-passing/MP+fence.acq_rel.gpu",
    "message-passing/MP+rel-rlx+fence.acq_rel",
    "message-passing/MP+exch.rel+or.acq",
    "store-buffering/SB+fence.sc.gpu",
    "load-buffering/LB+acq+rel",
    "isa2/ISA2+rel+acq-rel+acq",
    "isa2/ISA2+rel+fence.acq_rel+acq",
    "iriw/IRIW+fence.sc.gpu",
    "locks/lock+cas.rlx-fence+fence-st.rlx",
    "locks/hand-shake+rel+acq",
)


def of_library(name: str) -> Test:
    test = ptxmm.load(LIBRARY / f"{name}.litmus")
    assert isinstance(test, Test)
    return test


def answer(test: Test, mode: str = "repair", every: bool = True, most: int | None = None) -> Answer:
    return answered(LitmusSubject(test, How()), mode, every=every, most=most)


def by_trying(test: Test, mode: str) -> tuple[set[Vector], int]:
    """The weakest vectors that hold, of all there are, and how many these are."""
    subject = LitmusSubject(test, How())
    sites = subject.sites(mode)
    vectors = list(product(*(range(len(site.options)) for site in sites)))
    good = [v for v in vectors if judging(subject, sites, v).holds]
    least = {
        v for v in good if not any(w != v and all(s.at_most(a, b) for s, a, b in zip(sites, w, v, strict=True)) for w in good)
    }  # fmt: skip
    return least, len(vectors)


@pytest.mark.part(4)
@pytest.mark.parametrize("name", some(2, SMALL))
def test_the_repairs_are_those_that_trying_everything_finds(name: str) -> None:
    test = of_library(name)
    least, tried = by_trying(test, "repair")
    found = answer(test)
    subject = LitmusSubject(test, How())
    sites = subject.sites("repair")
    assert {f.text for f in found.found} == {edited(subject.text, edits_of(sites, v)) for v in least}
    assert len(found.found) == len(least) and tried >= 2
    assert found.complete and not found.upside_down
    assert [f.cost for f in found.found] == sorted(f.cost for f in found.found)


@pytest.mark.parametrize("name", some(2, ["message-passing/MP+rel+acq", "message-passing/MP+fence.acq_rel.gpu"]))
def test_the_weakenings_are_those_that_trying_everything_finds(name: str) -> None:
    test = of_library(name)
    least, tried = by_trying(test, "weaken")
    found = answer(test, "weaken")
    unchanged = [
        v
        for v in least
        if not any(
            o.words for s, i in zip(LitmusSubject(test, How()).sites("weaken"), v, strict=True) for o in [s.options[i]]
        )
    ]
    assert len(found.found) == len(least) - len(unchanged) and tried > 8
    assert found.complete
    for one in found.found:
        assert LitmusSubject(test, How()).judge(one.text).holds
        assert all(need.failed for need in one.needs)


def spoilt(test: Test, number: int, draw: random.Random) -> Test | None:
    """The test with some orders and scopes weaker, asking what it asked; None where it is none."""
    kept = test
    for _ in range(number):
        ways = [r.test for r in relaxations(kept) if " becomes " in r.what]
        if not ways:
            return None
        kept = replace(draw.choice(ways), condition=test.condition, observed=test.observed)
    named = replace(kept, name="spoilt", comments=())
    return ptxmm.parse(write(named), "spoilt.litmus")


def spoilt_tests() -> Iterator[Test]:
    draw = random.Random(18)
    for name in CORRECT:
        test = spoilt(of_library(name), draw.choice((1, 2, 3)), draw)
        if test is not None and not LitmusSubject(test, How()).judge(test.text).holds:
            yield test


@pytest.mark.parametrize("every", lengths(3, 1))
def test_what_was_taken_away_is_found_again(every: int) -> None:
    """The repair is proven by a check of its own, and costs no more than the orders that were there."""
    count = 0
    for test in islice(spoilt_tests(), 0, None, every):
        found = answer(test, every=False)
        assert found.found, write(test)
        mended = ptxmm.parse(found.found[0].text, "mended.litmus")
        quantifier = "~exists" if mended.condition.quantifier == "exists" else mended.condition.quantifier
        mended = replace(mended, condition=replace(mended.condition, quantifier=quantifier), meta=())
        assert ptxmm.check(mended).verdict == "ok"
        assert found.found[0].minimal and not found.upside_down
        count += 1
    assert count >= 9 / every


def test_data_stay_plain_where_something_else_ends_the_race() -> None:
    """What is asked of a lost message is only that it has no race. Atomic data would have none, and deliver nothing."""
    racy = "PTX racy\n{ x=0; f=0; }\n" + " ;\n".join(
        (
            "P0@cta 0 | P1@cta 1",
            "st.weak.u32 [x], 1 | ld.relaxed.gpu.u32 %r0, [f]",
            "st.relaxed.gpu.u32 [f], 1 | setp.eq.u32 %p0, %r0, 1",
            " | @%p0 ld.weak.u32 %r1, [x]",
            "",
        )
    )
    test = ptxmm.parse(f"{racy}race_free", "racy.litmus")
    assert isinstance(test, Test)
    first, *_, last = answer(test).found
    assert sorted(change.words.rpartition(" ")[2] for change in first.changes) == [
        "ld.acquire.gpu.u32", "st.release.gpu.u32"
    ]  # fmt: skip
    assert sorted(change.words.rpartition(" ")[2] for change in last.changes) == [
        "ld.relaxed.gpu.u32",
        "st.relaxed.gpu.u32",
    ]
    assert last.cost > first.cost


def test_no_repair_of_so_many_edits() -> None:
    test = of_library("message-passing/MP+rlx")
    none = answer(test, most=1)
    assert (none.found, none.complete, none.status) == ([], True, 1)
    assert len(answer(test, most=2).found) == 4


def test_what_holds_needs_no_repair() -> None:
    found = answer(of_library("message-passing/MP+rel+acq"))
    assert found.base.holds and found.status == 0 and found.asked == 1


def test_nothing_of_a_fence_is_a_repair_where_nothing_is_ordered() -> None:
    """Two grids that nothing orders: no edit of the kinds that there are helps."""
    found = answer(of_library("kernels/grids+no-wait"))
    assert found.complete and not found.found and found.status == 1


def test_a_barrier_that_nobody_passes_is_no_repair() -> None:
    """In a branch that one thread takes: what is put in must be met by all."""
    text = """PTX once
{ x=0; }
P0@cta 0,gpu 0 {
  st.weak.u32 [x], 1;
}
P1@cta 0,gpu 0 {
  bra END;
  st.weak.u32 [x], 2;
END:
  ld.weak.u32 %r0, [x];
}
~exists (1:r0 = 0)
"""
    test = ptxmm.parse(text, "once.litmus")
    assert isinstance(test, Test)
    found = answer(test)
    assert found.found
    for one in found.found:
        checked = ptxmm.parse(one.text, "mended.litmus")
        result = ptxmm.check(checked, checks=["no_deadlock"])
        assert result.verdict == "ok" and result.states, one.text


def test_a_barrier_that_some_executions_do_not_pass_is_no_repair() -> None:
    """Who reads 0 would go past it: the answer would be right for those only that end."""
    text = """PTX sometimes
{ x=0; y=0; }
P0@cta 0,gpu 0 {
  st.relaxed.cta.u32 [x], 1;
  st.relaxed.cta.u32 [y], 1;
}
P1@cta 0,gpu 0 {
  ld.relaxed.cta.u32 %r0, [y];
  setp.ne.u32 %p0, %r0, 1;
  @%p0 bra END;
  ld.relaxed.cta.u32 %r1, [x];
END:
}
~exists (1:r0 = 1 /\\ 1:r1 = 0)
"""
    test = ptxmm.parse(text, "sometimes.litmus")
    assert isinstance(test, Test)
    found = answer(test)
    assert found.found and found.complete
    for one in found.found:
        assert ptxmm.check(ptxmm.parse(one.text), checks=["no_deadlock"]).verdict == "ok", one.text


def test_the_table_keeps_its_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(MP.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["repair", str(path), "--all"]) == 0
    out = capsys.readouterr().out
    assert "+ st.release.gpu.u32 [f], 1 | ld.relaxed.gpu.u32 %r1, [x] ;" in out
    assert "+ fence.acq_rel.gpu         |                             ;" in out
    assert out.count("proven by check") == 4 and "there is no other repair" in out


def test_apply_writes_the_first_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(MP.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["repair", str(path), "--apply"]) == 0
    assert main(["repair", str(path)]) == 0
    assert "nothing to repair" in capsys.readouterr().out
    assert main(["weaken", str(path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)["tests"][0]
    assert document["complete"] and len(document["weakens"]) == 1
    assert {need["line"] for need in document["weakens"][0]["needs"]} == {5, 6}


def test_what_cannot_be_weaker_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text((LIBRARY / "message-passing" / "MP+rel+acq.litmus").read_text(encoding="utf-8"), encoding="utf-8")
    main(["weaken", str(path), "--apply"])
    capsys.readouterr()
    assert main(["weaken", str(path), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)["tests"][0]
    assert document["complete"] and not document["weakens"] and len(document["needs"]) == 4
    assert all(need["fails"] and not need["undecided"] for need in document["needs"])
    assert main(["weaken", str(path)]) == 1
    out = capsys.readouterr().out
    assert "nothing can be weaker" in out and out.count(" fails\n") == 4


def test_a_need_is_told_with_all_checks_that_fail() -> None:
    """A text that is only tried to rule out more may be left at its first failure."""
    test = of_library("message-passing/MP+rel+acq")
    sites = LitmusSubject(test, How()).sites("weaken")
    strongest = tuple(next(n for n, o in enumerate(s.options) if not o.words) for s in sites)

    def check(vector: Vector, patience: float | None) -> Judgement:
        if vector == strongest:
            return Judgement(True)
        both, first = Judgement(False, True, ("a", "b")), Judgement(False, True, ("a",), undecided=("b",))
        return both if patience is None else first

    search = Search(sites, check, patience=1.0)
    (found,) = search.solutions()
    left = [step for step in found.needs if step.undecided]
    assert found.vector == strongest and left
    assert all(search.told_fully(step, found.vector).failed == ("a", "b") for step in found.needs)


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


#: Texts in which an arrival is missing, with the edit that puts it in: nobody arrives at the mbarrier, nor tells it of bytes; a
#: thread of a cluster waits before it arrived; a barrier that others wait at.
UNMET = {
    "mbarrier": ("""PTX unmet
{ x=0; .shared .u64 m = 0; }
P0@cta 0 {
    mbarrier.init.shared.b64 [m], 1;
    bar.sync 0, 64;
    st.weak.u32 [x], 1;
}
P1@cta 0 {
    bar.sync 0, 64;
    .reg .pred p;
  w:
    mbarrier.try_wait.parity.shared.b64 p, [m], 0;
    @!p bra w;
    ld.weak.u32 %r1, [x];
}
~exists (1:r1 == 0)
""", "mbarrier.arrive.shared.b64 _, [m] is put in"),
    "bytes": ("""PTX untold
{ .global .align 16 .u32 g[4] = {1, 1, 1, 1}; .shared .align 16 .u32 d[4]; .shared .u64 m; }
P0@cta 0 {
    mbarrier.init.shared.b64 [m], 1;
    fence.mbarrier_init.release.cluster;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [g], 16, [m];
    .reg .pred p;
  w:
    mbarrier.try_wait.parity.shared.b64 p, [m], 0;
    @!p bra w;
    ld.weak.shared.u32 %r1, [d];
}
~exists (0:%r1 = 0)
""", "mbarrier.arrive.expect_tx.shared.b64 _, [m], 16 is put in before P0 line "),
    "cluster": ("""PTX unmet
{ x=0; }
 P0@cta 0,cluster 0             | P1@cta 1,cluster 0   ;
 st.weak.u32 [x], 1             | barrier.cluster.wait ;
 fence.acq_rel.cta              | ld.weak.u32 %r1, [x] ;
 barrier.cluster.arrive         |                      ;
 barrier.cluster.wait           |                      ;
~exists (1:r1 == 0)
""", "barrier.cluster.arrive is put in before P1 line 4"),
    "barrier": ("""PTX unmet
{ x=0; }
 P0@cta 0           | P1@cta 0             ;
 st.weak.u32 [x], 1 | bar.sync 1, 64       ;
                    | ld.weak.u32 %r1, [x] ;
~exists (1:r1 == 0)
""", " 1, 64 is put in at the end of P0"),  # bar.arrive, or bar.sync, which costs as much
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("text", "said"), UNMET.values(), ids=list(UNMET))
def test_an_arrival_that_is_missing_is_put_in(text: str, said: str) -> None:
    test = ptxmm.parse(text)
    assert isinstance(test, Test)
    found = answered(LitmusSubject(test, How()), "repair", every=False, most=None)
    assert any(said in change.words for change in found.found[0].changes)
    assert ptxmm.check(ptxmm.parse(found.found[0].text), checks=["no_deadlock", "terminates"]).verdict == "ok"


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("model/cp.async+arrive-publishes-copies", "bar.sync 0, 64;\n    .reg"),
        ("model/mbarrier+every-arrival", "bar.sync 0, 96;\n    mb"),
    ],
)
def test_that_nobody_comes_to_an_end_is_seen_where_the_text_has_no_meaning_too(name: str, gone: str) -> None:
    """A barrier is missing behind which an mbarrier may be used. It has one edit, and no order with any barrier is tried."""
    whole = of_library(name)
    assert gone in whole.text
    test = ptxmm.parse(whole.text.replace(gone, gone.split("\n    ")[1]))
    assert isinstance(test, Test)
    found = answer(test, every=False)
    assert found.base.failed == ("undefined",) and found.base.wrong and found.base.nonterminating
    (change,) = found.found[0].changes
    assert change.words.startswith(gone.split(";")[0]) and found.found[0].cheapest and found.asked < 80


#: Two arrivals are missing.
TWICE = UNMET["barrier"][0].replace("1, 64", "1, 128")


def test_where_what_is_missing_is_no_order_there_is_no_repair() -> None:
    """And that is found in few texts: orders and fences make no execution end in which a thread is blocked."""
    test = ptxmm.parse(TWICE)
    assert isinstance(test, Test)
    subject = LitmusSubject(test, How())
    assert subject.judge(subject.text).nonterminating
    found = answered(subject, "repair", every=False, most=None)
    assert found.complete and found.status == 1 and found.arrivals == 3 and found.asked < 120
    assert "of the changes considered, with up to 3 more arrivals, no set is enough" in words.text(found)
    assert "not considered: barriers together with more arrivals" in words.text(found)


#: What one thread does between barriers of which all three are gone.
THRICE = """PTX thrice
{ x=0; }
 P0@cta 0,gpu 0     | P1@cta 0,gpu 0       ;
 st.weak.u32 [x], 1 | ld.weak.u32 %r0, [x] ;
 st.weak.u32 [x], 2 | ld.weak.u32 %r1, [x] ;
forall (1:r0 == 1 /\\ 1:r1 == 2)
"""


def test_that_several_barriers_were_not_tried_together_is_said() -> None:
    test = ptxmm.parse(THRICE)
    assert isinstance(test, Test)
    found = answered(LitmusSubject(test, How()), "repair", every=False, most=1)
    assert found.complete and not found.found
    assert "not considered: more than one barrier of a kind in the same threads" in words.text(found)


#: Each thread waits at a barrier to which the other does not come.
BOTH = """PTX both
{ x=0; y=0; }
 P0@cta 0             | P1@cta 0             ;
 st.weak.u32 [x], 1   | bar.sync 1, 64       ;
 bar.sync 2, 64       | ld.weak.u32 %r1, [x] ;
 ld.weak.u32 %r2, [y] | st.weak.u32 [y], 1   ;
~exists (1:r1 == 0)
"""


@pytest.mark.long
def test_two_arrivals_are_put_in_where_both_are_missing() -> None:
    test = ptxmm.parse(BOTH)
    assert isinstance(test, Test)
    (found,) = answered(LitmusSubject(test, How()), "repair", every=False, most=None).found
    assert found.minimal and found.cheapest and len(found.changes) == 2
    assert sum("64 is put in" in change.words for change in found.changes) == 2
    assert ptxmm.check(ptxmm.parse(found.text), checks=["no_deadlock", "terminates"]).verdict == "ok"


def test_that_no_arrival_was_tried_is_said_where_there_is_no_repair() -> None:
    """Where all terminate none is missing, and still a person may add one."""
    text = BOTH.replace("bar.sync 2, 64      ", "bar.arrive 1, 64    ").replace(
        "st.weak.u32 [y], 1", "ld.weak.u32 %r2, [y]"
    )
    test = ptxmm.parse(text.replace("1:r1 == 0", "1:r1 == 1"))
    assert isinstance(test, Test)
    found = answered(LitmusSubject(test, How()), "repair", every=False, most=None)
    assert found.status == 1 and "more arrivals at barriers: every execution that was seen terminates" in words.text(
        found
    )


def test_that_there_is_none_is_said_only_where_the_search_without_an_arrival_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    test = ptxmm.parse(TWICE)
    assert isinstance(test, Test)
    among, rounds = finding._among_sites, list[bool]()

    def cut(answer: Answer, *args: Any, **named: Any) -> bool:
        stuck = among(answer, *args, **named)
        if not rounds:
            answer.stopped, answer.complete = "out of time", False
        rounds.append(answer.complete)
        return stuck

    monkeypatch.setattr(finding, "_among_sites", cut)
    found = answered(LitmusSubject(test, How()), "repair", every=False, most=None)
    assert rounds == [False, True]
    assert found.stopped == "out of time" and not found.complete and found.status == 3


def test_apply_keeps_the_ends_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "mp.litmus"
    path.write_bytes(MP.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["repair", str(path), "--apply"]) == 0
    data = path.read_bytes()
    assert b"st.release.gpu" in data and data.count(b"\n") == data.count(b"\r\n") > 4


def test_what_is_in_no_file_is_not_written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    subject = LitmusSubject(ptxmm.parse(MP.read_text(encoding="utf-8")), How())
    assert not subject.applies
    monkeypatch.setattr("ptxmm.repair.subject_of.subject_of", lambda *_: subject)
    assert main(["repair", str(MP), "--apply"]) == 2
    assert "--apply writes nothing" in capsys.readouterr().err


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
    assert "repair 1: 2 edits, cost 13" in out and "interrupted: there may be other repairs" in out


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("hello", [], "error: a test starts with"),
        (None, [], "no such file"),
        (MP.read_text(encoding="utf-8"), ["--model", "nothing"], "unknown model"),
    ],
)
def test_bad_input(
    text: str | None, options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.litmus"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert main(["repair", str(path), *options]) == 2
    assert says in capsys.readouterr().err


def test_time_that_runs_out_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(MP), "--timeout", "0.000001"]) == 3
    assert "nobody knows" in capsys.readouterr().out


def test_a_path_is_read_as_what_is_there() -> None:
    assert subject_of(str(MP), How()).claims == ("~exists (1:r0 == 1 /\\ 1:r1 == 0)",)


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


def test_a_place_of_which_some_barriers_never_meet_is_still_that_place(tmp_path: Path) -> None:
    """Options of a place are left out before the search, and what it finds is told of the place as a whole."""
    file = tmp_path / "arrives.litmus"
    file.write_text(
        "PTX arrives\n{ x=0; }\nP0@cta 0,gpu 0 { st.weak.u32 [x], 1; bar.sync 1, 64; }\n"
        "P1@cta 0,gpu 0 { bar.arrive 1, 64; ld.weak.u32 %r0, [x]; }\nexists (1:%r0 = 0)\n"
    )
    assert main(["repair", str(file)]) == 0


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
