"""Tensor Memory in a launch that is followed: which accesses `tcgen05` orders, and what is allocated (PTX ISA 9.0, section
9.7.16).

What orders accesses beside base causality order has planes of its own in what threads know: `asynchronous.tensor_order`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from axioms.dynamic.asynchronous.agent_accesses import AgentAccesses
from axioms.dynamic.asynchronous.agent_order import AgentOrder
from axioms.dynamic.asynchronous.agents import Agent, Agents, Part
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.asynchronous.pairs import Pairs
from axioms.dynamic.asynchronous.phases import Phases
from axioms.dynamic.asynchronous.tensor_accesses import Cells, Columns, Touching
from axioms.dynamic.asynchronous.tensor_order import DONE, LOADED, QUEUED, READ, STORED, TensorOrder
from axioms.dynamic.core.clocks import PLANE, Table, several
from axioms.dynamic.core.findings import ByteRace, Misuse, Open, Party, Stopped
from axioms.dynamic.core.shadow import Access
from ptxcore.machine.run.special import WARP
from ptxcore.machine.run.tensor_memory import TensorMemory, pipelined
from ptxcore.machine.run.watched import WatchedThread

#: Instructions whose accesses complete with `tcgen05.wait`, with the plane of their warp.
_WAITED = {"ld": LOADED, "st": STORED}
_TRACKED = "tracked"
_BY_SYNC = "tcgen05-by-sync"
_WHERE = "Tensor Memory"
#: Stands for an allocation whose address another thread of the warp has stored.
_STORED_ALREADY = -1
LEAK = "columns of Tensor Memory that are allocated when the CTA ends (section 9.7.16.7.1)"


class Tensors:
    """The Tensor Memories of a launch, as `ptxcore.machine.run.watched_tensors.TensorWatcher` is told of them."""

    def __init__(
        self,
        run: LaunchState,
        agents: Agents,
        order: TensorOrder,
        *,
        pairs: Pairs,
        phases: Phases,
        agent_order: AgentOrder,
        accesses: AgentAccesses,
    ) -> None:
        self.run, self.clocks, self._agents, self._order, self._pairs = run, run.clocks, agents, order, pairs
        self._phases, self._agent_order, self._accesses = phases, agent_order, accesses
        self._cells: dict[int, tuple[TensorMemory, Cells]] = {}
        #: How much of each kind a thread has begun, how much of it it has waited for, and that with its time at each wait.
        self._begun: dict[tuple[int, str], int] = {}
        self._waited: dict[tuple[int, str], int] = {}
        self._waits: dict[tuple[int, str], list[tuple[int, int]]] = {}
        #: What threads knew at their last `fence::after_thread_sync`; and at this or their last fence of proxies.
        self._ordered: dict[int, Table] = {}
        self.fenced: dict[int, Table] = {}
        #: What stands for an allocation whose address is about to be stored; by memory and warp, what stands for what its
        #: threads do together, and who of them has not done it.
        self.storing: int | None = None
        self._together: dict[tuple[int, int], tuple[int, set[int]]] = {}

    # Accesses.

    def begins(self, thread: WatchedThread, kind: str, place: Any, *, pair: bool = False) -> Touching:
        """A thread begins an asynchronous access."""
        number = thread.number
        counted = kind if kind in _WAITED else _TRACKED
        count = self._begun[number, counted] = self._begun.get((number, counted), 0) + 1
        party = Party(number, thread.instruction)
        shared = peers = None
        if counted == _TRACKED:
            self._agents.issued += 1
            shared = self._agent(thread, party, count)
            if pair:
                self._pairs.begins(thread, shared.done, count)
                reads = self._pairs.reads(thread)
                self._agents.stands_for(reads, number)
                peers = shared._replace(reads=reads, writes=reads, known={})
        return Touching(
            party, kind, place, count, self._ordered.get(number, {}), self.clocks.known[number], shared, peers
        )

    def _agent(self, thread: WatchedThread, party: Party, count: int) -> Agent:
        """What stands for a product, a copy or a shift where memory is looked after; it is complete when the CTA ends."""
        number = thread.number
        reads = self._order.agent_of(number)
        self._agents.stands_for(reads, number)
        done = number + (DONE << PLANE) * self.clocks.size
        ops, fenced = thread.launch.compiled.ops, several((self.fenced.get(number, {}),))
        agent = Agent(
            party,
            thread.op,
            ops,
            self.clocks.release(number),
            "async",
            reads,
            reads,
            count,
            (),
            fenced,
            {},
            loosely=True,
            done=done,
        )
        self._agents.finishes(number, agent, done)
        return agent

    def reads_shared(self, touching: Touching, cta: Any, offset: int, size: int) -> None:
        own = self.run.owner_of(cta.shared) == touching.party.thread // self.clocks.size
        agent = touching.shared if own else touching.peers
        assert agent is not None
        self._accesses.accesses(agent, "R", (cta.shared, offset), size)

    def touches(self, touching: Touching, memory: TensorMemory, lanes: Any, columns: Any, *, writes: bool) -> None:
        """An access reads or writes cells: it must come behind all that is done to them."""
        import numpy as np

        self.run.ticks()
        cells = self._of(memory)
        number = touching.party.thread
        for first in {self._allocation(cells, column) for column in np.unique(np.asarray(columns)).tolist()}:
            owner = cells.columns[first]
            if not self.clocks.ordered(number, owner.agent, 1):
                self._races(owner.party, touching.party, first, memory.allocated[first])
        for before in (cells.writes, cells.reads) if writes else (cells.writes,):
            for found in np.unique(before[lanes, columns]).tolist():
                for other in cells.lists[found]:
                    if other is not touching and not self._behind(other, touching):
                        at = np.unique(np.broadcast_arrays(columns, before[lanes, columns] == found)[0])
                        self._unordered(other, touching, int(at[0]), 1)
        if writes:
            cells.writes[lanes, columns] = cells.number((touching,))
            cells.reads[lanes, columns] = 0
            return
        old = cells.reads[lanes, columns]
        new = old.copy()
        for found in np.unique(old).tolist():
            kept = tuple(other for other in cells.lists[found] if not self._stands_for(touching, other))
            new[old == found] = cells.number((*kept, touching))
        cells.reads[lanes, columns] = new

    def _of(self, memory: TensorMemory) -> Cells:
        found = self._cells.get(id(memory))
        if found is None:
            found = self._cells[id(memory)] = memory, Cells()
        return found[1]

    @staticmethod
    def _allocation(cells: Cells, column: int) -> int:
        """The first column of the allocation that a column belongs to."""
        return max(first for first in cells.columns if first <= column)

    def _warp(self, number: int) -> int:
        """The first thread of a thread's warp."""
        cta, place = divmod(number, self.clocks.size)
        return cta * self.clocks.size + place // WARP * WARP

    def _stands_for(self, later: Touching, before: Touching) -> bool:
        """Whether what comes behind an access comes behind an earlier one as well: of one thread, and one sort."""
        return (later.party.thread, later.kind, later.place) == (before.party.thread, before.kind, before.place)

    def _behind(self, before: Touching, later: Touching) -> bool:
        """Whether an access comes behind another one."""
        by_sync = _BY_SYNC in self.run.readings
        return self._by_fences(before, later) or (by_sync and self._by_sync(before, later))

    def _by_sync(self, before: Touching, later: Touching) -> bool:
        """Whether synchronization as of other instructions orders two accesses: it acquires that the first one is complete."""
        one, known = before.party.thread, later.known
        if before.kind not in _WAITED:
            return self._order.completed(known, self._order.agent_of(one), before.number)
        waits = ((lane, self._waits.get((lane, before.kind), [])) for lane in self._lanes(one))
        found = ((lane, w[at][1]) for lane, w in waits if (at := bisect_left(w, (before.number, 0))) < len(w))
        return any(self.clocks.knows((-1, known, 0), *first) for first in found)

    def _by_fences(self, before: Touching, later: Touching) -> bool:
        """Whether an access comes behind another one by the rules for `tcgen05` (section 9.7.16.6.4)."""
        one, two = before.party.thread, later.party.thread
        if before.kind in _WAITED:
            if self._warp(one) == self._warp(two):
                return self._waited.get((two, before.kind), 0) >= before.number
            return self._order.says(later.behind, _WAITED[before.kind], self._warp(one), before.number)
        if pipelined(before, later) and (one == two or self._order.says(later.behind, QUEUED, one, before.number)):  # type: ignore[arg-type]
            return True
        return self._order.says(later.behind, DONE, one, before.number)

    def _missing(self, before: Touching, later: Touching) -> str:
        """What would order two accesses, by its name in `ptxmm.words.whole`."""
        one, two = before.party.thread, later.party.thread
        if before.kind in _WAITED:
            if self._waited.get((one, before.kind), 0) < before.number:
                return before.kind
            return "fences"
        known = self.clocks.known[two]
        return "after" if self._order.says(known, DONE, one, before.number) else "commit"

    def _unordered(self, before: Touching, later: Touching, first: int, count: int) -> None:
        """Nothing orders two accesses to the same columns. Raises Stopped."""
        reading = _BY_SYNC if self._by_sync(before, later) else ""
        self._races(before.party, later.party, first, count, self._missing(before, later), reading)

    def _races(
        self, before: Party, after: Party, first: int, count: int, missing: str = "allocation", reading: str = ""
    ) -> None:
        """Nothing orders what two do to the same columns. Raises Stopped."""
        if not self.run.exact:
            raise Stopped(Open("asynchronous", after))
        raise Stopped(ByteRace(before, after, _WHERE, first, first + count - 1, "async", missing, reading))

    # Completion and fences.

    def waits(self, thread: WatchedThread, kind: str) -> None:
        key = thread.number, kind
        count = self._begun.get(key, 0)
        if count > self._waited.get(key, 0):
            self._waits.setdefault(key, []).append((count, self.clocks.own[thread.number]))
        self._waited[key] = count

    def fences(self, thread: WatchedThread, which: str) -> None:
        number = thread.number
        if which == "fence::after_thread_sync":
            self._ordered[number] = self.fenced[number] = self.clocks.known[number]
            return
        known = [(plane, self._warp(number), self._waited.get((number, kind), 0)) for kind, plane in _WAITED.items()]
        known.append((QUEUED, number, self._begun.get((number, _TRACKED), 0)))
        self._order.learns(number, self._order.table(*(k for k in known if k[2])))

    def commits(self, thread: WatchedThread) -> Agent:
        """A commit: what is handed on when all that it tracks is complete; it is one more of them."""
        self._agents.issued += 1
        number, party = thread.number, Party(thread.number, thread.instruction)
        count = self._begun[number, _TRACKED] = self._begun.get((number, _TRACKED), 0) + 1
        read = [self._order.agent_of(number)]
        if thread.instruction.use.has("cta_group::2"):
            self._pairs.issues(thread)
            read.append(self._pairs.reads(thread))
        planes = (READ, 0) if "war-ok" in self.run.readings else (READ,)
        known = [(DONE, number, count), *((plane, reads, count) for plane in planes for reads in read)]
        agent = self._agent(thread, party, count)
        part = Part("cluster", number, (number, {**self._order.before(agent.arrival), **self._order.table(*known)}, 0))
        return agent._replace(proxy="generic", writes=agent.done, reads=agent.done, parts=(part,), fenced=None)

    # Allocation.

    def allocates(self, thread: WatchedThread, memory: TensorMemory, address: int, columns: int) -> None:
        """One more thread of a warp is told of its allocation, and stores where it is."""
        agent, first = self._manages(thread, memory)
        self._of(memory).columns.setdefault(address, Columns(Party(thread.number, thread.instruction), agent))
        self.storing = agent if first else _STORED_ALREADY

    def stores(self, thread: WatchedThread, address: int, size: int) -> None:
        """It stores the address, as its warp does: one store of all, behind what comes before any of them."""
        agent, self.storing = self.storing, None
        assert agent is not None
        if agent == _STORED_ALREADY:
            return
        run, (segment, first) = self.run, thread.segment(address)
        if id(segment) in self._phases.objects:
            self._phases.touched(thread, segment, first, size)
        access = Access(agent, 1, thread.op, "W", "", first, size)
        shadow, ordered, lanes = run.shadow_of(segment), self.clocks.ordered, self._lanes(thread.number)
        found = shadow.beside(access, lambda o: any(ordered(lane, o.thread, o.time) for lane in lanes))
        if found is not None:
            raise Stopped(self._agent_order.conflict(found, access, shadow.name, thread.launch.compiled.ops))
        places = run.places.get(id(segment), ())
        if places and any(byte in places for byte in range(first, first + size)):
            raise run.leaves(thread, "unordered")

    def frees(self, thread: WatchedThread, memory: TensorMemory, address: int, columns: int) -> None:
        """Columns are given back by one more thread of a warp: all that was done to them is complete, and some thread of the
        warp knows it."""
        _, first = self._manages(thread, memory)
        if first:
            self._gives_back(thread, memory, (address, columns), self._lanes(thread.number))

    def _gives_back(
        self, thread: WatchedThread, memory: TensorMemory, what: tuple[int, ...], lanes: Iterable[int]
    ) -> None:
        """Threads give columns back together."""
        import numpy as np

        address, columns = what
        cells, here = self._of(memory), slice(address, address + columns)
        if memory.allocated.get(address) != columns or address not in cells.columns:
            return  # the machine has an error there
        parties = [Party(lane, thread.instruction) for lane in lanes]
        knowing = [Touching(p, "dealloc", None, 0, known := self.clocks.known[p.thread], known) for p in parties]
        for before in (cells.writes, cells.reads):
            for found in np.unique(before[:, here]).tolist():
                for other in cells.lists[found]:
                    if not any(self._behind(other, after) for after in knowing):
                        freeing = knowing[0]._replace(party=Party(thread.number, thread.instruction))
                        self._unordered(other, freeing, address, columns)
            before[:, here] = 0
        del cells.columns[address]

    def relinquishes(self, thread: WatchedThread, memory: TensorMemory) -> None:
        self._manages(thread, memory)

    def meet(
        self, thread: WatchedThread, name: str, memory: TensorMemory, what: tuple[int, ...], warps: tuple[int, int]
    ) -> None:
        """Two warps of a pair have come to what they do together; all their threads know of it then."""
        lanes = self._pairs.lanes(thread, warps)
        agent = self._agents.numbered(thread.number, "generic")
        self._in_order(thread, memory, agent, lanes)
        self._pairs.met(lanes)
        if name == "dealloc":
            self._gives_back(thread, memory, what, lanes)
        elif name == "alloc":
            self._of(memory).columns[what[0]] = Columns(Party(thread.number, thread.instruction), agent)
        for lane in lanes:
            self._order.learns(lane, self._order.table((0, agent, 1)))

    def takes(self, thread: WatchedThread, memory: TensorMemory) -> None:
        """One more thread of a warp of a pair is told where its columns are, and stores that."""
        agent, first = self._part(thread, memory)
        self.storing = agent if first else _STORED_ALREADY

    def _manages(self, thread: WatchedThread, memory: TensorMemory) -> tuple[int, bool]:
        """A thread does its part of what its warp does about allocation, of which each thread of the warp knows then; gives
        what stands for it, and whether it is the first one."""
        agent, first = self._part(thread, memory)
        if first:
            self._in_order(thread, memory, agent, self._lanes(thread.number))
        return agent, first

    def _part(self, thread: WatchedThread, memory: TensorMemory) -> tuple[int, bool]:
        """A thread does its part of what its warp does together, of which each thread of the warp knows then."""
        number = thread.number
        key = id(memory), self._warp(number)
        agent, left = self._together.get(key, (0, set()))
        first = not left
        if first:
            agent, left = self._agents.numbered(self._warp(number), "generic"), set(range(WARP))
            self._together[key] = agent, left
        left.discard(thread.lane)
        self._order.learns(number, self._order.table((0, agent, 1)))
        return agent, first

    def _in_order(self, thread: WatchedThread, memory: TensorMemory, agent: int, lanes: Iterable[int]) -> None:
        """In which order a CTA does things about allocation must be certain: some thread that does this knows of the last
        one."""
        cells = self._of(memory)
        before, cells.last = cells.last, agent
        if before is not None and not any(self.clocks.ordered(lane, before, 1) for lane in lanes):
            self.run.doubts(thread, "allocation")

    def _lanes(self, number: int) -> range:
        """The threads of a thread's warp, which all come to what it does about allocation before any of them does it."""
        return range(self._warp(number), self._warp(number) + WARP)

    def ends(self, cta: Any, number: int) -> None:
        """A CTA ends, with its number, and with it its Tensor Memory. Raises Stopped where columns are allocated, or its peer
        needs it still."""
        _, cells = self._cells.pop(id(cta.tensor_memory), (None, None))
        if cells is not None and cells.columns:
            raise Stopped(Misuse(LEAK, (next(iter(cells.columns.values())).party,)))
        self._pairs.ends(number)


__all__ = ["LEAK", "Tensors", "Touching"]
