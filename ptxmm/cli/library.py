"""`ptxmm library`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from litmus.library import Shipped


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
