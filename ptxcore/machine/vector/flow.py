"""Where the basic blocks of a kernel begin."""

from __future__ import annotations

from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.codegen import block_cuts as cuts_of

#: What makes of an instruction one that each thread executes by itself.
_ALONE = frozenset(("async", "bulk"))


def block_cuts(code: Code) -> list[int]:
    """Where blocks begin: also behind whatever threads meet at."""
    cuts = set(cuts_of(code, False))
    for i, op in enumerate(code.ops):
        if meets(op):
            cuts |= {i, i + 1}
    end = len(code.ops)
    return sorted(
        cuts if end in (0, *code.labels.values()) else cuts - {end}
    )  # a kernel without instructions has a block


def meets(op: Op) -> bool:
    """Whether threads execute an instruction with others, or each by itself."""
    return op.use.form.kind == "warp" or op.instruction.opcode in ("bar", "barrier", "wgmma") or alone(op)


def alone(op: Op) -> bool:
    """Whether each thread executes an instruction by itself: barrier objects, what is asynchronous, what goes in bulk."""
    if op.use.form.kind != "effect" or op.use.form.run is None:
        return False
    return op.instruction.opcode in ("mbarrier", "cp", "tensormap") or not _ALONE.isdisjoint(op.instruction.modifiers)
