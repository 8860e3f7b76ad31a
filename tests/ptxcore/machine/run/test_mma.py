"""`mma` and `mma.sp` against the manual's formulas (PTX ISA 9.0, sections 9.7.14.3, 9.7.14.5, 9.7.14.6), said once more: where
elements are as each section writes it, sums as integers of any length."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import ptxas
import pytest
from campaigns import share
from matrices import Kernel
from rounded_once import FLOATS, numbers, sums, whole_sums

import ptxmm
from ptxcore.isa import mma
from ptxcore.isa.form import Form, Use
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.run.faults import KernelError
from ptxmm.kernels.toml import KernelFile

needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")

Place = Callable[[int, int, int], tuple[int, int]]

#: Row and column of the element `i` of a thread: g is its group, t its number there; by shape and bits of a container.
A: dict[tuple[str, int], Place] = {
    ("m8n8k4", 64): lambda g, t, i: (g, t),
    ("m8n8k16", 8): lambda g, t, i: (g, t * 4 + i),
    ("m8n8k32", 4): lambda g, t, i: (g, t * 8 + i),
    ("m8n8k128", 1): lambda g, t, i: (g, t * 32 + i),
    ("m16n8k4", 32): lambda g, t, i: ((g, g + 8)[i], t),
    ("m16n8k4", 64): lambda g, t, i: ((g, g + 8)[i], t),
    ("m16n8k8", 16): lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    ("m16n8k8", 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    ("m16n8k8", 64): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    ("m16n8k16", 16): lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
    ("m16n8k16", 64): lambda g, t, i: (g, i * 2 + t) if i % 2 == 0 else (g + 8, i * 2 - 2 + t),
    ("m16n8k16", 8): lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
    ("m16n8k32", 4): lambda g, t, i: (g if i < 8 else g + 8, t * 8 + (i & 7)),
    ("m16n8k32", 8): lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0)),
    ("m16n8k64", 4): lambda g, t, i: (g if i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + (32 if i >= 16 else 0)),
    ("m16n8k128", 1): lambda g, t, i: (g if i < 32 else g + 8, t * 32 + (i & 31)),
    ("m16n8k256", 1): lambda g, t, i: (
        g if i < 32 or 64 <= i < 96 else g + 8, t * 32 + (i & 31) + (128 if i >= 64 else 0)
    ),
}  # fmt: skip
#: Row (of K) of the element `i` of B; its column is g.
B: dict[tuple[str, int], Callable[[int, int], int]] = {
    ("m8n8k4", 64): lambda t, i: t,
    ("m8n8k16", 8): lambda t, i: t * 4 + i,
    ("m8n8k32", 4): lambda t, i: t * 8 + i,
    ("m8n8k128", 1): lambda t, i: t * 32 + i,
    ("m16n8k4", 32): lambda t, i: t,
    ("m16n8k4", 64): lambda t, i: t,
    ("m16n8k8", 16): lambda t, i: t * 2 + i,
    ("m16n8k8", 32): lambda t, i: (t, t + 4)[i],
    ("m16n8k8", 64): lambda t, i: (t, t + 4)[i],
    ("m16n8k16", 16): lambda t, i: t * 2 + (i & 1) + (8 if i >= 2 else 0),
    ("m16n8k16", 64): lambda t, i: t + i * 4,
    ("m16n8k16", 8): lambda t, i: t * 4 + i,
    ("m16n8k32", 4): lambda t, i: t * 8 + i,
    ("m16n8k32", 8): lambda t, i: t * 4 + (i & 3) + (16 if i >= 4 else 0),
    ("m16n8k64", 4): lambda t, i: t * 8 + (i & 7) + (32 if i >= 8 else 0),
    ("m16n8k128", 1): lambda t, i: t * 32 + i,
    ("m16n8k256", 1): lambda t, i: t * 32 + (i & 31) + (128 if i >= 32 else 0),
    # Of sparse products, figures 121, 124, 132 to 135 and 142 to 145.
    ("m16n8k32", 16): lambda t, i: t * 2 + i % 2 + i // 2 * 8,
    ("m16n8k16", 32): lambda t, i: t + i * 4,
    ("m16n8k64", 8): lambda t, i: t * 4 + i % 4 + i // 4 * 16,
    ("m16n8k128", 4): lambda t, i: t * 8 + i % 8 + i // 8 * 32,
}

#: Sparse A, by shape and bits: the row of the element `i`, and the first column of the chunks that it lies in.
SPARSE: dict[tuple[str, int], Place] = {
    ("m16n8k16", 16): lambda g, t, i: (g if i < 2 else g + 8, t * 4),
    ("m16n8k32", 16): lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 4 + (0 if i < 4 else 16)),
    ("m16n8k16", 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t * 2 + (0 if i < 2 else 8)),
    ("m16n8k8", 32): lambda g, t, i: ((g, g + 8)[i], t * 2),
    ("m16n8k32", 8): lambda g, t, i: (g if i < 4 else g + 8, t * 8),
    ("m16n8k64", 8): lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 8 + (0 if i < 8 else 32)),
    ("m16n8k64", 4): lambda g, t, i: (g if i < 8 else g + 8, t * 16),
    ("m16n8k128", 4): lambda g, t, i: (g if i < 8 or 16 <= i < 24 else g + 8, t * 16 + (0 if i < 16 else 64)),
}

#: The metadata: for each row below 8 and 8 more, which thread of the group has the bits of a chunk, and from which on: figures
#: 119, 122, 125, 127, 129, 136, 137, 139, 146 and 147. `s` is the selector, `low` whether the row is below 8.
METADATA: dict[tuple[str, int], Callable[[bool, int, int], tuple[int, int]]] = {
    ("m16n8k16", 16): lambda low, j, s: (s, 4 * j + (0 if low else 16)),
    ("m16n8k32", 16): lambda low, j, s: (2 * s + j // 4, 4 * (j % 4) + (0 if low else 16)),
    ("m16n8k16", 32): lambda low, j, s: (2 * s + j // 4, 4 * (j % 4) + (0 if low else 16)),
    ("m16n8k8", 32): lambda low, j, s: (s, 4 * j + (0 if low else 16)),
    ("m16n8k32", 8): lambda low, j, s: (2 * s + (0 if low else 1), 4 * j),
    ("m16n8k64", 8): lambda low, j, s: (j // 8 * 2 + (0 if low else 1), 4 * (j % 8)),
    ("m16n8k64", 4): lambda low, j, s: (2 * s + (0 if low else 1), 4 * j),
    ("m16n8k128", 4): lambda low, j, s: (j // 8 * 2 + (0 if low else 1), 4 * (j % 8)),
}


class Case(NamedTuple):
    """An instruction: its words, and what its operands are."""

    use: Use
    modifiers: tuple[str, ...]
    constants: dict[str, int]

    @property
    def shape(self) -> str:
        return self.use.words["shape"]

    def kind(self, matrix: str) -> str:
        return self.use.words[f"{matrix}type"] or "f16"

    @property
    def tight(self) -> bool:
        return self.use.has("kind::mxf4 kind::mxf4nvf4")

    def container(self, matrix: str) -> int:
        kind = self.kind(matrix)
        if kind in FLOATS:
            return (
                4
                if self.tight and matrix in "ab"
                else {"tf32": 32}.get(kind, max(8, (1 + sum(FLOATS[kind]) + 7) // 8 * 8))
            )
        return {"s32": 32, "b1": 1}.get(kind) or int(kind[1:])


def cases(form: Form, chance: random.Random, most: int | None = None) -> list[Case]:
    """Uses of a form: all, or so many that are drawn."""
    head = form.syntax.partition(" ")[0].split(".", 1)[1]
    names = [part.strip("{.}") for part in head.replace("{", ".{").replace("..", ".").split(".") if part.strip("{.}")]
    by_name = {slot.name: slot for slot in (*form.pattern.slots, *form.pattern.types)}
    choices = [[*by_name[n].words, *([] if by_name[n].required else [""])] for n in names]
    found = []
    every = list(itertools.product(*choices))
    chance.shuffle(every)
    for words in every:
        modifiers = tuple(w for w in words if w)
        uses = candidates(form.mnemonic, modifiers)
        use = None if uses is None or isinstance(uses, Misfit) else next((u for u in uses if u.form is form), None)
        if use is None:
            continue
        constants = {}
        for e in use.wanted:
            for p in (e.parameter, *(x.parameter for x in e.parts)):
                if p.high is not None:
                    constants[p.name] = chance.randrange(p.low or 0, p.high + 1, p.multiple)
        if "f" in constants and use.words["shape"] == "m16n8k32" and use.words["atype"] == "f16":
            constants["f"] %= 2  # ptxas takes 3, too
        found.append(Case(use, modifiers, constants))
        if len(found) == most:
            break
    return found


def kernel(case: Case) -> Kernel:
    lengths = {e.parameter.name: (e.length, WIDTHS[e.type]) for e in case.use.wanted}
    ins = {
        name: (count, 64 if case.kind(name) == "f64" else 32) for name, (count, _) in lengths.items() if name in "abc"
    }
    outs = {"d": (lengths["d"][0], 64 if case.kind("d") == "f64" else 32)}
    text = f"mma.{'.'.join(case.modifiers)} {{d}}, {{a}}, {{b}}, {{c}}"
    n = case.constants
    if "e" in lengths:
        ins["E"] = (1, 32)
        text += f", {{E}}, {n['f']}"
    if "scale_a_data" in lengths:
        ins["U"] = ins["V"] = (1, 32)
        text += f", {{U}}, {{{{{n['byte_id_a']}, {n['thread_id_a']}}}}}, {{V}}, {{{{{n['byte_id_b']}, {n['thread_id_b']}}}}}"
    return Kernel(text + ";", ins, outs, target="sm_120a")


def drawn(kind: str, shape: tuple[int, ...], chance: np.random.Generator) -> Any:
    """Elements as bits: numbers of about one size, small integers, or any bits."""
    width = (
        32 if kind == "tf32" else 1 + sum(FLOATS[kind]) if kind in FLOATS else 32 if kind == "s32" else int(kind[1:])
    )
    way = chance.integers(0, 4)
    if kind in ("f16", "f32", "f64", "tf32", "bf16") and way < 3:
        values = chance.normal(size=shape) if way else chance.integers(-4, 5, shape).astype(float)
        values = values * (chance.random(shape) < 0.8)
        if kind == "bf16":
            return values.astype(np.float32).view(np.uint32).astype(np.uint64) >> 16
        numbers = values.astype({"f16": np.float16, "f64": np.float64}.get(kind, np.float32))
        return numbers.view(f"u{numbers.itemsize}").astype(np.uint64)
    return chance.integers(0, 1 << min(width, 63), shape, np.uint64) * np.uint64(2 if width == 64 else 1)


def fragment_of_c(case: Case, kind: str) -> Callable[[int, int], tuple[int, int]]:
    if case.shape == "m8n8k4" and case.kind("a") == "f16":
        if kind == "f16":
            return lambda lane, i: (8 * (lane // 4 % 4) + (lane % 4 if lane < 16 else lane % 4 + 4), i)
        return lambda lane, i: (
            8 * (lane // 4 % 4) + (lane & 1) + (i & 2) + (0 if lane < 16 else 4),
            (i & 4) + (lane & 2) + (i & 1),
        )
    return lambda lane, i: (lane // 4 if i < 2 else lane // 4 + 8, lane % 4 * 2 + (i & 1))


def place(case: Case, matrix: str, lane: int, i: int) -> tuple[int, int]:
    """Row and column of an element of A, B, C or D; of a sparse A those of the stored one."""
    g, t, shape, bits = lane >> 2, lane % 4, case.shape, case.container(matrix)
    if matrix in "cd":
        return fragment_of_c(case, case.kind(matrix))(lane, i)
    if (
        shape == "m8n8k4" and case.kind("a") == "f16"
    ):  # four products: rows of A, and columns of B, of each behind each other
        by_row = case.use.words[f"{matrix}layout"] == "row"
        number, side = 8 * (lane // 4 % 4), 0 if lane < 16 else 4
        if matrix == "a":
            return (number + lane % 4 + side, i) if by_row else (number + i % 4 + side, lane % 4)
        return (lane % 4, number + i + side) if by_row else (i, number + lane % 4 + side)
    if matrix == "b":
        return B[shape, bits](t, i), g
    return A[shape, bits](g, t, i)


def compare(case: Case, count: int, seed: int) -> int:
    """Compares random inputs; gives how many sums."""
    chance = np.random.default_rng(seed)
    m, n, k = (int(x) for x in case.shape.replace("m", "").replace("n", " ").replace("k", " ").split())
    built = kernel(case)
    given: dict[str, Any] = {}
    elements: dict[str, Any] = {}
    for name, (registers, width) in built.ins.items():
        if name not in "abc":
            continue
        kind, bits = case.kind(name), case.container(name)
        raw = np.stack([drawn(kind, (32, registers * width // bits), chance) for _ in range(count)])
        elements[name] = raw
        shift = 2 if kind == "e2m1" and bits == 8 else 0
        per = width // bits
        packed = np.zeros((count, 32, registers), np.uint64)
        for i in range(raw.shape[2]):
            packed[:, :, i // per] |= raw[:, :, i] << np.uint64(shift + i % per * bits)
        given[name] = packed.transpose(0, 2, 1).astype(f"u{width // 8}")
    if "E" in built.ins:
        given["E"] = metadata(case, k, count, chance)
    for name in "UV":
        if name in built.ins:
            scales = chance.integers(0, 256, (count, 1, 32, 4), np.uint8)
            if case.use.words["stype"] == "ue8m0":
                scales = chance.integers(120, 135, (count, 1, 32, 4)).astype(np.uint8)
            given[name] = scales.view(np.uint32)[..., 0]
    found = built(**given)["d"]
    wanted = reference(case, (m, n, k), elements, given)
    assert (found == wanted).all(), (case.modifiers, case.constants)
    return count * m * n


def metadata(case: Case, k: int, count: int, chance: np.random.Generator) -> Any:
    ordered = case.use.has("sp::ordered_metadata")
    pairs = [(a, b) for a in range(4) for b in range(4) if (a < b if ordered else a != b)]
    if case.kind("a") == "tf32":
        pairs = [(0, 1), (2, 3)]
    chosen = chance.integers(0, len(pairs), (count, 1, 32, 8))
    nibbles = np.array([a | b << 2 for a, b in pairs], np.uint32)[chosen]
    return (nibbles << np.arange(0, 32, 4, dtype=np.uint32)).sum(3).astype(np.uint32)


def reference(case: Case, sizes: tuple[int, int, int], elements: dict[str, Any], given: dict[str, Any]) -> Any:
    """Registers of D of many products: (product, register, lane)."""
    m, n, k = sizes
    at_once = 4 if case.shape == "m8n8k4" and case.kind("a") == "f16" else 1
    count = len(elements["c"])
    shapes = {"a": (m * at_once, k), "b": (k, n * at_once), "c": (m * at_once, n)}
    matrices = {x: np.zeros((count, *shape)) for x, shape in shapes.items()}
    product = np.arange(count)[:, None, None]
    for x, raw in elements.items():
        rows, columns = places(case, x, raw.shape[2])
        if x == "a" and "E" in given:
            columns = sparse_columns(case, columns, rows, given["E"][:, 0])
        matrices[x][product, rows, columns] = numbers(case.kind(x), raw)
    if "U" in given:
        scale(case, k, matrices, given)
    # Of four products at once each has its own rows of A, and columns of B.
    parts = [(slice(m * i, m * i + m), slice(n * i, n * i + n)) for i in range(at_once)]
    sums_ = np.concatenate(
        [total(case, matrices["a"][:, r], matrices["b"][:, :, c], matrices["c"][:, r]) for r, c in parts], 1
    )
    registers, width = kernel_out(case)
    bits = 32 if case.kind("d") == "s32" else case.container("d")
    held = sums_[product, *places(case, "d", registers * width // bits)]
    found = np.zeros((count, registers, 32), np.uint64)
    for i in range(held.shape[2]):
        found[:, i * bits // width] |= held[:, :, i] << np.uint64(i * bits % width)
    return found


def places(case: Case, matrix: str, count: int) -> tuple[Any, Any]:
    """Rows and columns of the elements of all lanes (lane, element); of a sparse A the first columns of their chunks."""
    sparse = matrix == "a" and any(e.parameter.name == "e" for e in case.use.wanted)
    found = np.array(
        [
            [
                SPARSE[case.shape, case.container("a")](lane >> 2, lane % 4, i)
                if sparse
                else place(case, matrix, lane, i)
                for i in range(count)
            ]
            for lane in range(32)
        ]
    )
    return found[..., 0], found[..., 1]


def kernel_out(case: Case) -> tuple[int, int]:
    length = next(e.length for e in case.use.wanted if e.parameter.name == "d")
    return length, 64 if case.kind("d") == "f64" else 32


def total(case: Case, a: Any, b: Any, c: Any) -> Any:
    if case.kind("a") in FLOATS:
        return sums(a, b, c, case.kind("d"), case.use.words["rnd"] or "rn")
    operation = "" if case.kind("a") != "b1" else "and" if case.use.has("and") else "xor"
    return whole_sums(a, b, c, operation, saturates=bool(case.use.words["satfinite"]))


def sparse_columns(case: Case, first: Any, rows: Any, words: Any) -> Any:
    """Where stored elements of a sparse A belong: columns (product, lane, element); `words` is the metadata (product, lane)."""
    shape, bits = case.shape, case.container("a")
    wide = {32: 2, 16: 4, 8: 4, 4: 8}[bits]
    in_register = np.arange(rows.shape[1]) % (32 // bits)
    chunks = first // wide + in_register // (wide // 2)
    selector = case.constants["f"]
    told = np.array(
        [
            [METADATA[shape, bits](row < 8, chunk, selector) for row, chunk in zip(*both, strict=True)]
            for both in zip(rows.tolist(), chunks.tolist(), strict=True)
        ]
    )
    nibbles = words[:, 4 * (rows % 8) + told[..., 0]] >> told[..., 1].astype(np.uint32) & 15
    if bits == 32:
        assert np.isin(nibbles, (0b0100, 0b1110)).all()
        return wide * chunks + (nibbles == 0b1110)
    nth = in_register % (wide // 2)
    if bits == 4:
        return wide * chunks + 2 * (nibbles >> (2 * (nth // 2)).astype(np.uint32) & 3) + nth % 2
    return wide * chunks + (nibbles >> (2 * nth).astype(np.uint32) & 3)


def scale(case: Case, k: int, matrices: dict[str, Any], given: dict[str, Any]) -> None:
    """Section 9.7.14.3."""
    size = int((case.use.words["scale_vec_size"] or ("scale_vec::2X" if case.tight else "scale_vec::1X"))[-2])
    n, kind = case.constants, case.use.words["stype"]

    def factors(words: Any, first: int) -> Any:
        """Of each row that a word is of, one for each element along K."""
        chunks = (8 * (first + np.arange(k) * size // k)).astype(np.uint32)
        return numbers(kind, words[..., None] >> chunks & 255)

    rows, columns = np.arange(16), np.arange(8)  # the lower one of the pair has the upper row
    with np.errstate(invalid="ignore"):
        matrices["a"] *= factors(given["U"][:, 0, 4 * (rows % 8) + 2 * n["thread_id_a"] + rows // 8], n["byte_id_a"])
        of_b = factors(given["V"][:, 0, 4 * columns + n["thread_id_b"]], n["byte_id_b"])
        matrices["b"] *= of_b.swapaxes(1, 2)


FORMS = [form for form in mma.FORMS if form.run is not None]


@pytest.mark.part(2)
@pytest.mark.parametrize("number", range(len(FORMS)))
def test_products_are_those_of_the_manual(number: int) -> None:
    chance = random.Random(number)
    assert sum(compare(case, 2, number) for case in cases(FORMS[number], chance, 2)) >= 2 * 64


@pytest.mark.campaign
@pytest.mark.parametrize("number", range(len(FORMS)))
def test_all_products_are_those_of_the_manual(number: int) -> None:
    for case in cases(FORMS[number], random.Random(number)):
        compare(case, share(1000), number + 1)


@needs_ptxas
def test_ptxas_takes_what_is_tested() -> None:
    for number, form in enumerate(FORMS):
        for case in cases(form, random.Random(number), 1):
            text = kernel(case).text
            assert not ptxas.check_module(text), text


def halves(chance: np.random.Generator, registers: int, *, small: bool) -> Any:
    numbers = chance.integers(-3, 4, (1, registers, 32, 2)) if small else chance.normal(size=(1, registers, 32, 2))
    return numbers.astype(np.float16).view(np.uint32)[..., 0]


def single(words: str) -> Kernel:
    form = next(f for f in FORMS if any(set(words.split(".")) == set(c.modifiers) for c in cases(f, random.Random(0))))
    return kernel(next(c for c in cases(form, random.Random(0)) if set(c.modifiers) == set(words.split("."))))


@pytest.mark.parametrize("small", [True, False])
def test_an_explored_product_is_that_of_a_run_where_every_order_gives_it(small: bool) -> None:
    chance = np.random.default_rng(4)
    built = single("sync.aligned.m16n8k8.row.col.f16.f16.f16.f16")
    given = {
        "a": halves(chance, 2, small=small),
        "b": halves(chance, 1, small=small),
        "c": halves(chance, 2, small=small),
    }
    explored, run = built.explored(open_=0x5555_5555, **given)["d"], built(**given)["d"]
    assert (explored == run).all() == small
    assert (explored == 0x5555_5555).any() != small


def test_an_explored_product_of_integers_is_that_of_a_run() -> None:
    chance = np.random.default_rng(5)
    built = single("sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32")
    given = {x: chance.integers(0, 1 << 32, (1, n, 32), np.uint32) for x, n in (("a", 1), ("b", 1), ("c", 2))}
    given["c"][0, :, ::2] = 0x7FFF_FFF0
    assert (built.explored(**given)["d"] == built(**given)["d"]).all()


def test_metadata_that_may_not_be_is_told() -> None:
    built = single("sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
    memory = np.zeros((1, built.size), np.uint8)
    with pytest.raises(KernelError) as caught:
        built.run(memory, arrays=False)
    assert caught.value.kind == "bad-metadata"
    with pytest.raises(AssertionError, match="leaves open"):
        built.run(memory, arrays=True)


@pytest.mark.parametrize(("size", "verdict"), [(1, "ok"), (0.1, "undefined")])
def test_an_answer_that_depends_on_the_order_of_a_sum_is_told(size: float, verdict: str) -> None:
    """A matrix of ones, or of tenths, times itself: the sum of 8 ones is 8 in any order."""
    one = "0f3F800000"
    bits = int(np.float16(size).view(np.uint16)) * 0x10001
    text = f"""
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{{
.reg .b32 %t, %a; .reg .f32 %d<4>; .reg .b64 %out; .reg .pred %p;
mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; mov.b32 %a, {bits};
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{%d0,%d1,%d2,%d3}}, {{%a,%a}}, {{%a}}, {{{one},{one},{one},{one}}};
setp.eq.u32 %p, %t, 0; @%p st.global.f32 [%out], %d0;
ret;
}}
"""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 32, "params": {"out": {"type": "u32", "elements": 1}},
        "check": {"forall": f"out[0] == {0x41100000 if size == 1 else 0x3F8A3C5A}"},
    }  # fmt: skip
    result = ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert result.verdict == verdict, result


def test_what_ptxas_alone_takes_leaves_others_as_they_are() -> None:
    """`.m16n8k16` of `.kind::f8f6f4` with one register for B, as a form of the manual would have it, is executed; with more,
    which ptxas takes, it has no meaning."""
    (form,) = [
        f
        for f in mma.FORMS
        if f.run is not None and f.pattern.by_word.get("kind::f8f6f4") and "sp" not in f.syntax[4:6]
    ]
    case = next(c for c in cases(form, random.Random(0)) if c.shape == "m16n8k16")
    assert compare(case, 1, 0) == 128
