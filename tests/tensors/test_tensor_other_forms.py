"""Loads that reduce, scales of the input D, shifts of A, masks of zero columns, copies that decompress, and A beside each part
of D, beside NumPy; and that nothing has a value of which the manual's text does not tell one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensor_memory_cases import AFTER, BEFORE, WAIT_LD, descriptor, instruction, laid_out, module, run, strides
from test_tensor_products import DECLARED, accepted, cells_of, drawn, groups, program, shared

from ptxcore.isa.tensor_products import _zero_columns
from ptxcore.machine.run.faults import KernelError
from ptxcore.values.matrix_descriptors import UntoldDescriptor
from ptxcore.values.matrix_descriptors import product as described

MANUAL = Path(__file__).resolve().parents[3] / "shared" / "manual" / "ptx-isa-9.0.txt"

# Loads that reduce.

NAN = 0x7FFF_FFFF


def least(values: Any, op: str, type_: str, modifiers: str) -> int:
    """Section 9.7.13.12 in Python: the least or greatest of the bits of numbers."""
    numbers = [int(x) for x in values]
    if type_ != "f32":
        signed = type_ == "s32"
        of = [x - (1 << 32) if signed and x >> 31 else x for x in numbers]
        return (min(of) if op == "min" else max(of)) & 0xFFFF_FFFF
    if "abs" in modifiers:
        numbers = [x & 0x7FFF_FFFF for x in numbers]
    nan = [x & 0x7FFF_FFFF > 0x7F80_0000 for x in numbers]
    if all(nan) or (any(nan) and "NaN" in modifiers):
        return NAN
    kept = [x for x, is_nan in zip(numbers, nan, strict=True) if not is_nan]

    def order(x: int) -> int:  # of sign and magnitude: -0 is below +0
        return -(x & 0x7FFF_FFFF) - 1 if x >> 31 else x

    return min(kept, key=order) if op == "min" else max(kept, key=order)


def awkward(rng: Any, shape: tuple[int, int]) -> Any:
    """Numbers, zeros of both signs, infinities and NaN."""
    special = np.array([0, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_0001, 1, 0x8000_0001], np.uint32)
    numbers = rng.normal(size=shape).astype(np.float32).view(np.uint32)
    return np.where(rng.random(shape) < 0.6, numbers, special[rng.integers(0, len(special), shape)])


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("op", "modifiers", "type_"),
    [("min", "", "f32"), ("max", ".NaN", "f32"), ("max", ".abs", "f32"), ("min", ".abs.NaN", "f32"),
     ("min", "", "u32"), ("max", "", "s32"), ("min", "", "s32"), ("max", "", "u32")],
)  # fmt: skip
@pytest.mark.parametrize("num", [2, 4])
def test_loads_that_reduce(op: str, modifiers: str, type_: str, num: int, draw: int = 0) -> None:
    names = ", ".join(f"%r{i}" for i in range(num))
    stores = "".join(f"st.global.b32 [%q+{4 * i}], %r{i};" for i in range(num))
    body = (
        f"tcgen05.ld.red.sync.aligned.32x32b.x{num}.{op}{modifiers}.{type_} {{{names}}}, {{%r9}}, [%mine]; {WAIT_LD}"
        f"mul.wide.u32 %q, %t, {4 * num + 4}; add.u64 %q, %q, %out; {stores} st.global.b32 [%q+{4 * num}], %r9;"
    )
    cells = awkward(np.random.default_rng([num, draw]), (128, 8))
    text = accepted(module(body, filled=8, shared=0, declared=".reg .b32 %r<10>;", target="sm_103a"))
    got = run(text, None, cells, 128 * (num + 1)).reshape(128, num + 1)
    assert (got[:, :num] == cells[:, :num]).all()
    assert got[:, num].tolist() == [least(cells[t, :num], op, type_, modifiers) for t in range(128)]


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("kind", ["u32", "f32"])
def test_halves_that_reduce(same: bool, kind: str) -> None:
    """What a lane's columns are is told for neither half alone nor for both; a value that needs it is unknown."""
    body = (
        "tcgen05.ld.red.sync.aligned.16x32bx2.x2.max." + kind + " {%r0, %r1}, {%r2}, [%mine], 4; "
        f"{WAIT_LD} mul.wide.u32 %q, %t, 4; add.u64 %q, %q, %out; st.global.b32 [%q], %r2; setp.gt.u32 %p2, %r2, 0x70000000; "
        "@%p2 st.global.b32 [%q], %r0;"
    )
    text = accepted(module(body, filled=8, shared=0, declared=".reg .b32 %r<4>;", target="sm_103a"))
    cells = np.zeros((128, 8), np.uint32)
    numbers = (np.arange(128) % 9).astype(np.float32).view(np.uint32) if kind == "f32" else np.arange(128) % 9
    cells[:, 1] = numbers
    cells[:, 4] = cells[:, 1] if same else 7
    if same:
        got = run(text, None, cells, 128).reshape(4, 2, 16)
        assert (got == cells[:, 1].reshape(4, 2, 16)[:, :1]).all()
    else:
        with pytest.raises(KernelError) as told:
            run(text, None, cells, 128)
        assert "the columns of one half, or of both" in told.value.message


# Scales of the input D.


@pytest.mark.parametrize("d", [0, 1])
def test_scale_of_the_input(d: int, draw: int = 0) -> None:
    """Without a scale, and where D is 0, there is a value; else there is none: editions of the manual differ."""
    rng = np.random.default_rng([d, draw])
    a, b = (rng.integers(-8, 9, (x, 16)).astype(np.float16) for x in (128, 8))
    memory, da, db = shared(*(np.ascontiguousarray(x).view(np.uint8) for x in (a, b)))
    for scale, zeros in ((0, False), (3, True), (3, False)):
        cells = cells_of(rng, 8) * (0 if zeros else 1)  # with zeros of both signs
        if d == 0:
            cells = cells.astype(np.float16).view(np.uint16).astype(np.uint32).view(np.float32)
        text = program(
            f"tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, {instruction(d, 0, 0, 128, 8):#x}, %p2, {scale};",
            da,
            db,
        )
        text = accepted(module(text + ("tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {%r0, %r1, %r2, %r3}, [%mine];"
                               f"{WAIT_LD} mul.wide.u32 %q, %t, 16; add.u64 %q, %q, %out; "
                               "st.global.v4.b32 [%q], {%r0, %r1, %r2, %r3};" if d == 0 else ""), filled=8,
                               back=8 * d, declared=DECLARED))  # fmt: skip
        if scale and not zeros:
            with pytest.raises(KernelError) as told:
                run(text, memory, cells, 1024)
            assert (told.value.kind, "differ in the sign" in told.value.message) == ("not-executed", True)
            continue
        got = run(text, memory, cells, 1024)
        product = a.astype(np.int64) @ b.astype(np.int64).T
        if d == 0:
            before = cells.view(np.uint32).astype(np.uint16).view(np.float16)
            assert (got[:512].view(np.float16).reshape(128, 8) == (before + product).astype(np.float16)).all()
        else:
            assert (got.view(np.float32).reshape(128, 8) == cells + product).all()


# Shifts of A.


def test_shift_of_a(draw: int = 0) -> None:
    """Each row of D is that of the row of A before; of the first one nothing is known."""
    rng = np.random.default_rng([2, draw])
    a, b = (rng.integers(-128, 128, (x, 32)).astype(np.int8) for x in (128, 8))
    memory, _, db = shared(np.zeros((8, 32), np.uint8), b.view(np.uint8))
    cells = rng.integers(0, 999, (128, 16), np.uint32)
    cells[:, 8:] = np.ascontiguousarray(a).view(np.uint32)
    text = program(
        f"tcgen05.mma.cta_group::1.kind::i8.ashift [%base], [%at], %db, {instruction(2, 1, 1, 128, 8):#x}, %p2;", 0, db,
        "add.u32 %at, %base, 8;",
    )  # fmt: skip
    vector = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}"
    loaded = f"{text} tcgen05.ld.sync.aligned.32x32b.x8.b32 {vector}, [%mine]; {WAIT_LD}"
    stores = "".join(f"@!%p0 st.global.b32 [%q+{4 * i}], %r{i};" for i in range(8))
    stored = f"{loaded} mul.wide.u32 %q, %t, 32; add.u64 %q, %q, %out; {stores}"
    got = run(accepted(module(stored, filled=16, declared=DECLARED)), memory, cells, 1024).reshape(128, 8)
    product = a.astype(np.int64) @ b.astype(np.int64).T
    assert (got[1:] == (cells[1:, :8].astype(np.int64) + product[:-1]) & 0xFFFF_FFFF).all()
    decided = f"{loaded} setp.eq.u32 %p2, %r0, 5; @%p2 st.shared.u32 [base], 1;"
    with pytest.raises(KernelError) as told:
        run(accepted(module(decided, filled=16, declared=DECLARED)), memory, cells, 1024)
    assert told.value.kind == "uninitialised"


def test_shift_needs_all_lanes() -> None:
    text = program(
        f"tcgen05.mma.cta_group::1.kind::i8.ashift [%base], [%at], %db, {instruction(2, 1, 1, 64, 8):#x}, %p2;", 0,
        descriptor(0, 128, 128, 0), "add.u32 %at, %base, 8;",
    )  # fmt: skip
    with pytest.raises(KernelError) as told:
        run(module(text, filled=16, declared=DECLARED), np.zeros(32768, np.uint8), np.zeros((128, 16), np.uint32), 0)
    assert (told.value.kind, "it is 128 or 256" in told.value.message) == ("bad-descriptor", True)


# Masks of zero columns.


def mask(start: list[int], first: list[int], skip: int, use: int, shift: int = 0, given: int = 1) -> int:
    """A descriptor (table 47)."""
    counts = sum(s << 8 * i | f << 32 + i for i, (s, f) in enumerate(zip(start, first, strict=True)))
    return counts | given << 39 | skip << 40 | use << 48 | shift << 56


def zeros_of(start: list[int], first: list[int], span: int, m: int, n: int) -> list[bool]:
    """Runs of zeros and of columns that are used, one after the other, in each part."""
    found, width = [], n // (128 // m)
    for i in range(128 // m):
        for column in range(start[i], start[i] + width):
            found.append(bool((column // span + (1 - first[i])) % 2 == 0))
    return found


@pytest.mark.parametrize("m", [32, 64, 128])
def test_zero_columns(m: int, draw: int = 0) -> None:
    rng = np.random.default_rng([m, draw])
    n = 64
    a, b = (rng.integers(-128, 128, (x, 32)).astype(np.int8) for x in (m, n))
    memory, da, db = shared(a.view(np.uint8), b.view(np.uint8))
    start, first, span = rng.integers(0, 9, 4).tolist(), rng.integers(0, 2, 4).tolist(), int(rng.integers(1, 7))
    text = program(
        f"tcgen05.mma.ws.cta_group::1.kind::i8 [%base], %da, %db, {instruction(2, 1, 1, m, n):#x}, %p2, %dm;", da, db,
        f"mov.b64 %dm, {mask(start, first, span - 1, span - 1):#x};",
    )  # fmt: skip
    cells = rng.integers(0, 1 << 32, (128, n), np.uint32)
    text = accepted(module(text, filled=n, back=n, declared=DECLARED + ".reg .b64 %dm;"))
    got = run(text, memory, cells, 128 * n).reshape(128, n)
    zeros = zeros_of(start, first, span, m, n)
    product = a.astype(np.int64) @ np.where(np.array(zeros)[:, None], 0, b.astype(np.int64)).T
    parts, width = 128 // m, n * m // 128
    expected = cells.astype(np.int64)
    for part in range(parts):
        expected[part * m : (part + 1) * m, :width] += product[:, part * width : (part + 1) * width]
    assert (got == expected & 0xFFFF_FFFF).all()
    assert any(zeros)
    assert not all(zeros)


@pytest.mark.skipif(not MANUAL.exists(), reason="no manual")
def test_zero_columns_are_told_in_two_ways() -> None:
    """The table says of each span that which the examples below it show of the other one; so neither is taken."""
    text = MANUAL.read_text()
    text = text[text.index("Table 47: Zero-Column Mask descriptor layout") :]
    assert re.search(r"Skip Span\t\(Count of consecutive columns where B matrix is used\) - 1", text)
    assert re.search(r"Use Span\t\(Count of consecutive columns where 0s are used\) - 1", text)
    assert re.search(r"1\t2\t3\t0\s+Output mask0: 0b \.\.\. 111 0000 111 0000", text)  # three ones for a skip span of 2
    what = described("kind::i8", instruction(2, 1, 1, 128, 64))
    with pytest.raises(UntoldDescriptor):
        _zero_columns(mask([0] * 4, [0] * 4, 2, 3), what)
    with pytest.raises(UntoldDescriptor):
        _zero_columns(mask([0] * 4, [0] * 4, 2, 2, shift=1), what)
    assert not _zero_columns(mask([0] * 4, [0] * 4, 4, 3, given=0), what).any()  # example 1


# A beside each part of D.


@pytest.mark.part(2)
@pytest.mark.parametrize("m", [32, 64])
@pytest.mark.parametrize("same", [True, False])
def test_stationary_with_a_in_tensor_memory(m: int, same: bool, draw: int = 0) -> None:
    rng = np.random.default_rng([m, draw])
    n = 64
    a, b = (rng.integers(-8, 9, (x, 16)).astype(np.float16) for x in (m, n))
    memory, _, db = shared(np.zeros((8, 32), np.uint8), np.ascontiguousarray(b).view(np.uint8))
    cells = cells_of(rng, n + 8)
    cells.view(np.uint32)[:, n:] = np.tile(np.ascontiguousarray(a).view(np.uint32), (128 // m, 1))
    if not same:
        cells.view(np.uint32)[127, n] ^= 1
    text = program(
        f"tcgen05.mma.ws.cta_group::1.kind::f16 [%base], [%at], %db, {instruction(1, 0, 0, m, n):#x}, %p2;", 0, db,
        f"add.u32 %at, %base, {n};",
    )  # fmt: skip
    text = accepted(module(text, filled=n + 8, back=n, declared=DECLARED))
    if not same:
        with pytest.raises(KernelError) as told:
            run(text, memory, cells, 128 * n)
        assert told.value.kind == "bad-tensor-memory"
        return
    got = run(text, memory, cells, 128 * n).view(np.float32).reshape(128, n)
    product = a.astype(np.int64) @ b.astype(np.int64).T
    expected, parts = cells[:, :n].copy(), 128 // m
    for part in range(parts):
        expected[part * m : (part + 1) * m, : n // parts] += product[:, part * (n // parts) : (part + 1) * (n // parts)]
    assert (got == expected).all()


# Copies that decompress.


@pytest.mark.part(3)
@pytest.mark.parametrize(("kind", "source"), [("e2m1", "b4x16_p64"), ("e3m2", "b6x16_p32"), ("e2m3", "b6x16_p32")])
@pytest.mark.parametrize(
    ("shape", "multicast"), [("128x256b", ""), ("128x128b", ""), ("32x128b", ".warpx4"), ("4x256b", "")]
)
def test_copies_that_decompress(kind: str, source: str, shape: str, multicast: str, draw: int = 0) -> None:
    rng = np.random.default_rng([len(shape), draw])
    rows, bits = map(int, shape.removesuffix("b").split("x"))
    elements = drawn(rng, kind, (rows, bits // 8))
    held = groups(elements, kind)
    mode = 6 if bits == 256 else 0
    lead = strides(mode, True, rows, 1)
    memory = np.concatenate([laid_out(held, mode, True, *lead), np.zeros(16384, np.uint8)])
    text = program(
        f"tcgen05.cp.cta_group::1.{shape}{multicast}.b8x16.{source} [%base], %da;", descriptor(0, *lead, mode), 0
    )
    cells = rng.integers(0, 1 << 32, (128, 8), np.uint32)
    got = run(accepted(module(text, filled=8, back=8, declared=DECLARED)), memory, cells, 1024).reshape(128, 8)
    expected = cells.copy()
    words = np.ascontiguousarray(elements << (2 if kind == "e2m1" else 0)).view(np.uint32)
    for warp in range(4 if rows > 4 else 0):
        expected[32 * warp : 32 * warp + 32, : bits // 32] = (
            words[:32] if rows == 32 else words[32 * warp : 32 * warp + 32]
        )
    if rows == 4:
        expected[:4] = words
    assert (got == expected).all()


def test_a_product_that_accumulates_is_behind_what_was_read() -> None:
    """The cells of D are read by another warp, which does not say that it is done."""
    memory, da, db = shared(np.zeros((128, 32), np.uint8), np.zeros((8, 32), np.uint8))
    product = program(
        f"tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, {instruction(1, 0, 0, 128, 8):#x}, %p2;", da, db
    )
    read = f"tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r0}}, [%mine]; {WAIT_LD}"
    cells = np.zeros((128, 8), np.uint32)
    run(module(f"{read} {BEFORE} bar.sync 0; {AFTER} {product}", filled=8, declared=DECLARED), memory, cells, 0)
    with pytest.raises(KernelError) as told:
        run(module(f"{read} bar.sync 0; {AFTER} {product}", filled=8, declared=DECLARED), memory, cells, 0)
    assert told.value.kind == "tensor-order"
