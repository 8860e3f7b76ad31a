"""What the parts of a watched launch share: clocks, shadow memory, what threads' fences hand on, and what ends the run.

Each part (phases of mbarrier objects, copies, clusters, Tensor Memory) is told of what threads do by
`one_run.determinate`, which is such a state itself and hands it to the parts that it makes. A part knows this, and the
parts below it, which it is given; nothing here knows of a part.
"""

from __future__ import annotations

from collections.abc import Callable

from axioms.dynamic.asynchronous.agents import Agent
from axioms.dynamic.code.live import Live
from axioms.dynamic.core.clocks import Clocks
from axioms.dynamic.core.findings import Misuse, Open, Party, Stopped, step
from axioms.dynamic.core.shadow import Access, Shadow
from axioms.dynamic.waits.waiting import WrittenBytes
from axioms.dynamic.waits.written import Hand
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import SHARED, WINDOW_BITS
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread

#: A reading: for accesses of the asynchronous proxy to shared memory, and by default at mbarrier objects, a cluster is one CTA.
CLUSTER_AS_CTA = "cluster-as-cta"
_OFFSET = (1 << WINDOW_BITS) - 1
#: Accesses that are one step of the work.
_LOOK = 16


class LaunchState:
    """Of one launch. `accesses`: how many were checked; `waits`: how many waits were; `exact`: only program order and barriers
    could order accesses so far, so that what is unordered here is so in the model."""

    #: Whether all pairs of strong accesses, each in the other's scope, are held against each other elsewhere.
    ignores_strong = False
    #: Whether strong writes may come in any order, also where they leave something else then.
    mixes = False
    #: Whether a thread that may wait, and goes on with any answer, is told no: in runs that look for what is wrong.
    gives_up = False
    readings: frozenset[str] = frozenset()  # of the manual (`axioms.models.options`)

    def __init__(self, size: int) -> None:
        """`size`: the threads of a CTA."""
        self.clocks = Clocks(size)
        self.size = size
        self.accesses = self.waits = 0
        self.exact = True
        #: Whether somebody found a phase over, or a cluster's barrier, and did not acquire all that counted in it.
        self.partly = False
        #: A value that nothing determines was met: nothing is settled, but a race that comes up is one.
        self.unknown: Open | None = None
        #: Whether somebody waited for the launch before (`griddepcontrol.wait`).
        self.waits_for_launch = False
        #: By the identity of a segment of memory, which lasts as long as this says something of it.
        self.shadows: dict[int, Shadow] = {}
        #: Bytes that strong operations access, by segment and byte; what threads' fences hand on, and what they may acquire by
        #: one; the liveness of registers where they wait.
        self.places: dict[int, dict[int, tuple[int, WrittenBytes]]] = {}
        self.fenced: dict[int, tuple[Hand, ...]] = {}
        self.offered: dict[int, list[tuple[Hand, str]]] = {}
        self.live: Live | None = None
        #: The asynchronous operation in whose name a thread does something.
        self.performing: Agent | None = None
        #: By the identities of segments of shared memory, the numbers of their CTAs.
        self._owners: dict[int, int] = {}

    def scope_of(self, how: Use) -> str:
        """The scope of an operation on an mbarrier object: the one that it names, or else that of its CTA (9.7.13.15.13)."""
        named = "scope" in how.present or CLUSTER_AS_CTA not in self.readings
        return (how.scope or "cta") if named else "cluster"

    @property
    def orders_all(self) -> bool:
        """Whether what orders operations in this run is known, no more and no less: what is unordered races then, and what had
        to come before something and does not leaves the launch without a meaning."""
        return self.exact

    # What ends the run, or leaves something open.

    def _party(self, thread: WatchedThread) -> Party:
        """Who does what a thread is at: the instruction, or the asynchronous operation in whose name it does something."""
        if self.performing is not None:
            return self.performing.party
        return Party(thread.number, thread.launch.running() or thread.instruction)

    def leaves(self, thread: WatchedThread, what: str) -> Stopped:
        """What is open, also for whoever looks after a part of this."""
        return Stopped(Open(what, self._party(thread)))

    def doubts(self, thread: WatchedThread, what: str) -> None:
        """What other executions do is open; this one goes on, to show what it may."""
        self.leaves_open(Open(what, self._party(thread)))

    def leaves_open(self, what: Open) -> None:
        """The same, where something else than a thread is named; the first one is told."""
        self.unknown = self.unknown or what

    def misuses(self, thread: WatchedThread, flag: str, *others: Party) -> Stopped:
        """What leaves the launch without a meaning, where the order of this execution is known exactly."""
        party = self._party(thread)
        return Stopped(Misuse(flag, (*others, party)) if self.orders_all else Open("mbarrier", party))

    def ticks(self) -> None:
        """One more access."""
        self.accesses += 1
        if not self.accesses % _LOOK:
            step()

    # Memory.

    def is_shared(self, address: int) -> bool:
        """Whether an address is one of shared memory."""
        return address & ~_OFFSET == SHARED

    def owner_of(self, segment: Segment) -> int:
        """The CTA whose shared memory a segment is, -1 where it is none."""
        return self._owners.get(id(segment), -1)

    def shadow_of(self, segment: Segment) -> Shadow:
        shadow = self.shadows.get(id(segment))
        if shadow is None:
            shadow = self.shadows[id(segment)] = Shadow(
                self.clocks,
                segment.name,
                ignores_strong=self.ignores_strong,
                mixes=self.mixes,
                observes=self.observing(segment),
            )
        return shadow

    def observing(self, segment: Segment) -> Callable[[Access, Access], bool] | None:
        """What tells of two accesses to a segment whether the thread of the second one has observed the first one; None where
        that is looked at elsewhere."""
        return None

    def overwrites(self, thread: WatchedThread, segment: Segment, first: int, size: int) -> None:
        """A thread takes some bytes for an object, or gives them back: nobody may still access them as they were."""
        number = thread.number
        access = Access(number, self.clocks.own[number], thread.op, "W", "", first, size)
        before = self.shadow_of(segment).write(access)
        if before is not None:
            raise self.misuses(thread, "overwritten", Party(before.thread, thread.launch.compiled.ops[before.op]))
        places = self.places.get(id(segment), {})
        if not places.keys().isdisjoint(range(first, first + size)):
            raise self.leaves(thread, "mbarrier")

    # Threads that wait for each other.

    def offers(self, number: int, hands: list[tuple[Hand, str]]) -> None:
        """A thread may acquire something by a fence."""
        self.offered.setdefault(number, []).extend(hands)

    def live_of(self, thread: WatchedThread) -> Live:
        self.live = self.live or Live(thread.launch.compiled)
        return self.live
