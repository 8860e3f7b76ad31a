"""What a search may spend: a number of steps gives up at the same place on every machine."""

from __future__ import annotations

import pytest

from axioms.engine import decide
from axioms.models import load
from axioms.oracle.budget import Budget
from litmus.formats import read
from ptxcore.clock import OutOfTime
from ptxmm.pipeline import build

TEXT = "PTX SB\n{ x=0; y=0; }\nP0 | P1 ;\nst.weak x, 1 | st.weak y, 1 ;\nld.weak r0, y | ld.weak r0, x ;\nexists (0:r0 == 0)\n"


def needed() -> int:
    """The least number of steps in which brute force decides the program."""
    program, model = build(read(TEXT)), load("ptx-9.0")
    steps = 1
    while True:
        try:
            decide(program, model, engine="enumerate", steps=steps)
            return steps
        except OutOfTime:
            steps += 1


def test_brute_force_ends_after_its_steps_and_always_at_the_same_one() -> None:
    assert 10 < needed() == needed() < 200


def test_a_budget_ends_at_what_comes_first() -> None:
    both = Budget(deadline=float("inf"), steps=2)
    both.spend()
    both.spend()
    with pytest.raises(OutOfTime):
        both.spend()
    with pytest.raises(OutOfTime):
        Budget(deadline=0.0, steps=2).spend()


def test_a_budget_without_an_end_counts() -> None:
    budget = Budget()
    for _ in range(1000):
        budget.spend()
    assert budget.spent == 1000
