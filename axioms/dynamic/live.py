"""The live registers of threads that run, and whether threads go on equally."""

from __future__ import annotations

from typing import Any

from ptxcore.machine.ir.liveness import registers
from ptxcore.machine.lower.liveness import live_registers
from ptxcore.machine.run.codegen import Compiled


class Live:
    """The registers that are live where a block begins; blocks as `ptxcore.machine.run.codegen.Compiled` numbers them."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._of: dict[str, list[int]] = {}
        self._at: dict[int, list[int]] = {}

    def at(self, block: int) -> list[int]:
        """The live registers where a block begins, by slot."""
        if block not in self._at:
            code, place = self._compiled.begins[block]
            if code.name not in self._of:
                self._of[code.name] = live_registers(code, range(len(code.ops) + 1)).begins
            self._at[block] = list(registers(self._of[code.name][place]))
        return self._at[block]

    def of(self, block: int, values: list[Any]) -> tuple[Any, ...]:
        """The values of the live registers; equal for threads that go on equally there."""
        return tuple((slot, values[slot]) for slot in self.at(block))

    def same(self, block: int, one: list[Any], other: list[Any]) -> bool:
        """Whether the live registers have the same values."""
        return all(one[slot] is other[slot] or one[slot] == other[slot] for slot in self.at(block))
