"""Expressions over the final contents of buffers, and what they mean: `x[0] == 2 && y[1] < 4`. `expression_reader` reads them.

C's operators with C's types: an element has the type its buffer is declared with (`b32` counts as
`u32`); integers of less than 32 bits are promoted to `int`; of two types the wider wins, of two as wide the unsigned one;
a float beside an integer makes both floats, beside a double both doubles; 16-bit floats compute as floats. Unsigned
arithmetic wraps, shifts by the width or more give what the bits run out to, and a division by zero has all bits set
(as PTX leaves it open).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

from ptxcore.records import NamedTuple, dataclass
from ptxcore.values import floats, terms
from ptxcore.values.terms import Value


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
INT, FLOAT, DOUBLE = Type("s", 32), Type("f", 32), Type("f", 64)
_TRUTH = Type("u", 1)


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
class OperatorExpression:
    """`op` as written over its operands; `?` is the conditional; `&&`, `||` and `sum`, which adds up from left to
    right, take any number of operands; `same`, which nobody writes, compares the bits of two of one type."""

    start: int
    end: int
    op: str
    operands: tuple[KernelNode, ...]
    depth: int


KernelNode = Number | Element | OperatorExpression
#: What a name means: raises ExpressionError for one that means nothing.
Resolver = Callable[[Element], Typed]


@dataclass(frozen=True, slots=True)
class KernelExpression:
    text: str
    node: KernelNode

    def elements(self) -> Iterator[Element]:
        """The elements and scalars that it speaks of, from left to right."""
        stack: list[KernelNode] = [self.node]
        while stack:
            node = stack.pop()
            if isinstance(node, Element):
                yield node
            elif isinstance(node, OperatorExpression):
                stack += reversed(node.operands)

    def truth(self, resolve: Resolver) -> Value:
        """The truth value of "it is not zero". Raises ExpressionError for operators that a type does not have."""
        return _truth(typed(self.node, resolve))


def whole_number(node: KernelNode) -> int | None:
    """The value of a constant, None where it is a floating-point one. Raises ExpressionError where something is named."""
    value = typed(node, _no_names)
    if value.type.is_float:
        return None
    number = converted(value, Type("s", 64)).value
    assert isinstance(number, int), "without names, all is known"
    return terms.signed(number, 64)


def _no_names(element: Element) -> Typed:
    raise ExpressionError(element.start, element.end, f"'{element.label}' is no number")


# Types and terms.


def typed(node: KernelNode, resolve: Resolver) -> Typed:
    """The value of an expression, and its type. Raises ExpressionError for operators that a type does not have."""
    if isinstance(node, Number):
        return node.typed
    if isinstance(node, Element):
        return resolve(node)
    operands = [typed(o, resolve) for o in node.operands]
    op = node.op
    if op in ("&&", "||"):
        join = terms.all_of if op == "&&" else terms.any_of
        return Typed(join(_truth(o) for o in operands), _TRUTH)
    if op == "?":
        a, b = _balanced(operands[1], operands[2])
        return Typed(terms.ite(_truth(operands[0]), a.value, b.value, a.type.width), a.type)
    if op.startswith("unary "):
        return _unary(node, op[-1], operands[0])
    if op == "same":
        return Typed(terms.eq(operands[0].value, operands[1].value), _TRUTH)
    if op == "sum":
        return reduce(lambda a, b: _binary(node, "+", a, b), operands, Typed(0, INT))
    return _binary(node, op, *operands)


def _binary(node: OperatorExpression, op: str, a: Typed, b: Typed) -> Typed:
    if op in ("<<", ">>"):
        return _shift(node, op, a, b)
    a, b = _balanced(a, b)
    if a.type.is_float:
        return _float_operation(node, op, a, b)
    if op in _INTEGER:
        return Typed(_INTEGER[op](a.value, b.value, a.type.width, a.type.kind == "s"), a.type)
    return Typed(COMPARISONS[op](a.value, b.value, a.type.width, a.type.kind == "s"), _TRUTH)


def _truth(one: Typed) -> Value:
    value, type_ = one
    if type_ is _TRUTH:
        return value
    if type_.is_float:
        return floats.fcompare(_form(type_), "neu", value, 0)
    return terms.ne(value, 0)


def _form(type_: Type) -> str:
    return str(type_)


def _promoted(one: Typed) -> Typed:
    """After C's promotions: `int` at least, and 16-bit floats as floats."""
    if one.type.is_float:
        return converted(one, FLOAT) if one.type.width < 32 else one
    return converted(one, INT) if one.type.width < 32 else one


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
    return converted(a, common), converted(b, common)


def converted(one: Typed, target: Type) -> Typed:
    """A value as C converts it; a float becomes no integer."""
    value, source = one
    if source == target:
        return one
    if target.is_float:
        if source.is_float:
            return Typed(floats.fconvert(_form(source), _form(target), value), target)
        widened = converted(one, Type(source.kind, max(32, source.width))).value
        return Typed(floats.from_integer(_form(target), widened, max(32, source.width), source.kind == "s"), target)
    if source.width >= target.width:
        return Typed(terms.extract(value, target.width - 1, 0), target)
    if source.kind == "s":
        return Typed(terms.sext(value, source.width, target.width), target)
    return Typed(terms.zext(value, target.width), target)


def _unary(node: OperatorExpression, op: str, operand: Typed) -> Typed:
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


def _shift(node: OperatorExpression, op: str, a: Typed, b: Typed) -> Typed:
    if a.type.is_float or b.type.is_float:
        raise ExpressionError(node.start, node.end, f"'{op}' has no meaning for floats")
    a, b = _promoted(a), _promoted(b)
    width = a.type.width
    if b.type.width > width:  # what is lost above would shift everything out
        low = converted(b, Type("u", width)).value
        count = terms.ite(terms.eq(terms.lshr(b.value, width, b.type.width), 0), low, width, width)
    else:
        count = converted(b, Type("u", width)).value
    if op == "<<":
        return Typed(terms.shl(a.value, count, width), a.type)
    shift = terms.ashr if a.type.kind == "s" else terms.lshr
    return Typed(shift(a.value, count, width), a.type)


def _float_operation(node: OperatorExpression, op: str, a: Typed, b: Typed) -> Typed:
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
COMPARISONS: dict[str, _Rule] = {
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
