"""What pipelines of libraries do beside waiting, and runs must know of: warps whose lanes wait at an object and elect who goes
on, registers that hold something undefined and decide nothing, Tensor Memory that is allocated as a whole."""

from __future__ import annotations

import pytest
from by_runs import by_runs
from tensor_memory_kernels import ALLOC, DEALLOC, changed, ring

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: A warp refills a buffer that another one reads, three times: all its lanes wait, and one of them copies.
_RING = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 out)
{
 .reg .pred %p, %q, %w; .reg .b32 %r<9>; .reg .b64 %a, %out, %at;
 .shared .align 128 .b8 s[128]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
 ld.param.u64 %a, [a]; ld.param.u64 %out, [out]; mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0;
 @%p bra BEGUN;
 mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [empty], 32;
 fence.mbarrier_init.release.cluster;
BEGUN: bar.sync 0;
 mov.u32 %r2, 0; mov.u32 %r5, 0; setp.ge.u32 %p, %r0, 32; @%p bra READ;
 elect.sync _|%w, -1;
FILL:
 and.b32 %r3, %r2, 1; xor.b32 %r3, %r3, 1;
FREE: mbarrier.try_wait.parity.shared.b64 %q, [empty], %r3; @!%q bra FREE;
 @%w mbarrier.arrive.expect_tx.shared.b64 _, [full], 16;
 elect.sync _|%p, -1;
 @%p fence.proxy.async.shared::cta;
 @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%a], 16, [full];
 add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 3; @%q bra FILL;
 ret;
READ:
 and.b32 %r3, %r2, 1;
FULL: mbarrier.try_wait.parity.shared.b64 %q, [full], %r3; @!%q bra FULL;
 ld.shared.u32 %r4, [s]; add.u32 %r5, %r5, %r4;
 mbarrier.arrive.shared.b64 _, [empty];
 add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 3; @%q bra READ;
 sub.u32 %r0, %r0, 32; mul.wide.u32 %at, %r0, 4; add.u64 %out, %out, %at;
 st.global.u32 [%out], %r5;
 ret;
}
"""
_ELECT = "elect.sync _|%p, -1;\n @%p fence"


def _ring(*changes: tuple[str, str]) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64,
        "params": {"a": {"type": "u32", "elements": 4, "init": 5}, "out": {"type": "u32", "elements": 32}},
        "check": {"forall": "out[0] == 15 && out[31] == 15", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": changed(_RING, changes)}).test()


def test_lanes_that_come_together_have_waited() -> None:
    """Each lane waits for the buffer; without the election in the loop one of them may come a phase too late."""
    open_, result = by_runs(_ring())
    assert (open_, result.verdict) == ("", "ok")
    open_, result = by_runs(_ring((_ELECT, "mov.pred %p, %w;\n @%p fence")))
    assert "whose phase is open" in open_


def test_coming_together_orders_no_memory() -> None:
    racing = "elect.sync _|%p, -1; setp.eq.u32 %q, %r0, 0; @%q st.shared.u32 [s+64], 1; elect.sync _|%p, -1;"
    racing += " setp.eq.u32 %q, %r0, 1; @%q ld.shared.u32 %r4, [s+64]; setp.ge.u32 %p, %r0, 32; @%p bra READ;"
    _, result = by_runs(_ring(("setp.ge.u32 %p, %r0, 32; @%p bra READ;", racing)))
    assert result.verdict == "no"


@pytest.mark.parametrize(
    ("more", "decided"),
    [
        ("add.u32 %r6, %r7, 1; mul.lo.u32 %r6, %r6, %r5;", True),
        ("add.u32 %r6, %r7, 1; add.u32 %r5, %r5, %r6;", False),
        ("setp.eq.u32 %p, %r7, 1; @%p bra READ;", False),
    ],
)
def test_what_is_undefined_may_be_computed_with(more: str, decided: bool) -> None:
    """Registers of a response that told of no cluster, say, before it is looked at; but nothing may come of them."""
    load = "ld.shared.u32 %r4, [s]; add.u32 %r5, %r5, %r4;"
    unset = "setp.eq.u32 %p, %r4, 77; @%p mov.u32 %r7, 1; "
    open_, result = by_runs(_ring((load, f"{load} {unset} {more}")))
    assert (result.verdict == "ok" and not open_) is decided


@pytest.mark.long
def test_an_allocation_of_all_columns_is_where_it_is() -> None:
    """512 columns begin with the first one, so that code may look at their address; fewer may be anywhere."""
    look = " and.b32 %r3, %base, 0x1ff; setp.ne.u32 %p0, %r3, 0; @%p0 bra END;\n setp.ge.u32 %p0, %t, 160;"
    asks = (" setp.ge.u32 %p0, %t, 160;", look)
    whole = tuple((words, words.replace("32;", "512;")) for words in (ALLOC, DEALLOC))
    open_, result = by_runs(ring(*whole, asks))
    assert (open_, result.verdict) == ("", "ok")
    open_, result = by_runs(ring(asks))
    assert open_ or result.verdict != "ok"
