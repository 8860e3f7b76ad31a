"""What goes wrong in a smaller launch, shown in the full one by the same steps."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_runs

from ptxcore.clock import OutOfTime
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels import replayed as replaying
from ptxmm.kernels import whole
from ptxmm.kernels.hunting import RaceOf
from ptxmm.kernels.replayed import Replayed, replayed
from ptxmm.kernels.runs import Runs, threads_of
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: In each round one CTA is the first. One that was first in just every second round stores: two CTAs do in very few orders.
_LOCK = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 seq)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [seq]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; mov.u32 %r4, 0;
 bar.sync 0; setp.ne.u32 %p1, %r2, 0; @%p1 bra END;
ROUND:
 {taken} selp.u32 %r5, 1, 0, %p2;
 shl.b32 %r3, %r3, 1; or.b32 %r3, %r3, %r5; add.u64 %rd2, %rd2, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, {rounds};
 @%p2 bra ROUND;
 {meant}
 setp.eq.u32 %p2, %r3, {one}; setp.eq.u32 %p3, %r3, {other}; or.pred %p2, %p2, %p3; not.pred %p2, %p2; @%p2 bra END;
 st.global.u32 [%rd1], %r1;
END: ret;
}}"""
_ROUNDS = 4
_FIRST = "atom.relaxed.gpu.global.exch.b32 %r5, [%rd2], 1; setp.eq.u32 %p2, %r5, 0;"
_NUMBER = "mov.u32 %r6, %nctaid.x; sub.u32 %r6, %r6, 1;"
_LAST = "atom.relaxed.gpu.global.inc.u32 %r5, [%rd2], 9; " + _NUMBER + " setp.eq.u32 %p2, %r5, %r6;"


def _test(grid: int, block: int, meant: str = "", taken: str = _FIRST) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 1}, "seq": {"type": "u32", "elements": _ROUNDS}},
        "check": {"race_free": True},
    }  # fmt: skip
    text = _LOCK.format(rounds=_ROUNDS, one=0b1010, other=0b0101, meant=meant, taken=taken)
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.long
def test_a_race_of_a_smaller_launch_is_shown_in_the_full_one() -> None:
    open_, found = by_runs(_test(8, 64))
    assert not open_ and found.verdict == "no" and len(found.races) == 1
    assert [event.thread.split(" thread ")[0] for event in found.races[0].events] != ["CTA 0"] * 2
    assert any("2 CTAs of 1 thread: as many threads of this one took the same steps" in note for note in found.notes)


#: Of a grid of two CTAs alone.
_OF_TWO = "mov.u32 %r6, %nctaid.x; setp.ne.u32 %p2, %r6, 2; @%p2 bra END;"


def test_what_goes_wrong_in_smaller_launches_alone_is_no_answer() -> None:
    test = _test(6, 64, _OF_TWO)
    assert replayed(Runs(test, watched=True), lambda _: False) is None


@pytest.mark.long
@pytest.mark.parametrize("others", ["beside", "first", "last"])
def test_other_threads_come_before_behind_or_beside_the_steps(others: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is to be the first one in a round must not come behind others, nor before them who is to be the last one."""
    monkeypatch.setattr(replaying, "get_args", lambda _: (others,))
    found = replayed(Runs(_test(6, 64), watched=True), lambda _: False)
    assert (found is None) == (others != "last")
    found = replayed(Runs(_test(6, 64, taken=_LAST), watched=True), lambda _: False)
    assert others == "beside" or (found is None) == (others != "first")
    if isinstance(found, Replayed):
        assert isinstance(found.found, RaceOf) and (found.ctas, found.threads) == (2, 1)  # the smallest


@pytest.mark.parametrize(("first", "verdict"), [("", "no"), (_OF_TWO, "undecided")])
def test_an_execution_that_the_formula_found_of_a_smaller_launch_is_followed(
    first: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs find nothing here, nor in the smaller launch; the formula does, and its order of the steps is that of the run."""
    monkeypatch.setattr(replaying, "hunt", lambda *_: None)
    monkeypatch.setattr(checking, "decide_whole", lambda *_: "open")
    monkeypatch.setattr(checking, "shown_by_runs", lambda *_: False)
    question = checking.KernelQuestion

    def asked(test: KernelTest, *rest: Any, **options: Any) -> Any:
        if threads_of(test) > 64:
            raise OutOfTime
        return question(test, *rest, **options)

    monkeypatch.setattr(checking, "KernelQuestion", asked)
    found = checking.check(_test(8, 64, first), model_named("ptx-9.0"), timeout=600)
    assert found.verdict == verdict
    if found.races:
        assert {event.thread for event in found.races[0].events} <= {f"CTA {cta} thread 0" for cta in (0, 1, 6, 7)}


#: Each thread of each CTA adds to an element, and the last CTA reads them. What another one has added before, its own later
#: addition observes; so the last CTA must have added before another one to race, and `fence.sc` must come in another order.
_LAST_READS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 count, .param .u64 out)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>; .shared .align 4 .b32 last;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [count]; ld.param.u64 %rd3, [out]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd4, %r2, 4;
 add.u64 %rd1, %rd1, %rd4; add.u64 %rd3, %rd3, %rd4; mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1;
 red.relaxed.gpu.global.add.u32 [%rd1], 1; bar.sync 0; setp.ne.u32 %p1, %r2, 0; @%p1 bra TOLD;
 {fence} atom.relaxed.gpu.global.inc.u32 %r5, [%rd2], %r4; fence.sc.gpu; st.shared.u32 [last], %r5;
TOLD: bar.sync 0; ld.shared.u32 %r5, [last]; setp.ne.u32 %p2, %r5, %r4; @%p2 bra END;
 ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd3], %r6;
END: ret;
}}"""


def _last_reads(fence: str, grid: int = 6) -> KernelTest:
    sizes = {"x": 64, "count": 1, "out": 64}
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": 64,
        "params": {name: {"type": "u32", "elements": size} for name, size in sizes.items()},
        "check": {"race_free": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _LAST_READS.format(fence=fence)}).test()


def test_a_race_with_fences_in_another_order_is_shown_in_the_full_launch_too() -> None:
    assert replayed(Runs(_last_reads("fence.sc.gpu;"), watched=True), lambda _: False) is None
    found = replayed(Runs(_last_reads(""), watched=True), lambda _: False)
    assert found is not None and isinstance(found.found, RaceOf) and found.found.watcher.reordered


def test_what_smaller_launches_show_does_not_wait_for_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "decide_by_searches", lambda *_: pytest.fail("it is asked for a proof"))
    open_, found = by_runs(_last_reads("", 8))
    assert not open_ and found.verdict == "no"


def test_threads_of_a_smaller_launch_have_the_same_coordinates() -> None:
    small, full = _test(2, 32).launches[0], _test(6, 64).launches[0]
    steps = ((0, 0, 0), (0, 33, 1), (0, 2, 0))
    assert list(replaying._taken(steps, small, full)) == [
        ((0, 0, 0), (0, 65, 1), (0, 2, 0)), ((0, 4 * 64, 0), (0, 5 * 64 + 1, 1), (0, 4 * 64 + 2, 0)),
    ]  # fmt: skip
