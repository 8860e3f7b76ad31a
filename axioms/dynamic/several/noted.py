"""What one of several runs notes of bytes that strong operations access, and of the operations whose order is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from axioms.dynamic.core.clocks import Clocks, Table
from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.several.cycles import FollowingOperation
from axioms.dynamic.several.plan import Bytes, Name, Takers
from axioms.dynamic.waits.strong_reads import StrongRead
from axioms.dynamic.waits.waiting import Poll, WrittenBytes
from axioms.dynamic.waits.written import Hand
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import dataclass


class Again(BaseException):
    """More is known of some bytes than before: the runs begin again. No `Exception`, so that nothing between catches it."""


@dataclass(eq=False, slots=True)
class OpenOperation:
    """An operation whose order, or whose source, is open. `kind`: `update` and `store` write, `read` does not, a `taker` is an
    operation of which only the position tells. `before`: the operations that its thread came behind, as bits, without what it
    found; `past` with that and with itself. `fenced`: what a `fence.sc` comes behind that is behind who observes it."""

    name: Name
    spot: OpenBytes
    kind: str
    bit: int
    before: int
    past: int = 0
    found: int = 0
    after: int = 0
    source: int = -1
    floor: int = -1
    round: int = 0
    position: int = 0
    strong: str = ""
    time: int = 0
    hands: tuple[Hand, ...] = ()
    fenced: Table = field(default_factory=dict)
    lead: Callable[[int], object] | None = None
    write: Write | None = None
    step: FollowingOperation | None = None
    at: int = -1  # the number of the instruction
    #: The instruction, its scope, and what its thread knew.
    does: Op | None = None
    scope: str = ""
    known: Table = field(default_factory=dict)
    #: Of a taker: where its thread began to poll, by which instruction, the scopes in which it hands on all that came before,
    #: and whether all that it conflicts with is ordered before it, whatever it finds.
    poll: Poll | None = None
    op: Op | None = None
    released: frozenset[str] = frozenset()
    alone: bool = False

    def __post_init__(self) -> None:
        self.past = self.before

    def again(self, value: int) -> bool:
        """Whether it leads its thread back to try again with a value that it finds, and nothing else comes of it."""
        return self.lead is not None and self.lead(value) is None and not self._alters(value)

    def changes(self, value: int) -> bool:
        """Whether it writes, and is no mere attempt, with a value that it finds."""
        return self.write is None or (bool(self.write(value)[1]) and not self.again(value))

    def _alters(self, value: int) -> bool:
        if self.write is None:
            return False
        written, writes = self.write(value)
        return bool(writes) and written & ((1 << 8 * self.spot.name.size) - 1) != value


@dataclass(eq=False, slots=True)
class OpenBytes:
    """Some bytes. `order`: what wrote them, where each order is a way of its own; `alike`: whether all atomic operations since
    the last plain write do the same, `function`, and `uniform`, whether all so far do, `always`; `earlier`: the last taker of
    the round before, if no store ended it; `marks`: what came before each write that `place` knows; `seen`: for each thread
    which of the writes it found, or made, and when first: a thread finds none before one that it knows."""

    name: Bytes
    mode: str
    place: WrittenBytes
    segment: Segment
    first: int
    order: list[OpenOperation] = field(default_factory=list)
    takers: list[OpenOperation] = field(default_factory=list)
    earlier: OpenOperation | None = None
    strong: list[tuple[int, str]] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    seen: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    released: dict[int, tuple[Hand, ...]] = field(default_factory=dict)
    rounds: int = 0
    alike: bool = True
    function: object = None
    always: object = None
    uniform: bool = True

    def does(self, function: object) -> None:
        """An atomic operation does something, None where that hangs on what it finds."""
        self.alike = self.alike and function is not None and self.function in (None, function)
        self.uniform = self.uniform and function is not None and self.always in (None, function)
        self.function = self.always = function

    def is_stored(self) -> None:
        """A plain write ends the round."""
        self.rounds += 1
        self.takers, self.earlier = [], None
        self.alike, self.function = True, None

    def value_at_first(self) -> int:
        """What stands there before any write. Raises Stopped where nothing determines it."""
        if self.place.first is None:
            raise Stopped(Open("unknown"))
        return self.place.first

    def sources(self) -> range:
        """The numbers of all writes that determine what stands there; -1 where the first value does."""
        return range(-1 if self.place.first is not None else 0, len(self.order))

    def after(self, source: int) -> int:
        """What stands there behind one of the writes; -1 is before the first."""
        return self.value_at_first() if source < 0 else self.order[source].after

    def floor(self, thread: int, clocks: Clocks) -> int:
        """The last write that a thread cannot come before: who found it is ordered before what the thread does now."""
        floor = -1
        for other, found in self.seen.items():
            for time, number in reversed(found):
                if number <= floor:
                    break
                if clocks.ordered(thread, other, time):
                    floor = number
                    break
        return floor

    def saw(self, thread: int, time: int, number: int) -> None:
        """Notes that a thread found, or made, a write."""
        found = self.seen.setdefault(thread, [])
        if not found or found[-1][1] < number:
            found.append((time, number))


@dataclass(eq=False, slots=True)
class Quiet:
    """An atomic operation that should go on equally, whatever it finds."""

    thread: WatchedThread
    spot: OpenBytes
    read: StrongRead
    write: Write | None

    def determinate(self, clocks: Clocks) -> bool:
        """Whether it does, with all other writes of the run."""
        values = self.spot.place.possible(self.read, clocks)
        if values is None and self.write is not None and self.spot.uniform:
            values = self._repeated()
        if values is None:
            return False
        wanted = self.read.leads(self.read.value)
        return wanted is not None and all(self.read.leads(value) == wanted for value in values)

    def _repeated(self) -> set[int]:
        """What stands there after any number of operations alike, behind any plain write."""
        place, found = self.spot.place, set()
        assert self.write is not None
        mask = (1 << 8 * place.size) - 1
        for value in {self.spot.value_at_first(), *(w.value & mask for w in place.writes if w.kind == "store")}:
            now = value
            for _ in place.writes:
                found.add(now)
                now = self.write(now)[0] & mask
        return found


def takers_of(takers: Sequence[OpenOperation]) -> Takers | None:
    """What is known of operations that all do the same, after a run; None where one of them tries again, or too many positions
    tell."""
    values = [taker.found for taker in takers]
    telling = set()
    for taker in takers:
        assert taker.lead is not None
        ways = [taker.lead(value) for value in values]
        if None in ways:
            return None
        usual, _ = Counter(ways).most_common(1)[0]
        telling |= {position for position, way in enumerate(ways) if way != usual}
    return Takers(len(takers), frozenset(telling)) if 2 * len(telling) <= len(takers) else None


def branches(ways: Iterable[object]) -> bool:
    """Whether a thread goes to several places, or back, and so all that it does next depends on what it found."""
    return len({place_of(way) for way in ways}) > 1


def place_of(way: object) -> object:
    """The place in the code that a way leads to, whatever else it leads to."""
    if not isinstance(way, tuple):
        return way
    return way[:2] if way and isinstance(way[0], str) else way[:1]
