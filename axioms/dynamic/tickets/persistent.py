"""One run of threads that take tickets in rounds until there are none left, where each round is a function of its ticket.

A *worker* is a CTA, a warp or a thread; one of its threads takes a ticket by an atomic addition, which is a symbol then. With
the ticket a *round* begins: of a thread where its ticket first decides something or is an address, or where the worker meets
and somebody of it has begun. What was done before, also behind the addition, is of the round before, which may do the same
with any other ticket. Which worker gets which tickets is open. Where what a round does hangs on its ticket alone, and no two
rounds touch each other's memory, that is of no matter: the run stands for all executions (docs/whole-launches, Rounds).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, cast

from axioms.dynamic.code.live import Same
from axioms.dynamic.core.accesses import commutative
from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.sections.carried import Carried
from axioms.dynamic.tickets.beginnings import (
    LANES,
    SAME,
    THREADS,
    WARP,
    any_ticket,
    asks_no_more,
    normal,
    normal_value,
    overwritten,
    reads_open,
    without,
)
from axioms.dynamic.tickets.between_rounds import OUTSIDE, BetweenRounds
from axioms.dynamic.tickets.errand_threads import goes_on
from axioms.dynamic.tickets.round_kinds import TAKES, RoundKinds
from axioms.dynamic.tickets.round_workers import RoundWorker, TakingOrder, TicketCounter
from axioms.dynamic.waits.waiting import Copying, Ended, plain
from ptxcore.isa.effect_kinds import FENCE
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, SHARED_OFFSET
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.faults import UNDEFINED
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import VARIES, Uninitialised, Varying, anything
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.values.terms import Term, mask, substitute, symbols_of

#: The one thing besides moving that may be done across threads with what is open.
_MOVES = "shfl"


class Persistent(Determinate):
    """Watches one launch. `settle` is asked when it has ended."""

    alone = False

    def __init__(self, size: int, width: int, kinds: RoundKinds | None = None) -> None:
        """`size`: the threads of a CTA; `width`: those of a worker, 0 for a CTA, whose threads meet at its barriers; `kinds`:
        what other runs have shown of rounds."""
        super().__init__(size)
        self.width = width or size
        self.by_barriers = not width
        self.kinds = kinds or RoundKinds()
        self.counter: TicketCounter | None = None
        self.between = BetweenRounds(self.width)
        self.shared = self.kinds.shared
        #: Where values that vary are stored.
        self.stored = Carried()
        self._workers: dict[int, RoundWorker] = {}
        #: Of each thread how many rounds it has begun, and the ticket of the one that it is in; where it stands at a barrier.
        self._begun: dict[int, int] = {}
        self._round: dict[int, int] = {}
        self._standing: dict[int, object] = {}
        #: By their symbols, the workers of tickets and their numbers there.
        self._symbols: dict[Term, tuple[int, int]] = {}
        self._order = TakingOrder(self.kinds.leading)
        self._used: dict[int, bool] = {}
        self._apart: dict[int, bool] = {}

    def _worker(self, number: int) -> RoundWorker:
        return self._workers.setdefault(number // self.width, RoundWorker())

    # Accesses.

    def _access(
        self, thread: WatchedThread, kind: str, address: int, size: int, commutes: str = "", value: Any = None
    ) -> None:
        self._order.moved += kind != "R"
        scope, iteration = self._scope_of(thread), self._round.get(thread.number, OUTSIDE)
        waits = kind == "R" and scope not in ("", CONSTANT)
        if kind == "A" and not commutes:
            raise self.leaves(thread, "order")
        if address >= FIRST_GLOBAL:
            if kind == "W" and self._closes(thread, *thread.segment(address), size):
                self._does(thread, kind, address, size, commutes)
                return
            if waits and iteration == OUTSIDE:
                raise self.leaves(thread, "order")
            with self.between.in_round(thread):
                self.between._access(thread, kind, address, size, commutes, value)
            if not waits:
                self._does(thread, kind, address, size, commutes)
            if scope:
                self._orders(thread, kind, address, size, scope, thread.instruction.use.sem, self.between.learned)
            return
        super()._access(thread, kind, address, size, commutes, value)
        if kind != "A" and scope not in ("", CONSTANT):
            raise self.leaves(thread, "order")
        if address & ~SHARED_OFFSET == thread.shared:
            if iteration != OUTSIDE and not self.by_barriers:
                raise self.leaves(thread, "order")
            if self.by_barriers:
                self._share(thread, kind, address & SHARED_OFFSET, size, iteration)

    def _share(self, thread: WatchedThread, kind: str, first: int, size: int, iteration: int) -> None:
        """An access to the shared memory of a worker that is a CTA."""
        worker = self._worker(thread.number)
        segment, _ = thread.segment(thread.shared)
        if kind != "R" or not self._is_ticket(thread, self.stored.found(segment, first, size)):
            self._found(thread, segment, kind, first, size, iteration)
        access = kind, first, first + size, thread.number % self.width
        number = self.kinds.number(worker.begun - 1)
        if not worker.fresh:
            worker.since.append(access)
        elif self._begun.get(thread.number, 0) == worker.begun:
            self.shared.begins(number, access)
        else:
            self.shared.ends_round(self.kinds.number(worker.begun - 2), [access])

    def _found(self, thread: WatchedThread, segment: Segment, kind: str, first: int, size: int, iteration: int) -> None:
        """What an access to the shared memory of a CTA finds is of its own round, or there before all."""
        if not self.shared.access(thread.number // self.size, segment, kind, first, first + size, iteration):
            raise self.leaves(thread, "order")

    def _does(self, thread: WatchedThread, *what: object) -> None:
        """A thread does something that others see: in each round with its ticket it does the same."""
        number = thread.number
        if number in self._round:
            self.kinds.done(self._round[number], self._begun[number] - 1, number % self.width, what)

    def _orders(self, thread: WatchedThread, *what: object) -> None:
        """A thread does something that may order what it does, in each round with its ticket."""
        number = thread.number
        if number in self._round and self.between.number(number) not in self.between.vain:
            self.kinds.orders(self._round[number], self._begun[number] - 1, number % self.width, what)

    def uses_result(self, thread: WatchedThread) -> bool:
        """Whether anything is done with the result of an atomic operation."""
        used = self._used.get(thread.op)
        if used is None:
            functions = thread.launch.program.functions.values()
            used = self._used[thread.op] = not results_unused(functions, thread.instruction)
        return used

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        told = super().reads(thread, address, size)
        place = self._memory_at(thread, address)
        found = None if place is None else self.stored.found(*place, size)
        if found is None:
            return told
        if not isinstance(found, Varying) or self._scope_of(thread):
            raise self.leaves(thread, "order")
        return self._known(thread, found)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        super().writes(thread, address, size, value)
        place, varies = self._memory_at(thread, address), isinstance(value, Varying)
        if place is None:
            if varies:
                raise self.leaves(thread, "order")
            return
        if address >= FIRST_GLOBAL:
            self._does(thread, self._told_apart(thread, value))
        elif isinstance(value, Varying) and self._is_late(thread, value):
            raise self.leaves(
                thread, "order"
            )  # where it lies hangs on the round before, and is not in how this one begins
        self._puts(thread, *place, size, value if varies else None)

    def _is_late(self, thread: WatchedThread, value: Varying) -> bool:
        """Whether a value is a function of the ticket of a round that others have begun, and the thread has not."""
        worker = self._worker(thread.number)
        late = worker.fresh and self._begun.get(thread.number, 0) < worker.begun
        return late and worker.tickets[worker.begun - 1][1] in symbols_of(value.term)

    def _puts(self, thread: WatchedThread, segment: Segment, first: int, size: int, value: Varying | None) -> None:
        """A thread writes memory that others see; None for what does not vary."""
        if value is not None and (not self.by_barriers or segment is not thread.cta.shared):
            raise self.leaves(thread, "order")
        self.stored.store(segment, first, size, value)

    def _told_apart(self, thread: WatchedThread, value: Any) -> object:
        """What tells a value that a round writes from another one. Those that vary are open data, whatever they are."""
        return None if isinstance(value, Varying) else value

    def _memory_at(self, thread: WatchedThread, address: int) -> tuple[Segment, int] | None:
        """The memory of an access that others may see."""
        seen = address >= FIRST_GLOBAL or address & ~SHARED_OFFSET == thread.shared
        return thread.segment(address) if seen else None

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        used = self.uses_result(thread)
        place = self._memory_at(thread, address)
        if reads_open(thread.instruction, thread) or place is None or self.stored.found(*place, size) is not None:
            raise self.leaves(thread, "order")
        if used and how.op == "add" and commutative(how) and not how.words["vec"] and address >= FIRST_GLOBAL:
            return self._takes(thread, *place, size, write(0)[0])
        if address >= FIRST_GLOBAL:
            if how.words["vec"] and self.kinds.numbered:
                raise self.leaves(thread, "order")
            ends = 0, mask(8 * size), mask(8 * size - 1), mask(8 * size - 1) + 1
            self._does(thread, thread.op if how.words["vec"] else tuple(write(end)[0] for end in ends))
        return super().updates(thread, how, address, size, write)

    def _takes(self, thread: WatchedThread, segment: Segment, first: int, size: int, step: int) -> Varying:
        """An addition whose result is used: a ticket."""
        number = segment.read(first, size)
        if type(number) is not int:
            raise self.leaves(thread, "unknown")
        if self.counter is None:
            self.counter = TicketCounter(segment, first, size, number, step, self._party(thread))
        counter = self.counter
        same = (counter.segment is segment, counter.first, counter.size, counter.step) == (True, first, size, step)
        if not same or not 0 < step <= mask(8 * size) - number:
            raise self.leaves(thread, "order")
        worker = self._worker(thread.number)
        if len(worker.tickets) > worker.begun or worker.taker not in (-1, thread.number):
            raise self.leaves(thread, "order")
        self._order.holds(thread, thread.number // self.width, len(worker.tickets))
        self.shade(thread, "A", segment, first, size, "add")
        self._does(thread, *TAKES)
        symbol = anything(8 * size)
        self._symbols[symbol] = thread.number // self.width, len(worker.tickets)
        worker.taker = thread.number
        worker.tickets.append((counter.taken, symbol))
        counter.taken += 1
        segment.write(first, size, number + step)
        return Varying(symbol, VARIES, 1, number, self)

    def _closes(self, thread: WatchedThread, segment: Segment, first: int, size: int) -> bool:
        """Whether a thread sets the counter back that has taken the last ticket so far, in the round with it."""
        counter, worker = self.counter, self._worker(thread.number)
        at = None if counter is None else (counter.segment, counter.first, counter.size)
        if counter is None or at != (segment, first, size) or worker.taker != thread.number or counter.closed:
            return False
        counter.closed = counter.taken
        return self._round.get(thread.number) == counter.taken - 1

    # Tickets.

    def decides(self, thread: WatchedThread, value: Varying, op: Op) -> int:
        return self._uses(thread, value, op)

    def locates(self, thread: WatchedThread, value: Varying) -> int:
        return self._uses(thread, value, thread.instruction)

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        if what == "unknown" and all(isinstance(v, Varying) for v in thread.R if isinstance(v, Uninitialised)):
            return  # an instruction has been executed on values that vary
        if what == FENCE:
            with self.between.in_round(thread):
                self.between.other(thread, what, how, address)
            self._orders(thread, what, how and (how.sem, how.scope))
            return
        super().other(thread, what, how, address)

    def polls(self, thread: WatchedThread, block: int) -> None:
        with self.between.in_round(thread):
            self.between.polls(thread, block)

    def _uses(self, thread: WatchedThread, value: Varying, op: Op) -> int:
        """A value decides something: where a ticket does so, its round begins."""
        if isinstance(thread, Copying):  # goes on to the next round behind a wait
            raise Ended
        found = self._known(thread, value)
        if isinstance(found, Varying):
            worker = self._worker(thread.number)
            tickets = {self._symbols.get(one) for one in symbols_of(found.term)}
            if tickets != {(thread.number // self.width, self._begun.get(thread.number, 0))}:
                return self._varies(thread, found)
            self._begin(thread, self._stands(thread, op), worker)
            found = self._known(thread, found)
        return found if isinstance(found, int) else self._varies(thread, found)

    def _varies(self, thread: WatchedThread, value: Varying) -> int:
        """Something decides that is no ticket of the next round."""
        raise self.leaves(thread, "order")

    def _is_ticket(self, thread: WatchedThread, found: Varying | bool | None) -> bool:
        """Whether what stands somewhere is a function of the ticket of the round in which a thread is."""
        if not isinstance(found, Varying):
            return False
        mine = thread.number // self.width, self._begun.get(thread.number, 0) - 1
        return {self._symbols.get(one) for one in symbols_of(found.term)} == {mine}

    def _known(self, thread: WatchedThread, value: Varying) -> Varying | int:
        """What a value is for a thread, which knows the tickets of rounds that it has begun."""
        begun = self._begun.get(thread.number, 0)
        tickets = self._worker(thread.number).tickets[:begun]
        counter = self.counter
        if counter is None:
            return value
        known = {one: counter.start + ticket * counter.step for ticket, one in tickets[-2:]}
        term = substitute(value.term, known)
        if isinstance(term, int):
            return term
        return value if term is value.term else Varying(term, VARIES, value.size, value.number, self)

    # Rounds.

    def _stands(self, thread: WatchedThread, op: Op | None = None) -> object:
        """Where a thread is, and all that it goes on with."""
        op = op or thread.launch.running() or thread.instruction
        program = thread.launch.program
        entry = program.functions[thread.launch.entry]
        if thread.frames or thread.top or entry.frame or len(thread.cta.cluster) > 1:  # addresses may be others in each
            return None
        apart = self._apart.get(id(op))
        if apart is None:
            names = SAME + (THREADS if self.by_barriers else LANES if self.width > 1 else ())
            others = [code for code in program.functions.values() if not code.entry]
            apart = self._apart[id(op)] = asks_no_more(entry, op, others, names)
        return (*self.live_of(thread).before(op, thread.R), plain(thread.carry)) if apart else None

    def _begin(self, thread: WatchedThread, stands: object, worker: RoundWorker) -> None:
        """A thread begins its next round, which others may have begun. All rounds of a number begin alike."""
        number, place = thread.number, thread.number % self.width
        index = self._begun.get(number, 0)
        if stands is None or index >= len(worker.tickets):
            raise self.leaves(thread, "order")
        ticket, symbol = worker.tickets[index]
        if index == worker.begun:
            self._begins_first(thread, worker, ticket, symbol)
        elif index != worker.begun - 1:
            raise self.leaves(thread, "order")
        key, stands = (self.kinds.number(index), place), normal(stands, symbol)
        before = self.kinds.begins.setdefault(key, stands)
        if before != stands:
            self._differs(thread, before, stands)
        self._begun[number], self._round[number] = index + 1, ticket
        self.between.begins_round(number, index, ticket)
        worker.joined += 1
        if not self.by_barriers:
            worker.fresh = worker.joined < self.width
        for slot, value in enumerate(thread.R):
            if isinstance(value, Varying):
                thread.R[slot] = self._known(thread, value)
        if isinstance(thread.carry, Varying):
            thread.carry = self._known(thread, thread.carry)
        if self.kinds.numbered and index:
            self._comes_together(thread, stands, symbol)

    def _comes_together(self, thread: WatchedThread, stands: object, symbol: Term) -> None:
        """Whether a thread goes on as a first round with the same ticket would."""
        number, place = thread.number, thread.number % self.width
        first = self.kinds.begins[0, place]
        if first == stands:
            return
        if not (isinstance(first, tuple) and isinstance(stands, tuple)) or first[3:] != stands[3:]:
            self.kinds.unlike.add(self._begun[number] - 1)
        if self._begun[number] - 1 in self.kinds.unlike:
            return
        ends = []
        for one in (first, stands):
            name, at, values, *_ = cast("tuple[Any, ...]", one)
            registers = [v if slot in self._along() else UNDEFINED for slot, v in enumerate(thread.R)]
            for slot, value in values:
                registers[slot] = self._number(thread, value)
            op = thread.launch.program.functions[name].ops[at]
            ends.append(goes_on(thread, op, registers, self.live_of(thread)))
        if ends[0] != ends[1]:
            self.kinds.unlike.add(self._begun[number] - 1)

    def _along(self) -> Set[int]:
        """The registers that are carried along."""
        return frozenset()

    def _number(self, thread: WatchedThread, value: Any) -> Any:
        """A value with which rounds begin, with the ticket of a thread."""
        if isinstance(value, Term):
            counter, ticket = self.counter, self._round[thread.number]
            assert counter is not None
            value = substitute(value, {any_ticket(8 * counter.size): counter.start + ticket * counter.step})
        return UNDEFINED if isinstance(value, (Term, Same)) else value

    def _begins_first(self, thread: WatchedThread, worker: RoundWorker, ticket: int, symbol: Term) -> None:
        """The first thread of a worker begins a round."""
        if worker.fresh:
            raise self.leaves(thread, "order")
        index = worker.begun
        worker.begun, worker.joined, worker.fresh = index + 1, 0, True
        self.kinds.starts(ticket, index)
        self.shared.ends_round(self.kinds.number(index - 1), worker.since)
        worker.since.clear()
        if self.by_barriers:
            segment = thread.cta.shared
            there = {
                (first, size, normal_value(value.term, symbol))
                for first, size, value in self.stored.values_in(segment)
                if symbol in symbols_of(value.term)
            }
            before = self.kinds.begins.setdefault((self.kinds.number(index), -1), there)
            if before != there:
                self._differs(thread, before, there)

    def _differs(self, thread: WatchedThread, before: object, stands: object) -> None:
        """A round begins otherwise than another one."""
        raise self.leaves(thread, "order")

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        op = thread.launch.running()
        if op is None or reads_open(op, thread):
            raise self.leaves(thread, "order")
        if self.by_barriers:
            self._standing[thread.number] = self._stands(thread, op)
        elif thread.number in self._round:
            raise self.leaves(thread, "order")
        super().arrives(thread, level, identity, waits, count)

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        threads = list(cta.threads)
        first = threads[0].number
        come = self.arrived.get((first // self.size, identity), [])
        every = len(come) == self.size and all(waits for _, waits in come)
        super().released(cta, level, identity, whole)
        worker = self._worker(first)
        if self.by_barriers and worker.taker >= 0 and not every:
            raise self.leaves(threads[0], "order")
        if self.by_barriers and worker.fresh:
            self._learn(worker, threads, [self._standing[thread.number] for thread in threads])
        if self.by_barriers and every:
            worker.since.clear()
        if every:  # others order nothing here
            self._meet(threads)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        op = threads[0].launch.running()
        if op is None or (how.form.mnemonic != _MOVES and any(reads_open(op, thread) for thread in threads)):
            raise self.leaves(threads[0], "order")
        super().met(how, threads, masked)
        worker = self._worker(threads[0].number)
        late = [thread for thread in threads if self._begun.get(thread.number, 0) < worker.begun]
        if worker.fresh and late and len(late) < len(threads):
            lanes = [thread.number % WARP for thread in threads if thread not in late]
            given = overwritten(op, threads, lanes[0]) if len(lanes) == 1 else frozenset()
            for thread in late:
                self._begin(thread, without(self._stands(thread, op), given), worker)
        if len({self._round.get(thread.number, OUTSIDE) for thread in threads}) > 1:
            raise self.leaves(threads[0], "order")
        if how.form.mnemonic == "bar":
            self._meet(threads)

    def _meet(self, threads: Sequence[Any]) -> None:
        """Threads have met that are in one round, or in none."""
        self._order.moved += 1
        self.between.meet([thread.number for thread in threads])
        places = frozenset(thread.number % self.width for thread in threads)
        for thread in threads:
            self._orders(thread, "meets", places)

    def _learn(self, worker: RoundWorker, threads: Sequence[Any], standing: list[object]) -> None:
        """The threads of a worker meet, and some have begun a round: the others begin it."""
        for thread, stands in zip(threads, standing, strict=True):
            if self._begun.get(thread.number, 0) < worker.begun:
                self._begin(thread, stands, worker)
        worker.fresh = False

    def ends(self, cta: Any) -> None:
        self.shared.ends(self._owners[id(cta.shared)], cta.shared)
        super().ends(cta)

    # At the end.

    def settle(self) -> None:
        """The launch has ended. Raises Stopped where something is open."""
        if self.unknown is not None:
            raise Stopped(self.unknown)
        counter = self.counter
        if counter is None:
            return
        self.kinds.waits |= self.between.waits > 0
        workers = {number: worker for number, worker in self._workers.items() if worker.taker >= 0}
        self.kinds.workers = len(workers)
        for number, worker in workers.items():  # every ticket has its round
            threads = range(number * self.width, (number + 1) * self.width)
            if any(self._begun.get(thread, 0) != len(worker.tickets) for thread in threads):
                raise Stopped(Open("order", counter.party))
        places = {worker.taker % self.width for worker in workers.values()}
        touched = self.between.touched(counter.segment, counter.first, counter.size)
        touched = touched or counter.closed not in (0, counter.taken)
        if len(places) > 1 or touched or not self.between.gets_on() or not self._is_apart():
            raise Stopped(Open("order", counter.party))

    def _is_apart(self) -> bool:
        """Whether rounds leave each other's shared memory alone; of several runs, that is asked behind all."""
        return self.kinds.numbered or self.kinds.apart()
