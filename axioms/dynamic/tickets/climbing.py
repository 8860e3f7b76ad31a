"""Runs of threads that climb: whoever comes last to a counter goes on for all who came there, and the others are done.

    while (n > 1) { __threadfence(); n /= 2; if (atomicAdd(&count[n], 1) == 0) return; __threadfence(); ... }

A *climber* is a thread, or a CTA of which one thread counts between two barriers. What it does between two counters is a *leg*.
Who goes on is open, and nothing hangs on it where whoever it is goes on alike, behind all legs that end at the counter
(docs/whole-launches/tickets.md, Whoever comes last goes on). A run has one order; others have others come last, by turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from operator import ge
from typing import Any

from axioms.dynamic.core.accesses import LEVELS, commutative
from axioms.dynamic.core.clocks import Clocks, Table
from axioms.dynamic.core.findings import Open, Party, Stopped
from axioms.dynamic.core.shadow import CLOSES, CONSTANT, COUNTED
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.tickets.beginnings import SAME, THREADS, asks_no_more
from axioms.dynamic.waits.waiting import plain
from axioms.dynamic.waits.written import Hand
from ptxcore.isa.form import ACQUIRES, RELEASES, Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, SHARED_OFFSET
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import NamedTuple, dataclass

#: A leg: the thread that begins with it, or the address of the counter behind which it comes.
Leg = tuple[str, int]
BEHIND = "behind"
#: How far threads have come when a leg ends, by CTA: the times of their last accesses.
Times = dict[int, list[int]]


@dataclass(eq=False, slots=True)
class LegEnd:
    """The end of a leg: a thread counts. Of the leg behind it, by the places of threads in the CTA: `traces`, what they do;
    `states`, with what they go on at its end."""

    thread: int
    leg: Leg
    found: int
    lead: Any
    past: Times
    hands: tuple[Hand, ...]
    fenced: Table
    op: Op
    traces: dict[int, list[object]] = field(default_factory=dict)
    states: dict[int, object] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class ClimbCounter:
    """Some bytes by which threads climb: what arrivals do there, in the order of the run, and which of them goes on."""

    address: int
    size: int
    does: tuple[Any, ...]
    party: Party
    after: int
    arrivals: list[LegEnd]
    by: LegEnd | None = None
    cta: bool = False
    closed: bool = False


class Climb(NamedTuple):
    """What a run shows of a counter: the legs that end there, in order, the last one; and of the leg behind it whether a CTA
    goes it (None: nobody does), what its threads do, and with what they go on."""

    legs: tuple[Leg, ...]
    last: Leg
    cta: bool | None
    traces: Mapping[int, list[object]]
    states: Mapping[int, object]

    def goes_on_as(self, other: Climb) -> bool:
        """Whether who comes last does the same."""
        same = set(self.legs) == set(other.legs) and self.cta == other.cta
        return same and self.traces == other.traces and self.states == other.states


class Climbing(Determinate):
    """Watches one launch."""

    alone = False

    def __init__(self, size: int, turn: int, known: Mapping[int, Climb]) -> None:
        """`turn`: at each counter, which leg ends there last, counted from the last one of those that are `known`."""
        super().__init__(size)
        self.turn, self.plan = turn, known
        self.counters: dict[int, ClimbCounter] = {}
        self.held: set[int] = set()
        self._bytes: dict[int, int] = {}
        self._leg: dict[int, Leg] = {}
        self._inherited: dict[int, Times] = {}
        self._last: dict[int, int] = {}
        #: Arrivals of threads that have done nothing since; those behind which their CTA has met; and threads of
        #: which it is to be looked at whether they come behind all legs.
        self._pending: dict[int, tuple[ClimbCounter, LegEnd]] = {}
        self._met: dict[int, tuple[ClimbCounter, LegEnd]] = {}
        self._unchecked: dict[int, ClimbCounter] = {}
        #: Of each CTA: who accessed something since its threads met, all of them; bytes of shared memory that were written
        #: since the last arrival; and whether threads of it climb by themselves, or all together.
        self._since: dict[int, set[int]] = {}
        self._fresh: dict[int, set[int]] = {}
        self._single: set[int] = set()
        self._whole: set[int] = set()
        self._behind: dict[int, LegEnd] = {}
        self._stands_at: dict[int, Op] = {}
        self._updated: set[int] = set()
        self._used: dict[int, bool] = {}

    # Accesses.

    def _access(
        self, thread: WatchedThread, kind: str, address: int, size: int, commutes: str = "", value: Any = None
    ) -> None:
        number, cta = thread.number, thread.number // self.size
        if self.performing is not None:
            raise self.leaves(thread, "order")
        if address >= FIRST_GLOBAL:
            self._does(thread)
            commutes = self._about_counters(thread, kind, address, size, commutes)
        elif address & ~SHARED_OFFSET == thread.shared:
            self._shares(thread, kind, address & SHARED_OFFSET, size)
        elif self.is_shared(address):
            raise self.leaves(thread, "order")
        scope = self._scope_of(thread)
        if (kind == "A" and not commutes) or (kind != "A" and scope not in ("", CONSTANT)):
            raise self.leaves(thread, "order")
        if kind == "A" and address >= FIRST_GLOBAL and not self.clocks.wide(scope):
            raise self.leaves(thread, "order")  # another climber may be of another CTA
        super()._access(thread, kind, address, size, commutes, value)
        if number in self._behind:
            does = _operands(thread) if kind == "A" else plain(value)
            trace = self._behind[number].traces.setdefault(self._place_in_leg(number), [])
            trace.append((thread.op, kind, address if address >= FIRST_GLOBAL else address & SHARED_OFFSET, size, does))
        self._last[number] = self.clocks.own[number]
        self._since.setdefault(cta, set()).add(number)

    def _about_counters(self, thread: WatchedThread, kind: str, address: int, size: int, commutes: str) -> str:
        """An access that is no arrival: what it is to those of the counter that it is about."""
        inside = range(address, address + size)
        if kind == "A":
            self._updated.update(inside)
        for at in {self._bytes[byte] for byte in inside if byte in self._bytes}:
            counter = self.counters[at]
            if kind == "A" or (kind == "W" and (at, counter.size) != (address, size)):
                raise self.leaves(thread, "order")
            if kind == "W":
                counter.closed = True
                if counter.arrivals[-1].thread == thread.number:
                    return CLOSES  # it has observed all others
        return commutes

    def _shares(self, thread: WatchedThread, kind: str, first: int, size: int) -> None:
        """An access to the CTA's shared memory: behind an arrival nothing is found that was there before."""
        fresh = self._fresh.get(thread.number // self.size)
        if fresh is None:
            return
        inside = range(first, first + size)
        if thread.number // self.size in self._single or (kind != "W" and not fresh.issuperset(inside)):
            raise self.leaves(thread, "order")
        fresh.update(inside)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        used = self._used.get(thread.op)
        if used is None:
            functions = thread.launch.program.functions.values()
            used = self._used[thread.op] = not results_unused(functions, thread.instruction)
        if not used:
            return super().updates(thread, how, address, size, write)
        counts = how.op in ("inc", "dec") or (how.op == "add" and commutative(how))
        if address < FIRST_GLOBAL or how.words["vec"] or not counts:
            raise self.leaves(thread, "order")
        self._arrives_at(thread, how, address, size, write)
        return None

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        """A fence of a scope in which another climber may not be says nothing of the legs."""
        if not self.clocks.wide(LEVELS.get(how.scope or "", how.scope or "")):
            raise self.leaves(thread, "order")
        super()._fence(thread, how)

    # Counters.

    def _arrives_at(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> None:
        """A leg ends: its thread counts."""
        number, scope = thread.number, self._scope_of(thread)
        segment, first = thread.segment(address)
        found = segment.read(first, size)
        does = how.op, how.type, *_operands(thread)
        counter = self.counters.get(address)
        if counter is None:
            around = range(address, address + size)
            if type(found) is not int or any(byte in self._updated or byte in self._bytes for byte in around):
                raise self.leaves(thread, "order")
            self._bytes.update((byte, address) for byte in around)
            counter = self.counters[address] = ClimbCounter(address, size, does, self._party(thread), found, [])
        if (counter.size, counter.does, counter.after) != (size, does, found) or counter.closed:
            raise self.leaves(thread, "order")
        self._does(thread)
        self._stands(thread, thread.instruction)
        leg = self._leg.get(number, ("begins with", number))
        self._hold(thread, address, leg, len(counter.arrivals))
        entry = thread.launch.program.functions[thread.launch.entry]
        alike = thread.frames or thread.top or entry.frame or len(thread.cta.cluster) > 1
        if not self.clocks.wide(scope) or alike or any(e.leg == leg for e in counter.arrivals):
            raise self.leaves(thread, "order")
        self._counts(thread, counter, leg, how)
        counter.after = write(found)[0] & (1 << 8 * size) - 1

    def _hold(self, thread: WatchedThread, address: int, leg: Leg, before: int) -> None:
        """Lets a thread wait whose leg is to be the last one."""
        known = self.plan.get(address)
        legs = () if known is None else known.legs
        if legs and leg == legs[-1 - self.turn % len(legs)] and before < len(legs) - 1:
            self.held.add(thread.number)
            raise Asleep
        self.held.discard(thread.number)

    def _counts(self, thread: WatchedThread, counter: ClimbCounter, leg: Leg, how: Use) -> None:
        """A thread hands on what comes before, and takes in what others have handed on."""
        number, scope, clocks = thread.number, self._scope_of(thread), self.clocks
        past, fenced = self._past(number), self.sequential.before(number)
        hands = list(self.fenced.get(number, ()))
        if how.sem in RELEASES:
            hands.append(Hand(clocks.join([clocks.release(number)]), scope, number))
        earlier = [(hand, scope) for one in counter.arrivals for hand in one.hands]
        self.fenced.pop(number, None)  # a leg has its own
        self.offered[number] = []
        if how.sem in ACQUIRES:
            self._acquire(number, earlier, scope)
        else:
            self.offered[number] = earlier
        self.sequential.observes(number, [one.fenced for one in counter.arrivals])
        found, lead = counter.after, self._lead(thread)
        segment, first = thread.segment(counter.address)
        self.shade(thread, "A", segment, first, counter.size, COUNTED)
        if number in self._behind:
            self._behind.pop(number).traces.setdefault(self._place_in_leg(number), []).append((thread.op, "A", first))
        arrival = LegEnd(number, leg, found, lead, past, tuple(hands), fenced, thread.instruction)
        counter.arrivals.append(arrival)
        self._pending[number] = counter, arrival
        self._fresh[number // self.size] = set()
        self._since.setdefault(number // self.size, set()).add(number)

    def _past(self, number: int) -> Times:
        """How far those have come who are before the end of a leg."""
        cta, place = divmod(number, self.size)
        known = self.clocks.known[number].get(cta, [0] * self.size)
        times = [min(time, self._last.get(cta * self.size + i, 0)) for i, time in enumerate(known)]
        times[place] = self._last.get(number, 0)
        return _furthest([{cta: times}, self._inherited.get(number, {})])

    # Threads that go on.

    def _stands(self, thread: WatchedThread, op: Op) -> None:
        """Where a thread is behind an arrival, and all that it goes on with."""
        arrival = self._behind.get(thread.number)
        if arrival is not None:
            stands = (*self.live_of(thread).before(op, thread.R), plain(thread.carry))
            arrival.states[self._place_in_leg(thread.number)] = stands

    def _place_in_leg(self, number: int) -> int:
        """Which of the threads of a leg somebody is."""
        return 0 if number // self.size in self._single else number % self.size

    def _does(self, thread: WatchedThread) -> None:
        """A thread does something that others may see: who goes on behind an arrival has come last."""
        number, cta = thread.number, thread.number // self.size
        pending = self._pending.pop(number, None)
        if pending is not None:
            counter, arrival = pending
            if cta in self._whole:
                raise self.leaves(thread, "order")
            self._single.add(cta)
            self._behind[number] = arrival
            self._climbs_on(thread, counter, arrival, cta=False)
            self._begins_leg(thread, counter, (number,))
        elif (met := self._met.pop(cta, None)) is not None:
            counter, arrival = met
            self._climbs_on(thread, counter, arrival, cta=True)
            self._begins_leg(thread, counter, range(cta * self.size, (cta + 1) * self.size))
        counter_behind = self._unchecked.pop(number, None)
        if counter_behind is not None and not all(
            _has_come(self.clocks, number, one.past) for one in counter_behind.arrivals
        ):
            raise self.leaves(thread, "order")

    def _climbs_on(self, thread: WatchedThread, counter: ClimbCounter, arrival: LegEnd, *, cta: bool) -> None:
        """A climber goes on, as a CTA or a thread by itself. From there on it asks for nothing that tells it from others."""
        program, number = thread.launch.program, thread.number // self.size
        entry = program.functions[thread.launch.entry]
        others = [code for code in program.functions.values() if not code.entry]
        members = range(number * self.size, (number + 1) * self.size) if cta else ()
        ops = {id(op): op for op in (arrival.op, *(self._stands_at[member] for member in members))}
        names = SAME + (THREADS if cta else ())
        if counter.by is not None or not all(asks_no_more(entry, op, others, names) for op in ops.values()):
            raise self.leaves(thread, "order")
        counter.by, counter.cta = arrival, cta

    def _begins_leg(self, thread: WatchedThread, counter: ClimbCounter, members: Sequence[int]) -> None:
        before = _furthest([one.past for one in counter.arrivals])
        for member in members:
            self._leg[member] = BEHIND, counter.address
            self._inherited[member] = before
            self._unchecked[member] = counter

    # Threads that meet.

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        if thread.number // self.size in self._fresh and (thread.frames or thread.top):
            raise self.leaves(thread, "order")
        self._stands_at[thread.number] = thread.instruction
        self._stands(thread, thread.instruction)
        super().arrives(thread, level, identity, waits, count)

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        threads = list(cta.threads)
        number = threads[0].number // self.size
        come = self.arrived.get((number, identity), [])
        every = len(come) == self.size and all(waits for _, waits in come)
        super().released(cta, level, identity, whole)
        members = range(number * self.size, (number + 1) * self.size)
        pending = [self._pending.pop(member) for member in members if member in self._pending]
        since = self._since.pop(number, set())
        if number not in self._fresh:
            return  # nobody has counted
        if not every or number in self._single or len(pending) > 1:
            raise self.leaves(threads[0], "order")
        if not pending:
            return
        counter, arrival = pending[0]
        if since - {arrival.thread}:
            raise self.leaves(threads[0], "order")
        self._met[number] = counter, arrival
        self._whole.add(number)
        for member in members:
            self._behind[member] = arrival
            if member != arrival.thread:
                self.fenced.pop(member, None)
                self.offered.pop(member, None)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        super().met(how, threads, masked)
        number = threads[0].number // self.size
        if number in self._single or any(thread.number in self._pending for thread in threads):
            raise self.leaves(threads[0], "order")

    # At the end.

    def ends(self, cta: Any) -> None:
        first = self._owners[id(cta.shared)] * self.size
        for member in range(first, first + self.size):
            if member in self._behind:
                self._behind.pop(member).states[self._place_in_leg(member)] = "ended"
        super().ends(cta)

    def climbs(self) -> dict[int, Climb]:
        """The launch has ended: what it shows of each counter. Raises Stopped where something is open."""
        if self.unknown is not None or self.sums.hanging:
            raise Stopped(self.unknown or Open("order"))
        found = {}
        for address, counter in self.counters.items():
            legs = tuple(one.leg for one in counter.arrivals)
            if counter.by not in (None, counter.arrivals[-1]) or not _are_done(counter):
                raise Stopped(Open("order", counter.party))
            by = counter.by
            found[address] = Climb(
                legs, legs[-1], None if by is None else counter.cta, by.traces if by else {}, by.states if by else {}
            )
        return found


def may_climb(entry: Code) -> bool:
    """Whether threads of a kernel may come from one counter to another one: it counts in a loop, or at several places."""
    counts = [at for at, one in enumerate(entry.ops) if one.use.form.mnemonic == "atom"]
    back = [
        (entry.labels[label], at) for at, one in enumerate(entry.ops) for label in one.labels if label in entry.labels
    ]
    return len(counts) > 1 or any(first <= at <= last for at in counts for first, last in back)


def _are_done(counter: ClimbCounter) -> bool:
    """Whether all positions but the last one lead a thread to one place, whoever it is."""
    values = [one.found for one in counter.arrivals[:-1]]
    if counter.arrivals[-1].found in values:
        return False
    for one in counter.arrivals:
        ways = {one.lead(value) for value in values}
        if len(ways) > 1 or None in ways:
            return False
    return True


def _operands(thread: WatchedThread) -> tuple[object, ...]:
    """With what an atomic operation is done."""
    return tuple(plain(thread.value(s)) for s in thread.instruction.sources[1:] if s is not None)


def _furthest(several: Sequence[Times]) -> Times:
    """The greatest of some times each."""
    found: Times = {}
    for one in several:
        for cta, times in one.items():
            mine = found.get(cta)
            found[cta] = times if mine is None else list(map(max, mine, times))
    return found


def _has_come(clocks: Clocks, thread: int, past: Times) -> bool:
    """Whether a thread comes behind all of some times."""
    known = clocks.known[thread]
    for cta, wanted in past.items():
        times = known.get(cta)
        if times is not None and all(map(ge, times, wanted)):
            continue
        for place, time in enumerate(wanted):
            if time and not clocks.ordered(thread, cta * clocks.size + place, time):
                return False
    return True


__all__ = ["BEHIND", "Climb", "Climbing", "may_climb"]
