"""The accesses of a function to memory that other threads may reach, with what they say of order and scope, and which
instructions order them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from ptxcore.advice.graph import BARRIERS, Graph
from ptxcore.advice.values import NamedAddress, RegisterWriters, space_of
from ptxcore.machine.ir.loop_nest import NaturalLoop, nest
from ptxcore.places import SCOPES
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction, Label, Operand

#: Opcodes that read or write memory, and the operand that is the address.
ACCESSES = {"ld": 1, "st": 0, "atom": 1, "red": 0}
ORDERS = ("relaxed", "acquire", "release", "acq_rel", "volatile", "mmio")
#: Spaces that no other thread writes while a kernel runs.
_PRIVATE = frozenset(("param", "const", "local"))


class AdvisedAccess(NamedTuple):
    """An access at the instruction number `at`. `order`: `weak`, `relaxed` (also where an `atom` says nothing, PTX ISA 9.0,
    section 9.7.13.4), `acquire`, `release`, `acq_rel`, `volatile`, `mmio`; `scope` is empty for weak ones."""

    at: int
    instruction: Instruction
    order: str
    scope: str
    place: NamedAddress | None
    base: tuple[str, str] | None
    address: Operand

    @property
    def reads(self) -> bool:
        return self.instruction.opcode in ("ld", "atom")

    @property
    def writes(self) -> bool:
        return self.instruction.opcode != "ld"

    @property
    def weak(self) -> bool:
        return self.order == "weak"

    @property
    def space(self) -> str:
        """`global` or `shared`, where that is said or can be followed; else empty."""
        written = space_of(self.instruction)
        return written or (self.place.space if self.place is not None else "")

    @property
    def acquires(self) -> bool:
        return self.reads and self.order in ("acquire", "acq_rel")

    @property
    def releases(self) -> bool:
        return self.writes and self.order in ("release", "acq_rel")


class AdvisedFunction:
    """What is known of one function: its control flow, its registers, its accesses to shared state by instruction."""

    def __init__(
        self, statements: Sequence[Instruction | Label], spaces: Mapping[str, str], source: str, *, kernel: bool
    ) -> None:
        """`kernel`: it is one, and no function that others call."""
        self.kernel = kernel
        self.graph = Graph(statements)
        self.instructions = self.graph.instructions
        self.registers = RegisterWriters(self.instructions, spaces)
        self.source = source
        self.accesses: dict[int, AdvisedAccess] = {
            i: access for i, instruction in enumerate(self.instructions) for access in self._access(i, instruction)
        }

    def _access(self, index: int, instruction: Instruction) -> Iterator[AdvisedAccess]:
        at = ACCESSES.get(instruction.opcode)
        if at is None or at >= len(instruction.operands) or space_of(instruction) in _PRIVATE:
            return
        if "async" in instruction.modifiers or "nc" in instruction.modifiers:
            return
        address = instruction.operands[at]
        place = self.registers.place(address, space_of(instruction))
        if place is not None and place.space in _PRIVATE:
            return
        order = order_of(instruction)
        scope = next((m for m in instruction.modifiers if m in SCOPES), "")
        if order in ("volatile", "mmio"):
            scope = "sys"
        elif order != "weak":
            scope = scope or "gpu"
        yield AdvisedAccess(index, instruction, order, scope, place, self.registers.base(address), address)

    def is_global(self, access: AdvisedAccess) -> bool:
        """Whether an access goes to global memory: it says so, or its generic address is one that a kernel was given, which
        is how `cuda::atomic_ref` is compiled. No launch can name shared memory of its own."""
        given = self.kernel and access.base is not None and access.base[0] == "parameter"
        return access.space == "global" or (not access.space and given)

    @cached_property
    def loops(self) -> list[NaturalLoop]:
        """The loops, each once."""
        found = {loop: None for around in nest(self.graph.following).loops for loop in around}
        return list(found)

    @cached_property
    def read(self) -> set[tuple[str, str] | None]:
        """The variables and parameters that the function reads from."""
        return {access.base for access in self.accesses.values() if access.reads}

    @cached_property
    def written(self) -> set[tuple[str, str] | None]:
        """The variables and parameters that the function writes to."""
        return {access.base for access in self.accesses.values() if access.writes}

    def orders_beyond(self, i: int, access: AdvisedAccess) -> bool:
        """Whether an instruction orders for the threads that an access may meet: barriers of a CTA do not for those of others,
        whatever comes before or behind them."""
        instruction = self.instructions[i]
        if instruction.opcode not in BARRIERS or "cluster" in instruction.modifiers:
            return self.orders(i)
        return access.space == "shared" or access.scope == "cta"

    def orders(self, i: int) -> bool:
        """Whether an instruction orders what comes before it with what comes behind, for some other threads: a fence, a
        barrier, a wait, a call (of which nothing is known)."""
        instruction = self.instructions[i]
        if instruction.opcode == "fence":
            return not {"proxy", "mbarrier_init"} & {m.partition("::")[0] for m in instruction.modifiers}
        return instruction.opcode in ("membar", "mbarrier", "call", "griddepcontrol", *BARRIERS)


def order_of(instruction: Instruction) -> str:
    """The order of an access."""
    said = next((m for m in instruction.modifiers if m in ORDERS), "")
    return said or ("relaxed" if instruction.opcode in ("atom", "red") else "weak")


def fence_scope(instruction: Instruction) -> str:
    """The scope of a fence; "" for what is none, or says none."""
    if instruction.opcode == "membar":
        return {"cta": "cta", "gl": "gpu", "sys": "sys"}.get(next(iter(instruction.modifiers), ""), "")
    if instruction.opcode != "fence" or "proxy" in {m.partition("::")[0] for m in instruction.modifiers}:
        return ""
    return next((m for m in instruction.modifiers if m in SCOPES), "")
