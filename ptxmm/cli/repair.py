"""`ptxmm repair` and `ptxmm weaken`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from ptxmm import __version__

if TYPE_CHECKING:
    from ptxmm.kernels.files import NamedTest
    from ptxmm.repair.found import Answer, Found
    from ptxmm.repair.subjects import Subject

_FOUND, _NONE, _BAD_INPUT, _UNDECIDED = range(4)
#: Which of them counts, of many tests: as for `ptxmm check`.
_WORST = (_BAD_INPUT, _NONE, _UNDECIDED, _FOUND)


def add_repair(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `ptxmm repair`."""
    from ptxmm.cli import options as shared

    repair = shared.command(
        commands,
        "repair",
        "find the smallest edits that make every check hold",
        "Finds the cheapest set of edits with which every check of a test holds: orders and scopes of accesses, "
        "fences, barriers, fences of proxies; each set is proven by check, and nothing of it can be left out. Prints a "
        "diff.",
        "0 a repair for each test, or nothing to repair; 1 there is none; 2 bad input or usage; 3 undecided; "
        "130 interrupted",
        "ptxmm repair mp.litmus                   the cheapest repair",
        "ptxmm repair lock.toml:weak --all        all of which nothing can be left out",
        "ptxmm repair mp.litmus --max-edits 1     or that there is none of one edit",
        "ptxmm repair mp.litmus --apply           change the file",
    )
    _add_shared(repair)
    repair.add_argument("--all", action="store_true", help="every repair of which nothing can be left out")
    repair.add_argument("--max-edits", type=shared.positive_number, metavar="N", help="of at most N edits")
    repair.add_argument("--apply", action="store_true", help="write the first repair into the file, or the source")
    _add_kernel(repair)


def add_weaken(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `ptxmm weaken`."""
    from ptxmm.cli import options as shared

    weaken = shared.command(
        commands,
        "weaken",
        "find the orders, scopes, fences and barriers that no check needs",
        "Finds every largest set of orders, scopes, fences and barriers that can be weaker, or gone, while every "
        "check still holds; each is proven by check, with what fails when anything more is weaker. The cheapest comes first. "
        "Of a kernel, larger launches are asked, too.",
        "0 something can be weaker; 1 nothing can, or not everything holds as it is; 2 bad input or usage; "
        "3 undecided; 130 interrupted",
        "ptxmm weaken lock.litmus",
        "ptxmm weaken lock.toml:correct --apply",
    )
    _add_shared(weaken)
    weaken.add_argument("--apply", action="store_true", help="write the first weakening into the file, or the source")
    _add_kernel(weaken)


def _add_kernel(command: argparse.ArgumentParser) -> None:
    from ptxmm.cli.kernel_options import add_kernel

    command.add_argument("--source", metavar="FILE.cu",
                         help="what the PTX of the test was compiled from: edits are told of it, too")  # fmt: skip
    add_kernel(command)


def _add_shared(command: argparse.ArgumentParser) -> None:
    from litmus.test import PROPERTIES
    from ptxmm.cli import options as shared
    from ptxmm.cli.options import TIME, seconds

    command.add_argument(
        "path", metavar="FILE", help="a litmus test, a kernel test (FILE.toml, FILE.toml:NAME), CUDA C++ or PTX"
    )
    command.add_argument("--model", default="ptx-9.0", metavar="NAME|FILE.cat", help="default: %(default)s")
    shared.add_folders(command)
    command.add_argument(
        "--format", choices=("text", "json", "sarif", "github"), default="text", help="default: %(default)s"
    )
    command.add_argument("--timeout", type=seconds, default=60.0, metavar=TIME,
                         help="for each test, the search included (default: %(default)g)")  # fmt: skip
    command.add_argument(
        "--unroll", type=shared.positive_number, default=4, metavar="N",
        help="a loop body executes at most N times, where a test does not say (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--check", action="append", default=[], choices=PROPERTIES, metavar="NAME",
        help="this must hold, too: race_free, no_deadlock, terminates, no_trap; may be given several times",
    )  # fmt: skip


def repair(options: argparse.Namespace) -> int:
    """Runs either command; gives its exit status. What was found before an interruption is printed."""
    from litmus.formats import find
    from ptxmm.cli.kernel_options import asked
    from ptxmm.kernels.files import TESTS, expand

    options.paths = [options.path]
    try:
        kernel = asked(options)
    except ValueError as error:
        return _refuse(options, str(error))
    found = expand(find(options.paths, TESTS)) if kernel is None else [(kernel, None)]
    if options.apply and len(found) > 1:
        names = ", ".join(str(item) for item, _ in found[:4])
        return _refuse(options, f"--apply takes one test; there are {len(found)}: {names}{', ...' * (len(found) > 4)}")
    answers: list[Answer] = []
    seen = set()
    for number, (item, problem) in enumerate(found):
        if problem is not None:
            seen.add(_refuse(options, problem))
            continue
        if number and options.format == "text":
            sys.stdout.write("\n")
        status, answer = _one(options, item)
        seen.add(status)
        if answer is not None:
            answers.append(answer)
            _report(options, answer)
            if answer.stopped == "interrupted":
                break
    _report_all(options, answers)
    if any(answer.stopped == "interrupted" for answer in answers):
        raise KeyboardInterrupt
    return next((status for status in _WORST if status in seen), _FOUND)


def _one(options: argparse.Namespace, item: NamedTest) -> tuple[int, Answer | None]:
    """The answer for one test; a refusal is printed."""
    from axioms.models.naming import including
    from axioms.program import UnsupportedProgram
    from ptxcore.diagnostics import InputError
    from ptxmm.repair.finding import answered
    from ptxmm.repair.subject_of import subject_of
    from ptxmm.repair.subjects import How

    deadline = None if options.timeout is None else time.perf_counter() + options.timeout
    model = including(options.model, options.folders)
    how = How(model, options.unroll, tuple(options.check), deadline, source=options.source or "")
    try:
        with _Telling() as telling:
            subject = subject_of(item, how)
            most = getattr(options, "max_edits", None)
            answer = answered(
                subject, options.command, every=getattr(options, "all", True), most=most, told=telling.say
            )
    except InputError as error:
        sys.stderr.write(error.render() + "\n")
    except UnsupportedProgram as error:
        sys.stderr.write(f"{item}: error: {error}\n")
    except (OSError, ValueError) as error:
        _refuse(options, f"{getattr(error, 'filename', None) or item}: {getattr(error, 'strerror', None) or error}")
    else:
        return (_written(options, subject, answer) if options.apply and answer.found else answer.status), answer
    return _BAD_INPUT, None


def _written(options: argparse.Namespace, subject: Subject, answer: Answer) -> int:
    """The status once the first one is written; what cannot be is told."""
    try:
        _write(subject, answer.found[0])
    except OSError as error:
        return _refuse(options, f"{error.filename}: {error.strerror or error}")
    except ValueError as error:
        return _refuse(options, str(error))
    return answer.status


def _write(subject: Subject, found: Found) -> None:
    """Writes a changed text where the old one stands, and the source that it was compiled from, where an edit of that is
    proven. Raises OSError; ValueError where there is nothing to write."""
    from ptxmm.diffs import filed

    source = found.source
    proven = source is not None and source.text
    if not subject.applies and not proven:
        why = source.why if source is not None else "what would change is in no file of its own"
        raise ValueError(f"--apply writes nothing: {why}")
    written = [(subject.path, subject.text, found.text)] if subject.applies else []
    if source is not None and proven:
        written.append((source.path, source.old, source.text))
    for path, old, new in written:
        _, changed = filed(path, old, new)
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(changed)
    subject.notes.append(f"the first one was written to {' and '.join(path for path, _, _ in written)}")


def _report(options: argparse.Namespace, answer: Answer) -> None:
    """What is printed of each test as soon as it is known."""
    from ptxmm.diffs import write_exactly
    from ptxmm.repair.words import text
    from ptxmm.report import columns

    if options.format in ("text", "github"):
        if options.format == "text":
            write_exactly(sys.stdout, text(answer, columns()))
        else:
            sys.stdout.write(text(answer))
        sys.stdout.flush()
    if options.format == "github":
        from ptxmm.harmless import command
        from ptxmm.repair.fixes import told

        for line in told(answer):
            command(line)


def _report_all(options: argparse.Namespace, answers: list[Answer]) -> None:
    """The one document of all tests, for formats that have such."""
    from ptxmm.repair.fixes import sarif
    from ptxmm.repair.words import document

    if options.format == "json":
        told: dict[str, Any] = {"ptxmm": __version__, "tests": [document(answer) for answer in answers]}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
    elif options.format == "sarif":
        sys.stdout.write(json.dumps(sarif(answers), indent=1) + "\n")


def _refuse(options: argparse.Namespace, message: str) -> int:
    sys.stderr.write(f"ptxmm {options.command}: error: {message}\n")
    return _BAD_INPUT


class _Telling:
    """One line on a terminal that says how far the search is."""

    _EVERY = 0.2  # seconds

    def __init__(self) -> None:
        self._shown, self._next = False, 0.0

    def __enter__(self) -> _Telling:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def say(self, words: str) -> None:
        """Shows it, where somebody looks on and not too often."""
        now = time.monotonic()
        if sys.stderr.isatty() and now >= self._next:
            self._shown, self._next = True, now + self._EVERY
            sys.stderr.write(f"\r\x1b[K{words}")
            sys.stderr.flush()
