"""Outcomes and witnesses of a program under a model, from the formula of its executions.

encode -> for each outcome: solve, write the execution out, re-check it by evaluation, forbid that outcome -> repeat
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from axioms.cat.model import Model
from axioms.encode.encoding import Encoding
from axioms.encode.symmetry import orbit
from axioms.encode.termination import with_waits_as_stops
from axioms.errors import EngineDefect
from axioms.program import Program
from axioms.sat.backends import Backend, solver_of
from axioms.sat.formula import FALSE, TRUE
from axioms.witness.asked import needed_to_forbid
from axioms.witness.candidate import Candidate
from axioms.witness.judge import ModelChecker
from axioms.witness.races import UNDEFINED, RacesAsked, undefined
from axioms.witness.result import Decision
from ptxcore.clock import OutOfTime
from ptxcore.values import terms


def decide(
    program: Program,
    model: Model,
    *,
    backend: str | None,
    deadline: float | None,
    max_states: int,
    witnesses: bool = True,
    races: bool = False,
    settles: bool | None = None,
) -> Decision:
    """All outcomes, at most `max_states` of them listed; with `races` all of those too. `deadline` is a time of
    `time.monotonic`. `settles` is the truth of the condition that one outcome with it decides the matter: once there is one,
    the others are listed as far as that is quickly done.

    Raises TooManyValues when values range too far to be enumerated.
    """
    encoding = Encoding(program, model, deadline=deadline)
    _check_time(deadline)
    return Session(program, model, encoding, backend, deadline, witnesses).decide(max_states, races, settles)


def _check_time(deadline: float | None) -> None:
    if deadline is not None and time.monotonic() > deadline:
        raise OutOfTime


def solver_for(encoding: Encoding, backend: str | None, deadline: float | None) -> Backend:
    """The formula in the solver that decides it best."""
    return solver_of(encoding.formula, backend, deadline)


def is_cut_off(program: Program, model: Model, backend: str | None, deadline: float | None) -> bool:
    """Whether some execution was stopped by a loop bound: a question of its own, since threads need not end in it. Raises
    TooManyValues."""
    encoding = Encoding(with_waits_as_stops(program), model, ended=False, deadline=deadline)
    cut = encoding.cut_off([t.execution.cut for t in program.threads])
    if cut == FALSE:
        return False
    solver = solver_for(encoding, backend, deadline)
    try:
        return solver.solve([cut])
    finally:
        solver.close()


#: Seconds for which outcomes are listed that decide nothing any more.
PATIENCE = 1.0

#: A state, its witness, and whether it satisfies the program's condition.
FoundOutcome = tuple[dict[str, int], Candidate, bool]


def _holds(values: Sequence[bool], literal: int) -> bool:
    return values[literal] if literal > 0 else not values[-literal]


class Session:
    """A formula in a solver, asked one question after another."""

    def __init__(
        self,
        program: Program,
        model: Model,
        encoding: Encoding,
        backend: str | None,
        deadline: float | None,
        witnesses: bool = True,
    ) -> None:
        self.witnesses = witnesses
        self.program, self.model, self.encoding, self.deadline = program, model, encoding, deadline
        self.lowering = encoding.lowering
        self.judge = ModelChecker(program, model)
        self.outcome = [(o, self.lowering.value(o.value)) for o in program.observed]
        self.condition = self.lowering.truth(program.condition)
        self.filter = self.lowering.truth(program.filter)
        self.backend = backend
        self.solver = solver_for(encoding, backend, deadline)

    def decide(self, max_states: int, races: bool = False, settles: bool | None = None) -> Decision:
        """All outcomes; and all races, or the first that makes the program undefined. What is found stands, also when the time
        runs out then."""
        decision = Decision(complete=not self.program.is_bounded)
        try:
            self._search(decision, max_states, races, settles)
            decision.complete = decision.complete or not is_cut_off(
                self.program, self.model, self.backend, self.deadline
            )
        except OutOfTime as error:
            decision.stopped = error
        finally:
            self.solver.close()
        return decision

    def solve(self, literals: Sequence[int]) -> bool:
        """Whether an execution has these literals, which the solver's model describes then. Executions are asked one by one
        what the formula does not say of them."""
        while self.solver.solve(literals):
            if self.model.residual is None:
                return True
            _check_time(self.deadline)
            true = partial(_holds, self.solver.model())
            needed = needed_to_forbid(self.encoding.candidate(self.judge, true))
            if needed is None:
                return True
            self.solver.add(self.encoding.others(true, needed) or [FALSE])
        return False

    def _search(self, decision: Decision, max_states: int, races: bool, settles: bool | None) -> None:
        self.find_wrong(decision, races)
        self._outcomes(decision, max_states, settles)
        decision.ends = bool(decision.states) or (self.filter != TRUE and self.solve(self._defined()))

    def find_wrong(self, decision: Decision, races: bool) -> None:
        """Notes why the program has no meaning, and its races."""
        self._undefined(decision)
        if races or decision.undefined is None:
            self._races(decision, races)

    def _undefined(self, decision: Decision) -> None:
        for literal, rule in self.encoding.undefined_behaviours:
            if literal != FALSE and self.solve([self.encoding.finishes, literal]):
                decision.undefined = self.encoding.undefined(rule, partial(_holds, self.solver.model()))
                return

    def _races(self, decision: Decision, all_kinds: bool) -> None:
        for found in self.encoding.flags.search(self.program, self.encoding.formula, self._ask):
            decision.races.append(found)
            if not all_kinds and found.kind in UNDEFINED:
                break
        residual = self.model.residual
        if residual is not None and residual.raises and (all_kinds or residual.undefines):
            self._asked(decision, all_kinds)
        decision.undefined = decision.undefined or undefined(decision.races)

    def _asked(self, decision: Decision, all_kinds: bool) -> None:
        """The races of which executions tell when they are asked one by one: all are, one after another."""
        asked, last = RacesAsked(), self.encoding.formula.new()
        while self.solve([last, *self._defined()]):
            true = partial(_holds, self.solver.model())
            asked.add(self._outcome()[1])
            self.solver.add([-last, *self.encoding.others(true, ("co", "sync_fence"))])
        decision.races += [r for r in asked.races if all_kinds or r.kind in UNDEFINED]

    def _ask(self, new: int, literals: Sequence[int]) -> Candidate | None:
        """An execution in which one of the literals holds; `new` is a variable of no other use."""
        _check_time(self.deadline)
        self.solver.add([-new, *literals])
        if not self.solve([new, *self._defined()]):
            return None
        return self._outcome()[1]

    def example(self, wanted: bool) -> Candidate | None:
        """An execution that satisfies the condition, or does not, as `wanted` says."""
        literal = self.condition if wanted else -self.condition
        if not self.solve([*self._defined(), self.filter, literal]):
            return None
        return self._outcome()[1]

    def _defined(self) -> list[int]:
        """The literals of "every thread ends, and nothing is misused"."""
        return [l for l in (self.encoding.finishes, -self.encoding.misbehaves) if l != TRUE]

    def _outcomes(self, decision: Decision, max_states: int, settles: bool | None) -> None:
        encoding = self.encoding
        base = [l for l in (encoding.finishes, self.filter, -encoding.misbehaves) if l != TRUE]
        found: list[FoundOutcome] = []
        if settles is not None and self.solve([*base, self.condition if settles else -self.condition]):
            self._found(found, max_states)
            decision.listed_all = self.solver.limit(PATIENCE)
        try:
            if found and decision.listed_all:  # one of the other kind first: nobody is told that there is none
                self._rest(found, base)
            while decision.listed_all:
                _check_time(self.deadline)
                if not self.solve(base):
                    break
                if len(found) >= max_states:
                    decision.listed_all = False
                    self._rest(found, base)
                    break
                self._found(found, max_states)
        except OutOfTime as error:
            decision.listed_all = False
            if not found or settles is None or found[0][2] != settles:
                decision.stopped = error
        found.sort(key=lambda f: sorted(f[0].items()))
        for state, candidate, holds in found:
            decision.states.append(state)
            decision.satisfied.append(holds)
            decision.positive += holds
            decision.negative += not holds
            if self.witnesses:
                decision.witnesses.append(candidate.later(state))

    def _rest(self, found: list[FoundOutcome], base: list[int]) -> None:
        """There are more outcomes than are listed: makes sure that one of each kind is among them, if there is any."""
        for wanted in (True, False):
            if not any(holds == wanted for _, _, holds in found):
                literal = self.condition if wanted else -self.condition
                if self.solve([*base, literal]):
                    self._found(found, len(found) + 1)

    def _found(self, found: list[FoundOutcome], limit: int) -> None:
        """Takes the solver's current model, with what it becomes when interchangeable threads are exchanged."""
        first = self._outcome()
        found.append(first)
        self.solver.add(self._other_outcome(first[0]))
        swaps = [s for c in self.encoding.symmetric for s in c.swaps]
        if not swaps:
            return
        known = {tuple(sorted(f[0].items())) for f in found}
        for state, where in orbit(first[0], swaps, limit):
            if tuple(sorted(state.items())) not in known and len(found) < limit:
                found.append(self.checked(first[1].moved(where)))
                self.solver.add(self._other_outcome(state))

    def _outcome(self) -> FoundOutcome:
        """The solver's current model, written out and re-checked."""
        values = self.solver.model()
        candidate = self.encoding.candidate(self.judge, partial(_holds, values))
        return self.checked(candidate)

    def checked(self, candidate: Candidate) -> FoundOutcome:
        """An execution, re-checked. Raises EngineDefect where it is none."""
        broken = candidate.defects()
        if broken:
            raise EngineDefect(f"a witness of the solver breaks {', '.join(broken)}")
        return candidate.state(), candidate, bool(terms.evaluate(self.program.condition, candidate.symbols))

    def _other_outcome(self, state: dict[str, int]) -> list[int]:
        clause = []
        for observable, choices in self.outcome:
            literal = choices.get(state[observable.label] & terms.mask(observable.width), FALSE)
            if literal == FALSE:
                raise EngineDefect(f"{observable.label} has a value that the formula does not know")
            if literal != TRUE:
                clause.append(-literal)
        return clause or [FALSE]
