"""A run of launches one after the other, and which bytes each of them accesses before it has waited for the one before
(`griddepcontrol`, PTX ISA 9.0, section 9.7.13.13): what may be executed while that still runs. The argument is in
docs/whole-launches, "Launches that begin early".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from axioms.dynamic.asynchronous.agents import Agent
from axioms.dynamic.one_run.determinate import Determinate
from ptxcore.isa.effect_kinds import GRID
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, GLOBAL_BITS
from ptxcore.machine.run.watched import Told, WatchedProduct, WatchedThread, Write
from ptxcore.records import dataclass
from ptxcore.values.tensor_map import SIZE as MAP_SIZE


@dataclass(slots=True)
class AccessedBytes:
    """The bytes of a segment that a launch accesses, a 1 for each one: those that it reads and those that it writes, and of
    both those that it accesses early."""

    reads: bytearray
    writes: bytearray
    early_reads: bytearray
    early_writes: bytearray

    @property
    def is_early(self) -> bool:
        """Whether any byte is accessed early."""
        return any(self.early_reads) or any(self.early_writes)


class EarlyAccesses(Determinate):
    """Watches one launch. An access is early unless it comes, in base causality order of all executions, behind a wait for the
    launch before."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        #: By the numbers of segments.
        self.accessed: dict[int, AccessedBytes] = {}
        #: Who has waited for the launch before, and when; and who comes behind such a wait.
        self._waits: dict[int, int] = {}
        self._late = set[int]()

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        if what == GRID and how is not None and how.words["action"] == "wait":
            number = thread.number
            self.clocks.own[number] += 1  # what the thread did before has another time
            self._waits.setdefault(number, self.clocks.own[number])
        super().other(thread, what, how, address)

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        self._notes(thread, address, size, writes=False)
        return super().reads(thread, address, size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._notes(thread, address, size, writes=True)
        super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        self._notes(thread, address, size, writes=True)
        return super().updates(thread, how, address, size, write)

    def looks_up(self, thread: WatchedThread, address: int) -> None:
        self._notes(thread, address, MAP_SIZE, writes=False)
        super().looks_up(thread, address)

    def copied(self, copy: Told | WatchedProduct, kind: str, address: int, size: int) -> None:
        self._note(copy.thread, address, size, kind != "R", early=not self._is_issued_late(copy.agent))
        super().copied(copy, kind, address, size)

    def _notes(self, thread: WatchedThread, address: int, size: int, *, writes: bool) -> None:
        agent = self.performing
        late = self._is_late(thread.number) if agent is None else self._is_issued_late(agent)
        self._note(thread, address, size, writes, early=not late)

    def _note(self, thread: WatchedThread, address: int, size: int, writes: bool, *, early: bool) -> None:
        if address < FIRST_GLOBAL:
            return  # the CTA's, the thread's own, or constant
        segment, first = thread.segment(address)
        found = self.accessed.get(address >> GLOBAL_BITS)
        if found is None:
            found = AccessedBytes(*(bytearray(segment.size) for _ in range(4)))
            self.accessed[address >> GLOBAL_BITS] = found
        several = (found.writes, found.early_writes) if writes else (found.reads, found.early_reads)
        for mask in several[: 2 if early else 1]:
            mask[first : first + size] = b"\1" * len(mask[first : first + size])

    def _is_late(self, number: int) -> bool:
        """Whether what a thread does now comes behind a wait, in all executions."""
        if number in self._late:
            return True
        late = number in self._waits or any(self.clocks.ordered(number, *wait) for wait in self._waits.items())
        if late:
            self._late.add(number)
        return late

    def _is_issued_late(self, agent: Agent) -> bool:
        """Whether an asynchronous operation has been issued behind a wait."""
        return any(self.clocks.knows(agent.arrival, *wait) for wait in self._waits.items())


def may_overtake(launches: Sequence[EarlyAccesses], names: Sequence[Mapping[int, str]], lets: Sequence[bool]) -> bool:
    """Whether something that a launch accesses early conflicts with what one before it accesses, or a launch may end before one
    that comes earlier in the stream. `names`: of each launch, the buffers by the numbers of
    segments; `lets`: whether it lets the next one begin before it is over."""
    for number in range(1, len(launches)):
        if not lets[number - 1]:
            continue
        if number + 1 < len(launches) and not launches[number].waits_for_launch:
            return True
        early = {n: found for n, found in launches[number].accessed.items() if found.is_early}
        if not early.keys() <= names[number].keys():
            return True  # a variable of the module: which launches access it, is not looked at
        for before in range(number):  # no end of a launch but by a wait is known to come before
            others = {names[before].get(n): found for n, found in launches[before].accessed.items()}
            if any(_conflict(others.get(names[number][n]), found) for n, found in early.items()):
                return True
    return False


def may_meet(
    launches: Sequence[EarlyAccesses],
    names: Sequence[Mapping[int, str]],
    modules: Sequence[Hashable],
    beside: Iterable[tuple[int, int]],
) -> bool:
    """Whether two launches that may run at the same time access the same bytes, and one of them writes. `names` as of
    `may_overtake`; `modules`: what tells of which one the variables of a launch are."""
    accessed = [
        {names[i].get(n, (modules[i], n)): found for n, found in launch.accessed.items()}
        for i, launch in enumerate(launches)
    ]
    return any(
        _conflict(found, _all_early(accessed[two][place]))
        for one, two in beside
        for place, found in accessed[one].items()
        if place in accessed[two]
    )


def _all_early(found: AccessedBytes) -> AccessedBytes:
    """The accesses of a launch that waits for nothing."""
    return AccessedBytes(found.reads, found.writes, found.reads, found.writes)


def _conflict(before: AccessedBytes | None, early: AccessedBytes) -> bool:
    """Whether accesses to one buffer conflict: some bytes are accessed by both, and written by one."""
    if before is None:
        return False
    writes, early_writes = int.from_bytes(before.writes, "little"), int.from_bytes(early.early_writes, "little")
    either = writes | int.from_bytes(before.reads, "little")
    return bool(writes & int.from_bytes(early.early_reads, "little") or either & early_writes)


__all__ = ["AccessedBytes", "EarlyAccesses", "may_meet", "may_overtake"]
