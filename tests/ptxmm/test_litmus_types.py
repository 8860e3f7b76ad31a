"""Accesses of all sizes in litmus tests: vectors, 128 bits, floating-point registers."""

from __future__ import annotations

import pytest

import ptxmm

WIDE = """PTX wide
{ .global .b128 x = 0; }
P0@cta 0 { .reg .b128 %q; mov.b64 %rd0, 1; mov.b128 %q, {%rd0, %rd0}; st.relaxed.gpu.b128 [x], %q; }
P1@cta 1 { .reg .b128 %q; ld.relaxed.gpu.b128 %q, [x]; mov.b128 {%rd0, %rd1}, %q; }
"""
VECTOR = """PTX vector
{ .global .align 8 .u32 x[2]; f = 0; }
P0@cta 0 { mov.u32 %r0, 1; mov.u32 %r1, 2; st.v2.u32 [x], {%r0, %r1}; st.release.gpu.u32 [f], 1; }
P1@cta 1 { ld.acquire.gpu.u32 %r2, [f]; ld.v2.u32 {%r3, %r4}, [x]; }
"""
FLOAT = """PTX float
{ x = 0x3F800000; y = 0; }
P0@cta 0 { ld.relaxed.gpu.f32 %f0, [x]; add.rn.f32 %f1, %f0, 0f3F800000; setp.gt.f32 %p0, %f1, 1.5; @%p0 st.f32 [y], %f1; }
"""


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(
    ("text", "condition", "states"),
    [
        (WIDE, "forall (1:%rd0 = 1:%rd1)", 2),
        (WIDE, "forall (x.u64[1] = 1 /\\ x = 0x10000000000000001)", 1),
        (VECTOR, "~exists (1:%r2 = 1 /\\ (1:%r3 = 0 \\/ 1:%r4 = 0))", 5),
        (FLOAT, "forall (y = 0x40000000)", 1),
    ],
)
def test_accesses_of_all_sizes(text: str, condition: str, states: int, engine: str) -> None:
    result = ptxmm.check(ptxmm.parse(text + condition), engine=engine)
    assert (result.verdict, len(result.states)) == ("ok", states), result.error


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(("what", "size", "found"), [("", 0, 1), ("", 16, 7), (".add.u32", 0, 1), (".add.u32", 16, 8)])
def test_a_copy_may_have_no_bytes(what: str, size: int, found: int, engine: str) -> None:
    name = "cp.reduce" if what else "cp"
    text = f"""PTX bytes
{{ .global .align 16 .u32 x[4] = {{1}}; .shared .align 16 .u32 s[4] = {{7}}; P0:r0 = {size}; }}
P0@cta 0 {{ {name}.async.bulk.global.shared::cta.bulk_group{what} [x], [s], %r0;
            cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld.u32 %r1, [x]; }}
forall (0:%r1 = {found})
"""
    assert ptxmm.check(ptxmm.parse(text), engine=engine).verdict == "ok"
