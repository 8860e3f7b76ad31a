"""`clusterlaunchcontrol` in runs: who is cancelled, by whom, in schedules that a seed draws."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import ptxas
import pytest
from agreement import compared
from campaigns import share

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


# Clusters of any shape: each CTA counts the work that it does at the index of the CTA whose work it is, in three dimensions.
_OF_ANY_SHAPE = """.version 8.6
.target sm_100a
.address_size 64
.visible .entry steal(.param .u64 done, .param .u64 answers, .param .u32 most)
{
 .reg .b64 %d, %at, %a, %mbar, %to; .reg .b32 %x, %y, %z, %w, %n, %one, %rank, %cx, %cy, %cz, %ox, %oy, %oz, %most, %phase;
 .reg .b128 %answer; .reg .pred %p, %got, %first;
 .shared .align 16 .b8 response[16];
 .shared .align 8 .b64 bar;
 ld.param.u64 %d, [done]; ld.param.u64 %a, [answers]; ld.param.u32 %most, [most]; mov.u32 %rank, %cluster_ctarank;
 mov.u32 %phase, 0; mov.u32 %ox, %cluster_ctaid.x; mov.u32 %oy, %cluster_ctaid.y; mov.u32 %oz, %cluster_ctaid.z;
 mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %z, %ctaid.z; setp.eq.u32 %first, %rank, 0;
 sub.u32 %x, %x, %ox; sub.u32 %y, %y, %oy; sub.u32 %z, %z, %oz;
 mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster;
 barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
NEXT:
 add.u32 %cx, %x, %ox; add.u32 %cy, %y, %oy; add.u32 %cz, %z, %oz;
 mov.u32 %n, %nctaid.y; mad.lo.u32 %w, %cz, %n, %cy; mov.u32 %n, %nctaid.x; mad.lo.u32 %w, %w, %n, %cx;
 mul.wide.u32 %at, %w, 4; add.s64 %at, %at, %d; atom.global.add.u32 %one, [%at], 1;
 setp.eq.u32 %p, %most, 0; @%p bra END; sub.u32 %most, %most, 1;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;
 barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
 ASK
WAIT:
 mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [bar], %phase; @!%p bra WAIT;
 xor.b32 %phase, %phase, 1; ld.shared.b128 %answer, [response];
 clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %got, %answer; @!%got bra END;
 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%x, %y, %z, _}, %answer;
 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %cx, %answer;
 clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %cy, %answer;
 clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %cz, %answer;
 setp.ne.u32 %p, %x, %cx; @%p trap; setp.ne.u32 %p, %y, %cy; @%p trap; setp.ne.u32 %p, %z, %cz; @%p trap;
 @!%first bra TOLD;
 mov.u32 %n, %nctaid.y; mad.lo.u32 %w, %z, %n, %y; mov.u32 %n, %nctaid.x; mad.lo.u32 %w, %w, %n, %x;
 mul.wide.u32 %at, %w, 4; add.s64 %at, %at, %a; atom.global.add.u32 %one, [%at], 1;
TOLD:
 fence.proxy.async.shared::cta;
 bra NEXT;
END:
 barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
 ret;
}
"""
_TRY = "clusterlaunchcontrol.try_cancel.async{0}.mbarrier::complete_tx::bytes{1}.b128 [{2}], [{3}];"
#: Ways to ask: a cluster of one CTA for itself, with generic addresses; one CTA for all of its cluster.
WAYS = {
    "cta": _TRY.format(".shared::cta", "", "response", "bar"),
    "generic": f"cvta.shared.u64 %to, %at; cvta.shared.u64 %mbar, %mbar; {_TRY.format('', '', '%to', '%mbar')}",
    "multicast": f"@%first {_TRY.format('.shared::cta', '.multicast::cluster::all', 'response', 'bar')}",
    "multicast-generic": "cvta.shared.u64 %to, %at; cvta.shared.u64 %mbar, %mbar; "
    f"@%first {_TRY.format('', '.multicast::cluster::all', '%to', '%mbar')}",
}


def asking(way: str) -> str:
    return _OF_ANY_SHAPE.replace("ASK", f"mov.u64 %at, response; mov.u64 %mbar, bar; {WAYS[way]}")


def _stolen(path: Path, way: str, number: int) -> int:
    """A launch of a random shape in a random schedule; gives how many clusters were cancelled."""
    random = Random(f"{way} {number}")
    cluster = (
        (1, 1, 1) if way in ("cta", "generic") else (random.randint(1, 3), random.randint(1, 2), random.randint(1, 2))
    )
    grid = tuple(k * random.randint(1, 3) for k in cluster)
    most = random.choice((0, 1, 2, 99))
    done, answers = (np.zeros(grid[::-1], np.uint32) for _ in range(2))
    ptxmm.run(str(path), "steal", grid, 1, [done, answers, most], cluster=cluster, seed=number if number % 4 else None)
    # The first CTA of a cluster is told once at most, and no other one; whoever is cancelled or not, all work is done once.
    firsts = np.zeros(grid[::-1], bool)
    firsts[:: cluster[2], :: cluster[1], :: cluster[0]] = True
    assert (done == 1).all() and (answers <= 1).all() and not answers[~firsts].any(), (way, number)
    clusters = int(firsts.sum())
    taken = int(answers.sum())
    # Someone has begun, and who has begun takes so many others at most.
    assert taken <= clusters - 1 and taken <= most * (clusters - taken), (way, number)
    return taken


@pytest.mark.parametrize("way", WAYS)
def test_all_work_is_done_once_in_clusters_of_any_shape(way: str, tmp_path: Path) -> None:
    path = tmp_path / "steal.ptx"
    path.write_text(asking(way))
    assert sum(_stolen(path, way, number) for number in range(12)) > 4


@pytest.mark.campaign
@pytest.mark.parametrize("way", WAYS)
def test_all_work_is_done_once_in_a_thousand_launches(way: str, tmp_path: Path) -> None:
    path = tmp_path / "steal.ptx"
    path.write_text(asking(way))
    for number in range(share(1000)):
        compared(_stolen(path, way, 1000 + number) + 1)


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")
def test_ptxas_takes_every_way_to_ask() -> None:
    for way in WAYS:
        assert ptxas.check_module(asking(way)) == [], way
