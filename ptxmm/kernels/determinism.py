"""`deterministic = "sums"`: every execution ends with the contents of a buffer that one run of the launches ends with.

So nobody has to know what a kernel computes to ask whether that hangs on who comes first. One run, in which the threads take
turns, says what the contents are; that they are so at the end of all executions is a `forall` like any other, and all that
decides those decides it. Where the contents at the start may be anything, or the run does not end, there is nothing to compare
with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from typing import Any

from axioms.dynamic.core.findings import Stopped, in_time
from ptxcore import clock
from ptxcore.clock import OutOfTime
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.values.floats import fcompare
from ptxmm.kernels.expressions import TYPES, Element, KernelExpression, KernelNode, Number, OperatorExpression, Typed
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.several import LIMIT
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.result import Checked, Result
from ptxmm.words.checks import nothing_to_compare

#: What is asked of a launch of which a run does not end.
_ENDS = ("terminates", "no_trap")


class NothingToCompare(Exception):
    """No run says what the contents are that all executions should end with. `str` of it says why, as a clause."""


def compared_with_a_run(check: Callable[..., Result]) -> Callable[..., Result]:
    """Decides tests with `deterministic` claims by what decides tests with others. Where there is nothing to compare with, the
    other checks are decided, and whether the launches terminate: a run that does not end is one that shows something."""

    @wraps(check)
    def compared(test: KernelTest, model: Any, **how: Any) -> Result:
        if not any(claim.of_run for claim in test.checks):
            return check(test, model, **how)
        timeout = how.get("timeout")
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            return check(with_expected(test, deadline), model, **how)
        except NothingToCompare as nothing:
            why = nothing_to_compare(str(nothing))
        claims = [claim for claim in test.checks if claim.of_run]
        others = [claim for claim in test.checks if not claim.of_run]
        ends = [Check(kind, spot=claims[0].spot) for kind in _ENDS if all(claim.kind != kind for claim in others)]
        if deadline is not None:
            how["timeout"] = max(0.1, deadline - time.monotonic())
        result = check(replace(test, checks=(*others, *ends)), model, **how)
        for checked in result.checks[len(others) :]:
            checked.besides = True
        result.checks[:0] = [Checked(kind=c.kind, text=str(c), spot=c.spot, place=str(c), message=why) for c in claims]
        if result.verdict not in ("no", "undefined"):
            result.verdict, result.own, result.error = "undecided", "undecided", why
        return result

    return compared


def with_expected(test: KernelTest, deadline: float | None) -> KernelTest:
    """A test whose `deterministic` claims say what each element comes to in one run. Raises NothingToCompare, InputError for
    a module that is wrong."""
    claims = [check for check in test.checks if check.of_run]
    if not claims:
        return test
    if opened := [p.name for p in test.parameters if isinstance(p, Buffer) and p.open]:
        raise NothingToCompare(
            f"{', '.join(opened)} may hold anything at first, and what comes of that is not one thing"
        )
    state = _run(test, claims, deadline)
    return replace(
        test, checks=tuple(_expecting(test, check, state) if check.of_run else check for check in test.checks)
    )


def _run(test: KernelTest, claims: list[Check], deadline: float | None) -> dict[str, int]:
    """The final values of all that the claims name, of a run in which the threads take turns."""
    named = OperatorExpression(0, 0, "&&", tuple(e for check in claims for e in _elements(test, check)), 1)
    runs = Runs(replace(test, checks=(Check("forall", KernelExpression("", named)),)))
    with clock.limited(max(0.0, deadline - time.monotonic())) if deadline is not None else nullcontext():
        try:
            return dict(runs.run(limit=LIMIT, progress=in_time))
        except (Stopped, OutOfTime, TimeoutError) as error:
            raise NothingToCompare("the run to compare with takes too long") from error
        except (KernelError, UsageError) as error:
            what = error.message if isinstance(error, KernelError) else str(error)
            raise NothingToCompare(f"the run to compare with does not end: {what}") from error


def _elements(test: KernelTest, check: Check) -> Iterator[Element]:
    """The elements of what a claim names: one, or all of a buffer."""
    named = check.of_run
    assert named is not None
    if named.index is not None:
        yield named
        return
    buffer = next(p for p in test.parameters if isinstance(p, Buffer) and p.name == named.name)
    for index in range(buffer.elements):
        yield replace(named, index=index)


def _expecting(test: KernelTest, check: Check, state: dict[str, int]) -> Check:
    """That each element of what a claim names ends with its value, bit by bit (-0 is another one than +0); one that is no
    number, with none."""
    assert check.expression is not None
    types = {p.name: TYPES[p.type] for p in test.parameters if isinstance(p, Buffer)}
    parts: list[KernelNode] = []
    for element in _elements(test, check):
        kind = types[element.name]
        bits = state[element.label] & (1 << kind.width) - 1
        value = Number(0, 0, Typed(bits, kind))
        equal = OperatorExpression(0, 0, "same", (element, value), 1)
        if kind.is_float and fcompare(str(kind), "nan", bits, bits):
            equal = OperatorExpression(0, 0, "!=", (element, element), 1)
        parts.append(equal)
    return replace(check, expression=replace(check.expression, node=OperatorExpression(0, 0, "&&", tuple(parts), 2)))
