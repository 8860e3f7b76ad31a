"""Explored threads executed on numbers: one sequentially consistent schedule, read off their effects alone.

Each thread's effects happen in order, under their guards; a thread waits at barriers, and where what it has is computed
from what another one has not read yet. An independent reading of what effects mean, to compare with kernels that run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ptxcore.machine.ir.effects import Effect, ThreadExecution
from ptxcore.values.terms import Term, Value, evaluate, symbol


class CannotFollow(Exception):
    """The schedule leaves what was explored: a loop was cut."""


class Broken(Exception):
    """Something that must hold does not."""


class Schedule:
    """`memory` are the bytes by address, for each thread: threads of several clusters see other shared memory."""

    def __init__(
        self,
        threads: Sequence[ThreadExecution],
        ctas: Sequence[int],
        memory: Sequence[Any],
        defined: Mapping[Term, Value],
    ) -> None:
        self.threads, self.ctas, self.memory, self.defined = threads, ctas, memory, defined
        self.known: dict[Term, int] = {}
        self.at = [0] * len(threads)
        self.arrived: list[Any] = [None] * len(threads)

    def run(self) -> None:
        """All threads to their ends. Raises CannotFollow, Broken."""
        while True:
            progress = False
            for t in range(len(self.threads)):
                while self.step(t):
                    progress = True
            if not progress and not self.release():
                break
        for t, x in enumerate(self.threads):
            if self.at[t] < len(x.effects):
                effect = x.effects[self.at[t]]
                raise Broken(f"thread {t} does not terminate at line {effect.instruction.span.line}")
            if self.value(x.cut):
                raise CannotFollow
            for r in x.requirements:
                if self.value(r.guard) and not self.value(r.condition):
                    raise Broken(r.message)
            if not self.value(x.finishes):
                raise Broken(f"thread {t} does not end")

    def value(self, value: Value) -> int:
        """A value as a number. Raises KeyError where something is not read yet."""
        while True:
            try:
                return evaluate(value, self.known)
            except KeyError as error:
                missing = error.args[0]
                if missing not in self.defined:
                    raise
                self.known[missing] = self.value(self.defined[missing])

    def step(self, t: int) -> bool:
        """The next effect of a thread; whether it happened."""
        effects = self.threads[t].effects
        if self.at[t] >= len(effects) or self.arrived[t] is not None:
            return False
        effect = effects[self.at[t]]
        try:
            if self.value(effect.guard):
                if effect.kind == "barrier" and effect.barrier != "arrive":
                    self.arrived[t] = effect
                    return False
                self.happen(t, effect)
            elif effect.result is not None and effect.result not in self.defined:
                self.known[effect.result] = 0
        except KeyError:
            return False
        self.at[t] += 1
        return True

    def release(self) -> bool:
        """Lets those go on who wait at a barrier where all are."""
        released = False
        waiting: dict[Any, list[int]] = {}
        for t, effect in enumerate(self.arrived):
            if effect is not None:
                waiting.setdefault((self.ctas[t], effect.level, effect.identity), []).append(t)
        for (cta, level, _), threads in waiting.items():
            of_cta = [t for t, c in enumerate(self.ctas) if c == cta and self.at[t] < len(self.threads[t].effects)]
            if level != "warp" and len(threads) < len(of_cta):
                continue
            operands = [self.value(self.arrived[t].operand) for t in threads]
            for t in threads:
                effect = self.arrived[t]
                if effect.result is not None:
                    how = {"popc": sum, "and": lambda o: int(all(o)), "or": lambda o: int(any(o))}
                    self.known[effect.result] = how[effect.operator](operands)  # type: ignore[operator]
                self.arrived[t] = None
                self.at[t] += 1
                released = True
        return released

    def happen(self, t: int, effect: Effect) -> None:
        """An effect on memory."""
        memory, size = self.memory[t], effect.width // 8
        if effect.kind in ("load", "atom", "red"):
            address = self.value(effect.address)
            assert effect.result is not None
            self.known[effect.result] = int.from_bytes(bytes(memory[address + i] for i in range(size)), "little")
        elif effect.kind == "input":
            assert effect.result is not None
            self.known[effect.result] = (1 << effect.width) - 1
        if effect.kind in ("store", "atom", "red") and self.value(effect.writes):
            assert effect.value is not None
            address, value = self.value(effect.address), self.value(effect.value)
            for i, byte in enumerate((value & ((1 << effect.width) - 1)).to_bytes(size, "little")):
                if address + i not in memory:
                    raise Broken(f"line {effect.instruction.span.line}: no memory at {address + i:#x}")
                memory[address + i] = byte
        if effect.kind not in (
            "load",
            "store",
            "atom",
            "red",
            "input",
            "fence",
            "collective",
            "discard",
            "malloc",
            "free",
        ):
            raise CannotFollow(effect.kind)


__all__ = ["Broken", "CannotFollow", "Schedule", "symbol"]
