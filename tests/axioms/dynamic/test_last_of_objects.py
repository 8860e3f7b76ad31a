"""Who is last gives mbarrier objects back that lie beside the counter of who is left, which a thread sets by a strong store: as
the destructor of `cuda::pipeline` does, at 64 threads, right and with one mistake."""

from __future__ import annotations

import pytest

import ptxmm
from ptxmm.kernels.toml import KernelFile

_TEXT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .shared .align 8 .b64 m[2]; .shared .align 4 .b32 left;
 mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; and.b32 %r2, %r1, 31; setp.ne.u32 %p3, %r2, 0;
 @%p1 bra A;
 mbarrier.init.shared.b64 [m], 64; mbarrier.init.shared.b64 [m+8], 64;
 st.relaxed.cta.shared.u32 [left], 2;
A: bar.sync 0;
 mbarrier.arrive.shared.b64 %rd1, [m];
W: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra W;
 mbarrier.arrive.shared.b64 %rd1, [m+8];
 bar.warp.sync -1;
 @%p3 bra E;
 fence.acq_rel.cta;
 atom.add.acquire.cta.shared.u32 %r3, [left], -1;
 setp.ne.u32 %p2, %r3, 1; @%p2 bra E;
 mbarrier.inval.shared.b64 [m]; mbarrier.inval.shared.b64 [m+8];
E: ret;
}
"""


def _found(old: str = "", new: str = "", threads: int = 64) -> str:
    assert old in _TEXT
    text = (_TEXT.replace(old, new) if old else _TEXT).replace("], 64;", f"], {threads};")
    tree = {
        "ptx": "k.ptx", "grid": 1, "block": threads, "params": {"x": {"type": "u32", "elements": 1}},
        "check": {"terminates": True, "race_free": True},
    }  # fmt: skip
    return ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test(), timeout=300).verdict


def test_who_is_last_gives_objects_back() -> None:
    assert _found() == "ok"


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" bar.warp.sync -1;\n", ""),  # lanes may still arrive
        ("fence.acq_rel.cta;", ""),  # nothing is released
        ("atom.add.acquire", "atom.add.relaxed"),
        ("%p2, %r3, 1;", "%p2, %r3, 2;"),  # the first one gives them back
        ("bar.warp.sync -1;", "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;"),  # which orders no memory
    ],
)
def test_whom_nothing_orders_with_all_others_gives_back_too_early(old: str, new: str) -> None:
    assert _found(old, new) != "ok"
