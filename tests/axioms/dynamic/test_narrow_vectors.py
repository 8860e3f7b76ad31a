"""Strong accesses to vectors in scopes that do not have both threads: races of the elements that two of them have in common."""

from __future__ import annotations

from random import Random

import pytest
from agreement import note
from by_runs import by_formula
from campaigns import lengths

from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.hunting import race_of
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_PTX = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0;
 {0}
 ret;
}}"""
_STORES = (
    "st.S.global.v2.u32 [%rd1], {1, 7};", "st.S.global.v4.u32 [%rd1], {1, 2, 3, 4};",
    "st.S.global.u32 [%rd1+4], 5;", "st.S.global.v2.u64 [%rd1], {%rd8, %rd8};", "st.S.global.v2.u32 [%rd1+8], {1, 7};",
)  # fmt: skip
_LOADS = (
    "ld.S.global.v2.u32 {%r3, %r4}, [%rd1];", "ld.S.global.v2.u32 {_, %r4}, [%rd1];", "ld.S.global.u32 %r3, [%rd1];",
    "ld.S.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1];", "ld.S.global.v2.u64 {%rd3, %rd4}, [%rd1];",
    "atom.S.global.cas.b32 %r3, [%rd1], 0, 3;", "atom.S.global.add.u32 %r3, [%rd1+4], 3;",
)  # fmt: skip
_SCOPES = ("relaxed.gpu", "relaxed.gpu", "relaxed.cta", "acquire.cta", "acquire.gpu", "weak")


def _launch(body: str, grid: int, block: int) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 4, "init": [0], "align": 16}}, "check": {"race_free": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _PTX.format(body)}).test()


def _generated(seed: int) -> KernelTest:
    draw = Random(seed)
    body = ["mov.b64 %rd8, 3;"]
    for _ in range(draw.randint(2, 3)):
        words = draw.choice(draw.choice((_STORES, _LOADS)))
        scope = draw.choice(_SCOPES)
        scope = scope.replace("acquire", "release") if words.startswith("st") else scope
        if words.startswith("atom"):
            scope = scope.replace("weak", "relaxed.cta")
        body.append(draw.choice(("", "@%p1 ", "@!%p1 ", "@%p2 ")) + words.replace("S", scope, 1))
    return _launch("\n ".join(body), draw.choice((1, 2, 2)), draw.choice((1, 2)))


@pytest.mark.compares(0.9)
@pytest.mark.parametrize("seeds", lengths(range(40), range(1500)))
@pytest.mark.parametrize("reading", [(), ("whole-vectors",)])
def test_a_race_of_vectors_that_a_run_tells_is_one_by_the_formula(
    reading: tuple[str, ...], seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = dict.fromkeys(("no", "undefined"), 0)
    for seed in seeds:
        test = _generated(seed)
        if race_of(Runs(test, watched=True, readings=frozenset(reading)), lambda _: False) is not None:
            found[by_formula(test, monkeypatch, reading).verdict] += 1
    assert found["no"] >= len(seeds) / 20
    note(sum(found.values()), {})


@pytest.mark.parametrize(("stores", "loads"), [("gpu", "cta"), ("cta", "gpu"), ("gpu", "gpu")])
def test_a_wait_for_a_vector_is_told_where_a_scope_is_too_narrow(stores: str, loads: str) -> None:
    """CTA 0 publishes a pair, for which the other one waits, in a launch that is too large for a formula."""
    body = f"""setp.ne.u32 %p3, %r2, 0; @%p3 ret; @!%p1 bra LOOK;
 st.relaxed.{stores}.global.v2.u32 [%rd1], {{1, 7}}; ret;
LOOK: ld.relaxed.{loads}.global.v2.u32 {{%r3, %r4}}, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra LOOK;"""
    found = checking.check(_launch(body, 2, 128), model_named("ptx-9.0"), options=frozenset(("whole-vectors",)))
    assert found.verdict == ("ok" if stores == loads else "no")
    if stores != loads:
        assert found.races[0].lacking == ((11 if loads == "cta" else 10, "scope"),)
