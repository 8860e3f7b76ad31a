"""Why not: the edges that are told close a circle in an execution that has the outcome; what it rests on is what it needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptxmm

MODELS = Path(__file__).resolve().parents[3] / "axioms" / "models"

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
    assert why is not None and why["axiom"] is None
    assert why["text"] == [
        "no candidate execution has this outcome, whatever the model's axioms say",
        "in every candidate execution 0:r0 is 0",
    ]


def test_values_that_nothing_writes_are_told_as_such() -> None:
    """No axiom forbids what no write writes; where it would have to come out of itself, the circle is told."""
    thin_air = (
        "P0@cta 0 { ld.weak.u32 %r0, [x]; st.weak.u32 [y], %r0; }\n"
        "P1@cta 1 { ld.weak.u32 %r0, [y]; st.weak.u32 [x], %r0; }\n~exists (0:r0 = 42)"
    )
    lines = told(thin_air).why["text"]  # type: ignore[index]
    assert lines[1:] == [
        "in every candidate execution 0:r0 is 0",
        "any other value would have to come out of itself",
        "  P0, line 3 `ld.weak.u32 %r0, [x]` returns what P1, line 4 `st.weak.u32 [x], %r0` writes",
        "  and that comes from P1, line 4 `ld.weak.u32 %r0, [y]`, which returns what P0, line 3 `st.weak.u32 [y], %r0` writes",
        "  and that comes from P0, line 3 `ld.weak.u32 %r0, [x]`",
        "an axiom says so too: No-thin-air (8.10.4): no value depends on itself",
    ]
    older = told(thin_air, model="ptx-7.5").why["text"]  # type: ignore[index]
    assert older[-1] == "an axiom says so too: No-thin-air: no value depends on itself"


def test_a_reason_that_is_not_found_in_time_is_not_told_as_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from axioms.explain import forbidding, why

    monkeypatch.setattr(forbidding, "MOST_SECONDS", 0.0)
    assert told(MP).why["text"][0].startswith("not explained: the reason was not found within")  # type: ignore[index]
    monkeypatch.undo()
    monkeypatch.setattr(why, "MOST_SECONDS", 0.0)
    assert told(MP).why["text"][0].startswith("not explained: the reason was not found within")  # type: ignore[index]
    monkeypatch.setattr(forbidding, "MOST_EVENTS", 3)
    assert told(MP).why["text"] == [  # type: ignore[index]
        "not explained: the test has 7 events, and reasons are looked for in those of at most 3"
    ]


@pytest.mark.long
def test_the_manual_is_cited_for_the_model_that_is_read_from_it(tmp_path: Path) -> None:
    """Sections are those of the 9.0 manual: no other model cites them, and an axiom of a user's is told as it is written."""
    sections = re.compile(r"\d+\.\d+\.\d+")
    shipped = (MODELS / "ptx-9.0.cat").read_text(encoding="utf-8")
    for body in (MP, SB, ATOMIC, COWW, BARRIER):
        lines = told(body).why["text"]  # type: ignore[index]
        assert sections.search(lines[1])
        for model in ("ptx-6.0", "ptx-7.5"):
            lines = (told(body, model=model).why or {"text": []})["text"]
            assert not any(sections.search(line) for line in lines)
            assert not any(line.startswith("the model's axiom") for line in lines)
        copy, changed = tmp_path / "ptx-9.0.cat", tmp_path / "mine.cat"
        copy.write_text(shipped, encoding="utf-8")
        changed.write_text(shipped.replace("(* 8.10.6;", "(* mine;"), encoding="utf-8")
        assert told(body, model=str(copy)).why["text"] == told(body).why["text"]  # type: ignore[index]
        lines = told(body, model=str(changed)).why["text"]  # type: ignore[index]
        assert not any(sections.search(line) for line in lines)
        assert lines[1].startswith("the model's axiom ")


def test_an_axiom_of_a_users_model_is_told_as_it_is_written(tmp_path: Path) -> None:
    """By whatever name it goes."""
    model = tmp_path / "coherence.cat"
    model.write_text("let fr = rf^-1; co\nacyclic po | (* of\nall *) rf | co\n   | fr as coherence\nempty 0 as rest\n")
    why = told(MP, model=str(model)).why
    assert why is not None and why["text"][1] == "the model's axiom coherence: acyclic po | rf | co | fr"
    assert sorted(step["relation"] for step in why["steps"]) == ["fr", "po", "po", "rf"]


def test_every_axiom_that_ships_has_words_and_its_section() -> None:
    from ptxmm.api import model_named
    from ptxmm.words.why import AXIOMS, SECTIONS

    axioms = {axiom.name for name in ptxmm.models() for axiom in model_named(name).axioms}
    assert set(AXIOMS) == set(SECTIONS) == axioms
