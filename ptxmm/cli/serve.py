"""`ptxmm serve`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxmm.cli.options import Commands

_DONE, _BAD_INPUT = 0, 2
_PORT = 8737


def _port(text: str) -> int:
    if not text.isdecimal() or int(text[:9]) > 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not '{text}'")
    return int(text)


def add(commands: Commands) -> None:
    """The options of the command."""
    from ptxmm.cli import options as shared

    serve = shared.command(
        commands,
        "serve",
        "open the explorer in a browser",
        "Serves the explorer to a browser: an editor for tests, their outcomes under several models, pictures of executions, "
        "repairs. It listens on this machine only, unless --host says otherwise. What visitors send is looked at in "
        "worker processes that read no files and start no programs (docs/explorer.md). It needs pip install 'ptxmm[web]'.",
        "0 ended by Ctrl-C; 2 it cannot be started",
        "ptxmm serve --open                       and shows it in a browser",
        "ptxmm serve --port 0                     on a port that is free",
        "ptxmm serve --host 0.0.0.0 --name explorer.example.org",
    )
    serve.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where it listens (default: %(default)s)")
    serve.add_argument(
        "--port", type=_port, default=_PORT, metavar="N", help="0: one that is free (default: %(default)s)"
    )
    serve.add_argument(
        "--name", action="append", default=[], metavar="NAME",
        help="a name that browsers know this server by, besides its number and localhost; may be given several times",
    )  # fmt: skip
    serve.add_argument(
        "--timeout",
        type=shared.seconds,
        default=10.0,
        metavar=shared.TIME,
        help="for one answer (default: %(default)g)",
    )
    serve.add_argument(
        "--jobs", type=shared.positive_number, metavar="N",
        help="worker processes that decide (default: one for each processor)",
    )  # fmt: skip
    serve.add_argument("--open", action="store_true", help="show it in a browser")


def serve(options: argparse.Namespace) -> int:
    """Runs the command; gives its exit status."""
    try:
        from ptxmm.web.starting import bound, run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("starlette", "uvicorn", "anyio", "h11"):
            raise
        return _refuse(f"this needs {missing}, which is not installed: pip install 'ptxmm[web]'")
    from ptxmm.available import processors

    try:
        listening = bound(options.host, options.port)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        return _refuse(
            f"cannot listen on {options.host}, port {options.port}: {reason}; --port 0 takes one that is free"
        )
    try:
        run(
            listening,
            workers=options.jobs or processors(),
            seconds=options.timeout,
            names=[name.lower() for name in options.name],
            browser=options.open,
        )
    except KeyboardInterrupt:
        sys.stdout.write("ptxmm serve: ended\n")
    return _DONE


def _refuse(message: str) -> int:
    sys.stderr.write(f"ptxmm serve: error: {message}\n")
    return _BAD_INPUT
