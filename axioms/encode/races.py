"""Races in the formula of a program: for each flag of the model, the pairs of events that may raise it.

R is made of what orders two events, negated: they race where no causality relates them. The formula says of causality only that
what follows is there, never that it must follow from something, and that is enough: an execution in which the two are unordered
is one with the least causality, which is a model of the formula with these literals false; and a model in which they are false
describes an execution with the least causality below them, in which the two are unordered too. Every execution that is found is
evaluated all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from axioms.cat.model import Axiom, Model
from axioms.encode.interpret import Interpreter
from axioms.errors import EngineDefect
from axioms.program import Program
from axioms.sat.formula import BOTH, FALSE, Formula
from axioms.sat.relations import Relation
from axioms.witness.candidate import Candidate
from axioms.witness.races import CellPair, Only, Tellings, pair_of, race, raised
from axioms.witness.result import Race
from ptxcore.values.terms import Value


class Flags:
    """The flags of a model over the formula of a program: for each the literal of each pair that may raise it."""

    def __init__(self, model: Model, interpreter: Interpreter) -> None:
        self.found: list[tuple[Axiom, Relation]] = []
        self._only: Only | None = None
        for flag in model.flags:
            value = interpreter.whole(flag.node)
            if not value.is_empty:
                self.found.append((flag, value))

    def only(self, program: Program, only: Only, truth: Callable[[Value], int], formula: Formula) -> None:
        """Pairs count only where something else holds, too."""
        self._only = only
        self._where = {
            (at, i, j): formula.conj(literal, truth(only(flag.name, program.events[i], program.events[j])), BOTH)
            for at, (flag, value) in enumerate(self.found)  # two flags may have one name
            for i, j, literal in value.pairs()
        }

    def search(
        self, program: Program, formula: Formula, ask: Callable[[int, Sequence[int]], Candidate | None]
    ) -> Iterator[Race]:
        """Every race, each with its execution. `ask(new, literals)` gives a consistent execution in which one of the literals
        holds, `new` being a variable that is not used yet; None where there is none."""
        tellings = Tellings()
        for at, (flag, value) in enumerate(self.found):
            told = tellings.of(flag.name)
            kinds = self._literals(program, at, value)
            while True:
                left = [literal for pair, literals in kinds.items() if pair not in told for literal in literals]
                if not left:
                    break
                candidate = ask(formula.new(), left)
                if candidate is None:
                    break
                found = [r for r in raised(flag, candidate, self._only) if r[0] not in told]
                if not found:
                    raise EngineDefect(f"an execution of the solver does not raise the flag {flag.name}")
                for pair, i, j in found:
                    if pair not in told:
                        told.add(pair)
                        yield race(flag.name, candidate, i, j)

    def _literals(self, program: Program, at: int, value: Relation) -> dict[CellPair, list[int]]:
        """The literals of the pairs of a flag, by its number, by the pairs of instructions."""
        found: dict[CellPair, list[int]] = {}
        for i, j, literal in value.pairs():
            if self._only is not None:
                literal = self._where[at, i, j]
            if literal != FALSE:
                found.setdefault(pair_of(program.events[i], program.events[j]), []).append(literal)
        return found
