"""Accesses of all sizes by threads that come behind each other in many ways, in scopes of their own, beside the formula."""

from __future__ import annotations

import generated_in_order
import pytest
from by_runs import compare
from campaigns import lengths, share


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("count", lengths(12, 120))
def test_runs_say_of_accesses_in_order_what_the_formula_says(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_in_order.kernel, range(count), monkeypatch, may_be_undefined=True)
    assert verdicts["ok"] > count / 12


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_runs_say_of_many_accesses_in_order_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_in_order.kernel, range(1000, 1000 + share(5000)), monkeypatch, may_be_undefined=True)
