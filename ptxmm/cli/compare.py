"""`ptxmm compare`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from ptxmm import available
from ptxmm.cli.check import bar
from ptxmm.comparing.columns import Case, ComparedColumns
from ptxmm.comparing.comparison import Comparison, ComparisonTelling, columns_for, compared, told
from ptxmm.report.comparing import ComparisonJson, ComparisonReport, ComparisonText, Searched

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.comparing.finding import DifferenceSearch
    from ptxmm.comparing.universe import GivenTests, Universe
    from ptxmm.report.drawings import Drawings

#: How many tests a search looks at is not known before.
_UNKNOWN = None
_SAME, _DIFFER, _BAD, _OPEN = range(4)
#: Which of them counts, of many tests: as for `ptxmm check`.
_WORST = (_BAD, _DIFFER, _OPEN, _SAME)


def compare(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0 where the models say the same, 1 where they differ, 2 for bad input, 3 where
    they do not differ as far as anybody knows and something stayed open."""
    from axioms.models.naming import including
    from ptxcore.diagnostics import InputError

    names = [including(name, options.folders) for name in options.models or _shipped()]
    try:
        columns = columns_for(
            names, options.unroll, options.timeout, options.backend, options.all_registers, options.races
        )
    except InputError as error:
        sys.stderr.write(error.render() + "\n")
        return _BAD
    except OSError as error:
        return _refuse(f"{error.filename or 'a model'}: {error.strerror or error}")
    except ValueError as error:
        return _refuse(str(error))
    try:
        run = _Run(options, columns)
    except OSError as error:
        return _refuse(f"cannot make the folder {error.filename}: {error.strerror}")
    return run.find() if options.find else run.table()


def _shipped() -> list[str]:
    from ptxmm.api import models

    return models()


def _refuse(message: str) -> int:
    sys.stderr.write(f"ptxmm compare: error: {message}\n")
    return _BAD


class _Run:
    def __init__(self, options: Namespace, columns: ComparedColumns) -> None:
        """Raises OSError where a folder cannot be made."""
        self._options, self._columns = options, columns
        self._report: ComparisonReport = (
            ComparisonJson(columns.names)
            if options.format == "json"
            else ComparisonText(columns.names, all_tests=options.all, texts=options.find)
        )
        self._pages: ComparisonReport | None = None
        if options.html:
            from ptxmm.report.comparing_html import ComparisonPages

            self._pages = ComparisonPages(options.html, columns.names)
        self._drawings: Drawings | None = None
        if options.svg:
            from ptxmm.report.drawings import Drawings

            self._drawings = Drawings({"svg": options.svg})
        if options.output:
            os.makedirs(options.output, exist_ok=True)
        self._seen = {_SAME}
        self._texts: dict[str, str] = {}  # of the tests that are written, by the names of their files
        self._made: set[str] = set()  # minimal tests that were told already
        self._jobs = options.jobs or available.processors()
        self._start = time.perf_counter()

    def table(self) -> int:
        """Compares over the tests that are given."""
        from ptxmm.comparing.table import rows

        if not self._options.paths and self._columns.models:
            return _refuse("tests are needed: PATH, or --find, which looks for some")
        cases = self._cases() if self._options.paths else self._columns.logged()
        jobs = min(self._jobs, len(cases)) if self._columns.models else 1
        found = rows(self._columns, cases, jobs=jobs, timeout=self._options.timeout)
        done = 0
        try:
            with bar(len(cases), "comparing") as progress:
                for row in found:
                    self._add(compared(row))
                    progress.advance()
                    done += 1
        except (KeyboardInterrupt, SystemExit):  # the latter when it is told to stop
            sys.stderr.write(f"interrupted: {done:,} of {len(cases):,} tests compared\n")
            raise
        self._end()
        return self._code

    def find(self) -> int:
        """Looks for the smallest tests that tell the models apart."""
        from ptxcore.diagnostics import InputError
        from ptxmm.comparing.finding import DifferenceSearch

        if len(self._columns.models) < len(self._columns.names):
            return _refuse("--find asks models; a log answers for its own tests only")
        where = self._universe()
        search = DifferenceSearch(
            self._columns, where.cases(), most=self._options.most, jobs=self._jobs, timeout=self._options.timeout
        )
        try:
            with bar(_UNKNOWN, "looking") as progress:
                search.on_batch = lambda: progress.at(sum(search.searched.values()), f"size {max(search.searched)}")
                for found in search:
                    answers = tuple(a for a in found.row.answers if a.of in found.pair)
                    self._add(Comparison(found.row.case, found.row.name, answers, (found.difference,)))
        except InputError as error:
            sys.stderr.write(error.render() + "\n")
            return _BAD
        except ValueError as error:
            return _refuse(str(error))
        except (KeyboardInterrupt, SystemExit):  # the latter when it is told to stop
            largest = f", of size {max(search.searched)} at most" if search.searched else ""
            sys.stderr.write(f"interrupted: {sum(search.searched.values()):,} tests looked at{largest}\n")
            raise
        self._searched(search, str(where))
        return self._code

    def _searched(self, search: DifferenceSearch, where: str) -> None:
        for pair, waiting in search.open.items():
            if waiting and not search.told[pair]:
                self._seen.add(_OPEN)
        told_of = {pair: search.told[pair] for pair in search.open}
        summary = Searched(
            where, self._options.size, search.searched, told_of, search.open, search.exhausted, search.alike
        )
        self._end(summary)

    def _universe(self) -> Universe | GivenTests:
        """What is looked at."""
        from ptxmm.comparing.universe import GivenTests, universe

        options = self._options
        if not options.paths:
            return universe(
                options.size, options.edges, threads=options.threads, places=options.places, mode=options.mode
            )
        given = GivenTests([c.item for c in self._cases() if c.item is not None], options.size)
        for message in given.wrong:
            sys.stderr.write(message + "\n")
            self._seen.add(_BAD)
        return given

    def _cases(self) -> list[Case]:
        from litmus.formats import find
        from ptxmm.kernels.files import TESTS, expand

        cases = []
        for item, problem in expand(find(self._options.paths, TESTS)):
            if problem is None:
                cases.append(Case(str(item), item))
            else:
                sys.stderr.write(f"{item}: error: {problem}\n")
                self._seen.add(_BAD)
        return cases

    def _add(self, comparison: Comparison) -> None:
        options = self._options
        found = told(
            comparison,
            self._columns,
            minimal=options.minimal,
            pictures=self._drawings is not None or self._pages is not None,
            timeout=options.timeout,
        )
        self._seen.add({"same": _SAME, "differ": _DIFFER, "open": _OPEN}.get(comparison.status, _OPEN))
        for answer in comparison.answers:
            if answer.verdict == "error":
                self._seen.add(_BAD)
        if found and all(self._is_known(telling) for telling in found):
            return  # the same minimal test came out of another one
        files = self._written(comparison, found)
        self._report.add(comparison, found, files)
        self._on_pages(lambda pages: pages.add(comparison, found, files))

    def _on_pages(self, write: Callable[[ComparisonReport], None]) -> None:
        """Writes pages, where some are wanted."""
        if self._pages is None:
            return
        try:
            write(self._pages)
        except OSError as error:
            self._cannot_write(error)

    def _end(self, searched: Searched | None = None) -> None:
        seconds = time.perf_counter() - self._start
        self._report.end(seconds, searched)
        self._on_pages(lambda pages: pages.end(seconds, searched))

    def _cannot_write(self, error: OSError) -> None:
        self._seen.add(_BAD)
        sys.stderr.write(f"{error.filename}: error: cannot write: {error.strerror or error}\n")

    def _is_known(self, telling: ComparisonTelling) -> bool:
        if not telling.reduced or telling.test is None:
            return False
        from ptxmm.checker import digest

        key = f"{telling.difference.one.of}\n{telling.difference.other.of}\n{digest(telling.test)}"
        known = key in self._made
        self._made.add(key)
        return known

    def _written(self, comparison: Comparison, found: Sequence[ComparisonTelling]) -> list[str]:
        """The pictures and tests that are written; gives their paths."""
        from litmus.formats.printer import write
        from litmus.test import Test
        from ptxmm.report.drawings import safe
        from ptxmm.writing import write_whole

        paths: list[str] = []
        try:
            for telling in found:
                test = telling.test
                name = test.name if isinstance(test, Test) else comparison.name
                if self._options.output and isinstance(test, Test):
                    text = write(test)
                    path = self._path_for(safe(name), text)
                    write_whole(path, text)
                    paths.append(path)
                if self._drawings is not None:
                    drawn = {("svg", f"allowed-by-{r.allows}"): r.allowed for r in telling.reasons if r.allowed}
                    drawn |= {("svg", f"forbidden-by-{r.forbids}"): r.forbidden for r in telling.reasons if r.forbidden}
                    paths += self._drawings.put(name, drawn)
        except OSError as error:
            self._cannot_write(error)
        return list(dict.fromkeys(paths))

    def _path_for(self, name: str, text: str) -> str:
        """Where a test is written: tests of several families may have one name, and each has a file of its own."""
        names = (name if number == 1 else f"{name}~{number}" for number in count(1))
        free = next(n for n in names if self._texts.get(n.lower(), text) == text)
        self._texts[free.lower()] = text
        return os.path.join(self._options.output, f"{free}.litmus")

    @property
    def _code(self) -> int:
        return next(code for code in _WORST if code in self._seen)
