"""Graphs written to files: DIR/NAME-STATEINDEX.svg, DIR/NAME-race-INDEX.svg, DIR/NAME-wait-INDEX.svg, DIR/NAME-why-0.svg."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from ptxmm.checker import Outcome
from ptxmm.writing import write_whole

_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


class Drawings:
    """Writes the drawings of outcomes into folders, one for each kind, under names that are safe and never taken
    twice."""

    def __init__(self, folders: dict[str, str]) -> None:
        """Makes the folders. Raises OSError where that cannot be."""
        self._folders = folders
        self._taken: set[str] = set()
        for folder in folders.values():
            os.makedirs(folder, exist_ok=True)

    def write(self, outcome: Outcome) -> None:
        """Raises OSError where a file cannot be written."""
        if not outcome.drawings:
            return
        groups = {"": outcome.drawings} | {f"{what}-": found for what, found in (outcome.extra or {}).items()}
        named = {
            (kind, f"{what}{i}"): text
            for what, found in groups.items()
            for kind, drawings in found.items()
            if kind in self._folders
            for i, text in enumerate(drawings)
        }
        self.put(outcome.result.name, named)

    def put(self, test: str, drawings: Mapping[tuple[str, str], str]) -> list[str]:
        """Writes the drawings of one test, each by its kind and what it shows; gives their paths. Raises OSError where a file
        cannot be written."""
        name = self._name(test)
        paths = []
        for (kind, what), text in drawings.items():
            path = os.path.join(self._folders[kind], f"{name}-{_UNSAFE.sub('_', what)}.{kind}")
            write_whole(path, text)
            paths.append(path)
        return paths

    def _name(self, wanted: str) -> str:
        base = safe(wanted)
        name, count = base, 1
        while name.lower() in self._taken:  # some file systems do not tell capitals apart
            count += 1
            name = f"{base}~{count}"
        self._taken.add(name.lower())
        return name


def safe(name: str) -> str:
    """A test's name as that of a file."""
    return _UNSAFE.sub("_", name).lstrip(".-")[:120] or "test"
