"""Of a race with an asynchronous operation: at which of the two accesses to look, and what lacks there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: What stands where nothing is wrong.
_RIGHT = {
    "fence": "fence.proxy.async.shared::cta;",
    "meets": "bar.sync 0;",
    "stored": "cp.async.bulk.wait_group.read 0;",
    "copied": "cp.async.wait_group 0;",
    "loads": "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra WAIT;",
}
_PTX = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %rd<6>;
 .shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;
 ld.param.u64 %rd1, [x]; mov.u32 %r2, %tid.x; setp.ne.u32 %p, %r2, 0;
 mov.u32 %r3, s; shl.b32 %r4, %r2, 2; add.u32 %r3, %r3, %r4;
 st.shared.u32 [%r3], 1;
 {fence}
 {meets}
 @%p bra STORED;
 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 256;
 cp.async.bulk.commit_group;
 {stored}
STORED: bar.sync 0;
 st.shared.u32 [%r3], 2;
 cp.async.ca.shared.global [%r3+256], [%rd1+1024], 4;
 cp.async.commit_group;
 {copied}
 ld.shared.u32 %r5, [%r3+256];
 @%p bra MADE;
 mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster;
MADE: bar.sync 0;
 @%p bra ISSUED;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+512], [%rd1+2048], 256, [bar];
ISSUED:
 {loads}
 ld.shared.u32 %r6, [%r3+512];
 @%p ret;
 cp.async.bulk.wait_group 0;
 ret;
}}"""
_STORE, _COPY, _AGAIN, _LOAD = 10, 14, 18, 22


def _test(holes: Mapping[str, str]) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64,
        "params": {"x": {"type": "u32", "elements": 1024, "init": [0]}}, "check": {"race_free": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _PTX.format(**_RIGHT | holes)}).test()


def test_there_is_no_race_where_nothing_lacks() -> None:
    assert ptxmm.check(_test({})).verdict == "ok"


@pytest.mark.parametrize(
    ("hole", "text", "line", "what"),
    [
        ("fence", "", _COPY, f"no fence.proxy.async orders the access at k.toml:{_STORE} before this"),
        ("stored", "", _AGAIN, f"this does not come behind a cp.async.bulk.wait_group for the copy at k.toml:{_COPY}"),
        ("copied", "", _LOAD, "this does not come behind a cp.async.wait_group, or a cp.async.mbarrier.arrive that is waited "
                              "for, of the copy at k.toml:19"),
        ("loads", "", 31, "this comes neither before what k.toml:28 issues, nor behind a wait for it"),
        ("loads", "@%p ret;", 31, "this does not come behind a wait for the phase that counts the copy at k.toml:28"),
        ("meets", "", _STORE, f"this comes neither before what k.toml:{_COPY} issues, nor behind a wait for it"),
    ],
)  # fmt: skip
def test_what_lacks_is_told_first_at_its_line(hole: str, text: str, line: int, what: str) -> None:
    found = ptxmm.check(_test({hole: text}))
    assert found.verdict == "undefined"
    (race,) = found.races
    assert [(cause.spot.line, cause.what) for cause in race.causes] == [(line, what)]
