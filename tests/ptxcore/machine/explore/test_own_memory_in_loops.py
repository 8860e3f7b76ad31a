"""Waiting loops that write memory of the thread's own, as code that was not optimised does: iterations are left out where
nobody can see there that they have been."""

from __future__ import annotations

import pytest
from explored_kernels import Y, effects, kernel, one

from ptxcore.machine.ir.effects import ThreadExecution
from ptxcore.values.terms import evaluate

STACK = (
    ".local .align 8 .b8 depot[16]; .reg .b64 %own; .reg .b64 %any; mov.u64 %own, depot; cvta.local.u64 %any, %own;\n"
)
LOOK = "ld.acquire.gpu.u32 %r1, [%d1]; "


def explored(body: str, before: str = "") -> ThreadExecution:
    return one(kernel(STACK + body, before=before))


def is_last_turn(x: ThreadExecution) -> bool:
    return len(x.stuck) == 1 and not x.cuts and [e.kind for e in x.effects].count("load") == 1


@pytest.mark.parametrize("at", ["local.u32 [%own]", "u32 [%any]"])
def test_what_every_turn_writes_before_it_is_read_is_the_turns_own(at: str) -> None:
    load, store = f"ld.{at}", f"st.{at}"
    load = load.replace("[", "%r2, [")
    x = explored(f"L: {LOOK} {store}, %r1; {load}; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; st.global.u32 [%d2], 1; ret;")
    assert is_last_turn(x)


def test_what_the_last_turn_leaves_may_be_read_behind_the_loop() -> None:
    x = explored(f"L: {LOOK} st.local.u32 [%own], %r1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"
                 "ld.local.u32 %r2, [%own]; st.global.u32 [%d2], %r2; ret;")  # fmt: skip
    assert is_last_turn(x) and effects(x)[1] == ("store", Y, x.effects[0].result)


@pytest.mark.parametrize("at", ["local.u32 {}[%own]", "u32 {}[%any]"])
def test_attempts_are_counted_wherever_the_counter_is(at: str) -> None:
    load, store = f"ld.{at.format('%r2, ')}", f"st.{at.format('')}"
    x = explored(f"{store}, 0; L: {load}; add.u32 %r2, %r2, 1; {store}, %r2; {LOOK} setp.ne.u32 %p1, %r1, 0; @%p1 bra D;"
                 "setp.lt.u32 %p2, %r2, 3; @%p2 bra L; D: st.global.u32 [%d2], %r2; ret;")  # fmt: skip
    assert not x.stuck and [e.kind for e in x.effects] == ["load"] * 3 + ["store"]
    looked = [e.result for e in x.effects[:3]]
    assert [evaluate(x.effects[3].value, dict.fromkeys(looked, 0) | {looked[i]: 1}) for i in range(3)] == [1, 2, 3]


def test_what_only_a_turn_that_goes_round_writes_is_seen_behind_the_loop() -> None:
    x = explored(f"st.local.u32 [%own], 5; L: {LOOK} setp.ne.u32 %p1, %r1, 0; @%p1 bra D; st.local.u32 [%own], 7; bra L;"
                 "D: ld.local.u32 %r2, [%own]; st.global.u32 [%d2], %r2; ret;")  # fmt: skip
    assert [e.kind for e in x.effects] == ["load", "load", "store"]  # a second iteration changes nothing any more
    first, second, store = x.effects
    assert [evaluate(store.value, {first.result: n, second.result: 1}) for n in (0, 1)] == [7, 5]


def test_the_same_where_nobody_reads_it_is_nobodys_business() -> None:
    x = explored(f"st.local.u32 [%own], 5; L: {LOOK} setp.ne.u32 %p1, %r1, 0; @%p1 bra D; st.local.u32 [%own], 7; bra L;"
                 "D: ld.local.u32 %r2, [%own+4]; st.global.u32 [%d2], 1; ret;")  # fmt: skip
    assert is_last_turn(x)


def test_what_a_turn_writes_on_one_path_only_is_seen_on_the_other() -> None:
    x = explored(f"st.local.u32 [%own], 5; L: {LOOK} setp.gt.u32 %p2, %r1, 9; @%p2 st.local.u32 [%own], %r1;"
                 "setp.ne.u32 %p1, %r1, 3; @%p1 bra L; ld.local.u32 %r2, [%own]; st.global.u32 [%d2], %r2; ret;")  # fmt: skip
    assert not x.stuck and x.cuts


def test_a_turn_that_leaves_what_it_found_is_left_out_wherever_the_loop_is_tested() -> None:
    """`taken` is read before it is written; but an iteration that did not take the lock leaves it at 0."""
    x = explored("st.local.u8 [%own], 0; L: ld.local.u8 %h1, [%own]; setp.ne.u16 %p1, %h1, 0; @%p1 bra D;"
                 "atom.cas.acquire.gpu.b32 %r1, [%d1], 0, 1; setp.eq.u32 %p2, %r1, 0; selp.u16 %h2, 1, 0, %p2;"
                 "st.local.u8 [%own], %h2; bra L; D: st.global.u32 [%d2], 1; ret;")  # fmt: skip
    assert [e.kind for e in x.effects] == ["atom", "store"] and len(x.stuck) == 1 and not x.cuts


def test_one_that_leaves_something_else_is_not() -> None:
    x = explored("st.local.u8 [%own], 0; L: ld.local.u8 %h1, [%own]; setp.gt.u16 %p1, %h1, 1; @%p1 bra D;"
                 "atom.cas.acquire.gpu.b32 %r1, [%d1], 0, 1; setp.eq.u32 %p2, %r1, 0; selp.u16 %h2, 2, 1, %p2;"
                 "st.local.u8 [%own], %h2; bra L; D: st.global.u32 [%d2], 1; ret;")  # fmt: skip
    assert [e.kind for e in x.effects][:2] == ["atom", "atom"]  # the second iteration finds the first one's 1
    assert x.effects[1].guard != 0


def test_a_part_of_what_a_turn_writes_may_be_seen() -> None:
    x = explored(f"st.local.u32 [%own], 5; L: ld.local.u8 %h1, [%own+3]; {LOOK} st.local.u32 [%own], %r1;"
                 "setp.ne.u32 %p1, %r1, 3; @%p1 bra L; cvt.u32.u16 %r2, %h1; st.global.u32 [%d2], %r2; ret;")  # fmt: skip
    assert not x.stuck and x.cuts


def test_a_stack_that_grows_with_every_turn_is_seen() -> None:
    x = explored(f"L: alloca.u64 %d5, 16; {LOOK} setp.ne.u32 %p1, %r1, 3; @%p1 bra L; st.global.u32 [%d2], 1; ret;")
    assert not x.stuck and x.cuts


def test_one_loop_of_two_keeps_its_turns() -> None:
    """What the inner loop leaves is the outer one's own; the outer one counts."""
    x = explored(f"st.local.u32 [%own], 0; O: st.local.u32 [%own+4], 0;"
                 f"L: {LOOK} st.local.u32 [%own+8], %r1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"
                 "ld.local.u32 %r2, [%own]; add.u32 %r2, %r2, 1; st.local.u32 [%own], %r2; setp.lt.u32 %p2, %r2, 3; @%p2 bra O;"
                 "st.global.u32 [%d2], %r2; ret;")  # fmt: skip
    assert [e.kind for e in x.effects] == ["load"] * 3 + ["store"] and len(x.stuck) == 3 and not x.cuts


ASK = """.func (.param .b32 got) ask(.param .b64 at, .param .b64 found)
{ .reg .b32 %r<4>; .reg .b64 %d<4>; .local .align 8 .b8 kept[8]; .reg .b64 %k; mov.u64 %k, kept;
ld.param.u64 %d1, [at]; ld.param.u64 %d2, [found]; st.local.u64 [%k], %d1; ld.local.u64 %d3, [%k];
ld.acquire.gpu.u32 %r1, [%d3]; st.u32 [%d2], %r1; ld.u32 %r2, [%d2]; st.param.b32 [got], %r2; ret; }
"""


def test_a_call_may_have_a_frame_and_write_the_callers() -> None:
    x = explored(
        """L: { .param .b64 p0; st.param.b64 [p0], %d1; .param .b64 p1; st.param.b64 [p1], %any; .param .b32 q;
        call.uni (q), ask, (p0, p1); ld.param.b32 %r3, [q]; } setp.eq.u32 %p1, %r3, 0; @%p1 bra L;
        ld.u32 %r4, [%any]; st.global.u32 [%d2], %r4; ret;""",
        ASK,
    )
    assert is_last_turn(x) and effects(x)[1] == ("store", Y, x.effects[0].result)


# Iterations that a bound stops, and that may be done without end.


def repeats(x: ThreadExecution, *answers: int) -> int:
    """Whether the iteration that was cut goes on without end, when the operations return these numbers."""
    (iteration,) = x.repeating
    results = [e.result for e in x.effects if e.result is not None]
    return evaluate(iteration.repeats, dict(zip(results, answers, strict=True)))


def test_a_turn_that_writes_what_it_has_read_repeats_itself() -> None:
    x = explored("L: atom.exch.b32 %r1, [%d1], 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L; ret;")
    assert len(x.cuts) == 1 and x.repeating[0].reads == (3,)
    assert repeats(x, 1, 1, 1, 1) == 1 and repeats(x, 2, 1, 1, 1) == 1  # what was before does not matter,
    assert repeats(x, 1, 1, 1, 2) == 0  # nor who writes something else in the end


def test_a_turn_that_ends_with_other_registers_does_not_repeat_itself() -> None:
    carried = (
        "ld.relaxed.gpu.u32 %r1, [%d1]; L: mov.u32 %r2, %r1; ld.relaxed.gpu.u32 %r1, [%d1]; setp.{}.u32 %p1, %r1, %r2;"
    )
    x = explored(carried.format("eq") + "@%p1 bra L; ret;")
    assert repeats(x, 3, 3, 3, 3, 3) == 1
    assert not explored(carried.format("ne") + "@%p1 bra L; ret;").repeating


def test_a_turn_that_counts_does_not_repeat_itself_though_its_counter_is_in_memory() -> None:
    count = "ld.u32 %r2, [%any]; add.u32 %r2, %r2, {}; st.u32 [%any], %r2; setp.eq.u32 %p2, %r2, 9; @%p2 bra D;"
    body = f"st.u32 [%any], 0; L: {LOOK} {count} setp.eq.u32 %p1, %r1, 0; @%p1 bra L; D: st.global.u32 [%d2], %r2; ret;"
    assert explored(body.format(1)).cuts and not explored(body.format(1)).repeating
    assert is_last_turn(explored(body.format(0)))


def test_a_turn_that_takes_back_what_it_has_done_is_seen_by_others() -> None:
    x = explored("L: atom.add.relaxed.gpu.u32 %r1, [%d1], -1; setp.gt.s32 %p1, %r1, 0; @%p1 bra D;"
                 "atom.add.relaxed.gpu.u32 %r2, [%d1], 1; bra L; D: ret;")  # fmt: skip
    assert x.cuts and not x.repeating


def test_a_turn_that_stores_is_not_known_to_change_nothing() -> None:
    x = explored(
        "L: ld.relaxed.gpu.u32 %r1, [%d1]; st.relaxed.gpu.u32 [%d1], %r1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; ret;"
    )
    assert x.cuts and not x.repeating
