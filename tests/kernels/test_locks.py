"""Locks and barriers: right at nine threads, wrong where weakened; and docs/locks.md says of them what is so."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from campaigns import LONG, some

import ptxmm

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sizes import GRIDS, LOCKS, VARIANTS, row
from weaken import NAMES, lock, rows, weakened

PAGE = Path(__file__).resolve().parents[2] / "docs" / "locks.md"


def cells(heading: str) -> list[list[str]]:
    """The rows of the table below a heading of the page."""
    below = PAGE.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in below.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.part(2)
@pytest.mark.parametrize("name", LOCKS)
def test_nine_threads_are_right(name: str) -> None:
    found = row(name, "correct", (3, 3))
    assert (found.verdict, found.complete) == ("ok", True)


@pytest.mark.long
@pytest.mark.parametrize("name", some(2, ["mutex_wait", "semaphore_real"]))
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


@pytest.mark.parametrize("name", [n if n == "cas_lock" else pytest.param(n, marks=LONG) for n in NAMES])
def test_the_page_says_what_weaken_says(name: str) -> None:
    assert [list(map(str, row)) for row in rows(name, weakened(name))] == of_page(name)


def test_the_page_has_every_lock() -> None:
    assert [name for name in NAMES if of_page(name)] == list(NAMES)
    assert sum(len(of_page(name)) for name in NAMES) == len(cells("Weakenings"))


def of_page(name: str) -> list[list[str]]:
    return [row for row in cells("Weakenings") if row[0].split(",")[0] == name]


@pytest.mark.parametrize("number", some(12, range(len(cells("Weakenings")))))
def test_what_is_weaker_breaks_what_the_page_says(number: int) -> None:
    """Each row by itself: the words are written into the module, beside what its weakening has already, and that is checked."""
    who, line, what, breaks = cells("Weakenings")[number]
    of = lock(who.split(",")[0])
    free = [row for row in cells("Weakenings") if row[0] == who and row[3] == "nothing"]
    lines = of.path.read_text(encoding="utf-8").splitlines()
    for at, words in [(at, words) for _, at, words, _ in free if at != line] + [(line, what)]:
        change(lines, int(at), words.strip("`"))
    result = of.test("\n".join(lines) + "\n").check()
    failed = [check.kind for check in result.checks if check.holds is False]
    assert (", ".join(failed) or "nothing") == breaks
    assert failed or (result.verdict, result.complete) == ("ok", True)  # and no bound


def change(lines: list[str], number: int, words: str) -> None:
    """Does to a line what a row says of it."""
    old, _, new = words.partition(" becomes ")
    if not new:
        old, new = words.removesuffix(" is taken away"), ""
    assert old in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(old, new) if new else ""
