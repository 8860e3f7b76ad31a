"""Asynchronous operations as agents of their own: what comes before their accesses, and who knows that they are complete.

What an operation does comes behind its issue, and before nothing but what its completion tells: a wait for its group, or for
the phase of an mbarrier object (section 8.9.1.1). Bulk copies access memory through the asynchronous proxy: what threads did
comes before that only by a fence between the proxies in the CTA that issues them (section 8.9.5).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import is_
from typing import TYPE_CHECKING

from axioms.dynamic.clocks import Arrival, Several, Table, several
from axioms.dynamic.fenced import unfenced
from axioms.dynamic.findings import ByteRace, Misuse, Open, Party, Stopped
from axioms.dynamic.maps import FENCED as _FENCED
from axioms.dynamic.maps import Maps
from axioms.dynamic.open_values import are_written
from axioms.dynamic.phases import Actor, Part
from axioms.dynamic.shadow import AGENTS, Access
from ptxcore.isa.async_copy import st_async
from ptxcore.isa.form import Use
from ptxcore.isa.launch import try_cancel
from ptxcore.isa.mbarrier import arrive_after_copies
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import Told, WatchedProduct, WatchedThread
from ptxcore.records import NamedTuple

if TYPE_CHECKING:
    from axioms.dynamic.determinate import Determinate

#: Numbers of agents, in the place of threads', begin here for CTAs' copies by `cp.async`, and for all other operations.
_COPIES, _OTHERS = AGENTS, 2 * AGENTS
#: How shared memory is called.
_SHARED_NAME = "shared memory"
#: What a fence of proxies is about: global memory, shared memory of its own CTA, of its cluster.
_GLOBAL, _OWN, _CLUSTER = range(1, 4)
#: The plane of what an initialisation comes behind by `fence.mbarrier_init`.
_INITS = 1
_SPACES = {
    "": (_GLOBAL, _OWN, _CLUSTER), "global": (_GLOBAL,), "shared::cta": (_OWN,), "shared::cluster": (_OWN, _CLUSTER),
}  # fmt: skip


class Agent(NamedTuple):
    """One asynchronous operation: who issued it, behind what; `writes` and `reads` stand for its accesses where threads'
    numbers stand, at a time; `parts`: what it hands on when it is complete."""

    party: Party
    op: int
    ops: Sequence[Op]
    arrival: Arrival
    proxy: str
    writes: int
    reads: int
    time: int
    parts: tuple[Part, ...]
    #: Of a product: what its threads knew at their last fences, and what this said of other accesses.
    fenced: Several | None
    known: dict[tuple[int, int, int], bool]
    #: Whether the manual leaves open if it comes behind what comes before its issue by program order alone.
    loosely: bool = False
    #: What stands for its end, where that is not what stands for its accesses.
    done: int = -1


class Groups:
    """The bulk operations of a thread: in no group yet, and by group. What groups tell of operations: all, or their reading."""

    def __init__(self) -> None:
        self.open: list[tuple[Told, bool]] = []
        self.closed: list[list[tuple[Told, bool]]] = []


class Copies:
    """The asynchronous operations of a launch."""

    def __init__(self, run: Determinate) -> None:
        self.run, self.clocks = run, run.clocks
        self.issued = 0
        #: A write through the asynchronous proxy that follows a read without a fence: it is told where nothing worse is.
        self.overwriting: ByteRace | None = None
        self._number = 0
        self.maps = Maps(run)
        #: Of each thread: how many copies by `cp.async` it issued, and how many when it closed each group.
        self._counts: dict[int, int] = {}
        self._closed: dict[int, list[int]] = {}
        self._bulk: dict[int, Groups] = {}
        #: What threads knew at their last `wgmma.fence` or fence of proxies, behind which products of theirs come.
        self._fenced: dict[int, Table] = {}
        #: Of the first thread of each warpgroup the tables that its threads had at their last product, and what they said.
        self._products: dict[int, tuple[list[Table], Several, dict[tuple[int, int, int], bool]]] = {}
        #: Of each thread when it issued products with its warpgroup, and what stands for these: one list for all of it.
        self._multiplied: dict[int, tuple[array[int], list[int]]] = {}
        #: The products that may access registers without a fence behind other accesses, by the identities of instructions.
        self._unfenced: set[int] | None = None
        #: Who issued what the numbers of other agents stand for, and in which proxy.
        self._issuers: dict[int, tuple[int, str]] = {}
        #: By CTA: operations on shared memory, and which of their accesses must be complete before it ends.
        self._unfinished: dict[int, list[tuple[Agent, int]]] = {}

    # Issue.

    def begins(self, thread: WatchedThread, how: Use, copy: Told | None) -> Agent:
        """An asynchronous operation is issued."""
        self.issued += 1
        number, party = thread.number, Party(thread.number, thread.instruction)
        arrival, ops = self.clocks.release(number), thread.launch.compiled.ops
        if how.form.run is arrive_after_copies:
            _, known, time = self._known(number, (self._own(number), self._counts.get(number, 0)))
            # The arrival is behind its issue, and so behind what has happened before that.
            known = {**self.run.tensor_memories.before(arrival), **known}
            parts = (Part(how.scope or "cta", number, (number, known, time)),)
            return Agent(party, thread.op, ops, arrival, "generic", -1, -1, 0, parts, None, {})
        if copy is None and how.form.mnemonic == "tcgen05":
            return self.run.tensor_memories.commits(thread)
        cancels = how.form.run is try_cancel
        if (
            copy is None
            and not cancels
            and (how.form.run is not st_async or how.sem == "release" or how.space != "shared::cluster")
        ):
            raise self.run.leaves(thread, "asynchronous")
        if copy is not None and copy.after is None and not how.words["bulk"]:
            time = self._counts[number] = self._counts.get(number, 0) + 1
            own = self._own(number)
            return self._noted(
                thread, copy, Agent(party, thread.op, ops, arrival, "generic", own, own, time, (), None, {})
            )
        proxy = "generic" if copy is None and not cancels else "async"
        first = self.numbered(number, proxy)
        _, known, _ = self._known(number, (first, 1), (first + 1, 1))
        if (
            self.clocks.cluster > 1 or self.run.tensor_memories.meets
        ):  # who waits has it from nobody else what came before
            known = {**self.run.tensor_memories.before(arrival), **known}
        parts = (Part("cluster", number, (number, known, 0)),)
        agent = Agent(party, thread.op, ops, arrival, proxy, first, first + 1, 1, parts, None, {})
        if copy is None:
            return agent
        self.maps.reads(agent)
        self._bulk.setdefault(number, Groups()).open.append((copy, copy.after is None))
        return self._noted(thread, copy, agent)

    def multiplies(self, threads: Sequence[WatchedThread], product: WatchedProduct) -> Agent:
        """The threads of a warpgroup issue a product. It is ordered after what is before their last fences, and not after other
        instructions before it (section 8.9.1.1)."""
        self.issued += 1
        number, launch = threads[0].number, threads[0].launch
        ops = launch.compiled.ops
        if self._unfenced is None:
            functions = launch.program.functions.values()
            self._unfenced = {id(op.instruction) for code in functions for op in unfenced(code)}
        if id(ops[product.op].instruction) in self._unfenced:
            self.run.doubts(threads[0], "unfenced")
        first = self.numbered(number, "async")
        party, arrival = Party(number, ops[product.op]), self.clocks.release(number)
        fenced, known = self._behind_fences([thread.number for thread in threads])
        agent = Agent(party, product.op, ops, arrival, "async", first, first + 1, 1, (), fenced, known)
        self._unfinished.setdefault(number // self.clocks.size, []).append((agent, agent.reads))
        _, products = self._multiplied.setdefault(number, (array("q"), []))
        products.append(agent.reads)
        for other in (arrival, *(self.clocks.release(thread.number) for thread in threads[1:])):
            self._multiplied.setdefault(other[0], (array("q"), products))[0].append(other[2])
        return agent

    def multiplied(self, arrival: Arrival, other: int, time: int) -> bool:
        """Whether an operation comes behind the end of a product that a thread issued past a time. It is an operation of the
        whole warpgroup (section 9.7.15), so before each of its threads has issued it it cannot be complete: else what it reads
        for that thread would be read behind its end."""
        times, products = self._multiplied.get(other, ((), ()))
        at = bisect_left(times, time)
        return at < len(times) and self.run.phases.knows(arrival, products[at], 1)

    def _behind_fences(self, numbers: Sequence[int]) -> tuple[Several, dict[tuple[int, int, int], bool]]:
        """What the threads of a warpgroup knew at their last fences, and what that said so far: the products between two
        fences ask the same."""
        tables = [self._fenced.get(number, {}) for number in numbers]
        last = self._products.get(numbers[0])
        if last is None or not all(map(is_, last[0], tables)):
            last = self._products[numbers[0]] = tables, several(tables), {}
        return last[1:]

    def of_products(self, thread: WatchedThread, action: str, complete: Sequence[WatchedProduct]) -> None:
        """A thread executes `wgmma.fence`, or has waited for products."""
        if action == "fence":
            self._fenced[thread.number] = self.clocks.known[thread.number]
        elif complete:
            self._learns(thread.number, *((product.agent.reads, 1) for product in complete))

    def numbered(self, issuer: int, proxy: str) -> int:
        """The first of two numbers that stand for an operation where threads' numbers stand."""
        first = _OTHERS * self.clocks.size + 2 * self._number
        self._number += 1
        self._issuers[first] = self._issuers[first + 1] = issuer, proxy
        return first

    def stands_for(self, agent: int, issuer: int) -> None:
        """A number stands for operations of a thread through the asynchronous proxy."""
        self._issuers[agent] = issuer, "async"

    def finishes(self, issuer: int, agent: Agent, number: int) -> None:
        """What a number stands for must be complete when the CTA of its thread ends."""
        self._unfinished.setdefault(issuer // self.clocks.size, []).append((agent, number))

    def _noted(self, thread: WatchedThread, copy: Told, agent: Agent) -> Agent:
        """What of an operation is about shared memory must be complete when its CTA ends."""
        unfinished = self._unfinished.setdefault(thread.number // self.clocks.size, [])
        for places, number in (
            (copy.taken(), agent.reads),
            (((address, size) for _, address, size in copy.given()), agent.writes),
        ):
            if any(self.run.is_shared(address) and size for address, size in places):
                unfinished.append((agent, number))
        return agent

    def _own(self, number: int) -> int:
        """What stands for copies by `cp.async` of a thread."""
        return _COPIES * self.clocks.size + number

    def _known(self, number: int, *agents: tuple[int, int]) -> Arrival:
        """An arrival behind nothing but accesses of agents, up to a time of each."""
        size = self.clocks.size
        table: Table = {}
        for agent, time in agents:
            cta, place = divmod(agent, size)
            times = table.setdefault(cta, [0] * size)
            times[place] = time
        return number, table, 0

    # Accesses.

    def accesses(self, agent: Agent, kind: str, place: tuple[Segment, int], size: int, commutes: str = "") -> None:
        """An operation accesses memory: it stands beside all that does not come before its issue."""
        segment, first = place
        run = self.run
        run.ticks()
        # A product and an operation of Tensor Memory know what they read; to a copy all are numbers, where it goes.
        if kind == "R" and agent.fenced is None and not are_written(segment, first, size):
            run.unknown = run.unknown or Open("unknown", agent.party)
        if id(segment) in run.phases.objects and run.phases.meets(segment, first, size):
            raise Stopped(Misuse("overwritten", (agent.party,)) if run.exact else Open("mbarrier", agent.party))
        owner = run.owner_of(segment)
        if owner >= 0 and owner != agent.party.thread // self.clocks.size and agent.done < 0:
            run.clusters.notes(owner, agent.reads if kind == "R" else agent.writes, agent.time, agent.party)
        elif owner < 0 and segment.name == _SHARED_NAME:
            raise Stopped(Misuse("exited", (agent.party,)) if run.exact else Open("cluster", agent.party))
        shadow = run.shadow_of(segment)
        number = agent.reads if kind == "R" else agent.writes
        access = Access(number, agent.time, agent.op, kind, "gpu" if kind == "A" else "", first, size, commutes)
        space = _GLOBAL if owner < 0 else _OWN if owner == agent.party.thread // self.clocks.size else _CLUSTER
        beside = shadow.beside(access, lambda other: self._ordered(agent, space, other, access), over=agent.loosely)
        if beside is not None:
            found = self.conflict(beside, access, shadow.name, agent.ops, follows=self._follows(agent, beside, access))
            if not (isinstance(found, ByteRace) and found.kind == "war"):
                raise Stopped(found)
            how = agent.party.op.use
            if how.form.run is try_cancel and not how.words["multicast"]:
                run.unknown = run.unknown or Open("response", agent.party)
            else:
                self.overwriting = self.overwriting or found
        places = run.places.get(id(segment), ())
        if places and any(byte in places for byte in range(first, first + size)):
            raise Stopped(Open("asynchronous", agent.party))

    def _ordered(self, agent: Agent, space: int, other: Access, access: Access) -> bool:
        """Whether an access comes before one of an operation."""
        if "war-ok" in self.run.readings and self._follows(agent, other, access):
            return True
        if agent.proxy == "generic":
            return self.run.phases.knows(agent.arrival, other.thread, other.time)
        if agent.fenced is None:
            return self._either_way(agent, agent.arrival[1], space, other)
        key = other.thread, other.time, space
        if key not in agent.known:
            agent.known[key] = self._all_ways(agent, agent.fenced, space, other) or self._loosely(agent, space, other)
        return agent.known[key]

    def _all_ways(self, agent: Agent, fenced: Several, space: int, other: Access) -> bool:
        """Whether each thread of a warpgroup may access so for a product. Raises Stopped where only some may."""
        if self._either_way(agent, fenced.each, space, other):
            return True
        if fenced.each is fenced.some or not self._either_way(agent, fenced.some, space, other):
            return False
        found = {self._either_way(agent, table, space, other) for table in fenced.tables}
        if len(found) > 1:
            raise Stopped(Open("warpgroup", agent.party))
        return found.pop()

    def _either_way(self, agent: Agent, table: Table, space: int, other: Access) -> bool:
        """Whether who knows what a table says may access through the asynchronous proxy for an operation, behind an access:
        where a pair of CTAs reads the memory of the peer, in the name of whom it reads is open."""
        pairs, cta = self.run.tensor_memories.pairs, agent.party.thread // self.clocks.size
        found = self._behind_fence(table, cta, space, other)
        owner = pairs.owner(agent.reads)
        if owner >= 0:
            other_way = self._behind_fence(table, owner, _OWN, other, owned=True)
        elif pairs.owner(other.thread) >= 0:
            other_way = self._behind_fence(table, cta, space, other, owned=True)
        else:
            return found
        if found == other_way or "pair-reads-by-issuer" in self.run.readings:
            return found
        if "pair-reads-own" not in self.run.readings:
            pairs.leaves_open(agent.party)
            return True
        return other_way

    def _loosely(self, agent: Agent, space: int, other: Access) -> bool:
        """Whether an access comes before the issue of an operation, of which the manual leaves open if that is enough."""
        readings = self.run.readings
        if not agent.loosely or "tcgen05-by-fence" in readings:
            return False
        found = self._either_way(agent, agent.arrival[1], space, other)
        if found and "tcgen05-by-sync" not in readings:
            self.run.unknown = self.run.unknown or Open("issue", agent.party)
        return found

    def _behind_fence(self, table: Table, cta: int, space: int, other: Access, *, owned: bool = False) -> bool:
        """Whether who knows what a table says may access through the asynchronous proxy, in a CTA, behind an access: with a
        fence between the proxies, or as another operation of the same proxy and CTA. `owned`: what a pair reads, each CTA reads
        of its own memory."""
        size, knows = self.clocks.size, self.run.phases.knows
        if knows((-1, table, 0), other.thread + _plane(cta, space) * size, other.time):
            return True
        issuer, proxy = self._issuers.get(other.thread, (0, "generic"))
        complete = knows((-1, table, 0), other.thread, other.time) or self.run.tensor_memories.completed(
            table, other.thread, other.time
        )
        owner = self.run.tensor_memories.pairs.owner(other.thread) if owned else -1
        return proxy == "async" and (owner if owner >= 0 else issuer // size) == cta and complete

    def _follows(self, agent: Agent, before: Access, access: Access) -> bool:
        """Whether a write through the asynchronous proxy comes behind a read through the other one, or by a `tcgen05`
        instruction in another CTA, but for a fence."""
        if not (before.kind == "R" and access.kind == "W" and agent.proxy == "async"):
            return False
        if self.is_agent(before.thread):
            return self.run.tensor_memories.completed(agent.arrival[1], before.thread, before.time)
        return self.run.phases.knows(agent.arrival, before.thread, before.time)

    def is_agent(self, number: int) -> bool:
        """Whether a number stands for an asynchronous operation."""
        return number >= _COPIES * self.clocks.size

    def issuer(self, number: int) -> int:
        """The thread that issued what a number stands for."""
        if not self.is_agent(number):
            return number
        return self._issuers[number][0] if number in self._issuers else number - _COPIES * self.clocks.size

    def conflict(
        self, before: Access, access: Access, where: str, ops: Sequence[Op], *, follows: bool = False
    ) -> ByteRace | Open:
        """Two accesses of which nothing orders one before the other."""
        parties = [Party(self.issuer(a.thread), ops[a.op]) for a in (before, access)]
        if not self.run.exact or before.kind == access.kind == "A":
            return Open("asynchronous", parties[1])
        if follows and not self.is_agent(access.thread) and self.run.tensor_memories.fenced_once(access.thread, before):
            return Open("pair", parties[1])
        first = max(before.first, access.first)
        last = min(before.first + before.size, access.first + access.size) - 1
        return ByteRace(parties[0], parties[1], where, first, last, "war" if follows else "async")

    def actor(self, agent: Agent) -> Actor:
        """In whose name an mbarrier object learns of an operation."""
        return Actor(agent.party.thread, agent.arrival, agent.parts, agent=True, proxy=agent.proxy)

    # Completion.

    def commits(self, thread: WatchedThread, how: Use) -> None:
        number = thread.number
        if how.words["bulk"]:
            groups = self._bulk.setdefault(number, Groups())
            groups.closed.append(groups.open)
            groups.open = []
        else:
            self._closed.setdefault(number, []).append(self._counts.get(number, 0))

    def waits(self, thread: WatchedThread, how: Use, pending: int) -> None:
        """A thread has waited for all of its groups but the last ones."""
        number = thread.number
        if not how.words["bulk"]:
            closed = self._closed.get(number, [])
            if len(closed) > pending:
                self._learns(number, (self._own(number), closed[len(closed) - pending - 1]))
            return
        groups = self._bulk.get(number)
        for group in groups.closed[: len(groups.closed) - pending] if groups is not None else ():
            for copy, whole in group:
                agent: Agent = copy.agent
                copy.read()
                known = [(agent.reads, 1), (agent.writes, 1)]
                self._learns(number, *known[: 1 if how.words["read"] or not whole else 2])

    def _learns(self, number: int, *agents: tuple[int, int]) -> None:
        self.clocks.known[number] = self.clocks.join(
            [(number, self.clocks.known[number], 0), self._known(number, *agents)]
        )

    def ends(self, threads: Iterable[int]) -> None:
        """The CTAs of a cluster have ended: what asynchronous operations do with their shared memory was waited for."""
        found = [pair for cta in {t // self.clocks.size for t in threads} for pair in self._unfinished.pop(cta, ())]
        latest = {number: (agent, number) for agent, number in found}
        for agent, number in latest.values():
            issuer = agent.party.thread
            if not any(self.clocks.ordered(t, number, agent.time) for t in (issuer, *threads)):
                raise Stopped(
                    Open("asynchronous", agent.party)
                    if self.run.phases.partly
                    else Misuse("unfinished", (agent.party,))
                )

    # Fences of proxies.

    def fence(self, thread: WatchedThread, how: Use) -> None:
        """What comes before a fence of the asynchronous proxy comes before operations that are issued behind it in its CTA."""
        if how.words["between"] == "alias":
            return  # nothing has two addresses
        spaces = _SPACES.get(how.words["of"])
        if (
            how.words["between"] != "async"
            or how.words["restrict"]
            or how.sem in ("acquire", "release")
            or spaces is None
        ):
            raise self.run.leaves(thread, "proxy_fence")
        number = thread.number
        cta = number // self.clocks.size
        table = self.clocks.join([self.clocks.release(number)])
        if _OWN in spaces:
            table.update(self.run.tensor_memories.across(table, cta))
        for key in [key for key in table if key >> _FENCED == 0]:
            for space in spaces:
                table[key + _plane(cta, space)] = table[key]
        self.clocks.known[number] = table
        if _OWN in spaces:  # products read shared memory, which a fence of global memory alone says nothing of
            self._fenced[number] = self.run.tensor_memories.fenced[number] = table

    def initialises(self, thread: WatchedThread) -> None:
        """`fence.mbarrier_init`: the objects that a thread initialised before it are there for asynchronous operations, too."""
        number = thread.number
        _, _, time = self.clocks.release(number)
        cta, place = divmod(number, self.clocks.size)
        times = [0] * self.clocks.size
        times[place] = time
        known = self.clocks.known[number]
        self.clocks.known[number] = self.clocks.join(
            [(number, known, 0), (number, {cta + (_INITS << _FENCED): times}, 0)]
        )

    def initialisations(self, number: int) -> Arrival:
        """What is known of objects that were initialised before `fence.mbarrier_init`, and of nothing else."""
        known = self.clocks.known[number]
        return number, {key: times for key, times in known.items() if key >> _FENCED == _INITS}, 0

    def knows_initialised(self, table: Table, other: int, time: int) -> bool:
        """Whether somebody knows by such a fence alone that a thread has initialised an object."""
        return self.run.phases.knows((-1, table, 0), other + (_INITS << _FENCED) * self.clocks.size, time)

    def initialised(self, actor: Actor, other: int, time: int, segment_cta: int) -> bool:
        """Whether an mbarrier object that a thread initialised is one for an asynchronous operation."""
        knows = self.run.phases.knows
        if actor.proxy == "generic":
            return knows(actor.arrival, other, time) or self.knows_initialised(actor.arrival[1], other, time)
        size, table = self.clocks.size, actor.arrival[1]
        planes = {key >> _FENCED for key in table if key >> _FENCED}
        for plane in planes:
            cta, space = divmod(plane, 4)
            covers = plane == _INITS or (space == _OWN and cta - 1 == segment_cta) or space == _CLUSTER
            if covers and knows((-1, table, 0), other + (plane << _FENCED) * size, time):
                return True
        return False


def _plane(cta: int, space: int) -> int:
    """What is added to a key of a table for what is known behind a fence of proxies in a CTA."""
    return ((cta + 1) * 4 + space) << _FENCED


__all__ = ["Agent", "Copies"]
