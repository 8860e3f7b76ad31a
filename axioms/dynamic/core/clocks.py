"""Vector clocks: how far each thread's accesses are ordered, in base causality order, before what another thread does next.

A thread's own time counts its releases: what it does between two of them has one time. What it knows of others came to it where
threads met, so those that met share one table, by CTA; only a thread's own time stands apart from it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptxcore.records import NamedTuple

#: What is known of the threads of each CTA: their times. Never changed once it is shared.
Table = dict[int, list[int]]
#: What a thread knew, and its own time, when it arrived somewhere.
Arrival = tuple[int, Table, int]

_NOBODY: Table = {}
#: Where in a key of a table stands the plane: 0 of what is ordered in base causality order; others have what is known of the
#: same threads and agents in another way, behind a fence of proxies for one.
PLANE = 64
#: The first of the planes that go on by relaxed synchronization, too; and one of them: what has been executed, whatever is
#: ordered by that.
RELAXED = 1 << 80
EXECUTED = RELAXED + 16


class Several(NamedTuple):
    """What several threads know: their tables; how far each of them knows of others, and how far some of them does. What is
    true of times up to those that somebody knows is true of every table if it is of `each`, and of none if it is not of
    `some`."""

    tables: tuple[Table, ...]
    each: Table
    some: Table


def several(tables: Iterable[Table]) -> Several:
    """What several threads know, by their tables."""
    apart = tuple({id(table): table for table in tables}.values())
    if len(apart) == 1:
        return Several(apart, apart[0], apart[0])
    each: Table = {}
    some: Table = {}
    found: dict[tuple[int, ...], tuple[list[int], list[int]]] = {}  # of lists that several CTAs have
    for cta in dict.fromkeys(cta for table in apart for cta in table):
        lists = {id(times): times for table in apart if (times := table.get(cta)) is not None}
        both = found.get(tuple(lists))
        if both is None:
            first, *others = lists.values()
            both = (list(map(min, first, *others)), list(map(max, first, *others))) if others else (first, first)
            found[tuple(lists)] = both
        some[cta] = both[1]
        if all(cta in table for table in apart):
            each[cta] = both[0]
    return Several(apart, each, some)


def _later(one: list[int], other: list[int]) -> list[int]:
    """Of each thread the later time. (`map(max, one, other)` takes four times as long.)"""
    return [a if a > b else b for a, b in zip(one, other, strict=True)]


class Instance(NamedTuple):
    """The last instance of a barrier that was complete: who arrived, and who of them waited. `unknown`: whose arrivals are not
    in a table, by the identity of the table, which lasts as long as it stands here."""

    arrivals: tuple[Arrival, ...]
    waited: frozenset[int]
    unknown: dict[int, tuple[Table, frozenset[int]]]


class Clocks:
    """The clocks of the threads of a launch, which are numbered CTA by CTA; all CTAs have `size` threads."""

    def __init__(self, size: int, own: list[int] | None = None) -> None:
        """`own`: the threads' own times, where other clocks have them too."""
        self.size = size
        #: CTAs of a cluster, whose numbers follow each other.
        self.cluster = 1
        #: The device of each CTA; empty where all are on one.
        self.devices: tuple[int, ...] = ()
        self.own: list[int] = [] if own is None else own
        self.known: list[Table] = []

    def enter(self) -> int:
        """A thread more; gives its number."""
        self.own.append(1)
        self.known.append(_NOBODY)
        return len(self.own) - 1

    def ordered(self, thread: int, other: int, time: int) -> bool:
        """Whether what `other` did at a time is ordered before what a thread does now."""
        if thread == other:
            return True
        cta, place = divmod(other, self.size)
        times = self.known[thread].get(cta)
        return times is not None and times[place] >= time

    def executed(self, table: Table, other: int, time: int) -> bool:
        """Whether who knows a table knows that a thread has come past a time."""
        cta, place = divmod(other, self.size)
        return any(
            times is not None and times[place] >= time
            for times in (table.get(cta), table.get(cta + (EXECUTED << PLANE)))
        )

    def knows(self, arrival: Arrival, other: int, time: int) -> bool:
        """Whether what a thread did at a time is ordered before an operation."""
        thread, table, own = arrival
        if thread == other:
            return time <= own
        cta, place = divmod(other, self.size)
        times = table.get(cta)
        return times is not None and times[place] >= time

    def behind(self, thread: int, instance: Instance) -> bool:
        """Whether all arrivals at an instance are ordered before what a thread does now. (Threads that met share a table, of
        which this is found once.)"""
        table = self.known[thread]
        found = instance.unknown.get(id(table))
        if found is None:
            missing = frozenset(other for other, _, time in instance.arrivals if not self._has(table, other, time))
            found = instance.unknown[id(table)] = table, missing
        return found[1] <= {thread}

    def _has(self, table: Table, other: int, time: int) -> bool:
        cta, place = divmod(other, self.size)
        times = table.get(cta)
        return times is not None and times[place] >= time

    def within(self, scope: str, thread: int, other: int) -> bool:
        """Whether two threads are in one instance of a scope (section 8.5)."""
        if scope == "sys" or (scope == "gpu" and not self.devices):
            return True
        if scope not in ("cta", "cluster", "gpu"):
            return False
        one, two = thread // self.size, other // self.size
        if scope == "gpu":
            return self.devices[one] == self.devices[two]
        return one == two or (scope == "cluster" and one // self.cluster == two // self.cluster)

    def wide(self, scope: str) -> bool:
        """Whether a scope has all threads."""
        return scope == "sys" or (scope == "gpu" and not self.devices)

    def release(self, thread: int) -> Arrival:
        """What a thread hands on: all that is ordered before this point. What it does next is later."""
        arrival = thread, self.known[thread], self.own[thread]
        self.own[thread] += 1
        return arrival

    def join(self, arrivals: Iterable[Arrival]) -> Table:
        """What is ordered before a point that is behind all of these."""
        tables: dict[int, Table] = {}
        own: list[tuple[int, int]] = []
        for thread, table, time in arrivals:
            tables[id(table)] = table
            own.append((thread, time))
        found: Table = {}
        greater: dict[
            tuple[int, int], tuple[list[int], list[int], list[int]]
        ] = {}  # of two lists that several CTAs have
        for table in tables.values():
            for cta, times in table.items():
                mine = found.get(cta)
                if mine is None:
                    found[cta] = times
                elif mine is not times:
                    both = greater.get((id(mine), id(times)))
                    if both is None:
                        both = greater[id(mine), id(times)] = mine, times, _later(mine, times)
                    found[cta] = both[2]
        fresh: set[int] = set()
        for thread, time in own:
            cta, place = divmod(thread, self.size)
            if cta not in fresh:
                fresh.add(cta)
                found[cta] = list(found.get(cta, [0] * self.size))
            found[cta][place] = max(found[cta][place], time)
        return found

    def merge(self, thread: int, tables: Iterable[Table]) -> None:
        """A thread learns what tables say, besides what it knows."""
        self.known[thread] = self.join([(thread, table, 0) for table in (self.known[thread], *tables)])

    def acquire(self, threads: Iterable[int], table: Table) -> None:
        """Threads come behind a point at which a table is known, and know of nothing more than it says but their own past."""
        for thread in threads:
            self.known[thread] = table
