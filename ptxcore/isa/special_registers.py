"""Special registers (PTX ISA 9.0, chapter 10) as data: their types, and what introduced each.

They are read-only, and only `mov` and `cvt` take them (and, with ptxas 13.0, addresses). Versions and targets are the
manual's; ptxas was measured to agree for those from PTX ISA 2.3 on.
"""

from __future__ import annotations

from ptxcore.records import NamedTuple


class SpecialRegister(NamedTuple):
    """`type` of a read (of each component, where `vector`); `narrow`: narrower reads that take its lower bits, in bits;
    `gate`: the PTX version and target it needs (`ptxcore.isa.targets.gates`)."""

    name: str
    type: str
    section: str
    gate: str
    vector: bool = False
    narrow: tuple[int, ...] = ()


_T = SpecialRegister

#: Registers by their whole name (section, type, gate); families are expanded.
_REGISTERS = (
    _T("%tid", "u32", "10.1", "1.0", True, (16,)),
    _T("%ntid", "u32", "10.2", "1.0", True, (16,)),
    _T("%laneid", "u32", "10.3", "1.3"),
    _T("%warpid", "u32", "10.4", "1.3"),
    _T("%nwarpid", "u32", "10.5", "2.0 sm_20"),
    _T("%ctaid", "u32", "10.6", "1.0", True, (16,)),
    _T("%nctaid", "u32", "10.7", "1.0", True, (16,)),
    _T("%smid", "u32", "10.8", "1.3"),
    _T("%nsmid", "u32", "10.9", "2.0 sm_20"),
    _T("%gridid", "u64", "10.10", "1.0", False, (16, 32)),
    _T("%is_explicit_cluster", "pred", "10.11", "7.8 sm_90"),
    _T("%clusterid", "u32", "10.12", "7.8 sm_90", True),
    _T("%nclusterid", "u32", "10.13", "7.8 sm_90", True),
    _T("%cluster_ctaid", "u32", "10.14", "7.8 sm_90", True),
    _T("%cluster_nctaid", "u32", "10.15", "7.8 sm_90", True),
    _T("%cluster_ctarank", "u32", "10.16", "7.8 sm_90"),
    _T("%cluster_nctarank", "u32", "10.17", "7.8 sm_90"),
    _T("%lanemask_eq", "u32", "10.18", "2.0 sm_20"),
    _T("%lanemask_le", "u32", "10.19", "2.0 sm_20"),
    _T("%lanemask_lt", "u32", "10.20", "2.0 sm_20"),
    _T("%lanemask_ge", "u32", "10.21", "2.0 sm_20"),
    _T("%lanemask_gt", "u32", "10.22", "2.0 sm_20"),
    _T("%clock", "u32", "10.23", "1.0"),
    _T("%clock_hi", "u32", "10.23", "5.0 sm_20"),
    _T("%clock64", "u64", "10.24", "2.0 sm_20"),
    *(_T(f"%pm{i}", "u32", "10.25", "1.3" if i < 4 else "3.0 sm_20") for i in range(8)),
    *(_T(f"%pm{i}_64", "u64", "10.26", "4.0 sm_50") for i in range(8)),
    *(_T(f"%envreg{i}", "b32", "10.27", "2.1") for i in range(32)),
    _T("%globaltimer", "u64", "10.28", "3.1 sm_30"),
    _T("%globaltimer_lo", "u32", "10.28", "3.1 sm_30"),
    _T("%globaltimer_hi", "u32", "10.28", "3.1 sm_30"),
    *(_T(f"%reserved_smem_offset_{i}", "b32", "10.29", "7.6 sm_80") for i in ("begin", "end", "cap", "0", "1")),
    _T("%total_smem_size", "u32", "10.30", "4.1 sm_20"),
    _T("%aggr_smem_size", "u32", "10.31", "8.1 sm_90"),
    _T("%dynamic_smem_size", "u32", "10.32", "4.1 sm_20"),
    _T("%current_graph_exec", "u64", "10.33", "8.0 sm_50"),
)  # fmt: skip

#: Components of the vector registers; `w` is always 0.
COMPONENTS = ("x", "y", "z", "w")

#: Special registers by name, without components.
SPECIAL_REGISTERS = {register.name: register for register in _REGISTERS}
