"""Runs that no execution begins as: the order of `fence.sc` excludes what their threads find.

Fence-SC order relates every two `fence.sc` that are in each other's scope (section 8.9.3), and what comes before the first of
them comes, in base causality order, before what comes behind the second one (section 8.9.5). Of two such fences a and b of two
threads, a does not come first where that would be against what two operations on the same bytes have found and written, one in
front of a and one behind b:

    a write, and a read that finds an older one                  section 8.10.6
    a read, and the write that it finds                          section 8.10.6
    a write, and another one before it in coherence order        section 8.10.1

Then b comes first. Where fences would have to come first in a circle, with program order, base causality order would be a
circle (section 8.10.2). Only operations of the script, with which the run had to begin, are looked at, and fences in front of
them: so no execution begins as the script says, and no run is needed that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from axioms.dynamic.several.noted import OpenOperation
from axioms.dynamic.several.plan import Name, Script
from ptxcore.records import NamedTuple

#: Of more fences nothing is said.
_MOST = 64


class Total(NamedTuple):
    """A `fence.sc`: its thread and CTA, the number of open operations of the thread before it, and whether its scope has all
    threads of the device, or those of the CTA."""

    thread: int
    cta: int
    number: int
    wide: bool

    def relates(self, other: Total) -> bool:
        """Whether the two are in each other's scope."""
        return (self.wide and other.wide) or self.cta == other.cta


def excluded(events: Sequence[OpenOperation], fences: Sequence[Total], script: Script) -> bool:
    """Whether no execution begins as a script says that a run with these operations and fences began with."""
    if len(fences) < 2:
        return False
    names = _names(script)
    kept: dict[int, list[OpenOperation]] = {}
    for event in events:
        if event.name in names and event.kind != "taker":
            kept.setdefault(event.name[1], []).append(event)
    last = {thread: max(event.name[2] for event in of) for thread, of in kept.items()}
    matter = [f for f in fences if f.number <= last.get(f.thread, -1)]
    if len(matter) > _MOST:
        return False
    first: dict[int, set[int]] = {n: set() for n in range(len(matter))}  # of each, those that come behind it
    for (n, a), (m, b) in product(enumerate(matter), repeat=2):
        if a.thread == b.thread:
            if n < m:
                first[n].add(m)
        elif a.relates(b) and _against(a, b, kept):
            first[m].add(n)
    return _circle(first)


def _names(script: Script) -> set[Name]:
    """The operations of a script."""
    found = {name for order in script.orders.values() for name in order} | set(script.sources)
    return found.union(*(of.values() for of in script.takers.values()))


def _against(a: Total, b: Total, kept: dict[int, list[OpenOperation]]) -> bool:
    """Whether `a` does not come before `b`."""
    before = [event for event in kept.get(a.thread, ()) if event.name[2] < a.number]
    behind = [event for event in kept.get(b.thread, ()) if event.name[2] >= b.number]
    return any(one.spot is other.spot and _impossible(one, other) for one, other in product(before, behind))


def _impossible(one: OpenOperation, other: OpenOperation) -> bool:
    """Whether an operation does not come before another one on the same bytes in base causality order."""
    written, later, found = _written(one), _written(other), _found(other)
    if written is not None and found is not None and found < written:
        return True
    if later is None:
        return False
    return (written is not None and written > later) or _found(one) == later


def _written(event: OpenOperation) -> int | None:
    """The number of what an operation writes."""
    return event.spot.order.index(event) if event.kind in ("store", "update") else None


def _found(event: OpenOperation) -> int | None:
    """The number of the write that it finds."""
    if event.kind == "read":
        return event.source
    return event.spot.order.index(event) - 1 if event.kind == "update" else None


def _circle(first: dict[int, set[int]]) -> bool:
    """Whether something comes before itself."""
    left = dict(first)
    while left:
        free = [n for n in left if not any(n in of for m, of in left.items() if m != n) and n not in left[n]]
        if not free:
            return True
        for n in free:
            del left[n]
    return False
