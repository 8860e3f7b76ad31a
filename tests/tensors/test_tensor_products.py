"""Products of Tensor Memory beside NumPy: small types, A in Tensor Memory, block scales, `.ws`; copies and shifts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import ptxas
import pytest
from tensor_memory_cases import AFTER, COMMIT, WAIT, descriptor, instruction, laid_out, module, run, strides

#: Bits of the exponent and of the mantissa, and the number of the type in descriptors.
SMALL = {"e4m3": (4, 3, 0), "e5m2": (5, 2, 1), "e2m3": (2, 3, 3), "e3m2": (3, 2, 4), "e2m1": (2, 1, 5)}
DECLARED = ".reg .b64 %da, %db; .reg .b32 %r<8>, %at, %sa, %sb;"


def value(kind: str, bits: Any) -> Any:
    """What finite elements stand for."""
    bits = np.asarray(bits).astype(np.int64)
    exponents, mantissas, _ = SMALL[kind]
    sign = np.where(bits >> (exponents + mantissas) & 1, -1.0, 1.0)
    exponent, mantissa = bits >> mantissas & ((1 << exponents) - 1), bits & ((1 << mantissas) - 1)
    bias = (1 << (exponents - 1)) - 1
    scale = 2.0 ** (np.maximum(exponent, 1) - bias - mantissas)
    return sign * (mantissa + np.where(exponent > 0, 1 << mantissas, 0)) * scale


def width(kind: str) -> int:
    return 1 + SMALL[kind][0] + SMALL[kind][1]


def drawn(rng: Any, kind: str, shape: tuple[int, int]) -> Any:
    """Elements without infinities and NaN, of so few magnitudes that doubles hold sums of them."""
    bits = rng.integers(0, 1 << width(kind), shape)
    return np.where(np.abs(value(kind, bits)) > 60, 0, np.where(np.abs(value(kind, bits)) < 2**-6, 0, bits)).astype(
        np.uint8
    )


def groups(bits: Any, kind: str) -> Any:
    """Elements as they lie in shared memory: 16 side by side, then padding up to 16 bytes."""
    wide = width(kind)
    found = np.zeros((len(bits), bits.shape[1] // 16, 128), np.uint8)
    each = bits.reshape(len(bits), -1, 16)
    for i in range(16):
        for bit in range(wide):
            found[:, :, i * wide + bit] = each[:, :, i] >> bit & 1
    return np.packbits(found, axis=2, bitorder="little").reshape(len(bits), -1)


def shared(a: Any, b: Any, mode: int = 0) -> tuple[Any, int, int]:
    """Two matrices of bytes, 32 along K, in shared memory, and their descriptors."""
    leads = [strides(mode, True, len(x), 1) for x in (a, b)]
    memory = np.concatenate([laid_out(x, mode, True, *lead) for x, lead in zip((a, b), leads, strict=True)])
    return memory, descriptor(0, *leads[0], mode), descriptor(16384, *leads[1], mode)


def program(instruction_: str, desc_a: int, desc_b: int, setup: str = "") -> str:
    return (
        f"@!%p0 bra N; setp.eq.u32 %p2, 0, 0; mov.b64 %da, {desc_a:#x}; mov.b64 %db, {desc_b:#x}; {setup}\n"
        f"{instruction_}\n{COMMIT}\nN:\n{WAIT}\n{AFTER}"
    )


@lru_cache(maxsize=64)
def accepted(text: str) -> str:
    if ptxas.executable() is not None:
        assert not ptxas.check_module(text)
    return text


def cells_of(rng: Any, columns: int) -> Any:
    return rng.integers(-9, 9, (128, columns)).astype(np.float32)


@pytest.mark.part(3)
@pytest.mark.parametrize(("kind_a", "kind_b"), [("e4m3", "e5m2"), ("e2m1", "e4m3"), ("e3m2", "e2m3"), ("e5m2", "e2m1")])
@pytest.mark.parametrize("where", ["shared", "tensor"])
def test_small_types(kind_a: str, kind_b: str, where: str, draw: int = 0) -> None:
    rng = np.random.default_rng([len(kind_a + where), draw])
    a, b = drawn(rng, kind_a, (128, 32)), drawn(rng, kind_b, (16, 32))
    memory, da, db = shared(*(x if width(k) == 8 else groups(x, k) for k, x in ((kind_a, a), (kind_b, b))), 6)
    idesc = instruction(1, SMALL[kind_a][2], SMALL[kind_b][2], 128, 16, negate_b=1)
    cells = cells_of(rng, 24)
    if where == "tensor":
        cells.view(np.uint32)[:, 16:] = np.ascontiguousarray(a << (2 if kind_a == "e2m1" else 0)).view(np.uint32)
    text = program(
        f"tcgen05.mma.cta_group::1.kind::f8f6f4 [%base], {'%da' if where == 'shared' else '[%at]'}, %db, {idesc:#x}, %p2;",
        da, db, "add.u32 %at, %base, 16;",
    )  # fmt: skip
    got = run(accepted(module(text, filled=24, back=16, declared=DECLARED)), memory, cells, 128 * 16)
    expected = cells[:, :16] - value(kind_a, a) @ value(kind_b, b).T
    assert (got.view(np.float32).reshape(128, 16) == expected.astype(np.float32)).all()  # rounded once


@pytest.mark.parametrize("m", [64, 128])
def test_halves_in_tensor_memory(m: int, draw: int = 0) -> None:
    rng = np.random.default_rng([m, draw])
    a, b = rng.integers(-8, 9, (m, 16)).astype(np.float16), rng.integers(-8, 9, (8, 16)).astype(np.float16)
    memory, _, db = shared(np.zeros((8, 32), np.uint8), np.ascontiguousarray(b).view(np.uint8))
    rows = np.arange(128) if m == 128 else np.array([r // 16 * 32 + 16 + r % 16 for r in range(64)])
    cells = cells_of(rng, 16)
    cells.view(np.uint32)[rows, 8:] = a.view(np.uint32)
    lane = 0 if m == 128 else 16 << 16
    text = program(
        f"tcgen05.mma.cta_group::1.kind::f16 [%r0], [%at], %db, {instruction(1, 0, 0, m, 8):#x}, %p2;", 0, db,
        f"add.u32 %r0, %base, {lane}; add.u32 %at, %r0, 8;",
    )  # fmt: skip
    got = run(accepted(module(text, filled=16, back=8, declared=DECLARED)), memory, cells, 1024)
    expected = cells[:, :8].copy()
    expected[rows] += a.astype(np.float64) @ b.astype(np.float64).T
    assert (got.view(np.float32).reshape(128, 8) == expected).all()


def test_saturated_and_disabled_lanes(draw: int = 0) -> None:
    rng = np.random.default_rng([5, draw])
    a, b = rng.integers(0, 256, (128, 32)).astype(np.uint8), rng.integers(0, 256, (8, 32)).astype(np.uint8)
    memory, da, db = shared(a, b, 6)
    cells = np.full((128, 8), 0x7FFF_FFF0, np.uint32)
    idesc = instruction(2, 0, 1, 128, 8, saturate=1)
    text = program(
        f"tcgen05.mma.cta_group::1.kind::i8 [%base], %da, %db, {idesc:#x}, {{%r0, %r1, %r2, %r3}}, %p2;", da, db,
        "mov.u32 %r0, 0xff; mov.u32 %r1, 0; mov.u32 %r2, 0x80000000; mov.u32 %r3, 1;",
    )  # fmt: skip
    got = run(accepted(module(text, filled=8, back=8, declared=DECLARED)), memory, cells, 1024).view(np.int32)
    total = a.astype(np.int64) @ b.view(np.int8).astype(np.int64).T + 0x7FFF_FFF0
    expected = total.clip(-(1 << 31), (1 << 31) - 1)
    expected[[*range(8), 95, 96]] = 0x7FFF_FFF0
    assert (got.reshape(128, 8) == expected).all()
    assert (expected == (1 << 31) - 1).any()


@pytest.mark.part(3)
@pytest.mark.parametrize("where", ["shared", "tensor"])
@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_lanes_and_a_scale_of_the_input(where: str, lanes: bool, scaled: bool, draw: int = 0) -> None:
    """The operands that may be left out, in all combinations; a scale of 0 changes nothing."""
    rng = np.random.default_rng([2 * lanes + scaled, draw])
    a, b = rng.integers(-8, 9, (128, 16)).astype(np.float16), rng.integers(-8, 9, (8, 16)).astype(np.float16)
    memory, da, db = shared(*(np.ascontiguousarray(x).view(np.uint8) for x in (a, b)))
    cells = cells_of(rng, 16)
    cells.view(np.uint32)[:, 8:] = a.view(np.uint32)
    masks = [0xF0, 1, 0x80000000, 6] if lanes else [0] * 4
    text = program(
        f"tcgen05.mma.cta_group::1.kind::f16 [%base], {'%da' if where == 'shared' else '[%at]'}, %db, "
        f"{instruction(1, 0, 0, 128, 8):#x}{', {%r0, %r1, %r2, %r3}' if lanes else ''}, %p2{', 0' if scaled else ''};",
        da, db, "add.u32 %at, %base, 8;" + "".join(f"mov.u32 %r{i}, {mask};" for i, mask in enumerate(masks)),
    )  # fmt: skip
    got = run(accepted(module(text, filled=16, back=8, declared=DECLARED)), memory, cells, 1024)
    written = np.array([not masks[r // 32] >> r % 32 & 1 for r in range(128)])
    expected = cells[:, :8] + written[:, None] * (a.astype(np.float64) @ b.astype(np.float64).T)
    assert (got.view(np.float32).reshape(128, 8) == expected).all()
    assert written.all() is not lanes


SCALED = [
    ("mxf8f6f4", "", "e4m3", 1, "ue8m0", 2), ("mxf8f6f4", ".block32", "e2m1", 1, "ue8m0", 0),
    ("mxf4", ".block32", "e2m1", 2, "ue8m0", 2), ("mxf4nvf4", ".scale_vec::4X", "e2m1", 4, "ue4m3", 0),
    ("mxf4nvf4", ".block32", "e2m1", 2, "ue8m0", 0),
]  # fmt: skip


@pytest.mark.part(6)
@pytest.mark.parametrize(("kind", "vector", "type_", "chunks", "scale", "first"), SCALED)
@pytest.mark.parametrize("where", ["shared", "tensor"])
def test_scaled(
    kind: str, vector: str, type_: str, chunks: int, scale: str, first: int, where: str, draw: int = 0
) -> None:
    rng = np.random.default_rng([chunks, draw])
    small = kind != "mxf8f6f4"
    k, n = (64, 40) if small else (32, 40)
    a, b = drawn(rng, type_, (128, k)), drawn(rng, type_, (n, k))
    if small:
        held = [(x[:, ::2] | x[:, 1::2] << 4).astype(np.uint8) for x in (a, b)]
    else:
        held = [x if type_ == "e4m3" else groups(x, type_) for x in (a, b)]
    memory, da, db = shared(held[0], held[1], 6)
    kept = held[0] if small else a << (2 if type_ == "e2m1" else 0)  # in Tensor Memory
    factors = [rng.integers(*((126, 130) if scale == "ue8m0" else (0x30, 0x40)), (x, chunks)) for x in (128, n)]
    cells = cells_of(rng, 56)
    cells.view(np.uint32)[:, 48:] = np.ascontiguousarray(kept).view(np.uint32)
    for start, table in ((40, factors[0]), (44, factors[1])):
        words = rng.integers(0, 1 << 32, (128, 4), np.uint32).view(np.uint8).reshape(128, 4, 4)
        for row, of_row in enumerate(table):
            words[row % 32 :: 32, row // 32, first : first + chunks] = of_row
        cells.view(np.uint32)[:, start : start + 4] = words.view(np.uint32)[:, :, 0]
    number = 1 if small else SMALL[type_][2]
    idesc = number << 7 | number << 10 | first << 4 | n >> 3 << 17 | int(scale == "ue8m0") << 23 | 1 << 27 | first << 29
    text = program(
        f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale{vector} [%base], {'%da' if where == 'shared' else '[%at]'}, %db, "
        f"{idesc:#x}, [%sa], [%sb], %p2;",
        da, db, "add.u32 %sa, %base, 40; add.u32 %sb, %base, 44; add.u32 %at, %base, 48;",
    )  # fmt: skip
    got = run(accepted(module(text, filled=56, back=n, declared=DECLARED)), memory, cells, 128 * n)
    numbers = [2.0 ** (t - 127.0) if scale == "ue8m0" else value("e4m3", t) for t in factors]
    left, right = (value(type_, x) * np.repeat(f, k // chunks, axis=1) for x, f in zip((a, b), numbers, strict=True))
    expected = cells[:, :n].astype(np.float64) + left @ right.T
    assert (got.view(np.float32).reshape(128, n) == expected.astype(np.float32)).all()


@pytest.mark.parametrize(("m", "n"), [(32, 64), (64, 64), (128, 64)])
def test_stationary(m: int, n: int, draw: int = 0) -> None:
    rng = np.random.default_rng([m, draw])
    a, b = rng.integers(-128, 128, (m, 32)).astype(np.int8), rng.integers(-128, 128, (n, 32)).astype(np.int8)
    memory, da, db = shared(a.view(np.uint8), b.view(np.uint8))
    text = program(
        f"tcgen05.mma.ws.cta_group::1.kind::i8 [%base], %da, %db, {instruction(2, 1, 1, m, n):#x}, %p2;", da, db
    )
    cells = rng.integers(0, 1 << 32, (128, n), np.uint32)
    got = run(accepted(module(text, filled=n, back=n, declared=DECLARED)), memory, cells, 128 * n).reshape(128, n)
    product = a.astype(np.int64) @ b.astype(np.int64).T
    expected = cells.astype(np.int64)
    parts = 128 // m
    for part in range(parts):
        columns = n // parts
        expected[part * m : (part + 1) * m, :columns] += product[:, part * columns : (part + 1) * columns]
    assert (got == (expected & 0xFFFF_FFFF)).all()


COPIES = [
    ("128x256b", "", [0, 1, 2, 3]), ("128x128b", "", [0, 1, 2, 3]), ("64x128b", ".warpx2::02_13", [0, 0, 1, 1]),
    ("64x128b", ".warpx2::01_23", [0, 1, 0, 1]), ("32x128b", ".warpx4", [0, 0, 0, 0]), ("4x256b", "", []),
]  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize(("shape", "multicast", "parts"), COPIES)
@pytest.mark.parametrize("mode", [0, 6])
def test_copies(shape: str, multicast: str, parts: list[int], mode: int, draw: int = 0) -> None:
    rng = np.random.default_rng([len(shape), draw])
    rows, bits = map(int, shape.removesuffix("b").split("x"))
    matrix = rng.integers(0, 256, (rows, bits // 8)).astype(np.uint8)
    lead = strides(mode, True, rows, 1)
    memory = np.concatenate([laid_out(matrix, mode, True, *lead), np.zeros(16384, np.uint8)])
    text = program(f"tcgen05.cp.cta_group::1.{shape}{multicast} [%base], %da;", descriptor(0, *lead, mode), 0)
    cells = rng.integers(0, 1 << 32, (128, 8), np.uint32)
    got = run(accepted(module(text, filled=8, back=8, declared=DECLARED)), memory, cells, 1024).reshape(128, 8)
    expected = cells.copy()
    words = np.ascontiguousarray(matrix).view(np.uint32)
    if parts:
        for warp, part in enumerate(parts):
            expected[32 * warp : 32 * warp + 32, : bits // 32] = words[32 * part : 32 * part + 32]
    else:
        expected[:4] = words
    assert (got == expected).all()


def test_shift(draw: int = 0) -> None:
    rng = np.random.default_rng([1, draw])
    cells = rng.integers(0, 1 << 32, (128, 16), np.uint32)
    text = program("tcgen05.shift.cta_group::1.down [%at];", 0, 0, f"add.u32 %at, %base, {(32 << 16) + 4};")
    got = run(accepted(module(text, filled=16, back=16, declared=DECLARED)), np.zeros(32768, np.uint8), cells, 2048)
    expected = cells.copy()
    expected[33:64, 4:12] = cells[32:63, 4:12]
    assert (got.reshape(128, 16) == expected).all()


@pytest.mark.parametrize("early", [False, True])
def test_steps_along_k(early: bool, draw: int = 0) -> None:
    """Four products within lines of 128 swizzled bytes; where the matrices are overwritten before the wait, it shows."""
    rng = np.random.default_rng([3, draw])
    a, b = rng.normal(size=(128, 64)).astype(np.float16), rng.normal(size=(64, 64)).astype(np.float16)
    memory = np.concatenate([laid_out(x.view(np.uint16), 2, True, 16, 1024) for x in (a, b)])
    idesc = instruction(1, 0, 0, 128, 64)
    steps = "".join(
        f"mov.b64 %da, {descriptor(32 * k, 16, 1024, 2):#x}; mov.b64 %db, {descriptor(16384 + 32 * k, 16, 1024, 2):#x};"
        f"setp.ne.u32 %p2, {k}, 0; tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, {idesc:#x}, %p2;"
        for k in range(4)
    )
    overwrite = "mov.u32 %s, s; st.shared.b32 [%s], %s;" if early else ""
    body = f"@!%p0 bra N; {steps} {COMMIT} {overwrite} N: {WAIT} {AFTER}"
    text = accepted(module(body, back=64, declared=DECLARED))
    for seed in (None, 1) if not early else (None,):
        got = run(text, memory, None, 128 * 64, seed=seed).view(np.float32).reshape(128, 64)
        right = np.abs(got - a.astype(np.float64) @ b.astype(np.float64).T).max() < 1e-5
        assert bool(right) is not early
