"""`compare` and `find_difference`: what Python calls, and the command too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from ptxcore.records import dataclass
from ptxmm.checker import Settings
from ptxmm.comparing.answers import AnsweredTest
from ptxmm.comparing.columns import Case, ComparedColumns, ComparedRow
from ptxmm.comparing.differences import ModelDifference, difference
from ptxmm.comparing.reasons import DifferenceReason, reasons
from ptxmm.comparing.shrinking import shrunk
from ptxmm.comparing.table import rows

if TYPE_CHECKING:
    from os import PathLike

    from litmus.test import Test
    from ptxmm.kernels.test import KernelTest

#: The size up to which `find_difference` and `ptxmm compare --find` look, unless told otherwise.
SIZE = 6


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test under several models: `case` is the test, `name` its name, `answers` has what each model or log says, in the order
    in which they were given, and `differences` how each two of them compare."""

    case: Case
    name: str
    answers: tuple[AnsweredTest, ...]
    differences: tuple[ModelDifference, ...]

    @property
    def path(self) -> str:
        return self.case.path

    @property
    def status(self) -> str:
        """`differ` where any two do; else `unanswered`, `open` or `same`, the first that is so of any two."""
        seen = {d.status for d in self.differences}
        return next(status for status in ("differ", "unanswered", "open", "same") if status in seen or status == "same")

    @property
    def test(self) -> Test | KernelTest | None:
        """The test; None where only logs know of it. Raises InputError and OSError."""
        return self.case.load() if self.case.readable else None


def compared(row: ComparedRow) -> Comparison:
    """What each two answers of a row come to."""
    pairs = combinations(row.answers, 2)
    return Comparison(row.case, row.name, row.answers, tuple(difference(one, other) for one, other in pairs))


@dataclass(frozen=True, slots=True)
class ComparisonTelling:
    """A difference, with what there is to say of it: the `test` that shows it, which may be less than that of the comparison,
    and `reasons`, one for each side. `difference` is of that test. `reduced`: nothing can be taken from the test."""

    difference: ModelDifference
    test: Test | KernelTest | None
    reasons: tuple[DifferenceReason, ...] = ()
    reduced: bool = False


def told(
    comparison: Comparison,
    columns: ComparedColumns,
    *,
    minimal: bool = False,
    pictures: bool = False,
    timeout: float | None = None,
) -> list[ComparisonTelling]:
    """What there is to say of each difference of a comparison. `minimal`: of the least of its test that still tells the two
    apart. Reasons are those of litmus tests."""
    from litmus.test import Test

    found = []
    for differing in (d for d in comparison.differences if d.differs):
        test = comparison.test
        if not isinstance(test, Test):
            found.append(ComparisonTelling(differing, test))
            continue
        two = columns.only((differing.one.of, differing.other.of))
        reduced = minimal and len(two.models) == 2
        if reduced:
            test = shrunk(test, two)
            differing = difference(*two(Case(test.name, None, test)).answers)
        why = tuple(reasons(test, differing, pictures=pictures, timeout=timeout))
        found.append(ComparisonTelling(differing, test, why, reduced))
    return found


def settings_for(
    *,
    unroll: int = 4,
    timeout: float | None = None,
    backend: str | None = None,
    all_registers: bool = False,
    races: bool = False,
    logs: bool = False,
) -> Settings:
    """How each test is decided; `logs`: some column is a log, whose states name what pointers point to."""
    return Settings(
        unroll=unroll, timeout=timeout, backend=backend, all_registers=all_registers, races=races, digest=logs
    )


def compare(
    models: Iterable[str],
    tests: Iterable[str | PathLike[str] | Test | KernelTest] = (),
    *,
    unroll: int = 4,
    timeout: float | None = None,
    backend: str | None = None,
    all_registers: bool = False,
    races: bool = False,
    jobs: int = 1,
) -> Iterator[Comparison]:
    """Decides tests under several models, and says where they disagree: a comparison for each test, lazily, in their order.

    `models`: two or more, each a name of `models()` or the path of a .cat file, either less axioms and with readings
    (`ptx-9.0/-atomicity`, `ptx-9.0 --dep data`), or the path of a log of herd7, of litmus7, or of `--format herd`. `tests`:
    paths of litmus tests, of kernel tests and of folders, or tests that were read; none: those of the logs, where there are
    logs only. `unroll`, `timeout`, `backend`, `all_registers`, `races`: as of `ptxmm.check`, for each test under each
    model; with `races` kinds of races are compared, too. `jobs`: worker processes; 1: this process.

    Raises InputError for a model or a log that cannot be taken, OSError where one cannot be read, ValueError for fewer than
    two models, and for logs and models without tests. What is wrong with a test is its answer's `message`.
    """
    columns = columns_for(models, unroll, timeout, backend, all_registers, races)
    given = list(tests)
    if not given and columns.models:
        raise ValueError("models are compared over tests: give some; only logs bring their own")
    cases = list(_cases(given)) if given else columns.logged()
    return map(compared, rows(columns, cases, jobs=jobs, timeout=timeout))


def columns_for(
    models: Iterable[str],
    unroll: int = 4,
    timeout: float | None = None,
    backend: str | None = None,
    all_registers: bool = False,
    races: bool = False,
) -> ComparedColumns:
    """The columns of a comparison. Raises as `compare` does."""
    from ptxmm.comparing.logs import is_log

    names = list(dict.fromkeys(models))
    if len(names) < 2:
        raise ValueError("two models are needed to compare, or more")
    settings = settings_for(
        unroll=unroll, timeout=timeout, backend=backend, all_registers=all_registers, races=races,
        logs=any(map(is_log, names)),
    )  # fmt: skip
    return ComparedColumns(names, settings)


def _cases(tests: Iterable[str | PathLike[str] | Test | KernelTest]) -> Iterator[Case]:
    import os

    from litmus.formats import find
    from ptxmm.kernels.files import TESTS, expand

    for test in tests:
        if isinstance(test, str | os.PathLike):
            for item, _ in expand(find([os.fspath(test)], TESTS)):
                yield Case(str(item), item)  # what cannot be read answers that
        else:
            yield Case(test.name, None, test)


def find_difference(
    one: str,
    other: str,
    tests: Iterable[Test] | None = None,
    *,
    size: int = SIZE,
    minimal: bool = False,
    unroll: int = 4,
    timeout: float | None = None,
    backend: str | None = None,
    all_registers: bool = False,
    races: bool = False,
    jobs: int = 1,
    searched: Callable[[int, int], None] | None = None,
) -> Test | None:
    """The smallest test that tells two models apart, or None where there is none among those that were looked at.

    `one`, `other`: models, as for `ptxmm.compare`. `tests`: litmus tests to look at, in this order; None: all cycles and all
    tests that ship, of at most `size` accesses, by size. `minimal`: everything is taken from the test that it does not need.
    `unroll`, `timeout`, `backend`, `all_registers`, `races`, `jobs`: as for `ptxmm.compare`. `searched` is called at the end
    with how many tests were looked at, and of how many of them nobody knows whether they tell the two apart.

    Raises InputError and OSError as `ptxmm.compare` does, ValueError for two models that are one.
    """
    from litmus.test import Test
    from ptxmm.comparing.finding import DifferenceSearch
    from ptxmm.comparing.universe import universe

    columns = columns_for((one, other), unroll, timeout, backend, all_registers, races)
    cases: Iterable[Case]
    cases = universe(size).cases() if tests is None else (Case(t.name, None, t) for t in tests)
    search = DifferenceSearch(columns, cases, jobs=jobs, timeout=timeout)
    found = next(iter(search), None)
    if searched is not None:
        searched(sum(search.searched.values()), sum(map(len, search.open.values())))
    if found is None:
        return None
    test = found.row.case.load()
    assert isinstance(test, Test)
    return shrunk(test, columns) if minimal else test
