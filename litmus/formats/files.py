"""The files that PATH arguments mean: a file, a folder of tests, `@list`, or `-`: standard input."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from ptxcore.records import NamedTuple
from ptxcore.sources import STANDARD_INPUT, read_bytes, read_standard_input

#: A path and None, or a path that cannot be taken and what is wrong with it.
FoundText = tuple[str, str | None]


class WantedFiles(NamedTuple):
    """Which files of a folder are tests. `named`: whether a file of such a name may be one. `holds`: whether a regular file of
    such a name is one; raises OSError where it cannot be read."""

    named: Callable[[str], bool]
    holds: Callable[[str], bool]
    nothing: str  # what to say of a folder without any


#: As `litmus.library.PREFIX`, which is not imported for this.
_LIBRARY = "library:"
LITMUS = WantedFiles(
    lambda name: name.lower().endswith(".litmus"), lambda path: True, "no *.litmus file in this folder"
)


def find(paths: Iterable[str], wanted: WantedFiles = LITMUS) -> list[FoundText]:
    """Each file that the paths mean, in order, with None; or the path that means none, with what is wrong with it.

    A folder is searched for `*.litmus`, or for what else is `wanted`, sorted by path. What may be a test by its name and
    cannot be looked at (a link to nothing, a pipe, no permission) is told, never left out. Links to folders are followed,
    each folder once. `@list` names a file with a path on each line, relative to that file's folder; empty lines and lines
    that start with `#` do not count. A list may name folders and other lists; each list is read once. `-` is standard input,
    which is a test, and `@-` standard input which is a list. `library:NAME` is a test that ships, `library:FOLDER` those of a
    folder there, `library:` all; `library:NAME:TEST` one of the tests of a kernel.
    """
    found: list[FoundText] = []
    for path in paths:
        if path == STANDARD_INPUT:
            found.append(_standard_input())
            continue
        if path.startswith(_LIBRARY) and not os.path.lexists(path):
            found += _shipped(path, wanted)
            continue
        listed = list_file(path)
        found += _expand(path, wanted) if listed is None else _Lists(wanted).below(listed)
    return found


def _shipped(path: str, wanted: WantedFiles) -> list[FoundText]:
    from litmus.library import named, near

    name = path.removeprefix(_LIBRARY)
    shipped = named(name)
    found: list[FoundText] = [(test, None) for test in shipped if wanted.named(os.path.basename(test))]
    if found or shipped:
        return found or [(path, wanted.nothing)]
    whole, _, variant = name.rpartition(":")
    problem = f"no test of the library has this name: {near(whole or name) or 'ptxmm library lists them'}"
    # Of a file of several tests one: whoever knows of such files splits the path.
    return [(f"{test}:{variant}", problem) for test in named(whole) if whole] or [(path, problem)]


def text_of(path: str | os.PathLike[str]) -> bytes:
    """What stands in the file of a litmus test; `-`: on standard input. Raises OSError."""
    if str(path) == STANDARD_INPUT:
        return read_standard_input(LONGEST_TEST, "a litmus test")
    return read_bytes(path, LONGEST_TEST, "a litmus test")


def list_file(path: str) -> str | None:
    """The list that a path names; None where it names none. A list's own name may begin with `@`, as those of herd's tests do:
    `dir/@all`, and `@all` where there is such a file; else `@list` is the list in the file `list`."""
    if os.path.basename(path).startswith("@") and os.path.isfile(path):
        return path
    return path[1:] if path.startswith("@") else None


def _standard_input() -> FoundText:
    """Standard input as a test: read here, where nobody else reads it."""
    try:
        text_of(STANDARD_INPUT)
    except OSError as error:
        return STANDARD_INPUT, f"cannot read standard input: {_reason(error)}"
    return STANDARD_INPUT, None


def look(path: str, wanted: WantedFiles) -> FoundText | None:
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


def _expand(path: str, wanted: WantedFiles) -> list[FoundText]:
    try:
        if os.path.isdir(path):
            return _searched(path, wanted) or [(path, wanted.nothing)]
        os.stat(path)  # what is named may be a pipe: whoever names it means to write to it
        return [(path, None)]
    except FileNotFoundError:
        return [(path, "no such file or folder")]
    except (OSError, ValueError) as error:  # no permission, a name too long, a null byte
        return [(path, _reason(error))]


def _searched(path: str, wanted: WantedFiles) -> list[FoundText]:
    """The tests in a folder, and what may be one. Folders that cannot be read are told."""
    return sorted(_Search(wanted).below(path), key=lambda f: f[0])


class _Search:
    """A walk through a folder. Folders that links lead to come after all others, so that what can be reached by both ways
    has the name that it has without links."""

    def __init__(self, wanted: WantedFiles) -> None:
        self._wanted = wanted
        self._seen: set[str] = set()  # folders, by their real paths
        self._links: list[str] = []

    def below(self, path: str) -> list[FoundText]:
        found = list(self._walk(path))
        while self._links:
            links, self._links = sorted(self._links), []
            for link in links:
                found += self._walk(link)
        return found

    def _walk(self, folder: str) -> Iterator[FoundText]:
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

    def _entry(self, entry: os.DirEntry[str], waiting: list[str]) -> Iterator[FoundText]:
        try:
            is_folder = entry.is_dir()
        except OSError as error:  # a link that leads round in a circle, or where nobody may look
            if self._wanted.named(entry.name) or is_lost_folder(entry) or isinstance(error, PermissionError):
                yield entry.path, f"cannot read: {_reason(error)}"
            return
        if not is_folder:
            found = look(entry.path, self._wanted)
            if found is not None:
                yield found
            elif is_lost_folder(entry):
                yield entry.path, LOST
        elif not entry.is_symlink():
            waiting.append(entry.path)
        elif not leads_back(entry.path):
            self._links.append(entry.path)


#: What is said of a link to nothing whose name could be a folder's.
LOST = "a link to a folder, or a file, that is not there"


def is_lost_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a link to nothing that may have led to a folder of tests, as those of a repository that
    was not fetched do: its name has no ending. Links that editors and tools make begin with a point."""
    return entry.is_symlink() and "." not in entry.name and not os.path.exists(entry.path)


def leads_back(link: str) -> bool:
    """Whether a link leads to a folder that holds it: whoever follows it comes back to the link."""
    folder, here = os.path.realpath(link), os.path.realpath(os.path.dirname(link))
    return os.path.commonpath([folder, here]) == folder


#: No test that anybody wrote is longer; a file that is (a device, a core dump) is refused before it fills the memory.
LONGEST_TEST = 32 << 20
_LONGEST = 16 << 20  # bytes of a list
_MOST_NESTED = 100  # lists in lists
_LINE_END = re.compile(r"\r\n|\r|\n")


class _Lists:
    """A list and those that it names. What a second way leads to is there already; a list that leads to itself is a mistake."""

    def __init__(self, wanted: WantedFiles) -> None:
        self._wanted = wanted
        self._done: set[str] = set()  # lists, by their real paths
        self._open: list[str] = []

    def below(self, path: str) -> list[FoundText]:
        real = path if path == STANDARD_INPUT else os.path.realpath(path)
        if real in self._open:
            return [(_called(path), "the list names itself")]
        if len(self._open) >= _MOST_NESTED:
            return [(_called(path), f"more than {_MOST_NESTED} lists in each other")]
        if real in self._done:
            return []
        self._open.append(real)
        found = self._read(path)
        self._done.add(self._open.pop())
        return found

    def _read(self, path: str) -> list[FoundText]:
        try:
            data = read_standard_input if path == STANDARD_INPUT else partial(read_bytes, path)
            text = data(_LONGEST, "a list of tests").decode("utf-8-sig")
        except UnicodeDecodeError:
            return [(_called(path), "the list is not UTF-8")]
        except (OSError, ValueError) as error:
            return [(_called(path), f"cannot read the list: {_reason(error)}")]
        entries = [e for e in map(str.strip, _LINE_END.split(text)) if e and not e.startswith("#")]
        found: list[FoundText] = []
        for entry in entries:
            found += self._entry(os.path.dirname(path), entry)
        return found if entries else [(_called(path), "the list names no file")]

    def _entry(self, folder: str, entry: str) -> list[FoundText]:
        listed = list_file(os.path.join(folder, entry))
        if listed is None and entry.startswith("@"):
            listed = os.path.join(folder, entry[1:])
        if listed is not None:
            return self.below(os.path.join(os.curdir, listed) if listed == STANDARD_INPUT else listed)
        path = os.path.join(folder, entry)
        return _expand(os.path.join(os.curdir, path) if path == STANDARD_INPUT else path, self._wanted)


def _called(path: str) -> str:
    """A list as whoever asks for it calls it."""
    return path if os.path.basename(path).startswith("@") else f"@{path}"


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
