"""The files that PATH arguments mean: a file, a folder of tests, or `@list`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ptxcore.sources import read_bytes

#: A path and None, or a path that cannot be taken and what is wrong with it.
Found = tuple[str, str | None]


class Wanted(NamedTuple):
    """Which files of a folder are tests. `named`: whether a file of such a name may be one. `holds`: whether a regular file of
    such a name is one; raises OSError where it cannot be read."""

    named: Callable[[str], bool]
    holds: Callable[[str], bool]
    nothing: str  # what to say of a folder without any


LITMUS = Wanted(lambda name: name.lower().endswith(".litmus"), lambda path: True, "no *.litmus file in this folder")


def find(paths: Iterable[str], wanted: Wanted = LITMUS) -> list[Found]:
    """Each file that the paths mean, in order, with None; or the path that means none, with what is wrong with it.

    A folder is searched for `*.litmus`, or for what else is `wanted`, sorted by path. What may be a test by its name and
    cannot be looked at (a link to nothing, a pipe, no permission) is told, never left out. Links to folders are followed,
    each folder once. `@list` names a file with a path on each line, relative to that file's folder; empty lines and lines
    that start with `#` do not count. A list may name folders but no other lists.
    """
    found: list[Found] = []
    for path in paths:
        found += _listed(path[1:], wanted) if path.startswith("@") else _expand(path, wanted)
    return found


def look(path: str, wanted: Wanted) -> Found | None:
    """What a file of a folder is: a test, something that may be one and cannot be taken, or None: not ours."""
    if not wanted.named(os.path.basename(path)):
        return None
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return None
        if not stat.S_ISREG(mode):  # it is not waited for what a pipe or a device has to say
            return path, "not a regular file"
        return (path, None) if wanted.holds(path) else None
    except FileNotFoundError:
        return path, "a link to a file that is not there"
    except OSError as error:
        return path, f"cannot read: {_reason(error)}"


def _expand(path: str, wanted: Wanted) -> list[Found]:
    try:
        if os.path.isdir(path):
            return _searched(path, wanted) or [(path, wanted.nothing)]
        os.stat(path)  # what is named may be a pipe: whoever names it means to write to it
        return [(path, None)]
    except FileNotFoundError:
        return [(path, "no such file or folder")]
    except (OSError, ValueError) as error:  # no permission, a name too long, a null byte
        return [(path, _reason(error))]


def _searched(path: str, wanted: Wanted) -> list[Found]:
    """The tests in a folder, and what may be one. Folders that cannot be read are told."""
    return sorted(_Search(wanted).below(path), key=lambda f: f[0])


class _Search:
    """A walk through a folder. Folders that links lead to come after all others, so that what can be reached by both ways
    has the name that it has without links."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._seen: set[str] = set()  # folders, by their real paths
        self._links: list[str] = []

    def below(self, path: str) -> list[Found]:
        found = list(self._walk(path))
        while self._links:
            links, self._links = sorted(self._links), []
            for link in links:
                found += self._walk(link)
        return found

    def _walk(self, folder: str) -> Iterator[Found]:
        waiting = [folder]
        while waiting:
            folder = waiting.pop()
            real = os.path.realpath(folder)
            if real in self._seen:
                continue
            self._seen.add(real)
            try:
                with os.scandir(folder) as entries:
                    for entry in sorted(entries, key=lambda e: e.name):
                        yield from self._entry(entry, waiting)
            except OSError as error:
                yield folder, f"cannot read the folder: {_reason(error)}"

    def _entry(self, entry: os.DirEntry[str], waiting: list[str]) -> Iterator[Found]:
        try:
            is_folder = entry.is_dir()
        except OSError as error:  # a link that leads round in a circle, or where nobody may look
            if self._wanted.named(entry.name) or isinstance(error, PermissionError):
                yield entry.path, f"cannot read: {_reason(error)}"
            return
        if not is_folder:
            found = look(entry.path, self._wanted)
            if found is not None:
                yield found
        elif not entry.is_symlink():
            waiting.append(entry.path)
        elif not leads_back(entry.path):
            self._links.append(entry.path)


def leads_back(link: str) -> bool:
    """Whether a link leads to a folder that holds it: whoever follows it comes back to the link."""
    folder, here = os.path.realpath(link), os.path.realpath(os.path.dirname(link))
    return os.path.commonpath([folder, here]) == folder


_LONGEST = 16 << 20  # bytes of a list
_LINE_END = re.compile(r"\r\n|\r|\n")


def _listed(path: str, wanted: Wanted) -> list[Found]:
    try:
        text = read_bytes(path, _LONGEST, "a list of tests").decode("utf-8-sig")
    except UnicodeDecodeError:
        return [(f"@{path}", "the list is not UTF-8")]
    except (OSError, ValueError) as error:
        return [(f"@{path}", f"cannot read the list: {_reason(error)}")]
    folder = os.path.dirname(path)
    found: list[Found] = []
    for line in _LINE_END.split(text):
        entry = line.strip()
        if entry and not entry.startswith("#"):
            found += _expand(os.path.join(folder, entry), wanted)
    return found or [(f"@{path}", "the list names no file")]


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
