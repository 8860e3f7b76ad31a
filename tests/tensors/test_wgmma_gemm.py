"""Published kernels with `wgmma` beside NumPy: a GEMM of tensor copies, of a producer and two consumer warpgroups, as nvcc
compiles it; products and attention of Triton."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from campaigns import some

import ptxmm
from ptxcore.machine.run.faults import KernelError
from ptxmm.cli.main import main

LAUNCHES = Path(__file__).parents[3] / "shared" / "launches"
PTX, CUDA = LAUNCHES / "wgmma_gemm.ptx", LAUNCHES / "cu" / "k08_wgmma.cu"
needs_ptx = pytest.mark.skipif(not PTX.exists(), reason="no published kernels here")
needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None or not CUDA.exists(), reason="no nvcc, or no published kernels here"
)


def multiplied(path: Path, k: int = 320, seed: int | None = None) -> float:
    """The largest error of a product of random matrices, beside that of doubles."""
    rng = np.random.default_rng(k)
    a, b = rng.normal(size=(128, k)).astype(np.float16), rng.normal(size=(64, k)).astype(np.float16)
    c = np.zeros((128, 64), np.float32)
    maps = [ptxmm.TensorMap(a, box=(64, 128), swizzle="128B"), ptxmm.TensorMap(b, box=(64, 64), swizzle="128B")]
    ptxmm.run(path, "gemm", (1,), (384,), [*maps, c, k, 64], dynamic_shared=180224, seed=seed)
    return float(np.abs(c - a.astype(np.float64) @ b.astype(np.float64).T).max())


def written(tmp_path: Path, old: str = "", new: str = "") -> Path:
    """The published module, for the target that it needs, with a mistake."""
    text = PTX.read_text().replace(".target sm_90\n", ".target sm_90a\n")
    assert old in text
    (tmp_path / "k.ptx").write_text(text.replace(old, new))
    return tmp_path / "k.ptx"


@needs_ptx
def test_the_published_module_multiplies(tmp_path: Path) -> None:
    assert multiplied(written(tmp_path)) < 1e-4


@needs_ptx
@pytest.mark.parametrize(
    ("old", "kind"),
    [
        ("wgmma.fence.sync.aligned;", "unfenced-product"),
        ("wgmma.commit_group.sync.aligned;", "unfinished-product"),
        ("wgmma.wait_group.sync.aligned 0;", "unfinished-product"),
    ],
)
def test_what_is_left_out_is_told(old: str, kind: str, tmp_path: Path) -> None:
    with pytest.raises(KernelError) as caught:
        multiplied(written(tmp_path, old), 64)
    assert caught.value.kind == kind


@needs_ptx
def test_another_swizzle_than_the_descriptors_is_another_product(tmp_path: Path) -> None:
    assert multiplied(written(tmp_path, "4611686293305360384", str(4611686293305360384 & ~(3 << 62))), 64) > 1


@pytest.mark.long
@needs_nvcc
def test_cuda_multiplies(tmp_path: Path) -> None:
    subprocess.run(["nvcc", "-arch=sm_90a", "-ptx", "-o", tmp_path / "k.ptx", CUDA], check=True, capture_output=True)
    assert multiplied(tmp_path / "k.ptx", 128) < 1e-4


needs_triton = pytest.mark.skipif(
    not (LAUNCHES / "triton_matmul_sm90.ptx").exists(), reason="no published kernels here"
)


def small(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Small integers, whose products are exact."""
    return rng.integers(-3, 4, (rows, columns)).astype(np.float16)


@needs_triton
@pytest.mark.parametrize("seed", some(2, [None, 1]))
def test_tritons_matmul(seed: int | None) -> None:
    """With copies in stages, and a product that is waited for a round later."""
    rng, spare = np.random.default_rng(1), np.zeros(16, np.uint32)
    a, b, c = small(rng, 128, 128), small(rng, 128, 128), np.zeros((128, 128), np.float16)
    arguments = [a, b, c, 128, 128, 128, 128, 128, 128, spare, spare.copy()]
    path = LAUNCHES / "triton_matmul_sm90.ptx"
    ptxmm.run(path, "matmul", (1,), (128,), arguments, dynamic_shared=98304, seed=seed)
    assert (c == a.astype(np.float64) @ b.astype(np.float64)).all()


@needs_triton
def test_tritons_matmul_by_tensor_copies() -> None:
    """It makes its tensor maps itself; B is transposed."""
    rng, spare = np.random.default_rng(2), np.zeros(16, np.uint32)
    a, b, c = small(rng, 128, 64), small(rng, 128, 64), np.zeros((128, 128), np.float16)
    arguments = [a, b, c, 128, 128, 64, np.zeros(4096, np.uint32), spare]
    ptxmm.run(LAUNCHES / "triton_tma_sm90.ptx", "tma", (1,), (256,), arguments, dynamic_shared=200000)
    assert (c == a.astype(np.float64) @ b.astype(np.float64).T).all()


@pytest.mark.long
@needs_triton
def test_tritons_attention() -> None:
    """The second product has A in registers; each row looks at those before, and powers are of two."""
    rng, spare = np.random.default_rng(3), np.zeros(16, np.uint32)
    q, k, v = (rng.normal(size=(128, 64)).astype(np.float16) for _ in range(3))
    out = np.zeros((128, 64), np.float16)
    path = LAUNCHES / "triton_attention_sm90.ptx"
    ptxmm.run(path, "flash", (1,), (128,), [q, k, v, out, 128, 0.125, spare, spare.copy()], dynamic_shared=160000)
    scores = np.exp2(np.where(np.tri(128) > 0, q.astype(np.float64) @ k.astype(np.float64).T * 0.125, -np.inf))
    assert np.abs(scores / scores.sum(1, keepdims=True) @ v.astype(np.float64) - out).max() < 4e-3


KERNEL = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k()
{
wgmma.fence.sync.aligned;
.shared .align 128 .b8 m[2048]; .reg .b32 %d<4>; .reg .b64 %q; mov.u64 %q, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %q, %q, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ret;
}
"""


def test_the_formula_refuses_products_of_warpgroups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.ptx").write_text(KERNEL)
    (tmp_path / "k.toml").write_text('ptx = "k.ptx"\ngrid = 1\nblock = 32\n[check]\nno_deadlock = true\n')
    assert main(["check", str(tmp_path / "k.toml"), "--engine", "enumerate"]) == 2
    told = capsys.readouterr()
    assert "k.ptx:6:1: error: 'wgmma.fence.sync.aligned' cannot be explored" in told.out + told.err
