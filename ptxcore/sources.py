"""Texts that come from outside: files of bounded size, read without waiting for ever."""

from __future__ import annotations

import os
import select
import stat
from os import PathLike

#: So many seconds a pipe or a device may keep silent.
PATIENCE = 60.0
_BLOCK = 1 << 16


def read_bytes(path: str | PathLike[str], longest: int, what: str) -> bytes:
    """What stands in a file, or comes out of a pipe: at most `longest` bytes, which is more than any `what` (as in "a litmus
    test") has. Raises OSError for what cannot be read, for what is longer, and for a pipe that nobody writes to."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, os.strerror(21))
        data = _read(descriptor, longest, waits=not stat.S_ISREG(mode))
        if not data and stat.S_ISFIFO(mode):
            raise OSError("a pipe that nothing was written to")
    finally:
        os.close(descriptor)
    if len(data) > longest:
        raise OSError(f"longer than {_size(longest)}: not {what}")
    return data


#: What stands for standard input where a path does.
STANDARD_INPUT = "-"
_standard_input: list[bytes] = []


def read_standard_input(longest: int, what: str) -> bytes:
    """What comes from standard input, as `read_bytes` has it; read once, and remembered: also for processes that are copies
    of this one. Raises OSError."""
    if not _standard_input:
        _standard_input.append(_read(0, longest, waits=not stat.S_ISREG(os.fstat(0).st_mode)))
    data = _standard_input[0]
    if len(data) > longest:
        raise OSError(f"longer than {_size(longest)}: not {what}")
    return data


def _read(descriptor: int, longest: int, *, waits: bool) -> bytes:
    """Everything, or a little more than `longest`."""
    found = bytearray()
    while len(found) <= longest:
        if waits and not select.select([descriptor], [], [], PATIENCE)[0]:
            raise OSError(f"nothing came out of it for {PATIENCE:g} s")
        block = os.read(descriptor, min(_BLOCK if waits else longest + 1, longest + 1 - len(found)))
        if not block:
            break
        found += block
    return bytes(found)


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
