"""Phases of mbarrier objects: which operations count in which phase, and what a wait for it comes behind.

A phase is *determinate* where each operation that counts in it follows the end of the phase before, and where it cannot be over
before all of them have come; a wait for it is where its thread knows that the phase before is over, where its phase is not
forgotten before it polls, and where a no leads back to poll again just so. docs/whole-launches/theorem.md has the argument.
"""

from __future__ import annotations

from typing import Any

from axioms.dynamic.asynchronous.agents import Actor, Part
from axioms.dynamic.asynchronous.launch_state import LaunchState
from axioms.dynamic.asynchronous.peeks import Peeks, peeks_of
from axioms.dynamic.asynchronous.products import WarpgroupProducts
from axioms.dynamic.asynchronous.proxies import Proxies
from axioms.dynamic.asynchronous.tensor_order import TensorOrder
from axioms.dynamic.core.clocks import Arrival, Table
from axioms.dynamic.core.findings import Party
from axioms.dynamic.waits.waiting import Copying, Poll
from axioms.dynamic.waits.written import Hand
from ptxcore.isa.form import Use
from ptxcore.isa.mbarrier import (
    LARGEST,
    Contents,
    contents,
    packed,
    test_wait,
    test_wait_parity,
    try_wait,
    try_wait_parity,
)
from ptxcore.machine.lower.liveness import operands_read, reads, writes
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import NamedTuple
from ptxcore.values.terms import signed, sub

#: Bytes of an object.
SIZE = 8
#: The operations of which a wait for their phase learns.
_COUNTED = frozenset(("arrive", "arrive_drop", "complete_tx"))
_BY_PARITY = (test_wait_parity, try_wait_parity)
_SLEEPING = (try_wait, try_wait_parity)
_BY_STATE = (test_wait, try_wait)
#: What leaves a launch without a meaning.
UNSEEN = "an arrival in a phase of an mbarrier object before any wait said that the phase before is over"
AGAIN = "mbarrier.init on a valid mbarrier object"
_TX_BITS = 21
#: Phases of which something may still be asked.
_KEPT = 3


class Counted(NamedTuple):
    """An operation in a phase: `whole` where the phase cannot end without it, whatever came before; `early` where the phase
    might end before it."""

    arrival: Arrival
    parts: tuple[Part, ...]
    whole: bool
    early: bool


class Phase:
    """One phase: its operations, and of each thread that found it over when it did so first and last."""

    def __init__(self) -> None:
        self.counted: list[Counted] = []
        self.waits: dict[int, tuple[int, int]] = {}
        self.expected = 0
        #: What is known by waits of a scope, and what comes of it where they knew something.
        self.tables: dict[str, Table] = {}
        self.merged: dict[tuple[str, int], tuple[Table, Table]] = {}


class PhasedObject:
    """One mbarrier object since its initialisation: `count` phases are over. `added`: arrivals of asynchronous operations that
    are counted when they are announced, and have not come."""

    def __init__(self, place: int, begun: tuple[int, int], maker: Party, cta: int) -> None:
        self.place, self.begun, self.maker, self.cta = place, begun, maker, cta
        self.count = self.added = 0
        #: The last phase in which an asynchronous operation counted.
        self.awaited = -1
        self.phases: dict[int, Phase] = {}
        #: Who knows that it is initialised, and of each thread when it had to do with it last.
        self.familiar: set[int] = set()
        self.users: dict[int, int] = {}

    def phase(self, number: int) -> Phase:
        found = self.phases.get(number)
        if found is None:
            found = self.phases[number] = Phase()
            self.phases.pop(number - _KEPT, None)
        return found


class Phases:
    """The mbarrier objects of a launch."""

    def __init__(self, run: LaunchState, order: TensorOrder, proxies: Proxies, products: WarpgroupProducts) -> None:
        self.run, self.clocks = run, run.clocks
        self._order, self._proxies, self._products = order, proxies, products
        #: By segment and by the number of the 8 bytes.
        self.objects: dict[int, dict[int, PhasedObject]] = {}
        #: Threads that were told no, and might have been told yes in another execution.
        self.unsure: set[int] = set()
        #: Of each thread the last state in which a no leads it back.
        self._again: dict[int, object] = {}
        self._first: dict[int, int] = {}
        self._returned: dict[int, bool] = {}
        #: Who was told no at which instruction, and went on.
        self._gave_up: set[tuple[int, int]] = set()
        #: By function its peeks; by thread and peek, the last one last, the object at which it was, what it found, and what the
        #: thread knew.
        self._of_code: dict[int, Peeks] = {}
        self._peeked: dict[int, dict[int, tuple[PhasedObject, int, Arrival]]] = {}

    def follows(self, arrival: Arrival, other: int, time: int) -> bool:
        """Whether what a thread did at a time has happened before an operation, whatever that may access."""
        return (
            self.clocks.knows(arrival, other, time)
            or self._order.executed(arrival[1], other, time)
            or self._products.multiplied(arrival, other, time)
        )

    def touched(self, thread: WatchedThread, segment: Segment, first: int, size: int) -> None:
        """A thread accesses memory otherwise: never the bytes of an object that is in use."""
        if self.meets(segment, first, size):
            raise self.run.misuses(thread, "overwritten")

    def meets(self, segment: Segment, first: int, size: int) -> bool:
        """Whether some bytes are those of an object that is in use."""
        objects = self.objects[id(segment)]
        return any(place in objects for place in range(first // SIZE, (first + size - 1) // SIZE + 1))

    # Operations.

    def operates(self, thread: WatchedThread, kind: str, how: Use, address: int, write: Write) -> int | None:
        """An operation on an object is about to take place. Gives what a wait finds that is to say no."""
        segment, offset = thread.segment(address)
        if kind == "init":
            self._init(thread, segment, offset)
            return None
        found = self.objects.get(id(segment), {}).get(offset // SIZE)
        old = segment.read(offset, SIZE)
        if found is None or type(old) is not int:
            raise self.run.leaves(thread, "mbarrier")
        agent = self.run.performing
        actor = self._actor(thread, kind, how) if agent is None else agent.actor
        self._familiar(thread, found, actor)
        if kind == "wait":
            return self._wait(thread, how, found, old)
        elif kind == "inval":
            self._inval(thread, segment, found, actor.arrival)
        else:
            self._counts(thread, kind, how, found, actor, (old, write(old)[0]))
        return None

    def _actor(self, thread: WatchedThread, kind: str, how: Use) -> Actor:
        number = thread.number
        if kind == "wait":
            return Actor(number, (number, self.clocks.known[number], self.clocks.own[number]), ())
        arrival = self.clocks.release(number)
        parts = []
        if kind in _COUNTED:
            if how.sem == "release":
                parts.append(Part(self.run.scope_of(how), number, arrival))
            for hand in self.run.fenced.get(number, ()):
                parts.append(Part(hand.scope, hand.thread, (number, hand.table, 0)))
            if how.sem != "release" and (relaxed := self._order.arrival(number)):
                parts.append(Part(self.run.scope_of(how), number, relaxed, relaxed=True))
        return Actor(number, arrival, tuple(parts))

    def _init(self, thread: WatchedThread, segment: Segment, offset: int) -> None:
        objects = self.objects.setdefault(id(segment), {})
        if offset // SIZE in objects:
            raise self.run.misuses(thread, AGAIN)
        self.run.overwrites(thread, segment, offset, SIZE)
        number, _, time = self.clocks.release(thread.number)
        objects[offset // SIZE] = PhasedObject(
            offset // SIZE, (number, time), Party(number, thread.instruction), self.run.owner_of(segment)
        )

    def _inval(self, thread: WatchedThread, segment: Segment, found: PhasedObject, arrival: Arrival) -> None:
        over = found.awaited < 0 or self._over(found, found.awaited, arrival)
        if not (over and all(self.clocks.knows(arrival, *user) for user in found.users.items())):
            self.run.doubts(thread, "mbarrier")
        del self.objects[id(segment)][found.place]
        self.run.overwrites(thread, segment, SIZE * found.place, SIZE)

    def _familiar(self, thread: WatchedThread, found: PhasedObject, actor: Actor) -> None:
        """The initialisation comes before every operation; before those of the asynchronous proxy by a fence."""
        key = ~actor.thread if actor.agent else actor.thread
        if key not in found.familiar:
            if not self._initialised(actor, found):
                raise self.run.misuses(thread, "initialisation", found.maker)
            found.familiar.add(key)
        if actor.agent:
            found.awaited = found.count
        else:
            found.users[actor.thread] = actor.arrival[2]

    def _initialised(self, actor: Actor, found: PhasedObject) -> bool:
        if actor.agent:
            return self._proxies.initialised(actor, *found.begun, found.cta)
        return self.clocks.knows(actor.arrival, *found.begun) or self._proxies.knows_initialised(
            actor.arrival[1], *found.begun
        )

    def _counts(
        self, thread: WatchedThread, kind: str, how: Use, found: PhasedObject, actor: Actor, states: tuple[Any, Any]
    ) -> None:
        """An operation counts in the current phase, which may end with it."""
        now, after = map(contents, states)
        number, arrival = found.count, actor.arrival
        arrives = kind in ("arrive", "arrive_drop")
        if number and arrives and not found.phase(number - 1).waits:
            raise self.run.misuses(thread, UNSEEN)
        doubtful = type(now.expected) is not int or not now.expected or states[0] == states[1]
        doubtful = doubtful or (number > 0 and not self._over(found, number - 1, arrival))
        if doubtful or (arrives and not actor.agent and not self._for_waits(thread)):
            self.run.doubts(thread, "mbarrier")
        phase = found.phase(number)
        announced = arrives and actor.agent and found.added > 0
        found.added += (kind == "increment") - announced
        early = kind in ("expect_tx", "increment") or bool(how.words.get("noComplete"))
        hands = actor.hands
        if actor.agent:  # its completion counts as one in the CTA that has the object (section 9.7.9.25.1)
            hands = tuple(part._replace(thread=found.cta * self.clocks.size) for part in hands)
        phase.counted.append(Counted(arrival, hands, arrives and not announced, early))
        phase.expected += _more(now, after)
        if after.phase != now.phase:
            self._ends(thread, found, phase)

    def _for_waits(self, thread: WatchedThread) -> bool:
        """Whether nobody but waits takes what an arrival returns, in which pending arrivals are told."""
        known = self._returned.get(thread.op)
        if known is None:
            functions, op = thread.launch.program.functions.values(), thread.instruction
            code = next(c for c in functions if any(o is op for o in c.ops))
            known = self._returned[thread.op] = _only_waits(code, op)
        return known

    def _over(self, found: PhasedObject, number: int, arrival: Arrival) -> bool:
        """Whether somebody found a phase over before an operation."""
        waits = found.phase(number).waits
        own = waits.get(arrival[0])
        if own is not None and own[0] <= arrival[2]:
            return True
        return any(self.follows(arrival, other, first) for other, (first, _) in waits.items())

    def _ends(self, thread: WatchedThread, found: PhasedObject, phase: Phase) -> None:
        """A phase is over: nothing that counted in it could have come behind its end, and nobody comes too late to see the
        end of the one before."""
        counted = phase.counted
        whole = [c for c in counted if c.whole]
        safe = phase.expected <= LARGEST and not found.added
        for c in counted:
            if c.early:
                safe = safe and any(other is not c and self._before(c.arrival, other.arrival) for other in whole)
        for other, (_, last) in found.phase(found.count - 1).waits.items():
            safe = safe and any(self.follows(c.arrival, other, last) for c in counted)
        if not safe:
            self.run.doubts(thread, "mbarrier")
        found.count += 1

    def _before(self, one: Arrival, other: Arrival) -> bool:
        return self.clocks.knows(other, one[0], one[2])

    # Waits.

    def _wait(self, thread: WatchedThread, how: Use, found: PhasedObject, old: int) -> int | None:
        number, clocks = thread.number, self.clocks
        ready, refusing = _answer(thread, how, old)
        if ready is None:
            raise self.run.leaves(thread, "mbarrier")
        peeks = self._peeks(thread)
        if id(thread.instruction) in peeks.peeks:
            arrival = number, clocks.known[number], clocks.own[number]
            self._peeked.setdefault(number, {}).pop(id(thread.instruction), None)  # the last one stands last
            self._peeked[number][id(thread.instruction)] = found, refusing, arrival
            thread.insists = True
            return refusing
        sleeps = not ready and how.form.run in _SLEEPING and not thread.insists
        if self.run.gives_up and self._goes_on(thread, how, found, refusing, ready=ready):
            return refusing
        if not sleeps and not self._polls_again(thread, refusing):
            self.run.doubts(thread, "mbarrier")
        if not ready:
            if found.count and not self._over(
                found, found.count - 1, (number, clocks.known[number], clocks.own[number])
            ):
                self.unsure.add(number)
            return None
        self.unsure.discard(number)
        over, now = found.count - 1, clocks.own[number]
        if over > 0 and not self._over(found, over - 1, (number, clocks.known[number], now)):
            self.run.doubts(thread, "mbarrier")
        phase = found.phase(over)
        first, _ = phase.waits.get(number, (now, now))
        phase.waits[number] = first, now
        self.run.waits += 1
        if not self._same(number, peeks.behind.get(id(thread.instruction), frozenset()), found, refusing):
            self.run.doubts(thread, "mbarrier")
        if over >= 0:
            self._learn(number, how, phase)
        return None

    def _goes_on(self, thread: WatchedThread, how: Use, found: PhasedObject, refusing: int, *, ready: bool) -> bool:
        """Whether a thread that may wait is told no, and goes on: where it does not know that the phase is over, so that it may
        have come before, and where the no does not lead it back. Once at each instruction, since it may count how often."""
        number, key = thread.number, (thread.number, thread.op)
        if how.form.run not in _SLEEPING or thread.insists or key in self._gave_up:
            return False
        over = found.count - 1
        arrival = number, self.clocks.known[number], self.clocks.own[number]
        if (ready and (over < 0 or self._over(found, over, arrival))) or self._polls_again(thread, refusing):
            return False
        self._gave_up.add(key)
        self.run.doubts(thread, "mbarrier")
        thread.insists = True
        return True

    def _peeks(self, thread: WatchedThread) -> Peeks:
        """The peeks of the function that a thread executes."""
        code, _ = thread.launch.compiled.compiler.place_of(thread.instruction)
        if id(code) not in self._of_code:
            self._of_code[id(code)] = peeks_of(code)
        return self._of_code[id(code)]

    def _same(self, number: int, peeks: frozenset[int], found: PhasedObject, refusing: int) -> bool:
        """Whether a thread that has waited had polled for the end of the same phase, by the last of some peeks, and knew that
        the one before was over."""
        if not peeks:
            return True
        last = next((p for peek, p in reversed(self._peeked.get(number, {}).items()) if peek in peeks), None)
        if last is None:
            return False
        before, refused, arrival = last
        over = found.count - 1
        known = over <= 0 or self._over(found, over - 1, arrival)
        return before is found and contents(refused).phase == contents(refusing).phase and known

    def _learn(self, number: int, how: Use, phase: Phase) -> None:
        """Who waited synchronizes with all that counted in the phase, in each other's scope."""
        clocks, scope = self.clocks, self.run.scope_of(how)
        acquires = how.sem == "acquire"
        left: list[Part] = []
        if acquires:
            table = phase.tables.get(scope)
            if table is None:
                parts = [p for c in phase.counted for p in c.parts if self._meets(p, scope, number)]
                table = phase.tables[scope] = clocks.join([p.arrival for p in parts])
            known = clocks.known[number]
            before, merged = phase.merged.get((scope, id(known)), (None, table))
            if before is not known:
                merged = clocks.join([(number, known, 0), (number, table, 0)])
                phase.merged[scope, id(known)] = known, merged
            clocks.known[number] = merged
        else:
            met = [p for c in phase.counted for p in c.parts if self._meets(p, scope, number)]
            self._order.hears(number, [p.arrival[1] for p in met])
        parts = [p for c in phase.counted for p in c.parts if not p.relaxed]
        left = [p for p in parts if not (acquires and self._meets(p, scope, number))]
        if left:
            self.run.partly = True
            self.run.offers(number, [(Hand(clocks.join([p.arrival]), p.scope, p.thread), scope) for p in left])

    def _meets(self, part: Part, scope: str, number: int) -> bool:
        within = self.clocks.within
        return within(part.scope, part.thread, number) and within(scope, part.thread, number)

    def _polls_again(self, thread: WatchedThread, refusing: int) -> bool:
        """Whether a no leads the thread back to poll again, with nothing changed."""
        compiled = thread.launch.compiled
        if not self._first:
            self._first = {id(code.ops[at]): b for b, (code, at) in enumerate(compiled.begins) if at < len(code.ops)}
        block = self._first.get(id(thread.instruction))
        if block is None:
            return False
        live = self.run.live_of(thread)
        state = block, refusing, live.of(block, thread.R)
        if self._again.get(thread.number) == state:
            return True
        found = Poll(thread, block).leads(live, thread.op, refusing, _Refused) is None
        if found:
            self._again[thread.number] = state
        return found


class _Refused(Copying):
    """A copy of a thread that is told no: `answer` is what it finds in the object."""

    __slots__ = ()

    def modify(self, kind: str, how: Use, address: int, write: Write) -> Any:
        if kind != "wait":
            self.ended()
        self.watcher.reads(self, address, SIZE)
        return self.answer

    def pause(self, how: Use, ready: int) -> int:  # type: ignore[override]
        return ready


def _answer(thread: WatchedThread, how: Use, old: int) -> tuple[bool | None, int]:
    """Whether a wait says yes, and contents of the object with which it says no; None where nobody knows."""
    source = thread.instruction.sources[1]
    value = None if source is None else thread.value(source)
    now = contents(old)
    if type(value) is not int or type(now.phase) is not int:
        return None, old
    if how.form.run in _BY_PARITY:
        return (now.phase ^ value) & 1 != 0, _with(old, value & 1)
    phase = contents(value).phase
    return now.phase != phase, _with(old, phase)


def _with(old: int, phase: Any) -> int:
    found = packed(contents(old)._replace(phase=phase))
    assert type(found) is int
    return found


def _more(now: Contents, after: Contents) -> int:
    """How many bytes an operation expects more."""
    more = sub(after.transactions, now.transactions, _TX_BITS)
    return max(0, signed(more, _TX_BITS)) if type(more) is int else LARGEST


def _only_waits(code: Code, op: Op) -> bool:
    """Whether what an arrival returns goes nowhere but to waits, as their state."""
    carried = set(writes(op))
    size = -1
    while size != len(carried):
        size = len(carried)
        for other in code.ops:
            if carried.isdisjoint(reads(other)):
                continue
            if other.use.form.mnemonic == "mov":
                carried.update(writes(other))
            elif other.use.form.run not in _BY_STATE or not carried.isdisjoint(_besides(other)):
                return False
    return carried.isdisjoint(r.slot for r in code.results)


def _besides(wait: Op) -> list[int]:
    """The registers that a wait reads besides the state."""
    source = wait.sources[1]
    state = source.value if source is not None and source.kind == "register" else -1
    return [slot for slot in reads(wait) if slot != state or operands_read(wait).count(slot) > 1]


__all__ = ["SIZE", "Phases"]
