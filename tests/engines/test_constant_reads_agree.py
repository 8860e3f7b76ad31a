"""Constant reads change no answer: threads that meet at barriers, read what others wrote before, add and
decide by it, with and without; and by brute force."""

from __future__ import annotations

import pytest
from agreement import STEPS, brute_force
from campaigns import drawn, share
from hypothesis import given, settings
from hypothesis import strategies as st

from axioms import engine, passes
from axioms.engine import decide
from axioms.models import load
from axioms.program import Program, changes
from axioms.witness.result import Decision
from litmus.formats import read
from ptxmm.pipeline import build


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Two or three threads of a CTA, perhaps with one of another; rounds of accesses with barriers in between."""
    count = draw(st.sampled_from([2, 2, 3]))
    elsewhere = count == 3 and draw(st.integers(0, 2)) == 0
    mates = count - elsewhere
    rounds = draw(st.integers(1, 3))
    skipped = draw(st.integers(0, 3)) == 0  # in one of four programs some barrier is missing
    threads = []
    for t in range(count):
        body = [".reg .pred p; mov.u32 %r0, 9; mov.u32 %r1, 7;"]
        together = t < mates
        for r in range(rounds):
            for _ in range(draw(st.integers(0, 2))):
                body.append(draw(_step(t, r, len(body))))
            if together and r < rounds - 1 and not (skipped and draw(st.integers(0, 3)) == 0):
                body.append("bar.sync 0;")
        threads.append(f"P{t}@cta {int(not together)},cluster {int(not together)} {{ {' '.join(body)} }}")
    terms = " ".join(f"{t}:{r};" for t in range(count) for r in ("r0", "r1"))
    return (
        "PTX generated\n{ .global .u32 x = 0; .global .u32 y = 5; }\n"
        + "\n".join(threads)
        + f"\nlocations [{terms} {draw(st.sampled_from(['', 'x;', 'y;', 'x; y;']))}]\nexists (true)\n"
    )


@st.composite
def _step(draw: st.DrawFn, thread: int, turn: int, number: int) -> str:
    place, register = draw(st.sampled_from("xxy")), draw(st.sampled_from(["%r0", "%r1"]))
    scope, label = draw(st.sampled_from(["cta", "gpu"])), f"s{thread}_{number}"
    return draw(
        st.sampled_from(
            [
                f"ld.weak.u32 {register}, [{place}];",
                f"ld.weak.u32 {register}, [{place}];",
                f"ld.relaxed.{scope}.u32 {register}, [{place}];",
                f"st.weak.u32 [{place}], {thread + 1};",
                f"st.weak.u32 [{place}], {register};",
                f"st.relaxed.{scope}.u32 [{place}], {thread + 1};",
                f"red.relaxed.{scope}.add.u32 [{place}], {thread + 2};",
                f"red.relaxed.{scope}.add.u32 [{place}], {thread + 2};",
                f"red.relaxed.{scope}.add.u32 [{place}], {register};",
                f"red.relaxed.{scope}.max.u32 [{place}], {thread + turn};",
                f"atom.relaxed.{scope}.add.u32 {register}, [{place}], 1;",
                f"fence.acq_rel.{scope};",
                f"setp.eq.u32 p, {register}, 0; @p st.weak.u32 [{place}], 8;",
                f"setp.ne.u32 p, {register}, 9; @p bra {label}; st.weak.u32 [{place}], 3; {label}: mov.u32 {register}, 4;",
                f"st.release.{scope}.u32 [{place}], 6;",
                f"ld.acquire.{scope}.u32 {register}, [{place}];",
            ]
        )
    )


@st.composite
def exchanges(draw: st.DrawFn) -> str:
    """Two threads that exchange in memory of their own what they read elsewhere, and write elsewhere what they got; perhaps
    with a third one that copies from the one place to the other."""
    threads = []
    rounds, barriers = draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 1, 2, 0]))
    for t in range(2):
        source, target = draw(st.sampled_from(["xy", "yx", "xx"]))
        body = [f"mov.u32 %r0, {t + 3}; mov.u32 %r1, 7;"]
        if draw(st.integers(0, 2)):
            body.append(f"ld.relaxed.gpu.u32 %r0, [{source}];")
        if draw(st.integers(0, 3)) == 0:
            body.append("xor.b32 %r0, %r0, %r0; add.u32 %r0, %r0, 1;")
        for r in range(rounds):
            body.append(f"st.weak.u32 [s+{4 * (t + 2 * r)}], %r0;")
            body += ["bar.sync 0;"] * barriers
            body.append(f"ld.weak.u32 %r1, [s+{4 * (1 - t + 2 * r)}];")
            body.append("mov.u32 %r0, %r1;")
        if draw(st.integers(0, 2)):
            body.append(f"st.relaxed.gpu.u32 [{target}], %r1;")
        threads.append(f"P{t}@cta 0,cluster 0 {{ {' '.join(body)} }}")
    if draw(st.booleans()):
        source, target = draw(st.sampled_from(["xy", "yx"]))
        threads.append(
            f"P2@cta 1,cluster 1 {{ ld.relaxed.gpu.u32 %r1, [{source}]; st.relaxed.gpu.u32 [{target}], %r1; }}"
        )
    terms = " ".join(f"{t}:r1;" for t in range(len(threads)))
    return (
        "PTX generated\n{ .global .u32 x = 0; .global .u32 y = 5; .global .u32 s[4]; }\n"
        + "\n".join(threads)
        + f"\nlocations [{terms} x; y;]\nexists (true)\n"
    )


def _answer(decision: Decision) -> tuple[object, ...]:
    if decision.undefined is not None:
        return ("undefined",)
    races = sorted((race.kind, str(race.events)) for race in decision.races)
    return decision.states, decision.positive, decision.complete, races


def _plainly(program: Program, model_name: str) -> Decision:
    """The answer without constant reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "reduced", lambda program, model: program)
        return decide(program, load(model_name), races=True)


def _with_constants(program: Program, model_name: str) -> Decision:
    """The answer with constant reads, as of programs that are not small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "_SMALL", 0)
        return decide(program, load(model_name), races=True)


def _without_the_rest(program: Program, model_name: str) -> Decision:
    """The answer where constant reads are left out, as of large programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "_SMALL", 0)
        patch.setattr(changes, "_LARGE", -1)
        return decide(program, load(model_name), races=True)


def assert_agreement(text: str, steps: int, model: str = "ptx-9.0") -> None:
    program = build(read(text, "generated.litmus"))
    found = _answer(_with_constants(program, model))
    assert found == _answer(_plainly(program, model)), text
    assert found == _answer(_without_the_rest(program, model)), text
    expected = brute_force(program, load(model), steps, races=True)
    assert expected is None or found == _answer(expected), text


@pytest.mark.compares(0.8)
@settings(max_examples=drawn(40), deadline=None)
@given(st.one_of(programs(), exchanges()), st.sampled_from(["ptx-9.0", "ptx-9.0", "ptx-7.5", "ptx-6.0"]))
def test_constant_reads_change_no_answer(text: str, model: str) -> None:
    assert_agreement(text, 2 * STEPS, model)


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@settings(max_examples=share(3000), deadline=None)
@given(st.one_of(programs(), exchanges()), st.sampled_from(["ptx-9.0", "ptx-9.0", "ptx-7.5", "ptx-6.0"]))
def test_constant_reads_change_no_answer_at_length(text: str, model: str) -> None:
    assert_agreement(text, 3 * STEPS, model)
