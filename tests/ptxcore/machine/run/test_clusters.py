"""Threads of a cluster: their barrier, each other's shared memory, and what arrives there later (sections 9.7.13.3,
9.7.13.7, 9.7.13.15 and 9.7.9.23)."""

from __future__ import annotations

import pytest

from ptxcore.machine.run.launch import load

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
BODY = """
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<8>;
.shared .align 8 .b64 full;
.shared .u32 sum;
ld.param.u64 %rd0, [out];
mov.u32 %r0, %tid.x;
mov.u32 %r1, %cluster_ctarank;
mov.u32 %r2, %cluster_nctarank;
mov.u32 %r3, %ctaid.x;
mul.wide.u32 %rd1, %r3, 4;
add.u64 %rd1, %rd0, %rd1; // the word of this CTA
setp.eq.u32 %p0, %r0, 0;
add.u32 %r4, %r1, 1;
rem.u32 %r4, %r4, %r2; // the next rank
mapa.shared::cluster.u32 %r5, sum, %r4;
mapa.shared::cluster.u32 %r6, full, %r4;
"""
SEEDS = (None, 1, 2, 3)


def words(body: str, seed: int | None, *, grid: int = 4, cluster: int = 2, threads: int = 4) -> list[int]:
    """A word of each CTA, at %rd1 of its threads. %r5 and %r6 are `sum` and `full` of the next CTA of the cluster."""
    text = f"{HEAD}.visible .entry k(.param .u64 out)\n{{\n{BODY}{body}\nret;\n}}\n"
    device = load(text, "k.ptx")
    buffer = device.memory.allocate(4 * grid, "out")
    device.launch("k", (grid, 1, 1), (threads, 1, 1), [buffer], cluster=(cluster, 1, 1), seed=seed, limit=200_000)
    return [device.memory.at(buffer).read(4 * i, 4) for i in range(grid)]


MEET = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_meets_at_its_barrier_again_and_again(seed: int | None) -> None:
    body = f"""
    @%p0 st.shared.u32 [sum], 100;
    {MEET}
    add.u32 %r7, %r3, 1;
    atom.shared::cluster.add.u32 %r8, [%r5], %r7;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    ld.shared.u32 %r9, [sum];
    @%p0 st.global.u32 [%rd1], %r9;
    {MEET}
    """
    # Four threads of the neighbour add the number of their CTA, and one.
    assert words(body, seed) == [108, 104, 116, 112]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_reduced_asynchronously_signals_the_barrier_object_beside_it(seed: int | None) -> None:
    body = f"""
    @%p0 st.shared.u32 [sum], 7;
    @%p0 mbarrier.init.shared.b64 [full], 1;
    @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [full], 16;
    {MEET}
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], 10, [%r6];
AGAIN:
    mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [full], 0;
    @!%p1 bra AGAIN;
    ld.shared.u32 %r9, [sum];
    @%p0 st.global.u32 [%rd1], %r9;
    {MEET}
    """
    assert words(body, seed) == [47] * 4


@pytest.mark.parametrize("seed", SEEDS)
def test_threads_arrive_at_the_barrier_object_of_another_cta(seed: int | None) -> None:
    body = f"""
    @%p0 mbarrier.init.shared.b64 [full], 4;
    {MEET}
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
AGAIN:
    mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [full], 0;
    @!%p1 bra AGAIN;
    getctarank.shared::cluster.u32 %r9, %r5;
    @%p0 st.global.u32 [%rd1], %r9;
    {MEET}
    """
    assert words(body, seed, grid=3, cluster=3) == [1, 2, 0]


def test_an_address_knows_its_space() -> None:
    body = """
    cvta.shared.u64 %rd2, sum;
    mapa.u64 %rd3, %rd2, %r4;
    isspacep.shared %p1, %rd2;
    isspacep.shared %p2, %rd3;
    isspacep.shared::cluster %p3, %rd3;
    isspacep.global %p4, %rd0;
    isspacep.global %p5, %rd2;
    selp.u32 %r7, 1, 0, %p1;
    @%p2 add.u32 %r7, %r7, 2;
    @%p3 add.u32 %r7, %r7, 4;
    @%p4 add.u32 %r7, %r7, 8;
    @%p5 add.u32 %r7, %r7, 16;
    @%p0 st.global.u32 [%rd1], %r7;
    """
    assert words(body, None) == [13] * 4
