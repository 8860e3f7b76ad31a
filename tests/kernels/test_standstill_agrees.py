"""Who waits for ever, or traps: the solver and brute force say the same."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from test_waiting_agrees import kernel

from axioms import endless, standstill
from ptxmm.api import model_named
from ptxmm.kernels.check import Question

DEADLOCK, FOR_EVER, TRAP = ("barrier", "mbarrier"), ("barrier", "mbarrier", "loop"), ("trap",)


def compare(question: Question, kinds: Sequence[str], seconds: float = 20) -> bool:
    """Whether there is something to find, of which both engines say the same."""
    program = question.built.program
    expected = standstill.find(program, question.model, kinds=kinds, deadline=time.monotonic() + seconds)
    found = endless.find(program, question.model, kinds=kinds)
    assert (found is None) == (expected is None), (kinds, found and found.waits, expected and expected.waits)
    return found is not None


@pytest.mark.parametrize("kinds", [DEADLOCK, FOR_EVER, TRAP], ids=["deadlock", "for ever", "trap"])
def test_of_random_kernels(kinds: Sequence[str]) -> None:
    found = [compare(Question(kernel(seed).test, model_named("ptx-9.0")), kinds) for seed in range(5000, 5040)]
    assert 2 < sum(found) < 38
