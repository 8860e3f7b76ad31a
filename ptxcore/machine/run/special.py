"""Special registers (PTX ISA 9.0, chapter 10) of a launch: what each thread and each CTA reads there."""

from __future__ import annotations

from functools import lru_cache

from ptxcore.machine.ir.windows import SHARED, SHARED_BITS
from ptxcore.records import NamedTuple

Triple = tuple[int, int, int]

WARP = 32

#: What the special registers of a lane hold.
LANES = [
    {
        "laneid": lane,
        "lanemask_eq": 1 << lane,
        "lanemask_lt": (1 << lane) - 1,
        "lanemask_le": (2 << lane) - 1,
        "lanemask_gt": 0xFFFFFFFF & ~((2 << lane) - 1),
        "lanemask_ge": 0xFFFFFFFF & ~((1 << lane) - 1),
    }
    for lane in range(WARP)
]
#: Those of the thread itself; all others are those of its CTA.
OF_THREAD = frozenset(("tid.x", "tid.y", "tid.z", "tid.w", "warpid", *LANES[0]))
#: Those that tell where the shared memory is that system software uses (section 10.29), and its size.
OF_RESERVED = frozenset(f"reserved_smem_offset_{which}" for which in ("begin", "end", "cap", "0", "1"))
RESERVED = 1024


class SpecialRegisters(dict[str, int]):
    """Special registers by name; what is not told is 0."""

    __slots__ = ()

    def __missing__(self, name: str) -> int:
        return 0


class PlaceInCta(NamedTuple):
    """A thread's place in its CTA, the same in all CTAs, and its special registers."""

    at: Triple
    warp: int
    lane: int
    special: SpecialRegisters


@lru_cache(maxsize=16)
def places(block: Triple) -> list[PlaceInCta]:
    """The threads of a CTA, in order."""
    bx, by, bz = block
    found: list[PlaceInCta] = []
    for z in range(bz):
        for y in range(by):
            for x in range(bx):
                warp, lane = divmod(len(found), WARP)
                special = SpecialRegisters(LANES[lane])
                special.update({"tid.x": x, "tid.y": y, "tid.z": z, "warpid": warp})
                found.append(PlaceInCta((x, y, z), warp, lane, special))
    return found


class LaunchShape(NamedTuple):
    """The sizes of a launch; `workspace`, the address of the buffer through which the threads of a grid synchronize; and
    the number of the target."""

    grid: Triple
    block: Triple
    cluster: Triple
    shared_bytes: int
    dynamic_shared: int
    workspace: int = 0
    target: int = 90


def reserved_offset(shared_bytes: int) -> int:
    """Where the shared memory of system software begins in that of a CTA: behind what the kernel has."""
    return -(-shared_bytes // RESERVED) * RESERVED


def of_cta(shape: LaunchShape, index: Triple) -> SpecialRegisters:
    """What all threads of a CTA read."""
    (gx, gy, gz), (bx, by, bz), (kx, ky, kz) = shape.grid, shape.block, shape.cluster
    x, y, z = index
    unit = 256 if 30 <= shape.target < 80 else 128  # in which shared memory is allocated (section 10.30)
    total = -(-shape.shared_bytes // unit) * unit
    rank = x % kx + kx * (y % ky + ky * (z % kz))
    reserved = (SHARED | rank << SHARED_BITS) + reserved_offset(shape.shared_bytes)
    registers = {
        "ntid.x": bx, "ntid.y": by, "ntid.z": bz, "nctaid.x": gx, "nctaid.y": gy, "nctaid.z": gz,
        "ctaid.x": x, "ctaid.y": y, "ctaid.z": z, "nwarpid": -(-bx * by * bz // WARP), "smid": 0, "nsmid": 1,
        "gridid": 1, "is_explicit_cluster": int(shape.cluster != (1, 1, 1)),
        "clusterid.x": x // kx, "clusterid.y": y // ky, "clusterid.z": z // kz,
        "nclusterid.x": gx // kx, "nclusterid.y": gy // ky, "nclusterid.z": gz // kz,
        "cluster_ctaid.x": x % kx, "cluster_ctaid.y": y % ky, "cluster_ctaid.z": z % kz,
        "cluster_nctaid.x": kx, "cluster_nctaid.y": ky, "cluster_nctaid.z": kz,
        "cluster_ctarank": rank, "cluster_nctarank": kx * ky * kz,
        "total_smem_size": total, "dynamic_smem_size": shape.dynamic_shared, "aggr_smem_size": total,
        "envreg1": shape.workspace >> 32, "envreg2": shape.workspace & 0xFFFFFFFF,
        "reserved_smem_offset_begin": reserved, "reserved_smem_offset_end": reserved + RESERVED,
        "reserved_smem_offset_cap": reserved + RESERVED,
        "reserved_smem_offset_0": reserved, "reserved_smem_offset_1": reserved + RESERVED // 2,
    }  # fmt: skip
    return SpecialRegisters(registers)


#: Special registers that the place of a thread in its launch determines; of others nothing is known.
TOLD = OF_THREAD | of_cta(LaunchShape((1, 1, 1), (1, 1, 1), (1, 1, 1), 0, 0), (0, 0, 0)).keys()
