"""Runs in rounds beside the formula: what the tests of tickets, of carried rounds and of early tickets share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from by_runs import compare_right

from ptxmm.kernels.persistent import InRounds, run_in_rounds
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest


def in_rounds(test: KernelTest) -> InRounds | None:
    """What a run in rounds says of a test; None where it decides nothing."""
    return run_in_rounds(Runs(test, watched=True))


def compare_rounds(
    generated: Callable[[int], KernelTest],
    seeds: range,
    monkeypatch: pytest.MonkeyPatch,
    kind: Callable[[InRounds], str],
) -> Counter[str]:
    """Kernels that runs in rounds take for right are so by the formula, with one outcome but for what may differ; how many
    there were of each `kind`."""

    def told(found: InRounds, states: list[dict[str, int]]) -> str:
        for state in states:
            assert {label for label in state if state[label] != found.state[label]} <= found.differing
        return kind(found)

    return compare_right(generated, seeds, monkeypatch, in_rounds, told)


def true(*_: Any) -> bool:
    """A condition left out."""
    return True
