"""Backends side by side: whatever can be asked of one is asked of both, races, misuse and reasons too."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaigns import lengths

import ptxmm
from ptxmm.result import Result

LIBRARY = sorted((Path(__file__).resolve().parents[2] / "litmus" / "library").rglob("*.litmus"))
BACKENDS = ("sat", "z3")

#: A mixed-size race; misuse of a barrier; memory that nothing is known of; a race that the model only tells of.
WITHOUT_MEANING = {
    "mixed-size": "{ x = 0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\nP1@cta 1 { ld.weak.u16 %r0, [x]; }\nexists true",
    "misuse": "{ x = 0; }\nP0@cta 0 { bar.arrive 1, 64; bar.arrive 1, 64; }\nP1@cta 0 { bar.sync 1, 64; }\nexists true",
    "wild": "{ x = 0; }\nP0@cta 0 { ld.weak.u32 %r0, [x+8]; }\nexists true",
    "data": "{ x = 0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\nP1@cta 1 { ld.weak.u32 %r0, [x]; }\nexists true",
}


def told(result: Result) -> tuple[object, ...]:
    """Everything in an answer that does not hang on which execution was found first."""
    races = sorted((race.kind, *sorted((e.thread, e.line) for e in race.events)) for race in result.races)
    axiom = result.why["axiom"] if result.why else None
    return result.verdict, result.states, result.error if result.verdict == "undefined" else "", races, axiom


def answers(test: object, **asked: bool) -> list[tuple[object, ...]]:
    return [told(ptxmm.check(test, backend=b, witnesses=False, **asked)) for b in BACKENDS]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", WITHOUT_MEANING)
@pytest.mark.parametrize("races", [False, True])
def test_what_has_no_meaning_has_none_with_any_backend(name: str, races: bool) -> None:
    test = ptxmm.parse(f"PTX {name}\n{WITHOUT_MEANING[name]}")
    first, second = answers(test, races=races)
    assert first == second
    assert first[0] == {"data": "no" if races else "ok"}.get(name, "undefined")


@pytest.mark.parametrize("every", lengths(36, 6))
def test_the_library_answers_alike_whatever_is_asked_of_it(every: int) -> None:
    compared = raced = explained = 0
    for number, path in enumerate(LIBRARY[every // 18 :: every]):
        test = ptxmm.load(path)
        (*first, why), (*second, other) = answers(test, races=True, why=number % 3 == 0)
        assert first == second, path
        if why is not None and other is not None:  # finding a reason has a limit of its own
            assert why == other, path
            explained += 1
        compared, raced = compared + 1, raced + bool(first[3])
    assert compared >= 270 // every and raced >= 90 // every and explained >= 24 // every
