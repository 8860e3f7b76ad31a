"""Operands become sources and targets: one way for modules and for litmus threads, which know in different ways what a name
stands for. Whoever uses it has checked the operands before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ptxcore.check.values import HANDLES
from ptxcore.isa.form import Expected, Use
from ptxcore.isa.special_registers import COMPONENTS, SPECIAL_REGISTERS
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.ir.operands import bracket_parts, float_bits
from ptxcore.machine.lower.ops import DROPPED, Op, Source, TargetRegister, Targets
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Address, Bracket, Float, Immediate, Instruction, Name, Operand, Pair, Sink, Vector
from ptxcore.values.terms import mask


class NotExecuted(Exception):
    """An operand that cannot be executed: an address with a register as its index, for one."""


class NamedRegister(NamedTuple):
    """The register that a name means: its slot and bits; of a vector the first slot, and how many `elements` it has."""

    slot: int
    bits: int
    elements: int = 0


def stands_for_its_element(e: Expected, operand: Vector) -> bool:
    """Whether a vector of one element stands where a plain operand does, as nvcc writes the values of surfaces."""
    return len(operand.elements) == 1 and not e.length and "braced" in e.parameter.flags


class Operands(ABC):
    """What instructions become that are found sound, but for what names mean."""

    @abstractmethod
    def named_register(self, operand: Name) -> NamedRegister | None:
        """The register that a name means; None where it means something else."""

    @abstractmethod
    def named_object(self, operand: Name, width: int) -> Source:
        """What a name means that is no register's, as a value of `width` bits: the address of a variable, mostly."""

    @abstractmethod
    def special_source(self, name: str, width: int) -> Source:
        """A special register without components, by its name without `%`, as `width` bits."""

    @abstractmethod
    def element_bytes(self, name: str) -> int:
        """The bytes of one element of a variable."""

    @abstractmethod
    def labels(self, operand: Operand) -> tuple[str, ...]:
        """The labels that an operand means: one, or those of a list."""

    def operation(
        self, s: Instruction, use: Use, operands: Sequence[Operand | None], guard: tuple[int, bool] | None
    ) -> Op:
        """An instruction with its sources and targets. `operands`: one for each that its form wants. Raises NotExecuted."""
        op = Op(s, use, [], [], guard)
        for e, operand in zip(use.wanted, operands, strict=True):
            role = e.parameter.role
            if operand is None:
                op.sources.append(None)
            elif role == "destination":
                op.targets.append(self.target(e, operand))
            elif role == "memory":
                op.sources.append(self.address(operand))
            elif role == "bracket":
                assert isinstance(operand, Bracket)
                op.sources += self.bracket(e, operand)
            elif role in ("label", "targets"):
                op.labels = self.labels(operand)
            elif role != "function":  # a kernel that a host names: who takes the effect finds it in the instruction
                op.sources.append(self.source(e, operand))
        return op

    # Targets.

    def target(self, e: Expected, operand: Operand) -> Targets:
        if not isinstance(operand, Pair) and e.parameter.second is None:
            return self._one_target(e, operand)
        first = self._one_target(e, operand.first if isinstance(operand, Pair) else operand)
        second = self._predicate_target(operand.second) if isinstance(operand, Pair) else None
        return [*first, second] if isinstance(first, list) else [first, second]

    def _predicate_target(self, operand: Operand) -> TargetRegister | None:
        found = self.named_register(operand) if isinstance(operand, Name) else None
        return None if found is None else TargetRegister(found.slot, found.bits, 1, False)

    def _one_target(self, e: Expected, operand: Operand) -> Targets:
        if isinstance(operand, Name):
            found = self.named_register(operand)
            assert found is not None, operand
            slot, has, elements = found
            width, signed = WIDTHS.get(e.type, has), e.type[:1] == "s"
            if elements:
                return [TargetRegister(slot + i, has, width if e.length else has, signed) for i in range(elements)]
            return TargetRegister(slot, has, width, signed)
        if isinstance(operand, Vector):
            if stands_for_its_element(e, operand):
                return self._one_target(e, operand.elements[0])
            return [self._one_target(e, element) for element in operand.elements]
        return None

    # Sources.

    def source(self, e: Expected, operand: Operand) -> Source:
        width = WIDTHS.get(e.type, 32)
        if isinstance(operand, Name):
            return self.named(operand, width)
        if isinstance(operand, Immediate):
            return Source("constant", operand.value & mask(width), width)
        if isinstance(operand, Float):
            return Source("constant", float_bits(operand, width), width)
        if isinstance(operand, Vector):
            if stands_for_its_element(e, operand):
                return self.source(e, operand.elements[0])
            return Source("vector", width=width, parts=tuple([self.source(e, o) for o in operand.elements]))
        if isinstance(operand, Sink):
            return Source("constant", 0, width, name=DROPPED)
        if isinstance(operand, Address):
            assert isinstance(operand.base, Name)
            return self.named(operand.base, width)._replace(offset=operand.offset)
        raise NotExecuted

    def named(self, operand: Name, width: int) -> Source:
        """What a name means, as a value of `width` bits: a register, a special one, an object."""
        found = self.named_register(operand)
        if found is None:
            return self.named_object(operand, width)
        slot, has, elements = found
        if elements:
            parts = tuple([Source("register", slot + i, has, has) for i in range(elements)])
            return Source("vector", width=width, parts=parts)
        return Source("register", slot, width, has, 0, operand.negated)

    def special_register(self, name: str, width: int) -> Source:
        """A special register, a component of one, or all components of one that has some."""
        base, _, part = name.partition(".")
        if SPECIAL_REGISTERS[base].vector and not part:
            parts = [self.special_register(f"{name}.{component}", width) for component in COMPONENTS]
            return Source("vector", width=width, parts=tuple(parts))
        return self.special_source(name[1:], width)

    def address(self, operand: Operand) -> Source:
        """A place in memory. Without brackets a name is one, too, where the dialect has none."""
        if isinstance(operand, Address) and operand.index is None:
            base, offset = operand.base, operand.offset
            if isinstance(base, Immediate):
                return Source("constant", base.value & mask(64), offset=offset)
            if operand.indexed:
                offset *= self.element_bytes(base.name)
            source = self.named(base, 64)
            return source._replace(offset=offset) if offset else source
        if isinstance(operand, Name):
            return self.named(operand, 64)
        raise NotExecuted

    def bracket(self, e: Expected, operand: Bracket) -> list[Source | None]:
        """The parts of a bracket, each a source, None for one that is left out; of a tensor map, a vector of all."""
        parts = [None if o is None else self.part(part, o) for part, o in bracket_parts(e, operand)]
        whole = "tensormap" in e.parts[0].parameter.flags
        return [Source("vector", parts=tuple(part for part in parts if part is not None))] if whole else parts

    def part(self, e: Expected, operand: Operand) -> Source:
        """An address, the name of an object or a register that holds one, coordinates."""
        if isinstance(operand, Address):
            return self.address(operand)
        by_name = e.parameter.flags & HANDLES or e.parameter.words or not e.type
        return self.named(operand, 64) if isinstance(operand, Name) and by_name else self.source(e, operand)
