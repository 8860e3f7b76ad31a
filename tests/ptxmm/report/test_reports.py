"""What the three formats print, to the letter where scripts rest on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptxmm.checker import Outcome
from ptxmm.report.drawings import Drawings
from ptxmm.report.herd import HerdReport, condition, lines, state_line
from ptxmm.report.json import JsonReport
from ptxmm.report.text import TextReport, table
from ptxmm.result import Result, observation_of

STATES = [{"1:r0": 0, "x": 1}, {"1:r0": 1, "x": 1}, {"1:r0": 1, "x": 2}]


def result(**changes: Any) -> Result:
    settings: dict[str, Any] = {
        "path": "tests/mp.litmus",
        "name": "MP",
        "model": "ptx-9.0",
        "verdict": "ok",
        "kind": "exists",
        "condition": "(1:r0 == 1)",
        "observation": "sometimes",
        "states": STATES,
        "positive": 2,
        "negative": 1,
        "seconds": 0.0041,
    }
    return Result(**{**settings, **changes})


def outcome(**changes: Any) -> Outcome:
    return Outcome(result(**changes), {}, "0123")


def test_observations() -> None:
    assert [observation_of(*n) for n in ((0, 0), (0, 2), (1, 2), (2, 0))] == ["never", "never", "sometimes", "always"]


@pytest.mark.parametrize(
    ("verdict", "expectation", "passed"),
    [
        ("ok", "ok", True),
        ("no", "ok", False),
        ("no", "no", True),
        ("ok", "no", False),
        ("undefined", "ok", False),
        ("undefined", "undefined", True),
        ("undecided", "ok", False),
        ("error", "no", False),
    ],
)
def test_a_test_passes_when_it_answers_as_it_says(verdict: str, expectation: str, passed: bool) -> None:
    assert result(verdict=verdict, expectation=expectation).passed is passed


# herd


def test_herd_lines_of_exists() -> None:
    assert lines(outcome()) == [
        "Test MP Allowed",
        "States 3",
        "1:r0=0; [x]=1;",
        "1:r0=1; [x]=1;",
        "1:r0=1; [x]=2;",
        "Ok",
        "Witnesses",
        "Positive: 2 Negative: 1",
        "Condition exists (1:r0=1)",
        "Observation MP Sometimes 2 1",
        "Time MP 0.00",
        "Hash=0123",
    ]


def test_herd_counts_witnesses_of_a_negated_condition_the_other_way_round() -> None:
    text = lines(outcome(kind="not exists", verdict="no"))
    assert text[0] == "Test MP Forbidden"
    assert text[5:10] == [
        "No",
        "Witnesses",
        "Positive: 1 Negative: 2",
        "Condition ~exists (1:r0=1)",
        "Observation MP Sometimes 2 1",
    ]


def test_herd_says_loop_and_undef() -> None:
    assert lines(outcome(kind="forall", complete=False))[0] == "Test MP Required"
    assert "Loop Ok" in lines(outcome(complete=False))
    assert "Undef" in lines(outcome(verdict="undefined"))


def test_herd_states_may_be_empty() -> None:
    assert state_line({}) == ""
    assert lines(outcome(states=[], positive=0, negative=0, observation="never"))[1:3] == ["States 0", "Ok"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("true", "(true)"),
        ("(1:r0 == 1 /\\ x != 2)", "(1:r0=1 /\\ x<>2)"),
        ("(~(1:r0 = 1) \\/ y >= 3)", "(not (1:r0=1) \\/ y >= 3)"),
    ],
)
def test_herd_conditions_have_herds_operators(ours: str, theirs: str) -> None:
    assert condition(ours) == theirs


def test_herd_prints_nothing_for_a_test_without_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    report = HerdReport()
    report.add(outcome(verdict="error", kind=None, observation=None))
    report.add(outcome(verdict="undecided", observation=None))
    assert capsys.readouterr().out == ""
    report.add(outcome())
    assert capsys.readouterr().out.endswith("Hash=0123\n\n")


# json

CONTRACT: dict[str, Any] = {
    "path": str,
    "name": str,
    "kind": str,
    "condition": str,
    "verdict": str,
    "observation": str,
    "states": list,
    "positive": int,
    "negative": int,
    "complete": bool,
    "seconds": float,
    "error": (str, type(None)),
    "races": list,
}


def test_json_is_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    report = JsonReport("ptx-9.0")
    report.begin(["a"])
    report.add(outcome())
    report.add(outcome(verdict="error", kind=None, condition=None, observation=None, states=[], error='bad "\udcff"'))
    report.end(0.1)
    document = json.loads(capsys.readouterr().out)
    assert (document["ptxmm"], document["model"], len(document["tests"])) == ("0.1.0", "ptx-9.0", 2)
    good, bad = document["tests"]
    assert list(good)[: len(CONTRACT)] == list(CONTRACT)
    for key, kind in CONTRACT.items():
        assert isinstance(good[key], kind), key
    assert good["states"] == STATES and good["error"] is None
    assert bad["verdict"] == "error" and bad["error"] == 'bad "\udcff"' and bad["kind"] is None


def test_json_of_no_tests_is_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    JsonReport("m").end(0)
    assert json.loads(capsys.readouterr().out)["tests"] == []


# text


def text_of(outcomes: list[Outcome], paths: list[str], colour: bool, capsys: pytest.CaptureFixture[str]) -> str:
    report = TextReport("ptx-9.0", colour=colour, unroll=4)
    report.begin(paths)
    for each in outcomes:
        report.add(each)
    report.end(1.5)
    return capsys.readouterr().out


def test_text_of_one_test(capsys: pytest.CaptureFixture[str]) -> None:
    one = outcome(kind="not exists", positive=0, negative=3, observation="never", forbidding=("causality",))
    assert text_of([one], ["mp.litmus"], False, capsys).splitlines() == [
        "forbidden: 0 of 3 outcomes  MP  under ptx-9.0, 4.1 ms",
        "    ok: ~exists (1:r0 == 1)",
        "      1:r0=0  x=1",
        "      1:r0=1  x=1",
        "      1:r0=1  x=2",
        "    the outcome is forbidden by causality",
    ]


@pytest.mark.parametrize(
    ("kind", "observation", "words"),
    [
        ("exists", "never", "the outcome"),
        ("exists", "always", "any other outcome"),
        ("not exists", "always", "any other outcome"),
        ("forall", "always", "a counterexample"),
        ("forall", "never", "the outcome"),
    ],
)
def test_what_is_forbidden_is_what_no_execution_shows(
    kind: str, observation: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = (3, 0) if observation == "always" else (0, 3)
    one = outcome(kind=kind, positive=counts[0], negative=counts[1], observation=observation, forbidding=("causality",))
    assert f"    {words} is forbidden by causality" in text_of([one], ["mp.litmus"], False, capsys).splitlines()


def test_text_of_a_run_that_was_interrupted_says_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text_of([outcome()], ["a", "b", "c"], False, capsys).splitlines()
    assert lines[-1] == "1 of 3 tests under ptx-9.0: 1 ok; 1.50 s"


def test_text_of_several_tests(capsys: pytest.CaptureFixture[str]) -> None:
    paths = ["tests/mp.litmus", "b"]
    some = [
        outcome(),
        outcome(path="b", verdict="no", expectation="no", complete=False),
        outcome(path="b", verdict="no"),
        outcome(path="b", verdict="undecided", observation=None, error="out of time after 1 s"),
        outcome(path="b", verdict="error", observation=None, error="b: error: bad"),
    ]
    assert text_of(some, paths, False, capsys).splitlines() == [
        "ok         tests/mp.litmus  allowed: 2 of 3         4.1 ms",
        "no         b                allowed: 2 of 3         4.1 ms  as expected; loops unrolled at most 4 times",
        "no         b                allowed: 2 of 3         4.1 ms  expected ok",
        "undecided  b                                        4.1 ms  out of time after 1 s",
        "error      b                                        4.1 ms  see the message",
        "5 tests under ptx-9.0: 1 ok, 2 no, 1 undecided, 1 error; 1 not as expected; 1.50 s",
    ]


def test_text_has_colours_only_where_they_are_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in text_of([outcome(path="a\x1b[31m")], ["a", "b"], False, capsys)
    coloured = text_of([outcome()], ["a", "b"], True, capsys)
    assert coloured.startswith("\x1b[32mok       \x1b[0m  ")


def test_tables_of_states_are_aligned() -> None:
    assert table([{"x": 1, "y": 10}, {"x": 100, "y": 2}]) == ["x=1    y=10", "x=100  y=2"]
    assert table([]) == [] and table([{}]) == [""]


# drawings


def test_drawings_get_safe_names_that_are_never_taken_twice(tmp_path: Any) -> None:
    drawings = Drawings({"svg": str(tmp_path / "new" / "folder")})
    for name in ("MP+rel", "mp+REL", "../../etc/x y", "MP+rel", "..."):
        drawings.write(Outcome(result(name=name), {"svg": ["<svg/>", "<svg/>"]}))
    drawings.write(Outcome(result(name="none"), {}))
    names = {p.name for p in (tmp_path / "new" / "folder").iterdir()}
    stems = {"MP+rel", "mp+REL~2", "_.._etc_x_y", "MP+rel~3", "test"}
    assert names == {f"{stem}-{i}.svg" for stem in stems for i in (0, 1)}
