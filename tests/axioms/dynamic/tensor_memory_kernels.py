"""A product in Tensor Memory that three roles make, right, and what is written instead for each mistake: a thread fills a ring
of two stages by tensor copies, one multiplies, and four warps carry the sums away."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

BEFORE, AFTER = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 32;"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x16.b32"
WAIT_LD = "tcgen05.wait::ld.sync.aligned;"
PRODUCT = "tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, 0x8040010, %p3;"
SUMS = ", ".join(f"%f{i}" for i in range(16))
#: D = A B: of A 128 rows, of B 16 columns, 16 elements of each in a stage; rows of 32 bytes, 8 of them are a pattern.
RING = f""".version 9.0
.target sm_100a
.address_size 64
.visible .entry k(
 .param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128], .param .u64 out, .param .u32 steps)
{{
 .reg .pred %p<5>; .reg .b32 %r<30>; .reg .b32 %base, %mine, %t; .reg .b64 %rd<10>; .reg .b64 %da, %db; .reg .b32 %f<16>;
 .shared .align 1024 .b8 s[9216]; .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2]; .shared .align 8 .b64 done;
 .shared .align 4 .b32 base;
 ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [steps]; mov.u32 %t, %tid.x; mov.u32 %r2, 0;
 setp.ne.u32 %p0, %t, 0; @%p0 bra READY;
 mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [full+8], 1;
 mbarrier.init.shared.b64 [empty], 1; mbarrier.init.shared.b64 [empty+8], 1;
 mbarrier.init.shared.b64 [done], 1;
 fence.mbarrier_init.release.cluster;
READY:
 setp.ge.u32 %p0, %t, 32; @%p0 bra ALLOCATED;
 {ALLOC}
 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
 {BEFORE}
 bar.sync 0;
 {AFTER}
 ld.shared.b32 %base, [base];
 setp.ge.u32 %p0, %t, 160; @%p0 bra MULTIPLY;
 setp.ge.u32 %p0, %t, 128; @%p0 bra PRODUCE;
DONE: mbarrier.try_wait.parity.shared.b64 %p1, [done], 0; @!%p1 bra DONE;
 {AFTER}
 and.b32 %mine, %t, 0x60; shl.b32 %mine, %mine, 16; add.u32 %mine, %mine, %base;
 {LOAD} {{{SUMS}}}, [%mine];
 {WAIT_LD}
 mul.wide.u32 %rd2, %t, 64; add.u64 %rd1, %rd1, %rd2;
{"".join(f" st.global.b32 [%rd1+{4 * i}], %f{i};" for i in range(16))}
 {BEFORE}
 bar.sync 1, 128;
 {AFTER}
 setp.ge.u32 %p0, %t, 32; @%p0 bra END;
 {DEALLOC}
 ret;
MULTIPLY:
 setp.ne.u32 %p0, %t, 160; @%p0 bra END;
 mov.u32 %r3, s; and.b32 %r3, %r3, 262143; shr.u32 %r3, %r3, 4; cvt.u64.u32 %rd2, %r3;
 or.b64 %rd2, %rd2, {6 << 61 | 1 << 46 | 16 << 32 | 1 << 16};
CONSUME:
 and.b32 %r4, %r2, 1; shr.u32 %r5, %r2, 1; and.b32 %r5, %r5, 1; shl.b32 %r6, %r4, 3;
 mov.u32 %r7, full; add.u32 %r7, %r7, %r6; mov.u32 %r8, empty; add.u32 %r8, %r8, %r6;
FULL: mbarrier.try_wait.parity.shared.b64 %p1, [%r7], %r5; @!%p1 bra FULL;
 {AFTER}
 mul.wide.u32 %da, %r4, 256; add.u64 %da, %rd2, %da; mul.wide.u32 %db, %r4, 32; add.u64 %db, %rd2, %db;
 add.u64 %db, %db, 512; setp.ne.u32 %p3, %r2, 0;
 {PRODUCT}
 {COMMIT} [%r8];
 add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra CONSUME;
 {COMMIT} [done];
 ret;
PRODUCE:
 setp.ne.u32 %p0, %t, 128; @%p0 bra END;
 mov.b64 %rd2, ma; cvta.param.u64 %rd2, %rd2; mov.b64 %rd3, mb; cvta.param.u64 %rd3, %rd3; mov.u32 %r20, 0;
LOAD:
 and.b32 %r4, %r2, 1; shr.u32 %r5, %r2, 1; and.b32 %r5, %r5, 1; xor.b32 %r5, %r5, 1; shl.b32 %r6, %r4, 3;
 mov.u32 %r7, full; add.u32 %r7, %r7, %r6; mov.u32 %r8, empty; add.u32 %r8, %r8, %r6;
 setp.lt.u32 %p1, %r2, 2; @%p1 bra GO;
EMPTY: mbarrier.try_wait.parity.shared.b64 %p1, [%r8], %r5; @!%p1 bra EMPTY;
GO:
 mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 4608;
 mov.u32 %r9, s; shl.b32 %r10, %r4, 12; add.u32 %r10, %r9, %r10;
 shl.b32 %r11, %r4, 9; add.u32 %r11, %r9, %r11; add.u32 %r11, %r11, 8192;
 shl.b32 %r12, %r2, 4;
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd2, {{%r12, %r20}}], [%r7];
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r11], [%rd3, {{%r12, %r20}}], [%r7];
 add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra LOAD;
END: ret;
}}
"""
STEPS = 5


def drawn(k: int) -> tuple[Any, Any, Any]:
    """A and B (its columns as rows) of small integers, and the product."""
    rng = np.random.default_rng(k)
    a, b = rng.integers(-3, 4, (128, k)), rng.integers(-3, 4, (16, k))
    return a, b, a @ b.T


def said(product: Any) -> str:
    """Elements of each warp's rows."""
    places = [(r, c) for r in range(5, 128, 17) for c in (r % 16, 3)]
    return " && ".join(f"out[{16 * r + c}] == {product[r, c]}" for r, c in places)


def changed(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    """A text with some words instead of others, which must be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def ring(*changes: tuple[str, str], **keys: Any) -> KernelTest:
    """The ring with some words instead of others; `keys` of the tensor map of B."""
    a, b, product = drawn(16 * STEPS)
    params = {
        "ma": {"tensor_map": {"buffer": "a", "dims": [16 * STEPS, 128], "box": [16, 128], "swizzle": "32B"}},
        "mb": {"tensor_map": {"buffer": "b", "dims": [16 * STEPS, 16], "box": [16, 16], "swizzle": "32B", **keys}},
        "out": {"type": "f32", "elements": 2048},
        "steps": {"type": "u32", "value": STEPS},
    }
    memory = {name: {"type": "f16", "init": x.ravel().tolist()} for name, x in (("a", a), ("b", b))}
    whole = {"ptx": "k.ptx", "entry": "k", "grid": 1, "block": 192, "params": params, "memory": memory,
             "check": {"forall": said(product), "race_free": True, "terminates": True}}  # fmt: skip
    return KernelFile.of(whole, "k.toml", {"k.ptx": changed(RING, changes)}).test()
