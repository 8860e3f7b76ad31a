"""Kernels explored: what the threads of a launch do to memory that others see, with all else folded away."""

from __future__ import annotations

from typing import Any

import pytest
from explored_kernels import X, Y, effects, kernel, one

from ptxcore.diagnostics import InputError
from ptxcore.machine.explore.instances import SHARED_BASE
from ptxcore.machine.ir.windows import SHARED
from ptxcore.values.terms import evaluate, render, symbols_of


def test_parameters_and_special_registers_are_numbers() -> None:
    x = one(
        kernel(
            "mov.u32 %r1, %tid.x; mad.wide.u32 %d3, %r1, 4, %d1; mov.u32 %r2, %ctaid.x; st.global.u32 [%d3], %r2; ret;"
        )
    )
    assert effects(x) == [("store", X + 4, 2)]
    assert (x.finishes, x.cut, x.cuts, x.stuck) == (1, 0, [], [])


def test_threads_share_their_code() -> None:
    made = kernel("mov.u32 %r1, %tid.x; st.global.u32 [%d1], %r1; ret;")
    assert [one(made, **{"tid.x": t}).effects[0].value for t in range(3)] == [0, 1, 2]
    assert made.thread({"tid.x": 5}).blocks is made.code.blocks


def test_shared_variables_lie_where_the_rank_of_the_block_says() -> None:
    made = kernel("mov.u32 %r1, s; st.shared.u32 [%r1+4], 7; st.shared.u32 [s], 8; ret;", before=".shared .u32 s[4];")
    assert effects(one(made)) == [("store", SHARED + 4, 7), ("store", SHARED, 8)]
    other = SHARED | 1 << 24
    assert effects(one(made, **{SHARED_BASE: other})) == [("store", other + 4, 7), ("store", other, 8)]


# Loops.

SPIN = "L: ld.acquire.gpu.u32 %r1, [%d1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; st.global.u32 [%d2], 1; ret;"


def test_a_loop_that_waits_is_its_last_turn() -> None:
    x = one(kernel(SPIN))
    assert effects(x) == [("load", X), ("store", Y, 1)]
    assert x.cuts == []
    (stuck,) = x.stuck
    assert stuck.label == "L" and stuck.reads == (0,)
    assert render(stuck.guard) == render(stuck.repeats) == "(eq ('t', 0) 0)"
    assert stuck.instruction is not None and stuck.instruction.opcode == "ld"


def test_what_only_decides_how_long_a_wait_sleeps_is_left_out() -> None:
    backing_off = """
        mov.u32 %r5, 0; mov.u64 %d3, %globaltimer;
        L: ld.acquire.gpu.u32 %r1, [%d1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
        add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 16; @%p2 bra L;
        mov.u64 %d4, %globaltimer; sub.u64 %d5, %d4, %d3; cvt.u32.u64 %r6, %d5; nanosleep.u32 %r6; bra L;
        DONE: st.global.u32 [%d2], 1; ret;
    """
    x = one(kernel(backing_off))
    assert effects(x) == [("load", X), ("store", Y, 1)]
    assert not x.cuts and len(x.stuck) == 1


def test_a_wait_that_gives_up_after_a_time_goes_round_as_the_clock_says() -> None:
    """Whether it does so for ever is asked of the numbers that a clock may show (`axioms.liveness.timed`)."""
    x = one(kernel("""
        L: ld.acquire.gpu.u32 %r1, [%d1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
        mov.u64 %d4, %globaltimer; setp.lt.u64 %p2, %d4, 1000; @%p2 bra L; trap;
        DONE: st.global.u32 [%d2], 1; ret;
    """))  # fmt: skip
    assert [e.kind for e in x.effects] == ["load", "input", "stop", "store"]
    (stuck,) = x.stuck
    assert render(stuck.guard) == render(stuck.repeats) == "(all (eq ('t', 0) 0) (ult ('t', 1) 1000))"


def test_a_try_that_may_fail_for_no_reason_does_not_fail_without_end() -> None:
    x = one(kernel("L: mbarrier.try_wait.parity.shared.b64 %p1, [b], 0; @!%p1 bra L; ret;", before=".shared .b64 b;"))
    assert [e.kind for e in x.effects] == ["mbarrier", "input"]
    (stuck,) = x.stuck
    assert evaluate(stuck.repeats, {x.effects[0].result: 0}) == 1
    assert evaluate(stuck.repeats, {x.effects[0].result: 1 << 61}) == 0


def test_a_loop_with_side_effects_is_cut_at_its_bound_and_says_so() -> None:
    x = one(kernel("L: atom.exch.b32 %r1, [%d1], 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L; ret;"), unroll=3)
    assert [e.kind for e in x.effects] == ["atom"] * 3
    (cut,) = x.cuts
    assert (cut.label, cut.iterations) == ("L", 3) and cut.guard is x.cut
    assert cut.instruction is not None and cut.instruction.opcode == "atom"


COUNTED = """mov.u32 %r1, 0; L: mad.wide.u32 %d3, %r1, 4, %d1; st.global.u32 [%d3], %r1;
add.u32 %r1, %r1, 1; {}; @%p1 bra L; ret;"""
UNTIL = "ld.relaxed.gpu.u32 %r2, [%d2];\nsetp.lt.u32 %p1, %r1, %r2"


def test_a_loop_over_known_numbers_needs_no_bound() -> None:
    x = one(kernel(COUNTED.format("setp.lt.u32 %p1, %r1, 10")), unroll=2)
    assert effects(x) == [("store", X + 4 * i, i) for i in range(10)]
    assert not x.cuts


def test_bounds_of_single_loops() -> None:
    made = kernel(COUNTED.format(UNTIL))
    assert one(made, unroll=2).cuts[0].iterations == 2
    for name in ("L", "11"):
        assert one(made.bounded({name: 5}), unroll=2).cuts[0].iterations == 5
    for name in ("M", "1000", "k.cu:3"):
        with pytest.raises(KeyError):
            made.bounded({name: 5})


def test_bounds_by_lines_of_the_source() -> None:
    made = kernel(".loc 1 3 1\n" + COUNTED.format(UNTIL), before='.file 1 "/home/me/lock.cu"')
    assert set(made.lines.values()) == {("/home/me/lock.cu", 3)}
    assert one(made.bounded({"lock.cu:3": 6}), unroll=2).cuts[0].iterations == 6


# Memory of the thread's own.


def test_spills_are_no_effects() -> None:
    x = one(kernel("""
        .local .align 8 .b8 stack[16];
        ld.global.u32 %r1, [%d1]; st.local.u32 [stack+4], %r1; st.local.u64 [stack+8], 5;
        ld.local.u32 %r2, [stack+4]; ld.local.u32 %r3, [stack+8]; add.u32 %r4, %r2, %r3; st.global.u32 [%d2], %r4; ret;
    """))  # fmt: skip
    load, store = x.effects
    assert render(store.value) == "(add ('t', 0) 5)" and load.address == X
    assert list(store.data_dependencies) == [0]


def test_local_memory_through_generic_addresses_and_unknown_indices() -> None:
    x = one(kernel("""
        .local .align 4 .b8 a[16];
        mov.u64 %d3, a; cvta.local.u64 %d4, %d3;
        st.u32 [%d4], 10; st.u32 [%d4+4], 11; st.u32 [%d4+8], 12; st.u32 [%d4+12], 13;
        ld.global.u32 %r1, [%d1]; and.b32 %r1, %r1, 3; mad.wide.u32 %d5, %r1, 4, %d4;
        ld.u32 %r2, [%d5]; st.u32 [%d5], 20; ld.local.u32 %r3, [a+4];
        st.global.v2.u32 [%d2], {%r2, %r3}; ret;
    """))  # fmt: skip
    load, first, second = x.effects
    for index in range(4):
        assert evaluate(first.value, {load.result: index}) == 10 + index
        assert evaluate(second.value, {load.result: index}) == (20 if index == 1 else 11)
    assert list(first.data_dependencies) == [0]


def test_paths_that_meet_join_their_memory() -> None:
    x = one(kernel("""
        .local .align 8 .b8 a[8];
        ld.global.u32 %r1, [%d1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra ZERO;
        st.local.u32 [a], 1; st.local.u32 [a+4], 2; bra JOIN;
        ZERO: st.local.u64 [a], 0x400000003;
        JOIN: ld.local.u32 %r2, [a]; ld.local.u32 %r3, [a+4]; @%p1 st.local.u32 [a], 9; ld.local.u32 %r4, [a];
        st.global.u32 [%d2], %r2; st.global.u32 [%d2+4], %r3; st.global.u32 [%d2+8], %r4; ret;
    """))  # fmt: skip
    load, *stores = x.effects
    for value, wanted in ((0, [3, 4, 9]), (5, [1, 2, 1])):
        assert [evaluate(s.value, {load.result: value}) for s in stores] == wanted


def test_memory_that_nothing_wrote_may_be_copied_but_not_shown() -> None:
    body = ".local .align 4 .b8 a[8]; ld.local.u32 %r1, [a]; mov.u32 %r2, %r1; add.u32 %r3, %r4, 1; {} ret;"
    assert one(kernel(body.format(""))).effects == []
    for shown in ("%r2", "%r3"):
        with pytest.raises(InputError, match="before anything wrote it"):
            one(kernel(body.format(f"st.global.u32 [%d2], {shown};")))


def test_registers_packed_with_one_that_nothing_wrote_stay_what_they_are() -> None:
    x = one(kernel("mov.b64 %d3, {%r1, 7}; mov.b64 {%r2, %r3}, %d3; st.global.u32 [%d2], %r3; mov.b64 %d4, {5, %r4};"
                   "cvt.u32.u64 %r5, %d4; bar.warp.sync %r5; st.global.u64 [%d1], %d4; ret;"))  # fmt: skip
    stores = [e for e in x.effects if e.kind == "store"]
    assert stores[0].value == 7 and [e.mask for e in x.effects if e.kind == "barrier"] == [5]
    assert stores[1].value is not None
    (anything,) = symbols_of(stores[1].value)
    assert anything.width == 32 and evaluate(stores[1].value, {anything: 3}) == 3 << 32 | 5


def test_out_of_bounds_of_the_own_memory() -> None:
    x = one(kernel(".local .align 4 .b8 a[8]; mov.u64 %d3, a; st.local.u32 [%d3+8], 1; ret;"))
    assert [(r.kind, r.condition) for r in x.requirements] == [("out-of-bounds", 0)]


def test_constants_and_variables_that_are_never_written() -> None:
    x = one(kernel(
        "ld.const.u32 %r1, [c+4]; ld.global.u32 %r2, [g]; ld.global.u32 %r3, [w]; add.u32 %r4, %r1, %r2;"
        "st.global.u32 [%d2], %r4; st.global.u32 [w], %r3; ret;",
        before=".const .u32 c[2] = {3, 4}; .global .u32 g = 5; .global .u32 w = 6;",
    ))  # fmt: skip
    assert [e.kind for e in x.effects] == ["load", "store", "store"]
    assert x.effects[1].value == 9
    assert x.effects[0].address == x.effects[2].address


def test_atomics_of_local_memory_are_undefined() -> None:
    x = one(kernel(".local .b32 a; mov.u64 %d3, a; cvta.local.u64 %d4, %d3; atom.add.u32 %r1, [%d4], 1; ret;"))
    assert [(r.kind, r.condition) for r in x.requirements] == [("wrong-space", 0)]


# Calls.

ADD = """.func (.param .b32 result) plus(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<4>; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; add.u32 %r3, %r1, %r2; st.param.b32 [result], %r3; ret; }
.func (.param .b32 result) minus(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<4>; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; sub.u32 %r3, %r1, %r2; st.param.b32 [result], %r3; ret; }
"""
CALL = """{{ .param .b32 p0; st.param.b32 [p0], {0}; .param .b32 p1; st.param.b32 [p1], {1}; .param .b32 q;
call.uni (q), {2}, (p0, p1){3}; ld.param.b32 {4}, [q]; }}
"""


def test_calls_are_put_in_place() -> None:
    body = (
        "ld.global.u32 %r1, [%d1]; "
        + CALL.format("%r1", 5, "plus", "", "%r2")
        + CALL.format("%r2", "%r1", "minus", "", "%r3")
    )
    x = one(kernel(body + "st.global.u32 [%d2], %r3; ret;", before=ADD))
    load, store = x.effects
    assert evaluate(store.value, {load.result: 70}) == 5


TRY = """.func (.param .b32 got) try_lock(.param .b64 at)
{ .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<4>; ld.param.u64 %d1, [at]; atom.cas.acquire.gpu.b32 %r1, [%d1], 0, 1;
setp.eq.u32 %p, %r1, 0; selp.u32 %r2, 1, 0, %p; st.param.b32 [got], %r2; ret; }
"""


def test_a_loop_that_waits_by_calling_a_function() -> None:
    body = """L: { .param .b64 p0; st.param.b64 [p0], %d1; .param .b32 q; call.uni (q), try_lock, (p0); ld.param.b32 %r3, [q]; }
        setp.eq.u32 %p1, %r3, 0; @%p1 bra L; st.global.u32 [%d2], 1; ret;"""
    x = one(kernel(body, before=TRY))
    assert [e.kind for e in x.effects] == ["atom", "store"] and not x.cuts and len(x.stuck) == 1


STRUCTURE = """.func (.param .align 8 .b8 result[16]) pair(.param .align 8 .b8 given[16])
{ .reg .b64 %d<4>; ld.param.u64 %d1, [given]; ld.param.u64 %d2, [given+8];
st.param.b64 [result], %d2; st.param.b64 [result+8], %d1; ret; }
"""


def test_structures_go_through_calls() -> None:
    body = """ld.global.u32 %r1, [%d1]; cvt.u64.u32 %d3, %r1;
        { .param .align 8 .b8 p0[16]; st.param.b64 [p0], %d3; st.param.b64 [p0+8], 7; .param .align 8 .b8 q[16];
        call.uni (q), pair, (p0); ld.param.b64 %d4, [q]; ld.param.b64 %d5, [q+8]; }
        st.global.u64 [%d2], %d4; st.global.u64 [%d2+8], %d5; ret;"""
    load, first, second = one(kernel(body, before=STRUCTURE)).effects
    assert [evaluate(e.value, {load.result: 9}) for e in (first, second)] == [7, 9]


def test_calls_through_pointers_tell_the_functions_apart() -> None:
    body = """proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
        mov.u64 %d3, plus; mov.u64 %d4, minus; ld.global.u32 %r1, [%d1]; setp.eq.u32 %p1, %r1, 0; selp.b64 %d5, %d3, %d4, %p1;
    """ + CALL.format("%r1", 5, "%d5", ", proto", "%r2")
    x = one(kernel(body + "st.global.u32 [%d2], %r2; ret;", before=ADD))
    load, store = x.effects
    assert [evaluate(store.value, {load.result: v}) for v in (0, 7)] == [5, 2]
    assert all(evaluate(r.guard, {load.result: 0}) == 0 for r in x.requirements)


RECURSIVE = """.func (.param .b32 result) down(.param .b32 n)
{ .reg .pred %p; .reg .b32 %r<4>; ld.param.u32 %r1, [n]; setp.eq.u32 %p, %r1, 0; @%p bra END; sub.u32 %r2, %r1, 1;
{ .param .b32 p0; st.param.b32 [p0], %r2; .param .b32 q; call.uni (q), down, (p0); ld.param.b32 %r3, [q]; }
add.u32 %r1, %r1, %r3; END: st.param.b32 [result], %r1; ret; }
"""


@pytest.mark.parametrize("depth", [3, 40, 90])
def test_recursion_as_deep_as_is_explored(depth: int) -> None:
    body = f"{{ .param .b32 p0; st.param.b32 [p0], {depth}; .param .b32 q; call.uni (q), down, (p0); ld.param.b32 %r3, [q]; }}"
    made = kernel(body + "st.global.u32 [%d2], %r3; ret;", before=RECURSIVE)
    if depth < 64:
        assert effects(one(made)) == [("store", Y, depth * (depth + 1) // 2)]
    else:
        with pytest.raises(InputError, match="'down' calls itself more than"):
            one(made)


def test_branches_by_tables() -> None:
    x = one(kernel("""
        t: .branchtargets A, B;
        ld.global.u32 %r1, [%d1]; brx.idx %r1, t;
        A: mov.u32 %r2, 10; bra END; B: mov.u32 %r2, 11; END: st.global.u32 [%d2], %r2; ret;
    """))  # fmt: skip
    load, store = x.effects
    assert [evaluate(store.value, {load.result: v}) for v in (0, 1)] == [10, 11]
    (bad,) = x.requirements
    assert bad.kind == "bad-branch" and [evaluate(bad.guard, {load.result: v}) for v in (0, 1, 2)] == [0, 0, 1]


ASSERT = """.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .b8 what[6] = {110, 32, 62, 32, 48, 0}; .global .b8 file[5] = {107, 46, 99, 117, 0}; .global .b8 fun[2] = {107, 0};
"""
FAILS = """{ .param .b64 a; st.param.b64 [a], %d11; .param .b64 b; st.param.b64 [b], %d12; .param .b32 c; st.param.b32 [c], 7;
.param .b64 d; st.param.b64 [d], %d13; .param .b64 e; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); }
"""
NAMES = "mov.u64 %d11, what; mov.u64 %d12, file; mov.u64 %d13, fun; "


def test_assertions_that_fail() -> None:
    body = f"{NAMES} ld.global.u32 %r1, [%d1]; setp.gt.s32 %p1, %r1, 0; @%p1 bra OK; {FAILS} OK: st.global.u32 [%d2], 1; ret;"
    x = one(kernel(body, before=ASSERT))
    load, store, failed = x.effects
    assert (failed.kind, failed.operation) == ("stop", "assertion failed: k.cu:7: 'n > 0'")
    assert evaluate(failed.guard, {load.result: 0}) == 1
    assert evaluate(store.guard, {load.result: 0}) == 0  # the thread stops there,
    assert evaluate(x.finishes, {load.result: 0}) == 0  # and the launch with it


def test_assertions_that_cannot_fail_do_not_hide_that_a_loop_waits() -> None:
    body = f"""{NAMES} mov.u32 %r5, 0;
        L: ld.acquire.gpu.u32 %r1, [%d1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
        add.u32 %r5, %r5, 1; mov.u64 %d4, %globaltimer; shr.u64 %d5, %d4, 2;
        setp.gt.u64 %p2, %d5, 1000; @%p2 bra L; setp.lt.u64 %p3, %d4, 5000; @%p3 bra L; {FAILS}
        DONE: st.global.u32 [%d2], 1; ret;
    """
    asked: list[Any] = []

    def never(condition: Any) -> bool:
        asked.append(condition)
        return True

    x = one(kernel(body, before=ASSERT, impossible=never))
    assert effects(x) == [("load", X), ("store", Y, 1)] and len(asked) == 1
    assert [e.kind for e in one(kernel(body, before=ASSERT)).effects] == ["load", "input", "stop", "store"]


# What else threads ask for.


def test_clocks_are_inputs() -> None:
    x = one(
        kernel(
            "mov.u32 %r1, %clock; mov.u64 %d3, %globaltimer; st.global.u32 [%d1], %r1; st.global.u64 [%d2], %d3; ret;"
        )
    )
    assert [(e.kind, e.operation, e.width) for e in x.effects[:2]] == [
        ("input", "clock", 32),
        ("input", "globaltimer", 64),
    ]
    assert [e.value for e in x.effects[2:]] == [x.effects[0].result, x.effects[1].result]


def test_what_cannot_be_explored_is_refused_only_where_it_is_reached() -> None:
    matrix = "wgmma.fence.sync.aligned;"
    body = f"mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; {matrix} END: ret;"
    assert one(kernel(body, target="sm_90a"), **{"tid.x": 0}).finishes == 1
    with pytest.raises(InputError, match=r"'wgmma\.\S+' cannot be explored"):
        one(kernel(body, target="sm_90a"))


def test_tensor_memory_at_an_address_that_is_open_is_refused_by_name() -> None:
    load = "ld.global.u32 %r1, [%d1]; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1]; ret;"
    with pytest.raises(InputError, match=r"'tcgen05\.\S+' cannot be explored"):
        one(kernel(load, target="sm_100a"))


def test_an_extended_sum_carries() -> None:
    x = one(kernel("""
        ld.global.u32 %r1, [%d1]; add.cc.u32 %r2, %r1, 1; addc.u32 %r3, 5, 0;
        st.global.u32 [%d2], %r2; st.global.u32 [%d2+4], %r3; ret;
    """))  # fmt: skip
    load, low, high = x.effects
    assert [evaluate(s.value, {load.result: 0xFFFFFFFF}) for s in (low, high)] == [0, 6]
