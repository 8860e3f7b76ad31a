"""Which tests the paths of a command mean: kernel tests among them, and those of templates."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from litmus.formats.files import WantedFiles, text_of
from ptxcore.records import NamedTuple
from ptxmm.result import identity

if TYPE_CHECKING:
    from ptxmm.kernels.annotations import AnnotatedFile
    from ptxmm.kernels.asked import AskedKernel
    from ptxmm.kernels.toml import KernelFile


class Variant(NamedTuple):
    """One test of a kernel test file, or of a template; `name` is empty where the file is one test."""

    path: str
    name: str

    def __str__(self) -> str:
        return identity(self.path, self.name)


#: What is checked: a litmus test by its path, a kernel test, or a kernel that is asked for on the command line.
NamedTest: TypeAlias = "str | Variant | AskedKernel"


#: How the names of files end that may be tests.
ENDINGS = (".litmus", ".toml", ".test", ".cu", ".cuh", ".ptx")
_CODE = (".cu", ".cuh", ".ptx")
#: How the names of files end that may hold several tests.
_SEVERAL = (".toml", ".test", *_CODE)
#: So many bytes of a `.test` file, of which other tools have many, say whether it is one of nvlitmus's.
_LOOKED_AT = 1 << 16
#: Files that belong to another tool by their name, whatever stands in them.
_OTHERS = frozenset({"pyproject.toml"})


def _named(name: str) -> bool:
    return name.lower().endswith(ENDINGS) and name not in _OTHERS


def _holds(path: str) -> bool:
    if path.lower().endswith(".test"):
        from litmus.formats.nvlitmus import recognised

        with open(path, "rb") as file:
            return recognised(file.read(_LOOKED_AT).decode("utf-8", "replace"))
    if is_code(path):
        from ptxmm.kernels.annotations import annotated

        return annotated(path)
    if not is_toml(path):
        return True
    from ptxmm.kernels.recognise import holds_kernel_tests, is_blank

    return holds_kernel_tests(path) or is_blank(path)


def is_toml(path: str) -> bool:
    """Whether a file is read as kernel tests, not as a litmus test: its ending tells."""
    return path.lower().endswith(".toml")


def is_code(path: str) -> bool:
    """Whether a file is CUDA C++ or PTX, whose tests are its annotations: its ending tells."""
    return path.lower().endswith(_CODE)


def of_kernels(path: str) -> bool:
    """Whether the tests of a file are kernel tests: its ending tells."""
    return is_toml(path) or is_code(path)


def may_be_template(path: str) -> bool:
    """Whether a file may be a template of several tests: nvlitmus's have an ending of their own, standard input has none."""
    return path.lower().endswith(".test") or path == "-"


#: What is a test in a folder: litmus tests by their ending, of the many TOML and `.test` files those that are ours, or may be,
#: and CUDA C++ and PTX that has annotations.
TESTS = WantedFiles(_named, _holds, "no test in this folder")


def split(path: str) -> Variant | None:
    """`lock.toml:weak`, `lock.cu:incr` or `mp.test:3` as file and variant, where there is such a file."""
    at = max(
        path.lower().rfind(f"{ending}:") + len(ending) if f"{ending}:" in path.lower() else -1 for ending in _SEVERAL
    )
    if at < 0 or os.path.exists(path) or not os.path.isfile(path[:at]):
        return None
    return Variant(path[:at], path[at + 1 :])


def expand(paths: Iterable[tuple[str, str | None]]) -> list[tuple[NamedTest, str | None]]:
    """Each file as its tests: kernel tests by their variants, what is wrong with a path as it is."""
    found: list[tuple[NamedTest, str | None]] = []
    for path, problem in paths:
        one = split(path) if problem else None
        if one is not None:
            found.append((one, None))
        elif problem is None and (of_kernels(path) or may_be_template(path)):
            variants = _variants(path) if of_kernels(path) else _instances(path)
            found += [(variant, None) for variant in variants]
        else:
            found.append((path, problem))
    return found


def _instances(path: str) -> list[NamedTest]:
    """The tests of a template; the file as one where it is none, or cannot be read."""
    from litmus.formats.nvlitmus import recognised, rows

    try:
        text = text_of(path).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return [path]
    count = len(rows(text) or ()) if recognised(text) else 0
    return [Variant(path, str(number)) for number in range(1, count + 1)] or [path]


def _variants(path: str) -> list[Variant]:
    """The tests in a file; the file as one where it cannot be read: checking it says why."""
    from ptxcore.diagnostics import InputError

    try:
        return [Variant(path, name) for name in tests_of(path).variants] or [Variant(path, "")]
    except (InputError, OSError):
        return [Variant(path, "")]


def tests_of(path: str) -> KernelFile | AnnotatedFile:
    """The kernel tests in a file. Raises InputError for everything that is wrong in it, OSError where it cannot be read."""
    if is_code(path):
        from ptxmm.kernels.annotations import read as annotations

        return annotations(path)
    from ptxmm.kernels.toml import read

    return read(path)
