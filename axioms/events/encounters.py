"""Which instance of a barrier an effect is in, as far as that is known before any execution: where it is known how often its
thread came to that barrier before, and who meets there.

    all who ever come there meet in every instance     it is that instance, for all of them
    the number of threads takes in some warps only     it is the same for the threads of one warp, which arrive as a whole
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from axioms.events.event import ProgramThread
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.machine.ir.effects import Effect
from ptxcore.places import Placement
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: Threads that a warp counts for at a barrier.
WARP = 32

#: Which barrier it is; and which instance of it.
BarrierName = tuple[Hashable, ...]
InstanceName = tuple[BarrierName, int]


class BarrierMeeting(NamedTuple):
    """Who meets at a barrier in every instance of it. `warps` are those that a number of threads counts: of each, somebody
    must arrive."""

    threads: tuple[int, ...]
    warps: tuple[tuple[int, ...], ...] = ()


def meeting_at(
    places: Sequence[Placement], threads: Sequence[int], arrivals: Iterable[tuple[int, Value | None]]
) -> BarrierMeeting | None:
    """The threads of a CTA that meet at a barrier at which these may arrive, each with the number of threads that it gives;
    None where that is not certain."""
    arrivals = list(arrivals)
    counts = {count for _, count in arrivals}
    if counts == {None}:
        return BarrierMeeting(tuple(threads))
    arriving = {places[t].warp for t, _ in arrivals}
    warps: dict[int, list[int]] = {}
    for t in threads:
        if places[t].warp in arriving:
            warps.setdefault(places[t].warp, []).append(t)
    if counts != {WARP * len(warps)}:
        return None
    return BarrierMeeting(
        tuple(t for mates in warps.values() for t in mates), tuple(tuple(mates) for mates in warps.values())
    )


class Encounters:
    """`barriers` has the barrier at which an effect is (thread, index), where that is known, `names` the instance of it;
    `meetings` those who meet at a barrier in every instance of it."""

    def __init__(self, threads: Sequence[ProgramThread]) -> None:
        self.threads = threads
        self.names: dict[tuple[int, int], InstanceName] = {}
        self.meetings: dict[BarrierName, BarrierMeeting] = {}
        self.barriers: dict[tuple[int, int], BarrierName] = {}
        self._find_barriers()
        for t in range(len(threads)):
            self._number(t)

    # Which barrier.

    def _find_barriers(self) -> None:
        of_ctas: dict[int, list[tuple[int, Effect]]] = {}
        uncertain = {
            thread.place.warp for thread in self.threads for e in thread.execution.effects
            if e.kind is BARRIER and e.level == "warp" and type(e.mask) is not int
        }  # fmt: skip
        for t, thread in enumerate(self.threads):
            for effect in thread.execution.effects:
                if effect.kind is not BARRIER or effect.instance is not None:
                    continue
                if effect.level == "cluster":
                    self.barriers[t, effect.index] = self._of_cluster(thread.place.cluster)
                elif effect.level == "warp":
                    if thread.place.warp not in uncertain:
                        assert type(effect.mask) is int
                        self.barriers[t, effect.index] = self._of_warp(thread.place.warp, effect.mask)
                else:
                    of_ctas.setdefault(thread.place.cta, []).append((t, effect))
        for cta, arrivals in of_ctas.items():
            if not any(type(effect.identity) is Term for _, effect in arrivals):
                self._of_cta(cta, arrivals)

    def _of_cluster(self, cluster: int) -> BarrierName:
        barrier = "cluster", cluster
        if barrier not in self.meetings:
            places = ((t, thread.place) for t, thread in enumerate(self.threads))
            self.meetings[barrier] = BarrierMeeting(tuple(t for t, p in places if p.cluster == cluster and not p.host))
        return barrier

    def _of_warp(self, warp: int, mask: int) -> BarrierName:
        barrier = "warp", warp, mask
        if barrier not in self.meetings:
            mates = [t for t, thread in enumerate(self.threads) if thread.place.warp == warp]
            self.meetings[barrier] = BarrierMeeting(tuple(t for lane, t in enumerate(mates) if mask >> lane & 1))
        return barrier

    def _of_cta(self, cta: int, arrivals: Sequence[tuple[int, Effect]]) -> None:
        places = [t.place for t in self.threads]
        mine = [t for t, place in enumerate(places) if place.cta == cta and not place.host]
        for identity in {effect.identity for _, effect in arrivals}:
            here = [(t, effect) for t, effect in arrivals if effect.identity == identity]
            meeting = meeting_at(places, mine, [(t, effect.count) for t, effect in here])
            for t, effect in here:
                lanes = ("lanes", places[t].warp, identity)
                self.barriers[t, effect.index] = lanes if meeting is None else ("cta", cta, identity)
            if meeting is not None:
                self.meetings["cta", cta, identity] = meeting

    # Which instance.

    def _number(self, t: int) -> None:
        before: dict[BarrierName, list[Effect]] = {}
        for effect in self.threads[t].execution.effects:
            barrier = self.barriers.get((t, effect.index))
            if barrier is None:
                continue
            earlier = before.setdefault(barrier, [])
            turn = _certainly_executed(earlier, effect)
            if turn is not None:
                self.names[t, effect.index] = barrier, turn
            if effect.level != "cluster" or effect.barrier == "wait":
                earlier.append(effect)


def _certainly_executed(earlier: Sequence[Effect], effect: Effect) -> int | None:
    """How many of these are executed where a later effect of their thread is; None if that is not certain."""
    count = 0
    for e in earlier:
        if terms.implies(effect.guard, e.guard):
            count += 1
        elif terms.conj(effect.guard, e.guard) != 0:
            return None
    return count
