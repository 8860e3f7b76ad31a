"""The live registers of threads that run, and whether threads go on equally."""

from __future__ import annotations

from typing import Any

from axioms.dynamic.code.idle import idle_blocks
from axioms.dynamic.code.needed import needed_bits
from ptxcore.machine.ir.liveness import registers
from ptxcore.machine.lower.liveness import live_registers, reads, writes
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.codegen import Compiled
from ptxcore.machine.run.uninitialised import Varying


class Live:
    """The registers that are live where a block begins, or an instruction; blocks as
    `ptxcore.machine.run.codegen.Compiled` numbers them."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._of: dict[str, list[int]] = {}
        self._at: dict[tuple[str, int], list[int]] = {}
        #: By function, the bits of registers that matter, and the instructions of which it is of no matter what they do.
        self._needed: dict[str, tuple[dict[int, int], frozenset[int]]] = {}

    def at(self, block: int) -> list[int]:
        """The live registers where a block begins, by slot."""
        return self._before(*self._compiled.begins[block])

    def _before(self, code: Code, place: int) -> list[int]:
        key = code.name, place
        if key not in self._at:
            if code.name not in self._of:
                self._of[code.name] = live_registers(code, range(len(code.ops) + 1)).begins
            self._at[key] = list(registers(self._of[code.name][place]))
        return self._at[key]

    def of(self, block: int, values: list[Any]) -> tuple[Any, ...]:
        """The values of the live registers, as far as they can matter; equal for threads that go on equally there."""
        return self._values(*self._compiled.begins[block], values)

    def before(self, op: Op, values: list[Any]) -> tuple[Any, ...]:
        """The same before an instruction, and which one it is."""
        code, place = self._compiled.compiler.place_of(op)
        return code.name, place, self._values(code, place, values)

    def at_barrier(self, name: str, place: int) -> bool:
        """Whether an instruction of a function is one by which threads of a CTA meet."""
        code = self._compiled.compiler.program.functions[name]
        return code.ops[place].use.form.mnemonic in ("bar", "barrier")

    def _values(self, code: Code, place: int, values: list[Any]) -> tuple[Any, ...]:
        needed, _ = self._needed_of(code)
        overwritten = _overwritten(code.ops[place], values) if place < len(code.ops) else frozenset()
        found = []
        for slot in self._before(code, place):
            if slot in overwritten:
                continue
            value = values[slot]
            if bits := needed.get(slot, 0):
                found.append((slot, value & bits if type(value) is int else _unknown(value)))
        return tuple(found)

    def is_idle(self, op: Op) -> bool:
        """Whether it is of no matter what an instruction does: it only passes time, or nobody needs what it computes."""
        needed, idle = self._needed_of(self._compiled.compiler.place_of(op)[0])
        return id(op) in idle or not any(needed.get(slot) for slot in writes(op))

    def _needed_of(self, code: Code) -> tuple[dict[int, int], frozenset[int]]:
        if code.name not in self._needed:
            idle = idle_blocks(code).operations
            self._needed[code.name] = needed_bits(code, idle), idle
        return self._needed[code.name]

    def same(self, block: int, one: list[Any], other: list[Any]) -> bool:
        """Whether the live registers have the same values."""
        return self.of(block, one) == self.of(block, other)


def _overwritten(op: Op, values: list[Any]) -> frozenset[int]:
    """The registers that an instruction under a guard overwrites, where the guard holds: what they held is of no matter."""
    if op.guard is None:
        return frozenset()
    slot, negated = op.guard
    holds = type(values[slot]) in (int, bool) and bool(values[slot]) is not negated
    return frozenset(writes(op)).difference(reads(op)) if holds else frozenset()


def _unknown(value: object) -> object:
    """What tells a value that is no number: one that varies is any other with its term."""
    return value.term if isinstance(value, Varying) else Same(value)


class Same:
    """Something that is equal to nothing but itself, and is asked for nothing."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
