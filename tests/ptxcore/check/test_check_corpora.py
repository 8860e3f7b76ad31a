"""Real modules: the manual's examples, modules that ptxas rejects, and what compilers emit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxcore.check.module import check_text
from ptxcore.diagnostics import Diagnostic

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
EXAMPLES = sorted(SHARED.glob("spec/examples/*.ptx"))
REJECTS = sorted(SHARED.glob("spec/rejects/*.ptx"))
COMPILED = sorted(SHARED.glob("real/*.ptx"))

#: Rejected without a line.
WITHOUT_LINE = {"014", "017", "186", "244", "268"}
#: A name that stays undefined is the linker's matter.
LINK_ERRORS = {"060"}
#: A later version than that of the manual is read by the rules of 9.0, with a warning.
LATER = {"003"}

needs_shared = pytest.mark.skipif(not EXAMPLES, reason="the folder `shared` is not beside the repository")


def errors(path: Path) -> list[Diagnostic]:
    return [d for d in check_text(path.read_text()) if d.severity == "error"]


@pytest.mark.part(4)
@needs_shared
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_of_the_manual_are_accepted(path: Path) -> None:
    assert errors(path) == []


@pytest.mark.part(4)
@needs_shared
@pytest.mark.parametrize("path", REJECTS, ids=lambda p: p.stem)
def test_what_ptxas_rejects_is_rejected_on_its_line(path: Path) -> None:
    number, found = path.name[:3], errors(path)
    if number in LINK_ERRORS | LATER:
        assert found == []
        assert number not in LATER or [d.severity for d in check_text(path.read_text())] == ["warning"]
        return
    assert found
    named = re.match(r"line (\d+)", path.with_suffix(".txt").read_text())
    if number not in WITHOUT_LINE:
        assert named is not None
        assert int(named[1]) in {d.span.line for d in found}


@needs_shared
@pytest.mark.parametrize("path", COMPILED, ids=lambda p: p.stem)
def test_what_compilers_emit_is_clean(path: Path) -> None:
    assert errors(path) == []
