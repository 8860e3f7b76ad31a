"""Words that compare-and-swaps take from one value to another one: who has done so is alone with what it does then. One run up
to that beside the formula, and conditions each with a kernel that is wrong and would be taken for right without it."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula
from campaigns import lengths, share
from generated_moves import moving_kernel
from test_searches import by_searches, compare_up_to_searches
from ticketed_kernels import ticketed_kernel

from axioms.dynamic.searches import search_moves, searching


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(4), range(60)))
def test_what_is_said_of_moves_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_searches(moving_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 6


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_many_moves_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_searches(moving_kernel, range(1000, 1000 + share(20_000)), monkeypatch)


_STATE = "atom.relaxed.{}.global.cas.b32 %t0, [%rd3], {}, {}; setp.ne.u32 %p3, %t0, {}; @%p3 bra L{};"


def _state(found: int, put: int, word: int, scope: str = "gpu") -> str:
    """Who takes the word from one state to another one writes a word."""
    label = f"{found}{put}{word}"
    return f"{_STATE.format(scope, found, put, found, label)} st.global.u32 [%rd1+{4 * word}], %r5; L{label}:"


def _nowhere(cell: Any) -> Any:
    return {value: frozenset() for value in cell.values} if cell.moves else None


#: Kernels that are wrong, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[str, tuple[Any, str, Any]]] = {
    "the states come again": (_state(0, 1, 0) + _state(1, 0, 1), (search_moves, "values_after", _nowhere)),
    "one move leads to the other": (_state(0, 1, 0) + _state(1, 2, 0), (search_moves, "values_after", _nowhere)),
    "the scope has not all threads": (
        _state(0, 1, 0, "cta") + _state(1, 2, 1, "cta"), (searching._HeldAgainst, "_pair", lambda *_: None)
    ),
    "the state is set back": (
        _state(0, 1, 0) + _state(1, 2, 1) + "@%p1 st.relaxed.gpu.global.u32 [%rd3], 0;",
        (search_moves, "values_after", _nowhere),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_what_is_wrong_is_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, (where, what, without) = _WRONG[name]
    test = ticketed_kernel(body, 3, 1, words=4, start=(0, 0), forall="x[3] == 0")
    assert by_searches(test) is None
    assert by_formula(test, monkeypatch).verdict == "no"
    monkeypatch.setattr(where, what, without)
    assert by_searches(test) is not None


def test_states_of_many_threads_come_one_behind_the_other() -> None:
    for word, right in ((1, True), (0, False)):
        body = _state(0, 1, 0) + _state(1, 2, word)
        found = by_searches(ticketed_kernel(body, 2, 32, words=4, start=(0, 0), forall="c[1] == 0"))
        assert (found is not None) is right
