"""A model over bounded relations: the value of each of its nodes, and each axiom as clauses.

Values are computed on demand and once. A sequence through a set that is empty is empty, whatever else it passes; a closure
stays unsolved (`Paths`) until somebody asks for pairs, and then gives those; an intersection computes its sequences for the
pairs that its other operands leave. The outermost operation of an axiom becomes clauses without gates of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from axioms.cat.evaluate import bits
from axioms.cat.model import Axiom, Node
from axioms.errors import UnsupportedProgram
from axioms.sat import relations
from axioms.sat.acyclicity import cycles
from axioms.sat.formula import DOWN, FALSE, UP, Formula
from axioms.sat.paths import Paths
from axioms.sat.relations import Executed, LiteralRow, Relation, SetBounds
from ptxcore.clock import tick

Computed = Relation | SetBounds | Paths


class Interpreter:
    """`base` gives a base relation by name; `members` the events of each base set, executed or not, as bitsets;
    `tick` is called before each node and may raise."""

    def __init__(
        self,
        size: int,
        formula: Formula,
        executed: Executed,
        members: Mapping[str, int],
        base: Callable[[str], Relation],
        tick: Callable[[], None],
    ) -> None:
        self.size, self.formula, self.executed, self.members, self.base = size, formula, executed, members, base
        self.tick = tick
        self.values: dict[Node, Computed] = {}

    def value(self, node: Node) -> Computed:
        """The value of a node, with those of its operands. Works over an explicit stack: models may nest deeply."""
        stack = [node]
        while stack:
            n = stack[-1]
            if n in self.values:
                stack.pop()
                continue
            if n.op == "fixpoint":
                self._fixpoint(n)
                continue
            missing = self._missing(n)
            if missing:
                stack += missing
                continue
            self.tick()
            self.values[n] = self._compute(n)
            stack.pop()
        return self.values[node]

    def whole(self, node: Node) -> Relation:
        """The value of a relation's node, for all pairs."""
        return self._whole(self.value(node))

    def _whole(self, value: Computed) -> Relation:
        if isinstance(value, Paths):
            return value.relation(None)
        assert isinstance(value, Relation)
        return value

    def _missing(self, node: Node) -> list[Node]:
        """The operands that must be computed before `node`. None, where an empty set among them decides it."""
        values = self.values
        if node.op != "sequence":
            for a in node.args:
                if a.deferred:
                    break
            else:
                return [a for a in node.args if a not in values]
        found: list[Node] = []
        stack = [node]
        while stack:
            n = stack.pop()
            if n.op == "sequence":
                steps = _steps(n)
                sets = [a for is_relation, a in steps if not is_relation]
                unknown = [a for a in sets if a not in self.values]
                if unknown:
                    found += unknown
                    continue
                if self._is_dead(n):
                    continue
                found += [a for is_relation, a in steps if is_relation and a not in self.values]
            else:
                stack += [a for a in n.args if a.deferred]
                found += [a for a in n.args if not a.deferred and a not in self.values]
        return found

    def _is_dead(self, node: Node) -> bool:
        """Whether a sequence passes through an empty set."""
        return any(
            isinstance(m, SetBounds) and not m.must and not m.may
            for m in (self.values.get(a) for is_relation, a in _steps(node) if not is_relation)
        )

    def _compute(self, node: Node) -> Computed:
        way = (UP if node.grows else 0) | (DOWN if node.shrinks else 0) or UP
        op = node.op
        if op == "base":
            if node.kind == "set":
                everything = (1 << self.size) - 1
                return self.executed.members(everything if node.name == "_" else self.members.get(node.name, 0))
            return self.base(node.name)
        if op == "empty":
            return SetBounds(0, {}) if node.kind == "set" else Relation([0] * self.size, {})
        if op == "intersection" and node.kind == "relation":
            return self._intersection(node, way)
        if op == "sequence":
            return self._sequence(node, None, way)
        args = [self.values[a] for a in node.args]
        if node.kind == "set":
            return self._set(op, args, way)
        first = args[0]
        if isinstance(first, SetBounds):
            second = args[1] if op == "product" else first
            assert isinstance(second, SetBounds)
            return self._product(first, second, way) if op == "product" else self._identity(first)
        related = [self._whole(a) for a in args]
        if op == "union":
            return relations.union(related, self.formula, way)
        if op == "difference":
            return relations.difference(related[0], related[1], self.formula, way)
        if op == "inverse":
            return relations.inverse(related[0])
        assert op == "plus", op
        if node.shrinks:
            return relations.exact_closure(related[0], self.formula)
        return Paths(related[0], self.executed, self.formula)

    def _set(self, op: str, args: list[Computed], way: int) -> SetBounds:
        formula = self.formula
        first = args[0]
        if not isinstance(first, SetBounds):
            related = relations.inverse(self._whole(first)) if op == "range" else self._whole(first)
            must = sum(1 << i for i, row in enumerate(related.must) if row)
            may = {i: formula.disj(row.values(), way) for i, row in related.may.items() if not must >> i & 1}
            return SetBounds(must, may)
        for other in args[1:]:
            assert isinstance(other, SetBounds)
            sure, maybe = other.must, other.may
            if op == "union":
                must = first.must | sure
                may = {i: l for i, l in first.may.items() if not must >> i & 1}
                for i, l in maybe.items():
                    if not must >> i & 1:
                        may[i] = formula.disj([may[i], l], way) if i in may else l
            elif op == "intersection":
                must = first.must & sure
                may = {i: l for i, l in first.may.items() if sure >> i & 1}
                may |= {i: l for i, l in maybe.items() if first.must >> i & 1}
                may |= {i: formula.conj(l, maybe[i], way) for i, l in first.may.items() if i in maybe}
            else:
                uncertain = sum(1 << i for i in maybe)
                must = first.must & ~sure & ~uncertain
                may = {i: -l for i, l in maybe.items() if first.must >> i & 1}
                for i, l in first.may.items():
                    if not sure >> i & 1:
                        may[i] = formula.conj(l, -maybe[i], way) if i in maybe else l
            first = SetBounds(must, {i: l for i, l in may.items() if l != FALSE})
        return first

    def _identity(self, members: SetBounds) -> Relation:
        must = [members.must & 1 << i for i in range(self.size)]
        return Relation(must, {i: {i: l} for i, l in members.may.items()})

    def _product(self, a: SetBounds, b: SetBounds, way: int) -> Relation:
        must = [b.must if a.must >> i & 1 else 0 for i in range(self.size)]
        may: dict[int, LiteralRow] = {}
        for i in bits(a.must) if b.may else ():
            tick()
            may[i] = dict(b.may)
        for i, literal in a.may.items():
            tick()
            row = dict.fromkeys(bits(b.must), literal)
            for j, other in b.may.items():
                row[j] = self.formula.conj(literal, other, way)
            if row := {j: l for j, l in row.items() if l != FALSE}:
                may[i] = row
        return Relation(must, may)

    def _intersection(self, node: Node, way: int, without: Node | None = None) -> Relation:
        """Operands that are known first; closures and sequences then, for the pairs that are left."""
        late = [a for a in node.args if a is not without and (a.deferred or isinstance(self.values[a], Paths))]
        result: Relation | None = None
        for a in node.args:
            if a is not without and a not in late:
                value = self._whole(self.values[a])
                result = value if result is None else relations.intersection(result, value, self.formula, way)
        for a in late:
            mask = None if result is None else result.possible()
            value = self._masked(a, mask, way)
            result = value if result is None else relations.intersection(result, value, self.formula, way)
        assert result is not None
        return result

    def _masked(self, node: Node, mask: list[int] | None, way: int) -> Relation:
        if mask is not None and not any(mask):
            return self._nothing()
        if node.deferred:
            return self._sequence(node, mask, way)
        value = self.values[node]
        return value.relation(mask) if isinstance(value, Paths) else self._whole(value)

    def _nothing(self) -> Relation:
        return Relation([0] * self.size, {})

    def _sequence(self, node: Node, mask: list[int] | None, way: int) -> Relation:
        """`a; [S]; b; ...` from the left, for the pairs in `mask`."""
        if self._is_dead(node):
            return self._nothing()
        operands: list[Computed] = []
        for _, a in _steps(node):
            operand = self.values[a]
            if isinstance(operand, Relation):
                if operand.is_empty:
                    return self._nothing()
                operand = _as_members(operand)
            operands.append(operand)
        return self._chain(operands, mask, way)

    def _chain(self, operands: list[Computed], mask: list[int] | None, way: int) -> Relation:
        """Composes. Sets restrict what stands beside them, and a closure is computed only where its neighbours let it."""
        result: Relation | None = None
        domain: SetBounds | None = None
        composed = sum(1 for o in operands if not isinstance(o, SetBounds))
        for at, operand in enumerate(operands):
            if isinstance(operand, SetBounds):
                if result is not None:
                    result = relations.restrict(result, None, operand, self.formula, way)
                else:
                    domain = operand if domain is None else self._set("intersection", [domain, operand], way)
                continue
            composed -= 1
            within = mask if composed == 0 else None
            if isinstance(operand, Paths):
                follows = operands[at + 1] if at + 1 < len(operands) else None
                narrowed = within if result is None else None
                operand = operand.relation(_narrowed(self.size, narrowed, domain, result, follows))
            if result is None:
                result = operand if domain is None else relations.restrict(operand, domain, None, self.formula, way)
            else:
                result = relations.sequence(result, operand, self.formula, way, within)
            if result.is_empty:
                return self._nothing()
        if result is None:
            assert domain is not None
            return self._identity(domain)
        return result

    def _fixpoint(self, node: Node) -> None:
        """A recursion: a literal for each pair that can hold, and "its body makes it hold"."""
        if node.shrinks:
            raise UnsupportedProgram(
                f"the model's 'let rec {node.name}' stands below a difference or in a negated axiom, which the solving engine "
                "does not support unless it is a closure; --engine enumerate decides it"
            )
        inside = _inside(node)
        solution: list[dict[int, LiteralRow]] = [{} for _ in node.variables]
        size = self.size
        while True:
            for n in inside:
                self.values.pop(n, None)
            for v, rows in zip(node.variables, solution, strict=True):
                self.values[v] = Relation([0] * size, {i: dict(r) for i, r in rows.items()})
            bodies = [self.whole(body) for body in node.args]
            grown = False
            for body, rows in zip(bodies, solution, strict=True):
                for i, j, _ in body.pairs():
                    if j not in rows.setdefault(i, {}):
                        rows[i][j] = self.formula.new()
                        grown = True
            if not grown:
                break
        for body, rows in zip(bodies, solution, strict=True):
            for i, j, literal in body.pairs():
                self.formula.add([-literal, rows[i][j]])
        self.values[node] = Relation([0] * size, solution[node.index])

    # Axioms.

    def assert_axioms(self, axioms: Iterable[Axiom]) -> None:
        """Those that forbid cycles last: what others rule out at once is on no cycle."""
        for axiom in sorted(axioms, key=lambda a: a.kind == "acyclic" and not a.negated):
            self.assert_axiom(axiom)

    def assert_axiom(self, axiom: Axiom) -> None:
        formula = self.formula
        if axiom.negated:
            self._assert_negated(axiom)
        elif axiom.kind == "acyclic":
            for _, _, literals in cycles(self.whole(axiom.node), self.executed, formula, self.tick):
                for l in literals:
                    formula.add([-l])
        else:
            self._forbid(axiom.node)

    def _forbid(self, node: Node) -> None:
        """No pair of `node` may hold. The outermost operation needs no gates of its own."""
        add = self.formula.add
        if node.op == "difference" and node.kind == "relation":
            a, b = self.whole(node.args[0]), self.whole(node.args[1])
            for i, j, literal in a.pairs():
                add([-literal, b.literal(i, j)])
            return
        last = next((a for a in node.args if a.deferred), None) if node.op == "intersection" else None
        if last is None:
            for _, _, literal in self.whole(node).pairs():
                add([-literal])
            return
        while missing := self._missing(node):
            for n in missing:
                self.value(n)
        outer = self._intersection(node, UP, without=last)
        mask = outer.possible()
        if self._is_dead(last) or not any(mask):
            return
        steps = [self.values[a] for _, a in _steps(last)]
        if any(isinstance(s, Relation) and s.is_empty for s in steps):
            return
        if isinstance(steps[-1], SetBounds) or len(steps) == 1:
            for _, _, literal in relations.intersection(
                outer, self._sequence(last, mask, UP), self.formula, UP
            ).pairs():
                add([-literal])
            return
        first, second = self._chain(steps[:-1], None, UP), self._whole(steps[-1])
        for i, row in enumerate(relations.certain_sequence(first, second)):
            for j in bits(row & mask[i]):
                add([-outer.literal(i, j)])
        for i, j, x, y in relations.products(first, second, mask):
            self.formula.forbid(outer.literal(i, j), x, y)

    def _assert_negated(self, axiom: Axiom) -> None:
        value = self.whole(axiom.node)
        if axiom.kind == "acyclic":
            closed = relations.exact_closure(value, self.formula)
            self.formula.add([closed.literal(i, i) for i in range(self.size)])
        else:
            self.formula.add([literal for _, _, literal in value.pairs()])


def _as_members(relation: Relation) -> Relation | SetBounds:
    """A part of the identity, as the set that it restricts to."""
    for i, row in enumerate(relation.must):
        if row & ~(1 << i):
            return relation
    for i, may in relation.may.items():
        if len(may) > 1 or i not in may:
            return relation
    must = sum(relation.must)
    return SetBounds(must, {i: may[i] for i, may in relation.may.items()})


def _narrowed(
    size: int, mask: list[int] | None, domain: SetBounds | None, before: Relation | None, after: Computed | None
) -> list[int] | None:
    """The pairs of an operand that its neighbours in a sequence can use."""
    rows, columns = (1 << size) - 1, (1 << size) - 1
    if domain is not None and before is None:
        rows = domain.must | sum(1 << i for i in domain.may)
    if before is not None:
        rows = 0
        for row in before.possible():
            rows |= row
    if isinstance(after, SetBounds):
        columns = after.must | sum(1 << i for i in after.may)
    return [(columns if mask is None else mask[i] & columns) if rows >> i & 1 else 0 for i in range(size)]


@lru_cache(maxsize=4096)
def _steps(node: Node) -> list[tuple[bool, Node]]:
    """A sequence's operands; `[S]` as its set (False), so that it restricts instead of being composed with."""
    return [(False, a.args[0]) if a.op == "identity" else (True, a) for a in node.args]


def _inside(node: Node) -> list[Node]:
    """The nodes of a recursion's bodies that depend on its variables."""
    seen: dict[Node, None] = {}
    stack = list(node.args)
    while stack:
        n = stack.pop()
        if n not in seen:
            seen[n] = None
            stack += n.args
    dependent: set[Node] = set(node.variables)
    for n in sorted(seen, key=lambda n: n.serial):
        if n.op != "fixpoint" and any(a in dependent for a in n.args):
            dependent.add(n)
    return [n for n in dependent if n not in node.variables]
