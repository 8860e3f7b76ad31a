"""Tensor Memory: loads and stores of every shape beside the figures of section 9.7.16.2.3, and products beside NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import ptxas
import pytest
from tensor_memory_cases import (
    AFTER,
    COMMIT,
    WAIT,
    WAIT_LD,
    WAIT_ST,
    descriptor,
    instruction,
    laid_out,
    module,
    run,
    strides,
)

MANUAL = Path(__file__).resolve().parents[3] / "shared" / "manual" / "ptx-isa-9.0.txt"
needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")


@lru_cache(maxsize=64)
def accepted(text: str) -> None:
    """ptxas accepts a module, where there is one."""
    if ptxas.executable() is not None:
        assert not ptxas.check_module(text)


# Loads and stores.

#: Registers of a repetition, and from (thread, register, offset of the second half) the lane and the column.
FIGURES: dict[str, tuple[int, Callable[[int, int, int], tuple[int, int]]]] = {
    "32x32b": (1, lambda t, r, h: (t, r)),
    "16x64b": (1, lambda t, r, h: (t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2)),
    "16x128b": (2, lambda t, r, h: (t // 4 + 8 * (r % 2), r // 2 * 4 + t % 4)),
    "16x256b": (4, lambda t, r, h: (t // 4 + 8 * (r // 2 % 2), r // 4 * 8 + t % 4 * 2 + r % 2)),
    "16x32bx2": (1, lambda t, r, h: (t % 16, r + t // 16 * h)),
}
CASES = [
    (shape, num, packed)
    for shape, (each, _) in FIGURES.items()
    for num, packed in ((1, False), (4, False), (128 // each, False), (2, True))
]


def registers(shape: str, num: int, opcode: str) -> tuple[int, str, str]:
    """How many registers there are, their vector, and their loads from each thread's part of the array, or stores to it."""
    count = FIGURES[shape][0] * num
    wide = gcd(count, 4)
    setup = f"mul.wide.u32 %q, %t, {4 * count}; add.u64 %q, %q, %out;"
    each = ""
    for i in range(0, count, wide):
        at, some = f"[%q+{4 * i}]", f"{{{', '.join(f'%r{i + k}' for k in range(wide))}}}"
        ends = f"{some}, {at}" if opcode == "ld.global" else f"{at}, {some}"
        each += f"{opcode}.v{wide}.b32 {ends};" if wide > 1 else f"{opcode}.b32 {ends};".replace(some, some[1:-1])
    return count, f"{{{', '.join(f'%r{i}' for i in range(count))}}}", setup + each


@cache
def cells_of(shape: str, num: int, half: int) -> tuple[Any, Any]:
    """Of each warp, thread and register the lane, and the column."""
    places = [[FIGURES[shape][1](t, r, half) for r in range(FIGURES[shape][0] * num)] for t in range(32)]
    found = np.array(places)
    return found[None, :, :, 0] + 32 * np.arange(4)[:, None, None], np.broadcast_to(
        found[:, :, 1], (4, *found.shape[:2])
    )


@pytest.mark.part(32)
@pytest.mark.parametrize(("shape", "num", "packed"), CASES)
def test_loads(shape: str, num: int, packed: bool, draw: int = 0) -> None:
    count, vector, told = registers(shape, num, "st.global")
    half = 64
    second = f", {half}" if shape == "16x32bx2" else ""
    lane = 0 if shape == "32x32b" else 16
    load = f"tcgen05.ld.sync.aligned.{shape}.x{num}{'.pack::16b' if packed else ''}.b32 {vector}, [%mine]{second};"
    body = f"add.u32 %mine, %mine, {lane << 16}; {load} {WAIT_LD} {told} sub.u32 %mine, %mine, {lane << 16};"
    columns = 256
    text = module(body, filled=columns, shared=0, declared=f".reg .b32 %r<{count}>;")
    accepted(text)
    cells = np.random.default_rng([num, draw]).integers(0, 1 << 32, (128, columns), np.uint32)
    got = run(text, None, cells, 128 * count).reshape(4, 32, count)
    rows, places = cells_of(shape, num, half // 2 if packed else half)
    rows = rows + lane
    if packed:
        expected = cells[rows, 2 * places] & 0xFFFF | cells[rows, 2 * places + 1] << 16
    else:
        expected = cells[rows, places]
    assert (got == expected).all()


@pytest.mark.part(4)
@pytest.mark.parametrize(("shape", "num", "packed"), [c for c in CASES if c[1] < 32])
def test_stores(shape: str, num: int, packed: bool, draw: int = 0) -> None:
    count, vector, told = registers(shape, num, "ld.global")
    second = ", 16" if shape == "16x32bx2" else ""
    store = f"tcgen05.st.sync.aligned.{shape}.x{num}{'.unpack::16b' if packed else ''}.b32 [%mine]{second}, {vector};"
    body = f"{told.replace('%out', '%more')} {store} {WAIT_ST}"
    text = module(body, filled=32, back=32, shared=0, declared=f".reg .b32 %r<{count}>;")
    accepted(text)
    rng = np.random.default_rng([num, draw])
    cells = rng.integers(0, 1 << 32, (128, 32), np.uint32)
    given = rng.integers(0, 1 << 32, (4, 32, count), np.uint32)
    expected = cells.copy()
    rows, places = cells_of(shape, num, 8 if packed else 16)
    if packed:
        expected[rows, 2 * places], expected[rows, 2 * places + 1] = given & 0xFFFF, given >> 16
    else:
        expected[rows, places] = given
    if packed:  # what the upper halves of cells hold then is left open: they are read in packs
        low = "".join(
            f"tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {{%r{i}}}, [%mine+{2 * i}];" for i in range(count)
        )
        low = "".join(f"add.u32 %a, %mine, {2 * i}; tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {{%r{i}}}, [%a];"
                      for i in range(min(count, 16)))  # fmt: skip
        out = registers("32x32b", min(count, 16), "st.global")[2]
        text = module(f"{body} {low} {WAIT_LD} {out}", filled=32, shared=0, declared=f".reg .b32 %r<{count}>;")
        got = run(text, None, cells, 128 * min(count, 16), given).reshape(128, -1)
        wanted = (expected[:, 0 : 2 * got.shape[1] : 2] & 0xFFFF) | (
            expected[:, 1 : 2 * got.shape[1] : 2] & 0xFFFF
        ) << 16
        assert (got == wanted).all()
    else:
        assert (run(text, None, cells, 128 * 32, given).reshape(128, 32) == expected).all()


# Products.


def bf16(x: Any) -> Any:
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


#: By name: kind, numbers of D and A in the descriptor, elements along K, and how integers become elements.
TYPES: dict[str, tuple[str, int, int, int, Callable[[Any], Any]]] = {
    "f16": ("f16", 1, 0, 16, lambda x: x.astype(np.float16).view(np.uint16)),
    "f16 to f16": ("f16", 0, 0, 16, lambda x: x.astype(np.float16).view(np.uint16)),
    "bf16": ("f16", 1, 1, 16, bf16),
    "tf32": ("tf32", 1, 2, 8, lambda x: x.astype(np.float32).view(np.uint32)),
    "s8": ("i8", 2, 1, 32, lambda x: x.astype(np.int8).view(np.uint8)),
}


def product_of(name: str, desc_a: int, desc_b: int, idesc: int, enabled: int, more: str = "") -> str:
    kind = TYPES[name][0]
    return (
        f"@!%p0 bra N; setp.ne.u32 %p2, {enabled}, 0; mov.b64 %da, {desc_a:#x}; mov.b64 %db, {desc_b:#x};\n"
        f"tcgen05.mma.cta_group::1.kind::{kind} [%base], %da, %db, {idesc:#x}, {more}%p2;\n{COMMIT}\nN:\n{WAIT}\n{AFTER}"
    )


MMA = [
    (name, m, n, mode, not turned)
    for name, m, n, mode, turned in (
        ("f16", 128, 32, 0, 0), ("f16", 64, 16, 2, 0), ("f16", 128, 64, 4, 1), ("f16", 64, 64, 2, 1), ("f16", 128, 16, 6, 1),
        ("f16 to f16", 128, 16, 6, 0), ("bf16", 128, 8, 4, 0), ("bf16", 64, 24, 0, 1), ("tf32", 128, 32, 2, 0),
        ("tf32", 64, 40, 0, 0), ("s8", 128, 32, 0, 0), ("s8", 64, 16, 6, 0), ("s8", 128, 64, 2, 0),
    )
]  # fmt: skip


@pytest.mark.part(10)
@pytest.mark.parametrize(("name", "m", "n", "mode", "k_major"), MMA)
@pytest.mark.parametrize("enabled", [0, 1])
def test_products(name: str, m: int, n: int, mode: int, k_major: bool, enabled: int, draw: int = 0) -> None:
    rng = np.random.default_rng([m + n + mode, draw])
    _, d, a, k, elements = TYPES[name]
    low, high = (-128, 128) if name == "s8" else (-8, 9)
    left, right = rng.integers(low, high, (m, k)), rng.integers(low, high, (n, k))
    size = 32 // k
    leads = [strides(mode, k_major, outer, size) for outer in (m, n)]
    shared = np.concatenate(
        [laid_out(elements(x), mode, k_major, *lead) for x, lead in zip((left, right), leads, strict=True)]
    )
    turned = int(not k_major)
    body = product_of(
        name, descriptor(0, *leads[0], mode), descriptor(16384, *leads[1], mode),
        instruction(d, a, a, m, n, turn_a=turned, turn_b=turned), enabled,
    )  # fmt: skip
    if name == "f16 to f16":
        vector = ", ".join(f"%r{i}" for i in range(n // 2))
        out = "".join(f"st.global.b32 [%q+{4 * i}], %r{i};" for i in range(n // 2))
        body += f"tcgen05.ld.sync.aligned.32x32b.x{n // 2}.pack::16b.b32 {{{vector}}}, [%mine]; {WAIT_LD}"
        body += f"mul.wide.u32 %q, %t, {2 * n}; add.u64 %q, %q, %out; {out}"
    text = module(
        body, filled=n, back=n if name != "f16 to f16" else 0, declared=".reg .b64 %da, %db; .reg .b32 %r<64>;"
    )
    addend = rng.integers(-99, 99, (128, n))
    if name == "f16 to f16":
        cells = addend.astype(np.float16).view(np.uint16).astype(np.uint32)
    else:
        cells = addend.astype(np.int32 if name == "s8" else np.float32).view(np.uint32)
    accepted(text)
    got = run(text, shared, cells, 128 * n)
    result = left @ right.T
    rows = np.arange(m) if m == 128 else np.array([r // 16 * 32 + r % 16 for r in range(64)])
    expected = addend.copy()
    expected[rows] = result + enabled * addend[rows]
    if name == "f16 to f16":
        found: Any = got[: 128 * n // 2].view(np.uint16).reshape(128, n).view(np.float16)
    else:
        found = got.reshape(128, n).view(np.int32 if name == "s8" else np.float32)
    assert (found == expected).all()


@pytest.mark.skipif(not MANUAL.exists(), reason="no manual")
def test_layouts_of_the_manual() -> None:
    """Figures 188 to 191: the places of elements, row by row."""
    from ptxcore.values.matrix_descriptors import Matrix

    pages = MANUAL.read_text()
    compared = 0
    for figure, title, matrix, size, k_major in (
        (188, "K major, no-swizzling and tf32 type", Matrix(0, 256, 128, 0, 0), 4, True),
        (189, "K major, 32B swizzling and tf32 type", Matrix(0, 16, 256, 0, 6), 4, True),
        (190, "MN major, no-swizzling and bf16 type", Matrix(0, 256, 128, 0, 0), 2, False),
        (191, "MN major, 32B swizzling and bf16 type", Matrix(0, 256, 512, 0, 6), 2, False),
    ):
        before = pages[: pages.index(f"Figure {figure}: {title}\n")].rstrip().splitlines()
        rows: dict[int, list[int]] = {}
        for line in reversed(before):
            cells = [int(x) for x in re.findall(r"\d+", line)]
            if len(cells) != 17 or cells[0] in rows:
                break
            rows[cells[0]] = cells[1:]
        assert len(rows) >= 16
        inside = 8 if figure == 189 else 16  # its second half is a tile of its own
        places = matrix.addresses(max(rows) + 1, inside, size, k_major=k_major) // size
        for row, values in rows.items():
            assert places[row].tolist() == values[:inside], (figure, row)
            compared += inside
    assert compared > 800
