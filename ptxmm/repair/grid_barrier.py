"""A barrier of the whole grid as statements that may be put in anywhere: what `cooperative_groups::this_grid().sync()` does.

It is no instruction of PTX, but code: the first thread of each block adds to a counter in the workspace that a cooperative
launch gives (`%envreg1` and `%envreg2` are the halves of its address), the first block so much that the highest bit flips once
all have come, and waits until it has; barriers of the block around that bring the others along. The adding releases and the
looking acquires, so that what comes before it in any thread of the grid is ordered before what comes behind it in any other.
"""

from __future__ import annotations

#: What only a kernel reads whose threads meet so.
WORKSPACE = "%envreg1"


#: The barrier, in a block of its own. Each register holds one thing: then a run of all threads is soon seen to stand for all.
GRID_BARRIER = "\n\t".join(
    (
        "{ .reg .pred others, first, open; .reg .b64 low, high, space, count;",
        ".reg .b32 x, y, z, blocks, plane, all, rest, step, old, now, turned, half;",
        f"mov.u32 x, %envreg2; cvt.u64.u32 low, x; mov.u32 y, {WORKSPACE}; cvt.u64.u32 high, y;",
        "bfi.b64 space, high, low, 32, 32; add.s64 count, space, 4;",
        "barrier.sync 0;",
        "mov.u32 x, %tid.x; mov.u32 y, %tid.y; mov.u32 z, %tid.z;",
        "or.b32 x, x, y; or.b32 x, x, z; setp.ne.u32 others, x, 0; @others bra met;",
        "mov.u32 x, %nctaid.x; mov.u32 y, %nctaid.y; mov.u32 z, %nctaid.z;",
        "mul.lo.u32 plane, x, y; mul.lo.u32 blocks, plane, z;",
        "mov.u32 half, 0x80000001; sub.u32 rest, half, blocks;",
        "mov.u32 x, %ctaid.x; mov.u32 y, %ctaid.y; mov.u32 z, %ctaid.z;",
        "or.b32 all, x, y; or.b32 all, all, z; setp.eq.u32 first, all, 0; selp.b32 step, rest, 1, first;",
        "atom.add.release.gpu.u32 old, [count], step;",
        "again: ld.acquire.gpu.u32 now, [count]; xor.b32 turned, now, old; setp.gt.s32 open, turned, -1; @open bra again;",
        "met: barrier.sync 0; }",
    )
)
#: How reports tell it.
TOLD = "a barrier of the whole grid (of a cooperative launch)"
