"""Findings are values: who finds something gives its thread, its place and its kind, and words are made of that in reports.
Nothing reads words again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import parsed
import pytest

import ptxmm
from axioms.events.memory import Beside
from axioms.witness.execution import ExecutedEvent, Execution
from axioms.witness.missing_arrivals import Awaited, MissingArrivals
from axioms.witness.result import Race, Rest, Site, Undefined, Unreachable, Why
from axioms.witness.stalls import Repeated, Stall, Wait
from ptxmm.findings import Finding
from ptxmm.result import Loop, Refusal, Spot
from ptxmm.undefined import place, whole

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("ptxcore", "litmus", "axioms", "ptxmm")
#: Who uses regular expressions, by the language that they read. None of these is English, but for the place in an error of
#: Python's TOML reader, which has it nowhere else before Python 3.14.
READERS = {
    "PTX, and the table of its instructions": """
        ptxcore/isa/operand.py ptxcore/isa/form.py ptxcore/isa/targets.py ptxcore/isa/fragments.py
        ptxcore/syntax/initialisers.py ptxcore/syntax/spans.py
        ptxcore/syntax/lexer.py ptxcore/syntax/sections.py ptxcore/syntax/directives.py
        ptxcore/syntax/declarations.py ptxcore/syntax/reader.py ptxcore/syntax/structures.py ptxcore/syntax/operands.py
        ptxcore/check/values.py ptxcore/check/places.py ptxcore/check/debugging.py ptxcore/check/instructions.py
        ptxcore/machine/ir/operands.py
        ptxmm/kernels/signature.py ptxmm/kernels/modules.py ptxmm/undefined.py
    """,
    "names, of which long ones are cut": "ptxcore/diagnostics.py",
    "what printf takes for a format": "ptxcore/machine/run/runtime.py",
    "names of functions and variables in C++": """
        ptxmm/kernels/memory.py ptxmm/kernels/plain_names.py ptxmm/kernels/demangled.py
    """,
    "heads of kernels, and their launches, in CUDA C++ and in PTX": """
        ptxmm/kernels/cuda_source.py ptxmm/kernels/launch_sites.py ptxmm/kernels/kernels_alone.py
        ptxmm/kernels/takes.py ptxmm/kernels/skeleton.py
    """,
    "names of threads": "ptxmm/repair/subjects.py",
    "statements of CUDA C++ that a repair changes, and of the PTX that they become": """
        ptxmm/repair/moves.py ptxmm/repair/repeated.py
        ptxmm/repair/arrivals.py ptxmm/repair/cuda/accesses.py ptxmm/repair/cuda/candidates.py ptxmm/repair/cuda/code.py
        ptxmm/repair/cuda/arguments.py ptxmm/repair/cuda/parities.py ptxmm/repair/cuda/proof.py
        ptxmm/repair/cuda/spellings.py ptxmm/repair/cuda/waits.py
    """,
    "what a compiler says that it has read, or did not find": "ptxmm/kernels/compile_inputs.py ptxmm/kernels/headers.py",
    "annotations in a source": "ptxmm/kernels/annotations.py ptxmm/kernels/touched.py",
    "litmus tests": """
        litmus/formats/printer.py litmus/formats/source.py litmus/formats/declarations.py litmus/formats/files.py
        litmus/formats/header.py litmus/formats/placement.py litmus/formats/program.py litmus/formats/checks.py
        litmus/formats/condition.py litmus/relaxations.py litmus/formats/gpu_ptx.py litmus/formats/nvlitmus.py
        litmus/formats/questions.py litmus/formats/reader.py
    """,
    "models, and their names on a command line": """
        axioms/cat/statements.py axioms/cat/tokens.py axioms/models/__init__.py axioms/models/naming.py
    """,
    "edges of cycles": "litmus/cycles/edges.py litmus/cycles/foreign.py litmus/cycles/lists.py",
    "TOML, and where an error of its reader is": """
        ptxmm/kernels/document.py ptxmm/kernels/recognise.py ptxmm/kernels/positions.py ptxmm/kernels/toml.py
    """,
    "expressions of kernel tests": "ptxmm/kernels/expression_reader.py",
    "pointers of kernel tests": "ptxmm/kernels/arguments.py",
    "requests of a page, and what stands before a cursor": "ptxmm/web/asked.py ptxmm/web/completing.py",
    "modules of scripts, which become one": "ptxmm/report/pictures.py",
    "arguments of a command": "ptxmm/cli/run.py ptxmm/kernels/written.py",
    "names of files": "ptxmm/report/drawings.py",
    "lines of files, by their ends": "ptxmm/diffs.py",
    "XML, in which no line may be a command": "ptxmm/report/junit.py",
    "conditions, as herd7 writes them, and its logs": """
        ptxmm/herd_names.py ptxmm/report/herd.py ptxmm/comparing/logs.py
    """,
}
#: What has words.
PROSE = {"message", "error", "reason", "rule", "sentence", "trouble", "said", "notes", "note", "linearisation"}
#: How one looks into words.
_LOOKS = {
    "startswith",
    "endswith",
    "partition",
    "rpartition",
    "split",
    "rsplit",
    "removeprefix",
    "removesuffix",
    "find",
    "index",
}
#: Who looks into words all the same.
_MAY_LOOK = {
    ("ptxmm/report/text.py", "message"),  # whether a sentence begins with its heading, which is not written twice then
}


def modules(*folders: str) -> Iterator[tuple[str, Sequence[ast.AST]]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), parsed.nodes(path)


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_regular_expressions_read_languages_and_no_prose() -> None:
    uses = {
        path
        for path, nodes in modules(*PACKAGES)
        for node in nodes
        if (isinstance(node, ast.Import) and any(alias.name == "re" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "re")
    }
    known = [path for files in READERS.values() for path in files.split()]
    assert sorted(uses) == sorted(known)


def looks(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Where a module looks into words: by a method of theirs, or for a part of them."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS:
            yield name_of(node.func.value), node.lineno
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            literal = isinstance(node.left, ast.Constant | ast.JoinedStr)
            yield name_of(node.comparators[0]) if literal else "", node.lineno


def test_nobody_looks_into_words() -> None:
    found = [(path, name, line) for path, nodes in modules("axioms", "ptxmm") for name, line in looks(nodes)]
    assert [where for where in found if where[1] in PROSE and where[:2] not in _MAY_LOOK] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [("a.message.startswith('b')", "message"), ("'b' in a.error", "error"), ("reason.partition(' ')", "reason")],
)
def test_looking_into_words_is_noticed(text: str, name: str) -> None:
    assert [found for found, _ in looks(ast.walk(ast.parse(text)))] == [name]


def written(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The lines in which a module gives words to what has some."""
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {name_of(n) for target in targets for n in ast.walk(target) if isinstance(n, ast.Attribute)}
            texts = [
                n for n in ast.walk(node.value)
                if isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str) and " " in n.value)
            ]  # fmt: skip
            if names & PROSE and texts:
                yield node.lineno


def test_words_are_made_in_reports() -> None:
    found = [(path, line) for path, nodes in modules("ptxmm") for line in written(nodes)]
    assert [where for where in found if not where[0].startswith(("ptxmm/words/", "ptxmm/report/"))] == []
    assert [*written(ast.walk(ast.parse("checked.message = f'{a} does not hold'")))] == [1]


@pytest.mark.parametrize(
    "kind",
    [
        Awaited, Beside, ExecutedEvent, Execution, Finding, Loop, MissingArrivals, Race, Refusal, Repeated, Rest, Site, Spot,
        Stall, Undefined, Unreachable, Wait, Why,
    ],
)  # fmt: skip
def test_findings_never_change(kind: Any) -> None:
    assert issubclass(kind, tuple) or kind.__setattr__ is not object.__setattr__  # frozen


# What values tell that words did not.


def check(memory: str, *threads: str, **more: Any) -> ptxmm.Result:
    body = "\n".join(f"P{i}@cta 0 {{ {text} }}" for i, text in enumerate(threads))
    return ptxmm.check(ptxmm.parse(f"PTX t\n{{ {memory} }}\n{body}\nexists (true)\n"), **more)


@pytest.mark.parametrize("engine", ["solve", "enumerate"])
def test_who_is_not_at_a_barrier_is_told_also_where_its_number_is_computed(engine: str) -> None:
    result = check("x = 1;", "ld.weak.u32 %r0, [x]; bar.sync %r0, 64;", "bar.sync 2, 64;", engine=engine)
    (condition,) = result.checks
    assert condition.message == (
        "exists true does not hold: no execution ends; P0 does not terminate (deadlock) at line 3: bar.sync %r0, 64 (P1 is "
        "not there); P1 does not terminate (deadlock) at line 4: bar.sync 2, 64 (P0 is not there)"
    )


def test_a_race_that_leaves_no_meaning_has_its_instructions_as_culprits() -> None:
    result = check("x = 0;", "st.weak.u32 [x], 1;", "st.weak.u8 [x], 1;")
    assert result.undefined is not None and result.undefined.flag == "mixed-size"
    assert result.undefined.culprits == (Site(0, "P0", 3, "st.weak.u32 [x], 1"), Site(1, "P1", 4, "st.weak.u8 [x], 1"))
    assert result.trouble == whole(result.undefined) == f"{result.error} ({'; '.join(result.culprits)})"


def test_where_an_access_goes_is_a_value() -> None:
    result = check("x = 0;", "ld.weak.u32 %r0, [x+4];")
    assert result.undefined is not None
    beside = result.undefined.beside
    assert beside is not None and (beside.size, beside.name, beside.offset, beside.length) == (4, "x", 4, 4)
    assert "line 3" in result.trouble and "line 3" not in place(result.undefined)


def test_parts_of_a_test_are_where_they_stand() -> None:
    text = "PTX t\n{ x = 0; }\nP0@cta 0 { st.weak.u32 [x], 1; }\n\n  forall\n (x = 2) ; terminates\n race_free\n"
    result = ptxmm.check(ptxmm.parse(text))
    assert [(c.kind, c.spot and c.spot.line) for c in result.checks] == [
        ("forall", 5),
        ("race_free", 7),
        ("terminates", 6),
    ]
