"""Which tests the paths of a command mean, kernel tests among them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from litmus.formats.files import Wanted
from ptxmm.kernels.names import identity


class Variant(NamedTuple):
    """One test of a kernel test file; `name` is empty where the file is one test."""

    path: str
    name: str

    def __str__(self) -> str:
        return identity(self.path, self.name)


#: What is checked: a litmus test by its path, or a kernel test.
Item = str | Variant


#: Files that belong to another tool by their name, whatever stands in them.
_OTHERS = frozenset({"pyproject.toml"})


def _named(name: str) -> bool:
    return name.lower().endswith((".litmus", ".toml")) and name not in _OTHERS


def _holds(path: str) -> bool:
    if not is_toml(path):
        return True
    from ptxmm.kernels.recognise import holds_kernel_tests, is_blank

    return holds_kernel_tests(path) or is_blank(path)


def is_toml(path: str) -> bool:
    """Whether a file is read as kernel tests, not as a litmus test: its ending tells."""
    return path.lower().endswith(".toml")


#: What is a test in a folder: litmus tests by their ending, and of the many TOML files those that are, or may be, ours.
TESTS = Wanted(_named, _holds, "no test in this folder")


def split(path: str) -> Variant | None:
    """`lock.toml:weak` as file and variant, where there is such a file."""
    at = path.lower().rfind(".toml:")
    if at < 0 or os.path.exists(path) or not os.path.isfile(path[: at + 5]):
        return None
    return Variant(path[: at + 5], path[at + 6 :])


def expand(paths: Iterable[tuple[str, str | None]]) -> list[tuple[Item, str | None]]:
    """Each file as its tests: kernel tests by their variants, what is wrong with a path as it is."""
    found: list[tuple[Item, str | None]] = []
    for path, problem in paths:
        one = split(path) if problem else None
        if one is not None:
            found.append((one, None))
        elif problem is None and is_toml(path):
            found += [(variant, None) for variant in _variants(path)]
        else:
            found.append((path, problem))
    return found


def _variants(path: str) -> list[Variant]:
    """The tests in a file; the file as one where it cannot be read: checking it says why."""
    from ptxcore.diagnostics import InputError
    from ptxmm.kernels.toml import read

    try:
        return [Variant(path, name) for name in read(path).variants]
    except (InputError, OSError):
        return [Variant(path, "")]
