"""Expressions as they are read, and what they stand for: `all(x[i] == 2 * i for i in range(64))` is 64 comparisons.

A comprehension is written out where an expression is read, so that all that comes behind knows elements and operators alone.
Its words are Python's: `for` loops from left to right over a `range`, each with an `if` or without. Bounds and indices are
numbers, or come of the loops around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ptxcore.records import NamedTuple, dataclass
from ptxmm.kernels.expressions import (
    INT,
    Element,
    ExpressionError,
    KernelNode,
    Number,
    OperatorExpression,
    Type,
    Typed,
    whole_number,
)

#: Expressions whose operators nest deeper are refused: evaluation is recursive. Parentheses do not count.
MAX_DEPTH = 100
#: What an expression comes to, written out, in numbers, elements and operators, at most.
MAX_NODES = 2_000_000
_JOINED = {"all": "&&", "any": "||"}


@dataclass(frozen=True, slots=True)
class Indexed:
    """`x[i + 1]`"""

    start: int
    end: int
    name: str
    index: ReadNode
    depth: int


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator over what was read; see `OperatorExpression`."""

    start: int
    end: int
    op: str
    operands: tuple[ReadNode, ...]
    depth: int


class ForLoop(NamedTuple):
    """`for variable in range(*bounds) if condition`"""

    variable: str
    bounds: tuple[ReadNode, ...]
    condition: ReadNode | None


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`all`, `any` or `sum` of what `body` is in each round of the loops, of which the first is the outermost."""

    start: int
    end: int
    kind: str
    body: ReadNode
    loops: tuple[ForLoop, ...]
    depth: int


ReadNode = Number | Element | Indexed | Operation | Comprehension


def depth_over(start: int, *inner: ReadNode) -> int:
    """How deep it is over what stands inside. Raises ExpressionError where too much nests."""
    depth = 1 + max(node.depth for node in inner)
    if depth > MAX_DEPTH:
        raise ExpressionError(start, start + 1, f"the expression nests more than {MAX_DEPTH} operators")
    return depth


def operation(start: int, op: str, *operands: ReadNode) -> Operation:
    """An operator over its operands. Raises ExpressionError where too many nest."""
    return Operation(start, operands[-1].end, op, operands, depth_over(start, *operands))


def written_out(node: ReadNode) -> KernelNode:
    """What was read, in elements and operators alone. Raises ExpressionError for an index or a bound that is no number, for a
    comprehension of nothing, and for one of too much."""
    return _Writer().node(node, {})


class _TooMuch(ExpressionError):
    """What is written out is too large."""


class _Writer:
    """Writes out nodes in which variables of loops stand for numbers, and counts what comes of it."""

    def __init__(self) -> None:
        self._nodes = 0

    def node(self, node: ReadNode, numbers: Mapping[str, int]) -> KernelNode:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            message = f"written out, this has more than {MAX_NODES:,} numbers, elements and operators"
            raise _TooMuch(node.start, node.end, message)
        if isinstance(node, Number):
            return node
        if isinstance(node, Element):
            return _number(node, numbers[node.name]) if node.name in numbers else node
        if isinstance(node, Indexed):
            index = self._whole(node.index, numbers, f"the index of '{node.name}'")
            return Element(node.start, node.end, node.name, index)
        if isinstance(node, Comprehension):
            return self._comprehension(node, numbers)
        operands = tuple([self.node(operand, numbers) for operand in node.operands])
        return OperatorExpression(node.start, node.end, node.op, operands, node.depth)

    def _comprehension(self, node: Comprehension, numbers: Mapping[str, int]) -> KernelNode:
        parts = tuple([self.node(node.body, inner) for inner in self._rounds(node.loops, numbers)])
        if not parts:
            raise ExpressionError(node.start, node.end, f"this '{node.kind}' is of nothing: its ranges are empty")
        return OperatorExpression(node.start, node.end, _JOINED.get(node.kind, node.kind), parts, node.depth)

    def _rounds(self, loops: tuple[ForLoop, ...], numbers: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        """What variables stand for, in each round of the innermost loop."""
        if not loops:
            yield numbers
            return
        loop, *inner = loops
        bounds = [self._whole(bound, numbers, "a bound of 'range'") for bound in loop.bounds]
        if len(bounds) == 3 and not bounds[2]:
            raise ExpressionError(loop.bounds[2].start, loop.bounds[2].end, "a step of 'range' is not 0")
        for number in range(*bounds):
            known = {**numbers, loop.variable: number}
            if loop.condition is None or self._whole(loop.condition, known, "the condition of a loop"):
                yield from self._rounds(tuple(inner), known)

    def _whole(self, node: ReadNode, numbers: Mapping[str, int], what: str) -> int:
        try:
            number = whole_number(self.node(node, numbers))
        except _TooMuch:
            raise
        except ExpressionError as error:
            message = f"{what} must be a number, known in advance"
            raise ExpressionError(error.start, error.end, message, error.hint) from None
        if number is None:
            raise ExpressionError(node.start, node.end, f"{what} must be a whole number")
        return number


def _number(node: Element, value: int) -> Number:
    """A loop's number in the place of its variable, with the type that C gives it."""
    type_ = INT if -(1 << 31) <= value < 1 << 31 else Type("s", 64)
    return Number(node.start, node.end, Typed(value & (1 << type_.width) - 1, type_))
