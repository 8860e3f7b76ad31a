"""The files that PATH arguments mean: a file, a folder of tests, or `@list`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

Found = tuple[str, str | None]


Wanted = Callable[[str], bool]


def _is_litmus(path: str) -> bool:
    return path.endswith(".litmus")


def find(paths: Iterable[str], wanted: Wanted = _is_litmus) -> list[Found]:
    """Each file that the paths mean, in order, with None; or the path that means none, with what is wrong with it.

    A folder is searched for `*.litmus`, or for what else is `wanted`, sorted by path. `@list` names a file with a path
    on each line, relative to that file's folder; empty lines and lines that start with `#` do not count. A list may name
    folders but no other lists.
    """
    found: list[Found] = []
    for path in paths:
        found += _listed(path[1:], wanted) if path.startswith("@") else _expand(path, wanted)
    return found


def _expand(path: str, wanted: Wanted) -> list[Found]:
    try:
        if os.path.isdir(path):
            nothing = "no *.litmus file in this folder" if wanted is _is_litmus else "no test in this folder"
            return _searched(path, wanted) or [(path, nothing)]
        os.stat(path)
        return [(path, None)]
    except FileNotFoundError:
        return [(path, "no such file or folder")]
    except (OSError, ValueError) as error:  # no permission, a name too long, a null byte
        return [(path, _reason(error))]


def _searched(path: str, wanted: Wanted) -> list[Found]:
    """The tests in a folder. Folders that cannot be read are told; what is a pipe or a device is not waited for."""
    closed: list[OSError] = []
    found: list[Found] = []
    for folder, _, names in os.walk(path, onerror=closed.append):
        for name in names:
            test = os.path.join(folder, name)
            special = os.path.exists(test) and not os.path.isfile(test)
            if _is_litmus(test) or (not special and wanted(test)):
                found.append((test, "not a regular file" if special else None))
    found += [(str(error.filename), f"cannot read the folder: {_reason(error)}") for error in closed]
    return sorted(found, key=lambda f: f[0])


def _listed(path: str, wanted: Wanted) -> list[Found]:
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
    except UnicodeDecodeError:
        return [(f"@{path}", "the list is not UTF-8")]
    except (OSError, ValueError) as error:
        return [(f"@{path}", f"cannot read the list: {_reason(error)}")]
    folder = os.path.dirname(path)
    found: list[Found] = []
    for line in text.splitlines():
        entry = line.strip()
        if entry and not entry.startswith("#"):
            found += _expand(os.path.join(folder, entry), wanted)
    return found or [(f"@{path}", "the list names no file")]


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
