"""One run of threads that take tickets in rounds until there are none left, where each round is a function of its ticket.

A *worker* is a CTA, a warp or a thread; one of its threads takes a ticket by an atomic addition, the others learn of it where
they meet, and with that a *round* begins. Which worker gets which tickets is open. Where what a round does hangs on its ticket
alone, and no two rounds touch each other's memory, that is of no matter: the run stands for all executions
(docs/whole-launches.md, Rounds).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from axioms.dynamic.code.owners import OUTSIDE, Owners
from axioms.dynamic.core.accesses import commutative
from axioms.dynamic.core.findings import Open, Party, Stopped
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.waits.waiting import plain
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS, SHARED_BITS
from ptxcore.machine.lower.liveness import results_unused, writes
from ptxcore.machine.lower.ops import Code, Op, Source
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import dataclass
from ptxcore.values.terms import mask

_WINDOWS = 1 << GLOBAL_BITS
_SHARED_OFFSET = (1 << SHARED_BITS) - 1
#: The threads of a warp.
WARP = 32
#: Special registers that are the same in all threads; and in those of the same place in all CTAs, or warps.
SAME = ("ntid.", "nctaid.")
LANES = ("laneid", "lanemask_")
THREADS = ("tid.", *LANES)


@dataclass
class TicketCounter:
    """The bytes from which tickets are taken, what was there first, and how far each addition counts."""

    segment: Segment
    first: int
    size: int
    start: int
    step: int
    party: Party
    taken: int = 0


@dataclass
class RoundWorker:
    """`taker`: the thread that takes its tickets; `fresh`: it has taken one of which the others do not know yet; `since`: what
    its threads did to shared memory since they all met."""

    taker: int = -1
    ticket: int = OUTSIDE
    fresh: bool = False
    since: list[tuple[str, int, int, int]] = field(default_factory=list)


class Persistent(Determinate):
    """Watches one launch. `settle` is asked when it has ended."""

    alone = False

    def __init__(self, size: int, width: int) -> None:
        """`size`: the threads of a CTA; `width`: those of a worker, 0 for a CTA, whose threads meet at its barriers."""
        super().__init__(size)
        self.width = width or size
        self.by_barriers = not width
        self.counter: TicketCounter | None = None
        self.owners = Owners()
        self.shared = SharedRounds()
        self._workers: dict[int, RoundWorker] = {}
        #: Of each thread the round that it is in, a ticket; where it stands at a barrier; and by its place in a worker, how
        #: rounds begin.
        self._round: dict[int, int] = {}
        self._standing: dict[int, object] = {}
        self._begins: dict[int, object] = {}
        self._used: dict[int, bool] = {}
        self._apart: dict[int, bool] = {}

    def _worker(self, number: int) -> RoundWorker:
        return self._workers.setdefault(number // self.width, RoundWorker())

    # Accesses.

    def _access(
        self, thread: WatchedThread, kind: str, address: int, size: int, commutes: str = "", value: Any = None
    ) -> None:
        super()._access(thread, kind, address, size, commutes, value)
        number = thread.number
        scope = self._scope_of(thread)
        if (kind == "A" and not commutes) or (kind != "A" and scope not in ("", CONSTANT)):
            raise self.leaves(thread, "order")
        iteration = self._round.get(number, OUTSIDE)
        if address >= _WINDOWS:
            segment, first = thread.segment(address)
            owner = iteration if iteration != OUTSIDE else OUTSIDE - 1 - number // self.width
            self.owners.note(segment, first, size, owner, kind, commutes, scope)
        elif address & ~_SHARED_OFFSET == thread.shared:
            if iteration != OUTSIDE and not self.by_barriers:
                raise self.leaves(thread, "order")
            if self.by_barriers:
                self._share(thread, kind, address & _SHARED_OFFSET, size, iteration)

    def _share(self, thread: WatchedThread, kind: str, first: int, size: int, iteration: int) -> None:
        """An access to the shared memory of a worker that is a CTA."""
        worker = self._worker(thread.number)
        segment, _ = thread.segment(thread.shared)
        self._found(thread, segment, kind, first, size, iteration)
        if worker.fresh and thread.number == worker.taker:
            self.shared.heads.add(kind, first, first + size)
        else:
            worker.since.append((kind, first, first + size, thread.number))

    def _found(self, thread: WatchedThread, segment: Segment, kind: str, first: int, size: int, iteration: int) -> None:
        """What an access to the shared memory of a CTA finds is of its own round, or there before all."""
        if not self.shared.access(thread.number // self.size, segment, kind, first, first + size, iteration):
            raise self.leaves(thread, "order")

    def uses_result(self, thread: WatchedThread) -> bool:
        """Whether anything is done with the result of an atomic operation."""
        used = self._used.get(thread.op)
        if used is None:
            functions = thread.launch.program.functions.values()
            used = self._used[thread.op] = not results_unused(functions, thread.instruction)
        return used

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        used = self.uses_result(thread)
        if not used or how.op != "add" or not commutative(how) or how.words["vec"] or address < _WINDOWS:
            return super().updates(thread, how, address, size, write)
        self._takes(thread, how, address, size, write(0)[0])
        return None

    def _takes(self, thread: WatchedThread, how: Use, address: int, size: int, step: int) -> None:
        """An addition whose result is used: a ticket, and with it a round of the thread begins."""
        segment, first = thread.segment(address)
        number = segment.read(first, size)
        if type(number) is not int:
            raise self.leaves(thread, "unknown")
        if self.counter is None:
            self.counter = TicketCounter(segment, first, size, number, step, self._party(thread))
        counter = self.counter
        same = (counter.segment is segment, counter.first, counter.size, counter.step) == (True, first, size, step)
        if not same or not 0 < step <= mask(8 * size) - number:
            raise self.leaves(thread, "order")
        self.shade(thread, "A", segment, first, size, f"{how.op}.{how.type}")
        worker = self._worker(thread.number)
        if worker.fresh or worker.taker not in (-1, thread.number):
            raise self.leaves(thread, "order")
        worker.taker, worker.fresh, worker.ticket = thread.number, self.width > 1, counter.taken
        counter.taken += 1
        self._begin(thread, self._stands(thread), worker)

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
        """A thread begins a round. All rounds begin alike."""
        place = thread.number % self.width
        if stands is None:
            raise self.leaves(thread, "order")
        before = self._begins.setdefault(place, stands)
        if before != stands:
            self._differs(thread, before, stands)
        self._round[thread.number] = worker.ticket

    def _differs(self, thread: WatchedThread, before: object, stands: object) -> None:
        """A round begins otherwise than another one."""
        raise self.leaves(thread, "order")

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        if self.by_barriers:
            self._standing[thread.number] = self._stands(thread)
        elif thread.number in self._round:
            raise self.leaves(thread, "order")
        super().arrives(thread, level, identity, waits, count)

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        threads = list(cta.threads)
        first = threads[0].number
        come = self.arrived.get((first // self.size, identity), [])
        every = len(come) == self.size and all(waits for _, waits in come)
        super().released(cta, level, identity, whole)
        if not self.by_barriers:
            return
        worker = self._worker(first)
        if worker.taker >= 0 and not every:
            raise self.leaves(threads[0], "order")
        if worker.fresh:
            self.shared.ends_round(worker.since, worker.taker)
            self._learn(worker, threads, [self._standing[thread.number] for thread in threads])
        if every:
            worker.since.clear()

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        super().met(how, threads, masked)
        worker = self._worker(threads[0].number)
        if worker.fresh and not self.by_barriers:
            if len(threads) != WARP:
                raise self.leaves(threads[0], "order")
            op = threads[0].launch.running()
            given = _overwritten(op, threads, worker.taker % WARP) if op is not None else frozenset()
            self._learn(worker, threads, [_without(self._stands(thread, op), given) for thread in threads])
        if len({self._round.get(thread.number, OUTSIDE) for thread in threads}) > 1:
            raise self.leaves(threads[0], "order")

    def _learn(self, worker: RoundWorker, threads: Sequence[Any], standing: list[object]) -> None:
        """The threads of a worker meet that which has taken a ticket: they begin its round."""
        for thread, stands in zip(threads, standing, strict=True):
            if thread.number != worker.taker:
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
        places = {worker.taker % self.width for worker in self._workers.values() if worker.taker >= 0}
        touched = self.owners.touched(counter.segment, counter.first, counter.first + counter.size)
        if len(places) > 1 or touched or not self.owners.apart() or not self.shared.apart():
            raise Stopped(Open("order", counter.party))


def _overwritten(op: Op, threads: Sequence[Any], lane: int) -> frozenset[int]:
    """The registers that an instruction overwrites in all threads of a warp with what one lane has: it is of no matter what the
    others held."""
    if op.use.form.mnemonic != "shfl" or op.use.words["mode"] != "idx" or op.guard is not None:
        return frozenset()
    sources = op.sources[1:3]
    for source, wanted in zip(sources, (lane, WARP - 1), strict=True):
        if source is None or source.kind not in ("constant", "register") or source.offset:
            return frozenset()
        if {source.value if source.kind == "constant" else thread.R[source.value] for thread in threads} != {wanted}:
            return frozenset()
    kept = {source.value for source in op.sources[1:] if source is not None and source.kind == "register"}
    return frozenset(writes(op)) - kept


def _without(stands: object, slots: frozenset[int]) -> object:
    """The same but for some registers."""
    if not isinstance(stands, tuple):
        return stands
    name, place, values, *more = stands
    return name, place, tuple(one for one in values if one[0] not in slots), *more


def asks_no_more(entry: Code, op: Op, others: Sequence[Code], names: tuple[str, ...]) -> bool:
    """Whether no special register but some is read by what may come behind an instruction, or by other functions."""
    index = next(i for i, one in enumerate(entry.ops) if one is op)
    seen, todo = {index}, [index]
    while todo:
        at = todo.pop()
        one = entry.ops[at]
        following = [entry.labels[label] for label in one.labels if label in entry.labels]
        jumps = one.use.form.mnemonic in ("bra", "brx", "ret", "exit", "trap")
        if one.guard is not None or not jumps:
            following.append(at + 1)
        if jumps and one.use.form.mnemonic in ("bra", "brx") and not one.labels:
            return False  # it may go anywhere
        fresh = [place for place in following if place < len(entry.ops) and place not in seen]
        seen.update(fresh)
        todo += fresh
    ops = [entry.ops[at] for at in seen] + [one for code in others for one in code.ops]
    return all(name.removeprefix("%").startswith(names) for one in ops for name in _asked(one.sources))


def _asked(sources: Sequence[Source | None]) -> list[str]:
    """The special registers that are read."""
    found = []
    for source in sources:
        if source is not None:
            found += [source.name] if source.kind == "special" else _asked(source.parts)
    return found


class Touched:
    """Bytes of shared memory that were read, and those that were written."""

    def __init__(self) -> None:
        self.read: set[int] = set()
        self.written: set[int] = set()

    def add(self, kind: str, first: int, end: int) -> None:
        """One access."""
        if kind != "W":
            self.read.update(range(first, end))
        if kind != "R":
            self.written.update(range(first, end))

    def conflicts(self, other: Touched) -> bool:
        """Whether an access of the one conflicts with one of the other."""
        return not (self.written.isdisjoint(other.read | other.written) and self.read.isdisjoint(other.written))


class SharedRounds:
    """What rounds do to the shared memory of workers that are CTAs. `heads`: what takers do between a ticket and the barrier at
    which the others learn of it; `tails`: what the others do behind the last barrier before that one. Rounds of one CTA may
    follow each other in any pairs, so each head may meet each tail."""

    def __init__(self) -> None:
        self.heads, self.tails = Touched(), Touched()
        #: What rounds write, and what they find that was there before them.
        self._inside = Touched()
        self._last: dict[int, Any] = {}
        self._contents: dict[int, tuple[bytes, bytes]] = {}

    def access(self, cta: int, segment: Segment, kind: str, first: int, end: int, iteration: int) -> bool:
        """One access; whether what it finds is of its own round, or there before all."""
        last = self._last.get(cta)
        if last is None:
            last = self._last[cta] = np.full(segment.size, OUTSIDE, dtype=np.int64)
        if kind != "W" and iteration != OUTSIDE:
            found = last[first:end]
            if not (found == iteration).all():
                if not ((found == iteration) | (found == OUTSIDE)).all():
                    return False
                self._inside.read.update((first + np.flatnonzero(found == OUTSIDE)).tolist())
        if kind != "R":
            last[first:end] = iteration
            if iteration != OUTSIDE:
                self._inside.written.update(range(first, end))
        return True

    def ends_round(self, since: list[tuple[str, int, int, int]], taker: int) -> None:
        """A round ends, and another one begins."""
        for kind, first, end, number in since:
            if number != taker:
                self.tails.add(kind, first, end)

    def ends(self, cta: int, segment: Segment) -> None:
        """A CTA ends: what is left in its shared memory."""
        self._contents[cta] = bytes(segment.data), bytes(segment.known or b"\xff" * segment.size)

    def changed(self) -> set[int]:
        """What rounds find that was there before them, and others write."""
        return self._inside.read & self._inside.written

    def apart(self) -> bool:
        """Whether rounds leave each other's shared memory alone, and find the same there before them in all CTAs."""
        found = sorted(self._inside.read)
        if self.changed() or self.heads.conflicts(self.tails):
            return False
        if not found:
            return True
        there = {tuple(bytes(of[at] for at in found) for of in both) for both in self._contents.values()}
        return len(there) == 1 and all(bits == 0xFF for bits in next(iter(there))[1])
