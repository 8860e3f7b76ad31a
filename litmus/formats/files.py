"""The files that PATH arguments mean: a file, a folder of tests, or `@list`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Found = tuple[str, str | None]


def find(paths: Iterable[str]) -> list[Found]:
    """Each file that the paths mean, in order, with None; or the path that means none, with what is wrong with it.

    A folder is searched for `*.litmus`, sorted by path. `@list` names a file with a path on each line, relative to that
    file's folder; empty lines and lines that start with `#` do not count. A list may name folders but no other lists.
    """
    found: list[Found] = []
    for path in paths:
        if path.startswith("@"):
            found += _listed(path[1:])
        else:
            found += _expand(path)
    return found


def _expand(path: str) -> list[Found]:
    place = Path(path)
    try:
        if place.is_dir():
            tests = sorted(str(p) for p in place.rglob("*.litmus") if p.is_file())
            return [(p, None) for p in tests] or [(path, "no *.litmus file in this folder")]
        if place.exists():
            return [(path, None)]
    except (OSError, ValueError) as error:  # no permission, a name too long, a null byte
        return [(path, str(error))]
    return [(path, "no such file or folder")]


def _listed(path: str) -> list[Found]:
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return [(f"@{path}", "the list is not UTF-8")]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return [(f"@{path}", f"cannot read the list: {reason}")]
    folder = Path(path).parent
    found: list[Found] = []
    for line in text.splitlines():
        entry = line.strip()
        if entry and not entry.startswith("#"):
            found += _expand(str(folder / entry))
    return found
