"""Critical sections whose locks are tickets, beside others (`sections.ticket_locks`, `sections.sections`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.core.shadow import Access
from axioms.dynamic.sections.attempts import Attempt
from axioms.dynamic.sections.section_records import GuardedBytes, LockedSection, Place, SectionLock
from axioms.dynamic.sections.sections import InSections
from axioms.dynamic.sections.ticket_locks import DrawnNumber, check_drawn, draws
from axioms.dynamic.sections.told import Untold, only_looks
from axioms.dynamic.waits.waiting import WrittenBytes
from ptxcore.isa.form import Use
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.values.terms import Term


class InServedSections(InSections):
    """Watches one launch. What is served is a lock, which nobody takes by an operation on it."""

    def __init__(self, size: int, guarded: GuardedBytes, *, first: bool) -> None:
        super().__init__(size, guarded, first=first)
        #: The numbers that threads have drawn and that are not served yet; in the first run the last ones.
        self._drawn: dict[int, DrawnNumber] = {}
        self._drawn_by: dict[int, DrawnNumber] = {}  # by the identity of an attempt's place to poll
        self._starts: dict[Place, int] = {}
        #: What threads have given back last; where the numbers that they have drawn stand.
        self._given: dict[int, Term] = {}
        self._numbers: set[tuple[int, int]] = set()
        self._counters = set(guarded.counter_of.values())
        self._lock_bytes.update({(c[0][0], c[0][1] + i): c for c in self._counters for i in range(c[1])})

    # Values that vary.

    def decides(self, thread: WatchedThread, value: Varying, op: Op) -> int:
        if thread.watcher is not self:  # a copy
            return int(thread.watcher.decides(thread, value, op))  # type: ignore[attr-defined]
        return super().decides(thread, value, op)

    def locates(self, thread: WatchedThread, value: Varying) -> int:
        if thread.watcher is not self:
            return int(thread.watcher.locates(thread, value))  # type: ignore[attr-defined]
        return super().locates(thread, value)

    # Accesses.

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        at = self._at(thread, address)
        if at is not None and self._scope_of(thread):
            segment, first, byte = at
            if self._first:
                self._may_be_served(thread, (byte, size), segment, first)
            place = self._lock_at(thread, byte, size)
            if place in self._counters:
                raise self.leaves(thread, "order")
            if place in self.guarded.counter_of:
                return self._polls(thread, place, segment, first, address)
        return super().reads(thread, address, size)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        at = self._at(thread, address)
        if at is None:
            raise self.leaves(thread, "order")
        segment, first, byte = at
        if self._first and only_looks(thread, how, write):
            self._may_be_served(thread, (byte, size), segment, first)
        place = self._lock_at(thread, byte, size)
        if place in self._counters:
            return self._draws(thread, how, place, segment, first, write)
        if place is None or place not in self.guarded.counter_of:
            if self._first and place is None and draws(how, write) and thread.number not in self._in:
                self._drew(thread, (byte, size), segment, first)
            return super().updates(thread, how, address, size, write)
        if only_looks(thread, how, write):
            return self._polls(thread, place, segment, first, address)
        section = self._in.get(thread.number)
        section = None if section is None else section.held(place)
        if section is None or not draws(how, write) or self._uses(thread):
            raise self.leaves(thread, "order")
        number = self._number(thread, segment, first, size)
        self._gives_back(thread, section, place, None)
        segment.write(first, size, number + 1)
        return 0

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        at = self._at(thread, address)
        if at is not None:
            place = self._lock_at(thread, at[2], size)
            if place in self._counters and (self._scope_of(thread) or thread.number in self._in):
                raise self.leaves(thread, "order")
            if place in self.guarded.counter_of and isinstance(value, Varying):
                if self._given.get(thread.number) is value.term:
                    return  # of a value that varies a store is told twice
                self._given[thread.number] = value.term
                self._numbers.add((id(at[0]), at[1]))
        super().writes(thread, address, size, value)

    def _number(self, thread: WatchedThread, segment: Segment, first: int, size: int) -> int:
        """What stands in some bytes in the run, also where it is a number that some thread has drawn."""
        found = segment.read(first, size)
        if type(found) is not int:
            if (id(segment), first) not in self._numbers:
                raise self.leaves(thread, "unknown")
            found = int.from_bytes(segment.data[first : first + size], "little")
            segment.write(first, size, found)
        return found

    def _uses(self, thread: WatchedThread) -> bool:
        """Whether anything is done with the result of an atomic operation."""
        return not results_unused(thread.launch.program.functions.values(), thread.instruction)

    # The first run: which bytes are counters, and which are served.

    def _drew(self, thread: WatchedThread, place: Place, segment: Segment, first: int) -> None:
        number = Varying.fresh(8 * place[1], self._number(thread, segment, first, place[1]), self)
        self._drawn[thread.number] = DrawnNumber(place, number, self._party(thread))

    def _may_be_served(self, thread: WatchedThread, place: Place, segment: Segment, first: int) -> None:
        """A thread that has drawn a number finds just that, and goes on, where it would wait otherwise."""
        drawn, served = self._drawn.get(thread.number), self.guarded.counter_of
        if drawn is None or thread.number in self._in or thread.number not in self.polled or place in served:
            return
        found, lead = self._number(thread, segment, first, place[1]), self._lead(thread)
        taken = place in self.guarded.locks or place in served.values() or drawn.counter in served
        counter = drawn.counter
        if taken or found != drawn.value.number or place == counter or not isinstance(counter, tuple):
            return
        if lead(found) is None or lead(found) == lead(found + 1):
            return
        served[place] = counter
        self._counters.add(counter)
        self._is_lock(place)
        (cta, at), size = counter
        self._lock_bytes.update({(cta, at + i): counter for i in range(size)})

    # Numbers.

    def _draws(
        self, thread: WatchedThread, how: Use, place: Place, segment: Segment, first: int, write: Write
    ) -> Varying | None:
        """A thread draws a number: it is in no section, and waits for no other one."""
        number = thread.number
        if self._first:
            self._drew(thread, place, segment, first)
            return None
        if number in self._in or number in self._drawn or number in self._trying or not draws(how, write):
            raise self.leaves(thread, "order")
        if not self._uses(thread):
            raise self.leaves(thread, "order")  # nobody serves it
        self._at_lock(thread, segment, first, place[1])
        drawn = self._number(thread, segment, first, place[1])
        self._starts.setdefault(place, drawn)
        segment.write(first, place[1], drawn + 1)
        value = Varying.fresh(8 * place[1], drawn, self)
        self._drawn[number] = DrawnNumber(place, value, self._party(thread))
        return value

    def _polls(self, thread: WatchedThread, place: Place, segment: Segment, first: int, address: int) -> Varying | None:
        """A thread looks what is served."""
        number, size = thread.number, place[1]
        found = self._number(thread, segment, first, size)
        drawn, section = self._drawn.get(number), self._in.get(number)
        if section is not None:
            if (
                section.outer is not None
                or section.place != place
                or section.holder != number
                or section.number_drawn is None
            ):
                raise self.leaves(thread, "order")
            self._at_lock(thread, segment, first, size)
            return None if self._first else section.number_drawn.value  # nobody else writes it meanwhile
        if drawn is None or drawn.counter != self.guarded.counter_of[place]:
            raise self.leaves(thread, "order")
        lock = self._tries(thread, place, segment, first, address)
        if found != drawn.value.number:
            raise Asleep  # until it is served
        if lock.owner is not None:
            raise self.leaves(thread, "order")
        del self._trying[number], self._drawn[number]
        self._at_lock(thread, segment, first, size)
        self._begins(thread, lock, place).number_drawn = drawn
        return None if self._first else drawn.value

    def _attempts_at(self, thread: WatchedThread, lock: SectionLock, attempt: Attempt) -> None:
        super()._attempts_at(thread, lock, attempt)
        drawn = self._drawn.get(thread.number)
        if drawn is not None and self._locks.get(self._served_of(drawn)) is lock:
            drawn.attempt = attempt
            self._drawn_by[id(attempt.poll)] = drawn
        elif drawn is not None and not self._first:
            raise self.leaves(thread, "order")  # it waits for something else first

    def _served_of(self, drawn: DrawnNumber) -> Any:
        return next((place for place, counter in self.guarded.counter_of.items() if counter == drawn.counter), None)

    def _is_free(self, section: LockedSection, value: Any) -> bool:
        drawn = section.number_drawn
        if drawn is None:
            return super()._is_free(section, value)
        if value is None:  # an addition of one
            return True
        return value == drawn.value.number + 1 if self._first else drawn.is_next(value)

    # Threads that wait for others do so before they draw, or behind their sections.

    def _find(self, thread: WatchedThread, access: Access, segment: Segment, place: WrittenBytes) -> None:
        if thread.number in self._drawn and not self._first:
            raise self.leaves(thread, "order")
        super()._find(thread, access, segment, place)

    def _meets(self, numbers: Sequence[int]) -> None:
        waiting = next((self._drawn[n] for n in numbers if n in self._drawn), None)
        if waiting is not None and not self._first:
            raise Stopped(Open("order", waiting.party))
        super()._meets(numbers)

    # At the end.

    def settle(self) -> None:
        if not self._first and self._drawn:
            raise Stopped(Open("order", next(iter(self._drawn.values())).party))
        super().settle()

    def _settle_lock(self, lock: SectionLock) -> None:
        place = next(place for place, of in self._locks.items() if of is lock)
        counter = self.guarded.counter_of.get(place)
        if counter is not None and self._starts.get(counter) != lock.free:
            raise Stopped(Open("order", lock.sections[0].party if lock.sections else None))
        super()._settle_lock(lock)

    def _check_attempt(self, lock: SectionLock, attempt: Attempt, *, alone: bool) -> None:
        drawn = self._drawn_by.get(id(attempt.poll))
        if drawn is None:
            super()._check_attempt(lock, attempt, alone=alone)
            return
        if len(lock.sections) >= 1 << 8 * attempt.size:
            raise Untold
        check_drawn(drawn, self.live_of(attempt.poll.thread), alone=alone)


__all__ = ["InServedSections"]
