"""Several runs of launches whose buffers may hold anything at first."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_runs

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: Each CTA stores what it has found, and counts itself; the last one copies what all have stored.
_LAST = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 part, .param .u64 count, .param .u64 out)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<12>;
 .shared .align 4 .b32 last;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [part]; ld.param.u64 %rd3, [count]; ld.param.u64 %rd4, [out];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; setp.ne.u32 %p1, %r1, 0;
 mad.lo.u32 %r4, %r2, 32, %r1; mul.wide.u32 %rd5, %r4, 4; add.u64 %rd6, %rd1, %rd5; add.u64 %rd7, %rd2, %rd5;
 ld.global.u32 %r5, [%rd6]; DECIDES
 st.global.u32 [%rd7], %r5;
DONE: RELEASE
 bar.sync 0;
 @%p1 bra COUNTED;
 atom.global.add.u32 %r9, [%rd3], ADDED; sub.u32 %r10, %r3, 1; setp.eq.u32 %p4, %r9, %r10; selp.u32 %r9, 1, 0, %p4;
 st.shared.u32 [last], %r9;
COUNTED: bar.sync 0;
 ld.shared.u32 %r9, [last]; setp.eq.u32 %p4, %r9, 0; @%p4 ret;
 ACQUIRE
 mov.u32 %r7, 0; mul.wide.u32 %rd8, %r1, 4; add.u64 %rd2, %rd2, %rd8; add.u64 %rd4, %rd4, %rd8;
SUM: ld.global.u32 %r8, [%rd2]; st.global.u32 [%rd4], %r8; add.u64 %rd2, %rd2, 128; add.u64 %rd4, %rd4, 128;
 add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, %r3; @%p3 bra SUM;
 ret;
}
"""
_RIGHT = {"DECIDES": "", "RELEASE": "fence.sc.gpu;", "ACQUIRE": "fence.sc.gpu;", "ADDED": "1"}


def _last(forall: str = "", count: object = 0, **changed: str) -> KernelTest:
    text = _LAST
    for name, statement in {**_RIGHT, **changed}.items():
        text = text.replace(name, statement)
    params: dict[str, Any] = {name: {"type": "u32", "elements": 64} for name in ("x", "part", "count", "out")}
    for name in ("x", "part", "out"):
        params[name]["init"] = "any"
    params["count"]["init"] = count
    check = {**({"forall": forall} if forall else {}), "race_free": True, "terminates": True}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 32, "params": params, "check": check}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def test_several_runs_stand_for_all_contents() -> None:
    open_, result = by_runs(_last("count[0] == 2"))
    assert (open_, result.verdict) == ("", "ok")
    assert any("2 runs of all 64 threads" in note for note in result.notes)


def test_a_check_of_values_that_hang_on_contents_is_left_open() -> None:
    """It holds with zeros, and no run with zeros shows otherwise."""
    open_, result = by_runs(_last("out[0] == 0"))
    assert open_ or result.verdict == "undecided"
    assert [check.holds for check in result.checks if check.kind == "forall"] != [True]


@pytest.mark.parametrize("name", ["RELEASE", "ACQUIRE"])
def test_a_mistake_is_found_with_some_contents(name: str) -> None:
    open_, result = by_runs(_last(**{name: ""}))
    assert (open_, result.verdict) == ("", "no")


@pytest.mark.parametrize(
    "changed",
    [
        # One value of 2^32 leads elsewhere: no run with zeros or ones shows it.
        {"DECIDES": "setp.eq.u32 %p5, %r5, 77; @%p5 bra DONE;"},
        # With other contents the last CTA is another one, or there is none.
        {"DECIDES": "setp.eq.u32 %p5, %r5, 77; selp.u32 %r11, 2, 1, %p5;", "ADDED": "%r11"},
    ],
)
def test_contents_that_decide_leave_it_open(changed: dict[str, str]) -> None:
    open_, result = by_runs(_last(**changed))
    assert open_
    assert result.verdict == "undecided"


def test_a_counter_that_may_hold_anything_decides() -> None:
    open_, result = by_runs(_last(count="any"))
    assert open_
    assert result.verdict == "undecided"
