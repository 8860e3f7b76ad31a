"""A litmus test as one PTX module: a kernel that runs many instances of it in one launch."""

from __future__ import annotations

from dataclasses import replace

from axioms.program import Program
from litmus.test import Test
from ptxcore.diagnostics import Diagnostic, InputError, fail
from ptxcore.isa.effect_kinds import GRID
from ptxcore.machine.ir.effects import Effect
from ptxmm.gpu.contract import TARGET, VERSION, GpuModule, ListedValue
from ptxmm.gpu.placement import GpuPlacement, placed
from ptxmm.gpu.shared_addresses import refuse_shared_addresses
from ptxmm.gpu.typed import typed
from ptxmm.gpu.writer import Writer, values_of


def module(test: Test, target: str = TARGET, version: str = VERSION) -> GpuModule:
    """The module of a test. Raises InputError for what cannot be placed or said on the target, at the line of the test, and
    `axioms.program.UnsupportedProgram` for a program that the engine does not take."""
    from ptxmm.pipeline import build

    try:
        in_ptx = typed(test)
        placement = placed(in_ptx)
        program = build(in_ptx)
        _check_early(placement, program)
        refuse_shared_addresses(in_ptx, [(v.term, v.width) for v in values_of(in_ptx, program)])
        made = Writer(in_ptx, placement, program, target, version).module()
        return made if in_ptx is test else _as_it_was(made, test, values_of(test, build(test)))
    except InputError as error:
        if not error.text:
            error.path, error.text = test.path, test.text
        raise


def _as_it_was(made: GpuModule, test: Test, values: tuple[ListedValue, ...]) -> GpuModule:
    """The module of a test that is judged as it was before its threads became PTX: numbers have the signs that they had."""
    stored = {value.label for value in made.stored}
    return replace(made, test=test, values=values, stored=tuple(v for v in values if v.label in stored))


def _check_early(placement: GpuPlacement, program: Program) -> None:
    """Raises InputError where a kernel lets the next one begin in some executions only: that a launch may begin early is said
    of all its instances."""
    for part in placement.parts:
        if part.follows is None:
            continue
        lets: list[Effect] = []
        for number, seat in zip(placement.threads, placement.seats, strict=True):
            if seat.part == part.follows:
                effects = program.threads[number].execution.effects
                lets += [e for e in effects if e.kind is GRID and e.operation == "launch_dependents"]
        if lets and all(e.guard != 1 for e in lets):
            span = lets[0].instruction.span
            message = "whether this lets the next kernel begin hangs on what is read, and a launch says it of all its instances"
            raise fail(span, message)


def checked(made: GpuModule) -> GpuModule:
    """The module, found good by our own reader. Raises InputError, at the lines of the test, for what the target or the version
    does not have."""
    from ptxcore.check.module import accepted

    try:
        accepted(made.text)
    except InputError as error:
        raise InputError([_of_test(made, d) for d in error.diagnostics], made.test.path, made.test.text) from None
    return made


def _of_test(made: GpuModule, found: Diagnostic) -> Diagnostic:
    """A finding in the module, where it stands in the test. One in the harness itself is a mistake of ours."""
    span = made.spans.get(found.span.line)
    if span is None:
        raise AssertionError(f"line {found.span.line} of the harness: {found.message}")
    return Diagnostic(span, found.message, found.hint, code=found.code)
