"""Waits at barriers of which something is known before any execution: which are over together, and which are certainly over.

Whoever waits in one instance of a barrier waits for the same arrivals, so that all of them pass or none does. Which instance
a thread is in is known where it is known how often it came to that barrier before, and

    all who ever come there meet in every instance     it is that instance, for all of them
    the number of threads takes in some warps only     it is the same for the threads of one warp, which arrive as a whole

An instance at which all meet is certainly over where each of them certainly arrives or certainly ends: does so, and has waited
before in such instances only.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from axioms.program import Thread
from axioms.rounds import Meeting, meeting_at
from ptxcore.machine.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Term

#: Which barrier it is; and which instance of it.
Barrier = tuple[Hashable, ...]
Instance = tuple[Barrier, int]


class SharedWaits:
    """`names` has the instance of an effect at a barrier (thread, index), where that is known; `over` are the instances that
    are certainly over."""

    def __init__(self, threads: Sequence[Thread]) -> None:
        self.threads = threads
        self.names: dict[tuple[int, int], Instance] = {}
        self.over: set[Instance] = set()
        self._barriers: dict[tuple[int, int], Barrier] = {}
        self._meetings: dict[Barrier, Meeting] = {}
        self._find_barriers()
        for t in range(len(threads)):
            self._number(t)
        self._certainly_over()

    # Which barrier.

    def _find_barriers(self) -> None:
        of_ctas: dict[int, list[tuple[int, Effect]]] = {}
        uncertain = {
            thread.place.warp for thread in self.threads for e in thread.execution.effects
            if e.kind == "barrier" and e.level == "warp" and type(e.mask) is not int
        }  # fmt: skip
        for t, thread in enumerate(self.threads):
            for effect in thread.execution.effects:
                if effect.kind != "barrier" or effect.instance is not None:
                    continue
                if effect.level == "cluster":
                    self._barriers[t, effect.index] = self._of_cluster(thread.place.cluster)
                elif effect.level == "warp":
                    if thread.place.warp not in uncertain:
                        assert type(effect.mask) is int
                        self._barriers[t, effect.index] = self._of_warp(thread.place.warp, effect.mask)
                else:
                    of_ctas.setdefault(thread.place.cta, []).append((t, effect))
        for cta, arrivals in of_ctas.items():
            if not any(type(effect.identity) is Term for _, effect in arrivals):
                self._of_cta(cta, arrivals)

    def _of_cluster(self, cluster: int) -> Barrier:
        barrier = "cluster", cluster
        if barrier not in self._meetings:
            places = ((t, thread.place) for t, thread in enumerate(self.threads))
            self._meetings[barrier] = Meeting(tuple(t for t, p in places if p.cluster == cluster and not p.host))
        return barrier

    def _of_warp(self, warp: int, mask: int) -> Barrier:
        barrier = "warp", warp, mask
        if barrier not in self._meetings:
            mates = [t for t, thread in enumerate(self.threads) if thread.place.warp == warp]
            self._meetings[barrier] = Meeting(tuple(t for lane, t in enumerate(mates) if mask >> lane & 1))
        return barrier

    def _of_cta(self, cta: int, arrivals: Sequence[tuple[int, Effect]]) -> None:
        places = [t.place for t in self.threads]
        mine = [t for t, place in enumerate(places) if place.cta == cta and not place.host]
        for identity in {effect.identity for _, effect in arrivals}:
            here = [(t, effect) for t, effect in arrivals if effect.identity == identity]
            meeting = meeting_at(places, mine, [(t, effect.count) for t, effect in here])
            for t, effect in here:
                lanes = ("lanes", places[t].warp, identity)
                self._barriers[t, effect.index] = lanes if meeting is None else ("cta", cta, identity)
            if meeting is not None:
                self._meetings["cta", cta, identity] = meeting

    # Which instance.

    def _number(self, t: int) -> None:
        before: dict[Barrier, list[Effect]] = {}
        for effect in self.threads[t].execution.effects:
            barrier = self._barriers.get((t, effect.index))
            if barrier is None:
                continue
            earlier = before.setdefault(barrier, [])
            turn = _certainly_executed(earlier, effect)
            if turn is not None:
                self.names[t, effect.index] = barrier, turn
            if effect.level != "cluster" or effect.barrier == "wait":
                earlier.append(effect)

    # Which are over.

    def _certainly_over(self) -> None:
        """Lets every thread go on as long as nothing in its way is uncertain."""
        reached = [0] * len(self.threads)
        arrived: dict[Instance, set[int]] = {}
        gone: set[int] = set()
        before = -1
        while before != (before := sum(reached) + len(self.over)):
            for t, thread in enumerate(self.threads):
                effects = thread.execution.effects
                while reached[t] < len(effects) and self._passes(t, effects[reached[t]], arrived):
                    reached[t] += 1
                if reached[t] == len(effects) and thread.execution.finishes == 1:
                    gone.add(t)
            for instance, some in arrived.items():
                if instance not in self.over and self._all_there(instance, some, gone):
                    self.over.add(instance)

    def _passes(self, t: int, effect: Effect, arrived: dict[Instance, set[int]]) -> bool:
        """Whether a thread certainly goes on behind an effect; notes where it arrives."""
        if effect.kind != "barrier":
            return True
        instance = self.names.get((t, effect.index))
        if instance is not None and effect.guard == 1 and effect.barrier != "wait":
            arrived.setdefault(instance, set()).add(t)
        return effect.barrier == "arrive" or instance in self.over

    def _all_there(self, instance: Instance, arrived: set[int], gone: set[int]) -> bool:
        meeting = self._meetings.get(instance[0])
        if meeting is None or not all(t in arrived or t in gone for t in meeting.threads):
            return False
        return not any(arrived.isdisjoint(mates) for mates in meeting.warps)


def _certainly_executed(earlier: Sequence[Effect], effect: Effect) -> int | None:
    """How many of these are executed where a later effect of their thread is; None if that is not certain."""
    count = 0
    for e in earlier:
        if terms.conj(effect.guard, terms.negate(e.guard)) == 0:
            count += 1
        elif terms.conj(effect.guard, e.guard) != 0:
            return None
    return count
