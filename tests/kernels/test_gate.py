"""Kernels as nvcc makes them of CUDA C++ and libcu++, each right and with one thing wrong: every variant has its verdict.

`gate/NAME/kernel.cu` is compiled twice, with `BUG` 0 and 1 (`nvcc -std=c++17 -arch=sm_90 -ptx`; those with `wgmma` for sm_90a,
with `tcgen05` for sm_100a), and again for each variant that is right in another way.
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
    "double_add_cas", "dynamic_shared_ring", "grid_sync_sign_bit", "hash_table", "heap_push_list", "leader_tells_by_shuffle",
    "missed_phase", "ms_queue", "multicast_stage", "pipeline_block", "pipeline_producers", "pipeline_roles",
    "pipeline_shared_state", "pipeline_three_stages", "three_stage_cp_async", "ticket_lock_block", "tree_barrier",
    "ttas_best", "union_links", "until_nothing_changes", "work_queue",
}  # fmt: skip
#: Kernels of whole warpgroups, which take most of a second each: of so many variants one is tried in every run.
TENSOR_CORES = ("wgmma_", "umma_")
_EVERY = 6


def left_out(number: int, name: str) -> bool:
    """Whether a variant is tried in long runs alone."""
    return name in SLOW or (name.startswith(TENSOR_CORES) and number % _EVERY > 0)


@pytest.mark.part(30)
@pytest.mark.parametrize(
    ("path", "variant"),
    [
        pytest.param(path, variant, marks=(LONG,) * left_out(i, path.parent.name), id=f"{path.parent.name}:{variant}")
        for i, (path, variant) in enumerate(TESTS)
    ],
)
def test_the_verdict_is_the_expected_one(path: Path, variant: str) -> None:
    result = ptxmm.check(ptxmm.load(f"{path}:{variant}"))
    assert result.passed, f"{result.verdict}: {result.error} {[c.message for c in result.checks]}"


def test_what_takes_long_is_a_small_part_and_is_there() -> None:
    names = {path.parent.name for path in FILES}
    assert names >= SLOW and len(SLOW) < len(names) / 9
    matrices = [(i, path.parent.name) for i, (path, _) in enumerate(TESTS) if path.parent.name.startswith(TENSOR_CORES)]
    assert len(matrices) >= 50 and sum(not left_out(*variant) for variant in matrices) >= len(matrices) // _EVERY


def test_every_kernel_has_both_variants() -> None:
    assert all(variants_of(path)[:2] == ("fixed", "buggy") for path in FILES) and len(FILES) > 50
