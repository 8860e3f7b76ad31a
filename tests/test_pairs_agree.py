"""The two engines agree on programs that use two features of the model together: on outcomes, misuse and races."""

from __future__ import annotations

from collections import Counter

import pytest
from generated_pairs import PAIRS, has_both, pairs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pair_features import FEATURES
from pairs_campaign import Compared, compare, run_pair

#: Numbers of pairs: every feature with another one.
SOME = [
    n for n, pair in enumerate(PAIRS) if (FEATURES.index(pair[1]) - FEATURES.index(pair[0])) % len(FEATURES) in (5, 34)
]


@pytest.mark.parametrize("number", SOME, ids=lambda n: f"{PAIRS[n][0].name}-{PAIRS[n][1].name}")
def test_the_engines_agree_on_pairs_of_features(number: int) -> None:
    assert run_pair(number, first=6, wanted=1).differences == []


def test_all_features_are_among_the_pairs_that_are_always_tested() -> None:
    assert {feature.name for n in SOME for feature in PAIRS[n]} == {feature.name for feature in FEATURES}


def _some(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )


@_some(80)
@given(st.data(), st.sampled_from(PAIRS))
def test_programs_have_both_features(data: st.DataObject, pair: tuple[object, object]) -> None:
    text = data.draw(pairs(*pair))  # type: ignore[arg-type]
    assert has_both(text, *pair), text  # type: ignore[arg-type]


def test_most_programs_can_do_several_things() -> None:
    """Not one outcome only: several, or some execution that makes them undefined."""
    kinds = Counter[str]()

    @_some(25)
    @given(st.sampled_from(PAIRS).flatmap(lambda pair: pairs(*pair)))
    def look(text: str) -> None:
        result: Compared = compare(text)
        assert result.same, text
        kinds[result.kind] += 1

    look()
    told = kinds["several outcomes"] + kinds["undefined"]
    assert told > kinds["one outcome"] + kinds["no outcome"]
    assert kinds["several outcomes"] > kinds["undefined"] / 4
    assert kinds[""] < sum(kinds.values()) / 3, "passed over"


@pytest.mark.campaign
@pytest.mark.parametrize("number", range(len(PAIRS)), ids=lambda n: f"{PAIRS[n][0].name}-{PAIRS[n][1].name}")
def test_the_engines_agree_on_all_pairs_of_features(number: int) -> None:
    assert run_pair(number, first=1, wanted=13).differences == []
