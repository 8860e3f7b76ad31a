"""Clusters of CTAs that reach into each other's shared memory, decided by one run of all threads, beside the formula."""

from __future__ import annotations

import generated_clusters
import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths, share

from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(5, 9), range(16)))
def test_one_run_says_of_clusters_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_clusters.kernel, seeds, monkeypatch, may_be_undefined=True)
    assert min(verdicts["ok"], verdicts["no"]) > 1


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_one_run_says_of_many_clusters_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_clusters.kernel, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)
    assert verdicts["ok"] or share(3000) < 50  # a few kernels may all be wrong


_ARRIVES = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
.explicitcluster .reqnctapercluster 2
{{
 .reg .pred %p<2>; .reg .b32 %r<4>; .shared .align 8 .b64 m;
 mbarrier.init.shared.b64 [m], 1; fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;
 mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p0, %r1, 1; @%p0 bra WAIT;
 mov.u32 %r2, m; mapa.shared::cluster.u32 %r3, %r2, 1;
 {arrives} ret;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [m], 0; @!%p1 bra WAIT;
 ret;
}}"""


@pytest.mark.parametrize("arrives", ["mbarrier.arrive.release", "fence.acq_rel.cluster; mbarrier.arrive.relaxed"])
def test_an_arrival_that_is_waited_for_is_at_an_object_that_is_there(
    arrives: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relaxed one hands on what comes before the fence, and not itself; but who waits knows that it has come."""
    text = _ARRIVES.format(arrives=f"{arrives}.cluster.shared::cluster.b64 _, [%r3];")
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 1, "params": {"x": {"type": "u32", "elements": 1}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
    open_, found = by_runs(test)
    assert by_formula(test, monkeypatch).verdict == "ok" and (open_ or found.verdict == "ok")
