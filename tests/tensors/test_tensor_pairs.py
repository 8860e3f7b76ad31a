"""Two CTAs that use their Tensor Memories together, `.cta_group::2`, beside NumPy: products of all kinds and layouts, copies,
shifts, allocation, and their misuse."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tensor_memory_cases import AFTER, BEFORE, COMMIT, WAIT, descriptor, instruction, laid_out, module, run, strides
from test_tensor_products import COPIES, DECLARED, SMALL, accepted, drawn, groups, program, value, width

from ptxcore.machine.run.faults import KernelError


def of_both(a: Any, b: Any, mode: int) -> tuple[Any, int, int]:
    """The halves of the rows of A and of the columns of B, for each CTA as they lie in its shared memory; the descriptors."""
    parts, leads = [], [strides(mode, True, len(x) // 2, 1) for x in (a, b)]
    for i in (0, 1):
        for x, lead in zip((a, b), leads, strict=True):
            parts.append(laid_out(np.ascontiguousarray(np.split(x, 2)[i]), mode, True, *lead))
    return np.concatenate(parts), descriptor(0, *leads[0], mode), descriptor(16384, *leads[1], mode)


@cache
def where(m: int, n: int) -> Any:
    """Of each element of D, its lane (those of the odd CTA behind those of the even one) and column: figures 205 and 207."""
    lanes, columns = np.zeros((m, n), int), np.zeros((m, n), int)
    for row in range(m):
        for column in range(n):
            if m == 256:
                lanes[row, column], columns[row, column] = row, column
            else:
                cta, inside = divmod(row, 64)
                right = column >= n // 2
                lanes[row, column] = 128 * cta + 64 * right + inside
                columns[row, column] = column - right * (n // 2)
    return lanes, columns


KINDS = [("f16", 256, 32), ("f16", 128, 48), ("tf32", 256, 16), ("tf32", 128, 32), ("i8", 256, 64), ("i8", 128, 32)]


@pytest.mark.part(16)
@pytest.mark.parametrize(("kind", "m", "n"), KINDS)
@pytest.mark.parametrize("inside", ["shared", "tensor"])
def test_products_of_pairs(kind: str, m: int, n: int, inside: str, draw: int = 0) -> None:
    rng = np.random.default_rng([m + n, draw])
    number, dtype = {"f16": (0, np.float16), "tf32": (2, np.float32), "i8": (1, np.int8)}[kind]
    k = 32 // np.dtype(dtype).itemsize
    for seed in (None, 3):
        a, b = (rng.integers(-8, 9, (x, k)).astype(dtype) for x in (m, n))
        memory, da, db = of_both(*(np.ascontiguousarray(x).view(np.uint8) for x in (a, b)), 6)
        cells = rng.integers(-99, 99, (256, n + 8)).astype(np.int32 if kind == "i8" else np.float32)
        if inside == "tensor":
            held = np.ascontiguousarray(a).view(np.uint32)
            lanes = np.arange(256) if m == 256 else np.array([r % 64 + r // 128 * 64 for r in range(256)])
            cells.view(np.uint32)[:, n:] = held[lanes]
        text = program(
            f"tcgen05.mma.cta_group::1.kind::{kind} [%base], {'%da' if inside == 'shared' else '[%at]'}, %db, "
            f"{instruction(2 if kind == 'i8' else 1, number, number, m, n):#x}, %p2;", da, db, f"add.u32 %at, %base, {n};",
        )  # fmt: skip
        text = accepted(module(text, filled=n + 8, back=n, declared=DECLARED, pair=True))
        got = run(text, memory, cells, 256 * n, seed=seed).view(cells.dtype).reshape(256, n)
        expected = cells[:, :n].copy()
        lanes, columns = where(m, n)
        expected[lanes, columns] += (a.astype(np.int64) @ b.astype(np.int64).T).astype(cells.dtype)
        assert (got == expected).all()


def test_small_types_and_lanes_of_pairs(draw: int = 0) -> None:
    """Lanes that are not written: of the odd CTA behind those of the even one."""
    rng = np.random.default_rng([9, draw])
    for m, n in ((256, 16), (128, 32)):
        a, b = drawn(rng, "e4m3", (m, 32)), drawn(rng, "e2m3", (n, 32))
        memory, da, db = of_both(a, groups(b, "e2m3"), 6)
        masks = rng.integers(0, 1 << 32, 8, np.uint32)
        vector = ", ".join(f"%r{i}" for i in range(8))
        text = program(
            f"tcgen05.mma.cta_group::1.kind::f8f6f4 [%base], %da, %db, "
            f"{instruction(1, 0, SMALL['e2m3'][2], m, n, negate_a=1):#x}, {{{vector}}}, %p2;", da, db,
            "".join(f"mov.u32 %r{i}, {mask:#x};" for i, mask in enumerate(masks.tolist())),
        )  # fmt: skip
        cells = rng.integers(-9, 9, (256, n)).astype(np.float32)
        text = accepted(module(text, filled=n, back=n, declared=DECLARED, pair=True))
        got = run(text, memory, cells, 256 * n).view(np.float32).reshape(256, n)
        lanes, columns = where(m, n)
        expected = cells.astype(np.float64)
        disabled = (masks[lanes // 32] >> (lanes % 32).astype(np.uint32) & 1).astype(bool)
        expected[lanes, columns] -= np.where(disabled, 0, value("e4m3", a) @ value("e2m3", b).T)
        assert (got == expected.astype(np.float32)).all()
        assert disabled.any()


@pytest.mark.parametrize(
    ("kind", "type_", "chunks"), [("mxf8f6f4", "e5m2", 1), ("mxf4", "e2m1", 2), ("mxf4nvf4", "e2m1", 4)]
)
def test_scales_of_pairs(kind: str, type_: str, chunks: int, draw: int = 0) -> None:
    rng = np.random.default_rng([chunks, draw])
    k, n = (32 if chunks == 1 else 64), 48
    a, b = drawn(rng, type_, (256, k)), drawn(rng, type_, (n, k))
    held = [x if width(type_) == 8 else (x[:, ::2] | x[:, 1::2] << 4).astype(np.uint8) for x in (a, b)]
    memory, da, db = of_both(*held, 6)
    factors = [rng.integers(125, 130, (x, chunks)) for x in (256, n)]
    cells = rng.integers(-9, 9, (256, n + 8)).astype(np.float32)
    for cta in (0, 1):
        for start, table in ((n, factors[0][128 * cta : 128 * cta + 128]), (n + 4, factors[1])):
            words = np.zeros((128, 4, 4), np.uint8)
            for row, of_row in enumerate(table):
                words[row % 32 :: 32, row // 32, :chunks] = of_row
            cells.view(np.uint32)[128 * cta : 128 * cta + 128, start : start + 4] = words.view(np.uint32)[:, :, 0]
    number = SMALL[type_][2] if chunks == 1 else 1
    idesc = number << 7 | number << 10 | n >> 3 << 17 | 1 << 23 | 2 << 27
    vector = {1: "", 2: ".block32", 4: ".block16"}[chunks]
    text = program(
        f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale{vector} [%base], %da, %db, {idesc:#x}, [%sa], [%sb], %p2;",
        da, db, f"add.u32 %sa, %base, {n}; add.u32 %sb, %base, {n + 4};",
    )  # fmt: skip
    text = accepted(module(text, filled=n + 8, back=n, declared=DECLARED, pair=True))
    got = run(text, memory, cells, 256 * n).view(np.float32).reshape(256, n)
    left, right = (
        value(type_, x) * np.repeat(2.0 ** (f - 127.0), k // chunks, axis=1)
        for x, f in zip((a, b), factors, strict=True)
    )
    assert (got == (cells[:, :n].astype(np.float64) + left @ right.T).astype(np.float32)).all()


@pytest.mark.part(3)
@pytest.mark.parametrize(("shape", "multicast", "parts"), COPIES)
def test_copies_of_pairs(shape: str, multicast: str, parts: list[int], draw: int = 0) -> None:
    rng = np.random.default_rng([len(shape), draw])
    rows, bits = map(int, shape.removesuffix("b").split("x"))
    lead = strides(6, True, rows, 1)
    matrices = rng.integers(0, 256, (2, rows, bits // 8)).astype(np.uint8)
    empty = np.zeros(16384, np.uint8)
    memory = np.concatenate([x for m in matrices for x in (laid_out(m, 6, True, *lead), empty)])
    text = program(f"tcgen05.cp.cta_group::1.{shape}{multicast} [%base], %da;", descriptor(0, *lead, 6), 0)
    cells = rng.integers(0, 1 << 32, (256, 8), np.uint32)
    got = run(accepted(module(text, filled=8, back=8, declared=DECLARED, pair=True)), memory, cells, 2048).reshape(
        256, 8
    )
    expected = cells.copy()
    for cta in (0, 1):
        words = np.ascontiguousarray(matrices[cta]).view(np.uint32)
        for warp, part in enumerate(parts):
            at = 128 * cta + 32 * warp
            expected[at : at + 32, : bits // 32] = words[32 * part : 32 * part + 32]
        if not parts:
            expected[128 * cta : 128 * cta + 4] = words
    assert (got == expected).all()


def test_shift_of_pairs(draw: int = 0) -> None:
    cells = np.random.default_rng([1, draw]).integers(0, 1 << 32, (256, 16), np.uint32)
    text = program("tcgen05.shift.cta_group::1.down [%at];", 0, 0, f"add.u32 %at, %base, {(96 << 16) + 8};")
    text = accepted(module(text, filled=16, back=16, declared=DECLARED, pair=True))
    got = run(text, np.zeros(65536, np.uint8), cells, 4096)
    expected = cells.copy()
    for first in (96, 224):
        expected[first + 1 : first + 32, 8:16] = cells[first : first + 31, 8:16]
    assert (got.reshape(256, 16) == expected).all()


# Order between the CTAs, and allocation.

A_PRODUCT = f"tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, {instruction(1, 0, 0, 256, 16):#x}, %p2;"
LOADED = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%mine]; tcgen05.wait::ld.sync.aligned;"
SETUP = f"mov.b64 %da, {descriptor(0, 16, 256, 6):#x}; mov.b64 %db, {descriptor(16384, 16, 256, 6):#x};"


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"@!%p0 bra N; setp.eq.u32 %p2, 0, 0; {SETUP} {A_PRODUCT} {COMMIT} N: {WAIT} {AFTER} {LOADED}", ""),
        (f"@!%p0 bra N; setp.eq.u32 %p2, 0, 0; {SETUP} {A_PRODUCT} {COMMIT} N: {WAIT} {LOADED}", "after_thread_sync"),
        (f"@!%p0 bra N; setp.eq.u32 %p2, 0, 0; {SETUP} {A_PRODUCT} N: bar.sync 0; {AFTER} {LOADED}", "it is not complete"),
        (f"{LOADED} {BEFORE} bar.sync 0; {AFTER} @!%p0 bra N; setp.eq.u32 %p2, 0, 0; {SETUP} {A_PRODUCT} {COMMIT} N: {WAIT} "
         f"{AFTER}", ""),
        (f"{LOADED} bar.sync 0; {AFTER} @!%p0 bra N; setp.eq.u32 %p2, 0, 0; {SETUP} {A_PRODUCT} {COMMIT} N: {WAIT} {AFTER}",
         "fence::before_thread_sync"),
    ],
)  # fmt: skip
def test_order_of_pairs(body: str, words: str) -> None:
    text = module(body, filled=16, declared=DECLARED, pair=True)
    for seed in (None, 0, 1):
        if not words:
            run(text, np.zeros(65536, np.uint8), np.zeros((256, 16), np.uint32), 0, seed=seed)
            continue
        with pytest.raises(KernelError) as told:
            run(text, np.zeros(65536, np.uint8), np.zeros((256, 16), np.uint32), 0, seed=seed)
        assert (told.value.kind, words in told.value.message) == ("tensor-order", True), told.value.message


HEAD = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k() .reqnctapercluster 2, 1, 1
{ .shared .align 4 .b32 base, other; .reg .b32 %a, %b, %t, %rank; .reg .pred %odd, %late;
mov.u32 %rank, %cluster_ctarank; setp.eq.u32 %odd, %rank, 1; mov.u32 %t, %tid.x; setp.ge.u32 %late, %t, 32;
"""
TAKE, FREE = "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32", "tcgen05.dealloc.cta_group::2.sync.aligned.b32"
RELINQUISH = "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;"


def allocates(body: str, threads: int = 32, seed: int | None = None) -> None:
    from ptxcore.machine.run.launch import load

    text = accepted(HEAD + body + " ret; }\n")
    load(text, "k.ptx").launch("k", (2, 1, 1), (threads, 1, 1), [], seed=seed, limit=1_000_000)


def test_allocation_of_pairs() -> None:
    """The second warps wait until the first ones of both CTAs give their columns back."""
    body = (
        f"@%late bra S; {TAKE} [base], 512; bar.sync 0; {FREE} 0, 512; bra E;\n"
        f"S: bar.sync 0; {TAKE} [other], 256; ld.shared.b32 %b, [other]; {FREE} %b, 256; {RELINQUISH}\nE:"
    )
    for seed in (None, 0, 1, 2):
        allocates(body, 64, seed)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (f"{TAKE} [base], 64;", "tensor-leak", "64 columns"),
        (f"@%odd bra E; {TAKE} [base], 64; E:", "tensor-pair deadlock", "peer CTA"),
        (f"mov.u32 %a, 32; @%odd mov.u32 %a, 64; {TAKE} [base], %a;", "tensor-pair", "0x20"),
        (f"{TAKE} [base], 64; {FREE} 0, 32;", "tensor-allocation", "64 at 0x0"),
        (f"{TAKE} [base], 64; @%odd bra E; {FREE} 0, 64; E:", "tensor-pair deadlock tensor-leak", ""),
        (f"{TAKE} [base], 512; {TAKE} [other], 32;", "deadlock", "columns of tensor memory"),
        (f"{RELINQUISH} {TAKE} [base], 32;", "tensor-allocation", "relinquished"),
    ],
)
def test_misuse_of_pairs(body: str, kind: str, words: str) -> None:
    for seed in (None, 0, 1):
        with pytest.raises(KernelError) as told:
            allocates(body, seed=seed)
        assert told.value.kind in kind.split(), told.value.message
        assert words in told.value.message


@pytest.mark.parametrize(
    ("idesc", "words"),
    [
        (instruction(1, 0, 0, 64, 16), "M = 64; it is 128 or 256"),
        (instruction(1, 0, 0, 256, 8), "N = 8; it is a multiple of 16"),
        (instruction(1, 0, 0, 256, 24), "N = 24; it is a multiple of 16"),
    ],
)
def test_shapes_of_pairs(idesc: int, words: str) -> None:
    body = program(f"tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, {idesc:#x}, %p2;", 1 << 46, 1 << 46)
    with pytest.raises(KernelError) as told:
        run(
            module(body, filled=16, declared=DECLARED, pair=True),
            np.zeros(65536, np.uint8),
            np.zeros((256, 16), np.uint32),
            0,
        )
    assert (told.value.kind, words in told.value.message) == ("bad-descriptor", True), told.value.message
