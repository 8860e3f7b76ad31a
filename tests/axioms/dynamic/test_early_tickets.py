"""Workers that fetch the next ticket while they do a round: runs beside the formula, conditions with kernels that are wrong and
would be taken for right without them, and a scheduler of tiles at its size with mistakes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from compared_rounds import compare_rounds, in_rounds, true
from generated_early_tickets import SUM, early_kernel, first_in_a_register, generated, handed_on_late

from axioms.dynamic.tickets.persistent import Persistent
from axioms.dynamic.tickets.round_kinds import RoundKinds, SharedRounds

_OWN, _BAR = "st.global.u32 [%rd4], {};", "bar.sync 0;"


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return compare_rounds(generated, seeds, monkeypatch, lambda found: "several" if found.runs > 1 else "one")


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(4), range(24)))
def test_what_is_said_of_early_tickets_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(seeds, monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_many_early_tickets_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = _compare(range(1000, 1000 + share(24_000)), monkeypatch)
    assert counted["several"] >= counted["one"] // 8


def test_slots_by_turns_take_several_runs() -> None:
    for begin in ("ticket", "cta"):
        for rotated in (False, True):
            found = in_rounds(early_kernel(_OWN.format("%t0"), begin=begin, rotated=rotated, block=1, tickets=5))
            assert found is not None and found.runs > 1, (begin, rotated)
            assert [found.state[f"x[{i}]"] for i in range(6)] == [0, 1, 2, 3, 4, 0]
            assert found.state["c[0]"] == (7 if begin == "ticket" else 5)


def _puts(self: Persistent, _: Any, segment: Any, first: int, size: int, value: Any) -> None:
    self.stored.store(segment, first, size, value)


#: Kernels that are wrong, or have several outcomes: what a round does, more of the kernel, and the condition without which they
#: would be right, or have one.
_WRONG: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "which turn it is": (_OWN.format("%r9"), {"block": 1, "tickets": 3}, (RoundKinds, "covered", true)),
    "which turn it is, added up": (
        f"red.relaxed.gpu.global.add.u32 [%rd1+{4 * SUM}], %r9;", {"block": 1, "tickets": 4}, (RoundKinds, "covered", true),
    ),
    "the next ticket": (
        "@%p2 " + _OWN.format("%t1"), {"slots": False, "bars": ("bar.sync 0;",) * 3, "block": 1, "tickets": 3},
        (Persistent, "_puts", _puts),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, more, (place, condition, none) = _WRONG[name]
    test = early_kernel(work, **more)
    found = in_rounds(test)
    expected = by_formula(test, monkeypatch)
    wrong = expected.verdict == "no" or len(expected.states) > 1
    assert found is None and wrong
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        assert in_rounds(test) is not None


def test_a_last_ticket_that_no_later_round_of_a_run_had_is_not_taken_for_known() -> None:
    """The loop asks more at its end than before it: of what comes there with the last ticket."""
    more = "setp.eq.u32 %p4, %t0, 3; @%p4 st.global.u32 [%rd1+44], 3;"
    assert (
        in_rounds(early_kernel(_OWN.format("%t0"), slots=False, rotated=True, block=1, bars=(_BAR, _BAR, more))) is None
    )


def test_first_rounds_are_not_like_others_because_a_loop_is_long() -> None:
    found = in_rounds(first_in_a_register())
    assert found is None or found.differing >= {"x[0]", "x[1]"}


def test_who_has_not_begun_a_round_does_not_hand_its_ticket_on() -> None:
    assert in_rounds(handed_on_late()) is None


def test_a_counter_is_not_set_back_in_the_round_before_the_last_ticket() -> None:
    """Another worker may have that round, and not the last ticket."""
    for ticket in range(2):
        sets_back = f"setp.eq.u32 %p4, %t0, {ticket}; @%p4 st.global.u32 [%rd3], 0;"
        for slots in (False, True):
            assert in_rounds(early_kernel(sets_back, slots=slots, block=1)) is None


def test_one_kind_follows_each() -> None:
    kinds = RoundKinds(numbered=True)
    kinds.begins = {(number, 0): stands for number, stands in enumerate("ABABAA")}
    assert not kinds.covered()
    kinds.begins[5, 0] = "B"
    assert kinds.covered()


def test_heads_meet_tails_of_the_kind_before() -> None:
    """With two slots, what a round writes is not what the one before reads, but what the one before that does."""
    rounds = SharedRounds()
    for number in (0, 1):
        rounds.ends_round(number, [("R", 4 * number, 4 * number + 4, 5)])
        rounds.begins(number, ("W", 4 * number, 4 * number + 4, 0))
    assert rounds.apart({0: 0, 1: 1, 2: 0})
    assert not rounds.apart()
    assert not rounds.apart({0: 0, 1: 0})


_SIZE: dict[str, Any] = {"block": 64, "tickets": 24, "grid": 4, "words": 24 * 64}
_MISTAKES = {
    "no barrier before the next ticket is read": {"bars": (_BAR, "", "")},
    "no barrier behind the first ticket": {"bars": ("", _BAR, "")},
    "one slot without a barrier behind it": {"turn": ""},
}


def test_a_scheduler_that_fetches_early_is_right() -> None:
    open_, result = by_runs(early_kernel(_OWN.format("%t0"), **_SIZE))
    assert (open_, result.verdict) == ("", "ok")
    assert "whichever CTA gets which of 28 tickets" in result.notes[0] and "runs" in result.notes[0]


@pytest.mark.long
@pytest.mark.parametrize("name", _MISTAKES)
def test_a_mistake_of_one_that_fetches_early_is_told(name: str) -> None:
    open_, result = by_runs(early_kernel(_OWN.format("%t0"), **{**_SIZE, **_MISTAKES[name]}))
    assert (open_, result.verdict) == ("", "no")
