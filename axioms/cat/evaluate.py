"""Evaluates a model over one concrete execution: sets are integers used as bitsets, relations lists of them, a row an event.

This is the judge of last resort. Witnesses of the solver are re-checked here, and the brute-force engine decides with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from operator import and_, or_
from typing import Any

from axioms.cat.compiled import Axiom, Model
from axioms.cat.nodes import Node, Rows
from ptxcore.clock import paced

#: Rows of so many events at most are taken apart bit by bit: for longer ones each bit would cost a copy.
_SHORT = 256


def bits(row: int) -> list[int]:
    """The members of a bitset, ascending."""
    members = []
    if row >> _SHORT:
        digits = bin(row)[:1:-1]
        at = digits.find("1")
        while at >= 0:
            members.append(at)
            at = digits.find("1", at + 1)
        return members
    while row:
        low = row & -row
        members.append(low.bit_length() - 1)
        row ^= low
    return members


def sequence(a: Rows, b: Rows) -> Rows:
    leading = 0  # the events that `b` leads on from
    moves = False
    for i, row in enumerate(b):
        if row:
            leading |= 1 << i
            moves = moves or row != 1 << i
    if not leading:
        return [0] * len(a)
    if not moves:  # a part of the identity
        return [row & leading for row in a]
    if len(b) > _SHORT:
        return [_reached(bits(row & leading), b) for row in a]
    result = []
    for row in a:
        reached = 0
        row &= leading
        while row:
            low = row & -row
            reached |= b[low.bit_length() - 1]
            row ^= low
        result.append(reached)
    return result


def _reached(members: Iterable[int], rows: Rows) -> int:
    reached = 0
    for i in members:
        reached |= rows[i]
    return reached


def inverse(a: Rows) -> Rows:
    result = [0] * len(a)
    for i, row in enumerate(a):
        bit = 1 << i
        while row:
            low = row & -row
            result[low.bit_length() - 1] |= bit
            row ^= low
    return result


def closure(a: Rows) -> Rows:
    """The transitive closure."""
    order = _backwards(a) if len(a) > _SHORT else None
    if order is not None:
        return _gathered(a, order)
    rows = list(a)
    for k in range(len(rows)) if len(rows) <= _SHORT else paced(range(len(rows))):
        through = rows[k]
        if through:
            bit = 1 << k
            for i, row in enumerate(rows):
                if row & bit:
                    rows[i] = row | through
    return rows


def _backwards(a: Rows) -> list[int] | None:
    """The events, each behind all that it leads to; None where there is a cycle."""
    found: list[int] = []
    unseen, open_ = (1 << len(a)) - 1, 0
    for root in range(len(a)):
        stack = [root] if unseen >> root & 1 else []
        unseen &= ~(1 << root)
        open_ |= 1 << root if stack else 0
        while stack:
            row = a[stack[-1]]
            new = row & unseen
            if new:
                low = new & -new
                unseen ^= low
                open_ |= low
                stack.append(low.bit_length() - 1)
            elif row & open_:
                return None
            else:
                found.append(stack.pop())
                open_ ^= 1 << found[-1]
    return found


def _gathered(a: Rows, order: Iterable[int]) -> Rows:
    """The closure of what has no cycle: each event reaches what those that it leads to reach."""
    rows = [0] * len(a)
    for i in order:
        reached = left = a[i]
        while left:
            low = left & -left
            through = rows[low.bit_length() - 1]
            reached |= through
            left = (left ^ low) & ~through  # who is reached already brings nothing more
        rows[i] = reached
    return rows


def is_acyclic(a: Rows) -> bool:
    if len(a) > _SHORT:
        return _backwards(a) is not None
    return not any(row >> i & 1 for i, row in enumerate(closure(a)))


class Evaluation:
    """The values of a model's nodes over one execution. `base` gives each base set (an int) and relation (rows).

    `fixed` may give the values of the nodes in `model.fixed`, from another execution of the same events.
    """

    def __init__(
        self,
        model: Model,
        size: int,
        base: Mapping[str, int | Rows],
        fixed: Mapping[Node, int | Rows] | None = None,
    ) -> None:
        self.model, self.size, self.base = model, size, base
        self.values: dict[Node, int | Rows] = {} if fixed is None else dict(fixed)
        if fixed is None:
            self.compute(model.fixed)
        self.compute(model.chosen)

    @classmethod
    def of(cls, size: int, base: Mapping[str, int | Rows]) -> Evaluation:
        """An execution of which nothing is computed before it is asked for."""
        made = cls.__new__(cls)
        made.size, made.base, made.values = size, base, {}
        return made

    def compute(self, nodes: Iterable[Node]) -> None:
        """Computes nodes in the order given, operands before those that use them."""
        values = self.values
        for node in nodes:
            values[node] = _MEANING[node.kind][node.op](self, node)

    def violated(self) -> list[Axiom]:
        """The axioms that this execution breaks; none, and it is consistent."""
        return [a for a in self.model.axioms if not self.holds(a)]

    def holds(self, axiom: Axiom) -> bool:
        rows = self.rows(axiom.node)
        good = not any(rows) if axiom.kind == "empty" else is_acyclic(rows)
        return good != axiom.negated

    def rows(self, node: Node) -> Rows:
        """A relation's rows, computed now if no axiom needed it."""
        value = self.values.get(node)
        if value is None:
            value = self.value(node)
        assert isinstance(value, list)
        return value

    def value(self, node: Node) -> int | Rows:
        """A set's bitset or a relation's rows, computed now if no axiom needed it."""
        value = self.values.get(node)
        if value is None:
            for n in _below_all((node,)):
                if n not in self.values and not _open(n, self.values):
                    self.values[n] = self._compute(n)
            value = self.values[node]
        return value

    def _compute(self, node: Node) -> int | Rows:
        return _MEANING[node.kind][node.op](self, node)

    def of_relation(self, node: Node) -> Rows:
        """The rows of the first argument of a node."""
        rows = self.values[node.args[0]]
        assert isinstance(rows, list)
        return rows

    def fixpoint(self, node: Node) -> Rows:
        """The least solution, from below. The first name of a recursion to be computed computes them all."""
        values: NodeValues = self.values
        solution: list[Rows] = [[0] * self.size for _ in node.variables]
        inside = inside_of(node)
        while True:
            self.values.update(zip(node.variables, solution, strict=True))
            for n in inside:
                self.values[n] = self._compute(n)
            new = [values[body] for body in node.args]
            if new == solution:
                break
            solution = new
        return solution[node.index]


# What operations mean: the value of a node, from those of its arguments.

#: Values of nodes: bits of a set, or rows of a relation, as the kind of each node says. Whoever takes one knows which.
NodeValues = Mapping[Node, Any]


def _base(e: Evaluation, node: Node) -> int | Rows:
    return e.base[node.name]


def _domain(e: Evaluation, node: Node) -> int:
    return sum([1 << i for i, row in enumerate(e.of_relation(node)) if row])


def _range(e: Evaluation, node: Node) -> int:
    union = 0
    for row in e.of_relation(node):
        union |= row
    return union


def _product(e: Evaluation, node: Node) -> Rows:
    first, second = (e.values[a] for a in node.args)
    assert isinstance(first, int) and isinstance(second, int)
    return [second if first >> i & 1 else 0 for i in range(e.size)]


def _identity(e: Evaluation, node: Node) -> Rows:
    members = e.values[node.args[0]]
    assert isinstance(members, int)
    return [members & 1 << i for i in range(e.size)]


def _set_difference(e: Evaluation, node: Node) -> int:
    first, second = (e.values[a] for a in node.args)
    assert isinstance(first, int) and isinstance(second, int)
    return first & ~second


def _difference(e: Evaluation, node: Node) -> Rows:
    first, second = (e.values[a] for a in node.args)
    assert isinstance(first, list) and isinstance(second, list)
    return [a & ~b for a, b in zip(first, second, strict=True)]


def _of_sets(meaning: Callable[[int, int], int]) -> Meaning:
    def value(e: Evaluation, node: Node) -> int:
        values: NodeValues = e.values
        found: int = reduce(meaning, [values[a] for a in node.args])
        return found

    return value


def _of_relations(meaning: Callable[[int, int], int]) -> Meaning:
    """The same of each row."""

    def value(e: Evaluation, node: Node) -> Rows:
        values: NodeValues = e.values
        first, *others = [values[a] for a in node.args]
        rows: Rows = first
        for other in others:
            rows = list(map(meaning, rows, other))
        return rows

    return value


def _sequence(e: Evaluation, node: Node) -> Rows:
    """From left to right; `[S]` keeps the rows or the columns of `S`."""
    values: NodeValues = e.values
    first, *others = node.args
    rows: Rows = values[first]
    if first.op == "identity" and others and others[0].op != "identity":
        members, second = values[first.args[0]], values[others.pop(0)]
        rows = [row if members >> i & 1 else 0 for i, row in enumerate(second)]
    for a in others:
        if a.op == "identity":
            members = values[a.args[0]]
            rows = [row & members for row in rows]
        else:
            rows = sequence(rows, values[a])
    return rows


Meaning = Callable[[Evaluation, Node], "int | Rows"]
_MEANING: dict[str, dict[str, Meaning]] = {
    "set": {
        "base": _base,
        "empty": lambda e, node: 0,
        "union": _of_sets(or_),
        "intersection": _of_sets(and_),
        "difference": _set_difference,
        "domain": _domain,
        "range": _range,
    },
    "relation": {
        "base": _base,
        "empty": lambda e, node: [0] * e.size,
        "union": _of_relations(or_),
        "intersection": _of_relations(and_),
        "difference": _difference,
        "sequence": _sequence,
        "inverse": lambda e, node: inverse(e.of_relation(node)),
        "plus": lambda e, node: closure(e.of_relation(node)),
        "identity": _identity,
        "product": _product,
        "fixpoint": Evaluation.fixpoint,
    },
}


def _open(node: Node, values: Mapping[Node, int | Rows]) -> bool:
    """Whether a node lies inside a recursion that has not been solved: some operand has no value yet."""
    if node.op == "fixpoint":
        return False
    return node.op == "variable" or any(a not in values for a in node.args)


@lru_cache(maxsize=1024)
def _below_all(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """Nodes and all that they are made of, operands before those that use them."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack += n.args
    return tuple(sorted(seen, key=lambda n: n.serial))


@lru_cache(maxsize=256)
def inside_of(fixpoint: Node) -> tuple[Node, ...]:
    """The nodes of a recursion that hang on its variables, operands before those that use them."""
    found: set[Node] = set(fixpoint.variables)
    for n in _below_all(fixpoint.args):
        if any(a in found for a in n.args):
            found.add(n)
    return tuple(sorted(found - set(fixpoint.variables), key=lambda n: n.serial))
