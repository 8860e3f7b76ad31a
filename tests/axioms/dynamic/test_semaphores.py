"""Semaphores by which CTAs take turns, as split-K has them: looks before waits, CTAs that wait, what a wait observes."""

from __future__ import annotations

from functools import partial

import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share
from generated_semaphores import semaphore_kernel

from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.watched_run import gathering, watched_run


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(100, 112), range(64)))
def test_runs_say_of_semaphores_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(semaphore_kernel, seeds, monkeypatch, may_be_undefined=True)
    assert min(verdicts["ok"], verdicts["no"]) > 0


#: Each CTA adds to a row of its tile (`%ctaid.x`) in the order of `%ctaid.z`; the last one sets the semaphore back.
_SPLIT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 sum, .param .u64 locks, .param .u64 seen)
{
 .reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [sum]; ld.param.u64 %rd2, [locks]; ld.param.u64 %rd5, [seen];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.z; mov.u32 %r3, %nctaid.z; mov.u32 %r4, %tid.x; mov.u32 %r5, %ntid.x;
 setp.ne.u32 %p0, %r4, 0; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3;
 mad.lo.u32 %r6, %r1, %r5, %r4; mul.wide.u32 %rd4, %r6, 4; add.u64 %rd1, %rd1, %rd4; mov.u32 %r12, 0;
 mad.lo.u32 %r15, %r2, 2, %r1; mul.wide.u32 %rd6, %r15, 4; add.u64 %rd5, %rd5, %rd6; mov.u32 %r10, -1;
 @%p0 bra NONE;
 EARLY
NONE:
 bar.sync 0; BETWEEN
H: setp.ne.u32 %p1, %r10, %r2;
 bar.red.and.pred %p2, 0, %p1;
 @!%p2 bra MINE;
 @%p0 bra H;
 POLL
 bra H;
MINE: BEHIND
 ld.global.u32 %r8, [%rd1]; add.u32 %r8, %r8, 1; st.global.u32 [%rd1], %r8;
 add.u32 %r9, %r2, 1; setp.eq.u32 %p3, %r9, %r3; selp.u32 %r9, 0, %r9, %p3;
 bar.sync 0;
 @%p0 ret;
 RELEASE
 ret;
}
"""
_LOOK, _POLL = "ld.acquire.gpu.global.u32 %r10, [%rd2];", "ld.acquire.gpu.global.u32 %r10, [%rd2];"
_RELEASES = {
    "release": "st.release.gpu.global.u32 [%rd2], %r9;",
    "fence": "fence.sc.gpu; st.relaxed.gpu.global.u32 [%rd2], %r9;",
    "add": "sub.u32 %r11, %r9, %r2; fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd2], %r11;",
}


def _split(
    *changes: tuple[str, str],
    early: str = _LOOK,
    poll: str = _POLL,
    release: str = "release",
    block: int = 64,
    lock: int = 0,
) -> KernelTest:
    words = {"EARLY": early, "POLL": poll, "RELEASE": _RELEASES[release], "BETWEEN": "", "BEHIND": ""}
    text = _SPLIT
    for old, new in ((words | dict(changes)) if changes else words).items():
        assert old in text, old
        text = text.replace(old, new)
    params = {"sum": {"type": "u32", "elements": 2 * block}, "locks": {"type": "u32", "elements": 2, "init": lock}}
    params["seen"] = {"type": "u32", "elements": 8}
    said = f"sum[0] == 3 && sum[{2 * block - 1}] == 3 && locks[0] == 0 && locks[1] == 0"
    tree = {"ptx": "k.ptx", "entry": "k", "grid": [2, 1, 3], "block": block, "params": params}
    tree["check"] = {"forall": said, "race_free": True, "terminates": True}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def _settled(test: KernelTest) -> bool:
    """Whether one run stands for all executions."""
    run = partial(watched_run, Runs(test, watched=True))
    ran = gathering(run, run(None))
    return ran.why is None and ran.state is not None


@pytest.mark.parametrize("early", ["", _LOOK], ids=["", "look"])
@pytest.mark.parametrize("release", _RELEASES)
def test_blocks_take_turns(release: str, early: str) -> None:
    open_, result = by_runs(_split(early=early, release=release))
    assert (open_, result.verdict) == ("", "ok")
    assert any("one run of all 384 threads" in note for note in result.notes)


@pytest.mark.parametrize("moved", [False, True])
def test_a_look_may_be_moved_to_another_register(moved: bool) -> None:
    early = "ld.acquire.gpu.global.u32 %r13, [%rd2]; mov.u32 %r10, %r13;"
    between = ("BETWEEN", "@%p0 bra H; st.global.u32 [%rd5], %r13;") if moved else ("BETWEEN", "")
    assert _settled(_split(between, early=early)) is not moved


_MISTAKES = {
    "no barrier before the release": (("bar.sync 0;\n @%p0 ret;", "@%p0 ret;"),),
    "the wrong turn": (("setp.ne.u32 %p1, %r10, %r2;", "add.u32 %r14, %r2, 1; setp.ne.u32 %p1, %r10, %r14;"),),
    "not set back": (("selp.u32 %r9, 0, %r9, %p3;", ""),),
    "one semaphore for all": (("mul.wide.u32 %rd3, %r1, 4;", "mov.u64 %rd3, 0;"),),
}


@pytest.mark.parametrize("name", _MISTAKES)
def test_mistakes_are_found(name: str) -> None:
    open_, result = by_runs(_split(*_MISTAKES[name]))
    assert (open_, result.verdict) == ("", "no")


@pytest.mark.parametrize("which", ["early", "poll", "both"])
def test_what_takes_in_less_is_no_wait(which: str) -> None:
    """A relaxed look before a wait that acquires is all that is executed where it finds what leads on."""
    relaxed = _LOOK.replace("acquire", "relaxed")
    early, poll = (relaxed if which in (name, "both") else _LOOK for name in ("early", "poll"))
    assert not _settled(_split(early=early, poll=poll))


@pytest.mark.parametrize("scope", ["cta", "gpu"])
def test_a_look_of_a_narrow_scope_is_none(scope: str) -> None:
    assert _settled(_split(early=_LOOK.replace("gpu", scope))) is (scope == "gpu")


def test_a_loop_that_counts_its_polls_tells_them_from_a_look() -> None:
    """How often it has polled, a thread that has found what it needs at first does not know."""
    counted = (("POLL", f"{_POLL} add.u32 %r12, %r12, 1;"), ("BEHIND", "@!%p0 st.global.u32 [%rd5], %r12;"))
    assert not _settled(_split(*counted))


#: One thread looks, and polls for its CTA; the others come to the loop in a part of the code of their own.
_APART = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 lock, .param .u64 data, .param .u64 out)
{
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [lock]; ld.param.u64 %rd2, [data]; ld.param.u64 %rd3, [out];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; setp.ne.u32 %p3, %r2, 0; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd3, %rd3, %rd4;
 setp.eq.u32 %p4, %r2, %r2; setp.ne.u32 %p5, %r2, %r2; setp.eq.u32 %p0, %r1, 0; @%p0 bra TELL;
 mov.u32 %r5, 99; @%p3 bra OTHERS;
 EARLY
H: setp.ne.u32 %p1, %r5, 1; barrier.red.and.pred %p2, 0, %p1; @!%p2 bra D;
 ld.acquire.gpu.global.u32 %r5, [%rd1]; bra H;
D: barrier.red.and.pred %p2, 0, %p5; st.global.u32 [%rd2], 7; ret;
OTHERS: FIRST
L: barrier.red.and.pred %p2, 0, %p4; @%p2 bra L;
 ld.global.u32 %r7, [%rd2]; st.global.u32 [%rd3], %r7; barrier.red.and.pred %p2, 0, %p4; ret;
TELL: @%p3 ret; st.release.gpu.global.u32 [%rd1], 1; ret;
}
"""


@pytest.mark.parametrize(("look", "ahead"), [(True, False), (False, True), (True, True)])
def test_others_stand_at_the_loop_as_they_do_behind_a_round(look: bool, ahead: bool) -> None:
    """Others that pass a barrier before they come to the loop are behind the one whose look leads on, and not behind the one
    that has polled in vain: what they load then races with its store."""
    text = _APART.replace("EARLY", "ld.acquire.gpu.global.u32 %r5, [%rd1];" if look else "")
    text = text.replace("FIRST", "barrier.red.and.pred %p2, 0, %p4;" if ahead else "")
    params = {name: {"type": "u32", "elements": n} for name, n in (("lock", 1), ("data", 1), ("out", 64))}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 64, "params": params, "check": {"race_free": True}}
    assert _settled(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()) is not (look and ahead)


def test_a_loop_that_stores_tells_how_often_it_has_polled() -> None:
    """Who has found what it needs at first has not stored."""
    stored = ("POLL", f"{_POLL} st.global.u32 [%rd5], 5;")
    assert not _settled(_split(stored))


@pytest.mark.parametrize("first", [0, 2])
def test_a_look_may_find_what_no_poll_finds_behind_a_barrier(first: int) -> None:
    """What stood there first is set back before all CTAs meet: then the third one does not find that it is its turn."""
    gate = """@%p0 bra OPEN; red.release.gpu.global.add.u32 [%rd7], 1;
WAIT: ld.acquire.gpu.global.u32 %r16, [%rd7]; setp.ne.u32 %p6, %r16, 6; @%p6 bra WAIT;
OPEN: bar.sync 0;"""
    seen = ("ld.param.u64 %rd5, [seen];", "ld.param.u64 %rd5, [seen]; mov.u64 %rd7, %rd5;")
    early = f"setp.ne.u32 %p5, %r2, 0; @%p5 bra LOOK; st.relaxed.gpu.global.u32 [%rd2], 0; LOOK: {_LOOK}"
    assert _settled(_split(seen, ("BETWEEN", gate), early=early, lock=first)) is (first == 0)
    assert _settled(_split(seen, ("BETWEEN", gate), early=early.replace(_LOOK, ""), lock=first))
    shortly = early.replace("st.relaxed", "st.relaxed.gpu.global.u32 [%rd2], 2; st.relaxed", 1)
    assert not _settled(_split(seen, ("BETWEEN", gate), early=shortly, lock=first))


#: The first CTA takes back what stood there first; the second one looks, and polls where it has not found that.
_TAKEN_BACK = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 f)
{
 .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1, [f]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; setp.ne.u32 %p0, %r2, 0; @%p0 ret;
 setp.eq.u32 %p1, %r1, TAKES; @%p1 bra LOOK;
 st.relaxed.gpu.global.u32 [%rd1], 0; ret;
LOOK: ld.acquire.gpu.global.u32 %r3, [%rd1];
H: setp.eq.u32 %p2, %r3, 1; @%p2 bra ON;
 ld.acquire.gpu.global.u32 %r3, [%rd1]; bra H;
ON: ret;
}
"""


@pytest.mark.parametrize("takes", [0, 1])
def test_a_look_behind_which_nobody_polls_is_a_read_as_any_other(takes: int) -> None:
    """It may find something else, and then its thread polls without end."""
    params = {"f": {"type": "u32", "elements": 1, "init": 1}}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 32, "params": params, "check": {"terminates": True}}
    text = _TAKEN_BACK.replace("TAKES", str(takes))
    assert not _settled(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())


def test_what_is_written_behind_what_a_wait_observes_is_ordered() -> None:
    """A weak store that sets a semaphore back comes behind what the wait has found, by causality order alone."""
    weak = ("RELEASE", "setp.eq.u32 %p4, %r9, 0; @%p4 bra BACK; fence.sc.gpu; st.relaxed.gpu.global.u32 [%rd2], %r9; ret;\n"
            "BACK: st.global.u32 [%rd2], 0;")  # fmt: skip
    assert _settled(_split(weak, early=""))


def test_a_write_that_nobody_waits_for_is_not_observed() -> None:
    """Of two stores behind one release the wait finds the second one: the first is not ordered before what follows."""
    twice = ("RELEASE", "setp.eq.u32 %p4, %r9, 0; @%p4 bra BACK; fence.sc.gpu; st.relaxed.gpu.global.u32 [%rd2], 77;\n"
             "st.relaxed.gpu.global.u32 [%rd2], %r9; ret; BACK: st.global.u32 [%rd2], 0;")  # fmt: skip
    assert not _settled(_split(twice, early=""))


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_runs_say_of_many_semaphores_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(semaphore_kernel, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)
