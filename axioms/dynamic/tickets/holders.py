"""Holders of tickets: the threads that have one ticket together, of which one takes it for all (`tickets.turns`).

A thread takes a ticket for itself; or a lane for its warp, which hands it to the others by a shuffle; or a thread for its CTA,
to which it goes by shared memory and a barrier. Holders of a launch are of one `width`, the least that has with each thread
that takes tickets of turns all that do something by them: it is learned from runs that fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from ptxcore.machine.ir.collective import WARP
from ptxcore.records import dataclass

#: The threads of a holder that is a whole CTA, of whatever size.
WHOLE_CTA = 1 << 16

#: The threads of a CTA that have tickets together: the number of the CTA, and theirs in it.
Holder = tuple[int, int]


@dataclass
class Taking:
    """What runs have shown: the `instructions` that take tickets of turns, by their identity, and the `width` of holders."""

    instructions: set[int] = field(default_factory=set)
    width: int = 1

    def known(self) -> tuple[int, int]:
        """Grows where something is learned."""
        return len(self.instructions), self.width


class Holders:
    """The holders of a launch, whose CTAs have `size` threads, and which turns its threads have come to: of each holder, turns
    have numbers in the order in which the run took their tickets."""

    def __init__(self, size: int, taking: Taking) -> None:
        self._size, self._taking = size, taking
        #: How many turns each holder has begun; and the number of the one to which each thread has come.
        self._begun: dict[Holder, int] = {}
        self._at: dict[int, int] = {}

    def of(self, number: int) -> Holder:
        """The holder that has a thread."""
        cta, place = divmod(number, self._size)
        return cta, place // self._taking.width

    def place(self, number: int) -> int:
        """The place of a thread in its holder."""
        return number % self._size % self._taking.width

    def members(self, number: int) -> range:
        """The threads of the holder that has a thread."""
        cta, at = self.of(number)
        width = min(self._taking.width, self._size)
        first = at * width
        return range(cta * self._size + first, cta * self._size + min(self._size, first + width))

    def begins(self, number: int) -> int:
        """A thread takes a ticket: gives the number of its turn."""
        holder = self.of(number)
        index = self._begun[holder] = self._begun.get(holder, -1) + 1
        self._at[number] = index
        return index

    def at(self, number: int) -> int:
        """The turn to which a thread has come, -1 before the first one."""
        return self._at.get(number, -1)

    def comes_to(self, number: int, holder: Holder, index: int, taker: int) -> bool:
        """A thread does something by the ticket of a turn; whether that is one of its holder's, and none before the one to
        which the thread has come."""
        if holder != self.of(number):
            cta, at = holder
            self.widens([number, cta * self._size + at * self._taking.width + taker])
            return False
        if index < self.at(number):
            return False
        self._at[number] = index
        return True

    def widens(self, numbers: Iterable[int]) -> None:
        """Threads have something to do with one turn: where they are of one CTA, holders are to have all of them."""
        warps = {(number // self._size, number % self._size // WARP) for number in numbers}
        if len({cta for cta, _ in warps}) == 1:
            self._taking.width = max(self._taking.width, WARP if len(warps) == 1 else WHOLE_CTA)

    def meet(self, numbers: Iterable[int]) -> int:
        """Threads of one holder meet: all of them come to the last turn to which one has; gives its number."""
        numbers = list(numbers)
        index = max(self.at(number) for number in numbers)
        if index >= 0:
            self._at.update(dict.fromkeys(numbers, index))
        return index


__all__ = ["WHOLE_CTA", "Holder", "Holders", "Taking"]
