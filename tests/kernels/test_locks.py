"""Locks and barriers: right at nine threads, wrong where weakened; and docs/locks.md says of them what is so."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

import ptxmm

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sizes import GRIDS, LOCKS, VARIANTS, row
from weaken import effect, modules
from weakenings import weakenings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "locks.md"
ALL = [(name, w) for name, path in modules() for w in weakenings(path.read_text())]


def cells(heading: str) -> list[list[str]]:
    """The rows of the table below a heading of the page."""
    below = PAGE.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in below.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("name", LOCKS)
def test_nine_threads_are_right(name: str) -> None:
    found = row(name, "correct", (3, 3))
    assert (found.verdict, found.complete) == ("ok", True)


@pytest.mark.parametrize("name", ["mutex_wait", "semaphore_real"])
def test_eight_blocks_take_a_mutex_by_exchange(name: str) -> None:
    """The exchange with which a thread comes says nothing of who has the lock when: the store that opens it does."""
    folder = Path(__file__).resolve().parent / "gate" / name
    toml = tomllib.loads((folder / "test.toml").read_text())
    first = next(iter(toml["params"]))
    params = {first: toml["params"][first], "x": toml["params"]["x"]}
    made = ptxmm.Kernel(
        folder / "fixed.ptx", entry="k", params=params, forall="x[0] == 8", race_free=True, grid=8, block=1
    )
    assert made.check().verdict == "ok"


@pytest.mark.parametrize("variant", VARIANTS[1:])
@pytest.mark.parametrize("name", LOCKS)
def test_one_order_or_scope_less_is_wrong(name: str, variant: str) -> None:
    assert row(name, variant, (2, 1)).verdict == "no"


def test_the_page_has_every_lock_at_every_size() -> None:
    known = {tuple(cells[:3]) for cells in cells("Sizes")}
    for name in LOCKS:
        for variant in VARIANTS:
            for blocks, threads in GRIDS[:6]:
                assert (name, variant, f"{blocks}x{threads}") in known


def test_the_page_has_every_weakening() -> None:
    assert [c[:3] for c in cells("Weakenings")] == [[name, str(w.line), f"`{w.what}`"] for name, w in ALL]


@pytest.mark.parametrize("number", [*range(5, len(ALL), 12)])
def test_weakenings_break_what_the_page_says(number: int) -> None:
    compare(number)


@pytest.mark.campaign
@pytest.mark.parametrize("number", range(len(ALL)))
def test_every_weakening_breaks_what_the_page_says(number: int) -> None:
    compare(number)


def compare(number: int) -> None:
    found = effect(*ALL[number])
    assert cells("Weakenings")[number][3] == (", ".join(found.harm) or "nothing")
    assert found.harm or found.complete  # that something breaks nothing does not rest on a bound
