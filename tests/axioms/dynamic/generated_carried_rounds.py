"""Small kernels whose CTAs take tickets in rounds and carry something along: sums in registers and in shared memory, which they
add to what all share in the end; some carry something that is no sum, or let it decide something, or race."""

from __future__ import annotations

import random

from generated_ticket_rounds import SUM, round_kernel

from ptxmm.kernels.test import KernelTest

#: Bytes of what all add to.
ALL_ADD = f"[%rd1+{4 * SUM}]"
#: How a register, or a word of shared memory, goes from round to round.
_ALONG = (
    "add.u32 %r9, %r9, %t0;",
    "add.u32 %r9, %r9, 1;",
    "ld.global.u32 %r5, [%rd4]; add.u32 %r9, %r9, %r5;",
    "sub.u32 %r5, 9, %t0; add.u32 %r9, %r9, %r5;",
    "mad.lo.u32 %r9, %t0, 3, %r9;",
    "mad.lo.u32 %r9, %r9, 3, %t0;",
    "xor.b32 %r9, %r9, 1;",
    "max.u32 %r9, %r9, %t0;",
    "setp.eq.u32 %p4, %t0, 0; @%p4 mov.u32 %r9, 5;",
    "setp.eq.u32 %p4, %t0, 1; @%p4 add.u32 %r9, %r9, 4;",
    "setp.gt.u32 %p4, %r9, 0; @%p4 add.u32 %r9, %r9, 1;",
    "red.relaxed.cta.shared.add.u32 [s+8], 1;",
    "red.relaxed.cta.shared.add.u32 [s+8], %t0;",
    "red.relaxed.cta.shared.max.u32 [s+8], %t0;",
    "red.relaxed.cta.shared.add.u32 [s+8], %r9;",
    "@%p2 ld.shared.u32 %r5, [s+8]; @%p2 add.u32 %r5, %r5, 3; @%p2 st.shared.u32 [s+8], %r5;",
    "@%p2 ld.shared.u32 %r5, [s+8]; @%p2 mul.lo.u32 %r5, %r5, 3; @%p2 st.shared.u32 [s+8], %r5;",
    "ld.shared.u32 %r5, [s+8]; add.u32 %r5, %r5, 3; st.shared.u32 [s+8], %r5;",
    "@%p2 st.shared.u32 [s+8], %t0;",
    "mad.lo.u32 %r6, %r2, 4, 16; mov.u32 %r7, s; add.u32 %r7, %r7, %r6; ld.shared.u32 %r5, [%r7]; add.u32 %r5, %r5, %t0; "
    "st.shared.u32 [%r7], %r5;",
    "bar.sync 0;",
)  # fmt: skip
#: What a round does besides.
_MORE = (
    "", "", "st.global.u32 [%rd4], 7;", "st.global.u32 [%rd4], %t0;", "st.global.u32 [%rd4], %r9;",
    f"red.relaxed.gpu.global.add.u32 {ALL_ADD}, %t0;", f"red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r9;",
    "@%p2 ld.shared.u32 %r5, [s+8]; @%p2 st.global.u32 [%rd4], %r5;",
)  # fmt: skip
_BEFORE = (
    "st.shared.u32 [s+8], 0; mov.u32 %r9, 0;", "@%p2 st.shared.u32 [s+8], 0;", "@%p2 st.shared.u32 [s+8], 0; bar.sync 0;",
    "@%p2 st.shared.u32 [s+8], %r1; mov.u32 %r9, %r1;", "",
)  # fmt: skip
_CLEAR = "mad.lo.u32 %r6, %r2, 4, 16; mov.u32 %r7, s; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], 0;"
_AFTER = (
    f"red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r9;",
    f"red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r9;",
    f"@%p2 ld.shared.u32 %r5, [s+8]; @%p2 red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r5;",
    f"bar.sync 0; @%p2 ld.shared.u32 %r5, [s+8]; @%p2 red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r5;",
    f"ld.shared.u32 %r5, [s+8]; add.u32 %r5, %r5, %r9; red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r5;",
    f"mad.lo.u32 %r6, %r2, 4, 16; mov.u32 %r7, s; add.u32 %r7, %r7, %r6; ld.shared.u32 %r5, [%r7]; "
    f"red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r5;",
    f"red.relaxed.gpu.global.max.u32 {ALL_ADD}, %r9;",
    f"red.relaxed.cta.global.add.u32 {ALL_ADD}, %r9;",
    f"setp.eq.u32 %p4, %t0, 2; @%p4 red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r9;",
    f"mul.lo.u32 %r5, %r9, %t0; red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r5;",
    f"red.relaxed.gpu.global.add.u32 {ALL_ADD}, %r9; ld.relaxed.gpu.global.u32 %r5, {ALL_ADD};",
    "st.global.u32 [%rd1+48], %r9;",
    f"@%p2 st.global.u32 {ALL_ADD}, %r9;",
)


def generated(seed: int) -> KernelTest:
    """A kernel of two CTAs of one or two threads."""
    choose = random.Random(seed)
    work = " ".join(choose.choice(_ALONG) for _ in range(choose.choice((1, 1, 2)))) + " " + choose.choice(_MORE)
    seal = choose.choice(("bar.sync 0;",) * 4 + ("",))
    before = f"{_CLEAR} {choose.choice(_BEFORE)}"
    block = choose.choice((1, 1, 2))
    return round_kernel(work, before, seal, block, choose.choice((1, 2, 2, 3)), choose.choice(_AFTER))
