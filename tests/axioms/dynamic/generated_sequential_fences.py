"""Generated kernels in which `fence.sc` of threads that neither write nor read what tells synchronize.

Threads of a CTA write data; one of them tells so, by a flag or a counter; one of another CTA learns of it, and others of its
CTA read the data. Fences are executed before the barrier or behind it, by all threads, the one that tells, or others.
"""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<6>; .shared .align 4 .b8 s[4];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r9, 0;
 mad.lo.u32 %r3, %r1, 2, %r2; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
 setp.ne.u32 %p1, %r2, 0;
"""
#: Words of `x` with data, one for each of two threads of three CTAs; behind them flags.
_DATA, _FLAGS = 6, 3
_BAR = "bar.sync 0;"


def _fence(choose: random.Random) -> str:
    """A fence, mostly one that all others are in the scope of, by the thread that tells or learns, another, or both."""
    who = choose.choice(("", "", "", "@%p1 ", "@!%p1 "))
    others = ("membar.gl;", "fence.sc.sys;", "fence.sc.cta;", "fence.acq_rel.gpu;")
    return who + choose.choice(("fence.sc.gpu;",) * 6 + others)


def _around(choose: random.Random, *, likely_before: bool) -> str:
    """A barrier, with a fence on one side, on both, or on none."""
    before = choose.random() < (0.85 if likely_before else 0.3)
    behind = choose.random() < (0.3 if likely_before else 0.85)
    return f"{_fence(choose) if before else ''} {_BAR} {_fence(choose) if behind else ''}"


def _data(choose: random.Random) -> tuple[str, str]:
    """How data are written and read."""
    return choose.choice((("st.global", "ld.global"),) * 3 + (("st.volatile.global", "ld.volatile.global"),))


def _last(choose: random.Random) -> list[str]:
    """The CTA that comes last adds up what all have written."""
    count = choose.choice((2, 2, 3))
    store, load = _data(choose)
    how = choose.choice(("relaxed.gpu", "relaxed.gpu", "relaxed.sys", "release.gpu", "acquire.gpu", "relaxed.cta"))
    lines = [
        f"add.u32 %r4, %r3, 1; {store}.u32 [%rd4], %r4;",
        _around(choose, likely_before=True),
        f"@!%p1 atom.{how}.global.add.u32 %r5, [%rd1+{4 * _DATA}], 1; @!%p1 st.shared.u32 [s], %r5;",
        _around(choose, likely_before=False),
        f"ld.shared.u32 %r5, [s]; setp.ne.u32 %p2, %r5, {count - 1}; @%p2 ret;",
        *(f"{load}.u32 %r6, [%rd1+{4 * word}]; add.u32 %r9, %r9, %r6;" for word in range(2 * count)),
        "st.global.u32 [%rd5], %r9;",
    ]
    if choose.random() < 0.3:
        lines.append(f"{_BAR} @!%p1 {choose.choice((store, 'st.global'))}.u32 [%rd1+{4 * _DATA}], 0;")
    return [f"grid {count}", *lines]


def _passed_on(choose: random.Random) -> list[str]:
    """CTAs one after the other: each waits for the flag of the one before it, or for a counter that all add to, reads, and
    tells the next one."""
    count = choose.choice((2, 2, 3))
    store, load = _data(choose)
    adds = choose.random() < 0.4
    scope = choose.choice(("gpu", "gpu", "gpu", "sys", "cta"))
    flags = [f"[%rd1+{4 * (_DATA + (0 if adds else n))}]" for n in range(_FLAGS)]
    lines = [f"add.u32 %r4, %r3, 1; {store}.u32 [%rd4], %r4;"]
    for cta in range(count):
        wanted, own = (cta if adds else 1), flags[cta]
        waits = (
            f"@%p1 bra M{cta}; W{cta}: ld.relaxed.{scope}.global.u32 %r6, {flags[cta - 1]}; setp.ne.u32 %p3, %r6, {wanted}; "
            f"@%p3 bra W{cta}; M{cta}: {_around(choose, likely_before=False)} "
            + " ".join(f"{load}.u32 %r6, [%rd1+{4 * w}]; add.u32 %r9, %r9, %r6;" for w in range(2 * cta))
        )
        tells = (
            f"@!%p1 red.relaxed.{scope}.global.add.u32 {own}, 1;" if adds
            else f"@!%p1 st.relaxed.{scope}.global.u32 {own}, 1;"
        )  # fmt: skip
        lines.append(f"setp.ne.u32 %p2, %r1, {cta}; @%p2 bra N{cta}; {waits if cta else ''}")
        lines.append(f"{_around(choose, likely_before=True)} {tells if cta + 1 < count else ''} N{cta}:")
    return [f"grid {count}", *lines, "st.global.u32 [%rd5], %r9;"]


SHAPES = {"last": _last, "passed on": _passed_on}


def kernel(seed: int, shape: str = "") -> KernelTest:
    """A kernel of a seed, of one shape or any."""
    choose = random.Random(seed)
    grid, *lines = SHAPES[shape or choose.choice(tuple(SHAPES))](choose)
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": int(grid.split()[1]), "block": 2,
        "params": {
            "x": {"type": "u32", "elements": _DATA + _FLAGS, "init": [0]}, "y": {"type": "u32", "elements": 6, "init": [0]}
        },
        "check": {"forall": " && ".join(f"y[{n}] < 90" for n in range(6)), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n ".join([_HEAD, *lines, "ret;", "}"])}).test()
