"""Patterns that people write, at more threads than a formula takes: right as few runs decide them, and with one mistake,
which a run shows whatever the order of threads hides.

The last block of a reduction, a barrier of a grid as cooperative groups have it, rings that two CTAs hand over by counters.
"""

from __future__ import annotations

import pytest

import ptxmm.api
from ptxmm.kernels.check import check
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 flags)
{{
 .reg .pred %p<6>; .reg .b32 %r<20>; .reg .b64 %rd<12>;
 .shared .align 4 .b8 s[1024]; .shared .align 4 .b8 last[4];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [flags];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.x;
 mad.lo.u32 %r5, %r2, %r3, %r1; mul.wide.u32 %rd4, %r5, 4; mul.wide.u32 %rd5, %r2, 4; mul.wide.u32 %rd6, %r1, 4;
 setp.eq.u32 %p1, %r1, 0;
{body}
 ret;
}}
"""

#: Each CTA leaves something, counts, and the last one reads what all have left.
_LAST_BLOCK = """
 @!%p1 bra MEET;
 add.u64 %rd7, %rd1, %rd5; add.u32 %r6, %r2, 1; st.global.u32 [%rd7], %r6;
 {release}
 add.u32 %r7, %r4, -1; atom.global.inc.u32 %r8, [%rd3], %r7; setp.eq.u32 %p2, %r8, %r7; selp.u32 %r9, 1, 0, %p2;
 st.shared.u32 [last], %r9;
 {acquire}
MEET: bar.sync 0;
 ld.shared.u32 %r10, [last]; setp.eq.u32 %p3, %r10, 0; setp.ge.u32 %p4, %r1, %r4; or.pred %p3, %p3, %p4;
 @%p3 bra END;
 add.u64 %rd8, %rd1, %rd6; ld.volatile.global.u32 %r11, [%rd8]; add.u64 %rd9, %rd2, %rd6; st.global.u32 [%rd9], %r11;
END:"""

#: All threads of a grid meet: the first CTA adds what is left to 2^31, and all look at the highest bit.
_GRID_BARRIER = """
 bar.sync 0;
 @!%p1 bra MET{n};
 sub.u32 %r6, -2147483647, %r4; setp.eq.u32 %p2, %r2, 0; selp.u32 %r7, %r6, 1, %p2;
 {release}
 atom.global.add.u32 %r8, [%rd3], %r7;
LOOK{n}: ld.volatile.global.u32 %r9, [%rd3]; xor.b32 %r10, %r9, %r8; setp.gt.s32 %p3, %r10, -1; @%p3 bra LOOK{n};
 {acquire}
MET{n}: bar.sync 0;
"""
_TO_AND_FRO = """
 add.u64 %rd7, %rd1, %rd4; st.global.u32 [%rd7], %r5;
 mul.lo.u32 %r11, %r3, %r4; not.b32 %r12, %r5; add.u32 %r12, %r11, %r12;
 mul.wide.u32 %rd8, %r12, 4; add.u64 %rd8, %rd1, %rd8; add.u64 %rd9, %rd2, %rd4;
{first} ld.global.u32 %r13, [%rd8];
{second} st.global.u32 [%rd7], %r13;
{third} ld.global.u32 %r14, [%rd8]; st.global.u32 [%rd9], %r14;"""

#: The first CTA fills a ring of two buffers six times, the second one empties it.
_RING = """
 setp.ne.u32 %p2, %r2, 0; mov.u32 %r6, 0; @%p2 bra TAKE;
FILL: @!%p1 bra FILLING;
FULL: ld.acquire.gpu.global.u32 %r7, [%rd3+4]; sub.u32 %r8, %r6, %r7; setp.ge.u32 %p3, %r8, {depth}; @%p3 bra FULL;
FILLING: bar.sync 0;
 and.b32 %r9, %r6, 1; mad.lo.u32 %r9, %r9, %r3, %r1; mul.wide.u32 %rd7, %r9, 4; add.u64 %rd7, %rd1, %rd7;
 st.global.u32 [%rd7], %r6;
 {meet}
 add.u32 %r6, %r6, 1;
 @%p1 st.release.gpu.global.u32 [%rd3], %r6;
 setp.lt.u32 %p4, %r6, 6; @%p4 bra FILL;
 bra END;
TAKE: @!%p1 bra TAKING;
EMPTY: ld.acquire.gpu.global.u32 %r7, [%rd3]; setp.le.u32 %p3, %r7, %r6; @%p3 bra EMPTY;
TAKING: bar.sync 0;
 and.b32 %r9, %r6, 1; mad.lo.u32 %r9, %r9, %r3, %r1; mul.wide.u32 %rd7, %r9, 4; add.u64 %rd7, %rd1, %rd7;
 ld.global.u32 %r10, [%rd7];
 bar.sync 0;
 add.u32 %r6, %r6, 1;
 @%p1 st.release.gpu.global.u32 [%rd3+4], %r6;
 setp.lt.u32 %p4, %r6, 6; @%p4 bra TAKE;
 add.u64 %rd8, %rd2, %rd6; st.global.u32 [%rd8], %r10;
END:"""

#: CTAs add up in order, as CUTLASS' semaphores have it: one thread looks, and tells the others by a barrier.
_SPLIT_K = """
 mov.u32 %r6, -1;
LOOK: setp.{compare}.u32 %p2, %r6, %r2;
 bar.red.{how}.pred %p3, 0, %p2;
 @{going}%p3 bra GO;
 @%p1 ld.{acquire}.gpu.global.u32 %r6, [%rd3];
 bra LOOK;
GO: add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r7, [%rd7]; add.u32 %r7, %r7, %r1; st.global.u32 [%rd7], %r7;
 {meet}
 add.u32 %r8, %r2, 1; @%p1 st.release.gpu.global.u32 [%rd3], %r8;
"""


def _checked(body: str, grid: int, block: int) -> Result:
    sizes = {"x": grid * block, "y": grid * block, "flags": 2}
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {name: {"type": "u32", "elements": size} for name, size in sizes.items()},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _TEXT.format(body=body)}).test()
    return check(test, ptxmm.api.model_named("ptx-9.0"))


@pytest.mark.parametrize(
    ("release", "acquire", "verdict"),
    [("membar.gl;", "membar.gl;", "ok"), ("", "membar.gl;", "no"), ("membar.gl;", "", "no")],
)
def test_no_order_of_fences_hides_what_the_last_block_does_not_wait_for(
    release: str, acquire: str, verdict: str
) -> None:
    result = _checked(_LAST_BLOCK.format(release=release, acquire=acquire), 4, 64)
    assert result.verdict == verdict
    assert [race.kind for race in result.races] == ["data"] * (verdict == "no")


@pytest.mark.parametrize(
    ("release", "acquire", "verdict"),
    [("membar.gl;", "membar.gl;", "ok"), ("", "membar.gl;", "no"), ("membar.gl;", "", "no")],
)
def test_one_run_decides_what_meets_again_and_again(release: str, acquire: str, verdict: str) -> None:
    first, second, third = (_GRID_BARRIER.format(n=n, release=release, acquire=acquire) for n in range(3))
    result = _checked(_TO_AND_FRO.format(first=first, second=second, third=third), 4, 64)
    assert result.verdict == verdict and result.runs == 1


@pytest.mark.parametrize(
    ("depth", "meet", "verdict"), [("2", "bar.sync 0;", "ok"), ("3", "bar.sync 0;", "no"), ("2", "", "no")]
)
def test_who_need_not_wait_at_first_may_still_be_certain_later(depth: str, meet: str, verdict: str) -> None:
    result = _checked(_RING.format(depth=depth, meet=meet), 2, 64)
    assert result.verdict == verdict and result.runs <= 1


@pytest.mark.part(3)
@pytest.mark.parametrize(("compare", "how", "going"), [("ne", "and", "!"), ("eq", "or", "")])
@pytest.mark.parametrize(
    ("acquire", "meet", "verdict"),
    [("acquire", "bar.sync 0;", "ok"), ("relaxed", "bar.sync 0;", "no"), ("acquire", "", "no")],
)
def test_a_cta_looks_together_for_what_one_of_its_threads_finds(
    compare: str, how: str, going: str, acquire: str, meet: str, verdict: str
) -> None:
    body = _SPLIT_K.format(compare=compare, how=how, going=going, acquire=acquire, meet=meet)
    result = _checked(body, 4, 64)
    assert result.verdict == verdict and result.runs <= 1
