"""Barriers in kernels: whole warps, warps that are not full, divergence."""

from __future__ import annotations

import pytest

import ptxmm
from ptxmm.result import Result

ENGINES = pytest.mark.parametrize("engine", ["solve", "enumerate"])


def checked(body: str, block: int, engine: str = "solve", **more: object) -> Result:
    """A kernel whose threads have their number in `t` and the address of `out` in `o`."""
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out)
    {{
      .reg .pred p;
      .reg .b32 t, v;
      .reg .b64 o, a;
      ld.param.u64 o, [out];
      mov.u32 t, %tid.x;
      {body}
      ret;
    }}
    """
    params = {"out": {"type": "u32", "elements": max(2, block), "init": [0, 0]}}
    asked = {"forall": "out[1] == 1", **more}
    return ptxmm.Kernel(text, params=params, grid=1, block=block, **asked).check(engine=engine)  # type: ignore[arg-type]


PASSED_ON = """
      setp.ne.u32 p, t, 0;
      @!p st.weak.global.u32 [o], 1;
      {barrier}
      setp.ne.u32 p, t, {last};
      @!p ld.weak.global.u32 v, [o];
      @!p st.weak.global.u32 [o+4], v;
"""


@pytest.mark.parametrize("block", [32, 40, 64])
@pytest.mark.parametrize("barrier", ["bar.sync 0;", "barrier.sync 0;", "bar.sync 1, {count};"])
def test_a_block_meets_at_a_barrier_however_many_threads_it_has(block: int, barrier: str) -> None:
    count = -(-block // 32) * 32
    body = PASSED_ON.format(barrier=barrier.format(count=count), last=block - 1)
    result = checked(body, block, race_free=True, no_deadlock=True)
    assert (result.verdict, result.error) == ("ok", None)


DIVERGENT = """
      setp.eq.u32 p, t, 0;
      @p bra other;
      {barrier}
      bra end;
    other:
      {barrier}
    end:
"""


@ENGINES
def test_threads_of_a_warp_come_to_an_aligned_barrier_by_one_instruction(engine: str) -> None:
    result = checked(DIVERGENT.format(barrier="bar.sync 0;"), 2, engine, forall="out[0] == 0")
    assert result.error == "threads of one warp at an aligned barrier by different instructions"
    assert checked(DIVERGENT.format(barrier="barrier.sync 0;"), 2, engine, forall="out[0] == 0").verdict == "ok"
    mixed = DIVERGENT.format(barrier="barrier.sync 0;").replace("barrier.sync", "bar.sync", 1)  # one says that all do
    assert checked(mixed, 2, engine, forall="out[0] == 0").error == result.error


@ENGINES
def test_threads_that_have_left_are_not_waited_for(engine: str) -> None:
    body = """
      setp.eq.u32 p, t, 2;
      @p ret;
      setp.eq.u32 p, t, 0;
      @p st.weak.global.u32 [o], 1;
      bar.sync 0;
      @!p ld.weak.global.u32 v, [o];
      @!p st.weak.global.u32 [o+4], v;
    """
    assert checked(body, 3, engine).verdict == "ok"
