"""Small kernels whose CTAs take tickets in rounds until there are none left; some are wrong, and some carry something along."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: Tickets that lead to a round of work are below this.
TICKETS = 2
#: Words of data; from the last ones on, one that all add to.
WORDS, SUM = 16, 15
_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 c)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<9>; .shared .align 8 .b8 s[64];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd3, [c]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
 setp.eq.u32 %p2, %r2, 0; mov.u32 %r9, 0;
"""
_TAKE = "@%p2 atom.relaxed.gpu.global.add.u32 %t0, [%rd3], 1; @%p2 st.shared.u32 [s], %t0;"
_LEARN = "bar.sync 0; ld.shared.u32 %t0, [s];"
_PLACE = "mad.lo.u32 %r4, %t0, %r3, %r2; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1;"


def round_kernel(
    work: str, before: str = "", seal: str = "bar.sync 0;", block: int = 2, tickets: int = TICKETS, after: str = ""
) -> KernelTest:
    """A kernel that does `before`, in each round `work`, with the address of its own word in `%rd4`, and in the last one
    `after`."""
    lines = [
        _HEAD,
        before,
        "LOOP:",
        _TAKE,
        _LEARN,
        f"setp.ge.u32 %p3, %t0, {tickets}; @%p3 bra END;",
        _PLACE,
        work,
        seal,
    ]
    text = "\n ".join([*lines, "bra LOOP;", f"END: {after} ret;", "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": block,
        "params": {
            "x": {"type": "u32", "elements": WORDS, "init": [0]}, "c": {"type": "u32", "elements": 4, "init": [0]},
        },
        "check": {
            "forall": " && ".join(f"x[{i}] < 9999" for i in range(WORDS)) + " && c[0] < 999",
            "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


#: What a round may do.
_WORK = (
    "st.global.u32 [%rd4], %t0;",
    "st.global.u32 [%rd4], 7;",
    "ld.global.u32 %r5, [%rd4]; add.u32 %r5, %r5, 3; st.global.u32 [%rd4], %r5;",
    f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * SUM}], %t0;",
    "st.global.u32 [%rd4], %r1;",
    "st.global.u32 [%rd4+4], 5;",
    "add.u32 %r9, %r9, 1; st.global.u32 [%rd4], %r9;",
    "mov.u32 %r9, %t0; st.global.u32 [%rd4], %r9;",
    "@%p2 st.shared.u32 [s+8], %t0;",
    "@%p2 ld.shared.u32 %r5, [s+8]; @%p2 st.global.u32 [%rd4], %r5;",
    "bar.sync 0;",
    "@%p2 st.shared.u32 [s+8], %t0; @%p2 ld.shared.u32 %r5, [s+8]; @%p2 st.global.u32 [%rd4], %r5;",
    "setp.eq.u32 %p4, %t0, 1; @%p4 st.shared.u32 [s+8], 3;",
    "st.global.u32 [%rd1+40], 1;",
    "ld.global.u32 %r5, [%rd1+40]; st.global.u32 [%rd4], %r5;",
    "setp.eq.u32 %p4, %t0, 1; @%p4 st.global.u32 [%rd1+44], 3;",
    "mov.u32 %r6, %ctaid.x; st.global.u32 [%rd4], %r6;",
    f"red.relaxed.cta.global.add.u32 [%rd1+{4 * SUM}], 1;",
    "setp.eq.u32 %p4, %t0, 0; @%p4 bra END;",
    "setp.eq.u32 %p4, %t0, 0; @%p4 red.relaxed.gpu.global.add.u32 [%rd3], 1;",
    "fence.acq_rel.gpu;",
)
_BEFORE = (
    "", "", "bar.sync 0;", "@%p2 st.shared.u32 [s+8], 9;", "@%p2 st.shared.u32 [s+8], %r1;", "st.global.u32 [%rd1+40], 1;",
    "mov.u32 %r9, %r1;",
)  # fmt: skip


def generated(seed: int) -> KernelTest:
    """A kernel of two CTAs of one or two threads."""
    choose = random.Random(seed)
    work = " ".join(choose.choice(_WORK) for _ in range(choose.choice((1, 1, 2, 2, 3))))
    seal = choose.choice(("bar.sync 0;",) * 3 + ("",))
    return round_kernel(
        work, choose.choice(_BEFORE), seal=seal, block=choose.choice((1, 1, 2)), tickets=choose.choice((1, 2))
    )
