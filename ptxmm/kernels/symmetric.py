"""Expressions that say the same of some places in whichever order their contents stand there.

Of the places of tickets (`axioms.dynamic.tickets.bags`) is known what stands there, and not in which order. An expression is
the same in each of these where it joins what it says of each place by something that knows no order (`all`, `any`, a sum of
integers), and says of each one the same: `all(out[i] % 2 == 1 for i in range(64))`, and not `out[0] < out[1]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Set
from typing import TYPE_CHECKING

from ptxcore.records import NamedTuple
from ptxmm.kernels.expressions import Element, Number, OperatorExpression, Resolver, typed

if TYPE_CHECKING:
    from ptxmm.kernels.expressions import KernelExpression, KernelNode

#: Of each number the elements, as `name[index]`, that one ticket fills: they keep together in each order.
Numbers = tuple[tuple[str, ...], ...]


class _Place(NamedTuple):
    """Among which numbers an element is, of which one, and which of its elements."""

    of: int
    number: int
    which: int


def says_the_same(
    expression: KernelExpression, varying: Set[str], orders: tuple[Numbers, ...], resolve: Resolver
) -> bool:
    """Whether an expression has one value in whichever orders the numbers come. `varying`: elements that may have other values;
    `resolve`: what elements are in one of the orders."""
    places = {
        label: _Place(of, number, which)
        for of, numbers in enumerate(orders)
        for number, labels in enumerate(numbers)
        for which, label in enumerate(labels)
    }
    if not {element.label for element in expression.elements()} & varying <= places.keys():
        return False
    return _Symmetry(places, orders, resolve).holds(expression.node)


class _Symmetry:
    def __init__(self, places: Mapping[str, _Place], orders: tuple[Numbers, ...], resolve: Resolver) -> None:
        self.places, self.orders, self.resolve = places, orders, resolve

    def holds(self, node: KernelNode) -> bool:
        """Whether a node has one value."""
        if not isinstance(node, OperatorExpression):
            return not any(True for _ in self._at(node))
        left = [operand for operand in node.operands if not self.holds(operand)]
        if not left:
            return True
        if node.op not in ("&&", "||") and not (node.op == "sum" and self._adds_integers(node)):
            return False
        said: dict[int, dict[int, Counter[Hashable]]] = {}
        for operand in left:
            about = {(place.of, place.number) for place in self._at(operand)}
            if len(about) != 1:
                return False
            of, number = about.pop()
            said.setdefault(of, {}).setdefault(number, Counter())[self._of_any(operand)] += 1
        return all(
            len(each) == len(self.orders[of]) and all(one == each[0] for one in each.values())
            for of, each in said.items()
        )

    def _adds_integers(self, node: OperatorExpression) -> bool:
        """Whether a sum is the same from left to right as in any other order: all that it adds is of one integer type."""
        types = {typed(operand, self.resolve).type for operand in node.operands}
        return len(types) == 1 and not types.pop().is_float

    def _at(self, node: KernelNode) -> Iterator[_Place]:
        """The places that a node speaks of."""
        if isinstance(node, OperatorExpression):
            for operand in node.operands:
                yield from self._at(operand)
        elif isinstance(node, Element) and node.label in self.places:
            yield self.places[node.label]

    def _of_any(self, node: KernelNode) -> Hashable:
        """What is said of a place, whichever it is."""
        if isinstance(node, Number):
            return node.typed
        if isinstance(node, Element):
            place = self.places.get(node.label)
            return node.label if place is None else place.which
        return (node.op, *map(self._of_any, node.operands))
