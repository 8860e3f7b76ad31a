"""Bulk copies of which threads of a warp issue one each, by one instruction, of the same bytes to the same places.

By the letter each is a copy, and those to global memory race: nothing orders their writes. CUTLASS stores the tiles of its
epilogue so, by all threads of a warp. A reading takes such copies for one, of which each of these threads has the completion,
where nothing is written between that they read.
"""

from __future__ import annotations

from collections.abc import Sequence

from axioms.dynamic.asynchronous.agents import Agent, Agents
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.core.shadow import Access
from ptxcore.machine.run.special import WARP
from ptxcore.machine.run.watched import Told, WatchedThread

#: The reading.
ONE_COPY = "one-copy-a-warp"


class AlikeCopies:
    """The copies of a launch."""

    def __init__(self, run: LaunchState, agents: Agents) -> None:
        self.run, self._agents = run, agents
        #: How often a thread has issued a copy by an instruction.
        self._issued: dict[tuple[int, int], int] = {}
        #: By the warp, the instruction and that: what copies do and have found, with the number that stands for all that do so,
        #: and their threads.
        self._copies: dict[tuple[int, int, int, int], tuple[object, int, list[int]]] = {}
        #: The numbers that stand for several copies.
        self.several: set[int] = set()

    def number(self, thread: WatchedThread, copy: Told | None, time: int) -> int:
        """The first of two numbers that stand for a copy where threads' numbers stand: those of one that it is one with,
        of which nobody has the completion yet. `time`: that of its thread."""
        number = thread.number
        if ONE_COPY not in self.run.readings or copy is None or copy.after is not None:
            return self._agents.numbered(number, "async", time)
        does = self._does(thread, copy)
        cta, lane = divmod(number, self.run.clocks.size)
        count = self._issued[number, thread.op] = self._issued.get((number, thread.op), 0) + 1
        key = cta, lane // WARP, thread.op, count
        before = self._copies.get(key)
        if (
            does is not None
            and before is not None
            and before[0] == does
            and not self._is_complete(before[1], before[2])
        ):
            self.several.add(before[1])
            before[2].append(number)
            return before[1]
        first = self._agents.numbered(number, "async", time)
        self._copies[key] = does, first, [number]
        return first

    def _is_complete(self, first: int, issuers: Sequence[int]) -> bool:
        """Whether some issuer has waited for what a number stands for, or for its reading."""
        return any(self.run.clocks.ordered(n, first, 1) or self.run.clocks.ordered(n, first + 1, 1) for n in issuers)

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
