"""Registers that are known at a place of a kernel, and those that are computed there anew.

What a consumer lacks is often told where a producer runs: the address of an mbarrier of a stage, the parity of its phase. A
register of that other path holds nothing here; but the numbers that it was computed from may be known here, too, and the
statements that compute it are put in with what needs it. What counts the turns there is what counts them here, from the same
number on and by the same step. That it is the same number is a guess, as all that is put in: the text with it is proven, or is
none.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.advice.graph import Graph
from ptxcore.advice.values import written
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import AnyStatement, Immediate, Instruction, Label, Name

#: What gives a number of its operands alone, as wide as its type says.
_PURE = frozenset({"mov", "add", "sub", "shl", "shr", "and", "or", "xor", "not"})
_WIDTHS = {"b32": 32, "u32": 32, "s32": 32, "b64": 64, "u64": 64, "s64": 64}
#: So many statements are put in at most.
_MOST = 8


class Computed(NamedTuple):
    """Statements, and the operand that holds what they compute; `widths`: those of the registers that they need."""

    statements: tuple[str, ...]
    operand: str
    widths: tuple[int, ...] = ()


class KnownRegisters:
    """Which registers of a kernel's `body` are known before a statement."""

    def __init__(self, body: Sequence[AnyStatement]) -> None:
        self._body = body
        self._graph = Graph([s for s in body if isinstance(s, Instruction | Label)])
        self._number = {id(instruction): k for k, instruction in enumerate(self._graph.instructions)}
        self._writers: dict[str, list[int]] = {}
        for k, instruction in enumerate(self._graph.instructions):
            for name in written(instruction):
                self._writers.setdefault(name, []).append(k)
        self._missed: dict[int, set[int]] = {}

    def known(self, register: str, i: int) -> bool:
        """Whether every way to statement number `i` comes by one that writes a register; a name that nothing writes is no
        register of the kernel's own, or nothing is known of it."""
        here = self._here(i)
        return not register or any(self._before(k, here) for k in self._writers.get(register, ()))

    def computed(self, register: str, i: int, first: int = 0, inverted: bool = False) -> Computed | None:
        """What gives, before statement number `i`, the number that a register holds where it is written, or with `inverted` the
        other parity; new registers are numbered from `first` on. None where that cannot be seen."""
        made = _Making(self, i, first)
        operand = made.inverse(register) if inverted else made.operand(Name(register))
        return None if operand is None else Computed(tuple(made.statements), operand, tuple(made.widths))

    def writer(self, register: str) -> Instruction | None:
        """The only statement that writes a register."""
        writers = self._writers.get(register, [])
        return self._graph.instructions[writers[0]] if len(writers) == 1 else None

    def counted_alike(self, register: str, i: int) -> str | None:
        """Of what counts here as a register does elsewhere, from one number on and by one step, the one that begins last before
        statement number `i`: in another loop, that of the turn."""
        counting = self._counting(register)
        here = self._here(i)
        begun = {
            other: max(k for k in several if k < here)
            for other, several in self._writers.items()
            if other != register and counting and self._counting(other) == counting and self.known(other, i)
        }
        return max(begun, key=lambda other: begun[other], default=None)

    def _counting(self, register: str) -> tuple[int, int] | None:
        """What a register counts from, and by how much."""
        writers = [self._graph.instructions[k] for k in self._writers.get(register, ())]
        begins = [w.operands[1] for w in writers if w.opcode == "mov" and len(w.operands) > 1]
        steps = [w.operands[2] for w in writers if w.opcode == "add" and w.operands[1:2] == (Name(register),)]
        if len(writers) != 2 or not (begins and steps):
            return None
        first, step = begins[0], steps[0]
        return (first.value, step.value) if isinstance(first, Immediate) and isinstance(step, Immediate) else None

    def is_written(self, register: str) -> bool:
        """Whether anything writes a register."""
        return register in self._writers

    def _here(self, i: int) -> int:
        following = next((s for s in self._body[i:] if isinstance(s, Instruction)), None)
        return len(self._graph.instructions) if following is None else self._number[id(following)]

    def _before(self, k: int, here: int) -> bool:
        """Whether instruction number `k` comes before another one on every way there."""
        if self._graph.instructions[k].guard is not None:
            return False
        mine, its = self._graph.block_of[k], self._graph.block_of[here]
        return k < here if mine == its else its not in self._without(mine)

    def _without(self, block: int) -> set[int]:
        """The blocks that are reached from the beginning by ways that do not come by one."""
        if block not in self._missed:
            found, waiting = set[int](), [0] if block else []
            while waiting:
                if (reached := waiting.pop()) not in found and reached != block:
                    found.add(reached)
                    waiting += self._graph.following[reached]
            self._missed[block] = found
        return self._missed[block]


class _Making:
    """The statements that compute something anew before a statement."""

    def __init__(self, known: KnownRegisters, i: int, first: int) -> None:
        self._known, self._i, self._first = known, i, first
        self._made: dict[str, str] = {}
        self.statements: list[str] = []
        self.widths: list[int] = []

    def operand(self, of: object) -> str | None:
        """An operand that holds the same."""
        if isinstance(of, Immediate):
            return str(of.value)
        if not isinstance(of, Name) or of.prefix:
            return None
        name = of.name
        if not self._known.is_written(name) or self._known.known(name, self._i):  # a variable, or a special register
            return name
        if name in self._made:
            return self._made[name]
        if (alike := self._known.counted_alike(name, self._i)) is not None:
            return alike
        writer = self._known.writer(name)
        width = _WIDTHS.get(writer.modifiers[-1]) if writer is not None and writer.modifiers else None
        if writer is None or writer.opcode not in _PURE or writer.guard is not None or width is None:
            return None
        if len(self.statements) >= _MOST:
            return None
        sources = [self.operand(source) for source in writer.operands[1:]]
        if None in sources:
            return None
        self._made[name] = self._new(width, writer.name, *map(str, sources))
        return self._made[name]

    def inverse(self, register: str) -> str | None:
        """An operand that holds the other parity."""
        writer = self._known.writer(register)
        if writer is not None and writer.opcode == "xor" and Immediate(1) in writer.operands[1:]:
            return self.operand(next(o for o in writer.operands[1:] if o != Immediate(1)))
        if (
            writer is not None and writer.opcode == "and" and Immediate(1) in writer.operands[1:]
        ):  # that of what is inverted
            inverted = next((o.name for o in writer.operands[1:] if isinstance(o, Name)), "")
            source = self._known.writer(inverted)
            if source is not None and source.opcode == "not" and (held := self.operand(source.operands[1])) is not None:
                return self._new(32, "and.b32", held, "1")
        held = self.operand(Name(register))
        return None if held is None else self._new(32, "xor.b32", held, "1")

    def _new(self, width: int, name: str, *sources: str) -> str:
        register = f"again{self._first + len(self.widths)}"
        self.widths.append(width)
        self.statements.append(f"{name} {', '.join((register, *sources))}")
        return register


__all__ = ["Computed", "KnownRegisters"]
