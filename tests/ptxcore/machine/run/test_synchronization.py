"""Threads that synchronize: warps, atomics and barrier objects, run (section 9.7.13)."""

from __future__ import annotations

import pytest

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
REGISTERS = """
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<8>; .reg .b16 %h<8>; .reg .f32 %f<8>;
ld.param.u64 %rd0, [out];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd1, %r0, 4;
add.u64 %rd1, %rd0, %rd1; // this thread's word
"""

SEEDS = (None, 1, 2, 3)


def words(
    body: str,
    threads: int,
    *,
    count: int | None = None,
    seed: int | None = None,
    before: str = "",
    initial: tuple[int, ...] = (),
    limit: int = 200_000,
) -> list[int]:
    """The words of the buffer that `out` points to; each thread has one of its own at %rd1."""
    device = load(f"{HEAD}{before}\n.visible .entry k(.param .u64 out)\n{{\n{REGISTERS}{body}\nret;\n}}\n", "k.ptx")
    size = threads if count is None else count
    buffer = device.memory.allocate(4 * size, "out")
    for i, value in enumerate(initial):
        device.memory.at(buffer).write(4 * i, 4, value)
    device.launch("k", (1, 1, 1), (threads, 1, 1), [buffer], seed=seed, limit=limit)
    return [device.memory.at(buffer).read(4 * i, 4) for i in range(size)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_warp_adds_up_by_shuffles(seed: int | None) -> None:
    steps = "".join(
        f"shfl.sync.bfly.b32 %r2, %r1, {distance}, 0x1f, 0xffffffff; add.u32 %r1, %r1, %r2;\n"
        for distance in (16, 8, 4, 2, 1)
    )
    assert words(f"mov.u32 %r1, %r0;\n{steps}st.global.u32 [%rd1], %r1;", 32, seed=seed) == [496] * 32


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_that_have_parted_vote_among_themselves(seed: int | None) -> None:
    body = """
    and.b32 %r1, %r0, 1;
    setp.eq.u32 %p0, %r1, 0;
    setp.gt.u32 %p1, %r0, 3;
    @%p0 bra EVEN;
    vote.sync.ballot.b32 %r2, %p1, 0xaa;
    bra DONE;
EVEN:
    vote.sync.ballot.b32 %r2, %p1, 0x55;
DONE:
    bar.warp.sync 0xff;
    redux.sync.max.u32 %r3, %r0, 0xff;
    elect.sync %r4|%p2, 0xff;
    selp.u32 %r5, 1000, 0, %p2;
    add.u32 %r2, %r2, %r5;
    mad.lo.u32 %r2, %r3, 0x10000, %r2;
    st.global.u32 [%rd1], %r2;
    """
    even, odd = 0x70000 + 0x50, 0x70000 + 0xA0
    assert words(body, 8, seed=seed) == [even + 1000, odd, even, odd, even, odd, even, odd]


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_meet_at_different_places_with_the_same_mask(seed: int | None) -> None:
    body = """
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bra FIRST;
    bar.warp.sync 0xf;
    shfl.sync.idx.b32 %r1, %r0, 0, 0x1f, 0xf;
    bra DONE;
FIRST:
    st.global.u32 [%rd0+16], 7;
    bar.warp.sync 0xf;
    add.u32 %r2, %r0, 5;
    shfl.sync.idx.b32 %r1, %r2, 1, 0x1f, 0xf;
DONE:
    ld.global.u32 %r3, [%rd0+16];
    mad.lo.u32 %r1, %r1, 10, %r3;
    st.global.u32 [%rd1], %r1;
    """
    assert words(body, 4, count=5, seed=seed) == [17, 57, 57, 57, 7]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_warp_comes_to_a_barrier_as_a_whole(seed: int | None) -> None:
    """Each of two warps is an instance of its own: what a part of the other has brought by then counts in the next one."""
    body = """
    barrier.arrive 1, 32;
    shr.u32 %r1, %r0, 5;
    setp.eq.u32 %p0, %r1, 0;
    barrier.red.popc.u32 %r2, 0, 32, %p0;
    st.global.u32 [%rd1], %r2;
    """
    assert words(body, 64, seed=seed) == [32] * 32 + [0] * 32


def test_who_has_ended_is_not_waited_for() -> None:
    body = "setp.gt.u32 %p0, %r0, 1; @%p0 exit; vote.sync.any.pred %p1, %p0, 0xf; selp.u32 %r1, 1, 2, %p1; st.u32 [%rd1], %r1;"
    assert words(body, 4) == [2, 2, 0, 0]


def test_vectors_and_halves_are_added_atomically() -> None:
    body = """
    mov.f32 %f0, 0f40000000;
    atom.global.v2.add.f32 {%f1, %f2}, [%rd0], {%f0, 0f3f800000};
    mov.b32 %r1, 0x3c000001;
    red.global.add.noftz.f16x2 [%rd0+8], %r1;
    """
    assert words(body, 32, count=4) == [0x42800000, 0x42000000, 0x50000020, 0]


PIPELINE = """
    // Thread 0 hands 4 words to the others, one phase each.
    setp.ne.u32 %p0, %r0, 0;
    @!%p0 mbarrier.init.shared.b64 [full], 1;
    @!%p0 mbarrier.init.shared.b64 [empty], 3;
    bar.sync 0;
    mov.u32 %r1, 0;
    mov.u32 %r9, 0;
NEXT:
    and.b32 %r2, %r1, 1;
    @%p0 bra CONSUME;
    xor.b32 %r3, %r2, 1;
EMPTY:
    mbarrier.try_wait.parity.shared.b64 %p1, [empty], %r3;
    @!%p1 bra EMPTY;
    add.u32 %r4, %r1, 10;
    st.shared.u32 [item], %r4;
    mbarrier.arrive.shared.b64 _, [full];
    bra ROUND;
CONSUME:
    mbarrier.try_wait.parity.shared.b64 %p1, [full], %r2;
    @!%p1 bra CONSUME;
    ld.shared.u32 %r4, [item];
    mad.lo.u32 %r9, %r9, 100, %r4;
    mbarrier.arrive.shared.b64 _, [empty];
ROUND:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p2, %r1, 4;
    @%p2 bra NEXT;
    st.global.u32 [%rd1], %r9;
"""
OBJECTS = ".shared .b64 full; .shared .b64 empty; .shared .u32 item;"


@pytest.mark.parametrize("seed", SEEDS)
def test_barrier_objects_hand_items_over(seed: int | None) -> None:
    assert words(PIPELINE, 4, seed=seed, before=OBJECTS) == [0, 10111213, 10111213, 10111213]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_state_waits_for_its_phase(seed: int | None) -> None:
    body = """
    setp.eq.u32 %p0, %r0, 0;
    @%p0 mbarrier.init.shared.b64 [full], 64;
    bar.sync 0;
    atom.shared.add.u32 %r1, [item], 1;
    mbarrier.arrive.shared.b64 %rd2, [full];
AGAIN:
    mbarrier.test_wait.shared.b64 %p1, [full], %rd2;
    @!%p1 bra AGAIN;
    ld.shared.u32 %r1, [item];
    st.global.u32 [%rd1], %r1;
    """
    start = "setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [item], 0;"
    assert words(start + body, 64, seed=seed, before=OBJECTS) == [64] * 64


@pytest.mark.parametrize("noinc", ["", ".noinc"])
@pytest.mark.parametrize("seed", SEEDS)
def test_copies_arrive_at_a_barrier_object(seed: int | None, noinc: str) -> None:
    body = f"""
    setp.eq.u32 %p0, %r0, 0;
    @%p0 mbarrier.init.shared.b64 [full], {16 if noinc else 8};
    mov.u32 %r1, staged;
    mad.lo.u32 %r1, %r0, 4, %r1;
    bar.sync 0;
    cp.async.ca.shared.global [%r1], [%rd1], 4;
    cp.async.mbarrier.arrive{noinc}.shared.b64 [full];
    mbarrier.arrive.shared.b64 %rd2, [full];
AGAIN:
    mbarrier.try_wait.shared.b64 %p1, [full], %rd2;
    @!%p1 bra AGAIN;
    xor.b32 %r2, %r0, 7;
    mov.u32 %r1, staged;
    mad.lo.u32 %r1, %r2, 4, %r1;
    ld.shared.u32 %r3, [%r1];
    st.global.u32 [%rd1+32], %r3;
    """
    before = ".shared .b64 full; .shared .u32 staged[8];"
    assert words(body, 8, count=16, seed=seed, before=before, initial=tuple(range(8)))[8:] == list(range(7, -1, -1))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("mbarrier.arrive.shared.b64 _, [full];", "uninitialised"),
        ("st.shared.u64 [full], 5; mbarrier.arrive.shared.b64 _, [full];", "bad-mbarrier"),
        ("mbarrier.init.shared.b64 [full], 1; mbarrier.arrive.shared.b64 _, [full], 2;", "bad-mbarrier"),
        ("mov.u32 %r1, 0; mbarrier.init.shared.b64 [full], %r1;", "bad-mbarrier"),
        ("vote.sync.any.pred %p1, 1, 0x2;", "bad-mask"),
    ],
)
def test_misuse_is_an_error(body: str, kind: str) -> None:
    with pytest.raises(KernelError) as error:
        words(body, 1, before=OBJECTS)
    assert error.value.kind == kind


def test_a_phase_that_nobody_completes_is_a_deadlock() -> None:
    body = """
    mbarrier.init.shared.b64 [full], 2;
    mbarrier.arrive.shared.b64 %rd2, [full];
AGAIN:
    mbarrier.try_wait.shared.b64 %p1, [full], %rd2;
    @!%p1 bra AGAIN;
    """
    with pytest.raises(KernelError) as error:
        words(body, 1, before=OBJECTS)
    assert error.value.kind in ("deadlock", "limit")


@pytest.mark.parametrize("seed", SEEDS)
def test_many_threads_that_wait_in_vain_are_soon_a_deadlock(seed: int | None) -> None:
    """Nothing changes while they look again, and ten rounds of that are enough."""
    body = """
    setp.ne.u32 %p2, %r0, 0; @%p2 bra MEET;
    mbarrier.init.shared.b64 [full], 65;
MEET:
    bar.sync 0;
    mbarrier.arrive.shared.b64 %rd2, [full];
AGAIN:
    mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;
    @!%p1 bra AGAIN;
    """
    with pytest.raises(KernelError) as error:
        words(body, 64, before=OBJECTS, seed=seed, limit=20_000)
    assert error.value.kind == "deadlock"
