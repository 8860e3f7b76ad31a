"""The entry of the command line: what every command shares, and what holds whatever happens."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shlex
import signal
import sys
import threading
from typing import NoReturn, TextIO

from ptxcore.collection import MANY

_INTERRUPTED = 130
_NOT_WRITTEN = _DEFECT = 2
#: File names that are longer are told by their ends.
_LONGEST_NAME = 120
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # that end a command
_SOON = 0.25  # seconds, in which who asked for it has long returned
#: Commands that tell by themselves what an interrupt leaves.
_SAY_SO = ("check", "compare", "campaign", "repair", "weaken")
#: Options whose value may be an option of somebody else's, or `-NAME`.
_TAKE_OPTIONS = ("--nvcc", "--passes")
_BROKEN_PIPE = 141  # as a shell counts a program that wrote into a closed pipe


def entry() -> NoReturn:
    """The console script. From its end on the process hears no signal that ends a command."""
    gc.set_threshold(MANY)  # a run makes many, of which few are in circles
    ended: list[int] = []
    atexit.register(_end, ended)  # the first one is called last
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before we began, as `>&-` does
            nowhere = open(os.devnull, "w")  # noqa: SIM115 (for as long as the process lives)
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to stop
    for name in _SIGNALS[1:]:
        if hasattr(signal, name):  # so that workers are stopped on the way out
            signal.signal(getattr(signal, name), _leave)
    sys.unraisablehook = _heard
    status = _INTERRUPTED
    try:
        status = _status()
        _heed_no_signal()
    except KeyboardInterrupt:
        _heed_no_signal()
        if sys.argv[1:] and sys.argv[1] not in _SAY_SO:
            with contextlib.suppress(OSError):
                sys.stderr.write("ptxmm: interrupted\n")
    finally:
        _heed_no_signal()
        # CPython notes an interrupt that comes through code made from a text, and `python -m` ends by it at last, whatever
        # became of it. Other such code clears the note.
        exec("")
    ended.append(status)
    sys.exit(status)


def _end(ended: list[int]) -> None:
    """Ends the process once all that waits for its end has been called, without taking the interpreter down: to give objects
    back one by one that the system takes back at once is an eighth of a short command."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # the interpreter says what becomes of that
        return
    if ended:
        os._exit(ended[0])


def _heed_no_signal() -> None:
    """What was asked is done: a signal that comes while the interpreter is taken down changes nothing of its end."""
    for name in _SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _heard(lost: sys.UnraisableHookArgs) -> None:
    """A signal that comes where no exception can get out (a destructor, a callback of an import) would be lost: it comes
    again."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        number: int = signal.SIGINT
    elif isinstance(lost.exc_value, SystemExit) and isinstance(lost.exc_value.code, int) and lost.exc_value.code > 128:
        number = lost.exc_value.code - 128
    else:
        sys.__unraisablehook__(lost)
        return
    # To the main thread: one that another takes does not end what that waits for.
    again = threading.Timer(_SOON, signal.pthread_kill, (threading.main_thread().ident, number))
    again.daemon = True
    again.start()


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 2]}...{name[-_LONGEST_NAME // 2 :]}"


def _status() -> int:
    """Runs the command; gives its exit status. Raises KeyboardInterrupt."""
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        status = _BROKEN_PIPE
    except OSError as error:  # a full disk: what was to be said is lost, and that is no success
        _silence(sys.stdout)
        try:
            where = f" {_short(str(error.filename))}" if error.filename is not None else ""
            sys.stderr.write(f"ptxmm: error: cannot write{where}: {error.strerror or error}\n")
        except OSError:
            _silence(sys.stderr)
        status = _NOT_WRITTEN
    except Exception as error:  # between the tests: what goes wrong in one of them is told as its own
        from ptxmm.defects import defect
        from ptxmm.harmless import harmless
        from ptxmm.words.refusals import written

        words = shlex.join(["ptxmm", *sys.argv[1:]])
        sys.stderr.write(harmless(written(defect(error, "what it was asked", words), "ptxmm")) + "\n")
        status = _DEFECT
    return status


def _leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _silence(stream: TextIO) -> None:
    """Lets the interpreter flush what is left to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def main(arguments: list[str]) -> int:
    """Runs a command and gives its exit status. Raises SystemExit for bad usage, BrokenPipeError when nobody reads
    on."""
    from ptxmm.harmless import harmless_streams

    with harmless_streams():
        return _command(arguments)


def _settled(arguments: list[str]) -> list[str] | None:
    """The arguments, with the project's defaults where there are any; None where those are wrong, which is told."""
    if arguments[:1] != ["check"] or "--no-defaults" in arguments:
        return arguments
    from ptxmm.cli.project import project_file

    project = None
    try:
        project = project_file()
        if project is None:
            return arguments
        from ptxcore.diagnostics import InputError
        from ptxmm.cli.defaults import settled
    except OSError as error:
        sys.stderr.write(f"{error.filename or 'pyproject.toml'}: error: cannot read: {error.strerror or error}\n")
        return None
    try:
        return settled(arguments, os.path.relpath(project))
    except InputError as error:
        sys.stderr.write(error.render() + "\n")
    except OSError as error:
        sys.stderr.write(f"{project}: error: cannot read: {error.strerror or error}\n")
    return None


def _with_values(arguments: list[str]) -> list[str]:
    """`--nvcc -DX` as `--nvcc=-DX`: the parser takes a single word that begins with `-` for an option, and these options take
    such words."""
    found: list[str] = []
    for word in arguments:
        if found and found[-1] in _TAKE_OPTIONS and word[:1] == "-" != word[1:2] and "--" not in found:
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def _command(arguments: list[str]) -> int:
    from ptxmm.cli.options import parser

    told = _settled(arguments)
    if told is None:
        return _DEFECT
    arguments = _with_values(told)
    top = parser(arguments[0] if arguments else "")
    options, unknown = top.parse_known_args(arguments)
    if unknown:
        from ptxmm.cli.habits import instead

        top.error(f"unrecognized arguments: {' '.join(unknown)}{instead(unknown)}")
    if options.command == "models":
        from ptxmm.cli.models import models

        return models(options)
    if options.command == "explain":
        from ptxmm.cli.explain import explain

        return explain(options)
    if options.command == "learn":
        from ptxmm.cli.learn import learn

        return learn(options)
    if options.command == "completion":
        from ptxmm.cli.completion import completion

        return completion(options)
    if options.command == "library":
        from ptxmm.cli.library import library

        return library(options)
    if options.command == "compare":
        from ptxmm.cli.compare import compare

        return compare(options)
    if options.command == "lint":
        from ptxmm.cli.lint import lint

        return lint(options)
    if options.command == "generate":
        from ptxmm.cli.generate import generate

        return generate(options)
    if options.command == "classify":
        from ptxmm.cli.classify import classify

        return classify(options)
    if options.command == "run":
        from ptxmm.cli.run import run

        return run(options)
    if options.command == "init":
        from ptxmm.cli.init import init

        return init(options)
    if options.command == "campaign":
        from ptxmm.cli.campaign import campaign

        return campaign(options)
    if options.command in ("repair", "weaken"):
        from ptxmm.cli.repair import repair

        return repair(options)
    if options.command == "gpu":
        from ptxmm.cli.gpu import gpu

        return gpu(options)
    if options.command == "serve":
        from ptxmm.cli.serve import serve

        return serve(options)
    from ptxmm.cli.check import check

    return check(options)
