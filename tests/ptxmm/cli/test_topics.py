"""The pages of `ptxmm explain`: each says what the tool says."""

from __future__ import annotations

import re

import pytest

import ptxmm
from axioms.witness.races import ONE_OF, UNDEFINED, UNSET
from litmus.library import named
from litmus.test import PROPERTIES
from ptxcore.findings import ERRORS, WARNINGS
from ptxmm.answers import CHECKS
from ptxmm.api import model_named
from ptxmm.cli.main import main
from ptxmm.findings import KINDS as KINDS_OF_FINDINGS
from ptxmm.graphs.words import LINES
from ptxmm.linting import lint_text
from ptxmm.topics import ALSO, KINDS, names, text_of, title_of, topic_of

BLOCK = re.compile(r"^```(litmus|ptx) ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(name, *found) for name in names() for found in BLOCK.findall(text_of(name))]


@pytest.mark.part(2)
@pytest.mark.parametrize(("name", "words", "text"), [(n, w, t) for n, kind, w, t in BLOCKS if kind == "litmus"])
def test_a_litmus_test_is_decided_as_its_page_says(name: str, words: str, text: str) -> None:
    verdict, *axiom = words.split()
    for engine in ("solve", "enumerate"):
        result = ptxmm.check(ptxmm.parse(text), engine=engine, explain=bool(axiom))
        assert result.verdict == verdict
        if axiom and engine == "solve":
            assert axiom[0] in result.forbidding


@pytest.mark.parametrize(("name", "code", "text"), [(n, w, t) for n, kind, w, t in BLOCKS if kind == "ptx"])
def test_a_module_is_judged_as_its_page_says(name: str, code: str, text: str) -> None:
    assert code == name and {found.code for found in lint_text(text)} >= {code}
    assert {found.severity for found in lint_text(text)} == {"error" if code in ERRORS else "warning"}


def test_whatever_a_report_names_has_a_page() -> None:
    axioms = {axiom.name for axiom in model_named("ptx-9.0").axioms}
    misuse = {flag for flag in (*UNDEFINED, UNSET) if flag not in ONE_OF}
    verdicts = {"ok", "no", "bounded", "undecided", "undefined", "error"}
    words = {
        *misuse,
        *KINDS_OF_FINDINGS,
        *CHECKS,
        *PROPERTIES,
        *ERRORS,
        *WARNINGS,
        *axioms,
        *verdicts,
        *LINES,
    }
    assert sorted(word for word in words if topic_of(word) is None) == []
    assert len([block for block in BLOCKS if block[1] == "litmus"]) > 60


@pytest.mark.parametrize("name", names())
def test_a_page_has_a_title_and_names_pages_that_there_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert text_of(name).startswith(f"# {name}: ") and 10 < len(title_of(name)) < 120
    for other in re.findall(r"ptxmm explain ([a-z-]+)", text_of(name)):
        assert other in names()
    assert main(["explain", name.upper().replace("-", "_")]) == 0
    assert capsys.readouterr().out == text_of(name)


def test_topics_are_listed_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(name for members in KINDS.values() for name in members.split()) == names()
    assert main(["explain"]) == 0
    said = capsys.readouterr().out
    assert re.findall(r"^(\S.*)$", said, re.MULTILINE) == list(KINDS)
    assert re.findall(r"^  (\S+)", said, re.MULTILINE) == [n for members in KINDS.values() for n in members.split()]


def test_other_names_lead_to_topics(capsys: pytest.CaptureFixture[str]) -> None:
    assert {*ALSO.values()} <= set(names()) and not set(ALSO) & set(names())
    for words, topic in [
        (["IRIW"], "iriw"),
        (["morally", "strong"], "morally-strong"),
        (["Reads_From"], "rf"),
        (["fence.sc"], "fence-sc"),
    ]:
        assert main(["explain", *words]) == 0
        assert capsys.readouterr().out == text_of(topic)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("data-races", "did you mean 'data-race'?"),
        ("mixed", "topics with this in their names: mixed-size-race"),
        ("MP+rel+aqc", "of the tests that ship, did you mean 'MP+rel+acq'?"),
        ("q" * 500, "ptxmm explain lists the topics"),
    ],
)
def test_a_wrong_one_is_told(word: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 2
    assert capsys.readouterr().err == f"ptxmm explain: error: no topic '{word}'\n    hint: {hint}\n"


@pytest.mark.parametrize(("name", "said"), [("MP+rel+acq", "forbidden: 0 of 3"), ("library:IRIW+acq", "allowed: 1 of")])
def test_of_a_test_that_ships_it_tells_why(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = named(name.removeprefix("library:"))
    assert main(["explain", name]) == 0
    told = capsys.readouterr().out
    with open(path, encoding="utf-8") as file:
        assert told.startswith(file.read())
    assert said in told and ("Causality (8.10.6)" in told or "is not ordered before" in told)


def test_what_is_no_topic_and_no_exercise_is_told_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in ("explain", "learn"):
        assert main([command, "\x1b[31mred"]) == 2
        told = capsys.readouterr().err
        assert "[31mred" in told and "\x1b" not in told
