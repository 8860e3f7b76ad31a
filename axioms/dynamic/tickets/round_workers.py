"""Workers that take tickets in rounds, and the counter from which they take them (`tickets.persistent`)."""

from __future__ import annotations

from dataclasses import field

from axioms.dynamic.core.findings import Party
from axioms.dynamic.tickets.round_kinds import Leading
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.records import dataclass
from ptxcore.values.terms import Term


@dataclass
class TicketCounter:
    """The bytes from which tickets are taken, what was there first, and how far each addition counts. `closed`: how many had
    been taken when who took the last of them set it back."""

    segment: Segment
    first: int
    size: int
    start: int
    step: int
    party: Party
    taken: int = 0
    closed: int = 0


@dataclass
class RoundWorker:
    """`taker`: the thread that takes its tickets; `tickets`: these, and their symbols; `begun`: how many rounds have begun;
    `fresh`: some of its threads have begun the last one, which others may not have; `joined`: how many have; `since`: what its
    threads did to shared memory since they all met."""

    taker: int = -1
    tickets: list[tuple[int, Term]] = field(default_factory=list)
    begun: int = 0
    fresh: bool = False
    joined: int = 0
    since: list[tuple[str, int, int, int]] = field(default_factory=list)


class TakingOrder:
    """The order in which workers take tickets, where one is asked for: who is not to take one yet waits, unless that holds all
    others up. `moved`: how often somebody wrote, or met others."""

    def __init__(self, leading: Leading | None) -> None:
        self.leading, self.moved = leading, 0
        #: How many tickets workers have taken, in the order in which these came; what `moved` was when threads that wait were
        #: told last that they may hold others up.
        self._taken: dict[int, int] = {}
        self._told: dict[int, int] = {}

    def holds(self, thread: WatchedThread, worker: int, taken: int) -> None:
        """A worker takes one more ticket. Raises Asleep where others are to take theirs before."""
        leading = self.leading
        self._taken[worker] = taken
        if leading is None:
            return
        workers = [*self._taken]
        rank, led = workers.index(worker), self._taken[workers[0]] >= leading.first
        if taken < leading.rest if rank > 1 else led if rank else taken < leading.first:
            self._taken[worker] += 1
            return
        if thread.insists and self._told.get(worker) == self.moved:
            self.moved += 1  # nobody goes on: it takes one, and others wait again
            self._taken[worker] += 1
            return
        if thread.insists:
            self._told[worker], thread.insists = self.moved, False
        raise Asleep


__all__ = ["RoundWorker", "TakingOrder", "TicketCounter"]
