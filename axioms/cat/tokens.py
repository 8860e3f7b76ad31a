"""The words of a .cat file."""

from __future__ import annotations

import re

from axioms.cat.syntax import Expression
from ptxcore.diagnostics import InputError, Span, fail
from ptxcore.records import NamedTuple

_TOKEN = re.compile(
    r"""[ \t\r\f]*+
    (?:(?P<name>[A-Za-z_0-9](?:[A-Za-z0-9_.]|-(?=[A-Za-z0-9_.]))*'*)
    |(?P<open>\(\*)
    |(?P<op>\^[ \t]*-1|\^\+|\^\*|\+\+|\|\||->|[=|;\\&*~+?()\[\]{},])
    |(?P<newline>\n)|(?P<line>(?://|\#)[^\n]*)
    |(?P<string>"[^"]*")
    |(?P<tag>'_?[A-Za-z][A-Za-z0-9_.-]*'?)
    |(?P<end>\Z))""",
    re.VERBOSE,
)
_BLANK = re.compile(r"[ \t\r\f]*+")
_COMMENT = re.compile(r"\(\*|\*\)|\n")

#: Words that begin statements or hold them together. Nobody's names.
KEYWORDS = frozenset(
    [
        "let",
        "rec",
        "and",
        "as",
        "acyclic",
        "irreflexive",
        "empty",
        "flag",
        "include",
        "show",
        "unshow",
        "if",
        "then",
        "else",
        "begin",
        "end",
        "fun",
        "in",
        "procedure",
        "call",
        "enum",
        "debug",
        "match",
        "with",
        "forall",
        "from",
        "do",
        "try",
        "when",
        "variant",
        "subset",
        "undefined_unless",
        "requires",
        "instructions",
        "default",
    ]
)
#: Words of statements that are not supported here, of tools that read the herd family's models.
UNSUPPORTED = frozenset(["assert", "assume", "compat", "define", "yield"])


class Token(NamedTuple):
    """`given` are operands that were read already, of what waits for others."""

    kind: str
    text: str
    span: Span
    given: tuple[Expression, ...] = ()


def tokens(text: str) -> list[Token]:
    """Raises InputError for what is no word of the language."""
    found: list[Token] = []
    line, start, end, size = 1, 0, 0, len(text)
    match, comment = _TOKEN.match, _COMMENT.search
    while end < size:
        m = match(text, end)
        if m is None:
            raise _stray(text, end, line, start)
        kind = m.lastgroup
        assert kind is not None
        at, end = m.span(kind)
        if kind == "name" or kind == "op":
            word = m[kind]
            kind = "keyword" if word in KEYWORDS else kind
            word = "^-1" if kind == "op" and word.endswith("-1") else word
            found.append(Token(kind, word, Span(line, at - start + 1, end - start + 1)))
        elif kind == "newline":
            line, start = line + 1, end
        elif kind == "open":
            opened, depth = Span(line, at - start + 1, at - start + 3), 1
            while depth:
                c = comment(text, end)
                if c is None:
                    raise fail(opened, "comment without an end, '*)' is missing")
                end = c.end()
                if c.group() == "\n":
                    line, start = line + 1, end
                else:
                    depth += 1 if c.group() == "(*" else -1
        elif kind == "string" or kind == "tag":
            found.append(Token(kind, m[kind], Span(line, at - start + 1, end - start + 1)))
            if newlines := m[kind].count("\n"):
                line, start = line + newlines, at + m[kind].rindex("\n") + 1
    found.append(Token("end", "end of file", Span(line, size - start + 1, size - start + 2)))
    return found


def _stray(text: str, at: int, line: int, start: int) -> InputError:
    blank = _BLANK.match(text, at)
    assert blank is not None
    at = blank.end()
    if text[at] == '"':
        return fail(Span(line, at - start + 1, at - start + 2), "text without an end, '\"' is missing")
    return fail(Span(line, at - start + 1, at - start + 2), f"unexpected character {text[at]!r}")


def unsupported(token: Token) -> InputError:
    """That a word is not supported."""
    return fail(token.span, f"'{token.text}' is not supported in cat files here")


def quoted(token: Token) -> str:
    """What a token says, without its quotation marks."""
    return token.text[1:-1] if token.kind == "string" else token.text
