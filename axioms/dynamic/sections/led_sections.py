"""Critical sections that access memory at addresses which hang on what they find: a list that is appended to.

    n = count[b]; item[b][n] = x; count[b] = n + 1;

Sections of one lock follow each other, so no two of their accesses race, wherever they lead. So such an access stands for one
to each of the bytes to which the section may be led, as far as others are ordered with it; what is found there, or by other
accesses there, is known of none, and what stands there in the end hangs on the order of sections. To which bytes a section
may be led follows from what may stand at guarded places (`sections.section_values`); a run takes it from the run before.
"""

from __future__ import annotations

from typing import Any

from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.sections.section_records import Byte, GuardedBytes, LedAccess, LockedSection, Place, SectionLock
from axioms.dynamic.sections.section_values import SectionValues, Values, noted
from axioms.dynamic.sections.served import InServedSections
from axioms.dynamic.sections.told import Untold
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, GLOBAL_BITS, SHARED_OFFSET
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.values.terms import Value, add

#: Accesses of one section, and addresses to which one of them may be led.
_MOST_ACCESSES, _MOST_ADDRESSES = 256, 512


class InLedSections(InServedSections):
    """Watches one launch. `settle` is asked when it has ended."""

    def __init__(self, size: int, guarded: GuardedBytes, *, first: bool) -> None:
        super().__init__(size, guarded, first=first)
        #: The address of the instruction that a thread executes, where it hangs on what its section found.
        self._led_by: dict[int, Varying] = {}
        #: What stood at places when sections came there from outside; those that are noted, and those written outside, too.
        self._before: dict[Place, Values] = {}
        self._known: set[Place] = set()
        self._reset: set[Place] = set()
        #: The bytes, by their segments, that sections may be led to write; and where they have stored what varies.
        self._spread: dict[int, set[int]] = {}
        self._stored: set[tuple[int, int, int]] = set()
        self._memory: dict[int, Any] = {}  # threads that have ended have none

    def locates(self, thread: WatchedThread, value: Varying) -> int:
        if thread.watcher is not self or thread.number not in self._in or self._first:
            return super().locates(thread, value)
        self._led_by[thread.number] = value
        return value.number

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        self._led_by.pop(thread.number, None)
        super().other(thread, what, how, address)

    # Accesses.

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        led = self._led_at(thread, address, size)
        if led is None:
            return super().reads(thread, address, size)
        section, term = led
        segment, first, _ = self._place_of(thread, address)
        number = segment.read(first, size)
        if type(number) is not int:
            if (id(segment), first, size) not in self._stored:
                raise self.leaves(thread, "unknown")
            number = int.from_bytes(segment.data[first : first + size], "little")
        found = Varying.fresh(8 * size, number, self)
        self._leads(
            thread,
            section,
            self._led(thread, "R", term, size, found.term, address),
        )
        return found

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        led = self._led_at(thread, address, size)
        if led is None:
            if thread.number not in self._in:
                self._writes_outside(thread, address, size)
            super().writes(thread, address, size, value)
            return
        section, term = led
        segment, first, _ = self._place_of(thread, address)
        put = value.term if isinstance(value, Varying) else value if type(value) is int else None
        if put is None:
            raise self.leaves(thread, "unknown")
        self._stored.discard((id(segment), first, size))
        if isinstance(value, Varying):
            self._stored.add((id(segment), first, size))
        self._leads(thread, section, self._led(thread, "W", term, size, put, address))

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        if thread.number not in self._in:
            self._writes_outside(thread, address, size)
        return super().updates(thread, how, address, size, write)

    def _led(self, thread: WatchedThread, kind: str, term: Value, size: int, value: Value, address: int) -> LedAccess:
        """An access, with the addresses to which the thread may be led there, as far as is known, and that of the run."""
        at = {address} | self.guarded.reached.get((thread.number, id(thread.instruction)), set())
        return LedAccess(thread, thread.instruction, kind, term, size, value, (), frozenset(at))

    def _place_of(self, thread: WatchedThread, address: int) -> tuple[Segment, int, Byte]:
        """The memory at an address, also when the launch has ended; raises Stopped where there is none, or another CTA's."""
        if not self._memory:
            self._memory = dict(thread.globals)
        if address >= FIRST_GLOBAL:
            segment = self._memory.get(address >> GLOBAL_BITS)
            if segment is not None:
                return segment, address & FIRST_GLOBAL - 1, (-1, address)
        elif address & ~SHARED_OFFSET == thread.shared:
            first = address & SHARED_OFFSET
            return thread.cta.shared, first, (thread.number // self.size, first)
        raise self.leaves(thread, "order")

    def _led_at(self, thread: WatchedThread, address: int, size: int) -> tuple[LockedSection, Value] | None:
        """The section of an access at an address that hangs on what it found, or to bytes that others access so; and the
        address, in terms of what it found."""
        led = self._led_by.pop(thread.number, None)
        section = self._in.get(thread.number)
        if self._first or section is None:
            return None
        if section.outer is not None and (led is not None or self.guarded.led):
            raise self.leaves(thread, "order")
        if led is None:
            if not self.guarded.led:
                return None
            at = self._at(thread, address)
            if at is None or all((at[2][0], at[2][1] + i) not in self.guarded.led for i in range(size)):
                return None
            return section, address
        if thread.instruction.use.words["vec"]:
            raise self.leaves(thread, "order")
        return section, add(led.term, (address - led.number) & (1 << led.term.width) - 1, led.term.width)

    def _leads(self, thread: WatchedThread, section: LockedSection, led: LedAccess) -> None:
        """An access of a section stands for one to each of the bytes to which it may be led."""
        if len(section.led) >= _MOST_ACCESSES or len(led.at) > _MOST_ADDRESSES:
            raise self.leaves(thread, "order")
        section.led.append(led)
        for address in sorted(led.at):
            self._leads_to(thread, section, led, address)

    def _leads_to(self, thread: WatchedThread, section: LockedSection, led: LedAccess, address: int) -> None:
        segment, first, byte = self._place_of(thread, address)
        place = self._checked(thread, led, address, section)
        self._note(place, segment, first)
        inside = [(byte[0], byte[1] + i) for i in range(led.size)]
        if led.kind == "W":
            self._spread.setdefault(id(segment), set()).update(range(first, first + led.size))
        if all(self.guarded.lock_of.get(one) == section.place for one in inside):
            self._access_inside(thread, section, segment, first, led.size)
            return
        places = self.places.get(id(segment), {})
        if any(at in places for at in range(first, first + led.size)) or self._scope_of(thread):
            raise self.leaves(thread, "order")
        if any(one in self.guarded.lock_of or one in self.guarded.hanging for one in inside):
            raise self.leaves(thread, "order")
        if self.carried.found(segment, first, led.size) is not None:
            raise self.leaves(thread, "order")
        self.shade(thread, led.kind, segment, first, led.size)

    def _checked(self, thread: WatchedThread, led: LedAccess, address: int, section: LockedSection) -> Place:
        """The place at an address to which a section may be led; raises Stopped where it may be an error to access that."""
        segment, first, byte = self._place_of(thread, address)
        outside = address % led.size or first + led.size > segment.size or (led.kind == "W" and not segment.writable)
        if outside or self._lock_at(thread, byte, led.size) is not None:
            raise self.leaves(thread, "order")
        place = byte, led.size
        if any(self._shapes.setdefault((byte[0], byte[1] + i), place) != place for i in range(led.size)):
            raise self.leaves(thread, "order")
        return place

    # What stands at places when sections come there.

    def _guarded(self, thread: WatchedThread, byte: Byte, size: int) -> Place | None:
        place = super()._guarded(thread, byte, size)
        if place is not None and not self._first:
            self._note(place, *self._at_place(thread, place)[:2])
        return place

    def _note(self, place: Place, segment: Segment, first: int) -> None:
        if place in self._known:
            return
        self._known.add(place)
        number = segment.read(first, place[1])
        known = type(number) is int and self.carried.found(segment, first, place[1]) is None
        noted(self._before, place, number if known else None)

    def _writes_outside(self, thread: WatchedThread, address: int, size: int) -> None:
        """Something is written that is not written in a section."""
        at = self._at(thread, address) if self._shapes else None
        if at is None:
            return
        (cta, first) = at[2]
        for place in {self._shapes.get((cta, first + i)) for i in range(size)} - {None}:
            assert place is not None
            self._known.discard(place)
            self._reset.add(place)
            if not first <= place[0][1] <= place[0][1] + place[1] <= first + size:
                self._before[place] = None  # a part of what sections have left stays

    # At the end.

    def _ends(self, thread: WatchedThread, section: LockedSection) -> None:
        super()._ends(thread, section)
        for led in section.led if self._stored else ():
            for address in led.at:
                segment, first, _ = self._place_of(led.thread, address)
                if (id(segment), first, led.size) in self._stored:
                    self._stored.discard((id(segment), first, led.size))
                    number = int.from_bytes(segment.data[first : first + led.size], "little")
                    segment.write(first, led.size, number)

    def settle(self) -> None:
        known = set(self.guarded.hanging)
        super().settle()
        if self._first:
            return
        for lock in self._locks.values():
            self._settle_led(lock)
        self.guarded.hanging |= self.guarded.led
        self.again = self.again or not self._read_outside.isdisjoint(self.guarded.hanging - known)

    def _settle_led(self, lock: SectionLock) -> None:
        """Finds out to which addresses sections of a lock may be led."""
        accesses = [(section, led) for section in lock.sections for led in section.led]
        if not accesses:
            return
        by_number = {id(led): section for section, led in accesses}

        def place_at(led: LedAccess, address: int) -> Place:
            return self._checked(led.thread, led, address, by_number[id(led)])

        try:
            values = SectionValues(lock.sections, self._before, self._reset, place_at)
        except Untold:
            raise Stopped(Open("order", accesses[0][0].party)) from None
        for section, led in accesses:
            reached = values.reached.get(id(led), set())
            if not reached <= led.at:
                self.again = True
            self.guarded.reached.setdefault(led.key, set()).update(reached)
            for address in reached:
                (cta, first), size = place_at(led, address)
                for i in range(size):
                    self.guarded.leads((cta, first + i), section.place, led.thread.number, writes=led.kind == "W")

    def is_open(self, segment: Segment, first: int, end: int) -> bool:
        spread = self._spread.get(id(segment), set())
        return super().is_open(segment, first, end) or not spread.isdisjoint(range(first, end))


__all__ = ["InLedSections"]
