"""Critical sections in which what is found decides something: each way is gone, and what all of them leave is one function.

    if (v > best) { best = v; at = i; }

A *stretch* is what a thread does in a section from a branch on what it found to the next thing that others see, but accesses
to guarded bytes and weak ones to others: a fence, a meeting, an operation on a lock. Each way of it is gone on a copy of the
thread. All ways come to the same instruction with the same live registers; what one of them accesses is held against all other
accesses as if the thread did so; and what stands at a place behind them is a choice between what the ways leave there.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import field
from typing import Any, NoReturn

from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import Open, Stopped, step
from axioms.dynamic.sections.led_sections import InLedSections
from axioms.dynamic.sections.section_records import LedAccess, LockedSection, Place
from axioms.dynamic.tickets.errand_threads import ErrandThread, UnknownErrand
from axioms.dynamic.waits.waiting import Ended, plain, stopped_at
from ptxcore.clock import OutOfTime
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.codegen import DONE
from ptxcore.machine.run.emulation import recover
from ptxcore.machine.run.faults import UndefinedValue
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import VARIES, Varying
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.terms import Value, add, given, ite, mask, negate

#: Blocks of one way, and ways of one stretch, at most.
_MOST_BLOCKS, _MOST_WAYS = 256, 32


class _Reached(NamedTuple):
    """Memory that a way accesses; `place` where it is guarded."""

    kind: str
    segment: Segment
    first: int
    size: int
    place: Place | None


@dataclass
class _SectionWay:
    """A way: what it was told at its branches, what it accesses, and leaves; where it stops, and all that it goes on with."""

    told: list[tuple[Value, bool]] = field(default_factory=list)
    reached: dict[_Reached, None] = field(default_factory=dict)
    led: list[LedAccess] = field(default_factory=list)
    left: dict[Place, int | Varying] = field(default_factory=dict)
    stop: Op | None = None
    goes_on: Any = None


@dataclass
class _Stretch:
    """Where all ways of a stretch stop, and what they leave."""

    stop: Op
    left: dict[Place, tuple[Segment, int, Value]]
    elsewhere: list[_Reached]


class _Choose(BaseException):
    """A way comes to a branch, and has not been told where to go."""


def _ended(*_: Any, **__: Any) -> NoReturn:
    raise Ended


class _WayThread(ErrandThread):
    """A copy of a thread on a way: where others take part, it stops."""

    __slots__ = ()
    barrier = collective = _ended


class InBranchingSections(InLedSections):
    """Watches one launch. `settle` is asked when it has ended."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._stretches: dict[int, _Stretch] = {}

    def decides(self, thread: WatchedThread, value: Varying, op: Op) -> int:
        section = self._in.get(thread.number)
        if thread.watcher is not self or section is None or thread.frames:
            return super().decides(thread, value, op)
        if thread.number not in self._stretches:
            self._stretches[thread.number] = self._stretch(thread, section, op)
        return value.number  # the way of the run is one of them

    def _stretch(self, thread: WatchedThread, section: LockedSection, op: Op) -> _Stretch:
        """Goes all ways from a branch on."""
        found: list[_SectionWay] = []
        waiting: list[tuple[bool, ...]] = [()]
        while waiting:
            chosen = waiting.pop()
            try:
                found.append(_Going(self, thread, section, chosen).goes(op))
            except _Choose:
                waiting += [(*chosen, True), (*chosen, False)]
            except UnknownErrand:
                raise self.leaves(thread, "order") from None
            if len(found) + len(waiting) > _MOST_WAYS:
                raise self.leaves(thread, "order")
        stop = found[0].stop
        if stop is None or any(way.stop is not stop or way.goes_on != found[0].goes_on for way in found):
            raise self.leaves(thread, "order")
        reached = list(dict.fromkeys(one for way in found for one in way.reached))
        for one in reached:
            self._reaches_on_way(thread, section, one)
        for way in found:
            for led in way.led:
                super()._leads(thread, section, led)
        places = {one.place: one for one in reached if one.place is not None and one.kind == "W"}
        left = {
            place: (one.segment, one.first, self._merged(found, 0, place, self._now(thread, section, one)))
            for place, one in places.items()
        }
        return _Stretch(stop, left, [one for one in reached if one.place is None and one.kind == "W"])

    def _reaches_on_way(self, thread: WatchedThread, section: LockedSection, one: _Reached) -> None:
        """An access of a way is one of the run, as far as others are ordered with it."""
        cta = -1 if one.segment is not thread.cta.shared else thread.number // self.size
        for i in range(one.size):
            byte = (cta, self._address_of(thread, one) + i)
            self.guarded.touch(byte, section.locks, thread.number, writes=one.kind == "W")
        if one.place is not None:
            guarding = self._guarding(section, one.place)
            self._access_inside(thread, guarding, one.segment, one.first, one.size)
            return
        places = self.places.get(id(one.segment), {})
        if any(at in places for at in range(one.first, one.first + one.size)):
            raise self.leaves(thread, "order")
        self.shade(thread, one.kind, one.segment, one.first, one.size)

    def _leads(self, thread: WatchedThread, section: LockedSection, led: LedAccess) -> None:
        if thread.number not in self._stretches:
            super()._leads(thread, section, led)  # else it is an access of a way

    def _address_of(self, thread: WatchedThread, one: _Reached) -> int:
        return self._bases[id(one.segment)] + one.first

    def _now(self, thread: WatchedThread, section: LockedSection, one: _Reached) -> Value:
        """What stands at a guarded place before the stretch."""
        assert one.place is not None
        value = self._found_in(thread, section, one.place, one.segment, one.first)
        return value.term if isinstance(value, Varying) else value

    def _merged(self, ways: Sequence[_SectionWay], depth: int, place: Place, before: Value) -> Value:
        """What stands at a place behind some ways, which were told the same so far."""
        if len(ways) == 1 and len(ways[0].told) == depth:
            value = ways[0].left.get(place, before)
            return value.term if isinstance(value, Varying) else value
        condition = ways[0].told[depth][0]
        one, other = ([way for way in ways if way.told[depth][1] is truth] for truth in (True, False))
        parts = [self._merged(part, depth + 1, place, before) for part in (one, other)]
        return ite(condition, parts[0], parts[1], 8 * place[1])

    def _closes(self, thread: WatchedThread) -> None:
        """A thread comes to something that others see: a stretch ends here, if it is in one."""
        stretch = self._stretches.get(thread.number)
        if stretch is None or self._first:
            return
        section = self._in.get(thread.number)
        if section is None or self._party(thread).op is not stretch.stop:
            raise self.leaves(thread, "order")
        del self._stretches[thread.number]
        for place, (segment, first, term) in stretch.left.items():
            value = self._found_in(thread, section, place, segment, first)
            number = value.number if isinstance(value, Varying) else value
            merged = term if isinstance(term, int) else Varying(term, VARIES, 1, number, self)
            self._guarding(section, place).left[place] = segment, first, merged
        for one in stretch.elsewhere:
            number = int.from_bytes(one.segment.data[one.first : one.first + one.size], "little")
            self.carried.store(one.segment, one.first, one.size, Varying.fresh(8 * one.size, number, self))

    # What ends a stretch.

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        self._may_close(thread, address, size)
        return super().reads(thread, address, size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._may_close(thread, address, size)
        super().writes(thread, address, size, value)

    def _may_close(self, thread: WatchedThread, address: int, size: int) -> None:
        if thread.number not in self._stretches:
            return
        at = self._at(thread, address)
        if at is None:
            raise self.leaves(thread, "order")
        _, _, byte = at
        locked = self._lock_at(thread, byte, size) is not None
        if locked or (self._scope_of(thread) and self._guarded(thread, byte, size) is None):
            self._closes(thread)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        self._closes(thread)
        return super().updates(thread, how, address, size, write)

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        self._closes(thread)
        super()._fence(thread, how)

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        self._closes(thread)
        super().arrives(thread, level, identity, waits, count)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        for thread in threads:
            self._closes(thread)
        super().met(how, threads, masked)

    def settle(self) -> None:
        if self._stretches and not self._first:
            raise Stopped(Open("order"))
        super().settle()


class _Going:
    """Goes one way, and watches the copy of the thread that does."""

    def __init__(
        self, run: InBranchingSections, thread: WatchedThread, section: LockedSection, chosen: tuple[bool, ...]
    ) -> None:
        self.run, self.thread, self.section, self.chosen = run, thread, section, chosen
        self.way = _SectionWay()
        self._wrote: dict[tuple[int, int, int], int | Varying] = {}
        self._led_by: Varying | None = None

    def goes(self, op: Op) -> _SectionWay:
        """The way. Raises UnknownErrand, and _Choose."""
        thread: Any = copy.copy(self.thread)
        thread.__class__ = _WayThread
        thread.watcher, thread.R, thread.frames = self, list(self.thread.R), []
        compiled, parameters = thread.launch.compiled, thread.launch.read_parameters
        block = compiled.compiler.again(compiled, op)
        for _ in range(_MOST_BLOCKS):
            step()
            if block == DONE:
                raise UnknownErrand
            try:
                block = compiled.blocks[block](thread, thread.R, parameters)
            except (UnknownErrand, OutOfTime):
                raise
            except (Ended, Exception) as error:
                stopped = stopped_at(compiled, error)
                if stopped is None:
                    raise UnknownErrand from None
                if isinstance(error, Ended):
                    self.way.stop = stopped
                    self.way.goes_on = self.run.live_of(self.thread).before(stopped, thread.R), plain(thread.carry)
                    return self.way
                block = self._recovered(thread, stopped, error)
        raise UnknownErrand

    def _recovered(self, thread: Any, op: Op, error: Exception) -> int:
        """An instruction met a value that varies; the block that goes on."""
        try:
            block = recover(thread, op, error)
        except (UnknownErrand, OutOfTime):
            raise
        except Exception:  # whatever goes wrong goes wrong there, and not here
            raise UnknownErrand from None
        if block is None:
            raise UnknownErrand
        return block

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        """A branch: what follows from the branches before it, or as the way was told."""
        term: Value = value.term
        for condition, truth in self.way.told:
            term = given(term, condition if truth else negate(condition))
        if isinstance(term, int):
            return term
        number = len(self.way.told)
        if number >= len(self.chosen):
            raise _Choose
        self.way.told.append((value.term, self.chosen[number]))
        return int(self.chosen[number])

    def locates(self, thread: Any, value: Varying) -> int:
        self._led_by = value
        return value.number

    # Accesses.

    def _leads(self, thread: Any, kind: str, address: int, size: int, put: Value | None) -> Varying | bool:
        """Whether an access is at an address that hangs on what was found, or to bytes that others access so; of a read, what
        it finds."""
        led, self._led_by = self._led_by, None
        if self.section.outer is not None and (led is not None or self.run.guarded.led):
            raise UnknownErrand
        if led is None:
            at = self.run._at(thread, address)
            inside = [] if at is None else [(at[2][0], at[2][1] + i) for i in range(size)]
            if self.run.guarded.led.isdisjoint(inside):
                return False
        use = thread.instruction.use
        if use.words["vec"] or scope_of(use) != "":
            raise UnknownErrand
        term = address if led is None else add(led.term, (address - led.number) & mask(led.term.width), led.term.width)
        found = None if kind == "W" else Varying.fresh(8 * size, 0, self.run)
        value = put if found is None else found.term
        reached = self.run.guarded.reached.get((thread.number, id(thread.instruction)), set())
        at_first = frozenset(reached if led is not None else {address})
        one = LedAccess(self.thread, thread.instruction, kind, term, size, value, tuple(self.way.told), at_first)
        self.way.led.append(one)
        return True if found is None else found

    def _reach(self, thread: Any, kind: str, address: int, size: int) -> _Reached:
        at = self.run._at(thread, address)
        if at is None:
            raise UnknownErrand
        segment, first, byte = at
        if address % size or first + size > segment.size or thread.instruction.use.words["vec"]:
            raise UnknownErrand  # it may be an error of the run
        if kind == "W" and not segment.writable:
            raise UnknownErrand
        if self.run._lock_at(thread, byte, size) is not None:
            raise Ended
        place = self.run._guarded(thread, byte, size)
        strong = scope_of(thread.instruction.use)
        if strong is None:
            raise UnknownErrand
        if strong and place is None:
            raise Ended
        self.run._bases[id(segment)] = byte[1] - first
        reached = _Reached(kind, segment, first, size, place)
        self.way.reached[reached] = None
        return reached

    def reads(self, thread: Any, address: int, size: int) -> Any:
        led = self._leads(thread, "R", address, size, None)
        if led is not False:
            return led
        one = self._reach(thread, "R", address, size)
        if one.place is not None:
            now = self.way.left.get(one.place)
            if now is not None:
                return now
            return self.run._found_in(self.thread, self.section, one.place, one.segment, one.first)
        key = id(one.segment), one.first, size
        if key in self._wrote:
            return self._wrote[key]
        end = one.first + size
        if any(of == key[0] and first < end and one.first < first + n for of, first, n in self._wrote):
            raise UnknownErrand
        if self.run.carried.found(one.segment, one.first, size) is not None:
            raise UnknownErrand
        found = one.segment.read(one.first, size)
        if type(found) is not int:
            raise UnknownErrand
        return found

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None:
        if isinstance(value, UndefinedValue) and not isinstance(value, Varying):
            raise UnknownErrand
        if self._leads(thread, "W", address, size, value.term if isinstance(value, Varying) else value):
            return
        one = self._reach(thread, "W", address, size)
        if one.place is not None:
            self.way.left[one.place] = value
        else:
            self._wrote[id(one.segment), one.first, size] = value

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> Any:
        raise Ended

    def fences(self, thread: Any, how: Use) -> None:
        raise Ended

    def polls(self, thread: Any, block: int) -> None:
        pass

    def other(self, thread: Any, what: str, how: Use | None = None, address: int = 0) -> None:
        if what != "unknown":
            raise UnknownErrand


__all__ = ["InBranchingSections"]
