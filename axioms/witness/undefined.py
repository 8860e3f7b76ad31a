"""Where an undefined access goes, as far as the program tells without an execution."""

from __future__ import annotations

from dataclasses import replace

from axioms.events.event import WILD, UndefinedBehaviour
from axioms.program import Program
from axioms.witness.result import Undefined


def located(program: Program, undefined: Undefined) -> Undefined:
    """The same with the place that is meant, where an access goes there in any case."""
    for trouble in program.troubles:
        if trouble.rule == undefined.rule and trouble.kind == WILD and trouble.condition == 1:
            size = 0 if trouble.address is None else _size(program, trouble)
            if trouble.address is not None and size:
                return replace(undefined, beside=program.space.beside(trouble.thread, trouble.address, size))
    return undefined


def _size(program: Program, trouble: UndefinedBehaviour) -> int:
    """The bytes of the access that a trouble is about; 0 where it is none."""
    effects = program.threads[trouble.thread].execution.effects
    found = (e for e in effects if e.instruction is trouble.instruction and e.address == trouble.address)
    return next((e.width // 8 for e in found), 0)
