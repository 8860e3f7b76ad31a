"""Copies and other asynchronous operations of a launch that is followed: their issue, and completion by groups.

What an operation does comes behind its issue, and before nothing but what its completion tells (`asynchronous.agent_order`):
a wait for its group, or for the phase of an mbarrier object (section 8.9.1.1).
"""

from __future__ import annotations

from collections.abc import Iterable

from axioms.dynamic.asynchronous.agents import Agent, Agents, Part
from axioms.dynamic.asynchronous.alike_copies import AlikeCopies
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.asynchronous.maps import Maps
from axioms.dynamic.asynchronous.tensor_order import TensorOrder
from axioms.dynamic.core.findings import Misuse, Open, Party, Stopped
from ptxcore.isa.async_copy import st_async
from ptxcore.isa.form import Use
from ptxcore.isa.launch import try_cancel
from ptxcore.isa.mbarrier import arrive_after_copies
from ptxcore.machine.run.watched import Told, WatchedThread


class Groups:
    """The bulk operations of a thread: in no group yet, and by group. What groups tell of operations: all, or their reading."""

    def __init__(self) -> None:
        self.open: list[tuple[Told, bool]] = []
        self.closed: list[list[tuple[Told, bool]]] = []


class Copies:
    """The asynchronous operations of a launch."""

    def __init__(self, run: LaunchState, agents: Agents, order: TensorOrder, maps: Maps, alike: AlikeCopies) -> None:
        self.run, self.clocks = run, run.clocks
        self._agents, self._order, self._maps, self._alike = agents, order, maps, alike
        self._closed: dict[int, list[int]] = {}
        self._bulk: dict[int, Groups] = {}

    # Issue.

    def begins(self, thread: WatchedThread, how: Use, copy: Told | None) -> Agent:
        """An asynchronous operation is issued."""
        self._agents.issued += 1
        number, party = thread.number, Party(thread.number, thread.instruction)
        arrival, ops = self.clocks.release(number), thread.launch.compiled.ops
        if how.form.run is arrive_after_copies:
            _, known, time = self._agents.known(number, (self._agents.own(number), self._agents.copied(number)))
            # The arrival is behind its issue, and so behind what has happened before that.
            known = {**self._order.before(arrival), **known}
            parts = (Part(how.scope or "cta", number, (number, known, time)),)
            return Agent(party, thread.op, ops, arrival, "generic", -1, -1, 0, parts, None, {})
        cancels = how.form.run is try_cancel
        if (
            copy is None
            and not cancels
            and (how.form.run is not st_async or how.sem == "release" or how.space != "shared::cluster")
        ):
            raise self.run.leaves(thread, "asynchronous")
        if copy is not None and copy.after is None and not how.words["bulk"]:
            time = self._agents.copies(arrival)
            own = self._agents.own(number)
            return self._noted(
                thread, copy, Agent(party, thread.op, ops, arrival, "generic", own, own, time, (), None, {})
            )
        proxy = "generic" if copy is None and not cancels else "async"
        if proxy == "async":
            first = self._alike.number(thread, copy, arrival)
        else:
            first = self._agents.numbered(number, proxy, arrival[2])
        _, known, _ = self._agents.known(number, (first, 1), (first + 1, 1))
        if self.clocks.cluster > 1 or self._order.meets:  # who waits has it from nobody else what came before
            known = {**self._order.before(arrival), **known}
        parts = (Part("cluster", number, (number, known, 0)),)
        agent = Agent(party, thread.op, ops, arrival, proxy, first, first + 1, 1, parts, None, {})
        if copy is None:
            return agent
        self._maps.reads(agent)
        self._bulk.setdefault(number, Groups()).open.append((copy, copy.after is None))
        return self._noted(thread, copy, agent)

    def _noted(self, thread: WatchedThread, copy: Told, agent: Agent) -> Agent:
        """What of an operation is about shared memory must be complete when its CTA ends."""
        for places, number in (
            (copy.taken(), agent.reads),
            (((address, size) for _, address, size in copy.given()), agent.writes),
        ):
            if any(self.run.is_shared(address) and size for address, size in places):
                self._agents.finishes(thread.number, agent, number)
        return agent

    # Completion.

    def commits(self, thread: WatchedThread, how: Use) -> None:
        number = thread.number
        if how.words["bulk"]:
            groups = self._bulk.setdefault(number, Groups())
            groups.closed.append(groups.open)
            groups.open = []
        else:
            self._closed.setdefault(number, []).append(self._agents.copied(number))

    def waits(self, thread: WatchedThread, how: Use, pending: int) -> None:
        """A thread has waited for all of its groups but the last ones."""
        number = thread.number
        if not how.words["bulk"]:
            closed = self._closed.get(number, [])
            if len(closed) > pending:
                self._agents.learns(number, (self._agents.own(number), closed[len(closed) - pending - 1]))
            return
        groups = self._bulk.get(number)
        for group in groups.closed[: len(groups.closed) - pending] if groups is not None else ():
            for copy, whole in group:
                agent: Agent = copy.agent
                copy.read()
                known = [(agent.reads, 1), (agent.writes, 1)]
                self._agents.learns(number, *known[: 1 if how.words["read"] or not whole else 2])

    def ends(self, threads: Iterable[int]) -> None:
        """The CTAs of a cluster have ended: what asynchronous operations do with their shared memory was waited for."""
        for agent, number in self._agents.unfinished(threads):
            issuer = agent.party.thread
            if not any(self.clocks.ordered(t, number, agent.time) for t in (issuer, *threads)):
                raise Stopped(
                    Open("asynchronous", agent.party) if self.run.partly else Misuse("unfinished", (agent.party,))
                )


__all__ = ["Copies", "Groups"]
