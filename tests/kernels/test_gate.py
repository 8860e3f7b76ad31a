"""Kernels as nvcc makes them of CUDA C++ and libcu++, each right and with one thing wrong: every variant has its verdict.

`gate/NAME/kernel.cu` is compiled twice, with `BUG` 0 and 1 (`nvcc -std=c++17 -arch=sm_90 -ptx`), and again for each variant
that is right in another way.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from campaigns import LONG
from kept import variants, variants_of

import ptxmm

GATE = Path(__file__).parent / "gate"
FILES = sorted(GATE.glob("*/test.toml"))
TESTS = variants(FILES)
#: Kernels that take most of a second or more. They are the same in kind as others that are always decided.
SLOW = {
    "barrier_completion", "barrier_memcpy_tile", "bitonic_sort", "cluster_exchange_loop", "cutlass_semaphore_bar_red",
    "double_add_cas", "dynamic_shared_ring", "grid_sync_sign_bit", "heap_push_list", "leader_tells_by_shuffle",
    "missed_phase", "ms_queue", "multicast_stage", "pipeline_block", "pipeline_producers", "pipeline_roles",
    "pipeline_shared_state", "pipeline_three_stages", "three_stage_cp_async", "tree_barrier", "until_nothing_changes",
    "work_queue",
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("path", "variant"),
    [
        pytest.param(path, variant, marks=LONG if path.parent.name in SLOW else (), id=f"{path.parent.name}:{variant}")
        for path, variant in TESTS
    ],
)
def test_the_verdict_is_the_expected_one(path: Path, variant: str) -> None:
    result = ptxmm.check(ptxmm.load(f"{path}:{variant}"))
    assert result.passed, f"{result.verdict}: {result.error} {[c.message for c in result.checks]}"


def test_what_takes_long_is_a_small_part_and_is_there() -> None:
    names = {path.parent.name for path in FILES}
    assert names >= SLOW and len(SLOW) < len(names) / 9


def test_every_kernel_has_both_variants() -> None:
    assert all(variants_of(path)[:2] == ("fixed", "buggy") for path in FILES) and len(FILES) > 50
