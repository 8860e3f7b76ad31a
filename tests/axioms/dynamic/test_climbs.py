"""Whoever comes last goes on: runs in which other threads come last beside the formula, and kernels that are wrong
and would be taken for right without a condition."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from by_runs import by_formula, compare_right
from campaigns import lengths, share
from generated_climbs import FENCE, OUT, climb, flat, kernel

from axioms.dynamic.tickets import climbing
from ptxmm.kernels.climbed import Climbed, run_climbs
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest


def _climbs(test: KernelTest) -> Climbed | None:
    return run_climbs(Runs(test, watched=True))


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """One outcome, whoever comes last."""

    def told(found: Climbed, states: list[dict[str, int]]) -> str:
        assert all(state == {label: found.state[label] for label in state} for state in states)
        return "same"

    return compare_right(kernel, seeds, monkeypatch, _climbs, told)


@pytest.mark.compares(0.1)
@pytest.mark.parametrize("seeds", lengths(range(12), range(60)))
def test_what_is_said_of_climbs_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _compare(seeds, monkeypatch)["same"] > 0


@pytest.mark.campaign
@pytest.mark.compares(0.1)
def test_what_is_said_of_climbs_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(1000, 1000 + share(3000)), monkeypatch)


_OUT = f"[%rd1+{4 * OUT}]"
_SECOND, _LATER = "setp.eq.u32 %p4, %r3, 1;", "setp.gt.u32 %p5, %r4, 1;"


def _true(*_: Any, **__: Any) -> bool:
    return True


_MIDDLE = f"setp.eq.u32 %p4, %r9, 1; {_LATER} @%p5 bra NOT; @%p4 add.u32 %r5, %r5, 7; NOT:"
#: Kernels with several outcomes, or a race, and the condition without which they would have one outcome. In the runs that are
#: made, the first or the last leaf comes to the root.
_WRONG: dict[str, tuple[dict[str, Any], tuple[Any, str, Any] | None]] = {
    "who it is is kept for later": ({"duty": f"mov.u32 %r9, %r3; {_MIDDLE}"}, (climbing.Climb, "goes_on_as", _true)),
    "which CTA it is": (
        {"duty": f"mov.u32 %r9, %ctaid.x; {_MIDDLE}", "after": "mov.u32 %r9, 0;"}, (climbing, "asks_no_more", _true)
    ),
    "what is done there hangs on who does it": ({"duty": "add.u32 %r5, %r5, %r3;"}, None),
    "where it is put": (
        {"duty": f"mul.wide.u32 %rd5, %r3, 4; add.u64 %rd5, %rd5, %rd1; st.global.u32 [%rd5+{4 * OUT}], 1;"}, None
    ),
    "one of them releases nothing": ({"before": f"{_SECOND} @!%p4 {FENCE}"}, None),
    "nobody acquires": ({"behind": ""}, None),
    "a fence that reaches nobody in another CTA": ({"behind": FENCE.replace("gpu", "cta"), "ctas": 2}, None),
    "an addition that reaches nobody there": ({"duty": f"red.relaxed.cta.global.add.u32 {_OUT}, 1;", "ctas": 2}, None),
    "an early one goes on, too": ({"lose": f"{_SECOND} @!%p4 bra ENDS; st.global.u32 {_OUT}, 1; ENDS:"}, None),
    "who is not the last one counts elsewhere": ({"lose": f"red.relaxed.gpu.global.add.u32 {_OUT}, %r3;"}, None),
    "the first one goes on": ({"last": "0"}, None),
    "what was in shared memory before": (
        {"told": "", "own": "st.shared.u32 [s+4], %r3;", "duty": "ld.shared.u32 %r9, [s+4]; add.u32 %r5, %r5, %r9;",
         "leaves": 2, "ctas": 2, "together": True}, None,
    ),
    "the others have not met who counts": (
        {"before": f"{_SECOND} @%p3 bra MET; {FENCE}".replace(_SECOND, ""), "leaves": 2, "ctas": 2, "together": True,
         "behind": "", "told": ""}, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed, condition = _WRONG[name]
    test = climb(**{"leaves": 4, "ctas": 4, **changed})
    assert _climbs(test) is None
    if condition is not None:
        with monkeypatch.context() as without:
            without.setattr(*condition)
            assert _climbs(test) is not None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1


def test_who_does_not_come_last_is_done_whatever_place_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first leaf of three goes on where it is the second one, which it is in none of the runs."""
    second = f"setp.eq.u32 %p4, %r6, 1; setp.eq.and.u32 %p4, %r3, 0, %p4; @%p4 st.global.u32 {_OUT}, 1;"
    test = flat(3, lose=second)
    assert _climbs(flat(3)) is not None and _climbs(test) is None
    with monkeypatch.context() as without:
        without.setattr(climbing, "_are_done", _true)
        assert _climbs(test) is not None
    assert len(by_formula(test, monkeypatch).states) > 1


def test_a_counter_that_the_last_one_sets_back_is_no_race() -> None:
    """It has observed all others, by whatever it counts with."""
    assert _climbs(climb(4, 4, after="st.global.u32 [%rd3], 0;")) is not None
    assert _climbs(climb(4, 4, lose="st.global.u32 [%rd3], 0;")) is None
