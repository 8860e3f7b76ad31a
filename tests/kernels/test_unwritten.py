"""Shared memory that nothing wrote may hold anything: what is wrong with zeros in it, or something else, is wrong, and what
holds with them says nothing."""

from __future__ import annotations

import pytest

import ptxmm
from ptxcore.clock import OutOfTime
from ptxmm.kernels import check as checking
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
    (note,) = [note for note in found.notes if "nothing determines" in note]
    line = KERNEL[: KERNEL.index("@%q cp.async.bulk.global")].count("\n") + 1
    assert f":{line})" in note


def test_a_check_that_zeros_are_not_against_is_not_ok_by_that() -> None:
    assert checked("out[63] == 0").verdict != "ok"


def test_a_check_of_what_was_written_holds() -> None:
    assert checked("out[0] == 7").verdict == "ok"


#: Each of two warps writes a sum, and a thread for each of four words reads one and adds it.
SUMS = """
.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %t, %s, %r; .reg .b64 %out; .reg .pred %p;
.shared .align 4 .b8 m[16];
ld.param.u64 %out, [out];
mov.u32 %t, %tid.x; mov.u32 %s, m; shr.u32 %r, %t, 5; mad.lo.u32 %s, %r, 4, %s; and.b32 %r, %t, 31; setp.eq.u32 %p, %r, 0;
@%p st.shared.u32 [%s], 32;
bar.sync 0;
setp.lt.u32 %p, %t, READERS; @!%p bra DONE;
mov.u32 %s, m; mad.lo.u32 %s, %t, 4, %s;
ld.shared.u32 %r, [%s];
red.global.add.u32 [%out], %r;
DONE: ret;
}
"""


@pytest.mark.parametrize(("readers", "verdict"), [(2, "ok"), (4, "no")])
def test_a_sum_that_is_right_with_zeros_alone_is_wrong(readers: int, verdict: str) -> None:
    tree = {
        "ptx": "k.ptx", "grid": 1, "block": 64, "check": {"forall": "out[0] == 64", "race_free": True},
        "params": {"out": {"type": "u32", "elements": 1}},
    }  # fmt: skip
    found = ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": SUMS.replace("READERS", str(readers))}).test())
    assert found.verdict == verdict, found.error
    assert any("it has 0x3f in every byte" in note for note in found.notes) is (verdict == "no")


def test_zeros_alone_are_no_answer_where_the_time_ends_before_other_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = {
        "ptx": "k.ptx", "grid": 1, "block": 2, "check": {"forall": "out[0] == 32"},
        "params": {"out": {"type": "u32", "elements": 1}},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": SUMS.replace("READERS", "2")}).test()

    def late(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr(checking, "_unset", late)
    found = ptxmm.check(test)
    assert found.verdict == "undecided" and all(check.holds is None for check in found.checks)
