"""Reads a .cat file into definitions and axioms. The language is that of the herd family.

    model      := title? item*                 a title is STRING, NAME, NAME NAME or NAME STRING (an architecture and a name);
                                                one that is not in quotes has its line for itself
    item       := "let" ["rec"] bind ("and" bind)*
                | ["flag"] ["~"] ("acyclic" | "irreflexive" | "empty") expr ["as" NAME]
                | "include" STRING | ("show" | "unshow") expr ["as" NAME] ("," ...)*
    bind       := NAME "=" expr | NAME "(" NAME,* ")" "=" expr | NAME NAME "=" expr
    expr       := by precedence, loosest first:  |   ;   \\   &   *(product)   ~   postfix + * ? ^-1 ^+ ^*
                | "[" expr "]" | "(" expr ")" | NAME | NAME "(" expr,* ")" | "_" | "0" | "{" "}"
                | "if" STRING "then" expr "else" expr        by the options that the model is read with

`|`, `;` and `&` associate freely; `\\` to the left. Comments are `(* *)`, which nest, and `//`. Words that the herd family has
for statements are nobody's names here, also those that are not supported: what they say would be lost.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptxcore.diagnostics import Diagnostic, InputError, Span, fail, nearest
from ptxcore.syntax.precedence import LEFT, Stacks, Waiting, levels


class Expression(NamedTuple):
    """A node of an expression. `op` is one of the operators above (postfix ones as `plus star opt inverse`, `[S]` as
    `identity`, `*` as `product`, `~` as `complement`), `name` (then `name` says which), `call`, or `if` (`name` is the option,
    the operands what holds with it and without)."""

    op: str
    operands: tuple[Expression, ...]
    span: Span
    name: str = ""


class Binding(NamedTuple):
    """`let name(parameters) = body`; `parameters` is None for a plain name."""

    name: str
    parameters: tuple[str, ...] | None
    body: Expression
    span: Span


class Let(NamedTuple):
    bindings: tuple[Binding, ...]
    recursive: bool


class Axiom(NamedTuple):
    """`kind` is acyclic, irreflexive or empty. A `flag` forbids nothing: it tells of executions."""

    kind: str
    negated: bool
    flag: bool
    body: Expression
    name: str
    span: Span
    after: Span  # what comes behind the body


class Include(NamedTuple):
    path: str
    span: Span


Item = Let | Axiom | Include

_TOKEN = re.compile(
    r"""[ \t\r\f]*+
    (?:(?P<name>[A-Za-z_0-9](?:[A-Za-z0-9_.]|-(?=[A-Za-z0-9_.]))*'*)
    |(?P<open>\(\*)
    |(?P<op>\^-1|\^\+|\^\*|\+\+|[|;\\&*~+?()\[\]{},=])
    |(?P<newline>\n)|(?P<line>//[^\n]*)
    |(?P<string>"[^"]*")
    |(?P<end>\Z))""",
    re.VERBOSE,
)
_BLANK = re.compile(r"[ \t\r\f]*+")
_COMMENT = re.compile(r"\(\*|\*\)|\n")

_KEYWORDS = frozenset(
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
    ]
)
#: Words of statements that are not supported here, of the herd family and of tools that read its models.
_UNSUPPORTED = frozenset(
    ["assert", "assume", "begin", "call", "compat", "debug", "default", "define", "do", "end", "enum", "forall",
     "from", "fun", "in", "instructions", "match", "procedure", "requires", "subset", "try", "undefined_unless",
     "when", "with", "yield"]
)  # fmt: skip
_LEVELS = levels((LEFT, "|"), (LEFT, ";"), (LEFT, "\\"), (LEFT, "&"), (LEFT, "*"))
#: A branch reaches as far as it can; a complement binds more tightly than what has two operands.
_BRANCH, _COMPLEMENT = 0, len(_LEVELS) + 1
_POSTFIX = {"+": "plus", "^+": "plus", "^*": "star", "?": "opt", "^-1": "inverse"}
_NODE = {"|": "union", ";": "sequence", "\\": "difference", "&": "intersection", "*": "product"}


class _Token(NamedTuple):
    kind: str
    text: str
    span: Span


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
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
            kind = "keyword" if word in _KEYWORDS else kind
            tokens.append(_Token(kind, word, Span(line, at - start + 1, end - start + 1)))
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
        elif kind == "string":
            tokens.append(_Token(kind, m[kind], Span(line, at - start + 1, end - start + 1)))
            if newlines := m[kind].count("\n"):
                line, start = line + newlines, at + m[kind].rindex("\n") + 1
    tokens.append(_Token("end", "end of file", Span(line, size - start + 1, size - start + 2)))
    return tokens


def _stray(text: str, at: int, line: int, start: int) -> InputError:
    blank = _BLANK.match(text, at)
    assert blank is not None
    at = blank.end()
    return fail(Span(line, at - start + 1, at - start + 2), f"unexpected character {text[at]!r}")


def read(text: str) -> tuple[str, list[Item]]:
    """The title (may be empty) and the items of a model. Raises InputError at the first mistake."""
    return _Reader(_tokens(text)).model()


def _unsupported(token: _Token) -> InputError:
    return fail(token.span, f"'{token.text}' is not supported in cat files here")


def _quoted(token: _Token) -> str:
    """What a token says, without its quotation marks."""
    return token.text[1:-1] if token.kind == "string" else token.text


def _once(what: str, names: list[tuple[str, Span]]) -> None:
    """Raises InputError for a name that stands twice, so that one of its meanings would be lost."""
    seen: set[str] = set()
    for name, span in names:
        if name in seen:
            raise fail(span, f"'{name}' is {what} twice")
        seen.add(name)


class _Reader:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens, self.at = tokens, 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def take_if(self, text: str) -> bool:
        if self.next.text == text and self.next.kind != "string":
            self.at += 1
            return True
        return False

    def expect(self, kind: str, what: str) -> _Token:
        if self.next.kind != kind:
            raise fail(self.next.span, f"expected {what}, found '{self.next.text}'")
        return self.take()

    def expect_op(self, text: str) -> _Token:
        if self.next.text != text:
            raise fail(self.next.span, f"expected '{text}', found '{self.next.text}'")
        return self.take()

    def model(self) -> tuple[str, list[Item]]:
        title = self.title()
        items: list[Item] = []
        while self.next.kind != "end":
            items += self.item()
        return title, items

    def title(self) -> str:
        """What stands before the first item. Nothing else is taken for a title: an axiom whose first word is misspelt forbids
        nothing of what it means to forbid."""
        first = self.next
        if first.kind == "string":
            self.take()
            return _quoted(first)
        if first.kind != "name" or first.text in _UNSUPPORTED:
            return ""
        self.take()
        words = [first.text]
        if self.next.kind in ("name", "string") and self.next.text not in _UNSUPPORTED and self._beside(first):
            words.append(_quoted(self.take()))
        after, last = self.next, self.tokens[self.at - 1]
        hint = nearest(first.text, [*_KEYWORDS, *_UNSUPPORTED]) or "a title with more in its line is written in quotes"
        if not first.text[0].isalpha() or (after.kind != "end" and self._beside(last)):
            raise fail(first.span, f"expected a definition, an axiom or a title, found '{first.text}'", hint)
        if last is first and nearest(first.text, _KEYWORDS | _UNSUPPORTED):
            message = f"'{first.text}' is taken neither for a title nor for a statement"
            raise fail(first.span, message, f"{hint} A title that is meant to be one is written in quotes")
        return " ".join(words)

    def _beside(self, token: _Token) -> bool:
        """Whether what comes next stands in the line of a token."""
        return self.next.span.line == token.span.line

    def item(self) -> list[Item]:
        token = self.take()
        word = token.text
        if token.kind == "keyword":
            if word == "let":
                return [self.let()]
            if word == "include":
                path = self.expect("string", "a file name in quotes")
                return [Include(_quoted(path), path.span)]
            if word in ("show", "unshow"):
                self.shown()
                return []
            if word in ("flag", "acyclic", "irreflexive", "empty"):
                return [self.axiom(token)]
        if word == "~":
            return [self.axiom(token)]
        if word in _UNSUPPORTED:
            raise _unsupported(token)
        hint = nearest(word, _KEYWORDS) if token.kind == "name" else None
        raise fail(token.span, f"expected a definition or an axiom, found '{word}'", hint)

    def let(self) -> Let:
        recursive = self.take_if("rec")
        bindings = [self.binding()]
        while self.take_if("and"):
            bindings.append(self.binding())
        _once("defined", [(b.name, b.span) for b in bindings])
        return Let(tuple(bindings), recursive)

    def new_name(self, what: str) -> _Token:
        """A name that a model gives: a word, and none that means something here."""
        token = self.expect("name", what)
        if token.text in _UNSUPPORTED:
            raise fail(token.span, f"'{token.text}' is a word of the language, no name")
        if not token.text.lstrip("_")[:1].isalpha():
            raise fail(token.span, f"expected {what}, found '{token.text}'", "a name begins with a letter")
        return token

    def binding(self) -> Binding:
        name = self.new_name("a name to define")
        parameters: list[_Token] | None = None
        if self.take_if("("):
            parameters = []
            while not self.take_if(")"):
                parameters.append(self.new_name("a parameter"))
                if not self.take_if(",") and self.next.text != ")":
                    raise fail(self.next.span, f"expected ',' or ')', found '{self.next.text}'")
        elif self.next.kind == "name":
            parameters = [self.new_name("a parameter")]
        self.expect_op("=")
        names = None if parameters is None else tuple(p.text for p in parameters)
        _once("a parameter", [(p.text, p.span) for p in parameters or ()])
        return Binding(name.text, names, self.expression(), name.span)

    def axiom(self, token: _Token) -> Axiom:
        flag = token.text == "flag"
        if flag:
            token = self.take()
        negated = token.text == "~"
        if negated:
            token = self.take()
        if token.text not in ("acyclic", "irreflexive", "empty"):
            raise fail(token.span, f"expected 'acyclic', 'irreflexive' or 'empty', found '{token.text}'")
        body = self.expression()
        after = self.next.span
        name = self.new_name("the axiom's name").text if self.take_if("as") else ""
        return Axiom(token.text, negated, flag, body, name, token.span, after)

    def shown(self) -> None:
        while True:
            self.expression()
            if self.take_if("as"):
                self.expect("name", "a name")
            if not self.take_if(","):
                return

    def expression(self) -> Expression:
        """An expression; what waits for operands or is open has its token for a place."""
        stacks: _Stacks = Stacks(_LEVELS, _applied)
        while True:
            # A prefix position: an operand must come.
            token = self.take()
            if token.kind == "op" and token.text in ("(", "["):
                stacks.open(token.text, token)
                continue
            if token.kind == "op" and token.text == "~":
                stacks.prefix("~", token, _COMPLEMENT)
                continue
            if token.text == "if" and token.kind == "keyword":
                option = _quoted(self.expect("string", "an option in quotes"))
                self.expect_op("then")
                stacks.open("if", token._replace(text=option))
                continue
            if token.text == "{" and token.kind == "op":
                stacks.values.append(Expression("name", (), token.span, "{}"))
                self.expect_op("}")
            elif token.kind == "name":
                if self.next.text == "(" and self.next.kind == "op":
                    self.take()
                    if not self.take_if(")"):
                        stacks.open("call", token)
                        continue
                    stacks.values.append(Expression("call", (), token.span, token.text))
                else:
                    stacks.values.append(Expression("name", (), token.span, token.text))
            else:
                raise fail(token.span, f"expected a relation or a set, found '{token.text}'")
            if not self._after_operand(stacks):
                return stacks.values[0]

    def _after_operand(self, stacks: _Stacks) -> bool:
        """Postfix operators and closers behind an operand. True when another operand must follow."""
        values, waiting = stacks.values, stacks.waiting
        while True:
            token = self.next
            if token.kind == "op":
                if token.text in _POSTFIX or (token.text == "*" and not self._operand_follows()):
                    self.take()
                    values[-1] = Expression(_POSTFIX.get(token.text, "star"), (values[-1],), values[-1].span)
                    continue
                if token.text in _LEVELS:
                    stacks.binary(token.text, self.take())
                    return True
                if token.text == "++":
                    raise fail(token.span, "'++' is not supported; use '|' between sets")
                if token.text in (")", "]", ","):
                    opened = stacks.innermost()
                    if opened is None:
                        return False  # belongs to whoever asked for the expression
                    if self._close(token, opened, stacks):
                        continue
                    return True
            elif token.text == "else" and token.kind == "keyword":
                opened = stacks.innermost()
                if opened is not None and opened.operator == "if":
                    self.take()
                    waiting.pop()
                    stacks.prefix("if", opened.place, _BRANCH, arity=2)
                    return True
                raise fail(token.span, "'else' without an 'if'")
            elif token.text in _UNSUPPORTED:
                raise _unsupported(token)
            elif token.kind == "name":
                raise fail(token.span, f"expected an operator, found '{token.text}'", nearest(token.text, _KEYWORDS))
            opened = stacks.innermost()
            if opened is not None:
                if opened.operator == "if":
                    raise fail(opened.place.span, "'if' without an 'else'")
                opener = "(" if opened.operator == "call" else opened.operator
                raise fail(opened.place.span, f"'{opener}' is never closed")
            return False

    def _close(self, token: _Token, opened: Waiting[_Token], stacks: _Stacks) -> bool:
        """Handles `)`, `]` or `,` behind a whole operand. True when an operand is complete, False when one must follow."""
        values, waiting = stacks.values, stacks.waiting
        if opened.operator == "if":
            raise fail(opened.place.span, "'if' without an 'else'")
        if opened.operator == "call" and token.text == ",":
            self.take()
            waiting[-1] = opened._replace(arity=opened.arity + 1)  # the arguments so far
            return False
        closer = "]" if opened.operator == "[" else ")"
        if token.text != closer:
            raise fail(token.span, f"expected '{closer}', found '{token.text}'")
        self.take()
        waiting.pop()
        if opened.operator == "call":
            arguments = tuple(values[-opened.arity - 1 :])
            del values[-opened.arity - 1 :]
            values.append(Expression("call", arguments, opened.place.span, opened.place.text))
        elif opened.operator == "[":
            values[-1] = Expression("identity", (values[-1],), opened.place.span)
        return True

    def _operand_follows(self) -> bool:
        after = self.tokens[self.at + 1]
        return after.kind == "name" or after.text == "if" or (after.kind == "op" and after.text in ("(", "[", "~", "{"))


_Stacks = Stacks[Expression, _Token]


def _applied(waiting: Waiting[_Token], operands: list[Expression]) -> Expression:
    token = waiting.place
    if waiting.operator == "if":
        return Expression("if", tuple(operands), token.span, token.text)
    op = "complement" if waiting.operator == "~" else _NODE[waiting.operator]
    return Expression(op, tuple(operands), token.span)


__all__ = ["Axiom", "Binding", "Diagnostic", "Expression", "Include", "InputError", "Item", "Let", "read"]
