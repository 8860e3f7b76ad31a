"""What one of several runs notes of phases of mbarrier objects, asynchronous operations and clusters: which open operations
come before the end of a phase, and who meets whom by that.

An operation counts in a phase behind what its thread comes behind; one that an asynchronous operation lets count, behind what
comes before its issue. Who waits for the phase comes behind all of that, as behind a barrier (docs/whole-launches, 11).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field
from typing import Any

from axioms.dynamic.asynchronous.agents import Agent
from axioms.dynamic.asynchronous.phases import SIZE, PhasedObject
from axioms.dynamic.several.cycles import Reads, joined
from axioms.dynamic.several.noting import Noting
from ptxcore.isa.form import Use
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import Told, WatchedThread, Write
from ptxcore.records import dataclass


@dataclass(eq=False, slots=True)
class _Meeting:
    """A phase, or the meeting of a cluster: `before`, the open operations before its end, as bits; who takes part, with those
    before what counts of it; who of them releases, in which scope, and what; its number among the meetings of `Cycles`, once
    somebody waited, and the reads that these had acquired. `of`: what it is of."""

    of: object
    before: int = 0
    known: Reads | None = frozenset()
    threads: dict[int, int] = field(default_factory=dict)
    releases: dict[int, tuple[str, int]] = field(default_factory=dict)
    number: int | None = None

    def counts(self, thread: int, behind: int, released: str = "", known: Reads | None = frozenset()) -> None:
        """Something of a thread counts that comes behind open operations; `released`: the scope in which it releases them, and
        the reads that are `known`."""
        self.before |= behind
        self.threads[thread] = self.threads.get(thread, 0) | behind
        if released:
            self.releases[thread] = released, behind
            self.known = joined((self.known, known))


class NotingAgents(Noting):
    """Watches one launch, and notes what phases and clusters order."""

    follows_agents = True

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._issued: dict[int, tuple[Agent, int]] = {}
        self._phased: dict[tuple[int, int], _Meeting] = {}
        self._clustered: dict[tuple[int, int], _Meeting] = {}
        #: How often a thread has arrived at the barrier of its cluster.
        self._arrivals: dict[int, int] = {}

    # Memory.

    def _reached(self, thread: WatchedThread, address: int) -> bool:
        if not self.is_shared(address):
            return False
        self._reaches(thread, thread.segment(address)[0])
        return True

    def _by_agent(self, thread: WatchedThread, address: int, size: int) -> None:
        """An asynchronous operation writes: no bytes that strong operations access, of which more would have to be known."""
        segment, first = thread.segment(address)
        places = self.places.get(id(segment), {})
        if not places.keys().isdisjoint(range(first, first + size)):
            raise self.leaves(thread, "asynchronous")

    def _untouched(self, thread: WatchedThread, segment: Segment, first: int, size: int) -> None:
        """Whoever accesses some bytes, they are not those of an mbarrier object that is in use."""
        if id(segment) in self.phases.objects:
            self.phases.touched(thread, segment, first, size)

    # Phases.

    def begins(self, thread: WatchedThread, how: Use, copy: Told | None) -> Agent:
        agent = super().begins(thread, how, copy)
        self._issued[id(agent)] = agent, self.behind.get(thread.number, 0)
        return agent

    def operates(self, thread: WatchedThread, kind: str, how: Use, address: int, write: Write) -> int | None:
        if self.performing is None:
            self._unreleased.add(thread.number)
        segment, offset = thread.segment(address)
        phased = self.phases.objects.get(id(segment), {}).get(offset // SIZE)
        if phased is not None and kind not in ("wait", "init", "inval"):
            self._counts(thread, how, phased)
        found = super().operates(thread, kind, how, address, write)
        number = thread.number
        if phased is not None and kind == "wait" and number in phased.phase(phased.count - 1).waits:
            self._comes_behind(
                self._phased.get((id(phased), phased.count - 1)),
                (number,),
                acquires=self.scope_of(how) if how.sem == "acquire" else "",
            )
        return found

    def _counts(self, thread: WatchedThread, how: Use, phased: PhasedObject) -> None:
        """Something counts in a phase."""
        number, agent = thread.number, self.performing
        meeting = self._phased.setdefault((id(phased), phased.count), _Meeting(phased))
        if agent is None:
            scope = self.scope_of(how) if how.sem == "release" else ""
            meeting.counts(number, self.behind.get(number, 0), scope, self.cycles.known(number))
        else:  # its completion publishes nothing of what its thread did before
            meeting.counts(number, self._issued[id(agent)][1])

    def _synchronizes(self, meeting: _Meeting, number: int, scope: str) -> bool:
        """Whether a thread that acquires in a scope synchronizes with all that a meeting comes behind: each thread releases it
        by an arrival of its own, and both are in each other's scope."""
        within = self.clocks.within
        for other, behind in meeting.threads.items():
            released, what = meeting.releases.get(other, ("", 0))
            if behind & ~what or not (within(released, other, number) and within(scope, number, other)):
                return False
        return True

    def _comes_behind(self, meeting: _Meeting | None, numbers: Collection[int], *, acquires: str) -> None:
        """Threads come behind all that counted in a phase, or arrived at the barrier of a cluster; `acquires`: the scope in
        which they do."""
        if meeting is None:
            return
        synchronizes = acquires != "" and all(self._synchronizes(meeting, number, acquires) for number in numbers)
        if meeting.number is None:
            meeting.number = self.cycles.gather(meeting.threads, synchronizes=synchronizes, known=meeting.known)
        for number in numbers:
            if meeting.before:
                self.behind[number] = self.behind.get(number, 0) | meeting.before
            if meeting.number >= 0:
                self.cycles.join(number, meeting.number, synchronizes=synchronizes)

    # Clusters.

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        number = thread.number
        if level != "cta" and not waits:
            at = self._arrivals[number] = self._arrivals.get(number, 0) + 1
            meeting = self._clustered.setdefault((self.clusters.of(number), at), _Meeting(self.clusters))
            releases = thread.instruction.use.sem == "release"
            known = self.cycles.known(number)
            meeting.counts(number, self.behind.get(number, 0), "cluster" if releases else "", known)
        super().arrives(thread, level, identity, waits, count)
        if level != "cta" and waits and number not in self.clusters.waiting(number):
            self._comes_together((number,))

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        waiting = self.clusters.waiting_at(cta) if level != "cta" else []
        super().released(cta, level, identity, whole)
        self._comes_together(waiting)

    def _comes_together(self, numbers: Iterable[int]) -> None:
        """Threads go on behind the barrier of their cluster."""
        for number in numbers:
            meeting = self._clustered.get((self.clusters.of(number), self._arrivals.get(number, 0)))
            self._comes_behind(meeting, (number,), acquires="cluster")


__all__ = ["NotingAgents"]
