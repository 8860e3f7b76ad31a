"""What is known of each operation of a compiled model before anything is evaluated: its polarity, whether executions of the
same events share its value, and whether it need be computed only where another one allows."""

from __future__ import annotations

from axioms.cat.compiled import Model
from axioms.cat.nodes import Node, signed


def reachable(roots: list[Node]) -> set[Node]:
    """The operations that some others are computed from, and those themselves."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack += [*n.args, *n.variables]
    return seen


def mark_polarity(model: Model) -> None:
    """Which operations can break an axiom by a larger value (`grows`), and which can mend one (`shrinks`)."""
    # A flag is asked for as an axiom is: whether its statement can be true.
    for n, positive in signed(*[(a.node, not a.negated) for a in (*model.axioms, *model.flags)]):
        if positive:
            n.grows = True
        else:
            n.shrinks = True
    for n in reachable([a.node for a in (*model.axioms, *model.flags)]):
        if n.op == "fixpoint":
            for v in n.variables:
                v.grows, v.shrinks = n.grows, n.shrinks


#: The base relations that differ between executions of the same events.
CHOSEN = frozenset({"rf", "co", "fr", "sync_fence", "syncbar", "addr", "data", "ctrl", "mbo", "mbrf", "denied", "comp"})


def mark_chosen(model: Model) -> None:
    """Which operations every execution of the same events shares (`fixed`), and which differ between them (`chosen`)."""
    varying: set[Node] = set()
    inside: set[Node] = set()
    for n in model.nodes:
        if n.op == "variable" or (any(a in inside for a in n.args) and n.op != "fixpoint"):
            inside.add(n)
        if (n.op == "base" and n.name in CHOSEN) or n.op == "variable" or any(a in varying for a in n.args):
            varying.add(n)
    for n in model.nodes:
        if n not in inside:
            (model.chosen if n in varying else model.fixed).append(n)


def mark_deferred(model: Model, created: list[Node]) -> None:
    """A sequence that one intersection alone uses need be computed only where the intersection's others allow."""
    users: dict[Node, list[Node | None]] = {}
    wanted = reachable([a.node for a in (*model.axioms, *model.flags)])
    nodes = [n for n in created if n in wanted]
    for n in nodes:
        for a in n.args:
            users.setdefault(a, []).append(n)
    for axiom in (*model.axioms, *model.flags):
        users.setdefault(axiom.node, []).append(None)
    for n in nodes:
        using = users.get(n, [])
        if n.op == "sequence" and len(using) == 1 and using[0] is not None and using[0].op == "intersection":
            others = [a for a in using[0].args if a is not n and not a.deferred]
            n.deferred = bool(others)


def completed(model: Model, created: list[Node]) -> Model:
    """A model whose axioms and flags are set, with everything that follows from them."""
    needed = reachable([a.node for a in model.axioms])
    model.nodes = [n for n in created if n in needed]
    told = reachable([f.node for f in model.flags])
    model.bases = {n.name: n for n in created if n.op == "base" and (n in needed or n in told)}
    mark_polarity(model)
    mark_deferred(model, created)
    mark_chosen(model)
    return model
