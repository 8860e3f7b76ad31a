"""What is wrong with an input, where, and what would be right: one shape for every reader of the project."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ptxcore.records import NamedTuple


class Span(NamedTuple):
    """A stretch of one source line. Lines and columns count from 1; `end` is the column after the last character."""

    line: int
    column: int
    end: int


class Edit(NamedTuple):
    """`text` in place of what stands at `span`; nothing stands there where its end is its column. `lines`: it goes on for so
    many lines more, and `end` is a column of the last one."""

    span: Span
    text: str
    lines: int = 0


class Fix(NamedTuple):
    """Changes of the text that mend a finding, all together, and what they do."""

    title: str
    edits: tuple[Edit, ...]


class Diagnostic(NamedTuple):
    """One finding: what is wrong (`message`), and where one helps, what would be right (`hint`)."""

    span: Span
    message: str
    hint: str | None = None
    severity: str = "error"
    code: str = ""  # a short name of the kind of finding, for tools: see `ptxcore.findings`
    fix: Fix | None = None

    def render(self, path: str, lines: Sequence[str]) -> str:
        """`PATH:LINE:COL: error: message`, the source line, and a caret span under the place."""
        line, column, end = self.span
        place = f"{path}:{line}:{column}" if line else path  # what concerns a whole file has no line
        text = [f"{printable(place)}: {self.severity}: {printable(self.message)}"]
        if self.severity == "warning":
            text[0] += f" [{self.code}]"
        if 1 <= line <= len(lines):
            source = lines[line - 1]
            width = max(1, min(end, len(source) + 1) - column)
            if column > 160 or len(source) > 400:  # a line made by a machine: show the neighbourhood only
                start = max(0, column - 61)
                source, column = source[start : start + 120], column - start
                width = min(width, 60)
            # Tabs stay tabs in the margin, so that the caret stands under its character in any terminal.
            margin = "".join("\t" if c == "\t" else " " for c in source[: column - 1])
            text += [f"    {printable(source)}", f"    {margin}{'^' * width}"]
        if self.hint:
            text.append(f"    hint: {printable(self.hint)}")
        return "\n".join(text)


def printable(text: str) -> str:
    """`text` with nothing in it that could steer a terminal."""
    return "".join(c if c in "\t\n" or c.isprintable() else "\ufffd" for c in text)


class InputError(Exception):
    """An input that cannot be taken: one or more `diagnostics`, in source order. Whoever knows the `path` fills it in; `text`
    is the source, which messages show lines of. `instead`: what may be typed for all of it, in lines of their own."""

    def __init__(
        self, diagnostics: Iterable[Diagnostic], path: str = "<input>", text: str = "", instead: str = ""
    ) -> None:
        self.diagnostics = tuple(diagnostics)
        self.path = path
        self.text = text
        self.instead = instead
        super().__init__(self.diagnostics[0].message if self.diagnostics else "bad input")

    def render(self) -> str:
        lines = [line.rstrip("\r") for line in self.text.split("\n")]  # as readers count them
        found = [d.render(self.path, lines) for d in self.diagnostics]
        return "\n".join([*found, printable(self.instead)] if self.instead else found)

    __str__ = render


class NotExplored(InputError):
    """An input that symbolic exploration cannot take, though runs of it may have a meaning."""


def fail(span: Span, message: str, hint: str | None = None, code: str = "") -> InputError:
    """The error for one finding; to be raised by the caller."""
    return InputError([Diagnostic(span, brief(message), hint and brief(hint), code=code)])


#: Names of C++ functions are long, and all of them stand in the line that is shown anyway.
_LONGEST_NAME = 200
_LONG_NAME = re.compile(rf"([\w$%]{{{_LONGEST_NAME}}})[\w$%]+")


def brief(message: str) -> str:
    """A message with the longest of its names cut."""
    if len(message) <= _LONGEST_NAME:
        return message
    return _LONG_NAME.sub(r"\1...", message)


#: Words longer than this are not looked up.
_LONGEST_WORD = 40


def nearest(word: str, known: Iterable[str]) -> str | None:
    """`did you mean 'X'?` for the legal word that is closest to an unknown one, if any is close."""
    if len(word) > _LONGEST_WORD:  # matching costs the square of the length, and nobody mistypes so much
        return None
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None
