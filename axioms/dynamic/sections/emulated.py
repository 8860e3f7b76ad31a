"""Loops of compare-and-swap that do what one atomic operation would: `do old = CAS(p, seen, f(seen)) while (old != seen)`.

An *emulation* is all that a thread does from its first poll of some bytes, a strong read or a compare-and-swap, to its write,
or to the next thing that others see. Whatever it finds on the way, it comes to the same, and writes f of what it found last, or
nothing where that is what stands there. So it is one atomic operation with f, and emulations of which the functions commute
leave the same in any order: docs/whole-launches has the argument. All this is tried with each value that the bytes may have.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import Open, Party, Stopped, step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.lookback.confluent import open_reads
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.sections.emulated_terms import TermFunction
from axioms.dynamic.sections.told import Teller, ToldAt, ToldStep, ToldThread, Untold
from axioms.dynamic.sections.updates_in_sections import Update, add_exactly, commute
from axioms.dynamic.waits.waiting import Poll
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, SHARED_OFFSET
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.places import WIDE
from ptxcore.records import dataclass
from ptxcore.values.terms import mask

#: What an emulation is among accesses that commute.
_COMMUTES = "emulation"
#: Steps that are looked at for all emulations of some bytes; pairs of functions, with values, that are held against each
#: other. (263,000 steps, of 512 equal sums, took 11 seconds.)
_MOST_STEPS, _MOST_PAIRS = 400_000, 2_000_000


@dataclass
class _Emulation:
    """`poll`: where it begins; `found`: the instructions by which the thread polled, and what it found; `loads`: what its weak
    loads found, by their address and size."""

    poll: Poll
    group: _Group
    found: list[tuple[int, int]] = field(default_factory=list)
    loads: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass
class _Group:
    """Emulations on the same bytes between two writes by anything else: what stood there first, and stands there now."""

    segment: Segment
    place: tuple[int, int]
    address: int
    begins: int
    now: int
    asks: Op
    members: list[_Emulation] = field(default_factory=list)


class Emulating(Determinate):
    """Watches one launch. `searched`: the instructions of emulations, by their identity; `hangs`: what they leave may hang on
    their order, and each does what it does whatever it finds, and not only if that is one of the values that may be there."""

    def __init__(self, size: int, searched: frozenset[int], *, hangs: bool) -> None:
        super().__init__(size)
        self.searched, self.hangs = searched, hangs
        self.groups: list[_Group] = []
        self._last: dict[tuple[int, int, int], _Group] = {}
        self._active: dict[int, _Emulation] = {}

    @property
    def emulations(self) -> int:
        """How many there were."""
        return sum(len(group.members) for group in self.groups)

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        if id(thread.instruction.instruction) not in self.searched:
            of = self._active.pop(thread.number, None)
            instead = super().reads(thread, address, size)
            if of is not None and instead is None and self._loads(thread, of, address, size):
                self._active[thread.number] = of
            return instead
        self._reads_in_emulation(thread, address, size, None)
        return None

    def _loads(self, thread: WatchedThread, of: _Emulation, address: int, size: int) -> bool:
        """Whether a weak load, which finds the same in all executions, is taken for a part of an emulation."""
        segment, first = thread.segment(address)
        value = segment.read(first, size)
        if scope_of(thread.instruction.use) or thread.instruction.use.words["vec"] or type(value) is not int:
            return False
        of.loads[address, size] = value
        return True

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        if id(thread.instruction.instruction) not in self.searched:
            self._active.pop(thread.number, None)
            return super().updates(thread, how, address, size, write)
        self._reads_in_emulation(thread, address, size, write)
        return None

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._active.pop(thread.number, None)
        super().writes(thread, address, size, value)

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        self._active.pop(thread.number, None)
        super().arrives(thread, level, identity, waits, count)

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        if isinstance(thread.watcher, Teller):  # a copy
            thread.watcher.other(thread, what, how, address)
            return
        self._active.pop(thread.number, None)
        super().other(thread, what, how, address)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        for thread in threads:
            self._active.pop(thread.number, None)
        super().met(how, threads, masked)

    def _reads_in_emulation(self, thread: WatchedThread, address: int, size: int, write: Write | None) -> None:
        number, wide = thread.number, self._scope_of(thread) in WIDE
        inside = address & ~SHARED_OFFSET == thread.shared
        if thread.frames or thread.instruction.use.words["vec"] or not (inside or (address >= FIRST_GLOBAL and wide)):
            raise self.leaves(thread, "order")
        segment, first = thread.segment(address)
        value = segment.read(first, size)
        if type(value) is not int or self.phases.objects:
            raise self.leaves(thread, "order")
        of = self._active.get(number)
        if of is None or of.group.address != address or of.group.place != (first, size):
            of = self._active[number] = self._begin(thread, segment, (first, size), address, value)
        elif of.group.now != value:  # somebody else wrote
            raise self.leaves(thread, "order")
        of.found.append((thread.op, value))
        if write is not None:
            written, writes = write(value)
            if writes:
                of.group.now = written & mask(8 * size)
                del self._active[number]

    def _begin(
        self, thread: WatchedThread, segment: Segment, place: tuple[int, int], address: int, value: int
    ) -> _Emulation:
        """An emulation begins. It may write, whether it does in this run or not."""
        key = id(segment), *place
        access = self.shade(thread, "A", segment, *place, _COMMUTES)
        of_place = self._place(thread, access, segment)
        if of_place is None or not of_place.write(self._written(thread, access, None), self.clocks):
            raise self.leaves(thread, "order")
        group = self._last.get(key)
        if group is None or group.segment is not segment or group.now != value:
            group = self._last[key] = _Group(segment, place, address, value, value, thread.instruction)
            self.groups.append(group)
        member = _Emulation(self.polled[thread.number], group)
        group.members.append(member)
        return member

    def settle(self) -> None:
        """The launch is over. Raises Stopped where what was taken for emulations leaves something open."""
        for group in self.groups:
            checked = _Checked(group, self.live_of(group.members[0].poll.thread), self.searched)
            try:
                settled = checked.leave_the_same() if self.hangs else checked.commute()
            except Untold:
                thread = group.members[0].poll.thread.number
                raise Stopped(Open("order", Party(thread, group.asks))) from None
            if not settled:
                self.sums.hang((id(group.segment), group.place[0]), checked.writers(), len(group.members))


def emulating(watcher: Determinate, why: Open, functions: Iterable[Code]) -> set[int]:
    """The instructions that may be of emulations, where one of them ended a run: each compare-and-swap, and the strong reads
    that led on in several ways, or met one."""
    swaps = [op for code in functions for op in code.ops if op.use.form.mnemonic == "atom" and op.use.op == "cas"]
    reads = open_reads(watcher)
    if (
        why.party is not None
        and why.party.op.use.form.mnemonic == "ld"
        and scope_of(why.party.op.use) not in ("", CONSTANT)
    ):
        reads.append(why.party.op)
    return {id(op.instruction) for op in (*swaps, *reads)} if swaps else set()


class _PollTeller(Teller):
    """Tells what the instructions of emulations find."""

    def __init__(self, searched: frozenset[int], address: int, size: int, loads: Mapping[tuple[int, int], int]) -> None:
        super().__init__(address, size, loads)
        self.searched = searched

    def is_poll(self, thread: Any) -> bool:
        return id(thread.instruction.instruction) in self.searched


class _Function:
    """Emulations that begin alike: one function of what stands there."""

    def __init__(self, checked: _Checked, member: _Emulation) -> None:
        self._checked, self.count = checked, 0
        group = checked.group
        teller = _PollTeller(checked.searched, group.address, group.place[1], member.loads)
        self._thread = ToldThread(member.poll, checked.live, teller)
        self.begins = self._thread.begins
        self._steps: dict[tuple[Hashable, int], ToldStep] = {}
        self._values: dict[int, int] = {}

    def step(self, at: ToldAt, value: int) -> ToldStep:
        """What comes of a poll that finds a value. Raises Untold where that cannot be told."""
        found = self._steps.get((at.key, value))
        if found is None:
            self._checked.count()
            found = self._steps[at.key, value] = self._thread.goes(at, value)
        return found

    def of(self, value: int) -> int:
        """What stands there behind the operation, where a value stood before it and nobody else writes."""
        found = self._values.get(value)
        if found is None:
            last = self._alone(self.begins, value)
            found = self._values[value] = value if last.wrote is None else last.wrote
        return found

    def _alone(self, at: ToldAt, value: int) -> ToldStep:
        """The last step of a thread that finds one value whenever it polls. Raises Untold where there is none."""
        seen = set()
        while at.key not in seen:
            seen.add(at.key)
            found = self.step(at, value)
            if found.at is None:
                return found
            at = found.at
        raise Untold

    def check(self, values: Sequence[int]) -> None:
        """Raises Untold where the thread may go on in several ways, write something else, or poll without end, whichever
        of the values it finds at each poll."""
        goes_on: set[Hashable] = set()
        seen, waiting = {self.begins.key}, [self.begins]
        while waiting:
            at = waiting.pop()
            for value in values:
                found = self.step(at, value)
                if found.at is None:
                    goes_on.add(found.goes_on)
                    if self.of(value) != (value if found.wrote is None else found.wrote) or len(goes_on) > 1:
                        raise Untold
                    continue
                self._alone(found.at, value)
                if found.at.key not in seen:
                    seen.add(found.at.key)
                    waiting.append(found.at)

    def follow(self, found: Sequence[tuple[int, int]], values: set[int] | None) -> None:
        """Raises Untold where the run went another way, or found something else than these values."""
        at: ToldAt | None = self.begins
        for _, value in found:
            if at is None or (values is not None and value not in values):
                raise Untold
            at = self.step(at, value).at
        if at is not None:
            raise Untold


class _Checked:
    """Emulations on the same bytes, held against each other."""

    def __init__(self, group: _Group, live: Live, searched: frozenset[int]) -> None:
        self.group, self.live, self.searched = group, live, searched
        self._left = _MOST_STEPS

    def count(self) -> None:
        """One more step is looked at. Raises Untold where there are too many."""
        step()
        self._left -= 1
        if self._left < 0:
            raise Untold

    def commute(self) -> bool:
        """Raises Untold where they are no atomic operations that commute."""
        updates = self._updates()
        if updates is None or not self._leave_the_same(updates):
            self._commute_on_values()
        return True

    def leave_the_same(self) -> bool:
        """Whether they leave the same in any order. Raises Untold where they are no atomic operations, whatever they find."""
        updates = self._updates()
        if updates is None:
            raise Untold
        return self._leave_the_same(updates)

    def _leave_the_same(self, updates: list[Update]) -> bool:
        return commute(updates) or add_exactly(updates, self.group.begins)

    def writers(self) -> list[Op]:
        """The instructions by which threads have written. (Where none has, what stood there first stays there.)"""
        compiled = self.group.members[0].poll.thread.launch.compiled
        found = [compiled.ops[number] for number in {op for member in self.group.members for op, _ in member.found}]
        return [op for op in found if op.use.form.mnemonic == "atom"]

    def _commute_on_values(self) -> None:
        """Raises Untold where they are no functions that commute on all values that may stand there."""
        functions: dict[Hashable, _Function] = {}
        of: list[_Function] = []
        for member in self.group.members:
            made = _Function(self, member)
            one = functions.setdefault((made.begins.key, tuple(sorted(member.loads.items()))), made)
            one.count += 1
            of.append(one)
        values = self._values(list(functions.values()))
        pairs = list(combinations(functions.values(), 2)) if len(functions) ** 2 * len(values) < _MOST_PAIRS else None
        if pairs is None:
            raise Untold
        for one, other in pairs:
            if any(one.of(other.of(value)) != other.of(one.of(value)) for value in values):
                raise Untold
        for function in functions.values():
            function.check(sorted(values))
        for member, function in zip(self.group.members, of, strict=True):
            function.follow(member.found, values)

    def _updates(self) -> list[Update] | None:
        """What they leave, as functions of what stands there, where that is known whatever it is, and the run went so; else
        None."""
        group, updates = self.group, []
        try:
            for member in group.members:
                place = group.address, group.place[1]
                of = TermFunction(member.poll, self.live, self.searched, place, member.loads)
                updates.append(of.update())
                _Function(self, member).follow(member.found, None)
        except Untold:
            return None
        return updates

    def _values(self, functions: Sequence[_Function]) -> set[int]:
        """All that may stand there, if the functions commute: what each of them makes, as often as it is there, of what those
        before it leave."""
        values = {self.group.begins}
        for function in functions:
            fresh = values
            for _ in range(function.count):
                fresh = {function.of(value) for value in fresh} - values
                if not fresh:
                    break
                values = values | fresh
                if len(functions) * len(values) > _MOST_STEPS:  # each function is asked for each value
                    raise Untold
        return values


__all__ = ["Emulating", "emulating"]
