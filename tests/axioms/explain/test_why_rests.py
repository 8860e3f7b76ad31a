"""What a forbidden outcome is said to rest on: with the test itself made weaker at that one place, the outcome is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaigns import LONG

import ptxmm

LIBRARY = Path(__file__).resolve().parents[3] / "litmus" / "library"
#: Every one of these folders in every run, the next ones where CI asks for them, and the others in campaigns.
_ALWAYS, _LONG = ("barriers", "clusters", "store-buffering"), ("message-passing", "model")
FOLDERS = [
    pytest.param(path.name, marks=() if path.name in _ALWAYS else LONG if path.name in _LONG else pytest.mark.campaign)
    for path in sorted(LIBRARY.iterdir())
    if path.is_dir()
]
_SCOPE = re.compile(r"\.(cta|cluster|gpu|gl|sys)(?![\w:])")
_SEMANTICS = re.compile(r"\.(sc|acq_rel|acquire|release|relaxed)(?!\w)")


@pytest.mark.parametrize("folder", FOLDERS)
def test_without_what_it_rests_on_the_outcome_is_allowed(folder: str) -> None:
    wrong, checked = [], 0
    for path in sorted((LIBRARY / folder).glob("*.litmus")):
        result = ptxmm.check(ptxmm.load(str(path)), why=True)
        for rest in (result.why or {}).get("rests_on", ()):
            for text in weaker(path.read_text(), rest):
                other = ptxmm.check(ptxmm.parse(text))
                checked += 1
                allowed = other.positive > 0 if result.positive == 0 else other.negative > 0
                if not allowed and other.verdict != "undefined":
                    wrong.append((path.name, rest))
                elif (
                    other.listed_all and rest["outcome"] not in other.states
                ):  # it is that one, and not just one like it
                    wrong.append((path.name, rest))
    assert not wrong
    if folder in (*_ALWAYS, *_LONG):
        assert checked


def weaker(text: str, rest: dict[str, object]) -> Iterator[str]:
    """The test with one instruction as weak as is said; nothing where it does not spell what would be weaker."""
    lines = text.split("\n")
    at = int(str(rest["line"])) - 1
    columns = lines[at].split("|")
    found = [
        (i, s)
        for i, column in enumerate(columns)
        for s in statements(column)
        if packed(s[0]) == packed(rest["instruction"])
    ]
    number = int(str(rest["thread"])[1:]) if str(rest["thread"])[1:].isdigit() else -1
    if len(found) > 1:
        found = [(i, s) for i, s in found if i == number]
    for i, statement in found[:1]:
        new = changed(statement[0], str(rest["kind"]), str(rest["instead"]))
        if new is None:
            continue
        begin, end = statement.span()
        column = columns[i]
        if not new and len(columns) == 1:  # in a block, its semicolon goes with it
            end += column[end:].startswith(";")
        columns[i] = column[:begin] + new + column[end:]
        lines[at] = "|".join(columns)
        yield "\n".join(lines)


def statements(column: str) -> Iterator[re.Match[str]]:
    yield from re.finditer(r"[^;{}\s:][^;{}]*", column)


def packed(text: object) -> str:
    return "".join(str(text).split())


def changed(statement: str, kind: str, instead: str) -> str | None:
    if kind == "fence":
        return ""
    pattern = _SCOPE if kind == "scope" else _SEMANTICS
    if not pattern.search(statement) or ".mmio" in statement:
        return None
    new = pattern.sub(f".{instead}", statement, count=1)
    return _SCOPE.sub("", new, count=1) if instead == "weak" else new
