"""The words of PTX text (PTX ISA 9.0, sections 4.1-4.5): tokens, literals, comments, and where a character stands."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

from ptxcore.diagnostics import Span

if TYPE_CHECKING:
    from ptxcore.syntax.tree import AnyStatement

#: A user identifier, a `%` name or the sink `_` (section 4.4). `%` alone is the remainder operator.
NAME = r"(?:[A-Za-z][\w$]*+|[_$%][\w$]++|_)"
#: What may follow a name: a component of a vector, or a byte or half-word selector of the video instructions.
COMPONENT = r"\.(?:[xyzwrgba]|b[0-7]{1,4}+|h[0-3]{1,2}+)(?![\w$:])"
_DECIMAL_FLOAT = (
    r"(?:[0-9]++\.[0-9]*+(?>(?:[eE][+-]?[0-9]++)?)|\.[0-9]++(?>(?:[eE][+-]?[0-9]++)?)|[0-9]++[eE][+-]?[0-9]++)"
)
_FLOAT = rf"(?:0[fFdD][0-9a-fA-F]++|(?!0[xX]){_DECIMAL_FLOAT})(?![\w$])"

#: Comments, lines of the C preprocessor, and strings, in which neither is one.
_COMMENT = re.compile(
    r"""//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?>(?:\*/)?)|\#[ \t]*+(?:line\b|[0-9])[^\n]*+|"[^"\n]*+"?+""", re.ASCII
)
_NUMBER = re.compile(
    r"(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|(?P<dec>0|[1-9][0-9]*)|0(?P<oct>[0-7]+))U?\Z", re.ASCII
)
_SELECTOR = re.compile(rf"\s*+{COMPONENT}", re.ASCII)
_NOT_NEWLINE = re.compile(r"[^\n]")


class Bad(Exception):
    """A finding inside a statement, by offsets into the text; reading goes on behind the statement, at `resume` if that
    is known, or with `again` perhaps where the finding is. Nothing is said of it where it was already `told`.
    `statement` is what was read before it where that is a whole one."""

    def __init__(
        self, start: int, end: int, message: str, hint: str | None = None, again: bool = False, code: str = "syntax"
    ) -> None:
        self.start, self.end, self.message, self.hint, self.again, self.code = start, end, message, hint, again, code
        self.resume = 0
        self.told = False
        self.statement: AnyStatement | None = None


def shown(word: str) -> str:
    """A word of the input for a message: cut where it is long, without unprintable characters."""
    word = word if len(word) <= 40 else word[:40] + "..."
    return "".join(c if c.isprintable() else "\ufffd" for c in word)


def _blank(m: re.Match[str]) -> str:
    comment = m.group()
    if comment[0] == '"':
        return comment
    return " " * len(comment) if "\n" not in comment else _NOT_NEWLINE.sub(" ", comment)


def blank_comments(text: str) -> str:
    """`text` with each comment, and what a C preprocessor said of lines, replaced by as many blanks, so that positions
    stay; lines stay lines, strings strings."""
    if "//" not in text and "/*" not in text and "#" not in text:
        return text
    return _COMMENT.sub(_blank, text)


def open_comment(text: str) -> int:
    """The offset at which a comment begins that never ends, or -1."""
    at = text.rfind("/*")
    if at < 0 or text.find("*/", at + 2) >= 0:
        return -1
    end = 0
    while (m := _COMMENT.search(text, end)) is not None:
        comment, end = m[0], m.end()
        if comment.startswith("/*") and not (len(comment) >= len("/**/") and comment.endswith("*/")):
            return m.start()
    return -1


class Integer:
    """A 64-bit integer constant with its sign rule: `.u64` where `unsigned`, else `.s64` (section 4.5.1)."""

    __slots__ = ("unsigned", "value")

    def __init__(self, value: int, unsigned: bool) -> None:
        self.value, self.unsigned = value, unsigned


def integer_literal(word: str) -> Integer | str:
    """The constant that an integer literal stands for (section 4.5.1), or a message that says why it is none."""
    m = _NUMBER.match(word)
    if m is None:
        octal = ": a leading 0 makes it octal" if word[0] == "0" and word.isdigit() else ""
        return f"'{shown(word)}' is not {'a number' if '.' in word else 'an integer literal'}{octal}"
    kind = m.lastgroup or "dec"
    digits = m[kind].lstrip("0")
    if len(digits) > 64:
        return "the literal does not fit into 64 bits"
    value = int(digits or "0", {"hex": 16, "bin": 2, "oct": 8, "dec": 10}[kind])
    if value >= 1 << 64:
        return "the literal does not fit into 64 bits"
    return Integer(value, word[-1] == "U" or value >= 1 << 63)


def hexadecimal_float(word: str) -> tuple[int, int] | str | None:
    """(bits, width) of `0f...` or `0d...` (section 4.5.2), a message where its digits are too few or many, or None."""
    if len(word) < 2 or word[0] != "0" or word[1] not in "fFdD":
        return None
    width = 32 if word[1] in "fF" else 64
    if len(word) - 2 != width // 4:
        return f"'{shown(word)}' has {len(word) - 2} hexadecimal digits, and '0{word[1]}' takes {width // 4}"
    return int(word[2:], 16), width


def float_bits(value: float) -> int:
    """The bits of a double; every NaN is the one that arithmetic on constants gives."""
    if value != value:
        return 0x7FF8000000000000
    return int.from_bytes(struct.pack(">d", value), "big")


def bits_float(bits: int) -> float:
    """The double with these bits."""
    value: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    return value


@cache
def _token() -> re.Pattern[str]:
    """The pattern of a token, compiled when some text is first taken apart so far: most instructions never are."""
    return re.compile(
        rf"""\s*+(?:
      (?P<name>{NAME})
    | (?P<float>{_FLOAT})
    | (?P<number>[0-9][\w$]*+(?>(?:\.[\w$]*+)?))
    | (?P<string>"[^"\n]*+")
    | (?P<word>\.[A-Za-z_][\w$]*+(?>(?:::[\w$]++)*))
    | (?P<mark><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%~!&|^<>?:=(){{}}\[\],;@\#.])
    | (?P<stray>\S)
    | (?P<end>\Z)
    )""",
        re.VERBOSE | re.ASCII,
    )


class Cursor:
    """Walks over the tokens of a text. `kind` is `name`, `float`, `number`, `string`, `word` (`.b32`), `mark`, `stray`
    or `end`; `text` the token as written, which stands at `start` to `stop`. `allowance` is how many labels may still be
    made from `N<5>`."""

    __slots__ = ("allowance", "kind", "limit", "match", "source", "start", "stop", "text")

    kind: str
    text: str
    start: int

    def __init__(self, source: str, position: int = 0, limit: int | None = None) -> None:
        self.source, self.match = source, _token().match
        self.limit = len(source) if limit is None else limit
        self.allowance = self.limit
        self.stop = position
        self.advance()

    def advance(self) -> None:
        """Goes to the next token."""
        m = self.match(self.source, self.stop, self.limit)
        assert m is not None  # the last alternatives take anything
        kind = m.lastgroup
        assert kind is not None
        self.kind = kind
        self.start, self.stop = m.span(kind)
        self.text = m[kind]

    def goto(self, position: int) -> None:
        """Goes to the token at or behind an offset."""
        self.stop = position
        self.advance()

    def accept(self, text: str) -> bool:
        """Steps over a mark or word if it stands here."""
        if self.text == text and self.kind != "string":
            self.advance()
            return True
        return False

    def expect(self, text: str, context: str = "") -> None:
        """Steps over a mark that must stand here."""
        if not self.accept(text):
            raise self.missing(f"'{text}'", context)

    def missing(self, what: str, context: str = "") -> Bad:
        """What is missing before the token here."""
        behind = f" {context}" if context else ""
        if self.kind == "end":
            return Bad(self.start, self.start + 1, f"{what} is missing{behind} at the end of the text")
        return Bad(self.start, self.stop, f"{what} is missing{behind} before {self.quoted()}")

    def quoted(self) -> str:
        """The token here, for a message."""
        return shown(self.text) if self.kind == "string" else f"'{shown(self.text)}'"

    def take_name(self, what: str) -> str:
        """An identifier that must stand here, without a component."""
        if self.kind != "name" or self.text == "_":
            raise self.missing(what)
        text = self.text
        self.advance()
        return text

    def component(self) -> str:
        """The component or selector that follows the name that was just stepped over (`.x`, `.b0`), or nothing.

        To be called while the cursor stands on the name; leaves it there, but with the component as its part.
        """
        m = _SELECTOR.match(self.source, self.stop, self.limit)
        if m is None:
            return ""
        self.stop = m.end()
        return m[0].strip()


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
