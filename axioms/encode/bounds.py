"""Which pairs the relations of an execution must and may contain, and what makes them what they are.

rf(w, r)           exactly one for each executed read and each cell that it reads
co(w, w')          a strict partial order on the writes of each cell; total where the model says so, by one variable for a pair
fr(r, w)           cell by cell: the write follows in co the one from which this cell is read
sync_fence(f, f')  a strict order that relates every pair whose scopes take in each other
addr, data, ctrl   as the threads' executions say
comp               see `asynchronous`
syncbar, again     see `barriers`
mbo, mbrf, denied  see `barriers` and `mbarriers`
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from axioms.cat.evaluate import bits
from axioms.cat.model import Model, Node
from axioms.encode.interpret import Interpreter
from axioms.events.event_kinds import READ, WRITE
from axioms.events.value_sets import NumberSet
from axioms.program import Event, Program, carries_all, dependency_pairs, members_by_tag
from axioms.sat import relations
from axioms.sat.acyclicity import cycles
from axioms.sat.formula import BOTH, FALSE, TRUE, UP, Formula
from axioms.sat.relations import Executed, Relation
from axioms.sat.values import Lowering
from axioms.sync.no_barriers import NoBarriers, NoMbarriers
from axioms.witness.tearing import whole_source
from ptxcore.clock import tick
from ptxcore.isa.effect_kinds import BARRIER, COLLECTIVE, MBARRIER
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.sync.barriers import Barriers
    from axioms.sync.mbarriers import Mbarriers

#: What is still open while coherence is being bounded.
_OPEN = ("co", "fr", "sync_fence", "syncbar")


class Bounds:
    """The base relations of a program under a model. `rf` gives for each read and each of its cells the literal of each write
    that may be read there; `ordered` are the pairs of events that `co` or `sync_fence` relates whenever both are executed.
    `forced` are values that reads must return. `numbers` says what a count of an mbarrier operation may be; without it the
    order of these operations is left out."""

    def __init__(
        self,
        program: Program,
        model: Model,
        formula: Formula,
        lowering: Lowering,
        executed: Executed,
        forced: Mapping[Term, int],
        tick: Callable[[], None],
        numbers: Callable[[Value], NumberSet] | None,
    ) -> None:
        self.program, self.model, self.forced, self.tick = program, model, forced, tick
        self.formula, self.lowering, self.executed = formula, lowering, executed
        self.rf: dict[tuple[int, int], dict[int, int]] = {}
        self.writes: dict[int, list[Event]] = {}  # of each cell, the initial one first
        self.co = Relation([0] * program.size, {})
        self.sync_fence = Relation([0] * program.size, {})
        self.ordered: set[tuple[int, int]] = set()
        self.members = members_by_tag(program)
        self._relations: dict[str, Relation] = {}
        self.interpreter = Interpreter(program.size, formula, executed, self.members, self.relation, tick)
        self.barriers = self._of_barriers()
        self.mbarriers = self._of_mbarriers(numbers)
        self._reads_from()
        self._coherence()
        self._fence_order()

    def _of_barriers(self) -> Barriers | NoBarriers:
        program, executed, lowering, formula = self.program, self.executed, self.lowering, self.formula
        by_warps = False
        if not program.kinds.isdisjoint((BARRIER, COLLECTIVE)):
            from axioms.sync.warp_waits import may_block, waits

            by_warps = may_block(program)
        if BARRIER not in program.kinds:
            if by_warps:
                graph = waits(program, executed, lowering, formula, Relation([0] * program.size, {}), ())
                for _, _, literals in cycles(*graph, formula):
                    for l in literals:
                        formula.add([-l])
            return NoBarriers(program.size)
        from axioms.sync.barriers import Barriers

        return Barriers(program, executed, lowering, formula, by_warps)

    def _of_mbarriers(self, numbers: Callable[[Value], NumberSet] | None) -> Mbarriers | NoMbarriers:
        program = self.program
        if MBARRIER not in program.kinds:
            return NoMbarriers(program.size)
        from axioms.sync.mbarrier_states import steps
        from axioms.sync.mbarriers import Mbarriers

        known = [self.barriers.syncbar.must, *[rows for n, rows in program.relations.items() if n == "issue"]]
        if COLLECTIVE in program.kinds:
            from axioms.events.collectives import operations_before

            known.append(operations_before(program.threads, program.events))
        if not self.model.uses("mbo"):
            known = []  # a model that does not ask for the order of these operations does not order them either
        found = {} if numbers is None else steps(program, numbers)
        return Mbarriers(program, self.executed, self.lowering, self.formula, known, found, self.tick)

    def _reads_from(self) -> None:
        formula, executed = self.formula, self.executed
        for e in self.program.events:
            if e.kind is WRITE:
                for c in e.cells:
                    self.writes.setdefault(c, []).append(e)
        rows: dict[int, dict[int, list[int]]] = {}
        for r in self.program.events:
            if r.kind is not READ:
                continue
            reading = executed.literals[r.index]
            for c, symbol in zip(r.cells, r.values, strict=True):
                tick()
                sources = self._sources(r, c, symbol)
                if len(sources) == 1 and reading == TRUE:
                    sources = dict.fromkeys(sources, TRUE)
                else:
                    formula.add([-reading, *sources.values()])
                    formula.at_most_one(list(sources.values()))
                for w, literal in sources.items():
                    self._implies(literal, reading, executed.literals[w])
                    rows.setdefault(w, {}).setdefault(r.index, []).append(literal)
                self.rf[r.index, c] = sources
            if len(r.cells) > 1 and not self.program.tears(r.width):
                self._keep_whole(r)
        self._relations["rf"] = relations.filled(rows, [0] * self.program.size, formula, self._way("rf"))

    def _sources(self, r: Event, cell: int, symbol: Value) -> dict[int, int]:
        """The writes from which a read may take a cell, each with a literal."""
        assert type(symbol) is Term
        wanted = self.forced.get(symbol)
        sources: dict[int, int] = {}
        for w in self._candidates(r, cell):
            value = w.value_at(cell)
            if wanted is not None and type(value) is int and value != wanted:
                continue
            if w is not r.partner and self.executed.pair(w.index, r.index) != FALSE:
                sources[w.index] = self.formula.new()
        return sources

    def _candidates(self, r: Event, cell: int) -> Sequence[Event]:
        """The writes of a cell, or the only one of them that a read can take it from."""
        constant_reads = self.program.constant_reads
        key = r.thread, -1 if r.effect is None else r.effect.index
        if constant_reads is None or key not in constant_reads.sources:
            return self.writes[cell]
        source = constant_reads.sources[key]
        if source is None:
            return self.writes[cell][:1]
        thread, effect = source
        return [w for w in self.program.by_effect[thread][effect] if w.kind is WRITE and cell in w.cells]

    def _keep_whole(self, r: Event) -> None:
        """A read does not mix writes of its size."""
        events = self.program.events
        for a, b in itertools.combinations(r.cells, 2):
            for w, literal in self.rf[r.index, a].items():
                for x, other in self.rf[r.index, b].items():
                    one, two = whole_source(r, events[w]), whole_source(r, events[x])
                    if None not in (one, two) and one != two:
                        self.formula.add([-literal, -other])

    def _implies(self, literal: int, *others: int) -> None:
        """`literal` implies each of the others: as clauses, and as a fact that shortens conjunctions."""
        uncertain = [l for l in others if l != TRUE]
        if literal == TRUE:
            self.formula.clauses += [[l] for l in uncertain]
            return
        if not uncertain:
            return
        implied: set[int] = set()
        for l in uncertain:
            self.formula.add([-literal, l])
            implied.add(l)
            implied |= self.formula.parts.get(l, frozenset())
        self.formula.implied[literal] = frozenset(implied)

    def _coherence(self) -> None:
        executed = self.executed
        self._known_coherence()
        must, may = self.co.must, self.co.may
        for initial, *others in self.writes.values():
            for w in others:
                literal = executed.literals[w.index]
                if literal == TRUE:
                    must[initial.index] |= 1 << w.index
                else:
                    may.setdefault(initial.index, {})[w.index] = literal
        # Cells that the same writes cover are one matter.
        crowded = dict.fromkeys(tuple(w.index for w in ws[1:]) for ws in self.writes.values() if len(ws) > 2)
        if not crowded:
            return
        total = self._total_pairs()
        for events in crowded:
            self.tick()
            self._strict_order(self.co, events, lambda a, b, both: both in (total.literal(a, b), total.literal(b, a)))

    def _known_coherence(self) -> None:
        """Pairs of writes to one cell of which `constant_reads` knows the order."""
        constant_reads = self.program.constant_reads
        if constant_reads is None:
            return
        rows: dict[int, int] = {}
        for _, *others in self.writes.values():
            for a, b in itertools.permutations(others, 2):
                if constant_reads.before(a, b):
                    rows[a.index] = rows.get(a.index, 0) | 1 << b.index
        known = self.executed.static([rows.get(i, 0) for i in range(self.program.size)])
        self.co.must, self.co.may = known.must, known.may

    def _strict_order(self, order: Relation, events: Sequence[int], is_total: Callable[[int, int, int], bool]) -> None:
        """Makes `order` a strict order of `events`. Where `is_total` says so of a pair and its literal of "both executed", one
        variable orders it this way or that; else it may be ordered or not."""
        formula, executed, may = self.formula, self.executed, order.may
        for a, b in itertools.combinations(events, 2):
            tick()
            if b in may.get(a, ()) or a in may.get(b, ()) or (order.must[a] >> b | order.must[b] >> a) & 1:
                continue  # they meet in another cell too, or their order is known
            both = executed.pair(a, b)
            if both == FALSE:
                continue
            if is_total(a, b, both):
                first = formula.new()
                forward, backward = formula.conj(first, both, BOTH), formula.conj(-first, both, BOTH)
                self.ordered |= {(a, b), (b, a)}
            else:
                forward, backward = formula.new(), formula.new()
                formula.add([-forward, -backward])
                self._implies(forward, both, executed.literals[a], executed.literals[b])
                self._implies(backward, both, executed.literals[a], executed.literals[b])
            may.setdefault(a, {})[b] = forward
            may.setdefault(b, {})[a] = backward
        if any(not self._is_known(order, a, b) for a, b in itertools.combinations(events, 2)):
            _transitive(order, events, formula)

    def _is_known(self, order: Relation, a: int, b: int) -> bool:
        """Whether it is known which of two events comes first, if both are executed."""
        both = self.executed.pair(a, b)
        one, other = order.literal(a, b), order.literal(b, a)
        return both == FALSE or (one == both and other == FALSE) or (other == both and one == FALSE)

    def _total_pairs(self) -> Relation:
        """The pairs of writes that an axiom `empty X \\ (co | co^-1)` wants ordered, where X does not depend on `co`."""
        found = [Relation([0] * self.program.size, {})]
        for axiom in self.model.axioms:
            node = axiom.node
            demands = axiom.kind == "empty" and not axiom.negated and node.op == "difference"
            if demands and _is_co_either_way(node.args[1]) and not _depends_on(node.args[0], _OPEN):
                found.append(self.interpreter.whole(node.args[0]))
        return relations.union(found, self.formula, UP)

    def _fence_order(self) -> None:
        """`sync_fence`: pairs in `sr` are ordered one way or the other; others may be, the order staying strict."""
        fences = bits(self.members.get("SC", 0))
        if len(fences) < 2 or not self.model.uses("sync_fence"):
            return
        sr = self.program.relations["sr"]
        self._strict_order(self.sync_fence, fences, lambda a, b, _: bool(sr[a] >> b & 1))

    def relation(self, name: str) -> Relation:
        """A base relation by its name in cat files."""
        found = self._relations.get(name)
        if found is None:
            found = self._relations[name] = self._base_relation(name)
        return found

    def _base_relation(self, name: str) -> Relation:
        if name == "co":
            return self.co
        if name == "fr":
            return self._from_reads()
        if name == "sync_fence":
            return self.sync_fence
        if name == "syncbar":
            return self.barriers.syncbar
        if name == "again":
            return self.barriers.again
        if name in ("mbo", "mbrf"):
            parts = [getattr(self.barriers, name), getattr(self.mbarriers, name)]
            return relations.union(parts, self.formula, BOTH)
        if name == "denied":
            return self.mbarriers.denied
        if name in ("addr", "data", "ctrl", "comp"):
            return self._dependencies(name)
        known = self.program.relations.get(name)
        return Relation([0] * self.program.size, {}) if known is None else self.executed.static(known)

    def _from_reads(self) -> Relation:
        program, way = self.program, self._way("fr")
        if all(len(e.cells) <= 1 for e in program.events):
            return relations.sequence(relations.inverse(self.relation("rf")), self.co, self.formula, way)
        rows: dict[int, dict[int, list[int]]] = {}
        for (r, cell), sources in self.rf.items():
            for w, literal in sources.items():
                for later in self.writes[cell]:
                    follows = self.formula.conj(literal, self.co.literal(w, later.index), way)
                    if follows != FALSE:
                        rows.setdefault(r, {}).setdefault(later.index, []).append(follows)
        return relations.filled(rows, [0] * program.size, self.formula, way)

    def _way(self, name: str) -> int:
        """The directions in which the model needs a base relation's literals to be defined."""
        node = self.model.bases.get(name)
        return BOTH if node is not None and node.shrinks else UP

    def _dependencies(self, name: str) -> Relation:
        self._relations |= self._related(dependency_pairs(self.program))
        return self._relations[name]

    def carried(self) -> list[Relation]:
        """Dependencies that carry a value: of addresses and of data."""
        if carries_all(self.program):
            return [self.relation("addr"), self.relation("data")]
        found = self._related(dependency_pairs(self.program, carrying=True))
        return [found["addr"], found["data"]]

    def _related(self, dependencies: Mapping[str, Sequence[tuple[int, int, Value]]]) -> dict[str, Relation]:
        found = {}
        for which, pairs in dependencies.items():
            rows: dict[int, dict[int, list[int]]] = {}
            for i, j, condition in pairs:
                literal = self.executed.pair(i, j)
                if condition != 1:
                    literal = self.formula.conj(literal, self.lowering.condition(condition), BOTH)
                if literal != FALSE:
                    rows.setdefault(i, {}).setdefault(j, []).append(literal)
            for i, j, literal in {"data": self.barriers.data, "ctrl": self.barriers.control}.get(which, tuple)():
                rows.setdefault(i, {}).setdefault(j, []).append(literal)
            found[which] = relations.filled(rows, [0] * self.program.size, self.formula, BOTH)
        return found


def _is_co_either_way(node: Node) -> bool:
    if node.op != "union" or len(node.args) != 2:
        return False
    plain = [a for a in node.args if a.op == "base" and a.name == "co"]
    turned = [a for a in node.args if a.op == "inverse" and a.args[0].op == "base" and a.args[0].name == "co"]
    return bool(plain and turned)


def _depends_on(node: Node, names: tuple[str, ...]) -> bool:
    seen: set[Node] = set()
    stack = [node]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            if (n.op == "base" and n.name in names) or n.op == "fixpoint":
                return True
            stack += n.args
    return False


def _transitive(order: Relation, events: Sequence[int], formula: Formula) -> None:
    """Transitivity of a strict order over `events`, from its literals.

    Where a pair is ordered by one variable, forbidding the two cycles of each triple is enough; elsewhere each composition.
    """
    literal = order.literal
    for x, a in enumerate(events):
        for y in range(x + 1, len(events)):
            b = events[y]
            ab, ba = literal(a, b), literal(b, a)
            tick()
            for c in events[y + 1 :]:
                bc, cb = literal(b, c), literal(c, b)
                ac, ca = literal(a, c), literal(c, a)
                if ba == -ab and cb == -bc and ca == -ac:
                    formula.add([-ab, -bc, ac])
                    formula.add([ab, bc, -ac])
                    continue
                for p, q, r in ((ab, bc, ac), (bc, ca, ba), (ca, ab, cb), (cb, ba, ca), (ba, ac, bc), (ac, cb, ab)):
                    formula.add([-p, -q, r])
