"""The cycles from which a suite of small tests for all of PTX ISA 9.0 is made: by what keeps threads in order, each as strong
as it can be. `ptxmm.minimal` takes from them what the model does not need."""

from __future__ import annotations

from collections.abc import Iterator

from litmus.cycles.generator import enumerate
from litmus.test import Test
from ptxcore.records import NamedTuple


class CycleGroup(NamedTuple):
    """Cycles of some edges. `mode`: which of them may follow each other. `most`: edges that they have at most, so that groups
    of many edges stay small; `more`: how many they have besides those that are asked for."""

    what: str
    edges: str
    mode: str = "sc"
    most: int = 6
    more: int = 0


GROUPS = (
    CycleGroup("coherence", "PosRR,PosRW,PosWR,PosWW,Rfe,Fre,Coe", mode="uni", most=4),
    CycleGroup("fences", "Fence.sc.sysd**,Rfe,Fre,Coe"),
    CycleGroup("releases and acquires", "PodWW.rel.sys,PodRW.acq.sys.rel.sys,PodRR.acq.sys,Rfe,Fre,Coe"),
    CycleGroup("atomic operations", "Rmw.acq_rel.sys,PodWW.rel.sys,PodRR.acq.sys,Rfe,Fre", more=2),
    CycleGroup("dependencies", "DpAddrdR,DpAddrdW,DpDatadW,DpCtrldW,Rfe", most=4),
    CycleGroup("barriers", "Bars**,ClusterBars**,Bard**,ClusterBard**,Rfe,Fre,Coe", mode="uni", most=4),
    CycleGroup("barrier objects", "Mbars**,Mbard**,Rfe,Fre,Coe", mode="uni", most=4),
    CycleGroup(
        "copies that groups wait for",
        "CpAsyncdWW.rel.cta,BulkdWW.rel.sys,BulkReducedWW.rel.sys,PodRR.acq.sys,PodRW.acq.sys.rel.sys,Rfe,Fre,Coe", most=4,
    ),
    CycleGroup(
        "copies that barrier objects wait for",
        "CpAsyncMbarsWR,BulkMbarsWR,StAsyncMbarsWR,MulticastMbarsWR,CpAsyncMbardWR,BulkMbardWR,PodRR,Rfe,Fre,Coe",
        mode="uni", most=4,
    ),
    CycleGroup("proxies", "Proxy.aliasd**,Proxy.aliass**,Proxy.asyncd**,Fence.sc.sysd**,Rfe,Fre,Coe", most=4),
    CycleGroup("kernels", "Streams**,Streamd**,Rfe,Fre,Coe", mode="uni", most=4),
)  # fmt: skip


def suite(size: int, threads: int, places: str) -> Iterator[tuple[CycleGroup, Test]]:
    """The tests of all groups with up to `size` edges, by group. Raises ValueError for places that there are not."""
    for group in GROUPS:
        most = min(size + group.more, group.most)
        for test in enumerate(group.edges, size=(1, most), threads=(1, threads), places=places, mode=group.mode):
            yield group, test
