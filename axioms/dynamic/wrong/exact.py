"""One run, and all that orders its accesses: what is unordered in it races.

A run of all threads, one instruction after the other, is an execution that every model allows. Here nothing is left out that
synchronizes in it: each thread acquires all that it finds, and each `fence.sc` comes behind those before it (sections 8.8,
8.9.3 and 8.9.4). That other executions synchronize otherwise is no matter: one with a race is enough.

A script may have reads find something older than is there, but nothing that is older than what comes before them in causality
order: the run is an execution then, too. All that orders operations leads from what is done to what is done later, also
Fence-SC order, which is the order of the run; so nothing that comes later is ordered before the read.

In most orders of threads whoever writes has come by its `fence.sc` (`__threadfence()` is one) when another thread that should
have waited comes by its own, and so is ordered before it. What the program does without that luck is seen where the fences
come in another order (`AnyFenceOrder`). To see what it does without that of other operations, threads are made to wait before
each operation whose order is open, until nobody else gets on; who came there last goes on first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from axioms.dynamic.asynchronous.phases import SIZE
from axioms.dynamic.core.accesses import conflict, race_of_elements
from axioms.dynamic.core.clocks import Table
from axioms.dynamic.core.findings import ByteRace, Open, Party
from axioms.dynamic.core.shadow import Access
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.several.noted import OpenBytes
from axioms.dynamic.several.open_operations import OneOfSeveral
from axioms.dynamic.several.plan import Script, StrongBytes
from axioms.dynamic.wrong.fence_orders import FenceOrders
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.watched import Told, WatchedProduct, WatchedThread, Write

#: Rounds that a thread waits so at most: others may poll in vain again and again until it goes on.
_PATIENCE = 40


class Exact(OneOfSeveral):
    """Watches one launch for races of this run."""

    ignores_strong = True
    #: Nothing that orders something in this run is left out.
    orders_all = True
    #: Whether a data race ends the run; where nobody asks for one, the run goes on to show something else.
    tells_races = True
    #: Whether the race is one with the `fence.sc` in another order than that of the run.
    reordered = False

    def __init__(self, size: int, launch: int, script: Script | None = None, *, late: bool = False) -> None:
        """`script`: how the run begins; `late`: whether threads wait, before each operation whose order is open, until
        nobody else gets on."""
        super().__init__(size, launch, StrongBytes(usual="ordered"), script or Script())
        self._late = late
        #: Who waits so, the last one last, with how far all were when it looked before; and how many operations whose order is
        #: open a thread had executed when it went on.
        self._waiting: dict[int, tuple[int, ...]] = {}
        self._passed: dict[int, int] = {}
        self._patient: dict[int, int] = {}  # how often a thread has waited
        #: What is ordered before the last `fence.sc`, by CTA and (-1) of all that are in each other's scope.
        self._total: dict[int, Table] = {}

    # Asynchronous operations, and what threads do with them.

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        if self.performing is not None:
            return Determinate.reads(self, thread, address, size)
        return super().reads(thread, address, size)

    def _fence(self, thread: WatchedThread, how: Use) -> None:
        if how.sem == "sc" and not how.words["restrict"]:
            self._comes_behind_others(thread.number, wide=how.scope != "cta")
        self._goes_by(thread, how)

    def _goes_by(self, thread: WatchedThread, how: Use) -> None:
        """A thread goes by a fence."""
        self.vain.pop(thread.number, None)  # what this run executes, orders
        super()._fence(thread, how)

    def _comes_behind_others(self, number: int, *, wide: bool) -> None:
        """A thread comes by a `fence.sc`, behind each before it that is in the other's scope. `wide`: it has all threads."""
        keys = (number // self.size, *((-1,) if wide else ()))
        before = [self._total[k] for k in keys if k in self._total]
        if before:
            self.clocks.merge(number, before)
        table = self.clocks.join([self.clocks.release(number), *((number, t, 0) for t in before)])
        self._total.update(dict.fromkeys(keys, table))

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        if self.performing is not None or not (address >= 1 << GLOBAL_BITS or self.is_shared(address)):
            Determinate.writes(self, thread, address, size, value)
            return
        if self._late and self._scope_of(thread):
            self._comes_late(thread.number)
        self._touches(thread, address, size)
        super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        if self.performing is not None:
            return Determinate.updates(self, thread, how, address, size, write)
        if self._late:
            self._comes_late(thread.number)
        self._touches(thread, address, size)
        return super().updates(thread, how, address, size, write)

    def _touches(self, thread: WatchedThread, address: int, size: int) -> None:
        """Whoever writes some bytes, they are not those of an mbarrier object that is in use."""
        segment, first = thread.segment(address)
        if id(segment) in self.phases.objects:
            self.phases.touched(thread, segment, first, size)

    def _comes_late(self, number: int) -> None:
        """Lets a thread wait as long as others get on, for some rounds. Who tries again what was in vain goes on last."""
        before, done = self._waiting.get(number), self.count.get(number, 0)
        if before is None:
            self._waiting[number] = ()
            if self._passed.get(number) == done:
                self._waiting = {number: (), **self._waiting}
        now = len(self._waiting), len(self.events), self.meetings, len(self.clocks.own)
        self._patient[number] = self._patient.get(number, 0) + 1
        others = before != now or next(reversed(self._waiting)) != number
        if others and self._patient[number] <= _PATIENCE:
            self._waiting[number] = now
            self.delayed.add(number)
            raise Asleep
        self._patient[number] = 0
        self.delayed.discard(number)
        del self._waiting[number]
        self._passed[number] = done

    def _unordered(self, thread: WatchedThread, before: Access, access: Access, where: str) -> BaseException:
        return Determinate._unordered(self, thread, before, access, where)

    def _conflict(self, thread: WatchedThread, before: Access, access: Access, where: str) -> ByteRace | Open:
        if self.agents.is_agent(before.thread):
            return Determinate._conflict(self, thread, before, access, where)
        party = Party(thread.number, thread.instruction)
        other = Party(before.thread, thread.launch.compiled.ops[before.op])
        if not before.strong and not access.strong:
            return conflict(other, party, before, access, where, exact=True, readings=self.readings)
        race = race_of_elements(other, party, before, access, where, self.readings, told=True)
        return race or Open("unordered", party)

    def _value_before(self, thread: WatchedThread, spot: OpenBytes) -> int:
        """Nothing rests on what a store overwrites: memory that nobody wrote will do."""
        value = spot.segment.read(spot.first, spot.name.size)
        return value if type(value) is int else 0

    def _goes_on(self, thread: WatchedThread, segment: Segment, before: Access, access: Access) -> bool:
        """Nothing rests on what is not known of two accesses: the run is an execution, and may show something else."""
        found = self._conflict(thread, before, access, segment.name)
        return isinstance(found, Open) or (found.kind == "data" and not self.tells_races)

    def observing(self, segment: Segment) -> Callable[[Access, Access], bool]:
        """Whether a thread found what a strong write left, or what came of it, before the other access (causality order,
        section 8.9.6)."""
        key = id(segment)

        def observes(before: Access, access: Access) -> bool:
            if not before.strong or before.kind == "R" or (before.first, before.size) != (access.first, access.size):
                return False
            spot = self.spots.get((key, access.first))
            numbers = [n for n, e in enumerate(spot.order) if e.name[1] == before.thread] if spot is not None else []
            return spot is not None and bool(numbers) and spot.floor(access.thread, self.clocks) >= numbers[-1]

        return observes

    def settle(self) -> None:
        """Nothing is left to be looked at."""


class AnyFenceOrder(Exact):
    """Watches one launch for races of this run, or of the same one with the `fence.sc` in another order. No thread finds
    something older than is there. The clocks do not have all that orders operations in the run, so nothing is told of a pair
    of accesses of which the later one is an asynchronous operation's."""

    orders_all = False

    def __init__(self, size: int, launch: int, script: Script | None = None) -> None:
        super().__init__(size, launch, script)
        self._orders = FenceOrders(self.clocks)
        #: What a read has met that is a race if it is not in vain.
        self._met_by_read: tuple[Segment, Access, Access] | None = None

    def _comes_behind_others(self, number: int, *, wide: bool) -> None:
        """Nothing comes behind a fence for that: this is looked at where two accesses meet."""

    def _goes_by(self, thread: WatchedThread, how: Use) -> None:
        if thread.number in self.vain:
            return  # an iteration that comes to nothing is left out, as below
        time = self.clocks.own[thread.number]
        super()._goes_by(thread, how)
        if how.sem == "sc":
            self._orders.fence(thread.number, time, narrow=how.scope == "cta")

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        return self._done_unless_vain(thread, super().reads(thread, address, size))

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        return self._done_unless_vain(thread, super().updates(thread, how, address, size, write))

    def copied(self, copy: Told | WatchedProduct, kind: str, address: int, size: int) -> None:
        super().copied(copy, kind, address, size)
        segment, first = copy.thread.segment(address)
        self._orders.of_agent(id(segment), copy.agent, kind, first, size)

    def _access(self, thread: WatchedThread, kind: str, address: int, *given: Any, **more: Any) -> None:
        if self.performing is not None:
            raise self.leaves(thread, "asynchronous")
        super()._access(thread, kind, address, *given, **more)

    def operates(self, thread: WatchedThread, kind: str, how: Use, address: int, write: Write) -> int | None:
        """Whatever is done to an mbarrier object comes behind all that was done to it before: that is more than is known."""
        found, agent = super().operates(thread, kind, how, address, write), self.performing
        segment, first = thread.segment(address)
        if agent is None:
            number = thread.number
            self._orders.access(id(segment), Access(number, self.clocks.own[number], 0, "A", "sys", first, SIZE))
        elif agent.writes >= 0:
            self._orders.of_agent(id(segment), agent, "A", first, SIZE)
        else:
            raise self.leaves(thread, "asynchronous")
        return found

    def _done_unless_vain(self, thread: WatchedThread, found: int | None) -> int | None:
        """A thread has polled: without an iteration after which it polls again, the run is an execution, too, and one in which
        it has not found what it would have to find by another order."""
        met, self._met_by_read = self._met_by_read, None
        if thread.number in self.vain:
            self._orders.leave_out_last(thread.number)
        elif met is not None:
            segment, before, access = met
            if self._another(segment, before, access):
                raise self._unordered(thread, before, access, segment.name)
        return found

    def shade(
        self, thread: WatchedThread, kind: str, segment: Segment, first: int, size: int, commutes: str = ""
    ) -> Access:
        access = super().shade(thread, kind, segment, first, size, commutes)
        self._orders.access(id(segment), access)
        return access

    def _goes_on(self, thread: WatchedThread, segment: Segment, before: Access, access: Access) -> bool:
        if not self.tells_races or not self._orders.ordered(id(segment), before, access):
            return super()._goes_on(thread, segment, before, access)
        vain = before.strong and before.kind == "R"  # perhaps, and then it is left out
        if vain or isinstance(self._conflict(thread, before, access, segment.name), Open):
            return True
        if access.strong and access.kind != "W":
            self._met_by_read = segment, before, access
            return True
        return not self._another(segment, before, access)

    def _another(self, segment: Segment, before: Access, access: Access) -> bool:
        """Whether two accesses are a race with the fences in another order."""
        self.reordered = self._orders.another(id(segment), before, access)
        return self.reordered
