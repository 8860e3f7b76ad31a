"""Where an undefined access goes, as far as the program tells without an execution."""

from __future__ import annotations

from dataclasses import replace

from axioms.events.event import WILD, UndefinedBehaviour
from axioms.program import Program
from axioms.witness.result import Undefined


def located(program: Program, undefined: Undefined) -> Undefined:
    """The same with the place that is meant, where an access goes there in any case."""
    for behaviour in program.undefined_behaviours:
        if behaviour.rule == undefined.rule and behaviour.kind == WILD and behaviour.condition == 1:
            size = 0 if behaviour.address is None else _size(program, behaviour)
            if behaviour.address is not None and size:
                return replace(undefined, beside=program.space.beside(behaviour.thread, behaviour.address, size))
    return undefined


def _size(program: Program, behaviour: UndefinedBehaviour) -> int:
    """The bytes of the access that undefined behaviour is about; 0 where it is none."""
    effects = program.threads[behaviour.thread].execution.effects
    found = (e for e in effects if e.instruction is behaviour.instruction and e.address == behaviour.address)
    return next((e.width // 8 for e in found), 0)
