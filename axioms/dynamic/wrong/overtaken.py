"""A run in which a launch may overtake the one before it (`griddepcontrol`, PTX ISA 9.0, section 9.7.13.13), and does not:
which of its accesses nothing orders behind that launch.

Where a thread of a launch executes `griddepcontrol.launch_dependents`, the next one of its stream may begin, and what the
first one did is there behind `griddepcontrol.wait`, and only there. That the second one begins when the first is over is an
execution like any other. In it a thread comes behind what the first launch did if it has waited so, or comes behind who has;
or behind who has found something by a strong read, which may be of the first launch. A weak access that comes behind nobody of
these, and that conflicts with one of the launch before, or of those before that, races with it (section 8.7.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axioms.dynamic.core.findings import ByteRace, Open, Party, Stopped, step
from axioms.dynamic.wrong.exact import Exact
from ptxcore.isa.effect_kinds import GRID
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.watched import WatchedThread, Write

#: Bytes of a buffer: its name, the first one, and how many.
_Bytes = tuple[str, int, int]


class Overtaken(Exact):
    """Watches the launch of a number for accesses that come too early. `names`: the buffers by the numbers of their segments;
    `beside`: the launches that may be running yet."""

    tells_races = False

    def __init__(self, size: int, number: int, names: dict[int, str], beside: Sequence[Overtaken]) -> None:
        super().__init__(size, number)
        self.number, self.names, self.beside = number, names, beside
        #: Whether it lets the next launch begin early; who has accessed what; and the access that comes too early, with one of
        #: a launch before, of a number.
        self.lets = False
        self.wrote: dict[_Bytes, Party] = {}
        self.looked: dict[_Bytes, Party] = {}
        self.found: tuple[ByteRace, int] | None = None
        #: Who has waited for the launch before, or may have acquired something of it, and when.
        self._behind: dict[int, int] = {}

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        self._accesses(thread, "R", address, size)
        return super().reads(thread, address, size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._accesses(thread, "W", address, size)
        super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        self._accesses(thread, "A", address, size)
        return super().updates(thread, how, address, size, write)

    def other(self, thread: WatchedThread, what: str, how: Use | None = None, address: int = 0) -> None:
        if what == GRID and how is not None:
            if how.words["action"] == "wait":
                self._waits_before(thread.number)
            else:
                self.lets = True
        super().other(thread, what, how, address)

    def _waits_before(self, number: int) -> None:
        self._behind.setdefault(number, self.clocks.own[number])

    def _accesses(self, thread: WatchedThread, kind: str, address: int, size: int) -> None:
        name = self.names.get(address >> GLOBAL_BITS)
        if self.performing is not None or name is None:
            return
        party = Party(thread.number, thread.instruction)
        of = name, address & (1 << GLOBAL_BITS) - 1, size
        (self.looked if kind == "R" else self.wrote).setdefault(of, party)
        if self._scope_of(thread):
            if kind != "W":
                self._waits_before(thread.number)
            return
        for before in self.beside:
            other = before.wrote.get(of) or (before.looked.get(of) if kind != "R" else None)
            if other is not None and self._is_early(thread.number):
                self.found = ByteRace(other, party, name, of[1], of[1] + size - 1), before.number
                raise Stopped(Open("grid", party))

    @property
    def acquires(self) -> bool:
        """Whether some thread has waited for the launch before, or may have acquired something of another one."""
        return bool(self._behind)

    def _is_early(self, number: int) -> bool:
        """Whether a thread comes behind nobody who has waited."""
        if number in self._behind:
            return False
        step()
        return not any(self.clocks.ordered(number, other, time) for other, time in self._behind.items())


__all__ = ["Overtaken"]
