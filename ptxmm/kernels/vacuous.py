"""Operators in an expression that ask nothing: comparisons that hold of every value or of none, divisions by zero, and shifts
that leave no bit. `never x[0] == 4294967299` is true of all kernels where `x` is `u32`, and so cannot fail."""

from __future__ import annotations

from collections.abc import Iterator

from ptxcore.values import floats, terms
from ptxcore.values.terms import Value
from ptxmm.kernels.expressions import (
    COMPARISONS,
    TYPES,
    Element,
    ExpressionError,
    KernelNode,
    OperatorExpression,
    Resolver,
    Type,
    Typed,
    converted,
    typed,
)


def refuse_vacuous(node: KernelNode, resolve: Resolver) -> None:
    """Raises ExpressionError for the first such operator; `resolve` gives elements a symbol, and scalars their value."""
    asking: set[_Comparison] = set()
    for one in _operators(node):
        if one.op in ("/", "%"):
            _divides(one, resolve)
        elif one.op in ("<<", ">>"):
            _shifts(one, resolve)
        elif one.op in COMPARISONS:
            _compares(one, resolve, asking)


def _operators(node: KernelNode) -> Iterator[OperatorExpression]:
    if isinstance(node, OperatorExpression):
        for operand in node.operands:
            yield from _operators(operand)
        yield node


def _is_constant(node: KernelNode) -> bool:
    if isinstance(node, OperatorExpression):
        return all(map(_is_constant, node.operands))
    return not isinstance(node, Element)


def _divides(node: OperatorExpression, resolve: Resolver) -> None:
    left, right = node.operands
    divisor = typed(right, resolve)
    if _is_constant(right) and divisor.value == 0 and not (divisor.type.is_float or typed(left, resolve).type.is_float):
        raise ExpressionError(right.start, right.end, f"'{node.op}' by zero has no value")


def _shifts(node: OperatorExpression, resolve: Resolver) -> None:
    left, right = node.operands
    if not _is_constant(right):
        return
    width, count = max(32, typed(left, resolve).type.width), typed(right, resolve)
    if not 0 <= _number(count) < width:
        raise ExpressionError(right.start, right.end, f"'{node.op}' shifts {width} bits, by 0 to {width - 1}")


def _number(constant: Typed) -> int:
    value, type_ = _known(constant.value), constant.type
    return terms.signed(value, type_.width) if type_.kind == "s" else value


#: An operator, whether an element is its first operand, the type of that, and the constant that is the other one.
_Comparison = tuple[str, bool, Type, Typed]


def _compares(node: OperatorExpression, resolve: Resolver, asking: set[_Comparison]) -> None:
    """`asking` are those that may come out either way: many elements may be compared with the same."""
    for one, other in (node.operands, reversed(node.operands)):
        if isinstance(one, Element) and _is_constant(other):
            element = resolve(one)
            if isinstance(element.value, int):
                return  # a scalar, whose value is given
            constant = typed(other, resolve)
            comparison = node.op, one is node.operands[0], element.type, constant
            if comparison in asking:
                return
            found = {_holds(node, Typed(value, element.type)) for value in _values(element.type, constant)}
            asking.add(comparison)
            if len(found) == 1:
                name = next(name for name, type_ in TYPES.items() if type_ == element.type)
                raise ExpressionError(node.start, node.end, _MESSAGES[found.pop()].format(name), _hint(element.type))


_MESSAGES = {True: "this is so of every {}", False: "this is so of no {}"}
#: As a double.
_INFINITE = Typed(0x7FF << 52, Type("f", 64))


def _holds(node: OperatorExpression, element: Typed) -> bool:
    return bool(typed(node, lambda _: element).value)


def _values(type_: Type, constant: Typed) -> set[int]:
    """Values of a type, as bits, among which a comparison with a constant has each of its results: the least and the largest
    ones, those around zero, those around the constant, and one that is no number."""
    top = 1 << type_.width - 1
    if type_.is_float:
        near, infinite = (_known(converted(one, type_).value) for one in (constant, _INFINITE))
        some = {0, top, top + 1, infinite, infinite + 1, infinite + top}
    else:
        near = _known(
            floats.to_integer(str(constant.type), constant.value, 64, True)
            if constant.type.is_float
            else constant.value
        )
        some = {0, -1, top, top - 1}
    return {value & 2 * top - 1 for value in (*some, near - 1, near, near + 1)}


def _known(value: Value) -> int:
    assert isinstance(value, int), "a constant is known"
    return value


def _hint(type_: Type) -> str | None:
    if type_.is_float:
        return "a constant without 'f' is a double: write 0.1f for the float next to 0.1" if type_.width == 32 else None
    least, most = (
        (-(1 << type_.width - 1), (1 << type_.width - 1) - 1) if type_.kind == "s" else (0, (1 << type_.width) - 1)
    )
    return f"its values are {least} to {most}"
