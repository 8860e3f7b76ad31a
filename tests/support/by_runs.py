"""Kernel tests by runs of all threads, and by the formula, compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest
from agreement import note

from ptxcore.diagnostics import NotExplored
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.whole import decide_whole
from ptxmm.result import Checked, Result

FoundT = TypeVar("FoundT")
#: Seconds for the formula.
_PATIENCE = 300.0


def by_runs(test: KernelTest, model: str = "ptx-9.0") -> tuple[str, Result]:
    """Why runs do not decide a test, empty where they do; and their answer."""
    checks = [Checked(kind=c.kind, text=str(c)) for c in test.checks]
    result = Result(path=test.identity, name=test.name, model=model, verdict="undecided", checks=checks)
    return decide_whole(test, result, None, model_named(model)), result


#: Ways of a check to have runs answer, whether first or where the formula takes long.
_BY_RUNS = ("may_be_whole", "may_be_hunted", "_is_small")


def by_formula(test: KernelTest, monkeypatch: pytest.MonkeyPatch, readings: Iterable[str] = ()) -> Result:
    """What the formula says, by the readings of those names, and no run: `undecided` where that takes too long."""
    for way in _BY_RUNS:
        monkeypatch.setattr(checking, way, lambda *_: False)
    return checking.check(test, model_named("ptx-9.0"), timeout=_PATIENCE, options=frozenset(readings))


def compare(
    made: Callable[[int], KernelTest], seeds: range, monkeypatch: pytest.MonkeyPatch, *, may_be_undefined: bool = False
) -> Counter[str]:
    """Compares verdicts, checks and outcomes of what runs settle; the number of each verdict, and of those that were passed
    over. `may_be_undefined`: a launch of which a run shows that it is wrong may be without a meaning in another execution."""
    verdicts: Counter[str] = Counter()
    for seed in seeds:
        test = made(seed)
        open_, found = by_runs(test)
        if open_:
            verdicts["open"] += 1
            continue
        try:
            expected = by_formula(test, monkeypatch)
        except NotExplored:
            verdicts["refused"] += 1
            continue
        if expected.verdict == "undecided":
            verdicts["undecided"] += 1
            continue
        wanted = {found.verdict, "undefined"} if may_be_undefined and found.verdict == "no" else {found.verdict}
        in_part = found.verdict == "undecided" and expected.verdict != "undefined"
        assert in_part or expected.verdict.replace("bounded", "ok") in wanted, seed
        for one, other in zip(found.checks, expected.checks, strict=True):
            assert one.holds is None or other.holds is None or one.holds == other.holds, (seed, one.text)
        if found.states and found.listed_all and expected.listed_all and expected.verdict != "undefined":
            assert in_order(found.states) == in_order(expected.states), seed
        verdicts[found.verdict] += 1
    passed = Counter({v: n for v, n in verdicts.items() if v in ("open", "undecided", "refused")})
    note(sum(verdicts.values()) - passed.total(), passed)
    return verdicts


def compare_right(
    made: Callable[[int], KernelTest],
    seeds: range,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[KernelTest], FoundT | None],
    told: Callable[[FoundT, list[dict[str, int]]], str],
) -> Counter[str]:
    """Holds what `run` says to be right (None: it is open) against the formula: no race, and an end. `told` gives what is
    counted of it, or raises AssertionError where the outcomes are others; counted are those that were passed over, too."""
    counted: Counter[str] = Counter()
    for seed in seeds:
        test = made(seed)
        found = run(test)
        if found is None:
            counted["open"] += 1
            continue
        expected = by_formula(test, monkeypatch)
        if expected.verdict == "undecided":
            counted["undecided"] += 1
            continue
        assert expected.verdict in ("ok", "bounded"), (seed, expected.verdict)
        try:
            counted[told(found, expected.states)] += 1
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    passed = Counter({k: counted[k] for k in ("open", "undecided")})
    note(counted.total() - passed.total(), passed)
    return counted


def in_order(states: list[dict[str, int]]) -> list[list[tuple[str, int]]]:
    """Outcomes in an order that does not depend on who found them."""
    return sorted(sorted(state.items()) for state in states)
