"""Rows: what models and logs say of many tests, one after another, in worker processes or in this one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ptxmm.comparing.columns import Case, ComparedColumns, ComparedRow

#: Tests that are handed to the workers together: few at first, so that something is told soon.
_FIRST, _MOST = 32, 1024
#: What a worker may take beyond the time of its tests.
_SPARE, _SPARE_SECONDS = 1.02, 0.25


def rows(
    columns: ComparedColumns,
    cases: Iterable[Case],
    *,
    jobs: int = 1,
    timeout: float | None = None,
) -> Iterator[ComparedRow]:
    """A row for each case, in their order, lazily. `jobs`: worker processes; with 1 everything is decided in this process.
    `timeout`: seconds for each test under each model, after which a worker is stopped."""
    if jobs <= 1:
        yield from map(columns, cases)
        return
    from ptxcore.collection import shared_with_children
    from ptxmm.workers import Workers

    columns.warm()
    count = max(1, len(columns.models))
    limit = None if timeout is None else count * timeout * _SPARE + _SPARE_SECONDS
    waiting, size = iter(cases), _FIRST
    while batch := list(islice(waiting, size)):
        with (
            shared_with_children(),
            Workers(columns, batch, jobs=jobs, limit=limit, late=columns.late, lost=columns.lost) as workers,
        ):
            yield from workers
        size = min(_MOST, 2 * size)
