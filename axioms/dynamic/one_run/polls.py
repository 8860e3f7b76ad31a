"""How threads of one run poll where it takes more than a thread's next steps to tell what a value leads to.

A CTA of which one thread polls, and the others wait for what it found at a barrier, polls as a whole
(`waits.gathered`): that thread sleeps until it finds what leads all of them on, so the run has no round in vain. What
a thread looks at before a waiting loop it finds as it was when nothing else was certain (`waits.early_looks`): so the
run goes on by the poll that is behind the look, or, if there is none, the look is a read as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.code.live import Live
from axioms.dynamic.core.findings import Open, Party, Stopped
from axioms.dynamic.core.shadow import AGENTS, Access
from axioms.dynamic.waits.early_looks import EarlyLook, early_looks
from axioms.dynamic.waits.gathered import GatheredPolls, comes_to_barrier
from axioms.dynamic.waits.strong_reads import StrongRead
from axioms.dynamic.waits.unrolled import Lead, UnrolledPoll
from axioms.dynamic.waits.waiting import Poll, WrittenBytes, plain
from ptxcore.machine.lower.ops import Code
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.records import NamedTuple, dataclass

#: How often a thread may come to one barrier with the same in its live registers, before it is asked whether it polls there.
_OFTEN = 4


class Polling(NamedTuple):
    """What a run knows of polls, by the identity of instructions: `gathered` are those of whole CTAs; `early`: the looks
    before waiting loops, and where they lead; `executed`: whether some hang on what has been executed, whatever it orders."""

    gathered: frozenset[int] = frozenset()
    early: Mapping[int, EarlyLook] = {}
    executed: bool = False


@dataclass(eq=False)
class _Look:
    """A thread has looked, and has not polled since. `met`: it has come to a barrier of the waiting loop; `others`: where the
    others of its CTA stood at that then, None where they did not come to it."""

    read: StrongRead
    place: WrittenBytes
    to: EarlyLook
    met: bool = False
    others: dict[int, object] | None = None


class Polls:
    """Of one launch."""

    def __init__(self, state: LaunchState, polling: Polling) -> None:
        self._state, self.polling = state, polling
        self._gathered = GatheredPolls()
        self._vain: dict[int, tuple[int, int, object]] = {}
        #: Of each thread that polled in vain by itself last: the bytes, and where it goes on with a value.
        self._in_vain: dict[int, tuple[WrittenBytes, Callable[[int], object]]] = {}
        #: Whether a thread that comes to the same barrier again and again may poll for its CTA; where it came, and how often.
        self.suspects = False
        self._same: dict[int, tuple[object, int]] = {}
        self._looks: dict[int, _Look] = {}
        #: Whether each poll leads threads where it is said here, and by no other argument: so several may be taken for one.
        self.unrolls = False
        #: Of threads that polled in vain, and poll again at another poll that is one with it, where these lead them.
        self._unrolled: dict[int, UnrolledPoll] = {}
        #: Of threads, where they came to a barrier of their CTA last: by which instruction, and with what.
        self._came: dict[int, tuple[int, object]] = {}

    # CTAs that poll as a whole.

    @property
    def holds(self) -> bool:
        """Whether threads wait for others of their CTA since this asks it of them: what does not end then shows nothing."""
        return bool(self._gathered.delayed)

    def is_gathered(self, thread: WatchedThread) -> bool:
        """Whether a thread polls for its whole CTA."""
        return bool(self.polling.gathered) and id(thread.instruction.instruction) in self.polling.gathered

    def lead(
        self, thread: WatchedThread, poll: Poll | None, live: Live, alone: Callable[[int], object]
    ) -> Callable[[int], object]:
        """Where a thread goes on with what it finds, or its CTA; `alone`: where it does so by itself."""
        if poll is None or not self.is_gathered(thread):
            return alone
        return self._gathered.lead(thread, poll, live, alone)

    def through(self, thread: WatchedThread, poll: Poll | None, live: Live, lead: Lead) -> Lead:
        """The same of a thread that polls by itself, where a waiting loop has several polls."""
        if poll is None or not self.unrolls or self.polling.gathered or self.polling.early:
            return lead
        before = self._unrolled.pop(thread.number, None)
        return before if before is not None and before.comes(thread) else UnrolledPoll(thread, poll, live)

    def observed(self, segment: Segment, before: Access, access: Access) -> bool:
        """Whether a thread comes behind a wait that observes a strong write (causality order, section 8.9.5)."""
        if not before.strong or before.kind == "R" or before.thread >= AGENTS:
            return False
        found = self._state.places.get(id(segment), {}).get(before.first)
        if found is None or (found[0], found[1].size) != (before.first, before.size):
            return False
        return found[1].observed(before.thread, before.time, access.thread, self._state.clocks)

    def sleeps(
        self, thread: WatchedThread, segment: Segment, first: int, size: int, lead: Callable[[int], object]
    ) -> None:
        """Raises Asleep where what a thread finds now leads its CTA back."""
        value = segment.read(first, size)
        at = id(segment), first, value
        if self._vain.get(thread.number) == at or (type(value) is int and lead(value) is None):
            self._vain[thread.number] = at
            raise Asleep
        self._vain.pop(thread.number, None)

    def again(
        self, thread: WatchedThread, poll: Poll | None, place: WrittenBytes, leads: Lead, value: int
    ) -> int | None:
        """The block in which a thread polls again, if it has polled in vain."""
        number, block = thread.number, None if poll is None else poll.block
        if isinstance(leads, UnrolledPoll):
            block = leads.again(value)
        elif leads(value) is not None:
            return None
        if block is not None:
            self._in_vain[number] = place, leads
            if isinstance(leads, UnrolledPoll):
                self._unrolled[number] = leads
        return block

    @property
    def may_go_on(self) -> bool:
        """Whether some thread that polled in vain last may find what leads it on in another execution, as far as is known."""
        return bool(self._vain) or any(place.may_lead_on(leads) for place, leads in self._in_vain.values())

    # Looks before waiting loops.

    def looks(self, thread: WatchedThread, access: Access, place: WrittenBytes) -> int | None:
        """What a thread finds that looks before a waiting loop; None where it does not, or nothing determines that. Raises
        Stopped where an earlier look of it, of which no poll came, may find one thing or another."""
        to = self.polling.early.get(id(thread.instruction.instruction))
        if to is None:
            return None
        self.comes_to_nothing(thread.number)
        read = StrongRead(thread.number, access.time, 0, access.strong, _each, thread.instruction)
        place.locate(read, self._state.clocks)
        value = place.base(read)
        if value is not None:
            read.value = value
            self._looks[thread.number] = _Look(read, place, to)
        return value

    def polled(self, thread: WatchedThread, read: StrongRead, place: WrittenBytes) -> bool:
        """A thread goes on behind a poll; whether it is as certain of the same where its look before found what leads on.
        Raises Stopped where it seems to poll in vain for its CTA, which is not known yet."""
        self._in_vain.pop(thread.number, None)
        if self.suspects and not self.is_gathered(thread):
            self._comes_again(thread, read)
        look = self._looks.get(thread.number)
        if look is None or look.place is not place or id(thread.instruction.instruction) not in look.to.polls:
            return True
        del self._looks[thread.number]
        if read.leads(look.read.value) is not None or (look.met and not self._stand_so(thread, look)):
            return False
        look.read.leads, look.read.value = read.leads, read.value
        return place.looked(look.read, read.certain - read.before, self._state.clocks)

    def _stand_so(self, thread: WatchedThread, look: _Look) -> bool:
        """Whether the others of a CTA stand at a barrier as they did when its thread came to the waiting loop: if its look had
        led on there, they would have gone on as they do behind its poll."""
        cta: Any = thread.cta
        return look.others == {other.number: self._came[other.number] for other in cta.threads if other is not thread}

    def arrives(self, thread: WatchedThread) -> None:
        """A thread comes to a barrier of its CTA."""
        if self.polling.early:
            op = thread.instruction
            state = self._state.live_of(thread).before(op, thread.R), plain(thread.carry), len(thread.frames)
            self._came[thread.number] = id(op.instruction), state

    def released(self, cta: Any, arrived: Collection[int]) -> None:
        """Threads have met at a barrier of their CTA."""
        for number in arrived if self._looks else ():
            look = self._looks.get(number)
            if look is not None and not look.met and self._came[number][0] in look.to.barriers:
                look.met = True
                if len(arrived) == len(cta.threads):
                    look.others = {other: self._came[other] for other in arrived if other != number}

    def _comes_again(self, thread: WatchedThread, read: StrongRead) -> None:
        """A thread goes on with what it found. Raises Stopped where it went on just so for some times, to a barrier."""
        where = thread.op, read.value, read.leads(read.value)
        before, often = self._same.get(thread.number, (None, 0))
        self._same[thread.number] = where, often + 1 if before == where else 1
        if before == where and often >= _OFTEN and comes_to_barrier(read, self._state.live):
            raise self._state.leaves(thread, "order")

    def ends(self, numbers: Iterable[int]) -> None:
        """Threads have ended."""
        for number in numbers if self._looks else ():
            self.comes_to_nothing(number)

    def comes_to_nothing(self, number: int) -> None:
        """A thread polls no more behind its look, which was a read as any other. Raises Stopped where that may find one thing
        or another."""
        look = self._looks.pop(number, None)
        if look is not None and not look.place.looked(look.read, frozenset(), self._state.clocks):
            raise Stopped(Open("order", Party(number, look.read.op) if look.read.op is not None else None))


def _each(value: int) -> object:
    """Where a thread goes on with a value of which nothing is known: elsewhere with each."""
    return (value,)


def polled_otherwise(state: LaunchState, codes: Iterable[Code], known: Polling) -> Polling:
    """What may be known more of polls, where one of them ended a run."""
    places = [place for of in state.places.values() for _, place in of.values()]
    if not known.executed and any(place.returns for place in places):
        return known._replace(executed=True)  # which makes nobody wait
    reads = [read for place in places for read in (*place.reads, *place.looks, *([place.open] if place.open else []))]
    found = {id(read.op.instruction) for read in reads if read.op is not None and comes_to_barrier(read, state.live)}
    early = known.early or {look: polls for code in codes for look, polls in early_looks(code).items()}
    return known._replace(gathered=known.gathered | found, early=early)


__all__ = ["Polling", "Polls", "polled_otherwise"]
