"""Every clause of ptx-9.0, every reading of the manual and every form of the table of instructions has tests: docs/coverage.md
names them."""

from __future__ import annotations

import re
from functools import cache

import pytest
from coverage_map import (
    LIBRARY,
    MODEL,
    READINGS,
    ROOT,
    clauses,
    hangs,
    instructions,
    of_form,
    of_reading,
    without,
)
from coverage_pins import COMPARED, PINNED, UNPINNED
from mutations import planted
from test_whole_definition import difference, judged

from axioms.cat.model import compile_model
from axioms.models import load

#: So many executions are drawn until one tells the model from the second definition.
MOST_DRAWN = 5_000


def test_every_clause_has_a_test() -> None:
    assert [*clauses()] == [c for c in clauses() if c in PINNED or c in UNPINNED], (
        "python tests/axioms/models/coverage_map.py CLAUSE looks for one"
    )
    assert {*PINNED, *UNPINNED} == {*clauses()} and not {*PINNED} & {*UNPINNED}


def test_clauses_are_all_that_the_file_states() -> None:
    model = load(MODEL)
    statements = {a.name for a in (*model.axioms, *model.flags)}
    assert {c.partition(" ")[0] for c in clauses()} == {*model.names, *_functions(), *statements}


def _functions() -> set[str]:
    text = (ROOT / "axioms" / "models" / f"{MODEL}.cat").read_text(encoding="utf-8")
    return set(re.findall(r"^ *let ([\w-]+)\(", text, re.MULTILINE))


@pytest.mark.parametrize(("clause", "test"), planted((c, t) for c, some in PINNED.items() for t in some))
def test_a_test_answers_otherwise_without_its_clause(clause: str, test: str) -> None:
    assert hangs(test, clause)


@pytest.mark.mutation
@pytest.mark.parametrize("clause", COMPARED)
def test_the_second_definition_tells_of_a_clause_that_is_missing(clause: str) -> None:
    model = compile_model(MODEL, without(clauses()[clause]))
    assert any(difference(model, *judged(number)) for number in range(MOST_DRAWN))


def test_every_reading_has_tests() -> None:
    assert [r.number for r in READINGS] == [*range(1, 28)]
    table = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    for reading in READINGS:
        assert of_reading(reading) or reading.note, reading
        assert all(of_reading(reading._replace(tests=(name,))) for name in reading.tests), reading
        assert all(f"| {c} |" in table for c in reading.clauses.split(", ") if c), reading


def test_each_clause_of_the_documentation_has_a_litmus_test() -> None:
    table = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (C\d+) \|.*?\|.*?\| (.*?) \|", table, re.MULTILINE)
    assert len(rows) > 40
    for clause, tests in rows:
        names = re.findall(r"library/model/([^)]+\.litmus)", tests)
        assert names and all((LIBRARY / name).is_file() for name in names), clause


@cache
def text_of(home: str) -> str:
    return (ROOT / home).read_text(encoding="utf-8")


def test_every_form_of_the_table_has_tests() -> None:
    for (_, mnemonic), forms in instructions().items():
        for form in forms:
            home = of_form(form)
            assert home and (ROOT / home).is_file(), form
            if form.kind in ("branch", "jump", "call", "exit"):
                assert re.search(rf"\b{mnemonic}\b[. ;]", text_of(home)), form
