"""Copies, mbarrier objects, the barrier of a cluster and fences of proxies together: one run beside the formula."""

from __future__ import annotations

import generated_transfers
import pytest
from by_runs import compare
from campaigns import lengths, share


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(3, 6), range(10)))
def test_one_run_says_of_transfers_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_transfers.kernel, seeds, monkeypatch, may_be_undefined=True)
    assert verdicts["ok"] and verdicts["no"] + verdicts["undefined"] > 1


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_one_run_says_of_many_transfers_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_transfers.kernel, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)
