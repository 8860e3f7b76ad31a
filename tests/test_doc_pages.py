"""The pages of axioms and of common mistakes are what the model, the library and the kernels say; `python tests/doc_pages.py`
writes them anew."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import doc_pages
import pytest
from agreement import compared
from campaigns import some
from doc_pages import AXIOMS, LIBRARY, MISTAKES, ROOT

import ptxmm

NAMES = list(doc_pages.mistakes())


def expected(path: Path, variant: str) -> set[str]:
    """The verdicts that a kernel test allows one of its variants."""
    (entry,) = (v for v in tomllib.loads(path.read_text(encoding="utf-8"))["variant"] if v["name"] == variant)
    given = entry.get("expect", "ok")
    return {given} if isinstance(given, str) else set(given)


def test_every_page_is_what_is_made_today() -> None:
    """All but what its commands print, which tests/test_docs.py looks at."""
    made = doc_pages.pages()
    assert {p for folder in (AXIOMS, MISTAKES) for p in folder.glob("*.md") if p.name != "README.md"} == set(made)
    for path, wanted in made.items():
        assert doc_pages.skeleton(path.read_text(encoding="utf-8")) == wanted, (
            f"{path.name}: run python tests/doc_pages.py"
        )


def test_every_picture_beside_the_pages_is_shown_by_one() -> None:
    for folder in (AXIOMS, MISTAKES):
        shown = doc_pages.pictures_of(folder)
        assert shown == set((folder / "pictures").rglob("*.svg"))
        assert len(shown) >= len(list(folder.glob("*.md"))) - 1  # one on each page but the index, and more


@pytest.mark.long
@pytest.mark.compares(1.0)
@pytest.mark.parametrize("axiom", some(10, doc_pages.axioms()))
def test_searching_again_gives_the_test_that_needs_the_axiom(axiom: str) -> None:
    compared(axiom)
    assert doc_pages.needing(axiom) == doc_pages.recorded(axiom)


def test_every_axiom_has_a_test_that_needs_it() -> None:
    found = [doc_pages.recorded(axiom) for axiom in doc_pages.axioms()]
    assert len(found) >= 9 and all((ROOT / LIBRARY / f"{needed.test}.litmus").is_file() for needed in found)


def test_there_is_a_page_for_every_mistake_of_the_museum() -> None:
    museum = {
        path.stem: path
        for path in (ROOT / doc_pages.MUSEUM).glob("*.toml")
        if '"buggy"' in path.read_text(encoding="utf-8")
    }
    assert sorted(m.museum for m in doc_pages.mistakes().values()) == sorted(museum) and len(museum) == 15
    for name, mistake in doc_pages.mistakes().items():
        ours = MISTAKES / name / f"{name}.toml"
        assert expected(ours, "wrong") <= {"no", "undefined"} and expected(ours, "right") == {"ok"}
        assert expected(ours, "wrong") & expected(museum[mistake.museum], "buggy")


@pytest.mark.parametrize("name", some(5, NAMES))
def test_the_wrong_kernel_fails_the_right_one_holds_and_the_picture_is_of_the_mistake(name: str) -> None:
    wrong, right = (ptxmm.check(ptxmm.load(MISTAKES / name / f"{name}.toml:{v}")) for v in ("wrong", "right"))
    assert wrong.passed and wrong.complete and wrong.verdict in ("no", "undefined")
    assert right.passed and right.complete and right.races == []
    assert any(
        str(event.source).partition(":")[0].endswith("wrong.cu") for race in wrong.races for event in race.events
    ) or (wrong.verdict == "undefined")
    assert doc_pages.drawn(name) == doc_pages.pictured(name)


def test_a_page_whose_text_was_changed_by_hand_is_seen() -> None:
    path, wanted = next(iter(doc_pages.pages().items()))
    text = path.read_text(encoding="utf-8")
    assert doc_pages.skeleton(text.replace("# The axiom", "# An axiom")) != wanted
    assert doc_pages.skeleton(text.replace(" differ;", " agree;")) == wanted  # what is printed is not in it


def test_the_glossary_has_the_words_of_reports_and_pictures() -> None:
    from axioms.liveness.progress import NAMES as PROGRESS
    from ptxmm.answers import CHECKS
    from ptxmm.graphs.words import LINES
    from ptxmm.result import VERDICTS

    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = {word for row in re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE) for word in re.findall(r"[\w.-]+", row)}
    marked = set(re.findall(r"`([^`]+)`", text)) | terms
    relations = (
        set(LINES) - {"why", "race"} - {"barrier", "sync_barrier", "causality"}
    )  # words, and other models' names
    asked = {*relations, *VERDICTS, *CHECKS, *PROGRESS, *doc_pages.axioms()}
    assert (
        len(asked) > 35 and sorted(word for word in asked if word not in marked and word.strip("~") not in marked) == []
    )


def test_the_glossary_has_the_words_that_the_pages_of_whole_launches_define() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "whole-launches").glob("*.md"))
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = {
        term for row in re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE) for term in re.split(r", | \(|\)", row)
    }
    defined = set(re.findall(r"\b[Aa]n?\s+\*([a-z-]+)\*", pages))
    assert {"look-back", "errand", "round"} <= defined and len(defined) > 10
    assert defined - terms == set()
