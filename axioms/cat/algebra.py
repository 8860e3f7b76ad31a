"""Operations on the sets and relations of one execution, by the names that `Builder` has for those of a compiled model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from axioms.cat.evaluate import closure, inverse, sequence
from axioms.cat.nodes import RELATION, SET, Rows
from axioms.cat.values import ConcreteValue


def concrete(value: int | Rows) -> ConcreteValue:
    """A value as it is compared and kept."""
    return ConcreteValue(SET, value) if isinstance(value, int) else ConcreteValue(RELATION, tuple(value))


def members(value: ConcreteValue) -> int:
    """The bitset of a set."""
    assert isinstance(value.value, int)
    return value.value


def rows(value: ConcreteValue) -> Rows:
    """The rows of a relation."""
    assert not isinstance(value.value, int)
    return list(value.value)


class Concrete:
    """The algebra of `size` events, of which those in `alive` are executed. `spend` is told of what is
    computed."""

    def __init__(self, size: int, alive: int, spend: Callable[[int], None]) -> None:
        self.size, self.alive, self.spend = size, alive, spend

    def empty(self, kind: str) -> ConcreteValue:
        """Nothing, as a set or as a relation."""
        return concrete(0 if kind == SET else [0] * self.size)

    def everything(self, kind: str) -> ConcreteValue:
        """All events, or all pairs of them."""
        every = self.alive
        return concrete(every if kind == SET else [every if every >> i & 1 else 0 for i in range(self.size)])

    def union(self, parts: list[Any]) -> ConcreteValue:
        """Of sets, or of relations."""
        if parts[0].kind == SET:
            result = 0
            for p in parts:
                result |= members(p)
            return concrete(result)
        found = rows(parts[0])
        for p in parts[1:]:
            found = [a | b for a, b in zip(found, rows(p), strict=True)]
        return concrete(found)

    def intersection(self, parts: list[Any]) -> ConcreteValue:
        """Of sets, or of relations."""
        if parts[0].kind == SET:
            result = members(parts[0])
            for p in parts[1:]:
                result &= members(p)
            return concrete(result)
        found = rows(parts[0])
        for p in parts[1:]:
            found = [a & b for a, b in zip(found, rows(p), strict=True)]
        return concrete(found)

    def difference(self, a: Any, b: Any) -> ConcreteValue:
        """Of two sets, or of two relations."""
        if a.kind == SET:
            return concrete(members(a) & ~members(b))
        return concrete([x & ~y for x, y in zip(rows(a), rows(b), strict=True)])

    def sequence(self, parts: list[Any]) -> ConcreteValue:
        """One relation after another."""
        found = rows(parts[0])
        for p in parts[1:]:
            found = sequence(found, rows(p))
        return concrete(found)

    def inverse(self, a: Any) -> ConcreteValue:
        """A relation backwards."""
        return concrete(inverse(rows(a)))

    def plus(self, a: Any) -> ConcreteValue:
        """The transitive closure."""
        return concrete(closure(rows(a)))

    def opt(self, a: Any) -> ConcreteValue:
        """A relation, and each event with itself."""
        return self.union([a, self.identity(self.everything(SET))])

    def identity(self, a: Any) -> ConcreteValue:
        """Each event of a set with itself."""
        return concrete([members(a) & 1 << i for i in range(self.size)])

    def product(self, a: Any, b: Any) -> ConcreteValue:
        """All pairs from a set to a set."""
        return concrete([members(b) if members(a) >> i & 1 else 0 for i in range(self.size)])

    def domain(self, a: Any) -> ConcreteValue:
        """Where a relation leads from."""
        return concrete(sum(1 << i for i, row in enumerate(rows(a)) if row))

    def range(self, a: Any) -> ConcreteValue:
        """Where a relation leads to."""
        return concrete(_all(rows(a)))


def _all(found: Iterable[int]) -> int:
    result = 0
    for row in found:
        result |= row
    return result
