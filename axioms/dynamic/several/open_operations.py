"""One of several runs that together stand for all executions: it notes the operations whose order is open, and lets threads
wait until they come in the order that a script tells. docs/whole-launches/several-runs.md has the theorem."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from axioms.dynamic.core.accesses import commutative
from axioms.dynamic.core.findings import ByteRace, Open, Stopped
from axioms.dynamic.core.shadow import CLOSES, CONSTANT, COUNTED, ORDERED, Access
from axioms.dynamic.core.sums import added_around, is_sum
from axioms.dynamic.several.exchangeable import exchangeable
from axioms.dynamic.several.noted import Again, OpenBytes, OpenOperation, Quiet, takers_of
from axioms.dynamic.several.noting import on
from axioms.dynamic.several.noting_agents import NotingAgents
from axioms.dynamic.several.plan import Name
from axioms.dynamic.waits.gathered import comes_to_barrier
from axioms.dynamic.waits.strong_reads import StrongRead
from axioms.dynamic.waits.written import Hand
from ptxcore.isa.form import Use
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.places import WIDE

#: Semantics of an exchange that is a store if nobody looks at what it finds: it would only continue what others released, which
#: orders more, and the runs that it takes then are those that a store takes.
_NO_ACQUIRE = ("relaxed", "release")


class OneOfSeveral(NotingAgents):
    """Watches one launch in one of several runs."""

    alone = False
    #: Whether it may be of no matter who takes a position.
    exchanges = True

    def _escalate(self, thread: WatchedThread, spot: OpenBytes) -> BaseException:
        """The order of the operations on some bytes matters more than was known."""
        if spot.mode == ORDERED:
            return self.leaves(thread, "order")
        self.known.modes[spot.name] = COUNTED if self._may_be_counted(spot) else ORDERED
        return Again()

    def _may_be_counted(self, spot: OpenBytes) -> bool:
        return spot.mode == "quiet" and spot.alike and spot.function is not None

    def _undetermined(self, thread: WatchedThread, access: Access, segment: Segment) -> BaseException:
        spot = self.spots.get((id(segment), access.first))
        if spot is None or spot.mode == ORDERED:
            return self.leaves(thread, "order")
        if (first := self._not_quiet()) is not None and first.spot is not spot:
            return self._escalate(first.thread, first.spot)
        if spot.name not in self.known.together and any(comes_to_barrier(read, self.live) for read in spot.place.reads):
            self.known.together.add(spot.name)
            return Again()
        self.known.modes[spot.name] = ORDERED
        return Again()

    def _unordered(self, thread: WatchedThread, before: Access, access: Access, where: str) -> BaseException:
        spot, within = self._updated, self.clocks.within
        strong = "R" not in (before.kind, access.kind) and before.strong != "" != access.strong
        alike = strong and (before.first, before.size) == (access.first, access.size)
        inside = within(before.strong, before.thread, access.thread) and within(
            access.strong, before.thread, access.thread
        )
        if spot is not None and alike and inside:
            behind = (before.kind, access.kind) == ("A", "W")  # maybe behind all that do the same
            if "W" in (before.kind, access.kind) and spot.mode != ORDERED:
                self.known.modes[spot.name] = COUNTED if behind and self._may_be_counted(spot) else ORDERED
                return Again()
            return self._escalate(thread, spot)
        if (again := self._not_quiet()) is not None:
            return self._escalate(again.thread, again.spot)
        return super()._unordered(thread, before, access, where)

    def _not_quiet(self) -> Quiet | None:
        """An atomic operation of which the order matters after all."""
        return next((q for q in self.quiet if not q.determinate(self.clocks)), None)

    def known_better(self) -> Again | None:
        """What a run comes to that ended, where the order of some atomic operation matters after all."""
        first = self._not_quiet()
        again = None if first is None else self._escalate(first.thread, first.spot)
        return again if isinstance(again, Again) else None

    def _learns(self, thread: WatchedThread, access: Access, segment: Segment, fresh: frozenset[int]) -> None:
        spot = self.spots[id(segment), access.first]
        for n in fresh:
            self.behind[thread.number] = self.behind.get(thread.number, 0) | spot.marks[n]
        behind_all = all(self.clocks.ordered(thread.number, w.thread, w.time) for w in spot.place.writes)
        self._reads(thread, spot, lambda: True, ordered=access.time if behind_all else None)

    # Accesses.

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        if self.performing is not None:
            return super().reads(thread, address, size)
        strong = self._scope_of(thread)
        found = None
        if strong and strong != CONSTANT:
            found = self._strong_spot(thread, "R", address, size)
        if found is None:
            self._access(thread, "R", address, size)
            return None
        segment, first, spot = found
        self.together = spot.name in self.known.together
        if spot.mode == ORDERED:
            return self._polls_in_order(thread, segment, first, size, spot)
        access = self.shade(thread, "R", segment, first, size)
        self._find(thread, access, segment, spot.place)
        return None

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        if self.performing is not None:
            self._by_agent(thread, address, size)
            super().writes(thread, address, size, value)
            return
        if not self._own(thread, address):
            self._access(thread, "W", address, size, value=value)
            return
        segment, first = thread.segment(address)
        self._untouched(thread, segment, first, size)
        strong = self._scope_of(thread)
        written = self._access_of(thread, "W", first, size)
        if strong and self._is_open_vector(thread, written):
            raise self.leaves(thread, "vector")
        spot = None
        if strong or id(segment) in self.places:
            spot = self._spot(thread, segment, first, address, written)
        self._updated = spot if strong else None
        ordered = ORDERED if strong and spot is not None and spot.mode == ORDERED else ""
        if ordered and spot is not None:
            self._turn(thread, spot, (self.launch, thread.number, self.count.get(thread.number, 0)))
        elif spot is not None and self._closes(thread, spot) and (strong or self._last_observed_all(spot)):
            ordered = CLOSES
        access = self.shade(thread, "W", segment, first, size, ordered)
        if spot is None:
            return
        if type(value) is not int:
            raise self.leaves(thread, "unknown")
        self._note_write(thread, access, spot, value)
        if spot.mode == ORDERED:
            event = self._event(thread, spot, "store")
            event.found, event.after = self._value_before(thread, spot), self._cut(value, size)
            event.time = access.time
            self._overwrites_in_order(thread, event, uses=False)
            self._written_in_order(thread, spot, event, self._hands(thread, spot, access))
        else:
            spot.is_stored()

    def _closes(self, thread: WatchedThread, spot: OpenBytes) -> bool:
        """Whether what a thread does now comes behind the last operation of a round, as all others do that take part in it."""
        if spot.mode != COUNTED or not spot.takers:
            return False
        last, known = spot.takers[-1], self.known.takers.get((spot.name, spot.rounds))
        if not self._follows(thread, last):
            return False
        if known is None:  # what is known is known after this run
            return True
        return len(spot.takers) == known.number and last.position in known.telling

    def _last_observed_all(self, spot: OpenBytes) -> bool:
        """Whether the last operation of a round has observed all others (section 8.9.2), so that these are ordered before what
        comes behind it (section 8.9.6)."""
        within = self.clocks.within
        return all(within(s, t, u) and within(r, t, u) for (t, s), (u, r) in pairwise(spot.strong[-len(spot.takers) :]))

    def _note_write(self, thread: WatchedThread, access: Access, spot: OpenBytes, value: Any) -> None:
        """A write, for the waits that look at these bytes."""
        releases = self._releases(thread) and self._scope_of(thread) in WIDE
        self.settled.writes(thread.number, spot.name)
        self.cycles.writes(thread.number, spot.name, releases, strong=access.strong in WIDE)
        if spot.mode == ORDERED:
            return
        self.cycles.written(spot.name, lambda other, time: self.clocks.ordered(thread.number, other, time))
        written = self._written(thread, access, value)
        spot.marks.append(self.behind.get(thread.number, 0))
        if not spot.place.write(written, self.clocks):
            raise self._undetermined(thread, access, spot.segment)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        if self.performing is not None:
            self._by_agent(thread, address, size)
            return super().updates(thread, how, address, size, write)
        found = self._strong_spot(thread, "A", address, size)
        if found is None:
            return super().updates(thread, how, address, size, write)
        _, _, spot = found
        self._updated = spot
        used = self._used.get(thread.op)
        if used is None:
            functions = thread.launch.program.functions.values()
            used = self._used[thread.op] = not results_unused(functions, thread.instruction)
        if how.op == "exch" and not used and spot.mode != ORDERED and how.sem in _NO_ACQUIRE:
            self.weaker = True
            self.writes(thread, address, size, write(0)[0])
            return None
        self.together = False
        lead = self._lead(thread) if used else on
        operands = tuple(thread.value(s) for s in thread.instruction.sources[1:] if s is not None)
        does = how.op, how.type, operands
        function = does if how.op != "cas" else None
        spot.does(function)
        if spot.mode == ORDERED:
            return self._updates_in_order(thread, spot, size, lead, write)
        if spot.mode == COUNTED:
            self._takes(thread, how, spot, size, lead, write)
        else:
            self._updates_quietly(thread, how, spot, size, lead, write, does)
        return None

    def _updates_quietly(
        self, thread: WatchedThread, how: Use, spot: OpenBytes, size: int, lead: Callable[[int], object], write: Any,
        does: tuple[Any, ...],
    ) -> None:  # fmt: skip
        """An atomic operation that goes on equally, as far as is known, whatever it finds."""
        old = self._value(thread, spot)
        whole = commutative(how)
        if lead is on and is_sum(how):
            whole = self.sums.exact((id(spot.segment), spot.first), how.type, old, write(0)[0])
        if lead is not on and lead(old) is None:
            raise self._escalate(thread, spot)
        commutes = f"{how.op}.{how.type}" if whole else str(does)
        access = self.shade(thread, "A", spot.segment, spot.first, size, commutes)
        number, place = thread.number, spot.place
        if lead is not on:
            read = StrongRead(number, access.time, old, access.strong, lead)
            place.locate(read, self.clocks)
            read.own = len(place.writes)  # to be noted below
            self.quiet.append(Quiet(thread, spot, read, write if how.op != "cas" else None))
        self._note_write(thread, access, spot, _operand(thread, how, write))

    def _takes(
        self, thread: WatchedThread, how: Use, spot: OpenBytes, size: int, lead: Callable[[int], object], write: Any
    ) -> None:
        """An atomic operation of which only the position among its like can tell."""
        if self._closes(thread, spot):  # it is of the next round
            spot.rounds, spot.earlier, spot.takers = spot.rounds + 1, spot.takers[-1], []
        elif spot.earlier is not None and not self._follows(thread, spot.earlier):
            raise self._escalate(thread, spot)
        where = spot.name, spot.rounds
        name = self.launch, thread.number, self.count.get(thread.number, 0)
        wanted = self.script.takers.get(where, {})
        position = len(spot.takers)
        mine = next((p for p, n in wanted.items() if n == name), position)
        self._hold(thread, mine != position or wanted.get(position, name) != name)
        if not spot.alike:
            raise self._escalate(thread, spot)
        access = self._access_of(thread, "A", spot.first, size)
        event = self._event(thread, spot, "taker")
        event.round, event.position, event.lead = spot.rounds, position, lead
        event.found = self._value(thread, spot)
        event.after = self._cut(write(event.found)[0], size)
        event.poll, event.op = self.polled.get(thread.number), thread.instruction
        event.strong, event.released = access.strong, self._released_all(thread)
        if any(event.past & taker.bit for taker in spot.takers):
            raise self._escalate(thread, spot)
        takers = self.known.takers.get(where)
        certain = list(spot.takers) if takers is None else []  # what is known is known after this run
        if takers is not None and position in takers.telling:
            behind = range(position + 1, takers.number)
            last = all(p in takers.telling for p in behind)
            certain = [e for e in spot.takers if last or e.position in takers.telling]
        if lead is on:
            settled = self.settled.follows(thread.number, spot.name)
            self.cycles.overwrites(thread.number, spot.name, settled).active = True
        elif takers is None or position in takers.telling:  # at others nothing hangs on what it comes behind
            self._reads(thread, spot, lambda: False)
        event.alone = self.shadow_of(spot.segment).before_update(access._replace(commutes=COUNTED)) is None
        seen = [e for e in certain if self._chained(spot, e.position, access)]
        for e in certain:
            self.behind[thread.number] = self.behind.get(thread.number, 0) | e.past
        self._gets(thread, spot, [hand for e in seen for hand in e.hands], access.strong, red=lead is on)
        if lead is not on:
            self.sequential.observes(thread.number, [e.fenced for e in seen])
        access = self.shade(thread, "A", spot.segment, spot.first, size, COUNTED)
        event.time = access.time
        event.past |= self.behind.get(thread.number, 0)
        event.hands, event.fenced = self._hands(thread, spot, access), self.sequential.before(thread.number)
        self._done(thread, event)
        spot.takers.append(event)
        spot.strong.append((thread.number, access.strong))
        self._note_write(thread, access, spot, _operand(thread, how, write))

    def _follows(self, thread: WatchedThread, taker: OpenOperation) -> bool:
        """Whether the operation of a taker comes before what a thread does now."""
        return self.clocks.ordered(thread.number, taker.name[1], taker.time)

    def _chained(self, spot: OpenBytes, position: int, access: Access) -> bool:
        """Whether what the taker of a position releases is handed on to an operation behind it."""
        chain = [*spot.strong[len(spot.strong) - len(spot.takers) + position :], (access.thread, access.strong)]
        within = self.clocks.within
        return all(within(s, t, u) and within(r, t, u) for (t, s), (u, r) in pairwise(chain))

    # Operations of which each order is a way of its own.

    def _updates_in_order(
        self, thread: WatchedThread, spot: OpenBytes, size: int, lead: Callable[[int], object], write: Any
    ) -> int | None:
        name = self.launch, thread.number, self.count.get(thread.number, 0)
        old = self._value(thread, spot)
        source = self.script.sources.get(name)
        if source is not None:
            return self._finds(thread, spot, size, lead, source, write)
        self._turn(thread, spot, name)
        self._awaits(thread, spot, name)
        value, writes = write(old)
        way = lead(old)
        if way is None and (not writes or self._cut(value, size) == old):
            self.shade(thread, "R", spot.segment, spot.first, size)
            self.vain[thread.number] = self.polled[thread.number].block
            return None  # it tries again, and nothing has changed
        if not writes:
            return self._finds(thread, spot, size, lead, len(spot.order) - 1, write)
        access = self._access_of(thread, "A", spot.first, size)
        event = self._event(thread, spot, "update")
        event.lead, event.write, event.found, event.after = lead, write, old, self._cut(value, size)
        event.floor = spot.floor(thread.number, self.clocks)
        self._reads_in_order(thread, spot, lead)
        seen = self._sees(thread, spot, len(spot.order) - 1, access)
        hands = seen.hands if seen is not None else ()
        self._gets(thread, spot, hands, access.strong, red=lead is on)
        if seen is not None and lead is not on:
            self.sequential.observes(thread.number, [seen.fenced])
        access = self.shade(thread, "A", spot.segment, spot.first, size, ORDERED)
        event.time = access.time
        self._overwrites_in_order(thread, event, uses=lead is not on)
        self._note_write(thread, access, spot, None)
        if seen is not None:
            event.fenced = seen.fenced
        self._written_in_order(thread, spot, event, (*hands, *self._hands(thread, spot, access)))
        return None

    def _polls_in_order(
        self, thread: WatchedThread, segment: Segment, first: int, size: int, spot: OpenBytes
    ) -> int | None:
        number = thread.number
        name = self.launch, number, self.count.get(number, 0)
        source = self.script.sources.get(name)
        poll, before = self.polled.get(number), self._polled_before.get(number)
        now = name, thread.op, -1 if poll is None else poll.block, spot.name, len(spot.order), self.clocks.own[number]
        if source is None and before == now:  # nobody has written since that was in vain
            self._awaits(thread, spot, name)
            self.vain[number] = before[2]
            return None
        lead = self._lead(thread)
        if source is None:
            self._awaits(thread, spot, name)
            if lead(self._value(thread, spot)) is None:
                self.shade(thread, "R", segment, first, size)
                self.vain[number] = self.polled[number].block
                self._polled_before[number] = now
                return None
            source = len(spot.order) - 1
        return self._finds(thread, spot, size, lead, source, None)

    def _finds(
        self, thread: WatchedThread, spot: OpenBytes, size: int, lead: Callable[[int], object], source: int, write: Any
    ) -> int:
        """A read, or an atomic operation that does not write, that finds what one of the writes left."""
        self._hold(thread, source >= len(spot.order))
        access = self._access_of(thread, "R", spot.first, size)
        event = self._event(thread, spot, "read")
        event.lead, event.source, event.write = lead, source, write
        event.found = event.after = spot.after(source)
        if lead(event.found) is None:
            self.vain[thread.number] = self.polled[thread.number].block
        event.floor = spot.floor(thread.number, self.clocks)
        if source < event.floor or (write is not None and write(event.found)[1]):
            raise self.leaves(thread, "order")
        self._reads_in_order(thread, spot, lead)
        seen = self._sees(thread, spot, source, access)
        if seen is not None:
            self._gets(thread, spot, seen.hands, access.strong, red=False)
            self.sequential.observes(thread.number, [seen.fenced])
        event.time = self.shade(thread, "R", spot.segment, spot.first, size).time
        if write is not None:  # elsewhere in the order it may write
            self._overwrites_in_order(thread, event, uses=True)
            self.settled.writes(thread.number, spot.name)
            self.cycles.writes(thread.number, spot.name, self._releases(thread) and access.strong in WIDE)
        if source < len(spot.order) - 1:
            self.stale = True
            self.missed.append((spot.order[source + 1], event))
        event.past |= self.behind.get(thread.number, 0)
        self._done(thread, event)
        spot.saw(thread.number, event.time, source)
        return event.found

    def _turn(self, thread: WatchedThread, spot: OpenBytes, name: Name) -> None:
        """Lets a thread wait until its operation is the next one of the script."""
        order, position = self.script.orders.get(spot.name, ()), len(spot.order)
        self._hold(thread, position < len(order) and order[position] != name)

    def _awaits(self, thread: WatchedThread, spot: OpenBytes, name: Name) -> None:
        """Lets a thread wait for the write behind which the script has its operation."""
        self._hold(thread, len(spot.order) <= self.script.awaits.get(name, -1))

    def _hold(self, thread: WatchedThread, waits: bool) -> None:
        if waits:
            self.held.add(thread.number)
            raise Asleep
        self.held.discard(thread.number)

    def _sees(self, thread: WatchedThread, spot: OpenBytes, source: int, access: Access) -> OpenOperation | None:
        """A thread has found what a write left: what it comes behind; and the write, if it observes that."""
        if source < 0:
            return None
        event = spot.order[source]
        self.behind[thread.number] = self.behind.get(thread.number, 0) | event.past
        within, other = self.clocks.within, event.name[1]
        strong = event.strong and within(event.strong, other, access.thread)
        return event if strong and within(access.strong, other, access.thread) else None

    def _written_in_order(
        self, thread: WatchedThread, spot: OpenBytes, event: OpenOperation, hands: tuple[Hand, ...]
    ) -> None:
        event.past |= self.behind.get(thread.number, 0)
        event.hands, event.strong = hands, self._scope_of(thread)
        if event.strong:
            event.fenced = self.sequential.before(thread.number, event.fenced)
        spot.order.append(event)
        self._done(thread, event)
        spot.saw(thread.number, event.time, len(spot.order) - 1)
        order = self.script.orders.get(spot.name, ())
        if len(spot.order) <= len(order) and order[len(spot.order) - 1] != event.name:
            raise self.leaves(thread, "order")

    def _conflict(self, thread: WatchedThread, before: Access, access: Access, where: str) -> ByteRace | Open:
        found = super()._conflict(thread, before, access, where)
        return found if isinstance(found, Open) else Open("unordered", found.after)

    # At the end.

    def settle(self) -> None:
        """The launch has ended: holds what is known against the whole run. Raises Again where more is known now, Stopped where
        something is open."""
        for quiet in self.quiet:
            if not quiet.determinate(self.clocks):
                raise self._escalate(quiet.thread, quiet.spot)
        for spot in self.spots.values():
            if spot.mode == COUNTED:
                self._settle_takers(spot)
        if self.cycles.found(self.settled):
            raise Stopped(Open("cycle"))

    def _settle_takers(self, spot: OpenBytes) -> None:
        rounds: dict[int, list[OpenOperation]] = {}
        for event in self.events:
            if event.spot is spot:
                rounds.setdefault(event.round, []).append(event)
        more = False
        for number, takers in rounds.items():
            found, known = takers_of(takers), self.known.takers.get((spot.name, number))
            if found is None or (known is not None and known.number != found.number):
                self.known.modes[spot.name] = ORDERED
                raise Again
            telling = found.telling | (known.telling if known is not None else frozenset())
            last = telling == {found.number - 1} and (known is None or known.exchangeable)
            found = found._replace(telling=telling, exchangeable=last and self.exchanges and self._exchangeable(takers))
            if found != known:
                self.known.takers[spot.name, number] = found
                more = True
        if more:
            raise Again

    def _exchangeable(self, takers: list[OpenOperation]) -> bool:
        lives = [self.live_of(taker.poll.thread) for taker in takers if taker.poll is not None]
        return len(lives) == len(takers) and exchangeable(takers, lives, self.spots.values(), self.clocks)


def _operand(thread: WatchedThread, how: Use, write: Write) -> Any:
    """What an atomic operation adds; None where it does something else."""
    return write(0)[0] if how.op == "add" and commutative(how) else added_around(thread, how)
