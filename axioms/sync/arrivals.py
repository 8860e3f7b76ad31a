"""What is gathered of barriers, however their instances are found: arrivals, who waits for whom, what is misused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.events.encounters import WARP
from axioms.events.event import BarrierMisuse, Event
from axioms.program import Program, ends_by
from axioms.sat.formula import BOTH, FALSE, TRUE, Formula
from axioms.sat.relations import Executed
from axioms.sat.values import Lowering
from ptxcore.clock import tick
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.sync.warp_waits import Exit

MIXED = "bar.red mixed with other barriers in one instance of a barrier"
UNLIKE = "bar.red with different operations in one instance of a barrier"
DIFFERENT_COUNTS = "different thread counts in one instance of a barrier"
DIVERGENT = "threads of one warp at an aligned barrier by different instructions"
EARLY = "an arrival at a barrier by a thread that has arrived there before, of which others have not"
NO_BARRIER = "a barrier whose number is not one of 0 to 15"
BAD_COUNT = "a barrier of a number of threads that is 0 or no multiple of 32"

#: Pairs of events, each with literals any of which relates them.
LiteralRows = dict[int, dict[int, list[int]]]


class BarrierArrival(NamedTuple):
    """One barrier instruction: its arrival event, and its waiting event if it waits, with the literals of both."""

    arrive: Event
    wait: Event | None
    effect: Effect
    executed: int
    passes: int


def mixed(a: Effect, b: Effect) -> str:
    """Why two arrivals must not be in one instance, whatever else they do: its threads combine their predicates by one
    operation, which writes one value to all of them, or none of them does; "" where they may."""
    if (a.barrier == "red") != (b.barrier == "red"):
        return MIXED
    return UNLIKE if a.operator != b.operator else ""


class Gathered:
    """`rows` relate arrivals to the waits of their instance, `renewed` to arrivals in the next one by who arrived with them but
    did not wait; `order` says what else comes before what at barriers; `ended` relates what decided that a thread ends to the
    waits that are over because it has.
    `by_warps`: the threads of a warp may wait for each other in a circle (see `warp_waits`), for which `exited` is.
    `together` has for two arrivals the literal of "in one instance", where a reduction asks for it; `at_once` for an event one
    that is over when it is, in all executions. `misuse` has literals and
    the reasons why behaviour is undefined where they hold."""

    def __init__(
        self, program: Program, executed: Executed, lowering: Lowering, formula: Formula, by_warps: bool
    ) -> None:
        self.by_warps = by_warps
        self.program, self.executed, self.lowering, self.formula = program, executed, lowering, formula
        self.rows: LiteralRows = {}
        self.order: LiteralRows = {}
        self.renewed: LiteralRows = {}
        self.ended: LiteralRows = {}
        self._ends: dict[int, list[tuple[int, Value]]] = {}
        self.together: dict[tuple[int, int], int] = {}
        self.at_once: dict[int, int] = {}
        self.reductions: list[tuple[BarrierArrival, list[BarrierArrival]]] = []
        self.misuse: list[BarrierMisuse] = []
        self.odd: dict[int, list[int]] = {}  # arrivals with the literals of "its numbers are wrong"
        self.early: list[BarrierMisuse] = []  # misuse that excuses nobody from waiting
        self.absences: list[
            tuple[int, int]
        ] = []  # threads that never arrive where somebody passes, each with the literal
        # A thread that a loop bound stopped might still have arrived: then no deadlock is said to be due to it.
        self.exited: list[Exit] = []  # the same, with the wait
        self.stopped = [lowering.condition(t.execution.cut) for t in program.threads]
        self.cut = formula.disj(self.stopped, BOTH)

    def same(self, a: BarrierArrival, b: BarrierArrival) -> int:
        """The literal of "at one barrier"."""
        x, y = a.effect.identity, b.effect.identity
        if x is None or y is None:
            return TRUE if x is y else FALSE
        return self.lowering.condition(terms.eq(x, y))

    def relate(self, rows: LiteralRows, a: Event, b: Event, literal: int) -> None:
        """Relates two events where both are executed and the literal holds."""
        tick()
        if literal != FALSE:
            both = self.formula.conj(literal, self.executed.pair(a.index, b.index), BOTH)
            if both != FALSE:
                rows.setdefault(a.index, {}).setdefault(b.index, []).append(both)

    def edge(self, a: BarrierArrival, b: BarrierArrival, literal: int) -> None:
        """`b` waits for `a`."""
        if b.wait is not None:
            self.relate(self.rows, a.arrive, b.wait, literal)

    def meet(self, a: Event, b: Event, literal: int) -> None:
        """`literal` says that two arrivals are in one instance."""
        known = self.together.get((a.index, b.index), FALSE)
        self.together[a.index, b.index] = self.formula.disj([known, literal], BOTH)

    def exits(self, thread: int, wait: Event | None, literal: int) -> None:
        """The thread has exited when somebody passes that wait: all it does at barriers comes before."""
        if wait is not None and literal != FALSE:
            self.absences.append((thread, literal))
            if self.by_warps:
                from axioms.sync.warp_waits import Exit

                self.exited.append(Exit(thread, wait, literal))
            for made in self.program.by_effect[thread].values():
                for e in made:
                    if e.effect is not None and e.effect.kind is BARRIER:
                        self.relate(self.order, e, wait, literal)
            if thread not in self._ends:
                self._ends[thread] = ends_by(self.program, thread)
            for i, condition in self._ends[thread]:
                decides = self.formula.conj(literal, self.lowering.condition(condition), BOTH)
                self.relate(self.ended, self.program.events[i], wait, decides)

    def diverge(self, a: Event, b: Event) -> bool:
        """Whether two arrivals, where they meet, are threads of one warp at different instructions of an aligned barrier.
        Those of litmus tests have no code in common: nothing is said of them, only of the threads of kernels."""
        if a.thread == b.thread or a.effect is None or b.effect is None or not (a.effect.aligned or b.effect.aligned):
            return False
        first, second = (self.program.threads[e.thread] for e in (a, b))
        if first.place.warp != second.place.warp or a.effect.instruction is b.effect.instruction:
            return False
        return first.code.private is not None and second.code.private is not None

    def strange(self, members: list[BarrierArrival]) -> None:
        """Numbers of barriers and of threads that there are not."""
        for m in members:
            identity, count = m.effect.identity, m.effect.count
            for wrong, reason in (
                (0 if identity is None else terms.ult(15, terms.zext(identity, 32), 32), NO_BARRIER),
                (
                    0 if count is None else terms.disj(terms.eq(count, 0), terms.ne(terms.extract(count, 4, 0), 0)),
                    BAD_COUNT,
                ),
            ):
                literal = self.formula.conj(m.executed, self.lowering.condition(wrong), BOTH)
                if literal != FALSE:
                    self.misuse.append(BarrierMisuse(literal, reason, (m.arrive,)))
                    self.odd.setdefault(m.arrive.index, []).append(literal)

    def reduce(self, members: list[BarrierArrival]) -> None:
        """Members that return something return what the predicates of their instance reduce to."""
        self.reductions += [(b, members) for b in members if b.effect.result is not None]

    def counts(self, count: Value | None) -> list[tuple[int, int]]:
        """The numbers that a count can be, each with its literal. Only numbers up to the threads at hand tell apart."""
        if type(count) is int:
            return [(count, TRUE)]
        assert type(count) is Term
        possible = range(WARP * len(self.program.threads) + 1)
        found = [(n, self.lowering.condition(terms.eq(count, n))) for n in possible]
        rest = self.formula.conj_all((-l for _, l in found), BOTH)
        return [*found, (possible[-1] + WARP, rest)]
