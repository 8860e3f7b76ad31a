"""Watches a launch in which threads take what stands in some bytes by loops of compare-and-swap (`tickets.swaps`).

It is a run up to the order of tickets (`tickets.tickets`). A loop that leaves a number of its thread's is an exchange:
a claim. One that leaves a function of what it takes, the same for all, shares out the numbers that come of what stood there
first: which thread gets which is open, as with tickets, and each is one thread's. What threads find is a symbol from their
first look on.
"""

from __future__ import annotations

import copy
from dataclasses import field
from itertools import pairwise
from math import gcd
from typing import Any

from axioms.dynamic.core.findings import Open, Party, Stopped, step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.sections.told import Untold
from axioms.dynamic.tickets.claims import ClaimedBytes, ClaimOperation
from axioms.dynamic.tickets.swaps import SwapFunction, SwapLoop
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted, Ticket
from axioms.dynamic.tickets.tickets import Tickets
from axioms.dynamic.waits.waiting import Poll
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, SHARED_OFFSET
from ptxcore.machine.run.faults import Fault
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.uninitialised import VARIES, Varying, anything
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.places import WIDE
from ptxcore.records import dataclass
from ptxcore.values.terms import Term, mask

#: What such loops are among accesses that commute.
_SWAPS = "swap"
#: Some bytes of a segment: the first one, and how many.
_Bytes = tuple[Segment, int, int]


@dataclass(eq=False)
class _Swap:
    """A loop of a thread: where it looks first, what it finds, and the number of that in the run; `exchanges`: it leaves a
    number of its own (None: it has left nothing yet)."""

    of: SwappedBytes
    poll: Poll
    symbol: Term
    number: int
    noted: Noted
    party: Party
    exchanges: bool | None = None


@dataclass(eq=False)
class SwappedBytes:
    """Bytes to which threads do so. `counter`: the numbers that they share out, where they do."""

    segment: Segment
    first: int
    size: int
    address: int
    begins: int
    counter: Counter
    swaps: list[_Swap] = field(default_factory=list)
    claimed: ClaimedBytes | None = None


class Swapping(Tickets):
    """`looks`: the instructions by which threads look first, by their identity; `learned`: those that may be some."""

    def __init__(self, size: int, looks: frozenset[int]) -> None:
        super().__init__(size)
        self.looks, self.learned = looks, set[int]()
        self.swapped: list[SwappedBytes] = []
        self._swapped_at: dict[tuple[int, int, int], SwappedBytes] = {}
        self._swap_of: dict[int, _Swap] = {}
        self._strong_reads: dict[tuple[int, int, int], set[int]] = {}

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        if self._at is None and type(address) is int and self._scope_of(thread) not in ("", CONSTANT):
            one = id(thread.instruction.instruction)
            if one in self.looks:
                return self._looks(thread, address, size)
            if address >= FIRST_GLOBAL or address & ~SHARED_OFFSET == thread.shared:
                segment, first = thread.segment(address)
                self._strong_reads.setdefault((id(segment), first, size), set()).add(one)
        return super().reads(thread, address, size)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        swap = self._swap_of.get(thread.number)
        if swap is not None and self._at is None and address == swap.of.address:
            return self._swaps(thread, how, swap, size)
        if type(address) is int and (self._strong_reads or self._swapped_at):
            segment, first = thread.segment(address)
            if how.op == "cas":
                self.learned |= self._strong_reads.get((id(segment), first, size), set())
            if any(_meet(of, segment, first, size) for of in self._swapped_at.values()):
                raise self.leaves(thread, "order")
        return super().updates(thread, how, address, size, write)

    def _looks(self, thread: WatchedThread, address: int, size: int) -> Varying:
        """A thread looks at some bytes that it is about to swap."""
        number = thread.number
        inside = address & ~SHARED_OFFSET == thread.shared
        wide = inside or (address >= FIRST_GLOBAL and self._scope_of(thread) in WIDE)
        poll = self.polled.get(number)
        if thread.frames or thread.instruction.use.words["vec"] or not wide or poll is None or number in self._swap_of:
            raise self.leaves(thread, "order")
        segment, first = thread.segment(address)
        if any(_meet(other.of, segment, first, size) for other in self._swap_of.values()):
            raise Asleep  # one after the other
        value = segment.read(first, size)
        if type(value) is not int or address % size or self.carried.found(segment, first, size) is not None:
            raise self.leaves(thread, "order")
        if self.slots.reached(segment, first, size):
            raise self.leaves(thread, "order")
        key = id(segment), first, size
        of = self._swapped_at.get(key)
        if of is None:
            self._ends(segment, first, size)
            counter = Counter(segment, first, size, value)
            of = self._swapped_at[key] = SwappedBytes(segment, first, size, address, value, counter)
            self.swapped.append(of)
        counter = of.counter
        least, most = min(counter.start, value), max(counter.start + counter.total, value + 1)
        counter.start, counter.total = least, most - least
        if len(self._memory) != len(thread.globals):
            self._memory = dict(thread.globals)
        self._note(thread, "A", segment, first, size, address)
        self.shade(thread, "A", segment, first, size, _SWAPS)
        symbol, party = anything(8 * size), self._party(thread)
        self.slots.tickets[symbol] = Ticket(symbol, counter, 1, value)
        self._swap_of[number] = _Swap(of, poll, symbol, value, self.slots.noted[-1], party)
        return Varying(symbol, VARIES, 1, value, self)

    def _swaps(self, thread: WatchedThread, how: Use, swap: _Swap, size: int) -> Varying:
        """A thread puts something in the place of what it has found: in this run it comes at once."""
        of = swap.of
        operands = [thread.value(source) for source in thread.instruction.sources[1:] if source is not None]
        compared = operands[0] if operands else None
        here = isinstance(compared, Varying) and compared.term is swap.symbol
        if how.op != "cas" or size != of.size or not here or of.segment.read(of.first, size) != swap.number:
            raise self.leaves(thread, "order")
        put = operands[1]
        number = put.number if isinstance(put, Varying) else put
        if type(number) is not int:
            raise self.leaves(thread, "unknown")
        number &= mask(8 * size)
        self._note(thread, "A", of.segment, of.first, size, of.address)
        self.shade(thread, "A", of.segment, of.first, size, _SWAPS)
        swap.exchanges = not isinstance(put, Varying)
        noted = self.slots.noted[-1]
        if swap.exchanges:
            self._exchanges(thread, swap, number, noted)
        else:
            swap.noted.counter = noted.counter = of.counter
            of.counter.taken.append(swap.party)
        of.segment.write(of.first, size, number)
        of.swaps.append(swap)
        del self._swap_of[thread.number]
        return compared  # type: ignore[return-value]

    def _exchanges(self, thread: WatchedThread, swap: _Swap, put: int, noted: Noted) -> None:
        """It is an exchange of what stands there."""
        of, by = swap.of, (thread.number, 0)
        place = of.claimed
        if place is None:
            key = id(of.segment), of.first, of.size
            if key in self._claimed:
                raise self.leaves(thread, "order")
            self._agents += 1
            shared = of.segment is thread.cta.shared
            place = of.claimed = ClaimedBytes(
                of.segment, of.first, of.size, of.begins, agent=-self._agents, is_shared=shared
            )
            self._claimed[key] = place
        claim = ClaimOperation(
            place,
            "exch",
            put,
            None,
            swap.symbol,
            swap.number,
            self._party(thread),
            at=len(self.slots.noted) - 1,
            contends=put != place.start,
            again=by in place.by,
        )
        place.by.add(by)
        place.claims.append(claim)
        del self.slots.tickets[swap.symbol]
        swap.noted.claim = noted.claim = self.slots.claims[swap.symbol] = claim

    # A write by anything else ends what is said of these bytes: it is ordered with all.

    def _ends(self, segment: Segment, first: int, size: int) -> None:
        super()._ends(segment, first, size)
        for key, of in list(self._swapped_at.items()):
            if _meet(of, segment, first, size):
                del self._swapped_at[key]

    # At the end.

    def settle(self) -> None:
        if self._swap_of:
            swap = next(iter(self._swap_of.values()))
            raise Stopped(Open("order", swap.party))
        loads = [(of, self._settle(of)) for of in self.swapped]
        super().settle()
        for of, read in loads:
            self._check_loads(of, read)

    def _settle(self, of: SwappedBytes) -> set[_Bytes]:
        """Holds the loops on some bytes against each other; gives what is read weakly in them."""
        kinds = {swap.exchanges for swap in of.swaps}
        try:
            if len(kinds) != 1:
                raise Untold
            live = self.live_of(of.swaps[0].poll.thread)
            loops = [SwapLoop(s.poll, live, (of.address, of.size), s.number) for s in of.swaps]
            functions = [loop.function() for loop in loops]
            if kinds == {True}:
                values, read = self._exchanged(of, functions), set[_Bytes]()
            else:
                values, read = self._shared_out(of, functions)
            if not all(loop.never_gives_up(values) for loop in loops):
                raise Untold
        except Untold:
            raise Stopped(Open("order", of.swaps[0].party)) from None
        return read

    @staticmethod
    def _exchanged(of: SwappedBytes, functions: list[SwapFunction]) -> list[int]:
        """All that may stand there, where each loop leaves a number of its own."""
        assert of.claimed is not None
        for function, claim in zip(functions, of.claimed.claims, strict=True):
            if function.put != claim.put or function.loads:
                raise Untold
        return sorted({of.begins, *(claim.put for claim in of.claimed.claims)})

    def _shared_out(self, of: SwappedBytes, functions: list[SwapFunction]) -> tuple[list[int], set[_Bytes]]:
        """The numbers that are shared out, which are all different, and where they are read from."""
        function = functions[0]
        if any((f.put, f.loads) != (function.put, function.loads) for f in functions):
            raise Untold
        read: set[_Bytes] = set()

        def found(address: int, size: int) -> int:
            segment, first = self._segment_at(of, address)
            if first < 0 or first + size > segment.size or address % size:
                raise Untold
            value = segment.read(first, size)
            if type(value) is not int:
                raise Untold
            read.add((segment, first, size))
            return value

        values, value = [], of.begins
        for _ in functions:
            step()
            values.append(value)
            value = function.leaves(value, found)
        if not (_are_different(values) and self._stores_apart(of, functions, read)):
            raise Untold
        self._as_tickets(of, sorted(set(values)))
        return values, read

    def _stores_apart(self, of: SwappedBytes, functions: list[SwapFunction], read: set[_Bytes]) -> bool:
        """Whether no loop stores where one reads."""
        for address, size in {(address, size) for f in functions for address, size, _ in f.stores}:
            stored, at = self._segment_at(of, address)
            if any(segment is stored and first < at + size and at < first + n for segment, first, n in read):
                return False
        return True

    def _as_tickets(self, of: SwappedBytes, values: list[int]) -> None:
        """Each thread has the interval from its number on, as long as the least distance of two."""
        counter, gaps = of.counter, [b - a for a, b in pairwise(values)]
        addend = min(gaps, default=1)
        counter.start, counter.total, counter.unit = values[0], values[-1] - values[0] + addend, gcd(*gaps) or 1
        for swap in of.swaps:
            self.slots.tickets[swap.symbol] = Ticket(swap.symbol, counter, addend, swap.number)

    def _segment_at(self, of: SwappedBytes, address: int) -> tuple[Segment, int]:
        """The memory that an address lies in. Raises Untold where there is none."""
        thread: Any = copy.copy(of.swaps[0].poll.thread)
        thread.globals = self._memory
        try:
            return thread.segment(address)  # type: ignore[no-any-return]
        except Fault:
            raise Untold from None

    def _check_loads(self, of: SwappedBytes, read: set[_Bytes]) -> None:
        """What the loops read is written by nobody, or before all of them. Raises Stopped."""
        slots = self.slots
        ends = [swap.noted for swap in of.swaps]
        if any(noted.counter is of.counter and noted.addend for noted in slots.noted):
            raise Stopped(Open("order", of.swaps[0].party))
        for segment, first, size in read:
            open_ = self.carried.found(segment, first, size) is not None
            written = any(s is segment and low < first + size and first < high for s, low, high in slots.spread)
            if open_ or written:
                raise Stopped(Open("order", of.swaps[0].party))
        grains = {(id(segment), at) for segment, first, size in read for at in range(first, first + size)}
        for noted in slots.noted:
            step()
            if noted.kind == "R" or all((id(noted.segment), noted.first + i) not in grains for i in range(noted.size)):
                continue
            if not all(noted.number < end.number and slots.ordered(noted, end) for end in ends):
                raise Stopped(Open("order", of.swaps[0].party))


def _are_different(values: list[int]) -> bool:
    return len(set(values)) == len(values)


def _meet(of: SwappedBytes, segment: Segment, first: int, size: int) -> bool:
    return of.segment is segment and of.first < first + size and first < of.first + of.size


__all__ = ["SwappedBytes", "Swapping"]
