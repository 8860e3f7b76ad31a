"""Nobody but the tables of kinds spells a kind of an effect or of an event, and nobody above the lowering reads how an
instruction is written. Words that are spelt alike are of other tables."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import parsed
import pytest

from axioms.events.event_kinds import EVENT_KINDS
from ptxcore.isa.effect_kinds import EFFECT_KINDS

ROOT = Path(__file__).resolve().parents[1]

#: What has another `kind`, which may be spelt like one of an effect: a file, and what it calls it.
OTHERS = {
    "axioms/dynamic/several/exchangeable.py w": "a write that a whole launch notes",
    "axioms/dynamic/several/excluded.py event": "likewise",
    "axioms/dynamic/several/noted.py w": "likewise",
    "axioms/dynamic/several/noting.py event": "likewise",
    "axioms/dynamic/several/noting.py other": "likewise",
    "axioms/dynamic/lookback/sightings.py w": "likewise",
    "axioms/dynamic/wrong/suspected.py event": "likewise",
    "axioms/dynamic/wrong/torn.py event": "likewise",
    "axioms/dynamic/waits/waiting.py w": "likewise",
    "axioms/dynamic/waits/written.py w": "likewise",
    "axioms/liveness/reasons.py s": "where a thread is blocked",
    "axioms/liveness/search.py s": "likewise",
    "axioms/liveness/search.py stop": "likewise",
    "axioms/oracle/beginnings.py way": "how a thread ends, or does not",
    "axioms/oracle/liveness.py way": "likewise",
    "axioms/oracle/liveness.py self": "likewise",
    "ptxmm/words/why.py rest": "what could be left out of a program",
    "ptxmm/words/waits.py first": "what a thread waits at",
}
_CALLED = {"effect", "modify", "_access", "_of_texel", "Effect"}


def spelt(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Where a file spells a kind: compares one with a word, looks for a word among kinds, or makes an effect by its word."""
    for node in nodes:
        found: list[tuple[str, ast.AST]] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            found = [(ast.unparse(s.value), node) for s in sides if isinstance(s, ast.Attribute) and s.attr == "kind"]
            found += [
                ("", node) for s in sides[1:] if isinstance(s, ast.Name | ast.Attribute) and _called(s) == "kinds"
            ]
        elif isinstance(node, ast.Call) and _called(node.func) in _CALLED:
            found = [("", part) for part in (*node.args[:1], *(k.value for k in node.keywords if k.arg == "kind"))]
        for name, where in found:
            if any(isinstance(n, ast.Constant) and n.value in EFFECT_KINDS for n in ast.walk(where)):
                yield name, node.lineno


def _called(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_nobody_spells_the_kind_of_an_effect() -> None:
    found = []
    for path in (
        p for package in ("ptxcore", "litmus", "axioms", "ptxmm") for p in sorted((ROOT / package).rglob("*.py"))
    ):
        file = path.relative_to(ROOT).as_posix()
        found += [(f"{file} {name}", line) for name, line in spelt(parsed.nodes(path))]
    assert [where for where in found if where[0] not in OTHERS] == []
    assert set(OTHERS) == {name for name, _ in found}


#: What has kinds of accesses of its own: the runs that stand for all executions, which know no events.
_OF_RUNS = ("axioms/dynamic", "ptxmm/kernels/provenance.py")


def spelt_letters(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Where a file compares the kind of an event with a letter, or makes an event by one."""
    for node in nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = [s for s in sides if _called(s) != "kind"] if any(_called(s) == "kind" for s in sides) else []
        elif isinstance(node, ast.Call) and _called(node.func) in ("ExecutedEvent", "new", "access"):
            texts = [argument for argument in node.args[:3] if isinstance(argument, ast.Constant)]
        else:
            continue
        words = [n.value for text in texts for n in ast.walk(text) if isinstance(n, ast.Constant)]
        if any(isinstance(word, str) and word and set(word) <= set(EVENT_KINDS) for word in words):
            yield node.lineno


def test_nobody_spells_the_kind_of_an_event() -> None:
    files = [p for package in ("axioms", "ptxmm") for p in sorted((ROOT / package).rglob("*.py"))]
    names = [(p, p.relative_to(ROOT).as_posix()) for p in files]
    found = [
        (name, line)
        for path, name in names
        if not name.startswith(_OF_RUNS)
        for line in spelt_letters(parsed.nodes(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    ["e.kind == 'R'", "e.kind not in ('R', 'W')", "event.kind in 'RWF'", "kind != 'X'", "c.new(0, 'F', t, 1)"],
)
def test_a_letter_that_is_spelt_is_noticed(text: str) -> None:
    assert [*spelt_letters(ast.walk(ast.parse(text)))] == [1]


#: How instructions are written. Whole launches (`axioms/dynamic`) execute the instructions themselves.
_SPELLING = {"opcode", "modifiers", "mnemonic"}


def test_nobody_reads_how_an_instruction_is_written_above_the_lowering() -> None:
    files = [p for p in sorted((ROOT / "axioms").rglob("*.py")) if "dynamic" not in p.parts]
    found = [
        f"{path.name}:{node.lineno}"
        for path in files
        for node in parsed.nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in _SPELLING
    ]
    assert len(files) > 100 and found == []


@pytest.mark.parametrize(
    "text",
    [
        "e.kind == 'load'", "e.kind not in ('load', 'atom')", "'free' in program.kinds", "t.effect('fence', how)",
        "Effect(index=1, kind='stop')",
    ],
)  # fmt: skip
def test_a_kind_that_is_spelt_is_noticed(text: str) -> None:
    assert [line for _, line in spelt(ast.walk(ast.parse(text)))] == [1]
