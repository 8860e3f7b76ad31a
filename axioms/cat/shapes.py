"""When two models say the same, by what they consist of: the same axioms and flags over the same operations, whatever
their names and the order in which they were made. Models that say the same may still differ in shape; those of one
shape never differ."""

from __future__ import annotations

from axioms.cat.marks import reachable
from axioms.cat.model import Model
from axioms.cat.nodes import Node

#: Operations whose operands may stand in any order.
_ANY_ORDER = frozenset(("union", "intersection"))

RelationShape = tuple[frozenset[object], tuple[object, ...]]
#: Every operation on operands that were seen has a number. There are some hundreds in the models that ship.
_numbers: dict[tuple[object, ...], int] = {}


def shape(model: Model) -> RelationShape:
    """What a model consists of: its axioms, without their names, and its flags in their order."""
    numbered = _numbered(model)
    axioms = frozenset((a.kind, a.negated, numbered[a.node]) for a in model.axioms)
    return axioms, tuple((f.kind, f.negated, f.name, numbered[f.node]) for f in model.flags)


def _numbered(model: Model) -> dict[Node, int]:
    """The numbers of all nodes of a model; operands come first."""
    found: dict[Node, int] = {}
    nodes = reachable([s.node for s in (*model.axioms, *model.flags)])
    for node in sorted(nodes, key=lambda n: n.serial):
        operands = [found[a] for a in node.args]
        if node.op in _ANY_ORDER:
            operands.sort()
        # The variables of a recursion are numbered by where they were made: equal ones of two models may count as different.
        bound = tuple(found[v] for v in node.variables)
        key = (node.op, node.kind, node.name, node.index, bound, *operands)
        found[node] = _numbers.setdefault(key, len(_numbers))
    return found
