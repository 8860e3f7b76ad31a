"""Threads that wait for a value that another one overwrites: they may miss it, or find it."""

from __future__ import annotations

import pytest

import ptxmm
from ptxmm.kernels.toml import KernelFile

_PTX = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 setp.ne.u32 %p, %r2, 0; @%p ret;
 setp.eq.u32 %p, %r1, 1; @%p bra POLL;
 st.relaxed.gpu.global.u32 [%rd1], {first};
 st.relaxed.gpu.global.u32 [%rd1], 2;
 ret;
POLL: ld.relaxed.gpu.global.u32 %r3, [%rd1];
 setp.ne.u32 %p, %r3, 1; @%p bra POLL;
 ret;
}}"""


@pytest.mark.parametrize("block", [1, 64])
@pytest.mark.parametrize(("first", "hangs"), [(1, False), (3, True)])
def test_who_may_miss_a_value_does_not_hang_in_every_execution(first: int, hangs: bool, block: int) -> None:
    """By one run of 64 threads as by the formula of one."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": block,
        "params": {"x": {"type": "u32", "elements": 4, "init": [0]}}, "check": {"terminates": True},
    }  # fmt: skip
    found = ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": _PTX.format(first=first)}).test())
    (check,) = found.checks
    assert found.verdict == "no" and check.hangs is hangs
