"""The library that ships: every test says what it shows, and answers as it says under ptx-9.0, by both engines."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "litmus" / "library"
FILES = sorted(LIBRARY.rglob("*.litmus"))
NAMES = [str(path.relative_to(LIBRARY).with_suffix("")) for path in FILES]

#: The tests that chapter 8 of the manual prints, in its order.
PRINTED = (
    "Atomicity-1+inc.sys+inc.sys",
    "Atomicity-2+inc.cta+inc.gpu",
    "LB+data+data",
    "CoRR+rlx.sys",
    "MP+fence.sys",
    "CoWR+fence.proxy.alias",
    "SB+fence.sc.sys",
    "MP+rel+red-fence.acquire",
)
SHAPES = ("MP", "SB", "LB", "S", "R", "2+2W", "CoRR", "CoWW", "CoRW", "CoWR", "WRC", "ISA2", "IRIW", "RWC", "Z6")


def test_the_library_holds_what_the_documentation_promises() -> None:
    assert len(FILES) >= 60


def test_names_are_unique_and_are_the_files_names() -> None:
    import ptxmm

    names = [ptxmm.load(path).name for path in FILES]
    assert names == [path.stem for path in FILES]
    assert [name for name, times in Counter(name.casefold() for name in names).items() if times > 1] == []


def test_every_test_printed_in_the_manual_is_there() -> None:
    assert {path.stem for path in (LIBRARY / "manual").glob("*.litmus")} >= set(PRINTED)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_classic_shape_is_shown_both_allowed_and_forbidden(shape: str) -> None:
    import ptxmm

    named = re.compile(re.escape(shape) + r"\d?(?:[+.]|$)")
    kinds = {ptxmm.load(path).condition.quantifier == "exists" for path in FILES if named.match(path.stem)}
    assert kinds == {True, False}


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_test_says_in_one_sentence_why(path: Path) -> None:
    import ptxmm

    test = ptxmm.load(path)
    assert len(test.comments) == 1
    assert test.comments[0].endswith(".")


@pytest.mark.part(6)
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_test_answers_as_its_quantifier_says(path: Path, engine: str) -> None:
    import ptxmm

    result = ptxmm.check(ptxmm.load(path), model="ptx-9.0", engine=engine)
    assert result.verdict == "ok", result
    assert result.positive + result.negative > 0, "no execution reaches its end"
