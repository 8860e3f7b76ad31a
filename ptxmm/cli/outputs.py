"""Files that a run of `ptxmm check` writes: none is in another's place, or in that of a test."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable

#: Options that name a file to write.
_WRITTEN = ("junit", "sarif", "write-baseline", "cache")


def clash(options: Namespace, tests: Iterable[str]) -> str | None:
    """What to say where a file would be written over something: another report, or one of the tests that are asked."""
    taken = {os.path.realpath(path): "a test of this run" for path in tests}
    for option in _WRITTEN:
        path = getattr(options, option.replace("-", "_"))
        if not path or (option == "cache" and path == "none") or _is_device(path):
            continue
        place = os.path.realpath(path)
        if place in taken:
            return f"--{option} {path} is {taken[place]}: what is there would be lost"
        taken[place] = f"the file of --{option}"
    return None


def _is_device(path: str) -> bool:
    """Whether it takes all that is written, as /dev/null does."""
    return os.path.exists(path) and not os.path.isfile(path)
