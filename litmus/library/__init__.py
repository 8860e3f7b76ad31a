"""The tests that ship, in folders by what they are about: `tests` lists them, `named` finds one.

Most are litmus tests. What whole warps and warpgroups do together (`wgmma`, `tcgen05`) is in kernels: PTX modules whose tests
are annotations, one that is right and what it must not be without.

Imports the reader of `litmus.formats` alone. May be imported by whoever wants a test by its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ptxcore.records import NamedTuple

#: How a path begins that names tests of the library, as in `library:MP+rel+acq`.
PREFIX = "library:"
_HERE = os.path.dirname(__file__)
_LITMUS, _KERNEL = ".litmus", ".ptx"
#: How the annotation of a kernel begins, with the name of its test behind it.
_ANNOTATION = "// ptxmm: name="
_KINDS = {"exists": "allowed", "~exists": "forbidden", "forall": "required"}


class Shipped(NamedTuple):
    """A test that ships. `about` is one line. `expects` is what the test says, and what holds under
    ptx-9.0: its condition as it stands there, and what else it asks; of kernels the verdict of each test."""

    name: str
    folder: str
    path: str
    about: str
    expects: str

    @property
    def asked(self) -> str:
        """What it says of its outcome, in herd's words, and what else it asks."""
        words = (_KINDS.get(part.split(" ")[0], part) for part in self.expects.split("; "))
        return ", ".join(words)


def paths() -> list[str]:
    """The paths of all litmus tests, in the order of their folders and names."""
    return _ending(_LITMUS)


def kernels() -> list[str]:
    """The paths of all kernels, in the same order."""
    return _ending(_KERNEL)


def every() -> list[str]:
    """The paths of all tests."""
    return _ending(_LITMUS, _KERNEL)


def called(path: str) -> str:
    """The name of the test in a file of the library."""
    return os.path.splitext(os.path.basename(path))[0]


def _ending(*endings: str) -> list[str]:
    found = []
    for folder, _, names in os.walk(_HERE):
        found += [os.path.join(folder, name) for name in names if name.endswith(endings)]
    return sorted(found)


def _placed(path: str) -> str:
    """A path as it is written from the library's folder."""
    return os.path.relpath(path, _HERE).replace(os.sep, "/")


def tests(*words: str) -> Iterator[Shipped]:
    """The tests that have each of some words in their folder, name or text, in upper case or lower; lazily."""
    wanted = [word.lower() for word in words]
    for path in every():
        with open(path, encoding="utf-8") as file:
            text = (_placed(path) + "\n" + file.read()).lower()
        if all(word in text for word in wanted):
            yield shipped(path)


def named(name: str) -> list[str]:
    """The paths of the tests that a name stands for: of one test, `MP+rel+acq` or `message-passing/MP+rel+acq`, or of those
    in a folder; all for an empty name; none where nothing has that name."""
    wanted = name.strip("/")
    found = []
    for path in every():
        whole = _placed(path)
        bare = os.path.splitext(whole)[0]
        if wanted in ("", whole, bare, bare.rpartition("/")[2], whole.rpartition("/")[2]) or whole.startswith(
            wanted + "/"
        ):
            found.append(path)
    return found


def near(name: str) -> str | None:
    """What somebody may have meant who gave a name that no test has."""
    from ptxcore.diagnostics import nearest

    known = {called(p) for p in every()} | {os.path.dirname(_placed(p)) for p in every()}
    return nearest(name[:80], sorted(known))


def shipped(path: str) -> Shipped:
    """What is told of the test in a file of the library."""
    return _kernel(path) if path.endswith(_KERNEL) else _litmus(path)


def _litmus(path: str) -> Shipped:
    from litmus.formats.printer import write_proposition
    from litmus.formats.reader import read

    with open(path, "rb") as file:
        test = read(file.read(), path)
    folder = os.path.dirname(_placed(path))
    asks = [f"{c.quantifier} {write_proposition(c.proposition)}" for c in test.conditions if c.asked]
    return Shipped(test.name, folder, path, " ".join(" ".join(test.comments).split()), "; ".join([*asks, *test.checks]))


def _kernel(path: str) -> Shipped:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    about = text.partition("\n")[0].lstrip("/ ")
    expects = [_expected(line) for line in text.splitlines() if line.startswith(_ANNOTATION)]
    return Shipped(called(path), os.path.dirname(_placed(path)), path, about, "; ".join(expects))


def _expected(annotation: str) -> str:
    """The name of a test and the verdict that is right."""
    name, *words = annotation.removeprefix(_ANNOTATION).split()
    return f"{name}: {next((word.removeprefix('expect=') for word in words if word.startswith('expect=')), 'ok')}"
