"""Who found what another thread has written, and did not synchronize with it: what lacks where two accesses race.

Whoever waits for a flag before it reads means to come behind what stands before the flag. So of a race those are told that came
between: a strong write W behind the first access, in its thread or behind a barrier of its CTA, and a strong read R before the
second one, likewise, that found W or what came of it. Had W and R synchronized, there were no race (base causality order,
section 8.9.5). They did not, since W is in no release pattern that the first access comes before, or R in no acquire pattern
(section 8.8), or one is not in the other's scope (section 8.7.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.clocks import Clocks, Table
from axioms.dynamic.core.findings import ByteRace, Party
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.several.noted import OpenOperation
from axioms.dynamic.several.noting import Noting
from axioms.dynamic.waits.waiting import Hand
from ptxcore.machine.lower.ops import Op
from ptxcore.records import NamedTuple

_ACQUIRES = ("acquire", "acq_rel", "sc")
#: What lacks at the one who writes; else it lacks at the reader.
OF_WRITER = frozenset(("release", "scope", "scope of the writer"))


class Unsynchronized(NamedTuple):
    """A strong write, and a strong read that found it. `lacks`: `release` or `acquire` semantics, or of the writer or the
    reader a `scope` that has the other one; a `scope` alone of two strong accesses that race themselves."""

    writes: Party
    reads: Party
    lacks: str
    scope: str = ""


class _Found(NamedTuple):
    """A write and a read that found it: the instructions, threads and times; the scopes; what the writer knew, and hands on."""

    writer: int
    wrote: int
    write: Op
    known: Table
    hands: Sequence[Hand]
    reader: int
    read_at: int
    read: Op
    scopes: tuple[str, str]


def unsynchronized(watcher: Determinate, race: ByteRace) -> Unsynchronized | None:
    """Of a race that a watched run has ended with, who should have synchronized; None where nobody found anything, or it is not
    seen what lacks."""
    first, second, clocks = race.before.thread, race.after.thread, watcher.clocks
    if race.kind != "data":
        return None
    scopes = scope_of(race.before.op.use), scope_of(race.after.op.use)
    if all(scopes):  # strong, and yet they race
        for one, other, scope in ((race.before, race.after, scopes[0]), (race.after, race.before, scopes[1])):
            if not clocks.within(scope or "", first, second):
                return Unsynchronized(one, other, "scope", scope or "")
    between = [
        one
        for one in _found(watcher)
        if clocks.knows((one.writer, one.known, one.wrote), first, race.time)
        and clocks.ordered(second, one.reader, one.read_at)
    ]
    if not between:
        return None
    last = max(between, key=lambda one: (one.reader == second, one.read_at))
    lacks = _lacking(last, first, race.time, clocks)
    if lacks is None:
        return None
    return Unsynchronized(Party(last.writer, last.write), Party(last.reader, last.read), *lacks)


def _lacking(found: _Found, first: int, time: int, clocks: Clocks) -> tuple[str, str] | None:
    """What lacks, and the scope that is too narrow."""
    writer, reader = found.writer, found.reader
    hands = [hand for hand in found.hands if clocks.knows((-1, hand.table, 0), first, time)]
    if not hands:
        return "release", ""
    wide = max((hand.scope for hand in hands), key=lambda scope: clocks.within(scope, writer, reader))
    for lacks, scope in (("scope of the writer", found.scopes[0]), ("scope of the writer", wide)):
        if not clocks.within(scope, writer, reader):
            return lacks, scope
    if not clocks.within(found.scopes[1], writer, reader):
        return "scope of the reader", found.scopes[1]
    return None if found.read.use.sem in _ACQUIRES else ("acquire", "")


def _found(watcher: Determinate) -> Iterator[_Found]:
    """What threads have found of others."""
    for places in watcher.places.values():
        for _, place in dict.fromkeys((id(place), place) for _, place in places.values()):
            for read in place.reads:
                for n in sorted(read.certain - read.before):
                    w = place.writes[n]
                    if read.op is not None and w.op is not None and w.thread != read.thread:
                        scopes = w.scope, read.scope
                        yield _Found(w.thread, w.time, w.op, w.known, w.hands, read.thread, read.time, read.op, scopes)
    if isinstance(watcher, Noting):
        yield from _found_in_order(watcher.events)


def _found_in_order(events: Sequence[OpenOperation]) -> Iterator[_Found]:
    """The same, of operations of which each order is a way of its own."""
    for event in events:
        order = event.spot.order
        last = event.source if event.kind == "read" else next((n for n, e in enumerate(order) if e is event), 0) - 1
        for w in order[: last + 1] if event.lead is not None else ():
            if w.name[1] != event.name[1] and w.does is not None and event.does is not None:
                yield _Found(
                    w.name[1], w.time, w.does, w.known, w.hands, event.name[1], event.time, event.does,
                    (w.strong, event.scope),
                )  # fmt: skip


__all__ = ["OF_WRITER", "Unsynchronized", "unsynchronized"]
