"""What exploring a thread yields for accesses: vectors, packed and wide types, floating-point numbers, several addresses."""

from __future__ import annotations

from typing import Any

import pytest
from exploring import M, S, X, Y, effects, explored, returned, said

from ptxcore.diagnostics import InputError
from ptxcore.values.floats import fadd
from ptxcore.values.terms import concat, evaluate, extract

GLOBAL = {"space": "global"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ld.v2.u32 {%r0, %r1}, [x];", [{"kind": "load", "group": 0, "address": X + i} for i in (0, 4)]),
        ("st.v2.u64 [x+16], {1, 2};",
         [{"kind": "store", "group": 0, "width": 64, "address": X + i} for i in (16, 24)]),
        ("ld.relaxed.gpu.v2.b8 {%r0, %r1}, [x];",
         [{"kind": "load", "group": 0, "width": 8, "semantics": "relaxed", "scope": "gpu", "address": X + i} for i in (0, 1)]),
        ("ld.u32 %r0, x[3];", [{"kind": "load", "address": X + 12}]),
        ("ld.b128 %q, [x];", [{"kind": "load", "width": 128, "address": X}]),
        ("ld.global.nc.f64 %d, [x];", [{"kind": "load", "width": 64, "proxy": "texture", "address": X}]),
        ("ldu.global.f32 %f, [x];", [{"kind": "load", "address": X, "fixed": True}]),
        ("ld.volatile.f32 %f, [x];", [{"kind": "load", "semantics": "relaxed", "scope": "sys", "address": X}]),
        # Elements of 256 bits that are dropped are neither read nor written (sections 9.7.9.8 and 9.7.9.11).
        ("ld.v8.b32 {_, %r1, _, _, _, _, _, %r7}, [x];",
         [{"kind": "load", "group": 0, "address": X + 4}, {"kind": "load", "group": 0, "address": X + 28}]),
        ("st.v8.b32 [x], {1, _, _, _, _, _, _, 2};",
         [{"kind": "store", "group": 0, "address": X}, {"kind": "store", "group": 0, "address": X + 28}]),
        ("discard.global.L2 [x], 128;", [{"kind": "discard", "space": "generic", "address": X, "size": 128}]),
        ("st.bulk.shared::cta [s], 16, 0;", [{"kind": "clear", "space": "shared", "width": 8, "address": S, "size": 16}]),
        ("prefetch.global.L1 [x]; applypriority.global.L2::evict_normal [x], 128;"
         "createpolicy.fractional.L2::evict_last.b64 %p, 1.0;"
         "nanosleep.u32 3;", []),
    ],
)  # fmt: skip
def test_accesses(text: str, expected: list[dict[str, Any]]) -> None:
    assert effects(text) == [{**GLOBAL, **e} if e.get("space") != "generic" else {k: v for k, v in e.items() if k != "space"}
                             for e in expected]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "width", "offsets", "returns"),
    [
        ("atom.global.v2.f32.add {%f0, %f1}, [x], {%a, %b};", "atom", 32, (0, 4), True),
        ("atom.global.v4.f16.add.noftz {%h0, %h1, %h2, %h3}, [x], {%c, %c, %c, %c};", "atom", 16, (0, 2, 4, 6), True),
        ("atom.global.add.noftz.f16x2 %r0, [x], %a;", "atom", 16, (0, 2), True),
        ("red.global.add.noftz.bf16x2 [x], %a;", "red", 16, (0, 2), False),
        ("red.global.v2.bf16x2.max.noftz [x], {%a, %b};", "red", 16, (0, 2, 4, 6), False),
        ("atom.global.v2.f32.add _, [x], {%a, %b};", "atom", 32, (0, 4), False),
        ("atom.exch.b128 %q, [x], %q;", "atom", 128, (0,), True),
    ],
)
def test_atomic_operations_on_several_elements(
    text: str, kind: str, width: int, offsets: tuple[int, ...], returns: bool
) -> None:
    declared = ".reg .f32 %a, %b; .reg .b16 %c; .reg .b128 %q;" if "f32" in text else ".reg .b16 %c;"
    found = explored(declared + text, {"a": 1, "b": 2, "c": 3, "q": 4}).effects
    assert [(e.kind, e.width, e.address, e.returns) for e in found] == [(kind, width, X + o, returns) for o in offsets]
    assert {e.group for e in found} == {0 if len(found) > 1 else -1}
    assert {(e.semantics, e.scope) for e in found} == {("relaxed", "gpu")}


def test_elements_of_packed_types_are_combined_each_for_itself() -> None:
    done = explored("atom.global.add.noftz.f16x2 %r0, [x], %a;", {"a": 0x4000_3C00})
    low, high = returned(done, 0), returned(done, 1)
    assert [e.value for e in done.effects] == [fadd("f16", low, 0x3C00), fadd("f16", high, 0x4000)]
    assert done.registers["r0"].value is concat(high, low, 16, 16)


def test_what_wide_loads_return_is_taken_apart_and_put_together() -> None:
    done = explored("ld.b128 %q, [x]; mov.b128 {%a, %b}, %q; mov.b128 %p, {%a, %b}; st.b128 [y], %p;")
    whole = returned(done, 0)
    assert done.registers["b"].value is extract(whole, 127, 64)
    assert done.effects[1].value is whole


def test_floating_point_registers_hold_terms() -> None:
    done = explored("ld.f32 %f, [x]; add.rn.f32 %g, %f, 0f3F800000; mov.f32 %h, 1.5; st.f32 [y], %g;")
    loaded = returned(done, 0)
    assert done.effects[1].value is fadd("f32", loaded, 0x3F800000)
    assert done.registers["h"].value == 0x3FC00000


def test_the_data_of_an_element_comes_from_its_own_register() -> None:
    text = "ld.u32 %a, [x]; ld.v2.u32 {%b, %c}, [y]; st.v4.u32 [x], {%c, 1, %a, %b};"
    stores = [said(e) for e in explored(text).effects[3:]]
    assert [s.get("data_dependencies") for s in stores] == [(2,), None, (0,), (1,)]


def test_addresses_of_one_instruction_have_dependencies_of_their_own() -> None:
    text = """ld.u64 %to, [x]; ld.u64 %from, [y]; ld.shared.u32 %bar, [s];
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%to], [%from], 16, [%bar];"""
    copy, signal = effects(text)[4:]
    assert copy["address_dependencies"] == (0, 1)
    assert signal["address_dependencies"] == (2,)


def test_a_policy_is_no_data() -> None:
    (_, store) = effects("ld.u64 %p, [x]; st.global.L2::cache_hint.u32 [y], 1, %p;")
    assert store == {"kind": "store", "space": "global", "address": Y}


def test_carries_flow_from_one_instruction_to_the_next() -> None:
    text = "ld.u32 %a, [x]; add.cc.u32 %d, %a, 4294967295; addc.u32 %e, 0, 0; st.u32 [y], %e;"
    done = explored(text)
    assert said(done.effects[1])["data_dependencies"] == (0,)
    assert "CC.CF" not in done.registers
    with pytest.raises(InputError, match=r"register 'CC\.CF' is read here before anything wrote it"):
        explored("addc.u32 %e, 0, 0;")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cvta.shared.u64 %d, s;", S),
        ("mapa.shared::cluster.u64 %d, s, 1;", S | 1 << 24),
        ("mov.u64 %a, s; mapa.u64 %a, %a, 1; getctarank.u64 %d, %a;", 1),
        ("mov.u64 %a, s; isspacep.shared::cta %d, %a;", 1),
        ("mapa.u64 %a, s, 1; isspacep.shared::cta %d, %a;", 0),
        ("mapa.u64 %a, s, 1; isspacep.shared::cluster %d, %a;", 1),
        ("mov.u64 %a, x; isspacep.global %d, %a;", 1),
        ("mov.u64 %a, x; isspacep.shared %d, %a;", 0),
    ],
)
def test_addresses_are_known_by_their_spaces(text: str, value: int) -> None:
    assert explored(text).registers["d"].value == value


def test_symbolic_addresses_are_mapped_too() -> None:
    done = explored("ld.shared.u32 %r, [s]; mapa.shared::cluster.u32 %a, %r, 1; ld.shared::cluster.u32 %b, [%a];")
    assert evaluate(done.effects[1].address, {returned(done, 0): M}) == M | 1 << 24
