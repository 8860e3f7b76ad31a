"""Barriers at which everybody meets: of a cluster, of the member mask of a warp, of a CTA without a number of threads, or with
the number of all who ever come there.

Round k of such a barrier is each thread's arrival number k, and the wait that belongs to it: that of the same instruction, or,
where arriving and waiting are instructions of their own, each thread's wait number k. For no thread can arrive a second time
before the round is over. A wait is over when every thread has arrived in its round or has ended: who never arrives in it
does nothing at any barrier that would have to come after that wait. Where threads are counted, those that have ended are not:
somebody of each warp must arrive.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from axioms.events.encounters import BarrierMeeting
from axioms.events.event import BarrierMisuse, Event
from axioms.sat.formula import BOTH, FALSE, TRUE, Formula
from ptxcore.records import NamedTuple


class RoundPart(NamedTuple):
    """A thread's arrival at such a barrier, or its wait, or both. `arrives` and `passes` are the literals of that they
    happen (FALSE for the half that is missing)."""

    thread: int
    arrive: Event | None
    wait: Event | None
    arrives: int
    passes: int

    @property
    def event(self) -> Event:
        found = self.arrive or self.wait
        assert found is not None
        return found


class Rounds:
    """One barrier. `threads` and `warps` are those that meet; `parts` lists what each does, in program order.

    `arrivals[k]` and `waits[k]` are the events of round k, each with its literal.
    """

    def __init__(self, meeting: BarrierMeeting, parts: Sequence[RoundPart], formula: Formula) -> None:
        self.threads, self.warps, self.formula = meeting.threads, meeting.warps, formula
        self.parts = list(parts)
        self.apart = all(part.arrive is None or part.wait is None for part in parts)
        self.arrivals: list[list[tuple[RoundPart, int]]] = []
        self.waits: list[list[tuple[RoundPart, int]]] = []
        self.unpaired: list[BarrierMisuse] = []  # a wait without an arrival, an arrival before the wait
        by_thread: dict[int, list[RoundPart]] = {}
        for part in self.parts:
            by_thread.setdefault(part.thread, []).append(part)
        for mine in by_thread.values():
            self._number(mine)

    def _number(self, mine: list[RoundPart]) -> None:
        """Numbers what one thread does: a literal of "so many arrivals, so many waits before" for each that is possible."""
        formula = self.formula
        arrived, waited = [TRUE], [TRUE]  # the literal of "at least that many"; index 0 always holds
        for part in mine:
            before = formula.exactly(arrived)
            if part.arrive is not None:
                if self.apart:
                    self._unpaired(part.arrive, part.arrives, before, formula.exactly(waited), "arrives")
                for k, count in enumerate(before):
                    self._add(self.arrivals, k, part, formula.conj(part.arrives, count, BOTH))
                arrived = formula.one_more(arrived, part.arrives)
            if part.wait is not None:
                if part.arrive is None:
                    before = formula.exactly(waited)
                    self._unpaired(part.wait, part.passes, formula.exactly(arrived), before, "waits")
                    waited = formula.one_more(waited, part.passes)
                for k, count in enumerate(before):
                    self._add(self.waits, k, part, formula.conj(part.passes, count, BOTH))

    def _unpaired(self, event: Event, happens: int, arrived: list[int], waited: list[int], what: str) -> None:
        """Who arrives must have waited for each arrival before; who waits must have arrived once more than waited."""
        cases = []
        for (a, x), (w, y) in itertools.product(enumerate(arrived), enumerate(waited)):
            if (what == "arrives" and a > w) or (what == "waits" and a != w + 1):
                cases.append(self.formula.conj_all([happens, x, y], BOTH))
        wrong = self.formula.disj(cases, BOTH)
        if wrong != FALSE:
            reason = (
                "barrier.cluster.arrive by a thread that has not waited since it arrived before"
                if what == "arrives"
                else "barrier.cluster.wait by a thread that has not arrived"
            )
            self.unpaired.append(BarrierMisuse(wrong, reason, (event,)))

    @staticmethod
    def _add(rounds: list[list[tuple[RoundPart, int]]], k: int, part: RoundPart, literal: int) -> None:
        if literal != FALSE:
            while len(rounds) <= k:
                rounds.append([])
            rounds[k].append((part, literal))

    def well_until(self, thread: int, event: Event | None) -> int:
        """The literal of "a thread has arrived and waited by turns so far", until an event of its own, or its end. What it does
        behind its first misuse is in no round."""
        if not self.unpaired:
            return TRUE
        until = math.inf if event is None else event.index
        wrong = [m.literal for m in self.unpaired if m.events[0].thread == thread and m.events[0].index <= until]
        return -self.formula.disj(wrong, BOTH)

    def absent(self, k: int) -> Iterator[tuple[int, int]]:
        """The threads that may not arrive in round k, each with the literal of "it does not"."""
        arriving = self._arriving(k)
        for t in self.threads:
            missing = -self.formula.disj(arriving.get(t, ()), BOTH)
            if missing != FALSE:
                yield t, missing

    def present(self, k: int) -> list[int]:
        """For each warp that counts the literal of "somebody of it arrives in round k"."""
        arriving = self._arriving(k)
        return [self.formula.disj((l for t in mates for l in arriving.get(t, ())), BOTH) for mates in self.warps]

    def _arriving(self, k: int) -> dict[int, list[int]]:
        arriving: dict[int, list[int]] = {}
        if k < len(self.arrivals):
            for part, literal in self.arrivals[k]:
                arriving.setdefault(part.thread, []).append(literal)
        return arriving
