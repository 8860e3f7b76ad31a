"""Small programs in CUDA C++, run on what nvcc makes of them: optimised, and for the debugger."""

from __future__ import annotations

import base64 as base64_of
import hashlib
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_collection import SOURCES, Case, Collection, Expect, check

from ptxcore.machine.run.launch import Device, load

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")

programs = Collection("programs")
u8, u32, i32, f32, f64, u64, i64 = np.uint8, np.uint32, np.int32, np.float32, np.float64, np.uint64, np.int64


def zeros(count: Any, kind: Any = np.int32) -> Any:
    return np.zeros(count, kind)


def text(words: list[bytes], size: int) -> Any:
    return np.frombuffer(b"".join(word.ljust(size, b"\0") for word in words), u8)


@programs.add(block=8)
def shapes(rng: np.random.Generator) -> list[Any]:
    x = np.arange(8, dtype=f32) + f32(0.5)
    return [x, Expect(zeros(8, f32), np.where(np.arange(8) % 2, x * x, x * 3))]


@programs.add(block=4)
def levenshtein(rng: np.random.Generator) -> list[Any]:
    words = [b"kitten", b"sitting", b"", b"abc", b"flaw", b"lawn", b"intention", b"execution"]
    return [text(words, 16), Expect(zeros(4), [3, 3, 2, 5])]


@programs.add(block=8)
def queens(rng: np.random.Generator) -> list[Any]:
    return [6, Expect(zeros(1), [4])]


@programs.add(block=(12, 9))
def life(rng: np.random.Generator) -> list[Any]:
    a = rng.integers(0, 2, (9, 12), dtype=u8)
    n = sum(np.roll(a, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - a
    return [a, Expect(zeros((9, 12), u8), (n == 3) | ((n == 2) & (a == 1)))]


@programs.add(block=32)
def distances(rng: np.random.Generator) -> list[Any]:
    n = 30
    edges = [sorted(rng.choice(n, rng.integers(1, 3), replace=False).tolist()) for _ in range(n)]
    distance = {0: 0}
    frontier = [0]
    for v in frontier:
        for w in edges[v]:
            if w not in distance:
                distance[w] = distance[v] + 1
                frontier.append(w)
    rows = np.cumsum([0, *map(len, edges)]).astype(i32)
    flat = np.array([w for e in edges for w in e], i32)
    return [rows, flat, Expect(zeros(n), [distance.get(v, -1) for v in range(n)]), n]


@programs.add(block=(10, 10))
def floyd_warshall(rng: np.random.Generator) -> list[Any]:
    d = rng.integers(1, 100, (10, 10)).astype(i32)
    after = d.copy()
    for k in range(10):
        after = np.minimum(after, after[:, k : k + 1] + after[k])
    return [Expect(d, after), 10]


@programs.add(block=32)
def fourier(rng: np.random.Generator) -> list[Any]:
    x = rng.normal(size=64) + 1j * rng.normal(size=64)
    x = x.astype(np.complex64)
    return [x, Expect(zeros(64, np.complex64), np.fft.fft(x), 1e-4)]


@programs.add(block=7)
def black_scholes(rng: np.random.Generator) -> list[Any]:
    price = np.linspace(70, 130, 7)
    rows = []
    for s in price:
        d1 = (math.log(s / 100) + (0.03 + 0.02) * 0.5) / (0.2 * math.sqrt(0.5))
        d2 = d1 - 0.2 * math.sqrt(0.5)
        n1, n2 = (math.erfc(-d / math.sqrt(2)) / 2 for d in (d1, d2))
        rows.append(s * n1 - 100 * math.exp(-0.015) * n2)
    return [price, Expect(zeros(7, f64), rows, 1e-12), 100.0, 0.03, 0.2, 0.5]


@programs.add(block=2)
def sha256(rng: np.random.Generator) -> list[Any]:
    m = rng.integers(0, 256, (2, 32), dtype=u8)
    digests = b"".join(hashlib.sha256(row.tobytes()).digest() for row in m)
    return [m, Expect(zeros(16, u32), np.frombuffer(digests, u32))]


@programs.add(block=9)
def base64(rng: np.random.Generator) -> list[Any]:
    data = rng.integers(0, 256, 27, dtype=u8)
    return [data, Expect(zeros(36, u8), np.frombuffer(base64_of.b64encode(data.tobytes()), u8))]


@programs.add(block=8)
def cholesky(rng: np.random.Generator) -> list[Any]:
    root = rng.normal(size=(8, 8))
    a = root @ root.T + np.eye(8)
    return [Expect(a, np.tril(np.linalg.cholesky(a)) + np.triu(a, 1), 1e-9), 8]


@programs.add(grid=2, block=(32, 3))
def sparse(rng: np.random.Generator) -> list[Any]:
    m = rng.integers(-4, 5, (6, 70)) * (rng.random((6, 70)) < 0.5)
    x = rng.integers(-9, 9, 70).astype(f32)
    rows = np.cumsum([0, *(row.astype(bool).sum() for row in m)]).astype(i32)
    values, columns = m[m != 0].astype(f32), np.nonzero(m)[1].astype(i32)
    return [rows, columns, values, x, Expect(zeros(6, f32), m @ x)]


@programs.add(block=64)
def bodies(rng: np.random.Generator) -> list[Any]:
    b = rng.normal(size=(64, 4)).astype(f32)
    apart = b[None, :, :3].astype(f64) - b[:, None, :3]
    weight = b[:, 3] * ((apart**2).sum(2) + 0.01) ** -1.5
    return [b, Expect(zeros((64, 3), f32), (apart * weight[:, :, None]).sum(1), 2e-4), 64]


@programs.add(block=5)
def numerals(rng: np.random.Generator) -> list[Any]:
    words = [b"MCMXCIV", b"IV", b"MMXXVI", b"DCCCXLVIII", b""]
    return [np.array([1994, 4, 2026, 848, 0], i32), Expect(zeros(80, u8), text(words, 16))]


@programs.add(block=14)
def days(rng: np.random.Generator) -> list[Any]:
    lengths = [-1, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, -1]
    return [np.arange(14, dtype=i32), Expect(zeros(14), lengths)]


@programs.add(block=10)
def fields(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(0, 1 << 32, 10, dtype=u32)
    rows = []
    for v in x.tolist():
        b = v >> 5 & 127
        rows.append([
            (v & 31) + b - (b >> 6 << 7), v * 0x12345 & (1 << 40) - 1, ~v & 0xFFF, v ^ (v & 0xFF) << 24,
        ])  # fmt: skip
    return [x, Expect(zeros((10, 4), i64), rows)]


@programs.add(block=8)
def higher_order(rng: np.random.Generator) -> list[Any]:
    x = rng.integers(-50, 50, 8).astype(i32)
    i = np.arange(8, dtype=i32)
    y = (x * i - 1) * i - 1
    return [Expect(x, np.where(i % 2, 2 * y, y + 1))]


@programs.add(block=12)
def wide(rng: np.random.Generator) -> list[Any]:
    a, b = rng.integers(1, 1 << 63, (2, 12), dtype=u64)
    a[::2] += u64(1 << 63)
    b[::3] >>= u64(40)
    rows = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        signed = x - (x >> 63 << 64)
        row = [x * y, x * y >> 64, x // y, x % y, x * y + x >> 37, signed >> (y & 63)]
        rows.append([v & (1 << 64) - 1 for v in row])
    return [a, b, Expect(zeros((12, 6), u64), np.array(rows, u64))]


@programs.add(block=16)
def halves(rng: np.random.Generator) -> list[Any]:
    a, b = (rng.integers(-64, 64, (2, 16)) / 8 + 1 / 16).astype(np.float16)
    product = (a.astype(f64) * b + 0.5).astype(np.float16)
    last = np.where(a > b, np.sqrt(np.abs(a)), -b)
    brains = np.add(a, b, dtype=f32)  # of few bits
    bits = (brains.view(u32) + 0x7FFF + (brains.view(u32) >> 16 & 1)) >> 16
    out = np.stack([product, a / b, last], axis=1)
    return [a, b, Expect(zeros((16, 3), np.float16), out), Expect(zeros(16, np.uint16), bits)]


@programs.add(block=8)
def elementary(rng: np.random.Generator) -> list[Any]:
    x = rng.uniform(-3, 3, 8).astype(f32)
    v = x.astype(f64)
    size = np.abs(v)
    columns = [
        np.sin(v), np.cos(v), np.exp(v), np.log(size), size**1.7, np.arctan2(v, 2), np.tanh(v), np.cbrt(v),
        [math.erf(t) for t in v], np.sin((x * f32(100000)).astype(f64)), np.fmod(x, f32(0.3)), v * 32,
    ]  # fmt: skip
    return [x, Expect(zeros((8, 12), f32), np.stack(columns, axis=1), 1e-6)]


@programs.add(block=40)
def queue(rng: np.random.Generator) -> list[Any]:
    total = 0
    for _ in range(50):
        total = total * 31 % 1009 + 1
    return [Expect(zeros(1), [total]), 50]


@programs.add(block=32)
def mask_and_match(rng: np.random.Generator) -> list[Any]:
    keys = rng.integers(0, 6, 32).astype(i32)
    lanes = np.arange(32)
    first = np.array([np.nonzero(keys == k)[0][0] for k in keys])
    sums = np.array([lanes[keys == k].sum() for k in keys])
    return [keys, Expect(zeros(32, u32), sums * 100 + first + ((keys > 2).sum() << 16))]


PRINTED = "".join(
    f"{-i} {i} {i / 3:5.2f}|ab  |{chr(99 + i)} ff 10000000000 00000042 +7 1.234568e+04 1e-05 %\n" for i in range(3)
)


@programs.add(printed=PRINTED)
def printing(rng: np.random.Generator) -> list[Any]:
    return [3]


@programs.add(block=4)
def permuted(rng: np.random.Generator) -> list[Any]:
    order = np.stack([rng.permutation(16) for _ in range(4)]).astype(i32)
    after = np.argsort(order, axis=1)
    after[:, 15] = -1
    return [order, Expect(zeros((4, 16)), after)]


@programs.add(block=3)
def quicksort(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(-99, 99, 60).astype(i32)
    return [Expect(v, np.sort(v)), 60]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("-arch=sm_80", id="optimised"),
        pytest.param("-arch=sm_90 -G", id="debug", marks=pytest.mark.campaign),
        pytest.param("-arch=sm_75 -lineinfo -Xcicc -O1", id="little", marks=pytest.mark.campaign),
        pytest.param("-arch=sm_100 -use_fast_math -O3", id="fast", marks=pytest.mark.campaign),
    ],
)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Device:
    ptx = Path(tmp_path_factory.mktemp("programs")) / "programs.ptx"
    command = ["nvcc", "-std=c++17", "-w", "-ptx", *request.param.split(), "-o", str(ptx)]
    done = subprocess.run([*command, str(SOURCES / "programs.cu")], capture_output=True, text=True)
    if done.returncode and "Unsupported gpu architecture" in done.stderr:
        pytest.skip("this nvcc does not know the target")
    assert done.returncode == 0, done.stderr[-2000:]
    return load(ptx.read_text(), ptx.name)


#: What fast approximations compute too roughly.
LEFT_OUT = {"fast": {"elementary"}}


@pytest.mark.part(8)
@pytest.mark.parametrize(("case", "seed"), programs.runs())
def test_programs(compiled: Device, case: Case, seed: int | None, request: pytest.FixtureRequest) -> None:
    way = request.node.callspec.id.partition("-")[0]
    if case.entry in LEFT_OUT.get(way, ()):
        pytest.skip("not in this way")
    check(case, seed, compiled)
