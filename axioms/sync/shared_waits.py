"""Waits at barriers of which something is known before any execution: which are over together, and which are certainly over.

Whoever waits in one instance of a barrier waits for the same arrivals, so that all of them pass or none does. An instance at
which all meet is certainly over where each of them certainly arrives or certainly ends: does so, and has waited before in
such instances only.
"""

from __future__ import annotations

from collections.abc import Sequence

from axioms.events.encounters import BarrierMeeting, Encounters, InstanceName
from axioms.events.event import ProgramThread
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.machine.ir.effects import Effect


class SharedWaits(Encounters):
    """`over` are the instances that are certainly over; waits of one instance are over together."""

    def __init__(self, threads: Sequence[ProgramThread]) -> None:
        super().__init__(threads)
        if any(e.mates for thread in threads for e in thread.execution.effects):
            self._find_collectives()
        self.over: set[InstanceName] = set()
        #: Arrivals without a wait whose threads certainly go on: thread and effect.
        self.passed: set[tuple[int, int]] = set()
        self.warp_mates = mates_in_warps(threads)
        #: How far threads certainly get: the number of effects behind them.
        self.reached = [0] * len(threads)
        #: Threads that certainly get to their ends.
        self.exited: set[int] = set()
        self._certainly_over()

    @property
    def all_end(self) -> bool:
        """Whether every thread certainly gets to its end."""
        return len(self.exited) == len(self.threads)

    def _find_collectives(self) -> None:
        """What the threads of a warp execute together is one instance for all of them."""
        from axioms.events.collectives import Flows

        flows = Flows(self.threads)
        for t, thread in enumerate(self.threads):
            for effect in thread.execution.effects:
                if effect.mates and type(effect.mask) is int:
                    awaited = [*flows.awaited(t, effect)]
                    if any(len(some) > 1 for _, some, _ in awaited):
                        continue  # one of several: that is no instance by itself
                    mates = [(u, some[0][0].index if some else -1) for u, some, _ in awaited]
                    barrier = "together", *sorted([(t, effect.index), *mates])
                    self.names[t, effect.index] = barrier, 0
                    self.meetings[barrier] = BarrierMeeting(tuple(u for u, _ in (*mates, (t, 0))))

    def _certainly_over(self) -> None:
        """Lets every thread go on as long as nothing in its way is uncertain."""
        reached = self.reached
        arrived: dict[InstanceName, set[int]] = {}
        exited = self.exited
        before = -1
        while before != (before := sum(reached) + len(self.over)):
            for t, thread in enumerate(self.threads):
                effects = thread.execution.effects
                while reached[t] < len(effects) and self._passes(t, effects[reached[t]], arrived):
                    reached[t] += 1
                if reached[t] == len(effects) and self._finishes(t):
                    exited.add(t)
            for instance, some in arrived.items():
                if instance not in self.over and self._all_there(instance, some, exited):
                    self.over.add(instance)

    def _finishes(self, t: int) -> bool:
        """Whether a thread certainly ends that has passed all its effects."""
        return self.threads[t].execution.finishes == 1

    def _is_certain(self, t: int, effect: Effect) -> bool:
        """Whether a thread that comes to an effect certainly does it."""
        return effect.guard == 1

    def _passes(self, t: int, effect: Effect, arrived: dict[InstanceName, set[int]]) -> bool:
        """Whether a thread certainly goes on behind an effect; notes where it arrives."""
        if effect.kind is not BARRIER and not effect.mates:
            return True
        instance = self.names.get((t, effect.index))
        if instance is not None and self._is_certain(t, effect) and effect.barrier != "wait":
            arrived.setdefault(instance, set()).add(t)
        if effect.barrier != "arrive":
            return instance in self.over
        there = arrived.get(instance, set()) if instance is not None else set()
        if self.warp_mates[t] <= there | self.exited:
            self.passed.add((t, effect.index))
            return True
        return False

    def _all_there(self, instance: InstanceName, arrived: set[int], exited: set[int]) -> bool:
        meeting = self.meetings.get(instance[0])
        if meeting is None or not all(t in arrived or t in exited for t in meeting.threads):
            return False
        return not any(arrived.isdisjoint(mates) for mates in meeting.warps)


def mates_in_warps(threads: Sequence[ProgramThread]) -> list[set[int]]:
    """Of each thread the others of its warp."""
    warps: dict[int, set[int]] = {}
    for t, thread in enumerate(threads):
        if not thread.place.host:
            warps.setdefault(thread.place.warp, set()).add(t)
    return [warps.get(thread.place.warp, set()) - {t} for t, thread in enumerate(threads)]
