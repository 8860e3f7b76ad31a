"""What a log may show.

What is written to a log steers nobody who reads it: no control characters, and no line that is a command to GitHub unless we
mean it. Its runner takes `::command::` at the beginning of a line, behind blanks too, and `##[command]` anywhere in one, on
standard output and standard error alike. Source lines and names that we show come from files that anybody may have written:
`::stop-commands::` in a test would silence all annotations behind it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast


def plain(text: str) -> str:
    """`text` without control characters, so that a file's name cannot steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def harmless(text: str) -> str:
    """Lines without a command in them. A blank before one becomes a bar, so that carets below still point where they did."""
    if "::" not in text and "##[" not in text:
        return text
    return "\n".join(map(_harmless_line, text.split("\n")))


def _harmless_line(line: str) -> str:
    line = line.replace("##[", "## [")
    rest = line.lstrip()
    if not rest.startswith("::"):
        return line
    margin = line[: len(line) - len(rest)]
    return (margin[:-1] if margin.endswith(" ") else margin) + "|" + rest


class _Log:
    """A stream that takes whole lines, and writes them without commands."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(harmless(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def harmless_streams() -> Iterator[None]:
    """Lets standard output and standard error take harmless lines only, but for those of `command`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Log(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def command(line: str) -> None:
    """Writes a line to standard output that is meant as a command."""
    stream = sys.stdout
    (stream.stream if isinstance(stream, _Log) else stream).write(line + "\n")
