"""A litmus test as one PTX module: a kernel that runs many instances of it in one launch."""

from __future__ import annotations

from litmus.test import AddressOf, Test
from ptxcore.diagnostics import Diagnostic, InputError, Span, fail
from ptxmm.gpu.conditions import comparisons
from ptxmm.gpu.contract import TARGET, VERSION, Module
from ptxmm.gpu.placement import placed
from ptxmm.gpu.writer import Writer


def module(test: Test, target: str = TARGET, version: str = VERSION) -> Module:
    """The module of a test. Raises InputError for what cannot be placed or said on the target, at the line of the test, and
    `axioms.program.UnsupportedProgram` for a program that the engine does not take."""
    from ptxmm.pipeline import build

    try:
        placement = placed(test)
        program = build(test)
        refuse_shared_addresses(test)
        return Writer(test, placement, program, target, version).module()
    except InputError as error:
        if not error.text:
            error.path, error.text = test.path, test.text
        raise


def refuse_shared_addresses(test: Test) -> None:
    """Raises InputError where a condition speaks of the address of shared memory, which only the thread knows."""
    shared = {l.name for l in test.locations if l.space == "shared"}
    for compared in comparisons(test):
        if isinstance(compared.right, AddressOf) and compared.right.location in shared:
            line = test.condition.line or 1
            raise fail(
                Span(line, 1, 2), f"the address of '{compared.right.location}' is compared, which lies in shared memory"
            )


def checked(made: Module) -> Module:
    """The module, found good by our own reader. Raises InputError, at the lines of the test, for what the target or the version
    does not have."""
    from ptxcore.check.module import accepted

    try:
        accepted(made.text)
    except InputError as error:
        raise InputError([_of_test(made, d) for d in error.diagnostics], made.test.path, made.test.text) from None
    return made


def _of_test(made: Module, found: Diagnostic) -> Diagnostic:
    """A finding in the module, where it stands in the test. One in the harness itself is a mistake of ours."""
    span = made.spans.get(found.span.line)
    if span is None:
        raise AssertionError(f"line {found.span.line} of the harness: {found.message}")
    return Diagnostic(span, found.message, found.hint, code=found.code)
