"""Races: both engines find the same, each is one in its witness, and a fitted model says what the whole one says."""

from __future__ import annotations

import pytest
from agreement import brute_force, deadline, either, pass_over
from campaigns import share
from generated import generated_tests
from generated_asynchronous import copies, kernels, proxies
from generated_sizes import mixed_sizes
from generated_warps import warps
from hypothesis import Phase, given
from hypothesis import strategies as st
from test_barriers_agree import barriers, objects
from test_engines_agree import of

import ptxmm
from axioms.cat.model import Facts
from axioms.cat.specialise import specialised
from axioms.encode import solve
from axioms.engine import decide
from axioms.models import load
from axioms.sat.values import TooManyValues
from axioms.witness.races import wanted_flags
from axioms.witness.result import Decision
from axioms.witness.tearing import with_tearing
from litmus.formats import read
from ptxmm.pipeline import build

ANY = st.one_of(generated_tests(), copies(), kernels(), proxies(), mixed_sizes(), warps(), barriers(), objects())


def found(decision: Decision) -> set[tuple[object, ...]]:
    return {(race.kind, *sorted(race.events)) for race in decision.races}


def assert_races_agree(text: str) -> None:
    program, model = build(read(text, "generated.litmus")), load("ptx-9.0")
    expected = brute_force(program, model, races=True)
    if expected is None:
        return
    decided = decide(program, model, races=True)
    assert found(decided) == found(expected), text
    assert (decided.undefined is None) == (expected.undefined is None), text
    for race in decided.races:
        assert len(race.execution.relations["race"]) == 1


def assert_fitting_changes_nothing(text: str) -> None:
    """The whole model, with everything that this program has nothing of, allows what the fitted one does."""
    model = load("ptx-9.0")
    program = with_tearing(build(read(text, "generated.litmus"), all_registers=True), model)
    plain = specialised(model, Facts(), wanted_flags(model, all_kinds=False))
    try:
        whole = either(lambda: solve.decide(program, plain, backend=None, deadline=deadline(), max_states=1000))
    except TooManyValues:
        return pass_over("too many values")
    if whole is None:
        return
    fitted = decide(program, model)
    assert (whole.states, whole.undefined is None) == (fitted.states, fitted.undefined is None), text


@pytest.mark.compares(0.8)
@of(60, derandomize=True)
@given(ANY)
def test_the_engines_find_the_same_races(text: str) -> None:
    assert_races_agree(text)


@pytest.mark.compares(0.9)
@of(40, derandomize=True)
@given(ANY)
def test_a_fitted_model_says_what_the_whole_one_says(text: str) -> None:
    assert_fitting_changes_nothing(text)


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@of(share(3000), phases=[Phase.generate, Phase.shrink])
@given(ANY)
def test_the_engines_find_the_same_races_in_thousands(text: str) -> None:
    assert_races_agree(text)


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@of(share(1000), phases=[Phase.generate, Phase.shrink])
@given(ANY)
def test_a_fitted_model_says_what_the_whole_one_says_of_a_thousand(text: str) -> None:
    assert_fitting_changes_nothing(text)


def test_a_race_fails_a_test_that_is_otherwise_right() -> None:
    text = "PTX race\n{ x=0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\nP1@cta 1 { ld.weak.u32 %r0, [x]; }\nforall (1:r0 < 2)"
    assert ptxmm.check(ptxmm.parse(text)).verdict == "ok"
    result = ptxmm.check(ptxmm.parse(text), races=True)
    assert result.verdict == "no"
    assert [(race.kind, [e.line for e in race.events]) for race in result.races] == [("data", [3, 4])]
    assert result.race_witnesses[0].svg().startswith("<svg")


def test_executions_that_do_not_terminate_have_no_races_of_their_own() -> None:
    """The flag that P1 waits for is never set where P0 reads 0: then nothing comes after the wait, and nothing races."""
    text = (
        "PTX wait\n{ x=0; f=0; }\n"
        "P0@cta 0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }\n"
        "P1@cta 1 { .reg .pred p; w: ld.acquire.gpu.u32 %r0, [f]; setp.eq.u32 p, %r0, 0; @p bra w; ld.weak.u32 %r1, [x]; }\n"
        "forall (1:r1 = 1)"
    )
    for engine in ("solve", "enumerate"):
        assert ptxmm.check(ptxmm.parse(text), races=True, engine=engine).verdict == "ok"


def test_a_model_without_flags_has_no_races() -> None:
    text = "PTX race\n{ x=0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\nP1@cta 1 { ld.weak.u32 %r0, [x]; }\nforall (1:r0 < 2)"
    assert ptxmm.check(ptxmm.parse(text), "ptx-7.5", races=True).verdict == "ok"


def test_a_users_flag_is_a_kind_of_race(tmp_path: object) -> None:
    from axioms.cat.model import compile_model

    model = compile_model("mine", "empty rf \\ loc as sane\nflag ~empty [W]; (rf & ext); [R] as communicates")
    text = "PTX race\n{ x=0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\nP1@cta 1 { ld.weak.u32 %r0, [x]; }\nexists (1:r0 = 1)"
    for engine in ("solve", "enumerate"):
        result = ptxmm.check(ptxmm.parse(text), model, races=True, engine=engine)
        assert {race.kind for race in result.races} == {"communicates"}


PAIR = "PTX race\n{ x=0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\nP1@cta 1 { ld.weak.u32 %r0, [x]; }\nexists (1:r0 = 1)"


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_a_pair_is_told_of_under_every_flag_that_it_raises(engine: str) -> None:
    from axioms.cat.model import compile_model

    flags = ["seen", "data", "heard", "seen", "proxy"]
    text = "empty rf \\ loc as sane\n" + "\n".join(f"flag ~empty [W]; (rf & ext); [R] as {f}" for f in flags)
    result = ptxmm.check(ptxmm.parse(PAIR), compile_model("mine", text), races=True, engine=engine)
    of_pair = [r.kind for r in result.races if all(e.line for e in r.events)]
    assert of_pair == ["seen", "data", "heard"], (
        "one flag of two names is one kind; of the kinds of races a pair has the first"
    )


def test_a_flag_of_another_shape_is_told_of_each_event_of_an_execution_that_raises_it() -> None:
    from axioms.cat.model import compile_model

    model = compile_model("mine", "empty 0\nflag acyclic po | rf as strange")
    text = "PTX race\n{ x=0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\nexists (x = 1)"
    assert ptxmm.check(ptxmm.parse(text), model).verdict == "ok"
    result = ptxmm.check(ptxmm.parse(text), model, races=True)
    assert result.verdict == "no" and {race.kind for race in result.races} == {"strange"}
    assert all(first == second for first, second in (race.events for race in result.races))
    other = compile_model("mine", "empty 0\nflag ~acyclic po | rf as strange")
    assert ptxmm.check(ptxmm.parse(text), other, races=True).verdict == "ok"
