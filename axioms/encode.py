"""A program and a model as one formula.

    executed(e)        a literal for each guard
    rf(w, r)           exactly one for each executed read
    co(w, w')          a strict partial order for each cell; total where the model says so, with one variable for a pair then
    sync_fence(f, f')  a strict order that relates every pair whose scopes take in each other
    syncbar(a, w)      see `barriers`
    the model          each node of the compiled model as a `Relation`; each axiom forbids pairs or cycles
    values             what each read returns, see `values`

Values come last, so that pairs of `rf` that the axioms rule out at once do not widen what a read can return.
"""

from __future__ import annotations

import itertools

from axioms import relations
from axioms.barriers import Barriers
from axioms.cat.evaluate import bits, closure
from axioms.cat.model import Axiom, Model, Node
from axioms.formula import BOTH, DOWN, FALSE, TRUE, UP, Formula
from axioms.program import Event, Program, dependency_pairs, final_symbol, members_by_tag
from axioms.relations import Executed, Members, Paths, Relation, Row
from axioms.symmetry import Class, classes
from axioms.values import Lowering, domains
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


Computed = Relation | Members | Paths


class Unencodable(Exception):
    """The model uses something that this engine cannot express; the message says what."""


class Encoding:
    """The formula of all consistent executions in which every thread ends (see `finishes`), and what its literals mean."""

    def __init__(self, program: Program, model: Model, *, finite: bool = True) -> None:
        """Raises TooManyValues when some value ranges over too many numbers. With `finite=False` values are left to a theory
        of bit-vectors: `flows` and the lowering's postponed conditions say what they have to satisfy."""
        self.program, self.model, self.finite = program, model, finite
        self.flows: list[tuple[int, Term, Value]] = []  # under this literal the symbol has this value
        self.formula = Formula()
        self.lowering = Lowering(self.formula)
        self.executed = Executed([self.lowering.condition(e.guard) for e in program.events], self.formula)
        self.rf: dict[int, dict[int, int]] = {}  # read -> write -> literal
        self.co = Relation([0] * program.size, {})
        self.sync_fence = Relation([0] * program.size, {})
        self.values: dict[Node, Computed] = {}
        self._relations: dict[str, Relation] = {}
        self._tags = members_by_tag(program)
        self.finals: dict[int, dict[int, int]] = {}

        self.total = Relation([0] * program.size, {})  # pairs of writes that `co` always relates

        self.barriers = Barriers(program, self.executed, self.lowering, self.formula)
        self._reads_from()
        self._coherence()
        self._fence_order()
        for axiom in model.axioms:
            self._assert(axiom)
        self._well_founded()
        sources = self._flows()
        if finite:
            self._values(sources)
        self.finishes = self._ends()
        self.symmetric = self._break_symmetry()
        self.wild = self.formula.disj((self.truth(w.condition) for w in program.wild), BOTH)
        self.mixed = self.formula.disj((self.truth(w.condition) for w in program.mixed), BOTH)

    # Base relations.

    def _reads_from(self) -> None:
        formula, executed = self.formula, self.executed
        writes: dict[int, list[Event]] = {}
        for e in self.program.events:
            if e.kind == "W":
                writes.setdefault(e.cell, []).append(e)
        may: dict[int, Row] = {}
        for r in self.program.events:
            if r.kind != "R":
                continue
            reading = executed.literals[r.index]
            sources: dict[int, int] = {}
            for w in writes.get(r.cell, ()):
                if w is not r.partner and executed.pair(w.index, r.index) != FALSE:
                    sources[w.index] = formula.new()
            if len(sources) == 1 and reading == TRUE:
                sources = dict.fromkeys(sources, TRUE)
            else:
                formula.add([-reading, *sources.values()])
                formula.at_most_one(list(sources.values()))
            for w_index, literal in sources.items():
                self._implies(literal, reading, executed.literals[w_index])
                may.setdefault(w_index, {})[r.index] = literal
            self.rf[r.index] = sources
        rows: dict[int, dict[int, list[int]]] = {w: {r: [l] for r, l in row.items()} for w, row in may.items()}
        self._relations["rf"] = relations.filled(rows, [0] * self.program.size, formula, UP)

    def _implies(self, literal: int, *others: int) -> None:
        """`literal` implies each of the others: as clauses, and as a fact that shortens conjunctions."""
        uncertain = [l for l in others if l != TRUE]
        if literal == TRUE or not uncertain:
            return
        implied: set[int] = set()
        for l in uncertain:
            self.formula.add([-literal, l])
            implied.add(l)
            implied |= self.formula.parts.get(l, frozenset())
        self.formula.implied[literal] = frozenset(implied)

    def _coherence(self) -> None:
        formula, executed = self.formula, self.executed
        by_cell: dict[int, list[int]] = {}
        for e in self.program.events:
            if e.kind == "W":
                by_cell.setdefault(e.cell, []).append(e.index)
        must, may = self.co.must, self.co.may
        crowded = [ws for ws in by_cell.values() if len(ws) > 2]
        for ws in by_cell.values():
            initial, others = ws[0], ws[1:]
            for w in others:
                literal = executed.literals[w]
                if literal == TRUE:
                    must[initial] |= 1 << w
                else:
                    may.setdefault(initial, {})[w] = literal
        if not crowded:
            return
        total = self.total = self._total_pairs()
        for ws in crowded:
            others = ws[1:]
            for x, a in enumerate(others):
                for b in others[x + 1 :]:
                    both = executed.pair(a, b)
                    if both == FALSE:
                        continue
                    if total.literal(a, b) == both or total.literal(b, a) == both:
                        order = formula.new()
                        forward = formula.conj(order, both, BOTH)
                        backward = formula.conj(-order, both, BOTH)
                    else:
                        forward, backward = formula.new(), formula.new()
                        formula.add([-forward, -backward])
                        self._implies(forward, both, executed.literals[a], executed.literals[b])
                        self._implies(backward, both, executed.literals[a], executed.literals[b])
                    may.setdefault(a, {})[b] = forward
                    may.setdefault(b, {})[a] = backward
            _transitive(self.co, others, formula)

    def _total_pairs(self) -> Relation:
        """The pairs of writes that an axiom `empty X \\ (co | co^-1)` demands to be ordered, where X does not depend on `co`."""
        found = [Relation([0] * self.program.size, {})]
        for axiom in self.model.axioms:
            node = axiom.node
            if axiom.kind == "empty" and not axiom.negated and node.op == "difference" and _is_co_either_way(node.args[1]):
                if not _depends_on(node.args[0], ("co", "sync_fence", "syncbar")):
                    found.append(self.whole(node.args[0]))
        return relations.union(found, self.formula, UP)

    def _fence_order(self) -> None:
        """`sync_fence`: pairs in `sr` are ordered one way or the other; other pairs may be, as far as the order stays strict."""
        fences = bits(self._tags.get("SC", 0))
        if len(fences) < 2 or not self.model.uses("sync_fence"):
            return
        formula, executed, sr = self.formula, self.executed, self.program.relations["sr"]
        may = self.sync_fence.may
        for x, a in enumerate(fences):
            for b in fences[x + 1 :]:
                both = executed.pair(a, b)
                if both == FALSE:
                    continue
                if sr[a] >> b & 1:
                    order = formula.new()
                    forward, backward = formula.conj(order, both, BOTH), formula.conj(-order, both, BOTH)
                else:
                    forward, backward = formula.new(), formula.new()
                    formula.add([-forward, -backward])
                    self._implies(forward, both, executed.literals[a], executed.literals[b])
                    self._implies(backward, both, executed.literals[a], executed.literals[b])
                may.setdefault(a, {})[b] = forward
                may.setdefault(b, {})[a] = backward
        _transitive(self.sync_fence, fences, formula)

    def relation(self, name: str) -> Relation:
        """A base relation by its name in cat files."""
        found = self._relations.get(name)
        if found is None:
            found = self._relations[name] = self._base_relation(name)
        return found

    def _base_relation(self, name: str) -> Relation:
        if name == "co":
            return self.co
        if name == "sync_fence":
            return self.sync_fence
        if name == "syncbar":
            return self.barriers.syncbar
        if name in ("addr", "data", "ctrl"):
            return self._dependencies(name)
        return self.executed.known(self.program.relations[name])

    def _dependencies(self, name: str) -> Relation:
        for which, pairs in dependency_pairs(self.program).items():
            rows: dict[int, dict[int, list[int]]] = {}
            for i, j, condition in pairs:
                literal = self.executed.pair(i, j)
                if condition != 1:
                    literal = self.formula.conj(literal, self.lowering.condition(condition), BOTH)
                if literal != FALSE:
                    rows.setdefault(i, {}).setdefault(j, []).append(literal)
            if which == "data":
                for i, j, literal in self.barriers.data():
                    rows.setdefault(i, {}).setdefault(j, []).append(literal)
            self._relations[which] = relations.filled(rows, [0] * self.program.size, self.formula, BOTH)
        return self._relations[name]

    # The model's nodes.

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
            isinstance(m, Members) and not m.must and not m.may
            for m in (self.values.get(a) for is_relation, a in _steps(node) if not is_relation)
        )

    def _compute(self, node: Node) -> Computed:
        way = (UP if node.grows else 0) | (DOWN if node.shrinks else 0) or UP
        op = node.op
        if op == "base":
            if node.kind == "set":
                everything = (1 << self.program.size) - 1
                return self.executed.members(everything if node.name == "_" else self._tags.get(node.name, 0))
            return self.relation(node.name)
        if op == "empty":
            return Members(0, {}) if node.kind == "set" else Relation([0] * self.program.size, {})
        if op == "intersection" and node.kind == "relation":
            return self._intersection(node, way)
        if op == "sequence":
            return self._sequence(node, None, way)
        args = [self.values[a] for a in node.args]
        if node.kind == "set":
            return self._set(op, args, way)
        first = args[0]
        if isinstance(first, Members):
            second = args[1] if op == "product" else first
            assert isinstance(second, Members)
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

    def _set(self, op: str, args: list[Computed], way: int) -> Members:
        formula = self.formula
        first = args[0]
        if not isinstance(first, Members):
            related = relations.inverse(self._whole(first)) if op == "range" else self._whole(first)
            must = sum(1 << i for i, row in enumerate(related.must) if row)
            may = {i: formula.disj(row.values(), way) for i, row in related.may.items() if not must >> i & 1}
            return Members(must, may)
        for other in args[1:]:
            assert isinstance(other, Members)
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
            first = Members(must, {i: l for i, l in may.items() if l != FALSE})
        return first

    def _identity(self, members: Members) -> Relation:
        must = [members.must & 1 << i for i in range(self.program.size)]
        return Relation(must, {i: {i: l} for i, l in members.may.items()})

    def _product(self, a: Members, b: Members, way: int) -> Relation:
        must = [b.must if a.must >> i & 1 else 0 for i in range(self.program.size)]
        may: dict[int, Row] = {}
        for i in bits(a.must):
            if b.may:
                may[i] = dict(b.may)
        for i, literal in a.may.items():
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
        return Relation([0] * self.program.size, {})

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
        domain: Members | None = None
        composed = sum(1 for o in operands if not isinstance(o, Members))
        for at, operand in enumerate(operands):
            if isinstance(operand, Members):
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
                operand = operand.relation(_narrowed(self.program.size, narrowed, domain, result, follows))
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
            raise Unencodable(f"'let rec {node.name}' below a difference; the enumerating engine decides it")
        inside = _inside(node)
        solution: list[dict[int, Row]] = [{} for _ in node.variables]
        size = self.program.size
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

    def _assert(self, axiom: Axiom) -> None:
        formula = self.formula
        if axiom.negated:
            self._assert_negated(axiom)
        elif axiom.kind == "acyclic":
            for _, _, literals in _cycles(self.whole(axiom.node), self.executed, formula):
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
        if isinstance(steps[-1], Members) or len(steps) == 1:
            for _, _, literal in relations.intersection(outer, self._sequence(last, mask, UP), self.formula, UP).pairs():
                add([-literal])
            return
        first, second = self._chain(steps[:-1], None, UP), self._whole(steps[-1])
        for i, row in enumerate(relations.certain_sequence(first, second)):
            for j in bits(row & mask[i]):
                add([-outer.literal(i, j)])
        for i, j, x, y in relations.products(first, second, mask):
            add([-outer.literal(i, j), -x, -y])

    def _assert_negated(self, axiom: Axiom) -> None:
        value = self.whole(axiom.node)
        if axiom.kind == "acyclic":
            closed = relations.exact_closure(value, self.formula)
            self.formula.add([closed.literal(i, i) for i in range(self.program.size)])
        else:
            self.formula.add([literal for _, _, literal in value.pairs()])

    def _well_founded(self) -> None:
        """No value may come out of itself: `rf` and the flow of values inside threads form no cycle, whatever the model says.

        Most models say so themselves, and then nothing is added.
        """
        flow = relations.union([self.relation("rf"), self.relation("data"), self.relation("addr")], self.formula, UP)
        for axiom in self.model.axioms:
            if axiom.kind == "acyclic" and not axiom.negated:
                value = self.values[axiom.node]
                if isinstance(value, Relation) and all(value.literal(i, j) in (l, TRUE) for i, j, l in flow.pairs()):
                    return
        for _, _, literals in _cycles(flow, self.executed, self.formula):
            for l in literals:
                self.formula.add([-l])

    # Values, and how threads end.

    def truth(self, value: Value) -> int:
        """The literal of a truth value."""
        return self.lowering.truth(value) if self.finite else self.lowering.condition(value)

    def _flows(self) -> dict[Term, list[Value]]:
        """What each symbol may take over, and under which literals (`flows`)."""
        ruled_out = {-c[0] for c in self.formula.clauses if len(c) == 1}
        program = self.program
        sources: dict[Term, list[Value]] = {}
        for r in program.events:
            if r.kind != "R":
                continue
            symbol = r.value
            assert type(symbol) is Term
            into = sources.setdefault(symbol, [])
            for w, literal in self.rf[r.index].items():
                if literal not in ruled_out:
                    value = program.events[w].value
                    into.append(value)
                    self.flows.append((literal, symbol, value))
        for wild in (*program.wild, *program.mixed):
            if wild.effect.result is not None:
                sources.setdefault(wild.effect.result, [0])  # whatever it returns: the program has no meaning then
        for c, symbol in self._final_symbols():
            writes = [e for e in program.events if e.kind == "W" and e.cell == c]
            self.finals[c] = self._final_writes([e.index for e in writes])
            sources[symbol] = [e.value for e in writes]
            self.flows += [(self.finals[c][e.index], symbol, e.value) for e in writes]
        return sources

    def _values(self, sources: dict[Term, list[Value]]) -> None:
        """Ties what reads return to what writes write, over the numbers that can flow there."""
        formula, lowering, program = self.formula, self.lowering, self.program
        self.barriers.add_sources(sources)
        others = [*lowering.postponed, program.condition, program.filter, *[o.value for o in program.observed]]
        others += [t.execution.finishes for t in program.threads] + [t.execution.cut for t in program.threads]
        others += [w.condition for w in (*program.wild, *program.mixed)]
        known = domains(sources, others, rounds=len(sources))
        for symbol in sources:
            lowering.choices[symbol] = lowering.fresh(known[symbol]) if known[symbol] else {}
        lowering.settle()
        for literal, symbol, value in self.flows:
            into_choices = lowering.choices[symbol]
            for number, chosen in lowering.value(value).items():
                formula.add([-literal, -chosen, into_choices.get(number, FALSE)])
        self.barriers.tie_results()

    def _final_symbols(self) -> list[tuple[int, Term]]:
        observed = [self.program.condition, self.program.filter, *[o.value for o in self.program.observed]]
        needed: set[Term] = set()
        for value in observed:
            needed |= terms.symbols_of(value)
        found = [(c, final_symbol(c, cell.width)) for c, cell in enumerate(self.program.cells)]
        return [(c, symbol) for c, symbol in found if symbol in needed]

    def _final_writes(self, writes: list[int]) -> dict[int, int]:
        """Which write a cell keeps: one that no other follows in `co`. If several are such, any of them."""
        formula = self.formula
        if len(writes) == 1:
            return {writes[0]: TRUE}
        chosen = {w: formula.new() for w in writes}
        formula.add(list(chosen.values()))
        formula.at_most_one(list(chosen.values()))
        for w, literal in chosen.items():
            formula.add([-literal, self.executed.literals[w]])
            for later in writes:
                if later != w:
                    formula.add([-literal, -self.co.literal(w, later)])
        return chosen

    def _ends(self) -> int:
        """The literal of "every thread reaches its end"."""
        return self.formula.conj_all((self.truth(t.execution.finishes) for t in self.program.threads), BOTH)

    def _break_symmetry(self) -> list[Class]:
        """Fixes the order in which interchangeable threads write, for executions in which all threads end."""
        found = classes(self.program, self.total)
        for c in found:
            for a, b in itertools.pairwise(c.writes):
                self.formula.add([-self.finishes, self.co.literal(a, b)])
        return found

    def cut_off(self) -> int:
        """The literal of "some thread was stopped by a loop bound, and the others ended or were stopped"."""
        formula = self.formula
        cuts = [self.truth(t.execution.cut) for t in self.program.threads]
        if all(c == FALSE for c in cuts):
            return FALSE
        ends = [
            formula.disj([c, self.truth(t.execution.finishes)], BOTH)
            for c, t in zip(cuts, self.program.threads, strict=True)
        ]
        return formula.conj_all([formula.disj(cuts, BOTH), *ends], BOTH)


def _as_members(relation: Relation) -> Relation | Members:
    """A part of the identity, as the set that it restricts to."""
    for i, row in enumerate(relation.must):
        if row & ~(1 << i):
            return relation
    for i, may in relation.may.items():
        if len(may) > 1 or i not in may:
            return relation
    must = sum(relation.must)
    return Members(must, {i: may[i] for i, may in relation.may.items()})


def _narrowed(
    size: int, mask: list[int] | None, domain: Members | None, before: Relation | None, after: Computed | None
) -> list[int] | None:
    """The pairs of an operand that its neighbours in a sequence can use."""
    rows, columns = (1 << size) - 1, (1 << size) - 1
    if domain is not None and before is None:
        rows = domain.must | sum(1 << i for i in domain.may)
    if before is not None:
        rows = 0
        for row in before.possible():
            rows |= row
    if isinstance(after, Members):
        columns = after.must | sum(1 << i for i in after.may)
    return [(columns if mask is None else mask[i] & columns) if rows >> i & 1 else 0 for i in range(size)]


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


def _cycles(relation: Relation, executed: Executed, formula: Formula) -> list[tuple[int, int, list[int]]]:
    """What would close a cycle: the parts of the relation between events that reach each other, closed, on the diagonal."""
    component = _components(relation.possible())
    inner = [row & component[i] for i, row in enumerate(relation.must)]
    may = {i: {j: l for j, l in row.items() if component[i] >> j & 1} for i, row in relation.may.items()}
    trimmed = Relation(inner, {i: row for i, row in may.items() if row})
    if trimmed.is_empty:
        return []
    diagonal = [1 << i if component[i] else 0 for i in range(len(inner))]
    return list(Paths(trimmed, executed, formula).paths(diagonal))


def _components(rows: list[int]) -> list[int]:
    """For each event the bitset of its strongly connected component; 0 where that is the event alone without a loop."""
    reach = closure(rows)
    into = [0] * len(rows)
    for i, row in enumerate(reach):
        for j in bits(row):
            into[j] |= 1 << i
    return [(reach[i] & into[i]) if reach[i] >> i & 1 else 0 for i in range(len(rows))]


def _transitive(order: Relation, events: list[int], formula: Formula) -> None:
    """Transitivity of a strict order over `events`, from its literals.

    Where a pair is ordered by one variable, forbidding the two cycles of each triple is enough; elsewhere each composition.
    """
    literal = order.literal
    for x, a in enumerate(events):
        for y in range(x + 1, len(events)):
            b = events[y]
            ab, ba = literal(a, b), literal(b, a)
            for c in events[y + 1 :]:
                bc, cb = literal(b, c), literal(c, b)
                ac, ca = literal(a, c), literal(c, a)
                if ba == -ab and cb == -bc and ca == -ac:
                    formula.add([-ab, -bc, ac])
                    formula.add([ab, bc, -ac])
                    continue
                for p, q, r in ((ab, bc, ac), (bc, ca, ba), (ca, ab, cb), (cb, ba, ca), (ba, ac, bc), (ac, cb, ab)):
                    formula.add([-p, -q, r])


__all__ = ["Encoding", "Unencodable"]
