"""The smallest tests that tell models apart: tests come by size, and each pair of models is done with once it has differed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from heapq import merge
from itertools import combinations, islice
from typing import TYPE_CHECKING

from ptxcore.isa.effect_kinds import CLEAR, DISCARD, ISSUE, MBARRIER, kinds_with
from ptxcore.records import dataclass
from ptxmm.comparing.columns import Case, ComparedColumns, ComparedRow
from ptxmm.comparing.differences import ModelDifference, difference
from ptxmm.comparing.table import rows
from ptxmm.kernels.files import NamedTest

if TYPE_CHECKING:
    from litmus.test import Test

#: Names of models, of the one that was given first and of another one.
ModelPair = tuple[str, str]
#: Tests that are decided together: few at first, since small ones tell most models apart.
_FIRST, _MOST = 32, 512


@dataclass(frozen=True, slots=True)
class FoundDifference:
    """A test that tells two models apart; none of those that were asked before it is larger."""

    row: ComparedRow
    difference: ModelDifference

    @property
    def pair(self) -> ModelPair:
        return self.difference.one.of, self.difference.other.of


class DifferenceSearch:
    """Iterating gives what is found, up to `most` tests for each pair of columns. What was looked at is counted on the way:
    `searched`, how many tests of each size; `alike`, of how many the models certainly say the same, so that these were not
    decided; `told`, for each pair how many tests were found; `open`, for each pair the tests
    of which nobody knows whether they tell it apart, with the reason."""

    def __init__(
        self,
        columns: ComparedColumns,
        cases: Iterable[Case],
        *,
        most: int = 1,
        jobs: int = 1,
        timeout: float | None = None,
    ) -> None:
        self._columns, self._cases, self._most = columns, iter(cases), most
        self._jobs, self._timeout = jobs, timeout
        self.searched: Counter[int] = Counter()
        self.alike = 0
        self.told: Counter[ModelPair] = Counter()
        self.open: dict[ModelPair, list[tuple[str, str]]] = {pair: [] for pair in combinations(columns.names, 2)}
        self.exhausted = False
        #: Called whenever some tests were looked at.
        self.on_batch: Callable[[], object] = lambda: None

    @property
    def pairs(self) -> list[ModelPair]:
        """Those that are not told apart as often as is wanted."""
        return [pair for pair in self.open if self.told[pair] < self._most]

    def __iter__(self) -> Iterator[FoundDifference]:
        size = _FIRST
        while self.pairs:
            batch = list(islice(self._cases, size))
            if not batch:
                self.exhausted = True
                return
            for row in self._rows(batch):
                yield from self._of(row)
                self.on_batch()
                if not self.pairs:
                    return
            self.on_batch()
            size = min(_MOST, 2 * size)

    def _rows(self, batch: list[Case]) -> Iterator[ComparedRow]:
        """What the models say of those tests of which they may say different things. That they do not is seen here and by
        nobody else: it takes less time than to send the test somewhere."""
        wanted = self._columns.only(name for pair in self.pairs for name in pair)
        alike = [wanted.alike(case) for case in batch]
        unlike = [case for case, same in zip(batch, alike, strict=True) if not same]
        decided = rows(wanted, unlike, jobs=min(self._jobs, max(1, len(unlike))), timeout=self._timeout)
        for case, same in zip(batch, alike, strict=True):
            self.searched[case.size] += 1
            self.alike += same
            if not same:
                yield next(decided)

    def _of(self, row: ComparedRow) -> Iterator[FoundDifference]:
        answers = {answer.of: answer for answer in row.answers}
        for pair in self.pairs:
            if pair[0] not in answers or pair[1] not in answers:
                continue
            found = difference(answers[pair[0]], answers[pair[1]])
            if found.differs:
                self.told[pair] += 1
                yield FoundDifference(row, found)
            elif found.status != "same":
                self.open[pair].append((row.name, found.open))


def by_size(*families: Iterable[tuple[Case, str]]) -> Iterator[tuple[Case, str]]:
    """The tests of some families, each of which comes by size, by size. Each test comes with the name of its family."""
    yield from merge(*families, key=lambda found: found[0].size)


#: What counts in a test's size besides accesses: operations on mbarrier objects, and asynchronous ones by their issue.
_COUNTED = kinds_with("accesses") | {MBARRIER, ISSUE, CLEAR, DISCARD}


def size_of(test: Test) -> int:
    """How large a test is: how many of its instructions access memory. Of a cycle of accesses that is its length. Raises
    InputError and UnsupportedProgram for a test that cannot be executed."""
    from ptxmm.pipeline import build

    threads = build(test).threads
    return sum(len({id(e.instruction) for e in t.execution.effects if e.kind in _COUNTED}) for t in threads)


@cache
def library() -> tuple[Case, ...]:
    """The litmus tests that ship, by size; of one size the shorter ones first."""
    from litmus.library import paths

    return tuple(sized(paths())[0])


def sized(items: Iterable[NamedTest], most: int | None = None) -> tuple[list[Case], list[tuple[str, str]]]:
    """Litmus tests of files by size, those of at most `most` accesses; and what has no size, with what is wrong with it."""
    from axioms.errors import UnsupportedProgram
    from litmus.test import Test
    from ptxcore.diagnostics import InputError

    found, wrong = [], []
    for item in items:
        case = Case(str(item), item)
        try:
            test = case.load()
            if not isinstance(test, Test):
                wrong.append((case.path, "kernel tests have no size: compare them without --find"))
                continue
            size = size_of(test)
            if most is None or size <= most:
                found.append(case._replace(test=test, size=size))
        except (InputError, UnsupportedProgram, OSError) as error:
            wrong.append((case.path, str(error)))
    return sorted(found, key=_length), wrong


def _length(case: Case) -> tuple[int, int]:
    from litmus.test import Test

    assert isinstance(case.test, Test)
    return case.size, sum(len(thread.statements) for thread in case.test.threads)
