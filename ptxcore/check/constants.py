"""Integers that stand as operands: ranges, multiples, what one asks of another."""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.check.mismatch import OperandMismatch
from ptxcore.isa.form import Use
from ptxcore.isa.operand import FormOperand
from ptxcore.syntax.tree import Immediate, Operand, Vector

#: The integers among the operands: None for an operand that is none, several for a vector.
ConstantValues = Sequence["int | tuple[int | None, ...] | None"]


def check_values(use: Use, places: Sequence[int | None], values: ConstantValues) -> OperandMismatch | None:
    """What is wrong with the integers among the operands."""
    for e, place in zip(use.expected, places, strict=True):
        value = values[place] if e is not None and place is not None else None
        if e is None or place is None or value is None:
            continue
        if not isinstance(value, tuple):
            mismatch = _check_value(e.parameter, value, (place,))
            limit = _value_of(use, e.parameter.upto, places, values) if e.parameter.upto else None
            if mismatch is None and limit is not None and value % (1 << 32) > limit % (1 << 32):
                message = f"{value} cannot stand here: {e.parameter.upto} is {limit}, and this is at most that"
                mismatch = OperandMismatch((place,), message)
            if mismatch is not None:
                return mismatch
            continue
        for i, (part, inner) in enumerate(zip(e.parts, value, strict=False)):
            mismatch = None if inner is None else _check_value(part.parameter, inner, (place, i))
            if mismatch is not None:
                return mismatch
    return None


def _check_value(p: FormOperand, value: int, path: tuple[int, ...]) -> OperandMismatch | None:
    if _is_legal(p, value):
        return None
    if p.low is not None and p.high is not None and p.high - p.low <= _WIDEST_LIST:
        legal = [str(v) for v in range(p.low, p.high + 1) if _is_legal(p, v)]
        if len(legal) <= _LONGEST_LIST:
            return OperandMismatch(path, f"{value} cannot stand here: {' '.join(legal)} can")
    wanted = [f"{p.low} to {p.high}"] if p.low is not None and p.high is not None else []
    wanted += ["a power of two"] if "power_of_two" in p.flags else []
    wanted += [f"a multiple of {p.multiple}"] if p.multiple > 1 else []
    return OperandMismatch(path, f"{value} cannot stand here" + (f": {', '.join(wanted)} can" if wanted else ""))


#: Values that are listed rather than described.
_WIDEST_LIST, _LONGEST_LIST = 512, 6


def _is_legal(p: FormOperand, value: int) -> bool:
    if p.low is not None and p.high is not None and not p.low <= value <= p.high:
        return False
    if "nonzero" in p.flags and value == 0:
        return False
    if "power_of_two" in p.flags and not (0 < value < 1 << 32 and value & (value - 1) == 0):
        return False
    return p.multiple <= 1 or value % p.multiple == 0


def _value_of(use: Use, name: str, places: Sequence[int | None], values: ConstantValues) -> int | None:
    for e, place in zip(use.expected, places, strict=True):
        if e is not None and place is not None and e.parameter.name == name:
            value = values[place]
            return value if isinstance(value, int) else None
    return None


def values_of(operands: Sequence[Operand]) -> ConstantValues:
    """The integers among operands, as `check_values` takes them."""
    return [_integers(operand) for operand in operands]


def _integers(operand: Operand) -> int | tuple[int | None, ...] | None:
    if isinstance(operand, Immediate):
        return operand.value
    if isinstance(operand, Vector):
        return tuple(element.value if isinstance(element, Immediate) else None for element in operand.elements)
    return None


def has_limits(use: Use) -> bool:
    """Whether integers among the operands are limited in what they may be."""
    return any(_limited(part.parameter) for e in use.expected if e is not None for part in (e, *e.parts))


def _limited(p: FormOperand) -> bool:
    return p.low is not None or p.multiple > 1 or bool(p.upto) or not p.flags.isdisjoint(("nonzero", "power_of_two"))
