"""Operations become steps in basic blocks: those of a litmus thread, and those of functions that are put in the place of their
calls, with their registers side by side and their frames on one stack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field

from ptxcore.machine.ir.operands import Fetch, RegisterRead, constant, fetch, together
from ptxcore.machine.ir.steps import CHANGING, InstructionStep, asking, assembled, folded
from ptxcore.machine.ir.steps import ResultTarget as StepTarget
from ptxcore.machine.loops.control_flow import BasicBlock
from ptxcore.machine.lower.ops import DROPPED, Code, Op, Source, Targets
from ptxcore.records import dataclass
from ptxcore.values.terms import add, mask

#: Behind these another block begins.
_ENDS = ("branch", "exit", "jump", "call", "return")


@dataclass(slots=True)
class Building:
    """A block that is being made."""

    steps: list[InstructionStep] = field(default_factory=list)
    end: InstructionStep | None = None
    target: int | None = None
    follows: int | None = None
    label: str = ""


@dataclass(slots=True)
class InlinedFunction:
    """A function put in the place of a call, or all of a thread: its first register, its frame, the block where it goes on
    when it returns, and the functions around it."""

    code: Code
    registers: int
    frame: int
    back: int
    around: tuple[str, ...]
    carry: int = -1
    #: The registers of places in the frame that are as good as registers, by offset and bytes; whether all of them are.
    promoted: dict[tuple[int, int], int] = field(default_factory=dict)
    is_promoted: bool = False


class BlockGraph(ABC):
    """The blocks of a thread while they are made."""

    def __init__(self) -> None:
        self.blocks: list[Building] = []

    @abstractmethod
    def register(self, name: str, width: int) -> int:
        """A register that no operand names."""

    def block(self) -> int:
        self.blocks.append(Building())
        return len(self.blocks) - 1

    def shapes(self, order: Sequence[int], widths: Sequence[int]) -> list[BasicBlock]:
        """The blocks in an order, the end of the thread last. `widths`: the bits of registers."""
        number = {b: place for place, b in enumerate(order)}
        return [
            BasicBlock(
                tuple([folded(step, widths.__getitem__) for step in block.steps]),
                block.end,
                None if block.target is None else number[block.target],
                None if block.follows is None else number[block.follows],
                block.label,
            )
            for block in (self.blocks[b] for b in order)
        ]

    # Blocks.

    def expand(self, at: InlinedFunction, first: int) -> None:
        """Makes the blocks of a function that begins with the block `first`."""
        ops = at.code.ops
        if not ops:
            self.blocks[first].follows = at.back
            return
        starts = {0, *at.code.labels.values()}
        starts |= {i + 1 for i, op in enumerate(ops) if op.call is not None or op.use.form.kind in _ENDS}
        cuts = sorted(start for start in starts if start < len(ops))
        names: dict[int, str] = {}
        for label, place in at.code.labels.items():
            names[place] = f"{names.get(place, '')} {label.partition(':')[2] or label}".strip()
        number = {cut: first if cut == 0 else self.block() for cut in cuts}
        number[len(ops)] = at.back
        for cut, following in zip(cuts, [*cuts[1:], len(ops)], strict=True):
            self.blocks[number[cut]].label = names.get(cut, "")
            self.fill(at, number[cut], cut, following, number)

    def fill(self, at: InlinedFunction, block: int, start: int, end: int, number: Mapping[int, int]) -> None:
        """Makes the steps of a block, from one operation to another. `number`: the block that begins at an operation."""
        here = self.blocks[block]
        for i in range(start, end):
            op = at.code.ops[i]
            kind = op.use.form.kind
            if kind == "branch" or kind == "exit":
                *before, here.end = self.steps(at, op)
                here.steps += before
                here.target = number[at.code.labels[op.labels[0]]] if kind == "branch" else self.leaves_to(at, op)
                here.follows = number[i + 1] if op.guard is not None or here.end.sources else None
                return
            if self.append(at, op, block, i, number):
                return
        here.follows = number[end]

    def append(self, at: InlinedFunction, op: Op, block: int, i: int, number: Mapping[int, int]) -> bool:
        """Adds an operation that is no branch and no exit to a block. True where it ends the block all the same, and has said
        where control goes then."""
        self.blocks[block].steps += self.steps(at, op)
        return False

    def leaves_to(self, at: InlinedFunction, op: Op) -> int:
        """The block where control is behind an exit."""
        return at.back

    # Steps.

    def steps(self, at: InlinedFunction, op: Op) -> list[InstructionStep]:
        """An instruction, behind the clocks that it reads."""
        made: list[InstructionStep] = []
        reads = [None if source is None else self.read(at, source, op, made) for source in op.sources]
        carry = at.carry if op.use.form.carry else None
        targets, access = self.targets(at, op.targets), self.access(op)
        made.append(assembled(op.instruction, op.use, self.guard(at, op), reads, targets, carry, *access))
        return made

    def access(self, op: Op) -> tuple[str, int]:
        """The state space and the bits of an access."""
        return op.access or (op.use.space, op.use.width)

    def guard(self, at: InlinedFunction, op: Op) -> tuple[int, bool] | None:
        return None if op.guard is None else (at.registers + op.guard[0], op.guard[1])

    def read(self, at: InlinedFunction, source: Source, op: Op, before: list[InstructionStep]) -> RegisterRead:
        """How an operand is read. Steps that it needs go to `before`."""
        if source.kind == "vector":
            parts = source.parts
            return together([None if part.name == DROPPED else self.read(at, part, op, before) for part in parts])
        value, registers = self.source(at, source, op, before)
        return RegisterRead(value, (registers,))

    def targets(self, at: InlinedFunction, targets: Sequence[Targets]) -> list[StepTarget | None]:
        """The registers that are written, those of vectors one by one; None for a result that is dropped."""
        found: list[StepTarget | None] = []
        for t in targets:
            if type(t) is list:
                found += self.targets(at, t)
            else:
                found.append(None if t is None else StepTarget(at.registers + t.slot, t.width, t.has, t.signed))
        return found

    def source(
        self, at: InlinedFunction, source: Source, op: Op | None = None, before: list[InstructionStep] | None = None
    ) -> tuple[Fetch, tuple[int, ...]]:
        """How a source that is no vector is read, and from which registers. Steps that it needs go to `before`."""
        kind = source.kind
        if kind == "constant":
            return constant((source.value + source.offset) & mask(source.width)), ()
        if kind == "register":
            register = at.registers + source.value
        elif source.name in CHANGING:
            assert op is not None and before is not None
            register = self.register(f"%{source.name}", source.has)
            before.append(asking(op.instruction, source.name, register, source.has))
        else:
            return self.placed(at, source)
        return self.from_register(register, source)

    def placed(self, at: InlinedFunction, source: Source) -> tuple[Fetch, tuple[int, ...]]:
        """A source that hangs on where the thread is, or the function on the stack."""
        raise NotImplementedError(source.kind)

    @staticmethod
    def from_register(register: int, source: Source, offset: int = 0) -> tuple[Fetch, tuple[int, ...]]:
        """A register that has what a source stands for, as it is read, with the source's offset and some more."""
        value, offset = fetch(register, source.has, source.width, source.negated), source.offset + offset
        if not offset:
            return value, (register,)
        width, offset = source.width, offset & mask(source.width)
        return lambda values: add(value(values), offset, width), (register,)
