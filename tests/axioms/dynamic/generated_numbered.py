"""Generated kernels whose CTAs take a ticket first, and do what it says: right ones, and with a mistake in it or behind it.

Behind it CTAs look back at what those with lower tickets have published, wait for the one before and take over what it left, or
do both with words that others access, too.
"""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 c, .param .u64 d, .param .u64 f, .param .u64 x)
{
 .reg .pred %p, %q, %t0; .reg .b32 %r<16>; .reg .b64 %rd<12>; .reg .b64 %v<4>; .shared .align 4 .b32 s[2];
 ld.param.u64 %rd1, [c]; ld.param.u64 %rd2, [d]; ld.param.u64 %rd3, [f]; ld.param.u64 %rd4, [x];
 mov.u32 %r1, %tid.x; setp.eq.u32 %t0, %r1, 0; mov.u32 %r2, 0; mov.u32 %r9, 0;
"""
#: What is wrong with a ticket, or at least otherwise; `#` is the instruction.
_TICKETS = (
    "#",
    "#",
    "#",
    "#",
    "#",
    "#",
    "#",
    "#",
    "# atom.global.add.u32 %r9, [%rd1], 1;",
    "atom.global.add.u32 %r9, [%rd1+4], 1; #",
    "# red.relaxed.gpu.global.add.u32 [%rd1], 1;",
    "red.relaxed.gpu.global.add.u32 [%rd1], 1; #",
    "ld.relaxed.gpu.global.u32 %r9, [%rd1]; #",
    "# ld.relaxed.gpu.global.u32 %r9, [%rd1];",
    "ld.global.u32 %r9, [%rd1]; #",
    "# mov.u32 %r9, %ctaid.x;",
    "atom.global.or.b32 %r9, [%rd1], 0; #",
    "atom.relaxed.cta.global.add.u32 %r2, [%rd1], 1;",
    "atom.global.max.u32 %r2, [%rd1], 1;",
    "atom.global.add.u32 %r2, [%rd1], 2; shr.u32 %r2, %r2, 1;",
    "atom.global.inc.u32 %r2, [%rd1], 9;",
    "atom.acq_rel.gpu.global.add.u32 %r2, [%rd1], 1;",
    "mov.u32 %r9, %ctaid.x; setp.eq.u32 %q, %r9, 0; @!%q # @%q mov.u32 %r2, 2;",
    "# setp.eq.u32 %p, %r2, 1; @%p st.relaxed.gpu.global.u32 [%rd1], 0;",
)
_TAKES = "atom.global.add.u32 %r2, [%rd1], 1;"


def _looks_back(choose: random.Random, wrong: float) -> list[str]:
    """Thread 0 adds up what tiles before its own have published."""

    def scope() -> str:
        return "cta" if choose.random() < wrong else "gpu"

    fence = choose.choice(("", "", "", "membar.cta;", "fence.acq_rel.gpu;"))
    lower = 16 if choose.random() < wrong else 8
    status = (1, 2) if choose.random() >= wrong else (2, 1)
    stops = 2 if choose.random() >= wrong else 1
    early = choose.random() < 0.8
    return [
        "@!%t0 bra OUT;", "mul.wide.u32 %rd5, %r2, 8; add.u64 %rd5, %rd2, %rd5; add.u32 %r3, %r2, 1; mov.u32 %r5, 0;",
        f"mov.u32 %r4, {status[0]}; mov.b64 %v1, {{%r3, %r4}};",
        f"st.relaxed.{scope()}.global.u64 [%rd5+16], %v1;" if early else "",
        "mov.u64 %rd6, %rd5; add.u64 %rd6, %rd6, 8;",
        f"LOOK: {fence} ld.relaxed.{scope()}.global.u64 %v2, [%rd6]; mov.b64 {{%r7, %r8}}, %v2;",
        "" if choose.random() < wrong else "setp.eq.u32 %p, %r8, 0; @%p bra LOOK;",
        f"add.u32 %r5, %r5, %r7; setp.eq.u64 %p, %rd6, %rd2; @%p bra ON; sub.u64 %rd6, %rd6, {lower};",
        f"setp.eq.u32 %p, %r8, {stops}; @!%p bra LOOK;", "ON:",
        f"add.u32 %r5, %r5, %r3; mov.u32 %r4, {status[1]}; mov.b64 %v3, {{%r5, %r4}};",
        "" if choose.random() < wrong else f"st.relaxed.{scope()}.global.u64 [%rd5+16], %v3;",
    ]  # fmt: skip


def _takes_over(choose: random.Random, wrong: float) -> list[str]:
    """Each CTA waits for the one before, and goes on with what that has left in plain memory."""
    first = choose.random() < wrong
    release = "" if choose.random() < wrong else "fence.acq_rel.gpu;"
    acquire = "" if choose.random() < wrong else "fence.acq_rel.gpu;"
    before = 0 if choose.random() >= wrong else 4
    puts = "st.global.u32 [%rd5+4], %r5;"
    flag = "st.relaxed.gpu.global.u32 [%rd6+4], 1;"
    return [
        "mul.wide.u32 %rd5, %r2, 4; add.u64 %rd6, %rd3, %rd5; add.u64 %rd5, %rd2, %rd5;",
        "@!%t0 bra " + ("OUT;" if choose.random() < 0.7 else "MEET;"),
        f"WAIT: ld.relaxed.gpu.global.u32 %r4, [%rd6+{before}]; setp.eq.u32 %p, %r4, 0; @%p bra WAIT;",
        acquire, "ld.global.u32 %r5, [%rd5]; add.u32 %r5, %r5, %r2; add.u32 %r5, %r5, 1;",
        *((flag, release, puts) if first else (puts, release, flag)),
        "MEET:",
    ]  # fmt: skip


def kernel(seed: int) -> KernelTest:
    """Two or three CTAs of one or two threads."""
    choose = random.Random(seed)
    wrong = choose.choice((0.0, 0.0, 0.1))
    tiles, block = choose.choice(((2, 1), (2, 1), (2, 2), (3, 1)))
    takes = choose.choice(_TICKETS).replace("#", _TAKES)
    back = choose.random() < 0.5
    lines = [f"@!%t0 bra MET; {takes} st.shared.u32 [s], %r2; MET:"]
    if block > 1:
        lines += ["" if choose.random() < wrong else "bar.sync 0;", "ld.shared.u32 %r2, [s];"]
    lines += (_looks_back if back else _takes_over)(choose, wrong)
    ends = "@%t0 st.global.u32 [%rd7], %r5;" if choose.random() >= wrong else "st.global.u32 [%rd4], %r2;"
    used = choose.choice(("", "", "add.u32 %r5, %r5, %r9;"))
    lines += [f"mul.wide.u32 %rd7, %r2, 4; add.u64 %rd7, %rd4, %rd7; {used} {ends}", "OUT: ret;", "}"]
    words = (
        {"type": "u64", "elements": tiles + 4, "init": [2 << 32, 2 << 32]} if back else {"type": "u32", "elements": 8}
    )
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": tiles, "block": block,
        "params": {
            "c": {"type": "u32", "elements": 2}, "d": words, "f": {"type": "u32", "elements": 8, "init": [1]},
            "x": {"type": "u32", "elements": 8},
        },
        "check": {"forall": f"x[{tiles - 1}] == {sum(range(1, tiles + 1))}", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": "\n ".join([_HEAD, *filter(None, lines)])}).test()
