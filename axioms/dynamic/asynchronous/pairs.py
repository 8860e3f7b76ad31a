"""Pairs of CTAs (`.cta_group::2`) in a launch that is followed: what they do together, and the shared memory of the peer CTA
(PTX ISA 9.0, sections 9.7.16.5 and 9.7.16.7.1).

One warp of each CTA comes to an instruction about allocation, and these "collectively" perform it: one operation, behind what
either warp is behind, of which both know then. A product, a copy or a shift accesses both Tensor Memories, and needs a peer CTA
that is there: at its issue, and until it is complete.

A product or copy reads the shared memory of both. In whose name it reads that of the peer, the manual does not tell: it has
accesses of one proxy in order "by the same thread block" (section 8.9.5), and such an operation is performed "at CTA pair
granularity" (section 9.7.16.5.1). So what is ordered if one reads for oneself, or if each CTA reads what is its own, and not
both ways, is open, but under a reading that says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.asynchronous.tensor_order import HERE, READ, TENSOR_AGENTS, THERE, TensorOrder
from axioms.dynamic.core.clocks import PLANE, Table
from axioms.dynamic.core.findings import Misuse, Open, Party, Stopped
from axioms.dynamic.core.shadow import AGENTS
from ptxcore.machine.run.special import WARP
from ptxcore.machine.run.watched import WatchedThread

#: Numbers of agents, in the place of threads', for what operations of a thread read of the peer's shared memory: that of the
#: thread with the same index in the peer CTA, more than this.
_PEERS = 4 * AGENTS


class Pairs:
    """The pairs of CTAs of a launch."""

    def __init__(self, run: LaunchState, order: TensorOrder) -> None:
        self.run, self.clocks, self._order = run, run.clocks, order
        #: By the CTA that must be there: who issued something about it from its peer, when last, and by what; and how much of
        #: what it issued must be complete, by the number that stands for that.
        self._issued: dict[int, dict[int, tuple[int, Party]]] = {}
        self._begun: dict[int, dict[int, tuple[int, Party]]] = {}
        self._peers: dict[int, int] = {}

    # The peer CTA.

    def peer(self, thread: WatchedThread) -> int:
        """The number of the peer of a thread's CTA."""
        cta = thread.number // self.clocks.size
        peer: int = cta + (-1 if thread.cta.rank & 1 else 1)
        self._peers[cta] = peer
        return peer

    def issues(self, thread: WatchedThread) -> None:
        """A thread issues something that is about its peer CTA, too."""
        number = thread.number
        party = Party(number, thread.instruction)
        self._issued.setdefault(self.peer(thread), {})[number] = self.clocks.own[number], party

    def begins(self, thread: WatchedThread, done: int, count: int) -> None:
        """What it issues is about memory of the peer CTA until it is complete: `done` knows of that, with the count."""
        self.issues(thread)
        self._begun.setdefault(self.peer(thread), {})[done] = count, Party(thread.number, thread.instruction)

    def ends(self, cta: int) -> None:
        """A CTA ends: something that one of its threads did comes behind all this. Raises Stopped."""
        self._forget(cta, range(cta * self.clocks.size, (cta + 1) * self.clocks.size))
        left = [*self._issued.pop(cta, {}).values(), *self._begun.pop(cta, {}).values()]
        if left:
            certain, party = self.run.exact and not self.run.partly, left[0][1]
            raise Stopped(Misuse("exited", (party,)) if certain else Open("cluster", party))

    def met(self, lanes: Sequence[int]) -> None:
        """Threads of both CTAs do something together: what some of them know comes before what the others do then."""
        for cta in {lane // self.clocks.size for lane in lanes}:
            self._forget(cta, lanes)

    def _forget(self, cta: int, threads: Sequence[int]) -> None:
        """What must come before the end of a CTA does, of which one of these threads knows."""
        ordered, known, executed = self.clocks.ordered, self.clocks.known, self._order.executed
        for found in (self._issued.get(cta, {}), self._begun.get(cta, {})):
            for number, (time, _) in list(found.items()):
                if any(ordered(t, number, time) or executed(known[t], number, time) for t in threads):
                    del found[number]

    # Its shared memory.

    def reads(self, thread: WatchedThread) -> int:
        """What stands for reads of the peer's shared memory by a thread's operations."""
        place: int = thread.number % self.clocks.size
        return (_PEERS + self.peer(thread)) * self.clocks.size + place

    def owner(self, number: int) -> int:
        """Of such a number, the CTA whose memory is read; -1 of any other."""
        owner = number // self.clocks.size - _PEERS
        return owner if 0 <= owner < AGENTS else -1

    def across(self, table: Table, cta: int) -> Table:
        """What a fence of proxies in a CTA says of reads of its own shared memory that are complete: accesses through the
        generic proxy come behind them."""
        key = TENSOR_AGENTS + cta + (READ << PLANE)
        own = {TENSOR_AGENTS + cta: table[key]} if key in table else {}
        return {**own, **self._fenced(table, cta)}

    def _fenced(self, table: Table, cta: int) -> Table:
        """What it says of reads of the memory of one of a pair by the other that are complete. Planes have of what a fence
        stands in the CTA whose memory it is, and in the other one. Accesses through the generic proxy come behind what both
        have, or under a reading the CTA in whose name it is read."""
        own, by_issuer = (r in self.run.readings for r in ("pair-reads-own", "pair-reads-by-issuer"))
        found: Table = {}
        for owner, mine, other in ((cta, HERE, THERE), (self._peers.get(cta, -1), THERE, HERE)):
            base = _PEERS + owner
            times = table.get(base + (READ << PLANE)) if owner >= 0 else None
            if times is not None:
                found[base + (mine << PLANE)] = times
                if (own and mine == HERE) or (by_issuer and mine == THERE):
                    found[base] = times
                elif others := table.get(base + (other << PLANE)):
                    found[base] = list(map(min, times, others))
        return found

    def leaves_open(self, party: Party) -> None:
        self.run.leaves_open(Open("pair", party))

    # Allocation.

    def lanes(self, thread: WatchedThread, warps: tuple[int, int]) -> Sequence[int]:
        """The threads of two warps, of the even and of the odd CTA of a thread's pair."""
        even = min(thread.number // self.clocks.size, self.peer(thread))
        firsts = [(even + side) * self.clocks.size + WARP * warp for side, warp in enumerate(warps)]
        return list(chain.from_iterable(range(first, first + WARP) for first in firsts))


__all__ = ["Pairs"]
