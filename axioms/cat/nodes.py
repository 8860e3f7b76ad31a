"""The operations that a compiled model consists of: equal ones made once, and simplified as they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from axioms.cat.names import BASE
from ptxcore.records import NamedTuple

SET, RELATION = "set", "relation"
#: A relation between events: bit j of row i says that it leads from i to j.
Rows = list[int]


class Facts(NamedTuple):
    """What is known of the base names for one program, whatever happens in it.

    `empty` names stand for nothing. `same` says of some names which other one stands for the same. `full` sets hold all
    memory events. With `functional` no read takes its bytes from different writes.
    """

    empty: frozenset[str] = frozenset()
    same: tuple[tuple[str, str], ...] = ()
    full: frozenset[str] = frozenset()
    functional: bool = False


#: Relations between memory events only.
_OF_MEMORY = frozenset({"loc", "vloc", "cov", "mixed", "alias", "rf", "co", "fr", "rmw"})


class Node:
    """One operation. `op`: base, empty, union, intersection, difference, sequence, inverse, plus, identity, product, domain,
    range, variable (of a recursion), fixpoint (one name of a recursion: `args` are the bodies, `index` which of them).

    `serial` numbers nodes so that operands come first. `deferred`: only an intersection uses this value, which computes it for
    the pairs that its other operands leave.
    """

    __slots__ = ("args", "deferred", "grows", "index", "kind", "name", "op", "serial", "shrinks", "variables")

    def __init__(self, op: str, kind: str, args: tuple[Node, ...], name: str, index: int, serial: int) -> None:
        self.op, self.kind, self.args, self.name, self.index, self.serial = op, kind, args, name, index, serial
        self.variables: tuple[Node, ...] = ()
        self.grows = self.shrinks = self.deferred = False

    def __repr__(self) -> str:
        return f"{self.op}:{self.name or ''}({', '.join(str(a.serial) for a in self.args)})"


#: Nodes, each with a sign under which it occurs.
SignedNodes: TypeAlias = set[tuple[Node, bool]]


class Builder:
    """Makes nodes. `facts` may shorten them."""

    def __init__(self, facts: Facts | None = None) -> None:
        self.facts = facts or Facts()
        self.same: Mapping[str, str] = dict(self.facts.same)
        self.shared: dict[tuple[object, ...], Node] = {}
        self.created: list[Node] = []

    def spend(self, work: int) -> None:
        """Called with the operations and operands that are about to be looked at; may raise."""

    def finds(self, root: Node, positive: bool, wanted: Callable[[Node, bool], bool], without: SignedNodes) -> bool:
        """Whether a node below one, with its sign, is wanted. `without` are those, with their signs, below which nothing is
        that is wanted; what is found out to be so is added, for the next question. Each node that is looked at costs."""
        walked = []
        for n, p in signed((root, positive), seen=without):
            walked.append((n, p))
            if wanted(n, p):
                self.spend(len(walked))
                without.difference_update(walked)
                return True
        self.spend(len(walked))
        return False

    def make(self, op: str, kind: str, args: tuple[Node, ...] = (), name: str = "", index: int = 0) -> Node:
        self.spend(1 + len(args))
        key = (op, name, index, args)
        node = self.shared.get(key)
        if node is None:
            node = self.shared[key] = Node(op, kind, args, name, index, len(self.created))
            self.created.append(node)
        return node

    def base(self, name: str) -> Node:
        name = self.same.get(name, name)
        if name in self.facts.empty:
            return self.empty(BASE[name].kind)
        if name == "fr" and self.facts.functional:
            return self.sequence([self.inverse(self.base("rf")), self.base("co")])
        if name == "po-loc":
            return self.intersection([self.base("po"), self.base("loc")])
        if name == "sync_barrier":
            return self.intersection([self.base("syncbar"), self.base("scta")])
        return self.make("base", BASE[name].kind, name=name)

    def empty(self, kind: str) -> Node:
        return self.make("empty", kind, name=kind)

    def _associative(self, op: str, parts: list[Node]) -> Node:
        flat: dict[Node, None] = {}
        self.spend(sum([len(p.args) for p in parts]))
        for p in parts:
            flat.update(dict.fromkeys(p.args if p.op == op else (p,)))
        kind = parts[0].kind
        if op == "union":
            flat = {p: None for p in flat if p.op != "empty"}
            if not flat:
                return self.empty(kind)
            flat = {p: None for p in flat if not (p.op == "intersection" and any(a in flat for a in p.args))}
        elif any(p.op == "empty" for p in flat):
            return self.empty(kind)
        else:
            flat = {p: None for p in flat if not (p.op == "union" and any(a in flat for a in p.args))}
            if any(map(_is_of_memory, flat)):
                flat = {p: None for p in flat if not self._is_full(p)}
        if len(flat) == 1:
            return next(iter(flat))
        return self.make(op, kind, tuple(sorted(flat, key=lambda n: n.serial)))

    def _is_full(self, node: Node) -> bool:
        """Whether a product holds all pairs of memory events."""
        return node.op == "product" and all(a.op == "base" and a.name in self.facts.full for a in node.args)

    def union(self, parts: list[Node]) -> Node:
        return self._associative("union", parts)

    def intersection(self, parts: list[Node]) -> Node:
        return self._associative("intersection", parts)

    def difference(self, a: Node, b: Node) -> Node:
        if a.op == "empty" or b.op == "empty":
            return a
        removed = b.args if b.op == "union" else (b,)
        self.spend(len(removed))
        if a in removed or (_is_of_memory(a) and any(self._is_full(r) for r in removed)):
            return self.empty(a.kind)
        return self.make("difference", a.kind, (a, b))

    def everything(self, kind: str) -> Node:
        universe = self.base("_")
        return universe if kind == SET else self.product(universe, universe)

    def sequence(self, parts: list[Node]) -> Node:
        flat: list[Node] = []
        for p in parts:
            self.spend(len(p.args))
            flat += p.args if p.op == "sequence" else (p,)
        if any(p.op == "empty" for p in flat):
            return self.empty(RELATION)
        kept = [p for p in flat if not (p.op == "base" and p.name == "id")]
        if not kept:
            return self.base("id")
        return kept[0] if len(kept) == 1 else self.make("sequence", RELATION, tuple(kept))

    def inverse(self, a: Node) -> Node:
        if a.op == "inverse":
            return a.args[0]
        if a.op in ("identity", "empty") or (a.op == "base" and BASE[a.name].symmetric):
            return a
        return self.make("inverse", RELATION, (a,))

    def plus(self, a: Node) -> Node:
        if a.op in ("plus", "identity", "empty") or (a.op == "base" and BASE[a.name].transitive):
            return a
        return self.make("plus", RELATION, (a,))

    def opt(self, a: Node) -> Node:
        return self.union([a, self.base("id")])

    def identity(self, a: Node) -> Node:
        if a.op == "empty":
            return self.empty(RELATION)
        if a.op == "base" and a.name == "_":
            return self.base("id")
        return self.make("identity", RELATION, (a,))

    def product(self, a: Node, b: Node) -> Node:
        if "empty" in (a.op, b.op):
            return self.empty(RELATION)
        return self.make("product", RELATION, (a, b))

    def domain(self, a: Node) -> Node:
        """Where a relation leads from."""
        return self.make("domain", SET, (a,)) if a.op != "empty" else self.empty(SET)

    def range(self, a: Node) -> Node:
        """Where a relation leads to."""
        return self.make("range", SET, (a,)) if a.op != "empty" else self.empty(SET)

    def variable(self, name: str) -> Node:
        """What a recursion defines, inside its bodies."""
        return self.make("variable", RELATION, name=name, index=len(self.created))

    def fixpoint(self, name: str, index: int, bodies: tuple[Node, ...], variables: tuple[Node, ...]) -> Node:
        """One of the relations that a recursion defines."""
        node = self.make("fixpoint", RELATION, bodies, name=name, index=index)
        node.variables = variables
        return node

    def on_diagonal(self, node: Node) -> Node:
        """`node & id`, with the union of a node distributed so that each part is computed on the diagonal only."""
        parts = node.args if node.op == "union" else (node,)
        return self.union([self.intersection([p, self.base("id")]) for p in parts])

    def as_closure(self, x: Node, body: Node) -> Node | None:
        """The recursions that are closures in disguise, written as what they are:

        x = s | x; t  is  s; t*        x = s | t; x  is  t*; s        x = s | x; t; x  is  s; (t; s)*
        """
        parts = body.args if body.op == "union" else (body,)
        without: SignedNodes = set()
        starts = [p for p in parts if not self.finds(p, True, lambda n, _: n is x, without)]
        turns = [p for p in parts if p not in starts]
        if not starts or not turns or any(t.op != "sequence" or len(t.args) < 2 for t in turns):
            return None
        inner = [a for t in turns for a in t.args if a is not x]
        if any(self.finds(a, True, lambda n, _: n is x, without) for a in inner):
            return None
        start = self.union(starts)
        if all(t.args[0] is x and t.args.count(x) == 1 for t in turns):
            step = self.union([self.sequence(list(t.args[1:])) for t in turns])
            return self.sequence([start, self.opt(self.plus(step))])
        if all(t.args[-1] is x and t.args.count(x) == 1 for t in turns):
            step = self.union([self.sequence(list(t.args[:-1])) for t in turns])
            return self.sequence([self.opt(self.plus(step)), start])
        if all(t.args[0] is x and t.args[-1] is x and t.args.count(x) == 2 for t in turns):
            between = [self.sequence(list(t.args[1:-1])) if len(t.args) > 2 else self.base("id") for t in turns]
            return self.sequence([start, self.opt(self.plus(self.sequence([self.union(between), start])))])
        return None


def _is_of_memory(node: Node) -> bool:
    return node.op == "base" and node.name in _OF_MEMORY


def signed(*roots: tuple[Node, bool], seen: SignedNodes | None = None) -> Iterator[tuple[Node, bool]]:
    """The nodes below some that stand with a sign, each with every sign under which it occurs. Those that were `seen` are left
    out, and what is given is added to them."""
    seen = set() if seen is None else seen
    stack = list(roots)
    while stack:
        item = stack.pop()
        if item in seen:
            continue
        seen.add(item)
        yield item
        n, positive = item
        for i, a in enumerate(n.args):
            stack.append((a, positive != (n.op == "difference" and i == 1)))
