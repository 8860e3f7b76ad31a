"""Whether one run stands for all executions: what threads do is checked while it happens.

It does where each pair of conflicting accesses is ordered (or of atomic operations that commute), each instance of a barrier
has the threads that it must have, and nothing else is left open: docs/whole-launches has the theorem. The first thing that
is not so ends the run: a race, or something that is `Open`, of which this way knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from axioms.dynamic.asynchronous.agent_accesses import AgentAccesses
from axioms.dynamic.asynchronous.agent_order import AgentOrder
from axioms.dynamic.asynchronous.agents import Agent, Agents
from axioms.dynamic.asynchronous.alike_copies import AlikeCopies
from axioms.dynamic.asynchronous.clusters import Clusters
from axioms.dynamic.asynchronous.copies import Copies
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.asynchronous.maps import Maps
from axioms.dynamic.asynchronous.pairs import Pairs
from axioms.dynamic.asynchronous.phases import Phases
from axioms.dynamic.asynchronous.products import WarpgroupProducts
from axioms.dynamic.asynchronous.proxies import Proxies
from axioms.dynamic.asynchronous.tensor_order import TensorOrder
from axioms.dynamic.asynchronous.tensors import Tensors
from axioms.dynamic.core.accesses import LEVELS, ORDERING, Commuting, conflict, done, is_one, scope_of, stored
from axioms.dynamic.core.clocks import Arrival, Instance
from axioms.dynamic.core.findings import ByteRace, Open, Party, Stopped
from axioms.dynamic.core.open_values import OpenValues
from axioms.dynamic.core.sequential_fences import SequentialFences
from axioms.dynamic.core.shadow import CONSTANT, Access
from axioms.dynamic.core.sums import AddedAround, Sums, is_sum
from axioms.dynamic.one_run.convergence import Convergence
from axioms.dynamic.one_run.polls import Polling, Polls
from axioms.dynamic.waits.strong_reads import StrongRead
from axioms.dynamic.waits.waiting import Poll, WrittenBytes, leading
from axioms.dynamic.waits.written import Hand, Written, behind
from ptxcore.isa.effect_kinds import FENCE, GRID, PROXY_FENCE
from ptxcore.isa.form import ACQUIRES, RELEASES, Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, SHARED_OFFSET
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import Told, WatchedProduct, WatchedThread, Write


class Determinate(LaunchState):
    """Watches one launch (`ptxcore.machine.run.watched.RunWatcher`). `meetings`: how many it checked."""

    #: Whether the run stands for all executions alone; of several runs, phases and asynchronous operations are not looked at.
    alone = True
    #: Whether it is kept what has been executed before a thread goes on that waited, whatever that orders.
    keeps_executed = False

    def __init__(self, size: int) -> None:
        """`size`: the threads of a CTA."""
        super().__init__(size)
        self.polls_of = Polls(self, Polling())
        self._told: int | None = None
        #: The indices of the CTAs, in the order of their threads' numbers.
        self.indices: list[tuple[int, int, int]] = []
        self.arrived: dict[tuple[int, int], list[tuple[Arrival, bool]]] = {}
        self.counts: dict[tuple[int, int], int | None] = {}
        self.last: dict[tuple[int, int], Instance] = {}
        self.meetings, self._commuted = 0, False
        self.open_values = OpenValues()
        #: Where threads poll.
        self.polled: dict[int, Poll] = {}
        #: Where threads that polled in vain poll again: executions without that round have no fence on the way there.
        self.vain: dict[int, int] = {}
        self.sums = Sums()
        self.sequential = SequentialFences(self.clocks)
        self._make_parts()
        self._strong: dict[int, str] = {}
        self._commuting, self._convergence = Commuting(), Convergence()

    def _make_parts(self) -> None:
        """What is asked of particular operations. Each part is given those below it."""
        self.agents, order = Agents(self.clocks), TensorOrder(self.clocks)
        self._tensor_order, pairs = order, Pairs(self, order)
        self.proxies = Proxies(self, self.agents, order, pairs)
        self.products = WarpgroupProducts(self, self.agents)
        self._agent_order = AgentOrder(self, self.agents, order, pairs, self.proxies)
        self.phases = Phases(self, order, self.proxies, self.products)
        self.clusters = Clusters(self, order, self.proxies)
        alike = AlikeCopies(self, self.agents, lambda n: self.polled[n].block if n in self.polled else -1)
        self.agent_accesses = AgentAccesses(self, alike, self._agent_order, self.phases, self.clusters)
        self.maps = Maps(self, self._agent_order)
        self.copies = Copies(self, self.agents, order, self.maps, alike)
        self.tensor_memories = Tensors(
            self, self.agents, order, pairs=pairs, phases=self.phases, agent_order=self._agent_order,
            accesses=self.agent_accesses,
        )  # fmt: skip

    @property
    def follows_agents(self) -> bool:
        """Whether phases, clusters and asynchronous operations are looked at."""
        return self.alone

    @property
    def commuted(self) -> bool:
        """Whether some atomic operations may come in any order."""
        return self._commuted or any(shadow.commuted for shadow in self.shadows.values())

    def observing(self, segment: Segment) -> Callable[[Access, Access], bool] | None:
        return partial(self.polls_of.observed, segment) if self.alone else None

    # Threads.

    def enters(self, cta: Any) -> int:
        if id(cta.shared) not in self._owners:
            while len(self.clocks.own) % self.size:  # a CTA before it has fewer threads than others
                self.clocks.enter()
        number = self.clocks.enter()
        if number % self.size == 0:
            self.indices.append(cta.index)
            self._owners[id(cta.shared)] = number // self.size
            self.clusters.enters(cta, number)
        return number

    def ends(self, cta: Any) -> None:
        first = self._owners.pop(id(cta.shared)) * self.size
        self.polls_of.ends(range(first, first + self.size))
        self.copies.ends(self.clusters.ends(cta, range(first, first + self.size)))
        self.tensor_memories.ends(cta, first // self.size)
        shadow = self.shadows.pop(id(cta.shared), None)
        self.places.pop(id(cta.shared), None)
        self.phases.objects.pop(id(cta.shared), None)
        self._commuted = self._commuted or (shadow is not None and shadow.commuted)

    # Accesses.

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        self._told = None
        if self.polls_of.is_gathered(thread) and self.performing is None:
            self.polls_of.sleeps(thread, *thread.segment(address), size, self._lead(thread))
        self._access(thread, "R", address, size)
        return self._told

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        if self.tensor_memories.storing is not None:
            self.tensor_memories.stores(thread, address, size)
        else:
            self._access(thread, "W", address, size, value=value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        commutes = self._commuting.of(thread, how)
        value = self.sums.operand(thread, how, address, size, write) if commutes else None
        self._access(thread, "A", address, size, commutes, value)
        return None

    def _access(
        self, thread: WatchedThread, kind: str, address: int, size: int, commutes: str = "", value: Any = None
    ) -> None:
        if address < FIRST_GLOBAL:
            if not self.is_shared(address):
                return  # the thread's own, or constant
            if address & ~SHARED_OFFSET != thread.shared:
                self._reaches(thread, thread.segment(address)[0])
        segment, first = thread.segment(address)
        if self.performing is not None:
            self.agent_accesses.accesses(self.performing, kind, (segment, first), size, commutes)
            return
        strong = self._scope_of(thread)
        if id(segment) in self.phases.objects:
            self.phases.touched(thread, segment, first, size)
        if strong and kind == "W" and type(value) is int:
            commutes = stored(value)
        access = self.shade(thread, kind, segment, first, size, commutes)
        if (strong or kind != "R") and strong != CONSTANT and (strong or id(segment) in self.places):
            self._communicate(thread, access, segment, value)

    def shade(
        self, thread: WatchedThread, kind: str, segment: Segment, first: int, size: int, commutes: str = ""
    ) -> Access:
        """An access, held against those before it. Raises Stopped where nothing orders it with one."""
        self.ticks()
        shadow = self.shadow_of(segment)
        number, strong = thread.number, self._scope_of(thread)
        access = Access(number, self.clocks.own[number], thread.op, kind, strong, first, size, commutes)
        before = (shadow.read if kind == "R" else shadow.write if kind == "W" else shadow.update)(access)
        if before is not None and not self._goes_on(thread, segment, before, access):
            raise self._unordered(thread, before, access, shadow.name)
        if shadow.takes_mixed():
            self.sums.hangs(thread.instruction)
        return access

    def _goes_on(self, thread: WatchedThread, segment: Segment, before: Access, access: Access) -> bool:
        """Whether the run goes on where nothing that is known orders two accesses."""
        if not (self.exact and self.alone and self.shadow_of(segment).observed(access)):
            return False
        self.doubts(thread, "order")  # a race that comes later is one all the same
        return True

    # mbarrier objects: what they ask (`asynchronous.phases`).

    def operates(self, thread: WatchedThread, kind: str, how: Use, address: int, write: Write) -> int | None:
        if address & ~SHARED_OFFSET != thread.shared:
            if kind not in ("arrive", "arrive_drop", "expect_tx", "complete_tx"):
                raise self.leaves(thread, "cluster")
            self._reaches(thread, thread.segment(address)[0])
        if not self.follows_agents:
            raise self.leaves(thread, "mbarrier")
        return self.phases.operates(thread, kind, how, address, write)

    # Asynchronous operations, and what they ask (`asynchronous.copies`).

    def _reaches(self, thread: WatchedThread, segment: Segment) -> None:
        if not self.follows_agents:
            raise self.leaves(thread, "cluster")
        self.clusters.reaches(thread, segment)

    def begins(self, thread: WatchedThread, how: Use, copy: Told | None) -> Agent:
        if not self.follows_agents:
            raise self.leaves(thread, "asynchronous")
        if copy is None and how.form.mnemonic == "tcgen05":
            return self.tensor_memories.commits(thread)
        return self.copies.begins(thread, how, copy)

    def multiplies(self, threads: Sequence[WatchedThread], how: Use, product: WatchedProduct) -> Agent:
        if not self.follows_agents:
            raise self.leaves(threads[0], "asynchronous")
        self.meetings += 1
        return self.products.begins(threads, product)

    def of_products(self, thread: WatchedThread, action: str, complete: Sequence[WatchedProduct]) -> None:
        self.products.fences(thread, action, complete)

    def performs(self, agent: Agent, action: Callable[[], None]) -> None:
        outer, self.performing = self.performing, agent
        try:
            action()
        finally:
            self.performing = outer

    def copied(self, copy: Told | WatchedProduct, kind: str, address: int, size: int) -> None:
        how = copy.reduction if kind == "A" and isinstance(copy, Told) else None
        commutes = "" if how is None else done(how)
        if how is not None and is_sum(how) and isinstance(copy, Told):
            self.sums.combined(copy, how.type, address)
        self.agent_accesses.accesses(copy.agent, kind, copy.thread.segment(address), size, commutes)

    def tensors(self, thread: WatchedThread, how: Use) -> Tensors:
        if not self.alone:
            raise self.leaves(thread, "asynchronous")
        return self.tensor_memories

    def commits(self, thread: WatchedThread, how: Use) -> None:
        self.copies.commits(thread, how)

    def waited(self, thread: WatchedThread, how: Use, pending: int) -> None:
        self.copies.waits(thread, how, pending)

    # Threads that wait for each other.

    def _communicate(self, thread: WatchedThread, access: Access, segment: Segment, value: Any) -> None:
        """A strong access, or a write of bytes that strong ones access; nothing is known of a vector's elements (8.2.4)."""
        if access.strong and thread.instruction.use.words["vec"] and not is_one(access, self.readings):
            raise self.leaves(thread, "vector")
        place = self._place(thread, access, segment)
        if place is None:
            return
        if access.kind == "R":
            return self._find(thread, access, segment, place)
        if not place.write(self._written(thread, access, value), self.clocks):
            raise self._undetermined(thread, access, segment)
        if self.keeps_executed:  # what the thread does next is not executed when somebody finds this
            self.clocks.own[thread.number] += 1

    def _undetermined(self, thread: WatchedThread, access: Access, segment: Segment) -> BaseException:
        """What is raised where a thread may go on in several ways."""
        return self.leaves(thread, "order")

    def _place(self, thread: WatchedThread, access: Access, segment: Segment) -> WrittenBytes | None:
        """What is known of the bytes of an access; None where no strong operation is about any of them."""
        places = self.places.setdefault(id(segment), {})
        found = places.get(access.first)
        if found is not None and found == (access.first, found[1]) and found[1].size == access.size:
            return found[1]
        if not places.keys().isdisjoint(inside := range(access.first, access.first + access.size)):
            raise self.leaves(thread, "unordered")
        if not access.strong:
            return None
        first = segment.read(access.first, access.size)
        if type(first) is not int and access.kind != "W":
            raise self.leaves(thread, "unknown")
        place = WrittenBytes(access.size, first if type(first) is int else None)
        places.update((byte, (access.first, place)) for byte in inside)
        return place

    def _written(self, thread: WatchedThread, access: Access, value: Any) -> Written:
        number, clocks = thread.number, self.clocks
        if type(value) is not int and access.kind == "W":
            raise self.leaves(thread, "unknown")
        known, time, hands = clocks.known[number], clocks.own[number], []
        if access.strong:
            if thread.instruction.use.sem in RELEASES:
                hands.append(Hand(clocks.join([clocks.release(number)]), access.strong, number))
            hands += self.fenced.get(number, ())
            if relaxed := self._tensor_order.arrival(number):
                hands.append(Hand(relaxed[1], access.strong, number))
        value, modulus = value if isinstance(value, AddedAround) else (value, 0)
        kind = "store" if access.kind == "W" else "add" if type(value) is int else "other"
        fenced = self.sequential.before(number) if access.strong else {}
        scope, op = access.strong, thread.instruction
        number_written = value if type(value) is int else 0
        return Written(number, time, number_written, kind, scope, known, tuple(hands), fenced, modulus, op)

    def _find(self, thread: WatchedThread, access: Access, segment: Segment, place: WrittenBytes) -> None:
        """A strong read: what it may find, and what is certain then."""
        number, value = thread.number, segment.read(access.first, access.size)
        if type(value) is not int:
            raise self.leaves(thread, "unknown")
        self._told = self.polls_of.looks(thread, access, place) if self.alone else None
        if self._told is not None:
            return
        leads = self.polls_of.through(thread, self.polled.get(number), self.live_of(thread), self._lead(thread))
        again = self.polls_of.again(thread, self.polled.get(number), place, leads, value)
        if again is not None:
            self.vain[number] = again
            return
        read = StrongRead(number, access.time, value, access.strong, leads, thread.instruction)
        if not (place.read(read, self.clocks) and self.polls_of.polled(thread, read, place)):
            raise self._undetermined(thread, access, segment)
        fresh = read.certain - read.before
        self._learns(thread, access, segment, fresh)
        self.waits += bool(fresh)
        for w in (place.writes[n] for n in sorted(fresh)) if self.keeps_executed else ():
            self._tensor_order.learns(number, self._tensor_order.before((w.thread, w.known, w.time)))
        seen = [place.writes[n] for n in sorted(fresh)] if fresh and place.observes(read, self.clocks) else []
        self.sequential.observes(number, [w.fenced for w in seen])
        hands = [hand for w in seen for hand in w.hands]
        if thread.instruction.use.sem in ACQUIRES:
            self._acquire(number, [(hand, access.strong) for hand in hands], access.strong)
        else:
            self.offered.setdefault(number, []).extend((hand, access.strong) for hand in hands)
            self._tensor_order.finds(number, access.strong, hands)

    def _lead(self, thread: WatchedThread) -> Callable[[int], object]:
        """Where a thread goes on with what it finds: None, back to poll again."""
        poll, live = self.polled.get(thread.number), self.live_of(thread)
        return self.polls_of.lead(thread, poll, live, leading(poll, live, thread.op))

    def _learns(self, thread: WatchedThread, access: Access, segment: Segment, fresh: frozenset[int]) -> None:
        """A thread goes on; it is certain of some writes more, by their numbers."""

    def _acquire(self, number: int, offered: list[tuple[Hand, str]], scope: str) -> None:
        """A thread acquires in a scope what heads of release patterns hand on."""
        within = self.clocks.within
        tables = [
            hand.table
            for hand, _ in offered
            if within(hand.scope, hand.thread, number) and within(scope, hand.thread, number)
        ]
        if tables:
            self.clocks.merge(number, tables)

    def polls(self, thread: WatchedThread, block: int) -> None:
        number, before = thread.number, self.polled.get(thread.number)
        if self.vain.get(number) == block:
            del self.vain[number]
            if before is not None and before.block == block:
                return  # it polls again just so
        self.polled[number] = Poll(thread, block)

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        if how.words["restrict"] or how.words["operation"]:
            raise self.leaves(thread, "fence")
        number, scope = thread.number, LEVELS.get(how.scope or "", how.scope or "")
        self.exact = False
        if number in self.vain:
            return
        if how.sem != "release":
            offered, within = self.offered.get(number, []), self.clocks.within
            self._acquire(number, offered, scope)  # and what is left, a fence of a wider scope
            self.offered[number] = [(h, s) for h, s in offered if not within(scope, h.thread, number)]
        if how.sem == "sc" and self.clocks.wide(scope):
            self.sequential.comes_by(number)
        if how.sem != "acquire":
            hand = Hand(self.clocks.join([self.clocks.release(number)]), scope, number)
            self.fenced[number] = behind(self.fenced.get(number, ()), hand)

    def _fence_proxies(self, thread: WatchedThread, how: Use, address: int) -> None:
        if self.maps.fence(thread, how, address):
            return
        known = self.proxies.fence(thread, how)
        if known is not None:  # products read shared memory, which a fence of global memory alone says nothing of
            self.products.fenced[thread.number] = self.tensor_memories.fenced[thread.number] = known

    def _scope_of(self, thread: WatchedThread) -> str:
        """The scope of a strong access, empty of a weak one; refuses those that this way does not know."""
        known = self._strong.get(thread.op)
        if known is not None:
            return known
        use = thread.instruction.use
        strong = scope_of(use)
        if strong is None:
            raise self.leaves(thread, "proxy")
        if strong and use.sem in ORDERING:
            self.exact = False
        self._strong[thread.op] = strong
        return strong

    def _unordered(self, thread: WatchedThread, before: Access, access: Access, where: str) -> BaseException:
        """What is raised where nothing orders two accesses."""
        return Stopped(self._conflict(thread, before, access, where))

    def _conflict(self, thread: WatchedThread, before: Access, access: Access, where: str) -> ByteRace | Open:
        """What an unordered conflict is (`core.accesses.conflict`)."""
        if self.agents.is_agent(before.thread):
            follows = self._tensor_order.follows(thread.number, before)
            return self._agent_order.conflict(before, access, where, thread.launch.compiled.ops, follows=follows)
        parties = Party(before.thread, thread.launch.compiled.ops[before.op]), Party(thread.number, thread.instruction)
        return conflict(*parties, before, access, where, exact=self.exact, readings=self.readings)

    # Threads together.

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        if level != "cta":
            if not self.follows_agents:
                raise self.leaves(thread, "cluster")
            self.clusters.arrives(thread, waits=waits)
            return
        number = thread.number
        key = number // self.size, identity
        before = self.last.get(key)
        if before is not None and number not in before.waited and not self.clocks.behind(number, before):
            self.doubts(thread, "instance")
        come = self.arrived.setdefault(key, [])
        if come and self.counts[key] != count and None in (self.counts[key], count):
            raise self.leaves(thread, "counts")  # two numbers are an error of the run
        self.counts[key] = count
        come.append((self.clocks.release(number), waits))
        self.polls_of.arrives(thread)

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        if level != "cta":
            self.clusters.released(cta)
            self.meetings += 1
            return
        if not whole:
            raise Stopped(Open("instance"))
        key = next(iter(cta.threads)).number // self.size, identity
        come = self.arrived.pop(key)
        arrivals, waited = tuple(one for one, _ in come), frozenset(one[0] for one, waits in come if waits)
        self.polls_of.released(cta, [arrival[0] for arrival in arrivals])
        self.clocks.acquire(waited, self.clocks.join(arrivals))
        self.last[key] = Instance(arrivals, waited, {})
        self.meetings += 1

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        self.meetings += 1
        if not masked and not self._convergence.meets(threads):
            op = threads[0].launch.running()
            raise Stopped(Open("unmasked", Party(threads[0].number, op) if op else None))
        if how.form.mnemonic == "bar":
            arrivals = [self.clocks.release(thread.number) for thread in threads]
            self.clocks.acquire([a[0] for a in arrivals], self.clocks.join(arrivals))
        elif self.phases.objects:
            self._tensor_order.come_together([thread.number for thread in threads])

    def unspecified(self, op: Op) -> None:
        self.leaves_open(Open("rounding", Party(0, op)))

    def looks_up(self, thread: WatchedThread, address: int) -> None:
        self.maps.looks_up(thread, address)

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        if what == FENCE and how is not None:
            initialises = (
                self.follows_agents and how.words["operation"] == "mbarrier_init" and not how.words["restrict"]
            )
            self.proxies.initialises(thread) if initialises else self._fence(thread, how)
            return
        if self.follows_agents and what == PROXY_FENCE and how is not None:
            self._fence_proxies(thread, how, address)
            return
        if what == "unknown":
            if how is None or not (how.form.kind == "value" or self.open_values.takes(thread, address)):
                self.leaves_open(Open(what))
        elif what == GRID and how is not None:
            self.waits_for_launch |= how.words["action"] == "wait"
        elif what != "clock" or not self.live_of(thread).is_idle(thread.instruction):
            raise self.leaves(thread, what)
