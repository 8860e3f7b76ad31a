"""The documentation tells the truth: its examples print what it shows, its tables are the code's, its links lead
somewhere. `python tests/doc_blocks.py` writes the documents anew where the code is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from campaigns import LONG
from doc_blocks import DOCUMENTS, ROOT, TABLES, Session, blocks, generated, masked, pictures
from doc_reference import limits_found

NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
#: Whose commands take long together: CI runs all of them, beside its share of other long tests.
SLOW = (
    "model-differences.md", "solutions.md", "gpu.md", "kernels.md", "generate.md", "litmus-format.md", "compare.md",
    "liveness.md", "ci.md", "repair.md", "coming-from-herd.md",
)  # fmt: skip
#: Pages that are made as a whole, and alike: a few of them are tried in every run.
MADE = [p for p in DOCUMENTS if p.parent.name in ("axioms", "mistakes") and p.name != "README.md"]
_ROOMS = "tests|benchmarks|ptxmm|ptxcore|axioms|litmus"
#: A file of the code or a test by its path from the root, or a test by its name alone.
_NAMED = re.compile(rf"(?<![\w/.-])((?:(?:{_ROOMS})/[\w/-]*|test_)\w+\.py)\b")
#: Whose texts name tests that they write themselves.
_MADE_UP = [ROOT / "tests" / name for name in ("test_rules_of_tests.py", "test_docs.py")]
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def is_long(document: Path) -> bool:
    return document.name in SLOW or (document in MADE and MADE.index(document) % 8 != 5)


@pytest.mark.parametrize(
    "document",
    [pytest.param(p, marks=LONG if is_long(p) else (), id=n) for p, n in zip(DOCUMENTS, NAMES, strict=True)],
)
def test_examples_print_what_the_document_shows(document: Path, tmp_path: Path, scripts: Path) -> None:
    session = Session(tmp_path, scripts)
    variables: dict[str, object] = {}
    text = document.read_text(encoding="utf-8")
    for block in blocks(text):
        place = f"{document.name}, line {block.line}"
        if block.file is not None:
            session.write(block)
        elif block.language == "console":
            assert masked(session.console(block.body)) == masked(block.body), place
        elif block.language == "python":
            done = session.script(block.body)
            assert done.returncode == 0, f"{place}: {done.stderr}"
        elif block.language == "pycon":
            assert session.interactive(block.body, variables) == "", place
    for path in pictures(text):
        assert (session.work / path).read_text(encoding="utf-8") == (document.parent / path).read_text(encoding="utf-8")


def test_the_documents_have_examples_to_run() -> None:
    languages = [block.language for path in DOCUMENTS for block in blocks(path.read_text(encoding="utf-8"))]
    assert languages.count("console") >= 10
    assert languages.count("pycon") >= 3


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_generated_tables_are_the_codes(document: Path) -> None:
    for name, written, wanted in generated(document.read_text(encoding="utf-8")):
        assert written == wanted, f"{name}: run python tests/doc_blocks.py"


def test_every_table_is_in_some_document() -> None:
    shown = {name for path in DOCUMENTS for name, _, _ in generated(path.read_text(encoding="utf-8"))}
    assert shown == set(TABLES)


def test_each_limit_says_what_it_bounds() -> None:
    found = limits_found()
    assert len(found) > 60
    assert [f"{limit.path}: {limit.name}" for limit in found if not limit.said] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_links_lead_somewhere(document: Path) -> None:
    targets = _LINK.findall(document.read_text(encoding="utf-8"))
    assert [t for t in targets if not (document.parent / t).exists()] == []


def test_the_files_that_are_named_are_there() -> None:
    """Paths of code and tests in documents and in the strings and comments of the code, and names of tests without a path."""
    code = [path for room in _ROOMS.split("|") for path in (ROOT / room).rglob("*.py") if path not in _MADE_UP]
    files = [ROOT / "CHANGELOG.md", ROOT / "pyproject.toml", *DOCUMENTS, *code]
    named = [(str(file), path) for file in files for path in _NAMED.findall(file.read_text(encoding="utf-8"))]
    assert len({path for _, path in named}) > 50
    assert [(file, path) for file, path in named if not is_there(path)] == []


def test_a_path_that_is_not_there_is_seen() -> None:
    text = (
        "`tests/kernels/test_moved.py`, tests/test_docs.py, `test_rooms.py`, test_gone.py; ../tests/no.py is another's"
    )
    assert [path for path in _NAMED.findall(text) if not is_there(path)] == [
        "tests/kernels/test_moved.py",
        "test_gone.py",
    ]


def is_there(path: str) -> bool:
    return (ROOT / path).exists() if "/" in path else any((ROOT / "tests").rglob(path))


def test_the_index_names_every_document_and_the_readme_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    named = targets(index)
    named = named.union(*(targets(path) for path in named if path.name == "README.md" and path in DOCUMENTS))
    assert [path.name for path in DOCUMENTS if path not in named and path != index] == []
    assert "(docs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def targets(document: Path) -> set[Path]:
    """The files that a document links to."""
    return {(document.parent / target).resolve() for target in _LINK.findall(document.read_text(encoding="utf-8"))}


def test_every_option_is_documented() -> None:
    from ptxmm.cli.options import parser

    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    commands = next(a.choices for a in parser()._actions if isinstance(a.choices, dict))
    options = {o for command in commands.values() for a in command._actions for o in a.option_strings}
    assert [o for o in [*commands, *sorted(options)] if f"`{o}" not in text] == []


def test_the_readme_names_every_command() -> None:
    from ptxmm.cli.options import parser

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = next(a.choices for a in parser()._actions if isinstance(a.choices, dict))
    assert [c for c in commands if f"`ptxmm {c}" not in text] == ["completion"]


def test_every_axiom_of_the_models_is_documented() -> None:
    from ptxmm.api import model_named, models

    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    axioms = {axiom.name for name in models() for axiom in model_named(name).axioms}
    assert sorted(name for name in {*axioms, *models()} if f"`{name}`" not in text) == []


def test_ci_installs_and_tests_as_the_readme_says() -> None:
    install, tests = "pip install -e '.[dev]'", "pytest"
    assert f"{install} && {tests}" in (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(rf"^python -m pip install .*{re.escape(install.removeprefix('pip install '))}$", ci, re.MULTILINE)
    assert re.search(rf"^{tests}\b", ci, re.MULTILINE)
