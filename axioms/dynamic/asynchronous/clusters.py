"""Clusters of CTAs: their barrier, and the shared memory of other CTAs, which is there while one of its threads is."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

from axioms.dynamic.asynchronous.agents import Part
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.asynchronous.proxies import Proxies
from axioms.dynamic.asynchronous.tensor_order import TensorOrder
from axioms.dynamic.core.clocks import Table
from axioms.dynamic.core.findings import Misuse, Open, Party, Stopped
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread

#: Meetings of which something may still be asked; and of which each thread's arrivals and waits may be told.
_KEPT, _TOLD = 2, 4


class Meeting:
    """The barrier of one cluster: how often it was complete, what arrivals hand on, and who waits."""

    def __init__(self) -> None:
        self.count = 0
        self.parts: dict[int, list[Part]] = {}
        #: What all arrivals hand on together, by the number of the meeting; and what comes of that for who knew something.
        self.every: dict[int, Table] = {}
        self.merged: dict[tuple[int, int], tuple[Table, Table]] = {}
        self.waiting: list[int] = []
        #: At which meeting a thread arrived last.
        self.arrived: dict[int, int] = {}
        #: Of each thread the last arrivals that release nothing, and waits: the meeting, the time, the instruction.
        self.relaxed: dict[int, deque[tuple[int, int, Op]]] = defaultdict(lambda: deque(maxlen=_TOLD))
        self.waits: dict[int, deque[tuple[int, int, Op]]] = defaultdict(lambda: deque(maxlen=_TOLD))


class Clusters:
    """The clusters of a launch."""

    def __init__(self, run: LaunchState, order: TensorOrder, proxies: Proxies) -> None:
        self.run, self.clocks, self._order, self._proxies = run, run.clocks, order, proxies
        self._meetings: dict[int, Meeting] = {}
        self._numbers: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        #: By the CTA whose memory it is: who accessed it from another one, when last, and by what.
        self._foreign: dict[int, dict[int, tuple[int, Party]]] = {}

    def enters(self, cta: Any, number: int) -> None:
        """The first thread of a CTA, the numbers of whose cluster follow each other."""
        self.clocks.cluster = len(cta.cluster)
        self._numbers[id(cta)] = number // self.clocks.size // self.clocks.cluster

    def of(self, thread: int) -> int:
        return thread // self.clocks.size // self.clocks.cluster

    # The barrier (section 9.7.13.3).

    def arrives(self, thread: WatchedThread, *, waits: bool) -> None:
        number, use = thread.number, thread.instruction.use
        meeting = self._meetings.setdefault(self.of(number), Meeting())
        if waits:
            meeting.waits[number].append((meeting.arrived.get(number, -1), self.clocks.own[number], thread.instruction))
            if meeting.count > meeting.arrived.get(number, meeting.count):
                self._learns(meeting, number)
            else:
                meeting.waiting.append(number)
            return
        meeting.arrived[number] = meeting.count
        parts = meeting.parts.setdefault(meeting.count, [])
        meeting.parts.pop(meeting.count - _KEPT, None)
        arrival = self.clocks.release(number)
        if use.sem == "release":
            parts.append(Part("cluster", number, arrival))
        else:
            meeting.relaxed[number].append((meeting.count, self.clocks.own[number], thread.instruction))
            parts.append(Part("cluster", number, self._proxies.initialisations(number)))
            if relaxed := self._order.arrival(number):
                parts.append(Part("cluster", number, relaxed, relaxed=True))
        parts += [Part(hand.scope, hand.thread, (number, hand.table, 0)) for hand in self.run.fenced.get(number, ())]

    def unreleased(self, first: int, time: int, second: int, until: int) -> tuple[Party, Party] | None:
        """Of two threads of a cluster: where the first one arrived at its barrier behind a time, and released nothing, and the
        second one waited for that before another time."""
        meeting = self._meetings.get(self.of(first))
        if meeting is None or self.of(first) != self.of(second):
            return None
        arrivals = {number: op for number, at, op in meeting.relaxed[first] if at >= time}
        for number, at, op in reversed(meeting.waits[second]):
            if number in arrivals and at <= until:
                return Party(first, arrivals[number]), Party(second, op)
        return None

    def waiting(self, thread: int) -> list[int]:
        """Who of the cluster of a thread waits at its barrier now."""
        meeting = self._meetings.get(self.of(thread))
        return meeting.waiting if meeting is not None else []

    def waiting_at(self, cta: Any) -> list[int]:
        """Likewise of the cluster that a CTA is the first one of, whose threads may have ended."""
        return self._meetings[self._numbers[id(cta)]].waiting

    def released(self, cta: Any) -> None:
        """All have come: who waits goes on."""
        meeting = self._meetings[self._numbers[id(cta)]]
        meeting.count += 1
        waiting, meeting.waiting = meeting.waiting, []
        for number in waiting:
            self._learns(meeting, number)

    def _learns(self, meeting: Meeting, number: int) -> None:
        """Who waited synchronizes with all that arrived, in each other's scope."""
        clocks, at = self.clocks, meeting.arrived[number]
        parts, known = meeting.parts.get(at, []), clocks.known[number]
        met = [p for p in parts if clocks.within(p.scope, p.thread, number)]
        if len(met) < len(parts):
            self.run.partly = True
            clocks.known[number] = clocks.join([(number, known, 0), *(p.arrival for p in met)])
            return
        if at not in meeting.every:
            meeting.every, meeting.merged = {at: clocks.join([p.arrival for p in parts])}, {}
        before, found = meeting.merged.get((at, id(known)), (None, known))
        if before is not known:
            found = clocks.join([(number, known, 0), (number, meeting.every[at], 0)])
            meeting.merged[at, id(known)] = known, found
        clocks.known[number] = found

    # Shared memory of other CTAs.

    def reaches(self, thread: WatchedThread, segment: Segment) -> None:
        """A thread accesses the shared memory of another CTA."""
        owner = self.run.owner_of(segment)
        party = Party(thread.number, thread.launch.running() or thread.instruction)
        if owner < 0:
            raise Stopped(Misuse("exited", (party,)) if self.run.orders_all else Open("cluster", party))
        agent = self.run.performing
        if agent is None:
            self.notes(owner, thread.number, self.clocks.own[thread.number], party)
        else:
            self.notes(owner, agent.writes, agent.time, agent.party)

    def notes(self, owner: int, number: int, time: int, party: Party) -> None:
        """Something is about the memory of another CTA, which must be there till then."""
        self._foreign.setdefault(owner, {})[number] = time, party

    def ends(self, cta: Any, threads: range) -> Iterable[int]:
        """A CTA ends: something that one of its threads did comes after each access from elsewhere. Gives the threads of the
        cluster if it was the last one."""
        for number, (time, party) in self._foreign.pop(threads.start // self.clocks.size, {}).items():
            if number >= 0 and not any(self.clocks.ordered(t, number, time) for t in threads):
                told = party.op is not None and party.op.use.sem == "relaxed"  # somebody may have waited for its phase
                certain = self.run.orders_all and not (self.run.partly or told)
                raise Stopped(Misuse("exited", (party,)) if certain else Open("cluster", party))
        cluster, size = self._numbers[id(cta)], self.clocks.size * self.clocks.cluster
        self._ended[cluster] = self._ended.get(cluster, 0) + 1
        return range(cluster * size, (cluster + 1) * size) if self._ended[cluster] == self.clocks.cluster else ()
