"""Livelock, as clauses: what threads do again and again in an execution that has no end.

An execution of the program in which threads block stands for one without an end: a prefix P, all that is executed,
but for a segment S, the last iterations of those who blocked in a loop; and S is done again and again. Each thread goes
round by whole iterations, as many as it likes, and ends them where it began them: the live registers are the same. So each
copy of S does what the first did, if each of its reads returns the same. That is asked by

    1. a read in S that reads from P reads what is last there in P, cell by cell; P reads nothing from S
    2. a write in P does not follow one in S in coherence, nor a fence.sc in P one in S
    3. where S writes a cell, and reads it from P, what is last in S has the value of what is last in P

Soundness. Put copies of S one behind the other: within each, relations are those of S; from each to the next, coherence
and program order lead forward; who read the last write of P reads the last one of the copy before. Every pair of `rf`,
`co`, `fr`, `po` and of the order of fences is either within a copy, as in S, or leads from an earlier copy (or P) to a
later one. So relations that are made of these by union, composition, closure and what the events are (all of the
shipped models) lead forward too, a cycle lies within one copy, and two events of a copy are related only as in P and S:
an axiom that P with S keeps, P with any number of copies keeps. Every write is followed by finitely many writes that
are ignored: a read of a later copy never reads what an earlier copy but the last one wrote, so each write that is
followed at all is seen by all but finitely many reads ("Making weak memory models fair", Lahav and others: `co` and
`fr` are prefix-finite). A model of a user may have an axiom of another form: what is found is evaluated again with S
three times over (`axioms.liveness.repeat`), and an axiom that is broken then says so.

Completeness, within the bound: every execution without an end whose accesses fall into such copies and whose P and S
have few enough iterations. What threads do in S besides accesses and fences is not looked at: then the answer is `Bounded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from axioms.encode.encoding import Encoding
from axioms.events.event import Event
from axioms.liveness.blocking import REPEATABLE, Blocking, BlockingPoint
from axioms.sat.formula import BOTH, FALSE
from ptxcore.values import terms


class Lasso:
    """`segment` has for each event that may be in S the literal of "it is"."""

    def __init__(self, blocking: Blocking, encoding: Encoding) -> None:
        self.blocking, self.encoding, self.formula = blocking, encoding, encoding.formula
        self.segment: dict[int, int] = {}
        #: Of each stop in a loop that it may have been, and of each way round, the literal of "that is what it does".
        self.rounds: list[tuple[BlockingPoint, int, int]] = []
        parts: dict[int, list[int]] = {}
        for stop in blocking.stops:
            if stop.rounds:
                self._choose(stop, parts)
        executed = encoding.executed.literals
        for event, literals in parts.items():
            literal = self.formula.conj(executed[event], self.formula.disj(literals, BOTH), BOTH)
            if literal != FALSE:
                self.segment[event] = literal

    def _choose(self, stop: BlockingPoint, parts: dict[int, list[int]]) -> None:
        """One of the ways round that the thread may go from where it blocked."""
        formula, truth = self.formula, self.encoding.truth
        gives_up = truth(stop.guard)
        if gives_up == FALSE:
            return
        ways = []
        for i, way in enumerate(stop.rounds):
            literal = gives_up
            if len(stop.rounds) > 1:
                literal = formula.new()
                formula.add([-literal, gives_up])
                formula.add([-literal, truth(way.same)])
            ways.append(literal)
            self.rounds.append((stop, i, literal))
            self._take(stop, i, literal, parts)
        if len(ways) > 1:
            formula.add([-gives_up, *ways])
            formula.at_most_one(ways)

    def _take(self, stop: BlockingPoint, way: int, literal: int, parts: dict[int, list[int]]) -> None:
        program = self.blocking.program
        made = program.by_effect[stop.thread]
        effects = program.threads[stop.thread].execution.effects
        plain = stop.kind != "livelock"
        for index in stop.rounds[way].effects:
            kind = effects[index].kind
            for event in made.get(index, ()):
                if plain or kind in REPEATABLE:
                    parts.setdefault(event.index, []).append(literal)
                else:
                    self.formula.add([-literal, -self.encoding.executed.literals[event.index]])
            if not plain and kind not in REPEATABLE and not made.get(index):
                self.formula.add([-literal, -self.encoding.truth(effects[index].guard)])

    def require(self) -> None:
        """The clauses."""
        events = self.blocking.program.events
        for (r, cell), sources in self.encoding.rf.items():
            for w, literal in sources.items():
                if literal != FALSE:
                    self._read(events[r], w, literal, cell)
        for cell, writes in self.encoding.bounds.writes.items():
            for write in writes:
                self._write(write, writes)
            self._keep(cell, writes)
        self._fences()

    def done(self, stop: BlockingPoint, true: Callable[[int], bool]) -> Iterable[int]:
        """The effects that a thread does again and again which blocked there."""
        way = next((way for s, way, literal in self.rounds if s is stop and true(literal)), None)
        return () if way is None else stop.rounds[way].effects

    def _within(self, event: int) -> int:
        return self.segment.get(event, FALSE)

    def _read(self, read: Event, write: int, literal: int, cell: int) -> None:
        """1: what a read may read from."""
        inside, source = self._within(read.index), self._within(write)
        add, executed = self.formula.add, self.encoding.executed.literals
        if source != FALSE:
            add([-literal, -source, inside, -executed[read.index]])
        if inside == FALSE:
            return
        for later in self.encoding.bounds.writes[cell]:
            if later.index != write:
                follows = self.encoding.co.literal(write, later.index)
                if follows != FALSE:
                    add([
                        -literal, -inside, source, -executed[later.index], self._within(later.index), -follows
                    ])  # fmt: skip

    def _write(self, write: Event, writes: list[Event]) -> None:
        """2: what is written again and again follows the rest."""
        inside, executed = self._within(write.index), self.encoding.executed.literals
        if inside == FALSE:
            return
        for other in writes:
            follows = FALSE if other is write else self.encoding.co.literal(write.index, other.index)
            if follows != FALSE:
                self.formula.add([-inside, -executed[other.index], self._within(other.index), -follows])

    def _keep(self, cell: int, writes: list[Event]) -> None:
        """3: who reads a cell from before finds the same there next time."""
        inside = [w for w in writes if self._within(w.index) != FALSE]
        if not inside:
            return
        formula, encoding, events = self.formula, self.encoding, self.blocking.program.events
        last = {w.index: self._last(w, inside) for w in inside}
        for (r, c), sources in encoding.rf.items():
            if c != cell or self._within(r) == FALSE:
                continue
            for w, literal in sources.items():
                if literal != FALSE:
                    reads = formula.conj_all([literal, self._within(r), -self._within(w)], BOTH)
                    for later in inside:
                        if reads != FALSE and later.index != w:
                            same = encoding.truth(terms.eq(later.value_at(cell), events[w].value_at(cell)))
                            formula.add([-reads, -last[later.index], same])

    def _last(self, write: Event, writes: list[Event]) -> int:
        """The literal of "nothing in S follows this write of S"."""
        formula, co = self.formula, self.encoding.co
        after = [
            formula.conj_all([self._within(w.index), co.literal(write.index, w.index)], BOTH)
            for w in writes
            if w is not write
        ]
        return formula.conj_all([self._within(write.index), *[-a for a in after]], BOTH)

    def _fences(self) -> None:
        """2: fences that are executed again and again follow the rest."""
        executed = self.encoding.executed.literals
        for i, j, literal in self.encoding.sync_fence.pairs():
            inside = self._within(i)
            if inside != FALSE:
                self.formula.add([-literal, -inside, -executed[j], self._within(j)])
