"""Reads a .cat file into statements. The language is that of the herd family.

    model      := title? item*                 a title is STRING, NAME, NAME NAME or NAME STRING (an architecture and a name);
                                                one that is not in quotes has its line for itself
    item       := "let" ["rec"] bind ("and" bind)* ["when" test] ["in"]
                | ["flag" | "undefined_unless" | "requires"] test
                | "include" STRING | ("show" | "unshow") expr ["as" NAME] ("," ...)*
                | "enum" NAME "=" TAG ("||" TAG)* | "with" NAME "from" expr
                | "procedure" ["rec"] NAME parameters "=" item* "end" | "call" NAME argument ["as" NAME]
                | "forall" NAME "in" expr "do" item* "end" | "match" expr "with" (TAG | "_") "->" item* ... "end"
                | "if" ["variant"] STRING item* ["else" item*] "end" | "debug" expr
    test       := ["~"] ("acyclic" | "irreflexive" | "empty") expr ["as" NAME]
    bind       := NAME "=" expr | NAME "(" NAME,* ")" "=" expr | NAME NAME "=" expr | "(" NAME,* ")" "=" expr
    expr       := by precedence, loosest first:  |   ++   ;   \\   &   *(product)   ~   postfix + * ? ^-1 ^+ ^*
                | "[" expr "]" | "(" expr,* ")" | "{" expr,* "}" | "begin" expr "end" | NAME | TAG | "_" | "0"
                | NAME "(" expr,* ")" | NAME argument | "fun" parameters "->" expr | "let" ["rec"] bind ... "in" expr
                | "if" (STRING | expr ("=" | "subset" | "in") expr) "then" expr "else" expr | "try" expr "with" expr
                | "match" expr "with" clause ("||" clause)* "end"
    clause     := (TAG | "_" | "{" "}" | NAME "++" NAME | NAME "|" NAME "++" NAME) "->" expr

`|`, `;` and `&` associate freely; `\\` to the left. Comments are `(* *)`, which nest, `//` and `#`. Words that the herd
family has for statements are nobody's names here, also those that are not supported: what they say would be lost.
"""

from __future__ import annotations

from axioms.cat.expressions import Expressions, check_clauses, names_of
from axioms.cat.syntax import (
    Binding,
    Call,
    Clause,
    Debug,
    Enum,
    Expression,
    Forall,
    If,
    Include,
    Item,
    Let,
    Match,
    Procedure,
    Show,
    Stated,
    With,
)
from axioms.cat.tokens import KEYWORDS, UNSUPPORTED, Token, quoted, tokens, unsupported
from ptxcore.diagnostics import Diagnostic, InputError, fail, nearest

_TESTS = ("acyclic", "irreflexive", "empty")
_ALWAYS = ("flag", "undefined_unless", "requires", "~", *_TESTS)


def read(text: str) -> tuple[str, list[Item]]:
    """The title (may be empty) and the items of a model. Raises InputError at the first mistake."""
    return _Reader(tokens(text)).model()


def read_expression(text: str) -> Expression:
    """An expression by itself. Raises InputError at the first mistake."""
    reader = _Reader(tokens(text))
    found = reader.expression()
    if reader.next.kind != "end":
        raise fail(reader.next.span, f"expected an operator, found '{reader.next.text}'")
    return found


class _Reader(Expressions):
    def model(self) -> tuple[str, list[Item]]:
        title = self.title()
        items: list[Item] = []
        while self.next.kind != "end":
            items.append(self.item())
        return title, items

    def title(self) -> str:
        """What stands before the first item. Nothing else is taken for a title: an axiom whose first word is misspelt forbids
        nothing of what it means to forbid."""
        first = self.next
        if first.kind == "string":
            self.take()
            return quoted(first)
        if first.kind != "name" or first.text in UNSUPPORTED:
            return ""
        self.take()
        words = [first.text]
        if self.next.kind in ("name", "string") and self.next.text not in UNSUPPORTED and self._beside(first):
            words.append(quoted(self.take()))
        after, last = self.next, self.tokens[self.at - 1]
        known = [*KEYWORDS, *UNSUPPORTED]
        hint = nearest(first.text, known) or "a title with more in its line is written in quotes"
        if not first.text[0].isalpha() or (after.kind != "end" and self._beside(last)):
            raise fail(first.span, f"expected a definition, an axiom or a title, found '{first.text}'", hint)
        if last is first and nearest(first.text, known):
            message = f"'{first.text}' is taken neither for a title nor for a statement"
            raise fail(first.span, message, f"{hint} A title that is meant to be one is written in quotes")
        return " ".join(words)

    def _beside(self, token: Token) -> bool:
        """Whether what comes next stands in the line of a token."""
        return self.next.span.line == token.span.line

    def item(self) -> Item:
        token = self.take()
        word = token.text
        if word == "~" or (token.kind == "keyword" and word in _ALWAYS):
            return self.axiom(token)
        reads = _STATEMENTS.get(word) if token.kind == "keyword" else None
        if reads is not None:
            return reads(self, token)
        if word in UNSUPPORTED:
            raise unsupported(token)
        hint = nearest(word, KEYWORDS) if token.kind == "name" else None
        raise fail(token.span, f"expected a definition or an axiom, found '{word}'", hint)

    def items(self, opened: Token, *ends: str) -> tuple[Item, ...]:
        """Statements up to a word that ends them, which is left."""
        self.depth += 1
        if self.depth > 50:
            raise fail(opened.span, "more than 50 statements are nested here")
        found: list[Item] = []
        while not (self.next.text in ends and self.next.kind in ("keyword", "op")):
            if self.next.kind == "end":
                raise fail(opened.span, f"'{opened.text}' is never ended, '{ends[-1]}' is missing")
            found.append(self.item())
        self.depth -= 1
        return tuple(found)

    def let(self, token: Token) -> Item:
        recursive = self.take_if("rec")
        bindings = self.bindings()
        when = None
        if recursive and self.take_if("when"):
            when = self.axiom(self.take())
        self.take_if("in")
        return Let(bindings, recursive, when)

    def include(self, token: Token) -> Item:
        path = self.expect("string", "a file name in quotes")
        return Include(quoted(path), path.span)

    def axiom(self, token: Token) -> Stated:
        before = token.text if token.text in ("flag", "undefined_unless", "requires") else ""
        if before:
            token = self.take()
        negated = token.text == "~"
        if negated:
            token = self.take()
        if token.text not in _TESTS:
            raise fail(token.span, f"expected 'acyclic', 'irreflexive' or 'empty', found '{token.text}'")
        body = self.expression()
        after = self.next.span
        name = self.new_name("the axiom's name").text if self.take_if("as") else ""
        demanded = before not in ("", "flag")
        return Stated(token.text, negated, before == "flag", body, name, token.span, after, demanded)

    def shown(self, token: Token) -> Item:
        found: list[tuple[Expression, str]] = []
        while True:
            e = self.expression(tuples=False)
            name = e.name if e.op == "name" else ""
            if self.take_if("as"):
                name = self.expect("name", "a name").text
            found.append((e, name))
            if not self.take_if(","):
                return Show(tuple(found), token.text == "unshow", token.span)

    def enum(self, token: Token) -> Item:
        name = self.new_name("a name to define")
        self.expect_op("=")
        self.take_if("||")
        tags = [self.expect("tag", "a tag, as in 'a")]
        while self.take_if("||"):
            tags.append(self.expect("tag", "a tag, as in 'a"))
        return Enum(name.text, tuple(t.text[1:] for t in tags), name.span)

    def procedure(self, token: Token) -> Item:
        recursive = self.take_if("rec")
        name = self.new_name("the procedure's name")
        parts = self.parameters() if self.take_if("(") else [self.new_part("a parameter")]
        self.expect_op("=")
        items = self.items(token, "end")
        self.take()
        return Procedure(name.text, names_of(parts, "a parameter"), items, recursive, name.span)

    def call(self, token: Token) -> Item:
        name = self.expect("name", "the name of a procedure")
        applied = self._call_of(name)
        if self.take_if("as"):
            self.expect("name", "a name")
        return Call(name.text, applied, name.span)

    def _call_of(self, name: Token) -> Expression:
        """The argument of a call: read as that of a function is."""
        self.at -= 1
        applied = self.expression(tuples=False)
        if applied.op == "call":
            single = len(applied.operands) == 1
            return applied.operands[0] if single else Expression("tuple", applied.operands, name.span)
        if applied.op == "apply" and applied.operands[0].op == "name":
            return applied.operands[1]
        raise fail(name.span, f"expected the arguments of '{name.text}', as in 'call {name.text}(po)'")

    def forall(self, token: Token) -> Item:
        name = self.new_name("a name")
        self.expect_op("in")
        over = self.expression()
        self.expect_op("do")
        items = self.items(token, "end")
        self.take()
        return Forall(name.text, over, items, name.span)

    def with_(self, token: Token) -> Item:
        name = self.new_name("a name")
        self.expect_op("from")
        return With(name.text, self.expression(), name.span)

    def match(self, token: Token) -> Item:
        subject = self.expression()
        self.expect_op("with")
        self.take_if("||")
        clauses: list[Clause] = []
        while True:
            before = self.next
            kind, names = self.clause_head()
            if kind not in ("tag", "other"):
                raise fail(before.span, "a match of statements is by tags")
            clauses.append(Clause(kind, names, None, self.items(token, "||", "end")))
            if self.take().text == "end":
                break
        check_clauses(token, clauses)
        return Match(subject, tuple(clauses), token.span)

    def if_(self, token: Token) -> Item:
        self.take_if("variant")
        option = quoted(self.expect("string", "an option in quotes"))
        then = self.items(token, "else", "end")
        otherwise = self.items(token, "end") if self.take().text == "else" else ()
        if otherwise or self.tokens[self.at - 1].text == "else":
            self.take()
        return If(option, then, otherwise, token.span)

    def debug(self, token: Token) -> Item:
        self.expression()
        return Debug(token.span)

    def declared(self, token: Token) -> Item:
        """What a bell file says of instructions: models are evaluated without it."""
        self.new_name("a name")
        self.expect_op("[")
        while not self.take_if("]"):
            self.expression(tuples=False)
            if not self.take_if(",") and self.next.text != "]":
                raise fail(self.next.span, f"expected ',' or ']', found '{self.next.text}'")
        return Debug(token.span)


_STATEMENTS = {
    "let": _Reader.let,
    "include": _Reader.include,
    "show": _Reader.shown,
    "unshow": _Reader.shown,
    "enum": _Reader.enum,
    "procedure": _Reader.procedure,
    "call": _Reader.call,
    "forall": _Reader.forall,
    "with": _Reader.with_,
    "match": _Reader.match,
    "if": _Reader.if_,
    "debug": _Reader.debug,
    "instructions": _Reader.declared,
    "default": _Reader.declared,
}

__all__ = [
    "Binding",
    "Diagnostic",
    "Expression",
    "Include",
    "InputError",
    "Item",
    "Let",
    "Stated",
    "read",
    "read_expression",
]
