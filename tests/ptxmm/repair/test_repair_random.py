"""Random kernels that are right lose orders, scopes, fences or barriers, and are repaired: some of what
`support/repair_kernels_campaign.py` does."""

from __future__ import annotations

import random

import pytest
from campaigns import LONG
from correct_kernels import kernel
from repair_kernels_campaign import judged, spoilt

import ptxmm

#: What becomes of a kernel that was right.
WORDS = {
    "repaired, all that are weaker or cheaper tried", "repaired", "repaired, a cheaper one not excluded", "still holds",
    "not known in time",
}  # fmt: skip


#: Seeds of small kernels.
SMALL = (8, 16)


@pytest.mark.parametrize("seed", [*SMALL, *(pytest.param(s, marks=LONG) for s in range(48) if s not in SMALL)])
def test_generated_kernels_are_right_and_are_repaired_when_they_are_not(seed: int) -> None:
    made = kernel(seed)
    assert ptxmm.check(made.test).verdict == "ok"
    broken = spoilt(made.test, random.Random(seed))
    assert broken is None or judged(broken) in WORDS
