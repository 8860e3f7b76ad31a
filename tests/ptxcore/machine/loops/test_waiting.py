"""Loops that only wait are cut to their last iteration; all others are bounded."""

from __future__ import annotations

import itertools

import pytest
from campaigns import drawn
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ptxcore.isa.table import TYPED
from ptxcore.machine.explore.concrete import Trace, run
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.effects import Effect
from ptxcore.machine.ir.loop_nest import nest
from ptxcore.machine.ir.operands import Variable
from ptxcore.machine.lower.code import ThreadCode, prepare
from ptxcore.syntax.reader import read_statements
from ptxcore.values.terms import eq, evaluate, negate

VARIABLES = {"x": Variable(64), "f": Variable(128), "l": Variable(192)}


def code(text: str, initial: dict[str, int] | None = None, observed: tuple[str, ...] | None = None) -> ThreadCode:
    return prepare(read_statements(text), TYPED, VARIABLES, initial or {}, observed=observed)


SPIN = "W: ld.relaxed.gpu.u32 %r0, [f]; setp.eq.u32 %p0, %r0, 0; @%p0 bra W;"
SPIN_ACQUIRE = "W: ld.acquire.gpu.u32 %r0, [f]; nanosleep.u32 20; setp.ne.s32 %p0, %r0, 3; @!%p0 bra O; bra W; O:"
CAS = "W: atom.cas.acquire.gpu.b32 %r0, [l], 0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra W;"
TTAS = "W: ld.relaxed.gpu.u32 %r1, [l]; setp.ne.u32 %p1, %r1, 0; @%p1 bra W;" + CAS.replace("W:", "").replace(
    "@%p0", "fence.sc.gpu; @%p0"
)
GUARDED_STORE = "W: ld.relaxed.gpu.u32 %r0, [f]; setp.eq.u32 %p0, %r0, 0; @!%p0 st.weak.u32 [x], 1; @%p0 bra W;"
FOREVER = "W: bra W;"


@pytest.mark.parametrize("text", [SPIN, SPIN_ACQUIRE, CAS, TTAS, GUARDED_STORE, FOREVER])
def test_a_waiting_loop_needs_no_bound(text: str) -> None:
    once = explore(code(text), unroll=1)
    assert once.cut == 0
    assert [e.kind for e in explore(code(text), unroll=9).effects] == [e.kind for e in once.effects]


EXCH = "W: atom.exch.acquire.gpu.b32 %r0, [l], 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra W;"
COUNTED = "mov.u32 %r0, 0; W: ld.relaxed.gpu.u32 %r1, [f]; add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 9; @%p0 bra W;"
STORING = "W: st.relaxed.gpu.u32 [x], 1; ld.relaxed.gpu.u32 %r0, [f]; setp.eq.u32 %p0, %r0, 0; @%p0 bra W;"
REDUCING = STORING.replace("st.relaxed", "red.add.relaxed")
BARRIER = STORING.replace("st.relaxed.gpu.u32 [x], 1", "bar.sync 0")
CARRIED = "mov.u32 %r2, 0; W: add.u32 %r2, %r0, %r2; ld.relaxed.gpu.u32 %r0, [f]; setp.eq.u32 %p0, %r0, 0; @%p0 bra W;"


@pytest.mark.parametrize("text", [EXCH, COUNTED, STORING, REDUCING, BARRIER, CARRIED])
def test_a_loop_with_side_effects_or_memory_is_bounded(text: str) -> None:
    for unroll in (1, 2, 3):
        bounded = explore(code(text, {"r0": 0}), unroll=unroll)
        assert bounded.cut != 0
        kinds = [e.kind for e in bounded.effects]
        assert kinds == kinds[: len(kinds) // unroll] * unroll


def test_rubbish_that_nobody_looks_at_does_not_spoil_a_wait() -> None:
    text = "W: ld.relaxed.gpu.u32 %r0, [f]; setp.ne.u32 %p0, %r0, 0; @%p0 bra O; mov.u32 %r5, 20; bra W; O:"
    assert explore(code(text)).cut != 0  # %r5 shows how often it went round
    assert explore(code(text, observed=("r0",))).cut == 0


def test_a_bound_that_suffices_cuts_nothing() -> None:
    text = "mov.u32 %r0, 0; W: add.u32 %r0, %r0, 1; st.weak.u32 [x], %r0; setp.lt.u32 %p0, %r0, 4; @%p0 bra W;"
    assert explore(code(text), unroll=4).cut == 0
    assert explore(code(text), unroll=4).finishes == 1
    assert explore(code(text), unroll=3).cut == 1
    assert explore(code(text), unroll=3).finishes == 0


def test_a_loop_with_two_entries_is_bounded_and_runs() -> None:
    text = """setp.eq.u32 %p0, %r9, 0; @%p0 bra B;
        A: ld.relaxed.gpu.u32 %r0, [f]; B: ld.relaxed.gpu.u32 %r1, [l];
        setp.eq.u32 %p1, %r1, 0; @%p1 bra A;"""
    inside = explore(code(text, {"r9": 0, "r0": 0}), unroll=2)
    assert [e.address for e in inside.effects] == [192, 128, 192]
    assert inside.cut != 0


def test_a_loop_that_never_ends_is_executed_too() -> None:
    text = """ld.relaxed.gpu.u32 %r0, [f]; setp.ne.u32 %p0, %r0, 0; @%p0 bra B; bra A;
        B: atom.cas.b32 %r1, [l], 0, 1; bra B; A:"""
    loops = explore(code(text), unroll=1)
    assert [e.kind for e in loops.effects] == ["load", "atom"]
    first, last = loops.effects
    assert first.result is not None and last.guard is negate(eq(first.result, 0))
    assert evaluate(loops.cut, {first.result: 1, last.result: 0}) == 1  # type: ignore[dict-item]


def test_inner_loops_start_anew_in_each_turn_of_the_outer_one() -> None:
    text = """mov.u32 %r0, 0;
        O: mov.u32 %r1, 0;
        I: add.u32 %r1, %r1, 1; st.weak.u32 [x], %r1; setp.lt.u32 %p0, %r1, 3; @%p0 bra I;
        add.u32 %r0, %r0, 1; st.weak.u32 [f], %r0; setp.lt.u32 %p0, %r0, 2; @%p0 bra O;"""
    done = explore(code(text), unroll=3)
    assert [e.value for e in done.effects] == [1, 2, 3, 1, 1, 2, 3, 2]
    assert (done.finishes, done.cut) == (1, 0)


def test_loops_are_found_in_a_nest_and_ordered() -> None:
    # 0 -> 1 -> 2 -> 1, 2 -> 3 -> 0', with an exit 4
    found = nest([(1,), (2,), (1, 3), (1, 4), ()])
    assert [tuple(loop.header for loop in around) for around in found.loops] == [(), (1,), (1,), (1,), ()]
    assert found.positions[0] < found.positions[1] < found.positions[2] < found.positions[3] < found.positions[4]
    inner = nest([(1,), (2,), (2, 3), (1, 4), ()])
    assert [tuple(loop.header for loop in around) for around in inner.loops] == [(), (1,), (1, 2), (1,), ()]


def test_deep_graphs_do_not_recurse() -> None:
    count = 3000
    found = nest([(b + 1,) for b in range(count)] + [(count + 1, 0), ()])
    assert len(found.loops[0]) == 1


# Leaving iterations out loses no ending: any execution of the whole loop has a shorter one with the same marks on the world.

LINES = st.sampled_from(
    """ld.relaxed.gpu.u32 %r0, [f]; ld.relaxed.gpu.u32 %r1, [x]; setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 1;
    atom.cas.b32 %r1, [l], 0, 1; fence.sc.gpu; mov.u32 %r0, %r1; add.u32 %r1, %r0, 1; @%p1 st.relaxed.gpu.u32 [x], %r0;
    atom.cas.b32 %r0, [l], %r1, 1; @%p0 exit; @!%p1 bra B; @%p0 bra A; @%p1 bra A; bra B""".replace("\n", "").split(";")
)


def marks(trace: Trace) -> list[tuple[object, ...]]:
    return [
        (e.kind, e.address, e.value, e.answer)
        for e in trace.effects
        if e.kind == "store" or (e.kind == "atom" and e.writes)
    ]


@settings(max_examples=drawn(300), deadline=None)
@given(st.lists(LINES, min_size=2, max_size=8), st.integers(0, 8), st.lists(st.integers(0, 1), min_size=9, max_size=9))
def test_leaving_out_turns_that_wait_loses_no_ending(lines: list[str], at: int, answers: list[int]) -> None:
    text = "A: " + ";".join(
        [*lines[:at], "B: " + (lines[at:] or ["fence.sc.gpu"])[0], *lines[at + 1 :], "@%p0 bra A", ""]
    )
    reduced = code(text, {"r0": 0, "r1": 0, "p0": 0, "p1": 0})
    whole = reduced._replace(
        blocks=tuple(block._replace(waits=(False,) * len(block.waits)) for block in reduced.blocks)
    )
    given_out: list[int] = []

    def answer(effect: Effect) -> int:
        assume(len(given_out) < len(answers))
        given_out.append(answers[len(given_out)])
        return given_out[-1]

    long = run(whole, answer, unroll=20)
    assume(long.status == "finished")
    for length in range(len(given_out) + 1):
        for chosen in itertools.combinations(given_out, length):
            left = list(chosen)
            short = run(reduced, lambda effect, left=left: left.pop(0) if left else 9, unroll=20)  # type: ignore[misc]
            if short.status == "finished" and marks(short) == marks(long) and short.registers == long.registers:
                return
    raise AssertionError("no shorter execution ends the same way")


def test_long_chains_of_tests_stay_small() -> None:
    # Each exit is told apart by one test; the condition of the end must not grow with their combinations.
    lines = [f"ld.u32 %a{i}, [x]; setp.eq.u32 %p, %a{i}, 1; @%p exit;" for i in range(60)]
    assert explore(code("".join(lines))).finishes == 1
    locked = explore(code(EXCH), unroll=40)
    assert len(locked.effects) == 40
