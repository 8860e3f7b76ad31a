"""Arrivals at barriers that are missing, and what is said where nothing mends threads that wait."""

from __future__ import annotations

from typing import Any

import pytest
from repaired import answer, of_library

import ptxmm
from litmus.test import Test
from ptxmm.repair import finding, words
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Answer
from ptxmm.repair.subjects import How, LitmusSubject

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


def test_who_waits_where_it_arrives_may_do_so_before_an_access() -> None:
    """An arrival alone stands behind accesses, which it releases; who waits orders what comes behind."""
    table = """PTX alone
{ x=0; }
 P0@cta 0           | P1@cta 0             ;
 st.weak.u32 [x], 1 | ld.weak.u32 %r0, [x] ;
 bar.sync 1, 64     |                      ;
forall (1:r0 == 1)
"""
    test = ptxmm.parse(table)
    assert isinstance(test, Test)
    (change,) = answer(test, every=False).found[0].changes
    assert change.words == "bar.sync 1, 64 is put in before P1 line 4"


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
    assert found.complete and found.status == 1 and found.arrivals == 3 and found.asked < 200
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
