"""What the engine once got wrong, each found by comparing the two engines on generated programs."""

from __future__ import annotations

import pytest

import ptxmm
from axioms.cat.model import Model, compile_model
from ptxcore.clock import OutOfTime
from ptxmm.result import Result

ENGINES = pytest.mark.parametrize("engine", ["solve", "enumerate"])


def checked(text: str, engine: str, model: str | Model = "ptx-9.0") -> Result:
    return ptxmm.check(ptxmm.parse(f"PTX regression\n{text}"), model, engine=engine)


@ENGINES
def test_a_count_of_votes_is_never_left_open(engine: str) -> None:
    result = checked(
        "{ x = 0; }\nP0@cta 0 { mov.u32 %r0, 1; setp.eq.u32 %p0, %r0, 1; bar.red.popc.u32 %r1, 0, %p0; }\n"
        "P1@cta 0 { st.weak.u32 [x], 1; }\nlocations [0:r1;]\nexists (true)",
        engine,
    )
    assert result.states == [{"0:r1": 1}]


@ENGINES
def test_arrivals_that_disagree_on_the_count_leave_a_program_undefined(engine: str) -> None:
    result = checked(
        "{ x = 0; }\nP0@cta 0 { bar.sync 1, 64; mov.u32 %r0, 0; }\nP1@cta 0 { bar.sync 1, 32; mov.u32 %r0, 0; }\nexists (true)",
        engine,
    )
    assert result.verdict == "undefined"
    assert result.error == "different thread counts in one instance of a barrier"


@ENGINES
def test_a_count_beside_none_leaves_a_program_undefined(engine: str) -> None:
    result = checked(
        "{ x = 0; }\nP0@cta 0 { bar.sync 1; mov.u32 %r0, 0; }\nP1@cta 0 { bar.arrive 1, 64; mov.u32 %r0, 0; }\nexists (true)",
        engine,
    )
    assert result.verdict == "undefined"


@ENGINES
def test_misuse_that_no_consistent_execution_reaches_does_not_count(engine: str) -> None:
    """P1 would arrive with another count only if it read what nobody writes before it."""
    result = checked(
        "{ x = 0; }\nP0@cta 0 { bar.sync 1, 64; st.weak.u32 [x], 1; }\n"
        "P1@cta 0 { ld.weak.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 1; @%p0 bra A; bar.sync 1, 64; bra B;\n"
        "A: bar.sync 1, 32; B: }\nlocations [1:r0;]\nexists (true)",
        engine,
    )
    assert result.verdict == "ok"
    assert result.states == [{"1:r0": 0}]


@ENGINES
def test_a_thread_cut_short_before_a_barrier_is_not_taken_for_one_that_never_arrives(engine: str) -> None:
    result = checked(
        "{ x = 0; }\nP0@cta 0 { bar.sync 1, 64; ld.weak.u32 %r0, [x]; }\n"
        "P1@cta 0 { mov.u32 %r1, 0; L: st.weak.u32 [x], %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L;\n"
        "bar.sync 1, 64; }\nlocations [0:r0;]\nexists (true)",
        engine,
    )
    assert not result.complete


@ENGINES
def test_who_waits_for_a_thread_that_a_bound_stopped_does_not_hide_that_it_did(engine: str) -> None:
    result = checked(
        "{ x = 0; y = 0; }\nP0@cta 0 { L: atom.relaxed.gpu.add.u32 %r0, [x], 1; setp.lt.u32 %p1, %r0, 4; @%p1 bra L;\n"
        "st.relaxed.gpu.u32 [y], 1; }\nP1@cta 1 { M: ld.relaxed.gpu.u32 %r0, [y]; setp.eq.u32 %p1, %r0, 0; @%p1 bra M; }\n"
        "exists (true)",
        engine,
    )
    assert not result.complete and not result.states


@pytest.mark.parametrize("shown", ["0", "9"])
def test_a_filter_does_not_hide_that_a_bound_cut_executions_off(shown: str) -> None:
    from axioms.encode.symbolic import decide_symbolic
    from axioms.models import load
    from ptxmm.pipeline import build

    text = (
        "PTX filtered\n{ x = 0; }\nP0 { mov.u32 %r1, 0; L: ld.weak.u32 %r0, [x]; add.u32 %r1, %r1, 1;\n"
        f"setp.lt.u32 %p1, %r1, 9; @%p1 bra L; }}\nfilter (x < {shown})\nexists (x == 0)"
    )
    program = build(ptxmm.parse(text))
    decision = decide_symbolic(program, load("ptx-9.0"), deadline=None, max_states=10)
    assert not decision.complete


@pytest.mark.parametrize(("condition", "holds"), [("0:r1 != 6", True), ("0:r1 != 7", False)])
def test_of_values_without_bounds_only_those_that_decide_are_looked_for(condition: str, holds: bool) -> None:
    from axioms.encode.symbolic import decide_symbolic
    from axioms.models import load
    from ptxmm.pipeline import build

    text = f"PTX clock\n{{ x = 0; }}\nP0 {{ mov.u32 %r0, %clock; or.b32 %r1, %r0, 1; }}\nforall ({condition})"
    program = build(ptxmm.parse(text))
    decision = decide_symbolic(program, load("ptx-9.0"), deadline=None, max_states=10**9, settles=False)
    assert (decision.negative == 0) == holds and decision.positive + decision.negative and not decision.listed_all


@ENGINES
@pytest.mark.parametrize(("chain", "reachable"), [("rf | addr | data | ctrl", True), ("rf | data | rmw", False)])
def test_what_an_exchange_writes_does_not_come_out_of_what_it_reads(engine: str, chain: str, reachable: bool) -> None:
    """The exchange writes 2 whatever it reads, so it may read what was computed from that 2, unless the model forbids it."""
    result = checked(
        "{ x = 0; y = 0; }\nP0 { atom.relaxed.gpu.exch.b32 %r0, [x], 2; }\n"
        "P1 { ld.weak.u32 %r1, [x]; xor.b32 %r2, %r1, 1; atom.relaxed.gpu.exch.b32 _, [x], %r2; }\n"
        "exists (0:r0 == 3)",
        engine,
        compile_model("chain", f"acyclic {chain} as no-thin-air"),
    )
    assert bool(result.positive) == reachable


def test_a_wait_that_only_its_own_later_write_could_end_never_ends() -> None:
    text = """PTX own-write
{ y=0; }
 P0@cta 0 ;
 LC01: ;
 ld.relaxed.cta r0, y ;
 bne r0, 1, LC01 ;
 atom.relaxed.cta.cas r2, y, r0, 1 ;
exists true
"""
    for engine in ("solve", "enumerate"):
        assert ptxmm.check(ptxmm.parse(text), engine=engine).states == []


def test_without_a_no_thin_air_axiom_both_engines_let_a_branch_justify_itself() -> None:
    text = """PTX own-branch
{ y=0; }
P0@cta 0 {
    ld.weak.u32 %r0, [y];
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bra END;
    st.weak.u32 [y], 1;
  END:
}
exists (0:%r0 == 1)
"""
    model = compile_model("anything", "empty po & ext")
    for engine in ("solve", "enumerate"):
        states = ptxmm.check(ptxmm.parse(text), model, engine=engine).states
        assert states == [{"0:r0": 0}, {"0:r0": 1}]


def test_a_value_that_a_branch_on_itself_chooses_is_no_value_out_of_itself() -> None:
    text = """PTX own-choice
{ x=0; }
P0@cta 0 {
    mov.u32 %r1, 7;
    ld.weak.u32 %r0, [x];
    setp.eq.u32 %p0, %r0, 5;
    @!%p0 bra END;
    mov.u32 %r1, 5;
  END:
    st.weak.u32 [x], %r1;
}
exists (0:%r0 == 5)
"""
    model = compile_model("anything", "empty po & ext")
    for engine in ENGINES.args[1]:
        states = ptxmm.check(ptxmm.parse(text), model, engine=engine).states
        assert states == [{"0:r0": 0}, {"0:r0": 5}, {"0:r0": 7}]
    assert ptxmm.check(ptxmm.parse(text)).states == [{"0:r0": 0}]


@ENGINES
def test_a_wait_at_a_named_barrier_is_in_the_instance_of_its_arrival(engine: str) -> None:
    """P0 arrives there before without waiting: its first wait is in the second instance."""
    result = checked(
        "{ x = 0; }\nP0@cta 0 { barrier.arrive 1, 64; barrier.sync 2, 64; barrier.sync 1, 64; ld.weak.u32 %r0, [x]; }\n"
        "P1@cta 0 { barrier.sync 1, 64; barrier.sync 2, 64; st.weak.u32 [x], 1; barrier.sync 1, 64; }\nexists (0:r0 == 0)",
        engine,
    )
    assert result.states == [{"0:r0": 1}]


@ENGINES
@pytest.mark.parametrize(
    ("end", "reachable"),
    [
        ("setp.eq.u32 %p1, %r0, 1; @%p1 bra END; bar.sync 0; END: mov.u32 %r1, 0;", False),  # what it read ends it
        ("mov.u32 %r1, 0;", True),  # it ends whatever it has read
    ],
)
def test_nobody_ends_by_what_is_written_behind_a_barrier_that_waits_for_that(
    engine: str, end: str, reachable: bool
) -> None:
    result = checked(
        "{ x = 0; }\nP0@cta 0 { bar.sync 0; st.relaxed.cta.u32 [x], 1; }\n"
        f"P1@cta 0 {{ ld.relaxed.cta.u32 %r0, [x]; {end} }}\nexists (1:%r0 = 1)",
        engine,
    )
    assert bool(result.positive) == reachable


@ENGINES
@pytest.mark.parametrize(
    ("meet", "verdict"), [("match.any.sync.b32 %r0, 5, 3;", "ok"), ("mov.u32 %r0, 3;", "undefined")]
)
def test_who_waited_before_a_warp_met_finds_the_object_that_is_invalidated_behind_it(
    engine: str, meet: str, verdict: str
) -> None:
    result = checked(
        "{ .shared .u64 m; }\nP0@warp 0,cta 0 { mbarrier.init.shared.b64 [m], 1; bar.warp.sync 3;\n"
        f"mbarrier.arrive.shared.b64 _, [m]; {meet} mbarrier.inval.shared.b64 [m]; }}\n"
        "P1@warp 0,cta 0 { .reg .pred p; bar.warp.sync 3;\n"
        f"w: mbarrier.test_wait.parity.shared.b64 p, [m], 0; @!p bra w; {meet} }}\nexists (0:%r0 = 3)",
        engine,
    )
    assert result.verdict == verdict


def test_where_listing_stops_early_there_is_one_outcome_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    from axioms import engine
    from axioms.encode import solve
    from axioms.models import load
    from axioms.sat.backends import SatBackend
    from ptxmm.pipeline import build

    settled = []

    def patience_is_over(deadline: float | None) -> None:
        if settled:
            raise OutOfTime

    monkeypatch.setattr(SatBackend, "limit", lambda self, seconds: not settled.append(seconds))
    monkeypatch.setattr(solve, "_check_time", patience_is_over)
    reads = " ".join(f"ld.relaxed.gpu.u32 %r{i}, [x];" for i in range(6))
    writes = " ".join(f"st.relaxed.gpu.u32 [x], {i};" for i in range(6))
    text = f"PTX many\n{{ x = 0; }}\nP0 {{ {reads} }}\nP1 {{ {writes} }}\nforall (0:r0 == 5)"
    decision = engine.decide(build(ptxmm.parse(text)), load("ptx-9.0"), settles=False)
    assert settled and not decision.listed_all
    assert decision.positive and decision.negative
