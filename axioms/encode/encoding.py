"""A program and a model as one formula.

    executed(e)        a literal for each guard
    base relations     see `bounds`
    the model          each axiom forbids pairs or cycles, see `interpret`
    values             what each read returns, see `values`

Values come last, so that pairs of `rf` that the axioms rule out at once do not widen what a read can return.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Sequence

from axioms.cat.model import Model
from axioms.encode.bounds import Bounds
from axioms.encode.inputs import inputs, samples
from axioms.encode.races import Flags
from axioms.encode.symmetry import AlikeThreads, SymmetryClass, classes
from axioms.encode.termination import executed_literals, forced_values
from axioms.events.event import BarrierMisuse, Event, what_is_read
from axioms.events.value_sets import NumberSet
from axioms.program import Program, carries_all
from axioms.sat import relations
from axioms.sat.acyclicity import cycles
from axioms.sat.formula import BOTH, FALSE, TRUE, UP, Formula
from axioms.sat.relations import Executed, Relation
from axioms.sat.values import MAX_NUMBERS, Lowering, TooManyValues, domains
from axioms.witness.candidate import Candidate
from axioms.witness.judge import ModelChecker
from axioms.witness.result import Undefined, site_of
from ptxcore.clock import OutOfTime, paced
from ptxcore.collection import collection_paused
from ptxcore.isa.effect_kinds import MBARRIER
from ptxcore.values.terms import Term, Value


class Encoding:
    """The formula of all consistent executions, and what its literals mean.

    `finishes` and `misbehaves` are the literals of "every thread ends" and "the behaviour is undefined"; `undefined_behaviours`
    are those of the rules that may be broken. `flows` says under which literal a symbol has which value; `finals` which write a
    cell keeps; `open` are symbols that may be anything.
    """

    @collection_paused()
    def __init__(
        self,
        program: Program,
        model: Model,
        *,
        finite: bool = True,
        ended: bool = True,
        alike: AlikeThreads | None = None,
        asked: Iterable[Value] = (),
        deadline: float | None = None,
    ) -> None:
        """Raises TooManyValues when some value ranges over too many numbers. With `finite=False` values are left to a theory
        of bit-vectors: `flows` and the lowering's postponed conditions say what they have to satisfy. With `ended=False`
        threads need not end: see `cut_off`. `alike`: what exchanging threads exchanges that may stop; `asked`: truth values
        that will be asked for, beside those of the program. Raises OutOfTime after `deadline`, a time of `time.monotonic`."""
        self.program, self.model, self.finite, self.deadline = program, model, finite, deadline
        self.formula = Formula()
        self.lowering = Lowering(self.formula)
        self.executed = Executed(executed_literals(program, self.lowering, ended=ended), self.formula)
        forced = forced_values(program) if ended else {}
        self.bounds = Bounds(
            program, model, self.formula, self.lowering, self.executed, forced, self._tick, self._numbers(ended)
        )
        self.rf, self.co, self.sync_fence = self.bounds.rf, self.bounds.co, self.bounds.sync_fence
        self.barriers, self.mbarriers = self.bounds.barriers, self.bounds.mbarriers
        self.bounds.interpreter.assert_axioms(model.axioms)
        self.flags = Flags(model, self.bounds.interpreter)
        self._well_founded()
        self.flows: list[tuple[int, Term, Value]] = []
        self._samples = samples(program, asked)
        self.open: dict[Term, None] = dict.fromkeys([*self._samples, *program.open])
        self.finals: dict[int, dict[int, int]] = {}
        self.inputs = {symbol: self.lowering.condition(symbol) for symbol in inputs(program)}
        sources = self._flows()
        if finite:
            self._values(sources)
        self.finishes = self._ends()
        if ended:
            self.formula.add([self.finishes])
        fixed = not self.open and (alike is not None or not self.inputs)
        self.symmetric = self._break_symmetry(alike) if finite and ended and fixed else []
        self.misuse = [*self.barriers.misuse, *self.mbarriers.misuse]
        self.undefined_behaviours = self._undefined_behaviours()
        self.misbehaves = self.formula.disj((literal for literal, _ in self.undefined_behaviours), BOTH)

    def note_misuse(self, more: Sequence[BarrierMisuse]) -> None:
        """Misuse of barriers that only the caller knows of."""
        if more:
            self.misuse = [*self.misuse, *more]
            self.undefined_behaviours = self._undefined_behaviours()
            self.misbehaves = self.formula.disj((literal for literal, _ in self.undefined_behaviours), BOTH)

    def _numbers(self, ended: bool) -> Callable[[Value], NumberSet] | None:
        """What counts of mbarrier operations may be; None where there are no such operations."""
        if MBARRIER not in self.program.kinds:
            return None
        from axioms.encode.sketch import Sketch

        return Sketch(self.program, self.model, ended=ended, deadline=self.deadline, tick=self._tick).numbers

    def _tick(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

    def _well_founded(self) -> None:
        """No value may come out of itself: `rf` and the flow of values inside threads form no cycle, whatever the model says.

        Most models say so themselves, and then nothing is added.
        """
        rf = self.bounds.relation("rf")
        flow = relations.union([rf, *map(self.bounds.relation, ("data", "addr"))], self.formula, UP)
        for axiom in self.model.axioms:
            if axiom.kind == "acyclic" and not axiom.negated:
                value = self.bounds.interpreter.values[axiom.node]
                if isinstance(value, Relation) and all(value.literal(i, j) in (l, TRUE) for i, j, l in flow.pairs()):
                    return
        if not carries_all(self.program):
            flow = relations.union([rf, *self.bounds.carried()], self.formula, UP)
        for _, _, literals in cycles(flow, self.executed, self.formula, self._tick):
            for l in literals:
                self.formula.add([-l])

    # Values, and how threads end.

    def truth(self, value: Value) -> int:
        """The literal of a truth value."""
        return self.lowering.truth(value) if self.finite else self.lowering.condition(value)

    def _undefined_behaviours(self) -> list[tuple[int, str]]:
        """What is undefined of barriers, accesses and instructions: the literal of each rule that may be broken."""
        by_rule: dict[str, list[int]] = {}
        for found in self.misuse:
            by_rule.setdefault(found.rule, []).append(found.literal)
        for t in self.program.undefined_behaviours:
            by_rule.setdefault(t.rule, []).append(self.truth(t.condition))
        return [(self.formula.disj(literals, BOTH), rule) for rule, literals in by_rule.items()]

    def undefined(self, rule: str, holds: Callable[[int], bool]) -> Undefined:
        """An execution in which a rule is broken, with who does it; `holds` says which literals do."""
        threads = self.program.threads
        for found in self.misuse:
            if found.rule == rule and holds(found.literal):
                effects = [(e.thread, e.effect) for e in found.events if e.effect is not None]
                sites = dict.fromkeys(site_of(threads, thread, effect.instruction) for thread, effect in effects)
                return Undefined(rule, tuple(sites))
        for t in self.program.undefined_behaviours:
            if t.rule == rule and holds(self.truth(t.condition)):
                return Undefined(rule, (site_of(threads, t.thread, t.instruction),))
        return Undefined(rule)

    def _flows(self) -> dict[Term, list[Value]]:
        """What each symbol may take over, and under which literals (`flows`)."""
        program = self.program
        if any(len(program.events[r].cells) > 1 for r, _ in self.rf):
            # What is known of a read is known of all its cells, a step further on.
            ruled_out = {-l for l in self.formula.consequences()}
        else:
            ruled_out = {-c[0] for c in self.formula.clauses if len(c) == 1}
        sources: dict[Term, list[Value]] = {}
        for (r, cell), writes in self.rf.items():
            symbol = program.events[r].value_at(cell)
            assert type(symbol) is Term
            into = sources.setdefault(symbol, [])
            for w, literal in writes.items():
                if literal not in ruled_out:
                    value = self._found(program.events[w], cell, r)
                    into.append(value)
                    self.flows.append((literal, symbol, value))
        for behaviour in program.undefined_behaviours:
            if behaviour.result is not None:
                sources.setdefault(behaviour.result, [0])  # whatever it returns: the program has no meaning then
        self.mbarriers.add_sources(sources)
        self.flows += self.mbarriers.flows
        for c, symbol in program.finals:
            writes_ = self.bounds.writes[c]
            self.finals[c] = self._final_writes([e.index for e in writes_])
            sources[symbol] = [self._found(e, c, -1) for e in writes_]
            self.flows += [(self.finals[c][e.index], symbol, self._found(e, c, -1)) for e in writes_]
        return sources

    def _found(self, write: Event, cell: int, reader: int) -> Value:
        """What a reader finds that reads from a write."""
        value = what_is_read(write, cell, reader)
        if write.unstable:
            assert type(value) is Term
            self.open[value] = None
        return value

    def _values(self, sources: dict[Term, list[Value]]) -> None:
        """Ties what reads return to what writes write, over the numbers that can flow there."""
        formula, lowering, program = self.formula, self.lowering, self.program
        self.barriers.add_sources(sources)
        sources |= {symbol: [0, 1] for symbol in self.inputs}
        for symbol in self.open:
            numbers = self._samples.get(symbol)
            if numbers is None and 1 << symbol.width > MAX_NUMBERS:
                raise TooManyValues
            sources[symbol] = list(range(1 << symbol.width) if numbers is None else numbers)
        others = [*lowering.postponed, program.condition, program.filter, *[o.value for o in program.observed]]
        others += [t.execution.finishes for t in program.threads] + [t.execution.cut for t in program.threads]
        others += [t.condition for t in program.undefined_behaviours]
        known = domains(sources, others, rounds=len(sources))
        for symbol in sources:
            lowering.choices[symbol] = lowering.fresh(known[symbol]) if known[symbol] else {}
        for symbol, literal in self.inputs.items():
            lowering.choices[symbol] = {0: -literal, 1: literal}
        for symbol in self.open:
            formula.add(list(lowering.choices[symbol].values()))
        lowering.settle()
        for literal, symbol, value in self.flows:
            self._tick()
            into_choices = lowering.choices[symbol]
            for number, chosen in paced(lowering.value(value).items()):
                formula.add([-literal, -chosen, into_choices.get(number, FALSE)])
        self.barriers.tie_results()

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

    def _break_symmetry(self, alike: AlikeThreads | None) -> list[SymmetryClass]:
        """Fixes the order in which interchangeable threads write."""
        if "symmetry" in self.program.off or self.model.residual is not None:
            return []
        found = classes(self.program, self.model, self.bounds.ordered, alike)
        executed = self.executed.literals
        for c in found:
            for a, b in itertools.pairwise(c.writes):
                self.formula.add([-executed[b], executed[a]])
                self.formula.add([-executed[b], self.co.literal(a, b)])
        return found

    def cut_off(self, bounds: Iterable[Value]) -> int:
        """The literal of "one of these holds, a loop bound having stopped a thread, and the others ended or were stopped",
        given that threads need not end."""
        formula, truth = self.formula, self.truth
        cut = formula.disj([truth(b) for b in bounds], BOTH)
        if cut == FALSE:
            return FALSE
        threads = [t.execution for t in self.program.threads]
        return formula.conj_all([cut, *[formula.disj([truth(x.cut), truth(x.finishes)], BOTH) for x in threads]], BOTH)

    def others(self, true: Callable[[int], bool], needed: Collection[str]) -> list[int]:
        """A clause that forbids all executions which have the present values of some base names: who is executed, who reads
        from whom, and orders where they are among those names."""
        literals = [*self.executed.literals, *self.inputs.values()]
        literals += [l for sources in self.rf.values() for l in sources.values()]
        for relation, names in ((self.co, ("co", "fr")), (self.sync_fence, ("sync_fence",))):
            if any(name in needed for name in names):
                literals += [l for row in relation.may.values() for l in row.values()]
        return [-l if true(l) else l for l in dict.fromkeys(literals) if l not in (TRUE, FALSE)]

    def candidate(
        self, judge: ModelChecker, true: Callable[[int], bool], number: Callable[[Term], int] | None = None
    ) -> Candidate:
        """The execution that a model of the formula describes; `true` says which literals hold in it, and `number`, where
        values are left to a theory, what a symbol is."""
        program = self.program
        rf: dict[int, tuple[int, ...]] = {}
        for (r, _), sources in self.rf.items():
            for w, l in sources.items():
                if true(l):
                    rf[r] = (*rf.get(r, ()), w)
        orders: list[list[int]] = []
        for relation in (self.co, self.sync_fence):
            rows = list(relation.must)
            for i, may in relation.may.items():
                for j, l in may.items():
                    if true(l):
                        rows[i] |= 1 << j
            orders.append(rows)
        met = (self.barriers.syncbar, self.barriers.again)
        syncbar = [(i, j) for relation in met for i, j, l in relation.pairs() if true(l)]
        finals = {c: w for c, chosen in self.finals.items() for w, l in chosen.items() if true(l)}
        results = {symbol: int(true(literal)) for symbol, literal in self.inputs.items()}
        for unknown in self.open:
            choices = self.lowering.choices.get(unknown, {})
            results[unknown] = number(unknown) if number else next(v for v, l in choices.items() if true(l))
        for barrier, _ in self.barriers.reductions:
            symbol = barrier.effect.result
            assert symbol is not None
            results[symbol] = next((v for v, l in self.lowering.value(symbol).items() if true(l)), 0)
        for behaviour in program.undefined_behaviours:
            if behaviour.result is not None:
                results.setdefault(behaviour.result, 0)
        executed = [true(l) for l in self.executed.literals]
        claimed = {
            symbol: value
            for r in rf
            for symbol in program.events[r].values
            if type(symbol) is Term
            for value, l in self.lowering.choices.get(symbol, {}).items()
            if true(l)
        }
        sequences = self.mbarriers.sequences(true)
        return Candidate(judge, executed, rf, orders[0], orders[1], syncbar, finals, results, claimed, sequences)
