"""One run in which what atomic additions return is open: each takes a *ticket*, an interval of numbers that no other one has.

The additions to a counter come in any order, and each returns what the counter held before it. So the tickets of a counter are
intervals without gaps, one behind the other, as long as its addition is large. Here a ticket is a symbol with the number of the
run beside it, which goes through arithmetic, registers and memory. Where threads access memory by tickets, each in the
place of its own ticket, and nothing else hangs on which ones they have, the run stands for all executions up to that
(docs/whole-launches/tickets.md, Tickets). What has to hold for that is looked at when the launch has ended (`tickets.slots`).
"""

from __future__ import annotations

from typing import Any

from axioms.dynamic.code.joins import Joins
from axioms.dynamic.code.linear import linear
from axioms.dynamic.core.accesses import commutative
from axioms.dynamic.core.findings import Open, Party, Stopped
from axioms.dynamic.core.shadow import CONSTANT, Access
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.sections.carried import Carried
from axioms.dynamic.tickets.claims import CLAIMING, ClaimedBytes, ClaimOperation, Heard, OpenClaim
from axioms.dynamic.tickets.errands import Errands, KnownSymbols, fork_of
from axioms.dynamic.tickets.imagined import settle_errands
from axioms.dynamic.tickets.publications import Granted, fence_acquires, keeps, learned
from axioms.dynamic.tickets.slots import Slots
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted, Ticket, TicketAccess
from ptxcore.clock import OutOfTime
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, LOCAL, SHARED, SHARED_OFFSET, WINDOW_BITS
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.faults import UndefinedValue
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import VARIES, Varying, anything
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.values.terms import mask, symbols_of

_OFFSET = (1 << WINDOW_BITS) - 1
#: What a claim is among accesses that commute.
_CLAIMS = "claim"


class Tickets(Determinate):
    """Watches one launch. `settle` is asked when it has ended."""

    alone = False

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.slots = Slots(self.clocks)
        self.carried = Carried()
        #: Whether some of that was stored to memory that outlives the launch.
        self.lasting = False
        #: The counter that bytes belong to now, by segment and byte.
        self._counting: dict[tuple[int, int], Counter] = {}
        #: The address of the instruction that a thread executes, where it varies.
        self._at: Varying | None = None
        self._used: dict[int, bool] = {}
        self._memory: dict[int, Any] = {}
        self._claimed: dict[tuple[int, int, int], ClaimedBytes] = {}
        self._agents = 0
        #: What threads have found that winners published, and come behind by their next fence; what of it they have in errands.
        self._found: dict[int, set[ClaimedBytes]] = {}
        self.granted: Granted = {}
        #: By the identity of a branch on a claim the instructions of its errand; and the branches that threads have come by.
        self._joins = Joins()
        self._within: dict[int, frozenset[int]] = {}
        self._branched: dict[int, set[int]] = {}

    # Values that vary.

    def decides(self, thread: WatchedThread, value: Varying, op: Op) -> int:
        """A predicate decides whether a thread executes something: it must be so for each ticket that it may have."""
        if thread.watcher is not self:  # a copy, in an errand
            return int(thread.watcher.decides(thread, value, op))  # type: ignore[attr-defined]
        clocks, number, slots = self.clocks, thread.number, self.slots
        if len(self._memory) != len(thread.globals):
            self._memory = dict(thread.globals)
        self._branches(thread, value, op)
        known, time = clocks.known[number], clocks.own[number]
        slots.forks.append(fork_of(thread, value, len(slots.noted), known, time, Party(number, op), self._memory))
        return value.number

    def locates(self, thread: WatchedThread, value: Varying) -> int:
        if thread.watcher is not self:
            return int(thread.watcher.locates(thread, value))  # type: ignore[attr-defined]
        self._at = value
        return value.number

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        if thread.watcher is not self:
            thread.watcher.other(thread, what, how, address)
            return
        if what == "unknown":  # an instruction has been executed on values that vary, or are unknown
            self._at = None
            return
        super().other(thread, what, how, address)

    # Accesses.

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        place = self._place_at(thread, address)
        if place is None:
            return None
        segment, first = place
        claimed = self._claimed.get((id(segment), first, size))
        if claimed is not None and self._scope_of(thread) not in ("", CONSTANT) and self._at is None:
            self._note(thread, "R", segment, first, size, address)
            self._looks_at(thread, claimed, "R")
            return None
        found = self.carried.found(segment, first, size)
        if _is_local(address):
            return found if found is None or isinstance(found, Varying) else self._unknown(segment, first, size)
        strong = self._note(thread, "R", segment, first, size, address)
        spread = self._at is not None or self.slots.reached(segment, first, size)
        if (found is not None or spread) and strong not in ("", CONSTANT):
            raise self.leaves(thread, "order")
        super().reads(thread, address, size)
        self.slots.noted[-1].in_vain = bool(strong) and thread.number in self.vain
        if found is None and not spread:
            return None
        if isinstance(found, Varying) and not spread:
            return found
        self.slots.noted[-1].is_open = True
        return self._unknown(segment, first, size)

    def _unknown(self, segment: Segment, first: int, size: int) -> Varying:
        """What bytes hold that may be others in another execution."""
        return Varying.fresh(8 * size, int.from_bytes(segment.data[first : first + size], "little"), self)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        place = self._place_at(thread, address)
        if place is None:
            return
        segment, first = place
        if isinstance(value, UndefinedValue) and not isinstance(value, Varying):
            self.doubts(thread, "unknown")
        if not _is_local(address):
            strong = self._note(thread, "W", segment, first, size, address)
            if self._at is not None and strong:
                raise self.leaves(thread, "order")
            claimed = self._claimed.get((id(segment), first, size))
            if claimed is not None and strong:
                self._publishes(thread, claimed, value)
                return
            super().writes(thread, address, size, value)
            if claimed is not None:  # they are given back
                claimed.ends = len(self.slots.noted) - 1
                del self._claimed[id(segment), first, size]
            self._ends(segment, first, size)
        elif first + size > thread.launch.program.functions[thread.launch.entry].frame:
            return  # of a function that is left some time: what varies there is found by nobody
        self.carried.store(segment, first, size, value if isinstance(value, Varying) else None)
        self.lasting = self.lasting or (isinstance(value, Varying) and address >= FIRST_GLOBAL)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        thread.of(how.space, address)
        place = self._place_at(thread, address)
        if place is None:
            raise self.leaves(thread, "order")
        segment, first = place
        if self.carried.found(segment, first, size) is not None or self.slots.reached(segment, first, size):
            raise self.leaves(thread, "order")
        self._note(thread, "A", segment, first, size, address)
        claimed = self._claimed.get((id(segment), first, size))
        if claimed is not None and not how.words["vec"] and keeps(write, claimed) and self._uses(thread):
            lost = (
                self._claims(thread, how, address) and claimed.published is None and not self._repeats(thread, claimed)
            )
            if not lost:
                self._looks_at(thread, claimed, "A")
                return None
        if claimed is not None and not self._uses(thread):
            self._publishes(thread, claimed, write(segment.read(first, size))[0])
            return None
        if self._claims(thread, how, address):
            return self._claim(thread, how, segment, first, size, write)
        if how.op != "add" or not commutative(how) or how.words["vec"]:
            self._ends(segment, first, size)
            super().updates(thread, how, address, size, write)
            return None
        addend = write(0)[0]
        counter = self._counter(thread, segment, first, size)
        counter.total += addend
        self.slots.noted[-1].counter, self.slots.noted[-1].addend = counter, addend
        if not self._uses(thread):
            super().updates(thread, how, address, size, write)
            return None
        return self._takes(thread, how, counter, addend, address)

    def _uses(self, thread: WatchedThread) -> bool:
        """Whether anything is done with the result of an atomic operation."""
        used = self._used.get(thread.op)
        if used is None:
            functions = thread.launch.program.functions.values()
            used = self._used[thread.op] = not results_unused(functions, thread.instruction)
        return used

    def _claims(self, thread: WatchedThread, how: Use, address: int) -> bool:
        """Whether an atomic operation is a claim."""
        if how.op not in CLAIMING or how.type[:1] not in "bus" or how.words["vec"] or not self._uses(thread):
            return False
        return not address % (how.width // 8) and (address >= FIRST_GLOBAL or address & ~SHARED_OFFSET == thread.shared)

    def _claim(self, thread: WatchedThread, how: Use, segment: Segment, first: int, size: int, write: Write) -> Varying:
        """A claim, whose result is open."""
        operands = [thread.value(source) for source in thread.instruction.sources[1:] if source is not None]
        found = segment.read(first, size)
        if type(found) is not int or any(type(operand) is not int for operand in operands):
            raise self.leaves(thread, "order")
        self._ends(segment, first, size)
        self.shade(thread, "A", segment, first, size, _CLAIMS)
        place = self._claimed.get((id(segment), first, size))
        if place is None:
            self._agents += 1
            shared = segment is thread.cta.shared
            place = ClaimedBytes(segment, first, size, found, agent=-self._agents, is_shared=shared)
            self._claimed[id(segment), first, size] = place
        cut = [operand & mask(8 * size) for operand in operands]
        by = thread.number, cut[-1] if how.op == "or" else 0
        again = by in place.by
        if again and self._repeats(thread, place):  # it tries until it wins: a lock
            raise self.leaves(thread, "order")
        place.by.add(by)
        written, writes = write(found)
        if writes:
            segment.write(first, size, written & mask(8 * size))
        put, changes = write(place.start)
        symbol = anything(8 * size)
        claim = ClaimOperation(
            place,
            how.op or "",
            cut[-1],
            cut[0] if how.op == "cas" else None,
            symbol,
            found,
            self._party(thread),
            at=len(self.slots.noted) - 1,
            contends=changes and put & mask(8 * size) != place.start,
            again=again,
        )
        place.claims.append(claim)
        self.slots.noted[-1].claim = self.slots.claims[symbol] = claim
        return Varying(symbol, VARIES, 1, found, self)

    def _repeats(self, thread: WatchedThread, place: ClaimedBytes) -> bool:
        """Whether a thread polls some bytes again that finds what is there now."""
        value = place.segment.read(place.first, place.size)
        return type(value) is int and thread.number in self.polled and self._lead(thread)(value) is None

    # Errands that claims lead to, and publications (`tickets.publications`).

    def shade(
        self, thread: WatchedThread, kind: str, segment: Segment, first: int, size: int, commutes: str = ""
    ) -> Access:
        """What a thread does in such an errand is held against all others when the launch has ended."""
        if commutes == _CLAIMS or not self._in_errand(thread):
            return super().shade(thread, kind, segment, first, size, commutes)
        self.ticks()
        self.slots.noted[-1].in_errand = True
        strong = self._scope_of(thread)
        return Access(thread.number, self.clocks.own[thread.number], thread.op, kind, strong, first, size, commutes)

    def _branches(self, thread: WatchedThread, value: Varying, op: Op) -> None:
        """A thread comes to where an errand may begin."""
        claim = next((c for one in symbols_of(value.term) if (c := self.slots.claims.get(one)) is not None), None)
        if claim is None or thread.frames:
            return
        if id(op) not in self._within:
            code, place = thread.launch.compiled.compiler.place_of(op)
            self._within[id(op)] = frozenset(id(code.ops[number]) for number in self._joins.between(code, place))
        self._branched.setdefault(thread.number, set()).add(id(op))
        if not claim.won and claim.number == claim.place.published:
            try:
                _, lost, late = claim.tells(value.term)
            except OpenClaim:
                return
            if lost != late:
                self._hears(thread, claim.place, learned(claim.party.op.use, claim.place), in_errand=True)

    def _in_errand(self, thread: WatchedThread) -> bool:
        """Whether a thread may be where only a claim has led it."""
        one = id(thread.instruction)
        return any(one in self._within[branch] for branch in self._branched.get(thread.number, ()))

    def _looks_at(self, thread: WatchedThread, place: ClaimedBytes, kind: str) -> None:
        """A thread looks whether a winner has published something."""
        noted, number = self.slots.noted[-1], thread.number
        super().shade(thread, kind, place.segment, place.first, place.size, _CLAIMS if kind == "A" else "")
        value = place.segment.read(place.first, place.size)
        noted.about, noted.leads = place, self._lead(thread)
        if type(value) is int and noted.leads(value) is None:
            noted.in_vain, self.vain[number] = True, self.polled[number].block
        elif value == place.published:
            self._hears(thread, place, learned(thread.instruction.use, place), in_errand=self._in_errand(thread))
        else:
            raise self.leaves(thread, "order")

    def _publishes(self, thread: WatchedThread, place: ClaimedBytes, value: Any) -> None:
        """Who has won claimed bytes puts something else there, once; it has what it would have, had it lost."""
        noted, claims = self.slots.noted[-1], place.claims
        claim = next((c for c in claims if c.won and c.party.thread == thread.number), None)
        if claim is None or type(value) is not int or place.published is not None or claim.op != "cas":
            raise self.leaves(thread, "order")
        noted.about, place.published = place, value
        self.shade(thread, "A", place.segment, place.first, place.size, _CLAIMS)
        for fork in reversed(self.slots.forks):
            if fork.thread.number == thread.number and claim.symbol in symbols_of(fork.value.term):
                slots = self.slots
                known = KnownSymbols(slots.tickets, slots.claims, {}, {}, self._varies)
                heard = Errands(self.live_of(thread), known).heard_by_losers(fork, place)
                self._hears(thread, place, heard, in_errand=True)
                return

    def _hears(self, thread: WatchedThread, place: ClaimedBytes, heard: Heard, *, in_errand: bool) -> None:
        number = thread.number
        if in_errand and heard > self.granted.get((number, place), Heard.NOTHING):
            self.granted[number, place] = heard
        if heard is Heard.KNOWN:
            self.clocks.merge(number, [{place.agent: [1]}])
        elif heard is Heard.FOUND:
            self._found.setdefault(number, set()).add(place)

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        """A fence in an errand that a claim leads to hands nothing on, and acquires nothing but publications."""
        in_errand = self._in_errand(thread)
        if not in_errand or how.words["restrict"] or how.words["operation"]:
            super()._fence(thread, how)
        self.exact = False
        if thread.number not in self.vain:
            for place in [place for place in self._found.get(thread.number, ()) if fence_acquires(how, place)]:
                self._found[thread.number].discard(place)
                self._hears(thread, place, Heard.KNOWN, in_errand=in_errand)

    def _takes(self, thread: WatchedThread, how: Use, counter: Counter, addend: int, address: int) -> Varying:
        """An addition whose result is used: a ticket."""
        segment, first, size = counter.segment, counter.first, counter.size
        if address % size or _is_local(address) or (address < FIRST_GLOBAL and segment is not thread.cta.shared):
            raise self.leaves(thread, "order")
        self.shade(thread, "A", segment, first, size, f"{how.op}.{how.type}")
        number = segment.read(first, size)
        segment.write(first, size, (number + addend) & mask(8 * size))
        symbol = anything(8 * size)
        counter.taken.append(self._party(thread))
        self.slots.tickets[symbol] = Ticket(symbol, counter, addend, number)
        return Varying(symbol, VARIES, 1, number, self)

    def _counter(self, thread: WatchedThread, segment: Segment, first: int, size: int) -> Counter:
        """The counter that some bytes are, since they were written last."""
        counter = self._counting.get((id(segment), first))
        if counter is None:
            start = segment.read(first, size)
            if type(start) is not int or any((id(segment), at) in self._counting for at in range(first, first + size)):
                raise self.leaves(thread, "order")
            counter = Counter(segment, first, size, start)
            self._counting.update(((id(segment), at), counter) for at in range(first, first + size))
        if (counter.first, counter.size) != (first, size):
            raise self.leaves(thread, "order")
        return counter

    def _ends(self, segment: Segment, first: int, size: int) -> None:
        """Bytes are written by something else than an addition: from here on they are another counter."""
        for at in range(first, first + size):
            counter = self._counting.get((id(segment), at))
            if counter is not None:
                for byte in range(counter.first, counter.first + counter.size):
                    del self._counting[id(segment), byte]

    def _place_at(self, thread: WatchedThread, address: int) -> tuple[Segment, int] | None:
        """The memory that is accessed; None where nobody writes there. An address that varies tells its owner first."""
        if type(address) is not int:
            address._use()  # type: ignore[attr-defined]
        in_shared = address & ~_OFFSET == SHARED
        if self._at is not None and address < FIRST_GLOBAL and not in_shared:
            raise self.leaves(thread, "order")
        return thread.segment(address) if address >= FIRST_GLOBAL or in_shared or _is_local(address) else None

    def _note(self, thread: WatchedThread, kind: str, segment: Segment, first: int, size: int, address: int) -> str:
        """Notes an access; gives its scope where it is strong."""
        clocks, number = self.clocks, thread.number
        strong = self._scope_of(thread)
        noted = Noted(kind, strong, segment, first, size, number, clocks.own[number], clocks.known[number])
        noted.op = thread.instruction
        if self._at is not None:
            form = linear(self._at.term, self.slots.range_of)
            if form is None or form.is_constant:
                raise self.leaves(thread, "order")
            use = thread.instruction.use
            noted.placed = TicketAccess(
                term=self._at.term,
                beyond=address - self._at.number,
                number=address,
                base=address - first,
                whole=use.width // 8 * int((use.words["vec"] or "v1")[1:]),
                party=self._party(thread),
            )
            self.slots.reach(noted, form)
        self.slots.noted.append(noted)
        return strong

    def _varies(self, segment: Segment, first: int, size: int) -> bool:
        return self.carried.found(segment, first, size) is not None or self.slots.reached(segment, first, size)

    # At the end.

    def settle(self) -> None:
        """The launch has ended. Raises Stopped where something is open."""
        if self.unknown is not None:
            raise Stopped(self.unknown)
        self.slots.count()
        live = None if not self.slots.forks else self.live_of(self.slots.forks[0].thread)
        try:
            party = settle_errands(self.slots, live, self._varies, self.granted) or self.slots.problem()
        except OutOfTime:
            raise Stopped(Open("time")) from None
        if party is not None:
            raise Stopped(Open("order", party))


def _is_local(address: int) -> bool:
    return address < FIRST_GLOBAL and address & ~_OFFSET == LOCAL
