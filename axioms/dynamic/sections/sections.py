"""One run in which the order of critical sections is open: those of one lock exclude each other, and what they leave commutes.

Threads that take one lock do so in any order, and each order is an execution of its own: of n sections there are n! of them.
Where a section does the same whatever it finds in what other sections write, but for what it leaves there, and that commutes,
all orders come to the same. So what a section finds there is a symbol with the number of the run beside it; it may be computed
with and stored there again, and decides nothing (docs/whole-launches, Critical sections). A first run tells which bytes are
locks, and which are *guarded*: written in some section, and accessed in sections by several threads. A second one holds all of
that against the conditions.
"""

from __future__ import annotations

from typing import Any

from axioms.dynamic.core.accesses import LEVELS
from axioms.dynamic.core.findings import Open, Party, Stopped
from axioms.dynamic.core.shadow import CONSTANT, Access, in_section
from axioms.dynamic.sections.attempts import Attempt, check_attempt
from axioms.dynamic.sections.carried import Carried
from axioms.dynamic.sections.section_meetings import MeetingSections
from axioms.dynamic.sections.section_records import (
    Byte,
    GuardedBytes,
    LockedSection,
    Past,
    Place,
    PlaceUpdates,
    SectionLock,
    hanging_in,
    is_in_circle,
)
from axioms.dynamic.sections.shared_sections import shared_rightly, subtracts_one
from axioms.dynamic.sections.told import Untold
from axioms.dynamic.sections.updates_in_sections import Update
from axioms.dynamic.waits.waiting import WrittenBytes
from ptxcore.isa.form import ACQUIRES, RELEASES, Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, SHARED_OFFSET
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.faults import UndefinedValue
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.uninitialised import Uninitialised, Varying, anything
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.places import WIDE
from ptxcore.values.terms import Value, mask

#: Atomic operations that may take a lock.
TAKING = ("cas", "exch", "or")
#: What operations on a lock are among accesses that commute.
_LOCKING = "locking"


class InSections(MeetingSections):
    """Watches one launch. `settle` is asked when it has ended. It tells no race: it knows of less order than there is."""

    alone = False

    def __init__(self, size: int, guarded: GuardedBytes, *, first: bool) -> None:
        """`first`: the run that tells what is guarded, and holds nothing against the conditions."""
        super().__init__(size, first=first)
        self.polls_of.unrolls = True
        self.guarded = guarded
        self.sections = 0
        self.taken: Party | None = None  # who takes a lock first
        self._locks: dict[Place, SectionLock] = {}
        self._lock_bytes = {(p[0][0], p[0][1] + i): p for p in guarded.locks for i in range(p[1])}
        #: The locks that threads try to take now, and the scopes of their polls so far.
        self._trying: dict[int, tuple[SectionLock, set[str]]] = {}
        self._attempt_of: dict[int, Attempt] = {}  # the last one of a thread
        self._shapes: dict[Byte, Place] = {}
        self._bases: dict[int, int] = {}  # what to add to an offset in a segment for the number of its byte
        self._updates: dict[Place, PlaceUpdates] = {}
        #: What sections found in guarded bytes and stored elsewhere; and the guarded bytes that were read outside of sections.
        self.carried = Carried()
        self._read_outside: set[Byte] = set()
        #: Whether more is known of guarded bytes than before the run, so that another one is needed.
        self.again = False

    # Values that hang on the order of sections.

    def decides(self, thread: WatchedThread, value: Varying, op: Op) -> int:
        raise self.leaves(thread, "order")

    def locates(self, thread: WatchedThread, value: Varying) -> int:
        raise self.leaves(thread, "order")

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        if what == "unknown" and all(isinstance(v, Varying) for v in thread.R if isinstance(v, Uninitialised)):
            return  # an instruction has been executed on values that vary
        super().other(thread, what, how, address)

    # Accesses.

    def _at(self, thread: WatchedThread, address: int) -> tuple[Segment, int, Byte] | None:
        """The memory that is accessed; None where it is the thread's own, or another CTA's."""
        if address >= FIRST_GLOBAL:
            return *thread.segment(address), (-1, address)
        if address & ~SHARED_OFFSET == thread.shared:
            segment, first = thread.segment(address)
            return segment, first, (thread.number // self.size, first)
        return None

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        at = self._at(thread, address)
        if at is None:
            return super().reads(thread, address, size)
        segment, first, byte = at
        section = self._in.get(thread.number)
        locked = self._lock_at(thread, byte, size)
        if locked is not None and (section is not None or self._scope_of(thread)):
            if section is not None and section.held(locked) is not None:
                raise self.leaves(thread, "order")
            self._tries(thread, locked, segment, first, address)
            return None
        if self._first:
            self._touches(thread, byte, size, writes=False)
            return None
        place = self._guarded(thread, byte, size)
        if section is None or place is None:
            super().reads(thread, address, size)
            return self._found_outside(thread, segment, first, byte, size)
        section = self._guarding(section, place)
        self._access_inside(thread, section, segment, first, size)
        return self._found_in(thread, section, place, segment, first)

    def _guarding(self, section: LockedSection, place: Place) -> LockedSection:
        """Of the sections in which a thread is, that of the lock which guards a place."""
        return section.held(self.guarded.lock_of.get(place[0])) or section

    def _found_in(
        self, thread: WatchedThread, section: LockedSection, place: Place, segment: Segment, first: int
    ) -> int | Varying:
        """What stands at a guarded place in a section now."""
        section = self._guarding(section, place)
        if place in section.left:
            return section.left[place][2]
        if place not in section.found:
            number = segment.read(first, place[1])
            if type(number) is not int:
                raise self.leaves(thread, "unknown")
            section.found[place] = Varying.fresh(8 * place[1], number, self)
        return section.found[place]

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        if isinstance(value, UndefinedValue) and not isinstance(value, Varying):
            raise self.leaves(thread, "unknown")
        at = self._at(thread, address)
        if at is None:
            if isinstance(value, Varying):
                raise self.leaves(thread, "order")
            super().writes(thread, address, size, value)
            return
        segment, first, byte = at
        section = self._in.get(thread.number)
        locked = self._lock_at(thread, byte, size)
        if locked is not None and section is not None:
            self._gives_back(thread, section.held(locked), locked, value)
            return
        if self._first:
            self._touches(thread, byte, size, writes=True)
            return
        place = self._guarded(thread, byte, size)
        if section is None or place is None:
            if isinstance(value, Varying) and self._scope_of(thread):
                raise self.leaves(thread, "order")
            super().writes(thread, address, size, value)
            self.carried.store(segment, first, size, value if isinstance(value, Varying) else None)
            return
        section = self._guarding(section, place)
        self._access_inside(thread, section, segment, first, size)
        section.left[place] = segment, first, value

    def _found_outside(
        self, thread: WatchedThread, segment: Segment, first: int, byte: Byte, size: int
    ) -> Varying | None:
        """What bytes hold that are not accessed as guarded ones, where the order of sections decides that."""
        inside = {(byte[0], byte[1] + i) for i in range(size)}
        self._read_outside.update(inside.intersection(self.guarded.lock_of))
        found = self.carried.found(segment, first, size)
        if found is None and self.guarded.hanging.isdisjoint(inside):
            return None
        if self._scope_of(thread):
            raise self.leaves(thread, "order")
        number = int.from_bytes(segment.data[first : first + size], "little")
        return found if isinstance(found, Varying) else Varying.fresh(8 * size, number, self)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        at = self._at(thread, address)
        if at is None:
            raise self.leaves(thread, "order")
        segment, first, byte = at
        section = self._in.get(thread.number)
        if self._first and self._may_take(thread, how, segment, first, size, write):
            self._is_lock((byte, size))
        locked = self._lock_at(thread, byte, size)
        if locked is not None:
            self._locks_by(thread, section, locked, segment, first, address, write)
        elif self._first:
            self._touches(thread, byte, size, writes=True)
        elif (section is not None and self._guarded(thread, byte, size) is not None) or self.carried.found(
            segment, first, size
        ) is not None:
            raise self.leaves(thread, "order")
        else:
            self._found_outside(thread, segment, first, byte, size)
            super().updates(thread, how, address, size, write)
        return None

    def _find(self, thread: WatchedThread, access: Access, segment: Segment, place: WrittenBytes) -> None:
        if thread.number in self._in:
            raise self.leaves(thread, "order")  # it may wait
        super()._find(thread, access, segment, place)

    def _touches(self, thread: WatchedThread, byte: Byte, size: int, *, writes: bool) -> None:
        section = self._in.get(thread.number)
        if section is not None:
            for i in range(size):
                self.guarded.touch((byte[0], byte[1] + i), section.locks, thread.number, writes=writes)

    def _guarded(self, thread: WatchedThread, byte: Byte, size: int) -> Place | None:
        """The place that is accessed, where it is guarded by the lock of the section that the thread is in."""
        section = self._in.get(thread.number)
        lock_of = self.guarded.lock_of
        locks = {lock_of.get((byte[0], byte[1] + i)) for i in range(size)}
        if locks == {None} or section is None:
            return None
        if len(locks) > 1 or section.held(next(iter(locks))) is None:
            raise self.leaves(thread, "order")
        place = byte, size
        if any(self._shapes.setdefault((byte[0], byte[1] + i), place) != place for i in range(size)):
            raise self.leaves(thread, "order")
        return place

    def _access_inside(
        self, thread: WatchedThread, section: LockedSection, segment: Segment, first: int, size: int
    ) -> None:
        """An access to guarded bytes in a section."""
        if not section.acquired or self._scope_of(thread) == CONSTANT:
            raise self.leaves(thread, "order")
        places = self.places.get(id(segment), {})
        if any(at in places for at in range(first, first + size)):
            raise self.leaves(thread, "order")
        access = self.shade(thread, "A", segment, first, size, in_section(section.lock.number, section.number))
        section.accesses.append((thread.number, access.time))

    # Locks.

    def _may_take(self, thread: WatchedThread, how: Use, segment: Segment, first: int, size: int, write: Write) -> bool:
        """Whether an atomic operation may take a lock: a thread looks what it finds, and may come back. In a section it comes
        back, if it finds what it puts there."""
        if how.op not in TAKING or thread.number not in self.polled:
            return False
        found = segment.read(first, size)
        if thread.number not in self._in or type(found) is not int:
            return thread.number not in self._in
        lead = self._lead(thread)
        return lead(found) is not None and lead(write(found)[0] & mask(8 * size)) is None

    def _is_lock(self, place: Place) -> None:
        """The first run tells that a place is a lock."""
        ((cta, at), size) = place
        self.guarded.locks.add(place)
        self._lock_bytes.update({(cta, at + i): place for i in range(size)})

    def _lock_at(self, thread: WatchedThread, byte: Byte, size: int) -> Place | None:
        """The lock of which the bytes are; it is accessed as a whole."""
        if not self._lock_bytes:
            return None
        found = {self._lock_bytes.get((byte[0], byte[1] + i)) for i in range(size)} - {None}
        if not found:
            return None
        if found != {(byte, size)}:
            raise self.leaves(thread, "order")
        return byte, size

    def _locks_by(
        self,
        thread: WatchedThread,
        section: LockedSection | None,
        place: Place,
        segment: Segment,
        first: int,
        address: int,
        write: Write,
    ) -> None:
        """An atomic operation on a lock: it takes it, tries to in vain, or gives it back."""
        size, number = place[1], thread.number
        found = segment.read(first, size)
        value, writes = write(0 if type(found) is not int else found)
        if type(found) is not int or type(value) is not int or thread.instruction.use.words["vec"]:
            raise self.leaves(thread, "unknown")
        value = value & mask(8 * size) if writes else found
        if section is not None and section.held(place) is not None:
            held = section.held(place)
            assert held is not None
            held.counted_back = subtracts_one(thread.instruction.use, write, size)
            self._gives_back(thread, held, place, value)
            return
        lock = self._tries(thread, place, segment, first, address)
        if value == found:
            return
        if found != lock.free or lock.owner is not None:
            raise self.leaves(thread, "order")
        del self._trying[number]
        self._at_lock(thread, segment, first, size)
        lock.values.add(value)
        self._begins(thread, lock, place).put = value

    def _begins(self, thread: WatchedThread, lock: SectionLock, place: Place) -> LockedSection:
        """A thread has taken a lock."""
        number = thread.number
        self.taken = self.taken or self._party(thread)
        section = LockedSection(lock, place, self.sections, number, self._party(thread), self._past_of(number))
        section.outer, section.attempt = self._in.get(number), self._attempt_of.get(number)
        self.sections += 1
        self._past[number] = section.before.and_behind(Past(1 << section.number, 1 << section.number))
        if thread.instruction.use.sem in ACQUIRES:
            section.acquired = self._scope_of(thread)
        lock.owner = self._in[number] = section
        lock.sections.append(section)
        return section

    def _tries(self, thread: WatchedThread, place: Place, segment: Segment, first: int, address: int) -> SectionLock:
        """A thread that is in no section polls a lock. It learns nothing meanwhile, so its first poll in a scope, and the one
        that takes the lock, stand for all."""
        lock, number = self._lock_of(thread, place, segment, first), thread.number
        if number not in self._trying:
            if number not in self.polled or thread.frames:
                raise self.leaves(thread, "order")
            self._trying[number] = lock, set()
            if number in self._in:
                self._nests(thread, self._in[number], place)
            self._attempts_at(thread, lock, Attempt(self.polled[number], address, place[1]))
        tried, scopes = self._trying[number]
        if tried is not lock:
            raise self.leaves(thread, "order")
        if self._scope_of(thread) not in scopes or not self._scope_of(thread):
            self._at_lock(thread, segment, first, place[1])
            scopes.add(self._scope_of(thread))
        if lock.owner is not None:
            raise Asleep  # a run in which it is not scheduled until the lock is free
        return lock

    def polls(self, thread: WatchedThread, block: int) -> None:
        if thread.number not in self._trying:  # else it is known where its attempt began
            super().polls(thread, block)

    def _attempts_at(self, thread: WatchedThread, lock: SectionLock, attempt: Attempt) -> None:
        """A thread begins to try to take a lock."""
        lock.attempts.append((attempt, self._party(thread)))
        self._attempt_of[thread.number] = attempt

    def _lock_of(self, thread: WatchedThread, place: Place, segment: Segment, first: int) -> SectionLock:
        """The lock at a place, with what stands there first."""
        lock = self._locks.get(place)
        if lock is None:
            found = segment.read(first, place[1])
            if type(found) is not int:
                raise self.leaves(thread, "unknown")
            lock = self._locks[place] = SectionLock(len(self._locks), found)
        return lock

    def _at_lock(self, thread: WatchedThread, segment: Segment, first: int, size: int) -> None:
        """An operation on a lock, of which any two are strong, and in each other's scope, or ordered."""
        if not self._scope_of(thread) or any(
            at in self.places.get(id(segment), {}) for at in range(first, first + size)
        ):
            raise self.leaves(thread, "order")
        if not self._first:
            self.shade(thread, "A", segment, first, size, _LOCKING)

    def _gives_back(self, thread: WatchedThread, section: LockedSection | None, place: Place, value: Any) -> None:
        """A thread in a section writes to a lock: the holder gives its own back."""
        if (
            section is None
            or section.place != place
            or thread.number != section.holder
            or not self._is_free(section, value)
        ):
            raise self.leaves(thread, "order")
        segment, first, _ = self._at_place(thread, place)
        self._at_lock(thread, segment, first, place[1])
        if not self._first:
            self._ends(thread, section)
        section.lock.owner = None
        for number in (section.holder, *section.members):
            self._leaves(number, section)

    def _is_free(self, section: LockedSection, value: Any) -> bool:
        """Whether a lock is free, if its holder writes a value."""
        return type(value) is int and value == section.lock.free

    def _at_place(self, thread: WatchedThread, place: Place) -> tuple[Segment, int, Byte]:
        (cta, at), _ = place
        return (*thread.segment(at), (cta, at)) if cta < 0 else (thread.cta.shared, at, (cta, at))

    def _ends(self, thread: WatchedThread, section: LockedSection) -> None:
        """The holder gives the lock back: all that was done in the section comes before that."""
        if thread.instruction.use.sem in RELEASES:
            section.fenced = self._covered(section), self._scope_of(thread)
        if not section.acquired or section.fenced[0] != len(section.accesses):
            raise self.leaves(thread, "order")
        section.released = section.fenced[1]
        more = self._past_of(section.holder).needed & ~section.before.begun & ~(1 << section.number)
        if more and not self._nested:
            raise self.leaves(thread, "order")  # it needs a section that might have to wait for this one
        for place, (segment, first, value) in section.left.items():
            found = section.found.get(place)
            term: Value = value.term if isinstance(value, Varying) else value
            if isinstance(value, Varying):
                segment.write(first, place[1], value.number)
            symbol = anything(8 * place[1]) if found is None else found.term
            of = self._updates.setdefault(place, PlaceUpdates(segment, first))
            of.updates.append(Update(symbol, term))

    def _covered(self, section: LockedSection) -> int:
        """The number of accesses of a section so far, all of which are ordered before what its holder does; -1 where not."""
        ordered = all(self.clocks.ordered(section.holder, t, time) for t, time in section.accesses)
        return len(section.accesses) if ordered else -1

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        if thread.number in self._trying:
            self.exact = False
            return  # executions may have others between their polls, or none
        super()._fence(thread, how)
        innermost = self._in.get(thread.number)
        scope = LEVELS.get(how.scope or "", how.scope or "")
        for section in innermost.all() if innermost is not None and not self._first else ():
            if section.holder != thread.number:
                continue
            if how.sem != "release" and not section.acquired:
                section.acquired = scope
            if how.sem != "acquire" and section.acquired:
                section.fenced = self._covered(section), scope

    # At the end.

    def settle(self) -> None:
        """The launch has ended. Raises Stopped where something is open."""
        if self._first:
            self.guarded.close()
            return
        if self.unknown is not None:
            raise Stopped(self.unknown)
        if any(is_in_circle(lock, self._after) for lock in self._locks):
            raise Stopped(Open("order", self.taken))
        for lock in self._locks.values():
            self._settle_lock(lock)
        hanging = hanging_in(self._updates)
        self.again = self.again or not self._read_outside.isdisjoint(hanging - self.guarded.hanging)
        self.guarded.hanging |= hanging

    @property
    def lasting(self) -> bool:
        """Whether something is left in memory that hangs on the order of sections."""
        return bool(self.guarded.hanging) or self.carried.is_used

    def is_open(self, segment: Segment, first: int, end: int) -> bool:
        """Whether some bytes may hold something else at the end in other executions."""
        left = any(
            of.segment is segment
            and of.first < end
            and first < of.first + place[1]
            and place[0] in self.guarded.hanging
            for place, of in self._updates.items()
        )
        return left or not self.carried.bytes_of(segment).isdisjoint(range(first, end))

    def _settle_lock(self, lock: SectionLock) -> None:
        """A lock is free in the end, was taken in scopes that have all who took it, and who finds it taken tries again."""
        sections = lock.sections
        narrow = {scope for s in sections for scope in (s.acquired, s.released)} - WIDE
        if lock.owner is not None or not sections or (narrow and len({s.holder // self.size for s in sections}) > 1):
            raise Stopped(Open("order", sections[0].party if sections else self.taken))
        alone = len({s.holder // self.size for s in sections}) == 1
        others = {}
        for attempt, party in lock.attempts:
            try:
                self._check_attempt(lock, attempt, alone=alone)
            except Untold:
                others[id(attempt)] = party
        if others and not shared_rightly(lock, set(others), self.live_of, alone=alone):
            raise Stopped(Open("order", next(iter(others.values()))))

    def _check_attempt(self, lock: SectionLock, attempt: Attempt, *, alone: bool) -> None:
        """Raises Untold where a thread may do something else than take a lock. `alone`: all threads are of one CTA."""
        check_attempt(attempt, self.live_of(attempt.poll.thread), lock.free, lock.values, alone=alone)


__all__ = ["TAKING", "InSections"]
