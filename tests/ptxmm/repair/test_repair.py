"""Repairs and weakenings of litmus tests: proven, minimal as all combinations tell, and written where they belong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import pytest
from campaigns import lengths, some
from repaired import answer, of_library

import ptxmm
from litmus.formats.printer import write
from litmus.relaxations import relaxations
from litmus.test import Test
from ptxmm.cli.main import main
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.search import Search
from ptxmm.repair.sites import Vector, edited, edits_of
from ptxmm.repair.subjects import How, LitmusSubject, judging

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


def test_a_place_of_which_some_barriers_never_meet_is_still_that_place(tmp_path: Path) -> None:
    """Options of a place are left out before the search, and what it finds is told of the place as a whole."""
    file = tmp_path / "arrives.litmus"
    file.write_text(
        "PTX arrives\n{ x=0; }\nP0@cta 0,gpu 0 { st.weak.u32 [x], 1; bar.sync 1, 64; }\n"
        "P1@cta 0,gpu 0 { bar.arrive 1, 64; ld.weak.u32 %r0, [x]; }\nexists (1:%r0 = 0)\n"
    )
    assert main(["repair", str(file)]) == 0
