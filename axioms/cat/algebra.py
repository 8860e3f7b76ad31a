"""Operations on the sets and relations of one execution, by the names that `Builder` has for those of a compiled model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from axioms.cat.evaluate import closure, inverse, sequence
from axioms.cat.nodes import RELATION, SET, Rows
from axioms.cat.values import Known


def known(value: int | Rows) -> Known:
    """A value as it is compared and kept."""
    return Known(SET, value) if isinstance(value, int) else Known(RELATION, tuple(value))


def members(value: Known) -> int:
    """The bitset of a set."""
    assert isinstance(value.value, int)
    return value.value


def rows(value: Known) -> Rows:
    """The rows of a relation."""
    assert not isinstance(value.value, int)
    return list(value.value)


class Concrete:
    """The algebra of `size` events, of which those in `alive` are executed. `spend` is told of what is
    computed."""

    def __init__(self, size: int, alive: int, spend: Callable[[int], None]) -> None:
        self.size, self.alive, self.spend = size, alive, spend

    def empty(self, kind: str) -> Known:
        """Nothing, as a set or as a relation."""
        return known(0 if kind == SET else [0] * self.size)

    def everything(self, kind: str) -> Known:
        """All events, or all pairs of them."""
        every = self.alive
        return known(every if kind == SET else [every if every >> i & 1 else 0 for i in range(self.size)])

    def union(self, parts: list[Any]) -> Known:
        """Of sets, or of relations."""
        if parts[0].kind == SET:
            result = 0
            for p in parts:
                result |= members(p)
            return known(result)
        found = rows(parts[0])
        for p in parts[1:]:
            found = [a | b for a, b in zip(found, rows(p), strict=True)]
        return known(found)

    def intersection(self, parts: list[Any]) -> Known:
        """Of sets, or of relations."""
        if parts[0].kind == SET:
            result = members(parts[0])
            for p in parts[1:]:
                result &= members(p)
            return known(result)
        found = rows(parts[0])
        for p in parts[1:]:
            found = [a & b for a, b in zip(found, rows(p), strict=True)]
        return known(found)

    def difference(self, a: Any, b: Any) -> Known:
        """Of two sets, or of two relations."""
        if a.kind == SET:
            return known(members(a) & ~members(b))
        return known([x & ~y for x, y in zip(rows(a), rows(b), strict=True)])

    def sequence(self, parts: list[Any]) -> Known:
        """One relation after another."""
        found = rows(parts[0])
        for p in parts[1:]:
            found = sequence(found, rows(p))
        return known(found)

    def inverse(self, a: Any) -> Known:
        """A relation backwards."""
        return known(inverse(rows(a)))

    def plus(self, a: Any) -> Known:
        """The transitive closure."""
        return known(closure(rows(a)))

    def opt(self, a: Any) -> Known:
        """A relation, and each event with itself."""
        return self.union([a, self.identity(self.everything(SET))])

    def identity(self, a: Any) -> Known:
        """Each event of a set with itself."""
        return known([members(a) & 1 << i for i in range(self.size)])

    def product(self, a: Any, b: Any) -> Known:
        """All pairs from a set to a set."""
        return known([members(b) if members(a) >> i & 1 else 0 for i in range(self.size)])

    def domain(self, a: Any) -> Known:
        """Where a relation leads from."""
        return known(sum(1 << i for i, row in enumerate(rows(a)) if row))

    def range(self, a: Any) -> Known:
        """Where a relation leads to."""
        return known(_all(rows(a)))


def _all(found: Iterable[int]) -> int:
    result = 0
    for row in found:
        result |= row
    return result
