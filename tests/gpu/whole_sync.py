"""Whole kernels of instructions that order, wait and signal: each with the words that it must leave, said by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from gpu.whole import Whole

_HEAD = ".version {version}\n.target {target}\n.address_size 64\n"
_BEGIN = """
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b128 %q<4>; .reg .pred %p<8>; .reg .b16 %h<8>;
.shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar; .shared .align 16 .b8 response[16];
ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;
mad.wide.u32 %rd1, %r0, 4, %rd0; mad.wide.u32 %rd2, %r1, 4, %rd0;
mov.u32 %r18, bar; mov.u32 %r19, s; setp.eq.u32 %p0, %r0, 0;
"""
#: Words of the buffer, which are 1, 2, 3 and so on at first.
WORDS = 64


@dataclass(frozen=True)
class Said:
    """What threads do, and the first words that they leave; %rd0 is the buffer, %rd1 the word of a thread in it, %rd2 that of a
    CTA. %p0 is true in the first thread of a CTA."""

    body: str
    words: tuple[int, ...]
    grid: int = 1
    block: int = 1
    cluster: int = 1
    target: str = "sm_100a"
    version: str = "9.0"

    @property
    def text(self) -> str:
        cluster = f" .reqnctapercluster {self.cluster}, 1, 1" if self.cluster > 1 else ""
        head = _HEAD.format(version=self.version, target=self.target)
        return f"{head}.visible .entry k(.param .u64 out){cluster} .maxntid 256\n{{\n{_BEGIN}{self.body}\nret;\n}}\n"


UNTIL = "L{0}: mbarrier.try_wait.parity.shared.b64 %p7, [bar], {1}; @!%p7 bra L{0};\n"


def handed_over(write: str, release: str, acquire: str, read: str = "ld.weak.global.u32 %r5, [%rd0+4];") -> str:
    """One CTA hands a word over to the other: the first writes it and then a flag, the second waits for that."""
    return f"""
    setp.eq.u32 %p1, %r1, 0; @%p1 bra W;
    R: ld.relaxed.gpu.global.u32 %r4, [%rd0]; setp.ne.u32 %p2, %r4, 77; @%p2 bra R;
    {acquire} {read} st.global.u32 [%rd0+8], %r5; ret;
    W: {write} {release} st.relaxed.gpu.global.u32 [%rd0], 77;
    """


WRITE = "st.weak.global.u32 [%rd0+4], 5;"
OVER = (77, 5, 5)
_MAP = "[%rd0+128], 128"
#: Pairs of fences, with which a word is handed over.
FENCES = {
    "fence.acq_rel.gpu": ("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"),
    "fence.sc.sys": ("fence.sc.sys;", "fence.sc.sys;"),
    "fence": ("fence.release.gpu;", "fence.acquire.gpu;"),
    "membar.gl": ("membar.gl;", "membar.sys;"),
    "membar.proxy": ("membar.gl; membar.proxy.alias;", "membar.gl; fence.proxy.alias;"),
    "fence.proxy.async": ("fence.proxy.async; fence.acq_rel.gpu;", "fence.acq_rel.gpu; fence.proxy.async.global;"),
    "fence.proxy.tensormap": (
        "fence.proxy.tensormap::generic.release.gpu; fence.acq_rel.gpu;",
        f"fence.acq_rel.gpu; fence.proxy.tensormap::generic.acquire.gpu {_MAP};",
    ),
}


def of_cluster(release: str, acquire: str) -> str:
    """The first CTA of a cluster hands a word of shared memory over to the second by a barrier object there."""
    return f"""
    mapa.shared::cluster.u32 %r5, %r19, 1; mapa.shared::cluster.u32 %r6, %r18, 1;
    mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
    setp.eq.u32 %p1, %r1, 1; @%p1 bra R;
    st.shared::cluster.u32 [%r5], 41; {release} mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6]; bra E;
    R: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [bar], 0; @!%p2 bra R;
    {acquire} ld.shared.u32 %r7, [s]; st.global.u32 [%rd0], %r7;
    E: barrier.cluster.arrive.relaxed; barrier.cluster.wait;
    """


#: Counts that are still to come, by states of a barrier object, as section 9.7.13.15.17 has them: before the arrival.
PENDING = """
mbarrier.init.shared.b64 [bar], 9;
mbarrier.arrive.noComplete.shared.b64 %rd4, [bar], 2; mbarrier.pending_count.b64 %r4, %rd4;
mbarrier.arrive.shared.b64 %rd4, [bar]; mbarrier.pending_count.b64 %r5, %rd4;
mbarrier.arrive.shared.b64 %rd4, [bar], 2; mbarrier.pending_count.b64 %r6, %rd4;
mbarrier.arrive.shared.b64 _, [bar], 1; mbarrier.arrive.noComplete.shared.b64 _, [bar], 1;
mbarrier.arrive_drop.shared.b64 %rd4, [bar]; mbarrier.pending_count.b64 %r7, %rd4;
st.global.v4.u32 [%rd0], {%r4, %r5, %r6, %r7};
mbarrier.test_wait.shared.b64 %p1, [bar], %rd4; selp.u32 %r4, 1, 0, %p1;
mbarrier.arrive.shared.b64 _, [bar];
mbarrier.test_wait.shared.b64 %p1, [bar], %rd4; selp.u32 %r5, 1, 0, %p1;
mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r6, 1, 0, %p1;
mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r7, 1, 0, %p1;
st.global.v4.u32 [%rd0+16], {%r4, %r5, %r6, %r7};
mbarrier.arrive.shared.b64 %rd4, [bar]; mbarrier.pending_count.b64 %r4, %rd4; st.global.u32 [%rd0+32], %r4;
mbarrier.inval.shared.b64 [bar]; st.shared.u64 [bar], 8; ld.shared.u32 %r4, [bar]; st.global.u32 [%rd0+36], %r4;
"""
#: Who drops out is not waited for again.
DROPPED = """
mbarrier.init.shared.b64 [bar], 12; mapa.shared::cluster.u32 %r8, %r18, 0;
mbarrier.arrive_drop.shared.b64 _, [bar]; mbarrier.arrive_drop.shared.b64 %rd4, [bar], 2;
mbarrier.pending_count.b64 %r4, %rd4; mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%r8], 1;
mbarrier.arrive_drop.noComplete.shared.b64 %rd4, [bar], 2; mbarrier.pending_count.b64 %r5, %rd4;
mbarrier.arrive_drop.noComplete.shared.b64 _, [bar], 1;
mbarrier.arrive_drop.expect_tx.shared.b64 %rd4, [bar], 8; mbarrier.pending_count.b64 %r6, %rd4;
mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%r8], 4;
mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 16;
mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r8], 4;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8], 2;
mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r7, 1, 0, %p1;
st.global.v4.u32 [%rd0], {%r4, %r5, %r6, %r7};
mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 30;
mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r4, 1, 0, %p1;
mbarrier.complete_tx.shared.b64 [bar], 2;
mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r5, 1, 0, %p1;
mbarrier.arrive.shared.b64 %rd4, [bar]; mbarrier.pending_count.b64 %r6, %rd4;
mbarrier.arrive.expect_tx.shared.b64 %rd4, [bar], 0; mbarrier.pending_count.b64 %r7, %rd4;
st.global.v4.u32 [%rd0+16], {%r4, %r5, %r6, %r7};
"""


def reduced(operation: str, type_: str, first: int, second: int, *result: int) -> Said:
    """A word of shared memory that is reduced to, asynchronously, and a barrier object that learns of it."""
    bits = int(type_[1:])
    register = "%r4" if bits == 32 else "%rd4"
    return Said(
        f"""
        mapa.shared::cluster.u32 %r5, %r19, 0; mapa.shared::cluster.u32 %r6, %r18, 0; mov.b{bits} {register}, {second};
        st.shared.b{bits} [s], {first}; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared.b64 _, [bar], {bits // 8};
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{operation}.{type_} [%r5], {register}, [%r6];
        {UNTIL.format(1, 0)} ld.shared.b{bits} {register}, [s]; st.global.b{bits} [%rd0], {register};
        """,
        result,
    )


_CANCELS = """
mbarrier.init.shared::cta.b64 [bar], 1; mov.u32 %r5, %r1; mov.u32 %r6, 0;
NEXT: mad.wide.u32 %rd4, %r5, 4, %rd0; atom.global.add.u32 %r7, [%rd4], 100;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [bar], 16;
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [bar];
WAIT: mbarrier.try_wait.shared::cta.b64 %p1, [bar], %rd5; @!%p1 bra WAIT;
ld.shared.b128 %q1, [response];
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q1; @!%p2 bra END;
FIRST
fence.proxy.async.shared::cta; bra NEXT;
END:
"""
_FIRST = {
    "dimension": "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r5, %q1;",
    "vector": "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r5, %r8, %r9, _}, %q1; add.u32 %r5, %r5, %r8; "
    "add.u32 %r5, %r5, %r9;",
}
KERNELS: dict[str, Said] = {
    **{f"{name} hands over": Said(handed_over(WRITE, *pair), OVER, grid=2) for name, pair in FENCES.items()},
    "fences of a cluster": Said(
        of_cluster("fence.release.sync_restrict::shared::cta.cluster;",
                   "fence.acquire.sync_restrict::shared::cluster.cluster;"),
        (41,), grid=2, cluster=2,
    ),
    "proxy fences of a cluster": Said(
        of_cluster("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
                   "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"),
        (41,), grid=2, cluster=2,
    ),
    "counts of barrier objects": Said(PENDING, (9, 7, 6, 2, 0, 1, 1, 0, 8, 8)),
    "counts of those who drop out": Said(DROPPED, (11, 8, 5, 0, 0, 1, 3, 2)),
    "a warp arrives for another": Said(
        """
        setp.ge.u32 %p1, %r0, 32; @%p1 bra S;
        @%p0 st.shared.u32 [s], 30; bar.warp.sync 0xffffffff; bar.arrive 1, 64; bra E;
        S: bar.sync 1, 64; ld.shared.u32 %r4, [s]; st.global.u32 [%rd1], %r4; E:
        """,
        tuple(range(1, 33)) + (30,) * 32, block=64,
    ),
    "barriers of both sorts": Said(
        """
        setp.ge.u32 %p1, %r0, 32; @%p1 bra S;
        @%p0 st.shared.u32 [s], 31; barrier.arrive.aligned 1, 64; bra E;
        S: barrier.sync.aligned 1, 64; ld.shared.u32 %r4, [s]; st.global.u32 [%rd1], %r4;
        E: barrier.sync 2; bar.sync.all 3; exit;
        """,
        tuple(range(1, 33)) + (31,) * 32, block=64,
    ),
    "a store that is released": Said("st.async.mmio.release.sys.global.u32 [%rd1], %r0;", tuple(range(8)), block=8),
    "a store to the own CTA": Said(
        "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8; mov.u32 %r4, 70; "
        "add.u32 %r5, %r1, 80; st.async.shared::cta.v2.u32 [%r19], {%r4, %r5}, [%r18]; "
        + UNTIL.format(1, 0) + "ld.shared.v2.u32 {%r6, %r7}, [s]; add.u32 %r6, %r6, %r7; st.global.u32 [%rd2], %r6;",
        (150, 151), grid=2, cluster=2,
    ),
    "words that are cleared": Said(
        "st.shared.u64 [s], 7; st.shared.u64 [s+8], 8; mov.u32 %r4, 8; cvta.shared.u64 %rd4, s; mov.u64 %rd5, 8; "
        "st.bulk.weak [%rd4], %rd5, 0; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [s]; "
        "st.global.v4.u32 [%rd0], {%r4, %r5, %r6, %r7};",
        (0, 0, 8, 0),
    ),
    "a copy to the own CTA": Said(
        "mbarrier.init.shared.b64 [bar], 1; fence.proxy.async.shared::cta; "
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32; "
        "createpolicy.range.global.L2::evict_last.b64 %rd6, [%rd0], 64, 256; "
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [s], [%rd0+16], 32, [bar], %rd6; "
        + UNTIL.format(1, 0) + "ld.shared.v2.u32 {%r4, %r5}, [s+16]; st.global.v2.u32 [%rd0], {%r4, %r5};",
        (9, 10),
    ),
    "bytes that are discarded and written": Said(
        "discard.global.L2 [%rd0], 128; createpolicy.cvt.L2.b64 %rd6, 0; st.global.u32 [%rd1], %r0;", tuple(range(32)), block=32
    ),
    "memory on the stack": Said(
        "stacksave.u64 %rd7; mov.u64 %rd8, 24; alloca.u64 %rd4, %rd8; st.local.u32 [%rd4+4], %r0; alloca.u64 %rd5, %rd8, 16; "
        "st.local.u32 [%rd5], 90; ld.local.u32 %r4, [%rd4+4]; stackrestore.u64 %rd7; st.global.u32 [%rd1], %r4;",
        tuple(range(16)), block=16,
    ),
    "hints": Said(
        "nanosleep.u32 20; pmevent 3; pmevent.mask 5; setmaxnreg.dec.sync.aligned.u32 64; "
        "setmaxnreg.dec.sync.aligned.s32 64; griddepcontrol.wait; "
        "griddepcontrol.launch_dependents; setp.lt.u32 %p1, %r0, 64; @%p1 st.global.u32 [%rd1], %r0;",
        tuple(range(64)), block=128,
    ),
    "addresses of spaces": Said(
        "cvta.shared.u64 %rd4, s; cvta.to.shared.u64 %rd4, %rd4; st.shared.u32 [%rd4], 6; cvta.to.global.u64 %rd5, %rd0; "
        "ld.shared.u32 %r4, [s]; st.global.u32 [%rd5], %r4;",
        (6,),
    ),
    **{
        f"red.async.{operation}.{type_}": reduced(operation, type_, *numbers)
        for operation, type_, *numbers in (
            ("inc", "u32", 3, 7, 4), ("dec", "u32", 3, 7, 2), ("min", "s32", 3, 7, 3), ("max", "u32", 3, 7, 7),
            ("add", "u32", 3, 7, 10), ("add", "u64", 1 << 30, 1 << 30, 1 << 31, 0), ("and", "b32", 12, 10, 8),
            ("or", "b32", 12, 10, 14),
            ("xor", "b32", 12, 10, 6),
        )
    },
    "reductions that are released": Said(
        "red.async.release.gpu.global.add.u32 [%rd0], 5; red.async.mmio.release.sys.global.add.s64 [%rd0+8], 7;",
        (1 + 5 * 4, 2, 3 + 7 * 4, 4), block=4,
    ),
    "reductions that are released, by other operations": Said(
        "red.async.release.gpu.global.inc.u32 [%rd0], 9; red.async.release.gpu.global.max.s32 [%rd0+4], 7; "
        "red.async.release.gpu.global.xor.b32 [%rd0+8], 8;",
        (2, 7, 11),
    ),
    **{f"clusters that are cancelled: {n}": Said(_CANCELS.replace("FIRST", f), tuple(101 + i for i in range(40)), grid=40)
       for n, f in _FIRST.items()},
}  # fmt: skip


def probes() -> Iterator[Whole]:
    """The kernels."""
    data = np.arange(1, WORDS + 1, dtype=np.uint32).tobytes()
    for name, said in KERNELS.items():
        yield Whole(name, said.text, said.grid, said.block, (data,))
    yield Whole("a thread that traps", Said("@%p0 trap;", ()).text, 1, 32, (data,), traps=True)


def wanted(name: str) -> bytes:
    """All that a kernel must leave."""
    words = KERNELS[name].words
    return np.array([*words, *range(len(words) + 1, WORDS + 1)], np.uint32).tobytes()
