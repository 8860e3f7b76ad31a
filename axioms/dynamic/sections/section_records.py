"""What a run notes of locks, of the bytes that they guard, and of critical sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from axioms.dynamic.core.findings import Party
from axioms.dynamic.sections.attempts import Attempt
from axioms.dynamic.sections.ticket_locks import DrawnNumber
from axioms.dynamic.sections.updates_in_sections import Update, commute
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.terms import Value

#: A byte, the same in all runs: the CTA whose shared memory it is (-1: `.global`), and the offset or address.
Byte = tuple[int, int]
#: Some bytes: the first one and their number.
Place = tuple[Byte, int]


class Past(NamedTuple):
    """Sections that begin before something, as bits: `needed`, where it comes if they and all else that it waits for have come;
    `begun`, those that have begun wherever it has come."""

    needed: int = 0
    begun: int = 0

    def and_behind(self, other: Past) -> Past:
        """Of what comes behind both."""
        return Past(self.needed | other.needed, self.begun | other.begun)


#: Of what no section comes before.
NOTHING = Past()


class GuardedBytes:
    """What a first run has shown: `locks`, the places that are locks; `lock_of`, of each guarded byte the lock."""

    def __init__(self) -> None:
        self.locks: set[Place] = set()
        #: Of locks that are tickets, by what is served the counter from which numbers are drawn.
        self.counter_of: dict[Place, Place] = {}
        self.lock_of: dict[Byte, Place] = {}
        #: Guarded bytes of which the order of sections decides what they leave there.
        self.hanging: set[Byte] = set()
        #: Bytes that are accessed at addresses which hang on what sections found, and written in sections: what stands there is
        #: known of none. And the addresses to which each thread may be led by each instruction, by its identity.
        self.led: set[Byte] = set()
        self.reached: dict[tuple[int, int], set[int]] = {}
        self._may_be_led: set[Byte] = set()
        self._touched: dict[Byte, dict[frozenset[Place], set[int]]] = {}
        self._written: set[Byte] = set()

    def touch(self, byte: Byte, locks: frozenset[Place], thread: int, *, writes: bool) -> None:
        """A thread accesses a byte in sections of some locks."""
        self._touched.setdefault(byte, {}).setdefault(locks, set()).add(thread)
        if writes:
            self._written.add(byte)

    def leads(self, byte: Byte, lock: Place, thread: int, *, writes: bool) -> None:
        """A thread may be led to a byte in a section of a lock."""
        self.touch(byte, frozenset((lock,)), thread, writes=writes)
        self._may_be_led.add(byte)

    def close(self) -> bool:
        """A run is over: says which bytes are guarded; whether that are others than before. Those that are not accessed
        under one lock always are not."""
        before, self.lock_of = (self.lock_of, self.led), {}
        self.led = self._may_be_led & self._written
        for byte in self._written:
            of = self._touched[byte]
            if (locks := frozenset.intersection(*of)) and (len(set().union(*of.values())) > 1 or byte in self.led):
                self.lock_of[byte] = min(locks)
        return (self.lock_of, self.led) != before


@dataclass(eq=False)
class SectionLock:
    """A lock: what stands there when it is free, and what those have put there who took it; `attempts`: who tried."""

    number: int
    free: int
    owner: LockedSection | None = None
    values: set[int] = field(default_factory=set)
    attempts: list[tuple[Attempt, Party]] = field(default_factory=list)
    sections: list[LockedSection] = field(default_factory=list)


@dataclass(eq=False)
class LedAccess:
    """An access of a section to some bytes at an address that may hang on what the section found (`address`, in terms of that):
    by an instruction of a thread, where branches were `told` so; what is written there, or the symbol for what is found.
    `at`: the addresses to which the run takes it to be led."""

    thread: WatchedThread
    op: Op
    kind: str
    address: Value
    size: int
    value: Value | None
    told: tuple[tuple[Value, bool], ...]
    at: frozenset[int]

    @property
    def key(self) -> tuple[int, int]:
        """Who it is of: the same in all runs."""
        return self.thread.number, id(self.op)


@dataclass(eq=False)
class LockedSection:
    """All that a thread, the `holder`, and those that it has met do from taking a lock to giving it back. `acquired`,
    `released`: the scopes in which it acquires and releases; `fenced`: how many of its accesses come before the last fence
    that releases, and its scope; `before`: the sections that begin before it; `found`, `left`: what it found at
    guarded places, and what it leaves there; `led`: its accesses to bytes at addresses that hang on what is found;
    `outer`: that within which it began; `attempt`, `put`: by which attempt the lock was taken, and what that put there;
    `counted_back`: it was given back by subtracting one; `number_drawn`: of a lock that is tickets."""

    lock: SectionLock
    place: Place
    number: int
    holder: int
    party: Party
    before: Past
    acquired: str = ""
    released: str = ""
    number_drawn: DrawnNumber | None = None
    fenced: tuple[int, str] = (-1, "")
    members: set[int] = field(default_factory=set)
    joined: bool = False
    accesses: list[tuple[int, int]] = field(default_factory=list)
    found: dict[Place, Varying] = field(default_factory=dict)
    left: dict[Place, tuple[Segment, int, int | Varying]] = field(default_factory=dict)
    led: list[LedAccess] = field(default_factory=list)
    outer: LockedSection | None = None
    attempt: Attempt | None = None
    put: int = -1
    counted_back: bool = False

    def all(self) -> Iterator[LockedSection]:
        """It, and those within which it is."""
        section: LockedSection | None = self
        while section is not None:
            yield section
            section = section.outer

    def held(self, lock: Place | None) -> LockedSection | None:
        """That of a lock."""
        return next((section for section in self.all() if section.place == lock), None)

    @property
    def locks(self) -> frozenset[Place]:
        """The locks that are held."""
        return frozenset(section.place for section in self.all())


@dataclass(eq=False)
class PlaceUpdates:
    """What sections leave at a guarded place of a segment."""

    segment: Segment
    first: int
    updates: list[Update] = field(default_factory=list)


def hanging_in(left: Mapping[Place, PlaceUpdates]) -> set[Byte]:
    """The bytes of which the order of sections decides what they leave there."""
    hanging = [place for place, of in left.items() if not commute(of.updates)]
    return {(cta, at + i) for (cta, at), size in hanging for i in range(size)}


def is_in_circle(lock: Place, after: Iterable[tuple[Place, Place]]) -> bool:
    """Whether a lock is one of several each of which is taken by who holds the one before."""
    seen: set[Place] = set()
    waiting = [lock]
    while waiting:
        one = waiting.pop()
        more = {other for before, other in after if before == one} - seen
        seen |= more
        waiting += more
    return lock in seen


__all__ = [
    "NOTHING",
    "Byte",
    "GuardedBytes",
    "LedAccess",
    "LockedSection",
    "Past",
    "Place",
    "PlaceUpdates",
    "SectionLock",
    "hanging_in",
    "is_in_circle",
]
