"""Rounds that wait for what others have done: one run beside the formula."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from by_runs import by_formula, compare_right
from campaigns import lengths, share
from generated_ticket_rounds import round_kernel
from generated_waiting_rounds import generated, waiting_round

from ptxmm.kernels.persistent import InRounds, run_in_rounds
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest


def _in_rounds(test: KernelTest) -> InRounds | None:
    return run_in_rounds(Runs(test, watched=True))


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """One run in rounds: one outcome."""

    def told(found: InRounds, states: list[dict[str, int]]) -> str:
        for state in states:
            assert {label for label in state if state[label] != found.state[label]} <= found.differing
        return "same"

    return compare_right(generated, seeds, monkeypatch, _in_rounds, told)


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(2), range(12)))
def test_what_is_said_of_rounds_that_wait_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(seeds, monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_many_rounds_that_wait_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(1000, 1000 + share(1000)), monkeypatch)


_ADDS = {"poll": "acquire", "signal": "add", "until": "ticket", "counter": True}
_RIGHT: dict[str, dict[str, Any]] = {
    "a flag": {},
    "a flag by additions": {"signal": "add"},
    "fences": {"poll": "fence", "signal": "fence"},
    "fences of all orders": {"poll": "fence", "signal": "threadfence"},
    "a counter": _ADDS,
    "a counter, by fences": {**_ADDS, "poll": "fence", "signal": "fence, add"},
    "the scope of the system": {"poll": "system"},
}
_WRONG: dict[str, dict[str, Any]] = {
    "a poll that is relaxed": {"poll": "relaxed"},
    "a poll of a narrow scope": {"poll": "cta"},
    "a signal that is relaxed": {"signal": "relaxed"},
    "an addition that is relaxed": {**_ADDS, "signal": "relaxed add"},
    "a narrow addition": {**_ADDS, "signal": "cta"},
    "a narrow fence": {"signal": "narrow fence"},
    "a weak signal": {"signal": "weak"},
    "a count that is passed too early": {**_ADDS, "put": "2", "tickets": 3},
    "a count that any round leads on": {**_ADDS, "until": "early", "tickets": 3},
    "no barrier behind the wait": {"bars": ("", "bar.sync 0;"), "block": 2},
    "no barrier before the signal": {"bars": ("bar.sync 0;", ""), "block": 2},
    "a round that waits for a larger ticket": {"later": True, "first": True},
    "a counter that rounds set back": {**_ADDS, "more": ("", "", "@%p2 st.global.u32 [%rd3+4], 0;")},
    "a sum of what goes along": {
        "more": ("add.u32 %r9, %r9, 1;", "", ""), "tickets": 3,
        "work": "ld.global.u32 %r6, [%rd1+60]; st.global.u32 [%rd4], %r6; @%p2 red.relaxed.gpu.global.add.u32 [%rd1+60], %r9;",
    },
    "what goes along in a register": {
        "more": ("add.u32 %r9, %r9, 1;", "", ""),
        "work": "ld.global.u32 %r6, [%rd6]; add.u32 %r6, %r6, %r9; st.global.u32 [%rd4], %r6;",
    },
}  # fmt: skip


def _kernel(block: int = 1, after: str = "", **how: Any) -> KernelTest:
    return round_kernel(waiting_round(**how), block=block, tickets=how.get("tickets", 2), after=after)


@pytest.mark.parametrize("name", _RIGHT)
@pytest.mark.parametrize("block", (1, 2))
def test_rounds_that_wait_are_right(name: str, block: int) -> None:
    found = _in_rounds(_kernel(block, **_RIGHT[name]))
    assert found is not None and found.waits == 1 and not found.differing
    assert [found.state[f"x[{i}]"] for i in range(2 * block)] == [7] * (2 * block)


@pytest.mark.parametrize("name", _WRONG)
def test_rounds_that_wait_for_too_little_are_left_open(name: str) -> None:
    found = _in_rounds(_kernel(**_WRONG[name]))
    assert found is None or found.differing


def test_what_a_worker_has_done_before_is_not_known_in_its_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CTA that has both rounds does them one behind the other."""
    test = round_kernel("ld.global.u32 %r6, [%rd4+4]; add.u32 %r6, %r6, 1; st.global.u32 [%rd4], %r6;", block=1)
    assert _in_rounds(test) is None
    assert by_formula(test, monkeypatch).verdict == "no"
