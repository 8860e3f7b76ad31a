"""What one of several runs notes on the way: bytes that strong operations access, which operations a thread comes behind, and
what it hands on and gets."""

from __future__ import annotations

from collections.abc import Callable
from operator import ge
from typing import Any

from axioms.dynamic.core.accesses import is_one
from axioms.dynamic.core.shadow import Access
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.several.cycles import Cycles
from axioms.dynamic.several.excluded import Total, excluded
from axioms.dynamic.several.noted import OpenBytes, OpenOperation, Quiet, branches
from axioms.dynamic.several.plan import Bytes, Script, StrongBytes
from axioms.dynamic.several.settled import SettledBytes
from axioms.dynamic.waits.gathered import GatheredPolls
from axioms.dynamic.waits.written import Hand, behind
from ptxcore.isa.form import ACQUIRES, RELEASES, Use
from ptxcore.machine.ir.windows import GLOBAL_BITS, SHARED_OFFSET
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.places import WIDE


def on(value: int) -> object:
    """Where a thread goes on that does not look at what it finds."""
    return ()


class Noting(Determinate):
    """Watches one launch, and notes what is open in it."""

    def __init__(self, size: int, launch: int, known: StrongBytes, script: Script) -> None:
        """`launch`: its number; `known`: what is known of bytes, to which this adds."""
        super().__init__(size)
        self.launch, self.known, self.script = launch, known, script
        self.spots: dict[tuple[int, int], OpenBytes] = {}
        self.events: list[OpenOperation] = []
        self.quiet: list[Quiet] = []
        #: Of each thread, the open operations that it comes behind, as bits; how many it has executed itself.
        self.behind: dict[int, int] = {}
        self.count: dict[int, int] = {}
        self.cycles, self.settled = Cycles(), SettledBytes(size)
        self._met: dict[tuple[int, int], int] = {}
        self._updated: OpenBytes | None = None
        #: Whether some thread found something older than what was there; each `fence.sc`.
        self.stale = False
        #: Writes that were there when somebody read, and found an older one, each with that read.
        self.missed: list[tuple[OpenOperation, OpenOperation]] = []
        self.totals: list[Total] = []
        #: Whether some operation orders more in the model than here.
        self.weaker = False
        #: Threads that the script holds back; those that wait for others since this way asks it of them. What does not end
        #: then shows nothing.
        self.held: set[int] = set()
        self._gathered = GatheredPolls()
        self.delayed = self._gathered.delayed
        #: Whether what a thread finds where it polls now, its whole CTA learns by a barrier.
        self.together = False
        #: Of each thread that polled in vain, where, and how many writes there were.
        self._polled_before: dict[int, tuple[Any, ...]] = {}
        self._used: dict[int, bool] = {}
        self._observed: dict[int, list[tuple[OpenBytes, Hand, str]]] = {}
        #: The threads that have accessed something since their last fence that releases.
        self._unreleased: set[int] = set()

    @property
    def free(self) -> bool:
        """Whether what does not end does so by itself: no thread is made to wait, and none found something older."""
        return not (self.stale or self.held or self.delayed)

    @property
    def total(self) -> bool:
        """Whether there was a `fence.sc`."""
        return bool(self.totals)

    def excluded(self) -> bool:
        """Whether no execution begins as the script says."""
        return excluded(self.events, self.totals, self.script)

    # Bytes that strong operations access.

    def _own(self, thread: WatchedThread, address: int) -> bool:
        """Whether an address is of memory that is looked after here; of others the base class knows."""
        return (
            address >= 1 << GLOBAL_BITS or address & ~SHARED_OFFSET == thread.shared or self._reached(thread, address)
        )

    def _reached(self, thread: WatchedThread, address: int) -> bool:
        """Whether an address is of shared memory of another CTA, which must be there; not where that is not looked at."""
        return False

    def _spot(
        self, thread: WatchedThread, segment: Segment, first: int, address: int, access: Access
    ) -> OpenBytes | None:
        """What is known of the bytes of an access; None where no strong operation is about any of them."""
        place = self._place(thread, access, segment)
        if place is None:
            return None
        if place.first is None and access.kind == "A" and not place.stored_before(thread.number, self.clocks):
            raise self.leaves(thread, "unknown")
        spot = self.spots.get((id(segment), first))
        if spot is None:
            shared = address < 1 << GLOBAL_BITS
            cta = self.owner_of(segment) if shared else -1
            name = Bytes(self.launch, cta, first if shared else address, access.size)
            mode = self.known.modes.get(name, self.known.usual)
            spot = self.spots[id(segment), first] = OpenBytes(name, mode, place, segment, first)
        return spot

    def _access_of(self, thread: WatchedThread, kind: str, first: int, size: int) -> Access:
        number = thread.number
        return Access(number, self.clocks.own[number], thread.op, kind, self._scope_of(thread), first, size)

    def _strong_spot(
        self, thread: WatchedThread, kind: str, address: int, size: int
    ) -> tuple[Segment, int, OpenBytes] | None:
        """Where a strong access goes; None for memory of which the base class knows."""
        if not self._own(thread, address):
            return None
        segment, first = thread.segment(address)
        access = self._access_of(thread, kind, first, size)
        if self._is_open_vector(thread, access):
            raise self.leaves(thread, "vector")
        if id(segment) in self.phases.objects:
            self.phases.touched(thread, segment, first, size)
        spot = self._spot(thread, segment, first, address, access)
        assert spot is not None
        return segment, first, spot

    def _is_open_vector(self, thread: WatchedThread, access: Access) -> bool:
        """Whether a strong access is of several elements, each an access of its own (section 8.2.4)."""
        vector = thread.instruction.use.words["vec"] != ""
        return vector and (access.kind == "A" or not is_one(access, self.readings))

    # What threads come behind.

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        super().arrives(thread, level, identity, waits, count)
        if level != "cta":
            return
        key = thread.number // self.size, identity
        self._met[key] = self._met.get(key, 0) | self.behind.get(thread.number, 0)

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        super().released(cta, level, identity, whole)
        if level != "cta":
            return
        key = next(iter(cta.threads)).number // self.size, identity
        seen = self._met.pop(key, 0)
        if seen:
            for number in self.last[key].waited:
                self.behind[number] = self.behind.get(number, 0) | seen
        met = self.last[key]
        arrived = [number for number, _, _ in met.arrivals]
        self.cycles.meet(arrived, met.waited, synchronizes=True)
        if met.waited.issuperset(arrived):
            self.settled.meet(arrived)

    def met(self, how: Use, threads: Any, masked: bool) -> None:
        super().met(how, threads, masked)
        numbers = [thread.number for thread in threads]
        synchronizes = how.form.mnemonic == "bar"
        self.cycles.meet(numbers, numbers, synchronizes=synchronizes)
        if synchronizes:
            self.settled.meet(numbers)
        seen = 0
        for thread in threads:
            seen |= self.behind.get(thread.number, 0)
        if seen:
            for thread in threads:
                self.behind[thread.number] = seen

    # Parts of an operation.

    def _event(self, thread: WatchedThread, spot: OpenBytes, kind: str) -> OpenOperation:
        number = thread.number
        name = self.launch, number, self.count.get(number, 0)
        bit = 1 << len(self.events)
        return OpenOperation(
            name, spot, kind, bit, self.behind.get(number, 0), at=thread.op, does=thread.instruction,
            scope=self._scope_of(thread), known=self.clocks.known[number],
        )  # fmt: skip

    def _done(self, thread: WatchedThread, event: OpenOperation) -> None:
        number = thread.number
        assert event.bit == 1 << len(self.events)
        self.events.append(event)
        event.past |= event.bit
        self.behind[number] = self.behind.get(number, 0) | event.past
        self.count[number] = self.count.get(number, 0) + 1

    def _value(self, thread: WatchedThread, spot: OpenBytes) -> int:
        value = spot.segment.read(spot.first, spot.name.size)
        if type(value) is not int:
            raise self.leaves(thread, "unknown")
        return value

    def _value_before(self, thread: WatchedThread, spot: OpenBytes) -> int:
        """What stands there before a store."""
        return self._value(thread, spot)

    def _cut(self, value: int, size: int) -> int:
        return value & ((1 << 8 * size) - 1)

    def _lead(self, thread: WatchedThread) -> Callable[[int], object]:
        poll, alone = self.polled.get(thread.number), super()._lead(thread)
        if not self.together or poll is None:
            return alone
        return self._gathered.lead(thread, poll, self.live_of(thread), alone)

    def _hands(self, thread: WatchedThread, spot: OpenBytes, access: Access) -> tuple[Hand, ...]:
        """What a write hands on by itself: what its thread released, by it or before it."""
        number = thread.number
        if not access.strong:
            return ()
        hands = spot.released.get(number, ())
        if self._releases(thread):
            hand = Hand(self.clocks.join([self.clocks.release(number)]), access.strong, number)
            hands = spot.released[number] = behind(hands, hand)
        return (*hands, *self.fenced.get(number, ()))

    def shade(
        self, thread: WatchedThread, kind: str, segment: Segment, first: int, size: int, commutes: str = ""
    ) -> Access:
        access = super().shade(thread, kind, segment, first, size, commutes)
        self._unreleased.add(thread.number)
        return access

    def _released_all(self, thread: WatchedThread) -> frozenset[str]:
        """The scopes in which what a thread does now hands on all that comes before."""
        if self._releases(thread):
            return frozenset((self._scope_of(thread),))
        if thread.number in self._unreleased:
            return frozenset()
        known = self.clocks.known[thread.number].items()
        hands = self.fenced.get(thread.number, ())
        return frozenset(h.scope for h in hands if all(_covers(h.table.get(cta), times) for cta, times in known))

    def _releases(self, thread: WatchedThread) -> bool:
        return thread.instruction.use.sem in RELEASES

    def _gets(self, thread: WatchedThread, spot: OpenBytes, hands: Any, scope: str, *, red: bool) -> None:
        """A thread acquires what it was handed, now or at a fence."""
        number = thread.number
        if thread.instruction.use.sem in ACQUIRES:
            earlier = [(h, s) for where, h, s in self._observed.get(number, ()) if where is spot]
            self._acquire(number, [*((hand, scope) for hand in hands), *earlier], scope)
        elif not red:
            self.offered.setdefault(number, []).extend((hand, scope) for hand in hands)
            self._observed.setdefault(number, []).extend((spot, hand, scope) for hand in hands)

    def _reads(
        self, thread: WatchedThread, spot: OpenBytes, depends: Callable[[], bool], *, ordered: int | None = None
    ) -> None:
        acquires = thread.instruction.use.sem in ACQUIRES and self._scope_of(thread) in WIDE
        self.settled.reads(thread.number, spot.name)
        settled = self.settled.follows(thread.number, spot.name)
        self.cycles.reads(thread.number, spot.name, settled, acquires=acquires, depends=depends, ordered=ordered)

    def _reads_in_order(self, thread: WatchedThread, spot: OpenBytes, lead: Callable[[int], object]) -> None:
        """What the thread does next depends on what it finds, where it would go elsewhere with something else."""
        if lead is not on:
            number, order = thread.number, spot.order
            behind_all = all(self.clocks.ordered(number, other.name[1], other.time) for other in order)
            self._reads(
                thread, spot, lambda: branches(lead(spot.after(n)) for n in spot.sources()),
                ordered=self.clocks.own[number] if behind_all else None,
            )  # fmt: skip

    def _overwrites_in_order(self, thread: WatchedThread, event: OpenOperation, *, uses: bool) -> None:
        """A write that comes next in its order; `uses`: its thread uses what it finds. It may come before what nothing orders
        before it, if it writes with what that found; or only behind by coherence order."""
        spot = event.spot
        self.cycles.written(spot.name, lambda other, time: self.clocks.ordered(thread.number, other, time))
        if not uses:
            settled = self.settled.follows(thread.number, spot.name)
            event.step = self.cycles.overwrites(thread.number, spot.name, settled)
        for other in spot.order:
            if self.clocks.ordered(thread.number, other.name[1], other.time):
                continue
            if event.kind == "store" or (other.kind == "store" and event.changes(other.found)):
                self.cycles.loosen(spot.name)
            for one, finds in ((event, True), (other, event.changes(other.found))):
                if one.step is not None and finds:
                    one.step.active = True

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        super()._fence(thread, how)
        if thread.number in self.vain:
            return
        if how.sem != "acquire":
            self._unreleased.discard(thread.number)
        wide = how.scope in ("gpu", "sys", "gl")
        if how.sem == "sc":
            number = thread.number
            self.totals.append(Total(number, number // self.size, self.count.get(number, 0), wide))
        self.cycles.fences(thread.number, wide and how.sem != "release", wide and how.sem != "acquire")


def _covers(times: list[int] | None, others: list[int]) -> bool:
    """Whether times are no earlier than others."""
    return times is others or (times is not None and all(map(ge, times, others)))
