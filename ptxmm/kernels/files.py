"""Which tests the paths of a command mean, kernel tests among them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from ptxmm.kernels.names import identity


class Variant(NamedTuple):
    """One test of a kernel test file; `name` is empty where the file is one test."""

    path: str
    name: str

    def __str__(self) -> str:
        return identity(self.path, self.name)


#: What is checked: a litmus test by its path, or a kernel test.
Item = str | Variant


def is_test(path: str) -> bool:
    """Whether a file that a folder holds is a test: by its ending, and of the many TOML files those that are ours."""
    if path.endswith(".toml"):
        from ptxmm.kernels.toml import holds_kernel_tests

        return holds_kernel_tests(path)
    return path.endswith(".litmus")


def split(path: str) -> Variant | None:
    """`lock.toml:weak` as file and variant, where there is such a file."""
    at = path.rfind(".toml:")
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
        elif problem is None and path.endswith(".toml"):
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
