"""What Fence-SC order adds to base causality order in every execution: two `fence.sc` that come in one order in all of them.

Fence-SC order relates every two `fence.sc` that are in each other's scope, and the first of the two synchronizes with the
second (sections 8.9.3 and 8.9.4). Where F comes before a write X in base causality order, an operation Y observes X (section
8.9.2), and Y comes before a fence G in base causality order, then F is the first: if G were, Y would come before X in base
causality order, and no operation observes what it comes before (section 8.10.6; along a chain of atomic operations, each of
which comes behind the one that it reads from in coherence order).

Release and acquire patterns ask the fence to be in the thread that writes, or reads (section 8.8). This does not, as long as
both are `fence.sc`, as `__threadfence()` is. In

    part[block] = sum; __threadfence(); __syncthreads(); if (thread == 0) ticket = atomicAdd(&count, 1);

the fences of all threads of the CTA count, and so do those of threads behind a barrier that comes behind the one that looks.

In tables of what threads know this has two planes, which go where base causality order goes: what came before a `fence.sc`
that is ordered before here, and what came before one that such a fence would come behind.
"""

from __future__ import annotations

from collections.abc import Iterable

from axioms.dynamic.core.clocks import PLANE, Clocks, Table
from axioms.dynamic.core.shadow import AGENTS

#: The planes: of what came before a `fence.sc` that is ordered before here, and of what a `fence.sc` here would come behind.
#: They lie below those of Tensor Memory, which go on by relaxed synchronization, too, and above those of maps.
_FENCED = 1 << 79
_OBSERVED = _FENCED + 4

_NOTHING: Table = {}


class SequentialFences:
    """The `fence.sc` of one launch whose scopes have all of its threads."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks

    def comes_by(self, number: int) -> None:
        """A thread comes by a fence, behind all fences that must come before it."""
        clocks = self.clocks
        before = _moved(clocks.known[number], _OBSERVED, 0)
        if before:
            clocks.merge(number, [before])
        known = clocks.known[number]
        own = {key: times for key, times in known.items() if key < AGENTS}
        every = clocks.join([(number, own, clocks.release(number)[2])])
        clocks.known[number] = clocks.join([(number, known, 0), (number, _moved(every, 0, _FENCED), 0)])

    def before(self, number: int, seen: Table = _NOTHING) -> Table:
        """What a fence would come behind, behind an operation that observes what a thread writes now; `seen`: the same of what
        that observes itself, as an atomic operation."""
        own = _moved(self.clocks.known[number], _FENCED, _OBSERVED)
        both = {key: list(map(max, times, own[key])) for key, times in seen.items() if key in own}
        return {**seen, **own, **both}

    def observes(self, number: int, tables: Iterable[Table]) -> None:
        """A thread's operation observes writes, of which `tables` say what came before each (`before`)."""
        found = [table for table in tables if table]
        if found:
            self.clocks.merge(number, found)


def _moved(table: Table, plane: int, to: int) -> Table:
    """What a table says in one plane, in another one."""
    return {key + ((to - plane) << PLANE): times for key, times in table.items() if key >> PLANE == plane}


__all__ = ["SequentialFences"]
