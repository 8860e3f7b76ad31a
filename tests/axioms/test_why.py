"""Why not: the edges that are told close a circle in an execution that has the outcome; what it rests on is what it needs."""

from __future__ import annotations

import pytest

import ptxmm

MP = (
    "P0@cta 0 { st.weak.u32 [x], 1; fence.acq_rel.gpu; st.relaxed.gpu.u32 [y], 1; }\n"
    "P1@cta 1 { ld.acquire.gpu.u32 %r0, [y]; ld.weak.u32 %r1, [x]; }\n~exists (1:r0 = 1 /\\ 1:r1 = 0)"
)
SB = (
    "P0@cta 0 { st.relaxed.gpu.u32 [x], 1; fence.sc.gpu; ld.relaxed.gpu.u32 %r0, [y]; }\n"
    "P1@cta 1 { st.relaxed.gpu.u32 [y], 1; fence.sc.gpu; ld.relaxed.gpu.u32 %r0, [x]; }\n~exists (0:r0 = 0 /\\ 1:r0 = 0)"
)
ATOMIC = (
    "P0@cta 0 { atom.relaxed.gpu.add.u32 %r0, [x], 1; }\nP1@cta 1 { atom.relaxed.gpu.add.u32 %r0, [x], 1; }\n"
    "~exists (0:r0 = 0 /\\ 1:r0 = 0)"
)
COWW = "P0@cta 0 { st.weak.u32 [x], 1; st.weak.u32 [x], 2; }\nforall (x = 2)"
TORN = "P0@cta 0 { st.relaxed.gpu.u32 [x], 0x00010001; }\nP1@cta 1 { ld.relaxed.gpu.u32 %r0, [x]; }\n~exists (1:r0 = 1)"
THIN_AIR = (
    "P0@cta 0 { ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 1; @%p0 st.relaxed.gpu.u32 [y], 1; }\n"
    "P1@cta 1 { ld.relaxed.gpu.u32 %r0, [y]; setp.eq.u32 %p0, %r0, 1; @%p0 st.relaxed.gpu.u32 [x], 1; }\n"
    "~exists (0:r0 = 1)"
)
BARRIER = (
    "P0@cta 0 { st.weak.u32 [x], 1; bar.sync 0, 64; }\nP1@cta 0 { bar.sync 0, 64; ld.weak.u32 %r0, [x]; }\n"
    "forall (1:r0 = 1)"
)


def told(body: str, **options: object) -> ptxmm.Result:
    text = f"PTX why\n{{ x=0; y=0; }}\n{body}\n"
    return ptxmm.check(ptxmm.parse(text), why=True, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "axiom", "relations"),
    [
        (MP, "causality", ["po", "sync", "po", "fr"]),
        (SB, "causality", ["po", "sc", "po", "fr"]),
        (ATOMIC, "atomicity", ["fr", "co"]),
        (COWW, "coherence", ["po", "co"]),
        (TORN, "single-copy", ["rf", "fr"]),
        (BARRIER, "causality", ["po", "bars", "po", "fr"]),
    ],
)
def test_the_shortest_way_to_break_the_axiom_is_told(body: str, axiom: str, relations: list[str]) -> None:
    result = told(body)
    assert result.verdict == "ok" and result.why is not None
    assert result.why["axiom"] == axiom
    assert [step["relation"] for step in result.why["steps"]] == relations


def test_steps_follow_one_another() -> None:
    for body in (MP, SB, BARRIER):
        steps = told(body).why["steps"]  # type: ignore[index]
        for step, following in zip(steps, [*steps[1:], steps[0]], strict=True):
            assert step["after"]["line"] == following["before"]["line"]


def test_values_out_of_thin_air_are_told_as_a_circle() -> None:
    why = told(THIN_AIR).why
    assert why is not None and why["axiom"] == "no-thin-air"
    assert sorted(s["relation"] for s in why["steps"]) == ["ctrl", "ctrl", "rf", "rf"]


def test_what_it_rests_on_is_what_it_needs() -> None:
    """Every weakening that is named lets the outcome in, as the weaker test shows; and no fence is named in vain."""
    rests = {(r["line"], r["kind"], r["instead"]) for r in told(MP).why["rests_on"]}  # type: ignore[index]
    assert rests == {
        (3, "fence", ""), (3, "semantics", "acquire"), (3, "scope", "cluster"),
        (3, "semantics", "weak"), (4, "semantics", "relaxed"), (4, "scope", "cluster"),
    }  # fmt: skip
    for line, kind, instead in rests:
        if kind == "semantics" and line == 4:
            weaker = MP.replace("ld.acquire", f"ld.{instead}")
            assert told(weaker).verdict == "no"
    without = MP.replace(" fence.acq_rel.gpu;", "")
    assert told(without).verdict == "no"


def test_a_store_that_does_nothing_for_it_is_not_named() -> None:
    body = MP.replace("st.relaxed.gpu.u32 [y], 1;", "st.relaxed.gpu.u32 [y], 1; fence.sc.sys;")
    why = told(body).why
    assert why is not None
    assert not any("fence.sc" in rest["instruction"] for rest in why["rests_on"])


def test_an_allowed_outcome_is_told_as_an_execution() -> None:
    weaker = MP.replace(" fence.acq_rel.gpu;", "").replace("~exists", "exists")
    why = told(weaker).why
    assert why is not None and why["axiom"] is None
    assert any("out of date" in line for line in why["text"])


def test_nothing_is_told_of_what_no_model_allows() -> None:
    why = told("P0@cta 0 { ld.weak.u32 %r0, [x]; }\n~exists (0:r0 = 7)").why
    assert why is not None and why["axiom"] is None and why["text"][0].startswith("no axiom is told")
