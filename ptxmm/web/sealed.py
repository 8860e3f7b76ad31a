"""A process that is shut off: it reads no file but the code and the data of its own packages, writes none, starts no program,
reaches no network, has no environment, and gets only so much memory.

That is the second wall. The first is `ptxcore.sources.given`: what a text names is never looked for on a disk. Behind either
of them the other one holds.
"""

from __future__ import annotations

import os
import sys
from typing import Any

#: How the names of files end that are code, or data that ships with it.
_OWN_ENDINGS = (".py", ".pyc", ".pyd", ".so", ".dll", ".dylib", ".lark", ".cat", ".litmus", ".md")
#: What no check does: other programs, other processes, other machines, changes of files.
_REFUSED = (
    "subprocess.",
    "socket.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.system",
    "os.kill",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "os.chflags",
    "os.utime",
    "os.setxattr",
    "os.removexattr",
    "pty.",
    "shutil.",
    "tempfile.",
    "urllib.",
    "ftplib.",
    "http.",
    "smtplib.",
    "sqlite3.",
    "webbrowser.",
    "winreg.",
    "msvcrt.",
    "mmap.",
    "fcntl.",
)
_LISTED = ("os.listdir", "os.scandir")


class Sealed(PermissionError):
    """Something was tried that a sealed process does not do."""


def seal(memory: int | None) -> None:
    """Shuts this process off, for good; `memory`: so many bytes it may take beyond what it has."""
    roots = _roots()
    sys.path[:] = [os.path.abspath(folder) for folder in sys.path]
    os.environ.clear()
    _limit(memory)
    sys.addaudithook(_Watch(roots))


def _roots() -> tuple[str, ...]:
    """The folders in which code lies."""
    found = [os.path.abspath(folder) for folder in sys.path if folder and os.path.isdir(folder)]
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return tuple(dict.fromkeys(os.path.join(folder, "") for folder in (here, *found, sys.prefix, sys.base_prefix)))


class _Watch:
    """Sees what the interpreter is about to do, and refuses what a check has no reason for."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self._roots = roots

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._open(*arguments[:3])
        elif event in _LISTED:
            if not self._is_own(arguments[0]):
                raise Sealed(f"{event} is refused here")
        elif event.startswith(_REFUSED):
            raise Sealed(f"{event} is refused here")

    def _open(self, path: Any, mode: Any, flags: Any) -> None:
        if isinstance(path, int):
            return
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        if writes or not text.endswith(_OWN_ENDINGS) or not self._is_own(path):
            raise Sealed("no file is opened here")

    def _is_own(self, path: Any) -> bool:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        return os.path.join(os.path.abspath(os.fsdecode(path)), "").startswith(self._roots)


def _limit(memory: int | None) -> None:
    """No core dumps, no files, so much memory; where the platform has such limits."""
    try:
        import resource
    except ImportError:
        return
    wanted = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0}
    used = _address_space()
    if memory is not None and used is not None:
        wanted["RLIMIT_AS"] = used + memory
    for name, value in wanted.items():
        which = getattr(resource, name, None)
        if which is not None:
            most = resource.getrlimit(which)[1]
            value = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(which, (value, value))


def _address_space() -> int | None:
    """The bytes of this process's address space, where Linux tells them."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
