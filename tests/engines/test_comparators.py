"""Agreement tests notice a mistake: each comparison of two ways to an answer is given a wrong one, and fails."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import kernels_campaign
import pairs_campaign
import pytest
import test_asynchronous
import test_barriers_agree
import test_bytes
import test_constant_reads_agree
import test_engines_agree
import test_liveness_agrees
import test_races
import test_warps_agree
from agreement import STEPS
from generated_kernels import kernel
from test_waiting_agrees import kernel as waiting

from axioms.witness.result import Decision
from ptxmm.api import model_named
from ptxmm.kernels.question import KernelQuestion

TEXT = """PTX MP
{ .global .u32 x = 0; .global .u32 f = 0; }
P0@cta 0 { st.weak.u32 [x], 1; st.relaxed.gpu.u32 [f], 1; }
P1@cta 1 { ld.relaxed.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x]; }
locations [1:%r0; 1:%r1;]
exists (1:%r0 = 1)
"""


def an_outcome_less(decision: Decision) -> None:
    decision.states = decision.states[1:]


def no_meaning(decision: Decision) -> None:
    decision.undefined = "a mistake that was planted"


def no_race(decision: Decision) -> None:
    decision.races = []


OUTCOMES, ALL = (an_outcome_less, no_meaning), (an_outcome_less, no_meaning, no_race)


def pairs(text: str) -> None:
    result = pairs_campaign.compare(text)
    assert not result.passed_over
    assert result.same


def kernels(_: str) -> None:
    assert not kernels_campaign.compared(0, kernel(100_009), runs=2, steps=10 * STEPS).differences


#: Of each comparison: its module, where it asks the engine that is mistaken, what it compares, and what must be noticed.
COMPARISONS: dict[str, tuple[ModuleType, Callable[[str], object], tuple[Callable[[Decision], None], ...]]] = {
    "engines": (test_engines_agree, test_engines_agree.assert_agreement, OUTCOMES),
    "shapes": (test_engines_agree, lambda text: test_engines_agree.assert_agreement_under("sc", text), OUTCOMES),
    "backends": (test_engines_agree, test_engines_agree.assert_backends_agree, OUTCOMES),
    "asynchronous": (test_asynchronous, test_asynchronous.assert_agreement, ALL),
    "warps": (test_warps_agree, test_warps_agree.assert_agreement, OUTCOMES),
    "barriers": (test_barriers_agree, test_barriers_agree.assert_agreement, OUTCOMES),
    "races": (test_races, test_races.assert_races_agree, (no_meaning, no_race)),
    "fitted": (test_races, test_races.assert_fitting_changes_nothing, OUTCOMES),
    "constant reads": (
        test_constant_reads_agree,
        lambda text: test_constant_reads_agree.assert_agreement(text, STEPS),
        ALL,
    ),
    "sizes": (test_bytes, test_bytes.test_engines_agree_on_accesses_of_many_sizes.hypothesis.inner_test, OUTCOMES),
    "pairs": (pairs_campaign, pairs, ALL),
    "kernels": (kernels_campaign, kernels, ALL),
}


def planted(ask: Callable[..., Decision], mistake: Callable[[Decision], None], only: str) -> Callable[..., Decision]:
    """The solver with a mistake: brute force has none. `only`: the backend that has it, where backends are compared."""

    def decide(*given: Any, **options: Any) -> Decision:
        decision = ask(*given, **options)
        if options.get("engine", "solve") == "solve" and only in ("", options.get("backend")):
            mistake(decision)
        return decision

    return decide


@pytest.mark.part(16)
@pytest.mark.parametrize(
    ("name", "mistake"), [(name, mistake) for name, (_, _, all_) in COMPARISONS.items() for mistake in all_]
)
def test_a_planted_mistake_is_noticed(
    name: str, mistake: Callable[[Decision], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, compare, _ = COMPARISONS[name]
    compare(TEXT)
    monkeypatch.setattr(module, "decide", planted(module.decide, mistake, "z3" if name == "backends" else ""))
    with pytest.raises(AssertionError):
        compare(TEXT)


def test_a_stall_that_is_not_found_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    compare, kinds = test_liveness_agrees.compare, test_liveness_agrees.BLOCKED
    questions = [KernelQuestion(waiting(seed).test, model_named("ptx-9.0")) for seed in range(5000, 5010)]
    stalled = next(question for question in questions if compare(question, kinds))
    monkeypatch.setattr(test_liveness_agrees.liveness, "find", lambda *given, **options: None)
    with pytest.raises(AssertionError):
        compare(stalled, kinds)
