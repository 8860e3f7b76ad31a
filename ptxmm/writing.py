"""Files that are written: whole, or not at all."""

from __future__ import annotations

import os
import tempfile


def write_whole(path: str, text: str) -> None:
    """Writes a file of which nobody ever sees a part, not on a full disk either. Raises OSError, which names the file; what was
    there before stays then. What is no regular file (a pipe, a terminal) is written to."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            return
        _replace(os.path.realpath(path), text)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), path) from None


def _replace(path: str, text: str) -> None:
    handle, part = tempfile.mkstemp(prefix=".ptxmm-", dir=os.path.dirname(path))
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.chmod(part, _mode(path))
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _mode(path: str) -> int:
    """The permissions that a file has, or would have had if it had been opened and not replaced."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
