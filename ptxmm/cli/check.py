"""`ptxmm check`."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from ptxcore.diagnostics import nearest
from ptxmm.checker import Checker, Outcome, Settings, not_run, refused
from ptxmm.cli.kernel_options import asked
from ptxmm.cli.parts import RunBudget, RunStopped, of_shard, within
from ptxmm.findings import NOT_ALL, NOT_ALL_EXECUTIONS, Finding, assumptions, findings
from ptxmm.harmless import plain
from ptxmm.kernels.files import TESTS, NamedTest, expand
from ptxmm.report import chosen, tells
from ptxmm.result import Refusal, Result, Spot

if TYPE_CHECKING:
    from argparse import Namespace

    from litmus.formats.files import FoundText
    from litmus.formats.questions import Questions
    from ptxmm.baseline import Baseline
    from ptxmm.campaigns.cache import Cache
    from ptxmm.cli.progress import Bar
    from ptxmm.report.drawings import Drawings


#: Seconds that one picture may take.
_LONGEST_PICTURE = 20.0
#: Bytes of a file of kinds or conditions.
_LONGEST_LIST = 16 << 20


class ExitStatus:
    """The exit status of a run: bad input wins over a failed test, and that over one that is undecided or bounded."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def bad_input(self) -> None:
        self._seen.add(2)

    def undecided(self) -> None:
        self._seen.add(3)

    def add(self, found: Iterable[Finding]) -> None:
        self._seen.update(finding.status for finding in found)

    @property
    def code(self) -> int:
        return next((code for code in (2, 1, 3) if code in self._seen), 0)


def check(options: Namespace) -> int:
    """Runs the command; gives its exit status. Raises KeyboardInterrupt after it has printed what was finished."""
    from axioms.models.naming import including, reading, showing
    from ptxcore.diagnostics import InputError

    partial = next((name for name in ("shard", "budget", "fail_fast", "changed") if getattr(options, name)), None)
    if partial and options.write_baseline:
        return _refuse(f"--write-baseline writes what a whole run finds: leave out --{partial.replace('_', '-')}")
    if options.backend == "sat":
        from axioms.sat.backends import sat_available

        if not sat_available():
            return _refuse("--backend sat needs python-sat, which is not installed")
    if options.svg_engine == "dot":
        from ptxmm.graphs.dot import NoDot, require_dot

        try:
            require_dot()
        except NoDot as error:
            return _refuse(f"--svg-engine dot: {error}")
    if options.draw and options.format != "text":
        return _refuse(f"--draw draws below what text says: leave it out, or --format {options.format}")
    wanted = {"svg": options.svg, "dot": options.dot, "tex": options.tikz}
    folders = {kind: folder for kind, folder in wanted.items() if folder}
    options.model = reading(including(options.model, options.folders), options.readings)
    settings = Settings(
        model=showing(options.model, options.show),
        unroll=options.unroll,
        timeout=options.timeout,
        engine=options.engine,
        backend=options.backend,
        all_registers=options.all_registers,
        drawings=_drawn(options, folders),
        svg_engine=options.svg_engine,
        width=shutil.get_terminal_size((100, 0)).columns,
        digest=options.format == "herd",
        races=options.races,
        why=options.why,
        tell=tells(options),
        options=frozenset(options.readings),
        bounded_ok=options.bounded_ok,
        checks=tuple(options.check),
        progress=options.progress,
        resident=options.resident,
        executions=options.executions,
        documents=options.format == "json",
    )
    try:
        settings = settings._replace(questions=_questions(options))
    except InputError as error:
        sys.stderr.write(error.render() + "\n")
        return 2
    except OSError as error:
        return _refuse(str(error))
    try:
        kernel = asked(options)
    except ValueError as error:
        return _refuse(str(error))
    try:
        found: list[tuple[NamedTest, str | None]] = [(kernel, None)] if kernel else expand(_wanted(options))
    except ValueError as error:
        return _refuse(str(error))
    if options.junit or options.sarif or options.write_baseline or options.cache:
        from ptxmm.cli.outputs import clash

        lost = clash(options, {item if isinstance(item, str) else item.path for item, _ in found})
        if lost:
            return _refuse(lost)
    found = _part_of(found, options)
    # Finding the reason takes longer than the verdict, and only the page of a single test has room for it.
    settings = settings._replace(explain=options.format == "text" and len(found) == 1)
    checker = Checker(settings)
    try:
        checker.prepare()
    except InputError as error:
        sys.stderr.write(error.render() + "\n")
        return 2
    except OSError as error:
        return _refuse(f"--model {options.model}: {error.strerror or error}")
    drawings = None
    if folders:
        from ptxmm.report.drawings import Drawings

        try:
            drawings = Drawings(folders)
        except OSError as error:
            return _refuse(f"cannot make the folder {error.filename}: {error.strerror}")
    try:
        baseline = _baseline(options)
    except (OSError, ValueError) as error:
        return _refuse(str(error))
    if options.cache in (None, "none"):
        return _Run(options, checker, drawings, baseline).run(found)
    if folders or options.draw:
        return _refuse("--cache keeps no pictures: leave it out, or --svg, --dot, --tikz and --draw")
    if settings.questions is not None:
        return _refuse("--cache keeps what tests themselves ask: leave it out, or --kinds and --conds")
    return _with_cache(options, settings, found, baseline)


def _wanted(options: Namespace) -> list[FoundText]:
    """The tests that the paths mean. Raises ValueError with what to say."""
    if options.changed:
        from ptxmm.kernels.touched import concerned

        return concerned(options.paths, [*filter(None, [options.baseline]), *options.kinds, *options.conds])
    from litmus.formats import find

    return find(options.paths, TESTS)


def _drawn(options: Namespace, folders: Iterable[str]) -> tuple[str, ...]:
    """The kinds of pictures that are wanted; a cache keeps none, and pages do without."""
    pages = ["svg"] if options.html and options.cache in (None, "none") else []
    return tuple(dict.fromkeys([*folders, *pages, *["txt"] * options.draw]))


def _part_of(found: list[tuple[NamedTest, str | None]], options: Namespace) -> list[tuple[NamedTest, str | None]]:
    """The tests of this part of a run. That it is one is told, here and in the reports: they are of no others."""
    options.part = {"changed": "true"} if options.changed else {}
    if options.changed and not found:
        sys.stderr.write("no test concerns what changed\n")
    if options.shard is None:
        return found
    chosen = of_shard(found, options.shard)
    name, count = "{}/{}".format(*options.shard), f"{len(chosen)} of {len(found)}"
    options.part |= {"shard": name, "tests": count}
    sys.stderr.write(f"shard {name}: {count} tests\n")
    return chosen


def _with_cache(
    options: Namespace, settings: Settings, found: Sequence[tuple[NamedTest, str | None]], baseline: Baseline | None
) -> int:
    from ptxmm.campaigns.cache import Cache
    from ptxmm.campaigns.database import DatabaseError

    try:
        with Cache(options.cache, settings) as cache:
            if cache.note:
                sys.stderr.write(f"{cache.note}\n")
            return _Run(options, cache.checker, None, baseline, cache).run(found)
    except DatabaseError as error:
        sys.stdout.flush()
        sys.stderr.write(f"{error}\n")
        return 2


def _questions(options: Namespace) -> Questions | None:
    """What is asked in place of what tests ask. Raises InputError, and OSError with what to say."""
    if not options.kinds and not options.conds:
        return None
    from litmus.formats.questions import read_questions
    from ptxcore.sources import read_bytes

    def read(option: str, paths: list[str]) -> list[tuple[str, bytes]]:
        try:
            return [(path, read_bytes(path, _LONGEST_LIST, "a list of tests")) for path in paths]
        except OSError as error:
            raise OSError(f"{option}: cannot read {error.filename or 'it'}: {error.strerror or error}") from None

    return read_questions(read("--kinds", options.kinds), read("--conds", options.conds))


def _baseline(options: Namespace) -> Baseline | None:
    """The known findings. Raises OSError and ValueError, each with what to say, where there are none to read."""
    if not options.baseline:
        return None
    from ptxmm.baseline import Baseline

    try:
        return Baseline.read(options.baseline)
    except OSError as error:
        raise OSError(f"--baseline {options.baseline}: {error.strerror or error}") from None


def _refuse(message: str) -> int:
    sys.stderr.write(f"ptxmm check: error: {message}\n")
    return 2


class _Run:
    """One run over the files found: problems with paths are outcomes too, so that every report shows them in their
    place."""

    def __init__(
        self,
        options: Namespace,
        checker: Checker,
        drawings: Drawings | None,
        baseline: Baseline | None,
        cache: Cache | None = None,
    ) -> None:
        self._cache = cache
        self._options, self._checker, self._drawings, self._baseline = options, checker, drawings, baseline
        self._status = ExitStatus()
        self._report = chosen(options)
        self._waiting: Counter[str] = Counter()  # names of tests without an outcome
        self._start = time.perf_counter()
        self._left: list[Outcome] = []  # finished but not in its turn, when the run was interrupted
        self._found: list[Finding] = []
        self._questions = checker.settings.questions
        self._unasked = self._questions.names if self._questions else set()
        self._own: set[str] = set()  # litmus tests that were asked what they ask themselves

    def run(self, found: Sequence[tuple[NamedTest, str | None]]) -> int:
        items = [item for item, problem in found if problem is None]
        names = [str(item) for item, _ in found]
        self._waiting.update(names)
        try:
            self._report.begin(names)
        except OSError as error:
            return _refuse(f"cannot write {error.filename}: {error.strerror}")
        try:
            with (
                bar(len(found)) as progress, within(self._options.budget) as budget,
                closing(self._outcomes(items)) as outcomes,
            ):  # fmt: skip
                for item, problem in found:
                    model = self._options.model
                    outcome = next(outcomes) if problem is None else _bad_path(str(item), problem, model)
                    budget.busy = True  # what is half told would be lost
                    self._add(outcome, str(item))
                    progress.advance()
                    budget.busy = False
                    self._go_on(budget)
                self._asked_of_nobody()
        except BrokenPipeError:
            raise
        except RunStopped as stopped:
            self._stop(str(stopped))
            return self._status.code
        except BaseException:  # Ctrl-C and being told to stop: what is finished has been paid for
            for outcome in self._left:
                self._add(outcome)
            self._end()
            raise
        self._end()
        if self._baseline and self._options.shard is None and not self._options.changed:
            for test, kind, place in self._baseline.vanished():
                sys.stderr.write(f"{self._options.baseline}: {test}: no longer found: {kind}: {place}\n")
        if self._options.write_baseline:
            self._write_baseline(self._options.write_baseline)
        return self._status.code

    def _asked_of_nobody(self) -> None:
        """What --kinds and --conds ask of a name that no test here has was not asked. That is an error where a test here kept
        its own question, since it may be the one that was meant; else the tests were chosen from among those of the files."""
        places = self._questions.places if self._questions else {}
        for path in sorted({places[name][0] for name in self._unasked}):
            names = sorted((n for n in self._unasked if places[n][0] == path), key=lambda n: places[n][1])
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            message = f"no test here has the name {plain(', '.join(names[:5]))}{more}"
            if not self._own or self._options.shard or self._options.changed:
                sys.stderr.write(f"{plain(path)}: {message}\n")
                continue
            hint = nearest(names[0], self._own) or "every test here may be named, or fewer be checked"
            message += f", and of {plain(min(self._own))} nothing is asked here: {hint}"
            spot = Spot(path, places[names[0]][1])
            self._add(refused(str(spot), self._options.model, Refusal(message, spot)))

    def _go_on(self, budget: RunBudget) -> None:
        """Raises Stopped where the rest is not run; nothing where there is no rest."""
        if self._waiting.total():
            if self._options.fail_fast and self._status.code:
                raise RunStopped("a test has failed, and --fail-fast is given")
            budget.look()

    def _stop(self, why: str) -> None:
        """Ends the reports of a run of which a part was not run: that part is undecided."""
        for outcome in self._left:
            self._add(outcome)
        count = self._waiting.total()
        if count:
            self._status.undecided()
        self._end(f"not run: {why}")
        if count:
            sys.stderr.write(f"{count} test{'s' * (count != 1)} not run: {why}\n")

    def _write_baseline(self, path: str) -> None:
        from ptxmm.baseline import write

        try:
            count = write(path, self._found)
        except OSError as error:
            self._cannot_write(error)
            return
        sys.stderr.write(f"{path}: {count} known finding{'s' * (count != 1)}\n")

    def _end(self, why: str = "not run: interrupted") -> None:
        """Ends the reports. What has no outcome was interrupted, and is told as that."""

        try:
            self._report.end(time.perf_counter() - self._start, [not_run(n, why) for n in self._waiting.elements()])
        except OSError as error:
            if error.filename is None:  # standard output
                raise
            self._cannot_write(error)
        sys.stdout.flush()

    def _cannot_write(self, error: OSError) -> None:
        self._status.bad_input()
        sys.stderr.write(f"{error.filename}: error: cannot write: {error.strerror or error}\n")

    def _outcomes(self, paths: list[NamedTest]) -> Generator[Outcome, None, None]:
        return self._cache.outcomes(paths, self._decided) if self._cache else self._decided(paths)

    def _decided(self, paths: list[NamedTest]) -> Generator[Outcome, None, None]:
        if not paths:
            return
        if len(paths) == 1 and self._options.timeout is None:
            from ptxmm.alone import AVAILABLE, alone

            if AVAILABLE:
                yield alone(self._checker, paths[0], self._checker.lost)
                return
        from ptxcore.collection import shared_with_children
        from ptxmm import available
        from ptxmm.workers import Workers

        if len(paths) > 1:
            self._checker.warm()
        jobs = self._options.jobs or (1 if len(paths) == 1 else available.processors())
        timeout = self._options.timeout
        limit = (
            None if timeout is None else timeout * 1.1 + 0.25
        )  # the engine gives up by itself before that, and says how far it came
        if limit is not None and self._checker.settings.drawings:
            limit += limit + _LONGEST_PICTURE  # pictures have as much time again
        started = Workers(
            self._checker, paths, jobs=jobs, limit=limit, late=self._checker.late, lost=self._checker.lost
        )
        with shared_with_children(), started as workers:
            try:
                yield from workers
            except BaseException:  # also when whoever takes the outcomes was interrupted
                self._left = workers.finished()
                raise

    def _ask(self, result: Result) -> None:
        """Notes whether a litmus test was asked something else than it asks itself."""
        if self._questions and not result.of_kernel:
            self._unasked.discard(result.name)
            if result.verdict not in ("error", "undecided") and result.name not in self._questions.places:
                self._own.add(result.name)  # of the others nobody may know the name

    def _add(self, outcome: Outcome, name: str = "") -> None:
        """Reports an outcome. `name` is what its test was called when it was found, where its kernel was not known yet."""
        result = outcome.result
        self._waiting[name or result.path] -= 1
        self._ask(result)
        found = findings(result)
        self._found += found
        if self._baseline:
            found = self._baseline.marked(result.path, found)
            result.known = bool(found) and all(f.known for f in found)
        outcome = outcome._replace(findings=tuple(found))
        self._status.add(found)
        if result.verdict == "error":
            sys.stdout.flush()  # so that both streams come in the same order
            sys.stderr.write((result.error or "error") + "\n")
        elif self._options.format == "herd":  # whose lines have no room for it
            for note in [*found, *(n for n in assumptions(result) if all(f.kind != n.kind for f in found))]:
                known = "known " * note.known
                sys.stderr.write(f"{plain(result.path)}: {known}{note.kind}: {plain(note.message)}\n")
            if not result.listed_all:
                sys.stderr.write(f"{plain(result.path)}: {NOT_ALL}\n")
            if result.executions and not result.executions.listed_all:
                sys.stderr.write(f"{plain(result.path)}: {NOT_ALL_EXECUTIONS}\n")
        self._report.add(outcome)
        if self._options.draw:
            for drawings in (*(outcome.extra or {}).values(), outcome.drawings):
                sys.stdout.write("".join(f"\n{drawn}" for drawn in drawings.get("txt", ())))
        if outcome.undrawn:
            sys.stderr.write(f"{plain(result.path)}: there was no time to draw {outcome.undrawn} of its pictures\n")
        if self._drawings:
            if result.runs and not any(any(found.values()) for found in (outcome.extra or {}).values()):
                from ptxmm.words.whole import undrawn

                sys.stderr.write(f"{plain(result.path)}: {undrawn(result.runs)}\n")
            try:
                self._drawings.write(outcome)
            except OSError as error:
                self._cannot_write(error)


def _bad_path(path: str, problem: str, model: str) -> Outcome:
    return refused(path, model, Refusal(plain(problem)))


def bar(count: int | None, what: str = "checking") -> Bar | _Quiet:
    """The progress of so many tests (None: nobody knows how many), where somebody looks on."""
    if count != 1 and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from ptxmm.cli.progress import Bar

        return Bar(count, what)
    return _Quiet()


class _Quiet:
    """No progress shown."""

    def __enter__(self) -> _Quiet:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def advance(self) -> None:
        pass

    def at(self, done: int, note: str) -> None:
        pass
