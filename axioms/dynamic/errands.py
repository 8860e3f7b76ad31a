"""What threads do only where the order of atomic operations has it: who got one of the last places, or was the first to come.

    at = atomicAdd(&count, 1);                          if (!(atomicOr(&seen[v / 32], bit) & bit))
    if (at < capacity) buffer[at] = x;                      queue[atomicAdd(&count, 1)] = v;

An *errand* is all that a thread does from such a branch to where its ways come together again. Each of the ways is gone here
on a copy of the thread, when the launch has ended, and what it does is noted as an access of the run would be
(docs/whole-launches.md, Errands). A way ends in `UnknownErrand` where it does anything but weak accesses and additions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NoReturn

from axioms.dynamic.accesses import ORDERING, commutative, scope_of
from axioms.dynamic.claims import ClaimOperation
from axioms.dynamic.clocks import Table
from axioms.dynamic.findings import Party, step
from axioms.dynamic.joins import Joins
from axioms.dynamic.linear import linear
from axioms.dynamic.live import Live
from axioms.dynamic.shadow import CONSTANT
from axioms.dynamic.ticket_accesses import Counter, Noted, OpenBranch, Ticket, TicketAccess, Way
from axioms.dynamic.waiting import Copying, plain, stopped_at
from ptxcore.isa.effect_kinds import UPDATES
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS, SHARED_BITS
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.codegen import DONE
from ptxcore.machine.run.emulation import decide, emulate
from ptxcore.machine.run.faults import Fault, UnwrittenValue
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import VARIES, Varying, anything
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, evaluate, substitute, symbol, symbols_of

_WINDOWS = 1 << GLOBAL_BITS
_SHARED_OFFSET = (1 << SHARED_BITS) - 1
#: Blocks of one way, ways of one errand, and numbers of a ticket that are told apart, at most.
_MOST_BLOCKS, _MOST_WAYS, _MOST_TICKETS = 256, 32, 1 << 14


class UnknownErrand(Exception):
    """Nothing is known of what a thread does."""


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
                waiting += [(*chosen, True), (*chosen, False)]
            except _Impossible:
                continue
            if len(found) + len(waiting) > _MOST_WAYS:
                raise UnknownErrand
        if len({way.goes_on for way in found}) != 1:
            raise UnknownErrand
        return found

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
        self.way, self._taken = Way(), 0
        self._at: Varying | None = None
        self._wrote: list[tuple[Segment, int, int]] = []

    def goes(self) -> Way:
        """The way. Raises UnknownErrand, _Choose, and _Impossible."""
        fork = self.fork
        if fork.thread.frames:
            raise UnknownErrand
        thread: Any = copy.copy(fork.thread)
        thread.__class__ = _Copy
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
            except (UnknownErrand, _Impossible):
                raise
            except Exception as error:
                block = self._recovered(thread, stopped_at(compiled, error), error)
        raise UnknownErrand

    def _recovered(self, thread: Any, op: Op | None, error: Exception) -> int:
        """An instruction met a value that varies; the block that goes on. Raises UnknownErrand where that is not the reason."""
        compiled = thread.launch.compiled
        if op is None or (isinstance(error, Fault) and not isinstance(error, UnwrittenValue)):
            raise UnknownErrand from None
        try:
            if decide(thread, op):
                return int(compiled.compiler.again(compiled, op))
            if emulate(thread, op, error):
                return int(compiled.compiler.behind(compiled, op))
        except (UnknownErrand, _Impossible):
            raise
        except Exception:  # whatever goes wrong goes wrong there, and not here
            raise UnknownErrand from None
        raise UnknownErrand

    # Branches.

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        """A branch: the way goes as it was told, if it can."""
        taken, self._taken = self._taken, self._taken + 1
        symbols = symbols_of(value.term)
        if len(symbols) != 1:
            raise UnknownErrand
        (one,) = symbols
        claim = self.errands.known.claims.get(one)
        goes = self._of_claim(claim, value) if claim is not None else None
        if goes is None:
            if taken >= len(self.chosen):
                raise _Choose
            goes = self.chosen[taken]
            if claim is not None:
                self.way.won[claim] = self._won(claim, value, goes)
            else:
                self._of_ticket(one, value, goes)
        elif taken < len(self.chosen) and self.chosen[taken] is not goes:
            raise _Impossible
        elif taken >= len(self.chosen):
            self.chosen = (*self.chosen, goes)
        if one not in self.errands.known.fresh and bool(value.number) is not goes:
            self.way.as_run = False  # of other tickets the run has no number
        if not self.way.forks:
            self.way.first = goes
        self.way.forks += 1
        return int(goes)

    def _of_claim(self, claim: ClaimOperation, value: Varying) -> bool | None:
        """Where a claim leads a branch, if that is known: it has been won before, or it is of no matter."""
        ends = {won: claim.tells(value.term, won=won) for won in (True, False)}
        if None in ends.values():
            raise UnknownErrand
        if claim in self.way.won:
            return bool(ends[self.way.won[claim]])
        return bool(ends[True]) if ends[True] == ends[False] else None

    @staticmethod
    def _won(claim: ClaimOperation, value: Varying, goes: bool) -> bool:
        return claim.tells(value.term, won=True) == int(goes)

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
        if noted.strong not in ("", CONSTANT) or self._at is not None:
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
        if noted.strong:
            raise UnknownErrand
        noted.value = value if type(value) is int else None
        self._wrote.append((noted.segment, noted.first, noted.first + size))

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> Any:
        operand = write(0)[0]
        if (
            how.op != "add"
            or not commutative(how)
            or how.words["vec"]
            or type(operand) is not int
            or how.sem in ORDERING
        ):
            raise UnknownErrand
        noted = self._note(thread, "A", address, size)
        if not noted.strong or noted.placed is not None:
            raise UnknownErrand
        counter = self._counter(noted)
        noted.counter, noted.addend = counter, operand
        self.way.added.append((counter, operand))
        functions = thread.launch.program.functions.values()
        if results_unused(functions, thread.instruction):
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

    def _note(self, thread: Any, kind: str, address: Any, size: int) -> Noted:
        """An access that the way has."""
        if type(address) is not int:
            address._use()
        if not _is_in("" if address >= _WINDOWS else "shared", thread, address):
            raise UnknownErrand
        segment, first = thread.segment(address)
        strong, fork = scope_of(thread.instruction.use), self.fork
        if strong is None or (self._at is None and (address & (size - 1) or first + size > segment.size)):
            raise UnknownErrand
        noted = Noted(kind, strong, segment, first, size, fork.thread.number, fork.time, fork.known)
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


def _unknown(*_: Any, **__: Any) -> NoReturn:
    raise UnknownErrand


class _Copy(Copying):
    """A copy of a thread in an errand: nothing is written."""

    __slots__ = ()

    def read(self, address: int, size: int) -> int:
        return self.watcher.reads(self, address, size)  # type: ignore[return-value]

    def write(self, address: int, size: int, value: int) -> None:
        self.watcher.writes(self, address, size, value)

    def modify(self, kind: str, how: Use, address: int, write: Write) -> Any:
        if kind not in UPDATES:
            raise UnknownErrand
        return self.watcher.updates(self, how, address, how.width // 8, write)

    def leave(self, entry: bool) -> int:  # type: ignore[override]
        if not entry:
            raise UnknownErrand
        return DONE

    barrier = collective = copy = defer = pause = clear = cancel_cluster = call = effect = ask = _unknown
    ended = staticmethod(_unknown)
    stop = commit = wait = after_copies = allocate = refuse = jump = finish_copies = _unknown


def _is_in(space: str, thread: Any, address: int) -> bool:
    """Whether an address is one of the space that an instruction names."""
    if space == "global":
        return address >= _WINDOWS
    return not space or address & ~_SHARED_OFFSET == thread.shared


def _load(space: str, size: int) -> Any:
    def load(thread: Any, address: int) -> int:
        return _load_any(space)(thread, address, size)  # type: ignore[no-any-return]

    return load


def _load_any(space: str) -> Any:
    def load(thread: Any, address: int, size: int) -> int:
        if type(address) is not int:
            address._use()  # type: ignore[attr-defined]
        if not _is_in(space, thread, address):
            raise UnknownErrand
        return thread.read(address, size)  # type: ignore[no-any-return]

    return load


def _store(space: str, size: int) -> Any:
    def store(thread: Any, address: int, value: int) -> None:
        _store_any(space)(thread, address, size, value)

    return store


def _store_any(space: str) -> Any:
    def store(thread: Any, address: int, size: int, value: int) -> None:
        if type(address) is not int:
            address._use()  # type: ignore[attr-defined]
        if not _is_in(space, thread, address):
            raise UnknownErrand
        thread.write(address, size, value)

    return store


for _space in ("", "global", "shared"):
    _of = f"{_space}_" if _space else ""
    for _size in (1, 2, 4, 8):
        setattr(_Copy, f"read_{_of}{_size}", _load(_space, _size))
        setattr(_Copy, f"write_{_of}{_size}", _store(_space, _size))
    if _space:
        setattr(_Copy, f"read_{_space}", _load_any(_space))
        setattr(_Copy, f"write_{_space}", _store_any(_space))


__all__ = ["Errands", "KnownSymbols", "UnknownErrand", "fork_of"]
