"""The members of sets, on one execution: its locations, the orders of some events, unions of one relation of each set."""

from __future__ import annotations

import itertools

from axioms.cat.algebra import Concrete, known, members, rows
from axioms.cat.evaluate import bits
from axioms.cat.expand import Evaluator
from axioms.cat.facts import ExecutionFacts
from axioms.cat.nodes import RELATION
from axioms.cat.values import CatValue, Classes, Collection, Known, Orders
from ptxcore.diagnostics import Diagnostic, InputError, Span, fail

#: Operations that one execution may cost.
_MOST_WORK = 2_000_000
#: Orders of the events of one location that are looked at.
_MOST_ORDERS = 50_000


class MemberEvaluator(Evaluator):
    """An evaluator that knows the execution, so that it can list the members of sets."""

    algebra: Concrete

    def __init__(self, facts: ExecutionFacts) -> None:
        super().__init__()
        self.size, self.facts = facts.size, facts
        self.left = _MOST_WORK
        alive = facts.base["_"]
        assert isinstance(alive, int)
        self.algebra = Concrete(facts.size, alive, self._spend)

    def force(self, value: CatValue, span: Span) -> CatValue:
        """What a value is in this execution."""
        raise NotImplementedError

    def base(self, name: str) -> CatValue:
        """A set or relation that every model may use, in this execution."""
        raise NotImplementedError

    def _spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise InputError(
                [Diagnostic(Span(0, 0, 0), f"an execution takes more than {_MOST_WORK} operations to evaluate")]
            )

    def expanded(self, value: CatValue, span: Span) -> CatValue:
        """Sets that have a name of their own, with their members."""
        if isinstance(value, Classes):
            value = self.by_place(self.force(value.members, span))
        elif isinstance(value, Orders):
            classes = self.by_place(self.force(value.members, span))
            before = self.force(value.before, span)
            assert isinstance(classes, Collection) and isinstance(before, Known)
            each = Collection(tuple(self.orders(c, before, span) for c in classes.items if isinstance(c, Known)))
            value = self.crossed(each) if value.crossed else each
        return value

    def by_place(self, value: CatValue) -> CatValue:
        """The events of a set, location by location."""
        assert isinstance(value, Known)
        loc = self.facts.base["loc"]
        assert isinstance(loc, list)
        left, found = members(value), []
        while left:
            first = bits(left & -left)[0]
            together = (loc[first] | 1 << first) & left
            found.append(known(together))
            left &= ~together
        return Collection(tuple(found))

    def orders(self, events: Known, before: Known, span: Span) -> CatValue:
        """The strict total orders of some events that have the pairs of a relation among them."""
        among = members(events)
        wanted = [row & among for row in rows(before)]
        found: list[CatValue] = []

        def extend(order: list[int], left: int) -> None:
            if len(found) > _MOST_ORDERS:
                raise fail(span, f"there are more than {_MOST_ORDERS} orders of the events of a location here")
            self._spend(1)
            if not left:
                result, after = [0] * self.facts.size, 0
                for i in reversed(order):
                    result[i] = after
                    after |= 1 << i
                found.append(known(result))
            for i in bits(left):
                if not any(wanted[j] >> i & 1 for j in bits(left)):
                    extend([*order, i], left & ~(1 << i))

        extend([], among)
        return Collection(tuple(found))

    def crossed(self, sets: Collection) -> CatValue:
        """All unions of one relation of each set."""
        parts = [s.items if isinstance(s, Collection) else () for s in sets.items]
        nothing = self.algebra.empty(RELATION)
        found = [
            self.algebra.union([nothing, *[self.as_kind(r, RELATION, Span(0, 0, 0)) for r in some]])
            for some in itertools.product(*parts)
        ]
        return self.collection(found)
