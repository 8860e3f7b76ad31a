"""Bulk copies of which threads of a warp issue one each, by one instruction, of the same bytes to the same places.

By the letter each is a copy, and those to global memory race: nothing orders their writes. CUTLASS stores the tiles of its
epilogue so, by all threads of a warp. A reading takes such copies for one, of which each of these threads has the completion,
where nothing is written between that they read.
"""

from __future__ import annotations

from collections.abc import Callable

from axioms.dynamic.asynchronous.agents import Agent, Agents
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.core.clocks import Arrival, Table
from axioms.dynamic.core.shadow import Access
from ptxcore.machine.run.special import WARP
from ptxcore.machine.run.watched import Told, WatchedThread
from ptxcore.records import NamedTuple

#: The reading.
ONE_COPY = "one-copy-a-warp"


class _Issued(NamedTuple):
    """What a copy does and has found; what its issue was behind, and where its thread had polled; the first of its numbers."""

    does: object
    known: Table
    polled: int
    first: int

    def is_behind(self, known: Table, polled: int) -> bool:
        """Whether another one was issued behind just the same."""
        return self.known is known and self.polled == polled


class AlikeCopies:
    """The copies of a launch."""

    def __init__(self, run: LaunchState, agents: Agents, polls: Callable[[int], int]) -> None:
        """`polls`: the block in which a thread has looked last at what others write; -1 of one that has not."""
        self.run, self._agents, self.polls = run, agents, polls
        #: How often a thread has issued a copy by an instruction.
        self._issued: dict[tuple[int, int], int] = {}
        #: By the warp, the instruction and that: a copy.
        self._copies: dict[tuple[int, int, int, int], _Issued] = {}
        #: The numbers that stand for several copies.
        self.several: set[int] = set()

    def number(self, thread: WatchedThread, copy: Told | None, arrival: Arrival) -> int:
        """The first of two numbers that stand for a copy where threads' numbers stand: those of one that it is one with.
        `arrival`: what its issue is behind."""
        number, known, time = arrival
        if ONE_COPY not in self.run.readings or copy is None or copy.after is not None:
            return self._agents.numbered(number, "async", time)
        does = self._does(thread, copy)
        cta, lane = divmod(number, self.run.clocks.size)
        count = self._issued[number, thread.op] = self._issued.get((number, thread.op), 0) + 1
        key = cta, lane // WARP, thread.op, count
        before = self._copies.get(key)
        # Issued together: behind what all of them have met, and nobody has waited for anybody since.
        behind = known, self.polls(number)
        if does is not None and before is not None and before.does == does and before.is_behind(*behind):
            self.several.add(before.first)
            return before.first
        first = self._agents.numbered(number, "async", time)
        self._copies[key] = _Issued(does, *behind, first)
        return first

    def _does(self, thread: WatchedThread, copy: Told) -> object:
        """What a copy accesses, and by which accesses that was written last which it reads; None of one that is no copy to
        global memory."""
        given = [*copy.given()]
        if any(kind != "W" or self.run.is_shared(address) for kind, address, _ in given):
            return None
        found = []
        for address, size in copy.taken():
            segment, first = thread.segment(address)
            cells = self.run.shadow_of(segment).known(first, size)
            found.append((address, size, [(*c.writes.values(), *c.atomics.values()) for c in cells]))
        return found, given

    def may_be(self, agent: Agent, other: Access, access: Access) -> bool:
        """Whether two writes may be those of one copy: by one instruction, of one warp, to the same bytes."""
        same = other.kind == access.kind == "W" and (other.first, other.size) == (access.first, access.size)
        if not (same and agent.proxy == "async" and other.op == agent.op and self._agents.by_proxy(other.thread) >= 0):
            return False
        size = self.run.clocks.size
        (one, lane), (two, another) = (divmod(t, size) for t in (agent.party.thread, self._agents.issuer(other.thread)))
        return one == two and lane // WARP == another // WARP and lane != another
