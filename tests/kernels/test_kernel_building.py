"""Launches become programs: memory, places, warps, notes on loops; and both engines agree on what they decide."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ptxmm
from axioms.engine import decide
from axioms.errors import UnsupportedProgram
from axioms.program import dependency_pairs
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.launch import UsageError
from ptxcore.values.terms import Value, eq
from ptxmm.api import model_named
from ptxmm.kernels.build import Built, build
from ptxmm.kernels.launch import Buffer, Final, Launch, Scalar

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n"
LOADS = "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"


def module(body: str, before: str = "", directives: str = "") -> str:
    head = f"{HEADER}{before}.visible .entry k(.param .u64 x, .param .u64 y){directives}\n"
    return f"{head}{{\n{REGISTERS}{LOADS}{body}\nret;\n}}\n"


def launch(body: str, block: int = 1, grid: int = 1, before: str = "", **more: Any) -> Launch:
    more.setdefault("params", (Buffer("x", "u32", 4, (1, 2, 3, 4)), Buffer("y", "u32", 4)))
    directives = more.pop("directives", "")
    return Launch(module(body, before, directives), "k", "k.ptx", (grid, 1, 1), (block, 1, 1), **more)


def built(body: str, observe: int = 0, condition: Callable[[Final], Value] = lambda final: 1, **more: Any) -> Built:
    return build([launch(body, **more)], [("y", i) for i in range(observe)], condition)


def states(made: Built, observe: int) -> list[tuple[int, ...]]:
    """The outcomes, by both engines."""
    found = []
    for engine in ("solve", "enumerate"):
        decision = decide(made.program, model_named("ptx-9.0"), engine=engine)
        assert decision.undefined is None
        found.append(sorted(tuple(s[f"y[{i}]"] for i in range(observe)) for s in decision.states))
    assert found[0] == found[1]
    return found[0]


OWN = "mad.wide.u32 %d4, %r1, 4, %d2;"


def test_buffers_are_objects_of_their_elements() -> None:
    made = built("st.global.u32 [%d2+4], 7;", 2, lambda final: eq(final("y", 1).value, 7))
    assert states(made, 2) == [(0, 7)]
    x, y = made.program.objects[:2]
    assert (x.name, x.size, x.initial[:8]) == ("x", 16, b"\1\0\0\0\2\0\0\0")
    assert [c.name for c in made.program.cells] == ["y[0]", "y[1]"]
    assert made.program.condition is not None and y.name == "y"


def test_final_elements_that_are_not_there() -> None:
    with pytest.raises(IndexError):
        build([launch("")], [("y", 4)])
    with pytest.raises(KeyError):
        build([launch("")], [("z", 0)])


def test_buffers_lie_as_their_alignment_says_and_no_better() -> None:
    params = (Buffer("x", "u32", 8, align=4), Buffer("y", "u32", 8, align=8))
    made = built("ld.global.u64 %d3, [%d2]; ld.global.u64 %d3, [%d1];", params=params)
    (behaviour,) = made.program.undefined_behaviours
    assert behaviour.kind == "misaligned"


def test_each_block_has_its_own_shared_memory() -> None:
    body = "st.shared.u32 [s], %r2; ld.shared.u32 %r3, [s]; mad.wide.u32 %d4, %r2, 4, %d2; st.global.u32 [%d4], %r3;"
    made = built(body, 2, grid=2, before=".shared .u32 s;\n")
    assert states(made, 2) == [(0, 1)]
    assert {c.name for c in made.program.cells} >= {"s@c0", "s@c1"}


def test_shared_memory_of_other_blocks_of_the_cluster() -> None:
    body = """st.shared.u32 [s], %r2; barrier.cluster.arrive; barrier.cluster.wait;
        xor.b32 %r3, %r2, 1; mov.u32 %r5, s; mapa.shared::cluster.u32 %r4, %r5, %r3; ld.shared::cluster.u32 %r6, [%r4];
        mad.wide.u32 %d4, %r2, 4, %d2; st.global.u32 [%d4], %r6;"""
    made = built(body, 2, grid=2, before=".shared .u32 s;\n", cluster=(2, 1, 1))
    assert decide(made.program, model_named("ptx-9.0")).states == [{"y[0]": 1, "y[1]": 0}]


def test_own_shared_memory_by_way_of_mapa_may_be_an_alias() -> None:
    body = """mov.u32 %r5, s; mapa.shared::cluster.u32 %r4, %r5, 0; st.shared.u32 [s], 1; ld.shared::cluster.u32 %r6, [%r4];
        st.global.u32 [%d2], %r6;"""
    wanted = [launch(body, before=".shared .u32 s;\n")]
    for options, values in (((), {1}), (("mapa-alias",), {0, 1})):
        made = build(wanted, [("y", 0)], options=frozenset(options))
        found = decide(made.program, model_named("ptx-9.0")).states
        assert values <= {state["y[0]"] for state in found} and (values == {1}) == (len(found) == 1)


_REMOTE = "mov.u32 %r5, s; mapa.shared::cluster.u32 %r4, %r5, 0; mov.u32 %r5, m; mapa.shared::cluster.u32 %r7, %r5, 0;"
_MEET = "barrier.cluster.arrive; barrier.cluster.wait;"


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        ("", "st.shared::cluster.u32 [%r4], 1;", True),  # the other CTA does nothing at all
        (_MEET, f"st.shared::cluster.u32 [%r4], 1; {_MEET}", False),
        (_MEET, f"{_MEET} st.shared::cluster.u32 [%r4], 1;", True),
        (f"mbarrier.init.shared.b64 [m], 1; {_MEET}",
         f"{_MEET} mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];", True),
        (f"mbarrier.init.shared.b64 [m], 1; {_MEET} W: mbarrier.try_wait.parity.shared.b64 %p1, [m], 0; @!%p1 bra W;",
         f"{_MEET} mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];", False),
    ],
)  # fmt: skip
def test_shared_memory_of_a_block_ends_with_it(first: str, second: str, ends: bool, engine: str) -> None:
    body = f"{_REMOTE} setp.ne.u32 %p2, %r2, 0; @%p2 bra SECOND; {first} ret; SECOND: {second}"
    made = built(body, grid=2, before=".shared .u32 s;\n.shared .align 8 .b64 m;\n", cluster=(2, 1, 1))
    decision = decide(made.program, model_named("ptx-9.0"), engine=engine)
    assert (decision.undefined is not None and decision.undefined.flag == "exited") == ends, decision.undefined


def test_dynamic_shared_memory_follows_the_other() -> None:
    made = built("st.shared.u32 [d+4], 3; ld.shared.u32 %r3, [d+4]; st.global.u32 [%d2], %r3;", 1,
                 before=".shared .u32 s; .extern .shared .b8 d[];\n", dynamic_shared=8)  # fmt: skip
    assert states(made, 1) == [(3,)]
    made = built("st.shared.u32 [d+8], 3;", before=".extern .shared .b8 d[];\n", dynamic_shared=8)
    assert [t.kind for t in made.program.undefined_behaviours] == ["out-of-bounds"]


def test_variables_of_the_module_hold_their_first_values() -> None:
    made = built("ld.global.u32 %r3, [g+4]; st.global.u32 [%d2], %r3; st.global.u32 [g+4], 1;", 1,
                 before=".global .u32 g[2] = {5, 6};\n")  # fmt: skip
    assert states(made, 1) == [(6,)]


def test_threads_have_their_places() -> None:
    made = built("st.shared.u32 [s], 1;", block=40, grid=4, cluster=(2, 1, 1), before=".shared .u32 s;\n")
    places = [t.place for t in made.program.threads]
    assert len(places) == 160 and len({p.warp for p in places}) == 8
    assert [places[i].cta for i in (0, 39, 40, 159)] == [0, 0, 1, 3] and [places[i].cluster for i in (79, 80)] == [0, 1]
    assert (
        made.threads[41].cta == (1, 0, 0) and made.threads[41].thread == (1, 0, 0) and made.threads[41].name == "c1t1"
    )


def test_threads_that_do_the_same_have_equal_sources() -> None:
    lock = "L: atom.cas.acquire.gpu.b32 %r3, [%d1], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L; st.release.gpu.u32 [%d1], 0;"
    threads = built(lock, grid=3).program.threads
    assert len({t.source for t in threads}) == 1 and threads[0].source is not None
    threads = built(f"{OWN} st.global.u32 [%d4], 1;", block=3).program.threads
    assert len({t.source for t in threads}) == 3


def test_loops_that_were_cut_and_loops_that_wait_are_told() -> None:
    body = """.loc 1 5 1
L: ld.acquire.gpu.u32 %r3, [%d1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;
.loc 1 6 1
M: atom.inc.u32 %r4, [%d2], 9; setp.ne.u32 %p2, %r4, 3; @%p2 bra M;"""
    made = build([launch(body, grid=2, before='.file 1 "a.cu"\n', unroll=3, loops={"M": 2})])
    (waiting, bounded) = sorted(made.loops, key=lambda n: n.kind, reverse=True)
    assert (waiting.kind, waiting.label, waiting.source) == ("waiting", "L", ("a.cu", 5))
    assert (bounded.kind, bounded.label, bounded.iterations, bounded.source) == ("bounded", "M", 2, ("a.cu", 6))
    assert bounded.threads == (0, 1)
    assert made.lines[0][bounded.line] == ("a.cu", 6)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"params": (Buffer("x"),)}, "takes 2 arguments, not 1"),
        ({"block": 2000}, "at most 1024 threads"),
        ({"cluster": (2, 1, 1), "grid": 3}, "no multiple of the cluster"),
        ({"loops": {"NOWHERE": 3}}, "no loop of 'k' is at 'NOWHERE'"),
        ({"params": (Buffer("x", "u33"), Buffer("y"))}, "'u33' is no type"),
        ({"params": (Buffer("x", init=(1, 2)), Buffer("y"))}, "2 values at the start"),
        ({"params": (Buffer("x"), Buffer("x", "u64"))}, "declared in two ways"),
        ({"params": (Buffer("x"), Scalar("n", bytes(9)))}, "9 are given"),
        ({"directives": ".reqntid 64\n"}, "reqntid"),
    ],
)
def test_launches_that_cannot_be_made(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        built("", **more)


def test_no_kernel_of_that_name() -> None:
    with pytest.raises(UsageError, match="no kernel 'm'"):
        build([Launch(module(""), "m")])


def test_mistakes_in_the_module_have_its_path() -> None:
    with pytest.raises(InputError) as caught:
        build([Launch(module("frob.u32 %r1;"), "k", "k.ptx")])
    assert caught.value.path == "k.ptx" and "frob" in str(caught.value)


def test_what_nothing_tells_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedProgram, match="%pm0"):
        built("mov.u32 %r3, %pm0; st.global.u32 [%d2], %r3;")


# Warps.


def test_a_shuffle_brings_what_others_read() -> None:
    body = f"""mad.wide.u32 %d3, %r1, 4, %d1; ld.global.u32 %r3, [%d3]; shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;
        {OWN} st.global.u32 [%d4], %r4;"""
    made = built(body, 2, block=2)
    assert states(made, 2) == [(2, 1)]
    program = made.program
    (own,), (others,) = (program.by_effect[thread][0] for thread in (0, 1))
    (store,) = program.by_effect[0][program.threads[0].execution.effects[-1].index]
    data = [(source, target) for source, target, _ in dependency_pairs(program)["data"]]
    assert (others.index, store.index) in data
    assert (own.index, store.index) not in data


def test_a_vote_is_the_same_for_all() -> None:
    body = f"""ld.relaxed.gpu.u32 %r3, [%d1]; setp.eq.u32 %p1, %r3, 1; vote.sync.all.pred %p2, %p1, -1;
        selp.u32 %r4, 1, 2, %p2; {OWN} st.global.u32 [%d4], %r4; setp.eq.u32 %p3, %r1, 0; @%p3 st.relaxed.gpu.u32 [%d1], 9;"""
    assert states(built(body, 2, block=2), 2) == [(1, 1), (2, 2)]


def test_the_first_thread_there_is_elected() -> None:
    body = f"elect.sync %r3|%p1, -1; selp.u32 %r4, 1, 2, %p1; {OWN} st.global.u32 [%d4], %r4;"
    assert states(built(body, 2, block=2), 2) == [(1, 2)]


def test_a_mask_of_whoever_is_there_is_told_to_be_an_assumption() -> None:
    made = built(f"activemask.b32 %r3; {OWN} st.global.u32 [%d4], %r3;", 2, block=2)
    assert states(made, 2) == [(3, 3)]
    assert made.assumed == ["activemask"]


def test_a_broadcast_of_a_register_that_only_one_thread_wrote() -> None:
    body = f"""setp.eq.u32 %p1, %r1, 0; @%p1 atom.add.u32 %r3, [%d1], 10; shfl.sync.idx.b32 %r3, %r3, 0, 31, -1;
        {OWN} st.global.u32 [%d4], %r3;"""
    assert states(built(body, 2, block=2), 2) == [(1, 1)]


def test_threads_that_have_ended_are_not_waited_for() -> None:
    body = f"""setp.eq.u32 %p1, %r1, 0; @%p1 ret; add.u32 %r4, %r1, 5; redux.sync.add.u32 %r5, %r4, -1;
        {OWN} st.global.u32 [%d4], %r5;"""
    made = built(body, 3, block=3)
    assert states(made, 3) == [(0, 13, 13)] and not made.program.undefined_behaviours


def test_threads_that_wait_for_each_other_at_different_votes_do_not_end() -> None:
    body = f"""setp.eq.u32 %p1, %r1, 0; @%p1 bra OTHER; vote.sync.any.pred %p2, %p1, 3; bra JOIN;
        OTHER: vote.sync.all.pred %p2, %p1, 3; JOIN: selp.u32 %r4, 1, 2, %p2; {OWN} st.global.u32 [%d4], %r4;"""
    made = built(body, 1, block=2)
    assert states(made, 1) == [] and not made.program.undefined_behaviours


def _is(index: int, number: int, final: Final) -> Value:
    return eq(final("y", index).value, number)


def test_who_takes_part_may_hang_on_what_is_read() -> None:
    body = f"""ld.relaxed.gpu.u32 %r3, [%d1]; setp.eq.u32 %p1, %r3, 1; vote.sync.ballot.b32 %r4, %p1, -1;
        mov.u32 %r5, 8; @%p1 shfl.sync.down.b32 %r5, %r1, 1, 31, %r4; {OWN} st.global.u32 [%d4], %r5;
        setp.eq.u32 %p3, %r1, 0; @%p3 st.relaxed.gpu.u32 [%d1], 9;"""
    # Lane 0 reads 1; lane 1 reads 1 or 9. A shuffle from a lane that takes no part gives any value.
    made = built(body, 2, block=2)
    decision = decide(made.program, model_named("ptx-9.0"))
    assert {s["y[1]"] for s in decision.states if s["y[0]"] != 1} == {8} and len(decision.states) == 2
    for index, number, wrong in ((0, 1, False), (1, 8, False), (1, 1, True), (0, 0, True), (0, 5, True)):
        asked = built(body, 2, partial(_is, index, number), block=2)
        assert (decide(asked.program, model_named("ptx-9.0"), settles=True).undefined is not None) == wrong


def test_shuffles_known_in_advance_decide_addresses_and_loops() -> None:
    body = """shfl.sync.idx.b32 %r3, 2, 0, 31, -1; mov.u32 %r4, 0; L: mad.wide.u32 %d4, %r4, 4, %d2; st.global.u32 [%d4], %r3;
        add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r3; @%p1 bra L;"""
    made = built(body, 3, unroll=1)
    assert states(made, 3) == [(2, 2, 0)] and not made.loops
    stores = [e for t in made.program.threads for e in t.execution.effects if e.kind == "store"]
    assert len(stores) == 2 and all(type(e.address) is int and e.value == 2 for e in stores)


# Clocks.


def test_clocks_may_say_anything() -> None:
    body = "mov.u32 %r3, %clock; mov.u32 %r4, %clock; sub.u32 %r5, %r4, %r3; "
    shown = "setp.gt.u32 %p1, %r5, 100; setp.gt.u32 %p2, %r5, 50; "
    shown += "selp.u32 %r6, 1, 0, %p1; selp.u32 %r7, 1, 0, %p2; st.global.v2.u32 [%d2], {%r6, %r7};"
    assert states(built(body + shown, 2), 2) == [(0, 0), (0, 1), (1, 1)]


def test_a_wait_with_a_deadline_may_miss_it() -> None:
    body = """setp.eq.u32 %p1, %r2, 0; @%p1 bra GIVER; mov.u64 %d4, %globaltimer; mov.u32 %r5, 7;
        WAIT: ld.acquire.gpu.u32 %r3, [%d1]; setp.ne.u32 %p2, %r3, 0; @%p2 bra GOT;
        mov.u64 %d5, %globaltimer; sub.u64 %d6, %d5, %d4; setp.lt.u64 %p3, %d6, 1000; @%p3 bra WAIT; bra DONE;
        GOT: ld.global.u32 %r5, [%d1+4]; DONE: st.global.u32 [%d2], %r5; ret;
        GIVER: st.global.u32 [%d1+4], 42; st.release.gpu.u32 [%d1], 1;"""
    made = built(body, 1, grid=2, params=(Buffer("x", "u32", 4), Buffer("y", "u32", 4)))
    assert states(made, 1) == [(7,), (42,)]
    assert [note.kind for note in made.loops] == ["waiting"]


def test_what_a_clock_says_may_be_shown() -> None:
    made = built("mov.u32 %r3, %clock; and.b32 %r4, %r3, 6; add.u32 %r4, %r4, 1; st.global.u32 [%d2], %r4;", 1)
    found = decide(made.program, model_named("ptx-9.0"))
    assert sorted(s["y[0]"] for s in found.states) == [1, 3, 5, 7]
    with pytest.raises(OutOfTime, match="any number"):
        decide(made.program, model_named("ptx-9.0"), engine="enumerate")


def test_a_register_that_only_some_paths_wrote_may_hold_anything_elsewhere() -> None:
    body = """ld.global.u32 %r3, [%d1]; setp.eq.u32 %p1, %r3, {}; @!%p1 bra JOIN; mov.u32 %r4, 7;
        JOIN: and.b32 %r4, %r4, 3; st.global.u32 [%d2], %r4;"""
    assert states(built(body.format(1), 1), 1) == [(3,)]
    found = decide(built(body.format(2), 1).program, model_named("ptx-9.0"))
    assert sorted(s["y[0]"] for s in found.states) == [0, 1, 2, 3]


# Several launches.


def test_launches_of_one_stream_follow_each_other() -> None:
    first, second = launch("st.global.u32 [%d1], 9;"), launch("ld.global.u32 %r3, [%d1]; st.global.u32 [%d2], %r3;")
    made = build([first, second], [("y", 0)])
    assert [i.launch for i in made.threads] == [0, 1] and made.threads[1].name == "k2c0t0"
    assert decide(made.program, model_named("ptx-9.0")).states == [{"y[0]": 9}]


def test_launches_of_two_streams_do_not() -> None:
    first, second = (
        launch("st.global.u32 [%d1], 9;"),
        launch("ld.global.u32 %r3, [%d1]; st.global.u32 [%d2], %r3;", stream="b"),
    )
    made = build([first, second], [("y", 0)])
    found = decide(made.program, model_named("ptx-9.0"), races=True)
    assert sorted(s["y[0]"] for s in found.states) == [1, 9]
    assert found.races


SHUFFLED = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	.reg .pred %p;
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	setp.ne.u32 %p, %r1, 0;
	@%p bra DONE;
	shfl.sync.idx.b32 %r2, %r1, 5, 31, 1;
	and.b32 %r2, %r2, 1;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], 1;
DONE:
	ret;
}
"""


@pytest.mark.parametrize(
    ("claim", "verdict"), [("x[0] + x[1] == 1", "ok"), ("x[0] == 1", "undefined"), ("x[1] == 0", "undefined")]
)
def test_a_value_that_is_open_may_be_an_address(claim: str, verdict: str, tmp_path: Path) -> None:
    """The lane of the shuffle is not there, so it gives any value: under another one the store is to another place, which no
    thread accesses under the first."""
    path = tmp_path / "shuffled.ptx"
    path.write_text(SHUFFLED, encoding="utf-8")
    assert ptxmm.check(str(path), grid=1, block=2, args={"x": "u32[2]"}, forall=claim).verdict == verdict
