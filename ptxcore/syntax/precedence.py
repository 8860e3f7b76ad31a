"""Operators by their precedence, on stacks: what the readers of PTX constants, conditions of litmus tests and cat models share.

A reader takes tokens and says what it met: `values` gets the operands, `prefix`, `binary` and `open` what waits for more of
them. An operator is applied once something follows that binds less tightly. No nesting is too deep for Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from ptxcore.records import NamedTuple

ValueT = TypeVar("ValueT")
PlaceT = TypeVar("PlaceT")

#: How operators of one level go together: `a - b - c`, `a => b => c`, and `a /\ b /\ c` as one operation of three operands.
LEFT, RIGHT, RUN = "left", "right", "run"
#: The level of a bracket: below every operator's.
_OPEN = -1

#: The binary operators of a language, each with its level (the higher, the tighter; 0 is below all of them) and how it groups.
OperatorLevels = Mapping[str, tuple[int, str]]


def levels(*loosest_first: tuple[str, str]) -> OperatorLevels:
    """The table of operators that are written with blanks between them, level by level: `(LEFT, "+ -")`."""
    return {
        operator: (level, grouping)
        for level, (grouping, operators) in enumerate(loosest_first, start=1)
        for operator in operators.split(" ")
    }


class Waiting(NamedTuple, Generic[PlaceT]):
    """An operator that waits for its last operand, or a bracket for what closes it."""

    operator: str
    level: int
    arity: int
    place: PlaceT

    @property
    def is_open(self) -> bool:
        return self.level == _OPEN


class Stacks(Generic[ValueT, PlaceT]):
    """One expression while it is read. `build` makes a value of an operator and its operands."""

    __slots__ = ("build", "table", "values", "waiting")

    def __init__(self, table: OperatorLevels, build: Callable[[Waiting[PlaceT], list[ValueT]], ValueT]) -> None:
        self.table, self.build = table, build
        self.values: list[ValueT] = []
        self.waiting: list[Waiting[PlaceT]] = []

    def open(self, mark: str, place: PlaceT) -> None:
        """A bracket begins, or something else that only its own end closes."""
        self.waiting.append(Waiting(mark, _OPEN, 0, place))

    def prefix(self, operator: str, place: PlaceT, level: int, arity: int = 1) -> None:
        """An operator whose last operand follows; the others are there."""
        self.waiting.append(Waiting(operator, level, arity, place))

    def binary(self, operator: str, place: PlaceT) -> None:
        """An operator of the table, behind its left operand."""
        level, grouping = self.table[operator]
        self.reduce(level if grouping == LEFT else level + 1)
        self.waiting.append(Waiting(operator, level, 2, place))

    def reduce(self, level: int = 0) -> None:
        """Applies what binds at least as tightly, back to the innermost bracket."""
        waiting, values = self.waiting, self.values
        while waiting and waiting[-1].level >= level:
            last = waiting.pop()
            count = last.arity
            if self.table.get(last.operator, ("", ""))[1] == RUN:
                while waiting and waiting[-1].operator == last.operator:
                    waiting.pop()
                    count += 1
            operands = values[-count:]
            del values[-count:]
            values.append(self.build(last, operands))

    def innermost(self) -> Waiting[PlaceT] | None:
        """The bracket that is open, once everything in it is applied."""
        self.reduce()
        return self.waiting[-1] if self.waiting else None
