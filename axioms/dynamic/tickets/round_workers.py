"""Workers that take tickets in rounds, and the counter from which they take them (`tickets.persistent`)."""

from __future__ import annotations

from dataclasses import field

from axioms.dynamic.core.findings import Party
from ptxcore.machine.run.memory import Segment
from ptxcore.records import dataclass
from ptxcore.values.terms import Term


@dataclass
class TicketCounter:
    """The bytes from which tickets are taken, what was there first, and how far each addition counts."""

    segment: Segment
    first: int
    size: int
    start: int
    step: int
    party: Party
    taken: int = 0


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


__all__ = ["RoundWorker", "TicketCounter"]
