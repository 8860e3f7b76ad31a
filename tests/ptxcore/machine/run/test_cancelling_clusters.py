"""`clusterlaunchcontrol` in runs: who is cancelled, by whom, in schedules that a seed draws."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import ptxas
import pytest

import ptxmm
from ptxcore.machine.run.clusters import LaunchedClusters

# Each CTA counts its own index in `done`, and those of clusters that it takes; beside it stands who did the work.
_STEAL = """.version 8.6
.target sm_100
.address_size 64
.visible .entry steal(.param .u64 done)
{
 .reg .b64 %d, %at, %state; .reg .b32 %x, %by, %one; .reg .b128 %answer; .reg .pred %p, %got;
 .shared .align 16 .b8 response[16];
 .shared .align 8 .b64 bar;
 ld.param.u64 %d, [done];
 mov.u32 %x, %ctaid.x;
 mov.u32 %by, %ctaid.x;
 mbarrier.init.shared::cta.b64 [bar], 1;
NEXT:
 mul.wide.u32 %at, %x, 8;
 add.s64 %at, %at, %d;
 atom.global.add.u32 %one, [%at], 1;
 st.global.u32 [%at+4], %by;
 mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], 16;
 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [bar];
WAIT:
 mbarrier.try_wait.shared::cta.b64 %p, [bar], %state;
 @!%p bra WAIT;
 ld.shared.b128 %answer, [response];
 clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %got, %answer;
 @!%got bra END;
 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %x, %answer;
 fence.proxy.async.shared::cta;
 bra NEXT;
END:
 ret;
}
"""


def test_every_choice_of_who_is_cancelled_is_drawn(tmp_path: Path) -> None:
    """Of three clusters: in each run each works once, and over many runs whoever may do the work of another does."""
    path = tmp_path / "steal.ptx"
    path.write_text(_STEAL)
    seen = set()
    for seed in range(200):
        done = np.zeros((3, 2), np.uint32)
        ptxmm.run(str(path), "steal", 3, 1, [done], seed=seed)
        assert (done[:, 0] == 1).all()
        seen.add(tuple(int(n) for n in done[:, 1]))
    # Who is cancelled has not begun, so it takes no work.
    right = {by for by in product(range(3), repeat=3) if all(by[n] == n for n in by)}
    assert seen == right and len(right) == 10


def test_without_a_seed_the_next_cluster_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "steal.ptx"
    path.write_text(_STEAL)
    done = np.zeros((3000, 2), np.uint32)
    ptxmm.run(str(path), "steal", 3000, 1, [done])
    assert (done[:, 0] == 1).all()
    assert 0 < (done[:, 1] != np.arange(3000)).sum() < 3000 - 1000


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")
def test_ptxas_takes_the_kernel() -> None:
    assert ptxas.check_module(_STEAL) == []


@pytest.mark.parametrize("seed", [None, *range(20)])
def test_what_is_taken_does_not_begin_and_all_else_does(seed: int | None) -> None:
    random = Random(seed)
    cluster = random.randint(1, 3), random.randint(1, 2), 1
    grid = tuple(k * random.randint(1, 4) for k in cluster)
    clusters = LaunchedClusters(grid, cluster, None if seed is None else random)  # type: ignore[arg-type]
    begun: list[tuple[int, int, int]] = []
    taken = []
    while True:
        found = clusters.cancel() if random.random() < 0.4 else None
        if found is not None:
            taken.append(found)
            continue
        of_cluster = next(clusters, None)
        if of_cluster is None:
            break
        assert len(of_cluster) == cluster[0] * cluster[1] * cluster[2]
        begun += of_cluster
    assert clusters.cancel() is None
    assert len({*begun, *taken}) == len(begun) + len(taken)
    everywhere = {*product(*(range(g) for g in grid))}
    firsts = {(x, y, z) for x, y, z in everywhere if not (x % cluster[0] or y % cluster[1] or z % cluster[2])}
    assert {*taken} <= firsts and everywhere - {*begun} == {
        (x, y, z) for x, y, z in everywhere
        if (x - x % cluster[0], y - y % cluster[1], z - z % cluster[2]) in taken
    }  # fmt: skip
