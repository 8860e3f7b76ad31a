"""Who found what another thread has written, and did not synchronize with it: what lacks where two accesses race.

Whoever waits for a flag before it reads means to come behind what stands before the flag. So of a race those are told that came
between: a strong write W behind the first access, in its thread or behind a barrier of its CTA, and a strong read R before the
second one, likewise, that found W or what came of it, or several such pairs, each behind the one before. Had W and R
synchronized, there were no race (base causality order, section 8.9.5). They did not, since W is in no release pattern that the
first access comes before, or R in no acquire pattern (section 8.8), or one is not in the other's scope (section 8.7.1).

Or a thread does so for others of its CTA, and did not meet them: who wrote W is in the CTA of the first access, and does not
know of that, whose thread was not behind W. So both stand between the same two barriers, and another one should be there. Or
who acquired the first access is in the CTA of the second one, whose thread has not met it since, or in the CTA of who hands
over to that one, who has not. Or they met at the barrier of their cluster, at which the first one arrived with `.relaxed`
(section 9.7.13.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, islice
from math import inf
from operator import not_

from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.clocks import Clocks, Table
from axioms.dynamic.core.findings import ByteRace, Party
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.several.noted import OpenOperation
from axioms.dynamic.several.noting import Noting
from axioms.dynamic.waits.written import Hand
from ptxcore.isa.form import ACQUIRES
from ptxcore.machine.lower.ops import Op
from ptxcore.records import NamedTuple

#: As many finds are looked at: what this costs grows by the square.
_MOST = 4096
#: What lacks at the one who writes; else it lacks at the reader.
OF_WRITER = frozenset(("release", "arrival", "scope", "scope of the writer", "scope of the release"))


class Unsynchronized(NamedTuple):
    """A strong write, and a strong read that found it. `lacks`: `release` or `acquire` semantics, or of the writer, of the
    fence or other release before it, or of the reader a `scope` that has the other one; a `scope` alone of two strong accesses
    that race themselves. Or an `arrival` at a barrier that releases nothing, and a wait for it. `last`: whether the
    second access comes behind the read in base causality order."""

    writes: Party
    reads: Party
    lacks: str
    scope: str = ""
    last: bool = False


class Unmet(NamedTuple):
    """Two threads of a CTA, of which no barrier orders what the first does before what the second does: an access that races,
    and a write that hands it over."""

    before: Party
    after: Party


class _Found(NamedTuple):
    """A write and a read that found it: the instructions, threads and times; the scopes; what the writer knew, and hands on.
    `turn`: where the read stands in the run among operations of which each order is a way of its own, of which a thread may
    have several at one time; others count as behind these."""

    writer: int
    wrote: int
    write: Op
    known: Table
    hands: Sequence[Hand]
    reader: int
    read_at: int
    read: Op
    scopes: tuple[str, str]
    turn: float = inf


def out_of_date(watcher: Noting) -> tuple[ByteRace, Unsynchronized | Unmet] | None:
    """The first read of a run that found something older than a write that was there, of which it is seen who should have
    synchronized so that it could not: both as accesses that nothing orders. None where there is none."""
    for write, read in watcher.missed:
        if write.does is None or read.does is None or write.name[1] == read.name[1]:
            continue
        parties = Party(write.name[1], write.does), Party(read.name[1], read.does)
        first, size = write.spot.first, write.spot.name.size
        pair = ByteRace(*parties, write.spot.segment.name, first, first + size - 1, time=write.time, until=read.time)
        between = unsynchronized(watcher, pair, strong=True)
        if between is not None:
            return pair, between
    return None


def unsynchronized(watcher: Determinate, race: ByteRace, *, strong: bool = False) -> Unsynchronized | Unmet | None:
    """Of a race that a watched run has ended with, who should have synchronized, or met; None where nobody found anything, or
    what lacks is not seen. `strong`: the accesses do not race, whether a scope has both or not."""
    first, second, clocks = race.before.thread, race.after.thread, watcher.clocks
    scopes = scope_of(race.before.op.use), scope_of(race.after.op.use)
    if race.kind != "data" or CONSTANT in scopes:  # whoever synchronizes does not order what another proxy reads
        return None
    if all(scopes) and not strong:  # and yet they race
        for one, other, scope in ((race.before, race.after, scopes[0]), (race.after, race.before, scopes[1])):
            if not clocks.within(scope or "", first, second):
                return Unsynchronized(one, other, "scope", scope or "")
    found = list(islice(_found(watcher), _MOST))
    links = _links(found, race, clocks)
    if not links:
        return (
            _unmet(found, race, clocks)
            or _unmet_by_reader(found, race, clocks)
            or _unmet_between(found, race, clocks)
            or _unmet_the_other_way(found, race, clocks)
            or _unreleased(watcher, race)
        )
    before, time = first, race.time
    for link in links:
        lacks = _lacking(link, before, time, clocks)
        if lacks is not None:
            parties = Party(link.writer, link.write), Party(link.reader, link.read)
            return Unsynchronized(*parties, *lacks, last=link is links[-1])
        before, time = link.reader, link.read_at
    return None


def _unreleased(watcher: Determinate, race: ByteRace) -> Unsynchronized | None:
    """Who arrived at the barrier of a cluster behind the first access, and released nothing, and who waited for that."""
    found = watcher.clusters.unreleased(race.before.thread, race.time, race.after.thread, race.until)
    return None if found is None else Unsynchronized(*found, "arrival")


def _links(found: Sequence[_Found], race: ByteRace, clocks: Clocks) -> Sequence[_Found]:
    """The fewest writes and reads that found them which would order the second access behind the first one, had each pair
    synchronized, from the first access on: the last ones; none where there are none."""
    first, second = race.before.thread, race.after.thread
    left = sorted(found, key=lambda one: (one.reader == second, one.read_at, one.turn), reverse=True)
    ways: list[tuple[_Found, ...]] = [()]
    while ways:
        further = []
        for way in ways:
            reached = [_comes_behind(way, second, one, clocks) for one in left]
            further += [(one, *way) for one in compress(left, reached)]
            left = list(compress(left, map(not_, reached)))
        for way in further:
            if clocks.knows((way[0].writer, way[0].known, way[0].wrote), first, race.time):
                return way
        ways = further
    return ()


def _comes_behind(way: Sequence[_Found], second: int, one: _Found, clocks: Clocks) -> bool:
    """Whether who goes this way comes behind what another one reads."""
    if not way:
        return clocks.ordered(second, one.reader, one.read_at)
    return clocks.knows((way[0].writer, way[0].known, way[0].wrote), one.reader, one.read_at)


def _lacking(found: _Found, first: int, time: int, clocks: Clocks) -> tuple[str, str] | None:
    """What lacks, and the scope that is too narrow."""
    writer, reader = found.writer, found.reader
    hands = [hand for hand in found.hands if clocks.knows((-1, hand.table, 0), first, time)]
    if not hands:
        return "release", ""
    wide = max((hand.scope for hand in hands), key=lambda scope: clocks.within(scope, writer, reader))
    for lacks, scope in (("scope of the writer", found.scopes[0]), ("scope of the release", wide)):
        if not clocks.within(scope, writer, reader):
            return lacks, scope
    if not clocks.within(found.scopes[1], writer, reader):
        return "scope of the reader", found.scopes[1]
    return None if found.read.use.sem in ACQUIRES else ("acquire", "")


def _unmet(found: Sequence[_Found], race: ByteRace, clocks: Clocks) -> Unmet | None:
    """Who should have met at a barrier of a CTA, by the last of what was found."""
    first, second = race.before.thread, race.after.thread
    for one in sorted(found, key=lambda one: one.read_at, reverse=True):
        if one.hands and clocks.ordered(second, one.reader, one.read_at) and _are_apart(one, first, race.time, clocks):
            return Unmet(race.before, Party(one.writer, one.write))
    return None


def _unmet_by_reader(found: Sequence[_Found], race: ByteRace, clocks: Clocks) -> Unmet | None:
    """Who acquires the first access, in the CTA of the second one, and did not meet the thread of that."""
    cta = race.after.thread // clocks.size
    for one in sorted(found, key=lambda one: one.read_at, reverse=True):
        beside = one.reader != race.after.thread and one.reader // clocks.size == cta
        known = beside and clocks.knows((one.writer, one.known, one.wrote), race.before.thread, race.time)
        if known and _lacking(one, race.before.thread, race.time, clocks) is None:
            return Unmet(Party(one.reader, one.read), race.after)
    return None


def _unmet_between(found: Sequence[_Found], race: ByteRace, clocks: Clocks) -> Unmet | None:
    """Who acquires the first access, and did not meet the thread of its CTA that hands over to the second one."""
    first, second = race.before.thread, race.after.thread
    last = [one for one in found if one.hands and clocks.ordered(second, one.reader, one.read_at)]
    for one in found:
        if not clocks.knows((one.writer, one.known, one.wrote), first, race.time):
            continue
        for further in last:
            beside = further.writer != one.reader and further.writer // clocks.size == one.reader // clocks.size
            apart = beside and not clocks.knows((further.writer, further.known, further.wrote), one.reader, one.read_at)
            if apart and _lacking(one, first, race.time, clocks) is None:
                return Unmet(Party(one.reader, one.read), Party(further.writer, further.write))
    return None


def _unmet_the_other_way(found: Sequence[_Found], race: ByteRace, clocks: Clocks) -> Unmet | None:
    """The same of a race whose second access was to come first: who comes first in the run had waited itself."""
    ended = [one for one in found if one.reader == race.before.thread and one.read_at <= race.time]
    return _unmet(ended, race._replace(before=race.after, after=race.before, time=race.until), clocks)


def _are_apart(found: _Found, other: int, time: int, clocks: Clocks) -> bool:
    """Whether who wrote does not know what another thread of its CTA did at a time, and that one had not come behind the write
    then: it was all that it did since the last time that is known, or it has not come behind it yet."""
    cta, place = divmod(other, clocks.size)
    if found.writer == other or found.writer // clocks.size != cta:
        return False
    times = found.known.get(cta)
    known = times[place] if times else 0
    return known + 1 == time or (known < time and not clocks.ordered(other, found.writer, found.wrote))


def _found(watcher: Determinate) -> Iterator[_Found]:
    """What threads have found of others; of each read the last write first, which the others came to it by."""
    for places in watcher.places.values():
        for _, place in dict.fromkeys((id(place), place) for _, place in places.values()):
            for read in place.reads:
                for n in sorted(read.certain - read.before, reverse=True):
                    w = place.writes[n]
                    if read.op is not None and w.op is not None and w.thread != read.thread:
                        scopes = w.scope, read.scope
                        yield _Found(w.thread, w.time, w.op, w.known, w.hands, read.thread, read.time, read.op, scopes)
    if isinstance(watcher, Noting):
        yield from _found_in_order(watcher.events)


def _found_in_order(events: Sequence[OpenOperation]) -> Iterator[_Found]:
    """The same, of operations of which each order is a way of its own; the last ones of the run first."""
    for turn, event in reversed(tuple(enumerate(events))):
        order = event.spot.order
        last = event.source if event.kind == "read" else next((n for n, e in enumerate(order) if e is event), 0) - 1
        for w in reversed(order[: last + 1]) if event.lead is not None else ():
            if w.name[1] != event.name[1] and w.does is not None and event.does is not None:
                yield _Found(
                    w.name[1], w.time, w.does, w.known, w.hands, event.name[1], event.time, event.does,
                    (w.strong, event.scope), turn,
                )  # fmt: skip


__all__ = ["OF_WRITER", "Unmet", "Unsynchronized", "unsynchronized"]
