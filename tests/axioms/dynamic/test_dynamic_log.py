"""The log of accesses and the rows of clocks beside the definitions: order as a closure of program order and barriers,
conflicts as pairs."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
from campaigns import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from axioms.dynamic.one_run import log as logs
from axioms.dynamic.one_run.log import Accessed, Log, Region
from axioms.dynamic.one_run.rows import ClockRows

_SIZE, _CTAS = 4, 2
_THREADS = _SIZE * _CTAS


@st.composite
def _batch(draw: st.DrawFn) -> tuple[str, int, list[tuple[int, int]]]:
    """What threads do together: the kind, the words of each access, and the threads with their first words."""
    kind, units = draw(st.sampled_from("RRWWAAMC")), draw(st.sampled_from((1, 1, 2)))
    threads = sorted(draw(st.sets(st.integers(0, _THREADS - 1), min_size=1)))
    first = units * draw(st.integers(0, 2))
    same = draw(st.booleans())
    return kind, units, [(t, first if same else units * draw(st.integers(0, 5))) for t in threads]


#: Who meets: threads of one CTA, of whom the first ones only arrive.
_MEETING = st.tuples(st.integers(0, _CTAS - 1), st.sets(st.integers(0, _SIZE - 1), min_size=1), st.integers(0, 1))
_HISTORY = st.lists(st.one_of(_batch(), _batch(), _batch(), _MEETING), max_size=30)


def _by_definition(history: list[Any]) -> list[bool]:
    """Of each batch, whether it conflicts with an earlier one, or in itself, and nothing orders that; up to the first."""
    last: list[set[int]] = [set() for _ in range(_THREADS)]
    accesses: list[tuple[int, int, str, int, int]] = []
    found = []
    for step in history:
        if isinstance(step[0], int):
            cta, places, arrive = step
            threads = [_SIZE * cta + place for place in sorted(places)]
            joined = set().union(*(last[t] for t in threads))
            for t in threads[arrive:]:
                last[t] = set(joined)
            continue
        kind, units, lanes = step
        conflicts = False
        for thread, first in lanes:
            for j, (other, what, start, length, _) in enumerate(accesses):
                apart = start + length <= first or first + units <= start
                if apart or {what, kind} <= {"R", "C"} or (what == kind in "AM" and (start, length) == (first, units)):
                    continue
                conflicts |= "C" in (what, kind) or (other != thread and j not in last[thread])
            accesses.append((thread, kind, first, units, len(accesses)))
            last[thread] = last[thread] | {len(accesses) - 1}
        found.append(conflicts)
        if conflicts:
            break
    return found


def _by_log(history: list[Any]) -> list[bool]:
    clocks = ClockRows(_SIZE)
    clocks.enter(_CTAS)
    log, region, found = Log(clocks), Region(None, 64, 2, "x", 0), []
    for step in history:
        if isinstance(step[0], int):
            cta, places, arrive = step
            threads = np.array([_SIZE * cta + place for place in sorted(places)])
            times, rows = clocks.release(threads)
            waited = np.arange(threads.size) >= arrive
            clocks.meet(np.zeros(threads.size, np.int64), threads, times, rows, waited)
            continue
        kind, units, lanes = step
        crowd = clocks.crowd(np.array([thread for thread, _ in lanes]))
        firsts = np.array([first for _, first in lanes])
        uniform = firsts.size > 1 and bool((firsts == firsts[0]).all())
        firsts = firsts[:1] if uniform else firsts
        a = Accessed(
            crowd, 2 * "RWAMC".index(kind) + units, region, (firsts[:, None] + np.arange(units)).ravel(), units, uniform
        )
        if kind in "AM":
            conflict = log.update(a, f"{'add' if kind == 'A' else 'max'}.u{32 * units}")
        else:
            conflict = {"R": log.read, "W": log.write, "C": log.constant}[kind](a)
        found.append(conflict is not None)
        if conflict is not None:
            break
    return found


@settings(max_examples=drawn(400), deadline=None, database=None)
@given(_HISTORY)
def test_the_first_unordered_conflict_is_told_as_the_definition_has_it(history: list[Any]) -> None:
    assert _by_log(history) == _by_definition(history)


@settings(max_examples=drawn(200), deadline=None, database=None)
@given(_HISTORY)
def test_chains_that_are_made_anew_say_the_same(history: list[Any]) -> None:
    before, logs._DEPTH = logs._DEPTH, 1
    try:
        assert _by_log(history) == _by_definition(history)
    finally:
        logs._DEPTH = before


def test_what_threads_of_many_ctas_do_to_one_word_is_not_looked_at_each_with_each() -> None:
    """Additions to one word, beside maxima of another one: memory is less than a byte for each pair of threads."""
    size, ctas, groups = 64, 64, 6
    clocks = ClockRows(size)
    log, region = Log(clocks), Region(None, 64, 2, "x", 0)
    tracemalloc.start()
    for group in range(groups):
        clocks.enter(ctas)
        threads = np.arange(group * size * ctas, (group + 1) * size * ctas)
        for word, done in ((0, "add.u32"), (1, "max.u32")):
            assert log.update(Accessed(clocks.crowd(threads), 0, region, np.array([word]), 1, True), done) is None
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert log.commuted and most < (size * ctas) ** 2


def test_rows_are_used_again() -> None:
    clocks = ClockRows(4)
    clocks.enter(1)
    threads = np.arange(4)
    for _ in range(1000):
        times, rows = clocks.release(threads)
        clocks.meet(np.zeros(4, np.int64), threads, times, rows, np.ones(4, np.bool_))
    assert len(clocks.rows) < 300
    assert clocks.ordered(threads, threads[::-1], np.full(4, 1000)).all()
    assert not clocks.ordered(threads, threads[::-1], np.full(4, 1001)).any()
