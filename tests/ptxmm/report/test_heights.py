"""Whatever is wrong with a kernel, its page has no more than 25 lines of 100 columns: of the museum, the gate and the
examples some in every run, and all where CI asks for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from campaigns import some
from kept import EXAMPLES, GATE, MUSEUM, loaded, named, variants
from waiting import PATIENCE

from ptxmm.checker import Checker, Settings
from ptxmm.kernels.files import Variant
from ptxmm.report.text import TextReport
from ptxmm.words.brief import LINES, WIDTH, height

ROOT = Path(__file__).resolve().parents[3]
#: What may be wrong: tests that are not those of a kernel as it should be.
WRONG = [(path, variant) for path, variant in variants([*EXAMPLES, *MUSEUM, *GATE]) if not variant.startswith("fixed")]
#: Pages that had the most lines before what follows from something else was left out.
_HIGHEST = ("barrier:narrow", "war_across_proxies:buggy", "vyukov_queue:buggy", "counter_reset_between_launches:buggy")
_EVERY = 24


def page(path: Path, variant: str, *, everything: bool = False) -> list[str]:
    """The page of a test that fails, as `ptxmm check` prints it; empty for one that does not."""
    loaded(path, variant)  # skips where its PTX is not here
    outcome = Checker(Settings(timeout=PATIENCE, explain=True))(Variant(os.path.relpath(path, ROOT), variant))
    if outcome.result.verdict not in ("no", "undefined"):
        return []
    return TextReport("ptx-9.0", colour=False, unroll=4, everything=everything).page(outcome).splitlines()


@pytest.mark.part(3)
@pytest.mark.parametrize(("path", "variant"), some(_EVERY, WRONG))
def test_a_page_has_no_more_lines_than_a_reader_takes_in(
    path: Path, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert height(page(path, variant), WIDTH) <= LINES, "\n".join(page(path, variant))


@pytest.mark.parametrize("name", _HIGHEST)
def test_the_highest_pages_fit_and_say_that_there_is_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, variant = next(test for test in WRONG if named(test) == name)
    monkeypatch.chdir(ROOT)
    short, whole = page(path, variant), page(path, variant, everything=True)
    assert 0 < height(short, WIDTH) <= LINES < height(whole, WIDTH)
    assert any("(--all tells" in line for line in short) and not any("--all" in line for line in whole)


def test_there_are_many() -> None:
    assert len(WRONG) > 200
