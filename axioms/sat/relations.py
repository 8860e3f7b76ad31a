"""Relations over events, partly known: what is certain as rows of bitsets, what depends as literals.

A pair is in `must` (it holds in every execution that is considered), or has a literal in `may`, or can never hold. All the
operators of the cat language are here; what is certain costs bit operations and never a clause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from axioms.cat.evaluate import bits, closure
from axioms.sat.formula import BOTH, DOWN, FALSE, TRUE, UP, Formula
from ptxcore.clock import paced

LiteralRow = dict[int, int]


class Relation:
    """`must[i]` is the bitset of certain successors of i; `may[i][j]` the literal of an uncertain one."""

    __slots__ = ("may", "must")

    def __init__(self, must: list[int], may: dict[int, LiteralRow]) -> None:
        self.must, self.may = must, may

    def possible(self) -> list[int]:
        """The pairs that can hold, as rows."""
        rows = list(self.must)
        for i, row in self.may.items():
            extra = 0
            for j in row:
                extra |= 1 << j
            rows[i] |= extra
        return rows

    def literal(self, i: int, j: int) -> int:
        if self.must[i] >> j & 1:
            return TRUE
        row = self.may.get(i)
        return FALSE if row is None else row.get(j, FALSE)

    def pairs(self) -> Iterator[tuple[int, int, int]]:
        """(i, j, literal) for every pair that can hold."""
        for i, row in enumerate(self.must):
            for j in bits(row):
                yield i, j, TRUE
        for i, may in self.may.items():
            for j, literal in may.items():
                yield i, j, literal

    @property
    def is_empty(self) -> bool:
        return not self.may and not any(self.must)


class SetBounds:
    """A set of events, partly known: as `Relation`, in one dimension."""

    __slots__ = ("may", "must")

    def __init__(self, must: int, may: LiteralRow) -> None:
        self.must, self.may = must, may


def merged(relation: Relation, into: Mapping[int, int], formula: Formula) -> Relation:
    """The relation of events of which each stands for those that go into it; what relates these to each other is left out."""
    if all(i == j for i, j in into.items()):
        return relation
    where = [into.get(i, i) for i in range(len(relation.must))]
    must = [0] * len(where)
    rows: dict[int, dict[int, dict[int, None]]] = {}
    for i, j, literal in relation.pairs():
        a, b = where[i], where[j]
        if a != b and literal == TRUE:
            must[a] |= 1 << b
        elif a != b:
            rows.setdefault(a, {}).setdefault(b, {})[literal] = None
    open_ = {i: {j: list(ls) for j, ls in row.items() if not must[i] >> j & 1} for i, row in rows.items()}
    return filled(open_, must, formula, UP)


def filled(rows: dict[int, dict[int, list[int]]], must: list[int], formula: Formula, way: int) -> Relation:
    """Joins the literals collected for each pair by disjunction."""
    may: dict[int, LiteralRow] = {}
    disj = formula.disj
    for i, row in paced(rows.items()):
        new: LiteralRow = {}
        for j, literals in row.items():
            literal = literals[0] if len(literals) == 1 else disj(literals, way)
            if literal == TRUE:
                must[i] |= 1 << j
            elif literal != FALSE:
                new[j] = literal
        if new:
            may[i] = new
    return Relation(must, may)


def union(parts: list[Relation], formula: Formula, way: int) -> Relation:
    must = [0] * len(parts[0].must)
    for p in parts:
        must = [a | b for a, b in zip(must, p.must, strict=True)]
    dynamic = [p for p in parts if p.may]
    if not dynamic:
        return Relation(must, {})
    rows: dict[int, dict[int, list[int]]] = {}
    for p in dynamic:
        for i, row in paced(p.may.items()):
            certain = must[i]
            into = rows.setdefault(i, {})
            for j, literal in row.items():
                if not certain >> j & 1:
                    into.setdefault(j, []).append(literal)
    return filled(rows, must, formula, way)


def intersection(a: Relation, b: Relation, formula: Formula, way: int) -> Relation:
    must = [x & y for x, y in zip(a.must, b.must, strict=True)]
    may: dict[int, LiteralRow] = {}
    for i, row in paced(a.may.items()):
        certain, other = b.must[i], b.may.get(i)
        new = {}
        for j, literal in row.items():
            if certain >> j & 1:
                new[j] = literal
            elif other is not None and j in other:
                both = formula.conj(literal, other[j], way)
                if both != FALSE:
                    new[j] = both
        if new:
            may[i] = new
    for i, row in paced(b.may.items()):
        certain = a.must[i]
        if certain:
            for j, literal in row.items():
                if certain >> j & 1:
                    may.setdefault(i, {})[j] = literal
    return Relation(must, may)


def difference(a: Relation, b: Relation, formula: Formula, way: int) -> Relation:
    uncertain = b.may
    must = []
    may: dict[int, LiteralRow] = {}
    for i, row in enumerate(paced(a.must)):
        row &= ~b.must[i]
        other = uncertain.get(i)
        if other:
            new = {}
            for j, literal in other.items():
                if row >> j & 1:
                    row &= ~(1 << j)
                    new[j] = -literal
            if new:
                may[i] = new
        must.append(row)
    for i, old in paced(a.may.items()):
        other = uncertain.get(i, {})
        new = may.get(i, {})
        for j, literal in old.items():
            if b.must[i] >> j & 1:
                continue
            if j in other:
                literal = formula.conj(literal, -other[j], way)
            if literal != FALSE:
                new[j] = literal
        if new:
            may[i] = new
    return Relation(must, may)


def inverse(a: Relation) -> Relation:
    must = [0] * len(a.must)
    for i, row in enumerate(paced(a.must)):
        bit = 1 << i
        while row:
            low = row & -row
            must[low.bit_length() - 1] |= bit
            row ^= low
    may: dict[int, LiteralRow] = {}
    for i, old in paced(a.may.items()):
        for j, literal in old.items():
            may.setdefault(j, {})[i] = literal
    return Relation(must, may)


def products(a: Relation, b: Relation, mask: list[int] | None) -> Iterator[tuple[int, int, int, int]]:
    """The steps of `a; b` that are not certain: (i, j, literal of the first, literal of the second), within `mask`.

    Pairs that are certain are left out: see `certain_sequence`.
    """
    certain = certain_sequence(a, b)
    b_must, b_may = b.must, b.may
    for i, row in enumerate(paced(a.must)):
        within = -1 if mask is None else mask[i]
        within &= ~certain[i]
        if not within:
            continue
        if row and b_may:
            for k in bits(row):
                second = b_may.get(k)
                if second:
                    for j, literal in second.items():
                        if within >> j & 1:
                            yield i, j, TRUE, literal
        first = a.may.get(i)
        if first:
            for k, literal in first.items():
                reached = b_must[k] & within
                while reached:
                    low = reached & -reached
                    yield i, low.bit_length() - 1, literal, TRUE
                    reached ^= low
                second = b_may.get(k)
                if second:
                    for j, other in second.items():
                        if within >> j & 1:
                            yield i, j, literal, other


def certain_sequence(a: Relation, b: Relation) -> list[int]:
    rows = []
    b_must = b.must
    for row in paced(a.must):
        reached = 0
        while row:
            low = row & -row
            reached |= b_must[low.bit_length() - 1]
            row ^= low
        rows.append(reached)
    return rows


def sequence(a: Relation, b: Relation, formula: Formula, way: int, mask: list[int] | None = None) -> Relation:
    """`a; b`, for the pairs in `mask` only if one is given."""
    must = certain_sequence(a, b)
    if mask is not None:
        must = [x & y for x, y in zip(must, mask, strict=True)]
    if not a.may and not b.may:
        return Relation(must, {})
    rows: dict[int, dict[int, list[int]]] = {}
    conj = formula.conj
    for i, j, first, second in products(a, b, mask):
        literal = first if second == TRUE else second if first == TRUE else conj(first, second, way)
        if literal != FALSE:
            rows.setdefault(i, {}).setdefault(j, []).append(literal)
    return filled(rows, must, formula, way)


def restrict(a: Relation, domain: SetBounds | None, codomain: SetBounds | None, formula: Formula, way: int) -> Relation:
    """`[domain]; a; [codomain]`."""
    if domain is not None:
        must = [row if domain.must >> i & 1 else 0 for i, row in enumerate(a.must)]
        may = {i: row for i, row in a.may.items() if domain.must >> i & 1}
        for i, literal in paced(domain.may.items()):
            new = dict.fromkeys(bits(a.must[i]), literal)
            for j, other in a.may.get(i, {}).items():
                new[j] = formula.conj(literal, other, way)
            if new := {j: l for j, l in new.items() if l != FALSE}:
                may[i] = new
        a = Relation(must, may)
    if codomain is not None:
        certain, uncertain = codomain.must, codomain.may
        must = [row & certain for row in a.must]
        may = {}
        for i, row in enumerate(paced(a.must) if uncertain else ()):
            for j, literal in uncertain.items():
                if row >> j & 1:
                    may.setdefault(i, {})[j] = literal
        for i, old in a.may.items():
            new = may.get(i, {})
            for j, literal in old.items():
                if certain >> j & 1:
                    new[j] = literal
                elif j in uncertain:
                    both = formula.conj(literal, uncertain[j], way)
                    if both != FALSE:
                        new[j] = both
            if new:
                may[i] = new
        a = Relation(must, may)
    return a


class Executed:
    """Which events are executed: certainly (`certain`, a bitset), or under a literal."""

    __slots__ = ("_implications", "_pairs", "certain", "formula", "literals")

    def __init__(self, literals: list[int], formula: Formula) -> None:
        self.literals, self.formula = literals, formula
        self.certain = sum(1 << i for i, l in enumerate(literals) if l == TRUE)
        self._pairs: dict[tuple[int, int], int] = {}
        self._implications: tuple[list[int], list[int]] | None = None

    def pair(self, i: int, j: int) -> int:
        """The literal of "both are executed"."""
        a, b = self.literals[i], self.literals[j]
        if a == b or b == TRUE:
            return a
        if a == TRUE:
            return b
        key = (a, b) if a < b else (b, a)
        both = self._pairs.get(key)
        if both is None:
            both = self._pairs[key] = self.formula.conj(a, b, BOTH)
        return both

    def implications(self) -> tuple[list[int], list[int]]:
        """For each event those that are executed wherever it is, and those that are executed only where it is, as far as the
        formula shows it."""
        if self._implications is None:
            together: dict[int, int] = {}
            for i, literal in enumerate(self.literals):
                together[literal] = together.get(literal, 0) | 1 << i
            follow = {l: self.formula.following(l, together) for l in together}
            behind = dict.fromkeys(together, 0)
            for l, some in paced(follow.items()):
                for m in some:
                    behind[m] |= together[l]
            leads = {l: sum(together[m] for m in some) for l, some in follow.items()}
            self._implications = [leads[l] for l in self.literals], [behind[l] for l in self.literals]
        return self._implications

    def static(self, rows: list[int]) -> Relation:
        """A relation that holds between events exactly when both are executed."""
        certain = self.certain
        must = []
        may: dict[int, LiteralRow] = {}
        for i, row in enumerate(paced(rows)):
            sure = row & certain if certain >> i & 1 else 0
            must.append(sure)
            if row != sure:
                new = {}
                for j in bits(row & ~sure):
                    literal = self.pair(i, j)
                    if literal != FALSE:
                        new[j] = literal
                if new:
                    may[i] = new
        return Relation(must, may)

    def members(self, events: int) -> SetBounds:
        sure = events & self.certain
        return SetBounds(sure, {i: self.literals[i] for i in bits(events & ~sure)})


def exact_closure(base: Relation, formula: Formula) -> Relation:
    """The transitive closure, defined in both directions: by squaring, since a cycle must not justify itself."""
    if not base.may:
        return Relation(closure(base.must), {})
    result, length = base, 1
    while length < len(base.must):
        result = union([result, sequence(result, result, formula, UP | DOWN)], formula, UP | DOWN)
        length *= 2
    return result
