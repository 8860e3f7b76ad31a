"""Evaluation of a model in stages, as brute force chooses: first what threads and barriers fix, then rf, fence order, co.

Each stage computes the values that the choices so far determine and checks the axioms that rest on them alone, so that a bad
choice is dropped before the next one multiplies it.
"""

from __future__ import annotations

from collections.abc import Mapping

from axioms.cat.evaluate import Evaluation, inside_of, is_acyclic
from axioms.cat.model import Axiom, Model, Node
from axioms.cat.nodes import Rows
from axioms.program import Program, members_by_tag

#: What is chosen, in this order.
STAGES = ("", "rf", "sync_fence", "co")
#: Relations that come with a choice: from `rf` and `co` follows `fr`.
_WITH = {"fr": "co"}


class Stages:
    """The nodes and axioms of a model by the last choice that they depend on."""

    def __init__(self, model: Model) -> None:
        level: dict[Node, int] = {}
        for n in model.nodes:
            if n.op == "base":
                name = _WITH.get(n.name, n.name)
                level[n] = STAGES.index(name) if name in STAGES else 0
            else:
                level[n] = max((level.get(a, 0) for a in n.args), default=0)
        # A recursion is solved as a whole, at the stage of its latest part.
        for n in model.nodes:
            if n.op == "fixpoint":
                for inner in (*n.variables, *inside_of(n)):
                    level[inner] = max(level[inner], level[n])
        for n in model.nodes:
            level[n] = max([level[n], *[level.get(a, 0) for a in n.args]])
        self.nodes = [[n for n in model.nodes if level[n] == k] for k in range(len(STAGES))]
        self.axioms = [[a for a in model.axioms if level[a.node] == k] for k in range(len(STAGES))]
        self.level = level


class StagedEvaluation:
    """The values so far. `extend` gives the next stage, or None where an axiom is already broken."""

    def __init__(self, model: Model, program: Program, stages: Stages, known: Mapping[str, Rows]) -> None:
        self.model, self.size, self.stages = model, program.size, stages
        self.base: dict[str, int | Rows] = {"_": (1 << program.size) - 1, **members_by_tag(program)}
        self.base |= program.relations
        self.base |= known
        self.stage = 0
        self.values: dict[Node, int | Rows] = {}
        self.broken = not self._compute()

    @staticmethod
    def stages_of(model: Model) -> Stages:
        return Stages(model)

    def extend(self, name: str, rows: Rows, **more: Rows) -> StagedEvaluation | None:
        """With the next choice made, and `more` relations that follow from it."""
        if self.broken:
            return None
        new = object.__new__(StagedEvaluation)
        new.model, new.size, new.stages = self.model, self.size, self.stages
        new.base = {**self.base, name: rows, **more}
        new.stage = STAGES.index(name)
        new.values = dict(self.values)
        new.broken = not new._compute()
        return None if new.broken else new

    def _compute(self) -> bool:
        evaluation = _Partial(self.model, self.size, self.base, self.values)
        evaluation.extend(self.stages.nodes[self.stage])
        return all(evaluation.holds(a) for a in self.stages.axioms[self.stage])

    def demands(self) -> tuple[Rows, Rows]:
        """The pairs that `co` must have, and those it must relate in one direction, as axioms of the shapes
        `empty X \\ co` and `empty X \\ (co | co^-1)` say outright, where X is known already."""
        demanded, related = [0] * self.size, [0] * self.size
        for axiom in self.model.axioms:
            node = axiom.node
            if axiom.kind != "empty" or axiom.negated or node.op != "difference":
                continue
            if self.stages.level[node.args[0]] > self.stage:
                continue
            rows = self.values[node.args[0]]
            assert isinstance(rows, list)
            if _is_co(node.args[1]):
                demanded = [a | b for a, b in zip(demanded, rows, strict=True)]
            elif node.args[1].op == "union" and all(
                _is_co(a) or (a.op == "inverse" and _is_co(a.args[0])) for a in node.args[1].args
            ):
                related = [a | b for a, b in zip(related, rows, strict=True)]
        return demanded, related


class _Partial(Evaluation):
    """An evaluation that computes the nodes it is told to, over values that are there already."""

    def __init__(self, model: Model, size: int, base: Mapping[str, int | Rows], values: dict[Node, int | Rows]) -> None:
        self.model, self.size, self.base, self.values = model, size, base, values

    def extend(self, nodes: list[Node]) -> None:
        inside: set[Node] = set()
        for n in nodes:
            if n.op == "fixpoint":
                inside.update(inside_of(n))
        for n in nodes:
            if n.op == "base" and n.name not in self.base:
                self.values[n] = 0 if n.kind == "set" else [0] * self.size
            elif n.op != "variable" and n not in inside:
                self.values[n] = self._compute(n)

    def holds(self, axiom: Axiom) -> bool:
        rows = self.values[axiom.node]
        assert isinstance(rows, list)
        good = not any(rows) if axiom.kind == "empty" else is_acyclic(rows)
        return good != axiom.negated


def _is_co(node: Node) -> bool:
    return node.op == "base" and node.name == "co"
