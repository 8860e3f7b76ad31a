"""Waits for an mbarrier in CUDA C++: by the objects, the functions and the parities that a source has."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ptxmm.cli.main import main
from ptxmm.repair.cuda.candidates import candidates
from ptxmm.repair.cuda.code import CudaCode
from ptxmm.repair.cuda.waits import waits
from ptxmm.repair.sites import AwaitedMbarrier, Wanted, edited

RING = """#include <cuda/ptx>
namespace ptx = cuda::ptx;
constexpr int STAGES = 2;
__device__ void wait_for(uint64_t *bar, uint32_t parity) {
    while (!ptx::mbarrier_try_wait_parity(bar, parity)) {
    }
}
__global__ void stream(const float *in, float *out, int tiles) {
    __shared__ alignas(128) float tile[STAGES][64];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full[0], 1);
    }
    if (threadIdx.x < 32) {
        for (int i = 0; i < tiles; i++) {
            int s = i % STAGES;
            wait_for(&empty[s], ((i / STAGES) & 1) ^ 1);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 256);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[s], in + i * 64, 256, &full[s]);
        }
    } else {
        for (int k = 0; k < tiles; k++) {
            int t = k % STAGES;
            out[k] = tile[t][0];
            ptx::mbarrier_arrive(&empty[t]);
        }
    }
}
"""
TOKENS = """#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void k(float *out) {
    __shared__ float tile[64];
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    bar.arrive();
    out[threadIdx.x] = tile[threadIdx.x];
}
"""
PIPELINE = """__global__ void k(float *out) {
    auto pipe = cuda::make_pipeline(block, &state);
    pipe.producer_commit();
    out[threadIdx.x] = tile[threadIdx.x];
}
"""
ONE = """#include <cuda/ptx>
#include <cstdint>
namespace ptx = cuda::ptx;
__global__ void add_one(const int *in, int *out) {
    __shared__ alignas(128) int tile[64];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(tile));
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof(tile), &bar);
    }
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        out[i] = tile[i] + 1;
}
"""


def ways(source: str, place: str, about: str, parity: str) -> list[str]:
    return [form.code for form in waits(CudaCode(source), AwaitedMbarrier(about, parity), source.index(place))]


@pytest.mark.parametrize(
    ("source", "place", "about", "parity", "first"),
    [
        # the function that waits elsewhere, for the object of the name, for the parities that are known here
        (
            RING,
            "ptx::mbarrier_arrive_expect",
            "_ZZ6streamPKfPfiE4full",
            "!%r1",
            "wait_for(&full[s], (i / STAGES) & 1);",
        ),
        (RING, "ptx::mbarrier_arrive_expect", "_ZZ6streamPKfPfiE5empty", "0", "wait_for(&empty[s], 0);"),
        # where neither is known, by what the loop counts
        (RING, "out[k]", "_ZZ6streamPKfPfiE5empty", "%r1", "wait_for(&empty[t], (k / STAGES) & 1);"),
        (TOKENS, "out[", "_ZZ1kPfE3bar", "0", "bar.wait_parity(0);"),
        (PIPELINE, "out[", "%r3", "0", "pipe.consumer_wait();"),
        (ONE, "for (", "_ZZ7add_onePKiPiE3bar", "0", "while (!ptx::mbarrier_try_wait_parity(&bar, 0)) ;"),
    ],
)
def test_a_wait_is_written_as_the_source_waits(source: str, place: str, about: str, parity: str, first: str) -> None:
    assert ways(source, place, about, parity)[0] == first


def test_who_arrives_by_itself_may_wait_at_once() -> None:
    assert ways(TOKENS, "out[", "_ZZ1kPfE3bar", "0")[-1] == "bar.arrive_and_wait();"


def test_no_name_of_another_function_is_used() -> None:
    assert not [
        way for way in ways(RING, "ptx::mbarrier_arrive_expect", "%r9", "0") if "(bar" in way or "parity, " in way
    ]


def test_a_wait_stands_before_what_it_is_for() -> None:
    line = ONE[: ONE.index("    for (int i")].count("\n") + 1
    wanted = Wanted("put", 9, 8, "", "{ loop }", awaited=AwaitedMbarrier("_ZZ7add_onePKiPiE3bar", "0"))
    first, *others = candidates(CudaCode(ONE), wanted, [(line, 5)], [])
    assert edited(ONE, first.edits).split("\n")[line - 1 : line + 1] == [
        "    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) ;", ONE.split("\n")[line - 1],
    ]  # fmt: skip
    assert first.headers == ("cuda/ptx",) and others


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_wait_for_a_bulk_copy_is_put_into_its_source(tmp_path: Path) -> None:
    path = tmp_path / "one.cu"
    path.write_text(ONE, encoding="utf-8")
    launch = [
        str(path),
        "--grid",
        "1",
        "--block",
        "2",
        "--arg",
        "in=s32[64]=1",
        "--arg",
        "out=s32[64]",
        "--timeout",
        "600",
    ]
    assert main(["check", *launch]) == 1
    assert main(["repair", *launch, "--apply"]) == 0
    assert "    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) ;\n    for (int i" in path.read_text(encoding="utf-8")
    assert main(["check", *launch]) == 0
