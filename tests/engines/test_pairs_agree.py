"""The two engines agree on programs that use two features of the model together: on outcomes, misuse and races."""

from __future__ import annotations

from collections import Counter

import pytest
from agreement import deadline, either, note
from campaigns import drawn, share
from generated_pairs import PAIRS, has_both, pairs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pair_features import FEATURES, Feature
from pairs_campaign import kind, run_pair, texts

from axioms.engine import decide
from axioms.models import load
from axioms.program import cut_at
from litmus.formats import read
from ptxmm.pipeline import build

#: Numbers of pairs: every feature with another one.
SOME = [
    n for n, pair in enumerate(PAIRS) if (FEATURES.index(pair[1]) - FEATURES.index(pair[0])) % len(FEATURES) in (5, 34)
]
#: Pairs with asynchronous copies.
COPIES = [pair for pair in PAIRS if any("copies" in f.name or "bulk" in f.name or "async" in f.name for f in pair)]


@pytest.mark.part(8)
@pytest.mark.compares(0.6)
@pytest.mark.parametrize("some", [SOME[i::8] for i in range(8)], ids=lambda some: f"{PAIRS[some[0]][0].name}, ...")
def test_the_engines_agree_on_pairs_of_features(some: list[int]) -> None:
    for number in some:
        assert_agreement(number, first=6, wanted=1)


def assert_agreement(number: int, first: int, wanted: int) -> None:
    report = run_pair(number, first, wanted)
    note(report.compared, report.passed_over)
    assert report.differences == []


def test_all_features_are_among_the_pairs_that_are_always_tested() -> None:
    assert {feature.name for n in SOME for feature in PAIRS[n]} == {feature.name for feature in FEATURES}


def _some(examples: int) -> settings:
    return settings(
        max_examples=drawn(examples),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


@_some(80)
@given(st.data(), st.sampled_from(PAIRS))
def test_programs_have_both_features(data: st.DataObject, pair: tuple[Feature, Feature]) -> None:
    text = data.draw(pairs(*pair))
    assert has_both(text, *pair), text


@pytest.mark.long
def test_most_programs_can_do_several_things() -> None:
    """Not one outcome only: several, or some execution that makes them undefined."""
    kinds = Counter[str]()
    for number in SOME:
        for text in texts(number, first=3, count=4)[:2]:
            program = build(read(text, "generated.litmus"), unroll=2, all_registers=True)
            kinds[kind(decide(program, load("ptx-9.0")))] += 1
    whole = sum(kinds.values())
    assert kinds["several outcomes"] > whole / 3
    assert kinds["several outcomes"] + kinds["undefined"] > whole / 2


def assert_cutting_shows_nothing_more(text: str) -> None:
    """What copies may carry, and so where reads are torn, is found before anything is decided. Both engines believe it."""
    program, model = build(read(text, "generated.litmus"), unroll=2, all_registers=True), load("ptx-9.0")
    found = decide(program, model)
    bytes_ = cut_at(program, ((c.object, c.offset + i) for c in program.cells for i in range(1, c.size)))
    expected = either(lambda: decide(bytes_, model, deadline=deadline()))
    if expected is None:
        return
    assert (found.undefined is None) == (expected.undefined is None), text
    assert found.undefined is not None or found.states == expected.states, text


@pytest.mark.long
@pytest.mark.compares(0.9)
@_some(12)
@given(st.sampled_from(COPIES).flatmap(lambda pair: pairs(*pair)))
def test_bytes_of_copies_that_stay_together_show_all_there_is(text: str) -> None:
    assert_cutting_shows_nothing_more(text)


@pytest.mark.campaign
@pytest.mark.compares(0.9)
@settings(max_examples=share(1000), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(COPIES).flatmap(lambda pair: pairs(*pair)))
def test_bytes_of_copies_that_stay_together_show_all_there_is_in_a_thousand(text: str) -> None:
    assert_cutting_shows_nothing_more(text)


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@pytest.mark.parametrize("number", range(len(PAIRS)), ids=lambda n: f"{PAIRS[n][0].name}-{PAIRS[n][1].name}")
def test_the_engines_agree_on_all_pairs_of_features(number: int) -> None:
    assert_agreement(number, first=1, wanted=13)
