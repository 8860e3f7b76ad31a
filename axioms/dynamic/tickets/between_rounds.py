"""What rounds of workers do to memory that all threads share: each round counts as a worker of its own.

Which worker has which rounds is open, and so is what orders a round behind those that its worker has had before. So the
threads of a round begin with numbers of their own, that know of nothing: what is known between two rounds comes from waits
alone, as between CTAs (docs/whole-launches/tickets.md, Rounds). What they do is held against each other with these numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from axioms.dynamic.core.shadow import Access
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.waits.strong_reads import StrongRead
from axioms.dynamic.waits.waiting import WrittenBytes
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread

#: What workers do before their first round has this in the place of a ticket.
OUTSIDE = -1


class BetweenRounds(Determinate):
    """Watches accesses to memory that all threads share, and fences, of one launch."""

    alone = False

    def __init__(self, width: int) -> None:
        """`width`: the threads of a worker."""
        super().__init__(width)
        self.polls_of.unrolls = True
        #: The first of the numbers that stand for the threads of a worker in a round; and the ticket of each such round.
        self._rounds: dict[tuple[int, int], int] = {}
        self._tickets: list[int] = []
        self._numbers: dict[int, int] = {}
        #: What the last strong access has waited for: tickets of rounds, places of threads in them, and how many writes of each
        #: thread there come before.
        self.learned: frozenset[tuple[int, int, int]] = frozenset()

    def begins_round(self, number: int, index: int, ticket: int) -> None:
        """A thread begins a round, by the index that this has in its worker."""
        worker, place = divmod(number, self.size)
        first = self._rounds.get((worker, index))
        if first is None:
            first = self._rounds[worker, index] = len(self.clocks.own)
            self._tickets.append(ticket if index != OUTSIDE else OUTSIDE - worker)
            for _ in range(self.size):
                self.clocks.enter()
        self._numbers[number] = first + place

    def number(self, number: int) -> int:
        """The number that stands for a thread in the round in which it is."""
        if number not in self._numbers:
            self.begins_round(number, OUTSIDE, OUTSIDE)
        return self._numbers[number]

    @contextmanager
    def in_round(self, thread: WatchedThread) -> Iterator[None]:
        """Within this a thread has that number."""
        number, thread.number = thread.number, self.number(thread.number)
        try:
            yield
        finally:
            thread.number = number

    def meet(self, numbers: Iterable[int]) -> None:
        """Threads have met that are in one round."""
        arrivals = [self.clocks.release(self.number(number)) for number in numbers]
        self.clocks.acquire([arrival[0] for arrival in arrivals], self.clocks.join(arrivals))

    def ticket(self, number: int) -> int:
        """The ticket of the round of which a number is; less than all, and one of its own, of what a worker does before."""
        return self._tickets[number // self.size]

    def _access(
        self, thread: WatchedThread, kind: str, address: int, size: int, commutes: str = "", value: Any = None
    ) -> None:
        self.learned = frozenset()
        super()._access(thread, kind, address, size, commutes, value)

    def _learns(self, thread: WatchedThread, access: Access, segment: Segment, fresh: frozenset[int]) -> None:
        place = self._place(thread, access, segment)
        writers = [] if place is None else [w.thread for w in place.writes]
        self.learned = frozenset(
            (self.ticket(writers[n]), writers[n] % self.size, writers[:n].count(writers[n])) for n in fresh
        )

    def touched(self, segment: Segment, first: int, size: int) -> bool:
        """Whether anybody accesses some of the bytes."""
        shadow = self.shadows.get(id(segment))
        return shadow is not None and any(True for _ in shadow.known(first, size))

    def gets_on(self) -> bool:
        """Whether each wait leads on once all rounds with smaller tickets are over, whatever others have done by then."""
        return self.unknown is None and all(
            self._leads_on(read, place)
            for of in self.places.values()
            for place in {id(place): place for _, place in of.values()}.values()
            for read in place.reads
        )

    def _leads_on(self, read: StrongRead, place: WrittenBytes) -> bool:
        ticket = self.ticket(read.thread)
        before = frozenset(n for n, w in enumerate(place.writes) if self.ticket(w.thread) < ticket)
        return place.leads_on_with(read, before, self.clocks)


__all__ = ["OUTSIDE", "BetweenRounds"]
