"""The two engines agree on generated programs whose warps compute together, and on packed and vector atomic operations."""

from __future__ import annotations

import pytest
from agreement import STEPS, brute_force
from campaigns import drawn, share
from generated_warps import warps
from hypothesis import HealthCheck, Phase, given, settings

import ptxmm
from axioms.engine import decide
from axioms.models import load
from axioms.witness.result import Decision
from litmus.formats import read
from ptxmm.pipeline import build


def _answer(decision: Decision) -> object:
    if decision.undefined is not None:
        return "undefined"
    return decision.states, decision.positive, decision.complete


def assert_agreement(text: str, steps: int = STEPS) -> None:
    program, model = build(read(text, "generated.litmus")), load("ptx-9.0")
    expected = brute_force(program, model, steps)
    assert expected is None or _answer(decide(program, model)) == _answer(expected), text


@pytest.mark.compares(0.9)
@settings(
    max_examples=drawn(40), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(warps())
def test_the_engines_agree(text: str) -> None:
    assert_agreement(text)


@pytest.mark.campaign
@pytest.mark.compares(0.8)
@settings(
    max_examples=share(3000),
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(warps())
def test_the_engines_agree_on_thousands(text: str) -> None:
    assert_agreement(text, 4 * STEPS)


@pytest.mark.parametrize("others", ["", "P2@cta 1 { st.relaxed.gpu.u32 [k], 3; }"])
@pytest.mark.parametrize("again", ["", "bar.warp.sync 3;"])
@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_masks_that_come_from_memory(first: int, again: str, others: str) -> None:
    text = f"""PTX t
    {{ .global .u32 x = 0; .global .u32 k = {first}; }}
    P0@cta 0,warp 0 {{ st.weak.u32 [x], 1; bar.warp.sync 3; {again} }}
    P1@cta 0,warp 0 {{ ld.relaxed.gpu.u32 %r2, [k]; bar.warp.sync %r2; ld.weak.u32 %r1, [x]; {again} }}
    {others}
    exists (1:%r1 = 0)
    """
    found = [ptxmm.check(ptxmm.parse(text), engine=engine, races=True) for engine in ("solve", "enumerate")]
    told = [(r.verdict, r.error, r.states, [race.kind for race in r.races]) for r in found]
    assert told[0] == told[1]
    assert (found[0].verdict == "undefined") == (first < 2)
