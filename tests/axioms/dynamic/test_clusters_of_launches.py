"""Clusters of CTAs that reach into each other's shared memory, decided by one run of all threads, beside the formula."""

from __future__ import annotations

import generated_clusters
import pytest
from by_runs import compare
from campaigns import lengths, share


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
