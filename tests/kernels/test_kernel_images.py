"""Textures and surfaces in kernel tests and litmus tests: explored as they run, through their proxies."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from agreement import compared

import ptxmm
from ptxcore.diagnostics import InputError
from ptxmm.kernel import Kernel

sys.path.insert(0, str(Path(__file__).parent.parent / "ptxcore" / "semantics"))
from images import WORDS_IN, lookup_case

_COPY = """.version 8.1
.target sm_80
.address_size 64
.visible .entry k(.param .u64 t, .param .u64 s, .param .u64 o) {
 .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .b32 %r<9>;
 ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [s]; ld.param.u64 %rd3, [o];
 mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; add.f32 %f1, %f1, 0f3F800000;
 tex.1d.v4.f32.f32 {%f2,%f3,%f4,%f5}, [%rd1, {%f1}];
 shl.b32 %r2, %r1, 2;
 sust.b.1d.b32.CLAMP [%rd2, {%r2}], %f2;
 suld.b.1d.b32.trap %f6, [%rd2, {%r2}];
 mul.wide.u32 %rd4, %r1, 4; add.s64 %rd3, %rd3, %rd4;
 st.global.f32 [%rd3], %f6;
 ret;
}
"""
_TEXTURE = {"format": "f32", "dims": 4, "filter": "linear", "init": [1.0, 2.0, 3.0, 5.0]}


def copying(texture: dict[str, Any], surface: dict[str, Any] | None = None, clamp: str = "zero", **checks: Any) -> Any:
    params = {
        "t": {"texture": texture},
        "s": {"surface": surface or {"buffer": "b", "format": "f32", "dims": [2]}},
        "o": {"type": "f32", "elements": 2},
    }
    memory = {"b": {"type": "f32", "elements": 4}}
    return Kernel(_COPY.replace("CLAMP", clamp), grid=1, block=2, params=params, memory=memory, **checks)


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_a_texture_that_nobody_writes_is_filtered(engine: str) -> None:
    test = copying(_TEXTURE, forall=["o[0] == 1.5", "o[1] == 2.5", "b[1] == 2.5", "t[3] == 5"], race_free=True)
    result = test.check(engine=engine)
    assert result.verdict == "ok", result
    assert not any("taken to be any value" in note for note in result.notes)


def test_what_is_read_of_a_surface_that_the_kernel_writes_is_told_to_rest_on_a_reading() -> None:
    """Within a kernel the manual calls it undefined (section 2.3); of a later kernel it does not."""
    result = copying(_TEXTURE, race_free=True).check()
    assert result.verdict == "ok" and any("section 2.3" in note for note in result.notes)
    apart = _COPY.replace("suld.b.1d.b32.trap %f6, [%rd2, {%r2}];", "mov.f32 %f6, %f2;").replace("CLAMP", "zero")
    params = {
        "t": {"texture": _TEXTURE},
        "s": {"surface": {"format": "f32", "dims": [2]}},
        "o": {"type": "f32", "elements": 2},
    }
    found = Kernel(apart, grid=1, block=2, params=params, race_free=True).check()
    assert found.verdict == "ok" and not any("section 2.3" in note for note in found.notes)


@pytest.mark.long
def test_what_a_filter_rounds_is_any_value_and_told() -> None:
    texture = {**_TEXTURE, "init": [1.0, 2.0, 0.1, 5.0]}
    result = copying(texture, forall=["o[0] == 1.5", "o[1] == 1.05f"]).check()
    assert [check.holds for check in result.checks] == [True, False]
    assert any("taken to be any value" in note for note in result.notes)


def test_texels_that_a_kernel_writes_and_reads_race() -> None:
    """A store through the surface, and a lookup of the other thread: nothing orders the proxies within a kernel."""
    texture = {"format": "f32", "dims": 2, "buffer": "b"}
    assert copying(texture, race_free=True).check().verdict == "no"


def test_a_trap_outside_of_a_surface_is_a_trap() -> None:
    short = {"buffer": "b", "format": "f32", "dims": [1]}
    assert copying(_TEXTURE, short, "trap", no_trap=True).check().verdict == "no"
    assert copying(_TEXTURE, clamp="trap", no_trap=True).check().verdict == "ok"


@pytest.mark.parametrize(
    ("texture", "message"),
    [
        ({}, "the texels have no format"),
        ({"format": "f31", "dims": 4}, "'f31' is no format of a texel"),
        ({"format": "f32"}, "it has no 'dims'"),
        ({"format": "f32", "dims": [0]}, "one to three numbers"),
        ({"format": "u32", "dims": 4, "filter": "linear"}, "only what is read as floating-point is filtered"),
        ({"format": "f32", "dims": 4, "address": "warp"}, "'warp' is no mode of addressing"),
        ({"format": "f32", "dims": 4, "buffer": "c"}, "'c' is no buffer"),
        ({"format": "f32", "dims": 9, "buffer": "b"}, "'t' has 36 bytes, 'b' 16"),
        ({"format": "f32", "dims": 4, "levels": 4}, "at most 3 levels of detail"),
        ({"format": "f32", "dims": [4, 3], "cube": True}, "the faces of a cube are square"),
        ({"format": "f32", "dims": 4, "read": "normalized"}, "only integers of 8 and 16 bits"),
        ({"format": "f32", "dims": 4, "filtre": "linear"}, "has no 'filtre'"),
        ({"format": "f32", "dims": 4, "init": [1, "x"]}, "a number is wanted here"),
    ],
)
def test_what_is_no_texture_is_told(texture: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        copying(texture, no_trap=True)
    assert message in str(caught.value)


_DECLARED = """.version 4.0
.target sm_30
.address_size 64
.global .texref t;
.visible .entry k(.param .u64 o) {
 .reg .b64 %rd<3>; .reg .b32 %r<5>;
 ld.param.u64 %rd1, [o];
 tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [t, {0}];
 st.global.u32 [%rd1], %r1;
 ret;
}
"""


_OUT = {"o": {"type": "u32", "elements": 1}}


def test_a_reference_of_an_old_module_that_nothing_binds_is_refused_at_its_line() -> None:
    """No answer, rather than one about texels that nobody named."""
    test = Kernel(_DECLARED, grid=1, block=1, params=_OUT, forall="o[0] == 0")
    with pytest.raises(InputError, match=r":8:.*one that the module declares by name stands in \[memory\]"):
        test.check()


@pytest.mark.parametrize(("block", "engine"), [(1, "solve"), (1, "enumerate"), (256, "solve")])
def test_a_texture_of_an_old_module_is_bound_by_its_name(block: int, engine: str) -> None:
    """With texels of its own and in a buffer; explored, and in one run of all threads as well."""
    text = _DECLARED.replace("{0}", "{%r0}").replace(".reg .b32 %r<5>;", ".reg .b32 %r<5>; mov.u32 %r0, %tid.x;")
    text = text.replace("[o];", "[o]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd1, %rd1, %rd2;")
    texels = [7 * i + 1 for i in range(block)]
    shape = {"format": "u32", "dims": block}
    out = {"o": {"type": "u32", "elements": block}}
    right, wrong = f"o[{block - 1}] == {texels[-1]}", f"o[{block - 1}] == {texels[-1] + 1}"
    for memory in (
        {"t": {"texture": {**shape, "init": texels}}},
        {"b": {"type": "u32", "elements": block, "init": texels}, "t": {"texture": {**shape, "buffer": "b"}}},
    ):
        for check, verdict in ((right, "ok"), (wrong, "no")):
            test = Kernel(text, grid=1, block=block, params=out, memory=memory, forall=check)
            assert test.check(engine=engine).verdict == verdict


def test_a_texture_and_a_sampler_of_an_old_module() -> None:
    """In independent mode, in which a texture has no sampler of its own: beyond its end the last texel, or nothing."""
    text = _DECLARED.replace(".target sm_30", ".target sm_30, texmode_independent").replace("[t, {0}]", "[t, s, {7}]")
    memory = {"t": {"texture": {"format": "u32", "dims": 2, "init": [3, 5]}}}
    for mode, value in (("clamp_to_edge", 5), ("clamp_to_border", 0)):
        sampler = f".global .samplerref s = {{addr_mode_0 = {mode}, filter_mode = nearest}};\n"
        given = text.replace(".global .texref t;", f".global .texref t;\n{sampler}")
        test = Kernel(given, grid=1, block=1, params=_OUT, memory=memory, forall=f"o[0] == {value}")
        assert test.check().verdict == "ok", mode


@pytest.mark.parametrize("block", [1, 64])
def test_texels_of_an_old_module_that_a_kernel_writes_race(block: int) -> None:
    text = _DECLARED.replace("tex.1d", "st.global.u32 [%rd1], 5; tex.1d").replace("st.global.u32 [%rd1], %r1;", "")
    memory = {"t": {"texture": {"format": "u32", "dims": 1, "buffer": "o"}}}
    test = Kernel(text, grid=1, block=block, params=_OUT, memory=memory, race_free=True)
    assert test.check().verdict == "no"


def test_a_surface_of_an_old_module_is_bound_by_its_name() -> None:
    text = _DECLARED.replace(".texref t", ".surfref t").replace(
        "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [t, {0}];", "mov.u32 %r1, 9; sust.b.1d.b32.trap [t, {4}], %r1;"
    )
    memory = {"b": {"type": "u32", "elements": 2}, "t": {"surface": {"format": "u32", "dims": 2, "buffer": "b"}}}
    checks = ["o[0] == 9", "b[0] == 0", "b[1] == 9"]
    assert Kernel(text, grid=1, block=1, params=_OUT, memory=memory, forall=checks).check().verdict == "ok"


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ({"u": {"texture": {"format": "u32", "dims": 1}}}, r"no \.texref or \.surfref 'u'"),
        ({"t": {"surface": {"format": "u32", "dims": 1}}}, r"'t' is a \.texref, and is bound to a \.surfref"),
        ({"t": {"value": 1, "type": "u32"}}, r"\[memory\] has buffers, textures and surfaces, and 't' is none"),
    ],
)
def test_what_a_name_of_the_module_cannot_be_bound_to(memory: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Kernel(_DECLARED, grid=1, block=1, params=_OUT, memory=memory, forall="o[0] == 0")


@pytest.mark.long
def test_lookups_are_explored_as_they_run() -> None:
    """Random lookups with coordinates in the text: what is exact is that value in every execution."""
    random = Random(11)
    for _ in range(12):
        case = lookup_case(random, named=False, predicate=False)
        image = case.image.image
        lines = []
        for line in case.text.split("\n"):
            if "ld.global.b32" in line:
                n = int(line.split("%r")[1].split(",")[0])
                line = f" mov.b32 %r{n}, {int(case.given[0, n])}; mov.b32 %f{n}, %r{n};"
            lines.append(line)
        flat = np.concatenate([a.reshape(-1) for a in case.image.arrays])
        sampler = image.sampler
        names = {"clamp_to_edge": "clamp", "clamp_to_border": "border"}
        table: dict[str, Any] = {
            "format": str(image.format),
            "dims": [n for n in (image.width, image.height, image.depth) if n],
            "filter": sampler.filter, "level_filter": sampler.level_filter,
            "address": [names.get(m, m) for m in sampler.address], "normalized": image.normalized, "init": flat,
            "read": "normalized" if image.fractions else "element", "cube": "cube" in image.geometry,
        }  # fmt: skip
        table |= {"layers": image.layers} if image.layers else {}
        table |= {"samples": image.samples} if image.samples else {}
        table |= {"levels": image.levels} if image.mipmapped else {}
        wanted = [(n, v) for n, v in enumerate(case.expected[0]) if v is not None]
        if not wanted:
            continue
        body = "\n".join(x for x in lines if "st.global" not in x or any(f"], %o{n};" in x for n, _ in wanted))
        test = Kernel(
            body, grid=1, block=1, forall=[f"out[{n}] == {v}" for n, v in wanted],
params={"in": {"type": "u32", "elements": WORDS_IN}, "out": {"type": "u32", "elements": 8},
                    "t": {"texture": table}},
        )  # fmt: skip
        result = test.check()
        if any("taken to be any value" in note for note in result.notes):
            continue
        assert compared(result).verdict == "ok", (result, body)


_TYPED = """PTX typed
{ x = 0; s @ surface aliases x; t @ texture aliases x; }
 P0@cta 0,gpu 0                          | P1@cta 0,gpu 0 ;
 st.weak.u32 [x], 1                      | suld.b.1d.b32.zero %r0, [s, {0}] ;
 FENCE                                   | ld.weak.u32 %r1, [x] ;
 suld.b.1d.b32.trap %r0, [s, {0}]        | sust.b.1d.b32.trap [s, {0}], 2 ;
 tex.1d.v4.u32.s32 {%r1, _, _, _}, [t, {0}] | ;
exists (0:%r0 = 0)
"""
_SHORT = """PTX short
{ x = 0; s @ surface aliases x; t @ texture aliases x; }
 P0@cta 0,gpu 0     | P1@cta 0,gpu 0 ;
 st.weak x, 1       | suld.weak r0, s ;
 FENCE              | ld.weak r1, x ;
 suld.weak r0, s    | sust.weak s, 2 ;
 tld.weak r1, t     | ;
exists (0:r0 = 0)
"""


@pytest.mark.parametrize("fence", [False, True])
def test_typed_forms_are_those_of_the_short_dialect(fence: bool) -> None:
    """The same program in the two dialects has the same states, and the same races."""
    typed = ptxmm.check(ptxmm.parse(_TYPED.replace(" FENCE ", " fence.proxy.alias; " if fence else "")), races=True)
    short = ptxmm.check(ptxmm.parse(_SHORT.replace(" FENCE ", " fence.proxy.alias " if fence else "")), races=True)
    assert len(compared(typed).states) == len(short.states) > 1
    assert typed.verdict == short.verdict
