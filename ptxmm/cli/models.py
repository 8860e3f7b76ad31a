"""`ptxmm models`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.cli.options import Commands


def add(commands: Commands) -> None:
    """The options of the command."""
    models = commands.add_parser(
        "models",
        help="list the models that ship",
        description="Lists the models that ship, by the names that --model of ptxmm check takes: what each is, and where it "
        "lies. With --show it prints one.",
        allow_abbrev=False,
    )
    models.add_argument("--show", metavar="NAME", help="print the text of this one")


def models(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0, or 2 for a name that is none of those that ship."""
    from axioms.models import about, names, path_of, text_of
    from ptxcore.diagnostics import nearest

    if options.show is None:
        sys.stdout.write("".join(f"{name}  {about(name)}\n         {path_of(name)}\n" for name in names()))
        return 0
    if options.show not in names():
        hint = nearest(options.show, names()) or f"the models are {', '.join(names())}"
        sys.stderr.write(f"ptxmm models: error: unknown model '{options.show}'\n    hint: {hint}\n")
        return 2
    sys.stdout.write(text_of(options.show))
    return 0
