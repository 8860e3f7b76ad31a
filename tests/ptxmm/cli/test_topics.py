"""The pages of `ptxmm explain`: each says what the tool says."""

from __future__ import annotations

import re

import pytest

import ptxmm
from ptxcore.findings import WARNINGS
from ptxmm.api import model_named
from ptxmm.cli.main import main
from ptxmm.findings import KINDS
from ptxmm.linting import lint_text
from ptxmm.topics import names, text_of, title_of

BLOCK = re.compile(r"^```(litmus|ptx) ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(name, *found) for name in names() for found in BLOCK.findall(text_of(name))]


@pytest.mark.parametrize(("name", "words", "text"), [(n, w, t) for n, kind, w, t in BLOCKS if kind == "litmus"])
def test_a_litmus_test_is_decided_as_its_page_says(name: str, words: str, text: str) -> None:
    verdict, *axiom = words.split()
    for engine in ("solve", "enumerate"):
        result = ptxmm.check(ptxmm.parse(text), engine=engine, explain=bool(axiom))
        assert result.verdict == verdict
        if axiom and engine == "solve":
            assert axiom[0] in result.forbidding


@pytest.mark.parametrize(("name", "code", "text"), [(n, w, t) for n, kind, w, t in BLOCKS if kind == "ptx"])
def test_a_module_is_warned_of_as_its_page_says(name: str, code: str, text: str) -> None:
    assert code == name and {found.code for found in lint_text(text)} >= {code}
    assert all(found.severity == "warning" for found in lint_text(text))


def test_whatever_a_report_names_has_a_page() -> None:
    races = {kind for kind in KINDS if kind.endswith("-race")}
    axioms = {axiom.name for axiom in model_named("ptx-9.0").axioms}
    assert {*WARNINGS, *races, *axioms, "bounded", "undecided", "undefined"} <= set(names())
    assert len([block for block in BLOCKS if block[1] == "litmus"]) > 30


@pytest.mark.parametrize("name", names())
def test_a_page_has_a_title_and_names_pages_that_there_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert text_of(name).startswith(f"# {name}: ") and 10 < len(title_of(name)) < 120
    for other in re.findall(r"ptxmm explain ([a-z-]+)", text_of(name)):
        assert other in names()
    assert main(["explain", name.upper().replace("-", "_")]) == 0
    assert capsys.readouterr().out == text_of(name)


def test_topics_are_listed_and_a_wrong_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names()
    assert main(["explain", "data-races"]) == 2
    assert (
        capsys.readouterr().err == "ptxmm explain: error: no topic 'data-races'\n    hint: did you mean 'data-race'?\n"
    )
