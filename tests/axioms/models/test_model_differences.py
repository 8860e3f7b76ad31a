"""The page on what models differ in: its table has all models, readings and axioms, its tests tell them apart, and searches
give what it says."""

from __future__ import annotations

import pytest
from agreement import compared
from model_differences import ROOT, Row, pairs, recorded, searched

from litmus.test import Test
from ptxmm.comparing.columns import Case
from ptxmm.comparing.comparison import columns_for
from ptxmm.comparing.differences import difference

#: Searches of so many tests are done again every time.
FEW = 40


def case_of(row: Row) -> Case:
    import ptxmm
    from litmus.cycles import generate

    if row.path:
        test = ptxmm.load((ROOT / "docs" / row.path).resolve())
        assert isinstance(test, Test)
    else:
        test = next(generate(row.cycle, places="cta" if row.name.endswith("@cta") else ""))
    return Case(test.name, None, test)


def test_the_table_has_a_row_for_all_that_is_to_be_told_apart() -> None:
    rows = recorded()
    assert [(row.one, row.other) for row in rows] == pairs()
    assert all(row.name for row in rows)


@pytest.mark.long
@pytest.mark.compares(1.0)
def test_the_tests_of_the_table_tell_the_models_apart() -> None:
    for row in recorded():
        if row.name:
            case = case_of(row)
            assert case.name == row.name
            one, other = columns_for((row.one, row.other))(case).answers
            compared(f"{row.other}: {row.name}")
            assert difference(one, other).differs, row


@pytest.mark.compares(1.0)
@pytest.mark.parametrize(
    "most", [pytest.param(FEW, marks=pytest.mark.long), pytest.param(10**6, marks=pytest.mark.campaign)]
)
def test_searching_again_gives_the_table(most: int) -> None:
    for row in (r for r in recorded() if r.count <= most):
        compared(row.other)
        assert searched(row.one, row.other) == row, "run python tests/axioms/models/model_differences.py"
