"""`wgmma` (PTX ISA 9.0, section 9.7.15) beside NumPy: where elements lie as the figures show it, in shared memory and in
registers, said once more; sums of doubles, which are exact here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ptxas
import pytest
from campaigns import share
from rounded_once import numbers, sums, whole_sums
from warpgroups import SHARED, THREADS, Kernel

from ptxcore.isa.warpgroup_product import BadMatrixDescriptor, addresses
from ptxcore.machine.run.faults import KernelError

MANUAL = Path(__file__).parents[5] / "shared" / "manual" / "ptx-isa-9.0.txt"
needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")
#: The field of the descriptor, by the bytes of a row of the pattern.
MODES = {0: 0, 128: 1, 64: 2, 32: 3}


def descriptor(start: int, leading: int, stride: int, swizzle: int, base: int = 0) -> int:
    return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | base << 49 | MODES[swizzle] << 62


# Shared memory.

#: Rows and columns that a figure shows, bytes of an element, whether rows run along M or N, strides in elements, the pattern.
FIGURES = {
    164: (8, 32, 4, False, 0, 256, 128),
    165: (32, 8, 4, True, 0, 256, 128),
    166: (16, 16, 4, False, 64, 32, 0),
    167: (16, 8, 4, False, 0, 64, 32),
    168: (16, 16, 2, True, 128, 64, 0),
    169: (32, 16, 2, True, 128, 256, 32),
}


@pytest.mark.skipif(not MANUAL.exists(), reason="no manual here")
@pytest.mark.parametrize("figure", FIGURES)
def test_elements_lie_where_figures_show_them(figure: int) -> None:
    across, along, size, transposed, leading, stride, swizzle = FIGURES[figure]
    text = MANUAL.read_text().split("\n9.7.15.5.1.8")[-1].split("\n9.7.15.5.2 ")[0]
    tables = re.findall(r"(?:^\d+(?:\t\d+){7,}\n){8,}", text, re.MULTILINE)
    rows = [[list(map(int, line.split("\t")))[1:] for line in table.splitlines()] for table in tables]
    shown = next(t for t in (_cut(table, across, along) for table in rows) if t and _is(figure, t))
    bits = descriptor(0, leading * size, stride * size, swizzle)
    same = addresses(bits, across, along, size, transposed=transposed) // size == np.array(shown)
    if figure == 169:  # the text has 128 to 135 twice, and 64 to 71 nowhere
        same[8:16, 4:8] = True
    assert same.all()


def _cut(table: list[list[int]], across: int, along: int) -> list[list[int]]:
    table = [row[:along] for row in table[:across]]
    return table if len(table) == across and all(len(row) == along for row in table) else []


#: The first numbers of each figure's second and last row, which tell it from the others.
FIRST = {164: (36, 252), 165: (1, 31), 166: (4, 60), 167: (8, 124), 168: (1, 71), 169: (1, 143)}


def _is(figure: int, table: list[list[int]]) -> bool:
    return (table[1][0], table[-1][0]) == FIRST[figure]


def test_rows_longer_than_the_pattern_have_no_meaning() -> None:
    with pytest.raises(BadMatrixDescriptor, match="64 bytes do not fit in swizzled rows of 32 bytes"):
        addresses(descriptor(0, 16, 256, 32), 8, 32, 2, transposed=False)


def test_the_pattern_may_begin_elsewhere() -> None:
    """The base offset says in which row of 128 bytes the pattern begins."""
    for swizzle in (32, 64, 128):
        plain = addresses(descriptor(0, 0, 8 * swizzle, swizzle), 16, 8, 2, transposed=False)
        moved = addresses(descriptor(384, 0, 8 * swizzle, swizzle, base=3), 16, 8, 2, transposed=False)
        assert (moved - 384 == plain).all()


class Laid(NamedTuple):
    """How a matrix lies: the bytes of a row of the pattern, whether it is transposed, how far into a row it begins, and its
    strides."""

    swizzle: int = 0
    transposed: bool = False
    into: int = 0


def laid(matrix: Any, how: Laid, image: Any, start: int) -> int:
    """Puts a matrix, whose rows run along K, chunk by chunk of 16 bytes into shared memory; gives its descriptor. As sections
    9.7.15.5.1.6 to 9.7.15.5.1.10 say it, from atoms of 8 rows."""
    if matrix.dtype == np.bool_:
        matrix = np.packbits(matrix, axis=1, bitorder="little")
    if how.transposed:
        matrix = matrix.T
    raw = np.ascontiguousarray(matrix).view(np.uint8)
    rows, chunks = raw.shape[0], raw.shape[1] // 16
    wide = how.swizzle // 16 or 1
    tiles, blocks = -(-rows // 8), -(-(chunks + how.into // 16) // wide)
    #: Atoms beside each other along a row follow each other first.
    atom = 8 * 16 * wide
    beside, below = atom, atom * blocks
    for r in range(rows):
        for c in range(chunks):
            block, within = divmod(c + how.into // 16, wide)
            turned = within ^ {1: 0, 2: r % 8 // 4, 4: r % 8 // 2, 8: r % 8}[wide]
            at = start + r // 8 * below + block * beside + r % 8 * 16 * wide + turned * 16
            image[at : at + 16] = raw[r, 16 * c : 16 * c + 16]
    assert start + tiles * below <= len(image)
    if not how.swizzle:
        leading, stride = (below, beside) if how.transposed else (beside, below)
    else:
        leading, stride = (beside, below) if how.transposed else (16, below)
    return descriptor(start + how.into, leading, stride, how.swizzle)


# Registers.


def of_d(lane: int, i: int) -> tuple[int, int]:
    """Row of a warp and column of the element `i` (figures 149, 151, 153 and 155)."""
    return lane // 4 + (8 if i % 4 >= 2 else 0), 8 * (i // 4) + 2 * (lane % 4) + i % 2


def of_a(lane: int, i: int, bits: int) -> tuple[int, int]:
    """The same of A (figures 148, 150, 152, 154)."""
    per = 32 // bits
    return lane // 4 + 8 * (i // per % 2), lane % 4 * per + i % per + 4 * per * (i // per // 2)


def held(matrices: Any, place: Any, bits: int) -> Any:
    """The registers of 128 threads: (product, register, thread)."""
    count = matrices[0].size * bits // (32 * THREADS)
    found = np.zeros((len(matrices), count, THREADS), np.uint32)
    threads = np.arange(THREADS)
    for i in range(count * 32 // bits):
        rows, columns = np.array([place(t % 32, i) for t in range(THREADS)]).T
        element = matrices[:, threads // 32 * 16 + rows, columns].astype(np.uint32)
        found[:, i * bits // 32] |= element << np.uint32(i * bits % 32)
    return found


# Types.

FLOATS: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "tf32": np.float32}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}


def drawn(rng: Any, kind: str, shape: tuple[int, int]) -> Any:
    """Random elements as bits, none infinite."""
    if kind == "b1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind in ("f16", "tf32"):
        values = rng.normal(size=shape).astype(FLOATS[kind])
        return values.view(f"u{values.itemsize}")
    if kind == "bf16":
        return (rng.normal(size=shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    top = {"e4m3": 0x60, "e5m2": 0x50}.get(kind, 128)
    return (rng.integers(0, top, shape) | rng.integers(0, 2, shape) << 7).astype(np.uint8)


def expected(case: Case, a: Any, b: Any, c: Any) -> Any:
    """The bits of D of many products, each sum rounded once."""
    a, b = (numbers(kind, raw) * sign for kind, raw, sign in zip((case.a, case.b), (a, b), case.signs, strict=True))
    c = c.astype(np.float64) if case.adds else np.zeros(c.shape)
    if case.d != "s32":
        return sums(a, b.swapaxes(1, 2), c, case.d)
    return whole_sums(a, b.swapaxes(1, 2), c, "and" if case.a == "b1" else "", saturates=case.saturates)


class Case(NamedTuple):
    """A product: the types of D, A and B, N; how A (None: in registers) and B lie; whether D is added, the signs, `.satfinite`;
    the selector of a sparse one."""

    d: str
    a: str
    b: str
    n: int
    a_laid: Laid | None
    b_laid: Laid
    adds: bool = True
    signs: tuple[int, int] = (1, 1)
    saturates: bool = False
    sparse: int | None = None

    @property
    def k(self) -> int:
        return 256 // BITS[self.a] * (1 if self.sparse is None else 2)


def body(case: Case) -> str:
    sparse = case.sparse is not None
    name = f"wgmma.mma_async{'.sp' if sparse else ''}.sync.aligned.m64n{case.n}k{case.k}"
    name += (".satfinite" if case.saturates else "") + f".{case.d}.{case.a}.{case.b}"
    operands = ["{d}", "{da}" if case.a_laid is not None else "{a}", "{db}"]
    operands += ["{e}", str(case.sparse)] if sparse else []
    operands.append("%p0")
    if case.a in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
        operands += [str(sign) for sign in case.signs]
    if case.a in ("f16", "bf16"):
        operands += [str(int(laid_.transposed)) for laid_ in (case.a_laid, case.b_laid) if laid_ is not None]
    name += ".and.popc" if case.a == "b1" else ""
    return (
        f"setp.{'eq' if case.adds else 'ne'}.u32 %p0, 0, 0;\nwgmma.fence.sync.aligned;\n{name} {', '.join(operands)};\n"
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
    )


CASES = {
    "f16, rows of 16 bytes": Case("f32", "f16", "f16", 24, Laid(), Laid()),
    "f16, 128 bytes": Case("f32", "f16", "f16", 64, Laid(128), Laid(128)),
    "f16, 128 bytes, further along K": Case("f32", "f16", "f16", 16, Laid(128, into=32), Laid(128, into=96)),
    "f16, 64 and 32 bytes": Case("f32", "f16", "f16", 8, Laid(64, into=32), Laid(32), signs=(-1, 1)),
    "f16, transposed": Case("f16", "f16", "f16", 40, Laid(0, True), Laid(0, True)),
    "f16, transposed, 32 and 64 bytes": Case("f32", "f16", "f16", 48, Laid(32, True), Laid(64, True)),
    "f16, transposed, 128 bytes": Case("f16", "f16", "f16", 64, Laid(128, True), Laid(128, True), signs=(1, -1)),
    "f16, A in registers": Case("f16", "f16", "f16", 16, None, Laid(32, True)),
    "f16, nothing added": Case("f32", "f16", "f16", 8, None, Laid(128), adds=False),
    "bf16": Case("f32", "bf16", "bf16", 32, Laid(64), Laid(128, True)),
    "bf16, A in registers": Case("f32", "bf16", "bf16", 256, None, Laid(32), signs=(-1, -1)),
    "tf32": Case("f32", "tf32", "tf32", 16, Laid(32), Laid(128)),
    "tf32, A in registers": Case("f32", "tf32", "tf32", 24, None, Laid()),
    "e4m3 and e5m2": Case("f32", "e4m3", "e5m2", 16, Laid(128), Laid(64)),
    "e5m2, A in registers": Case("f16", "e5m2", "e4m3", 8, None, Laid(32)),
    "s8": Case("s32", "s8", "s8", 48, Laid(128), Laid(32)),
    "u8 and s8, A in registers": Case("s32", "u8", "s8", 8, None, Laid(), saturates=True),
    "u8": Case("s32", "u8", "u8", 16, Laid(64), Laid(), saturates=True),
    "b1": Case("s32", "b1", "b1", 24, Laid(128), Laid(32)),
    "b1, A in registers": Case("s32", "b1", "b1", 8, None, Laid(64), adds=False),
    "sparse f16": Case("f32", "f16", "f16", 16, Laid(32), Laid(128), sparse=0),
    "sparse bf16, A in registers": Case("f32", "bf16", "bf16", 8, None, Laid(64, True), sparse=1),
    "sparse tf32": Case("f32", "tf32", "tf32", 8, Laid(64), Laid(64), sparse=1),
    "sparse tf32, A in registers": Case("f32", "tf32", "tf32", 24, None, Laid(), sparse=0),
    "sparse s8": Case("s32", "s8", "u8", 16, Laid(128), Laid(64), sparse=0),
    "sparse bf16": Case("f32", "bf16", "bf16", 8, Laid(64), Laid(128), sparse=1),
    "sparse f16, A in registers": Case("f16", "f16", "f16", 8, None, Laid(64), sparse=0),
    "sparse e5m2": Case("f32", "e5m2", "e4m3", 8, Laid(32), Laid(64), sparse=0, signs=(-1, 1)),
    "sparse u8, A in registers": Case("s32", "u8", "s8", 8, None, Laid(64), sparse=0, saturates=True),
    "sparse e4m3, A in registers": Case("f16", "e4m3", "e4m3", 8, None, Laid(128), sparse=0),
}
#: Random inputs of each, and how many of a campaign are one launch.
INPUTS, TOGETHER = 3, 125


def thinned(rng: Any, case: Case, stored: Any) -> tuple[Any, Any]:
    """A sparse A with its zeros, and the metadata of each thread (figures 176, 178, 180 and 181), of many products."""
    assert case.sparse is not None
    wide = 2 if case.a == "tf32" else 4
    products, rows, chunks = np.ogrid[: len(stored), :64, : case.k // wide]
    full, metadata = np.zeros((len(stored), 64, case.k), stored.dtype), np.zeros((len(stored), THREADS), np.uint32)
    warps, r = rows // 16, rows % 16
    if BITS[case.a] == 8:
        lanes, bits = 4 * (r % 8) + r // 8 + 2 * (chunks // 8), 4 * (chunks % 8)
    else:
        lanes, bits = 4 * (r % 8) + 2 * case.sparse + chunks // 4, 4 * (chunks % 4) + 16 * (r // 8)
    #: What a chunk may keep, and what its metadata says then.
    kept = [[0], [1]] if wide == 2 else [[i, j] for j in range(4) for i in range(j)]
    codes = np.array([0b0100, 0b1110] if wide == 2 else [i | j << 2 for i, j in kept], np.uint32)
    chosen = rng.integers(0, len(kept), (len(stored), 64, case.k // wide))
    for i, columns in enumerate(np.array(kept).T):
        full[products, rows, wide * chunks + columns[chosen]] = stored[:, :, i :: wide // 2]
    said = codes[chosen] << np.broadcast_to(bits, chosen.shape).astype(np.uint32)
    np.bitwise_or.at(metadata, (products, 32 * warps + lanes), said)
    return full, metadata


@pytest.mark.part(3)
@pytest.mark.parametrize("name", CASES)
def test_products_are_what_numpy_computes(name: str) -> None:
    products(name, INPUTS, 0)


@pytest.mark.campaign
@pytest.mark.parametrize("name", CASES)
def test_a_thousand_products_are_what_numpy_computes(name: str) -> None:
    count = share(1000)
    for start in range(0, count, TOGETHER):
        products(name, min(TOGETHER, count - start), start + 1)


def products(name: str, inputs: int, seed: int) -> None:
    case = CASES[name]
    rng = np.random.default_rng(len(name) * 1000 + case.n + 1_000_000 * seed)
    bits = 16 if case.d == "f16" else 32
    kernel = Kernel(body(case), case.n * bits // 64, 0 if case.a_laid is not None else 4)
    stored = drawn_many(rng, case.a, inputs, (64, case.k if case.sparse is None else case.k // 2))
    b = drawn_many(rng, case.b, inputs, (case.n, case.k))
    c = rng.normal(size=(inputs, 64, case.n)).astype(FLOATS[case.d]) if case.d != "s32" else rng.integers(
        -(1 << 31), 1 << 31, (inputs, 64, case.n)).astype(np.int32)  # fmt: skip
    full, metadata = (
        (stored, np.zeros((inputs, THREADS), np.uint32)) if case.sparse is None else thinned(rng, case, stored)
    )
    images = np.zeros((inputs, SHARED), np.uint8)
    first = second = 0
    for image, one, other in zip(images, stored, b, strict=True):
        first = 0 if case.a_laid is None else laid(one, case.a_laid, image, 0)
        second = laid(other, case.b_laid, image, 16384 if case.n < 256 else 8192)
    of_a_ = held(stored, lambda lane, i: of_a(lane, i, BITS[case.a]), BITS[case.a]) if case.a_laid is None else None
    wanted = held(expected(case, full, b, c), of_d, bits)
    found = kernel(images, (first, second), of_a_, held(c.view(f"u{bits // 8}"), of_d, bits), metadata)
    assert (found == wanted).all(), int((found != wanted).sum())


def drawn_many(rng: Any, kind: str, count: int, shape: tuple[int, int]) -> Any:
    return np.stack([drawn(rng, kind, shape) for _ in range(count)])


@needs_ptxas
def test_ptxas_takes_every_kernel() -> None:
    for case in list(CASES.values())[::5]:
        bits = 16 if case.d == "f16" else 32
        kernel = Kernel(body(case), case.n * bits // 64, 0 if case.a_laid is not None else 4, shared=2048)
        assert ptxas.check_module(kernel.text) == []


# Order.

FENCE, COMMIT, WAIT = "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned"
MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, {da}, {db}, %p0, 1, 1, 0, 0;"
RS = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, {a}, {db}, 1, 1, 1, 0;"
TRUE = "setp.eq.u32 %p0, 0, 0;"


def ran(text: str, a: int = 0, **how: Any) -> Any:
    """D of ones by ones."""
    ones = np.ones(SHARED // 2, np.float16).view(np.uint8)[None]
    kernel = Kernel(text, 4, a)
    registers = np.full((1, a, THREADS), 0x3C003C00, np.uint32) if a else None
    return kernel(ones, (descriptor(0, 128, 256, 0), descriptor(16384, 128, 256, 0)), registers, **how).view(np.float32)


RIGHT = {
    "two products of one accumulator": (f"{TRUE} {FENCE} {MMA} {MMA} {COMMIT} {WAIT} 0;", 32),
    "groups": (f"{TRUE} {FENCE} {MMA} {COMMIT} {MMA} {COMMIT} {WAIT} 1; {WAIT} 0;", 32),
    "a wait between needs no fence": (f"{TRUE} {FENCE} {MMA} {COMMIT} {WAIT} 0; {MMA} {COMMIT} {WAIT} 0;", 32),
    "a fence behind a write": (f"{TRUE} {FENCE} {MMA} {COMMIT} {WAIT} 0; mov.b32 %d0, 0; {FENCE} {MMA} {COMMIT} {WAIT} 0;",
                               None),
    "no accumulator at first": ("setp.ne.u32 %p0, 0, 0; " + f"{FENCE} {MMA} {TRUE} {MMA} {COMMIT} {WAIT} 0;", 32),
    "registers of A twice": (f"{FENCE} {RS} {RS} {COMMIT} {WAIT} 0; add.u32 %a0, %a0, 1;", 32),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_waited_for_may_be_used(name: str) -> None:
    text, value = RIGHT[name]
    a = 4 if "{a}" in text else 0
    for seed in (None, 1, 2):
        found = ran(text, a, **({} if seed is None else {"seed": seed, "arrays": False}))
        assert value is None or (found == value).all()
        assert value is not None or (found[0, :, 0].tolist() == [16, 32, 32, 32])


WRONG = {
    "no fence": (f"{TRUE} {MMA} {COMMIT} {WAIT} 0;", "unfenced-product", "no 'wgmma.fence' stands before"),
    "no wait": (f"{TRUE} {FENCE} {MMA} {COMMIT}", "unfinished-product", "a register of the accumulator"),
    "no commit": (f"{TRUE} {FENCE} {MMA} {WAIT} 0;", "unfinished-product", "a register of the accumulator"),
    "a group is left out": (f"{TRUE} {FENCE} {MMA} {COMMIT} {MMA} {COMMIT} {WAIT} 1;", "unfinished-product", "accumulator"),
    "a write without a fence": (f"{TRUE} {FENCE} {MMA} {COMMIT} {WAIT} 0; mov.b32 %d0, 0; {MMA} {COMMIT} {WAIT} 0;",
                                "unfenced-product", "%d0, which 'wgmma.mma_async' accesses, was written since"),
    "a write before the wait": (f"{TRUE} {FENCE} {MMA} {COMMIT} mov.b32 %d0, 0; {WAIT} 0;", "unfinished-product",
                                "is written before"),
    "A is read before the wait": (f"{FENCE} {RS} {COMMIT} add.u32 %a0, %a0, 1; {WAIT} 0;", "unfinished-product",
                                  "a register of A"),
    "A is written before the wait": (f"{FENCE} {RS} {COMMIT} mov.b32 %a0, 1; {WAIT} 0;", "unfinished-product",
                                     "is written before"),
    "A is written without a fence": (f"{FENCE} mov.b32 %a0, 1; {RS} {COMMIT} {WAIT} 0;", "unfenced-product", "%a0, which"),
    "threads do not agree": (f"{TRUE} {FENCE} setp.lt.u32 %p0, %t, 64; {MMA} {COMMIT} {WAIT} 0;", "bad-matrix", "do not give"),
    "a matrix beyond the end": (f"{TRUE} add.u64 %db, %db, 2048; {FENCE} {MMA} {COMMIT} {WAIT} 0;", "out-of-bounds",
                                "B lies from offset"),
    "a part of the warpgroup": (f"{TRUE} {FENCE} setp.lt.u32 %p1, %t, 96; @%p1 {MMA} {COMMIT} {WAIT} 0;", "deadlock",
                                "waits for its warpgroup"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_told(name: str) -> None:
    text, kind, said = WRONG[name]
    with pytest.raises(KernelError, match=re.escape(said)) as caught:
        ran(text, 4 if "{a}" in text else 0, arrays=False)
    assert caught.value.kind == kind
    with pytest.raises(
        AssertionError, match=r"product|register|agree|lies|no thread"
    ):  # arrays leave it to single threads
        ran(text, 4 if "{a}" in text else 0, arrays=True)


def test_a_missing_wait_shows_late() -> None:
    """Shared memory is read as late as can be: who overwrites it before the wait finds out."""
    over = "st.shared.v4.b32 [%s], {{%t, %t, %t, %t}};"
    for arrays in (False, True):
        early = ran(f"{TRUE} {FENCE} {MMA} {COMMIT} {over} {WAIT} 0;", arrays=arrays)
        late = ran(f"{TRUE} {FENCE} {MMA} {COMMIT} {WAIT} 0; {over}", arrays=arrays)
        assert (late == 16).all()
        assert (early != 16).any()
