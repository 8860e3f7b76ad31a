"""Who does not terminate: at barriers, in spin loops, at mbarrier objects; and who traps."""

from __future__ import annotations

import pytest

import ptxmm
from axioms.liveness import search as liveness
from litmus.formats import read
from ptxmm.api import model_named
from ptxmm.pipeline import build

BARRIER, LOOP, TRAP = ("barrier",), ("loop",), ("trap",)


def waits(
    rows: list[str], kinds: tuple[str, ...], places: list[str], init: str = "x = 0; y = 0;"
) -> list[tuple[str, int, str]]:
    """Who waits where in an execution that is found: kind, thread, opcode."""
    head = " | ".join(f"P{i}@{place},gpu 0" for i, place in enumerate(places))
    body = "\n".join(f" {row} ;" for row in rows)
    program = build(read(f"PTX t\n{{ {init} }}\n {head} ;\n{body}\nexists (true)\n", "t"))
    stall = liveness.find(program, model_named("ptx-9.0"), kinds=kinds)
    if not isinstance(stall, liveness.Stall):
        assert stall is None
        return []
    return [(w.kind, w.thread, w.instruction.opcode if w.instruction else "") for w in stall.waits]


TWO, ONE = ["cta 0", "cta 1"], ["cta 0", "cta 0"]
SPIN = "L: ld.relaxed.gpu.u32 %r0, [x] ; setp.eq.u32 %p, %r0, 0 ; @%p bra L ;"


def spin(flag: str = "x") -> list[str]:
    return [f"L: ld.relaxed.gpu.u32 %r0, [{flag}]", "setp.eq.u32 %p, %r0, 0", "@%p bra L"]


def beside(left: list[str], right: list[str]) -> list[str]:
    longest = max(len(left), len(right))
    left, right = ([*some, *[""] * (longest - len(some))] for some in (left, right))
    return [f"{a} | {b}" for a, b in zip(left, right, strict=True)]


# Loops.


def test_a_flag_that_is_set_ends_the_wait() -> None:
    assert waits(beside(spin(), ["st.relaxed.gpu.u32 [x], 1"]), LOOP, TWO) == []


def test_a_flag_that_nobody_sets_does_not() -> None:
    assert waits(beside(spin(), ["st.relaxed.gpu.u32 [y], 1"]), LOOP, TWO) == [("loop", 0, "ld")]


def test_a_flag_that_is_taken_back_may_be_missed() -> None:
    rows = beside(spin(), ["st.relaxed.gpu.u32 [x], 1", "st.relaxed.gpu.u32 [x], 0"])
    assert waits(rows, LOOP, TWO) == [("loop", 0, "ld")]


def test_a_flag_that_is_set_on_a_condition_may_not_come() -> None:
    rows = beside(
        [*spin(), ""], ["ld.relaxed.gpu.u32 %r1, [y]", "setp.ne.u32 %q, %r1, 0", "@%q st.relaxed.gpu.u32 [x], 1"]
    )
    assert waits(rows, LOOP, TWO) == [("loop", 0, "ld")]


def test_two_that_wait_for_each_other_deadlock() -> None:
    rows = beside([*spin("x"), "st.relaxed.gpu.u32 [y], 1"], [*spin("y"), "st.relaxed.gpu.u32 [x], 1"])
    assert sorted(waits(rows, LOOP, TWO)) == [("loop", 0, "ld"), ("loop", 1, "ld")]


def test_who_does_not_wait_any_more_lets_others_go_on() -> None:
    rows = beside([*spin("x"), "st.relaxed.gpu.u32 [y], 1"], ["st.relaxed.gpu.u32 [x], 1", *spin("y")])
    assert waits(rows, LOOP, TWO) == []


def test_writes_that_race_for_the_flag_may_leave_either() -> None:
    rows = [f"{a} | {b} | {c}" for a, b, c in zip(
        spin(), ["st.relaxed.gpu.u32 [x], 1", "", ""], ["st.relaxed.gpu.u32 [x], 0", "", ""], strict=True)]  # fmt: skip
    assert waits(rows, LOOP, ["cta 0", "cta 1", "cta 2"]) == [("loop", 0, "ld")]


@pytest.mark.parametrize(("low", "high"), [("cta 0", "cta 1"), ("cta 1", "cta 0")])
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_who_waits_after_a_torn_read_is_found(low: str, high: str, engine: str) -> None:
    """Two halves of a word that race: who reads both of them waits for nobody. One value less and nobody does."""
    text = """PTX torn
{{ x = 0; f = 0; }}
P0@{low} {{ st.weak.u32 [x], 0x00000001; }}
P1@{high} {{ st.weak.u32 [x], 0x00010000; }}
P2@cta 2 {{ .reg .pred p, q; ld.weak.u32 %r0, [x]; setp.ne.u32 q, %r0, {value}; @q bra D;
  W: ld.relaxed.gpu.u32 %r1, [f]; setp.eq.u32 p, %r1, 0; @p bra W;
  D: ret; }}
forall (true)
terminates
"""
    for value, verdict in ((0x10001, "no"), (0x10002, "ok")):
        test = read(text.format(low=low, high=high, value=value), "t")
        assert ptxmm.check(test, engine=engine).verdict == verdict


# Barriers.


def test_everybody_at_the_barrier_passes() -> None:
    assert waits(["bar.sync 0 | bar.sync 0"], BARRIER, ONE) == []


def test_who_has_ended_is_not_waited_for() -> None:
    assert waits(["bar.sync 0 | st.weak.u32 [x], 1"], BARRIER, ONE) == []


def test_who_waits_at_different_barriers_deadlocks() -> None:
    found = waits(["bar.sync 0 | bar.sync 1"], BARRIER, ONE)
    assert sorted(found) == [("barrier", 0, "bar"), ("barrier", 1, "bar")]


def test_barriers_in_different_orders_deadlock() -> None:
    assert len(waits(["bar.sync 0 | bar.sync 1", "bar.sync 1 | bar.sync 0"], BARRIER, ONE)) == 2


def test_once_more_is_waited_for_those_that_have_not_ended() -> None:
    assert waits(["bar.sync 0 | bar.sync 0", "bar.sync 0 | "], BARRIER, ONE) == []
    rows = beside(["bar.sync 0", "bar.sync 0", "st.relaxed.gpu.u32 [x], 1"], ["bar.sync 0", *spin()])
    assert sorted(waits(rows, BARRIER, ONE)) == [("barrier", 0, "bar"), ("loop", 1, "ld")]


def test_a_barrier_on_a_condition_that_differs_is_a_deadlock_where_the_other_waits() -> None:
    rows = beside(
        ["ld.relaxed.gpu.u32 %r1, [y]", "setp.ne.u32 %q, %r1, 0", "@%q bar.sync 0", "bar.sync 1"],
        ["st.relaxed.gpu.u32 [y], 1", "bar.sync 1"],
    )
    found = waits(rows, BARRIER, ONE)
    assert sorted(found) == [("barrier", 0, "bar"), ("barrier", 1, "bar")]


def test_barriers_of_a_cluster_wait_for_all_of_it() -> None:
    rows = ["barrier.cluster.arrive | barrier.cluster.arrive", "barrier.cluster.wait | barrier.cluster.wait"]
    places = ["cta 0,cluster 0", "cta 1,cluster 0"]
    assert waits(rows, BARRIER, places) == []
    rows = beside(["barrier.cluster.arrive", "barrier.cluster.wait", "st.relaxed.gpu.u32 [x], 1"], spin())
    found = waits(rows, BARRIER, places)
    assert sorted(found) == [("barrier", 0, "barrier"), ("loop", 1, "ld")]


def test_barriers_of_a_warp_wait_for_their_mask() -> None:
    assert waits(["bar.warp.sync 3 | bar.warp.sync 3"], BARRIER, ["warp 0,cta 0"] * 2) == []
    rows = beside(["bar.warp.sync 3", "st.relaxed.gpu.u32 [x], 1"], spin())
    found = waits(rows, BARRIER, ["warp 0,cta 0"] * 2)
    assert sorted(found) == [("barrier", 0, "bar"), ("loop", 1, "ld")]


# mbarrier objects.

OBJECT = ".shared .u64 b;"
MBARRIER = ("mbarrier",)
TRY = ["T: mbarrier.try_wait.parity.shared.b64 %w, [b], 0", "@!%w bra T"]


@pytest.mark.parametrize(("count", "ends"), [(1, True), (2, False)])
def test_a_phase_that_too_few_arrive_in_is_never_over(count: int, ends: bool) -> None:
    rows = [f"mbarrier.init.shared.b64 [b], {count}", "mbarrier.arrive.shared.b64 %rd0, [b]", *TRY]
    found = waits(rows, MBARRIER, ["cta 0"], OBJECT)
    assert found == ([] if ends else [("mbarrier", 0, "mbarrier")])


def test_an_arrival_of_another_thread_ends_the_phase() -> None:
    left = ["mbarrier.init.shared.b64 [b], 2", "bar.sync 0", "mbarrier.arrive.shared.b64 %rd0, [b]", *TRY]
    assert waits(beside(left, ["bar.sync 0", "mbarrier.arrive.shared.b64 %rd0, [b]"]), MBARRIER, ONE, OBJECT) == []
    assert waits(beside(left, ["bar.sync 0"]), MBARRIER, ONE, OBJECT) == [("mbarrier", 0, "mbarrier")]


# Traps.


def test_a_trap_is_found_where_the_condition_can_be() -> None:
    rows = ["ld.relaxed.gpu.u32 %r0, [x] | st.relaxed.gpu.u32 [x], 1", "setp.eq.u32 %p, %r0, 1 | ", "@%p trap | "]
    assert waits(rows, TRAP, TWO) == [("trap", 0, "trap")]
    assert waits([r.replace("%r0, 1", "%r0, 2") for r in rows], TRAP, TWO) == []


def test_a_trap_behind_a_barrier_that_nobody_completes_is_none() -> None:
    rows = beside(["bar.sync 0", "trap"], ["bar.sync 1"])
    assert waits(rows, TRAP, ONE) == []
