"""Writes of bytes that strong operations access, and which of them a read observes whatever it finds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from axioms.dynamic.core.clocks import Clocks, Table
from axioms.dynamic.waits.strong_reads import StrongRead
from ptxcore.machine.lower.ops import Op
from ptxcore.records import NamedTuple


class Written(NamedTuple):
    """A write of the run: `kind` is `store` (of `value`), `add` (the operand; with a `modulus`, to a value that is less), or
    `other`; `scope` is empty where it is weak. `op`: the instruction; `known`: what was ordered before it, and `time` its
    thread's own; `hands`: what it hands on to who acquires it; `fenced`: what a `fence.sc` comes behind that is behind who
    observes it (`core.sequential_fences`)."""

    thread: int
    time: int
    value: int
    kind: str
    scope: str
    known: Table
    hands: tuple[Hand, ...] = ()
    fenced: Table = {}  # noqa: RUF012 - never changed
    modulus: int = 0
    op: Op | None = None


class Hand(NamedTuple):
    """What the head of a release pattern hands on: what is ordered before it, its scope, and its thread."""

    table: Table
    scope: str
    thread: int


#: How wide scopes are.
WIDTHS = {"cta": 0, "cluster": 1, "gpu": 2, "sys": 3}


def behind(hands: tuple[Hand, ...], hand: Hand) -> tuple[Hand, ...]:
    """What a thread hands on behind one more release: of the others only those of a wider scope do not come with it."""
    return (*(one for one in hands if WIDTHS.get(one.scope, 0) > WIDTHS.get(hand.scope, 0)), hand)


def observes(read: StrongRead, writes: Sequence[Written], clocks: Clocks) -> bool:
    """Whether a read observes, in every execution, all writes that it is certain of and that nothing orders before it, by
    whatever it finds (section 8.9.2): it is morally strong with all that it may find, and so are with each other all that may
    be atomic operations on the way there. These are all writes but those that come before what it is certain of, or behind the
    read; so also one in a narrow scope which something else orders before the read."""
    fresh, between = read.certain - read.before, dict[tuple[str, int], Written]()
    only_stores = True
    for m, w in enumerate(writes):
        before = all(n > m and knows(writes[n], w.thread, w.time, clocks) for n in fresh)
        if not before and (m in read.before or not knows(w, read.thread, read.time, clocks)):
            between[w.scope, w.thread // clocks.size] = w
            only_stores = only_stores and w.kind == "store"
    found = [(w.scope, w.thread) for w in between.values()]
    if not all(morally_strong(one, (read.scope, read.thread), clocks) for one in found):
        return False
    return only_stores or all(morally_strong(a, b, clocks) for a, b in combinations(found, 2))


def morally_strong(one: tuple[str, int], other: tuple[str, int], clocks: Clocks) -> bool:
    """Whether operations on the same bytes, by their scopes, empty of weak ones, and their threads, are each in the other's
    scope."""
    (scope, thread), (another, second) = one, other
    within = clocks.within
    return bool(scope and another) and within(scope, thread, second) and within(another, thread, second)


def knows(w: Written, thread: int, time: int, clocks: Clocks) -> bool:
    """Whether what a thread did at a time is ordered before a write."""
    if w.thread == thread:
        return w.time >= time
    cta, place = divmod(thread, clocks.size)
    times = w.known.get(cta)
    return times is not None and times[place] >= time


__all__ = ["Hand", "Written", "behind", "knows", "morally_strong", "observes"]
