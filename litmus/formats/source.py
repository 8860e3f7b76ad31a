"""The text of a test: decoding, comments, and where in the file an offset lies."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice

from ptxcore.diagnostics import Diagnostic, InputError, Span, fail, nearest

#: So many findings of one file are reported; a file with more is not a litmus test.
MAX_DIAGNOSTICS = 50
#: A hint looks at so many known words, none of them longer than that: a search costs time for each pair of letters.
_HINT_WORDS, _HINT_LENGTH = 200, 40

_COMMENT_START = re.compile(r"//|\(\*")
_COMMENT_EDGE = re.compile(r"\(\*|\*\)")
_NOT_NEWLINE = re.compile(r"[^\n]+")


class LitmusSource:
    """One file while it is read: the text (comments blanked out once the header is read) and the findings so far."""

    __slots__ = ("_starts", "findings", "original", "path", "text")

    def __init__(self, text: str, path: str) -> None:
        self.original = text
        self.text = text
        self.path = path
        self.findings: list[Diagnostic] = []
        self._starts: list[int] | None = None

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        starts = self._starts
        if starts is None:
            starts = [0]
            at = self.original.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.original.find("\n", at + 1)
            self._starts = starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """The stretch from `start` to `end`, as far as it lies on its first line."""
        line, column = self.position(start)
        return Span(line, column, column + max(1, end - start))

    def error(self, start: int, end: int, message: str, hint: str | None = None) -> InputError:
        """The error for a stretch of the text, to be raised by the caller."""
        end = max(end, start + 1)
        newline = self.original.find("\n", start, end)
        return fail(self.span(start, newline if newline > start else end), message, hint)

    def note(self, start: int, end: int, message: str, hint: str | None = None) -> None:
        """Keep a finding and go on reading."""
        self.findings.extend(self.error(start, end, message, hint).diagnostics)

    def note_at(self, span: Span, message: str, hint: str | None = None) -> None:
        """Keep a finding at a place whose span is already known."""
        self.findings.append(Diagnostic(span, message, hint))

    def keep(self, error: InputError) -> None:
        """Keep what a part of the reader raised, and go on with the next part."""
        self.findings.extend(error.diagnostics)

    def suggest(self, word: str, known: Iterable[str]) -> str | None:
        """The hint for an unknown word, while it is cheap and will be shown."""
        if len(word) > _HINT_LENGTH or len(self.findings) >= MAX_DIAGNOSTICS:
            return None
        return nearest(word, [k for k in islice(known, _HINT_WORDS) if len(k) <= _HINT_LENGTH])

    def stop_on_findings(self) -> None:
        """End the reading if anything was found; the findings are in `complete_error`."""
        if self.findings:
            raise InputError(())

    def complete_error(self) -> InputError:
        """All findings so far, in source order."""
        ordered = sorted(self.findings, key=lambda finding: finding.span)
        return InputError(ordered[:MAX_DIAGNOSTICS], self.path, self.original)


def decode(data: bytes, path: str) -> str:
    """The text of a file. Raises `InputError` at the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        column = len(before) - before.rfind("\n")
        place = Span(before.count("\n") + 1, column, column + 1)
        finding = Diagnostic(place, f"byte 0x{data[error.start]:02x} is not UTF-8", "save the file as UTF-8")
        raise InputError([finding], path, normalised(data.decode("utf-8", "replace"))) from None


def normalised(text: str) -> str:
    """The text with newlines as line ends only, and without a byte order mark."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text[1:] if text.startswith("\ufeff") else text


def comment_end(source: LitmusSource, start: int) -> int:
    """The offset after the comment that opens at `start`, where `//` or `(*` stands."""
    text = source.text
    if text.startswith("//", start):
        newline = text.find("\n", start)
        return len(text) if newline < 0 else newline
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "(*" else -1
        if depth == 0:
            return edge.end()
    raise source.error(start, start + 2, "this comment is never closed", "close it with '*)'")


def blank_comments(source: LitmusSource, start: int) -> None:
    """Replace the comments after `start` by blanks, so that offsets keep their meaning."""
    text = source.text
    parts: list[str] = []
    done = 0
    found = _COMMENT_START.search(text, start)
    while found:
        end = comment_end(source, found.start())
        parts += [text[done : found.start()], _NOT_NEWLINE.sub(lambda m: " " * len(m[0]), text[found.start() : end])]
        done = end
        found = _COMMENT_START.search(text, end)
    if parts:
        source.text = "".join(parts) + text[done:]
