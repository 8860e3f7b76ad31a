"""Fragments of matrices: how many registers of which type, which selectors (sections 9.7.14 to 9.7.16)."""

from __future__ import annotations

from typing import Any

import pytest

from ptxcore.check.constants import check_values
from ptxcore.check.mismatch import OperandMismatch
from ptxcore.check.operands import arrange, judge
from ptxcore.isa.form import Use
from ptxcore.isa.fragments import elements, registers, shape
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates

P = "pred"


def vector(kind: str, count: int) -> tuple[str, ...]:
    return ("{", *([kind] * count))


def judged(instruction: str, *kinds: Any, manual: bool = False) -> Use | OperandMismatch | Misfit:
    opcode, *modifiers = instruction.split(".")
    uses = candidates(opcode, tuple(modifiers), manual=manual)
    assert uses is not None
    return uses if isinstance(uses, Misfit) else judge(uses, kinds, manual=manual)


def fits(instruction: str, *kinds: Any, manual: bool = False) -> bool:
    return isinstance(judged(instruction, *kinds, manual=manual), Use)


def test_a_shape_counts_the_elements_of_each_matrix() -> None:
    assert shape("m16n8k32") == (16, 8, 32)
    assert [elements(matrix, "m16n8k32") for matrix in "abcd"] == [512, 256, 128, 128]
    assert registers(512, "e4m3") == 4
    assert registers(512, "e2m1", bits=4) == 2
    assert registers(64, "f64") == 2
    assert registers(64 * 256, "f32", threads=128) == 128


@pytest.mark.parametrize(
    ("instruction", "fragments"),
    [
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16", "f32*8 b32*2 f16x2*2 f16x2*4"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f32*4 b32*4 b32*2 f32*4"),
        ("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "f64*4 f64*8 f64*4 f64*4"),
        ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "s32*4 b32*4 b32*2 s32*4"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", "f16x2*4 f16x2*8 f16x2*8 f32*8"),
        ("wmma.mma.sync.aligned.row.col.m8n32k16.s32.u8.u8.s32", "s32*8 u32*1 u32*4 s32*8"),
        ("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64", "f64*2 f64*1 f64*1 f64*2"),
    ],
)
def test_fragments_have_one_length_and_are_vectors(instruction: str, fragments: str) -> None:
    parts = [(kind, int(count)) for kind, _, count in (part.partition("*") for part in fragments.split())]
    kinds = [vector(kind, count) for kind, count in parts]
    assert fits(instruction, *kinds)
    for i, (kind, count) in enumerate(parts):
        for wrong in (vector(kind, count + 1), vector("b16", count), kind):
            assert not fits(instruction, *kinds[:i], wrong, *kinds[i + 1 :])


@pytest.mark.parametrize(
    ("name", "operands", "last"),
    [
        ("m16n8k16.row.col.f16.f16.f16.f16", (2, 2, 2, 2), 3),
        ("m16n8k32.row.col.f32.bf16.bf16.f32", (4, 4, 4, 4), 1),
        ("m16n8k64.row.col.s32.s8.s8.s32", (4, 4, 4, 4), 0),
        ("m16n8k64.row.col.s32.s4.s4.s32", (4, 2, 2, 4), 1),
    ],
)
def test_the_sparsity_selector_names_a_group_of_threads(name: str, operands: tuple[int, ...], last: int) -> None:
    kinds = (*(vector("b32", n) for n in operands), "b32", "int")
    use = judged(f"mma.sp.sync.aligned.{name}", *kinds)
    assert isinstance(use, Use)
    for value in range(5):
        mismatch = check_values(use, arrange(use, 6) or (), [*[None] * 5, value])
        assert (mismatch is None) is (value <= last)


@pytest.mark.parametrize(
    ("kind", "scale", "byte", "good"),
    [("mxf4", "scale_vec::2X.ue8m0", 2, True), ("mxf4", "scale_vec::2X.ue8m0", 1, False),
     ("mxf4nvf4", "scale_vec::4X.ue4m3", 0, True), ("mxf4nvf4", "scale_vec::4X.ue4m3", 2, False)],
)  # fmt: skip
def test_a_scale_selector_names_a_byte_that_begins_a_group(kind: str, scale: str, byte: int, good: bool) -> None:
    vectors, stype = scale.split(".")
    instruction = f"mma.sync.aligned.m16n8k64.row.col.kind::{kind}.block_scale.{vectors}.f32.e2m1.e2m1.f32.{stype}"
    chosen = ("{", "int", "int")
    use = judged(instruction, *(vector("b32", n) for n in (4, 4, 2, 4)), "b32", chosen, "b32", chosen)
    assert isinstance(use, Use)
    mismatch = check_values(use, arrange(use, 8) or (), [*[None] * 5, (byte, 1), None, (0, 3)])
    assert (mismatch is None) is good
    assert good or (mismatch is not None and mismatch.path == (5, 0))


def test_a_of_a_warpgroup_lies_in_registers_or_in_shared_memory() -> None:
    instruction = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
    signs = (P, "int", "int")
    assert fits(instruction, vector("f32", 128), "u64", "b64", *signs, "int", "int")
    assert fits(instruction, vector("f32", 128), vector("b32", 4), "b64", *signs, "int")
    assert not fits(instruction, vector("f32", 128), vector("b32", 4), "b64", *signs, "int", "int")
    assert not fits(instruction, ("{", "_", *["f32"] * 127), "u64", "b64", *signs, "int", "int")


def test_tensor_memory_is_addressed_by_untyped_registers_of_32_bits() -> None:
    for base, good in (("b32", True), ("b64", False), ("f32", False), (("var", "shared", "b8"), False)):
        assert fits("tcgen05.mma.cta_group::1.kind::f16", ("[", base), "b64", "b64", "b32", P) is good


def test_the_mask_of_lanes_has_a_bit_for_each_lane_of_the_group() -> None:
    for group, words in ((1, 4), (2, 8)):
        kinds = (("[", "b32"), "b64", "b64", "b32", vector("b32", words), P)
        assert fits(f"tcgen05.mma.cta_group::{group}.kind::tf32", *kinds)
        assert not fits(f"tcgen05.mma.cta_group::{3 - group}.kind::tf32", *kinds)


def test_only_ptxas_lets_aligned_be_left_out() -> None:
    assert isinstance(candidates("wgmma", ("fence", "sync")), tuple)
    assert isinstance(candidates("wgmma", ("fence", "sync"), manual=True), Misfit)


@pytest.mark.parametrize(("elements_", "good"), [("b32 f32", True), ("u32 s32", True), ("f32 u32", False),
                                                  ("b32 b64", False), ("b32 int", True), ("f16x2 f16x2", True)])  # fmt: skip
def test_the_elements_of_a_vector_make_one_type(elements_: str, good: bool) -> None:
    kinds = (("[", "b32"), ("{", *elements_.split()))
    assert fits("tcgen05.st.sync.aligned.32x32b.x2.b32", *kinds) is good
