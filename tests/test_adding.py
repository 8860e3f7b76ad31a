"""What documents name is there, `docs/adding.md` before all: tests by their names, and what is said to be in a file. Links and
the names of files are looked at by `tests/test_docs.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from doc_blocks import DOCUMENTS, ROOT

ADDING = ROOT / "docs" / "adding.md"
#: The name of a test, of two words at least: `test_wait` is an instruction's, `test_hash` a column's.
_TEST = re.compile(r"`(test_[a-z]+_\w+)`")
#: Names, and the file in which they are said to be: "`A` and `B` in [file](path)".
_NAMES = re.compile(r"((?:`\w+`(?:, | and | or | )?)+)(?:in|of) \[[^\]]+\]\(([^)#\s]+\.py)\)")
#: A step of a table: its number, and what is held by which test.
_STEP = re.compile(r"^\| (\d+) \|.*\|([^|]+)\|$", re.MULTILINE)


def claims(page: Path) -> Iterator[tuple[str, Path]]:
    """Each name that a page says to be in a file."""
    for found in _NAMES.finditer(page.read_text(encoding="utf-8")):
        for name in re.findall(r"`(\w+)`", found[1]):
            yield name, (page.parent / found[2]).resolve()


def is_in(name: str, file: Path) -> bool:
    return re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) is not None


def test_the_tests_that_documents_name_are_there() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"^def (test_\w+)\(", source, re.MULTILINE))
    named = [(page.name, name) for page in DOCUMENTS for name in _TEST.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 10 and [(page, name) for page, name in named if name not in defined] == []


def test_the_names_that_documents_put_in_a_file_are_there() -> None:
    found = [(page.name, name, file) for page in DOCUMENTS for name, file in claims(page)]
    assert [(page, name, file.name) for page, name, file in found if not is_in(name, file)] == []


def test_names_are_found_in_pages_and_one_that_is_gone_is_seen() -> None:
    found = [*claims(ADDING)]
    assert len(found) > 20 and ("HOMES", ROOT / "axioms" / "events" / "kinds.py") in found
    assert {"AXIOMS", "SECTIONS"} <= {name for name, file in found if file.name == "why.py"}
    assert not is_in("HOME", ROOT / "axioms" / "events" / "kinds.py")


def test_the_steps_of_each_table_are_numbered_and_say_what_holds_them() -> None:
    steps = _STEP.findall(ADDING.read_text(encoding="utf-8"))
    numbers = [int(number) for number, _ in steps]
    assert numbers[0] == 1 and all(b in (1, a + 1) for a, b in pairwise(numbers))
    assert len(numbers) > 40 and all(held.strip() for _, held in steps)
