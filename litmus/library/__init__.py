"""The litmus tests that ship, in folders by what they are about: `tests` lists them, `named` finds one.

A room below `litmus.formats`, which reads them. May be imported by whoever wants a test by its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

#: How a path begins that names tests of the library, as in `library:MP+rel+acq`.
PREFIX = "library:"


_KINDS = {"exists": "allowed", "~exists": "forbidden", "forall": "required"}


class Shipped(NamedTuple):
    """A test that ships. `about` is one line. `expects` is what the test says, and what holds under
    ptx-9.0: its condition as it stands there, and what else it asks."""

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
    """The paths of all tests, in the order of their folders and names."""
    here = os.path.dirname(__file__)
    found = []
    for folder, _, names in os.walk(here):
        found += [os.path.join(folder, name) for name in names if name.endswith(".litmus")]
    return sorted(found)


def tests(*words: str) -> Iterator[Shipped]:
    """The tests that have each of some words in their folder, name or text, in upper case or lower; lazily."""
    wanted = [word.lower() for word in words]
    here = os.path.dirname(__file__)
    for path in paths():
        with open(path, encoding="utf-8") as file:
            text = (os.path.relpath(path, here).replace(os.sep, "/") + "\n" + file.read()).lower()
        if all(word in text for word in wanted):
            yield shipped(path)


def named(name: str) -> list[str]:
    """The paths of the tests that a name stands for: of one test, `MP+rel+acq` or `message-passing/MP+rel+acq`, or of those
    in a folder; all for an empty name; none where nothing has that name."""
    here = os.path.dirname(__file__)
    wanted = name.strip("/").removesuffix(".litmus")
    found = []
    for path in paths():
        whole = os.path.relpath(path, here).replace(os.sep, "/").removesuffix(".litmus")
        if wanted in ("", whole, whole.rpartition("/")[2]) or whole.startswith(wanted + "/"):
            found.append(path)
    return found


def near(name: str) -> str | None:
    """What somebody may have meant who gave a name that no test has."""
    from ptxcore.diagnostics import nearest

    here = os.path.dirname(__file__)
    known = {os.path.basename(p).removesuffix(".litmus") for p in paths()}
    known |= {os.path.relpath(os.path.dirname(p), here) for p in paths()}
    return nearest(name[:80], sorted(known))


def shipped(path: str) -> Shipped:
    """What is told of the test in a file of the library."""
    from litmus.formats import read
    from litmus.formats.printer import write_proposition

    with open(path, "rb") as file:
        test = read(file.read(), path)
    here = os.path.dirname(__file__)
    folder = os.path.relpath(os.path.dirname(path), here).replace(os.sep, "/")
    asks = [f"{c.quantifier} {write_proposition(c.proposition)}" for c in test.conditions if c.asked]
    return Shipped(test.name, folder, path, " ".join(" ".join(test.comments).split()), "; ".join([*asks, *test.checks]))
