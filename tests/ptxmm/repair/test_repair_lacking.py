"""What lacks where threads should have synchronized, as a watched run says it, is what a repair tries first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import ptxmm
from ptxmm.kernels.launch import Buffer, Launch
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.repair.building import REPAIR
from ptxmm.repair.finding import answered
from ptxmm.repair.guided import _raises, guided
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.led import led_to
from ptxmm.repair.pace import Pace
from ptxmm.repair.sites import Vector
from ptxmm.repair.subjects import How, judging

GATE = Path(__file__).resolve().parents[2] / "kernels" / "gate"
#: Half of the threads end before the others read what all have written.
_ENDS = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>; .shared .align 4 .b32 s[64];
    ld.param.u64 %rd1, [x]; mov.u32 %r1, s; mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r2, 4, %r1;
    st.shared.u32 [%r3], %r2;
    setp.ge.u32 %p, %r2, 32;
    @%p ret;
    ld.shared.u32 %r4, [%r3+128];
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd2, %rd1, %rd2;
    st.global.u32 [%rd2], %r4;
    ret;
}
"""
#: Each CTA of a cluster writes what the other one reads.
_CLUSTER = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x) .explicitcluster .reqnctapercluster 2, 1, 1
{
    .reg .b32 %r<6>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x]; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 64, %r2;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd2, %rd1, %rd2;
    st.global.u32 [%rd2], %r3;
    xor.b32 %r1, %r1, 1;
    mad.lo.u32 %r3, %r1, 64, %r2;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd3, %rd1, %rd3;
    ld.global.u32 %r4, [%rd3];
    ret;
}
"""
#: Two warps write, let the others read, and write again.
_ARRIVES_EARLY = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>; .shared .align 4 .b32 s[128];
    ld.param.u64 %rd1, [x]; mov.u32 %r1, s; mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r2, 4, %r1;
    setp.ge.u32 %p, %r2, 64;
    @%p bra READ;
    st.shared.u32 [%r3], %r2;
    bar.arrive 1, 128;
    bar.sync 2, 128;
    st.shared.u32 [%r3], %r1;
    ret;
READ:
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd2, %rd1, %rd2;
    bar.sync 1, 128;



    bar.arrive 2, 128;

    ld.shared.u32 %r4, [%r3+-256];
    st.global.u32 [%rd2+-256], %r4;
    ret;
}
"""
#: Two rounds of a loop, of which the first computes the address for both.
_UNROLLED = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k()
{
.reg .b32 %r<6>; .shared .align 4 .b32 s[4];
.loc 1 4 3
mov.u32 %r1, s;
st.shared.u32 [%r1], 1;
.loc 1 5 3
add.u32 %r2, %r1, 4;
ld.shared.u32 %r3, [%r2];
.loc 1 4 3
st.shared.u32 [%r1+8], 1;
.loc 1 5 3
ld.shared.u32 %r3, [%r2+4];
ret;
}
.file 1 "k.cu"
"""
_TEXT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd2, %rd1, %rd3;
    st.relaxed.gpu.global.u32 [%rd2+1024], %r2;
    setp.eq.u32 %p, %r1, 1; @%p bra READS;
    st.global.u32 [%rd2+64], 7;
    MEETS
    setp.ne.u32 %p, %r2, 0; @%p bra DONE;
    WRITE
DONE:
    ret;
READS:
    setp.ne.u32 %p, %r2, 0; @%p bra MEET;
POLL:
    READ
    setp.eq.u32 %p, %r3, 0; @%p bra POLL;
MEET:
    bar.sync 0;
    ld.global.u32 %r4, [%rd2+64];
    st.global.u32 [%rd2+2048], %r4;
    ret;
}
"""


@pytest.mark.parametrize(
    ("write", "read", "most", "becomes"),
    [
        ("st.relaxed.gpu", "ld.acquire.gpu", 3, ["st.release.gpu"]),
        ("st.release.gpu", "ld.relaxed.gpu", 3, ["ld.acquire.gpu"]),
        ("st.relaxed.gpu", "ld.relaxed.gpu", 6, ["st.release.gpu", "ld.acquire.gpu"]),
        ("st.volatile", "ld.acquire.sys", 12, ["fence.acq_rel"]),
    ],
)  # fmt: skip
def test_a_few_texts_lead_to_what_lacks(write: str, read: str, most: int, becomes: Sequence[str]) -> None:
    """Of many orders, fences and barriers at other places none is asked."""
    asked, words = _repaired(write, read, "bar.sync 0;")
    assert asked <= most
    assert len(words) == len(becomes) and all(any(new in word for word in words) for new in becomes)


def test_a_barrier_that_lacks_before_a_release_is_put_in_there() -> None:
    asked, words = _repaired("st.release.gpu", "ld.acquire.gpu", "")
    assert asked <= 3 and [word.split(" is put in")[0].split()[-2:] for word in words] == [["bar.sync", "0"]]


def _repaired(write: str, read: str, meets: str) -> tuple[int, Sequence[str]]:
    """How many texts were asked until one held, and what is changed in that."""
    text = _TEXT.replace("WRITE", f"{write}.global.u32 [%rd1], 1;").replace("MEETS", meets)
    text = text.replace("READ\n", f"{read}.global.u32 %r3, [%rd1];\n")
    buffer = Buffer("x", elements=1024)
    launch = Launch(text, "k", "k.ptx", grid=(2, 1, 1), block=(64, 1, 1), params=(buffer,))
    subject = KernelSubject(KernelTest("k.ptx", "k", (launch,), (buffer,), (Check("race_free"),)), How())
    base, sites = subject.judge(text), subject.sites(REPAIR)
    assert len(base.lacking) == 1
    asked = 0

    def judge(vector: tuple[int, ...], patient: bool) -> Judgement:
        nonlocal asked
        asked += 1
        return judging(subject, sites, vector, None)

    vector = next(guided(text, sites, judge, base, subject.objects), None)
    assert vector is not None
    return asked, [sites[s].options[o].words for s, o in enumerate(vector) if o]


@pytest.mark.parametrize(
    ("name", "most", "becomes"),
    [
        ("pipeline_two_consumers", 4, ["[_ZZ1kE5state], 0", "[_ZZ1kE5state+16], 0"]),
        ("pipeline_one_stage", 5, [f"[_ZZ1kE5state], {parity}" for parity in (0, 1, 0, 1)]),
        ("barrier_memcpy_tile", 1, ["becomes one more"]),
        ("umma_multicast", 8, ["becomes 2", "mbarrier.arrive.release.cluster"]),
    ],
)
def test_a_few_texts_lead_to_what_lacks_at_mbarriers(name: str, most: int, becomes: Sequence[str]) -> None:
    """Waits for just what tells that the copies are done, which race; a computed count where a phase was over too soon; a count
    of what is waited for before the copies, and an arrival of the other CTA there."""
    test = ptxmm.load(f"{GATE / name}/test.toml:buggy")
    assert isinstance(test, KernelTest)
    subject = KernelSubject(test, How())
    asked = list[int]()
    found = led_to(subject, subject.judge(subject.text), Pace(), 60.0, lambda: asked.append(1))
    assert found is not None and len(asked) <= most
    words = [found.sites[s].options[o].words for s, o in enumerate(found.vector) if o]
    assert len(words) == len(becomes) and all(any(new in word for word in words) for new in becomes)


def test_a_count_with_an_arrival_that_ended_one_fault_is_tried_where_the_other_one_is() -> None:
    """Two stages are given back to one CTA of two that wait: each lacks an arrival that is counted. Nothing but these pairs
    ends the faults; threads wait between the count and its arrival."""
    test = ptxmm.load(f"{GATE / 'wgmma_multicast'}/test.toml:buggy")
    assert isinstance(test, KernelTest)
    subject = KernelSubject(test, How())
    sites, lines = subject.sites(REPAIR, True), test.launches[0].text.split("\n")
    stages = ("_ZZ1kE5empty", "_ZZ1kE5empty+8")
    filled = [n for n, line in enumerate(lines, 1) if "multicast::cluster" in line]
    awaited = [n for n, line in enumerate(lines, 1) if "try_wait" in line]
    tried = list[int]()

    def judge(vector: Vector, patient: bool = False) -> Judgement:
        tried.append(sum(map(bool, vector)))
        put = [sites[s].options[o] for s, o in enumerate(vector) if o]
        added = sorted(edit.start for option in put for edit in option.edits if "\n" in edit.new)
        starts = [sum(map(len, lines[:n])) + n for n in range(len(lines))]
        at = {n: n + sum(edit < starts[n - 1] for edit in added) for n in range(1, len(lines) + 1)}
        if len(tried) > 60:  # it goes astray
            return Judgement(True)
        for number, stage in enumerate(stages):
            counts = any(_raises(option) and option.about == stage for option in put)
            arrives = any(option.arrives and option.about == stage and "mapa" in option.words for option in put)
            if counts and not arrives:
                return Judgement(False, waits=True, clues=frozenset({at[awaited[number]]}))
            if not counts:
                wrong = frozenset({at[filled[number]], at[filled[number + 2]]})
                return Judgement(False, wrong=True, reason="an asynchronous operation", clues=wrong)
        return Judgement(True)

    vector = next(guided(subject.text, sites, judge, judge((0,) * len(sites)), subject.objects, subject.guards), None)
    assert vector is not None and sum(map(bool, vector)) == 4 and len(tried) < 60


def test_what_is_not_decided_soon_is_judged_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (
        _TEXT.replace("WRITE", "st.global.u32 [%rd1], 1;")
        .replace("MEETS", "")
        .replace("READ\n", "    ld.global.u32 %r3, [%rd1];\n")
    )
    launch = Launch(text, "k", "k.ptx", grid=(2, 1, 1), block=(64, 1, 1), params=(Buffer("x", elements=1024),))
    subject = KernelSubject(KernelTest("k.ptx", "k", (launch,), launch.params, (Check("race_free"),)), How())
    sites, clock, asked = subject.sites(REPAIR), [0.0], list[tuple[int, bool]]()
    monkeypatch.setattr("ptxmm.repair.guided.time.perf_counter", lambda: clock[0])

    def judge(vector: Vector, patient: bool) -> Judgement:
        clock[0] += 9 if patient else 1
        asked.append((next(s for s, o in enumerate(vector) if o), patient))
        return Judgement(None)

    base = Judgement(False, wrong=True, clues=frozenset({20}))
    assert next(guided(text, sites, judge, base, subject.objects), None) is None
    assert asked[0][0] == asked[1][0] and [patient for _, patient in asked[:3]] == [False, True, False]


def test_a_barrier_is_put_in_before_some_threads_end() -> None:
    """Behind it, only the others would come by."""
    text = _ENDS
    buffer = Buffer("x", elements=64)
    launch = Launch(text, "k", "k.ptx", grid=(1, 1, 1), block=(64, 1, 1), params=(buffer,))
    subject = KernelSubject(KernelTest("k.ptx", "k", (launch,), (buffer,), (Check("race_free"),)), How())
    found = answered(subject, REPAIR, every=False, most=None).found[0]
    assert [change.words for change in found.changes] == ["bar.sync 0 is put in before this"]
    assert found.text.index("bar.sync") < found.text.index("@%p ret")


def test_clusters_that_the_kernel_itself_declares_meet_at_their_barrier() -> None:
    """Of more threads than are few, so that smaller launches are looked at, which this kernel does not allow."""
    buffer = Buffer("x", elements=128)
    launch = Launch(_CLUSTER, "k", "k.ptx", grid=(2, 1, 1), block=(64, 1, 1), params=(buffer,))
    subject = KernelSubject(KernelTest("k.ptx", "k", (launch,), (buffer,), (Check("race_free"),)), How())
    found = answered(subject, REPAIR, every=False, most=None).found[0]
    assert [change.words for change in found.changes] == [
        "barrier.cluster.arrive; barrier.cluster.wait is put in before this"
    ]


def test_an_arrival_at_a_barrier_of_the_cta_comes_later() -> None:
    """Who arrives before it reads lets others write."""
    buffer = Buffer("x", elements=64)
    launch = Launch(_ARRIVES_EARLY, "k", "k.ptx", grid=(1, 1, 1), block=(128, 1, 1), params=(buffer,))
    subject = KernelSubject(KernelTest("k.ptx", "k", (launch,), (buffer,), (Check("race_free"),)), How())
    found = answered(subject, REPAIR, every=False, most=None).found[0]
    assert [change.words for change in found.changes] == ["bar.arrive is moved behind ld.shared.u32 of line 25"]


def test_copies_of_an_unrolled_loop_are_one_where_the_first_computes_an_address() -> None:
    subject = KernelSubject(
        KernelTest("k.ptx", "k", (Launch(_UNROLLED, "k", "k.ptx", block=(64, 1, 1)),), (), ()), How()
    )
    barriers = [site for site in subject.sites(REPAIR) if site.options[-1].words.startswith("bar.sync 0")]
    (before_the_loads,) = (site for site in barriers if "add.u32" in _UNROLLED.split("\n")[site.line - 1])
    assert [_UNROLLED.split("\n")[line - 1] for line in before_the_loads.copies] == ["ld.shared.u32 %r3, [%r2+4];"]
