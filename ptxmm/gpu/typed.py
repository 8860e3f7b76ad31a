"""Threads of the short dialect as PTX has them: every instruction with the types that its registers, of 32 bits, and its
locations have.

What has no words in PTX is refused: barriers whose instances have names, accesses through surfaces and textures that
synchronize, proxy fences that there are not, and addresses in registers, which a GPU makes of 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from litmus.test import TYPE_WIDTHS, LitmusThread, Location, Test
from ptxcore.diagnostics import Diagnostic, InputError
from ptxcore.syntax.tree import (
    Address,
    AnyStatement,
    Bracket,
    Immediate,
    Instruction,
    Name,
    Operand,
    Sink,
    Vector,
)
from ptxmm.gpu.images import root_of

#: Bits of registers.
_REGISTER = 32
_COMPUTES = {"add": ("u32",), "sub": ("u32",), "mul": ("lo", "u32"), "div": ("s32",), "mov": ("u32",)}
_ATOMICS = {"add": "u32", "and": "b32", "or": "b32", "xor": "b32", "exch": "b32", "cas": "b32"}
_COMPARES = ("eq", "ne", "lt", "gt", "le", "ge")


class _Refused(Exception):
    """Why PTX does not have a statement."""


def typed(test: Test) -> Test:
    """The test with all of its threads as PTX has them. Raises InputError."""
    if all(thread.dialect == "typed" for thread in test.threads):
        return test
    found: list[Diagnostic] = []
    threads = []
    for thread in test.threads:
        if thread.dialect == "typed":
            threads.append(thread)
            continue
        statements: list[AnyStatement] = []
        writer = _Short(test, thread)
        for s in thread.statements:
            try:
                statements += writer.statement(s) if isinstance(s, Instruction) else [s]
            except _Refused as refused:
                found.append(Diagnostic(s.span, f"{refused.args[0]} in PTX"))
        first = dict.fromkeys(writer.registers, 0) | {n.lstrip("%"): v for n, v in thread.registers}
        threads.append(
            replace(thread, statements=tuple(statements), dialect="typed", registers=tuple(first.items()))
        )  # fmt: skip
    if found:
        raise InputError(found, test.path, test.text)
    return replace(test, threads=tuple(threads))


class _Short:
    """A thread being rewritten."""

    def __init__(self, test: Test, thread: LitmusThread) -> None:
        self.locations: Mapping[str, Location] = {l.name: root_of(test, l) for l in test.locations}
        taken = {
            o.name for s in thread.statements if isinstance(s, Instruction) for o in s.operands if isinstance(o, Name)
        }
        #: Those that it has: all of them are 0 at first.
        self.registers: dict[str, None] = {}
        self._branch = next(name for n in range(len(taken) + 1) if (name := f"taken{n}") not in taken)

    def statement(self, s: Instruction) -> list[AnyStatement]:
        """What it is in PTX. Raises _Refused."""
        return [Instruction(m.opcode, m.modifiers, m.operands, m.guard, s.span) for m in self._made(s)]

    def _made(self, s: Instruction) -> Iterator[Instruction]:
        opcode, modifiers, operands = s.opcode, s.modifiers, s.operands
        if opcode == "goto":
            yield Instruction("bra", (), operands)
        elif opcode[:1] == "b" and opcode[1:] in _COMPARES:
            flag = Name(f"%{self._branch}")
            yield Instruction("setp", (opcode[1:], "s32"), (flag, *map(self._value, operands[:2])))
            yield Instruction("bra", (), operands[2:], flag)
        elif opcode in _COMPUTES or (opcode == "ld" and not modifiers):
            name = "mov" if opcode == "ld" else opcode
            yield Instruction(name, _COMPUTES[name], tuple(map(self._value, operands)))
        elif opcode == "fence":
            if modifiers[0] == "proxy" and modifiers[1:] != ("alias",):
                raise _Refused(f"there is no 'fence.{'.'.join(modifiers)}'")
            yield s
        elif opcode in ("ld", "st", "atom", "red"):
            yield self._access(s)
        else:
            yield self._image(s)

    def _access(self, s: Instruction) -> Instruction:
        place = 1 if s.opcode in ("ld", "atom") else 0
        operands = list(s.operands)
        width = self._width(operands[place])
        if s.opcode in ("ld", "st"):
            modifiers = (*s.modifiers, f"u{width}")
        else:
            operation = s.modifiers[-1]
            if operation not in _ATOMICS or width != _REGISTER:
                raise _Refused(f"there is no '{s.opcode}.{operation}' of {width} bits")
            modifiers = (*s.modifiers, _ATOMICS[operation])
        name = operands[place]
        assert isinstance(name, Name)
        given = tuple(Address(name, 0, bracketed=True) if o is name else self._value(o) for o in operands)
        return Instruction(s.opcode, modifiers, given)

    def _image(self, s: Instruction) -> Instruction:
        """Accesses through a surface or a texture."""
        if s.modifiers != ("weak",) or s.opcode not in ("suld", "sust", "tld"):
            raise _Refused(f"there is no '{'.'.join((s.opcode, *s.modifiers))}'")
        place = 0 if s.opcode == "sust" else 1
        if self._width(s.operands[place]) != _REGISTER:
            raise _Refused("texels of other than 32 bits are no registers of this dialect")
        at = Bracket((s.operands[place], Vector((Immediate(0),))))
        other = self._value(s.operands[1 - place])
        if s.opcode == "tld":
            return Instruction("tex", ("1d", "v4", "u32", "s32"), (Vector((other, Sink(), Sink(), Sink())), at))
        operands = (other, at) if place else (at, other)
        return Instruction(s.opcode, ("b", "1d", "b32", "trap"), operands)

    def _width(self, operand: Operand) -> int:
        if not isinstance(operand, Name) or operand.name not in self.locations:
            raise _Refused("an address in a register of 32 bits is none")
        width = TYPE_WIDTHS[self.locations[operand.name].type]
        if width > _REGISTER:
            raise _Refused(
                f"'{operand.name}' has {width} bits, and what a register of 32 bits gets of it has no instruction"
            )
        return width

    def _value(self, operand: Operand) -> Operand:
        if isinstance(operand, Immediate):
            return operand
        if isinstance(operand, Name) and operand.name not in self.locations:
            self.registers[operand.name] = None
            return Name(f"%{operand.name}")
        raise _Refused("an address in a register of 32 bits is none")
