"""Threads made ready to execute: instructions with their forms and operands settled, in a graph of blocks.

Litmus threads (`ptxcore.machine.lower.code`) and kernels (`ptxcore.machine.explore.explorable`) become these, and the engine
executes them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from ptxcore.isa.control import nothing
from ptxcore.isa.form import Form, Use
from ptxcore.isa.table import Dialect
from ptxcore.machine.ir.loop_nest import NONE_UNCOUNTED, NaturalLoop, Uncounted
from ptxcore.machine.ir.operands import Fetch, RegisterRead, fetch
from ptxcore.machine.ir.private_memory import Private
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import Value, symbol

if TYPE_CHECKING:
    from ptxcore.isa.image import Image


class ResultTarget(NamedTuple):
    """A register to write: its number, and how a value of the instruction's width becomes one of the register's."""

    register: int
    from_width: int
    width: int
    signed: bool


class InstructionStep(NamedTuple):
    """One instruction, ready. Registers are numbers; `sources` has None for an operand that was left out."""

    instruction: Instruction
    how: Use
    kind: str
    run: Callable[..., Any]
    predicate: int | None  # the guard's register
    negated: bool
    sources: tuple[Fetch | None, ...]
    targets: tuple[ResultTarget | None, ...]
    reads: tuple[int, ...]  # every register that is read
    address_reads: tuple[int, ...]
    data_reads: tuple[int, ...]
    space: str
    width: int  # bits accessed in memory
    #: Where a vector is stored: for each element the registers it is read from.
    element_reads: tuple[tuple[int, ...], ...] = ()
    #: Where there are several addresses: for each, which source it is and the registers it is read from.
    memory_reads: tuple[tuple[int, tuple[int, ...]], ...] = ()
    #: Whether its result is the same whatever stands in its registers.
    folded: bool = False


#: Instructions that may end the launch, and those that may wait for others.
_ABORTING = frozenset(("trap", "brkpt", "call"))
_WAITING = frozenset(("bar", "barrier", "mbarrier", "cp", "call"))


def may_abort(step: InstructionStep) -> bool:
    """Whether a step may end the launch, or is executed by a warp together."""
    return step.how.form.mnemonic in _ABORTING or step.kind == "warp"


def may_wait(step: InstructionStep) -> bool:
    """Whether a thread may have to wait for others at a step."""
    return step.how.form.mnemonic in _WAITING or step.kind == "warp"


class Block(NamedTuple):
    """Steps that run one after the other. The last may be a branch (to `target`) or an exit; then it is `end`.

    `follows` is the block below, or None where control never falls through.
    """

    steps: tuple[InstructionStep, ...]
    end: InstructionStep | None
    target: int | None
    follows: int | None
    position: tuple[int, ...]
    loops: tuple[NaturalLoop, ...]
    waits: tuple[bool, ...]  # for each loop: whether no iteration sees what an earlier one left in registers
    label: str = ""  # that stands where the block begins; several with blanks between them
    live: tuple[int, ...] | None = None  # the registers that matter here; None: all


class RegisterInfo(NamedTuple):
    name: str  # without %
    width: int
    signed: bool
    initial: Value
    known: bool  # has a value at the start
    final: bool  # shows in the final state


class ThreadCode(NamedTuple):
    """A prepared thread. The last block is the end of the thread and has no steps.

    `bounds` has the iterations of loops, by their headers, that differ from the rest. `private`, of the thread of a kernel, is
    the memory that no other thread sees. `special` has the special registers that are known, without `%`; those that change
    are read by steps. `heap` gives the address of what a call of `malloc` gives, by where the call is.
    `uncounted` is known when the thread has been explored. `images` are textures, surfaces and samplers, by their handles;
    `multimem` are where the replicas of multimem objects begin, by the high bits of their addresses.
    """

    blocks: tuple[Block, ...]
    registers: tuple[RegisterInfo, ...]
    dialect: Dialect
    bounds: Mapping[int, int] = {}
    private: Private | None = None
    special: Mapping[str, int] = {}
    heap: Callable[[Hashable], int] | None = None
    uncounted: Uncounted = NONE_UNCOUNTED
    images: Mapping[int, Image] = {}
    multimem: Mapping[int, tuple[int, ...]] = {}


# One instruction.

#: The carry flag (section 9.7.2), a register that no operand names.
CARRY = "CC.CF"
#: Operands without influence on what happens: what stands in their registers does not matter, even if nothing wrote it.
_HINTS = frozenset(("policy", "cache-policy", "suspendTimeHint"))


def assembled(
    instruction: Instruction,
    use: Use,
    guard: tuple[int, bool] | None,
    reads: Sequence[RegisterRead | None],
    targets: Sequence[ResultTarget | None],
    carry: int | None,
    space: str,
    width: int,
) -> InstructionStep:
    """The step of an instruction whose operands are known: `reads` are its sources (None for what is left out), `carry` is the
    register of the carry flag, where its form has to do with that."""
    sources: list[Fetch | None] = []
    every: list[int] = []
    addresses: list[tuple[int, tuple[int, ...]]] = []
    data: list[int] = []
    elements: tuple[tuple[int, ...], ...] = ()
    for sort, read in zip(_sources(use), reads, strict=True):
        if read is None:
            sources.append(None)
            continue
        own = read.registers[0] if len(read.registers) == 1 else tuple([r for part in read.registers for r in part])
        if sort == "address":
            addresses.append((len(sources), own))
        elif sort == "data":
            data += own
            if read.vector:
                elements = read.registers
        if sort != "hint":
            every += own
        sources.append(read.fetch)
    if carry is not None:
        how = use.form.carry.split()
        if "in" in how:
            sources.append(fetch(carry, 1, 1, False))
            every.append(carry)
            data.append(carry)
        if "out" in how:
            targets = (*targets, ResultTarget(carry, 1, 1, False))
    address_reads = (
        addresses[0][1] if len(addresses) == 1 else tuple(dict.fromkeys([r for _, own in addresses for r in own]))
    )
    predicate, negated = guard or (None, False)
    return InstructionStep(
        instruction, use, use.form.kind, use.form.run or nothing, predicate, negated, tuple(sources), tuple(targets),
        tuple(dict.fromkeys(every)), address_reads, tuple(dict.fromkeys(data)), space, width, elements,
        tuple(addresses) if len(addresses) > 1 else (),
    )  # fmt: skip


def folded(step: InstructionStep, width: Callable[[int], int]) -> InstructionStep:
    """The step, marked if it computes a value that is the same whatever stands in its registers, as `xor` of a register with
    itself does. `width` tells the bits of a register."""
    if step.kind != "value" or not step.reads or len(step.sources) <= len(step.reads):
        return step
    values = {register: symbol(("folded", register), width(register)) for register in step.reads}
    result = step.run(step.how, *[None if f is None else f(values) for f in step.sources])
    parts = result if isinstance(result, tuple) else (result,)
    return step._replace(folded=True) if all(type(part) is int for part in parts) else step


#: Operands that are no sources.
_NO_SOURCES = frozenset(("destination", "label", "targets", "function", "prototype", "arguments", "results"))


@lru_cache(maxsize=8192)
def _sources(use: Use) -> tuple[str, ...]:
    """What each source of a use is: an address, data, or a hint. A bracket of several parts is as many sources."""
    found: list[str] = []
    for e in use.wanted:
        p = e.parameter
        if p.role == "bracket" and "tensormap" not in e.parts[0].parameter.flags:
            found += ["address"] * len(e.parts)
        elif p.role not in _NO_SOURCES:
            found.append("hint" if p.name in _HINTS else "address" if p.role in ("memory", "bracket") else "data")
    return tuple(found)


#: Special registers that change while the thread runs: whoever reads one asks for it before.
CHANGING = frozenset(("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"))
#: Marks the steps that ask.
CLOCK = "clock"


def asking(instruction: Instruction, name: str, register: int, width: int) -> InstructionStep:
    """Before an instruction: a special register that changes is asked, and put into a register of its own."""
    target = ResultTarget(register, width, width, False)
    return InstructionStep(
        instruction, _asking(), "effect", partial(_ask, name), None, False, (), (target,), (), (), (), CLOCK, width
    )  # fmt: skip


class Asker(Protocol):
    """Who executes such a step."""

    def ask(self, name: str) -> Value: ...


@cache
def _asking() -> Use:
    return Use(Form("mov.u32 d, sreg", kind="effect"), {}, ("u32",), {})


def _ask(name: str, how: Use, thread: Asker) -> Value:
    """d = a special register that changes"""
    return thread.ask(name)
