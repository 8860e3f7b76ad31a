"""Each clause about the order of `wgmma` and `tcgen05` (sections 9.7.15 and 9.7.16): the kernel that does what it asks for is
right, and each that does not is told."""

from __future__ import annotations

import pytest
from by_runs import by_runs
from campaigns import some
from tensor_clauses import TCGEN05, WGMMA

CLAUSES = {clause.name: clause for clause in (*WGMMA, *TCGEN05)}
WRONG = [(name, number) for name, clause in CLAUSES.items() for number in range(len(clause.wrong))]


@pytest.mark.parametrize("name", some(8, CLAUSES))
def test_what_a_clause_asks_for_is_enough(name: str) -> None:
    open_, result = by_runs(CLAUSES[name].made())
    assert (open_, result.verdict) == ("", "ok"), (result.error, [c.message for c in result.checks])


@pytest.mark.parametrize(("name", "number"), some(12, WRONG))
def test_what_a_clause_asks_for_is_needed(name: str, number: int) -> None:
    what, changes, verdict = CLAUSES[name].wrong[number]
    open_, result = by_runs(CLAUSES[name].made(*changes))
    assert (open_, result.verdict) == ("", verdict), (what, result.error)


def test_each_clause_has_a_name_of_its_own_and_both_kernels() -> None:
    assert len(CLAUSES) == len(WGMMA) + len(TCGEN05) >= 30
    assert all(clause.wrong and clause.says for clause in CLAUSES.values())
