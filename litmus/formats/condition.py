"""The tail of a test: scope tree, observed terms, filter, final condition.

    prop := prop "=>" prop | prop "\\/" prop | prop "/\\" prop | "~" prop | "(" prop ")"
          | "true" | "false" | side CMP side

from loose to tight; `=>` groups to the right. `not`, `&&`, `||` and `<>` are `~`, `/\\`, `\\/` and `!=` by other names.
"""

from __future__ import annotations

import re

from litmus.formats.declarations import read_value, value_hint
from litmus.formats.placement import Tree, read_tree
from litmus.formats.source import LitmusSource
from litmus.test import (
    PROPERTIES,
    TYPE_WIDTHS,
    AddressOf,
    And,
    Compare,
    Condition,
    Constant,
    Implies,
    Literal,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
)
from ptxcore.diagnostics import Span
from ptxcore.syntax.precedence import RIGHT, RUN, Stacks, Waiting, levels

#: Negations, implications, and changes between conjunction and disjunction inside each other: values that nest deeper
#: could not be compared. Parentheses alone do not count.
MAX_DEPTH = 200

Side = RegisterTerm | LocationTerm | Constant | AddressOf
Terms = list[RegisterTerm | LocationTerm]

_TOKEN = re.compile(
    r"\s*+(?:(/\\|\\/|&&|\|\||=>|==|!=|<>|<=|>=|[~()=<>;&])"  # 1: an operator or a bracket
    r"|P?(\d{1,9}+)\s*+:\s*+%?([A-Za-z_$][\w$]*+)"  # 2, 3: a thread's register
    r"|([A-Za-z_$][\w$]*+)(?>(?:\s*+(\.\w++)?\s*+\[\s*+(\w++)\s*+\])?)"  # 4, 5, 6: a word, a type, an element
    r"|\[\s*+([A-Za-z_$][\w$]*+)\s*+\]"  # 7: a location in brackets
    r"|(-?\d\w*+(?:\.\d\w*+)?)"  # 8: a number, or one with a point, to be refused
    r"|(\S))",  # 9: anything else
    re.ASCII,
)
_OPERATOR, _REGISTER, _WORD, _BRACKETED, _NUMBER, _OTHER = 1, 3, 4, 7, 8, 9
_COMPARISONS = frozenset(("=", "==", "!=", "<>", "<", "<=", ">", ">="))
#: What some tools write for operators.
_SAME = {"&&": "/\\", "||": "\\/", "<>": "!=", "=": "=="}
_COMPARED = re.compile(r"\s*+(?:[=<>]|!=)")
_LEVELS = levels((RIGHT, "=>"), (RUN, "\\/"), (RUN, "/\\"))
_NEGATION = len(_LEVELS) + 1
_OPEN_BRACKET = re.compile(r"\s*+\[")
_CLOSE_BRACKET = re.compile(r"\s*+\]")
_PART = re.compile(r"\s*+(?:(scopes)\s*+:|(~|not\b)\s*+exists\b|([A-Za-z_]\w*+)|(\S))", re.ASCII)
_PARENTHESIS = re.compile(r"[()]")
_END = re.compile(r"\s*+;?\s*+")
#: How other languages write what conditions have.
_FOREIGN = re.compile(r"\s*+(&|\||->|,|!|(?:and|or|AND|OR|NOT)\b)", re.ASCII)
_MEANT = {
    **dict.fromkeys(("&", "and", ","), ("/\\", "as in x = 1 /\\ y = 1")),
    **dict.fromkeys(("|", "or"), ("\\/", "as in x = 1 \\/ y = 1")),
    **dict.fromkeys(("!", "not"), ("~", "as in ~(x = 1)")),
    "->": ("=>", "as in x = 1 => y = 1"),
}
#: How a question begins, and its quantifier. A proposition in parentheses alone, and `final`, ask whether it can end so.
_QUESTIONS = {"exists": "exists", "~exists": "~exists", "forall": "forall", "final": "exists", "(": "exists"}
_PARTS = ("scopes:", "locations", "filter", "exists", "~exists", "forall", *PROPERTIES)


class Tail:
    """What stands after the program. `reader` has kept what the checks of its terms need."""

    __slots__ = ("checks", "conditions", "filter", "lines", "observed", "reader", "tree")

    def __init__(self, reader: PropositionReader) -> None:
        self.conditions: list[Condition] = []
        self.checks: tuple[str, ...] = ()
        self.filter: Proposition | None = None
        self.observed: tuple[RegisterTerm | LocationTerm, ...] = ()
        self.tree: Tree | None = None
        self.lines: dict[str, int] = {}
        self.reader = reader


def read_tail(source: LitmusSource, start: int) -> Tail:
    """Everything after the program. Raises `InputError` where it cannot be read."""
    text = source.text
    reader = PropositionReader(source)
    tail = Tail(reader)
    seen = tail.lines
    at = start
    while (part := _PART.match(text, at)) is not None:
        word = "scopes:" if part[1] else "~exists" if part[2] else part[3] or part[4]
        place = part.start(part.lastindex or 0), part.end()
        if tail.conditions and (word not in (*_PARTS, "final") or word in ("scopes:", "locations", "filter")):
            end = text.find("\n", place[0])
            near = source.suggest(word, (*PROPERTIES, "exists", "~exists", "forall"))
            end = len(text.rstrip()) if end < 0 else end
            hint = near or "another condition begins with exists, ~exists or forall"
            raise source.error(place[0], end, "unexpected text after the final condition", hint)
        if word not in _PARTS and word not in _QUESTIONS:
            hint = (
                source.suggest(word, _PARTS)
                or f"after the program come scopes:, locations, filter, exists, ~exists or forall, and {', '.join(PROPERTIES)}"
            )
            raise source.error(*place, f"unexpected '{word[:40]}'", hint)
        if word in seen and word not in _QUESTIONS:
            raise source.error(*place, f"{word} is there twice")
        line = source.position(place[0])[0]
        seen.setdefault(word, line)
        at = part.end()
        if word == "scopes:":
            groups, spans, at = read_tree(source, at)
            tail.tree = groups, spans
        elif word == "locations":
            tail.observed, at = reader.read_terms(at)
        elif word == "filter":
            tail.filter, at = reader.read(at)
        elif word in PROPERTIES:
            at = _behind(text, at)
        else:
            proposition, at = reader.read(place[0] if word == "(" else at)
            if word == "(" and (end := closing_parenthesis(text, place[0])) != at:
                raise source.error(
                    end, at, "unexpected text after the condition", "write 'exists' before the condition"
                )
            tail.conditions.append(Condition(_QUESTIONS[word], proposition, line=line))
            at = _behind(text, at)
    tail.checks = tuple(p for p in PROPERTIES if p in seen)
    return tail


def _behind(text: str, at: int) -> int:
    """The offset behind the `;` that may end a part, and blanks."""
    rest = _END.match(text, at)
    return rest.end() if rest else at


def closing_parenthesis(text: str, opening: int) -> int:
    """The offset behind the parenthesis that closes the one at `opening`, where each one has its own."""
    depth = 0
    for found in _PARENTHESIS.finditer(text, opening):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.end()
    return len(text)


def _place(token: re.Match[str]) -> tuple[int, int]:
    """Where a token stands, without the blanks before it."""
    start = token.start()
    while token.string[start] in " \t\n\f\v":
        start += 1
    return start, token.end()


class PropositionReader:
    """Reads propositions and keeps what later checks need: terms, and comparisons with their places."""

    def __init__(self, source: LitmusSource) -> None:
        self.source = source
        self.terms: Terms = []
        self.addresses: list[tuple[str, Span]] = []
        self.constants: list[tuple[LocationTerm, int, Span]] = []

    def read(self, start: int) -> tuple[Proposition, int]:
        """A proposition and the offset after it."""
        text, source = self.source.text, self.source
        stacks: Stacks[tuple[Proposition, int], int] = Stacks(_LEVELS, self._applied)  # values with their depths
        at = start
        while True:
            # An operand is wanted.
            token = _TOKEN.match(text, at)
            if token is None:
                end = len(text.rstrip())
                raise source.error(
                    max(end - 1, 0), end, "the condition ends too early", "a proposition is missing here"
                )
            kind, here = token.lastindex, token.end()
            if kind == _OPERATOR and token[1] == "(":
                stacks.open("(", token.start(1))
                at = here
                continue
            negates = token[_WORD] == "not" and kind == _WORD and not _COMPARED.match(text, here)
            if negates or (kind == _OPERATOR and token[1] == "~"):
                stacks.prefix("~", token.start(_WORD if negates else _OPERATOR), _NEGATION)
                at = here
                continue
            if (token[_WORD] or token[_OTHER]) in ("!", "NOT") and not _COMPARED.match(text, here):
                self._refuse_foreign(at)
            if kind in (_WORD, 6) and token[4] in ("true", "false") and token[6] is None:
                stacks.values.append((Literal(token[4] == "true"), 0))
                at = here
            else:
                compare, at = self._comparison(token)
                stacks.values.append((compare, 0))
            # An operator, a closing parenthesis, or the end.
            while True:
                token = _TOKEN.match(text, at)
                word = _SAME.get(token[1], token[1]) if token is not None and token[1] else None
                if token is None or word != ")":
                    break
                if stacks.innermost() is None:
                    raise source.error(*token.span(1), "')' without '('")
                stacks.waiting.pop()
                at = token.end()
            if token is None or word is None or word not in _LEVELS:
                self._refuse_foreign(at)
                opened = stacks.innermost()
                if opened is not None:
                    raise source.error(opened.place, opened.place + 1, "this '(' is never closed", "close it with ')'")
                return stacks.values[0][0], at
            stacks.binary(word, token.start(1))
            at = token.end()

    def _refuse_foreign(self, at: int) -> None:
        """Raises InputError where an operator of another language stands."""
        found = _FOREIGN.match(self.source.text, at)
        if found is not None:
            operator, example = _MEANT[found[1].lower()]
            raise self.source.error(*found.span(1), f"'{found[1]}' is written '{operator}' in a condition", example)

    def _applied(self, waiting: Waiting[int], operands: list[tuple[Proposition, int]]) -> tuple[Proposition, int]:
        depth = self._deeper(max(depth for _, depth in operands), waiting.place)
        parts = tuple(part for part, _ in operands)
        if waiting.operator == "~":
            return Not(*parts), depth
        if waiting.operator == "=>":
            return Implies(*parts), depth
        return (And(parts) if waiting.operator == "/\\" else Or(parts)), depth

    def _deeper(self, depth: int, offset: int) -> int:
        if depth >= MAX_DEPTH:
            message = f"the condition nests more than {MAX_DEPTH} operators"
            raise self.source.error(
                offset, offset + 1, message, "use fewer negations and implications inside each other"
            )
        return depth + 1

    def _comparison(self, token: re.Match[str]) -> tuple[Compare, int]:
        source, text = self.source, self.source.text
        left, left_span = self._side(token)
        operator = _TOKEN.match(text, token.end())
        if operator is None or operator[1] not in _COMPARISONS:
            place = _place(operator) if operator else (token.end() - 1, token.end())
            message = "a comparison is wanted here: = == != < <= > >="
            raise source.error(*place, message, "as in '1:r0 == 1'")
        last = _TOKEN.match(text, operator.end())
        ampersand = last is not None and last[1] == "&"
        if last is not None and ampersand:
            last = _TOKEN.match(text, last.end())
        if last is None or last[1]:
            place = last.span(1) if last else operator.span(1)
            raise source.error(*place, "the right side of the comparison is missing")
        right, right_span = self._side(last)
        if isinstance(right, LocationTerm) and last[4] is not None and right.element is None:
            # A bare location here means its address; but a number can only be meant to equal what a location holds.
            if ampersand or not isinstance(left, Constant):
                right = AddressOf(right.location)
                self.terms.pop()
                self.addresses.append((right.location, right_span))
        elif ampersand:
            raise source.error(*_place(last), "'&' wants a location", "as in '1:rd0 == &x'")
        op = _SAME.get(operator[1], operator[1])
        if isinstance(left, LocationTerm) and isinstance(right, Constant):
            self.constants.append((left, right.value, right_span))
        elif isinstance(left, Constant) and isinstance(right, LocationTerm):
            self.constants.append((right, left.value, left_span))
        return Compare(op, left, right), last.end()  # type: ignore[arg-type]

    def _side(self, token: re.Match[str]) -> tuple[Side, Span]:
        source = self.source
        start, end = _place(token)
        span = source.span(start, end)
        if token[8] is not None:
            value = read_value(token[8])
            if value is None:
                raise source.error(start, end, f"'{token[8][:40]}' is no value", value_hint(token[8]))
            if not -(1 << 127) <= value < 1 << 128:
                raise source.error(start, end, "a value has at most 128 bits")
            return Constant(value), span
        term = self._term(token, span)
        self.terms.append(term)
        return term, span

    def _term(self, token: re.Match[str], span: Span) -> RegisterTerm | LocationTerm:
        source = self.source
        if token[3] is not None:
            return RegisterTerm(f"P{int(token[2])}", token[3], span)
        if token[7] is not None:
            return LocationTerm(token[7], span=span)
        if token[4] is not None:
            if token[6] is None:
                return LocationTerm(token[4], span=span)
            index = read_value(token[6])
            if index is None or index >= 1 << 31:
                raise source.error(*token.span(6), f"'{token[6][:40]}' is no element's number", "elements count from 0")
            if token[5] is not None and token[5] not in TYPE_WIDTHS:
                hint = source.suggest(token[5], TYPE_WIDTHS) or "the types are " + ", ".join(TYPE_WIDTHS)
                raise source.error(*token.span(5), f"unknown type '{token[5][:40]}'", hint)
            return LocationTerm(token[4], index, token[5], span)
        place = _place(token)
        word = source.text[place[0] : place[1]]
        hint = "terms are registers (1:r0), locations (x, [x], b[2], b.u8[1]) and numbers"
        raise source.error(*place, f"unexpected '{word[:40]}' where a term is wanted", hint)

    def read_terms(self, start: int) -> tuple[tuple[RegisterTerm | LocationTerm, ...], int]:
        """`[x; 1:r0;]` after `locations`."""
        source, text = self.source, self.source.text
        opening = _OPEN_BRACKET.match(text, start)
        if opening is None:
            raise source.error(start - 1, start, "'[' is missing after 'locations'", "as in 'locations [x; 1:r0;]'")
        terms: Terms = []
        at = opening.end()
        while (closing := _CLOSE_BRACKET.match(text, at)) is None:
            token = _TOKEN.match(text, at)
            if token is None:
                raise source.error(
                    opening.end() - 1, opening.end(), "the list of locations is never closed", "close it with ']'"
                )
            at = token.end()
            if token[1] == ";":
                continue
            terms.append(self._term(token, source.span(*_place(token))))
            after = _TOKEN.match(text, at)
            if (after is None or after[1] != ";") and not _CLOSE_BRACKET.match(text, at):
                place = _place(after) if after else (at - 1, at)
                raise source.error(*place, "terms are separated by ';'", "as in 'locations [x; 1:r0;]'")
        self.terms += terms
        return tuple(terms), closing.end()
