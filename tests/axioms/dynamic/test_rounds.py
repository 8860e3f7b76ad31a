"""Threads that meet by a counter that the last one sets back: several runs beside the formula, and launches at their size."""

from __future__ import annotations

import generated_rounds
import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths, share

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.long
@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(5), range(10)))
def test_several_runs_say_of_rounds_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_rounds.kernel, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > 1


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_several_runs_say_of_many_rounds_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_rounds.kernel, range(1000, 1000 + share(3000)), monkeypatch)


_GRID = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 count)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [count];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.x; mov.u32 %r5, 0; mov.u32 %r11, 0;
 mad.lo.u32 %r6, %r1, %r3, %r2; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd3, %rd1, %rd3;
 mul.lo.u32 %r7, %r3, %r4; sub.u32 %r7, %r7, 1; sub.u32 %r7, %r7, %r6; mul.wide.u32 %rd4, %r7, 4; add.u64 %rd4, %rd1, %rd4;
 setp.ne.u32 %p1, %r2, 0; sub.u32 %r4, %r4, 1;
ROUND:
 st.global.u32 [%rd3], %r6;
 bar.sync 0; xor.b32 %r5, %r5, 1; @%p1 bra MET;
 {before}
 {count}.global.add.u32 %r8, [%rd2], 1; setp.ne.u32 %p2, %r8, %r4; @%p2 bra WAIT;
 {back}
 bra BEHIND;
WAIT: ld.relaxed.gpu.global.u32 %r9, [%rd2+4]; setp.ne.u32 %p2, %r9, %r5; @%p2 bra WAIT;
BEHIND:
 {behind}
MET: {met}
 ld.global.u32 %r10, [%rd4]; add.u32 %r11, %r11, 1; setp.lt.u32 %p2, %r11, {rounds}; @%p2 bra NEXT;
 ret;
NEXT:
 add.u32 %r6, %r6, %r10; bra ROUND;
}}"""
_BACK, _TURN = "st.relaxed.gpu.global.u32 [%rd2], 0;", "st.relaxed.gpu.global.u32 [%rd2+4], %r5;"
_FENCE = "fence.acq_rel.gpu;"
_RIGHT = {
    "count": "atom.relaxed.gpu",
    "before": _FENCE,
    "back": f"{_BACK} {_FENCE} {_TURN}",
    "behind": _FENCE,
    "met": "bar.sync 0;",
    "rounds": "1",
}


def _grid(grid: int, block: int, **changed: str) -> KernelTest:
    """CTAs meet, and read what those on the other side wrote."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": grid * block}, "count": {"type": "u32", "elements": 2}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _GRID.format(**{**_RIGHT, **changed})}).test()


def test_a_barrier_of_a_grid_with_a_counter_that_is_set_back_is_decided_at_its_size() -> None:
    open_, found = by_runs(_grid(6, 64))
    assert not open_ and found.verdict == "ok"
    assert found.notes[0].startswith("6 runs of all 384 threads")


def test_the_counter_may_be_set_back_by_a_weak_store() -> None:
    """As by `if (atomicAdd(&count, 1) == gridDim.x - 1) { count = 0; ... }`: the last one has observed all others."""
    open_, found = by_runs(_grid(6, 64, back=_RIGHT["back"].replace("st.relaxed.gpu", "st.weak", 1)))
    assert not open_ and found.verdict == "ok"


@pytest.mark.parametrize(("scope", "verdict"), [("gpu", "ok"), ("cta", "no")])
def test_a_weak_store_races_with_whom_the_last_one_did_not_observe(
    scope: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operation of a CTA's scope observes none of another CTA's."""
    test = _grid(2, 1, back=f"st.weak.global.u32 [%rd2], 0; {_FENCE} {_TURN}", count=f"atom.relaxed.{scope}")
    assert by_formula(test, monkeypatch).verdict == verdict
    open_, found = by_runs(test)
    assert open_ or found.verdict == verdict


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "changed",
    [{"before": ""}, {"behind": ""}, {"met": ""}, {"back": f"{_BACK} {_TURN}"}, {"back": _TURN, "rounds": "3"},
     {"back": f"{_TURN} {_FENCE} {_BACK}", "rounds": "3"}, {"rounds": "3"}],
    ids=str,
)  # fmt: skip
def test_a_mistake_in_a_barrier_of_a_grid_is_found(changed: dict[str, str]) -> None:
    open_, found = by_runs(_grid(4, 32, **changed))
    assert not open_ and found.verdict == "no"
