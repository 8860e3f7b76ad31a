"""Fences between proxies, and `fence.mbarrier_init`: what asynchronous operations that are issued behind one come behind.

Bulk copies access memory through the asynchronous proxy: what threads did comes before that only by a fence between the proxies
in the CTA that issues them (section 8.9.5). What is known behind such a fence has planes of its own in tables of what threads
know, by CTA and by state space.
"""

from __future__ import annotations

from axioms.dynamic.asynchronous.agents import Actor, Agents
from axioms.dynamic.asynchronous.launch_state import CLUSTER_AS_CTA, LaunchState
from axioms.dynamic.asynchronous.pairs import Pairs
from axioms.dynamic.asynchronous.tensor_order import TensorOrder
from axioms.dynamic.core.clocks import PLANE, Arrival, Table
from axioms.dynamic.core.shadow import Access
from ptxcore.isa.form import Use
from ptxcore.machine.run.watched import WatchedThread

#: What a fence of proxies is about: global memory, shared memory of its own CTA, of its cluster.
GLOBAL, OWN, CLUSTER = range(1, 4)
#: The plane of what an initialisation comes behind by `fence.mbarrier_init`.
_INITS = 1
_SPACES = {
    "": (GLOBAL, OWN, CLUSTER), "global": (GLOBAL,), "shared::cta": (OWN,), "shared::cluster": (OWN, CLUSTER),
}  # fmt: skip


class Proxies:
    """The fences between proxies of a launch."""

    def __init__(self, run: LaunchState, agents: Agents, order: TensorOrder, pairs: Pairs) -> None:
        self.run, self.clocks = run, run.clocks
        self._agents, self._order, self._pairs = agents, order, pairs

    def fence(self, thread: WatchedThread, how: Use) -> Table | None:
        """What comes before a fence of the asynchronous proxy comes before operations that are issued behind it in its CTA.
        Gives what a thread knows then, where the fence is about shared memory."""
        if how.words["between"] == "alias":
            return None  # nothing has two addresses
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
        if OWN in spaces:
            table.update(self._pairs.across(table, cta))
        for key in [key for key in table if key >> PLANE == 0]:
            for space in spaces:
                table[key + _plane(cta, space)] = table[key]
        self.clocks.known[number] = table
        return table if OWN in spaces else None

    def behind_fence(self, table: Table, cta: int, space: int, other: Access, *, owned: bool = False) -> bool:
        """Whether who knows what a table says may access through the asynchronous proxy, in a CTA, behind an access: with a
        fence between the proxies, or as another operation of the same proxy and CTA. `owned`: what a pair reads, each CTA reads
        of its own memory."""
        size, arrival, knows = self.clocks.size, (-1, table, 0), self.clocks.knows
        together = space != GLOBAL and CLUSTER_AS_CTA in self.run.readings
        planes = self._of_cluster(cta) if together else (_plane(cta, space),)
        if any(knows(arrival, other.thread + plane * size, other.time) for plane in planes):
            return True
        issuer = self._agents.by_proxy(other.thread)
        if issuer < 0:
            return False
        owner = self._pairs.owner(other.thread) if owned else -1
        own = owner if owner >= 0 else issuer // size
        if own // self.clocks.cluster != cta // self.clocks.cluster if together else own != cta:
            return False
        return knows(arrival, other.thread, other.time) or self._order.completed(table, other.thread, other.time)

    def _of_cluster(self, cta: int) -> list[int]:
        """The planes of what is known behind fences about shared memory in a cluster, whose CTAs count as one."""
        first = cta - cta % self.clocks.cluster
        return [_plane(one, space) for one in range(first, first + self.clocks.cluster) for space in (OWN, CLUSTER)]

    # mbarrier objects.

    def initialises(self, thread: WatchedThread) -> None:
        """`fence.mbarrier_init`: the objects that a thread initialised before it are there for asynchronous operations, too."""
        number = thread.number
        _, _, time = self.clocks.release(number)
        cta, place = divmod(number, self.clocks.size)
        times = [0] * self.clocks.size
        times[place] = time
        known = self.clocks.known[number]
        self.clocks.known[number] = self.clocks.join(
            [(number, known, 0), (number, {cta + (_INITS << PLANE): times}, 0)]
        )

    def initialisations(self, number: int) -> Arrival:
        """What is known of objects that were initialised before `fence.mbarrier_init`, and of nothing else."""
        known = self.clocks.known[number]
        return number, {key: times for key, times in known.items() if key >> PLANE == _INITS}, 0

    def knows_initialised(self, table: Table, other: int, time: int) -> bool:
        """Whether somebody knows by such a fence alone that a thread has initialised an object."""
        return self.clocks.knows((-1, table, 0), other + (_INITS << PLANE) * self.clocks.size, time)

    def initialised(self, actor: Actor, other: int, time: int, segment_cta: int) -> bool:
        """Whether an mbarrier object that a thread initialised is one for an asynchronous operation."""
        knows = self.clocks.knows
        if actor.proxy == "generic":
            return knows(actor.arrival, other, time) or self.knows_initialised(actor.arrival[1], other, time)
        size, table = self.clocks.size, actor.arrival[1]
        planes = {key >> PLANE for key in table if key >> PLANE}
        for plane in planes:
            cta, space = divmod(plane, 4)
            covers = plane == _INITS or (space == OWN and cta - 1 == segment_cta) or space == CLUSTER
            if covers and knows((-1, table, 0), other + (plane << PLANE) * size, time):
                return True
        return False


def _plane(cta: int, space: int) -> int:
    """What is added to a key of a table for what is known behind a fence of proxies in a CTA."""
    return ((cta + 1) * 4 + space) << PLANE
