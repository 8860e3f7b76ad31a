"""Packed values: several elements of equal width in one value, the first one lowest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxcore.values.terms import Value, concat, extract, sext, zext


def split(a: Value, width: int, number: int) -> tuple[Value, ...]:
    """The `number` elements of `width` bits."""
    return tuple([extract(a, place + width - 1, place) for place in range(0, number * width, width)])


def join(elements: Sequence[Value], width: int) -> Value:
    """The value that elements of `width` bits make up."""
    result = elements[0]
    for i, element in enumerate(elements[1:], 1):
        result = concat(element, result, width, i * width)
    return result


def each(operation: Callable[..., Value], width: int, number: int, *operands: Value) -> Value:
    """`operation(x, y ...)` on the elements of packed operands, joined again."""
    parts = [split(operand, width, number) for operand in operands]
    return join([operation(*elements) for elements in zip(*parts, strict=True)], width)


def resize(value: Value, width: int, to: int, signed: bool) -> Value:
    """A value of `width` bits as one of `to` bits."""
    if width == to:
        return value
    if to < width:
        return extract(value, to - 1, 0)
    return sext(value, width, to) if signed else zext(value, to)
