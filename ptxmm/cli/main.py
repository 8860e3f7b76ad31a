"""The entry of the command line: what every command shares, and what holds whatever happens."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

_INTERRUPTED = 130
_BROKEN_PIPE = 141  # as a shell counts a program that wrote into a closed pipe


def entry() -> NoReturn:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to stop
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # so that workers are stopped on the way out
            signal.signal(getattr(signal, name), _leave)
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
        status = _BROKEN_PIPE
    except KeyboardInterrupt:
        status = _INTERRUPTED
    sys.exit(status)


def _leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _silence() -> None:
    """Lets the interpreter flush what is left to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def main(arguments: list[str]) -> int:
    """Runs a command and gives its exit status. Raises SystemExit for bad usage, BrokenPipeError when nobody reads
    on."""
    from ptxmm.cli.options import LATER_COMMANDS, parser

    options = parser().parse_args(arguments)
    if options.command in LATER_COMMANDS:
        sys.stderr.write(f"ptxmm {options.command}: error: {LATER_COMMANDS[options.command]} is not there yet\n")
        return 2
    if options.command == "models":
        from ptxmm.api import models

        sys.stdout.write("".join(name + "\n" for name in models()))
        return 0
    from ptxmm.cli.check import check

    return check(options)
