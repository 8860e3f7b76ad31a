"""Accesses of asynchronous operations to memory: each stands beside all that does not come before its issue."""

from __future__ import annotations

from axioms.dynamic.asynchronous.agent_order import AgentOrder
from axioms.dynamic.asynchronous.agents import Agent
from axioms.dynamic.asynchronous.alike_copies import ONE_COPY, AlikeCopies
from axioms.dynamic.asynchronous.clusters import Clusters
from axioms.dynamic.asynchronous.launch_state import CLUSTER_AS_CTA, LaunchState
from axioms.dynamic.asynchronous.phases import Phases
from axioms.dynamic.asynchronous.proxies import CLUSTER, GLOBAL, OWN
from axioms.dynamic.core.findings import ByteRace, Misuse, Open, Stopped
from axioms.dynamic.core.open_values import are_written
from axioms.dynamic.core.shadow import Access
from ptxcore.isa.launch import try_cancel
from ptxcore.machine.run.memory import Segment

#: How shared memory is called.
_SHARED_NAME = "shared memory"


class AgentAccesses:
    """Those of one launch."""

    def __init__(
        self, run: LaunchState, alike: AlikeCopies, order: AgentOrder, phases: Phases, clusters: Clusters
    ) -> None:
        self.run, self.clocks, self.alike = run, run.clocks, alike
        self._order, self._phases, self._clusters = order, phases, clusters
        #: A write through the asynchronous proxy that follows a read without a fence: it is told where nothing worse is.
        self.overwriting: ByteRace | None = None

    def accesses(self, agent: Agent, kind: str, place: tuple[Segment, int], size: int, commutes: str = "") -> None:
        """An operation accesses memory. Raises Stopped where something is unordered with it."""
        segment, first = place
        run = self.run
        run.ticks()
        # A product and an operation of Tensor Memory know what they read; to a copy all are numbers, where it goes.
        if kind == "R" and agent.fenced is None and not are_written(segment, first, size):
            run.leaves_open(Open("unknown", agent.party))
        if id(segment) in self._phases.objects and self._phases.meets(segment, first, size):
            raise Stopped(Misuse("overwritten", (agent.party,)) if run.orders_all else Open("mbarrier", agent.party))
        owner = run.owner_of(segment)
        if owner >= 0 and owner != agent.party.thread // self.clocks.size and agent.done < 0:
            self._clusters.notes(owner, agent.reads if kind == "R" else agent.writes, agent.time, agent.party)
        elif owner < 0 and segment.name == _SHARED_NAME:
            raise Stopped(Misuse("exited", (agent.party,)) if run.orders_all else Open("cluster", agent.party))
        shadow = run.shadow_of(segment)
        number = agent.reads if kind == "R" else agent.writes
        access = Access(number, agent.time, agent.op, kind, "gpu" if kind == "A" else "", first, size, commutes)
        space = GLOBAL if owner < 0 else OWN if owner == agent.party.thread // self.clocks.size else CLUSTER
        own = number if number in self.alike.several else -1
        beside = shadow.beside(
            access,
            lambda other: other.thread == own or self._order.ordered(agent, space, other, access),
            over=agent.loosely,
        )
        if beside is not None:
            follows = self._order.follows(agent, beside, access)
            found = self._order.conflict(beside, access, shadow.name, agent.ops, agent=agent, follows=follows)
            if not (isinstance(found, ByteRace) and found.kind == "war"):
                raise Stopped(self._with_reading(found, agent, space, beside, access))
            how = agent.party.op.use
            if how.form.run is try_cancel and not how.words["multicast"]:
                run.leaves_open(Open("response", agent.party))
            else:
                self.overwriting = self.overwriting or found
        places = run.places.get(id(segment), ())
        if places and any(byte in places for byte in range(first, first + size)):
            raise Stopped(Open("asynchronous", agent.party))

    def _with_reading(
        self, found: ByteRace | Open, agent: Agent, space: int, beside: Access, access: Access
    ) -> ByteRace | Open:
        """A race with the name of the reading of the manual under which it may be none."""
        if not isinstance(found, ByteRace) or found.kind != "async":
            return found
        one, two = (party.thread // self.clocks.size for party in (found.before, found.after))
        near = one != two and one // self.clocks.cluster == two // self.clocks.cluster
        if self.alike.may_be(agent, beside, access) if space == GLOBAL else near and agent.proxy == "async":
            reading = ONE_COPY if space == GLOBAL else CLUSTER_AS_CTA
            return found if reading in self.run.readings else found._replace(reading=reading)
        return found
