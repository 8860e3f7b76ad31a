"""How large it is what was not decided in time, and of which instruction most of it is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import threads_of
from ptxmm.words import notes

if TYPE_CHECKING:
    from ptxmm.kernels.explored import TooLargeLaunch
    from ptxmm.kernels.question import KernelQuestion
    from ptxmm.kernels.test import KernelTest


def too_large(test: KernelTest, error: TooLargeLaunch) -> str:
    """How large a launch is that no formula is made of, and what there is to shrink."""
    place = str(Places(test).launch_spot(error.launch, error.line)) if error.most else ""
    return notes.too_large(error.threads, threads_of(test), error.events, error.most, place)


def extent(test: KernelTest, question: KernelQuestion | None) -> str:
    """How far the formula came before the time ran out, and what there is to shrink. `question`: None where it ran out before
    all threads were executed."""
    if question is None:
        return notes.ran_out_executing(threads_of(test))
    program = question.built.program
    lines = Counter(
        (question.built.threads[e.thread].launch, e.effect.instruction.span.line)
        for e in program.events
        if e.thread >= 0 and e.effect is not None and e.effect.instruction is not None
    )
    if not lines:
        return notes.ran_out_deciding(len(program.threads), len(program.events))
    (launch, line), most = lines.most_common(1)[0]
    found = question.built.lines[launch].get(line) if launch < len(question.built.lines) else None
    source = question.places.source_spot(launch, found) if found else None
    place = str(question.places.look(launch, line, source))
    return notes.ran_out_deciding(len(program.threads), len(program.events), most, place)
