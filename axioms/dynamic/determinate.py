"""Whether one run stands for all executions: what threads do is checked while it happens.

It does where each pair of conflicting accesses is ordered (or of atomic operations that commute), each instance of a barrier
has the threads that it must have, and nothing else is left open: docs/whole-launches.md has the theorem. The first thing that
is not so ends the run: a race, or something that is `Open`, of which this way knows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from axioms.dynamic.clocks import Arrival, Clocks
from axioms.dynamic.shadow import CONSTANT, Access, Shadow
from ptxcore.clock import OutOfTime, tick
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS, SHARED, SHARED_BITS, WINDOW_BITS
from ptxcore.machine.lower.ops import Op, Program, Target
from ptxcore.machine.run.watched import WatchedThread

#: Below lie the state spaces but `.global`.
_WINDOWS = 1 << GLOBAL_BITS
_OFFSET = (1 << WINDOW_BITS) - 1
_SHARED_OFFSET = (1 << SHARED_BITS) - 1
#: Atomic operations of integers whose order decides nothing but what they return.
_COMMUTE = frozenset(("add", "and", "or", "xor", "min", "max"))
#: Semantics by which an access may order others.
_ORDERING = frozenset(("acquire", "release", "acq_rel", "sc"))
#: Instructions that access memory by elements as wide as they say.
_SCALARS = frozenset(("ld", "st"))
#: Accesses that are one step of the work.
_LOOK = 16


class Party(NamedTuple):
    """Who does something: the thread by its number, the instruction."""

    thread: int
    op: Op


class Race(NamedTuple):
    """Two conflicting accesses that nothing orders: `where` is the segment, bytes `first` to `last` of it."""

    before: Party
    after: Party
    where: str
    first: int
    last: int


class Open(NamedTuple):
    """What this way does not decide: `what` names it (a key of `ptxmm.report.whole.OPEN`)."""

    what: str
    party: Party | None = None


class Stopped(BaseException):
    """The run need not go on: `why` tells. No `Exception`, so that nothing between catches it."""

    def __init__(self, why: Race | Open) -> None:
        super().__init__(why)
        self.why = why


def step(*_: object) -> None:
    """A step of the work. Raises Stopped when its time is over."""
    try:
        tick()
    except OutOfTime:
        raise Stopped(Open("time")) from None


class Instance(NamedTuple):
    """The last instance of a barrier that was complete: who arrived, and who of them waited."""

    arrivals: tuple[Arrival, ...]
    waited: frozenset[int]


class Determinate:
    """Watches one launch (`ptxcore.machine.run.watched.Watcher`). `accesses` and `meetings` count what was checked.

    `exact`: nothing so far could order accesses but program order and barriers, so that what is unordered here is so in the
    model; else it may only seem so.
    """

    def __init__(self, size: int) -> None:
        """`size`: the threads of a CTA."""
        self.clocks = Clocks(size)
        self.size = size
        #: By the identity of a segment of memory, which lasts as long as this says something of it.
        self.shadows: dict[int, Shadow] = {}
        self.arrived: dict[tuple[int, int], list[tuple[Arrival, bool]]] = {}
        self.counts: dict[tuple[int, int], int | None] = {}
        self.last: dict[tuple[int, int], Instance] = {}
        self.masks: dict[int, int] = {}
        self.accesses = self.meetings = 0
        self.exact = True
        #: A value that nothing determines was met: nothing is settled, but a race that comes up is one.
        self.unknown: Open | None = None
        #: By the number of an instruction, what its accesses are.
        self._strong: dict[int, str] = {}
        self._commutes: dict[int, str] = {}
        self._commuted = False

    @property
    def commuted(self) -> bool:
        """Whether some atomic operations may come in any order."""
        return self._commuted or any(shadow.commuted for shadow in self.shadows.values())

    # Threads.

    def enters(self, cta: Any) -> int:
        return self.clocks.enter()

    def ends(self, cta: Any) -> None:
        shadow = self.shadows.pop(id(cta.shared), None)
        self._commuted = self._commuted or (shadow is not None and shadow.commuted)

    def _party(self, thread: WatchedThread) -> Party:
        return Party(thread.number, thread.instruction)

    def _open(self, thread: WatchedThread, what: str) -> Stopped:
        return Stopped(Open(what, Party(thread.number, thread.launch.running() or thread.instruction)))

    # Accesses.

    def reads(self, thread: WatchedThread, address: int, size: int) -> None:
        self._access(thread, "R", address, size)

    def writes(self, thread: WatchedThread, address: int, size: int) -> None:
        self._access(thread, "W", address, size)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int) -> None:
        commutes = self._commutes.get(thread.op)
        if commutes is None:
            whole = how.type[:1] in ("u", "s", "b") and how.op in _COMMUTE
            dropped = whole and results_unused(thread.launch.program, thread.instruction)
            commutes = self._commutes[thread.op] = f"{how.op}.{how.type}" if dropped else ""
        self._access(thread, "A", address, size, commutes)

    def _access(self, thread: WatchedThread, kind: str, address: int, size: int, commutes: str = "") -> None:
        if address < _WINDOWS:
            if address & ~_OFFSET != SHARED:
                return  # the thread's own, or constant
            if address & ~_SHARED_OFFSET != thread.shared:
                raise self._open(thread, "cluster")  # whose CTA may have ended
        self.accesses += 1
        if not self.accesses % _LOOK:
            step()
        strong = self._scope_of(thread)
        segment, first = thread.segment(address)
        shadow = self.shadows.get(id(segment))
        if shadow is None:
            shadow = self.shadows[id(segment)] = Shadow(self.clocks, segment.name)
        number = thread.number
        access = Access(number, self.clocks.own[number], thread.op, kind, strong, first, size, commutes)
        before = (shadow.read if kind == "R" else shadow.write if kind == "W" else shadow.update)(access)
        if before is not None:
            raise Stopped(self._conflict(thread, before, access, shadow.name))

    def _scope_of(self, thread: WatchedThread) -> str:
        """The scope of a strong access, empty of a weak one; refuses those that this way does not know."""
        known = self._strong.get(thread.op)
        if known is not None:
            return known
        use = thread.instruction.use
        if use.proxy != "generic" and not (use.proxy == "texture" and use.form.mnemonic == "ld"):
            raise self._open(thread, "proxy")
        if use.sem in _ORDERING:
            self.exact = False
            raise self._open(thread, "ordering")
        strong = "" if use.sem == "weak" else use.scope or "sys"
        if use.proxy == "texture" or use.form.mnemonic == "ldu":
            strong = CONSTANT
        self._strong[thread.op] = strong
        return strong

    def _conflict(self, thread: WatchedThread, before: Access, access: Access, where: str) -> Race | Open:
        """What an unordered conflict is: a race of the model, where nothing but barriers orders accesses so far, and both are
        weak and of one size, element by element."""
        party = self._party(thread)
        other = Party(before.thread, thread.launch.compiled.ops[before.op])
        if before.strong or access.strong:
            return Open("order", party)
        same = (before.first, before.size) == (access.first, access.size) and _alike(other.op, party.op)
        if not self.exact or not same:
            return Open("unordered", party)
        return Race(other, party, where, access.first, access.first + access.size - 1)

    # Threads together.

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        if level != "cta":
            raise self._open(thread, "cluster")
        number = thread.number
        key = number // self.size, identity
        before = self.last.get(key)
        if before is not None and number not in before.waited:
            ordered = self.clocks.ordered
            if not all(ordered(number, other, time) for other, _, time in before.arrivals):
                raise self._open(thread, "instance")
        come = self.arrived.setdefault(key, [])
        if come and self.counts[key] != count:
            raise self._open(thread, "counts")
        self.counts[key] = count
        come.append((self.clocks.release(number), waits))

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        if not whole:
            raise Stopped(Open("instance"))
        number = next(iter(cta.threads)).number
        key = number // self.size, identity
        come = self.arrived.pop(key)
        arrivals = tuple(arrival for arrival, _ in come)
        waited = frozenset(arrival[0] for arrival, waits in come if waits)
        self.clocks.acquire(waited, self.clocks.join(arrivals))
        self.last[key] = Instance(arrivals, waited)
        self.meetings += 1

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        self.meetings += 1
        if not masked:
            op = threads[0].launch.running()
            raise Stopped(Open("unmasked", Party(threads[0].number, op) if op else None))
        if how.form.mnemonic == "bar":
            arrivals = [self.clocks.release(thread.number) for thread in threads]
            self.clocks.acquire([a[0] for a in arrivals], self.clocks.join(arrivals))

    def left_open(self, lane: int) -> int:
        raise Stopped(Open("unknown"))

    def other(self, thread: WatchedThread, what: str, how: Use | None = None) -> None:
        if what == "fence":
            self.exact = False
            return
        if what == "unknown":
            self.unknown = self.unknown or Open(what)
            return
        raise self._open(thread, what)


def _alike(a: Op, b: Op) -> bool:
    """Whether two instructions that access the same bytes access the same elements: vectors do so one by one."""
    return {a.use.form.mnemonic, b.use.form.mnemonic} <= _SCALARS and a.use.width == b.use.width


def results_unused(program: Program, op: Op) -> bool:
    """Whether no instruction of its function reads a register that an instruction writes."""
    written = {target.slot for target in op.targets if isinstance(target, Target)}
    if not written:
        return all(target is None for target in op.targets)
    code = next(c for c in program.functions.values() if any(o is op for o in c.ops))
    read = {result.slot for result in code.results if result.slot is not None}
    for o in code.ops:
        waiting = [s for s in o.sources if s is not None]
        if o.call is not None:
            waiting += [s for s in (o.call.pointer, *(a.source for a in o.call.arguments)) if s is not None]
        while waiting:
            source = waiting.pop()
            waiting += source.parts
            if source.kind == "register":
                read.add(source.value)
        if o.guard is not None:
            read.add(o.guard[0])
    return written.isdisjoint(read) and all(target is None or isinstance(target, Target) for target in op.targets)
