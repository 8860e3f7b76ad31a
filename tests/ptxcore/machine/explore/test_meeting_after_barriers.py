"""Threads of a warp that meet behind a barrier of their CTA: all of them are there, however each came to the barrier."""

from __future__ import annotations

import pytest

import ptxmm

THREADS = 8
PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 flags, .param .u64 out)
{
    .reg .pred %p<3>;
    .reg .b32 %r<5>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [flags]; cvta.to.global.u64 %d2, %d1;
    ld.param.u64 %d1, [out]; cvta.to.global.u64 %d3, %d1;
    mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 4; add.s64 %d5, %d2, %d4; add.s64 %d3, %d3, %d4;
    st.relaxed.gpu.u32 [%d5], 1;
    ld.relaxed.gpu.u32 %r2, [%d5]; setp.ne.u32 %p1, %r2, 1;
    @%p1 bra DONE;
    BEFORE: bar.sync 0;
    activemask.b32 %r3;
    st.global.u32 [%d3], %r3;
    DONE: ret;
}
"""


def check(ptx: str, mask: int) -> ptxmm.Result:
    return ptxmm.Kernel(
        ptx, grid=1, block=THREADS,
        params={"flags": {"type": "u32", "elements": THREADS},
                "out": {"type": "u32", "elements": THREADS}},
        forall=" && ".join(f"out[{t}] == {mask}" for t in range(THREADS)),
    ).check()  # fmt: skip


def test_all_are_there_that_wait_each_for_its_own() -> None:
    waiting = PTX.replace("@%p1 bra DONE;", "").replace("ld.relaxed", "WAIT: ld.relaxed")
    waiting = waiting.replace("BEFORE:", "@%p1 bra WAIT; BEFORE:")
    result = check(waiting, (1 << THREADS) - 1)
    assert (result.verdict, result.error) == ("ok", None)


def test_who_may_have_ended_before_the_barrier_is_not_taken_to_be_there() -> None:
    with pytest.raises(ptxmm.InputError, match="each under a condition of its own"):
        check(PTX, 0)
