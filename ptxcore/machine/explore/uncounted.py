"""Which iterations of a thread's loops count towards their bounds: not those that are left out, nor those that nobody chose.

An iteration is `omitted` where it has only read, or written what it had read, and leaves the live state as it was, as terms;
the engine asks for both (`Exploration._side_effects`, `Block.waits`), but for memory of the thread's own, which is asked here.
There it may be changed where nobody reads what was, before it is written anew. Who reads where is known at the end: then it is
said which loops are `observed` there, and all is executed once more, with iterations of these counted.

An iteration is `forced` where no path leaves the loop in it: a loop over known numbers, in which threads may wait for others.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptxcore.machine.explore.state import State
from ptxcore.machine.ir.loop_nest import Uncounted
from ptxcore.machine.ir.private_memory import Mark
from ptxcore.values.terms import Value

#: Of so many iterations of a loop at most it is asked whether they are forced.
_MOST_FORCED = 4096


class Ongoing:
    """An iteration of a loop in progress: the effects before it, the guard under which it began, how many iterations before it
    count, and whether it is `forced`; `is_left`: whether some path left the loop in it. `mark`: what was in memory of the
    thread's own, where that is asked for; `before`: the state, where it is."""

    __slots__ = ("before", "counted", "forced", "guard", "is_left", "mark", "start")

    def __init__(self, start: int, guard: Value, counted: int) -> None:
        self.start, self.guard, self.counted, self.forced, self.is_left = start, guard, counted, False, False
        self.mark: Mark | None = None
        self.before: State | None = None


class Counting:
    """What is found of the iterations of one thread, by their places in the unrolled graph; or what is `known` of them, where
    only one path is executed. `observed`: loops, by their headers, of which somebody sees in memory of the thread's own how
    many iterations there were, as far as that is known."""

    def __init__(self) -> None:
        self.known: Uncounted | None = None
        self.observed: frozenset[int] = frozenset()
        self._omitted: set[tuple[int, ...]] = set()
        self._forced: set[tuple[int, ...]] = set()
        self._marks: list[tuple[int, Mark]] = []  # of those that were omitted although they changed memory

    @property
    def found(self) -> Uncounted:
        """What was found."""
        return Uncounted(frozenset(self._omitted), frozenset(self._forced))

    @property
    def found_observed(self) -> frozenset[int]:
        """The loops of which iterations were omitted, though somebody saw in memory of the thread's own that they had been."""
        return frozenset(header for header, mark in self._marks if mark.is_seen)

    def omits(self, place: tuple[int, ...], header: int, iteration: Ongoing, end: State, when: Value) -> bool:
        """Whether an iteration may be left out that had no effect where a condition holds."""
        mark = iteration.mark
        if end.memory is None or mark is None:
            return True
        if self.known is not None:
            return place in self.known.omitted
        changed = end.memory.changes(mark.before, when)
        if changed is None or (changed and (header in self.observed or changed & mark.seen)):
            end.memory.unmark(mark)
            return False
        if changed:
            mark.changed |= changed
            self._marks.append((header, mark))
        self._omitted.add(place)
        return True

    def forces(self, place: tuple[int, ...], iteration: Ongoing, end: State, others: Iterable[tuple[int, ...]]) -> bool:
        """Whether nobody chose that an iteration goes round; `others`: where else paths go on."""
        if self.known is not None:  # on one path nobody ever chooses
            return place in self.known.forced
        forced = place[-1] < _MOST_FORCED
        if forced and end.guard is not iteration.guard:
            forced = not iteration.is_left and all(key[: len(place)] != place for key in others)
        if forced:
            self._forced.add(place)
        return forced
