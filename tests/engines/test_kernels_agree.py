"""Generated kernels: solver and brute force say the same of them, and no run shows what they forbid."""

from __future__ import annotations

from collections import Counter

import pytest
from agreement import STEPS, note
from campaigns import lengths, share
from generated_kernels import kernel
from kernels_campaign import Compared, compare

from ptxmm.api import model_named
from ptxmm.kernels.question import KernelQuestion


def assert_agreement(results: list[Compared]) -> None:
    reasons = Counter(r.passed_over for r in results if r.passed_over)
    note(len(results) - reasons.total(), reasons)
    assert not [(r.seed, r.differences) for r in results if r.differences]


@pytest.mark.compares(0.8)
@pytest.mark.parametrize("count", lengths(7, 25))
def test_of_some_generated_kernels(count: int) -> None:
    results = [compare(seed, runs=5, steps=STEPS) for seed in range(100_000, 100_000 + count)]
    assert_agreement(results)
    assert len({r.kind for r in results}) > 4


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_of_thousands_of_generated_kernels() -> None:
    assert_agreement([compare(seed) for seed in range(200_000, 200_000 + share(3000))])


@pytest.mark.parametrize("engine", ["solve", pytest.param("enumerate", marks=pytest.mark.campaign)])
def test_each_check_is_decided_by_its_own_expression(engine: str) -> None:
    """Also where the program is made anew on the way to the answer, with what its reads return for certain put in."""
    made = kernel(3080)
    question = KernelQuestion(made.test, model_named("ptx-9.0"), engine=engine)
    for check in made.test.checks:
        if check.expression is not None:
            decision = question.decide(question.truth(check, lambda name, i: question.elements[name, i]), settles=None)
            assert decision.satisfied == [question.holds(check, state) for state in decision.states]


@pytest.mark.long
@pytest.mark.parametrize(
    "seed",
    [
        174,  # a wait that no execution comes to
        237,  # a misused barrier excuses also those who wait for their own end
        1688,  # a trap, and somebody who misuses a barrier later
        300_063,  # a shuffle from a lane that is not there: a run has a number for it that no list of outcomes has
        300_164,
        400_302,  # who waits for the end of somebody who waits for him misuses no barrier behind that
        400_310,  # a wait at the barrier of a cluster, behind which somebody misuses it
        500_059,  # a wait for an mbarrier object that can stand nowhere among its operations
    ],
)
def test_of_kernels_of_which_they_said_different_things(seed: int) -> None:
    assert_agreement([compare(seed, runs=5)])
