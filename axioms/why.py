"""Why not, in single steps: what a forbidden outcome would have to look like, and where that goes against the model.

    drop the axioms that forbid the outcome -> an execution that has it -> the shortest way in which it breaks one of them
    weaken one instruction after another    -> those without which the outcome would be allowed

A pair of a derived relation is taken apart into the edges that it comes from, as the model's definitions say, down to those
that the manual has names for.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from axioms.candidate import Candidate
from axioms.cat.evaluate import Evaluation, Rows, bits
from axioms.cat.model import Axiom, Model, Node
from axioms.explain import without
from axioms.facts import fitted
from axioms.program import Program
from axioms.result import Decision, OutOfTime, Rest, Step, Why
from axioms.values import TooManyValues
from ptxcore.machine.effects import Effect
from ptxcore.places import SCOPES
from ptxcore.syntax.printer import print_statement
from ptxcore.syntax.tree import Instruction

#: Definitions that are shown as one edge; what they consist of is told beside it.
_SHOWN = ("sync", "sync-some", "sc", "bars", "proxy-sync")
#: Base relations that are edges of a story; others only say which pairs count.
_EDGES = frozenset(
    {
        "po",
        "rf",
        "co",
        "fr",
        "rmw",
        "api",
        "comp",
        "issue",
        "mbrf",
        "mbo",
        "syncbar",
        "sync_fence",
        "addr",
        "data",
        "ctrl",
    }
)
#: Of several axioms that are broken, the one to tell of first.
_ORDER = ("causality", "coherence", "atomicity", "single-copy", "no-thin-air", "fence-sc")

_SECONDS = 20.0
_MAX_EVENTS = 200


def why(program: Program, model: Model, decision: Decision, deadline: float | None) -> None:
    """Notes in `decision` why the states of the kind that is missing are missing. Nothing, where no model at all would allow
    them, and where the answer would take too long. Expects `decision.forbidding`, and a model that is fitted to no program."""
    if not decision.forbidding or program.size > _MAX_EVENTS:
        return
    limit = time.monotonic() + _SECONDS
    limit = limit if deadline is None else min(limit, deadline)
    try:
        decision.why = _why(program, model, decision, limit)
    except (OutOfTime, TooManyValues):
        return


def _why(program: Program, model: Model, decision: Decision, deadline: float) -> Why | None:
    fit = fitted(model, program, frozenset())
    dropped = set(decision.forbidding if decision.forbidding_each else sorted(decision.forbidding, key=_rank)[:1])
    wanted = decision.positive == 0
    candidate = _execution(program, without(fit, dropped), wanted, deadline)
    if candidate is None:
        return None
    broken = [a for a in fit.axioms if a.name in dropped and not candidate.evaluation.holds(a)]
    found = [(a, steps) for a in sorted(broken, key=lambda a: _rank(a.name)) if (steps := _broken(fit, a, candidate))]
    if not found:
        return None
    axiom, steps = min(found, key=lambda f: (_rank(f[0].name), len(f[1])))
    return _told(axiom.name, steps, candidate, tuple(_rests_on(program, model, wanted, deadline)))


def _rank(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _execution(program: Program, model: Model, wanted: bool, deadline: float) -> Candidate | None:
    """An execution that satisfies the condition, or does not, as `wanted` says."""
    from axioms.encode import Encoding
    from axioms.solve import Session

    session = Session(program, model, Encoding(program, model, deadline=deadline), None, deadline)
    try:
        return session.example(wanted)
    finally:
        session.solver.close()


# The way in which an execution breaks an axiom.


class _Edge(NamedTuple):
    before: int
    name: str
    after: int
    parts: tuple[_Edge, ...] = ()


def _broken(model: Model, axiom: Axiom, candidate: Candidate) -> list[_Edge]:
    """The fewest edges that go against an axiom."""
    paths = _Paths(model, candidate.evaluation)
    if axiom.kind == "acyclic":
        return _merged(paths.cycle(axiom.node))
    best: list[_Edge] = []
    for i, row in enumerate(candidate.evaluation.rows(axiom.node)):
        for j in bits(row):
            steps = _merged(paths.between(axiom.node, i, j))
            if steps and j != i and candidate.co[j] >> i & 1:
                steps.append(_Edge(j, "co", i))
            if steps and (not best or len(steps) < len(best)):
                best = steps
    return best


class _Paths:
    """Takes pairs of relations apart into edges, the fewest that do."""

    def __init__(self, model: Model, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.shown = {node: name for name in _SHOWN if (node := model.names.get(name)) is not None and node.args}
        self.known: dict[tuple[Node, int, int], list[_Edge]] = {}

    def between(self, node: Node, i: int, j: int) -> list[_Edge]:
        key = (node, i, j)
        found = self.known.get(key)
        if found is None:
            self.known[key] = []  # what needs itself is no shortest way
            found = self.known[key] = self._between(node, i, j)
        return found

    def _between(self, node: Node, i: int, j: int) -> list[_Edge]:
        if node in self.shown:
            inner = _merged(self._apart(node, i, j))
            return [_Edge(i, self.shown[node], j, tuple(inner))]
        return self._apart(node, i, j)

    def _apart(self, node: Node, i: int, j: int) -> list[_Edge]:
        op = node.op
        if op == "base":
            return [_Edge(i, node.name, j)] if node.name in _EDGES else []
        if op == "inverse":
            return [
                _Edge(e.after, e.name + "^-1", e.before, e.parts) for e in reversed(self.between(node.args[0], j, i))
            ]
        if op == "union":
            ways = [self.between(a, i, j) for a in node.args if self._rows(a)[i] >> j & 1]
            return min(ways, key=len, default=[])
        if op == "intersection":
            ways = [self.between(a, i, j) for a in node.args]
            return max(ways, key=len, default=[])  # the others only say which pairs count
        if op == "difference":
            return self.between(node.args[0], i, j)
        if op == "sequence":
            return self._through([self._rows(a) for a in node.args], node.args, i, j)
        if op == "plus":
            return self._along(node.args[0], i, j)
        if op == "fixpoint":
            return self.between(node.args[node.index], i, j)
        return []

    def _rows(self, node: Node) -> Rows:
        return self.evaluation.rows(node)

    def _through(self, rows: Sequence[Rows], nodes: Sequence[Node], i: int, j: int) -> list[_Edge]:
        """The shortest way through a composition: forwards over what each step reaches."""
        best: dict[int, list[_Edge]] = {i: []}
        for at, (row, node) in enumerate(zip(rows, nodes, strict=True)):
            onward: dict[int, list[_Edge]] = {}
            last = at == len(nodes) - 1
            for a, way in best.items():
                for b in bits(row[a]):
                    if last and b != j:
                        continue
                    longer = way + self.between(node, a, b)
                    if b not in onward or len(longer) < len(onward[b]):
                        onward[b] = longer
            best = onward
        return best.get(j, [])

    def _along(self, node: Node, i: int, j: int) -> list[_Edge]:
        """The shortest path of a closure."""
        rows = self._rows(node)
        came: dict[int, int] = {}
        layer = [i]
        while layer and j not in came:
            following: list[int] = []
            for a in layer:
                for b in bits(rows[a]):
                    if b not in came:
                        came[b] = a
                        following.append(b)
            layer = following
        if j not in came:
            return []
        path = [j]
        while len(path) == 1 or path[-1] != i:
            path.append(came[path[-1]])
        path.reverse()
        return [e for a, b in itertools.pairwise(path) for e in self.between(node, a, b)]

    def cycle(self, node: Node) -> list[_Edge]:
        """The shortest cycle of a relation."""
        found = [w for i in range(self.evaluation.size) if (w := self._along(node, i, i))]
        return min(found, key=len, default=[])


def _merged(edges: list[_Edge]) -> list[_Edge]:
    """Neighbours joined: program order along program order, and `rf^-1; co` as what it is, `fr`."""
    merged: list[_Edge] = []
    for e in edges:
        last = merged[-1] if merged else None
        if e.before == e.after and e.name in ("po", "rmw"):
            continue
        if last and e.name == "po" and last.name in ("po", "rmw"):
            merged[-1] = _Edge(last.before, "po", e.after)
        elif last and e.name == "co" and last.name == "rf^-1":
            merged[-1] = _Edge(last.before, "fr", e.after)
        else:
            merged.append(e)
    if len(merged) > 1 and merged[-1].name == "rf^-1" and merged[0].name == "co":  # a cycle that begins in between
        merged = [_Edge(merged[-1].before, "fr", merged[0].after), *merged[1:-1]]
    return merged


def _told(axiom: str, edges: Sequence[_Edge], candidate: Candidate, rests: tuple[Rest, ...]) -> Why:
    rows = [0] * candidate.program.size
    for e in edges:
        rows[e.before] |= 1 << e.after
    number = candidate.numbers()
    execution = candidate.execution(candidate.state(), more={"why": rows})
    return Why(axiom, tuple(_step(e, number) for e in edges), execution, rests)


def _step(edge: _Edge, number: Mapping[int, int]) -> Step:
    parts = tuple(_step(p, number) for p in edge.parts)
    return Step(number[edge.before], edge.name, number[edge.after], parts)


# What it rests on.

#: A weaker effect, or one that never happens.
Change = Callable[[Effect], Effect]
_LESS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "fence": {"sc": ("acq_rel",), "acq_rel": ("release", "acquire")},
    "load": {"acquire": ("relaxed",), "relaxed": ("weak",)},
    "store": {"release": ("relaxed",), "relaxed": ("weak",)},
    "atom": {"acq_rel": ("release", "acquire"), "acquire": ("relaxed",), "release": ("relaxed",)},
    "red": {"release": ("relaxed",)},
    "mbarrier": {"release": ("relaxed",), "acquire": ("relaxed",)},
    "barrier": {"release": ("relaxed",), "acquire": ("relaxed",)},
}


def _rests_on(program: Program, model: Model, wanted: bool, deadline: float) -> Iterator[Rest]:
    """The instructions that cannot be weaker, each taken alone. A scope is told with the widest one that is too narrow."""
    if program.assemble is None:
        return
    for t, thread in enumerate(program.threads):
        effects = thread.execution.effects
        for instruction in dict.fromkeys(_Same(e.instruction) for e in effects):
            first = next(e for e in effects if e.instruction is instruction.what)
            for kind, changes in _weaker(first):
                for what, change in changes:
                    weaker = _changed(program, t, instruction.what, change)
                    fit = fitted(model, weaker, frozenset())
                    if _execution(weaker, fit, wanted, deadline) is not None:
                        place = instruction.what.span.line
                        yield Rest(thread.name, place, print_statement(instruction.what), kind, what)
                        break


class _Same:
    """An instruction by its identity, wherever the thread executes it."""

    def __init__(self, what: Instruction) -> None:
        self.what = what

    def __hash__(self) -> int:
        return id(self.what)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.what is self.what


def _changed(program: Program, thread: int, instruction: Instruction, change: Change) -> Program:
    """The program in which one thread executes something weaker in place of an instruction."""
    assert program.assemble is not None
    threads = list(program.threads)
    execution = threads[thread].execution
    effects = [change(e) if e.instruction is instruction else e for e in execution.effects]
    threads[thread] = threads[thread]._replace(execution=replace(execution, effects=effects))
    return program.assemble(threads, program.layout)


def _weaker(effect: Effect) -> Iterator[tuple[str, list[tuple[str, Change]]]]:
    """What could be weaker about an instruction, and how, strongest first."""
    if effect.kind in ("fence", "proxy_fence"):
        yield "fence", [("", lambda e: replace(e, guard=0))]
    less = _LESS.get(effect.kind, {}).get(effect.semantics, ())
    for semantics in less:
        yield "semantics", [(semantics, functools.partial(_with_semantics, semantics))]
    if effect.scope and effect.kind in _LESS:
        narrower = reversed(SCOPES[: SCOPES.index(effect.scope)])
        yield "scope", [(scope, functools.partial(_with_scope, scope)) for scope in narrower]


def _with_semantics(semantics: str, effect: Effect) -> Effect:
    return replace(effect, semantics=semantics, scope=None if semantics == "weak" else effect.scope)


def _with_scope(scope: str, effect: Effect) -> Effect:
    return replace(effect, scope=scope) if effect.scope else effect
