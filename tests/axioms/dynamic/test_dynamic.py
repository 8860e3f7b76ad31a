"""Vector clocks and shadow memory beside the definitions: order as a closure of program order and barriers, races as pairs."""

from __future__ import annotations

from itertools import product

from campaigns import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from axioms.dynamic.core.clocks import Clocks, several
from axioms.dynamic.core.shadow import CONSTANT, Access, Shadow

_THREADS = 4
#: (thread, kind, first byte, size), or the threads that meet.
_ACCESS = st.tuples(
    st.integers(0, _THREADS - 1),
    st.sampled_from("RWA"),
    st.sampled_from([(0, 4), (0, 2), (2, 2), (3, 1), (4, 4), (0, 8)]),
)
_MEETING = st.sets(st.integers(0, _THREADS - 1), min_size=2).map(sorted)
_HISTORY = st.lists(st.one_of(_ACCESS, _ACCESS, _MEETING), max_size=24)


def _first_unordered(history: list[object]) -> int | None:
    """The index of the first access that conflicts with an earlier one that nothing orders before it, by the definition."""
    before: list[set[int]] = []  # of each event, all that are ordered before it
    last: list[set[int]] = [set() for _ in range(_THREADS)]
    accesses: list[tuple[int, int, str, int, int]] = []
    for i, step in enumerate(history):
        if isinstance(step, list):
            joined = set().union(*(last[t] for t in step))
            for t in step:
                last[t] = set(joined)
            before.append(set())
            continue
        assert isinstance(step, tuple)
        thread, kind, (first, size) = step
        for j, other, what, start, length in accesses:
            apart = start + length <= first or first + size <= start
            alike = what == kind == "A" and (start, length) == (first, size)
            if other != thread and not apart and (what, kind) != ("R", "R") and not alike and j not in last[thread]:
                return i
        accesses.append((i, thread, kind, first, size))
        last[thread] = last[thread] | {i}
        before.append(last[thread])
    return None


def _first_told(history: list[object]) -> int | None:
    clocks = Clocks(2)  # two CTAs of two threads
    for _ in range(_THREADS):
        clocks.enter()
    shadow = Shadow(clocks, "x")
    for i, step in enumerate(history):
        if isinstance(step, list):
            clocks.acquire(step, clocks.join([clocks.release(t) for t in step]))
            continue
        assert isinstance(step, tuple)
        thread, kind, (first, size) = step
        commutes = "add.u32" if kind == "A" else ""
        access = Access(thread, clocks.own[thread], i, kind, "gpu" if kind == "A" else "", first, size, commutes)
        if {"R": shadow.read, "W": shadow.write, "A": shadow.update}[kind](access) is not None:
            return i
    return None


@settings(max_examples=drawn(400), deadline=None, database=None)
@given(_HISTORY)
def test_the_first_unordered_conflict_is_told_as_the_definition_has_it(history: list[object]) -> None:
    assert _first_told(history) == _first_unordered(history)


def test_atomic_operations_commute_only_in_each_others_scope() -> None:
    clocks = Clocks(1)
    clocks.enter(), clocks.enter()
    for scope, found in (("gpu", None), ("cta", 0)):
        shadow = Shadow(clocks, "x")
        shadow.update(Access(0, 1, 0, "A", scope, 0, 4, "add.u32"))
        other = shadow.update(Access(1, 1, 1, "A", "gpu", 0, 4, "add.u32"))
        assert (None if other is None else other.thread) == found


def test_no_order_of_threads_orders_a_write_with_a_read_by_the_texture_proxy() -> None:
    for constant_first in (True, False):
        clocks = Clocks(1)
        clocks.enter()
        shadow = Shadow(clocks, "x")
        read = Access(0, 1, 0, "R", CONSTANT, 0, 4)
        write = Access(0, 1, 1, "W", "", 0, 4)
        steps = [(shadow.read, read), (shadow.write, write)]
        first, second = steps if constant_first else steps[::-1]
        assert first[0](first[1]) is None and second[0](second[1]) is not None


_TIMES = st.lists(st.integers(0, 3), min_size=2, max_size=2)
_TABLES = st.lists(st.dictionaries(st.integers(0, 2), _TIMES, max_size=3), min_size=1, max_size=4)


@settings(max_examples=drawn(200), deadline=None, database=None)
@given(_TABLES, st.data())
def test_what_several_threads_know_is_what_each_and_what_some_of_them_does(
    tables: list[dict[int, list[int]]], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(tables), min_size=1, max_size=6))  # some threads share a table
    found = several(chosen)

    def knows(table: dict[int, list[int]], cta: int, place: int, time: int) -> bool:
        return cta in table and table[cta][place] >= time

    for cta, place, time in product(range(3), range(2), range(1, 4)):
        told = [knows(table, cta, place, time) for table in chosen]
        assert knows(found.each, cta, place, time) == all(told)
        assert knows(found.some, cta, place, time) == any(told)
    assert {id(table) for table in found.tables} == {id(table) for table in chosen}
