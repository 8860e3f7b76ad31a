"""What an instruction may ask of the thread that executes it: the seam between meaning and machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ptxcore.isa.form import Use
    from ptxcore.machine.effects import Effect
    from ptxcore.values.terms import Value


class Thread(Protocol):
    """Effects on the world outside of registers, as semantic functions name them. `how` is the form in use."""

    def load(self, how: Use, address: Value) -> Value:
        """A read of memory; gives what it returns, with the bits that are accessed."""
        ...

    def store(self, how: Use, address: Value, value: Value) -> None:
        """A write of the low bits of `value`."""
        ...

    def modify(self, kind: str, how: Use, address: Value, write: Callable[[Value], tuple[Value, Value]]) -> Value:
        """An atomic read-modify-write: `write(old)` gives the new value and the condition under which it is written."""
        ...

    def barrier(
        self,
        action: str,
        how: Use,
        *,
        identity: Value | None,
        count: Value | None,
        operator: str = "",
        operand: Value = 0,
        instance: int | None = None,
    ) -> Value | None:
        """An arrival at a CTA barrier; gives the result of a reduction."""
        ...

    def effect(self, kind: str, how: Use, **fields: Any) -> Effect:
        """Any other effect, by its kind and fields."""
        ...
