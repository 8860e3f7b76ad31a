"""The words of PTX text: patterns, numbers, comments, and where in the file a character stands."""

from __future__ import annotations

import re
from bisect import bisect_right

from ptxcore.diagnostics import Span

#: A user identifier or a `%` name (PTX ISA 9.0, section 4.4); special registers may have a component: `%tid.x`.
NAME = r"[A-Za-z_$%][\w$]*(?:(?<=[A-Za-z0-9])\.[xyzw]\b)?"
NUMBER = r"[0-9]\w*"

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBER = re.compile(r"(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|(?P<dec>0|[1-9][0-9]*)|0(?P<oct>[0-7]+))U?\Z")
_FLOAT = re.compile(r"0[fFdD][0-9a-fA-F]+\Z|[0-9]+\.|[0-9]+[eE]")


def blank_comments(text: str) -> str:
    """`text` with each comment replaced by as many blanks, so that positions stay; lines stay lines."""
    if "//" not in text and "/*" not in text:
        return text
    return _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def integer(word: str) -> int | str:
    """The number that a literal stands for (section 4.5.1), or a message that says why it is none."""
    m = _NUMBER.match(word)
    if m is None:
        if _FLOAT.match(word):
            return f"floating-point literals are not supported yet: '{word}'"
        return f"'{word}' is not an integer literal"
    kind, digits = m.lastgroup, m.group(m.lastgroup or 0)
    if len(digits) > 64:
        return "the literal does not fit into 64 bits"
    value = int(digits, {"hex": 16, "bin": 2, "oct": 8, "dec": 10}[kind or "dec"])
    return value if value < 1 << 64 else "the literal does not fit into 64 bits"


class Positions:
    """Where the characters of a piece of text stand in the file that it was cut from."""

    __slots__ = ("column", "line", "starts")

    def __init__(self, text: str, line: int, column: int) -> None:
        self.line, self.column = line, column
        #: Offsets at which the second and later lines begin.
        self.starts = [m.end() for m in re.finditer("\n", text)] if "\n" in text else []

    def span(self, start: int, end: int) -> Span:
        """The span from offset `start` to `end`; one that runs over lines ends with its first line's beginning word."""
        starts = self.starts
        if not starts or end <= starts[0] - 1:
            return Span(self.line, self.column + start, self.column + end)
        row = bisect_right(starts, start)
        base = 1 - starts[row - 1] if row else self.column
        if row < len(starts) and end > starts[row] - 1:
            end = max(start + 1, starts[row] - 1)
        return Span(self.line + row, base + start, base + end)
