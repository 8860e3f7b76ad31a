"""Tickets, and what is noted of accesses by them: in the run, and in the ways that threads may go from a branch on.

What holds of tickets is said in `tickets.slots`, of ways in `tickets.errands`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Any

from axioms.dynamic.core.clocks import Table
from axioms.dynamic.core.findings import Party
from axioms.dynamic.tickets.claims import ClaimedBytes, ClaimOperation, Heard
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.records import dataclass
from ptxcore.values.terms import Term, Value


@dataclass(eq=False)
class Counter:
    """Bytes to which threads add, between two writes by anything else: what they held before the first addition, and how
    much is added in all. `taken`: where results are used."""

    segment: Segment
    first: int
    size: int
    start: int
    total: int = 0
    taken: list[Party] = field(default_factory=list)
    #: What all additions are multiples of.
    unit: int = 0
    #: Whether nobody adds to them in the run.
    alone: bool = False

    def last(self, ticket: Ticket) -> int:
        """The greatest number with which a ticket may begin."""
        return max(self.start, self.start + self.total - ticket.addend)


@dataclass(frozen=True, eq=False)
class Ticket:
    """The interval that an addition takes, of `addend` numbers; the first one is a symbol, and `number` in the run."""

    symbol: Term
    counter: Counter
    addend: int
    number: int


@dataclass
class TicketAccess:
    """Where an access is by tickets: `beyond` an address of which the term tells, its number in the run, the address at which
    the segment begins, and the bytes that the whole instruction accesses."""

    term: Value
    beyond: int
    number: int
    base: int
    whole: int
    party: Party


@dataclass(slots=True, eq=False)
class Noted:
    """An access of the run: kind and scope as of `core.shadow.Access`, and what was known to its thread. `is_open`:
    what it finds is taken for open. `counter`: it adds `addend` to one."""

    kind: str
    strong: str
    segment: Segment
    first: int
    size: int
    thread: int
    time: int
    known: Table
    is_open: bool = False
    counter: Counter | None = None
    addend: int = 0
    placed: TicketAccess | None = None
    number: float = 0
    op: Op | None = None
    value: int | None = None
    claim: ClaimOperation | None = None
    #: Of an errand: the way of it that has this access.
    way: Way | None = None
    #: It publishes what a winner has prepared in these bytes, or looks for that: where its thread goes on with what it finds,
    #: and whether it only looks again.
    about: ClaimedBytes | None = None
    leads: Callable[[int], object] | None = None
    in_vain: bool = False
    #: The run has not held it against others: it may be of an errand.
    in_errand: bool = False
    #: It reads the head or a link of a list on a walk, of which the order does not matter.
    walks: bool = False

    def is_of(self, place: ClaimedBytes) -> bool:
        """Whether it is an access of just these bytes."""
        return self.segment is place.segment and (self.first, self.size) == (place.first, place.size)

    def number_of(self, ticket: Ticket) -> tuple[int, int, int]:
        """A ticket as this access has it: where it lies here, and the least and greatest number that it may be."""
        if self.way is None:
            return ticket.number, ticket.counter.start, ticket.counter.last(ticket)
        low, high = self.way.limits.get(ticket.symbol, (ticket.counter.start, ticket.counter.last(ticket)))
        return low, low, high


@dataclass(eq=False)
class Way:
    """What a thread does in one way: its accesses, its additions with their counters, and what it goes on with. `won`: whether
    it has won claims; `limits`: the least and greatest number of tickets; `forks`: branches on the way; `first`: where
    it goes at the first one; `as_run`: the run goes it. `publishes`: in which claimed bytes it tells that it has won, having
    released the first `released` accesses; `heard`: what it has of what other winners publish."""

    done: list[Noted] = field(default_factory=list)
    added: list[tuple[Counter, int]] = field(default_factory=list)
    won: dict[ClaimOperation, bool] = field(default_factory=dict)
    limits: dict[Term, tuple[int, int]] = field(default_factory=dict)
    forks: int = 0
    first: bool = True
    goes_on: Hashable = None
    as_run: bool = True
    publishes: ClaimedBytes | None = None
    released: int = 0
    heard: dict[ClaimedBytes, Heard] = field(default_factory=dict)


@dataclass(eq=False)
class OpenBranch:
    """A thread at a branch that goes one way in the run, by `value`; `at`: how many accesses were noted before; `known` and
    `time`: what was ordered before it, and the thread's own time."""

    thread: WatchedThread
    registers: list[Any]
    op: Op
    value: Varying
    at: int
    known: Table
    time: int
    party: Party
