"""Who has a file open and locked, as far as the system tells."""

from __future__ import annotations

import os

_LOCKS = "/proc/locks"  # where it is on Linux; elsewhere nobody is named
_LONGEST = 80  # characters of a command


def holders(path: str) -> list[str]:
    """The other processes that hold a lock on the file or its journal, each as `process 12 (sqlite3 runs.db)`, sorted. Empty
    where there is none, or the system does not tell."""
    inodes = set()
    for name in (path, f"{path}-journal"):
        try:
            inodes.add(str(os.stat(name).st_ino))
        except OSError:
            continue
    try:
        with open(_LOCKS, encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return []
    # 1: POSIX  ADVISORY  WRITE 3568 fd:00:2531452 0 EOF, and with "->" behind the number one who waits
    found = {int(w[4]) for w in lines if len(w) >= 6 and w[4].isdecimal() and w[5].rsplit(":", 1)[-1] in inodes}
    return [_named(process) for process in sorted(found - {0, os.getpid()})]


def _named(process: int) -> str:
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = file.read().rstrip(b"\0").split(b"\0")
    except OSError:
        words = []
    command = b" ".join(words).decode("utf-8", "replace")
    command = "".join(c if c.isprintable() else "?" for c in command)
    if len(command) > _LONGEST:
        command = f"{command[:_LONGEST]}..."
    return f"process {process} ({command})" if command else f"process {process}"
