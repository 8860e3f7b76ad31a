"""How results are written down: `text` for people, `herd` for herd7's log tools, `json` for programs."""

from __future__ import annotations

from typing import Protocol

from ptxmm.checker import Outcome


class Report(Protocol):
    """Takes outcomes in order, as they come; writes to standard output."""

    def begin(self, paths: list[str]) -> None: ...

    def add(self, outcome: Outcome) -> None: ...

    def end(self, seconds: float) -> None: ...


def plain(text: str) -> str:
    """`text` without control characters, so that a file's name cannot steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
