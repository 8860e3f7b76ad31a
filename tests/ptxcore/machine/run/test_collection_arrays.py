"""Kernels over vectors and matrices, reductions, scans, histograms, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_collection import Case, Collection, Expect, check

algebra = Collection("linear_algebra")
reductions = Collection("reductions")
f32, f64, i32, u32 = np.float32, np.float64, np.int32, np.uint32


def zeros(count: Any, kind: Any = np.int32) -> Any:
    return np.zeros(count, kind)


@algebra.add(grid=3, block=32)
def axpby(rng: np.random.Generator) -> list[Any]:
    x, y = rng.integers(-1000, 1000, (2, 250)) / 64
    return [250, 2.5, np.float64(-0.5), x, Expect(y, x * 2.5 - 0.5 * y)]


@algebra.add(block=128)
def dot(rng: np.random.Generator) -> list[Any]:
    x, y = rng.normal(size=(2, 128)).astype(f32)
    part = x * y
    while len(part) > 1:
        half = len(part) // 2
        part = part[:half] + part[half:]
    return [x, y, Expect(zeros(1, f32), part)]


@algebra.add(block=9)
def norms(rng: np.random.Generator) -> list[Any]:
    m = rng.normal(size=(9, 20)).astype(f32)
    rows = np.abs(m.astype(f64))
    expected = np.stack([np.sqrt((rows**2).sum(1)), rows.max(1), rows.sum(1)], axis=1)
    return [m, 20, Expect(zeros((9, 3), f32), expected, 1e-6)]


@algebra.add(grid=(3, 2), block=(16, 8))
def transpose(rng: np.random.Generator) -> list[Any]:
    m = rng.integers(0, 1 << 32, (23, 37), dtype=u32)
    return [m, Expect(zeros((37, 23), u32), m.T), 37, 23]


@algebra.add(grid=(3, 3), block=(8, 8))
def matmul(rng: np.random.Generator) -> list[Any]:
    a, b = rng.integers(-8, 8, (2, 24, 24)).astype(f32)
    return [a, b, Expect(zeros((24, 24), f32), a @ b), 24]


@algebra.add(block=11)
def matvec_s8(rng: np.random.Generator) -> list[Any]:
    a, x = rng.integers(-128, 128, (11, 16), dtype=np.int8), rng.integers(-128, 128, 16, dtype=np.int8)
    return [a, x, Expect(zeros(11), a.astype(i32) @ x.astype(i32))]


@algebra.add(grid=(3, 2, 1), block=(8, 8, 1))
def stencil(rng: np.random.Generator) -> list[Any]:
    m = rng.normal(size=(14, 19)).astype(f32)
    expected = zeros((14, 19), f32)
    expected[1:-1, 1:-1] = ((m[1:-1, :-2] + m[1:-1, 2:]) + (m[:-2, 1:-1] + m[2:, 1:-1])) * f32(0.25)
    return [m, Expect(zeros((14, 19), f32), expected), 19, 14]


@algebra.add(grid=4, block=32, dynamic_shared=36 * 4)
def convolve(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(-99, 99, 100).astype(f32)
    weights = np.array([1, 4, 6, 4, 1]) / 16
    return [x, Expect(zeros(100, f32), np.convolve(x, weights, mode="same")), 100]


@algebra.add(block=32)
def haxpy(rng: np.random.Generator) -> list[Any]:
    x, y = (rng.integers(-32, 32, (2, 64)) / 4).astype(np.float16)
    after = (1.5 * x.astype(f64) + y).astype(np.float16)
    return [x, Expect(y, after), np.float16(1.5), Expect(zeros(1, f32), after.astype(f64).sum())]


@reductions.add(block=96)
def warp_sum(rng: np.random.Generator) -> list[Any]:
    values = rng.integers(0, 1 << 32, 96, dtype=u32)
    return [values, Expect(zeros(3, u32), values.reshape(3, 32).sum(1, dtype=u32))]


@reductions.add(block=32)
def warp_sum_f64(rng: np.random.Generator) -> list[Any]:
    values = rng.normal(size=32)
    part = values
    while len(part) > 1:
        half = len(part) // 2
        part = part[:half] + part[half:]
    return [values, Expect(zeros(1, f64), part)]


@reductions.add(block=32)
def redux_all(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(-(1 << 31), 1 << 31, 32).astype(i32) | 0x10
    u = v.view(u32)
    out = [v.sum(dtype=i32).view(u32), v.min().view(u32), v.max().view(u32), u.min(), u.max(),
           np.bitwise_and.reduce(u), np.bitwise_or.reduce(u), np.bitwise_xor.reduce(u)]  # fmt: skip
    return [v, Expect(zeros(8, u32), out)]


@reductions.add(grid=3, block=128)
def block_sum(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(-(1 << 15), 1 << 15, 300).astype(np.int16)
    return [v, Expect(np.array([-7]), [v.sum(dtype=np.int64) - 7]), 300]


@reductions.add(block=128)
def scan(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(0, 1 << 32, 128, dtype=u32)
    return [Expect(v, np.cumsum(v, dtype=u32))]


@reductions.add(block=64)
def exclusive_scan(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(0, 1 << 32, 128, dtype=u32)
    return [Expect(v, np.cumsum(v, dtype=u32) - v), 128]


@reductions.add(block=32)
def warp_scan(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(0, 1 << 32, 32, dtype=u32)
    return [Expect(v, np.cumsum(v, dtype=u32))]


@reductions.add(block=32)
def segment_last(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(0, 1 << 32, 32, dtype=u32)
    return [Expect(v, np.repeat(v[7::8], 8))]


@reductions.add(grid=2, block=64)
def histogram(rng: np.random.Generator) -> list[Any]:
    data = rng.integers(0, 256, 900, dtype=np.uint8) & 0x7F
    return [data, Expect(zeros(256, u32), np.bincount(data, minlength=256)), 900]


@reductions.add(block=32)
def compact(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(-100, 100, 32).astype(i32)
    kept = v[v > -10]
    return [v, -10, Expect(zeros(32), [*kept, *zeros(32 - len(kept))]), Expect(zeros(1), [len(kept)])]


@reductions.add(block=64)
def argmax(rng: np.random.Generator) -> list[Any]:
    v = rng.normal(size=64).astype(f32)
    bits = int(v.max().view(u32)) | 1 << 31  # the largest is positive
    best = bits << 32 | (0xFFFFFFFF ^ int(v.argmax()))
    return [v, Expect(zeros(1, np.uint64), [best]), Expect(np.full(1, np.inf, f32), [v.min()])]


@reductions.add(block=32)
def distinct(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(0, 9, 32, dtype=np.uint64) << 40
    masks = [sum(1 << j for j in range(32) if v[j] == x) for x in v]
    return [v, Expect(zeros(32, u32), masks), Expect(zeros(4, u32), [len(set(v.tolist())), 0, 1, 0xFFFFFFFF])]


@reductions.add(grid=7, block=32)
def last_block(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(0, 1 << 32, 224, dtype=u32)
    return [v, Expect(zeros(1, u32), [v.sum(dtype=u32)])]


@pytest.mark.part(4)
@pytest.mark.parametrize(("case", "seed"), [*algebra.runs(), *reductions.runs()])
def test_kernels_over_arrays(case: Case, seed: int | None) -> None:
    check(case, seed)
