"""Generated kernels of what one order of the threads hides, by runs and by the formula."""

from __future__ import annotations

import generated_peeks
import generated_relays
import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths, share
from whole_campaign import MADE
from whole_campaign import compare as in_all_ways

from axioms.dynamic.core.clocks import Clocks
from axioms.dynamic.waits import waiting
from ptxmm.kernels import bugs

#: Shapes that runs settle in little time.
_SHORT = ("relayed", "carried")


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(3), range(6)))
@pytest.mark.parametrize("shape", _SHORT)
def test_runs_say_of_relays_what_the_formula_says(shape: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(lambda seed: generated_relays.kernel(seed, shape), seeds, monkeypatch)


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(4), range(12)))
def test_runs_say_of_peeks_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_peeks.kernel, seeds, monkeypatch, may_be_undefined=True)
    assert verdicts["ok"] and verdicts["no"]


def _by_time(self: waiting.WrittenBytes, read: waiting.StrongRead, clocks: Clocks) -> list[int]:
    """What is beside a read, with the mistake that its own write is told by a time, which is that of several accesses."""
    own = next((n for n, w in enumerate(self.writes) if (w.thread, w.time) == (read.thread, read.time)), -1)
    return [
        n
        for n, w in enumerate(self.writes)
        if n not in read.behind
        and not waiting.knows(w, read.thread, read.time, clocks)
        and not (own >= 0 and self._waited(w, own))
    ]


def test_the_generator_tells_of_a_mistake_in_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """With it, runs pass what the formula shows to be wrong."""
    monkeypatch.setattr(bugs, "_HUNTING", 0.0)
    test = generated_relays.kernel(35, "behind an own write")
    open_, found = by_runs(test)
    assert open_ or found.verdict == "no"
    monkeypatch.setattr(waiting.WrittenBytes, "_beside", _by_time)
    open_, found = by_runs(test)
    assert not open_ and found.verdict == "ok"
    assert by_formula(test, monkeypatch).verdict == "no"


@pytest.mark.campaign
@pytest.mark.parametrize("of", MADE)
def test_no_way_says_anything_else(of: str) -> None:
    verdicts = set()
    for seed in range(1000, 1000 + share(3000)):
        found = in_all_ways(of, seed, seconds=10, schedules=10, brute=seed % 4 == 0)
        assert not found.differences, seed
        verdicts.add(found.verdict)
    assert verdicts
