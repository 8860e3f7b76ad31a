"""Waiting loops of which the first poll stands before them."""

from __future__ import annotations

import generated_peeled
import pytest
from by_runs import compare
from campaigns import lengths, share


@pytest.mark.compares(0.6)
@pytest.mark.parametrize("seeds", lengths(range(17, 25), range(17, 49)))
def test_runs_say_of_peeled_polls_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_peeled.made, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > 0


@pytest.mark.campaign
@pytest.mark.compares(0.6)
def test_runs_say_of_many_peeled_polls_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_peeled.made, range(1000, 1000 + share(3000)), monkeypatch)


@pytest.mark.compares(1.0)
@pytest.mark.parametrize("seed", (205, 257, 454))
def test_two_polls_that_lead_to_different_places_are_not_taken_for_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fence behind one of them alone, and a value that leads on at one of them alone, also of a look-back."""
    assert compare(generated_peeled.made, range(seed, seed + 1), monkeypatch)["no"] == 1
