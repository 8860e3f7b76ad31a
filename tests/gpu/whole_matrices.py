"""Whole kernels of section 9.7.14: loads, stores and moves of matrices, and products of a warp."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import reference
import rounded_once
import test_matrix_moves as moves
import test_mma
import test_wmma
from gpu.whole import Whole
from matrices import SHARED, Kernel

from ptxcore.isa import mma

#: What is added to floating-point products of small factors: far from what cancels it.
ADDENDS = {"f16": (600, 900), "f32": (30000, 60000), "f64": (30000, 60000)}


def exact(kind: str, low: int, high: int, shape: tuple[int, ...], chance: np.random.Generator) -> Any:
    """Bits of integers from `low` to `high`, but 0, in a floating-point type."""
    values = chance.integers(low, high + 1, shape)
    values[values == 0] = high
    table = {value: encoded(kind, value) for value in np.unique(values).tolist()}
    return np.vectorize(table.__getitem__, otypes=[np.uint64])(values)


def encoded(kind: str, value: int) -> int:
    """The bits of an integer that a type has exactly."""
    bits = rounded_once.rounded(Fraction(value), kind, "rn")
    return bits << 13 if kind == "tf32" else bits


def elements(kind: str, added: bool, shape: tuple[int, ...], chance: np.random.Generator) -> Any:
    """Bits of factors, or of what is added."""
    if kind not in rounded_once.FLOATS:
        width = {"s32": 32, "b1": 1}.get(kind) or int(kind[1:])
        return chance.integers(0, 1 << width, shape, np.uint64)
    return exact(kind, *(ADDENDS[kind] if added else (-2, 2)), shape, chance)


def laid(kernel: Kernel, given: dict[str, Any]) -> bytes:
    """The inputs of one warp, as such a kernel finds them."""
    memory = np.zeros(kernel.size, np.uint8)
    for name, array in given.items():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        memory[kernel.places[name] : kernel.places[name] + raw.size] = raw
    return memory.tobytes()


def of_kernel(name: str, kernel: Kernel, given: dict[str, Any]) -> Whole:
    return Whole(name, kernel.text, 1, 32, (laid(kernel, given), bytes(kernel.out_size)))


def moved() -> Iterator[Whole]:
    """`ldmatrix`, `stmatrix`, `movmatrix`."""
    chance = np.random.default_rng(14)
    for name, stores in (*((x, False) for x in moves.LOADS), *((x, True) for x in moves.STORES)):
        rows = (chance.permutation(SHARED // 16)[:32] * 16).astype(np.uint32)
        given: dict[str, Any] = {"m": chance.integers(0, 256, SHARED, np.uint8), "p": rows}
        if stores:
            given["r"] = chance.integers(0, 1 << 32, (moves.registers_of(name), 32), np.uint32)
        kernel = moves.store_kernel(name) if stores else moves.load_kernel(name)
        yield of_kernel(f"{'stmatrix' if stores else 'ldmatrix'} {name}", kernel, given)
    yield of_kernel("movmatrix", moves.move_kernel(), {"A": chance.integers(0, 1 << 32, (1, 32), np.uint32)})


#: Choices of modifiers of each form of `mma`.
EACH = 3


def multiplied(each: int = EACH) -> Iterator[Whole]:
    """`mma` and `mma.sp`."""
    for number, form in enumerate(f for f in reference.all_forms() if f in mma.FORMS):
        for case in test_mma.cases(form, random.Random(number), each):
            yield _product(case, np.random.default_rng(number))


def _product(case: test_mma.Case, chance: np.random.Generator) -> Whole:
    kernel = test_mma.kernel(case)
    given: dict[str, Any] = {}
    for name in "abc":
        registers, width = kernel.ins[name]
        kind, bits = case.kind(name), case.container(name)
        raw = elements(kind, name == "c", (32, registers * width // bits), chance)
        shift = 2 if kind == "e2m1" and bits == 8 else 0
        packed = np.zeros((32, registers), np.uint64)
        for i in range(raw.shape[1]):
            packed[:, i * bits // width] |= raw[:, i] << np.uint64(shift + i * bits % width)
        given[name] = packed.T.astype(f"u{width // 8}")
    if "E" in kernel.ins:
        k = int(case.shape.partition("k")[2])
        given["E"] = test_mma.metadata(case, k, 1, chance)
    for name in "UV":
        if name in kernel.ins:
            one = [encoded(case.use.words["stype"], value) for value in (1, 2)]
            given[name] = chance.choice(np.array(one, np.uint8), (32, 4)).view(np.uint32)
    return of_kernel(f"mma.{'.'.join(case.modifiers)}", kernel, given)


#: Written as before PTX ISA 6.3, without `.aligned`, and as before 6.5, with `.satfinite` of floating-point.
OLD = (
    test_wmma.Case("m16n16k16", "f16", "f32", "f32", "rccr"),
    test_wmma.Case("m16n16k16", "f16", "f16", "f16", "rcrr", words="satfinite"),
)


def _as_of_old(kernel: test_wmma.Product, words: str) -> str:
    version = "6.4" if words else "6.2"
    text = kernel.text.replace(".version 9.0", f".version {version}").replace(".target sm_90", ".target sm_70")
    if words:
        return text.replace(kernel.instruction(), f"{kernel.instruction()}.{words}")
    return text.replace(".sync.aligned.", ".sync.")


def of_fragments() -> Iterator[Whole]:
    """`wmma`: from memory to memory, as which thread has which element is nobody's business."""
    every = [*((case, False) for case in test_wmma.CASES), *((case, True) for case in OLD)]
    for number, (case, old) in enumerate(every):
        chance = np.random.default_rng(number)
        given: dict[str, Any] = {}
        for matrix in "abc":
            raw = elements(test_wmma.kind_of(case, matrix), matrix == "c", test_wmma.sizes(case)[matrix], chance)
            given[matrix] = test_wmma.in_memory(case, matrix, raw)
        kernel = test_wmma.Product(case._replace(words="") if old else case)
        if old:
            kernel.text = _as_of_old(kernel, case.words)
        yield of_kernel(f"wmma {case}{' of old' * old}", kernel, given)


def probes() -> Iterator[Whole]:
    yield from moved()
    yield from multiplied()
    yield from of_fragments()
