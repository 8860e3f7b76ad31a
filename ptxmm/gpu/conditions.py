"""Conditions of litmus tests on states that were seen: plain numbers, no solver."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from litmus.test import (
    AddressOf,
    And,
    Compare,
    Constant,
    Implies,
    Literal,
    LocationTerm,
    Not,
    Or,
    Proposition,
    RegisterTerm,
    Test,
)

ConditionTerm = RegisterTerm | LocationTerm

_OPERATORS: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def comparisons(test: Test) -> list[Compare]:
    """Those of its conditions and its filter."""
    found = []
    waiting: list[Proposition] = [c.proposition for c in test.conditions]
    if test.filter is not None:
        waiting.append(test.filter)
    while waiting:
        part = waiting.pop()
        if isinstance(part, Compare):
            found.append(part)
        waiting += _parts(part)
    return found


def terms_of(test: Test) -> tuple[ConditionTerm, ...]:
    """What its conditions, its filter and `locations` speak of, each once."""
    found: dict[ConditionTerm, None] = dict.fromkeys(test.observed)
    for compared in comparisons(test):
        for side in (compared.left, compared.right):
            if isinstance(side, RegisterTerm | LocationTerm):
                found[side] = None
    return tuple(found)


def compares_addresses(test: Test) -> bool:
    """Whether its conditions or its filter speak of the address of a location."""
    return any(isinstance(compared.right, AddressOf) for compared in comparisons(test))


def _parts(proposition: Proposition) -> Sequence[Proposition]:
    if isinstance(proposition, Not):
        return (proposition.operand,)
    if isinstance(proposition, And | Or):
        return proposition.operands
    if isinstance(proposition, Implies):
        return (proposition.left, proposition.right)
    return ()


def holds(
    proposition: Proposition,
    state: Mapping[str, int],
    widths: Mapping[str, tuple[int, bool]],
    addresses: Mapping[str, int],
) -> bool:
    """Whether a proposition is satisfied in a state. `widths`: bits and sign of what it names; a number is read as the other
    side is, and of two sizes the wider one counts, as in `ptxmm.pipeline`. `addresses`: those of locations."""
    if isinstance(proposition, Literal):
        return proposition.value
    if isinstance(proposition, Compare):
        return _compare(proposition, state, widths, addresses)
    parts = (holds(part, state, widths, addresses) for part in _parts(proposition))
    if isinstance(proposition, Not):
        return not next(parts)
    if isinstance(proposition, And):
        return all(parts)
    if isinstance(proposition, Or):
        return any(parts)
    left, right = parts
    return not left or right


def _compare(
    c: Compare, state: Mapping[str, int], widths: Mapping[str, tuple[int, bool]], addresses: Mapping[str, int]
) -> bool:
    sides: list[tuple[int, tuple[int, bool] | None]] = []
    for side in (c.left, c.right):
        if isinstance(side, RegisterTerm | LocationTerm):
            sides.append((state[str(side)], widths[str(side)]))
        else:
            sides.append((side.value if isinstance(side, Constant) else addresses[side.location], None))
    kinds = [kind for _, kind in sides if kind is not None]
    width = max((bits for bits, _ in kinds), default=128)
    signed = all(sign for _, sign in kinds) if kinds else True
    left, right = (_number(value, width, signed) for value, _ in sides)
    return _OPERATORS[c.op](left, right)


def _number(value: int, width: int, signed: bool) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value
