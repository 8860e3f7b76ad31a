"""One plain formula: clauses over integer literals, folded while it is built.

Literals are non-zero integers, negative for negation. `TRUE` is variable 1, which a unit clause fixes, and `FALSE` its
negation, so that constants need no case of their own in a solver.

A gate stands for a conjunction or a disjunction. Its definition is added in the directions asked for: `up` makes the gate
true when its operands make it so, `down` makes the operands justify a true gate. A relation that axioms only restrict from
above needs `up` alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

TRUE, FALSE = 1, -1
UP, DOWN, BOTH = 1, 2, 3

#: A conjunction of more literals than this is not flattened into those that contain it.
_FLAT = 6
#: Of so many literals each pair is excluded by a clause of its own.
_PAIRED = 16


class Formula:
    """Clauses, and the gates that were named in them. `parts` of a conjunction are its operands; `refuted` are literals of
    which a clause says that they do not hold."""

    __slots__ = ("_ands", "_consequences", "_defined", "_ors", "clauses", "implied", "parts", "refuted", "size")

    def __init__(self) -> None:
        self.size = 1
        self.clauses: list[list[int]] = [[TRUE]]
        self.parts: dict[int, frozenset[int]] = {}
        self.implied: dict[int, frozenset[int]] = {}  # what a literal is known to imply: makes conjunctions shorter
        self._ands: dict[frozenset[int], int] = {}
        self._ors: dict[frozenset[int], int] = {}
        self._defined: dict[int, int] = {}  # a gate's directions so far
        self._consequences: dict[int, frozenset[int]] = {}
        self.refuted: set[int] = set()

    def new(self) -> int:
        self.size += 1
        return self.size

    def add(self, clause: list[int]) -> None:
        """Adds a clause, simplified against the constants."""
        if TRUE in clause:
            return
        if FALSE in clause:
            clause = [l for l in clause if l != FALSE]
        if len(clause) == 1:
            self.refuted.add(-clause[0])
        self.clauses.append(clause)

    def forbid(self, *literals: int) -> None:
        """Some literals never hold together."""
        self.add([-l for l in self._without_implied(frozenset(literals))])

    def conj(self, a: int, b: int, way: int = UP) -> int:
        if a in (TRUE, b):
            return b
        if b == TRUE:
            return a
        if a == FALSE or b == FALSE or a == -b:
            return FALSE
        parts, implied = self.parts, self.implied
        pa, pb = parts.get(a), parts.get(b)
        if implied:
            if b in implied.get(a, ()):
                return a
            if a in implied.get(b, ()):
                return b
        if pa is None and pb is None:
            key = frozenset((a, b))
        else:
            key = (pa if pa is not None and len(pa) <= _FLAT else frozenset((a,))) | (
                pb if pb is not None and len(pb) <= _FLAT else frozenset((b,))
            )
        return self._and(key, way)

    def conj_all(self, literals: Iterable[int], way: int = UP) -> int:
        key = frozenset(l for l in literals if l != TRUE)
        if FALSE in key:
            return FALSE
        if not key:
            return TRUE
        if len(key) == 1:
            return next(iter(key))
        return self._and(key, way)

    def _and(self, key: frozenset[int], way: int) -> int:
        gate = self._ands.get(key)
        if gate is None:
            if self.implied and (shorter := self._without_implied(key)) is not key:
                return next(iter(shorter)) if len(shorter) == 1 else self._and(shorter, way)
            if any(-l in key or (-l in self.parts and self.parts[-l] <= key) for l in key):
                return FALSE
            shorter = self._without_parts(key)
            if shorter is not key:
                return next(iter(shorter)) if len(shorter) == 1 else self._and(shorter, way)
            self.size += 1
            gate = self._ands[key] = self.size
            self.parts[gate] = key
            self._defined[gate] = 0
        missing = way & ~self._defined[gate]
        if missing:
            self._defined[gate] |= missing
            if missing & UP:
                clause = [-l for l in key]
                clause.append(gate)
                self.clauses.append(clause)
            if missing & DOWN:
                self.clauses += [[-gate, l] for l in key]
        return gate

    def _without_implied(self, key: frozenset[int]) -> frozenset[int]:
        """The conjunction without the literals that others in it imply."""
        implied = self.implied
        redundant: set[int] = set()
        for l in key:
            follows = implied.get(l)
            if follows:
                redundant.update(key & follows)
        return key - redundant if redundant else key

    def _without_parts(self, key: frozenset[int]) -> frozenset[int]:
        """The conjunction without what follows from one of its long parts; FALSE where that contradicts another one."""
        for l in key:
            if len(self.parts.get(l, ())) > _FLAT:
                known = self._known_with(l)
                if any(self._is_within(-m, known) for m in key):
                    return frozenset((FALSE,))
                follow = {m for m in key if m != l and self._is_within(m, known)}
                if follow:
                    return key - follow
        return key

    def disj(self, literals: Iterable[int], way: int = UP) -> int:
        key = frozenset(literals)
        if len(key) == 1:
            return next(iter(key))
        if TRUE in key:
            return TRUE
        if FALSE in key:
            key = key - {FALSE}
            if len(key) == 1:
                return next(iter(key))
        if not key:
            return FALSE
        gate = self._ors.get(key)
        if gate is None:
            if any(-l in key for l in key):
                return TRUE
            self.size += 1
            gate = self._ors[key] = self.size
            self._defined[gate] = 0
        missing = way & ~self._defined[gate]
        if missing:
            self._defined[gate] |= missing
            if missing & UP:
                self.clauses += [[-l, gate] for l in key]
            if missing & DOWN:
                clause = list(key)
                clause.append(-gate)
                self.clauses.append(clause)
        return gate

    def follows(self, a: int, b: int) -> bool:
        """Whether `a` is seen to follow from `b`: it is a part of `b` or implied by it, or all its own parts are."""
        return a in (TRUE, b) or self._is_within(a, self._known_with(b))

    def following(self, b: int, some: Collection[int]) -> list[int]:
        """Those of some literals that are seen to follow from `b`, see `follows`."""
        known = self._known_with(b)
        return [a for a in some if a == TRUE or self._is_within(a, known)]

    def _is_within(self, literal: int, known: frozenset[int]) -> bool:
        """Whether a literal, or every part of it, is among what is known."""
        if literal in known:
            return True
        parts = self.parts.get(literal)
        return parts is not None and all(self._is_within(part, known) for part in parts)

    def _known_with(self, literal: int) -> frozenset[int]:
        known = self._consequences.get(literal)
        if known is None:
            known = self._consequences[literal] = frozenset(self._parts_of(literal))
        return known

    def _parts_of(self, literal: int) -> set[int]:
        found = {literal}
        waiting = [literal]
        while waiting:
            l = waiting.pop()
            parts = self.parts.get(l, frozenset()) if self._defined.get(l, UP) & DOWN else frozenset()
            more = (parts | self.implied.get(l, frozenset())) - found
            found |= more
            waiting += more
        return found

    def at_most_one(self, literals: list[int]) -> None:
        """By pairs while they are few; else along a chain of "one so far", whose clauses grow only linearly."""
        if len(literals) <= _PAIRED:
            for i, a in enumerate(literals):
                for b in literals[i + 1 :]:
                    self.add([-a, -b])
            return
        so_far = literals[0]
        for l in literals[1:]:
            self.add([-so_far, -l])
            longer = self.new()
            self.add([-so_far, longer])
            self.add([-l, longer])
            so_far = longer

    def count(self, literals: Iterable[int], most: int) -> list[int]:
        """The literals of "at least 0, 1, ..., `most` of these hold", as far as there are so many."""
        so_far = [TRUE]
        for l in literals:
            so_far = self.one_more(so_far, l)[: most + 1]
        return so_far

    def one_more(self, at_least: list[int], literal: int) -> list[int]:
        """The literals of "at least 0, 1, ..." with one more that may hold."""
        more = [TRUE]
        for k in range(1, len(at_least) + 1):
            already = at_least[k] if k < len(at_least) else FALSE
            if already != FALSE and (self.follows(already, literal) or self.follows(already, at_least[k - 1])):
                more.append(already)
            else:
                more.append(self.disj([already, self.conj(at_least[k - 1], literal, BOTH)], BOTH))
        while more[-1] == FALSE:
            more.pop()
        return more

    def exactly(self, at_least: list[int]) -> list[int]:
        """The literals of "exactly 0, 1, ...", from those of "at least"."""
        last = len(at_least) - 1
        return [self.conj(l, -at_least[k + 1], BOTH) if k < last else l for k, l in enumerate(at_least)]

    def consequences(self) -> set[int]:
        """The literals that hold because clauses of one literal do, and what is left of others when these hold."""
        waiting = [c[0] for c in self.clauses if len(c) == 1]
        without: dict[int, list[list[int]]] = {}  # the clauses that a literal shortens
        for c in self.clauses:
            if len(c) > 1:
                for l in c:
                    without.setdefault(-l, []).append(c)
        true: set[int] = set()
        while waiting:
            l = waiting.pop()
            if l in true:
                continue
            true.add(l)
            for c in without.get(l, ()):
                left = [x for x in c if -x not in true]
                if len(left) == 1:
                    waiting.append(left[0])
        return true

    def equal(self, a: int, b: int) -> None:
        self.add([-a, b])
        self.add([a, -b])
