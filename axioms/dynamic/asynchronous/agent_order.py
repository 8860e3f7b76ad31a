"""What comes before the accesses of asynchronous operations, and what two accesses are that nothing orders.

What an operation does comes behind its issue, and before nothing but what its completion tells: a wait for its group, or for
the phase of an mbarrier object (section 8.9.1.1). What threads did through the generic proxy comes before accesses through the
asynchronous one by fences alone (`asynchronous.proxies`).
"""

from __future__ import annotations

from collections.abc import Sequence

from axioms.dynamic.asynchronous.agents import Agent, Agents
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.asynchronous.pairs import Pairs
from axioms.dynamic.asynchronous.proxies import OWN, Proxies
from axioms.dynamic.asynchronous.tensor_order import TensorOrder
from axioms.dynamic.core.clocks import Several, Table
from axioms.dynamic.core.findings import ByteRace, Open, Party, Stopped
from axioms.dynamic.core.shadow import Access
from ptxcore.machine.lower.ops import Op


class AgentOrder:
    """Of one launch."""

    def __init__(self, run: LaunchState, agents: Agents, order: TensorOrder, pairs: Pairs, proxies: Proxies) -> None:
        self.run, self.clocks = run, run.clocks
        self._agents, self._order, self._pairs, self._proxies = agents, order, pairs, proxies

    def ordered(self, agent: Agent, space: int, other: Access, access: Access) -> bool:
        """Whether an access comes before one of an operation."""
        if "war-ok" in self.run.readings and self.follows(agent, other, access):
            return True
        if agent.proxy == "generic":
            return self.clocks.knows(agent.arrival, other.thread, other.time)
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
        pairs, cta = self._pairs, agent.party.thread // self.clocks.size
        found = self._proxies.behind_fence(table, cta, space, other)
        owner = pairs.owner(agent.reads)
        if owner >= 0:
            other_way = self._proxies.behind_fence(table, owner, OWN, other, owned=True)
        elif pairs.owner(other.thread) >= 0:
            other_way = self._proxies.behind_fence(table, cta, space, other, owned=True)
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
            self.run.leaves_open(Open("issue", agent.party))
        return found

    def follows(self, agent: Agent, before: Access, access: Access) -> bool:
        """Whether a write comes behind a read through the other proxy, or by a `tcgen05` instruction in another CTA, but for a
        fence."""
        if not (before.kind == "R" and access.kind == "W"):
            return False
        if self._agents.is_agent(before.thread):
            return self._order.completed(agent.arrival[1], before.thread, before.time)
        return agent.proxy == "async" and self.clocks.knows(agent.arrival, before.thread, before.time)

    def conflict(
        self,
        before: Access,
        access: Access,
        where: str,
        ops: Sequence[Op],
        *,
        agent: Agent | None = None,
        follows: bool = False,
    ) -> ByteRace | Open:
        """Two accesses of which nothing orders one before the other; `agent`: the operation whose the second one is."""
        parties = [Party(self._agents.issuer(a.thread), ops[a.op]) for a in (before, access)]
        if not self.run.orders_all or before.kind == access.kind == "A":
            return Open("asynchronous", parties[1])
        if follows and not self._agents.is_agent(access.thread) and self._order.fenced_once(access.thread, before):
            return Open("pair", parties[1])
        first = max(before.first, access.first)
        last = min(before.first + before.size, access.first + access.size) - 1
        kind, lacks = "war" if follows else "async", self._lacks(before, access, agent)
        return ByteRace(parties[0], parties[1], where, first, last, kind, lacks=lacks)

    def _lacks(self, before: Access, access: Access, agent: Agent | None) -> str:
        """What would order two accesses, as `ByteRace.lacks` says it."""
        agents = self._agents
        if agent is not None and self.clocks.knows(agent.arrival, before.thread, before.time):
            return "fence"
        if not agents.is_agent(before.thread):
            return "end" if agent is not None and agent.party.thread == before.thread else "issue"
        if agent is not None or agents.is_issued_before(before.thread, before.time, access.thread):
            return "wait"
        return "either"
