"""Data movement, run: vectors, permutations, asynchronous copies of every size, and values that nothing wrote (9.7.9)."""

from __future__ import annotations

import pytest

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load

SEEDS = (None, 1, 2, 3)
HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
REGISTERS = """
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b128 %q<4>; .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b8 %c<8>;
.shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [out];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd1, %r0, 4;
add.u64 %rd1, %rd0, %rd1; // this thread's word
mov.u32 %r19, s; mov.u32 %r18, bar;
"""
WORDS = tuple(range(1, 33))


def words(
    body: str,
    *,
    threads: int = 1,
    ctas: int = 1,
    cluster: int = 1,
    initial: tuple[int, ...] = (),
    count: int = 32,
    seed: int | None = None,
    before: str = "",
) -> list[int]:
    """The words of the buffer at %rd0; each thread has one of its own at %rd1."""
    device = load(f"{HEAD}{before}\n.visible .entry k(.param .u64 out)\n{{\n{REGISTERS}{body}\nret;\n}}\n", "k.ptx")
    buffer = device.memory.allocate(4 * count, "out")
    for i, value in enumerate(initial):
        device.memory.at(buffer).write(4 * i, 4, value)
    device.launch("k", (ctas, 1, 1), (threads, 1, 1), [buffer], seed=seed, limit=200_000, cluster=(cluster, 1, 1))
    return [device.memory.at(buffer).read(4 * i, 4) for i in range(count)]


# Registers and vectors.


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mov.b64 %rd2, {7, 9}; mov.b64 {%r1, %r2}, %rd2; st.global.v2.u32 [%rd0], {%r2, %r1};", [9, 7]),
        ("mov.b64 %rd2, 0x0004000300020001; mov.b64 {_, %h1, _, %h2}, %rd2; mov.b32 %r1, {%h2, %h1}; "
         "st.global.u32 [%rd0], %r1;", [0x00020004]),
        ("mov.b64 %rd2, 5; mov.b64 %rd3, 6; mov.b128 %q1, {%rd2, %rd3}; st.global.b128 [%rd0], %q1;", [5, 0, 6, 0]),
        ("ld.global.b128 %q1, [%rd0+16]; mov.b128 {%rd2, %rd3}, %q1; st.global.v2.b64 [%rd0], {%rd3, %rd2};",
         [7, 8, 5, 6]),
        ("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+16]; st.global.v4.u32 [%rd0], {%r4, %r3, %r2, %r1};",
         [8, 7, 6, 5]),
        ("ld.global.v8.b32 {%r1, %r2, _, %r4, %r5, %r6, %r7, %r8}, [%rd0+64]; "
         "st.global.v8.b32 [%rd0], {%r8, %r7, %r6, %r5, %r4, 3, %r2, %r1};", [24, 23, 22, 21, 20, 3, 18, 17]),
        ("ld.global.v8.b32 {%r1, _, _, %r4, _, _, _, _}, [%rd0]; st.global.v8.b32 [%rd0], {%r4, _, 9, _, _, _, _, %r1};",
         [4, 2, 9, 4, 5, 6, 7, 1]),
        ("ldu.global.v2.u32 {%r1, %r2}, [%rd0+8]; ld.global.nc.L1::evict_last.u32 %r3, [%rd0+16]; "
         "st.global.v2.u32 [%rd0], {%r2, %r3};", [4, 5]),
        ("createpolicy.fractional.L2::evict_last.b64 %rd2, 0.5; ld.global.L2::cache_hint.u32 %r1, [%rd0+8], %rd2; "
         "st.global.L2::cache_hint.u32 [%rd0], %r1, %rd2;", [3]),
        ("st.global.u8 [%rd0], 0x85; ld.global.s8 %r1, [%rd0]; ld.global.u8 %r2, [%rd0]; "
         "st.global.v2.u32 [%rd0], {%r1, %r2};", [0xFFFFFF85, 0x85]),
        ("mov.u32 %r1, 0x33221100; mov.u32 %r2, 0x77665544; prmt.b32 %r3, %r1, %r2, 0x7250; "
         "prmt.b32.b4e %r4, %r1, %r2, 2; st.global.v2.u32 [%rd0], {%r3, %r4};", [0x77225500, 0x77001122]),
        ("prefetch.global.L2 [%rd0]; prefetchu.L1 [%rd0]; applypriority.global.L2::evict_normal [%rd0], 128; "
         "st.global.u32 [%rd0], 9;", [9]),
    ],
)  # fmt: skip
def test_moves_and_vectors(body: str, expected: list[int]) -> None:
    assert words(body, initial=WORDS)[: len(expected)] == expected


# Copies of 4 to 16 bytes.

SHOWN = "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [s]; st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ("cp.async.cg.shared.global [s], [%rd0+16], 16;", [5, 6, 7, 8]),
        ("cp.async.cg.shared.global [s], [%rd0+16], 16, 8;", [5, 6, 0, 0]),
        ("mov.u32 %r1, 0; cp.async.cg.shared.global [s], [%rd0+16], 16, %r1;", [0, 0, 0, 0]),
        ("setp.eq.u32 %p1, %r0, 0; cp.async.ca.shared.global [s], [%rd0+16], 8, %p1; "
         "cp.async.ca.shared.global [s+8], [%rd0], 8, !%p1;", [0, 0, 1, 2]),
        ("cp.async.ca.shared.global [s], [%rd0], 4; cp.async.ca.shared.global [s+4], [%rd0], 4, 2; "
         "cp.async.ca.shared.global [s+8], [%rd0+8], 8;", [1, 1, 3, 4]),
    ],
)  # fmt: skip
def test_short_copies(copies: str, expected: list[int], seed: int | None) -> None:
    assert words(f"{copies} cp.async.wait_all; {SHOWN}", initial=WORDS, seed=seed)[:4] == expected


TWO_GROUPS = """
cp.async.ca.shared.global [s], [%rd0+16], 8; cp.async.commit_group;
cp.async.ca.shared.global [s+8], [%rd0+16], 8; cp.async.commit_group;
cp.async.wait_group {pending};
"""


def test_groups_are_waited_for_in_order() -> None:
    first = "ld.shared.v2.u32 {%r1, %r2}, [s]; st.global.v2.u32 [%rd0], {%r1, %r2};"
    assert words(TWO_GROUPS.replace("{pending}", "1") + first, initial=WORDS)[:2] == [5, 6]
    assert words(TWO_GROUPS.replace("{pending}", "0") + SHOWN, initial=WORDS)[:4] == [5, 6, 5, 6]
    with pytest.raises(KernelError) as caught:
        words(TWO_GROUPS.replace("{pending}", "1") + SHOWN, initial=WORDS)
    assert caught.value.kind == "uninitialised"


# Bulk copies.

BEGIN = "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};\n"
UNTIL = "L: mbarrier.try_wait.parity.shared.b64 %p7, [bar], 0; @!%p7 bra L;\n"
FILLED = "".join(f"st.shared.u32 [s+{4 * i}], {10 * i};" for i in range(8))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("size", "body", "expected"),
    [
        (32, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd0+16], 32, [bar];"
         f"{UNTIL}{SHOWN}", [5, 6, 7, 8]),
        (32, f"{FILLED} cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s+64], [s], 32, [bar];"
         f"{UNTIL} ld.shared.u32 %r1, [s+92]; st.global.u32 [%rd0], %r1;", [70]),
        (16, f"{FILLED} cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [s], "
         f"[s+16], 16, [bar]; {UNTIL}{SHOWN}", [40, 60, 80, 100]),
        (16, f"{FILLED} cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32 [s+16], "
         f"[s], 16, [bar]; {UNTIL} ld.shared.v2.u32 {{%r1, %r2}}, [s+16]; st.global.v2.u32 [%rd0], {{%r1, %r2}};", [0, 0]),
        (8, "mov.u64 %rd2, 77; mapa.shared::cluster.u32 %r5, %r19, 0; mapa.shared::cluster.u32 %r6, %r18, 0;"
         "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r5], %rd2, [%r6];"
         f"{UNTIL} ld.shared.u32 %r1, [s]; st.global.u32 [%rd0], %r1;", [77]),
        (16, "mapa.shared::cluster.u32 %r5, %r19, 0; mapa.shared::cluster.u32 %r6, %r18, 0;"
         "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r5], {%r19, 2, 3, 4}, [%r6];"
         f"{UNTIL} ld.shared.v2.u32 {{%r1, %r2}}, [s+8]; st.global.v2.u32 [%rd0], {{%r1, %r2}};", [3, 4]),
    ],
)  # fmt: skip
def test_copies_that_a_barrier_object_learns_of(size: int, body: str, expected: list[int], seed: int | None) -> None:
    before = BEGIN.replace("{size}", str(size))
    assert words(before + body, initial=WORDS, seed=seed)[: len(expected)] == expected


COMMITTED = "cp.async.bulk.commit_group; cp.async.bulk.wait_group{read} 0;"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 16;", [0, 10, 20, 30]),
        ("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0], [s], 16, %h1;", [0, 2, 20, 4]),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [s], 16;", [1, 12, 23, 34]),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%rd0], [s], 16;", [1, 10, 20, 30]),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [%rd0], [s], 16;", [1, 2 ^ 10, 3 ^ 20, 4 ^ 30]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("read", ["", ".read"])
def test_copies_in_bulk_groups(copy: str, expected: list[int], read: str, seed: int | None) -> None:
    """With `.read` the source may be written at once; what was read arrives."""
    committed = COMMITTED.replace("{read}", read)
    body = f"{FILLED} mov.u16 %h1, 0x0f0f; {copy} {committed} st.shared.u32 [s+4], 99;"
    assert words(body, initial=WORDS, seed=seed)[:4] == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_to_several_ctas_of_a_cluster(seed: int | None) -> None:
    """CTA 0 copies for 0 and 2; the others have nothing to wait for."""
    body = f"""
    mov.u32 %r5, %cluster_ctarank; setp.ne.u32 %p1, %r5, 0; and.b32 %r6, %r5, 1; setp.eq.u32 %p2, %r6, 1;
    mbarrier.init.shared.b64 [bar], 1;
    @!%p2 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
    barrier.cluster.arrive; barrier.cluster.wait;
    @%p1 bra WAIT;
    mov.u16 %h1, 5;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%rd0], 16, [bar], %h1;
    WAIT: @%p2 bra END;
    {UNTIL}
    ld.shared.u32 %r1, [s+8]; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rd2, %rd0; st.global.u32 [%rd2+64], %r1;
    END: barrier.cluster.arrive; barrier.cluster.wait;
    """
    got = words(body, initial=WORDS, ctas=4, cluster=4, seed=seed)
    assert got[16:20] == [3, 18, 3, 20]


def test_shared_memory_is_cleared_in_bulk() -> None:
    assert words(f"mov.u64 %rd2, 32; cvt.u64.u32 %rd3, %r19; st.bulk.weak.shared::cta [%rd3], %rd2, 0; {SHOWN}",
                 initial=WORDS)[:4] == [0] * 4  # fmt: skip


# What goes wrong.


@pytest.mark.parametrize(
    ("body", "kind", "instruction"),
    [
        ("cp.async.ca.shared.global [s+2], [%rd0], 4;", "misaligned", "cp.async.ca"),
        ("cp.async.ca.shared.global [s], [%rd0+126], 4; cp.async.wait_all;", "misaligned", "cp.async.ca"),
        ("cp.async.cg.shared.global [s], [%rd0+128], 16; cp.async.wait_all;", "out-of-bounds", "cp.async.cg"),
        ("mov.u32 %r1, 17; cp.async.cg.shared.global [s], [%rd0], 16, %r1;", "bad-size", "cp.async.cg"),
        (BEGIN.replace("{size}", "512") + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd0], "
         f"512, [bar]; {UNTIL}", "out-of-bounds", "cp.async.bulk"),
        ("mov.u32 %r1, 24; cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], %r1;", "bad-size", "cp.async.bulk"),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 16;", "uninitialised", "cp.async.bulk"),
        (BEGIN.replace("{size}", "16") + UNTIL, "deadlock", ""),
        ("discard.global.L2 [%rd0+64], 128;", "misaligned", "discard"),
    ],
)  # fmt: skip
def test_misuse_is_an_error(body: str, kind: str, instruction: str) -> None:
    with pytest.raises(KernelError) as caught:
        words(body, initial=WORDS)
    assert caught.value.kind == kind, caught.value.render()
    assert caught.value.instruction is None or caught.value.instruction.text.startswith(instruction)


# Values that nothing wrote.


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # A result that does not depend on them.
        ("ld.shared.u32 %r1, [s]; mul.lo.u32 %r1, %r1, 0; st.global.u32 [%rd0], %r1;", [0]),
        ("ld.shared.u32 %r1, [s]; sub.u32 %r1, %r1, %r1; st.global.u32 [%rd0], %r1;", [0]),
        ("ld.shared.u32 %r1, [s]; setp.lt.u32 %p1, %r1, 7; setp.eq.u32 %p2, %r0, 0; or.pred %p1, %p1, %p2; "
         "selp.u32 %r2, 5, %r1, %p1; st.global.u32 [%rd0], %r2;", [5]),
        # Carried through registers and memory, with what was written beside it.
        ("st.shared.u32 [s], 3; ld.shared.u64 %rd2, [s]; st.shared.u64 [s+8], %rd2; ld.shared.u32 %r1, [s+8]; "
         "st.global.u32 [%rd0], %r1;", [3]),
        ("st.shared.u32 [s+4], 3; ld.shared.v2.u32 {%r1, %r2}, [s]; mov.b64 %rd2, {%r1, %r2}; shr.u64 %rd2, %rd2, 32; "
         "st.global.u32 [%rd0], %rd2;", [3]),
        ("st.shared.u16 [s], 3; ld.shared.u64 %rd2, [s]; mov.b64 {%h1, _, _, %h2}, %rd2; st.global.u16 [%rd0], %h1;", [3]),
        ("st.shared.u8 [s], 0xf3; ld.shared.u16 %h1, [s]; cvt.u32.u16 %r1, %h1; and.b32 %r1, %r1, 255; "
         "st.global.u32 [%rd0], %r1;", [0xF3]),
        # A register that nothing wrote is stored where it is never read.
        ("st.shared.u32 [s], %r9; st.shared.u32 [s], 4; ld.shared.u32 %r1, [s]; st.global.u32 [%rd0], %r1;", [4]),
        # Padding that is stored to global memory.
        ("st.shared.u32 [s], 3; ld.shared.u64 %rd2, [s]; st.global.u64 [%rd0], %rd2;", [3]),
    ],
)  # fmt: skip
def test_values_that_nothing_wrote_may_be_carried_about(body: str, expected: list[int]) -> None:
    assert words(body)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("body", "instruction"),
    [
        ("st.global.u32 [%rd0], %r1;", "st.global"),
        ("setp.lt.u32 %p1, %r1, 7; @%p1 bra E; E:", "@%p1 bra"),
        ("add.u32 %r2, %r19, %r1; ld.shared.u32 %r3, [%r2];", "ld.shared"),
        ("add.u32 %r2, %r19, %r1; st.shared.u32 [%r2], 0;", "st.shared"),
        (
            "add.u32 %r2, %r1, 1; st.shared.u32 [s], %r2; ld.shared.u32 %r3, [s]; st.global.u32 [%rd0], %r3;",
            "st.global",
        ),
        ("atom.global.add.u32 %r2, [%rd0], %r1;", "atom"),
        ("atom.shared.add.u32 %r2, [s], 1;", "atom"),
        ("popc.b32 %r2, %r1; st.global.u32 [%rd0], %r2;", "st.global"),
    ],
)
def test_values_that_nothing_wrote_decide_nothing(body: str, instruction: str) -> None:
    with pytest.raises(KernelError) as caught:
        words(f"ld.shared.u32 %r1, [s]; {body}")
    assert caught.value.kind == "uninitialised", caught.value.render()
    assert caught.value.instruction is not None
    assert caught.value.instruction.text.startswith(instruction)
    assert "read before a write" in caught.value.message


@pytest.mark.parametrize(
    "instruction", ["popc.b32 %r1, %r9;", "prmt.b32 %r1, %r9, %r9, %r8;", "addc.cc.u32 %r1, %r9, 1;"]
)
def test_registers_that_nothing_wrote_are_blamed_where_they_are_computed_with(instruction: str) -> None:
    before = "add.cc.u32 %r8, %r0, 1;"
    assert words(f"{before} {instruction} st.global.u32 [%rd0], 1;")[0] == 1
    with pytest.raises(KernelError) as caught:
        words(f"{before} {instruction} st.global.u32 [%rd0], %r1;")
    assert caught.value.kind == "undefined-register"
    assert "%r9" in caught.value.message
    assert "st.global" in caught.value.message
    assert caught.value.instruction is not None
    assert caught.value.instruction.text == instruction.rstrip(";")
