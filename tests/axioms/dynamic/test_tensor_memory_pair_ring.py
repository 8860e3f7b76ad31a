"""The ring of `tensor_memory_kernels` made by a pair of CTAs, as CUTLASS makes it: each CTA copies its halves of A and B, which
the even one is told of, and a thread of the even one multiplies for both."""

from __future__ import annotations

import numpy as np
import ptxas
import pytest
from by_runs import by_runs
from campaigns import some
from tensor_memory_kernels import AFTER, BEFORE, COMMIT, RING, changed

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_FENCE, _ROW = "fence.proxy.async;", "shl.b32 %r20, %rank, 7; shl.b32 %r21, %rank, 3;"
_COMMIT = COMMIT.replace("::1", "::2", 1).replace("::cluster.b64", "::cluster.multicast::cluster.b64")
_TOLD = "mapa.shared::cluster.u32 %r7, %r7, 0;"
_CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
PAIR = changed(RING, (
    ("steps)\n{", "steps)\n.reqnctapercluster 2, 1, 1\n{"),
    (".reg .b32 %base,", ".reg .b16 %all; .reg .pred %odd; .reg .b32 %rank, %base,"),
    ("mov.u32 %t, %tid.x;",
     "mov.u32 %t, %tid.x; mov.u32 %rank, %cluster_ctarank; setp.eq.u32 %odd, %rank, 1; mov.b16 %all, 3;"),
    (f"{COMMIT} [%r8];", f"{_COMMIT} [%r8], %all;"),
    (f"{COMMIT} [done];", f"{_COMMIT} [done], %all;"),
    ("cta_group::1", "cta_group::2"),
    ("0x8040010", "0x10040010"),
    (f" {BEFORE}\n bar.sync 0;", f" {BEFORE}\n {_CLUSTER}"),
    ("setp.ne.u32 %p0, %t, 160; @%p0 bra END;", "setp.ne.u32 %p0, %t, 160; @%p0 bra END; @%odd bra END;"),
    ("bra FULL;\n", f"bra FULL;\n {_FENCE}\n"),
    ("mov.u32 %r20, 0;", _ROW),
    ("mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 4608;",
     f"@!%odd mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 8704; {_TOLD}"),
    ("complete_tx::bytes [", "complete_tx::bytes.cta_group::2 ["),
    ("[%rd3, {%r12, %r20}]", "[%rd3, {%r12, %r21}]"),
    ("mul.wide.u32 %rd2, %t, 64;", "shl.b32 %r3, %rank, 7; add.u32 %r3, %r3, %t; mul.wide.u32 %rd2, %r3, 64;"),
))  # fmt: skip


def pair(*changes: tuple[str, str], steps: int = 2) -> KernelTest:
    rng = np.random.default_rng(7)
    a, b = rng.integers(-3, 4, (256, 16 * steps)), rng.integers(-3, 4, (16, 16 * steps))
    product = a @ b.T
    params = {
        name: {"tensor_map": {"buffer": name[1], "dims": [16 * steps, rows], "box": [16, rows // 2], "swizzle": "32B"}}
        for name, rows in (("ma", 256), ("mb", 16))
    }
    params |= {"out": {"type": "f32", "elements": 4096}, "steps": {"type": "u32", "value": steps}}
    said = " && ".join(f"out[{16 * r + c}] == {product[r, c]}" for r in range(5, 256, 25) for c in (r % 16, 11))
    memory = {name: {"type": "f16", "init": x.ravel().tolist()} for name, x in (("a", a), ("b", b))}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 192, "params": params, "memory": memory,
            "check": {"forall": said, "race_free": True, "terminates": True}}  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": changed(PAIR, changes)}).test()


_OPEN = "in whose name it is read"
_WAITED = "DONE: mbarrier.try_wait.parity.shared.b64 %p1, [done], 0; @!%p1 bra DONE;"


@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "steps", "verdict"),
    some(6, [
        ((), 2, "ok"),
        # What the odd CTA's own copies filled, behind the wait for their bytes alone; and stages that are filled again.
        (((f" {_FENCE}\n", ""),), 2, _OPEN),
        ((), 3, _OPEN),
        (((f"{_FENCE}\n {AFTER}", ""),), 2, "undecided"),
        (((_WAITED, f"@%odd bra D; {_WAITED} D:"),), 2, "undefined"),
        (((f"bra DONE;\n {AFTER}", "bra DONE;"),), 2, "undefined"),
        (((f"{_COMMIT} [done], %all;", f"mov.b16 %all, 1; {_COMMIT} [done], %all;"),), 2, "no"),
        (((_ROW, "mov.u32 %r20, 0; mov.u32 %r21, 0;"),), 2, "no"),
        (((" 8704;", " 4352;"),), 2, "undefined"),
        (((_TOLD, ""),), 2, "no"),
        (((f" {BEFORE}\n {_CLUSTER}", " bar.sync 0;"),), 2, "undefined"),
    ]),
)  # fmt: skip
def test_pairs_that_copies_feed(changes: tuple[tuple[str, str], ...], steps: int, verdict: str) -> None:
    open_, result = by_runs(pair(*changes, steps=steps))
    if verdict == _OPEN:
        assert _OPEN in open_
    else:
        assert result.verdict == verdict, (open_, result.error)


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0 here")
def test_ptxas_accepts_it() -> None:
    assert not ptxas.check_module(PAIR)
