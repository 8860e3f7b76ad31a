"""Kernels as nvcc makes them of CUDA C++ and libcu++, each right and with one thing wrong: every variant has its verdict.

`gate/NAME/kernel.cu` is compiled twice, with `BUG` 0 and 1 (`nvcc -std=c++17 -arch=sm_90 -ptx`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import ptxmm
from ptxmm.kernels.toml import read

GATE = Path(__file__).parent / "gate"
FILES = sorted(GATE.glob("*/test.toml"))
TESTS = [(path, variant) for path in FILES for variant in read(path).variants]


@pytest.mark.parametrize(("path", "variant"), TESTS, ids=[f"{path.parent.name}:{variant}" for path, variant in TESTS])
def test_the_verdict_is_the_expected_one(path: Path, variant: str) -> None:
    result = ptxmm.check(ptxmm.load(f"{path}:{variant}"))
    assert result.passed, f"{result.verdict}: {result.error} {[c.message for c in result.checks]}"
    assert result.seconds < 60


def test_every_kernel_has_both_variants() -> None:
    assert all(list(read(path).variants) == ["fixed", "buggy"] for path in FILES) and len(FILES) > 50
