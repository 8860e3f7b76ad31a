"""CTAs under way: their threads, the warps these form, and the barriers they meet at."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import chain
from typing import Any

from ptxcore.isa.data_movement import ShuffleLanes
from ptxcore.isa.form import Use
from ptxcore.isa.product_arrays import columns_of
from ptxcore.machine.ir.collective import EVERYBODY, brought_widths
from ptxcore.machine.run.faults import UndefinedValue, fault
from ptxcore.machine.run.memory import WRITTEN, Segment, words
from ptxcore.machine.run.rounds import UNMASKED
from ptxcore.machine.run.special import WARP, SpecialRegisters, Triple
from ptxcore.machine.run.surroundings import LaunchView
from ptxcore.machine.run.tensor_memory import TensorMemory
from ptxcore.machine.run.thread import RunningThread
from ptxcore.machine.run.uninitialised import UninitialisedRead, opaque

#: Barriers of a CTA.
_BARRIERS = 16
#: Rounds that threads wait for others of their warp at an instruction without a member mask.
_PATIENCE = 16


class CtaBarrier:
    """One barrier of a CTA or cluster: who has come, and how many must. Threads come by warps (section 9.7.13.1): `lanes`
    has a bit for each that has come, `ops` the instruction that brought its warp here and whether it is aligned, and `passing`
    who goes on as soon as its warp is complete."""

    __slots__ = ("arrived", "count", "lanes", "operands", "operator", "ops", "passing", "waiting")

    def __init__(self) -> None:
        self.waiting: list[RunningThread] = []
        self.passing: dict[int, list[RunningThread]] = {}
        self.lanes: dict[int, int] = {}
        self.ops: dict[int, tuple[int, bool]] = {}
        self.arrived = 0
        self.count: int | None = None
        self.operands: dict[int, list[int]] = {}
        self.operator = ""

    def take(self, warps: Collection[int]) -> CtaBarrier:
        """The barrier with some of its warps only, which do not come here any more."""
        taken = CtaBarrier()
        taken.waiting = [thread for thread in self.waiting if thread.warp in warps]
        self.waiting = [thread for thread in self.waiting if thread.warp not in warps]
        for warp in warps:
            taken.lanes[warp], taken.ops[warp] = self.lanes.pop(warp), self.ops.pop(warp)
            taken.operands[warp] = self.operands.pop(warp)
            if warp in self.passing:
                taken.passing[warp] = self.passing.pop(warp)
        taken.arrived = sum(lanes.bit_count() for lanes in taken.lanes.values())
        taken.count, taken.operator = self.count, self.operator
        return taken


class CollectiveMeeting:
    """Threads of a warp that have come to an instruction they execute together; `how` is its use by the first of them, and
    `rounds` how long nobody has come any more."""

    __slots__ = ("arguments", "how", "rounds", "threads")

    def __init__(self, how: Use) -> None:
        self.how = how
        self.threads: dict[int, RunningThread] = {}
        self.arguments: dict[int, tuple[Any, ...]] = {}
        self.rounds = 0


#: What threads meet at: with a member mask, any instruction that has the same qualifiers and the same mask (section
#: 9.7.13.9); without one, the instruction itself, in one round of the loops around it where these are counted
#: (`ptxcore.machine.run.rounds`).
CtaPlace = tuple[Any, int | None]


class Warp:
    """The threads of a warp that are together at collective instructions."""

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        self.threads: dict[int, RunningThread] = {}
        #: A bit for each lane whose thread has not ended.
        self.running = 0
        self.meetings: dict[CtaPlace, CollectiveMeeting] = {}

    def join(self, thread: RunningThread, op: int, arguments: tuple[Any, ...]) -> Any:
        """One more thread at an instruction; gives its result when all are there. Raises Suspended."""
        how, position = thread.launch.collective(op)
        whole = how.form.whole is not None
        mask = EVERYBODY if whole else None if position is None else arguments[position]
        if mask is not None and not mask >> thread.lane & 1:
            raise fault("bad-mask", f"the member mask {mask:#x} does not name lane {thread.lane}, which executes this")
        if mask is None:
            place: CtaPlace = ((op, arguments if how.form.mnemonic == UNMASKED else ()), None)
        else:
            place = (op, mask) if whole else ((how.form, how.present), mask)
        meeting = self.meetings.get(place)
        if meeting is None:
            meeting = self.meetings[place] = CollectiveMeeting(how)
        meeting.threads[thread.lane] = thread
        meeting.arguments[thread.lane] = arguments
        meeting.rounds = 0
        if mask is not None and self.complete(mask, meeting):
            return self.meet(place, thread)
        names = "the warp" if mask is None else f"lanes {mask:#x}"
        raise thread.suspend(lambda: f"waits for {names} at '{thread.launch.compiled.ops[op].name}'")

    def complete(self, mask: int, meeting: CollectiveMeeting) -> bool:
        """Whether all that a mask names have come, but those that have ended."""
        return (mask & self.running).bit_count() == len(meeting.threads)

    def meet(self, place: CtaPlace, last: RunningThread | None) -> Any:
        """All are there: each gets its result. Gives that of `last`, which is running."""
        meeting = self.meetings.pop(place)
        how = meeting.how
        if how.form.whole is not None and len(meeting.threads) < WARP:
            error = fault(
                "bad-mask",
                f"all {WARP} threads of a warp must execute this; {len(meeting.threads)} do, and the others have exited, "
                "or there are none",
            )
            first = min(meeting.threads)
            error.blamed = meeting.threads[first].name, self.cta.launch.compiled.ops[place[0]]
            raise error
        watcher = self.cta.launch.watcher
        if watcher is not None:
            watcher.met(how, list(meeting.threads.values()), place[1] is not None)
        arguments = dict(sorted(meeting.arguments.items()))
        whole = how.form.whole
        if watcher is not None and whole is None:
            arguments = ShuffleLanes(arguments, lambda lane: self._of_nobody(meeting.threads[lane]))
        try:
            results = how.form.meaning(how, arguments)
        except Exception:
            for argument in (a for arguments in meeting.arguments.values() for a in arguments):
                if isinstance(argument, UndefinedValue):
                    int(argument)  # raises what is wrong
            raise
        if (
            watcher is not None
            and whole is not None
            and whole.opens is not None
            and whole.opens(how, columns_of(arguments, brought_widths(how)))
        ):
            watcher.unspecified(self.cta.launch.compiled.ops[place[0]])
        for lane, thread in meeting.threads.items():
            if thread is not last:
                thread.wake(results[lane])
        return None if last is None else results[last.lane]

    def _of_nobody(self, thread: RunningThread) -> Any:
        """What a thread takes from a lane that does not take part, which the manual leaves open (section 9.7.9.6)."""
        launch = self.cta.launch
        if launch.contents is not None:
            return launch.contents * 0x01010101
        op = launch.compiled.ops[thread.op]
        return opaque(32, UninitialisedRead("uninitialised", "a value from a lane that does not take part", op))

    def settle(self) -> bool:
        """Nobody in the CTA can go on: whoever meets without a mask goes on as they are, those first who may come to where
        others are. Whether anybody does."""
        complete = (
            place for place, of in self.meetings.items() if place[1] is not None and self.complete(place[1], of)
        )
        place = next(complete, None) or self._first()
        if place is not None:
            self.meet(place, None)
        return place is not None

    def _first(self) -> CtaPlace | None:
        """Where threads meet without a mask, none of which may still come to where others do."""
        return min((place for place in self.meetings if place[1] is None), key=lambda place: place[0][1], default=None)

    def wait(self) -> None:
        """A round is over in which others got on. Whoever meets without a mask goes on when nobody has come for long: the
        others may wait for just them."""
        for meeting in self.meetings.values():
            meeting.rounds += 1
        first = self._first()
        if first is not None and self.meetings[first].rounds > _PATIENCE:
            self.meet(first, None)


class Cta:
    """A CTA under way: its shared memory, barriers and threads."""

    def __init__(self, launch: LaunchView, index: Triple, rank: int, cluster: list[Cta]) -> None:
        self.launch, self.index, self.rank, self.cluster = launch, index, rank, cluster
        self.shared = Segment(launch.shared_bytes, "shared memory", known=False)
        assert self.shared.known is not None
        if launch.filling:
            self.shared.data[: launch.kernel_shared] = bytes((launch.filling,)) * launch.kernel_shared
        # What system software has there is zeros at first.
        self.shared.known[launch.unwritten :] = WRITTEN * (launch.shared_bytes - launch.unwritten)
        #: Shared memory as numbers, and for each whether it was written.
        self.words, self.known_words = words(self.shared.data), words(self.shared.known)
        self.special = SpecialRegisters()
        self.barriers: dict[Any, CtaBarrier] = {}
        #: None as long as nobody asks for it.
        self.tensor_memory: TensorMemory | None = None
        self.warps: dict[int, Warp] = {}
        #: Threads that have come to a product of their warpgroup, with their operands: by warpgroup and instruction.
        self.products: dict[tuple[int, int], dict[int, tuple[RunningThread, tuple[Any, ...]]]] = {}
        self.ready: list[RunningThread] = []
        self.sleeping: list[RunningThread] = []
        #: Who has arrived at the barrier of the cluster, and waits for the rest of its warp to do so.
        self.arriving = CtaBarrier()
        #: How often the barrier of the cluster was complete; of its first CTA.
        self.passed = 0
        self.alive = 0
        self.threads: list[RunningThread] = []

    def start(self) -> None:
        launch = self.launch
        code = launch.program.functions[launch.entry]
        self.special = launch.cta_registers(self)
        make = _made(launch)
        for place in launch.places:
            warp = self.warps.get(place.warp)
            if warp is None:
                warp = self.warps[place.warp] = Warp(self)
            thread = warp.threads[place.lane] = make(launch, self, place, code)
            warp.running |= 1 << place.lane
            self.threads.append(thread)
        self.alive = len(self.threads)
        self.ready = self.threads[:]

    def end(self) -> None:
        """All threads have ended: nothing of them is needed any more."""
        if self.launch.watcher is not None:
            self.launch.watcher.ends(self)
        if self.tensor_memory is not None:
            self.tensor_memory.end(self.launch, self.threads[0].name)
        self.threads, self.warps = [], {}

    # Barriers (section 9.7.13.1).

    def arrive(
        self,
        thread: RunningThread,
        action: str,
        how: Use,
        *,
        identity: int = 0,
        count: int | None = None,
        operator: str = "",
        operand: int = 0,
        instance: int | None = None,
        level: str = "cta",
    ) -> Any:
        """A thread comes to a barrier; gives the result of a reduction at once for the last one. Raises Suspended."""
        watcher = self.launch.watcher
        if watcher is not None:
            watcher.arrives(thread, level, identity, action != "arrive", count)
        if level == "cluster":
            return self.meet_cluster(thread, action)
        self._check_barrier(identity, count)
        barrier = self.barriers.get((level, identity))
        if barrier is None:
            barrier = self.barriers[level, identity] = CtaBarrier()
        if barrier.count is not None and count is not None and barrier.count != count:
            raise fault(
                "barrier-count", f"barrier {identity} is used with {count} threads here, and with {barrier.count}"
            )
        if barrier.arrived and barrier.operator != operator:
            if "" in (barrier.operator, operator):
                raise fault("barrier-divergence", f"threads come to barrier {identity} to reduce, and others do not")
            raise fault(
                "barrier-divergence",
                f"threads come to barrier {identity} to reduce by .{operator}, and others by .{barrier.operator}",
            )
        barrier.count = count if count is not None else barrier.count
        self._check_warp(thread, how, identity, barrier)
        barrier.arrived += 1
        barrier.lanes[thread.warp] = barrier.lanes.get(thread.warp, 0) | 1 << thread.lane
        barrier.operands.setdefault(thread.warp, []).append(operand)
        barrier.operator = operator
        if action == "arrive":
            barrier.passing.setdefault(thread.warp, []).append(thread)
        else:
            barrier.waiting.append(thread)
        whole = self._pass(barrier, thread.warp, thread)
        result = self.complete(level, identity, thread)
        if action == "arrive":
            if whole:
                return None
            raise thread.suspend(f"waits for the other threads of its warp to arrive at barrier {identity}")
        if result is None:
            raise thread.suspend(
                lambda: (
                    f"waits at barrier {identity}, where {barrier.arrived} of {self.wanted(level, barrier)} threads "
                    "have come"
                )
            )
        return result[0]

    def _check_barrier(self, identity: int, count: int | None) -> None:
        if identity >= _BARRIERS:
            raise fault("bad-barrier", f"there is no barrier {identity}, only 0 to {_BARRIERS - 1}")
        if count is not None and (count % WARP or not count):
            raise fault("barrier-count", f"a barrier takes a multiple of {WARP} threads, not {count}")

    def _check_warp(self, thread: RunningThread, how: Use, identity: int, barrier: CtaBarrier) -> None:
        """The threads of a warp come once each, and to an aligned barrier all by the same instruction."""
        if barrier.lanes.get(thread.warp, 0) >> thread.lane & 1:
            raise fault("barrier-count", f"a thread comes to barrier {identity} again before the others have come")
        before, aligned = barrier.ops.setdefault(thread.warp, (thread.op, bool(how.words["aligned"])))
        if before != thread.op and (aligned or how.words["aligned"]):
            line = self.launch.compiled.ops[before].instruction.span.line
            raise fault(
                "barrier-divergence",
                f"threads of one warp come to barrier {identity} by different instructions, others by that of line {line}",
            )

    def _pass(self, barrier: CtaBarrier, warp: int, last: RunningThread | None) -> bool:
        """Whether a whole warp has come; those that do not wait for other warps go on then."""
        if self.warps[warp].running & ~barrier.lanes.get(warp, 0):
            return False
        for thread in barrier.passing.pop(warp, ()):
            if thread is not last:
                thread.wake()
        return True

    def meet_cluster(self, thread: RunningThread, action: str) -> None:
        """A thread comes to the barrier of the cluster (section 9.7.13.3). Raises Suspended."""
        home = self.cluster[0]
        barrier = home.barriers.setdefault(("cluster", 0), CtaBarrier())
        if action == "arrive":
            if thread.passed is not None:
                raise fault("barrier-divergence", "arrives at the cluster's barrier twice without a wait between")
            thread.passed = home.passed
            barrier.arrived += 1
            self.complete("cluster", 0, thread)
            arriving = self.arriving
            arriving.lanes[thread.warp] = arriving.lanes.get(thread.warp, 0) | 1 << thread.lane
            arriving.passing.setdefault(thread.warp, []).append(thread)
            if not self._pass_to_cluster(thread.warp, thread):
                raise thread.suspend("waits for the other threads of its warp to arrive at the cluster's barrier")
            return
        arrived, thread.passed = thread.passed, None
        if arrived is None:
            raise fault("barrier-divergence", "waits at the cluster's barrier without having arrived there")
        if home.passed == arrived:
            barrier.waiting.append(thread)
            wanted = home.wanted("cluster", barrier)
            raise thread.suspend(
                f"waits at the cluster's barrier, where {barrier.arrived} of {wanted} threads have come"
            )

    def _pass_to_cluster(self, warp: int, last: RunningThread | None) -> bool:
        """Whether a whole warp has arrived at the barrier of the cluster; its threads go on then."""
        if not self._pass(self.arriving, warp, last):
            return False
        del self.arriving.lanes[warp]
        return True

    def wanted(self, level: str, barrier: CtaBarrier) -> int:
        """How many threads a barrier waits for."""
        if barrier.count is not None:
            return barrier.count
        return sum(cta.alive for cta in self.cluster) if level == "cluster" else self.alive

    def parts_of_warps(self, barrier: CtaBarrier) -> list[int]:
        """The warps that have not come to a barrier with all their threads; those that have ended need not come."""
        return [warp for warp, lanes in barrier.lanes.items() if self.warps[warp].running & ~lanes]

    def complete(self, level: str, identity: Any, last: RunningThread | None) -> tuple[Any] | None:
        """Releases a barrier where all have come; gives the result for `last`, which is running."""
        home = self.cluster[0] if level == "cluster" else self
        barrier = home.barriers[level, identity]
        wanted = home.wanted(level, barrier)
        parts = [] if barrier.count is None else home.parts_of_warps(barrier)
        arrived = barrier.arrived if barrier.count is None else WARP * (len(barrier.lanes) - len(parts))
        if arrived < wanted or not arrived:
            return None
        if arrived > wanted:
            raise fault("barrier-count", f"{arrived} threads came to barrier {identity}, which takes {wanted}")
        del home.barriers[level, identity]
        if self.launch.watcher is not None:
            self.launch.watcher.released(home, level, identity, not parts)
        if parts:  # a warp comes as a whole: to the next instance
            home.barriers[level, identity] = barrier.take(parts)
        if level == "cluster":
            home.passed += 1
        result = REDUCTIONS[barrier.operator]([*chain.from_iterable(barrier.operands.values())])
        for thread in barrier.waiting:
            if thread is not last:
                thread.wake(result)
        return (result,)

    def finished(self, thread: RunningThread) -> None:
        """A thread has ended: who waits for all need not wait for it."""
        self.alive -= 1
        warp = self.warps[thread.warp]
        warp.running &= ~(1 << thread.lane)
        home = self.cluster[0]
        if thread.warp in self.arriving.lanes:
            self._pass_to_cluster(thread.warp, None)
        if not home.barriers and not self.barriers and not warp.meetings:
            return
        if thread.passed == home.passed:  # its end counts as an arrival, and it had arrived
            home.barriers["cluster", 0].arrived -= 1
        for level, identity in [*self.barriers, *(k for k in home.barriers if k[0] == "cluster" and home is not self)]:
            at = home if level == "cluster" else self
            barrier = at.barriers.get((level, identity))
            if barrier is not None:
                if at is self and thread.warp in barrier.passing:
                    self._pass(barrier, thread.warp, None)
                self.complete(level, identity, None)
        for place, meeting in list(warp.meetings.items()):
            mask = place[1]
            if mask is not None and mask >> thread.lane & 1 and warp.complete(mask, meeting):
                warp.meet(place, None)


#: What a barrier gives of the operands of those who come.
REDUCTIONS: dict[str, Callable[[list[int]], int | None]] = {
    "": lambda operands: None,
    "popc": sum,
    "and": lambda operands: int(all(operands)),
    "or": lambda operands: int(any(operands)),
}


def _made(launch: LaunchView) -> type[RunningThread]:
    """The class of a launch's threads."""
    if launch.watcher is None:
        return RunningThread
    from ptxcore.machine.run.watched import WatchedThread

    return WatchedThread
