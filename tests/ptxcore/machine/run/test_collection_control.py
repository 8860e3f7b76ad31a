"""Kernels that call, branch, loop and address memory of every space, against Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_collection import Case, Collection, Expect, check, device

from ptxmm.running import launch

control = Collection("control")
memory = Collection("memory")
f32, u32, i32, u64, u16, u8 = np.float32, np.uint32, np.int32, np.uint64, np.uint16, np.uint8


def zeros(count: Any, kind: Any = np.int32) -> Any:
    return np.zeros(count, kind)


@control.add(block=13)
def fibonacci(rng: np.random.Generator) -> list[Any]:
    return [Expect(zeros(13), [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144])]


@control.add(block=12)
def parity(rng: np.random.Generator) -> list[Any]:
    return [Expect(zeros(12, u8), [1, 0] * 6)]


@control.add(block=32)
def dispatch(rng: np.random.Generator) -> list[Any]:
    x = rng.normal(size=32).astype(f32)
    return [Expect(x, np.choose(np.arange(32) % 3, [x * x, x * f32(0.5), -x]))]


@control.add(block=4)
def structures(rng: np.random.Generator) -> list[Any]:
    kind = np.dtype("f4, f4, f4, i4")
    given = np.array([(1.5, 2.5, 3.5, 100)], kind)
    rows = np.array([(2.5, 3.5, 1.5, 100 + t) for t in range(4)], kind)
    return [given[0], Expect(zeros(4, kind), rows)]


@control.add(block=4)
def interpreter(rng: np.random.Generator) -> list[Any]:
    programs = [[1, 7, 0], [1, 2, 1, 3, 2, 1, 256 - 4, 3, 0], [1, 9, 4, 3, 4, 3, 0], [1, 1, 1, 5, 5, 6, 0]]
    code = np.array([p + [0] * (16 - len(p)) for p in programs], u8)
    return [code, Expect(zeros(4), [7, -20, 9**4, 4])]


@control.add(block=40)
def collatz(rng: np.random.Generator) -> list[Any]:
    steps, highest = [], 0
    for start in range(1, 41):
        x, n = start, 0
        while x != 1:
            x = 3 * x + 1 if x % 2 else x // 2
            n, highest = n + 1, max(highest, x)
        steps.append(n)
    return [np.arange(1, 41, dtype=u32), Expect(zeros(40, u32), steps), Expect(zeros(1, u64), [highest])]


@control.add(block=60)
def primes(rng: np.random.Generator) -> list[Any]:
    return [Expect(zeros(60, u8), [n > 1 and all(n % d for d in range(2, n)) for n in range(60)]), 0]


@control.add(grid=(3, 2, 2), block=(4, 2, 3))
def places(rng: np.random.Generator) -> list[Any]:
    rows = [
        (x, y, z, cz << 8 | cx)
        for cz in range(2) for _ in range(2) for cx in range(3) for z in range(3) for y in range(2) for x in range(4)
    ]  # fmt: skip
    return [Expect(zeros((288, 4), u16), rows)]


@control.add(block=12)
def predicates(rng: np.random.Generator) -> list[Any]:
    nan, inf = float("nan"), float("inf")
    x = np.array([0, 1, -1, nan, inf, -inf, 1e-40, -0.0, 2, nan, 3, -2], f32)
    y = np.array([0, 2, -2, 1, inf, 5, 0, 0, nan, nan, -3, -2], f32)
    rows = []
    for a, b in zip(x, y, strict=True):
        num = not (np.isnan(a) or np.isnan(b))
        p, q, r = bool(a < b), not a < b, bool(a < b or not num)
        first = p | q << 1 | r << 2 | num << 3
        p, q, r = q and num, r != num, not r
        s = bool(a != 0 and not np.isnan(a)) and not r
        second = p | q << 1 | s << 2
        kinds = bool(np.isinf(a)) | bool(a != 0 and abs(a) < 1.1754944e-38) << 1 | bool(np.isnan(a)) << 2
        signed = int(b.view(u32)) & 0x80000000 | int(a.view(u32)) & 0x7FFFFFFF
        rows.append([
            first, 0xFFFFFFFF if a > b else 0, 0x3F800000 if a == b else 0, second, 11 if a >= 0 else 22, kinds, signed, 0,
        ])  # fmt: skip
    return [x, y, Expect(zeros((12, 8), u32), rows)]


@memory.add()
def initialisers(rng: np.random.Generator) -> list[Any]:
    floats = np.array([-5, -2.25, 0.125, 0, 3, 12], np.float64)
    words = np.array([13, 0xF0F0F0F0, ord("w"), 0], u32)
    return [Expect(zeros(64, u8), np.frombuffer(floats.tobytes() + words.tobytes(), u8))]


@memory.add(block=6)
def insertion(rng: np.random.Generator) -> list[Any]:
    rows = rng.integers(0, 256, (6, 8), dtype=u8)
    return [Expect(rows, np.sort(rows, axis=1))]


@memory.add()
def spaces(rng: np.random.Generator) -> list[Any]:
    return [np.array([1, 20, 300, 4000], u32), Expect(zeros(4, u32), [4321, 8320, 42 + 300, 7])]


@memory.add()
def widths(rng: np.random.Generator) -> list[Any]:
    data = rng.integers(0, 256, 16, dtype=u8) | 0x80
    b = data.tolist()
    low, high = data.view(u64).tolist()
    word = data.view(u32).tolist()
    out = np.concatenate([
        np.array([b[0] - 256, b[0], data.view(np.int16)[0], data.view(u16)[0]], np.int64).astype(u32).view(u8),
        np.array([b[1] - 256, data.view(i32)[0]], np.int64).view(u8),
        np.array([b[4] + b[7], b[5] + b[6]], u16).view(u8),
        np.array([b[0], b[2], b[4], b[6]], u8),
        np.array([low ^ high, (word[2] >> 16 | word[2] << 16) & 0xFFFFFFFF | word[3] << 32], u64).view(u8),
        np.array([word[2], word[2]], u32).view(u8),
    ])  # fmt: skip
    return [data, Expect(zeros(64, u8), out)]


@memory.add()
def copies(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(0, 1 << 32, 16, dtype=u32)
    return [v, Expect(zeros(16, u32), [*v[:8], *v[11:7:-1], *v[12:]])]


@memory.add(block=3)
def stack(rng: np.random.Generator) -> list[Any]:
    return [Expect(zeros(1, u32), [sum(i * i for i in range(17))]), 17]


@memory.add(grid=2, block=16)
def atomics(rng: np.random.Generator) -> list[Any]:
    t = np.arange(32)
    total = int((t - 20).sum())
    increments, decrements = 0, 0
    for _ in t:
        increments = 0 if increments >= 6 else increments + 1
        decrements = 6 if decrements == 0 or decrements > 6 else decrements - 1
    words = np.array([t.sum(), 0xFFFFFFEC, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0, increments, decrements], u32)
    cells = np.concatenate([
        words.view(u8), np.array([total], f32).view(u8), np.array([77], u32).view(u8),
        np.array([total], np.float64).view(u8), np.array([11, total], np.int64).view(u8),
    ])  # fmt: skip
    start = zeros(64, u8)
    start[20:24] = 255
    start[48:56] = np.array([-99], np.int64).view(u8)
    halves = np.array([t.sum(), 0, t.sum(), t.sum()], np.float16)
    halves[1:2] = np.array([96], u16).view(np.float16)
    return [Expect(start, cells), Expect(zeros(4, np.float16), halves)]


@pytest.mark.parametrize(("case", "seed"), [*control.runs(), *memory.runs()])
def test_kernels_with_control_and_memory(case: Case, seed: int | None) -> None:
    check(case, seed)


def test_variables_last_from_launch_to_launch() -> None:
    machine = device("memory")
    machine.reset()
    found = []
    for _ in range(3):
        out = zeros(1)
        launch(machine, "count", 1, 1, [out])
        found.append(int(out[0]))
    assert found == [-5, -4, -3]
