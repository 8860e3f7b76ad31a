"""The registers of a thread: which there are, and how wide each is, declared or settled from what operands they are."""

from __future__ import annotations

from collections.abc import Container, Mapping

from ptxcore.diagnostics import fail, nearest
from ptxcore.isa.form import Expected, Use
from ptxcore.isa.special_registers import SPECIAL_REGISTERS
from ptxcore.isa.table import Dialect
from ptxcore.isa.types import FUNDAMENTAL, WIDTHS
from ptxcore.machine.ir.operands import type_of
from ptxcore.machine.ir.steps import RegisterInfo
from ptxcore.syntax.tree import Address, Bracket, Declaration, Instruction, Name, Operand, Pair, Vector
from ptxcore.values.terms import mask


class RegisterSlot:
    """A register while its width is being settled. `exact` widths come from a declaration or an operand that must
    match."""

    __slots__ = ("declared", "exact", "index", "name", "signed", "uses", "width", "written")

    def __init__(self, name: str, index: int) -> None:
        self.name, self.index = name, index
        self.width = 0
        self.exact = self.declared = self.signed = self.written = self.uses = False


class Registers:
    """Those of a thread so far. `variables` are the names of what is no register, `initial` the values at the start."""

    def __init__(self, dialect: Dialect, variables: Container[str], initial: Mapping[str, int]) -> None:
        self.dialect, self._variables = dialect, variables
        self.initial = {name.lstrip("%"): value for name, value in initial.items()}
        self.slots: dict[str, RegisterSlot] = {}
        self.ranges: dict[str, tuple[int, str]] = {}  # declared as name<count>

    def declare(self, declaration: Declaration) -> None:
        """Takes a `.reg` directive. Raises InputError for one that is none, or that declares a name again."""
        kind = declaration.type
        if declaration.space != "reg" or declaration.vector:
            raise fail(
                declaration.span, f"'.{declaration.vector or declaration.space}' in a thread is not supported yet"
            )
        if kind not in FUNDAMENTAL:
            raise fail(declaration.span, f"unknown register type '.{kind}'", nearest(kind, FUNDAMENTAL))
        for declarator in declaration.names:
            name, count = declarator.name, declarator.count
            bare = name.lstrip("%")
            if bare in self.ranges or (bare in self.slots and self.slots[bare].declared):
                raise fail(declaration.span, f"register '{name}' is declared twice")
            if count is not None:
                self.ranges[bare] = (count, declaration.type)
            else:
                self.declared(bare, declaration.type)

    def declared(self, bare: str, kind: str) -> None:
        """A register of a type that its declaration gives."""
        slot = self.register(bare)
        slot.declared = slot.exact = True
        slot.width, slot.signed = WIDTHS[kind], kind[0] == "s"

    def register(self, name: str) -> RegisterSlot:
        """The register of a name, which may be new."""
        bare = name.lstrip("%")
        slot = self.slots.get(bare)
        if slot is None:
            slot = self.slots[bare] = RegisterSlot(bare, len(self.slots))
            if self.dialect.bare:
                slot.width, slot.signed, slot.exact = self.dialect.register_width, True, True
            elif self.ranges:
                stem = bare.rstrip("0123456789")
                for cut in range(len(stem), len(bare)):
                    found = self.ranges.get(bare[:cut])
                    if found and str(int(bare[cut:])) == bare[cut:] and int(bare[cut:]) < found[0]:
                        self.declared(bare, found[1])
                        break
        return slot

    def as_register(self, operand: Operand) -> RegisterSlot | None:
        """The register that an operand names; None where it names something else."""
        if not isinstance(operand, Name) or self.is_special(operand.name):
            return None
        declared = operand.name in self.slots and self.slots[operand.name].declared
        if operand.name[0] == "%" or declared or operand.name not in self._variables:
            return self.register(operand.name)
        return None

    def declared_bits(self, name: str) -> int | None:
        """The bits of a register that was declared."""
        slot = self.slots.get(name.lstrip("%"))
        return slot.width if slot is not None and slot.declared else None

    def settled_bits(self, name: str) -> int | None:
        """The bits of a register, when all are settled."""
        slot = None if name in self._variables or self.is_special(name) else self.slots.get(name.lstrip("%"))
        return slot.width if slot is not None else None

    def width_of(self, index: int) -> int:
        """The bits of a register by its number, when all are settled."""
        return next(slot.width for slot in self.slots.values() if slot.index == index)

    def is_special(self, name: str) -> bool:
        """Whether a name is that of a special register."""
        if name[0] != "%" or name.partition(".")[0] not in SPECIAL_REGISTERS:
            return False
        slot = self.slots.get(name[1:])
        return slot is None or not slot.declared

    def hidden(self, name: str, width: int) -> RegisterSlot:
        """A register that the program does not name."""
        slot = self.slots.get(name)
        if slot is None:
            slot = self.slots[name] = RegisterSlot(name, len(self.slots))
            slot.width, slot.exact, slot.declared = width, True, True
        return slot

    # Widths: a declaration decides; without one the first operand that must match exactly, else the widest loose one.

    def widths(self, instruction: Instruction, use: Use, operands: tuple[Operand | None, ...]) -> None:
        """What an instruction says of the widths of its registers."""
        if instruction.guard is not None:
            self.meet(instruction.guard, 1, True, False)
        for e, operand in zip(use.wanted, operands, strict=True):
            parameter = e.parameter
            if operand is None or parameter.role in ("label", "function"):
                continue
            if parameter.role == "memory":
                self.meet(operand.base if isinstance(operand, Address) else operand, 64, False, False)
                continue
            if isinstance(operand, Bracket):
                self.bracket_widths(use, e, operand)
                continue
            width, exact, signed = type_of(e, use)
            if isinstance(operand, Pair):
                self.meet(operand.second, 1, True, False, True)
                operand = operand.first
            for part in operand.elements if isinstance(operand, Vector) else (operand,):
                self.meet(part, width, exact, signed, parameter.role == "destination")

    def bracket_widths(self, use: Use, e: Expected, operand: Bracket) -> None:
        """What the parts of a bracket say: handles of 64 bits, the last one being coordinates."""
        *handles, coordinates = operand.elements
        for handle in handles:
            self.meet(handle, 64, False, False)
        width, exact, signed = type_of(e.parts[-1], use)
        for part in coordinates.elements if isinstance(coordinates, Vector) else (coordinates,):
            self.meet(part, width, exact, signed)

    def meet(self, operand: Operand, width: int, exact: bool, signed: bool, written: bool = False) -> None:
        """What an operand of such a width says of its register, if it is one."""
        slot = self.as_register(operand)
        if slot is None:
            return
        slot.written = slot.written or written
        if self.dialect.bare or slot.exact:
            return
        if not slot.uses:
            slot.uses, slot.signed = True, signed
        slot.width = width if exact else max(width, slot.width)
        slot.exact = exact

    def settle(self) -> None:
        """Registers of which nothing was said are as wide as what they hold at the start."""
        for slot in self.slots.values():
            if not slot.width:
                value = self.initial.get(slot.name, 0)
                slot.width = 32 if -(1 << 31) <= value < 1 << 32 else 64
                slot.signed = value < 0

    def info(self, slot: RegisterSlot) -> RegisterInfo:
        """A register, when all are settled."""
        given = self.initial.get(slot.name)
        final = slot.written or given is not None
        return RegisterInfo(
            slot.name,
            slot.width,
            slot.signed,
            (given or 0) & mask(slot.width),
            given is not None or self.dialect.bare,
            final,
        )
