"""Kernels whose threads wait for one another, and asynchronous copies, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_collection import Case, Collection, Expect, check

threads = Collection("synchronization")
copies = Collection("asynchronous")
u32, u64, u8 = np.uint32, np.uint64, np.uint8


def zeros(count: Any, kind: Any = np.uint32) -> Any:
    return np.zeros(count, kind)


def words(rng: np.random.Generator, count: Any) -> Any:
    return rng.integers(0, 1 << 32, count, dtype=u32)


@threads.add(block=128)
def producer_consumer(rng: np.random.Generator) -> list[Any]:
    v = words(rng, (7, 64))
    return [v, Expect(zeros((7, 64)), v[:, np.arange(64) ^ 1]), 7]


@threads.add(block=96)
def votes(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(-10, 10, 96).astype(np.int32)
    return [v, Expect(zeros((96, 3)), [[(v > 0).sum(), 0, 1]] * 96)]


@threads.add(grid=3, block=(4, 2, 2))
def spin_lock(rng: np.random.Generator) -> list[Any]:
    x = 7
    for _ in range(48):
        x = x * 3 + 1
    return [Expect(np.array([7], u32), [x & 0xFFFFFFFF])]


@threads.add(grid=3, block=11)
def ticket_lock(rng: np.random.Generator) -> list[Any]:
    x = 0
    for _ in range(33):
        x = x * 5 + 2
    return [Expect(zeros(1), [x & 0xFFFFFFFF])]


@threads.add(grid=5, block=8)
def grid_barrier(rng: np.random.Generator) -> list[Any]:
    a = words(rng, 40)
    rounds = [a]
    for _ in range(4):
        rounds.append(rounds[-1] + np.roll(rounds[-1], -1))
    return [Expect(a, rounds[4]), Expect(zeros(40), rounds[3]), 4]


@threads.add(grid=6, block=32)
def chained_scan(rng: np.random.Generator) -> list[Any]:
    v = words(rng, 192)
    return [Expect(v, np.cumsum(v, dtype=u32))]


@threads.add(block=32)
def halves(rng: np.random.Generator) -> list[Any]:
    lanes = np.arange(32, dtype=np.int64)
    odd = (lanes & 1).astype(bool)
    squares = lanes * lanes
    exchanged = np.where(odd, squares[lanes ^ 2], squares[lanes ^ 4])
    reduced = np.where(odd, exchanged[odd].max(), exchanged[~odd].min())
    return [Expect(zeros(32), (exchanged - reduced[1] + reduced).astype(u32))]


@threads.add(block=48)
def early_exit(rng: np.random.Generator) -> list[Any]:
    total = sum(range(37))
    return [Expect(zeros(48), [total] * 37 + [0] * 11), 37]


@copies.add(block=32)
def double_buffer(rng: np.random.Generator) -> list[Any]:
    x = words(rng, (5, 32, 4))
    return [x, Expect(zeros((5, 32, 4)), x * u32(3) + np.roll(x, -1, axis=1)), 5]


@copies.add(block=32)
def ragged(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(1, 256, (32, 16), dtype=u8)
    keep = np.arange(16)[None, :] < (np.arange(32) & 15)[:, None]
    return [x, Expect(zeros((32, 16), u8), np.where(keep, x, 0))]


@copies.add(block=64)
def phases(rng: np.random.Generator) -> list[Any]:
    x = words(rng, 64)
    after = x
    for _ in range(3):
        after = after[::-1] * u32(3) + np.arange(64, dtype=u32)
    return [Expect(x, after)]


@copies.add(block=128)
def bulk(rng: np.random.Generator) -> list[Any]:
    x = words(rng, 128)
    return [x, Expect(zeros(128), x * x + np.arange(128, dtype=u32))]


@copies.add(grid=8, block=32)
def cluster_sum(rng: np.random.Generator) -> list[Any]:
    x = words(rng, (2, 4, 32))
    sums = x.sum(axis=(1, 2), dtype=u32)
    place = np.arange(2, dtype=u32)[:, None] * 10 + np.arange(4, dtype=u32)
    return [x, Expect(zeros((2, 4, 32)), np.repeat(sums[:, None] + place, 32).reshape(2, 4, 32))]


@copies.add(grid=8, block=32, cluster=(8, 1, 1))
def cluster_histogram(rng: np.random.Generator) -> list[Any]:
    data = rng.integers(0, 256, 256, dtype=u8)
    return [data, Expect(zeros(256), np.bincount(data, minlength=256))]


@copies.add(grid=6, block=32, cluster=(3,))
def ring(rng: np.random.Generator) -> list[Any]:
    ranks = np.arange(6) % 3
    rows = np.arange(32)[None, :] * 1000 + ((ranks - 1) % 3)[:, None]
    return [Expect(zeros((6, 32), u64), rows)]


@copies.add(block=16, dynamic_shared=48)
def elected(rng: np.random.Generator) -> list[Any]:
    leader = 4
    row = [0x1111222233334444, 0, 0x1111222233334444, 48, leader, leader]
    return [Expect(zeros(6, u64), np.array(row, u64))]


@pytest.mark.part(2)
@pytest.mark.parametrize(("case", "seed"), [*threads.runs(), *copies.runs()])
def test_kernels_whose_threads_meet(case: Case, seed: int | None) -> None:
    check(case, seed)
