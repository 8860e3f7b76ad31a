"""Expressions over the final contents of buffers, as the author of a kernel writes them: `x[0] == 2 && y[1] < 4`.

C's operators with C's precedence, and C's types: an element has the type its buffer is declared with (`b32` counts as
`u32`); integers of less than 32 bits are promoted to `int`; of two types the wider wins, of two as wide the unsigned one;
a float beside an integer makes both floats, beside a double both doubles; 16-bit floats compute as floats. Unsigned
arithmetic wraps, shifts by the width or more give what the bits run out to, and a division by zero has all bits set
(as PTX leaves it open). Numbers have C's types and suffixes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ptxcore.values import floats, terms
from ptxcore.values.ieee import F32, F64, convert
from ptxcore.values.terms import Value

#: Expressions that nest deeper are refused: nobody writes them, and nothing here could follow.
MAX_DEPTH = 100


class Type(NamedTuple):
    """`kind` is `u`, `s`, `f` or `bf` (bfloat16), with its bits."""

    kind: str
    width: int

    @property
    def is_float(self) -> bool:
        return self.kind in ("f", "bf")

    def __str__(self) -> str:
        return f"{self.kind}{self.width}"


#: The types that a parameter may be declared with.
TYPES = {
    **{f"{kind}{width}": Type(kind, width) for kind in "us" for width in (8, 16, 32, 64)},
    **{f"b{width}": Type("u", width) for width in (8, 16, 32, 64)},
    **{f"f{width}": Type("f", width) for width in (16, 32, 64)},
    "bf16": Type("bf", 16),
}
_TRUTH, _INT, _FLOAT, _DOUBLE = Type("u", 1), Type("s", 32), Type("f", 32), Type("f", 64)


class Typed(NamedTuple):
    value: Value
    type: Type


class ExpressionError(Exception):
    """A mistake between the offsets `start` and `end` of an expression's text."""

    def __init__(self, start: int, end: int, message: str, hint: str | None = None) -> None:
        self.start, self.end, self.message, self.hint = start, end, message, hint
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Number:
    start: int
    end: int
    typed: Typed
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Element:
    """`x[1]`, or the scalar `n` (`index` is None)."""

    start: int
    end: int
    name: str
    index: int | None
    depth: int = 0

    @property
    def label(self) -> str:
        return self.name if self.index is None else f"{self.name}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Operation:
    """`op` as written over its operands; `?` is the conditional, `&&` and `||` take two operands or more."""

    start: int
    end: int
    op: str
    operands: tuple[Node, ...]
    depth: int


Node = Number | Element | Operation
#: What a name means: raises ExpressionError for one that means nothing.
Resolver = Callable[[Element], Typed]


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    node: Node

    def elements(self) -> Iterator[Element]:
        """The elements and scalars that it speaks of, from left to right."""
        stack: list[Node] = [self.node]
        while stack:
            node = stack.pop()
            if isinstance(node, Element):
                yield node
            elif isinstance(node, Operation):
                stack += reversed(node.operands)

    def truth(self, resolve: Resolver) -> Value:
        """The truth value of "it is not zero". Raises ExpressionError for operators that a type does not have."""
        return _truth(_typed(self.node, resolve))


# Reading.

_TOKEN = re.compile(
    r"\s*+(?:(?P<number>(?:0[xX][0-9a-fA-F]++|(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+)\w*+)"
    r"|(?P<name>[A-Za-z_]\w*+)"
    r"|(?P<op>&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%&|^~!<>?:()\[\]])"
    r"|(?P<other>\S))",
    re.ASCII,
)
_BINDING = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_SUFFIX = re.compile(r"(?P<digits>0[xX][0-9a-fA-F]+|\d+)(?P<suffix>[uU]?[lL]{0,2}|[lL]{1,2}[uU]?)")
_REAL = re.compile(r"(?P<digits>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<suffix>[fF]?)")
_WRONG = {
    "=": ("'=' assigns; a comparison is '=='", "write '=='"),
    "/\\": ("'/\\' is a litmus test's 'and'", "write '&&'"),
    "\\/": ("'\\/' is a litmus test's 'or'", "write '||'"),
}


def parse(text: str) -> Expression:
    """An expression from its text. Raises ExpressionError for the first mistake."""
    return Expression(text, _Reader(text).whole())


class _Reader:
    """Precedence climbing over one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nesting = 0
        self.token: re.Match[str] | None = None
        self._advance()

    def whole(self) -> Node:
        node = self._conditional()
        if self.token is not None:
            raise self._unexpected("an operator is wanted here")
        return node

    def _advance(self) -> None:
        self.token = _TOKEN.match(self.text, self.at)
        if self.token is not None:
            self.at = self.token.end()

    @property
    def _word(self) -> str:
        return "" if self.token is None else self.token[self.token.lastgroup or 0]

    def _place(self) -> tuple[int, int]:
        if self.token is None:
            end = len(self.text.rstrip())
            return max(0, end - 1), max(1, end)
        return self.token.span(self.token.lastgroup or 0)

    def _unexpected(self, wanted: str) -> ExpressionError:
        start, end = self._place()
        if self.token is None:
            return ExpressionError(start, end, f"the expression ends too early: {wanted}")
        for wrong, (message, hint) in _WRONG.items():
            for at in (start, max(0, start - 1)):  # the first of two characters may have passed as an operator
                if self.text.startswith(wrong, at):
                    return ExpressionError(at, at + len(wrong), message, hint)
        return ExpressionError(start, end, f"unexpected '{self._word[:40]}': {wanted}")

    def _take(self, op: str) -> bool:
        if self.token is not None and self.token.lastgroup == "op" and self._word == op:
            self._advance()
            return True
        return False

    def _conditional(self) -> Node:
        self.nesting += 1
        if self.nesting > MAX_DEPTH:
            raise ExpressionError(*self._place(), f"the expression nests more than {MAX_DEPTH} deep")
        condition = self._binary(1)
        if self._take("?"):
            first = self._conditional()
            if not self._take(":"):
                raise self._unexpected("':' and what holds otherwise are wanted")
            condition = _operation("?", condition, first, self._conditional())
        self.nesting -= 1
        return condition

    def _binary(self, least: int) -> Node:
        left = self._unary()
        while self.token is not None and _BINDING.get(self._word, 0) >= least:
            op = self._word
            self._advance()
            left = _operation(op, left, self._binary(_BINDING[op] + 1))
        return left

    def _unary(self) -> Node:
        waiting: list[tuple[str, int]] = []
        while self.token is not None and self.token.lastgroup == "op" and self._word in "!-+~":
            waiting.append((self._word, self._place()[0]))
            if len(waiting) > MAX_DEPTH:
                raise ExpressionError(*self._place(), f"more than {MAX_DEPTH} operators in a row")
            self._advance()
        node = self._primary()
        for op, start in reversed(waiting):
            node = Operation(start, node.end, f"unary {op}", (node,), _deeper(start, (node,)))
        return node

    def _primary(self) -> Node:
        start, end = self._place()
        if self.token is None or self.token.lastgroup == "other":
            raise self._unexpected("a number, an element or '(' is wanted")
        word = self._word
        if self.token.lastgroup == "number":
            self._advance()
            return Number(start, end, _number(word, start, end))
        if self.token.lastgroup == "name":
            self._advance()
            if word in ("true", "false"):
                return Number(start, end, Typed(int(word == "true"), _INT))
            return self._element(word, start, end)
        if not self._take("("):
            raise self._unexpected("a number, an element or '(' is wanted")
        node = self._conditional()
        if not self._take(")"):
            raise ExpressionError(start, end, "this '(' is never closed", "close it with ')'")
        return node

    def _element(self, name: str, start: int, end: int) -> Element:
        if not self._take("["):
            return Element(start, end, name, None)
        index = self._conditional()
        here = self._place()
        if not self._take("]"):
            raise self._unexpected("']' is wanted")
        try:
            value = _typed(index, _no_names)
        except ExpressionError as error:
            raise ExpressionError(
                error.start, error.end, f"the index of '{name}' must be a number, known in advance", error.hint
            ) from None
        if value.type.is_float or not isinstance(value.value, int):
            raise ExpressionError(index.start, index.end, f"the index of '{name}' must be a whole number")
        number = _as(value, Type("s", 64)).value
        assert isinstance(number, int)
        return Element(start, here[1], name, terms.signed(number, 64))


def _no_names(element: Element) -> Typed:
    raise ExpressionError(element.start, element.end, f"'{element.label}' is no number")


def _deeper(start: int, operands: tuple[Node, ...]) -> int:
    depth = 1 + max(o.depth for o in operands)
    if depth > MAX_DEPTH:
        raise ExpressionError(start, start + 1, f"the expression nests more than {MAX_DEPTH} operators")
    return depth


def _operation(op: str, *operands: Node) -> Operation:
    first, last = operands[0], operands[-1]
    if op in ("&&", "||") and isinstance(first, Operation) and first.op == op:
        operands = (*first.operands, *operands[1:])  # a run of one operator, so that a long one is not a deep one
    return Operation(first.start, last.end, op, operands, _deeper(first.start, operands))


def _number(word: str, start: int, end: int) -> Typed:
    whole = _SUFFIX.fullmatch(word)
    if whole:
        return _integer(whole["digits"], whole["suffix"].lower(), start, end)
    real = _REAL.fullmatch(word)
    if real is None:
        raise ExpressionError(start, end, f"'{word[:40]}' is no number", "as in 12, 0x1F, 3u, 1.5 or 1.5f")
    bits = struct.unpack("<Q", struct.pack("<d", float(real["digits"])))[0]
    return Typed(convert(F64, F32, bits), _FLOAT) if real["suffix"] else Typed(bits, _DOUBLE)


def _integer(digits: str, suffix: str, start: int, end: int) -> Typed:
    """The first of C's types for such a number that it fits into."""
    hexadecimal = digits[:2] in ("0x", "0X")
    if not hexadecimal and len(digits) > 1 and digits[0] == "0":
        hint = f"write {digits.lstrip('0') or '0'}, or hexadecimal as 0x..."
        raise ExpressionError(start, end, f"'{digits[:40]}' would be octal in C", hint)
    value = int(digits, 16 if hexadecimal else 10) if len(digits) <= 40 else 1 << 64
    for width in (32, 64):
        if width == 32 and "l" in suffix:
            continue
        if "u" not in suffix and value < 1 << (width - 1):
            return Typed(value, Type("s", width))
        if (hexadecimal or "u" in suffix) and value < 1 << width:
            return Typed(value, Type("u", width))
    if value < 1 << 64:
        return Typed(value, Type("u", 64))
    raise ExpressionError(start, end, "a number of more than 64 bits")


# Types and terms.


def _typed(node: Node, resolve: Resolver) -> Typed:
    if isinstance(node, Number):
        return node.typed
    if isinstance(node, Element):
        return resolve(node)
    operands = [_typed(o, resolve) for o in node.operands]
    op = node.op
    if op in ("&&", "||"):
        join = terms.all_of if op == "&&" else terms.any_of
        return Typed(join(_truth(o) for o in operands), _TRUTH)
    if op == "?":
        a, b = _balanced(operands[1], operands[2])
        return Typed(terms.ite(_truth(operands[0]), a.value, b.value, a.type.width), a.type)
    if op.startswith("unary "):
        return _unary(node, op[-1], operands[0])
    a, b = operands
    if op in ("<<", ">>"):
        return _shift(node, op, a, b)
    a, b = _balanced(a, b)
    if a.type.is_float:
        return _float_operation(node, op, a, b)
    if op in _INTEGER:
        return Typed(_INTEGER[op](a.value, b.value, a.type.width, a.type.kind == "s"), a.type)
    return Typed(_COMPARISONS[op](a.value, b.value, a.type.width, a.type.kind == "s"), _TRUTH)


def _truth(typed: Typed) -> Value:
    value, type_ = typed
    if type_ is _TRUTH:
        return value
    if type_.is_float:
        return floats.fcompare(_form(type_), "neu", value, 0)
    return terms.ne(value, 0)


def _form(type_: Type) -> str:
    return str(type_)


def _promoted(typed: Typed) -> Typed:
    """After C's promotions: `int` at least, and 16-bit floats as floats."""
    if typed.type.is_float:
        return _as(typed, _FLOAT) if typed.type.width < 32 else typed
    return _as(typed, _INT) if typed.type.width < 32 else typed


def _balanced(a: Typed, b: Typed) -> tuple[Typed, Typed]:
    """Both with the type that C's usual arithmetic conversions give them."""
    a, b = _promoted(a), _promoted(b)
    if a.type.is_float or b.type.is_float:
        width = max(t.type.width for t in (a, b) if t.type.is_float)
        common = Type("f", width)
    else:
        width = max(a.type.width, b.type.width)
        unsigned = any(t.type == ("u", width) for t in (a, b))
        common = Type("u" if unsigned else "s", width)
    return _as(a, common), _as(b, common)


def _as(typed: Typed, target: Type) -> Typed:
    value, source = typed
    if source == target:
        return typed
    if target.is_float:
        if source.is_float:
            return Typed(floats.fconvert(_form(source), _form(target), value), target)
        widened = _as(typed, Type(source.kind, max(32, source.width))).value
        return Typed(floats.from_integer(_form(target), widened, max(32, source.width), source.kind == "s"), target)
    if source.width >= target.width:
        return Typed(terms.extract(value, target.width - 1, 0), target)
    if source.kind == "s":
        return Typed(terms.sext(value, source.width, target.width), target)
    return Typed(terms.zext(value, target.width), target)


def _unary(node: Operation, op: str, operand: Typed) -> Typed:
    if op == "!":
        return Typed(terms.negate(_truth(operand)), _TRUTH)
    operand = _promoted(operand)
    value, type_ = operand
    if op == "+":
        return operand
    if type_.is_float:
        if op == "~":
            raise ExpressionError(node.start, node.end, "'~' has no meaning for floats")
        return Typed(floats.fneg(_form(type_), value), type_)
    return Typed(terms.neg(value, type_.width) if op == "-" else terms.bit_not(value, type_.width), type_)


def _shift(node: Operation, op: str, a: Typed, b: Typed) -> Typed:
    if a.type.is_float or b.type.is_float:
        raise ExpressionError(node.start, node.end, f"'{op}' has no meaning for floats")
    a, b = _promoted(a), _promoted(b)
    width = a.type.width
    if b.type.width > width:  # what is lost above would shift everything out
        low = _as(b, Type("u", width)).value
        count = terms.ite(terms.eq(terms.lshr(b.value, width, b.type.width), 0), low, width, width)
    else:
        count = _as(b, Type("u", width)).value
    if op == "<<":
        return Typed(terms.shl(a.value, count, width), a.type)
    shift = terms.ashr if a.type.kind == "s" else terms.lshr
    return Typed(shift(a.value, count, width), a.type)


def _float_operation(node: Operation, op: str, a: Typed, b: Typed) -> Typed:
    form = _form(a.type)
    if op in _FLOAT_COMPARISONS:
        return Typed(floats.fcompare(form, _FLOAT_COMPARISONS[op], a.value, b.value), _TRUTH)
    if op not in _FLOAT_ARITHMETIC:
        raise ExpressionError(node.start, node.end, f"'{op}' has no meaning for floats")
    return Typed(_FLOAT_ARITHMETIC[op](form, a.value, b.value), a.type)


_Rule = Callable[[Value, Value, int, bool], Value]
_INTEGER: dict[str, _Rule] = {
    "+": lambda a, b, w, s: terms.add(a, b, w),
    "-": lambda a, b, w, s: terms.sub(a, b, w),
    "*": lambda a, b, w, s: terms.mul(a, b, w),
    "/": lambda a, b, w, s: terms.sdiv(a, b, w) if s else terms.udiv(a, b, w),
    "%": lambda a, b, w, s: terms.srem(a, b, w) if s else terms.urem(a, b, w),
    "&": lambda a, b, w, s: terms.bit_and(a, b, w),
    "|": lambda a, b, w, s: terms.bit_or(a, b, w),
    "^": lambda a, b, w, s: terms.bit_xor(a, b, w),
}
_COMPARISONS: dict[str, _Rule] = {
    "==": lambda a, b, w, s: terms.eq(a, b),
    "!=": lambda a, b, w, s: terms.ne(a, b),
    "<": lambda a, b, w, s: terms.slt(a, b, w) if s else terms.ult(a, b, w),
    "<=": lambda a, b, w, s: terms.sle(a, b, w) if s else terms.ule(a, b, w),
    ">": lambda a, b, w, s: terms.slt(b, a, w) if s else terms.ult(b, a, w),
    ">=": lambda a, b, w, s: terms.sle(b, a, w) if s else terms.ule(b, a, w),
}
_FLOAT_COMPARISONS = {"==": "eq", "!=": "neu", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_FLOAT_ARITHMETIC: dict[str, Callable[[str, Value, Value], Value]] = {
    "+": floats.fadd,
    "-": floats.fsub,
    "*": floats.fmul,
    "/": floats.fdiv,
}
