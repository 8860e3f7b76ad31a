"""Which object of synchronisation a statement is about, as far as the text of its kernel shows that: an mbarrier, a barrier by
its number.

What is tried first hangs on these names, and no answer does: a name that is wrong costs time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Address, AnyStatement, Immediate, Instruction, Name
from ptxmm.repair.order import BARRIERS

#: So many copies of an address are followed back at most.
_STEPS = 8
#: What gives an address as it is given one: of the same bytes, or of the same place in another CTA.
_SAME = frozenset({"mov", "cvt", "cvta", "mapa"})


class ObjectPlace(NamedTuple):
    """A place of memory: a variable, or a register that nobody knows more of, and an offset. `remote`: of another CTA, by the
    name of the register that holds its number."""

    base: str
    offset: int = 0
    remote: str = ""

    @property
    def name(self) -> str:
        """The place as PTX writes it."""
        return f"{self.base}+{self.offset}" if self.offset else self.base

    @property
    def variable(self) -> bool:
        """Whether every thread has it by this name, wherever it is."""
        return not self.base.startswith("%")


def place_of(statement: Instruction, at: int, body: Sequence[AnyStatement]) -> ObjectPlace | None:
    """The object that a statement, number `at` of a body, is about, where that has an address."""
    found = [operand for operand in statement.operands if isinstance(operand, Address) and operand.bracketed]
    if (statement.opcode == "mbarrier" or "mbarrier" in statement.modifiers) and found:
        return _followed(found[0], at, body)
    if any(word.startswith("mbarrier::") for word in statement.modifiers) and len(found) > (
        statement.opcode != "tcgen05"
    ):
        return _followed(found[-1], at, body)
    return None


def object_of(statement: AnyStatement, at: int, body: Sequence[AnyStatement]) -> str:
    """The name of what a statement, number `at` of a body, waits or arrives at; empty for none."""
    if not isinstance(statement, Instruction):
        return ""
    if statement.opcode in BARRIERS and "warp" not in statement.modifiers:
        if "cluster" in statement.modifiers:
            return "cluster"
        number = statement.operands[0] if statement.operands else Immediate(0)
        if isinstance(number, Name):
            number = _number(number.name, at, body) or number
        return f"barrier {number.value if isinstance(number, Immediate) else getattr(number, 'name', '')}"
    place = place_of(statement, at, body)
    return place.name if place is not None else ""


def _followed(address: Address, at: int, body: Sequence[AnyStatement]) -> ObjectPlace:
    """An address followed back to what it was computed from, by what is written last in the text before."""
    base, offset, remote = address.base, address.offset, ""
    for _ in range(_STEPS):
        if isinstance(base, Immediate):
            return ObjectPlace(str(base.value + offset), 0, remote)
        written = _written(base.name, at, body)
        if written is None:
            break
        at, writer = written
        source = writer.operands[1] if len(writer.operands) > 1 else None
        if isinstance(source, Address) and not source.bracketed and writer.opcode in _SAME:
            base, offset = source.base, offset + source.offset
        elif isinstance(source, Name) and writer.opcode in _SAME:
            if writer.opcode == "mapa" and len(writer.operands) > 2:
                remote = getattr(writer.operands[2], "name", "")
            base = source
        elif isinstance(source, Name) and writer.opcode == "add" and isinstance(writer.operands[-1], Immediate):
            base, offset = source, offset + writer.operands[-1].value
        else:
            break
    name = base.name if isinstance(base, Name) else str(base.value)
    return ObjectPlace(name, offset, remote)


def _written(register: str, at: int, body: Sequence[AnyStatement]) -> tuple[int, Instruction] | None:
    """The statement before number `at` that writes a register last, with its number."""
    for k in range(at - 1, -1, -1):
        s = body[k]
        if isinstance(s, Instruction) and s.opcode not in ("st", "red", "bra", "setp") and s.operands:
            first = s.operands[0]
            if isinstance(first, Name) and first.name == register:
                return k, s
    return None


def _number(register: str, at: int, body: Sequence[AnyStatement]) -> Immediate | None:
    written = _written(register, at, body)
    if written is None or written[1].opcode != "mov":
        return None
    value = written[1].operands[1]
    return value if isinstance(value, Immediate) else None
