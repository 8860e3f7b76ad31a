"""Launches with look-backs (`lookback.lookbacks`): one run, in which some instructions may find one thing or another.

What they find is taken for nothing certain: nobody comes behind what was found. At the end of the run, when all writes are
known, each look-back must be confluent.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.findings import Open, Party, Stopped
from axioms.dynamic.core.shadow import Access
from axioms.dynamic.lookback.apart import Apart
from axioms.dynamic.lookback.deciding import CaseWays
from axioms.dynamic.lookback.found_values import CannotDecide
from axioms.dynamic.lookback.lookbacks import LookBack, LookBackThread, NotConfluent, Ways, is_plain_fence
from axioms.dynamic.lookback.sightings import Sight, Sighting, Sightings
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.waits.waiting import Poll, WrittenBytes
from axioms.dynamic.waits.written import Written
from ptxcore.isa.effect_kinds import FENCE
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.lower.liveness import reads
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread, Write

#: Look-backs whose ways are gone for something wrong, where one is not confluent.
_MOST_SUSPECTED = 8


def open_reads(watcher: Determinate) -> list[Op]:
    """The instructions that may lead on in several ways, where that ended a run."""
    places = [place for of in watcher.places.values() for _, place in of.values()]
    return [place.open.op for place in places if place.open is not None and place.open.op is not None]


def may_look_back(watcher: Determinate) -> set[int]:
    """The reads, by the identity of instructions, that may be of look-backs, where one of them ended a run."""
    further = watcher.further if isinstance(watcher, Confluent) else set()
    return {id(op.instruction) for op in open_reads(watcher)} | further


def summed_reads(code: Code) -> set[int]:
    """The strong reads, by the identity of instructions, that are likely to be of look-backs: none acquires, and what it finds
    is not only compared. Whether they are is found out by a run."""
    used = {slot for op in code.ops if op.use.form.mnemonic != "setp" for slot in reads(op)}
    return {
        id(op.instruction)
        for op in code.ops
        if op.use.form.mnemonic == "ld"
        and op.use.sem not in ("weak", "acquire", "")
        and any(target is not None and target.slot in used for target in op.targets)
    }


class Confluent(Determinate):
    """Watches one launch. `searched`: the instructions by which threads look back, by their identity: reads, and fences from
    which no order is taken where they are of a look-back."""

    def __init__(self, size: int, searched: frozenset[int]) -> None:
        super().__init__(size)
        self.searched = searched
        self.found: list[LookBack] = []
        #: Reads at which ways have ended, or that came behind them unordered: they may be part of these.
        self.further: set[int] = set()
        #: What threads find on ways that come to something else, or of which that is not known.
        self.suspects: list[tuple[Sighting, ...]] = []
        self._sightings = Sightings(self.clocks, self.places, self.shadows)
        self._is_settled = False
        #: Ways that were gone.
        self.ways = 0
        #: The look-backs of threads that have not come behind them; and where the last read was.
        self._active: dict[int, LookBack] = {}
        self._address = 0
        #: The memory in which they may look, by its number: it is gone when all is known.
        self._segments: dict[int, Segment] = {}
        #: Fences of threads that look back, since they read last: they come behind the look-back, or within it.
        self._fences: dict[int, list[tuple[WatchedThread, Use]]] = {}

    # Where look-backs begin and end.

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        number, active = thread.number, thread.number in self._active
        if id(thread.instruction.instruction) not in self.searched:
            self._ends(number)
        elif active and address >= FIRST_GLOBAL and self._is_beside(thread, address, size):
            self.ticks()
            segment, first = thread.segment(address)
            self._look(thread, address, segment.read(first, size))
            return None
        else:
            self._fences.pop(number, None)
        self._address = address
        try:
            return super().reads(thread, address, size)
        except Stopped as stopped:
            if active and isinstance(stopped.why, Open):
                self.further.add(id(thread.instruction.instruction))
            raise

    def _is_beside(self, thread: WatchedThread, address: int, size: int) -> bool:
        """Whether a read in a look-back, or a write there, is weak: its thread must come behind what it reads."""
        strong = self._scope_of(thread)
        return not strong or self._sightings.is_weakly_written(*thread.segment(address), size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        number = thread.number
        self._ends(number)
        if self.performing is None and address >= FIRST_GLOBAL and not self._scope_of(thread):
            known, time = self.clocks.known[number], self.clocks.own[number]
            kind = "store" if type(value) is int else "other"
            written = Written(number, time, value if type(value) is int else 0, kind, "", known)
            self._sightings.write(*thread.segment(address), size, written)
        super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        self._ends(thread.number)
        return super().updates(thread, how, address, size, write)

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        self._ends(thread.number)
        super().arrives(thread, level, identity, waits, count)

    def other(self, thread: WatchedThread, what: Any, how: Use | None = None, address: int = 0) -> None:
        if thread.number in self._active and how is not None and is_plain_fence(what, how):
            if id(thread.instruction.instruction) not in self.searched:
                self._fences.setdefault(thread.number, []).append((thread, how))
            self.exact = False
            return
        self._ends(thread.number)
        super().other(thread, what, how, address)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        if how.form.mnemonic == "bar":  # it orders memory
            for thread in threads:
                self._ends(thread.number)
        else:
            self._join(threads)
        super().met(how, threads, masked)

    def _place(self, thread: WatchedThread, access: Access, segment: Segment) -> WrittenBytes | None:
        if access.kind == "W" and not access.strong:
            places = self.places[id(segment)]
            if places.keys().isdisjoint(range(access.first, access.first + access.size)):
                return None
            _forget(places, access)
        return super()._place(thread, access, segment)

    def _find(self, thread: WatchedThread, access: Access, segment: Segment, place: WrittenBytes) -> None:
        if id(thread.instruction.instruction) not in self.searched:
            super()._find(thread, access, segment, place)
            return
        self._look(thread, self._address, segment.read(access.first, access.size))

    def _look(self, thread: WatchedThread, address: int, value: Any) -> None:
        """A thread looks back, and finds something."""
        number = thread.number
        if type(value) is not int or self.phases.objects:
            raise self.leaves(thread, "order")
        self._fences.pop(number, None)
        if len(self._segments) != len(thread.globals):
            self._segments = dict(thread.globals)
        of = self._active.get(number)
        if of is None:
            of = self._active[number] = LookBack(thread.instruction)
            self.found.append(of)
            of.members[number] = self._member(self.polled[number])
        of.members[number].found.append((thread.op, address, value))

    def _member(self, poll: Poll) -> LookBackThread:
        return LookBackThread(poll, self.clocks.known[poll.thread.number])

    def _ends(self, number: int) -> None:
        """A thread does something that others see."""
        of = self._active.pop(number, None)
        if of is not None:
            of.members[number].end = self.clocks.own[number]
            for thread, how in self._fences.pop(number, ()):
                super().other(thread, FENCE, how)

    def _join(self, threads: Sequence[Any]) -> None:
        """Threads of a warp execute something together: if one of them looks back, all do."""
        numbers = [thread.number for thread in threads]
        all_of = {id(of): of for number in numbers if (of := self._active.get(number)) is not None}
        if not all_of:
            return
        if any(number in of.members and number not in self._active for of in all_of.values() for number in numbers):
            for number in numbers:  # somebody has been behind it, and may bring what others do not know
                self._ends(number)
            return
        first, *others = all_of.values()
        for other in others:
            first.members.update(other.members)
            self._active.update((number, first) for number in other.members if number in self._active)
            self.found.remove(other)
        for thread in threads:
            if thread.number not in first.members:
                block = thread.launch.compiled.compiler.again(thread.launch.compiled, thread.instruction)
                first.members[thread.number] = self._member(Poll(thread, block))
                self._active[thread.number] = first
        if not first.running:
            first.running = threads[0].cta.warps[threads[0].warp].running

    # Whether they are confluent.

    def settle(self) -> None:
        """The launch is over, and memory as it leaves it. Raises Stopped where a look-back is not confluent."""
        if self._is_settled or not self.found:
            return
        self._is_settled, self._sightings.copied = True, self.agents.issued > 0
        first = next(iter(self.found[0].members.values())).poll.thread
        live = self.live_of(first)
        for of in self.found:
            try:
                self.ways += self._gone(of, live)
            except NotConfluent:
                for other in self.found[-_MOST_SUSPECTED:]:
                    with suppress(NotConfluent):
                        self._gone(other, live)
                raise Stopped(Open("order", Party(next(iter(of.members)), of.asks))) from None

    def _gone(self, of: LookBack, live: Live) -> int:
        """How many ways were gone of a look-back that is confluent. Raises NotConfluent where it is not."""
        ways = Ways(of, live, self.searched, self._sight)
        if len(ways.threads) > 1:
            apart = Apart(of, ways.threads)
            with suppress(NotConfluent):
                apart.check()
                return apart.number
        try:
            if len(ways.threads) > 1:
                with suppress(CannotDecide):
                    cases = CaseWays(ways, live, self.searched, of.running)
                    cases.check()
                    return cases.number
            ways.check()
        finally:
            self.further.update(*(thread.further for thread in ways.threads))
            self.suspects += [*ways.suspects, *(thread.suspect for thread in ways.threads if thread.suspect)]
            if self.further <= self.searched:  # fences are the last to go: what they order may be needed
                self.further |= ways.fences
        return ways.number

    def _sight(self, member: LookBackThread) -> Sight:
        """What a thread may see in its look-back."""
        thread = member.poll.thread
        ops, number = thread.launch.compiled.ops, thread.number
        return Sight(self._sightings, ops, self._segments, number, member.known, member.end)


def _forget(places: dict[int, tuple[int, WrittenBytes]], access: Access) -> None:
    """A weak write has overwritten bytes as a whole, which strong operations accessed by other sizes: it is ordered behind all
    of these, and whatever comes to the bytes is ordered behind it, or races with it."""
    end = access.first + access.size
    inside = [byte for byte in range(access.first, end) if byte in places]
    met = {(places[byte][0], places[byte][1].size) for byte in inside}
    if all(access.first <= first and first + size <= end for first, size in met - {(access.first, access.size)}):
        for byte in inside if (access.first, access.size) not in met else ():
            del places[byte]
