"""Rounds that carry something along: one run beside the formula, each condition with a kernel that is wrong, or has other
values, and would be taken for right without it, and kernels at their size with mistakes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from by_runs import by_formula, compare_right
from campaigns import lengths, share
from generated_carried_rounds import ALL_ADD, generated
from generated_ticket_rounds import round_kernel

from axioms.dynamic.carried_rounds import CarryingRounds
from ptxmm.kernels.persistent import InRounds, run_in_rounds
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest


def _in_rounds(test: KernelTest) -> InRounds | None:
    return run_in_rounds(Runs(test, watched=True))


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """One outcome, but for what may differ."""

    def told(found: InRounds, states: list[dict[str, int]]) -> str:
        for state in states:
            assert {label for label in state if state[label] != found.state[label]} <= found.differing
        return "carried" if found.carries else "same"

    return compare_right(generated, seeds, monkeypatch, _in_rounds, told)


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(3), range(24)))
def test_what_is_said_of_carried_rounds_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(seeds, monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_many_carried_rounds_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = _compare(range(1000, 1000 + share(4000)), monkeypatch)
    assert counted["carried"] > counted["same"] / 4


_RED = f"red.relaxed.gpu.global.add.u32 {ALL_ADD},"
_COUNTED = "add.u32 %r9, %r9, %t0;"
_IN_SHARED = "@%p2 ld.shared.u32 %r5, [s+8]; @%p2 OP; @%p2 st.shared.u32 [s+8], %r5;"
_FROM_SHARED = f"@%p2 ld.shared.u32 %r5, [s+8]; @%p2 {_RED} %r5;"
_ZERO = "st.shared.u32 [s+8], 0;"


def _loses_nothing(*_: Any) -> None:
    pass


#: Kernels of which the sum has several outcomes: what a round does, more of the kernel, and what to leave out for it to have
#: one.
_WRONG: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "what a register had is multiplied": (
        "mad.lo.u32 %r9, %r9, 3, 1;", {"after": f"{_RED} %r9;"}, (CarryingRounds, "_keeps", _loses_nothing),
    ),
    "a register is set anew": (
        "setp.eq.u32 %p4, %t0, 1; @%p4 mov.u32 %r9, 5; @!%p4 add.u32 %r9, %r9, 9;", {"after": f"{_RED} %r9;"},
        (CarryingRounds, "_keeps", _loses_nothing),
    ),
    "what shared memory had is multiplied": (
        _IN_SHARED.replace("OP", "mad.lo.u32 %r5, %r5, 3, 1"), {"before": _ZERO, "after": _FROM_SHARED},
        (CarryingRounds, "_keeps", _loses_nothing),
    ),
    "it is given in rounds that are not the last": (
        f"add.u32 %r9, %r9, 1; {_RED} %r9;", {}, (CarryingRounds, "_is_kept", lambda *_: True),
    ),
    "one worker gives what it has": (
        _COUNTED, {"after": f"setp.eq.u32 %p4, %t0, 2; @%p4 {_RED} %r9;"}, (CarryingRounds, "_is_kept", lambda *_: True),
    ),
    "workers give several times as much": (
        _COUNTED, {"after": f"mul.lo.u32 %r5, %r9, %t0; {_RED} %r5;"}, (CarryingRounds, "_is_kept", lambda *_: True),
    ),
    "what it gives is no sum": (
        "add.u32 %r9, %r9, 1;", {"after": f"and.b32 %r5, %r9, 1; {_RED} %r5;"}, (CarryingRounds, "_is_kept", lambda *_: True),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_a_sum_open_that_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, more, (place, condition, none) = _WRONG[name]
    test = round_kernel(work, block=1, **more)
    found = _in_rounds(test)
    assert found is not None and found.differing == {"x[15]"}
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        taken = _in_rounds(test)
    assert taken is not None and not taken.differing
    assert len({state["x[15]"] for state in by_formula(test, monkeypatch).states}) > 1


#: Kernels that do several things, or race: likewise.
_OPEN: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "it decides a branch": (
        "setp.eq.u32 %p4, %r9, 1; @%p4 st.global.u32 [%rd1+40], 1; add.u32 %r9, %r9, 1;", {},
        (CarryingRounds, "decides", lambda self, thread, value, op: value.number),
    ),
    "it is an address": (
        "mul.wide.u32 %rd5, %r9, 16; add.u64 %rd5, %rd5, %rd4; st.global.u32 [%rd5], 1; add.u32 %r9, %r9, 1;", {},
        (CarryingRounds, "locates", lambda self, thread, value: value.number),
    ),
    "something has to be there before": (
        "setp.eq.u32 %p4, %t0, 0; @%p4 ld.shared.u32 %r5, [s+8]; @%p4 add.u32 %r5, %r5, 1; @%p4 st.shared.u32 [s+8], %r5; "
        "@%p4 st.global.u32 [%rd4], %r5;", {"before": "setp.eq.u32 %p4, %r1, 0; @%p4 st.shared.u32 [s+8], 0;"},
        (CarryingRounds, "_check_first", _loses_nothing),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", _OPEN)
def test_each_condition_leaves_open_what_is_something_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, more, (place, condition, none) = _OPEN[name]
    test = round_kernel(work, block=1, **more)
    assert _in_rounds(test) is None
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        taken = _in_rounds(test)
    expected = by_formula(test, monkeypatch)
    assert taken is not None
    others = {label for state in expected.states for label in state if state[label] != taken.state[label]}
    assert expected.verdict not in ("ok", "bounded") or not others <= taken.differing
