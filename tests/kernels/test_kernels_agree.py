"""Generated kernels: solver and brute force say the same of them, and no run shows what they forbid."""

from __future__ import annotations

import pytest
from kernels_campaign import Compared, compare


def assert_agreement(results: list[Compared]) -> None:
    assert not [(r.seed, r.differences) for r in results if r.differences]


def test_of_some_generated_kernels() -> None:
    results = [compare(seed, runs=5, seconds=0.3) for seed in range(100_000, 100_025)]
    assert_agreement(results)
    assert sum(not r.passed_over for r in results) > 12
    assert len({r.kind for r in results}) > 4


@pytest.mark.campaign
def test_of_thousands_of_generated_kernels() -> None:
    assert_agreement([compare(seed) for seed in range(200_000, 203_000)])
