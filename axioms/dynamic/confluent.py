"""Launches with look-backs (`axioms.dynamic.lookbacks`): one run, in which some instructions may find one thing or another.

What they find is taken for nothing certain: nobody comes behind what was found. At the end of the run, when all writes are
known, each look-back must be confluent.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from axioms.dynamic.apart import Apart
from axioms.dynamic.clocks import Table
from axioms.dynamic.determinate import Determinate
from axioms.dynamic.findings import Open, Party, Stopped
from axioms.dynamic.live import Live
from axioms.dynamic.lookbacks import Finds, LookBack, LookBackThread, NotConfluent, Ways, is_plain_fence
from axioms.dynamic.shadow import Access
from axioms.dynamic.waiting import Poll, Written, WrittenBytes
from ptxcore.isa.effect_kinds import FENCE
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.liveness import reads
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread, Write

#: Below lie the state spaces but `.global`.
_WINDOWS = 1 << GLOBAL_BITS


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
    """Watches one launch. `searched`: the instructions by which threads look back, by their identity."""

    def __init__(self, size: int, searched: frozenset[int]) -> None:
        super().__init__(size)
        self.searched = searched
        self.found: list[LookBack] = []
        #: Strong reads at which ways have ended: they may be part of these.
        self.further: set[int] = set()
        #: Ways that were gone.
        self.ways = 0
        #: The look-backs of threads that have not come behind them; and where the last read was.
        self._active: dict[int, LookBack] = {}
        self._address = 0
        #: The memory in which they look, by its number: it is gone when all is known.
        self._segments: dict[int, Segment] = {}
        #: Fences of threads that look back, since they read last: they come behind the look-back, or within it.
        self._fences: dict[int, list[tuple[WatchedThread, Use]]] = {}

    # Where look-backs begin and end.

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        if id(thread.instruction.instruction) not in self.searched:
            self._ends(thread.number)
        else:
            self._fences.pop(thread.number, None)
        self._address = address
        return super().reads(thread, address, size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._ends(thread.number)
        super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        self._ends(thread.number)
        return super().updates(thread, how, address, size, write)

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        self._ends(thread.number)
        super().arrives(thread, level, identity, waits, count)

    def other(self, thread: WatchedThread, what: Any, how: Use | None = None, address: int = 0) -> None:
        if thread.number in self._active and how is not None and is_plain_fence(what, how):
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
        number, value = thread.number, segment.read(access.first, access.size)
        if type(value) is not int or self.phases.objects:
            raise self.leaves(thread, "order")
        if self._address >= _WINDOWS:
            self._segments[self._address >> GLOBAL_BITS] = segment
        of = self._active.get(number)
        if of is None:
            of = self._active[number] = LookBack(thread.instruction)
            self.found.append(of)
            of.members[number] = self._member(self.polled[number])
        of.members[number].found.append((thread.op, self._address, value))

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
        """The launch is over. Raises Stopped where a look-back is not confluent."""
        if not self.found:
            return
        first = next(iter(self.found[0].members.values())).poll.thread
        live = self.live_of(first)
        for of in self.found:
            try:
                self.ways += self._gone(of, live)
            except NotConfluent:
                raise Stopped(Open("order", Party(next(iter(of.members)), of.asks))) from None

    def _gone(self, of: LookBack, live: Live) -> int:
        """How many ways were gone of a look-back that is confluent. Raises NotConfluent where it is not."""
        ways = Ways(of, live, self.searched, self._finds)
        if len(ways.threads) > 1:
            apart = Apart(of, ways.threads)
            with suppress(NotConfluent):
                apart.check()
                return apart.number
        try:
            ways.check()
        finally:
            self.further.update(*(thread.further for thread in ways.threads))
        return ways.number

    def _finds(self, member: LookBackThread) -> Finds:
        """What a thread may find in its look-back."""
        ops = member.poll.thread.launch.compiled.ops
        known: dict[tuple[int, int, int], tuple[set[int], int]] = {}

        def finds(op: int, address: int, size: int) -> tuple[set[int], int]:
            key = op, address, size
            if key not in known:
                segment = self._segments.get(address >> GLOBAL_BITS)
                if segment is None:
                    raise NotConfluent
                scope = ops[op].use.scope or "sys"
                known[key] = self._possible(member, scope, segment, address & (_WINDOWS - 1), size)
            return known[key]

        return finds

    def _possible(
        self, member: LookBackThread, scope: str, segment: Segment, first: int, size: int
    ) -> tuple[set[int], int]:
        """The values that a read may find, and the last one. Raises NotConfluent where that is open, or it might race."""
        at, place = self.places.get(id(segment), {}).get(first, (-1, None))
        if place is None or at != first or place.size != size or not self._strongly_written(segment, first, size):
            raise NotConfluent
        number = member.poll.thread.number
        base, beside = place.first, list[Written]()
        for w in place.writes:
            if w.thread == number or w.kind != "store":
                raise NotConfluent
            if _before(w, member.known, self.size):
                base = w.value
            elif member.end is None or not _behind(w, number, member.end, self.size):
                within = self.clocks.within
                if not (within(w.scope, w.thread, number) and within(scope, w.thread, number)):
                    raise NotConfluent
                beside.append(w)
        if len({w.thread for w in beside}) > 1:
            raise NotConfluent
        if base is None:
            raise NotConfluent
        return {base, *(w.value for w in beside)}, beside[-1].value if beside else base

    def _strongly_written(self, segment: Segment, first: int, size: int) -> bool:
        """Whether all writes to some bytes are strong, and to just these."""
        shadow = self.shadow_of(segment)
        cells = shadow.cells
        for unit in range(first // shadow.grain, -(-(first + size) // shadow.grain)):
            cell = cells.get(unit)
            if cell is not None and not all(
                w.strong and (w.first, w.size) == (first, size) for w in (*cell.writes.values(), *cell.atomics.values())
            ):
                return False
        return True


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


def _forget(places: dict[int, tuple[int, WrittenBytes]], access: Access) -> None:
    """A weak write has overwritten bytes as a whole, which strong operations accessed by other sizes: it is ordered behind all
    of these, and whatever comes to the bytes is ordered behind it, or races with it."""
    end = access.first + access.size
    inside = [byte for byte in range(access.first, end) if byte in places]
    met = {(places[byte][0], places[byte][1].size) for byte in inside}
    if all(access.first <= first and first + size <= end for first, size in met - {(access.first, access.size)}):
        for byte in inside if (access.first, access.size) not in met else ():
            del places[byte]
