"""Tensor maps that a kernel puts into global memory, in launches that one run decides: the fences of their proxy."""

from __future__ import annotations

import pytest
from by_runs import by_runs

import ptxmm
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


_BEGINNING = {"out[0]": 0, "out[17]": 17, "out[63]": 63}


def copied(*changes: tuple[str, str], text: str = TEXT, then: dict[str, int] | None = None) -> KernelTest:
    """A kernel with some words instead of others; `then`: what more it computes, of a second tensor."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    second = {"b": {"type": "u32", "init": list(range(1000, 1128)), "align": 128}} if then else {}
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64,
        "params": {"map": {"tensor_map": {"buffer": "a", "dims": [16, 8], "box": [16, 4]}},
                   "g": {"type": "u64", "elements": 16}, **second,
                   "out": {"type": "u32", "elements": 128 if then else 64}},
        "memory": {"a": {"type": "u32", "init": list(range(128))}},
        "check": {"forall": " && ".join(f"{at} == {value}" for at, value in (_BEGINNING | (then or {})).items()),
                  "race_free": True, "terminates": True},
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


# A map that is changed for a second tensor, as products of groups of matrices have it: the first copy is by the map as it was,
# the second one by the map with another address, rows and distance of them.

_ADDRESS = "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [m], %rd5;"
_ROWS = "mov.u32 %r6, 2; tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [m], 1, %r6;"
_PITCH = "mov.b64 %rd9, 128; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [m], 0, %rd9;"
_ROWS_THERE = _ROWS.replace("shared::cta", "global").replace("[m]", "[%rd1]")
_EXPECTED = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;"
_OUT = "mov.u32 %r4, s; add.u32 %r4, %r4, %r3; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd2], %r5; add.u64 %rd2, %rd2, 256;"
_AGAIN = f"{ACQUIRE}  // again"
_HEAD = TEXT[: TEXT.index(" @%p1 bra THERE;")].replace(".param .u64 out)", ".param .u64 b, .param .u64 out)")
CHANGED = f"""{_HEAD}
 ld.param.u64 %rd5, [b]; shl.b32 %r3, %r1, 2; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3;
 @%p1 bra THERE;
 {RELEASE}
THERE: bar.sync 0;
 @%p0 bra WAIT;
 {ACQUIRE}
 {_EXPECTED}
 {LOAD}
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra WAIT;
 {_OUT}
 bar.sync 0;
 @%p0 bra CHANGED;
 {_ADDRESS}
 {_ROWS}
 {_PITCH}
CHANGED: bar.sync 0;
 @%p1 bra AGAIN;
 {RELEASE}  // again
AGAIN: bar.sync 0;
 @%p0 bra SECOND;
 fence.proxy.async.shared::cta;
 {_AGAIN}
 {_EXPECTED}
 {LOAD}  // again
SECOND: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1; @!%p2 bra SECOND;
 {_OUT}
 ret;
}}
"""
_THEN = {"out[64]": 1000, "out[81]": 1033, "out[96]": 0, "out[127]": 0}
_LATER = "AGAIN: bar.sync 0;\n @%p0 bra SECOND;"
#: Of a mistake: what is written instead of what, and the verdict.
MISTAKES: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "none": ((), "ok"),
    "no first release": (((RELEASE, ""),), "undefined"),
    "no second release": (((f"{RELEASE}  // again", ""),), "no"),
    "no first acquire": (((ACQUIRE, ""),), "undefined"),
    "no second acquire": (((_AGAIN, ""),), "undefined"),
    "an acquire of the tensor": (((_AGAIN, ACQUIRE.replace("%rd1]", "%rd5]")),), "undefined"),
    "an acquire behind the copy": (((_AGAIN, ""), (f"{LOAD}  // again", f"{LOAD} {ACQUIRE}")), "undefined"),
    "a fence of the async proxy alone": (((_AGAIN, "fence.proxy.async;"),), "undefined"),
    "an acquire by all threads behind the copy": (((_AGAIN, ""), ("SECOND: mbar", f"SECOND: {ACQUIRE} mbar")), "undefined"),
    "no fence of the async proxy": ((("fence.proxy.async.shared::cta;", ""),), "no"),
    "no address": (((_ADDRESS, ""),), "no"),
    "no rows": (((_ROWS, ""),), "no"),
    "no distance": (((_PITCH, ""),), "no"),
    "other rows": (((_ROWS, _ROWS.replace("%r6, 2", "%r6, 3")),), "no"),
    "another dimension": (((_ROWS, _ROWS.replace("[m], 1", "[m], 0")),), "no"),
    "another distance": (((_PITCH, _PITCH.replace("%rd9, 128", "%rd9, 64")),), "no"),
    "a distance that no map has": (((_PITCH, _PITCH.replace("%rd9, 128", "%rd9, 72")),), "undefined"),
    "a field behind the release": (((_ROWS, ""), ("AGAIN: bar", f"@%p0 bra AGAIN; {_ROWS}\nAGAIN: bar")), "no"),
    "a field of the copy behind the release": (((_ROWS, ""), (_LATER, f"{_LATER} {_ROWS_THERE}")), "undefined"),
    "no barrier between change and release": ((("CHANGED: bar.sync 0;", "CHANGED:"),), "no"),
    "a barrier of the warp there": ((("CHANGED: bar.sync 0;", "CHANGED: bar.warp.sync -1;"),), "ok"),
    "one scope is that of the CTA": (((_AGAIN, ACQUIRE.replace("gpu", "cta")),), "ok"),
}  # fmt: skip


@pytest.mark.part(6)
@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_with_a_map_that_is_changed_is_found(name: str) -> None:
    changes, verdict = MISTAKES[name]
    open_, result = told(copied(*changes, text=CHANGED, then=_THEN))
    assert (open_, result.verdict) == ("", verdict), result.error


def test_each_thread_of_a_warp_reads_what_it_copies_to_global_memory() -> None:
    """`.sync` orders no memory, and which thread copies is in no text (9.7.13.16): a race of the change and the copy."""
    _, result = told(copied(*MISTAKES["no barrier between change and release"][0], text=CHANGED, then=_THEN))
    one, other = result.races[0].events
    assert one.instruction.startswith("tensormap.replace") and other.instruction.startswith("tensormap.cp_fenceproxy")


def test_a_fence_of_the_generic_proxy_acquires_no_map() -> None:
    """The formula knows no copies by maps that threads write: what is wrong, runs show."""
    result = ptxmm.check(copied((_AGAIN, "fence.acq_rel.gpu;"), text=CHANGED, then=_THEN))
    assert result.undefined is not None and result.undefined.flag == "async"
