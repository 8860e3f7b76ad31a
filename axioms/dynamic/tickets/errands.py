"""What threads do only where the order of atomic operations has it: who got one of the last places, or was the first to come.

    at = atomicAdd(&count, 1);                          if (!(atomicOr(&seen[v / 32], bit) & bit))
    if (at < capacity) buffer[at] = x;                      queue[atomicAdd(&count, 1)] = v;

An *errand* is all that a thread does from such a branch to where its ways come together again. Each of the ways is gone here
on a copy of the thread, when the launch has ended, and what it does is noted as an access of the run would be
(docs/whole-launches, Errands). A way ends in `UnknownErrand` where it does anything but weak accesses and additions, and
what publications are made of.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from axioms.dynamic.code.joins import Joins
from axioms.dynamic.code.linear import linear
from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import commutative, scope_of
from axioms.dynamic.core.clocks import Table
from axioms.dynamic.core.findings import Party, step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.tickets.claims import ClaimedBytes, ClaimOperation, Heard, OpenClaim
from axioms.dynamic.tickets.errand_threads import ErrandThread, UnknownErrand, is_in
from axioms.dynamic.tickets.publications import fence_acquires, fence_scope, is_wide, keeps, learned, released_before
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted, OpenBranch, Ticket, TicketAccess, Way
from axioms.dynamic.waits.waiting import Poll, leading, plain, stopped_at
from ptxcore.clock import OutOfTime
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.codegen import DONE
from ptxcore.machine.run.emulation import recover
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import VARIES, Varying, anything
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, evaluate, substitute, symbol, symbols_of

#: Blocks of one way, ways of one errand, and numbers of a ticket that are told apart, at most.
_MOST_BLOCKS, _MOST_WAYS, _MOST_TICKETS = 256, 32, 1 << 14


def fork_of(
    thread: WatchedThread, value: Varying, at: int, known: Table, time: int, party: Party, globals_: dict[int, Any]
) -> OpenBranch:
    """A thread as it stands at an instruction under a guard that varies. `globals_`: memory, which is gone after the run."""
    kept = copy.copy(thread)
    kept.globals = globals_
    return OpenBranch(kept, list(thread.R), party.op, value, at, known, time, party)


class KnownSymbols(NamedTuple):
    """What is known of a launch: tickets and claims by their symbols, counters by their segment and first byte."""

    tickets: dict[Term, Ticket]
    claims: dict[Term, ClaimOperation]
    counters: dict[tuple[int, int], list[Counter]]
    fresh: dict[Term, Ticket]  # of additions that some way has, and maybe not the run
    varies: Callable[[Segment, int, int], bool]  # whether bytes may hold something else in the end


class _Choose(BaseException):
    """A way comes to a branch, and has not been told where to go."""


class Errands:
    """Goes the ways of forks, when a launch has ended."""

    def __init__(self, live: Live, known: KnownSymbols) -> None:
        self.live, self.known = live, known
        self._joins = Joins()
        self._truths: dict[tuple[Value, Counter], tuple[bool, ...]] = {}

    def ways(self, fork: OpenBranch) -> list[Way]:
        """All ways of a fork. Raises UnknownErrand."""
        found: list[Way] = []
        waiting: list[tuple[bool, ...]] = [()]
        while waiting:
            chosen = waiting.pop()
            try:
                found.append(_Going(self, fork, chosen).goes())
            except _Choose:
                step()
                waiting += [(*chosen, True), (*chosen, False)]
            except _Impossible:
                continue
            if len(found) + len(waiting) > _MOST_WAYS:
                raise UnknownErrand
        if len({way.goes_on for way in found}) != 1:
            raise UnknownErrand
        return found

    def heard_by_losers(self, fork: OpenBranch, place: ClaimedBytes) -> Heard:
        """What a thread would have of what is published in some bytes, had it lost them. It is held against all ways later."""
        try:
            ways = self.ways(fork)
        except UnknownErrand:
            return Heard.NOTHING
        lost = [way for way in ways if any(not won and claim.place is place for claim, won in way.won.items())]
        return min((way.heard.get(place, Heard.NOTHING) for way in lost), default=Heard.NOTHING)

    def join(self, fork: OpenBranch) -> tuple[Any, int]:
        """Where its ways come together: the function, and the number of an instruction."""
        code, place = fork.thread.launch.compiled.compiler.place_of(fork.op)
        return code, self._joins.of(code, place)

    def truths(self, term: Value, ticket: Ticket) -> tuple[bool, ...]:
        """What a truth value is for each number that a ticket may be, from the least one on. Raises UnknownErrand."""
        if isinstance(term, int):
            raise UnknownErrand
        counter = ticket.counter
        numbers = range(counter.start, counter.last(ticket) + 1, counter.unit or 1)
        if len(numbers) > _MOST_TICKETS:
            raise UnknownErrand
        one = symbol(("ticket", 8 * counter.size), 8 * counter.size)
        assert isinstance(one, Term)
        same = substitute(term, {ticket.symbol: one})
        key = same, counter
        found = self._truths.get(key)
        if found is None or len(found) != len(numbers):
            found = self._truths[key] = tuple(bool(evaluate(same, {one: number})) for number in numbers)
        return found


class _Going:
    """Goes one way, and watches the copy of the thread that does."""

    def __init__(self, errands: Errands, fork: OpenBranch, chosen: tuple[bool, ...]) -> None:
        self.errands, self.fork, self.chosen = errands, fork, chosen
        self.way, self._taken, self.known = Way(), 0, fork.known
        self._at: Varying | None = None
        self._late: dict[ClaimOperation, bool] = {}
        self._poll: Poll | None = None
        self._heads: list[tuple[int, str]] = []
        self._wrote: list[tuple[Segment, int, int]] = []

    def goes(self) -> Way:
        """The way. Raises UnknownErrand, _Choose, and _Impossible."""
        fork = self.fork
        if fork.thread.frames:
            raise UnknownErrand
        thread: Any = copy.copy(fork.thread)
        thread.__class__ = ErrandThread
        thread.watcher, thread.R, thread.frames = self, list(fork.registers), []
        compiled, parameters = thread.launch.compiled, thread.launch.read_parameters
        code, join = self.errands.join(fork)
        block = compiled.compiler.again(compiled, fork.op)
        for number in range(_MOST_BLOCKS):
            step()
            if block == DONE:
                self.way.goes_on = ("ends", plain(thread.carry))
                return self.way
            if number and compiled.begins[block] == (code, join):
                self.way.goes_on = (join, self.errands.live.of(block, thread.R), plain(thread.carry))
                return self.way
            try:
                block = compiled.blocks[block](thread, thread.R, parameters)
            except (UnknownErrand, _Impossible, OutOfTime):
                raise
            except Exception as error:
                block = self._recovered(thread, stopped_at(compiled, error), error)
        raise UnknownErrand

    def _recovered(self, thread: Any, op: Op | None, error: Exception) -> int:
        """An instruction met a value that varies; the block that goes on. Raises UnknownErrand where that is not the reason."""
        if op is None:
            raise UnknownErrand from None
        try:
            block = recover(thread, op, error)
        except (UnknownErrand, _Impossible, OutOfTime):
            raise
        except Exception:  # whatever goes wrong goes wrong there, and not here
            raise UnknownErrand from None
        if block is None:
            raise UnknownErrand
        return block

    # Branches.

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        """A branch: the way goes as it was told, if it can."""
        symbols = symbols_of(value.term)
        if len(symbols) != 1:
            raise UnknownErrand
        (one,) = symbols
        claim = self.errands.known.claims.get(one)
        if claim is not None:
            goes = self._by_claim(claim, value)
        else:
            goes = self._choose()
            self._of_ticket(one, value, goes)
        if one not in self.errands.known.fresh and bool(value.number) is not goes:
            self.way.as_run = False  # of other tickets the run has no number
        if not self.way.forks:
            self.way.first = goes
        self.way.forks += 1
        return int(goes)

    def _choose(self) -> bool:
        """What the way was told to do where it may do either."""
        taken, self._taken = self._taken, self._taken + 1
        if taken >= len(self.chosen):
            raise _Choose
        return self.chosen[taken]

    def _by_claim(self, claim: ClaimOperation, value: Varying) -> bool:
        """Where a claim leads a branch: it wins, or loses, and may find then what the winner has published already."""
        try:
            won, lost, late = claim.tells(value.term)
        except OpenClaim:
            raise UnknownErrand from None
        if won == lost == late:
            return bool(won)
        if claim not in self.way.won:
            self.way.won[claim] = self._choose()
        if self.way.won[claim]:
            return bool(won)
        if lost != late and claim not in self._late:
            self._late[claim] = self._choose()
            if self._late[claim]:
                self._hears(claim.place, learned(claim.party.op.use, claim.place))
        return bool(late if self._late.get(claim) else lost)

    def _of_ticket(self, one: Term, value: Varying, goes: bool) -> None:
        """A ticket leads a branch one way: it is one of those numbers that do."""
        ticket = self._ticket(one)
        truths = self.errands.truths(value.term, ticket)
        counter = ticket.counter
        low, high = self.way.limits.get(one, (counter.start, counter.last(ticket)))
        step_ = counter.unit or 1
        numbers = [
            counter.start + i * step_
            for i, truth in enumerate(truths)
            if truth is goes and low <= counter.start + i * step_ <= high
        ]
        if not numbers:
            raise _Impossible
        self.way.limits[one] = numbers[0], numbers[-1]

    def _ticket(self, one: Term) -> Ticket:
        known = self.errands.known
        ticket = known.tickets.get(one) or known.fresh.get(one)
        if ticket is None:
            raise UnknownErrand
        return ticket

    def range_of(self, one: Term) -> tuple[int, int] | None:
        known = self.errands.known
        ticket = known.tickets.get(one) or known.fresh.get(one)
        if ticket is None:
            return None
        return self.way.limits.get(one, (ticket.counter.start, ticket.counter.last(ticket)))

    # Accesses.

    def locates(self, thread: Any, value: Varying) -> int:
        """An address by tickets: with the least ones that lead this way."""
        least = {}
        for one in symbols_of(value.term):
            found = self.range_of(one)
            if found is None:
                raise UnknownErrand
            least[one] = found[0]
        number = evaluate(value.term, least)
        self._at = Varying(value.term, VARIES, 1, number, value.owner)
        return number

    def other(self, thread: Any, what: str, how: Use | None = None, address: int = 0) -> None:
        if what != "unknown":
            raise UnknownErrand
        self._at = None

    def reads(self, thread: Any, address: int, size: int) -> Any:
        noted = self._note(thread, "R", address, size)
        if noted.strong not in ("", CONSTANT):
            return self._finds(thread, noted, self._claimed(noted))
        if self._at is not None:
            raise UnknownErrand
        segment, first = noted.segment, noted.first
        if any(of is segment and first < end and begin < first + size for of, begin, end in self._wrote):
            raise UnknownErrand
        found = segment.read(first, size)
        if type(found) is not int or self.errands.known.varies(segment, first, size):
            raise UnknownErrand
        return found

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None:
        noted = self._note(thread, "W", address, size)
        noted.value = value if type(value) is int else None
        if noted.strong:
            self._publishes(thread, noted, self._claimed(noted))
            return
        self._wrote.append((noted.segment, noted.first, noted.first + size))

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> Any:
        operand = write(0)[0]
        noted = self._note(thread, "A", address, size)
        if how.words["vec"] or type(operand) is not int or not noted.strong or noted.placed is not None:
            raise UnknownErrand
        unused = results_unused(thread.launch.program.functions.values(), thread.instruction)
        place = self._claimed(noted)
        if place is not None:
            if not unused and keeps(write, place):
                return self._finds(thread, noted, place)
            noted.value = write(next(claim.put for claim in self.way.won if claim.place is place))[0]
            self._publishes(thread, noted, place if unused else None)
            return 0
        if how.op != "add" or not commutative(how):
            raise UnknownErrand
        counter = self._counter(noted)
        noted.counter, noted.addend = counter, operand
        self.way.added.append((counter, operand))
        if unused:
            return 0
        one = anything(8 * size)
        self.errands.known.fresh[one] = Ticket(one, counter, operand, counter.start)
        return Varying(one, VARIES, 1, counter.start, self)

    def _counter(self, noted: Noted) -> Counter:
        found = self.errands.known.counters.setdefault((id(noted.segment), noted.first), [])
        if not found:  # nobody adds to it in the run
            start = noted.segment.read(noted.first, noted.size)
            if type(start) is not int:
                raise UnknownErrand
            found.append(Counter(noted.segment, noted.first, noted.size, start, alone=True))
        if len(found) != 1 or found[0].size != noted.size:
            raise UnknownErrand
        return found[0]

    # Publications (`tickets.publications`).

    def polls(self, thread: Any, block: int) -> None:
        self._poll = Poll(thread, block)

    def fences(self, thread: Any, how: Use) -> None:
        """A fence: the run takes no order from it (`tickets.tickets`) where a claim leads to it."""
        if not any(one in self.errands.known.claims for one in symbols_of(self.fork.value.term)):
            raise UnknownErrand
        for place in self.way.heard:
            if fence_acquires(how, place):
                self._hears(place, Heard.KNOWN)
        if how.sem != "acquire":
            self._heads.append((len(self.way.done), fence_scope(how)))

    def _claimed(self, noted: Noted) -> ClaimedBytes | None:
        """The bytes of an access, where the thread has claimed them: it has won on this way, or lost."""
        return next((claim.place for claim in self.way.won if noted.is_of(claim.place)), None)

    def _hears(self, place: ClaimedBytes, heard: Heard) -> None:
        if heard > self.way.heard.get(place, Heard.NOTHING):
            self.way.heard[place] = heard
        if heard is Heard.KNOWN:
            self.known = {**self.known, place.agent: [1]}

    def _finds(self, thread: Any, noted: Noted, place: ClaimedBytes | None) -> int:
        """Who has lost waits for what the winner publishes: whatever else it may find, it looks again."""
        if place is None or place.published is None or self._has_won(place) or not is_wide(noted.strong, place):
            raise UnknownErrand
        leads = leading(self._poll, self.errands.live, thread.op)
        if leads(place.published) is None or any(leads(claim.put) is not None for claim in place.claims):
            raise UnknownErrand
        noted.about = place
        self._hears(place, learned(thread.instruction.use, place))
        return place.published

    def _publishes(self, thread: Any, noted: Noted, place: ClaimedBytes | None) -> None:
        """Who has won tells so."""
        if place is None or self.way.publishes is not None or not self._has_won(place) or noted.placed is not None:
            raise UnknownErrand
        if noted.value != place.published or not is_wide(noted.strong, place):
            raise UnknownErrand
        noted.about = self.way.publishes = place
        self.way.released = released_before(thread.instruction.use, self._heads, place, len(self.way.done) - 1)

    def _has_won(self, place: ClaimedBytes) -> bool:
        return any(won for claim, won in self.way.won.items() if claim.place is place)

    def _note(self, thread: Any, kind: str, address: Any, size: int) -> Noted:
        """An access that the way has."""
        if type(address) is not int:
            address._use()
        if not is_in("" if address >= FIRST_GLOBAL else "shared", thread, address):
            raise UnknownErrand
        segment, first = thread.segment(address)
        strong, fork = scope_of(thread.instruction.use), self.fork
        if strong is None or (self._at is None and (address & (size - 1) or first + size > segment.size)):
            raise UnknownErrand
        noted = Noted(kind, strong, segment, first, size, fork.thread.number, fork.time, self.known)
        noted.op, noted.way = thread.instruction, self.way
        if self._at is not None:
            form = linear(self._at.term, self.range_of)
            if form is None or form.is_constant:
                raise UnknownErrand
            use = thread.instruction.use
            whole = use.width // 8 * int((use.words["vec"] or "v1")[1:])
            noted.placed = TicketAccess(
                self._at.term, address - self._at.number, address, address - first, whole, self.fork.party
            )
        self.way.done.append(noted)
        return noted


class _Impossible(Exception):
    """No execution goes this way."""


__all__ = ["Errands", "KnownSymbols", "UnknownErrand", "fork_of"]
