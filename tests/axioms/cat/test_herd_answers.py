"""herd7 as the oracle of the language: the same programs under the same models have the same states and flags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import herd_answers as herd
import pytest
from campaigns import lengths

import ptxmm

#: How answers are marked in which the read of an exchange reads from the exchange's own write.
OWN_WRITE = "own-write"
#: Enough for each class of models, and few enough for seconds.
_EVERY = 6


def compare(records: list[dict[str, Any]], engine: str) -> int:
    """Compares the answers, but for those that differ for any model (docs/cat.md says why); gives their number."""
    compared = 0
    for record in records:
        if record.get("apart") == OWN_WRITE:
            continue
        assert herd.our_answer(record, engine) == herd.answer_of(record), record["name"]
        compared += 1
    return compared


def answers(*, of_library: bool) -> list[dict[str, Any]]:
    if not herd.SHARED.exists():
        pytest.skip("../shared/litmus/herd is not here")
    if of_library and not herd.HERD:
        pytest.skip("PTXMM_HERD does not say where the source of herdtools7 is")
    return [record for record in herd.records() if herd.of_library(record) == of_library]


@pytest.mark.parametrize("every", lengths(4, 1))
def test_all_answers_are_those_of_herd(every: int) -> None:
    assert compare(answers(of_library=False)[::every], "solve") > 200 / every


def test_brute_force_answers_as_herd() -> None:
    assert compare(answers(of_library=False)[::_EVERY], "enumerate") > 35


@pytest.mark.parametrize(("engine", "every"), [("solve", 2), ("enumerate", 9)])
def test_executions_are_counted_as_herd_counts_them(engine: str, every: int) -> None:
    """`herd_counts.json` has the figures behind Positive and Negative of herd7's logs."""
    counted = json.loads((Path(__file__).parent / "herd_counts.json").read_text(encoding="utf-8"))
    known = [record for record in answers(of_library=False) if record["name"] in counted]
    compared = 0
    for record in known[::every]:
        found = [0, 0]
        for witness in ptxmm.executions(ptxmm.parse(record["ptx"]), herd.model_of(record["model"]), engine=engine):
            found[not witness.satisfied] += 1
        same = found == counted[record["name"]]
        assert same == (record.get("apart") != OWN_WRITE), (record["name"], found)
        compared += 1
    assert compared > 100 // every
    assert len(known) == len(counted)


def test_the_models_of_herd_answer_as_they_do_there() -> None:
    assert compare(answers(of_library=True), "solve") > 90


def test_what_becomes_of_each_file_of_the_library_of_herd() -> None:
    """The table that docs/cat.md links to; `python tests/axioms/cat/herd_answers.py` prints it."""
    if not herd.HERD:
        pytest.skip("PTXMM_HERD does not say where the source of herdtools7 is")
    assert (Path(__file__).parent / "herd_library.md").read_text(encoding="utf-8") == herd.library_table()


@pytest.mark.campaign
@pytest.mark.parametrize("of_library", [False, True])
def test_brute_force_answers_as_herd_everywhere(of_library: bool) -> None:
    assert compare(answers(of_library=of_library), "enumerate") > 80


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_values_that_hang_on_nothing_read_may_go_in_a_circle(engine: str) -> None:
    """As in `x = (y ^ y) + 1` against `y = (x ^ x) + 1`: dependencies go in a circle, values do not. It is for the model to
    forbid."""
    assert compare([r for r in answers(of_library=True) if "apart" in r], engine) >= 5


def test_an_exchange_reads_its_own_write_in_herd_only() -> None:
    """No execution of PTX has that, for any model. What is left over is the same."""
    differ = [r for r in answers(of_library=False) if r.get("apart") == OWN_WRITE]
    assert len(differ) > 3
    for record in differ:
        ours, theirs = herd.our_answer(record, "solve"), herd.answer_of(record)
        assert set(ours[0]) <= set(theirs[0]) and ours[1] == theirs[1], record["name"]
