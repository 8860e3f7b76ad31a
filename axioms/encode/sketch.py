"""Which numbers reads may return under a model, before it is known in which order mbarrier operations take place: those that
initialise an object may have their counts from memory, where barriers or fences order who wrote them.

The program is laid out as for its executions, but for that order and for values: what depends on them is left free. That
forbids less, so no number is missing. A solver says of each pair of `rf` whether it can be.
"""

from __future__ import annotations

from collections.abc import Callable

from axioms.cat.model import Model
from axioms.cat.specialise import specialised
from axioms.encode.bounds import Bounds
from axioms.encode.termination import executed_literals, forced_values
from axioms.events.event import what_is_read
from axioms.events.value_sets import NumberSet
from axioms.program import Program
from axioms.sat.backends import Backend, solver_of
from axioms.sat.formula import Formula
from axioms.sat.relations import Executed
from axioms.sat.values import Lowering, TooManyValues, domains
from axioms.witness.fitted import facts_of
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

_ORDERS = frozenset(("mbo", "mbrf", "denied"))


class Sketch:
    """Nothing is computed before somebody asks. `ended`: in executions in which all threads end."""

    def __init__(
        self, program: Program, model: Model, *, ended: bool, deadline: float | None, tick: Callable[[], None]
    ) -> None:
        self.program, self.model, self.ended, self.deadline, self.tick = program, model, ended, deadline, tick
        self._reads: dict[Term, tuple[int, int]] = {}  # by what they return: the event and the cell
        self._sources: dict[Term, list[Value]] = {}
        self._bounds: Bounds | None = None
        self._solver: Backend | None = None

    def numbers(self, value: Value) -> NumberSet:
        """What a value over results of reads may be; None for anything."""
        symbols = list(terms.symbols_of(value))
        if not symbols:
            return self.program.flow().numbers(value)
        assert type(value) is Term
        below: dict[Term, list[Value]] = {}
        while symbols:
            symbol = symbols.pop()
            if symbol not in below:
                sources = self._found(symbol)
                if sources is None:
                    return self.program.flow().numbers(value)
                below[symbol] = sources
                symbols += [s for source in sources for s in terms.symbols_of(source)]
        try:
            return domains(below, [value], rounds=len(below))[value]
        except TooManyValues:
            return None

    def _found(self, symbol: Term) -> list[Value] | None:
        """What a symbol may be; None where that is not a matter of who reads from whom."""
        if self._bounds is None:
            self._prepare()
        if symbol not in self._reads:
            return None
        if symbol not in self._sources:
            assert self._bounds is not None and self._solver is not None
            read, cell = self._reads[symbol]
            writes = self._bounds.rf[read, cell].items()
            possible = [self.program.events[w] for w, literal in writes if self._solver.solve([literal])]
            self._sources[symbol] = [what_is_read(w, cell, read) for w in possible]
        return self._sources[symbol]

    def _prepare(self) -> None:
        """Of a model that the order left out could permit something, nothing is known."""
        program, facts = self.program, facts_of(self.program)
        whole = specialised(self.model, facts, frozenset())
        model = specialised(self.model, facts._replace(empty=facts.empty | _ORDERS), frozenset())
        formula = Formula()
        lowering = Lowering(formula)
        executed = Executed(executed_literals(program, lowering, ended=self.ended), formula)
        forced = forced_values(program) if self.ended else {}
        bounds = self._bounds = Bounds(program, model, formula, lowering, executed, forced, self.tick, None)
        if any(name in whole.bases and whole.bases[name].shrinks for name in _ORDERS):
            return
        bounds.interpreter.assert_axioms(model.axioms)
        self._solver = solver_of(formula, None, self.deadline)
        for read, cell in bounds.rf:
            symbol = program.events[read].value_at(cell)
            assert type(symbol) is Term
            self._reads[symbol] = read, cell
