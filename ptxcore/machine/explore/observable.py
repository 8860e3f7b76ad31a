"""What steps of a kernel are good for: which may be left out, which only look, which variables never change."""

from __future__ import annotations

from ptxcore.isa import data_movement, fences, mbarrier, stack
from ptxcore.machine.explore.own_memory import OWN_SPACES
from ptxcore.machine.ir.steps import CLOCK, InstructionStep
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.layout import ModuleLayout
from ptxcore.machine.lower.ops import ExecutableModule, Source

#: Effects that only compute: where nobody uses the result they may be left out.
_COMPUTING = (
    data_movement.isspacep, data_movement.mapa, data_movement.getctarank, data_movement.policy_value, stack.stacksave,
)  # fmt: skip
#: Effects that change nothing for other threads.
_LOOKING = (
    data_movement.ld, fences.fence, mbarrier.test_wait, mbarrier.test_wait_parity, mbarrier.try_wait,
    mbarrier.try_wait_parity, *_COMPUTING,
)  # fmt: skip


def matters(step: InstructionStep) -> bool:
    """Whether a step matters in itself, whoever uses its result."""
    if step.kind == "value" or step.kind in ("branch", "exit") or step.space == CLOCK:
        return False
    if step.space in OWN_SPACES and step.targets and step.run is not data_movement.st:
        return False
    return step.run not in _COMPUTING


def effect_free(step: InstructionStep) -> bool:
    """Whether a step changes nothing for other threads."""
    return step.kind == "value" or step.run in _LOOKING


def never_written(program: ExecutableModule) -> frozenset[int]:
    """The addresses of the `.global` variables that the module only ever loads from, by name: nobody can write them while a
    kernel runs, since nobody gets hold of their addresses."""
    layout: ModuleLayout = program.layout
    starts = sorted(p.address for p in layout.variables if p.space == "global")
    taken: set[int] = set()

    def mentioned(number: int) -> None:
        taken.update(s for s in starts if s >> GLOBAL_BITS == number >> GLOBAL_BITS)

    for code in program.functions.values():
        for op in code.ops:
            plain = op.use.form.run is data_movement.ld and op.instruction.opcode == "ld"
            for i, source in enumerate(op.sources):
                for leaf in _leaves(source):
                    if leaf.kind == "constant" and not (plain and i == 0 and op.use.sem == "weak"):
                        mentioned(leaf.value)
            if op.call is not None:
                for passed in op.call.arguments:
                    if passed.source is not None and passed.source.kind == "constant":
                        mentioned(passed.source.value)
    for placed in layout.variables:
        for i in range(len(placed.data) - 7):
            mentioned(int.from_bytes(placed.data[i : i + 8], "little"))
    return frozenset(starts) - taken


def _leaves(source: Source | None) -> list[Source]:
    if source is None:
        return []
    return [leaf for part in source.parts for leaf in _leaves(part)] if source.kind == "vector" else [source]
