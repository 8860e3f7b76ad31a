"""Where the values of registers come from: what an address is made of, and what makes threads differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ptxcore.clock import tick
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import (
    Address,
    Arguments,
    Immediate,
    Instruction,
    Name,
    Operand,
    Pair,
    Vector,
    names_in,
)

#: What a value depends on: the thread's place in its CTA, the CTA's place in the grid, what cannot be told (what memory or
#: other lanes gave, values packed together).
THREAD, CTA, READ = 1, 2, 4
_SPECIAL = {"%tid": THREAD, "%laneid": THREAD, "%warpid": THREAD, "%lanemask": THREAD, "%ctaid": CTA, "%cluster": CTA}
#: Opcodes whose results memory or other threads give; those of the second kind give the same to all lanes that take part.
_READERS = frozenset(("ld", "ldu", "atom", "shfl", "call", "tex", "suld", "ldmatrix", "mbarrier"))
#: Opcodes that put several values into one, of which others take one out again.
_PACKERS = frozenset(("or", "bfi", "prmt"))
_AGREED = frozenset(("vote", "match", "redux", "activemask"))
#: Opcodes whose result is the address in a source, perhaps with something added, and which sources.
_COPIES = {
    "mov": (1,),
    "cvta": (1,),
    "add": (1, 2),
    "sub": (1,),
    "mad": (3,),
    "or": (1, 2),
    "mapa": (1,),
    "selp": (1, 2),
}
SPACES = frozenset(("global", "shared", "local", "const", "param"))
#: Registers followed from one: a bound on the work, far beyond what is written.
_LONGEST_CHAIN = 32
_POINTER_BITS = frozenset(("u64", "s64", "b64"))
_WITHOUT_RESULT = frozenset(("st", "red", "bra", "brx", "bar", "barrier", "fence", "membar", "cp", "ret", "exit"))


class NamedAddress(NamedTuple):
    """What an address is: a variable, parameter or register (`kind`, `name`) and an offset; and its state space."""

    kind: str
    name: str
    offset: int
    space: str


class RegisterWriters:
    """Who writes each register of a function. `spaces` has the variables of the module with their state spaces."""

    def __init__(self, instructions: Sequence[Instruction], spaces: Mapping[str, str]) -> None:
        self.spaces = spaces
        self.writers: dict[str, list[Instruction]] = {}
        for instruction in instructions:
            tick()
            for name in written(instruction):
                self.writers.setdefault(name, []).append(instruction)
        self._causes: dict[str, int] | None = None

    def causes(self, operand: Operand) -> int:
        """What a value depends on: bits of THREAD, CTA, READ."""
        if self._causes is None:
            self._causes = self._all_causes()
        found = 0
        for name in names_in(operand):
            found |= _special(name) | self._causes.get(name, 0)
        return found

    def _all_causes(self) -> dict[str, int]:
        causes: dict[str, int] = {}
        users: dict[str, list[Instruction]] = {}
        waiting: list[Instruction] = []
        for writers in self.writers.values():
            for instruction in writers:
                tick()
                for name in sources(instruction):
                    users.setdefault(name, []).append(instruction)
                waiting.append(instruction)
        while waiting:
            tick()
            instruction = waiting.pop()
            found = _own_causes(instruction)
            if found is None:
                found = 0
                for name in sources(instruction):
                    found |= _special(name) | causes.get(name, 0)
            for name in written(instruction):
                if found & ~causes.get(name, 0):
                    causes[name] = causes.get(name, 0) | found
                    waiting += users.get(name, ())
        return causes

    def place(self, operand: Operand, space: str) -> NamedAddress | None:
        """What an address is, followed through registers that are written once; None where it cannot be told."""
        if not isinstance(operand, Address) or operand.indexed or not isinstance(operand.base, Name):
            return None
        name, offset = operand.base.name, operand.offset
        for _ in range(_LONGEST_CHAIN):
            if name not in self.writers:
                known = self.spaces.get(name, "")
                return NamedAddress("variable", name, offset, space or known) if known and known != "reg" else None
            writer = self.writers[name][0] if len(self.writers[name]) == 1 else None
            if writer is None or writer.guard is not None:
                return None
            source = writer.operands[1] if len(writer.operands) > 1 else None
            if writer.opcode == "ld" and isinstance(source, Address) and isinstance(source.base, Name):
                if not any(m.partition("::")[0] == "param" for m in writer.modifiers):
                    return NamedAddress("register", name, offset, space)
                return NamedAddress("parameter", f"{source.base.name}+{source.offset}", offset, space)
            if writer.opcode not in ("mov", "cvta", "add"):
                return NamedAddress("register", name, offset, space)
            if writer.opcode == "cvta" and not space:
                space = space_of(writer)
            if writer.opcode == "add":
                added = writer.operands[2] if len(writer.operands) > 2 else None
                if not isinstance(added, Immediate):
                    return NamedAddress("register", name, offset, space)
                offset += added.value
            if isinstance(source, Address) and not source.bracketed and isinstance(source.base, Name):
                name, offset = source.base.name, offset + source.offset
            elif isinstance(source, Name):
                name = source.name
            else:
                return NamedAddress("register", name, offset, space)
        return None

    def base(self, operand: Operand, *, narrowed: bool = False) -> tuple[str, str] | None:
        """The variable or parameter that an address lies in or points into, however it is computed: kind and name. None where
        there are several, or none. `narrowed`: also through conversions between addresses of 32 and of 64 bits."""
        certain: set[tuple[str, str]] = set()
        others: set[tuple[str, str]] = set()
        start = operand.base if isinstance(operand, Address) else operand
        waiting = [(start.name, False)] if isinstance(start, Name) else []
        seen: set[str] = set()
        while waiting and len(seen) < _LONGEST_CHAIN:
            name, converted = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name not in self.writers:
                if self.spaces.get(name, "reg") != "reg":
                    certain.add(("variable", name))
                continue
            for writer in self.writers[name]:
                parameter = _pointer_parameter(writer)
                if parameter:
                    (certain if converted else others).add(("parameter", parameter))
                converted = converted or writer.opcode == "cvta"
                for at in (1,) if narrowed and writer.opcode == "cvt" else _COPIES.get(writer.opcode, ()):
                    if at < len(writer.operands):
                        waiting += [(n, converted) for n in names_in(writer.operands[at])]
        found = certain or others
        return next(iter(found)) if len(found) == 1 and len(seen) < _LONGEST_CHAIN else None


def _pointer_parameter(writer: Instruction) -> str:
    source = writer.operands[1] if writer.opcode == "ld" and len(writer.operands) > 1 else None
    if not isinstance(source, Address) or not isinstance(source.base, Name) or space_of(writer) != "param":
        return ""
    return f"{source.base.name}+{source.offset}" if _POINTER_BITS.intersection(writer.modifiers) else ""


def _special(name: str) -> int:
    return next((bits for start, bits in _SPECIAL.items() if name.startswith(start)), 0) if name[:1] == "%" else 0


def _own_causes(instruction: Instruction) -> int | None:
    """What the result of an instruction depends on, whatever its sources; None where it is these."""
    if instruction.opcode == "elect":
        return THREAD
    if instruction.opcode in _AGREED:
        return READ
    if instruction.opcode in _PACKERS and "pred" not in instruction.modifiers:
        return READ
    if instruction.opcode == "ld" and space_of(instruction) in ("param", "const"):
        return None
    return READ if instruction.opcode in _READERS else None


def space_of(instruction: Instruction) -> str:
    """The first state space among the modifiers, without what follows `::`; "" for none."""
    return next((s for m in instruction.modifiers if (s := m.partition("::")[0]) in SPACES), "")


def written(instruction: Instruction) -> tuple[str, ...]:
    """The registers in an instruction's first operand, where that is a destination."""
    if not instruction.operands or instruction.opcode in _WITHOUT_RESULT:
        return ()
    first = instruction.operands[0]
    if isinstance(first, Name):
        return (first.name,)
    return tuple(names_in(first)) if isinstance(first, Pair | Vector | Arguments) else ()


def sources(instruction: Instruction) -> tuple[str, ...]:
    """The names in the other operands."""
    return tuple(names_in(*instruction.operands[1:]))
