"""Rounds of loops around instructions that threads of a warp execute together without a member mask (`activemask`).

    for (...) if (x[i] > 0) { unsigned active = __activemask(); ... }

Who executes one together the manual leaves open. Runs that are watched take it to be all that come to it in the same round of
the loops around it, as the formula does (`ptxcore.machine.explore.meetings`). For that, code counts the rounds in registers of
its own, and the instruction reads them: so whatever looks at what a thread goes on with sees in which round it is. With them it
reads where it stands in the loops, and in the function: what it reads is in the order in which threads come by.

A count begins with zero where the function does, and where the loop around begins another round; where a loop begins a round,
one is added. A loop that is entered at several places has no rounds, and is left alone.
"""

from __future__ import annotations

import copy
import dataclasses
from functools import cache

from ptxcore.check.module import accepted
from ptxcore.machine.ir.loop_nest import NaturalLoop, nest
from ptxcore.machine.lower.liveness import following
from ptxcore.machine.lower.module import lower
from ptxcore.machine.lower.ops import Code, ExecutableModule, Op, Source, TargetRegister

#: The instruction whose threads are those of one round.
UNMASKED = "activemask"
_WIDTH = 32
#: What begins a count, and what adds one.
_TEXT = """.version 6.2
.target sm_30
.address_size 64
.visible .entry k() { .reg .u32 %r; mov.u32 %r, 0; add.u32 %r, %r, 1; ret; }
"""


def count_rounds(program: ExecutableModule) -> None:
    """Lets the code of a program count the rounds of loops around such instructions."""
    for code in program.functions.values():
        if any(map(_has_no_mask, code.ops)):
            _count(code)


def _has_no_mask(op: Op) -> bool:
    return op.use.form.mnemonic == UNMASKED


def _count(code: Code) -> None:
    loops, positions = nest([*(following(code, place) for place in range(len(code.ops))), []])
    slots: dict[int, int] = {}  # of the counts, by the first instruction of the loop
    inner: dict[int, set[int]] = {}
    for place, op in enumerate(code.ops):
        around = loops[place]
        if not _has_no_mask(op) or not all(loop.single_entry for loop in around):
            continue
        op.sources = [_constant(position) for position in positions[place]]
        for number, loop in enumerate(around):
            if loop.header not in slots:
                slots[loop.header] = len(code.registers)
                code.registers.append(f"%rounds{len(slots)}")
                code.widths.append(_WIDTH)
            op.sources.insert(2 * number + 1, Source("register", slots[loop.header], _WIDTH, _WIDTH))
        _note(around, inner)
    if slots:
        _insert(code, slots, inner)


def _constant(value: int) -> Source:
    return Source("constant", value, _WIDTH)


def _note(around: tuple[NaturalLoop, ...], inner: dict[int, set[int]]) -> None:
    """Which loops are within which, by their first instructions."""
    headers = [loop.header for loop in around]
    for number, header in enumerate(headers):
        inner.setdefault(header, set()).update(headers[number + 1 :])


def _insert(code: Code, slots: dict[int, int], inner: dict[int, set[int]]) -> None:
    """Puts what counts where the function begins, and where the loops do."""
    begins, adds = _templates()
    ops = [_of(begins, slot, code.ops[0]) for slot in slots.values()]
    moved = []
    for place, op in enumerate(code.ops):
        moved.append(len(ops))
        if place in slots:
            ops.append(_of(adds, slots[place], op))
            ops += [_of(begins, slots[header], op) for header in sorted(inner[place])]
        ops.append(op)
    moved.append(len(ops))
    code.labels = {label: moved[place] for label, place in code.labels.items()}
    code.ops = ops


def _of(template: Op, slot: int, before: Op) -> Op:
    """An instruction that stands before another one, on a register."""
    sources = [s and (s._replace(value=slot) if s.kind == "register" else s) for s in template.sources]
    targets = [t._replace(slot=slot) if isinstance(t, TargetRegister) else t for t in template.targets]
    instruction = copy.copy(template.instruction)
    instruction.span = before.instruction.span
    return dataclasses.replace(
        template, instruction=instruction, sources=sources, targets=targets, location=before.location
    )


@cache
def _templates() -> tuple[Op, Op]:
    module, _ = accepted(_TEXT)
    begins, adds, *_ = lower(module).functions["k"].ops
    return begins, adds


__all__ = ["UNMASKED", "count_rounds"]
