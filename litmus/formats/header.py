"""The head of a test: `PTX NAME`, quoted comments, `KEY=value` lines, up to the `{` of the init block."""

from __future__ import annotations

import re
from collections.abc import Collection

from litmus.formats.source import LitmusSource, comment_end

#: What a test may expect, a litmus test by `Expect=`: verdicts that are answers, and that of `no` because no execution ends.
EXPECTED = ("ok", "bounded", "no", "undefined", "hangs")
#: What is said of a test that cannot fail, whatever is found of what it claims.
ASKS_NOTHING = "a test that expects both ok and no passes whether its claims hold or not: nothing is asked"

_BLANK = re.compile(r"\s*")
_ARCHITECTURE = re.compile(r"[^\s\"{]+")
_NAME = re.compile(r"[^\s\"{]+?(?=\(\*|//|[\s\"{]|\Z)")
_META = re.compile(r"([A-Za-z_][\w.-]*+)[ \t]*+=([^\n]*+)")
_LINE = re.compile(r"[^\n]*")

#: What else herd's tools read, by its first word, and what is done with it here.
_PROGRAM = "programs are PTX here; 'ptxmm generate' makes the test of a cycle, as in 'PodWW Rfe PodRR Fre'"
_ARCHITECTURES = "AArch64 ARM PPC X86 X86_64 RISCV MIPS C LISA BPF CPP JAVA ASL"
_ELSEWHERE = dict.fromkeys(_ARCHITECTURES.split(), _PROGRAM) | {
    "Test": "this is a log, which 'ptxmm compare' takes where it takes models: --model FILE.log"
}

ThreadHead = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]


def asks_nothing(expected: Collection[str]) -> bool:
    """Whether what a test expects is right whether its claims hold or not."""
    return "ok" in expected and "no" in expected


def read_head(source: LitmusSource, architecture: str = "PTX") -> tuple[ThreadHead, int]:
    """Name, quoted comments and meta lines, and the offset of the init block's `{`."""
    text = source.text
    at = _skip(source, 0)
    word = _ARCHITECTURE.match(text, at)
    if word is None:
        message = "the file is empty" if at == len(text) else "a test starts with 'PTX' and its name"
        raise source.error(at, at + 1, message, None if at < len(text) else "a test starts with 'PTX NAME'")
    if word[0] != architecture:
        message = f"a test starts with 'PTX' and its name, not with '{_short(word[0])}'"
        raise source.error(*word.span(), message, _ELSEWHERE.get(word[0]))
    at = _skip(source, word.end())
    name = _NAME.match(text, at)
    if name is None:
        raise source.error(word.start(), word.end(), "the test has no name", f"write '{architecture} NAME'")
    comments: list[str] = []
    quotes = _Quotes(text)
    meta: list[tuple[str, str]] = []
    at = _skip(source, name.end())
    while True:
        if at >= len(text):
            raise source.error(at, at + 1, "the init block is missing", "write '{ x=0; }' before the program")
        character = text[at]
        if character == "{":
            return (name[0], tuple(comments), tuple(meta)), at
        if character == '"':
            end = quotes.closing(at)
            if end < 0:
                raise source.error(at, at + 1, "this quoted comment is never closed", "close it with '\"'")
            comments.append(text[at + 1 : end])
            at = end + 1
        else:
            at = _read_meta(source, at, meta)
        at = _skip(source, at)


class _Quotes:
    """Where quoted comments end: at the first quote behind which the header can go on. Published tests have quotes within
    their comments, as in `"Fig. 4 of "A Paper", corrected"`. No such comment holds a `KEY=value` line, which somebody may
    have meant."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.last = text.rfind('"')  # the last quote that closes a comment and no other comment follows
        while self.last >= 0 and not self._ends(self.last):
            self.last = text.rfind('"', 0, self.last)

    def closing(self, opening: int) -> int:
        """The quote that closes a comment; where none does, the first that might; -1 where there is none at all."""
        text = self.text
        first = at = text.find('"', opening + 1)
        line = text.find("\n", opening)
        while at >= 0:
            while 0 <= line < at:
                if first < line and _META.match(text, line + 1):
                    return first
                line = text.find("\n", line + 1)
            follows = self._after(at)
            if self._ends(at) or (text.startswith('"', follows) and follows < self.last):
                return at
            at = text.find('"', at + 1)
        return first

    def _after(self, quote: int) -> int:
        blank = _BLANK.match(self.text, quote + 1)
        return blank.end() if blank else quote + 1

    def _ends(self, quote: int) -> bool:
        """Whether what stands behind a quote belongs to the header, and is no other quote."""
        start = self._after(quote)
        if start == len(self.text) or self.text.startswith(("{", "//", "(*"), start):
            return True
        meta = _META.match(self.text, start)
        return meta is not None and ("\n" in self.text[quote:start] or '"' not in meta[2])


def _read_meta(source: LitmusSource, at: int, meta: list[tuple[str, str]]) -> int:
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
        expected = [word.strip() for word in value.split("|")]
        wrong = [word for word in expected if word not in EXPECTED]
        if asks_nothing(expected):
            source.note(*found.span(2), ASKS_NOTHING, "leave out one of them")
        if wrong:
            message = f"'{_short(wrong[0])}' is no verdict: Expect is ok, bounded, no, undefined or hangs"
            source.note(*found.span(2), message, source.suggest(wrong[0], EXPECTED))
        if any(known == key for known, _ in meta):
            source.note(*found.span(1), "Expect is stated twice")
    elif key.lower().startswith("expect"):  # what is not read would be taken for ok
        source.note(*found.span(1), f"what a test expects is a line 'Expect=', not '{_short(key)}='")
    meta.append((key, value))
    return end


def _skip(source: LitmusSource, at: int) -> int:
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
