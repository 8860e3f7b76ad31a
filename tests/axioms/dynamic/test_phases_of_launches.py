"""Threads that meet at mbarrier objects, decided by one run of all threads, beside the formula; and rings of buffers at their
size, with each mistake planted and without."""

from __future__ import annotations

import generated_phases
import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(42, 46), range(40, 54)))
def test_one_run_says_of_phases_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_phases.kernel, seeds, monkeypatch, may_be_undefined=True)
    assert min(verdicts["ok"], verdicts["no"]) > 1


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_one_run_says_of_many_phases_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_phases.kernel, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)
    assert verdicts["ok"] or share(3000) < 50  # a few kernels may all be wrong


_RING = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
 .shared .align 16 .b8 s[512]; .shared .align 8 .b64 m[8];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 0; mov.u32 %r4, 0;
 setp.ne.u32 %p2, %r1, 0; @%p2 bra READY;
INIT:
 mul.lo.u32 %r5, %r4, 8; mov.u32 %r6, m; add.u32 %r5, %r5, %r6;
 mbarrier.init.shared.b64 [%r5], 32; mbarrier.init.shared.b64 [%r5+32], {count};
 add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 4; @%p2 bra INIT;
 mov.u32 %r4, 0;
READY:
 {ready}
 shl.b32 %r7, %r2, 2; setp.ge.u32 %p3, %r1, 32; @%p3 bra CONSUMER;
PRODUCER:
 and.b32 %r8, %r4, 3; mul.lo.u32 %r9, %r8, 8; mov.u32 %r6, m; add.u32 %r9, %r9, %r6;
 shr.u32 %r10, %r4, 2; and.b32 %r10, %r10, 1; xor.b32 %r10, %r10, {first};
EMPTY:
 {empty}
 mul.lo.u32 %r11, %r8, 128; mov.u32 %r12, s; add.u32 %r11, %r11, %r12; add.u32 %r11, %r11, %r7;
 st.shared.u32 [%r11], %r4;
 mbarrier.arrive.{release}.cta.shared.b64 _, [%r9];
 add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 16; @%p2 bra PRODUCER;
 ret;
CONSUMER:
 and.b32 %r8, %r4, 3; mul.lo.u32 %r9, %r8, 8; mov.u32 %r6, m; add.u32 %r9, %r9, %r6;
 shr.u32 %r10, %r4, 2; and.b32 %r10, %r10, 1;
FULL:
 {full}
 mul.lo.u32 %r11, %r8, 128; mov.u32 %r12, s; add.u32 %r11, %r11, %r12; add.u32 %r11, %r11, %r7;
 ld.shared.u32 %r13, [%r11]; add.u32 %r3, %r3, %r13;
 {together}
 @%p1 mbarrier.arrive.release.cta.shared.b64 _, [%r9+32];
 add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 16; @%p2 bra CONSUMER;
 mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r3;
 ret;
}}"""
_RIGHT = {
    "count": "11", "ready": "bar.sync 0;", "first": "1", "release": "release", "together": "bar.warp.sync -1;",
    "empty": "mbarrier.try_wait.parity.shared.b64 %p4, [%r9+32], %r10; @!%p4 bra EMPTY;",
    "full": "mbarrier.try_wait.parity.shared.b64 %p4, [%r9], %r10; @!%p4 bra FULL;",
}  # fmt: skip


def _ring(block: str = "384", **changed: str) -> KernelTest:
    """A warp fills four buffers again and again, the others read them."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": int(block), "params": {"x": {"type": "u32", "elements": 384}},
        "check": {"forall": "x[32] == 120 && x[95] == 120", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _RING.format(**{**_RIGHT, **changed})}).test()


@pytest.mark.long
def test_a_ring_of_buffers_is_decided_at_its_size() -> None:
    open_, found = by_runs(_ring())
    assert not open_ and found.verdict == "ok"
    assert "6,144 waits for what others write" in found.notes[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("changed", "verdict", "line"),
    [
        ({"ready": ""}, "undefined", "mbarrier.init"),
        ({"empty": ""}, "undefined", "mbarrier.arrive"),
        ({"full": ""}, "no", "st.shared"),
        ({"release": "relaxed"}, "no", "st.shared"),
        ({"together": ""}, "no", "st.shared"),
        ({"first": "0", "count": "2", "block": "96"}, "no", "[%r9+32], %r10"),
        ({"count": "3", "block": "96"}, "no", "[%r9+32], %r10"),
        ({"count": "10"}, "undefined", "[%r9+32]"),
    ],
    ids=str,
)  # fmt: skip
def test_each_mistake_in_a_ring_is_found_at_its_line(changed: dict[str, str], verdict: str, line: str) -> None:
    result = checking.check(_ring(**changed), model_named("ptx-9.0"))
    assert result.verdict == verdict
    text = _RING.format(**{**_RIGHT, **changed}).splitlines()
    places = [spot.line for spot, _ in result.places] + [s.line for c in result.checks for s, _ in c.spots]
    places += [event.line for race in result.races for event in race.events]
    assert any(line in text[place - 1] for place in places if place), (result.error, places)
