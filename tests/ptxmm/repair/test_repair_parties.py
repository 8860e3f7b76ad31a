"""Barriers of those alone who come by a place: consumers of whom one gives a stage back while others read it."""

from __future__ import annotations

import pytest

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.repair.cuda.spellings import statements
from ptxmm.repair.finding import _passed_over, answered
from ptxmm.repair.guided import _raises, guided
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.parties import parties
from ptxmm.repair.sites import Vector
from ptxmm.repair.subjects import How

#: The first thread fills a stage twice; the others read it, and the next thread says that it is free again.
_STAGE = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    .shared .align 8 .b64 full; .shared .align 8 .b64 empty; .shared .align 4 .b32 s;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra MEET;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.init.shared::cta.b64 [empty], 1;
MEET: bar.sync 0;
    @!%p1 bra FILL;
    setp.lt.u32 %p3, %r1, FIRST;
    @%p3 bra DONE;
READ: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
    @!%p2 bra READ;
    ld.shared.u32 %r2, [s];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
PARTY
    setp.ne.u32 %p2, %r1, FIRST;
    @%p2 bra DONE;
    mbarrier.arrive.shared::cta.b64 _, [empty];
    bra DONE;
FILL: st.shared.u32 [s], 7;
    mbarrier.arrive.shared::cta.b64 _, [full];
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p2, [empty], 0;
    @!%p2 bra FREE;
    st.shared.u32 [s], 8;
DONE: ret;
}
"""


def _kernel(block: int, first: int, party: str = "") -> KernelTest:
    text = _STAGE.replace("PARTY\n", f"    {party}\n" if party else "").replace("FIRST", str(first))
    return ptxmm.Kernel(
        text, params={"x": {"type": "u32", "elements": block}}, grid=1, block=block, race_free=True, terminates=True
    ).test


@pytest.mark.parametrize(
    ("block", "first", "barrier"),
    [(3, 1, "bar.warp.sync 0x6"), (96, 32, "bar.sync 1, 64"), (64, 32, ""), (4, 2, "bar.warp.sync 0xc"), (2, 1, "")],
)
def test_a_run_shows_who_comes_by_a_place(block: int, first: int, barrier: str) -> None:
    """A whole warp has a barrier of its own, and one thread needs none."""
    test = _kernel(block, first)
    found = parties(test)
    lines = test.launches[0].text.split("\n")
    by_text = {lines[line - 1].strip(): party.statement for line, party in found.items()}
    assert by_text.get("st.global.u32 [%rd3], %r2;", "") == barrier
    assert by_text.get("mbarrier.arrive.shared::cta.b64 _, [empty];") is None  # the leader alone


def test_who_gives_a_stage_back_waits_for_those_who_read_it() -> None:
    """Thread 1 frees it while thread 2 reads; no barrier of all threads may be put in there."""
    assert ptxmm.check(_kernel(3, 1, "bar.warp.sync 6;"), timeout=300).verdict == "ok"
    found = answered(KernelSubject(_kernel(3, 1), How()), "repair", every=False, most=None).found
    (change,) = found[0].changes
    assert change.words == "bar.warp.sync 0x6 is put in before this" and found[0].minimal
    assert ptxmm.check(_kernel(3, 1, "bar.warp.sync 0x6;"), timeout=300).verdict == "ok"


def test_what_is_waited_for_before_a_race_may_count_too_few() -> None:
    """Both readers arrive, and the object counts one: its count is tried soon."""
    leader = "    setp.ne.u32 %p2, %r1, FIRST;\n    @%p2 bra DONE;\n"
    text = _STAGE.replace("PARTY\n", "").replace(leader, "").replace("FIRST", "1")
    test = ptxmm.Kernel(
        text, params={"x": {"type": "u32", "elements": 3}}, grid=1, block=3, race_free=True, terminates=True
    ).test
    subject = KernelSubject(test, How())
    sites, base = subject.sites("repair", True), subject.judge(subject.text)
    tried = list[str]()

    def judge(vector: Vector, patient: bool) -> Judgement:
        tried.append("; ".join(s.options[o].words for s, o in zip(sites, vector, strict=True) if o))
        return Judgement(tried[-1] == "1 of mbarrier.init.shared::cta.b64 becomes 2" and len(tried) > 1)

    assert (
        next(guided(subject.text, sites, judge, base, subject.objects, subject.guards, subject.glimpsed()), None)
        is not None
    )
    assert len(tried) < 40


def test_an_arrival_is_sought_where_a_count_was_raised() -> None:
    """Of two numbers of one object only more arrivals are."""
    subject = KernelSubject(_kernel(3, 1), How())
    options = [o for s in subject.sites("repair", True) for o in s.options]
    raised = [o.words for o in options if _raises(o)]
    assert raised and all("of mbarrier.init" in words for words in raised)
    assert not any(_raises(o) for o in options if "parity" in o.words or "arrive" in o.words)


def test_a_barrier_of_some_lanes_is_syncwarp_with_their_mask() -> None:
    assert statements("bar.warp.sync 0x6", "", "", True)[0].code == "__syncwarp(0x6);"
    assert statements("bar.sync 1, 64", "", "", True)[0].code == 'asm volatile("bar.sync 1, 64;" ::: "memory");'


@pytest.mark.parametrize(("block", "first", "said"), [(3, 1, True), (2, 1, False)])
def test_that_barriers_of_some_were_not_tried_is_said(block: int, first: int, *, said: bool) -> None:
    subject = KernelSubject(_kernel(block, first), How())
    words = _passed_over(subject.sites("repair", True), len(subject.sites("repair")))
    assert ("barriers of those threads alone" in "; ".join(words)) == said and "waits for mbarriers" in "; ".join(words)
