"""Tests with an order or a scope weaker, a fence or a barrier gone; and whether a model forbids the outcome of a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from litmus.relaxations import Relaxation, relaxations
from litmus.test import Not, Proposition, Test
from ptxcore.diagnostics import InputError

_MEETINGS = ("fence", "membar", "bar", "barrier")


def weakened(test: Test) -> Iterator[Relaxation]:
    """The tests that are weaker by one step, with all accesses of the test."""
    for one in relaxations(test):
        dropped = one.what.endswith("dropped")
        statement = one.what.split(": ", 1)[-1].removeprefix("@").split(".")[0].split()[-1]
        barrier = one.what.startswith("barrier ")
        waits = "griddepcontrol.wait" in one.what  # who lets others begin is weaker than who does not
        if not dropped or barrier or waits or statement in _MEETINGS:
            yield one


def target_of(test: Test) -> Proposition:
    """The outcome that a test is about: one that breaks it, or for `exists` the one that is asked for."""
    condition = test.condition
    return Not(condition.proposition) if condition.quantifier == "forall" else condition.proposition


def forbids(test: Test, model: str, timeout: float | None) -> bool | None:
    """Whether a model forbids the outcome that a test is about; None where nobody knows, or where it is no program: not every
    order goes with every scope."""
    import ptxmm
    from axioms.program import UnsupportedProgram

    asked = replace(test, condition=replace(test.condition, quantifier="~exists", proposition=target_of(test)), more=())
    try:
        found = ptxmm.check(replace(asked, checks=(), meta=()), model, timeout=timeout, witnesses=False)
    except (InputError, UnsupportedProgram):
        return None
    if found.verdict == "no" and not found.positive:  # no execution ends, which says nothing of the outcome
        return None
    return {"ok": True, "no": False}.get(found.verdict)
