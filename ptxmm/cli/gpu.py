"""`ptxmm gpu`: litmus tests on a GPU."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from ptxmm import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from litmus.test import Test
    from ptxmm.campaigns.database import ResultRow
    from ptxmm.gpu.contract import GpuModule
    from ptxmm.gpu.histograms import Histogram, Where

_FINE, _FORBIDDEN, _BAD_INPUT, _UNDECIDED = range(4)
#: Which of them counts, of many tests.
_WORST = (_FORBIDDEN, _BAD_INPUT, _UNDECIDED, _FINE)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    from ptxmm.cli import options as shared
    from ptxmm.cli.options import TIME, file_name, seconds

    gpu = commands.add_parser(
        "gpu",
        help="run litmus tests on a GPU, and see what the model says of that",
        description="Makes a kernel of each litmus test, which runs thousands of instances of it at once, launches it "
        "again and again, and prints how often each state was seen, in the words of litmus7. A state that the model "
        "forbids is told with the execution that it needs.",
        epilog=shared.ending(
            "0 nothing was seen that the model forbids; 1 something was; 2 bad input or usage, or no GPU; 3 it is not decided "
            "whether something is forbidden, no instance counted, or the confidence is lower than asked for; 130 interrupted",
            "ptxmm gpu mp.litmus --seconds 10",
            "ptxmm gpu mp.litmus --simulate                        the same kernel on our own machine",
            "ptxmm gpu tests > hardware.log; ptxmm compare --model ptx-9.0 --model hardware.log tests",
            "ptxmm gpu mp.litmus --confidence 0.999 --budget 60s",
            "ptxmm gpu mp.litmus --tune 50 > best.json; ptxmm gpu tests --parameters @best.json",
            "ptxmm gpu mp.litmus --emit DIR                        write the module, launch nothing",
        ),
        formatter_class=shared.Help,
        allow_abbrev=False,
    )
    gpu.add_argument("paths", nargs="+", metavar="FILE", help="a litmus test, a folder, @list, library:NAME, or -")
    gpu.add_argument("--simulate", action="store_true", help="on our own machine, with random schedules")
    gpu.add_argument("--device", type=_ordinal, default=0, metavar="N",
                     help="the number of the GPU; a test on several takes those behind it, too (default: 0)")  # fmt: skip
    gpu.add_argument(
        "--seconds", type=seconds, metavar=TIME,
        help="launch each test for so long (default: 10, and one launch with --simulate)",
    )  # fmt: skip
    gpu.add_argument("--launches", type=shared.positive_number, metavar="N", help="launch each test N times at most")
    gpu.add_argument(
        "--seed", type=int, default=0, metavar="N", help="launches and schedules are drawn from it (default: 0)"
    )
    gpu.add_argument(
        "--parameters", default="", metavar="NAME=N,...|@FILE",
        help="how tests are launched; --parameters help lists them with their defaults",
    )  # fmt: skip
    gpu.add_argument("--model", default="ptx-9.0", metavar="NAME|FILE.cat", help="default: %(default)s")
    shared.add_folders(gpu)
    gpu.add_argument("--timeout", type=seconds, default=60.0, metavar=TIME,
                     help="for what the model says of a test (default: %(default)g)")  # fmt: skip
    gpu.add_argument("--target", metavar="sm_NN", help="of the module (default: the GPU's, and sm_90 with --simulate)")
    gpu.add_argument("--ptxas", metavar="PATH", help="assemble the module with this ptxas, not within the driver")
    gpu.add_argument(
        "--emit", type=file_name, metavar="DIR", help="write each module there as NAME.ptx, and launch nothing"
    )
    gpu.add_argument(
        "--tune", type=shared.positive_number, metavar="N", help="try N choices of parameters, print the best as JSON"
    )
    gpu.add_argument("--confidence", type=_share, metavar="P",
                     help="run mutants of each test, and the test until a violation had shown so likely")  # fmt: skip
    gpu.add_argument("--mutants", action="store_true",
                     help="run mutants of each test, and tell how often each shows what the test forbids")  # fmt: skip
    gpu.add_argument("--budget", type=seconds, default=60.0, metavar=TIME,
                     help="for the mutants of each test, and its confidence (default: %(default)g)")  # fmt: skip
    gpu.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")
    gpu.add_argument(
        "--database",
        type=file_name,
        metavar="FILE",
        help="also write a row for each test into the database of a campaign",
    )


def _ordinal(text: str) -> int:
    if not text.isdecimal() or len(text) > 4:
        raise argparse.ArgumentTypeError(f"the number of a GPU is needed, 0 for the first, not '{text}'")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"a number between 0 and 1 is needed, as 0.999, not '{text}'")
    return value


def gpu(options: argparse.Namespace) -> int:
    """Runs the command; gives its exit status."""
    from axioms.models.naming import including
    from ptxcore.diagnostics import InputError
    from ptxmm.api import model_named
    from ptxmm.campaigns.database import DatabaseError
    from ptxmm.gpu.driver import CudaError
    from ptxmm.gpu.parameters import BadParameter

    if options.parameters == "help":
        return _tell_parameters(options)
    options.model = including(options.model, options.folders)
    try:
        model_named(options.model)
        where = _where(options)
    except InputError as error:
        return _refuse(str(error), plain=True)
    except CudaError as error:
        return _refuse(f"{error}; without a GPU, --simulate runs the same kernel on our own machine")
    except BadParameter as error:
        return _refuse(f"--parameters: {error}")
    except OSError as error:
        return _refuse(f"{error.filename}: cannot read: {error.strerror or error}")
    try:
        if options.tune is not None:
            return _tune(options, where)
        return _all(options, where)
    except DatabaseError as error:
        return _refuse(str(error), plain=True)
    finally:
        where.close()


def _where(options: argparse.Namespace) -> Where:
    """Where tests run, and how. Raises CudaError, BadParameter, OSError."""
    from ptxmm.gpu.histograms import Where
    from ptxmm.gpu.parameters import SIMULATED, Parameters, read

    base = SIMULATED if options.simulate else Parameters()
    text = options.parameters
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read()
    parameters = read(text, base) if text else base
    if options.simulate or options.emit:
        return Where(parameters, target=options.target)
    from ptxmm.gpu.device import open_gpu

    return Where(parameters, target=options.target, worker=open_gpu(options.device), ptxas=options.ptxas)


def _tell_parameters(options: argparse.Namespace) -> int:
    from dataclasses import fields

    from ptxmm.gpu.parameters import SIMULATED, Parameters

    for f in fields(Parameters):
        value = getattr(SIMULATED if options.simulate else Parameters(), f.name)
        sys.stdout.write(f"{f.name:15} {value:6}  {f.metadata['what']}\n")
    return _FINE


def _tests(options: argparse.Namespace) -> list[tuple[Test | None, str]]:
    """The tests, each with its text; None where there is none, which is told."""
    from litmus.formats import find
    from litmus.test import Test
    from ptxcore.diagnostics import InputError
    from ptxmm.api import load

    found: list[tuple[Test | None, str]] = []
    for path, problem in find(options.paths):
        try:
            if problem is not None:
                raise OSError(problem)
            test = load(path)
            if not isinstance(test, Test):
                raise OSError("this is a kernel test: ptxmm run launches kernels")
        except InputError as error:
            sys.stderr.write(f"{error}\n")
            found.append((None, ""))
        except OSError as error:
            sys.stderr.write(f"{path}: error: {error.strerror or error}\n")
            found.append((None, ""))
        else:
            found.append((test, test.text))
    return found


def _all(options: argparse.Namespace, where: Where) -> int:
    """Runs all tests. What was seen before somebody interrupts is printed, and in the database."""
    from contextlib import ExitStack

    seen: set[int] = set()
    documents: list[dict[str, Any]] = []
    with ExitStack() as stack:
        store = stack.enter_context(_storing(options, where)) if options.database and not options.emit else None
        if options.format == "json" and not options.emit:
            stack.callback(_print_documents, where, documents)
        for test, text in _tests(options):
            status, found = (_BAD_INPUT, None) if test is None else _one(options, where, test)
            seen.add(status)
            if found is None:
                continue
            if options.format == "text":
                sys.stdout.write("\n".join(found.lines()) + "\n\n")
                sys.stdout.flush()
            else:
                documents.append(found.document())
            if store is not None:
                store(_row(options, where, found, text))
    return next((status for status in _WORST if status in seen), _FINE)


def _one(options: argparse.Namespace, where: Where, test: Test) -> tuple[int, Histogram | None]:
    """What becomes of a test: its exit status, and what was seen, where anything was."""
    from ptxmm.gpu.histograms import NoHistogram, explained, histogram

    try:
        if options.emit:
            with explained(test):
                return _emit(options.emit, where.made(test)), None
        found = histogram(
            test, where, options.model, seconds=_seconds(options), launches=options.launches, seed=options.seed,
            timeout=options.timeout, confidence=_wanted(options), budget=options.budget,
        )  # fmt: skip
    except NoHistogram as error:
        sys.stderr.write(f"{error}\n")
        return _BAD_INPUT, None
    except Exception as error:
        from ptxmm.defects import defect
        from ptxmm.words.refusals import written

        sys.stderr.write(written(defect(error, "the test", f"gpu {test.identity}"), test.identity) + "\n")
        return _BAD_INPUT, None
    return _status(found), found


def _wanted(options: argparse.Namespace) -> float | None:
    """The confidence that is asked for; none in particular where mutants alone are."""
    wanted: float | None = options.confidence
    return 0.0 if wanted is None and options.mutants else wanted


def _print_documents(where: Where, documents: list[dict[str, Any]]) -> None:
    machine: dict[str, Any] = {
        "machine": where.name,
        "driver": where.driver,
        "parameters": json.loads(where.parameters.json()),
    }
    sys.stdout.write(json.dumps({"ptxmm": __version__, **machine, "tests": documents}, indent=1) + "\n")


def _storing(options: argparse.Namespace, where: Where) -> AbstractContextManager[Callable[[ResultRow], None]]:
    from ptxmm.gpu.rows import question, storing

    command = shlex.join(["ptxmm", "gpu", *options.paths])
    return storing(options.database, command, question(where.name, where.driver, where.parameters, options.model))


def _seconds(options: argparse.Namespace) -> float | None:
    if options.seconds is None and options.launches is None:
        return 0.0 if options.simulate else 10.0
    seconds: float | None = options.seconds
    return seconds


def _status(found: Histogram) -> int:
    if found.judged.forbidden or (found.confidence is not None and found.confidence.violations):
        return _FORBIDDEN
    low = found.confidence is not None and not found.confidence.good
    return _UNDECIDED if found.judged.undecided or low or not found.judged.seen.states else _FINE


def _row(options: argparse.Namespace, where: Where, found: Histogram, text: str) -> ResultRow:
    from ptxmm.gpu.rows import question, row

    asked = question(where.name, where.driver, where.parameters, options.model)
    return row(found.judged, asked, text, found.seconds)


def _emit(folder: str, made: GpuModule) -> int:
    import os

    from ptxmm.herd_names import legal

    path = os.path.join(folder, f"{legal(made.test.name).replace('/', '_')}.ptx")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(made.text)
    except OSError as error:
        return _refuse(f"{path}: cannot write: {error.strerror or error}")
    return _FINE


def _tune(options: argparse.Namespace, where: Where) -> int:
    from ptxmm.gpu.histograms import NoHistogram, explained
    from ptxmm.gpu.tuning import Trial, best, trials

    tests = [test for test, _ in _tests(options) if test is not None]
    if not tests:
        return _BAD_INPUT
    found: list[Trial] = []
    try:
        with explained(tests[0]):
            for trial in trials(
                tests, where.made, where.machine, where.parameters, options.model, options.tune, seed=options.seed,
                launches=options.launches or 1, timeout=options.timeout,
            ):  # fmt: skip
                found.append(trial)
                sys.stderr.write(f"trial {len(found)}: {trial.score[0]} seen, {trial.score[1]:g}\n")
    except NoHistogram as error:
        sys.stderr.write(f"{error}\n")
        return _BAD_INPUT
    if not found:
        return _refuse("no choice of parameters fits these tests")
    sys.stdout.write(best(found).parameters.json() + "\n")
    return _FINE


def _refuse(message: str, *, plain: bool = False) -> int:
    sys.stderr.write(f"{message}\n" if plain else f"ptxmm gpu: error: {message}\n")
    return _BAD_INPUT
