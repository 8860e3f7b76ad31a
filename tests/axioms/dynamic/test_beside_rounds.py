"""Threads that are in no round, beside rounds: what the last one of a round does may reach them by who it is."""

from __future__ import annotations

import pytest
from by_runs import by_formula, by_runs

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 {beside}
ROUND:
 mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+64], 7;
 fence.acq_rel.gpu; atom.{arrives}.gpu.global.add.u32 %r5, [%rd1], 1; setp.ne.u32 %p1, %r5, 1; @%p1 bra WAIT;
 {duty} st.relaxed.gpu.global.u32 [%rd1], 0; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1+4], 1; bra MET;
WAIT: ld.relaxed.gpu.global.u32 %r6, [%rd1+4]; setp.ne.u32 %p2, %r6, 1; @%p2 bra WAIT;
MET: fence.acq_rel.gpu;
END: ret; }}"""
_OTHER = " setp.eq.u32 %p3, %r2, 0; @%p3 bra ROUND; setp.ne.u32 %p3, %r1, {who}; @%p3 bra END;"
#: What thread 1 of a CTA does, and what the last one of a round does before it lets the others go on.
_ADDS = "red.relaxed.{}.global.add.u32 [%rd1+8], 1;"
_WAITS = "W9: ld.relaxed.cta.global.u32 %r9, [%rd1+{}]; setp.eq.u32 %p5, %r9, 0; @%p5 bra W9;"
_NARROW = {
    "an addition in a narrow scope": (_ADDS.format("cta"), _ADDS.format("gpu")),
    "a duty in a narrow scope": (_ADDS.format("gpu"), _ADDS.format("cta")),
    "a wait in a narrow scope": (_WAITS.format(8), "st.relaxed.gpu.global.u32 [%rd1+8], 1;"),
    "a wait at the flag in a narrow scope": (_WAITS.format(4), ""),
}


def _test(grid: int, block: int, **text: str) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 64, "init": [0]}}, "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _PTX.format(**{"arrives": "relaxed", "duty": ""} | text)}).test()


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("name", _NARROW)
def test_who_is_in_no_round_may_race_with_another_one_that_is_last(
    name: str, who: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, duty = _NARROW[name]
    test = _test(2, 2, beside=f"{_OTHER.format(who=who)} {other} bra END;", duty=f"fence.acq_rel.gpu; {duty}")
    assert by_formula(test, monkeypatch).verdict == "no"
    open_, found = by_runs(test)
    assert open_ or found.verdict == "no"


_READS = """setp.ne.u32 %p3, %r1, 2; @%p3 bra ROUND;
Z: ld.acquire.gpu.global.u32 %r6, [%rd1+8]; setp.eq.u32 %p2, %r6, 0; @%p2 bra Z;
 ld.global.u32 %r7, [%rd1+{at}]; st.global.u32 [%rd1+96], %r7; bra END;"""


@pytest.mark.parametrize("at", [64, 68])
@pytest.mark.parametrize(
    ("duty", "verdict"),
    [
        ("st.relaxed.gpu.global.u32 [%rd1+8], 1;", "no"),
        ("red.relaxed.gpu.global.add.u32 [%rd1+8], 1;", "no"),
        ("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1+8], 1;", "ok"),
    ],
)
def test_who_waits_for_the_last_one_knows_of_the_others_what_that_releases_behind_its_arrival(
    at: int, duty: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fence before the arrival hands on what its own thread has done, whoever is the last one."""
    test = _test(3, 1, beside=_READS.format(at=at), duty=duty, arrives="acquire")
    assert by_formula(test, monkeypatch).verdict.replace("bounded", "ok") == verdict
    open_, found = by_runs(test)
    assert open_ or found.verdict == verdict


def test_the_counter_may_be_set_back_weakly_before_the_fence_that_acquires() -> None:
    """As many write the barrier of a grid: `count = 0; __threadfence(); generation = g + 1`."""
    text = _test(6, 1, beside="").launches[0].text.replace("%r5, 1;", "%r5, 5;", 1)
    text = text.replace("st.relaxed.gpu.global.u32 [%rd1], 0;", "st.global.u32 [%rd1], 0;")
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 6, "block": 1,
        "params": {"x": {"type": "u32", "elements": 64, "init": [0]}}, "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    open_, found = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert not open_ and found.verdict == "ok" and "whoever is the last one does the same" in found.notes[0]
