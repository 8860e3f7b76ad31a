"""What rounds of workers have in common: what they do to the shared memory of CTAs, how those of one number begin, and what is
done with a ticket in a round of each number.

Where something goes from round to round by itself (a parity that says which of two slots is next, a loop of which the compiler
has made two copies), how a round begins hangs on its number in its worker. Rounds that begin alike are of one *kind*. Which
kind a ticket comes to is open, so several runs show each ticket in a round of each kind that it may have
(docs/whole-launches/tickets.md, Rounds).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from axioms.dynamic.tickets.between_rounds import OUTSIDE
from ptxcore.machine.run.memory import Segment
from ptxcore.records import NamedTuple

#: What a round does that takes the next ticket.
TAKES = ("takes",)
#: Several threads.
_SEVERAL = -1


class Leading(NamedTuple):
    """The order in which workers take tickets in a run: the first one takes `first`, those behind the second one take `rest`,
    the second one takes all others."""

    first: int
    rest: int


#: The orders in which runs show tickets in rounds of each kind.
LEADING = tuple(Leading(*of) for of in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (3, 0), (0, 3)))


class Touched:
    """Bytes of shared memory that were read, and those that were written: by which threads of their workers."""

    def __init__(self) -> None:
        self.read: dict[int, int] = {}
        self.written: dict[int, int] = {}

    def add(self, kind: str, first: int, end: int, thread: int) -> None:
        """One access."""
        for of, left_out in ((self.read, "W"), (self.written, "R")):
            if kind != left_out:
                for byte in range(first, end):
                    if of.setdefault(byte, thread) != thread:
                        of[byte] = _SEVERAL

    def conflicts(self, other: Touched) -> bool:
        """Whether accesses of different threads conflict, one of each."""
        pairs = (self.written, other.read), (self.written, other.written), (self.read, other.written)
        return any(_meet(one, two) for one, two in pairs)


def _meet(one: dict[int, int], two: dict[int, int]) -> bool:
    return any(one[byte] != two[byte] or one[byte] == _SEVERAL for byte in one.keys() & two.keys())


class SharedRounds:
    """What rounds do to the shared memory of workers that are CTAs, by their numbers. `heads`: what threads that have begun a
    round do up to the barrier behind which all have; `tails`: what the others do meanwhile, and all between the last barrier of
    a round and the beginning of the next one. Rounds of one CTA may follow each other in any pairs, so each head may meet each
    tail."""

    def __init__(self) -> None:
        self.heads: dict[int, Touched] = {}
        self.tails: dict[int, Touched] = {}
        #: What rounds write, and what they find that was there before them.
        self._read: set[int] = set()
        self._written: set[int] = set()
        self._last: dict[int, Any] = {}
        self._contents: dict[int, tuple[bytes, bytes]] = {}

    def restart(self) -> None:
        """Another run begins."""
        self._last.clear()

    def access(self, cta: int, segment: Segment, kind: str, first: int, end: int, iteration: int) -> bool:
        """One access; whether what it finds is of its own round, or there before all."""
        last = self._last.get(cta)
        if last is None:
            last = self._last[cta] = np.full(segment.size, OUTSIDE, dtype=np.int64)
        if kind != "W" and iteration != OUTSIDE:
            found = last[first:end]
            if not (found == iteration).all():
                if not ((found == iteration) | (found == OUTSIDE)).all():
                    return False
                self._read.update((first + np.flatnonzero(found == OUTSIDE)).tolist())
        if kind != "R":
            last[first:end] = iteration
            if iteration != OUTSIDE:
                self._written.update(range(first, end))
        return True

    def begins(self, number: int, access: tuple[str, int, int, int]) -> None:
        """An access of a thread that has begun a round of a number, while others have not."""
        self.heads.setdefault(number, Touched()).add(*access)

    def ends_round(self, number: int, since: Iterable[tuple[str, int, int, int]]) -> None:
        """Accesses at the end of a round of a number, while others may have begun the next one."""
        tail = self.tails.setdefault(number, Touched())
        for access in since:
            tail.add(*access)

    def ends(self, cta: int, segment: Segment) -> None:
        """A CTA ends: what is left in its shared memory."""
        self._contents[cta] = bytes(segment.data), bytes(segment.known or b"\xff" * segment.size)

    def changed(self) -> set[int]:
        """What rounds find that was there before them, and others write."""
        return self._read & self._written

    def apart(self, kinds: dict[int, int] | None = None) -> bool:
        """Whether rounds leave each other's shared memory alone, and find the same there before them in all CTAs. `kinds`:
        those of rounds, by number; of None, any round may follow any other one."""
        if self.changed():
            return False
        follow: set[tuple[int, int]] = set()
        if kinds is not None:
            follow = {(kinds.get(n - 1, n - 1), kind) for n, kind in kinds.items()}
        for n, tail in self.tails.items():
            for m, head in self.heads.items():
                if (kinds is None or (kinds.get(n, n), kinds[m]) in follow) and head.conflicts(tail):
                    return False
        found = sorted(self._read)
        if not found:
            return True
        there = {tuple(bytes(of[at] for at in found) for of in both) for both in self._contents.values()}
        return len(there) == 1 and all(bits == 0xFF for bits in next(iter(there))[1])


class RoundKinds:
    """What runs of a launch show of rounds. `numbered`: how they begin hangs on their number in their worker; `leading`: who
    takes tickets first in the run to come."""

    def __init__(self, *, numbered: bool = False, leading: Leading | None = None) -> None:
        self.numbered, self.leading = numbered, leading
        self.shared = SharedRounds()
        #: By number and place of a thread in its worker, how rounds begin; and what is in shared memory then.
        self.begins: dict[tuple[int, int], object] = {}
        #: By ticket and number, what the threads of a round do that others see, by their places in the worker.
        self.does: dict[tuple[int, int], dict[int, list[object]]] = {}
        #: The same, with what may order it: of rounds that wait for each other.
        self.ordered: dict[tuple[int, int], dict[int, list[object]]] = {}
        self.waits = False
        self.workers = 0
        #: The numbers of rounds that begin otherwise than first ones do, and also come to something else that others see.
        self.unlike: set[int] = set()

    def number(self, index: int) -> int:
        """The number by which rounds are told apart, of the one with an index in its worker."""
        return index if self.numbered or index < 0 else 0

    def run_begins(self, leading: Leading) -> None:
        """One more run."""
        self.leading = leading
        self.shared.restart()

    def done(self, ticket: int, index: int, place: int, what: object) -> None:
        """A thread has done something in a round."""
        if self.numbered:
            self.does.setdefault((ticket, index), {}).setdefault(place, []).append(what)
        self.orders(ticket, index, place, what)

    def orders(self, ticket: int, index: int, place: int, what: object) -> None:
        """A thread has done something in a round that may order what it does."""
        if self.numbered:
            self.ordered.setdefault((ticket, index), {}).setdefault(place, []).append(what)

    def starts(self, ticket: int, index: int) -> None:
        """A round with a ticket begins, here not for the first time perhaps."""
        if self.numbered:
            self.does[ticket, index], self.ordered[ticket, index] = {}, {}

    def kinds(self) -> dict[int, int]:
        """The kind of the rounds of each number: the first number of those that begin so. First rounds, which may begin where
        no others do, are of the kind of those with which they come together with each ticket."""
        by_number: dict[int, dict[int, object]] = {}
        for (number, place), stands in self.begins.items():
            by_number.setdefault(number, {})[place] = stands
        found: dict[int, int] = {}
        for number, of in sorted(by_number.items()):
            found[number] = next((n for n in found if by_number[n] == of), number)
        if list(found.values()).count(0) == 1:
            for kind in sorted(set(found.values()) - {0}):
                alike = all(number not in self.unlike for number, of in found.items() if of == kind)
                there = by_number[0].get(-1) == by_number[kind].get(-1)
                if alike and there and found[1] == found.get(kind + 1):
                    found[0] = kind
                    break
        return found

    def apart(self) -> bool:
        """Whether rounds leave each other's shared memory alone."""
        return self.shared.apart(self.kinds() if self.numbered else None)

    def covered(self) -> bool:
        """Whether each ticket was taken in a round of each kind that it may be, and is the same to others in all of them; and
        one kind follows each. First rounds that begin otherwise than their kind are like it with tickets that it was given."""
        kinds = self.kinds()
        follows: dict[int, int] = {}
        if any(follows.setdefault(kind, kinds[n + 1]) != kinds[n + 1] for n, kind in kinds.items() if n + 1 in kinds):
            return False
        counted = kinds if kinds.get(0) == 0 else kinds.keys() - {0}
        by_ticket: dict[int, dict[int, dict[int, list[object]]]] = {}
        for (ticket, index), of in (self.ordered if self.waits else self.does).items():
            by_ticket.setdefault(ticket, {})[index] = of
        for ticket, runs in by_ticket.items():
            may_be = {kinds[number] for number in counted if number <= ticket}
            if self.workers > 1 and may_be != {kinds[index] for index in runs if index in counted}:
                return False
            first = next(iter(runs.values()))
            if any(of != first for of in runs.values()):
                return False
        leading_on = {t for t, runs in by_ticket.items() for of in runs.values() for one in of.values() if TAKES in one}
        return len(leading_on) <= max(kinds, default=0)  # so many rounds a worker may have before its last one


__all__ = ["LEADING", "TAKES", "Leading", "RoundKinds", "SharedRounds"]
