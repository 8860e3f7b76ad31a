"""Allocators whose threads add to a top by compare-and-swap, if there is room: one run up to that beside the formula, and
conditions each with a kernel that is wrong and would be taken for right without it, and an allocator at its size."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula
from campaigns import lengths, share
from generated_allocators import allocator_kernel
from test_searches import by_searches, compare_up_to_searches
from ticketed_kernels import ticketed_kernel

from axioms.dynamic.searches import search_appends, searching
from axioms.dynamic.searches.search_tickets import SearchTickets


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(5), range(100)))
def test_what_is_said_of_allocating_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_searches(allocator_kernel, seeds, monkeypatch)
    assert counted["differing"] + counted["same"] > len(seeds) / 4


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_what_is_said_of_many_allocators_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_searches(allocator_kernel, range(1000, 1000 + share(40_000)), monkeypatch)


_TAKES = """ld.relaxed.gpu.global.u32 %r7, [%rd3];
AGAIN: add.u32 %r8, %r7, {n}; setp.gt.u32 %p2, %r8, {room}; @%p2 bra END;
 atom{scope}.global.cas.b32 %t0, [%rd3], %r7, %r8; setp.eq.u32 %p3, %t0, %r7; @%p3 bra DONE; {again} bra AGAIN;
DONE: mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd6, %rd1; st.global.u32 [%rd6], %r5;"""


def _takes(n: str = "1", room: int = 2, scope: str = ".relaxed.gpu", again: str = "mov.u32 %r7, %t0;") -> str:
    return _TAKES.format(n=n, room=room, scope=scope, again=again)


def _as_before(self: Any, _: Any) -> Any:
    return self.ranges


#: Kernels that are wrong, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[str, tuple[Any, str, Any]]] = {
    "it compares again with what it found first": (_takes(again=""), (SearchTickets, "_looked_at", _as_before)),
    "it compares in a scope that has not all threads": (
        _takes(scope=".relaxed.cta"),
        (searching._HeldAgainst, "_pair", lambda *_: None),
    ),
    "two store at one place": (_takes() + " st.global.u32 [%rd6+4], 9;", (search_appends.Slots, "problem", lambda _: None)),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_what_is_wrong_is_not_taken_for_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, (where, what, without) = _WRONG[name]
    test = ticketed_kernel(body, 2, 1, words=8, start=(0, 0), forall="x[7] == 0")
    assert by_searches(test) is None
    assert by_formula(test, monkeypatch).verdict == "no"
    monkeypatch.setattr(where, what, without)
    assert by_searches(test) is not None


def test_there_need_be_room_only_for_what_is_asked_for() -> None:
    assert by_searches(ticketed_kernel(_takes(room=2), 3, 1, words=2, start=(0, 0), forall="c[0] == 2")) is not None
    assert by_searches(ticketed_kernel(_takes(room=3), 3, 1, words=2, start=(0, 0), forall="c[0] == 2")) is None


def test_tickets_are_as_far_apart_as_all_additions_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread adds something odd, and stores nothing by that."""
    body = "@%p1 atom.relaxed.gpu.global.add.u32 %t1, [%rd3], 1; " + _takes("2", 8) + " st.global.u32 [%rd6+4], %r5;"
    test = ticketed_kernel(body, 2, 1, words=8, start=(0, 0), forall="x[4] == 2")
    found, expected = by_searches(test), by_formula(test, monkeypatch)
    assert found is not None
    assert len({state["x[4]"] for state in expected.states}) > 1
    assert "x[4]" in found.differing


def test_an_allocator_of_many_threads_is_right_whoever_comes_first() -> None:
    sizes = "and.b32 %r6, %r4, 1; add.u32 %r6, %r6, 1;"
    second = " setp.ne.u32 %p4, %r6, 2; @%p4 bra END; st.global.u32 [%rd6+4], %r5;"
    for room in (80, 81):
        body = sizes + _takes("%r6", room) + second
        found = by_searches(ticketed_kernel(body, 2, 32, words=80, start=(0, 0), forall="c[1] == 0"))
        assert (found is not None) == (room == 80)
