"""Published answers to whether loops end, by progress model: ours are the same, and definite; so are those of brute force."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from agreement import compared, pass_over
from campaigns import lengths
from liveness_oracle import Oracle

import ptxmm

ROWS_AT = Path(__file__).resolve().parents[4] / "shared" / "litmus" / "liveness"
TABLE = ROWS_AT / "expected.csv"


def _rows() -> list[tuple[str, str, str, bool]]:
    """File, model, progress model, and whether it terminates; none where the reference material is missing."""
    if not TABLE.is_file():
        return []
    with open(TABLE, newline="") as file:
        return [(r["file"], r["model"], r["progress"], r["terminates"] == "yes") for r in csv.DictReader(file)]


ROWS = _rows()
GROUPS = sorted({(model, progress) for _, model, progress, _ in ROWS})
needs_rows = pytest.mark.skipif(not ROWS, reason=f"the reference tests are not at {ROWS_AT}")


@needs_rows
def test_all_rows_are_read() -> None:
    assert len(ROWS) == 742


@pytest.mark.part(6)
@needs_rows
@pytest.mark.parametrize(("model", "progress"), GROUPS)
def test_rows_have_their_published_answers(model: str, progress: str) -> None:
    wrong = []
    for name, of_model, of_progress, terminates in ROWS:
        if (of_model, of_progress) == (model, progress):
            result = ptxmm.check(ptxmm.load(ROWS_AT / name), model, checks=["terminates"], progress=progress)
            check = next(c for c in result.checks if c.kind == "terminates")
            if check.holds is not terminates or check.bounded:
                wrong.append((name, terminates, check.holds, check.bounded))
    assert not wrong


@needs_rows
@pytest.mark.compares(0.95)
@pytest.mark.parametrize("every", lengths(4, 1))
def test_brute_force_has_the_published_answers(every: int) -> None:
    known: dict[str, Oracle | None] = {}
    for name, _, progress, terminates in ROWS[::every]:
        if name not in known:
            try:
                known[name] = Oracle(ptxmm.load(ROWS_AT / name))
            except (KeyError, ValueError):
                known[name] = None
        oracle = known[name]
        if oracle is None:
            pass_over("barriers")
        else:
            assert compared(oracle.terminates(progress)) == terminates, (name, progress)
