"""`ptxmm campaign`."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from ptxmm import available
from ptxmm.campaigns.database import Database, DatabaseError
from ptxmm.campaigns.deciding import AskedTest, Decider
from ptxmm.campaigns.identity import words
from ptxmm.campaigns.pool import Dask, Pool, PoolError, Processes
from ptxmm.campaigns.run import Campaign, Counts, GivenTest, generated, given, looked_up
from ptxmm.checker import Settings

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.campaigns.report import Summary
    from ptxmm.cli.progress import Bar

_DEFAULT = "ptx-9.0"
_BETWEEN_LINES = 60.0  # seconds, where nobody watches
_MARK, _LOOK_BACK = 1.0, 120.0  # seconds: of what was decided lately an estimate is made


def campaign(options: Namespace) -> int:
    """Runs the command; gives its exit status. Raises KeyboardInterrupt after what came in has been written down."""
    sources = bool(options.paths) + (options.edges is not None)
    if options.report and sources:
        return _refuse("--report takes no tests")
    if options.edges is None:
        from ptxmm.cli.cycles import refuse_idle

        try:
            refuse_idle(options, "tests that are there")
        except ValueError as error:
            return _refuse(str(error))
    if sources + options.report != 1:
        what = "files or folders, --edges" if sources else "files or folders, --edges, or --report"
        return _refuse(f"{'more than one source of' if sources else 'no'} tests: give {what}")
    try:
        if not options.report:
            _decide(options)
        return _report(options)
    except (BadInput, DatabaseError) as error:
        return _tell(str(error))
    except PoolError as error:
        return _refuse(f"{error}; what was decided is in {options.database}")


class BadInput(Exception):
    """What is wrong with what was asked, as it is told."""


def _refuse(message: str) -> int:
    return _tell(f"ptxmm campaign: error: {message}")


def _tell(message: str) -> int:
    sys.stdout.flush()
    sys.stderr.write(message + "\n")
    return 2


def _decide(options: Namespace) -> None:
    from axioms.models.naming import including
    from ptxcore.diagnostics import InputError

    settings = [
        _settings(options, including(model, options.folders)) for model in dict.fromkeys(options.models or [_DEFAULT])
    ]
    try:
        decider = Decider(settings)
    except InputError as error:
        raise BadInput(error.render()) from None
    tests, total = _tests(options)
    with Database(options.database, writes=True) as database:
        _run(options, database, decider, tests, total)


def _tests(options: Namespace) -> tuple[Iterable[GivenTest], int | None]:
    """The tests, and how many they are, where that is known before they are there. Raises BadInput."""
    if options.edges is None:
        items = looked_up(options.paths)
        return given(items), len(items)
    from ptxcore.diagnostics import InputError
    from ptxmm.cli.cycles import cycle_tests

    try:
        tests = islice(cycle_tests(options), options.limit)
        first = next(tests, None)
    except InputError as error:
        raise BadInput(str(error)) from None
    except ValueError as error:
        raise BadInput(f"ptxmm campaign: error: {error}") from None
    if first is None:
        raise BadInput("ptxmm campaign: error: no cycle of these edges is within these bounds")
    return generated(chain([first], tests)), None


def _run(
    options: Namespace, database: Database, decider: Decider, tests: Iterable[GivenTest], total: int | None
) -> None:
    with _Progress(None if total is None else total * len(decider.settings)) as progress:
        run = Campaign(database, decider, lambda d, asked: _pool(options, d, asked), progress.tell, options.retry)
        try:
            run.run(_command(options, decider.settings), tests)
        except (KeyboardInterrupt, SystemExit):  # the latter when it is told to stop
            progress.stop()
            _tell(f"interrupted: {_so_far(run.counts)}; the same command goes on")
            raise
    sys.stderr.write(_so_far(run.counts) + "\n")


def _so_far(counts: Counts) -> str:
    return f"{counts.decided:,} decided, {counts.known:,} known already"


def _settings(options: Namespace, model: str) -> Settings:
    return Settings(
        model=model,
        unroll=options.unroll,
        timeout=options.timeout,
        engine=options.engine,
        backend=options.backend,
        all_registers=options.all_registers,
        races=options.races,
        checks=tuple(options.check),
        options=frozenset(options.readings),
    )


def _command(options: Namespace, settings: Sequence[Settings]) -> str:
    """What makes two commands the same: what is asked of which tests, not who answers."""
    models = [word for s in settings for word in ("--model", s.model)]
    return shlex.join([*_source(options), *models]) + (f"  {words(settings[0])}" if words(settings[0]) else "")


def _source(options: Namespace) -> list[str]:
    """Where the tests come from."""
    if options.edges is None:
        return list(options.paths)
    size, threads = ("..".join(map(str, pair)) for pair in (options.size, options.threads))
    found = ["--edges", options.edges, "--size", size, "--threads", threads, "--mode", options.mode]
    found += ["--inner", str(options.inner)]
    found += [
        w
        for name in ("places", "events", "relax", "limit")
        if (v := getattr(options, name))
        for w in (f"--{name}", str(v))
    ]
    return found + [f"--{n}" for n in ("no-cumul", "one-location") if getattr(options, n.replace("-", "_"))]


def _pool(options: Namespace, decider: Decider, asked: Iterable[AskedTest]) -> Pool:
    if options.dask:
        return Dask(decider, asked, options.dask)
    return Processes(decider, asked, options.jobs or available.processors())


def _report(options: Namespace) -> int:
    from ptxmm.campaigns.report import summary
    from ptxmm.campaigns.words import told

    with Database(options.database, writes=False) as database:
        found = summary(database)
    sys.stdout.write(told(found))
    if options.html:
        from ptxmm.campaigns.page import page
        from ptxmm.writing import write_whole

        try:
            write_whole(options.html, page(found))
        except OSError as error:
            return _tell(f"{options.html}: error: cannot write: {error.strerror or error}")
    return _status(found, options.bounded_ok)


def _status(found: Summary, bounded_ok: bool) -> int:
    """See docs/campaigns.md. Nothing that was not looked at makes it 0, nor what was looked at in part."""
    verdicts = {row.verdict for row in found.rows}
    if found.problems or "error" in verdicts:
        return 2
    open_ = {"undecided"} if bounded_ok else {"undecided", "bounded"}
    return 3 if verdicts & open_ or len(found.rows) < found.asked or not found.ended else 0


class _Progress:
    """How far it is and how long it will take: a bar on a terminal, else a line now and then. `total`: how many answers there
    are to be, where that is known."""

    def __init__(self, total: int | None) -> None:
        self._total, self._bar = total, _bar(total)
        self._start = self._told = time.monotonic()
        # When so many were decided, since the first one: what was known already tells nothing, nor what was long ago.
        self._marks: deque[tuple[float, int]] = deque()

    def __enter__(self) -> _Progress:
        if self._bar:
            self._bar.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._bar:
            self._bar.__exit__()
            self._bar = None

    def tell(self, counts: Counts) -> None:
        now = time.monotonic()
        if counts.decided and (not self._marks or now - self._marks[-1][0] >= _MARK):
            self._marks.append((now, counts.decided))
            if now - self._marks[0][0] > _LOOK_BACK:
                self._marks.popleft()
        if self._bar:
            self._bar.at(counts.done, self._note(counts, now))
        elif now - self._told > _BETWEEN_LINES:
            self._told = now
            of = "" if self._total is None else f" of {self._total:,}"
            sys.stderr.write(f"{counts.done:,}{of} answers, {self._note(counts, now)}\n")
            sys.stderr.flush()

    def _note(self, counts: Counts, now: float) -> str:
        begun, already = self._marks[0] if self._marks else (now, 0)
        if now - begun < _MARK:
            return ""
        rate = (counts.decided - already) / (now - begun)
        note = f"{rate:.0f} a second" if rate >= 10 else f"{rate:.2g} a second"
        if self._total is not None and rate:
            note += f", {in_words((self._total - counts.done) / rate)} left"
        return note


def in_words(seconds: float) -> str:
    """A time, as roughly as one wants to know it."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _bar(total: int | None) -> Bar | None:
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    from ptxmm.cli.progress import Bar

    return Bar(total)
