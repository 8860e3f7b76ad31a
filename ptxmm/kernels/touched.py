"""Which tests a change concerns: those that changed, and those that are made of what did.

Where that is not known, as of headers that a compiler may read, a test counts as concerned: silence would be green.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from litmus.formats.files import FoundText, find, list_file
from ptxcore.sources import read_bytes
from ptxmm.kernels.document import tree_of
from ptxmm.kernels.files import TESTS, is_code, is_toml
from ptxmm.kernels.modules import is_source
from ptxmm.kernels.toml import LONGEST

#: What every test may rest on: models, and a project's defaults.
_OF_ALL = (".cat", "pyproject.toml")
#: Code that is no test and no module: whatever is compiled may read it.
_HEADERS = (".h", ".cuh", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".def", ".tcc", ".tpp")
#: Arrays that annotations of a source name, as in `x=data.npy`.
_ARRAY = re.compile(r'"(?P<quoted>[^"\n]+\.npy)"|(?P<bare>[^\s=,"{}]+\.npy)', re.IGNORECASE)

#: How the names of files end that kernel tests name.
_NAMED = (".cu", ".ptx", ".npy")


def concerned(paths: Sequence[str], of_all: Iterable[str] = ()) -> list[FoundText]:
    """The tests below the folders (and lists, and names of the library) among the paths that concern the files among them, each
    with what is wrong with it. Every test rests on the files `of_all`, as known findings. Raises ValueError where no path
    says where the tests are."""
    changed = [path for path in paths if os.path.isfile(path) and list_file(path) is None]
    places = [path for path in paths if path not in changed]
    if not places:
        raise ValueError("--changed: write a folder of tests, too, as in: ptxmm check --changed . lock.cu")
    found = find(places, TESTS)
    touched = frozenset(map(_real, changed))
    if any(path.lower().endswith(_OF_ALL) for path in changed) or touched.intersection(map(_real, of_all)):
        return found
    made = {path: _made_of(path) for path, problem in found if problem is None}
    known = {source for sources in made.values() for source in sources or ()}
    spread = any(path.lower().endswith(_HEADERS) or (is_source(path) and path not in known) for path in touched)
    return [(path, problem) for path, problem in found if problem is not None or _concerns(made[path], touched, spread)]


def _concerns(sources: frozenset[str] | None, touched: frozenset[str], spread: bool) -> bool:
    """Whether a test is made of what was touched; `spread`: that is also what any compiled code may have read."""
    if sources is None or sources & touched or any(map(_missing, sources)):
        return True
    compiled = [path for path in sources if is_source(path)]
    return bool(compiled) and (spread or any(_mentions(path, touched) for path in compiled))


def _missing(path: str) -> bool:
    """Whether a file is not there, which was renamed or removed: a list of what changed need not have its old name."""
    return path.lower().endswith(_NAMED) and not os.path.lexists(path)


def _made_of(path: str) -> frozenset[str] | None:
    """The files that a test is made of, itself among them; None where that is not known."""
    own = _real(path)
    if is_code(path):
        folder = os.path.dirname(path)
        named = _ARRAY.findall(_text(own).decode("utf-8", "surrogateescape"))
        return frozenset([own, *(_real(os.path.join(folder, quoted or bare)) for quoted, bare in named)])
    if not is_toml(path):
        return frozenset([own])
    try:
        tree = tree_of(read_bytes(path, LONGEST, "a kernel test").decode("utf-8-sig").replace("\r\n", "\n"))
    except (OSError, ValueError):
        return None  # its reader says what is wrong with it
    folder = os.path.dirname(path)
    return frozenset([own, *(_real(os.path.join(folder, text)) for text in _strings(tree) if "\0" not in text)])


def _strings(value: Any) -> Iterator[str]:
    """Every string of a document: whatever key it stands under, it may name a file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        inner: Iterable[Any] = value.values() if isinstance(value, dict) else value
        for each in inner:
            yield from _strings(each)


def _mentions(path: str, touched: frozenset[str]) -> bool:
    """Whether a source names one of these files, as it does that it includes, whatever their names end with."""
    text = _text(path)
    return any(os.path.basename(name).encode("utf-8", "surrogateescape") in text for name in touched)


@cache
def _text(path: str) -> bytes:
    try:
        return read_bytes(path, LONGEST, "a source")
    except (OSError, ValueError):
        return b""  # its compiler says what is wrong with it


def _real(path: str) -> str:
    return os.path.realpath(path)
