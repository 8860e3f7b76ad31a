"""The public tests of another checker, with its published answers: ours agree under the models that they are for."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

DAT3M = Path(__file__).resolve().parents[4] / "shared" / "litmus" / "dat3m"
TABLES = {"ptx-6.0": "PTXv6_0-expected.csv", "ptx-7.5": "PTXv7_5-expected.csv"}
#: The tests whose threads wait for one another in any case.
NEVER_END = {"Manual/PC-bar-sync-sync-3.litmus", "Barrier/quorum1-hang.litmus", "Barrier/quorum2-hang.litmus"}


def _rows() -> list[tuple[str, str, str]]:
    """Model, file and published verdict of every row; none where the reference material is missing."""
    rows = []
    for model, table in TABLES.items():
        if (DAT3M / table).is_file():
            with open(DAT3M / table, newline="") as file:
                rows += [(model, name, "ok" if holds == "1" else "no") for name, holds in csv.reader(file)]
    return rows


ROWS = _rows()


@pytest.mark.skipif(not ROWS, reason=f"the reference tests are not at {DAT3M}")
def test_all_rows_are_read() -> None:
    assert len(ROWS) == 191


@pytest.mark.part(9)
@pytest.mark.parametrize("unroll", [1, 4])
@pytest.mark.parametrize(("model", "name", "verdict"), ROWS, ids=[f"{model}-{name}" for model, name, _ in ROWS])
def test_a_row_has_its_published_answer(model: str, name: str, verdict: str, unroll: int) -> None:
    import ptxmm

    result = ptxmm.check(ptxmm.load(DAT3M / name), model=model, unroll=unroll)
    assert (name in NEVER_END) == result.hangs
    # There a claim over all executions is true where there is none; here it is not, and the answer says that nobody ends.
    assert ("ok" if result.hangs and result.kind != "exists" else result.verdict) == verdict
