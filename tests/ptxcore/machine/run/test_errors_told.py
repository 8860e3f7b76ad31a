"""What goes wrong is told as its reader needs it: the kind, the instruction, the values, who waits for what."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, UsageError, load
from ptxmm.running import launch

REGISTERS = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .reg .b16 %h<9>;"


def device(body: str, before: str = "", directives: str = "", target: str = "sm_90") -> Device:
    text = f"""
.version 9.0
.target {target}
.address_size 64
{before}
.visible .entry k(.param .u64 o) {directives}
{{
{REGISTERS}
.shared .align 16 .b8 s[16];
ld.param.u64 %rd1, [o];
mov.u32 %r1, %tid.x;
mov.u64 %rd2, s;
mov.u32 %r2, s;
{body}
ret;
}}
"""
    return load(text, "k.ptx")


class Wrong(NamedTuple):
    """A body, the kind of what goes wrong in it, and words of the message."""

    body: str
    kind: str
    words: str
    threads: int = 1
    before: str = ""
    seed: int | None = None
    cluster: int = 1


CALLED = ".func f(.param .u64 a) { ret; }"
ENDLESS = ".func f() { call f; ret; }"
SPIN = "L: ld.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;"

WRONG = [
    Wrong("mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd1; st.global.u32 [%rd3+8], %r1;", "out-of-bounds",
          "where %r1 = 2, %rd3 = 0x100000008", 3),
    Wrong("mov.b16 %h1, 0xfffe; cvt.s32.s16 %r3, %h1; setp.ne.u32 %p1, %r1, 7; @%p1 st.shared.s32 [%r3], %r3;",
          "out-of-bounds", "where %p1 = true, %r3 = -2"),
    Wrong("mov.u64 %rd3, 0; ld.u32 %r3, [%rd3+12];", "out-of-bounds", "no memory at address 0xc (a null pointer)"),
    Wrong("atom.shared.add.u32 %r3, [%rd1], 1;", "wrong-space", "(offset 0 of 'o') is not in .shared memory"),
    Wrong("red.global.add.u32 [%rd2], 1;", "wrong-space", "is not in .global memory"),
    Wrong("ld.const.u32 %r3, [%rd1];", "wrong-space", "is not in .const memory"),
    Wrong("st.local.u32 [%rd2], 1;", "wrong-space", "is not in .local memory"),
    Wrong("mbarrier.init.b64 [%rd1], 1;", "wrong-space", "is not in .shared memory"),
    Wrong("cp.async.ca.shared.global [%r2], [%rd2], 4;", "wrong-space", "is not in .global memory"),
    Wrong("cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%rd2], 16;", "wrong-space", "is not in .global memory"),
    Wrong("mov.u32 %r4, %cluster_ctarank; xor.b32 %r4, %r4, 1; mapa.shared::cluster.u32 %r3, %r2, %r4; st.shared.u32 [%r3], 1;",
          "wrong-space", "is in another CTA, which .shared::cluster reaches", cluster=2),
    Wrong("ld.shared.u32 %r3, [s]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1], %r3;", "uninitialised",
          "were read before a write, by 'ld.shared.u32' in line 14"),
    Wrong("call f;", "stack-overflow", "32768 calls within each other", before=ENDLESS),
    Wrong("mov.u64 %rd3, f; P: .callprototype _ (); call %rd3, (), P;", "bad-call", "'f' with other arguments", before=CALLED),
    Wrong(SPIN, "deadlock", "loops (line 14); so do 2 more", 3),
    Wrong(SPIN, "deadlock", "loops (line 14)", 3, seed=3),
    Wrong(SPIN.replace("ld", "ld.acquire.gpu", 1), "deadlock",
          "spins at 'ld.acquire.gpu.global.u32' of address 0x100000000 (offset 0 of 'o')"),
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.kind}: {wrong.words}")
def test_errors_tell_values_and_reasons(wrong: Wrong) -> None:
    machine = device(wrong.body, wrong.before)
    out = machine.memory.allocate(16, "o")
    cluster = (wrong.cluster, 1, 1)
    with pytest.raises(KernelError) as caught:
        machine.launch("k", cluster, (wrong.threads, 1, 1), [out], cluster=cluster, seed=wrong.seed, limit=3_000_000)
    assert caught.value.kind == wrong.kind
    assert wrong.words in str(caught.value)


@pytest.mark.parametrize("seed", [None, 1])
def test_who_meets_without_a_mask_goes_on_though_others_spin(seed: int | None) -> None:
    """The others look at a clock meanwhile, so that it never seems that nothing happens."""
    body = """
    setp.eq.u32 %p1, %r1, 0;
    @%p1 activemask.b32 %r3;
    @%p1 st.volatile.global.u32 [%rd1], %r3;
L:  mov.u32 %r5, %clock;
    ld.volatile.global.u32 %r4, [%rd1];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra L;
"""
    machine = device(body)
    out = machine.memory.allocate(4, "o")
    machine.launch("k", (1, 1, 1), (32, 1, 1), [out], seed=seed, limit=3_000_000)
    assert machine.memory.at(out).read(0, 4) & 1


@pytest.mark.parametrize(
    ("directives", "block", "cluster", "words"),
    [
        (".reqntid 4, 2", 4, None, "has .reqntid 4, 2, 1, and is launched with 4, 1, 1 threads"),
        (".maxntid 4, 2", 9, None, "has .maxntid 4, 2, 1, and is launched with 9 threads"),
        (".reqnctapercluster 2", 1, 4, "has .reqnctapercluster 2, 1, 1, and is launched with 4, 1, 1 CTAs"),
        (".maxclusterrank 2", 1, 4, "has .maxclusterrank 2, and is launched in clusters of 4 CTAs"),
    ],
)
def test_launches_that_directives_exclude(directives: str, block: int, cluster: int | None, words: str) -> None:
    machine = device("", directives=directives)
    with pytest.raises(UsageError, match=words.replace(".", r"\.")):
        machine.launch("k", (4, 1, 1), (block, 1, 1), [0], cluster=None if cluster is None else (cluster, 1, 1))


def test_the_grid_counts_clusters_where_the_kernel_says_so() -> None:
    machine = device("red.global.add.u32 [%rd1], 1;", directives=".reqntid 3 .reqnctapercluster 2 .blocksareclusters")
    out = machine.memory.allocate(4, "o")
    machine.launch("k", (5, 1, 1), (3, 1, 1), [out])
    assert machine.memory.at(out).read(0, 4) == 5 * 2 * 3


_WAITS_FOR_A_PHASE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 g)
{
.reg .b32 %a; .reg .b64 %g; .reg .pred %p;
.shared .align 16 .b8 s[256]; .shared .align 8 .b64 bar[2];
ld.param.u64 %g, [g]; mov.u32 %a, bar;
mbarrier.init.shared.b64 [bar+8], ARRIVALS; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
mbarrier.arrive.expect_tx.shared.b64 _, [bar+8], BYTES;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%g], 64, [bar+8];
L: mbarrier.try_wait.parity.shared.b64 %p, [%a+8], 0; @!%p bra L;
ret;
}
"""


@pytest.mark.parametrize(
    ("arrivals", "bytes_", "words"),
    [
        (1, 80, "lacks 16 bytes"),
        (1, 48, "has 16 bytes too many"),
        (3, 64, "lacks 2 arrivals"),
        (2, 80, "lacks 1 arrival and 16 bytes"),
    ],
)
def test_a_deadlock_at_an_mbarrier_object_says_what_its_phase_lacks(arrivals: int, bytes_: int, words: str) -> None:
    text = _WAITS_FOR_A_PHASE.replace("ARRIVALS", str(arrivals)).replace("BYTES", str(bytes_))
    with pytest.raises(KernelError) as caught:
        launch(load(text, "k.ptx"), "k", (1,), (1,), [np.zeros(64, np.uint32)])
    assert caught.value.kind == "deadlock"
    assert f"waits at 'mbarrier.try_wait.parity.shared.b64' for a phase that {words} (line 12)" in str(caught.value)


@pytest.mark.parametrize(("line", "words"), [(7, "(ring.cu:7, PTX 12)"), (0, "(line 12)")])
def test_a_deadlock_says_the_line_of_the_source_where_it_has_one(line: int, words: str) -> None:
    """A compiler gives line 0 to what it made of several lines."""
    text = _WAITS_FOR_A_PHASE.replace("ARRIVALS", "3").replace("BYTES", "64")
    text = text.replace("L: ", f".loc 1 {line} 0; L: ".replace("; ", " ")) + '.file 1 "src/ring.cu"\n'
    with pytest.raises(KernelError) as caught:
        launch(load(text, "k.ptx"), "k", (1,), (1,), [np.zeros(64, np.uint32)])
    assert f"for a phase that lacks 2 arrivals {words}" in str(caught.value)


def test_of_a_phase_that_lacks_nothing_only_the_wait_is_told() -> None:
    """A store over the half of the object that counts leaves such a one."""
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 g)
{
.reg .pred %p; .shared .align 8 .b64 bar;
mbarrier.init.shared.b64 [bar], 2; st.shared.u32 [bar], 0;
L: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra L;
ret;
}
"""
    with pytest.raises(KernelError) as caught:
        launch(load(text, "k.ptx"), "k", (1,), (1,), [np.zeros(64, np.uint32)])
    assert "waits at 'mbarrier.try_wait.parity.shared.b64' (line 8)" in str(caught.value)
