"""Texts that come from outside: files of bounded size, read without waiting for what never comes.

Who works on a text of a stranger (`given`) has only the files that came with it, whatever the text names.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from os import PathLike
from typing import ParamSpec, Protocol, TypeVar, cast

from ptxcore.records import NamedTuple

#: So many seconds a pipe or a device may keep silent.
PATIENCE = 60.0
_BLOCK = 1 << 16

ArgumentsT = ParamSpec("ArgumentsT")
FoundT = TypeVar("FoundT", covariant=True)


class _Given(NamedTuple):
    """The only files that there are, and why there are no others."""

    files: Mapping[str, bytes]
    reason: str

    def refuse(self, path: str | PathLike[str]) -> OSError:
        return OSError(errno.EACCES, self.reason, os.fspath(path))


_given: list[_Given] = []
_remembered: list[Callable[[], None]] = []


@contextmanager
def given(files: Mapping[str, bytes], reason: str) -> Iterator[None]:
    """Inside, inputs name these files and no others: what lies on a disk is not looked at, and not told of. Another name gives
    an OSError that says the `reason`. What was remembered of files is forgotten, before and behind."""
    _given.append(_Given(files, reason))
    _forget()
    try:
        yield
    finally:
        _given.pop()
        _forget()


def _forget() -> None:
    for forget in _remembered:
        forget()


class Remembering(Protocol[ArgumentsT, FoundT]):
    """A function that remembers."""

    def __call__(self, *arguments: ArgumentsT.args, **named: ArgumentsT.kwargs) -> FoundT: ...


def remembered(most: int) -> Callable[[Callable[ArgumentsT, FoundT]], Remembering[ArgumentsT, FoundT]]:
    """`lru_cache` of `most` entries for a function that takes paths of files that inputs name."""

    def of(function: Callable[ArgumentsT, FoundT]) -> Remembering[ArgumentsT, FoundT]:
        kept = lru_cache(maxsize=most)(function)
        _remembered.append(kept.cache_clear)
        return cast("Remembering[ArgumentsT, FoundT]", kept)

    return of


def status(path: str | PathLike[str]) -> os.stat_result:
    """When a file that an input names was changed, and how long it is, for those that are not read by `read_bytes`. Raises
    OSError where there is none, and for every one where files are `given`."""
    if _given:
        raise _given[-1].refuse(path)
    return os.stat(path)


def read_bytes(path: str | PathLike[str], longest: int, what: str) -> bytes:
    """What stands in a file, or comes out of a pipe: at most `longest` bytes, which is more than any `what` (as in "a litmus
    test") has. Raises OSError for what cannot be read, for what is longer, and for a pipe that nobody writes to."""
    if _given:
        return _of_given(os.fspath(path), longest, what)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        about = os.fstat(descriptor)
        mode = about.st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, os.strerror(21))
        data = _read(descriptor, longest, about)
        if not data and stat.S_ISFIFO(mode):
            raise OSError("a pipe that nothing was written to")
    finally:
        os.close(descriptor)
    if len(data) > longest:
        raise OSError(f"longer than {_size(longest)}: not {what}")
    return data


def _of_given(path: str, longest: int, what: str) -> bytes:
    data = _given[-1].files.get(path)
    if data is None:
        raise _given[-1].refuse(path)
    if len(data) > longest:
        raise OSError(f"longer than {_size(longest)}: not {what}")
    return data


#: What stands for standard input where a path does.
STANDARD_INPUT = "-"
_standard_input: list[bytes] = []


def read_standard_input(longest: int, what: str) -> bytes:
    """What comes from standard input, as `read_bytes` has it; read once, and remembered: also for processes that are copies
    of this one. Raises OSError."""
    if _given:
        raise _given[-1].refuse(STANDARD_INPUT)
    if not _standard_input:
        _standard_input.append(_read(0, longest, os.fstat(0)))
    data = _standard_input[0]
    if len(data) > longest:
        raise OSError(f"longer than {_size(longest)}: not {what}")
    return data


def _read(descriptor: int, longest: int, about: os.stat_result) -> bytes:
    """Everything, or a little more than `longest`."""
    found = bytearray()
    waits = not stat.S_ISREG(about.st_mode)
    block = max(_BLOCK, about.st_size + 1)  # whoever reads sets aside as much as is asked for
    while len(found) <= longest:
        if waits and not select.select([descriptor], [], [], PATIENCE)[0]:
            raise OSError(f"nothing came out of it for {PATIENCE:g} s")
        read = os.read(descriptor, min(block, longest + 1 - len(found)))
        if not read:
            break
        found += read
    return bytes(found)


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def beside(path: str, of: str) -> str:
    """Where a file is that the module `of` says that it was compiled from: where it says, else beside the module, if one of the
    name is there; where it says, for the text of a stranger."""
    if _given:
        return path
    near = os.path.join(os.path.dirname(of), os.path.basename(path))
    return near if not os.path.exists(path) and os.path.exists(near) else path
