"""Asynchronous operations as agents of their own: who issued them, what stands for their accesses, and what must be complete
when a CTA ends.

Numbers stand for them where those of threads stand, in tables of what threads know and in shadow memory: so what a thread knows
of an operation is a time of its number, as with a thread.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from axioms.dynamic.core.clocks import Arrival, Clocks, Several, Table
from axioms.dynamic.core.findings import Party
from axioms.dynamic.core.shadow import AGENTS
from ptxcore.machine.lower.ops import Op
from ptxcore.records import NamedTuple

#: Numbers of agents begin here for CTAs' copies by `cp.async`, and for all other operations.
_COPIES, _OTHERS = AGENTS, 2 * AGENTS


class Part(NamedTuple):
    """What an operation hands on, in a scope: all that is ordered before an arrival."""

    scope: str
    thread: int
    arrival: Arrival
    #: Whether it synchronizes nothing but what relaxed operations do.
    relaxed: bool = False


class Actor(NamedTuple):
    """Who operates on an mbarrier object: a thread itself, or in its name an asynchronous operation. `arrival`: what is ordered
    before that; `hands`: what it hands on to who waits; `proxy`: through which proxy an operation goes."""

    thread: int
    arrival: Arrival
    hands: tuple[Part, ...]
    agent: bool = False
    proxy: str = ""


class Agent(NamedTuple):
    """One asynchronous operation: who issued it, behind what; `writes` and `reads` stand for its accesses where threads'
    numbers stand, at a time; `parts`: what it hands on when it is complete."""

    party: Party
    op: int
    ops: Sequence[Op]
    arrival: Arrival
    proxy: str
    writes: int
    reads: int
    time: int
    parts: tuple[Part, ...]
    #: Of a product: what its threads knew at their last fences, and what this said of other accesses.
    fenced: Several | None
    known: dict[tuple[int, int, int], bool]
    #: Whether the manual leaves open if it comes behind what comes before its issue by program order alone.
    loosely: bool = False
    #: What stands for its end, where that is not what stands for its accesses.
    done: int = -1

    @property
    def actor(self) -> Actor:
        """In whose name an mbarrier object learns of it."""
        return Actor(self.party.thread, self.arrival, self.parts, agent=True, proxy=self.proxy)


class Agents:
    """The asynchronous operations of a launch, by the numbers that stand for them."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.issued = 0
        self._number = 0
        #: Who issued what the numbers of other agents than copies by `cp.async` stand for, in which proxy, and when by its own
        #: time (-1: at several times).
        self._issuers: dict[int, tuple[int, str, int]] = {}
        #: When a thread issued its copies by `cp.async`, one after the other.
        self._copied: dict[int, array[int]] = {}
        #: By CTA: operations on shared memory, and which of their accesses must be complete before it ends.
        self._unfinished: dict[int, list[tuple[Agent, int]]] = {}

    # Numbers.

    def own(self, number: int) -> int:
        """What stands for copies by `cp.async` of a thread."""
        return _COPIES * self.clocks.size + number

    def copies(self, arrival: Arrival) -> int:
        """A thread issues a copy by `cp.async`; gives which of its own it is, from 1."""
        self._copied.setdefault(arrival[0], array("q")).append(arrival[2])
        return self.copied(arrival[0])

    def copied(self, number: int) -> int:
        """How many copies by `cp.async` a thread has issued."""
        return len(self._copied.get(number, ()))

    def numbered(self, issuer: int, proxy: str, time: int = -1) -> int:
        """The first of two numbers that stand for an operation where threads' numbers stand, issued at a time of its thread."""
        first = _OTHERS * self.clocks.size + 2 * self._number
        self._number += 1
        self._issuers[first] = self._issuers[first + 1] = issuer, proxy, time
        return first

    def stands_for(self, agent: int, issuer: int) -> None:
        """A number stands for operations of a thread through the asynchronous proxy."""
        self._issuers[agent] = issuer, "async", -1

    def is_agent(self, number: int) -> bool:
        """Whether a number stands for an asynchronous operation."""
        return number >= _COPIES * self.clocks.size

    def issuer(self, number: int) -> int:
        """The thread that issued what a number stands for."""
        if not self.is_agent(number):
            return number
        return self._issuers[number][0] if number in self._issuers else number - _COPIES * self.clocks.size

    def by_proxy(self, number: int) -> int:
        """The thread that issued what a number stands for through the asynchronous proxy; -1 for all else."""
        issuer, proxy, _ = self._issuers.get(number, (-1, "generic", -1))
        return issuer if proxy == "async" else -1

    def is_issued_before(self, number: int, time: int, thread: int) -> bool:
        """Whether the issue of what a number stands for at a time is certainly ordered before what a thread does now."""
        issuer = self.issuer(number)
        issued = self._issuers[number][2] if number in self._issuers else self._copied[issuer][time - 1]
        return issued >= 0 and self.clocks.ordered(thread, issuer, issued)

    # What is known of them.

    def known(self, number: int, *agents: tuple[int, int]) -> Arrival:
        """An arrival of a thread behind nothing but accesses of agents, up to a time of each."""
        size = self.clocks.size
        table: Table = {}
        for agent, time in agents:
            cta, place = divmod(agent, size)
            times = table.setdefault(cta, [0] * size)
            times[place] = time
        return number, table, 0

    def learns(self, number: int, *agents: tuple[int, int]) -> None:
        """A thread knows that accesses of agents are complete, up to a time of each."""
        known = self.clocks.known
        known[number] = self.clocks.join([(number, known[number], 0), self.known(number, *agents)])

    # The end of CTAs.

    def finishes(self, issuer: int, agent: Agent, number: int) -> None:
        """What a number stands for must be complete when the CTA of its thread ends."""
        self._unfinished.setdefault(issuer // self.clocks.size, []).append((agent, number))

    def unfinished(self, threads: Iterable[int]) -> Iterable[tuple[Agent, int]]:
        """What had to be complete when the CTAs of these threads end, which they do: the last operation of each number."""
        found = [pair for cta in {t // self.clocks.size for t in threads} for pair in self._unfinished.pop(cta, ())]
        return {number: (agent, number) for agent, number in found}.values()


__all__ = ["Actor", "Agent", "Agents", "Part"]
