"""A model for programs of which the same facts are known: what those make empty or equal is gone before anything is computed.

Every node is made again, operands first, with the facts in the builder; whatever simplifies does so on the way up. So a model
may speak of barriers, proxies and copies, and a program without them pays for none of it.
"""

from __future__ import annotations

from functools import partial

from axioms.cat.compiled import Axiom, Model
from axioms.cat.marks import completed
from axioms.cat.nodes import RELATION, SET, Builder, Facts, Node


def specialised(model: Model, facts: Facts, flags: frozenset[str]) -> Model:
    """`model` where `facts` hold, with those of its flags that are named in `flags`; made once for each."""
    known = model.special.get((facts, flags))
    if known is None:
        known = model.special[facts, flags] = _Specialiser(facts).model(model, flags)
    return known


#: Operations that give nothing where one operand is nothing.
_NOTHING_OF_NOTHING = frozenset(("sequence", "intersection", "product"))


class _Specialiser(Builder):
    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.made: dict[Node, Node] = {}

    def model(self, model: Model, flags: frozenset[str]) -> Model:
        new = Model(model.name)
        new.without = model.without
        new.title, new.options, new.shipped = model.title, model.options, model.shipped
        new.residual, new.shown, new.hidden = model.residual, model.shown, model.hidden
        new.sources, new.readings = model.sources, model.readings
        for axiom in model.axioms:
            node = self.of(axiom.node)
            if node.op == "empty" and not axiom.negated:
                continue
            split = axiom.kind == "empty" and node.op == "union" and not axiom.negated
            new.axioms += [axiom._replace(node=part) for part in (node.args if split else (node,))]
        for flag in model.flags:
            if flag.name in flags:
                node = self.of(flag.node)
                if node.op != "empty" or not flag.negated:
                    new.flags.append(Axiom(flag.kind, flag.negated, node, flag.name))
        new.make_names = partial(self.names, model)
        return completed(new, self.created)

    def names(self, model: Model) -> dict[str, Node]:
        return {name: self.of(node) for name, node in model.names.items()}

    def of(self, node: Node) -> Node:
        """The node again, over an explicit stack."""
        stack = [node]
        while stack:
            n = stack[-1]
            if n in self.made:
                stack.pop()
            elif n.op == "fixpoint":
                self._recursion(n)
                stack.pop()
            elif (next_ := self._missing(n)) is not None:
                stack.append(next_)
            else:
                stack.pop()
        return self.made[node]

    def _missing(self, n: Node) -> Node | None:
        """An operand that has to be made before a node is; None when the node is made, which needs no other operand where one
        that is empty makes it empty."""
        made, left = self.made, None
        for a in n.args:
            known = made.get(a)
            if known is None:
                if left is None or a.serial < left.serial:  # the simplest one first
                    left = a
            elif known.op == "empty" and n.op in _NOTHING_OF_NOTHING:
                made[n] = self.empty(n.kind)
                return None
        if left is None:
            made[n] = self._again(n)
        return left

    def _again(self, n: Node) -> Node:
        args = [self.made[a] for a in n.args]
        if n.op == "base":
            return self.base(n.name)
        if n.op == "empty":
            return self.empty(n.kind)
        if n.op in ("union", "intersection"):
            return self.union(args) if n.op == "union" else self.intersection(args)
        if n.op == "sequence":
            return self.sequence(args)
        if n.op in ("domain", "range"):
            return self.empty(SET) if args[0].op == "empty" else self.make(n.op, SET, tuple(args))
        if n.op in ("difference", "product"):
            return self.difference(*args) if n.op == "difference" else self.product(*args)
        return {"inverse": self.inverse, "plus": self.plus, "identity": self.identity}[n.op](args[0])

    def _recursion(self, n: Node) -> None:
        """All names of a recursion at once. One whose body has become empty is empty wherever it is used, and so on; what is
        left may be no recursion any more."""
        outside = dict(self.made)
        known: dict[Node, Node] = {}
        while True:
            variables = [self.variable(v.name) if v not in known else known[v] for v in n.variables]
            self.made = {**outside, **dict(zip(n.variables, variables, strict=True))}
            bodies = [self.of(body) for body in n.args]
            gone = {
                v: self.empty(RELATION)
                for v, body in zip(n.variables, bodies, strict=True)
                if body.op == "empty" and v not in known
            }
            if not gone:
                break
            known |= gone
        self.made = outside
        left = [(v, b) for v, b in zip(variables, bodies, strict=True) if v.op == "variable"]
        body = bodies[n.index]
        if body.op == "empty":
            self.made[n] = body
        elif len(left) == 1 and (closed := self.as_closure(left[0][0], left[0][1])) is not None:
            self.made[n] = closed
        elif not any(_occurs(v, b) for v, _ in left for _, b in left):
            self.made[n] = body
        else:
            index = [v for v, _ in left].index(variables[n.index])
            self.made[n] = self.fixpoint(n.name, index, tuple(b for _, b in left), tuple(v for v, _ in left))


def _occurs(variable: Node, root: Node) -> bool:
    seen: set[Node] = set()
    stack = [root]
    while stack:
        n = stack.pop()
        if n is variable:
            return True
        if n not in seen:
            seen.add(n)
            stack += n.args
    return False
