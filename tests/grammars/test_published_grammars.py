"""The published grammars say what the readers read: on every file, on texts made of the grammars, and on spoilt ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaigns import lengths, share
from published import GRAMMARS, LANGUAGES, ROOT, Language, Writer, spoilt, takes

from axioms.cat.reader import read as read_model
from litmus.formats import read as read_test
from ptxcore.diagnostics import InputError
from ptxcore.syntax.reader import read_module

SHARED = ROOT.parent / "shared"
_RULES = [(name, rule) for name, language in LANGUAGES.items() for rule in ("start", *language.frames)]


def _texts_of(folder: Path, suffix: str) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob(f"*.{suffix}")):
        try:
            yield path, path.read_bytes().decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            continue  # the readers say so, and no grammar is asked


def _is_read(name: str, text: str) -> bool:
    try:
        if name == "ptx":
            return not read_module(text)[1]
        if name == "cat":
            read_model(text)
        else:
            read_test(text)
    except InputError:
        return False
    return True


@pytest.mark.part(3)
@pytest.mark.parametrize("where", ["here", "shared"])
@pytest.mark.parametrize(
    ("name", "suffix", "least"), [("ptx", "ptx", 200), ("cat", "cat", 2), ("litmus", "litmus", 100)]
)
@pytest.mark.parametrize("every", lengths(30, 1))
def test_every_file_that_is_read_is_in_the_grammar(name: str, suffix: str, least: int, where: str, every: int) -> None:
    folder = ROOT if where == "here" else SHARED
    if not folder.is_dir():
        pytest.skip("the collections that are shared between projects are not here")
    texts = list(_texts_of(folder, suffix))[::every]
    read = [(path, text) for path, text in texts if _is_read(name, text)]
    assert len(read) >= least / every
    assert [str(path) for path, text in read if not takes(name, text)] == []


@pytest.mark.long
def test_modules_that_are_not_read_are_not_in_the_grammar() -> None:
    if not SHARED.is_dir():
        pytest.skip("the collections that are shared between projects are not here")
    refused = [(path, text) for path, text in _texts_of(SHARED, "ptx") if not _is_read("ptx", text)]
    meaning = LANGUAGES["ptx"].meaning
    wrong = [
        str(path)
        for path, text in refused
        if takes("ptx", text) and not all(meaning.search(d.message) for d in read_module(text)[1])
    ]
    assert wrong == []


def _agree(language: Language, text: str) -> None:
    """Both take a text, or neither does; the reader may say of what has the right form that it means nothing, and what it
    says behind that may follow from it: a head that means nothing has no body."""
    found = language.found(text)
    if takes(language.name, text):
        assert all(language.meaning.search(message) for message in found[:1]), text
    elif not any(word in text for word in language.looser):
        assert found, text


def _compare(language: Language, rule: str, choose: random.Random, examples: int) -> None:
    frame = language.frames.get(rule, "{}")
    writer = Writer(language, rule)
    for _ in range(examples):
        text = writer.write(choose)
        _agree(language, frame.format(text))
        if rule in language.frames:
            for _ in range(3):
                _agree(language, frame.format(spoilt(text, choose)))


@pytest.mark.part(5)
@pytest.mark.parametrize(("name", "rule"), _RULES)
def test_texts_made_of_a_grammar_are_read_and_spoilt_ones_refused_by_both(name: str, rule: str) -> None:
    _compare(LANGUAGES[name], rule, random.Random(rule), 15)


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "rule"), _RULES)
def test_many_texts_made_of_a_grammar_are_read_and_spoilt_ones_refused_by_both(name: str, rule: str) -> None:
    _compare(LANGUAGES[name], rule, random.Random(f"many of {rule}"), share(20_000))


def test_each_grammar_that_is_published_is_compared() -> None:
    assert {path.stem for path in GRAMMARS.glob("*.lark")} == set(LANGUAGES)
