"""Kernels that people write, at the sizes at which they launch them: each right, and with one mistake planted at a time.

`launches/NAME/kernel.cu` is compiled with `BAD` 0 (`right.ptx`), 1, 2 and so on (`wrong1.ptx`, ...): `nvcc -std=c++17
-arch=sm_90 -ptx`. Whole launches are what decides them (docs/whole-launches); `benchmarks/whole.py` measures the same ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kept import variants, variants_of

import ptxmm
from ptxmm.kernels.whole import FEWEST, threads_of

FILES = sorted((Path(__file__).parent / "launches").glob("*/test.toml"))
TESTS = variants(FILES)
#: Those that take seconds.
SLOW = {"last_block:right", "splitk:right", "grid_sync_cg:right", "last_block:wrong2", "mbar_ring:right",
        "append_bounded:wrong1", "append_bounded:right", "grid_generation:wrong3", "refit:wrong4",
        "tree_last:right", "tree_last:wrong4", "tree_last:wrong5"}  # fmt: skip


@pytest.mark.part(20)
@pytest.mark.parametrize(
    ("path", "variant"),
    [
        pytest.param(path, variant, id=name, marks=(pytest.mark.long,) * (name in SLOW))
        for path, variant in TESTS
        for name in [f"{path.parent.name}:{variant}"]
    ],
)
def test_the_verdict_is_the_expected_one(path: Path, variant: str) -> None:
    result = ptxmm.check(ptxmm.load(f"{path}:{variant}"))
    assert result.passed, f"{result.verdict}: {result.error} {[c.message for c in result.checks]}"


def test_each_has_more_threads_than_a_formula_takes_and_a_mistake() -> None:
    assert len(FILES) >= 25 and len(TESTS) >= 70
    for path in FILES:
        right, *wrong = variants_of(path)
        assert right == "right" and wrong, path
        assert threads_of(ptxmm.load(f"{path}:right")) >= FEWEST, path
