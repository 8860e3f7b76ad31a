"""Patterns of the project: none goes back and forth over its input, and the matcher that counts that is right."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from typing import Any

import pytest
from steps import Counting, Matcher, Work, modules, tree_of

PACKAGES = ("ptxcore", "litmus", "axioms", "ptxmm")


def _patterns() -> dict[str, re.Pattern[Any]]:
    found: dict[str, re.Pattern[Any]] = {}
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for module_ in modules(PACKAGES):
        for name, value in vars(module_).items():
            if isinstance(value, re.Pattern):
                found.setdefault(f"{module_.__name__}.{name}", value)
    return found


PATTERNS = _patterns()
SIZE = 60


def sample(items: list[Any], chance: random.Random) -> str:
    """A text that parts of a pattern are likely to take."""
    return "".join(_sample(code, argument, chance) for code, argument in items)


def _sample(code: Any, argument: Any, chance: random.Random) -> str:
    if code is codes.SUBPATTERN:
        return sample(list(argument[3]), chance)
    if code is codes.BRANCH:
        return sample(list(chance.choice(argument[1])), chance)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, inner = argument
        most = min(least + 2, 1000 if most is codes.MAXREPEAT else most)
        return "".join(sample(list(inner), chance) for _ in range(chance.randint(least, most)))
    if code is codes.ATOMIC_GROUP:
        return sample(list(argument), chance)
    if code is codes.ASSERT and argument[0] > 0:  # what must follow
        return sample(list(argument[1]), chance)
    if code in (codes.LITERAL, codes.NOT_LITERAL):
        return chr(argument if code is codes.LITERAL else argument + 1)
    if code is codes.ANY:
        return chance.choice("a1 (")
    if code is codes.IN:
        negated = argument[0][0] is codes.NEGATE
        return chance.choice("\xe9a1 (\x00") if negated else _sample(*chance.choice(argument), chance)
    if code is codes.RANGE:
        return chr(chance.randint(*argument))
    if code is codes.CATEGORY:
        name = str(argument).rpartition("_")[2].lower()
        return chance.choice(
            {"digit": "07", "space": " \n", "word": "a_7"}[name] if "NOT" not in str(argument) else "(-"
        )
    return ""


def texts(pattern: re.Pattern[Any]) -> Iterator[Any]:
    chance = random.Random(1)
    for _ in range(40):
        text = sample(tree_of(pattern), chance)
        if text and chance.randrange(2):
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(["", "a", "\x00", text[at:], text[:at]]) + text[at + chance.randrange(2) :]
        yield text.encode() if isinstance(pattern.pattern, bytes) else text


@pytest.mark.part(3)
@pytest.mark.parametrize("name", PATTERNS)
def test_the_counting_matcher_finds_what_re_finds(name: str) -> None:
    pattern = PATTERNS[name]
    matcher = Matcher(pattern)
    taken = 0
    for text in texts(pattern):
        found = pattern.match(text)
        spans = None if found is None else tuple(at for n in range(pattern.groups + 1) for at in found.span(n))
        assert matcher.match(text, 0, len(text), Work()) == spans, text
        taken += found is not None
    assert taken, "no text was of this kind"


def repeats(items: list[Any], before: str, chance: random.Random) -> Iterator[tuple[str, list[Any]]]:
    """Each part that may come again without end, and a text that leads to it."""
    for code, argument in items:
        inner: list[list[Any]] = []
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            inner = [list(argument[2])]
            if argument[1] is codes.MAXREPEAT:
                yield before, inner[0]
        elif code is codes.SUBPATTERN:
            inner = [list(argument[3])]
        elif code is codes.BRANCH:
            inner = [list(way) for way in argument[1]]
        elif code in (codes.ATOMIC_GROUP,):
            inner = [list(argument)]
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            inner = [list(argument[1])]
        for part in inner:
            yield from repeats(part, before, chance)
        before += _sample(code, argument, chance)


def possessive(items: list[Any]) -> Iterator[list[Any]]:
    """What is repeated possessively (`a*+`), wherever it stands."""
    for code, argument in items:
        parts: list[list[Any]] = []
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            parts = [list(argument[2])]
            if code is codes.POSSESSIVE_REPEAT:
                yield parts[0]
        elif code is codes.SUBPATTERN:
            parts = [list(argument[3])]
        elif code is codes.BRANCH:
            parts = [list(way) for way in argument[1]]
        elif code is codes.ATOMIC_GROUP:
            parts = [list(argument)]
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            parts = [list(argument[1])]
        for part in parts:
            yield from possessive(part)


#: What takes one character, or nothing.
_SINGLE = {codes.IN, codes.LITERAL, codes.NOT_LITERAL, codes.ANY}


def test_only_characters_are_repeated_possessively() -> None:
    """Up to Python 3.11.4 a group that is repeated so, and of which a part was found when the rest was not, ends behind that
    part (CPython issue 106052). `(?>(?:...)*)` means the same, and is right everywhere."""
    repeated = {name: [*possessive(tree_of(pattern))] for name, pattern in PATTERNS.items()}
    assert sum(map(len, repeated.values())) > 300
    wrong = [name for name, parts in repeated.items() if any(len(p) != 1 or p[0][0] not in _SINGLE for p in parts)]
    assert wrong == []


@pytest.mark.part(18)
@pytest.mark.parametrize("name", PATTERNS)
def test_no_pattern_goes_back_and_forth(name: str) -> None:
    """What may come again comes often, behind what leads to it, and before what ends every hope."""
    pattern = PATTERNS[name]
    chance = random.Random(2)
    for _ in range(3):
        for before, inner in repeats(tree_of(pattern), "", chance):
            for unit in {sample(inner, chance) for _ in range(6)} - {""}:
                small, large = (_steps(pattern, before + unit * count + "\x00") for count in (SIZE, 2 * SIZE))
                assert large <= 2.2 * small + 50, (before, unit, small, large)


def _steps(pattern: re.Pattern[Any], text: str) -> int:
    work = Work()
    Counting(pattern, work).match(text.encode() if isinstance(pattern.pattern, bytes) else text)
    return work.steps
