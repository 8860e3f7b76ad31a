"""A campaign: all tests under all models, what is known already left out, what comes in written down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from litmus.formats.files import WantedFiles, find, text_of
from ptxcore.records import NamedTuple
from ptxmm.campaigns.database import Database, ResultRow
from ptxmm.campaigns.deciding import AskedTest, Decider, Entry
from ptxmm.campaigns.pool import Pool
from ptxmm.kernels.files import TESTS, NamedTest, Variant, expand, of_kernels

if TYPE_CHECKING:
    from litmus.test import Test

#: Results that were not written down for so many seconds, or so many of them, are.
_SECONDS, _ROWS = 0.5, 1000
_PULSE = 0.25  # seconds


class GivenTest(NamedTuple):
    """A test that is given, or where one should be and what is wrong there."""

    entry: Entry
    problem: str = ""


#: What is a test in a folder.
_WANTED = WantedFiles(
    lambda name: name.lower().endswith((".litmus", ".test")), TESTS.holds, "no litmus test in this folder"
)


def looked_up(paths: Iterable[str]) -> list[tuple[NamedTest, str | None]]:
    """The tests that paths mean, and what is wrong with those that mean none; see `litmus.formats.files.find`."""
    return expand(find(paths, _WANTED))


def given(items: Iterable[tuple[NamedTest, str | None]]) -> Iterator[GivenTest]:
    """The tests in files, read one after another."""
    for item, problem in items:
        path, instance = item if isinstance(item, Variant) else (str(item), "")
        entry = Entry(path, b"", instance)
        if problem is None and of_kernels(path):
            problem = "a campaign takes litmus tests, and this is named as a kernel test is"
        if problem is not None:
            yield GivenTest(entry, problem)
            continue
        try:
            yield GivenTest(entry._replace(data=text_of(path)))
        except OSError as error:
            yield GivenTest(entry, f"cannot read: {error.strerror or error}")


def generated(tests: Iterable[Test]) -> Iterator[GivenTest]:
    """Tests that were made, as they would be written into files of their names."""
    from litmus.formats.printer import write

    for test in tests:
        yield GivenTest(Entry(f"{test.name}.litmus", write(test).encode()))


class Counts:
    """How far a campaign is: `tests` seen, `known` answers that were there already, `decided` ones that came now, `problems`
    with paths."""

    def __init__(self) -> None:
        self.tests = self.known = self.decided = self.problems = 0

    @property
    def done(self) -> int:
        return self.known + self.decided


class Campaign:
    """One command. `make` makes a pool for what is asked; `tell` is called whenever something came in; `retry`: see
    `ResultRow.answers`."""

    def __init__(
        self,
        database: Database,
        decider: Decider,
        make: Callable[[Decider, Iterable[AskedTest]], Pool],
        tell: Callable[[Counts], None] = lambda counts: None,
        retry: str = "error",
    ) -> None:
        self._retry = retry
        self._database, self._decider, self._make, self._tell = database, decider, make, tell
        self.counts = Counts()
        self._rows: list[ResultRow] = []
        self._tests: list[tuple[int, str, str, str]] = []
        self._out: set[tuple[str, int]] = set()  # what was asked in this run
        self._written = time.monotonic()

    def run(self, command: str, tests: Iterable[GivenTest]) -> Counts:
        """Decides what is not known yet. Raises DatabaseError and PoolError; also then, and when it is interrupted, all that
        came in is written down."""
        self._database.begin(command, self._decider.questions)
        try:
            with self._make(self._decider, self._unknown(tests)) as pool:
                try:
                    for rows in pool.rows(_PULSE):
                        self._take(rows)
                except BaseException:
                    self._take(pool.finished())
                    raise
        finally:
            self._write()
        self._database.end(self.counts.tests)
        return self.counts

    def _take(self, rows: Iterable[ResultRow]) -> None:
        for row in rows:
            self._rows.append(row)
            self.counts.decided += 1
        if len(self._rows) >= _ROWS or time.monotonic() - self._written > _SECONDS:
            self._write()
        self._tell(self.counts)

    def _write(self) -> None:
        if self._rows or self._tests:
            rows, tests = self._rows, self._tests
            self._rows, self._tests = [], []  # what cannot be written once is not tried again on the way out
            self._database.add(rows, tests)
        self._written = time.monotonic()

    def _unknown(self, tests: Iterable[GivenTest]) -> Iterator[AskedTest]:
        """What has to be decided."""
        settings, identities = self._decider.settings, self._decider.identities
        for place, (entry, problem) in enumerate(tests):
            self.counts.tests += 1
            name = "" if problem else entry.identity
            self._tests.append((place, str(entry), name, problem))
            if problem:
                self.counts.problems += 1
                continue
            for number, question in enumerate(identities):
                if (name, number) in self._out:
                    self.counts.known += 1
                    continue
                row = self._database.result(name, question)
                self._out.add((name, number))
                if row is not None and row.answers(settings[number].timeout, self._retry):
                    self.counts.known += 1
                    self._tell(self.counts)
                else:
                    yield AskedTest(entry, number)
            if len(self._tests) >= _ROWS:
                self._write()
