"""Values that nothing determines: a `try_wait` that gives up too early, a clock. They are no events."""

from __future__ import annotations

from collections.abc import Iterator

from axioms.events import UnsupportedProgram
from axioms.program import Program
from ptxcore.machine.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Term


def inputs(program: Program) -> Iterator[Term]:
    """The truth values among them. Raises UnsupportedProgram where a wider one matters."""
    wide: dict[Term, Effect] = {}
    for thread in program.threads:
        for effect in thread.execution.effects:
            if effect.kind == "input" and effect.result is not None:
                if effect.result.width == 1:
                    yield effect.result
                else:
                    wide[effect.result] = effect
    if wide:
        for symbol in _used(program):
            if symbol in wide:
                instruction = wide[symbol].instruction
                raise UnsupportedProgram(
                    f"line {instruction.span.line}: what a program does or shows depends on the value of a clock or of "
                    "something else that nothing determines, which is not supported"
                )


def _used(program: Program) -> Iterator[Term]:
    """The symbols that anything which is decided looks at."""
    values = [program.condition, program.filter, *[o.value for o in program.observed]]
    for thread in program.threads:
        values += [thread.execution.finishes, thread.execution.cut]
    for e in program.events:
        values += [e.guard, *(e.values or (e.value,))]
    values += [t.condition for t in program.troubles]
    for value in values:
        yield from terms.symbols_of(value)
