"""Tensor maps that a kernel puts into global memory, in launches that one run decides: the fences of their proxy."""

from __future__ import annotations

import pytest
from by_runs import by_runs

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_WORDS = "\n".join(f" ld.param.u64 %rd9, [map+{at}]; st.shared.u64 [m+{at}], %rd9;" for at in range(0, 128, 8))
RELEASE = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [m], 128;"
ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;"
LOAD = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%rd1, {%r2, %r2}], [bar];"
#: Warp 0 copies a map to global memory, thread 0 copies a box by it, which all read.
TEXT = f""".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 g, .param .u64 out)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<12>;
 .shared .align 128 .b8 s[256]; .shared .align 128 .b8 m[128]; .shared .align 8 .b64 bar;
 ld.param.u64 %rd1, [g]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; setp.ne.u32 %p0, %r1, 0;
 setp.ge.u32 %p1, %r1, 32;
 @%p0 bra FILLED;
{_WORDS}
 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
FILLED:
 bar.sync 0;
 @%p1 bra THERE;
 {RELEASE}
 {ACQUIRE}
THERE:
 bar.sync 0;
 @%p0 bra WAIT;
 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
 {LOAD}
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra WAIT;
 shl.b32 %r3, %r1, 2; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; ld.shared.u32 %r5, [%r4];
 mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], %r5;
 ret;
}}
"""
_COPIED = "\n".join(f" ld.shared.u64 %rd9, [m+{at}]; st.global.u64 [%rd1+{at}], %rd9;" for at in range(0, 128, 8))
_BY_HAND = f"@%p0 bra THERE;\n{_COPIED}"
_OTHER_WARP = f"bar.sync 0; @!%p1 bra DONE; {ACQUIRE} DONE: bar.sync 0;"


def copied(*changes: tuple[str, str]) -> KernelTest:
    """The kernel with some words instead of others."""
    text = TEXT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64,
        "params": {"map": {"tensor_map": {"buffer": "a", "dims": [16, 8], "box": [16, 4]}},
                   "g": {"type": "u64", "elements": 16}, "out": {"type": "u32", "elements": 64}},
        "memory": {"a": {"type": "u32", "init": list(range(128))}},
        "check": {"forall": "out[0] == 0 && out[17] == 17 && out[63] == 63", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def told(test: KernelTest) -> tuple[str, Result]:
    """Why runs leave a test open, and their answer."""
    open_, result = by_runs(test)
    return open_, result


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ((ACQUIRE, ""), ("THERE:\n bar.sync 0;", f"THERE:\n {_OTHER_WARP}")),
        ((RELEASE, f"{_BY_HAND} fence.proxy.tensormap::generic.release.gpu;"),),
    ],
    ids=["by one warp", "acquired by another", "copied by hand"],
)
def test_maps_that_are_released_and_acquired_may_be_used(changes: tuple[tuple[str, str], ...]) -> None:
    open_, result = told(copied(*changes))
    assert (open_, result.verdict) == ("", "ok"), result.error
    assert "some do on those of g (k.toml:" in result.notes[1]  # which holds the map


@pytest.mark.parametrize(
    "changes",
    [
        ((ACQUIRE, ""),),
        ((ACQUIRE, ACQUIRE.replace("%rd1]", "%rd2]")),),
        ((RELEASE, _BY_HAND),),
        ((RELEASE, f"fence.proxy.tensormap::generic.release.gpu; {_BY_HAND}"),),
    ],
    ids=["no acquire", "of another map", "no release", "a release before"],
)
def test_maps_without_both_fences_race(changes: tuple[tuple[str, str], ...]) -> None:
    open_, result = told(copied(*changes))
    assert (open_, result.verdict) == ("", "undefined")
    assert result.races[0].events[1].instruction.startswith("cp.async.bulk.tensor")


def test_an_acquire_that_the_release_does_not_come_before_leaves_it_open() -> None:
    """Threads of another warp execute it beside the release."""
    open_, _ = told(copied((ACQUIRE, ""), ("@%p1 bra THERE;", f"@!%p1 bra HERE; {ACQUIRE} bra THERE;\nHERE:")))
    assert "a tensor map in memory that threads write" in open_


def test_a_map_that_is_changed_while_it_is_read_races() -> None:
    open_, result = told(copied((LOAD, f"{LOAD} st.global.u64 [%rd1+8], %rd9;")))
    assert (open_, result.verdict) == ("", "undefined")
