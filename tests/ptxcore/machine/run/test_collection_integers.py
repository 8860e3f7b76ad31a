"""Kernels that sort, search, count bits, carry, hash and draw numbers, against NumPy and Python's integers."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import pytest
from kernel_collection import Case, Collection, Expect, check

sorting = Collection("sorting")
bits = Collection("bits")
i32, u32, i64, u64 = np.int32, np.uint32, np.int64, np.uint64


def zeros(count: Any, kind: Any = np.int32) -> Any:
    return np.zeros(count, kind)


def numbers(rng: np.random.Generator, count: Any, kind: Any = u32) -> Any:
    """Random bits, and at the start what matters most."""
    width = 8 * np.dtype(kind).itemsize
    found = rng.integers(0, 1 << (width - 1), count, dtype=u64) * u64(2) + rng.integers(0, 2, count, dtype=u64)
    found.reshape(-1)[:5] = [0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    return found.astype(f"u{width // 8}").view(kind)


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


@sorting.add(block=64)
def bitonic(rng: np.random.Generator) -> list[Any]:
    v = numbers(rng, 128)
    return [Expect(v, np.sort(v))]


@sorting.add(block=20)
def odd_even(rng: np.random.Generator) -> list[Any]:
    v = rng.normal(size=37).astype(np.float32)
    return [Expect(v, np.sort(v)), 37]


@sorting.add(block=50)
def rank_sort(rng: np.random.Generator) -> list[Any]:
    v = rng.integers(-20, 20, 50).astype(np.int16)
    return [v, Expect(zeros(50, np.int16), np.sort(v)), 50]


@sorting.add(block=32)
def radix(rng: np.random.Generator) -> list[Any]:
    keys = rng.integers(0, 12, 32).astype(u32) << 28 | rng.integers(0, 3, 32).astype(u32)
    order = np.argsort(keys, kind="stable")
    return [Expect(keys, keys[order]), Expect(np.arange(32, dtype=u32), order)]


@sorting.add(block=64)
def merge(rng: np.random.Generator) -> list[Any]:
    a, b = np.sort(rng.integers(-9, 9, 17)), np.sort(rng.integers(-9, 9, 40))
    return [a, 17, b, 40, Expect(zeros(57, i64), np.sort(np.concatenate([a, b])))]


@sorting.add(grid=2, block=20)
def upper(rng: np.random.Generator) -> list[Any]:
    text = b"The quick brown {fox} jumps @ `dogs`!"
    array = np.frombuffer(text, dtype=np.uint8)
    changed = sum(x != y for x, y in zip(text, text.upper(), strict=True))
    return [Expect(array, np.frombuffer(text.upper(), np.uint8)), len(text), Expect(zeros(1, u32), [changed])]


@sorting.add(block=32)
def find(rng: np.random.Generator) -> list[Any]:
    text, pattern = b"abracadabra abracadabra", b"cada"
    first = Expect(np.full(1, -1, i32), [text.index(pattern)])
    return [np.frombuffer(text, np.uint8), len(text), np.frombuffer(pattern, np.uint8), len(pattern), first]


@sorting.add(block=8)
def decimal(rng: np.random.Generator) -> list[Any]:
    v = numbers(rng, 8)
    return [v, Expect(zeros(80, np.uint8), np.frombuffer("".join(f"{x:10}" for x in v.tolist()).encode(), np.uint8))]


def found_top(value: int, width: int, *, sign: bool = False, shift: bool = False) -> int:
    """bfind: where the highest bit that tells the value is; all ones where there is none."""
    if sign and value >> (width - 1):
        value ^= (1 << width) - 1
    if not value:
        return 0xFFFFFFFF
    return width - value.bit_length() if shift else value.bit_length() - 1


def reverse(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


@bits.add(block=40)
def bit_tricks(rng: np.random.Generator) -> list[Any]:
    a, b = numbers(rng, 40), np.roll(numbers(rng, 40), 3)
    rows = []
    for t, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        both = y << 32 | x
        bytes_ = both.to_bytes(8, "little")
        third = [i for i in range(32) if x >> i & 1]
        r = reverse(x, 32)
        rows.append([
            x.bit_count(), 32 - x.bit_length(), r, found_top(x, 32),
            found_top(x, 32, sign=True, shift=True), x >> 5 & 0x7FF, signed(x >> 20, 12) & 0xFFFFFFFF,
            y & ~0xFFF00 | (x & 0xFFF) << 8,
            both << 5 >> 32 & 0xFFFFFFFF, both >> 32, (x >> 13 | x << 19) & 0xFFFFFFFF,
            int.from_bytes(bytes([bytes_[5], bytes_[1], bytes_[7], bytes_[3]]), "little"),
            x ^ y ^ t, x & y | x & r | y & r, third[2] if len(third) > 2 else 0xFFFFFFFF, int(not x),
        ])  # fmt: skip
    return [a, b, Expect(zeros((40, 16), u32), rows)]


@bits.add(block=20)
def bit_tricks_64(rng: np.random.Generator) -> list[Any]:
    a = numbers(rng, 20, u64)
    full = (1 << 64) - 1
    rows = []
    for x in a.tolist():
        r = reverse(x, 64)
        inserted = x << 60 & full | r & (1 << 60) - 1
        top = found_top(x, 64, sign=True)
        rows.append([
            x.bit_count(), 64 - x.bit_length(), r, signed(signed(x, 64) >> 50, 30) & full, inserted,
            full if top == 0xFFFFFFFF else top, full if x >> 63 else 0, 0,
        ])  # fmt: skip
    return [a, Expect(zeros((20, 8), u64), np.array(rows, dtype=u64))]


def wide(v: Any) -> list[int]:
    """Rows of bytes as numbers."""
    return [int.from_bytes(row.tobytes(), "little") for row in v]


def rows_of(values: list[int], size: int) -> Any:
    return np.frombuffer(b"".join((v % (1 << 8 * size)).to_bytes(size, "little") for v in values), u32)


@bits.add(block=16)
def mul128(rng: np.random.Generator) -> list[Any]:
    a, b = numbers(rng, (16, 4)), np.flip(numbers(rng, (16, 4)))
    products = [x * y for x, y in zip(wide(a), wide(b), strict=True)]
    return [a, b, Expect(zeros(16 * 8, u32), rows_of(products, 32))]


@bits.add(block=16)
def addsub128(rng: np.random.Generator) -> list[Any]:
    a, b = numbers(rng, (16, 4)), np.flip(numbers(rng, (16, 4)))
    full = (1 << 128) - 1
    values = []
    for x, y in zip(wide(a), wide(b), strict=True):
        borrow = 0xFFFFFFFF if x < y else 0
        values.append(x + y & full | (x - y & full) << 128 | x + y >> 128 << 256 | borrow << 288)
    return [a, b, Expect(zeros(16 * 12, u32), rows_of(values, 48))]


@bits.add(block=5)
def crc32(rng: np.random.Generator) -> list[Any]:
    data = rng.integers(0, 256, (5, 16), dtype=np.uint8)
    return [data, Expect(zeros(5, u32), [zlib.crc32(row.tobytes()) for row in data])]


@bits.add(block=4)
def fnv1a(rng: np.random.Generator) -> list[Any]:
    words = [b"", b"a", b"foobar", b"fifteen letters"]
    hashes = []
    for word in words:
        h = 0xCBF29CE484222325
        for byte in word:
            h = (h ^ byte) * 0x100000001B3 & (1 << 64) - 1
        hashes.append(h)
    text = np.frombuffer(b"".join(word.ljust(16, b"\0") for word in words), np.uint8)
    return [text, Expect(zeros(4, u64), np.array(hashes, u64))]


@bits.add(block=8)
def philox(rng: np.random.Generator) -> list[Any]:
    rows = []
    for t in range(8):
        x, key = [t, 0, 0, 0], [0x1234, 0xABCD]
        for _ in range(10):
            a, b = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
            x = [b >> 32 ^ x[1] ^ key[0], b & 0xFFFFFFFF, a >> 32 ^ x[3] ^ key[1], a & 0xFFFFFFFF]
            key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
        rows.append(x)
    return [0x1234, 0xABCD, Expect(zeros((8, 4), u32), rows)]


@bits.add(block=6)
def generators(rng: np.random.Generator) -> list[Any]:
    state = rng.integers(1, 1 << 63, 6, dtype=u64)
    after, floats = [], []
    for x in state.tolist():
        c = x & 0xFFFFFFFF
        for _ in range(25):
            x ^= x >> 12
            x = x ^ x << 25 & (1 << 64) - 1
            x ^= x >> 27
            c = c * 1664525 + 1013904223 & 0xFFFFFFFF
        after.append(x * 0x2545F4914F6CDD1D & (1 << 64) - 1)
        floats.append((c >> 8) / 2**24)
    return [Expect(state, np.array(after, u64)), Expect(zeros(6, np.float32), floats), 25]


@bits.add(block=24)
def number_theory(rng: np.random.Generator) -> list[Any]:
    a, b = numbers(rng, 24), np.roll(numbers(rng, 24), 2)
    m = 1_000_000_007
    rows = [[math.gcd(x, y), pow(x, y, m), math.isqrt(x)] for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    return [a, b, m, Expect(zeros((24, 3), u32), rows)]


@bits.add(block=40)
def odds(rng: np.random.Generator) -> list[Any]:
    a, b = numbers(rng, 40, i32), np.roll(numbers(rng, 40, i32), 3)
    least, most = -(1 << 31), (1 << 31) - 1
    rows = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        h, k = signed(x, 16), signed(y, 16)
        rows.append([
            signed(x, 24) * signed(y, 24), x * y >> 32, abs(x - y) + 5, min(max(x + y, least), most),
            min(max(x - y, least), most), ((x & 0xFFFFFFFF) * (y & 0xFFFFFFFF) >> 32) + y, abs(x), -y,
            min(max(x, -128), 127), y & 0xFF, h * k, signed(h * k + h, 16),
        ])  # fmt: skip
    return [a, b, Expect(zeros((40, 12), i32), [[signed(v, 32) for v in row] for row in rows])]


@pytest.mark.part(2)
@pytest.mark.parametrize(("case", "seed"), [*sorting.runs(), *bits.runs()])
def test_kernels_over_integers(case: Case, seed: int | None) -> None:
    check(case, seed)
