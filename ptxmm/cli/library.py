"""`ptxmm library`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from litmus.library import Shipped
    from ptxmm.cli.options import Commands


def add(commands: Commands) -> None:
    """The options of the command."""
    from ptxmm.cli.options import command

    library = command(
        commands,
        "library",
        "list the tests that ship, and print them",
        "Lists the tests that ship, by folders: name, what is asked, what it is about. With words, those "
        "that have all of them; with the name of one, its text. ptxmm check library:NAME decides one, library:FOLDER those "
        "of a folder.",
        "0; 2 where no test has these words",
        "ptxmm library                      all of them",
        "ptxmm library proxies surface      those with these words",
        "ptxmm library MP+rel+acq           prints one",
        "ptxmm library MP+rel+acq --path    says where it is",
        "ptxmm check library:message-passing",
    )
    library.add_argument("words", nargs="*", metavar="WORD", help="a test's name, or words in folder, name or text")
    library.add_argument("--path", action="store_true", help="print paths")
    library.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")


def library(options: Namespace) -> int:
    """Runs the command; gives its exit status."""
    from litmus.library import PREFIX, named, near, shipped, tests

    words = [word.removeprefix(PREFIX) for word in options.words]
    one = named(words[0]) if len(words) == 1 and words[0] else []
    found = [shipped(path) for path in one] if len(one) == 1 else list(tests(*words))
    if not found:
        hint = near(words[0]) if len(words) == 1 else None
        hint = hint or "ptxmm library lists all of them"
        sys.stderr.write(f"ptxmm library: error: no test has {' and '.join(map(repr, words))}: {hint}\n")
        return 2
    if options.format == "json":
        import json

        sys.stdout.write(json.dumps([test._asdict() for test in found], indent=2) + "\n")
    elif options.path:
        sys.stdout.write("".join(f"{test.path}\n" for test in found))
    elif len(one) == 1:
        with open(one[0], encoding="utf-8") as file:
            sys.stdout.write(file.read())
    else:
        sys.stdout.write("".join(_listed(found)))
    return 0


def _listed(found: list[Shipped]) -> list[str]:
    width, asked = max(len(test.name) for test in found), max(len(test.asked) for test in found)
    lines, folder = [], None
    for test in found:
        if test.folder != folder:
            lines.append(f"{test.folder}\n")
            folder = test.folder
        lines.append(f"  {test.name.ljust(width)}  {test.asked.ljust(asked)}  {test.about}".rstrip() + "\n")
    return lines
