"""What program order and barriers order in every execution: known from the threads' effects alone, before events are made.

    an effect, then an arrival of its thread        program order
    an arrival, then a wait of the same instance    if both are executed
    a wait, then an effect of its thread            program order

Only instances count of which `axioms.events.encounters` knows who is in which, at barriers of warps and CTAs where everybody
who arrives waits; and only those arrivals that happen wherever the one or the other end of the path does. So what is said here
holds in every execution that has both ends; that something is not said means nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from axioms.cat.evaluate import bits, closure
from axioms.events.encounters import WARP, Encounters, InstanceName
from axioms.events.event import ProgramThread
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


class GuardedEffect(NamedTuple):
    """An effect of a thread, by its number, and the condition under which it happens."""

    thread: int
    effect: int
    guard: Value


class _Paths:
    """The order through some of the arrivals. `stops` has for each thread the effects at which it arrives and waits, and the
    number of the instance of each; `reach` for each instance those that it comes before, itself among them."""

    def __init__(self, entries: Sequence[Sequence[tuple[int, InstanceName]]]) -> None:
        numbers: dict[InstanceName, int] = {}
        self.stops: list[tuple[list[int], list[int]]] = []
        rows: list[int] = []
        for mine in entries:
            found: list[int] = []
            for _, instance in mine:
                number = numbers.setdefault(instance, len(numbers))
                if number == len(rows):
                    rows.append(0)
                if found:
                    rows[found[-1]] |= 1 << number
                found.append(number)
            self.stops.append(([effect for effect, _ in mine], found))
        self.reach = [row | 1 << i for i, row in enumerate(closure(rows))]

    def ordered(self, a: GuardedEffect, b: GuardedEffect) -> bool:
        """Whether a path leads from one effect to another, of different threads."""
        behind, to = self.stops[a.thread]
        first = bisect_left(behind, a.effect)
        if first == len(behind):
            return False
        before, instances = self.stops[b.thread]
        last = bisect_left(before, b.effect) - 1
        return last >= 0 and bool(self.reach[to[first]] >> instances[last] & 1)


class BarrierOrder:
    """`before` says what is certain; `meetings` who meets at a barrier; `depth` numbers effects so that what comes before has
    no higher number, and a lower one where a barrier stands between."""

    def __init__(self, threads: Sequence[ProgramThread]) -> None:
        encounters = Encounters(threads)
        strange = _strange(threads, encounters)
        self.meetings = encounters.meetings
        self._entries: list[list[tuple[int, InstanceName, Value]]] = []
        for t, thread in enumerate(threads):
            named = ((e, encounters.names.get((t, e.index))) for e in thread.execution.effects if e.kind is BARRIER)
            self._entries.append(
                [(e.index, i, e.guard) for e, i in named if i is not None and i[0] not in strange and e.guard != 0]
            )
        guards = {g for mine in self._entries for _, _, g in mine if type(g) is Term}
        self._guards = [(g, terms.symbols_of(g)) for g in guards]
        self._included: dict[Value, frozenset[Value]] = {}
        self._paths: dict[frozenset[Value], _Paths] = {}
        self._depths = self._rank()

    def certainly_at(self, thread: int) -> set[int]:
        """The effects of a thread that are barriers of which everything is known."""
        return {effect for effect, _, guard in self._entries[thread] if guard == 1}

    def stops(self, thread: int) -> dict[int, InstanceName]:
        """The effects at which a thread meets others, and the instance of each."""
        return {effect: instance for effect, instance, _ in self._entries[thread]}

    def before(self, a: GuardedEffect, b: GuardedEffect) -> bool:
        """Whether one effect comes before another wherever both are executed."""
        if a.thread == b.thread:
            return a.effect < b.effect
        here = self._of(a.guard)
        if here.ordered(a, b):
            return True
        there = self._of(b.guard)
        return there is not here and there.ordered(a, b)

    def depth(self, spot: GuardedEffect) -> int:
        effects, depths = self._depths[spot.thread]
        return depths[bisect_left(effects, spot.effect)]

    def _of(self, guard: Value) -> _Paths:
        """The paths through what is executed wherever a condition holds."""
        included = self._included.get(guard)
        if included is None:
            if type(guard) is Term:
                own = terms.symbols_of(guard)
                included = frozenset(g for g, symbols in self._guards if symbols <= own and terms.implies(guard, g))
            else:
                included = frozenset()
            self._included[guard] = included
        paths = self._paths.get(included)
        if paths is None:
            paths = self._paths[included] = _Paths(
                [[(e, i) for e, i, g in mine if g == 1 or g in included] for mine in self._entries]
            )
        return paths

    def _rank(self) -> list[tuple[list[int], list[int]]]:
        """For each thread where it comes to barriers, and how many are one behind the other before each of these places and
        at the end."""
        everything = _Paths([[(e, i) for e, i, _ in mine] for mine in self._entries])
        ranks: dict[int, int] = {}
        for number, row in sorted(enumerate(everything.reach), key=lambda x: x[1].bit_count(), reverse=True):
            own = ranks.setdefault(number, 1)
            for later in bits(row & ~(1 << number)):
                ranks[later] = max(ranks.get(later, 1), own + 1)
        return [(effects, [0, *[ranks[i] for i in instances]]) for effects, instances in everything.stops]


def _strange(threads: Sequence[ProgramThread], encounters: Encounters) -> set[object]:
    """The barriers that are left out: of clusters, those at which somebody arrives only, and those of which it is not known
    who meets there, or that somebody may misuse."""
    found: set[object] = set()
    for (t, number), barrier in encounters.barriers.items():
        meeting = encounters.meetings.get(barrier)
        effect = threads[t].execution.effects[number]
        if (
            meeting is None
            or effect.level == "cluster"
            or effect.barrier == "arrive"
            or _is_odd(effect)
            or t not in meeting.threads
        ):
            found.add(barrier)
    return found


def _is_odd(effect: Effect) -> bool:
    """Whether a barrier's numbers are such as there are not."""
    if effect.level != "cta":
        return False
    identity, count = effect.identity, effect.count
    if type(identity) is not int or identity > 15:
        return True
    return count is not None and (type(count) is not int or count <= 0 or count % WARP != 0)
