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

from axioms.cat.evaluate import Evaluation, bits
from axioms.cat.model import Axiom, Model, Node
from axioms.cat.nodes import Rows
from axioms.events.event_kinds import READ
from axioms.explain.forbidding import MOST_SECONDS, without
from axioms.explain.impossible import impossible
from axioms.program import Program, cut_at, with_threads
from axioms.sat.values import TooManyValues
from axioms.witness.candidate import Candidate
from axioms.witness.fitted import fitted
from axioms.witness.result import Decision, ExecutionEdge, Rest, Unreachable, Why, site_of
from axioms.witness.tearing import with_tearing
from ptxcore.clock import OutOfTime
from ptxcore.isa.effect_kinds import ATOM, BARRIER, FENCE, LOAD, MBARRIER, RED, STORE, WAIT_GROUP
from ptxcore.isa.fences import scopes_of
from ptxcore.machine.ir.effects import Effect
from ptxcore.places import SCOPES
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction

#: Definitions that are shown as one edge; what they consist of is told beside it.
_SHOWN = ("sync", "sync-some", "sc", "bars", "proxy-sync")
#: Base relations that are edges of a linearisation; others only say which pairs count.
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
        "denied",
        "syncbar",
        "sync_fence",
        "addr",
        "data",
        "ctrl",
    }
)
#: Of several axioms that are broken, the one to tell of first.
_ORDER = ("causality", "coherence", "atomicity", "single-copy", "no-thin-air", "fence-sc")


def why(program: Program, model: Model, decision: Decision, deadline: float | None, *, rests: bool = True) -> None:
    """Notes in `decision` why the states of the kind that is missing are missing: the way in which they would go against an
    axiom, or why there is none (`unreachable`). Expects what `axioms.explain.forbidding` noted, and a model that is fitted to
    no program; `rests`: with what it rests on."""
    unreachable = decision.unreachable
    if 0 not in (decision.positive, decision.negative) or (unreachable and unreachable.kind != "impossible"):
        return
    start = time.monotonic()
    limit = start + MOST_SECONDS
    limit = limit if deadline is None else min(limit, deadline)
    try:
        decision.why = _why(program, model, decision, limit, rests)
        if decision.why is not None:
            decision.unreachable = None
            decision.forbidding = decision.forbidding or (decision.why.axiom,)
        elif unreachable is not None:
            decision.unreachable = impossible(program, model, limit)
    except (OutOfTime, TooManyValues) as error:
        kind = "time" if isinstance(error, OutOfTime) else "values"
        decision.unreachable = Unreachable(kind, seconds=time.monotonic() - start)


def _why(program: Program, model: Model, decision: Decision, deadline: float, rests: bool) -> Why | None:
    original = program if rests else None
    if not decision.forbidding:
        return _torn(program, model, decision.positive == 0, deadline, original)
    dropped = set(decision.forbidding if decision.forbidding_each else sorted(decision.forbidding, key=_rank)[:1])
    wanted = decision.positive == 0
    return _against(program, model, dropped, wanted, deadline, original)


def _torn(program: Program, model: Model, wanted: bool, deadline: float, original: Program | None) -> Why | None:
    """The reason may be that a read is not torn, which is so certain that its bytes were never told apart: now they are."""
    reads = [e for e in program.events if e.kind is READ]
    cuts = {(e.object, e.offset + b) for e in reads for b in range(1, e.width // 8)}
    dropped = {"single-copy"} & {a.name for a in model.axioms}
    return _against(cut_at(program, cuts), model, dropped, wanted, deadline, original) if cuts and dropped else None


def _against(
    program: Program, model: Model, dropped: set[str], wanted: bool, deadline: float, original: Program | None
) -> Why | None:
    """An execution that breaks one of the axioms `dropped` only, and how; with what it rests on in the `original` program."""
    fit = fitted(model, program, frozenset())
    candidate = _execution(program, without(fit, dropped), wanted, deadline)
    if candidate is None:
        return None
    broken = [a for a in fit.axioms if a.name in dropped and not candidate.evaluation.holds(a)]
    found = [(a, broken_by(fit, a, candidate)) for a in broken]
    if not found:
        return None
    axiom, steps = min(found, key=lambda f: (not f[1], _rank(f[0].name), len(f[1])))
    told_of = candidate.state()
    rests, whole = _all_in_time(_rests_on(original, model, wanted, told_of, deadline)) if original else ((), True)
    told = _told(axiom.name, steps, candidate, rests)
    return told._replace(statement=axiom.statement, shipped=model.shipped, whole=whole)


def _all_in_time(rests: Iterator[Rest]) -> tuple[tuple[Rest, ...], bool]:
    """What was found before the time was over, and whether that is all."""
    found: list[Rest] = []
    try:
        found.extend(rests)
    except (OutOfTime, TooManyValues):
        return tuple(found), False
    return tuple(found), True


def _rank(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _execution(program: Program, model: Model, wanted: bool, deadline: float) -> Candidate | None:
    """An execution that satisfies the condition, or does not, as `wanted` says."""
    from axioms.encode.encoding import Encoding
    from axioms.encode.solve import Session

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


def broken_by(model: Model, axiom: Axiom, candidate: Candidate) -> list[_Edge]:
    """The fewest edges that go against an axiom; none, where the axiom speaks of no edges."""
    paths = _Paths(model, candidate.evaluation)
    if axiom.kind == "acyclic":
        return _merged(paths.cycle(axiom.node))
    best: list[_Edge] = []
    for i, row in enumerate(candidate.evaluation.rows(axiom.node)):
        for j in bits(row):
            steps = _merged(paths.between(axiom.node, i, j) or []) + paths.back(axiom.node, i, j)
            if steps and j != i and candidate.co[j] >> i & 1:
                steps.append(_Edge(j, "co", i))
            if steps and (not best or len(steps) < len(best)):
                best = steps
    return best


class _Paths:
    """Takes pairs of relations apart into edges, few of them. None: only by way of the pair itself, which is no way."""

    def __init__(self, model: Model, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        shown = _SHOWN if model.shipped else ()  # the manual's words: a user's model may mean something else by them
        self.shown = {node: name for name in shown if (node := model.names.get(name)) is not None and node.args}
        self.bodies: dict[Node, Node] = {}  # of the variables of recursions
        self.known: dict[tuple[Node, int, int], list[_Edge]] = {}
        self.open: set[tuple[Node, int, int]] = set()

    def between(self, node: Node, i: int, j: int) -> list[_Edge] | None:
        key = (node, i, j)
        if key in self.known:
            return self.known[key]
        if key in self.open:
            return None
        self.open.add(key)
        found = self._between(node, i, j)
        self.open.discard(key)
        if found is not None:
            self.known[key] = found
        return found

    def back(self, node: Node, i: int, j: int) -> list[_Edge]:
        """Of an intersection that asks for an edge the other way round, that edge: with the rest it closes a circle."""
        for operand in node.args if node.op == "intersection" else ():
            turned = (self.between(operand, i, j) or []) if operand.op == "inverse" else []
            if turned:
                return [_Edge(e.after, e.name.removesuffix("^-1"), e.before, e.parts) for e in turned[::-1]]
        return []

    def _between(self, node: Node, i: int, j: int) -> list[_Edge] | None:
        found = self._apart(node, i, j)
        if node in self.shown and found is not None:
            return [_Edge(i, self.shown[node], j, tuple(_merged(found)))]
        return found

    def _apart(self, node: Node, i: int, j: int) -> list[_Edge] | None:
        op = node.op
        if op == "base":
            return [_Edge(i, node.name, j)] if node.name in _EDGES else []
        if op == "inverse":
            turned = self.between(node.args[0], j, i)
            return None if turned is None else [_Edge(e.after, e.name + "^-1", e.before, e.parts) for e in turned[::-1]]
        if op == "union":
            ways = [self.between(a, i, j) for a in node.args if self._rows(a)[i] >> j & 1]
            return min((w for w in ways if w is not None), key=len, default=None)
        if op == "intersection":
            # The longest way tells most; what is asked the other way round, and sets, only say which pairs count.
            ways = [self.between(a, i, j) for a in node.args if a.op != "inverse"]
            return None if None in ways else max((w for w in ways if w is not None), key=len, default=[])
        if op == "difference":
            return self.between(node.args[0], i, j)
        if op == "sequence":
            return self._through(node.args, i, j)
        if op == "plus":
            return self._along(node.args[0], i, j)
        if op == "fixpoint":
            self.bodies |= dict(zip(node.variables, node.args, strict=True))
            return self.between(node.args[node.index], i, j)
        if op == "variable":
            return self.between(self.bodies[node], i, j)
        return []

    def _rows(self, node: Node) -> Rows:
        return self.evaluation.rows(node)

    def _through(self, nodes: Sequence[Node], i: int, j: int) -> list[_Edge] | None:
        """The shortest way through a composition: forwards over what each step reaches and can still lead to the end."""
        rows = [self._rows(node) for node in nodes]
        leads = [0] * len(nodes)  # before each step, the events from which the rest leads to j
        target = 1 << j
        for at in range(len(nodes) - 1, -1, -1):
            target = sum(1 << a for a, row in enumerate(rows[at]) if row & target)
            leads[at] = target
        best: dict[int, list[_Edge]] = {i: []}
        for at, node in enumerate(nodes):
            allowed = leads[at + 1] if at + 1 < len(nodes) else 1 << j
            onward: dict[int, list[_Edge]] = {}
            for a, way in best.items():
                for b in bits(rows[at][a] & allowed):
                    step = self.between(node, a, b)
                    if step is not None and (b not in onward or len(way) + len(step) < len(onward[b])):
                        onward[b] = way + step
            best = onward
        return best.get(j)

    def _along(self, node: Node, i: int, j: int) -> list[_Edge] | None:
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
            return None
        path = [j]
        while len(path) == 1 or path[-1] != i:
            path.append(came[path[-1]])
        path.reverse()
        steps = [self.between(node, a, b) for a, b in itertools.pairwise(path)]
        return None if None in steps else [e for step in steps if step for e in step]

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
        if last and e.name == last.name == "comp":
            merged[-1] = _Edge(last.before, "comp", e.after)
        elif last and e.name == "po" and last.name in ("po", "rmw"):
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


def _step(edge: _Edge, number: Mapping[int, int]) -> ExecutionEdge:
    parts = tuple(_step(p, number) for p in edge.parts)
    return ExecutionEdge(number[edge.before], edge.name, number[edge.after], parts)


# What it rests on.

#: A weaker effect, or one that never happens.
EffectChange = Callable[[Effect], Effect]
_LESS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    FENCE: {"sc": ("acq_rel",), "acq_rel": ("release", "acquire")},
    LOAD: {"acquire": ("relaxed",), "relaxed": ("weak",)},
    STORE: {"release": ("relaxed",), "relaxed": ("weak",)},
    ATOM: {"acq_rel": ("release", "acquire"), "acquire": ("relaxed",), "release": ("relaxed",)},
    RED: {"release": ("relaxed",)},
    MBARRIER: {"release": ("relaxed",), "acquire": ("relaxed",)},
    BARRIER: {"release": ("relaxed",), "acquire": ("relaxed",)},
}


def _rests_on(
    program: Program, model: Model, wanted: bool, told_of: Mapping[str, int], deadline: float
) -> Iterator[Rest]:
    """The instructions that cannot be weaker, each taken alone. A scope is told with the widest one that is too narrow. What is
    let in need not be the state that is `told_of`, where several answer the condition alike."""
    for t, thread in enumerate(program.threads):
        effects = thread.execution.effects
        for instruction in dict.fromkeys(_Same(e.instruction) for e in effects):
            first = next(e for e in effects if e.instruction is instruction.what)
            for kind, changes in _weaker(first):
                for what, change in changes:
                    weaker = with_tearing(_changed(program, t, instruction.what, change), model)
                    fit = fitted(model, weaker, frozenset())
                    let_in = _execution(weaker, fit, wanted, deadline)
                    if let_in is not None:
                        state = let_in.state()
                        other = () if state == told_of else tuple(state.items())
                        yield Rest(site_of(program.threads, t, instruction.what), kind, what, other)
                        break


class _Same:
    """An instruction by its identity, wherever the thread executes it."""

    def __init__(self, what: Instruction) -> None:
        self.what = what

    def __hash__(self) -> int:
        return id(self.what)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.what is self.what


def _changed(program: Program, thread: int, instruction: Instruction, change: EffectChange) -> Program:
    """The program in which one thread executes something weaker in place of an instruction."""
    threads = list(program.uncut)
    execution = threads[thread].execution
    effects = [change(e) if e.instruction is instruction else e for e in execution.effects]
    threads[thread] = threads[thread]._replace(execution=replace(execution, effects=effects))
    return with_threads(program, threads)


def _weaker(effect: Effect) -> Iterator[tuple[str, list[tuple[str, EffectChange]]]]:
    """What could be weaker about an instruction, and how, strongest first."""
    if effect.kind.fences:
        yield "fence", [("", _never)]
    if effect.kind is WAIT_GROUP:
        yield "wait", [("", _never)]
    less = _LESS.get(effect.kind, {}).get(effect.semantics, ())
    for semantics in less:
        yield "semantics", [(semantics, functools.partial(_with_semantics, semantics))]
    if effect.scope and effect.kind in _LESS:
        names = scopes_of(effect.instruction)
        narrower = reversed(SCOPES[: SCOPES.index(effect.scope)])
        changes: list[tuple[str, EffectChange]] = [
            (names[scope], functools.partial(_with_scope, scope)) for scope in narrower if scope in names
        ]
        if changes:
            yield "scope", changes


def _never(effect: Effect) -> Effect:
    return replace(effect, guard=0)


def _with_semantics(semantics: str, effect: Effect) -> Effect:
    return replace(effect, semantics=semantics, scope=None if semantics == "weak" else effect.scope)


def _with_scope(scope: str, effect: Effect) -> Effect:
    return replace(effect, scope=scope) if effect.scope else effect
