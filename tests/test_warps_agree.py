"""The two engines agree on generated programs whose warps compute together, and on packed and vector atomic operations."""

from __future__ import annotations

import time

import pytest
from generated_warps import warps
from hypothesis import HealthCheck, Phase, event, given, settings

from axioms.engine import decide
from axioms.enumerate import TooLarge
from axioms.models import load
from axioms.result import Decision, OutOfTime
from litmus.formats import read
from ptxmm.pipeline import build


def _answer(decision: Decision) -> object:
    if decision.undefined is not None:
        return "undefined"
    return decision.states, decision.positive, decision.complete


def assert_agreement(text: str, seconds: float) -> None:
    program, model = build(read(text, "generated.litmus")), load("ptx-9.0")
    try:
        expected = decide(program, model, engine="enumerate", deadline=time.monotonic() + seconds)
    except (OutOfTime, TooLarge) as reason:
        event(type(reason).__name__)
        return
    event("undefined" if expected.undefined else f"{len(expected.states)} states")
    assert _answer(decide(program, model)) == _answer(expected), text


@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(warps())
def test_the_engines_agree(text: str) -> None:
    assert_agreement(text, 0.5)


@pytest.mark.campaign
@settings(
    max_examples=3000, deadline=None, phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck)
)
@given(warps())
def test_the_engines_agree_on_thousands(text: str) -> None:
    assert_agreement(text, 2)
