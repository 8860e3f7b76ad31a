"""What threads see on the ways of a look-back: words that others publish, and what these hand on to who acquires them.

A flag says that a value stands in a word of its own. Who finds it by an operation that acquires, or by another one and a fence
behind it, comes behind all that the flag's writer released by it (section 8.8), on this way, whatever the run did. So what a
read may find hangs on what its thread has seen before: of words to which all writes are strong any that nothing orders with it
then; of words to which there are weak ones the last of those before it, and each other one has to come behind the look-back.
docs/whole-launches/waits.md, Look-backs, has the argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axioms.dynamic.core.accesses import LEVELS, scope_of
from axioms.dynamic.core.clocks import Clocks, Table
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.waits.waiting import WrittenBytes
from axioms.dynamic.waits.written import Hand, Written
from ptxcore.isa.form import ACQUIRES, Use
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.records import NamedTuple

if TYPE_CHECKING:
    from axioms.dynamic.core.shadow import Shadow

#: The widest that one access is.
_WIDEST = 32
#: What acquires.


class Seen(NamedTuple):
    """What a thread has seen on its way: by their numbers what it has acquired, and what it may acquire by a fence, with the
    scope of the read that found it."""

    acquired: frozenset[int] = frozenset()
    found: frozenset[tuple[int, str]] = frozenset()


class Sighting(NamedTuple):
    """What a thread finds by a strong read: at an address, what the write of a number left, -1 for what stood there first."""

    thread: int
    address: int
    source: int


NOTHING = Seen()


class CannotFind(Exception):
    """Nothing is known of what a read finds, or it might race."""


class WeakWrites:
    """The weak writes to memory of one segment, each with what was ordered before it, and what stood there first."""

    def __init__(self) -> None:
        self._of: dict[int, list[tuple[int, WrittenBytes]]] = {}

    def write(self, first: int, size: int, before: Any, written: Written) -> None:
        """One more; `before` is what stands there."""
        of = self._of.setdefault(first, [])
        place = next((place for of_size, place in of if of_size == size), None)
        if place is None:
            place = WrittenBytes(size, before if type(before) is int else None)
            of.append((size, place))
        place.writes.append(written)

    def at(self, first: int, size: int) -> WrittenBytes | None:
        """Those to some bytes, None where there are none. Raises CannotFind where some are to more bytes, or to a part."""
        met = [
            (at, of_size, place)
            for at in range(first - _WIDEST + 1, first + size)
            for of_size, place in self._of.get(at, ())
            if at + of_size > first
        ]
        if not met:
            return None
        if len(met) > 1 or met[0][:2] != (first, size):
            raise CannotFind
        return met[0][2]


class Sightings:
    """What threads of a launch may see. `places`, `shadows`: as of `asynchronous.launch_state`."""

    def __init__(
        self, clocks: Clocks, places: dict[int, dict[int, tuple[int, WrittenBytes]]], shadows: dict[int, Shadow]
    ) -> None:
        self._clocks, self._places, self._shadows = clocks, places, shadows
        self._weak: dict[int, WeakWrites] = {}
        #: Whether something else than threads may access memory.
        self.copied = False
        #: What is handed on, by its number.
        self._hands: list[Hand] = []
        self._numbers: dict[int, int] = {}

    def write(self, segment: Segment, first: int, size: int, written: Written) -> None:
        """A thread is about to write something by a weak store."""
        if first + size <= segment.size:
            of = self._weak.setdefault(id(segment), WeakWrites())
            of.write(first, size, segment.read(first, size) if size <= 8 else None, written)

    def is_weakly_written(self, segment: Segment, first: int, size: int) -> bool:
        """Whether a weak store has been to some bytes, as far as it is known."""
        of = self._weak.get(id(segment))
        try:
            return of is not None and of.at(first, size) is not None
        except CannotFind:
            return True

    # What a read may find.

    def possible(
        self,
        number: int,
        known: Table,
        end: int | None,
        scope: str,
        segment: Segment,
        first: int,
        size: int,
        seen: Seen,
    ) -> list[tuple[int, tuple[Hand, ...], int]]:
        """What a thread may find that reads some bytes in a scope (empty: weakly): it begins with what it knows and comes to an
        end at a time of its own. The values, with what is handed on by whom it finds, and the number of that write, -1 for
        none. Raises CannotFind where that is open, or it might race."""
        if scope == CONSTANT or first + size > segment.size:
            raise CannotFind
        of = self._weak.get(id(segment))
        weakly = None if of is None else of.at(first, size)
        at, place = self._strong_at(segment, first, size)
        if self.copied and (weakly is not None or not scope):
            raise CannotFind
        if weakly is not None:
            if place is not None and place.writes:
                raise CannotFind
            place = weakly
        elif place is None:
            if self._is_written(segment, first, size):
                raise CannotFind
            place = WrittenBytes(size, _number(segment.read(first, size)))
        elif at != first or place.size != size or not self._is_strongly_written(segment, first, size):
            raise CannotFind
        tables = [known, *(self._hands[n].table for n in seen.acquired)]
        base, last, numbers = self._divided(place, number, tables, end)
        beside = [place.writes[n] for n in numbers]
        if base is None or (beside and (weakly is not None or not scope)):
            raise CannotFind
        for w in beside:
            if not (self._clocks.within(w.scope, w.thread, number) and self._clocks.within(scope, w.thread, number)):
                raise CannotFind
        if len({w.thread for w in beside}) > 1:
            raise CannotFind
        return [(base, (), last), *((w.value, w.hands, n) for w, n in zip(beside, numbers, strict=True))]

    def _divided(
        self, place: WrittenBytes, number: int, tables: list[Table], end: int | None
    ) -> tuple[int | None, int, list[int]]:
        """What the writes before a read leave, the last of them, and those that nothing orders with it. Raises CannotFind."""
        base, last, beside, size = place.first, -1, list[int](), self._clocks.size
        for n, w in enumerate(place.writes):
            if w.thread == number or w.kind != "store":
                raise CannotFind
            if any(_before(w, table, size) for table in tables):
                base, last = w.value, n
            elif end is None or not _behind(w, number, end, size):
                beside.append(n)
        return base, last, beside

    def _strong_at(self, segment: Segment, first: int, size: int) -> tuple[int, WrittenBytes | None]:
        """The bytes that strong operations access, of which some are among these. Raises CannotFind where they are several."""
        places = self._places.get(id(segment), {})
        met = {id(found[1]): found for byte in range(first, first + size) if (found := places.get(byte)) is not None}
        if len(met) > 1:
            raise CannotFind
        return next(iter(met.values())) if met else (-1, None)

    def _is_written(self, segment: Segment, first: int, size: int) -> bool:
        """Whether anything has written to some bytes."""
        return any(cell.writes or cell.atomics for cell in self._cells(segment, first, size))

    def _is_strongly_written(self, segment: Segment, first: int, size: int) -> bool:
        """Whether all writes to some bytes are strong, and to just these."""
        return all(
            w.strong and (w.first, w.size) == (first, size)
            for cell in self._cells(segment, first, size)
            for w in (*cell.writes.values(), *cell.atomics.values())
        )

    def _cells(self, segment: Segment, first: int, size: int) -> list[Any]:
        shadow = self._shadows.get(id(segment))
        if shadow is None:
            return []
        return list(shadow.known(first, size))

    # What it has seen then.

    def finds(self, number: int, semantics: str, scope: str, hands: tuple[Hand, ...], seen: Seen) -> Seen:
        """What a thread has seen that finds something in a scope, with what is handed on by that."""
        if not hands or not scope:
            return seen
        more = seen._replace(found=seen.found | {(self._number(hand), scope) for hand in hands})
        return self.acquires(number, scope, more) if semantics in ACQUIRES else more

    def acquires(self, number: int, scope: str, seen: Seen) -> Seen:
        """What a thread has seen behind an operation that acquires in a scope."""
        within, hands = self._clocks.within, self._hands
        taken = {
            (n, of)
            for n, of in seen.found
            if within(hands[n].scope, hands[n].thread, number) and within(scope, hands[n].thread, number)
        }
        return Seen(seen.acquired | {n for n, _ in taken}, seen.found - taken)

    def both(self, one: Seen, other: Seen) -> Seen:
        """What a thread has seen in either case: what is handed on later by the same thread has all that was before."""
        if one == other:
            return one
        acquired = {n for n in one.acquired | other.acquired if self._has(one, n) and self._has(other, n)}
        return Seen(frozenset(acquired), one.found & other.found)

    def _has(self, seen: Seen, n: int) -> bool:
        return n in seen.acquired or any(self._comes_before(n, m) for m in seen.acquired)

    def _comes_before(self, n: int, m: int) -> bool:
        """Whether a thread has handed on something before something else, which has all that was before that."""
        one, other = self._hands[n], self._hands[m]
        cta, place = divmod(one.thread, self._clocks.size)
        times, later = one.table.get(cta), other.table.get(cta)
        if one.thread != other.thread or times is None or later is None:
            return False
        return 0 < times[place] <= later[place]

    def _number(self, hand: Hand) -> int:
        found = self._numbers.get(id(hand))
        if found is None:
            found = self._numbers[id(hand)] = len(self._hands)
            self._hands.append(hand)
        return found


class FoundBySight(NamedTuple):
    """A value that a read may find, what its thread has seen then, and by what (None: by a weak read)."""

    value: int
    seen: Seen
    by: Sighting | None


class Sight:
    """What one thread may see that looks back: it begins with what it knows, and comes to an end at a time of its own, None
    where nothing comes behind that. `ops`, `segments`: instructions and memory by their numbers."""

    def __init__(
        self,
        sightings: Sightings,
        ops: list[Op],
        segments: dict[int, Segment],
        number: int,
        known: Table,
        end: int | None,
    ) -> None:
        self._sightings, self._ops, self._segments = sightings, ops, segments
        self._number, self._begins, self._end = number, known, end
        self._found: dict[tuple[int, int, int, Seen], list[FoundBySight]] = {}

    def finds(self, op: int, address: int, size: int, seen: Seen) -> list[FoundBySight]:
        """What an instruction may find at an address; the last one is what it finds in the end. Raises CannotFind."""
        key = op, address, size, seen
        if key not in self._found:
            segment = self._segments.get(address >> GLOBAL_BITS)
            if segment is None:
                raise CannotFind
            use, number, sightings = self._ops[op].use, self._number, self._sightings
            scope, first = scope_of(use) or "", address & ((1 << GLOBAL_BITS) - 1)
            found = sightings.possible(number, self._begins, self._end, scope, segment, first, size, seen)
            by = Sighting(number, address, -1) if scope else None
            values = [
                FoundBySight(value, sightings.finds(number, use.sem, scope, hands, seen), by and by._replace(source=n))
                for value, hands, n in found
            ]
            self._found[key] = [one for i, one in enumerate(values) if one[:2] not in [o[:2] for o in values[i + 1 :]]]
        return self._found[key]

    def fence(self, how: Use, seen: Seen) -> Seen:
        """What the thread has seen behind a fence."""
        scope = LEVELS.get(how.scope or "", how.scope or "")
        return seen if how.sem == "release" else self._sightings.acquires(self._number, scope, seen)

    def both(self, one: Seen, other: Seen) -> Seen:
        """What the thread has surely seen that has seen one thing or another."""
        return self._sightings.both(one, other)


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def _before(write: Written, known: Table, size: int) -> bool:
    """Whether a write is ordered before what a thread knew."""
    cta, place = divmod(write.thread, size)
    times = known.get(cta)
    return times is not None and times[place] >= write.time


def _behind(write: Written, number: int, end: int, size: int) -> bool:
    """Whether a write comes behind what a thread did at a time."""
    cta, place = divmod(number, size)
    times = write.known.get(cta)
    return times is not None and times[place] >= end


__all__ = ["NOTHING", "CannotFind", "FoundBySight", "Seen", "Sight", "Sighting", "Sightings"]
