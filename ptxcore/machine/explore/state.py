"""Where a path through a thread stands."""

from __future__ import annotations

from ptxcore.machine.ir.dependencies import Dependencies
from ptxcore.machine.ir.private_memory import PrivateMemory
from ptxcore.values.terms import Value


class State:
    """The registers where a path stands: values, the conditions under which they were written, what they depend on.

    All lists run by register number. `control` are the reads that decided how control came here. `memory` is the thread's
    own, where it has any.
    """

    __slots__ = ("control", "defined", "guard", "memory", "sources", "values")

    def __init__(
        self,
        guard: Value,
        values: list[Value],
        defined: list[Value],
        sources: list[Dependencies],
        control: Dependencies,
        memory: PrivateMemory | None = None,
    ) -> None:
        self.guard, self.values, self.defined, self.sources, self.control = guard, values, defined, sources, control
        self.memory = memory

    def copy(self, guard: Value) -> State:
        memory = None if self.memory is None else self.memory.copy()
        return State(guard, self.values[:], self.defined[:], self.sources[:], self.control, memory)
