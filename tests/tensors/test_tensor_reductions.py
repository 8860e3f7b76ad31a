"""Reductions of tensors, run, beside NumPy; multicast and pairs of CTAs; what a thread's groups learn."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import compared
from campaigns import share
from tensor_cases import case
from tensor_modules import ROOM, THREADS, storing
from tensor_reference import SIZES
from tensor_reference import store as store_reference
from test_tensor_boxes import launched

import ptxmm
from ptxcore.machine.run.faults import KernelError

#: The operations by the types that the manual gives them, as NumPy has them.
_NUMPY = {"u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8", "f16": "f2", "f32": "f4"}
_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda old, b: np.where(old >= b, 0, old + 1).astype(old.dtype),
    "dec": lambda old, b: np.where((old == 0) | (old > b), b, old - 1).astype(old.dtype),
}  # fmt: skip
TAKEN = [
    *(("add", t) for t in ("u32", "s32", "u64", "f32", "f16")), ("inc", "u32"), ("dec", "u32"),
    *((op, t) for op in ("min", "max") for t in ("u32", "s32", "u64", "s64", "f16")),
    *((op, t) for op in ("and", "or", "xor") for t in ("u32", "u64")),
]  # fmt: skip


def content(kind: str, count: int, seed: str) -> np.ndarray:
    """Elements of a type that have no NaNs among them, as bytes."""
    r = random.Random(seed)
    if kind[0] == "f":
        numbers = np.array([r.choice((0.0, -1.5, 2.25, 1e3, 3e-5)) * r.randint(1, 9) for _ in range(count)])
        return numbers.astype(f"<{_NUMPY[kind]}").view(np.uint8).copy()
    return np.frombuffer(r.randbytes(count * SIZES[kind]), np.uint8).copy()


def reduces(number: int, operation: str, kind: str, mode: str = "tile") -> Any:
    def combined(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        form = f"<{_NUMPY[kind]}"
        return (
            np.asarray(_INTEGERS[operation](old.copy().view(form), new.copy().view(form))).astype(form).view(np.uint8)
        )

    every = (case(n, mode, stores=True) for n in range(1000 * number, 1000 * number + 1000))
    for one in every:  # whose box is not all out of bounds
        if one.map["type"] != kind:
            continue
        tensor = content(kind, -(-one.tensor // 8) * 8 // SIZES[kind], f"t{number}")
        shared = content(kind, ROOM // SIZES[kind], f"s{number}")
        expected = tensor.copy()
        with np.errstate(over="ignore"):
            store_reference(one.map, expected, mode, one.at, shared, one.start, combined)
        if not np.array_equal(tensor, expected):
            break
    launched(storing(one.mode, len(one.map["dims"]), 0, operation), one, tensor, shared, None, 1)
    assert np.array_equal(tensor, expected), one
    return one


@pytest.mark.parametrize(("operation", "kind"), TAKEN)
def test_reductions_are_those_of_numpy(operation: str, kind: str) -> None:
    compared(reduces(1, operation, kind))


def test_reductions_in_columns_are_those_of_numpy() -> None:
    compared(reduces(2, "add", "u32", "im2col_no_offs"))


@pytest.mark.campaign
@pytest.mark.parametrize(("operation", "kind"), TAKEN)
def test_many_reductions_are_those_of_numpy(operation: str, kind: str) -> None:
    for number in range(share(1000)):
        compared(reduces(10 + number, operation, kind))


@pytest.mark.parametrize(
    ("operation", "kind"), [("add", "u8"), ("and", "f32"), ("inc", "s32"), ("min", "f32"), ("max", "f64")]
)
def test_reductions_that_the_manual_has_not_are_refused(operation: str, kind: str) -> None:
    tensor = np.zeros((8, 64), np.uint8)
    map_ = ptxmm.TensorMap(tensor, box=(16, 1), type=kind, dims=(16, 1))
    from ptxcore.machine.run.launch import load
    from ptxmm.running import launch

    with pytest.raises(KernelError, match=f"has no reduction .{operation}"):
        given = [map_, np.zeros(ROOM, np.uint8), *[0] * 8]
        launch(load(storing("tile", 2, 0, operation), "k.ptx"), "k", (1,), (THREADS,), given)


# Several CTAs.

HEAD = """.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)
{
.reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .b16 %h<4>;
.shared .align 128 .b8 s[128]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [out]; mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2; mov.u32 %r9, %cluster_ctarank; mov.u32 %r8, 0;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; st.shared.u32 [s], 7;
fence.proxy.async.shared::cta;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""
TAIL = """
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ld.shared.u32 %r1, [s]; mul.wide.u32 %rd3, %r9, 4; add.u64 %rd3, %rd0, %rd3; st.global.u32 [%rd3], %r1;
ret;
}
"""
COPY = "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
WAIT = "L{0}: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra L{0};"
EXPECT = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], {0};"
PEER = "mapa.shared::cluster.u32 %r5, %r6, 0;"


def of_cluster(body: str, ctas: int = 4) -> list[int]:
    """What each CTA of a cluster finds."""
    from ptxcore.machine.run.launch import load
    from ptxmm.running import launch

    tensor, out = np.full(64, 5, np.uint32), np.zeros(ctas, np.uint32)
    map_ = ptxmm.TensorMap(tensor, box=(16,))
    launch(load(HEAD + body + TAIL, "k.ptx"), "k", (ctas,), (1,), [map_, out], cluster=(ctas,), limit=10_000)
    return [int(n) for n in out]


def test_a_multicast_goes_to_the_ctas_of_its_mask_which_learn_of_it() -> None:
    body = f"""
    and.b32 %r3, %r9, 1; setp.eq.u32 %p2, %r3, 1; setp.eq.u32 %p3, %r9, 0;
    @!%p2 bra A; {EXPECT.format(64)}
    A: mov.b16 %h1, 10;
    @%p3 {COPY}.multicast::cluster [s], [%rd2, {{%r8}}], [bar], %h1;
    @!%p2 bra B; {WAIT.format(1)}
    B:
    """
    assert of_cluster(body) == [7, 5, 7, 5]


def test_a_multicast_to_pairs_tells_the_even_ctas() -> None:
    """Each even CTA waits for the bytes of both CTAs of its pair."""
    body = f"""
    and.b32 %r3, %r9, 1; setp.eq.u32 %p2, %r3, 1; setp.eq.u32 %p3, %r9, 0;
    @%p2 bra A; {EXPECT.format(128)}
    A: mov.b16 %h1, 15;
    @%p3 {COPY}.multicast::cluster.cta_group::2 [s], [%rd2, {{%r8}}], [bar], %h1;
    @%p2 bra B; {WAIT.format(1)}
    B:
    """
    assert of_cluster(body) == [5, 5, 5, 5]


def test_the_object_is_where_the_bytes_are_or_in_the_pair() -> None:
    body = """
    setp.eq.u32 %p3, %r9, 1; mov.u32 %r6, bar; mapa.shared::cluster.u32 %r5, %r6, {0};
    setp.eq.u32 %p2, %r9, {0}; @!%p2 bra A; {1}
    A: @%p3 {2} [s], [%rd2, {{%r8}}], [%r5];
    @!%p2 bra B; {3}
    B:
    """
    there = body.format(0, EXPECT.format(64), f"{COPY}.cta_group::2", WAIT.format(1))
    assert of_cluster(there) == [7, 5, 7, 7]
    for elsewhere in (
        body.format(0, EXPECT.format(64), COPY, WAIT.format(1)),
        body.format(2, EXPECT.format(64), f"{COPY}.cta_group::2", WAIT.format(1)),
    ):
        with pytest.raises(KernelError, match="in another CTA than its destination") as caught:
            of_cluster(elsewhere)
        assert caught.value.kind == "bad-mbarrier"
