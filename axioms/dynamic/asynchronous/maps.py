"""Tensor maps in memory that threads write: who may read them through the proxy of tensor maps.

A tensor copy reads its map at any time until it is complete. What threads wrote there comes before that only by two fences: the
first is a release from the generic proxy to that of tensor maps, and comes before the second in base causality order; the
second is an acquire of these bytes in the CTA that issues the copy (sections 8.9.5 and 9.7.13.4).
"""

from __future__ import annotations

from axioms.dynamic.asynchronous.agent_order import AgentOrder
from axioms.dynamic.asynchronous.agents import Agent
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.core.clocks import PLANE, Table
from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.core.shadow import Access
from ptxcore.isa.form import Use
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.values.tensor_map import SIZE

#: The plane of what comes before a release; those of what an acquire has made of it, by CTA and map, lie above all others.
_RELEASED = 2
_MAPS = 40


class Maps:
    """The tensor maps of a launch that are neither parameters nor constants."""

    def __init__(self, run: LaunchState, order: AgentOrder) -> None:
        self.run, self.clocks, self._order = run, run.clocks, order
        self._numbers: dict[int, int] = {}
        #: What came before each release, and by plane, when which threads acquired the map.
        self._releases: dict[int, Table] = {}
        self._acquired: dict[int, set[tuple[int, int]]] = {}
        #: By thread: the map of the copy that it is about to issue.
        self._next: dict[int, tuple[WatchedThread, int]] = {}

    def fence(self, thread: WatchedThread, how: Use, address: int) -> bool:
        """A fence from the generic proxy to that of tensor maps; whether it is one."""
        if how.words["between"] != "tensormap::generic" or how.words["restrict"] or how.words["of"]:
            return False
        number, clocks = thread.number, self.clocks
        table = clocks.join([clocks.release(number)])
        if how.sem == "release":
            to, from_ = _RELEASED, 0
            self._releases[id(table)] = table
        else:
            to, from_ = self._plane(number // clocks.size, address), _RELEASED
            self._acquired.setdefault(to, set()).add((number, clocks.own[number]))
        for key in [key for key in table if key >> PLANE == from_]:
            table[(key & (1 << PLANE) - 1) + (to << PLANE)] = table[key]
        clocks.known[number] = table
        return True

    def looks_up(self, thread: WatchedThread, address: int) -> None:
        """A thread is about to issue a copy by the map at an address."""
        self._next[thread.number] = thread, address

    def reads(self, agent: Agent) -> None:
        """The copy is issued. Raises Stopped where something that wrote its map does not come before. That is a race where no
        fence releases the write, or none has acquired the map that comes before the issue and not before all such releases;
        else other synchronization may order them."""
        thread, address = self._next.pop(agent.party.thread, (None, 0))
        if thread is None:
            return
        segment, first = thread.segment(address)
        plane = self._plane(agent.party.thread // self.clocks.size, address) << PLANE
        table, size, knows = agent.arrival[1], self.clocks.size, self.clocks.knows
        access = Access(agent.reads, agent.time, agent.op, "R", "", first, SIZE)
        found = self.run.shadow_of(segment).beside(
            access, lambda other: knows((-1, table, 0), other.thread + plane * size, other.time)
        )
        if found is not None:
            writer, time = found.thread, found.time
            released = [(-1, one, 0) for one in self._releases.values() if knows((-1, one, 0), writer, time)]
            acquired = [one for one in self._acquired.get(plane >> PLANE, ()) if knows(agent.arrival, *one)]
            meet = any(not knows(one, *acquire) for one in released for acquire in acquired)
            shadow = self.run.shadow_of(segment)
            wrong = self._order.conflict(found, access, shadow.name, agent.ops, agent=agent)
            raise Stopped(Open("tensormap", agent.party) if meet else wrong)
        if id(segment) in self.run.places:
            raise Stopped(Open("tensormap", agent.party))

    def _plane(self, cta: int, address: int) -> int:
        number = self._numbers.setdefault(address, len(self._numbers) + 1)
        return (number << _MAPS) + (cta + 1) * 4


__all__ = ["Maps"]
