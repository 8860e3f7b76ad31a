"""Other readings of the manual: each is an option, on the command line and in Python, and a test in the clause table of
docs/model.md answers otherwise with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptxmm
from axioms.models.options import OF_LAUNCHES, OPTIONS
from ptxmm.cli.main import main

#: Those of launches are tried in tests/axioms/dynamic/test_readings_of_launches.py.
OF_LITMUS_TESTS = [option for option in OPTIONS if option not in OF_LAUNCHES]
ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = ROOT / "docs" / "model.md"
_ROW = re.compile(r"\| (C\d+) \|.*\| (.*) \| `--(.*)` \|")


def table() -> dict[str, list[Path]]:
    """By option, the tests of its clause."""
    rows = [_ROW.fullmatch(line) for line in DOCUMENT.read_text(encoding="utf-8").split("\n")]
    return {
        row[3].replace(" ", "="): [(DOCUMENT.parent / link).resolve() for link in re.findall(r"\]\((.*?)\)", row[2])]
        for row in rows
        if row
    }


TABLE = table()


def test_each_option_stands_at_its_clause() -> None:
    assert set(TABLE) == set(OF_LITMUS_TESTS)


def answer(result: ptxmm.Result) -> tuple[object, ...]:
    return result.verdict, result.positive > 0, sorted({race.kind for race in result.races})


@pytest.mark.part(16)
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize("option", OF_LITMUS_TESTS)
def test_a_test_of_its_clause_answers_otherwise(option: str, engine: str) -> None:
    differ = []
    for path in TABLE[option]:
        plain, other = (ptxmm.check(ptxmm.load(path), races=True, engine=engine, options=o) for o in ((), (option,)))
        differ.append(answer(plain) != answer(other))
    assert any(differ)


@pytest.mark.part(12)
@pytest.mark.parametrize("option", OF_LITMUS_TESTS)
def test_it_is_an_option_of_the_command_line(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--" + option).split("=")
    told = []
    for more in ((), words):
        statuses = [main(["check", str(path), "--races", *more]) for path in TABLE[option]]
        told.append((statuses, re.sub(r"[\d.]+ ms", "", capsys.readouterr().out)))
    assert told[0] != told[1]
