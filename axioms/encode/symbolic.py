"""Values that no small set of numbers bounds: the same formula, with what reads return left to Z3's bit-vectors.

Who reads from whom, the orders and the axioms stay clauses. Values become bit-vector constants, and a condition on them is a
term: `rf(w, r) -> value(r) = value(w)`. Everything goes to Z3 as one text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from axioms.cat.model import Model
from axioms.encode.encoding import Encoding
from axioms.encode.solve import PATIENCE, FoundOutcome
from axioms.encode.termination import with_waits_as_stops
from axioms.errors import EngineDefect
from axioms.program import Program
from axioms.sat.backends import check_z3, new_z3_solver
from axioms.sat.formula import FALSE
from axioms.sat.smt import SmtText
from axioms.witness.asked import needed_to_forbid
from axioms.witness.candidate import Candidate
from axioms.witness.judge import ModelChecker
from axioms.witness.races import UNDEFINED, undefined
from axioms.witness.result import Decision
from ptxcore.clock import OutOfTime
from ptxcore.values import terms
from ptxcore.values.terms import Term

#: So many outcomes are listed where memory may hold anything at first: more of them are more numbers, and say nothing new.
_MOST_OF_OPEN = 16


def decide_symbolic(
    program: Program,
    model: Model,
    *,
    deadline: float | None,
    max_states: int,
    races: bool = False,
    settles: bool | None = None,
) -> Decision:
    """All outcomes, at most `max_states` of them listed; with `races` all of those too. `deadline` is a time of
    `time.monotonic`, `settles` the truth of the condition that one outcome with it decides the matter: once that is clear,
    outcomes are listed as far as that is quickly done."""
    encoding = Encoding(program, model, finite=False, deadline=deadline)
    if any(thing.open for thing in program.objects):
        max_states = min(max_states, _MOST_OF_OPEN)
    decision = Symbolic(encoding, deadline).decide(max_states, races, settles)
    decision.complete = not program.is_bounded
    if program.is_bounded and decision.stopped is None:
        try:
            decision.complete = not is_cut_off(program, model, deadline)
        except OutOfTime as error:
            decision.stopped = error
    return decision


def is_cut_off(program: Program, model: Model, deadline: float | None) -> bool:
    """Whether some execution was stopped by a loop bound."""
    encoding = Encoding(with_waits_as_stops(program), model, finite=False, ended=False, deadline=deadline)
    cut = encoding.cut_off([t.execution.cut for t in program.threads])
    return cut != FALSE and Symbolic(encoding, deadline).check(cut)


def _literal(literal: int) -> str:
    return f"k!{literal}" if literal > 0 else f"(not k!{-literal})"


class Symbolic:
    """A formula and its values in Z3. Literals that are asked for later must be in the formula when this is made."""

    def __init__(self, encoding: Encoding, deadline: float | None) -> None:
        import z3

        self.z3, self.encoding, self.program, self.deadline = z3, encoding, encoding.program, deadline
        program = self.program
        self.judge = ModelChecker(program, encoding.model)
        text = SmtText()
        condition = text.define(program.condition, 1)
        filter_ = text.define(program.filter, 1)
        self.outcome = [(o, text.define(o.value, o.width)) for o in program.observed]
        lines = text.lines
        for t, literal in encoding.lowering.postponed.items():
            name = text.define(t, 1)
            lines.append(f"(assert (= {_literal(literal)} {name}))")
        for literal, symbol, value in encoding.flows:
            name = text.define(symbol, symbol.width)
            lines.append(f"(assert (=> {_literal(literal)} (= {name} {text.define(value, symbol.width)})))")
        self.names = text.names
        if encoding.barriers.reductions:
            raise _unsupported()
        for i, (o, name) in enumerate(self.outcome):
            sort = "Bool" if o.width == 1 else f"(_ BitVec {o.width})"
            lines += [f"(declare-const o!{i} {sort})", f"(assert (= o!{i} {name}))"]
        lines += [
            "(declare-const condition Bool)",
            f"(assert (= condition {condition}))",
            "(declare-const filter Bool)",
            f"(assert (= filter {filter_}))",
        ]
        variables = [f"(declare-const k!{v} Bool)" for v in range(1, encoding.formula.size + 1)]
        clauses = [
            f"(assert (or {' '.join(map(_literal, c))}))" if c else "(assert false)" for c in encoding.formula.clauses
        ]
        self.solver: Any = new_z3_solver()
        self.solver.from_string("\n".join([*variables, *lines, *clauses]))

    def check(self, *literals: int, condition: bool | None = None) -> bool:
        """Whether the literals can hold together, and the program's condition with them if that is asked for."""
        assumptions = [self.z3.Bool(f"k!{abs(l)}") for l in literals]
        assumptions = [a if l > 0 else self.z3.Not(a) for a, l in zip(assumptions, literals, strict=True)]
        if condition is not None:
            holds = self.z3.Bool("condition")
            assumptions.append(holds if condition else self.z3.Not(holds))
        while check_z3(self.solver, assumptions, self.deadline):
            if self.encoding.model.residual is None:
                return True
            true = self.truths()
            needed = needed_to_forbid(self.candidate(checked=False))
            if needed is None:
                return True
            clause = self.encoding.others(true, needed)
            self.solver.add(
                self.z3.Or([self.z3.Bool(f"k!{l}") if l > 0 else self.z3.Not(self.z3.Bool(f"k!{-l}")) for l in clause])
            )
        return False

    def decide(self, max_states: int, races: bool, settles: bool | None) -> Decision:
        """All outcomes, and all races; what is found stands, also when the time runs out then."""
        decision, found = Decision(), list[FoundOutcome]()
        try:
            self._search(decision, found, max_states, races, settles)
        except OutOfTime as error:
            decision.stopped, decision.listed_all = error, False
        found.sort(key=lambda f: sorted(f[0].items()))
        for state, candidate, holds in found:
            decision.states.append(state)
            decision.witnesses.append(candidate.later(state))
            decision.satisfied.append(holds)
            decision.positive += holds
            decision.negative += not holds
        return decision

    def _search(
        self, decision: Decision, found: list[FoundOutcome], max_states: int, races: bool, settles: bool | None
    ) -> None:
        encoding = self.encoding
        self.find_wrong(decision, races)
        decision.ends = self.check(encoding.finishes, -encoding.misbehaves)
        self.solver.add(self.z3.Bool("filter"))  # of the outcomes only: what is undefined or cut off is so without it
        for wanted in () if settles is None else (settles, not settles):
            if not found and self.check(encoding.finishes, -encoding.misbehaves, condition=wanted):
                found.append(self._outcome())
        decision.listed_all = self._list(found, max_states)

    def find_wrong(self, decision: Decision, races: bool) -> None:
        """Notes why the program has no meaning, and its races."""
        encoding = self.encoding
        for literal, rule in encoding.undefined_behaviours:
            if literal != FALSE and decision.undefined is None and self.check(encoding.finishes, literal):
                decision.undefined = encoding.undefined(rule, self.truths())
        if races or decision.undefined is None:
            for found_race in encoding.flags.search(self.program, encoding.formula, self._ask):
                decision.races.append(found_race)
                if not races and found_race.kind in UNDEFINED:
                    break
            decision.undefined = decision.undefined or undefined(decision.races)

    def _list(self, found: list[FoundOutcome], max_states: int) -> bool:
        """More outcomes, and whether they are all. Where some are known already, nothing depends on them any more."""
        settled = bool(found)
        if settled:
            soon = time.monotonic() + PATIENCE
            self.deadline = soon if self.deadline is None else min(soon, self.deadline)
        try:
            while self.check(self.encoding.finishes, -self.encoding.misbehaves):
                if len(found) >= max_states:
                    self._rest(found)
                    return False
                found.append(self._outcome())
        except OutOfTime:
            if not settled:
                raise
            return False
        return True

    def _rest(self, found: list[FoundOutcome]) -> None:
        """One outcome of each kind must be listed, if there is any."""
        for wanted in (True, False):
            if any(holds == wanted for _, _, holds in found):
                continue
            if self.check(self.encoding.finishes, -self.encoding.misbehaves, condition=wanted):
                found.append(self._outcome())

    def _ask(self, new: int, literals: Sequence[int]) -> Candidate | None:
        """An execution in which one of the literals holds; `new` is a variable of no other use."""
        clause = [self.z3.Bool(f"k!{abs(l)}") for l in literals]
        self.solver.add(
            self.z3.Implies(
                self.z3.Bool(f"k!{new}"),
                self.z3.Or([b if l > 0 else self.z3.Not(b) for b, l in zip(clause, literals, strict=True)]),
            )
        )
        if not self.check(new, self.encoding.finishes, -self.encoding.misbehaves):
            return None
        return self.candidate()

    def truths(self) -> Callable[[int], bool]:
        """Which literals hold in the current model."""
        z3, model = self.z3, self.solver.model()

        def true(literal: int) -> bool:
            value = z3.is_true(model.eval(z3.Bool(f"k!{abs(literal)}"), model_completion=True))
            return bool(value) == (literal > 0)

        return true

    def candidate(self, checked: bool = True) -> Candidate:
        """The current model, written out and re-checked."""
        z3, model = self.z3, self.solver.model()

        def number(symbol: Term) -> int:
            if symbol not in self.names:  # nothing looks at it
                return 0
            name = self.names[symbol]
            if symbol.width == 1:
                return int(z3.is_true(model.eval(z3.Bool(name), model_completion=True)))
            return int(model.eval(z3.BitVec(name, symbol.width), model_completion=True).as_long())

        candidate = self.encoding.candidate(self.judge, self.truths(), number)
        broken = candidate.defects() if checked else ()
        if broken:
            raise EngineDefect(f"a witness of the solver breaks {', '.join(broken)}")
        return candidate

    def _outcome(self) -> FoundOutcome:
        """The current model, written out, re-checked, and forbidden for the rest of the search."""
        z3, candidate = self.z3, self.candidate()
        state = candidate.state()
        other = []
        for i, (o, _) in enumerate(self.outcome):
            number = state[o.label] & terms.mask(o.width)
            if o.width == 1:
                other.append(z3.Bool(f"o!{i}") != bool(number))
            else:
                other.append(z3.BitVec(f"o!{i}", o.width) != number)
        self.solver.add(z3.Or(other) if other else z3.BoolVal(False))
        return state, candidate, bool(terms.evaluate(self.program.condition, candidate.symbols))


def _unsupported() -> Exception:
    from axioms.errors import UnsupportedProgram

    return UnsupportedProgram("bar.red beside values that no finite set bounds is not supported yet")
