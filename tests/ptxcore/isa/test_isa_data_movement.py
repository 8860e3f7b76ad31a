"""Which accesses, copies and lookups there are: rules told independently of the declarations, and both modes."""

from __future__ import annotations

import itertools

import pytest

from ptxcore.check.module import check
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates
from ptxcore.syntax.reader import read_module

BITS = {"b8": 8, "u16": 16, "f32": 32, "s64": 64, "b128": 128}
SPACES = ("", "const", "global", "local", "param", "shared", "shared::cluster")
HEADER = """.version 9.0
.target sm_100a
.address_size 64
.global .texref T;
// .global .samplerref M;
.global .surfref U;
.shared .align 16 .b8 S[64];
.entry k() {
.reg .pred p; .reg .b16 h<4>; .reg .b32 r<8>; .reg .b64 d<4>; .reg .f32 f<4>;
"""


def is_declared(statement: str, *, manual: bool = False) -> bool:
    opcode, *modifiers = statement.split(".")
    found = candidates(opcode, tuple(m for m in modifiers if m), manual=manual)
    return found is not None and not isinstance(found, Misfit)


def is_accepted(statement: str, *, target: str = "sm_100a") -> bool:
    header = HEADER.replace("sm_100a", target)
    if "[M]" in statement:
        header = header.replace(target, f"{target}, texmode_independent").replace("// ", "")
    module, faults = read_module(f"{header}{statement}\nret; }}\n")
    return not [*faults, *check(module)]


@pytest.mark.parametrize(("count", "name", "space"), [*itertools.product((2, 4, 8), BITS, SPACES)])
def test_a_vector_has_128_bits_at_most_and_256_in_global_space(count: int, name: str, space: str) -> None:
    size = count * BITS[name]
    fits = size <= 128 or (size == 256 and name != "b128" and space in ("", "global"))
    if count == 8 and BITS[name] < 32:
        fits = False
    assert is_declared(f"ld.{space}.v{count}.{name}") is fits


@pytest.mark.parametrize("space", SPACES)
def test_ordered_accesses_go_to_global_and_shared_memory(space: str) -> None:
    ordered = space in ("", "global") or space.startswith("shared")
    assert is_declared(f"ld.acquire.gpu.{space}.u32") is ordered
    assert is_declared(f"st.release.gpu.{space}.u32") is ordered
    assert is_declared(f"st.mmio.relaxed.sys.{space}.u32") is (space in ("", "global"))


@pytest.mark.parametrize(
    ("statement", "ptxas", "manual"),
    [
        ("ld.cg.L2::evict_last.v4.u64", True, False),
        ("ld.volatile.L2::evict_last.v4.u64", True, False),
        ("st.v8.b16", True, False),
        ("prefetch.L2::evict_last", True, False),
        ("mapa.s32", True, False),
        ("multimem.red.add.acc::f32.f16x2", True, False),
        ("multimem.red.min.v2.f16x2", True, False),
        ("st.async.shared::cluster.u32", False, True),
        ("st.async.weak.cluster.shared::cluster.mbarrier::complete_tx::bytes.u32", False, True),
        ("st.async.release.mmio.gpu.u32", True, False),
        ("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group", True, False),
        ("sust.p.a1d.b32.trap", True, False),
        ("txq.memory_layout.b32", True, False),
    ],
)
def test_the_modes_differ_where_ptxas_and_the_manual_do(statement: str, ptxas: bool, manual: bool) -> None:
    assert is_declared(statement) is ptxas
    assert is_declared(statement, manual=True) is manual


@pytest.mark.parametrize(
    ("copy", "declared"),
    [
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", True),
        ("cp.async.bulk.mbarrier::complete_tx::bytes.shared::cluster.global", True),
        ("cp.async.bulk.global.shared::cluster.mbarrier::complete_tx::bytes", False),
        ("cp.async.bulk.shared::cta.shared::cluster.mbarrier::complete_tx::bytes", False),
        ("cp.bulk.async.shared::cluster.global.mbarrier::complete_tx::bytes", False),
    ],
)
def test_the_destination_stands_before_the_source(copy: str, declared: bool) -> None:
    assert is_declared(copy) is declared


@pytest.mark.parametrize(
    ("statement", "accepted"),
    [
        ("cp.async.ca.shared.global [S], [d1], 8, 8;", True),
        ("cp.async.ca.shared.global [S], [d1], 8, 9;", False),
        ("cp.async.ca.shared.global [S], [d1], 12;", False),
        ("cp.async.cg.shared.global [S], [d1], 8;", False),
        ("cp.async.ca.shared.global [S], [d1], 8, !p;", True),
        ("createpolicy.range.L2::evict_last.b64 d0, [d1], 128, 64;", False),
        ("ld.v2.u32 {r0, _}, [d0];", True),
        ("ld.v2.u32 {_, _}, [d0];", False),
        ("st.v2.u32 [d0], {r0, _};", False),
        ("st.v4.u64 [d0], {d1, _, d2, _};", True),
        ("ld.global.u32 r0, [d0].unified;", True),
        ("st.global.u32 [d0].unified, r0;", False),
        ("tensormap.replace.tile.swizzle_mode.b1024.b32 [d0], 4;", False),
        ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [d0, {r0, r1, r2, r3, r4}];", True),
        ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [d0, {r0, r1}];", False),
        ("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [d0, {r0, r1, r2, r3}], {h0, h1};", True),
        ("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [d0, {r0, r1, r2, r3}], {h0};", False),
        ("tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [T, {f0, f1}], {r0, r1}, f2;", True),
        ("tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [T, {f0, f1}], f2;", True),
        ("tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [d0, {f0, f1, f2, f3}];", True),
        ("tex.3d.v4.f32.f32 {f0, f1, f2, f3}, [T, {f0, f1, f2}];", False),
        ("tex.3d.v4.f32.f32 {f0, f1, f2, f3}, [T, {f0, f1, f2, f3}], f2;", False),
        ("tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [T, {f0, f1}];", False),
        ("tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [T, {r0, f1}];", True),
        ("tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [U, {f0}];", False),
        ("txq.width.b32 r0, [M];", False),
        ("suld.b.2d.b32.trap r0, [U, {r1}];", False),
        ("suld.b.2d.b32.trap r0, [d0, {r1, r2}];", True),
    ],
)
def test_operands_are_what_the_instruction_takes(statement: str, accepted: bool) -> None:
    assert is_accepted(statement) is accepted


def test_a_value_that_came_later_needs_its_target() -> None:
    statement = "tensormap.replace.tile.swizzle_mode.b1024.b32 [d0], 4;"
    assert is_accepted(statement, target="sm_103a")
    assert not is_accepted(statement, target="sm_100a")
