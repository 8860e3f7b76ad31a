"""Headers that a compiler did not find, and where one of the name is: what a build system would have said stands nearby."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

#: What compilers say of a header that is not there: gcc and clang, cl.
_MISSING = re.compile(
    r"fatal error: '?(?P<name>[\w./+-]+)'?(?: file not found|: No such file or directory)"
    r"|Cannot open include file: '(?P<other>[^'\n]+)'"
)
#: So many folders above the source are looked at, and so many within each; what else they keep headers in.
_ABOVE, _WITHIN = 6, 200
_USUAL = ("", "include", "inc")


def advice(said: str, source: str) -> str:
    """What to tell the compiler of a source that `said` that a header is missing; empty where it said something else, or where
    no such header stands nearby."""
    found = _missing(said, source)
    if found is None:
        return ""
    name, folder = found
    option = shlex.quote(shlex.join(_included(folder)))
    return f"{name} is in {folder}: --nvcc {option} says so (nvcc = [...] in a kernel test)"


def options_for_headers(said: str, source: str) -> list[str]:
    """The options with which a compiler finds the header that it `said` to be missing; none where none stands nearby."""
    found = _missing(said, source)
    return [] if found is None else _included(found[1])


def _included(folder: str) -> list[str]:
    return ["-I", folder]


def _missing(said: str, source: str) -> tuple[str, str] | None:
    """The name of a header that is missing, and the folder nearby in which it stands."""
    missing = _MISSING.search(said)
    if missing is None:
        return None
    name = missing["name"] or missing["other"]
    folder = next((near for near in _near(source) if os.path.isfile(os.path.join(near, name))), None)
    return None if folder is None else (name, os.path.relpath(folder))


def _near(source: str) -> Iterator[str]:
    """The folders near a source that may hold its headers, the nearest first."""
    above = os.path.dirname(os.path.abspath(source))
    for _ in range(_ABOVE):
        yield from (os.path.join(above, usual) for usual in _USUAL)
        try:
            with os.scandir(above) as entries:
                found = sorted(e.path for _, e in zip(range(_WITHIN), entries, strict=False) if e.is_dir())
        except OSError:
            return
        yield from (os.path.join(folder, usual) for folder in found for usual in _USUAL)
        if above == (above := os.path.dirname(above)):
            return
