"""Bytes whose strong accesses barriers order, beside operations whose order is open: several runs, and the formula."""

from __future__ import annotations

import random

import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<5>; .reg .b32 %r<12>; .reg .b64 %rd<6>; .shared .align 4 .b8 s[16];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r9, %ntid.x; mad.lo.u32 %r9, %r2, %r9, %r1;
 mov.u32 %r3, 1; mov.u32 %r4, 0; mov.u32 %r5, 0;
"""
_STAGED = (
    "st.volatile.shared.u32 [s+{w}], {v};", "ld.volatile.shared.u32 {v}, [s+{w}];",
    "st.relaxed.cta.shared.u32 [s+{w}], {v};", "ld.relaxed.cta.shared.u32 {v}, [s+{w}];", "ld.shared.u32 {v}, [s+{w}];",
)  # fmt: skip
_OPEN = (
    "ld.relaxed.gpu.global.u32 {v}, [%rd1+{g}];", "st.relaxed.gpu.global.u32 [%rd1+{g}], {v};",
    "atom.relaxed.gpu.global.add.u32 {v}, [%rd1+{g}], 1;", "st.release.gpu.global.u32 [%rd1+{g}], {v};",
    "ld.acquire.gpu.global.u32 {v}, [%rd1+{g}];", "fence.acq_rel.gpu;",
    "atom.acq_rel.gpu.global.exch.b32 {v}, [%rd1+{g}], {v};",
)  # fmt: skip
_BARRIERS = ("bar.sync 0;", "bar.warp.sync {mask};", "bar.sync 0;")


def _anything(choose: random.Random, threads: int) -> list[str]:
    """Statements of each thread, between barriers."""
    lines = []
    for _ in range(choose.randint(2, 4)):
        for thread in range(threads):
            lines.append(f"setp.eq.u32 %p1, %r1, {thread};")
            for _ in range(choose.randint(0, 2)):
                lines.append("@%p1 " + _statement(choose, choose.choice(_STAGED + _STAGED + _OPEN)))
        if choose.random() < 0.85:
            lines.append(_barrier(choose, threads))
    return lines


def _handed(choose: random.Random, threads: int) -> list[str]:
    """A thread hands something over to another one, by barriers, and both do something whose order is open."""
    lines = []
    for _ in range(choose.randint(2, 3)):
        one, other = choose.sample(range(threads), 2)
        put, take = choose.choice(_STAGED[:3:2]), choose.choice(_STAGED[1::2] + _STAGED[4:])
        for thread, forms in ((one, (choose.choice(_OPEN), put)), (other, (take, choose.choice(_OPEN)))):
            lines.append(f"setp.eq.u32 %p1, %r1, {thread};")
            lines += ["@%p1 " + _statement(choose, form) for form in forms if choose.random() < 0.9]
            if choose.random() < 0.8:
                lines.append(_barrier(choose, threads))
    return lines


def _statement(choose: random.Random, form: str) -> str:
    return form.format(w=4 * choose.randrange(2), g=4 * choose.randrange(2), v=choose.choice(("%r3", "%r4", "%r5")))


def _barrier(choose: random.Random, threads: int) -> str:
    return choose.choice(_BARRIERS).format(mask=(1 << threads) - 1)


def _kernel(seed: int) -> KernelTest:
    """One or two CTAs of two or three threads that hand values over through shared memory, by strong accesses between barriers,
    and change words of global memory in any order."""
    choose = random.Random(seed)
    threads, grid = choose.choice((2, 2, 3)), choose.choice((1, 2, 2))
    lines = choose.choice((_anything, _handed, _handed))(choose, threads)
    begin = "@!%p4 bra BEGUN; st.shared.u32 [s], 0; st.shared.u32 [s+4], 0; BEGUN: bar.sync 0;"
    out = (
        "mul.wide.u32 %rd2, %r9, 8; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3+8], %r4; "
        "st.global.u32 [%rd3+12], %r5; ret;"
    )
    text = "\n ".join([_HEAD, "setp.eq.u32 %p4, %r1, 0;", begin, *lines, out, "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": threads,
        "params": {"x": {"type": "u32", "elements": 16, "init": [0]}},
        "check": {"forall": " && ".join(f"x[{i}] < 90" for i in range(16)), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(6), range(40)))
def test_what_runs_say_beside_settled_bytes_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_kernel, seeds, monkeypatch, may_be_undefined=True)


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_runs_say_of_many_kernels_with_settled_bytes_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_kernel, range(1000, 1000 + share(4000)), monkeypatch, may_be_undefined=True)


#: A block's sum by warps over volatile shared memory, and a last block that adds up what all have left.
_LAST_BLOCK = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 done;
.visible .entry k(.param .u64 out)
{{
 .reg .pred %p<5>; .reg .b32 %r<12>; .reg .b64 %rd<6>; .shared .align 4 .b8 s[256]; .shared .align 4 .u32 last;
 ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r1, 2; mov.u32 %r4, s;
 add.u32 %r4, %r4, %r3;
 setp.eq.u32 %p1, %r1, 0; mov.u32 %r5, 1; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1; mov.u32 %r10, 0;
SUM: st.volatile.shared.u32 [%r4], %r5; bar.sync 0; mov.u32 %r6, 16; and.b32 %r7, %r1, 31;
HALF: setp.lt.u32 %p2, %r7, %r6; shl.b32 %r8, %r6, 2; add.u32 %r8, %r8, %r4;
 @%p2 ld.volatile.shared.u32 %r9, [%r8]; @%p2 add.u32 %r5, %r5, %r9; @%p2 st.volatile.shared.u32 [%r4], %r5;
 {between} shr.u32 %r6, %r6, 1; setp.ne.u32 %p3, %r6, 0; @%p3 bra HALF;
 bar.sync 0; @%p1 ld.volatile.shared.u32 %r9, [s+128]; @%p1 add.u32 %r5, %r5, %r9;
 setp.ne.u32 %p4, %r10, 0; @%p4 bra END;
 @%p1 st.global.u32 [%rd2], %r5; @%p1 fence.acq_rel.gpu; @%p1 atom.relaxed.gpu.global.add.u32 %r11, [done], 1; {acquired}
 @%p1 st.shared.u32 [last], %r11; bar.sync 0; ld.shared.u32 %r11, [last]; setp.ne.u32 %p4, %r11, 1; @%p4 ret;
 mov.u32 %r10, 1; mov.u32 %r5, 0; setp.lt.u32 %p4, %r1, 2; cvt.u64.u32 %rd4, %r3; add.u64 %rd3, %rd1, %rd4;
 @%p4 ld.global.u32 %r5, [%rd3]; bra SUM;
END: @%p1 st.global.u32 [%rd1+16], %r5; ret;
}}"""


@pytest.mark.parametrize(
    ("between", "acquired", "verdict"),
    [
        ("bar.warp.sync -1;", "@%p1 fence.acq_rel.gpu;", "ok"), ("", "@%p1 fence.acq_rel.gpu;", "no"),
        ("bar.warp.sync -1;", "", "no"),
    ],
)  # fmt: skip
def test_a_last_block_after_sums_over_volatile_shared_memory(between: str, acquired: str, verdict: str) -> None:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 64,
        "params": {"out": {"type": "u32", "elements": 8, "init": [0]}},
        "check": {"forall": "out[4] == 128", "race_free": True, "terminates": True},
    }  # fmt: skip
    text = _LAST_BLOCK.format(between=between, acquired=acquired)
    open_, found = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert found.verdict == verdict and not open_
