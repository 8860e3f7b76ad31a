"""Numbers as people read them: bits that a test declares as floating-point or signed are shown as what they mean, and stay
integers to everybody else."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Self

from axioms.witness.execution import Execution, ExecutionsFound
from axioms.witness.result import Decision, Race
from ptxcore.values import terms
from ptxmm.kernels.expressions import TYPES, Type
from ptxmm.kernels.launch import Buffer

#: How Python unpacks floats of so many bits.
_FLOATS = {16: "e", 32: "f", 64: "d"}
#: With so many digits, every number of 64 bits is told from its neighbours.
_MOST_DIGITS = 17
#: Whole numbers from here on are written with an exponent.
_WHOLE = 1e16


class TypedNumber(int):
    """An integer that is written as a number of another type."""

    declared: Type

    def __new__(cls, value: int, declared: Type) -> Self:
        made = super().__new__(cls, value)
        made.declared = declared
        return made

    def __reduce__(self) -> tuple[type[TypedNumber], tuple[int, Type]]:
        return TypedNumber, (int(self), self.declared)

    def __str__(self) -> str:
        bits = int(self) & terms.mask(self.declared.width)
        if self.declared.kind == "s":
            return int.__repr__(terms.signed(bits, self.declared.width))
        return _float(bits << 16, 32) if self.declared.kind == "bf" else _float(bits, self.declared.width)


def _float(bits: int, width: int) -> str:
    """The shortest decimal number that is nearest to this one; whole numbers in full."""
    code, raw = _FLOATS[width], bits.to_bytes(width // 8, "little")
    (value,) = struct.unpack(f"<{code}", raw)
    if math.isnan(value):
        return f"nan({bits:#x})"
    if value.is_integer() and abs(value) < _WHOLE:
        return repr(value)
    texts = (f"{value:.{digits}g}" for digits in range(1, _MOST_DIGITS + 1))
    return repr(float(next(text for text in texts if _packed(code, float(text)) == raw)))


def _packed(code: str, value: float) -> bytes:
    try:
        return struct.pack(f"<{code}", value)
    except OverflowError:  # rounded up beyond the largest
        return b""


class Declared:
    """The types of the elements of buffers, as far as their numbers are not what their bits are."""

    def __init__(self, buffers: Iterable[Buffer]) -> None:
        self.types = {b.name: TYPES[b.type] for b in buffers if TYPES[b.type].kind != "u"}

    def __call__(self, decision: Decision) -> Decision:
        """The same with all numbers of buffers as declared."""
        if self.types:
            decision.states = [self.state(state) for state in decision.states]
            decision.witnesses = ExecutionsFound([self.execution(w) for w in decision.witnesses])
            decision.races, decision.unset = (
                [self._race(r) for r in some] for some in (decision.races, decision.unset)
            )
            if decision.why is not None:
                decision.why = decision.why._replace(execution=self.execution(decision.why.execution))
        return decision

    def _race(self, race: Race) -> Race:
        return race._replace(execution=self.execution(race.execution))

    def state(self, state: Mapping[str, int]) -> dict[str, int]:
        return {label: self._number(label, value) for label, value in state.items()}

    def execution(self, execution: Execution) -> Execution:
        """An execution with the numbers of its events so, where they are about one element."""
        if not self.types:
            return execution
        events = tuple(
            replace(e, value=self._number(e.location, e.value, e.width)) if e.location and e.value is not None else e
            for e in execution.events
        )
        return replace(execution, events=events, state=self.state(execution.state))

    def _number(self, place: str, value: int, width: int = 0) -> int:
        found = self.types.get(place.partition("[")[0])
        return value if found is None or width not in (0, found.width) else TypedNumber(value, found)
