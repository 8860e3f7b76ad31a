"""The passes over the control flow of a kernel, in their order: each is a function from blocks to blocks.

What makes a pass sound stands at the head of the file that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from ptxcore.machine.ir.steps import InstructionStep
from ptxcore.machine.loops.control_flow import BasicBlock, straightened
from ptxcore.machine.loops.dead_code import pruned
from ptxcore.machine.loops.iterations import one_poll, unrotated, waits_inside, without_retries
from ptxcore.records import NamedTuple

Shapes = Sequence[BasicBlock]


class Traits(NamedTuple):
    """What passes ask of steps: `matters` knows those that are observable in themselves, `is_pure` those that change nothing,
    neither for others nor in memory of the thread's own. `widths`: those of registers."""

    matters: Callable[[InstructionStep], bool]
    is_pure: Callable[[InstructionStep], bool]
    widths: Sequence[int]


class LoopPass(NamedTuple):
    """What it does says `axioms.passes`."""

    name: str
    run: Callable[[Shapes, Traits], Shapes]


PASSES = (
    LoopPass("dead-code", lambda s, t: pruned(s, t.matters)),
    LoopPass("unrotate", lambda s, t: unrotated(straightened(s), t.widths, t.is_pure)),
    LoopPass("one-poll", lambda s, t: straightened(one_poll(s, t.widths, t.is_pure))),
    LoopPass("retries", lambda s, t: straightened(without_retries(s, t.widths, t.is_pure))),
    LoopPass("inner-waits", lambda s, t: waits_inside(s, t.is_pure)),
)


def after_passes(shapes: Shapes, traits: Traits, off: Container[str] = ()) -> Shapes:
    """The blocks after all passes but those whose names are in `off`."""
    for one in PASSES:
        if one.name not in off:
            shapes = one.run(shapes, traits)
    return shapes
