"""Kernels over floating-point numbers, in the PTX of older versions, and with the CUDA runtime, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_collection import Case, Collection, Expect, check, device

from ptxcore.machine.run.faults import KernelError
from ptxmm.running import launch

floats = Collection("floats")
runtime = Collection("runtime")
old_1, old_2, old_3 = Collection("old_1"), Collection("old_2"), Collection("old_3")
old_warps = Collection("old_warps")
f16, f32, f64, u8, u16, u32, i32, u64 = (
    np.float16, np.float32, np.float64, np.uint8, np.uint16, np.uint32, np.int32, np.uint64
)  # fmt: skip


def zeros(count: Any, kind: Any = np.uint32) -> Any:
    return np.zeros(count, kind)


def signed_near_one(rng: np.random.Generator, count: int) -> Any:
    """Numbers whose sums and products are exact in f64."""
    return (rng.uniform(1, 2, count) * rng.choice([-1, 1], count)).astype(f32)


def directed(exact: Any, towards: Any) -> Any:
    """The f32 next to an f64 that does not lie beyond it on the way: towards -inf, +inf or 0."""
    near = exact.astype(f32)
    beyond = near > exact if towards == -np.inf else near < exact if towards == np.inf else np.abs(near) > np.abs(exact)
    return np.where(beyond, np.nextafter(near, f32(towards)), near)


@floats.add(block=50)
def rounding(rng: np.random.Generator) -> list[Any]:
    a, b = signed_near_one(rng, 50), signed_near_one(rng, 50)
    a[0], b[0] = 4, -4
    x, y = a.astype(f64), b.astype(f64)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(a)
    columns = [
        a + b, directed(x + y, 0), directed(x + y, -np.inf), directed(x + y, np.inf),
        a * b, directed(x * y, 0), a / b, root,
        f32(1) / b, (x * y + x).astype(f32), np.clip(a + b, 0, 1), np.minimum(a, b),
        np.maximum(a, b), np.rint(a), np.floor(a), np.trunc(b),
    ]  # fmt: skip
    columns[2][0] = -0.0  # the zero of a difference, rounded down
    return [a, b, Expect(zeros((50, 16), f32), np.stack(columns, axis=1))]


@floats.add(block=14)
def to_integers(rng: np.random.Generator) -> list[Any]:
    x = np.array([0, 0.5, 1.5, 2.5, -0.5, -1.5, 255.9, 256, -3e9, 3e9, 1e18, -1e18, 33000.7, -70000], f64)

    def clamp(value: float, low: int, high: int) -> int:
        return min(max(int(value), low), high)

    rows = b""
    for v in x.tolist():
        s32 = clamp(math.trunc(v), -(1 << 31), (1 << 31) - 1)
        unsigned = clamp(round(v), 0, (1 << 32) - 1)
        short = clamp(math.trunc(float(f32(v))), -(1 << 15), (1 << 15) - 1)
        byte = clamp(math.trunc(float(f32(v))), 0, 255)
        down = clamp(math.floor(v), -(1 << 63), (1 << 63) - 1)
        up = clamp(math.ceil(v), 0, (1 << 64) - 1)
        rows += i32(s32).tobytes() + u32(unsigned).tobytes()
        rows += i32(short).tobytes() + u32(byte).tobytes() + np.int64(down).tobytes() + u64(up).tobytes()
        rows += f64(down).tobytes() + directed(np.array([unsigned], f64), 0).tobytes() + bytes(4)
    return [x, Expect(zeros(14 * 48, u8), np.frombuffer(rows, u8))]


@floats.add(block=40)
def formats(rng: np.random.Generator) -> list[Any]:
    x = (rng.normal(size=40) * 10.0 ** rng.integers(-4, 3, 40)).astype(f32)
    x[:3] = [0, 500, -(2**-9)]
    bits = x.view(u32)
    near = np.clip(x, -448, 448)
    high, low = (v.astype(ml_dtypes.float8_e4m3fn) for v in (near, -near))
    e4m3 = high.view(u8).astype(u32) << 8 | low.view(u8)
    pair = (-x).astype(f16).view(u16).astype(u32) << 16 | x.astype(f16).view(u16)
    back = high.astype(f16).view(u16).astype(u32) << 16 | low.astype(f16).view(u16)
    words = np.stack([(bits + u32(0x1000)) & u32(0xFFFFE000), pair, e4m3, back], axis=1)
    brains = x.astype(ml_dtypes.bfloat16).view(u16)
    return [x, Expect(zeros(40, f16), x.astype(f16)), Expect(zeros(40, u16), brains), Expect(zeros((40, 4)), words)]


@floats.add(block=32)
def approximations(rng: np.random.Generator) -> list[Any]:
    x = rng.uniform(0.1, 3, 32) * rng.choice([-1, 1], 32)
    x = x.astype(f32).astype(f64)
    size = np.abs(x)
    columns = [np.sin(x), np.cos(x), np.exp2(x), np.log2(size), 1 / np.sqrt(size), 1 / x, np.tanh(x), 1 / x]
    return [x.astype(f32), Expect(zeros((32, 8), f32), np.stack(columns, axis=1), 1e-3)]


@floats.add(block=(20, 16))
def mandelbrot(rng: np.random.Generator) -> list[Any]:
    picture = zeros((16, 20))
    for row in range(16):
        for column in range(20):
            c, z, n = complex(column / 8 - 2, row / 8 - 1), 0j, 0
            while n < 30 and z.real * z.real + z.imag * z.imag <= 4:
                z = complex(z.real * z.real - z.imag * z.imag + c.real, z.real * z.imag * 2 + c.imag)
                n += 1
            picture[row, column] = n
    return [Expect(zeros((16, 20)), picture), 20, 30]


@floats.add(block=24)
def packed(rng: np.random.Generator) -> list[Any]:
    a, b = rng.normal(size=(2, 24, 2)).astype(f16)
    b[3] = a[3]
    fma = np.maximum((a.astype(f64) * b + a).astype(f16), 0)
    more = a > b
    columns = [a + b, a * b, fma, np.maximum(a, b), np.abs(a), -b, (a < b).astype(f16)]
    words = [v.view(u32).reshape(24) for v in columns] + [more[:, 0] | more[:, 1].astype(u32) << 1]
    return [a, b, Expect(zeros((24, 8)), np.stack(words, axis=1))]


@floats.add()
def kahan(rng: np.random.Generator) -> list[Any]:
    x = rng.uniform(0, 1, 200).astype(f32)
    total, lost, plain = f32(0), f32(0), f32(0)
    for v in x:
        plain += v
        y = v - lost
        t = total + y
        lost = (t - total) - y
        total = t
    return [x, 200, Expect(zeros(2, f32), [total, plain])]


@floats.add(block=6)
def subnormals(rng: np.random.Generator) -> list[Any]:
    a = np.array([1e-40, -3e-39, 1.1754944e-38, 1.5e-38, 1e-45, 1], f32)
    least = f32(1.1754944e-38)

    def flushed(v: Any) -> Any:
        return np.where(np.abs(v) < least, np.copysign(f32(0), v), v).astype(f32)

    columns = [a * f32(0.5), flushed(flushed(a) * f32(0.5)), flushed(flushed(a) + flushed(a)), a - least]
    return [a, Expect(zeros((6, 4), f32), np.stack(columns, axis=1))]


@old_1.add(grid=2, block=16, entry="_Z6scale2PfS_fi")
def scale(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(-50, 50, 30).astype(f32)
    return [Expect(zeros(30, f32), x * 3.5), x, 2.5, 30]


@old_2.add(block=64, entry="_Z6reducePKiPi")
def reduce(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(-50, 50, 64).astype(i32)
    counts = np.repeat([(w > 0).sum() + 1000 for w in x.reshape(2, 32)], 32)
    return [x, Expect(zeros(65, i32), [x.sum(), *counts])]


@old_3.add(block=64)
def tail(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(0, 1 << 32, 64, dtype=u32)
    total = int(x.sum(dtype=u32))
    return [x, Expect(zeros(2), [total, (total << 7 | total >> 25) & 0xFFFFFFFF])]


@old_warps.add(block=64)
def warp_synchronous(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(-50, 50, 64).astype(i32)
    return [x, Expect(zeros(1, i32), [x.sum()])]


@old_warps.add(block=32)
def warp_scan(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(-50, 50, 32).astype(i32)
    return [Expect(x, np.cumsum(x))]


@old_warps.add(grid=2, block=40)
def warp_lock(rng: np.random.Generator) -> list[Any]:
    return [Expect(zeros(1), [80])]


@runtime.add(block=4)
def heap(rng: np.random.Generator) -> list[Any]:
    return [Expect(zeros(4), [sum(i * t + 1 for i in range(9)) for t in range(4)]), 9]


@runtime.add(printed="thread 0: one  0.50 18446744073709551615 %\n")
def hello(rng: np.random.Generator) -> list[Any]:
    return []


ALL = (floats, runtime, old_1, old_2, old_3, old_warps)


@pytest.mark.part(2)
@pytest.mark.parametrize(("case", "seed"), [run for collection in ALL for run in collection.runs()])
def test_kernels_over_floats_and_older_styles(case: Case, seed: int | None) -> None:
    check(case, seed)


def test_every_thread_prints() -> None:
    printed = launch(device("runtime"), "hello", 1, 5).printed.splitlines()
    assert [line[:9] for line in printed] == [f"thread {t}:" for t in range(5)]


def test_an_assertion_that_fails() -> None:
    with pytest.raises(KernelError, match=r"assertion failed: a\.cu:7: k\(int\): 'x < 3'") as caught:
        launch(device("runtime"), "asserts", 1, 5, [3])
    assert caught.value.kind == "assertion"
    assert caught.value.thread is not None
    assert caught.value.thread.thread == (3, 0, 0)
    launch(device("runtime"), "asserts", 1, 5, [5])


def test_warps_that_deadlock() -> None:
    with pytest.raises(KernelError, match="spins at") as caught:
        launch(device("old_warps"), "waits", 1, 32, [zeros(1)], limit=3_000_000)
    assert caught.value.kind == "deadlock"
