"""Lowered modules as values: a program, its functions, and their instructions with registers and addresses for names."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ptxcore.isa.form import Use
from ptxcore.records import NamedTuple, dataclass
from ptxcore.syntax.tree import Instruction

if TYPE_CHECKING:
    from ptxcore.machine.lower.layout import ModuleLayout  # of modules: a litmus test has none

#: The first target whose threads are independent.
_INDEPENDENT = 70


class Source(NamedTuple):
    """Where a value comes from. `kind`: `register` (`value` its slot, `has` its bits), `constant` (`value`), `frame`
    (`value` an offset in the function's frame), `shared` (the number of a variable; `DYNAMIC` for what the
    launch gives), `special` (`name`),
    `vector` (`parts`), `packed` (`parts` joined, the first one lowest). `offset` is added; `negated` turns a predicate."""

    kind: str
    value: int = 0
    width: int = 64
    has: int = 64
    offset: int = 0
    negated: bool = False
    name: str = ""
    parts: tuple[Source, ...] = ()
    sign: bool = False  # of an index: the register is extended by its sign


class TargetRegister(NamedTuple):
    """A register to write: its slot and bits, and the bits and signedness of the value that arrives."""

    slot: int
    has: int
    width: int
    signed: bool


#: The name of an element that is not stored.
DROPPED = "_"

#: Targets of one destination operand: a register or None for a dropped one; a list for a vector, a pair for two.
Targets = Any


@dataclass(slots=True)
class Op:
    """One instruction, ready. `labels` are where it may go; `call` what it calls."""

    instruction: Instruction
    use: Use
    sources: list[Source | None]
    targets: list[Targets]
    guard: tuple[int, bool] | None
    labels: tuple[str, ...] = ()
    call: CallTarget | None = None
    location: int = -1  # into Program.locations
    refused: bool = False  # its operands cannot be executed yet
    access: tuple[str, int] | None = (
        None  # state space and bits, where not the form says them but the location that it names
    )

    @property
    def name(self) -> str:
        """The instruction without its operands."""
        return ".".join((self.instruction.opcode, *self.instruction.modifiers))


class Passed(NamedTuple):
    """An argument or result of a call: a register's `source` or a stretch of the frame (`offset`, `size`)."""

    source: Source | None
    offset: int = 0
    size: int = 0


class CallTarget(NamedTuple):
    """What a call calls: a function by `name`, or the one whose address `pointer` gives."""

    name: str
    pointer: Source | None
    arguments: tuple[Passed, ...]
    results: tuple[Passed, ...]


class FormalParameter(NamedTuple):
    """A formal parameter: in a register (`slot`) or in the frame (`offset`), of `size` bytes."""

    name: str
    type: str
    size: int
    slot: int | None
    offset: int
    align: int = 1
    elements: int = 1


@dataclass(slots=True)
class Code:
    """A function ready to run. `ends` are the labels: the number of the op behind each."""

    name: str
    entry: bool
    ops: list[Op] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: list[str] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)  # the bits of each register
    parameters: list[FormalParameter] = field(default_factory=list)
    results: list[FormalParameter] = field(default_factory=list)
    frame: int = 0
    parameter_bytes: int = 0
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    defined: bool = True


@dataclass(slots=True)
class ExecutableModule:
    """A module ready to run."""

    layout: ModuleLayout
    functions: dict[str, Code]
    locations: list[tuple[str, int]]
    target: int
    #: The special registers that it reads.
    special: set[str] = field(default_factory=set)

    @property
    def together(self) -> bool:
        """Whether the threads of a warp go on together: before sm_70 they had one program counter, and programs relied on
        it."""
        return self.target < _INDEPENDENT
