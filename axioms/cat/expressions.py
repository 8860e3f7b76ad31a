"""Reads the expressions of a .cat file, on stacks: no nesting of brackets and operators is too deep. What is nested in bindings
and in the clauses of a `match` is read by calls, and has a limit."""

from __future__ import annotations

from axioms.cat.syntax import Binders, Binding, Clause, Expression
from axioms.cat.tokens import KEYWORDS, UNSUPPORTED, Token, quoted, unsupported
from ptxcore.diagnostics import Span, fail, nearest
from ptxcore.syntax.precedence import LEFT, RIGHT, Stacks, Waiting, levels

_LEVELS = levels((LEFT, "|"), (RIGHT, "++"), (LEFT, ";"), (LEFT, "\\"), (LEFT, "&"), (LEFT, "*"))
#: A branch reaches as far as it can; a complement binds more tightly than what has two operands.
_BRANCH, _COMPLEMENT = 0, len(_LEVELS) + 1
_POSTFIX = {"+": "plus", "^+": "plus", "^*": "star", "?": "opt", "^-1": "inverse"}
_NODE = {"|": "union", "++": "add", ";": "sequence", "\\": "difference", "&": "intersection", "*": "product"}
_CLOSER = {"(": ")", "call": ")", "apply": ")", "[": "]", "{": "}", "begin": "end"}
#: What a function may be applied to without brackets begins with one of these.
_ARGUMENT = frozenset(("(", "[", "{"))
_APPLICABLE = frozenset(("name", "call", "apply"))
_DEEPEST = 60


class TokenCursor:
    """A place among the words of a file, and what may stand there."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def take_if(self, text: str) -> bool:
        if self.next.text == text and self.next.kind in ("op", "keyword", "name"):
            self.at += 1
            return True
        return False

    def expect(self, kind: str, what: str) -> Token:
        if self.next.kind != kind:
            raise fail(self.next.span, f"expected {what}, found '{self.next.text}'")
        return self.take()

    def expect_op(self, text: str) -> Token:
        if self.next.text != text:
            raise fail(self.next.span, f"expected '{text}', found '{self.next.text}'")
        return self.take()

    def new_name(self, what: str) -> Token:
        """A name that a model gives: a word, and none that means something here."""
        token = self.expect("name", what)
        if token.text in UNSUPPORTED:
            raise fail(token.span, f"'{token.text}' is a word of the language, no name")
        if not token.text.lstrip("_")[:1].isalpha():
            raise fail(token.span, f"expected {what}, found '{token.text}'", "a name begins with a letter")
        return token

    def new_part(self, what: str) -> Token:
        """A name, or `_` for what nobody names."""
        return self.take() if self.next.text == "_" else self.new_name(what)


def once(what: str, names: list[tuple[str, Span]]) -> None:
    """Raises InputError for a name that stands twice, so that one of its meanings would be lost."""
    seen: set[str] = set()
    for name, span in names:
        if name in seen:
            raise fail(span, f"'{name}' is {what} twice")
        seen.add(name)


def names_of(parts: list[Token], what: str) -> Binders:
    """The parts of a pattern."""
    once(what, [(p.text, p.span) for p in parts if p.text != "_"])
    return tuple(None if p.text == "_" else p.text for p in parts)


class Expressions(TokenCursor):
    """Reads expressions and bindings."""

    def parameters(self, what: str = "a parameter") -> list[Token]:
        """`a, b, ... )` behind its bracket."""
        parts: list[Token] = []
        while not self.take_if(")"):
            parts.append(self.new_part(what))
            if not self.take_if(",") and self.next.text != ")":
                raise fail(self.next.span, f"expected ',' or ')', found '{self.next.text}'")
        return parts

    def bindings(self) -> tuple[Binding, ...]:
        """`a = ... and b = ...`."""
        found = [self.binding()]
        while self.take_if("and"):
            found.append(self.binding())
        once("defined", [(b.name, b.span) for b in found if b.name])
        return tuple(found)

    def binding(self) -> Binding:
        """What one `let` defines."""
        first = self.next
        if self.take_if("("):
            parts = self.parameters("a name to define")
            return self._parts(parts, first)
        name = self.new_part("a name to define")
        if name.text == "_" or self.next.text == ",":
            parts = [name]
            while self.take_if(","):
                parts.append(self.new_part("a name to define"))
            return self._parts(parts, first)
        parameters: list[Token] | None = None
        if self.take_if("("):
            parameters = self.parameters()
        elif self.next.kind == "name":
            parameters = [self.new_part("a parameter")]
        self.expect_op("=")
        names = None if parameters is None else names_of(parameters, "a parameter")
        return Binding(name.text, names, self.expression(), name.span)

    def _parts(self, parts: list[Token], first: Token) -> Binding:
        self.expect_op("=")
        names = names_of(parts, "defined")
        if len(parts) == 1 and names[0] is not None:
            return Binding(names[0], None, self.expression(), first.span)
        return Binding("", None, self.expression(), first.span, names)

    def expression(self, tuples: bool = True) -> Expression:
        """An expression; with `tuples` it may be `a, b` too."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise fail(self.next.span, f"more than {_DEEPEST} bindings and clauses are nested here")
        first = self._whole()
        if tuples and self.next.text == "," and self.next.kind == "op":
            parts = [first]
            while self.take_if(","):
                parts.append(self._whole())
            first = Expression("tuple", tuple(parts), first.span)
        self.depth -= 1
        return first

    def _whole(self) -> Expression:
        """What waits for operands or is open has its token for a place."""
        stacks: _Stacks = Stacks(_LEVELS, _applied)
        while True:
            if self._prefix(stacks) and not self._after_operand(stacks):
                return stacks.values[0]

    def _prefix(self, stacks: _Stacks) -> bool:
        """One word where an operand must come. True when that is a whole operand."""
        token = self.take()
        if token.kind == "op" and token.text in ("(", "[", "{"):
            return self._bracket(token, stacks)
        if token.kind == "op" and token.text == "~":
            stacks.prefix("~", token, _COMPLEMENT)
            return False
        if token.kind == "keyword":
            return self._construct(token, stacks)
        if token.kind == "tag":
            stacks.values.append(Expression("tag", (), token.span, token.text[1:]))
        elif token.kind == "name":
            if token.text in UNSUPPORTED:
                raise unsupported(token)
            if self.next.text == "(" and self.next.kind == "op" and token.text not in ("0", "_"):
                self.take()
                if not self.take_if(")"):
                    stacks.open("call", token)
                    return False
                stacks.values.append(Expression("call", (), token.span, token.text))
            else:
                stacks.values.append(Expression("name", (), token.span, token.text))
        else:
            raise fail(token.span, f"expected a relation or a set, found '{token.text}'")
        return True

    def _bracket(self, token: Token, stacks: _Stacks) -> bool:
        if token.text == "{" and self.take_if("}"):
            stacks.values.append(Expression("name", (), token.span, "{}"))
            return True
        if token.text == "(" and self.take_if(")"):
            stacks.values.append(Expression("tuple", (), token.span))
            return True
        stacks.open(token.text, token)
        return False

    def _construct(self, token: Token, stacks: _Stacks) -> bool:
        """What begins with a word of the language. True when it is whole."""
        word = token.text
        if word == "begin" or word == "try":
            stacks.open(word, token)
        elif word == "if":
            stacks.open("if", self._condition(token))
        elif word == "let":
            recursive = self.take_if("rec")
            bindings = self.bindings()
            self.expect_op("in")
            place = Expression("let", (), token.span, "rec" if recursive else "", bindings=bindings)
            stacks.prefix("let", token._replace(given=(place,)), _BRANCH)
        elif word == "fun":
            parts = self.parameters() if self.take_if("(") else [self.new_part("a parameter")]
            self.expect_op("->")
            place = Expression("fun", (), token.span, names=names_of(parts, "a parameter"))
            stacks.prefix("fun", token._replace(given=(place,)), _BRANCH)
        elif word == "match":
            stacks.values.append(self._match(token))
            return True
        else:
            raise fail(token.span, f"expected a relation or a set, found '{word}'")
        return False

    def _condition(self, token: Token) -> Token:
        """`if` and its condition, up to behind `then`."""
        variant = self.take_if("variant")
        if variant or self.next.kind == "string":
            option = quoted(self.expect("string", "an option in quotes"))
            self.expect_op("then")
            return token._replace(text=option)
        if self.tokens[self.at + 1].text == "then":
            raise fail(self.next.span, f"expected an option in quotes, found '{self.next.text}'")
        left = self.expression()
        sign = self.next.text
        if sign not in ("=", "subset", "in"):
            raise fail(self.next.span, f"expected an option in quotes, or '=', 'subset' or 'in', found '{sign}'")
        self.take()
        right = self.expression()
        self.expect_op("then")
        return token._replace(text=sign, given=(left, right))

    def _match(self, token: Token) -> Expression:
        subject = self.expression()
        self.expect_op("with")
        self.take_if("||")
        clauses = [self._clause()]
        while self.take_if("||"):
            clauses.append(self._clause())
        self.expect_op("end")
        check_clauses(token, clauses)
        return Expression("match", (subject,), token.span, clauses=tuple(clauses))

    def _clause(self) -> Clause:
        kind, names = self.clause_head()
        return Clause(kind, names, self.expression())

    def clause_head(self) -> tuple[str, Binders]:
        """What a clause is for, up to behind its arrow."""
        if self.next.kind == "tag":
            tag = self.take().text[1:]
            self.expect_op("->")
            return "tag", (tag,)
        if self.take_if("{"):
            self.expect_op("}")
            self.expect_op("->")
            return "empty", ()
        parts = [self.new_part("a tag, '{}' or a name")]
        kind = "other"
        if self.take_if("|"):
            kind = "middle"
            parts.append(self.new_part("a name"))
        if kind == "middle" or self.next.text == "++":
            self.expect_op("++")
            kind = "middle" if kind == "middle" else "first"
            parts.append(self.new_part("a name"))
        names = names_of(parts, "in a clause")
        if kind == "other" and names != (None,):
            raise fail(parts[0].span, f"expected a tag, '_', '{{}}' or 'x ++ rest', found '{parts[0].text}'")
        self.expect_op("->")
        return kind, names

    def _after_operand(self, stacks: _Stacks) -> bool:
        """Postfix operators and closers behind an operand. True when another operand must follow."""
        values = stacks.values
        while True:
            token = self.next
            if (token.kind == "op" and token.text in _POSTFIX) or (token.text == "*" and not self._operand_follows()):
                self.take()
                values[-1] = Expression(_POSTFIX.get(token.text, "star"), (values[-1],), values[-1].span)
                continue
            if token.kind == "op" and token.text in _LEVELS:
                stacks.binary(token.text, self.take())
                return True
            if self._is_argument(token, values[-1]):
                if self._argument(stacks):
                    continue
                return True
            opened = stacks.innermost()
            if token.text in (")", "]", "}", ",", "end") and token.kind in ("op", "keyword"):
                if opened is None:
                    return False  # belongs to whoever asked for the expression
                if self._close(token, opened, stacks):
                    continue
                return True
            if token.kind == "keyword" and token.text in ("else", "with") and self._turn(token, opened, stacks):
                return True
            if token.text in UNSUPPORTED:
                raise unsupported(token)
            if token.kind == "name":
                raise fail(token.span, f"expected an operator, found '{token.text}'", nearest(token.text, KEYWORDS))
            if opened is not None:
                raise _never_closed(opened)
            return False

    def _is_argument(self, token: Token, function: Expression) -> bool:
        if function.op not in _APPLICABLE or function.name in ("0", "_", "{}"):
            return False
        if token.kind == "op":
            return token.text in _ARGUMENT
        return token.kind in ("name", "tag") or (token.kind == "keyword" and token.text == "begin")

    def _argument(self, stacks: _Stacks) -> bool:
        """`f x` applies f. True when the argument is whole."""
        token, values = self.take(), stacks.values
        if token.kind in ("name", "tag"):
            if token.text in UNSUPPORTED:
                raise unsupported(token)
            name = token.text[1:] if token.kind == "tag" else token.text
            argument = Expression(token.kind, (), token.span, name)
            values[-1] = Expression("apply", (values[-1], argument), values[-1].span)
            return True
        if token.text in ("(", "{") and self.take_if(_CLOSER[token.text]):
            empty = (
                Expression("tuple", (), token.span) if token.text == "(" else Expression("name", (), token.span, "{}")
            )
            values[-1] = Expression("apply", (values[-1], empty), values[-1].span)
            return True
        stacks.open("begin" if token.text == "begin" else token.text, token._replace(given=(values.pop(),)))
        return False

    def _turn(self, token: Token, opened: Waiting[Token] | None, stacks: _Stacks) -> bool:
        """`else` and the `with` of a `try`. False where the word belongs to something around the expression."""
        wanted = "if" if token.text == "else" else "try"
        if opened is not None and opened.operator == wanted:
            self.take()
            stacks.waiting.pop()
            stacks.prefix(wanted, opened.place, _BRANCH, arity=2)
            return True
        if token.text == "else" and self.depth == 1 and opened is None:
            raise fail(token.span, "'else' without an 'if'")
        return False

    def _close(self, token: Token, opened: Waiting[Token], stacks: _Stacks) -> bool:
        """Handles a closing bracket or `,` behind a whole operand. True when an operand is complete, False when one must
        follow."""
        values, waiting = stacks.values, stacks.waiting
        if opened.operator in ("if", "try"):
            raise _never_closed(opened)
        if token.text == "," and opened.operator in ("call", "(", "{"):
            self.take()
            waiting[-1] = opened._replace(arity=opened.arity + 1)  # the operands so far
            return False
        closer = _CLOSER[opened.operator]
        if token.text != closer:
            raise fail(token.span, f"expected '{closer}', found '{token.text}'")
        self.take()
        waiting.pop()
        parts = tuple(values[-opened.arity - 1 :])
        del values[-opened.arity - 1 :]
        span = opened.place.span
        if opened.operator == "call":
            found = Expression("call", parts, span, opened.place.text)
        elif opened.operator == "[":
            found = Expression("identity", parts, span)
        elif opened.operator == "{":
            found = Expression("set", parts, span)
        else:
            found = parts[0] if len(parts) == 1 else Expression("tuple", parts, span)
        if opened.place.given:
            function = opened.place.given[0]
            found = Expression("apply", (function, found), function.span)
        values.append(found)
        return True

    def _operand_follows(self) -> bool:
        after = self.tokens[self.at + 1]
        if after.kind == "op":
            return after.text in ("(", "[", "~", "{")
        return after.kind in ("name", "tag") or (after.kind == "keyword" and after.text in ("if", "begin"))


_Stacks = Stacks[Expression, Token]


def _never_closed(opened: Waiting[Token]) -> Exception:
    if opened.operator == "if":
        return fail(opened.place.span, "'if' without an 'else'")
    if opened.operator == "try":
        return fail(opened.place.span, "'try' without a 'with'")
    opener = "(" if opened.operator == "call" else opened.operator
    return fail(opened.place.span, f"'{opener}' is never closed")


def check_clauses(token: Token, clauses: list[Clause]) -> None:
    """Raises InputError for clauses of which some can never be meant, or that leave out what must be there."""
    kinds = [c.kind for c in clauses]
    by_tag = {"tag", "other"}.issuperset(kinds)
    if by_tag:
        if "other" in kinds[:-1]:
            raise fail(token.span, "'_' comes last in a match")
        return
    if len(kinds) != 2 or "empty" not in kinds or not {"first", "middle"}.intersection(kinds):
        raise fail(token.span, "a match of a set has two clauses: '{}' and 'x ++ rest'")


def _applied(waiting: Waiting[Token], operands: list[Expression]) -> Expression:
    token = waiting.place
    if waiting.operator == "if":
        return Expression("if", (*token.given, *operands), token.span, token.text)
    if waiting.operator in ("let", "fun"):
        return token.given[0]._replace(operands=tuple(operands))
    if waiting.operator == "try":
        return Expression("try", tuple(operands), token.span)
    op = "complement" if waiting.operator == "~" else _NODE[waiting.operator]
    return Expression(op, tuple(operands), token.span)
