"""The head of a test: `PTX NAME`, quoted comments, `KEY=value` lines, up to the `{` of the init block."""

from __future__ import annotations

import re

from litmus.formats.source import Source, comment_end

#: What `Expect=` may say.
EXPECTATIONS = ("ok", "bounded", "no", "undefined", "hangs")

_BLANK = re.compile(r"\s*")
_ARCHITECTURE = re.compile(r"[^\s\"{]+")
_NAME = re.compile(r"[^\s\"{]+?(?=\(\*|//|[\s\"{]|\Z)")
_META = re.compile(r"([A-Za-z_][\w.-]*+)[ \t]*+=([^\n]*+)")
_LINE = re.compile(r"[^\n]*")

Head = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]


def read_head(source: Source) -> tuple[Head, int]:
    """Name, quoted comments and meta lines, and the offset of the init block's `{`."""
    text = source.text
    at = _skip(source, 0)
    word = _ARCHITECTURE.match(text, at)
    if word is None:
        message = "the file is empty" if at == len(text) else "a test starts with 'PTX' and its name"
        raise source.error(at, at + 1, message, None if at < len(text) else "a test starts with 'PTX NAME'")
    if word[0] != "PTX":
        raise source.error(*word.span(), f"a test starts with 'PTX' and its name, not with '{_short(word[0])}'")
    at = _skip(source, word.end())
    name = _NAME.match(text, at)
    if name is None:
        raise source.error(word.start(), word.end(), "the test has no name", "write 'PTX NAME'")
    comments: list[str] = []
    meta: list[tuple[str, str]] = []
    at = _skip(source, name.end())
    while True:
        if at >= len(text):
            raise source.error(at, at + 1, "the init block is missing", "write '{ x=0; }' before the program")
        character = text[at]
        if character == "{":
            return (name[0], tuple(comments), tuple(meta)), at
        if character == '"':
            end = text.find('"', at + 1)
            if end < 0:
                raise source.error(at, at + 1, "this quoted comment is never closed", "close it with '\"'")
            comments.append(text[at + 1 : end])
            at = end + 1
        else:
            at = _read_meta(source, at, meta)
        at = _skip(source, at)


def _read_meta(source: Source, at: int, meta: list[tuple[str, str]]) -> int:
    found = _META.match(source.text, at)
    if found is None:
        line = _LINE.match(source.text, at)
        end = line.end() if line else at + 1
        message = "expected a quoted comment, a line 'KEY=value', or the '{' of the init block"
        raise source.error(at, end, message, "a test's name is one word; comments stand in quotes")
    key, value, end = found[1], found[2], found.end()
    for opening in ("//", "(*"):
        cut = value.find(opening)
        if cut >= 0:
            value, end = value[:cut], found.start(2) + cut
    value = value.strip()
    if key == "Expect":
        wrong = [word for word in map(str.strip, value.split("|")) if word not in EXPECTATIONS]
        if wrong:
            message = f"'{_short(wrong[0])}' is no verdict: Expect is ok, bounded, no, undefined or hangs"
            source.note(*found.span(2), message, source.suggest(wrong[0], EXPECTATIONS))
        if any(known == key for known, _ in meta):
            source.note(*found.span(1), "Expect is stated twice")
    elif key.lower().startswith("expect"):  # what is not read would be taken for ok
        source.note(*found.span(1), f"what a test expects is a line 'Expect=', not '{_short(key)}='")
    meta.append((key, value))
    return end


def _skip(source: Source, at: int) -> int:
    """The offset after blanks and comments."""
    text = source.text
    while True:
        blank = _BLANK.match(text, at)
        at = blank.end() if blank else at
        if not text.startswith(("//", "(*"), at):
            return at
        at = comment_end(source, at)


def _short(word: str) -> str:
    return word if len(word) <= 40 else word[:37] + "..."
