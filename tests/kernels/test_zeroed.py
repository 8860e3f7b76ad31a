"""Shared memory that nothing wrote may hold zeros: what is wrong with them is wrong, and what holds with them says nothing."""

from __future__ import annotations

import ptxmm
from ptxmm.kernels.toml import KernelFile

#: 64 threads, of which 32 write a word each; 64 words are copied to global memory.
KERNEL = """
.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %t, %s, %r; .reg .b64 %out; .reg .pred %p, %q;
.shared .align 128 .b8 m[256];
ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out;
mov.u32 %t, %tid.x; mov.u32 %s, m; mad.lo.u32 %s, %t, 4, %s; setp.lt.u32 %p, %t, 32; setp.eq.u32 %q, %t, 0;
@%p st.shared.u32 [%s], 7;
fence.proxy.async.shared::cta; bar.sync 0;
mov.u32 %s, m;
@%q cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 256;
@%q cp.async.bulk.commit_group;
@%q cp.async.bulk.wait_group 0;
ret;
}
"""


def checked(condition: str) -> ptxmm.Result:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64, "check": {"forall": condition, "race_free": True},
        "params": {"out": {"type": "u32", "elements": 64, "align": 128}},
    }  # fmt: skip
    return ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": KERNEL}).test())


def test_a_check_that_zeros_are_against_fails_and_says_what_was_read() -> None:
    found = checked("out[0] == 7 && out[63] == 7")
    assert found.verdict == "no", found.error
    (note,) = [note for note in found.notes if "nothing wrote" in note]
    line = KERNEL[: KERNEL.index("@%q cp.async.bulk.global")].count("\n") + 1
    assert f":{line})" in note


def test_a_check_that_zeros_are_not_against_is_not_ok_by_that() -> None:
    assert checked("out[63] == 0").verdict != "ok"


def test_a_check_of_what_was_written_holds() -> None:
    assert checked("out[0] == 7").verdict == "ok"
