"""What an mbarrier object can go through: counted by classes of operations, never less than told apart one by one."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from axioms.sync import mbarrier_states
from axioms.sync.mbarrier_states import START, ObjectState, Reach, reachable


class Operation:
    """Stands for a Step: operations of a kind do the same, and the order of kinds shows in the state."""

    def __init__(self, kind: int) -> None:
        self.kind = kind

    def key(self) -> tuple[object, ...]:
        return (self.kind,)

    def wrong(self, state: ObjectState) -> str:
        return "wrong" if state.content % 11 == 10 else ""

    def following(self, state: ObjectState) -> list[tuple[int, ObjectState]]:
        return [(1, ObjectState((3 * state.content + self.kind + 1) % 1000, 1, 0))]


def exactly(*given: Any) -> Reach:
    return reachable(*given)


def counted(monkeypatch: pytest.MonkeyPatch, *given: Any) -> Reach:
    with monkeypatch.context() as patched:
        patched.setattr(mbarrier_states, "_MAX_SETS", 0)
        return reachable(*given)


def windows(certain: list[bool], before: list[int]) -> list[tuple[int, int]]:
    """First and last positions that the order leaves, counted from 1."""
    n = len(before)
    first = [1 + sum(certain[i] for i in range(n) if row >> i & 1) for row in before]
    return [(first[i], n - sum(row >> i & 1 for row in before)) for i in range(n)]


@pytest.mark.parametrize("seed", range(60))
def test_counting_classes_only_adds_states(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    n = chance.randint(2, 6)
    operations = [Operation(chance.randrange(3)) for _ in range(n)]
    certain = [chance.random() < 0.7 for _ in range(n)]
    before = [0] * n
    for i, j in itertools.combinations(range(n), 2):  # numbers go with the order, so that it is closed
        if chance.random() < 0.3:
            before[j] |= 1 << i | before[i]
    given = (operations, certain, before, windows(certain, before))
    exact, coarse = exactly(*given), counted(monkeypatch, *given)
    assert exact.after[0] == {START}
    assert all(one <= all_ for one, all_ in zip(exact.after, coarse.after, strict=True))
    for i in range(n):
        for position, states in exact.found_by[i].items():
            assert states <= coarse.found_by[i][position]


def test_counting_knows_that_each_operation_takes_place_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five that add one and another: none of the five finds that five have been added."""

    class Adds(Operation):
        def following(self, state: ObjectState) -> list[tuple[int, ObjectState]]:
            return [(1, ObjectState(state.content + self.kind, 1, 0))]

    operations = [*(Adds(1) for _ in range(5)), Adds(100)]
    found = counted(monkeypatch, operations, [True] * 6, [0] * 6, [(1, 6)] * 6)
    assert found.after[5] == {ObjectState(5, 1, 0), ObjectState(104, 1, 0)}
    assert found.found_by[0][6] == {ObjectState(104, 1, 0)} and found.found_by[5][6] == {ObjectState(5, 1, 0)}


def test_counting_knows_who_must_have_come_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads add one and then ten each: never more tens than ones."""

    class Adds(Operation):
        def following(self, state: ObjectState) -> list[tuple[int, ObjectState]]:
            return [(1, ObjectState(state.content + self.kind, 1, 0))]

    operations = [Adds(kind) for _ in range(3) for kind in (1, 10)]
    before = [0, 1, 0, 4, 0, 16]
    certain = [True] * 6
    found = counted(monkeypatch, operations, certain, before, windows(certain, before))
    assert found.after[3] == {ObjectState(3, 1, 0), ObjectState(12, 1, 0)}  # not 21 or 30
    assert found.after == exactly(operations, certain, before, windows(certain, before)).after
