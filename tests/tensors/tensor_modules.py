"""Kernels that copy a box of a tensor: to shared memory, whose bytes they show, or from there."""

from __future__ import annotations

from functools import cache

#: Bytes of shared memory that are shown.
ROOM = 8192
_HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
_PARAMETERS = ", ".join(
    [".param .align 64 .b8 map[128]", ".param .u64 bytes"]
    + [f".param .u32 c{i}" for i in range(5)]
    + [f".param .u16 o{i}" for i in range(3)]
)
_BEGIN = f"""
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b16 %h<8>; .reg .pred %p<8>;
.shared .align 1024 .b8 s[{ROOM}]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [bytes]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; cvt.u64.u32 %rd1, %r1; add.u64 %rd0, %rd0, %rd1;
mov.u32 %r2, s; add.u32 %r2, %r2, %r1; setp.ne.u32 %p0, %r0, 0;
{" ".join(f"ld.param.u32 %r{10 + i}, [c{i}];" for i in range(5))} {" ".join(f"ld.param.u16 %h{i}, [o{i}];" for i in range(3))}
mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2;
mov.u32 %r3, 0; mov.b64 %rd3, %rd0; mov.u32 %r4, %r2;
F: ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%rd3]; st.shared.v4.u32 [%r4], {{%r5, %r6, %r7, %r8}};
add.u64 %rd3, %rd3, 1024; add.u32 %r4, %r4, 1024; add.u32 %r3, %r3, 1024; setp.lt.u32 %p1, %r3, {ROOM}; @%p1 bra F;
fence.proxy.async.shared::cta; bar.sync 0;
"""
#: Shared memory filled by a copy of one thread: for what is drawn thousands of times.
_BEGIN_BY_ONE = f"""
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b16 %h<8>; .reg .pred %p<8>;
.shared .align 1024 .b8 s[{ROOM}]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [bytes]; mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra W;
{" ".join(f"ld.param.u32 %r{10 + i}, [c{i}];" for i in range(5))} ld.param.u16 %h2, [o2]; cvt.u32.u16 %r3, %h2;
mov.u32 %r2, s; add.u32 %r2, %r2, %r3; mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared.b64 _, [bar], {ROOM};
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd0], {ROOM}, [bar];
F: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra F;
"""
_SHOW = f"""
mov.u32 %r3, 0;
G: ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r2]; st.global.v4.u32 [%rd0], {{%r5, %r6, %r7, %r8}};
add.u64 %rd0, %rd0, 1024; add.u32 %r2, %r2, 1024; add.u32 %r3, %r3, 1024; setp.lt.u32 %p1, %r3, {ROOM}; @%p1 bra G;
"""
#: Threads of the kernels.
THREADS = 64


def _ends(mode: str, rank: int) -> tuple[str, str]:
    """The tensor with its coordinates, and the offsets."""
    count = 5 if mode in ("tile::gather4", "tile::scatter4") else rank
    coordinates = ", ".join(f"%r{10 + i}" for i in range(count))
    offsets = {"im2col": rank - 2, "im2col::w": 2, "im2col::w::128": 2}.get(mode, 0)
    listed = ", ".join(f"%h{i}" for i in range(offsets))
    return f"[%rd2, {{{coordinates}}}]", f", {{{listed}}}" if offsets else ""


@cache
def loading(mode: str, rank: int, start: int, size: int) -> str:
    tensor, offsets = _ends(mode, rank)
    modes = f".{mode}" if mode else ""
    return f"""{_HEAD}.visible .entry k({_PARAMETERS})
{{{_BEGIN}
@%p0 bra W;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
cp.async.bulk.tensor.{rank}d.shared::cta.global{modes}.mbarrier::complete_tx::bytes [s+{start}], {tensor}, [bar]{offsets};
W: bar.sync 0;
L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra L;
{_SHOW}
ret;
}}
"""


@cache
def storing(mode: str, rank: int, start: int, operation: str = "") -> str:
    """A copy of what begins at byte `start`; or with an `operation` a reduction, which is told that in the last offset."""
    tensor, _ = _ends(mode, rank)
    modes = f".{mode}" if mode else ""
    opcode = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}" if operation else (
        f"cp.async.bulk.tensor.{rank}d.global.shared::cta"
    )  # fmt: skip
    return f"""{_HEAD}.visible .entry k({_PARAMETERS})
{{{_BEGIN_BY_ONE if operation else _BEGIN}
@%p0 bra W;
{opcode}{modes}.bulk_group {tensor}, [{"%r2" if operation else f"s+{start}"}];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
W: ret;
}}
"""
