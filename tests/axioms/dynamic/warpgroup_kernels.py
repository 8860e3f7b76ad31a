"""Kernels with products of warpgroups, right, and what is written instead for each mistake: a ring of two stages that a thread
fills by tensor copies; a tile that the threads write themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90a
.address_size 64
"""
_STORED = """ mov.u32 %r10, %tid.x; and.b32 %r11, %r10, 31; shr.u32 %r12, %r11, 2; shr.u32 %r13, %r10, 5;
 mad.lo.u32 %r12, %r13, 16, %r12; and.b32 %r13, %r11, 3; shl.b32 %r13, %r13, 1; mad.lo.u32 %r12, %r12, 8, %r13;
 mad.wide.u32 %rd1, %r12, 4, %rd1;
 st.global.f32 [%rd1], %f0; st.global.f32 [%rd1+4], %f1; st.global.f32 [%rd1+256], %f2; st.global.f32 [%rd1+260], %f3;
"""
_REGISTERS = ".reg .pred %p<4>; .reg .b32 %r<30>; .reg .b64 %rd<10>; .reg .f32 %f<4>;"
_ZEROS = "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;"
FENCE, COMMIT, WAIT = (
    "wgmma.fence.sync.aligned;",
    "wgmma.commit_group.sync.aligned;",
    "wgmma.wait_group.sync.aligned 0;",
)
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd4, %rd5, 1, 1, 1, 0, 0;"

#: Threads 0 to 127 multiply, thread 128 loads. A row of a tile is 32 bytes, and 8 rows are a pattern of the swizzle.
RING = f"""{_HEAD}.visible .entry k(
 .param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128], .param .u64 out, .param .u32 steps)
{{
 {_REGISTERS}
 .shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2];
 ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [steps]; mov.u32 %r0, %tid.x; mov.u32 %r2, 0; {_ZEROS}
 setp.ne.u32 %p0, %r0, 0; @%p0 bra READY;
 mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [full+8], 1;
 mbarrier.init.shared.b64 [empty], 128; mbarrier.init.shared.b64 [empty+8], 128;
 fence.mbarrier_init.release.cluster;
READY:
 bar.sync 0;
 setp.ge.u32 %p0, %r0, 128; @%p0 bra PRODUCER;
 mov.u32 %r3, s; and.b32 %r3, %r3, 262143; shr.u32 %r3, %r3, 4; cvt.u64.u32 %rd2, %r3;
 or.b64 %rd2, %rd2, {3 << 62 | 16 << 32 | 1 << 16};
CONSUME:
 and.b32 %r4, %r2, 1; shr.u32 %r5, %r2, 1; and.b32 %r5, %r5, 1; shl.b32 %r6, %r4, 3;
 mov.u32 %r7, full; add.u32 %r7, %r7, %r6; mov.u32 %r8, empty; add.u32 %r8, %r8, %r6;
FULL: mbarrier.try_wait.parity.shared.b64 %p1, [%r7], %r5; @!%p1 bra FULL;
 mul.wide.u32 %rd4, %r4, 128; add.u64 %rd4, %rd2, %rd4; mul.wide.u32 %rd5, %r4, 16; add.u64 %rd5, %rd2, %rd5;
 add.u64 %rd5, %rd5, 256;
 {FENCE}
 {PRODUCT}
 {COMMIT}
 {WAIT}
 mbarrier.arrive.shared.b64 _, [%r8];
 add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra CONSUME;
{_STORED} ret;
PRODUCER:
 setp.ne.u32 %p0, %r0, 128; @%p0 bra DONE;
 mov.b64 %rd2, ma; cvta.param.u64 %rd2, %rd2; mov.b64 %rd3, mb; cvta.param.u64 %rd3, %rd3; mov.u32 %r20, 0;
LOAD:
 and.b32 %r4, %r2, 1; shr.u32 %r5, %r2, 1; and.b32 %r5, %r5, 1; xor.b32 %r5, %r5, 1; shl.b32 %r6, %r4, 3;
 mov.u32 %r7, full; add.u32 %r7, %r7, %r6; mov.u32 %r8, empty; add.u32 %r8, %r8, %r6;
 setp.lt.u32 %p1, %r2, 2; @%p1 bra GO;
EMPTY: mbarrier.try_wait.parity.shared.b64 %p1, [%r8], %r5; @!%p1 bra EMPTY;
GO:
 mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 2304;
 mov.u32 %r9, s; shl.b32 %r10, %r4, 11; add.u32 %r10, %r9, %r10;
 shl.b32 %r11, %r4, 8; add.u32 %r11, %r9, %r11; add.u32 %r11, %r11, 4096;
 shl.b32 %r12, %r2, 4;
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd2, {{%r12, %r20}}], [%r7];
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r11], [%rd3, {{%r12, %r20}}], [%r7];
 add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra LOAD;
DONE: ret;
}}
"""
STEPS = 5

#: Each of 128 threads writes 16 bytes of A, 16 of them 16 bytes of B; without a swizzle, 8 rows of 16 bytes lie together.
TILE = f"""{_HEAD}.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out)
{{
 {_REGISTERS}
 .shared .align 128 .b8 s[2304];
 ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b]; mov.u32 %r0, %tid.x; {_ZEROS}
 mul.wide.u32 %rd4, %r0, 16; add.u64 %rd2, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;
 mov.u32 %r1, s; shl.b32 %r2, %r0, 4; add.u32 %r1, %r1, %r2;
 ld.global.v4.u32 {{%r14, %r15, %r16, %r17}}, [%rd2]; st.shared.v4.u32 [%r1], {{%r14, %r15, %r16, %r17}};
 setp.ge.u32 %p0, %r0, 16; @%p0 bra WRITTEN;
 ld.global.v4.u32 {{%r14, %r15, %r16, %r17}}, [%rd3]; st.shared.v4.u32 [%r1+2048], {{%r14, %r15, %r16, %r17}};
WRITTEN:
 fence.proxy.async.shared::cta;
 bar.sync 0;
 mov.u32 %r3, s; and.b32 %r3, %r3, 262143; shr.u32 %r3, %r3, 4; cvt.u64.u32 %rd4, %r3;
 or.b64 %rd4, %rd4, {16 << 32 | 8 << 16}; add.u64 %rd5, %rd4, 128;
 {FENCE}
 {PRODUCT}
 {COMMIT}
 {WAIT}
{_STORED} ret;
}}
"""


def drawn(k: int) -> tuple[Any, Any, Any]:
    """A and B (its columns as rows) of small integers, and the product."""
    rng = np.random.default_rng(k)
    a, b = rng.integers(-3, 4, (64, k)), rng.integers(-3, 4, (8, k))
    return a, b, a @ b.T


def _said(product: Any) -> str:
    """Elements of each warp's rows."""
    places = [(r, c) for r in range(3, 64, 8) for c in (r % 8, 5)]
    return " && ".join(f"out[{8 * r + c}] == {product[r, c]}" for r, c in places)


def ring(*changes: tuple[str, str], **keys: Any) -> KernelTest:
    """The ring with some words instead of others; `keys` of both tensor maps, or of that of B with `b_`."""
    a, b, product = drawn(16 * STEPS)
    of_b = {key[2:]: value for key, value in keys.items() if key.startswith("b_")}
    both = {"swizzle": "32B", **{key: value for key, value in keys.items() if not key.startswith("b_")}}
    params = {
        "ma": {"tensor_map": {"buffer": "a", "dims": [16 * STEPS, 64], "box": [16, 64], **both}},
        "mb": {"tensor_map": {"buffer": "b", "dims": [16 * STEPS, 8], "box": [16, 8], **both, **of_b}},
        "out": {"type": "f32", "elements": 512},
        "steps": {"type": "u32", "value": STEPS},
    }
    memory = {name: {"type": "f16", "init": x.ravel().tolist()} for name, x in (("a", a), ("b", b))}
    return _test(RING, changes, {"block": 160, "params": params, "memory": memory}, _said(product))


def tile(*changes: tuple[str, str]) -> KernelTest:
    """The tile with some words instead of others."""
    a, b, product = drawn(16)
    given = {name: np.concatenate([x[:, :8].reshape(-1, 8, 8), x[:, 8:].reshape(-1, 8, 8)], 1)
             for name, x in (("a", a), ("b", b))}  # fmt: skip
    params = {name: {"type": "f16", "init": x.ravel().tolist()} for name, x in given.items()}
    params["out"] = {"type": "f32", "elements": 512}
    return _test(TILE, changes, {"block": 128, "params": params}, _said(product))


def _test(text: str, changes: tuple[tuple[str, str], ...], tree: dict[str, Any], said: str) -> KernelTest:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    whole = {"ptx": "k.ptx", "entry": "k", "grid": 1, **tree,
             "check": {"forall": said, "race_free": True, "terminates": True}}  # fmt: skip
    return KernelFile.of(whole, "k.toml", {"k.ptx": text}).test()
