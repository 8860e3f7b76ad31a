"""Waits at mbarrier objects whose answer nobody looks at: `try_wait` may say no (section 9.7.13.15.16), and what comes
behind it is in no order then."""

from __future__ import annotations

import pytest
from by_runs import by_runs

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_TEXT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<5>; .shared .align 128 .b8 s[256]; .shared .align 8 .b64 m;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x;
 shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;
 setp.ne.u32 %p1, %r1, 0; @%p1 bra READY;
 mbarrier.init.shared.b64 [m], 1; fence.proxy.async.shared::cta; // init
 mbarrier.arrive.expect_tx.shared.b64 _, [m], 256;
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 256, [m]; // copy
READY:
 bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra WAIT; // wait
 ld.shared.u32 %r4, [%r3]; // use
 mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], %r4;
 ret;
}
"""
_LOOP = "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra WAIT;"
_ONCE = _LOOP.replace(" @!%p2 bra WAIT;", "")


def _of(text: str) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64,
        "params": {"x": {"type": "u32", "elements": 64, "init": 1}, "y": {"type": "u32", "elements": 64}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def _line(part: str) -> int:
    return next(n for n, line in enumerate(_TEXT.splitlines(), 1) if part in line)


@pytest.mark.parametrize("once", [_ONCE, _ONCE.replace("%p2, [m], 0", "%p2, [m], 0, 1000")])
def test_a_wait_whose_answer_is_not_looked_at_orders_nothing(once: str) -> None:
    assert by_runs(_of(_TEXT))[1].verdict == "ok"
    open_, found = by_runs(_of(_TEXT.replace(_LOOP, once)))
    assert not open_ and found.verdict == "undefined"
    assert {event.line for event in found.races[0].events} == {_line("// copy"), _line("// use")}


@pytest.mark.parametrize(
    "body",
    [
        f"@%p1 bra ON; {_LOOP} ON: bar.sync 0; {_ONCE.replace('WAIT:', '')}",  # it is over, and all know that
        f"{_LOOP} {_ONCE.replace('WAIT:', '')}",
        "mov.u32 %r5, 0; WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @%p2 bra ON; add.u32 %r5, %r5, 1;"
        " setp.lt.u32 %p3, %r5, 9; @%p3 bra WAIT; trap; ON:",
    ],
)
def test_a_wait_that_may_not_be_in_vain_is_no_mistake(body: str) -> None:
    assert by_runs(_of(_TEXT.replace(_LOOP, body)))[1].verdict in ("ok", "undecided")
